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
    let (mut cells, mut ids) = (Vec::new(), Vec::new());
    let (mut columns, mut values): (Vec<usize>, Vec<f64>);
    for row in 0..batch.len() {
        if !tick(row) {
            return Err(Error::Interrupted);
        }
        let placed = |error: Error| error.placed(&format!("X, row {row}"));
        batch.features(row, &mut cells).map_err(placed)?;
        (columns, values) = cells.iter().copied().unzip();
        ids.clear();
        ids.extend(columns.iter().map(|&column| known[column]));
        let names = RowNames { batch, columns: &columns };
        register
            .observe(&mut ids, &values, &names, times.map(|times| times[row]))
            .map_err(placed)?;
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
