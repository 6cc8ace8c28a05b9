//! A register's events from whole arrays: the same as event by event.

use crate::error::Error;
use crate::event::{FeatureId, Name, Names, UNKNOWN};
use crate::learner::batch::Batch;
use crate::register::Register;

/// The names of a row's features.
struct RowNames<'a> {
    batch: &'a Batch<'a>,
    columns: &'a [usize],
}

impl Names for RowNames<'_> {
    fn name(&self, position: usize) -> Name<'_> {
        self.batch.column(self.columns[position])
    }
}

/// Count every row of a batch; `times` are those of the rows. `tick` is called before each row; `false` stops the
/// batch before it.
pub fn observe_batch(
    register: &mut Register,
    batch: &Batch<'_>,
    times: Option<&[f64]>,
    mut tick: impl FnMut(usize) -> bool,
) -> Result<(), Error> {
    if let Some(times) = times
        && times.len() != batch.len()
    {
        return Err(Error::Event(format!(
            "times: expected one per row, {} in all, got {}.",
            batch.len(),
            times.len()
        )));
    }
    for &time in times.unwrap_or_default() {
        register.check_time(Some(time))?;
    }
    let mut known: Vec<FeatureId> = vec![UNKNOWN; batch.width()];
    let mut evicted = register.evicted();
    let (mut columns, mut values, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..batch.len() {
        if !tick(row) {
            return Err(Error::Interrupted);
        }
        columns.clear();
        values.clear();
        ids.clear();
        batch.for_each(row, |column, value| {
            columns.push(column);
            values.push(value);
            ids.push(known[column]);
        });
        let names = RowNames { batch, columns: &columns };
        register
            .observe(&mut ids, &values, &names, times.map(|times| times[row]))
            .map_err(|error| error.placed(&format!("X, row {row}")))?;
        if register.evicted() != evicted {
            evicted = register.evicted();
            known.fill(UNKNOWN);
        }
        for (&column, &id) in columns.iter().zip(&ids) {
            known[column] = id;
        }
    }
    Ok(())
}
