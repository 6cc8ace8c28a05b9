//! Whole arrays of events: the same results as event by event, only faster.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, Name, Names, UNKNOWN, sum_of_squares};
use crate::label::Label;
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::learner::event_buffer::EventBuffer;
use crate::learner::feature_names::{ColumnNames, UNSEEN, check_count, check_names};
use crate::learner::row_arrays::{AreUsual, RowArrays, SharedArrays, changed, column, number};

/// The labels of a batch, one per row.
#[derive(Clone, Copy, Debug)]
pub enum LabelColumn<'a> {
    Bools(&'a [bool]),
    Integers(&'a [i64]),
    /// Some may be missing.
    Listed(&'a [Option<Label>]),
}

impl<'a> LabelColumn<'a> {
    pub fn len(&self) -> usize {
        match self {
            Self::Bools(labels) => labels.len(),
            Self::Integers(labels) => labels.len(),
            Self::Listed(labels) => labels.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline(always)]
    fn get(&self, row: usize) -> Option<Cow<'a, Label>> {
        match self {
            Self::Bools(labels) => Some(Cow::Owned(Label::Bool(labels[row]))),
            Self::Integers(labels) => Some(Cow::Owned(Label::Int(labels[row]))),
            Self::Listed(labels) => labels[row].as_ref().map(Cow::Borrowed),
        }
    }
}

/// Events with named columns. All of it is checked before the first row is used.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    rows: Rows<'a>,
    columns: ColumnNames<'a>,
    width: usize,
}

/// The arrays of a batch, which somebody else may write, or not.
#[derive(Clone, Copy, Debug)]
enum Rows<'a> {
    Own(RowArrays<'a>),
    /// In every row columns rise.
    Shared(SharedArrays<'a>),
}

impl<'a> Batch<'a> {
    pub fn new(rows: RowArrays<'a>, columns: ColumnNames<'a>, width: usize) -> Result<Self, Error> {
        Self::check_columns(&columns, width)?;
        rows.check(&columns, width, |count, are_usual| are_usual(0..count))?;
        Ok(Self { rows: Rows::Own(rows), columns, width })
    }

    /// A batch of arrays that somebody else may write while it is read: `rows` are checked, and the events are
    /// then read from `shared`, which are the same arrays. None if the columns of a row do not rise: what is read
    /// could have a column twice, so such arrays have to be copied. `by_ranges` as in [`RowArrays::check`].
    pub fn shared(
        rows: RowArrays<'_>,
        shared: SharedArrays<'a>,
        columns: ColumnNames<'a>,
        width: usize,
        by_ranges: impl FnOnce(usize, &AreUsual<'_>) -> bool,
    ) -> Result<Option<Self>, Error> {
        Self::check_columns(&columns, width)?;
        let rises = rows.check(&columns, width, by_ranges)?;
        Ok(rises.then_some(Self { rows: Rows::Shared(shared), columns, width }))
    }

    fn check_columns(columns: &ColumnNames<'_>, width: usize) -> Result<(), Error> {
        match columns {
            ColumnNames::Listed(names) => check_names(names, width),
            ColumnNames::Kept(names, _) => check_count(names.len(), width),
            ColumnNames::Numbers => Ok(()),
        }
    }

    pub fn len(&self) -> usize {
        match self.rows {
            Rows::Own(RowArrays::Csr { indptr, .. })
            | Rows::Shared(SharedArrays::Csr { indptr, .. }) => indptr.len() - 1,
            Rows::Own(RowArrays::Dense { rows, .. })
            | Rows::Shared(SharedArrays::Dense { rows, .. }) => rows,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The name of a column.
    pub fn column(&self, column: usize) -> Name<'_> {
        self.columns.name(column)
    }

    /// Call `read` with the cells of a row: the column, which may be too large, and the value of each.
    #[inline(always)]
    fn read_row<R: ReadCells>(&self, row: usize, read: R) -> R::Found {
        match self.rows {
            Rows::Own(RowArrays::Csr { indptr, indices, values }) => {
                let range = indptr[row] as usize..indptr[row + 1] as usize;
                let row = indices[range.clone()].iter().zip(&values[range]);
                read.read::<false>(row.map(|(&index, &value)| (index as usize, value)))
            }
            Rows::Shared(SharedArrays::Csr { indptr, indices, values }) => {
                let range = indptr[row] as usize..indptr[row + 1] as usize;
                let row = indices[range.clone()].iter().zip(&values[range]);
                read.read::<true>(row.map(|(index, value)| (column(index), number(value))))
            }
            Rows::Own(RowArrays::Dense { values, columns, .. }) => {
                let row = &values[row * columns..(row + 1) * columns];
                read.read::<false>(row.iter().copied().enumerate())
            }
            Rows::Shared(SharedArrays::Dense { values, columns, .. }) => {
                let row = &values[row * columns..(row + 1) * columns];
                read.read::<false>(row.iter().map(number).enumerate())
            }
        }
    }

    /// Whether columns rise in every row, and must still do so when they are read.
    fn must_rise(&self) -> bool {
        matches!(self.rows, Rows::Shared(_))
    }

    /// Column and value of each feature of a row, in place of what `features` held.
    pub fn features(&self, row: usize, features: &mut Vec<(usize, f64)>) -> Result<(), Error> {
        self.read_row(row, Copying(features));
        features.retain(|(_, value)| !value.is_nan());
        let fits = |&(column, value): &(usize, f64)| column < self.width && value.is_finite();
        let rises = features.is_sorted_by(|one, next| one.0 < next.0);
        let sound = features.iter().all(fits) && (rises || !self.must_rise());
        if sound { Ok(()) } else { Err(changed()) }
    }

    /// Keep the ids of the columns for the next batch with the same names.
    fn keep_ids(&self, learner: &Learner, ids: Arc<Vec<FeatureId>>) {
        if let ColumnNames::Kept(names, owner) = self.columns {
            names.keep(owner, learner, ids);
        }
    }

    /// How many values there are, absent ones included.
    pub fn values(&self) -> usize {
        match self.rows {
            Rows::Own(RowArrays::Csr { values, .. } | RowArrays::Dense { values, .. }) => {
                values.len()
            }
            Rows::Shared(SharedArrays::Csr { values, .. } | SharedArrays::Dense { values, .. }) => {
                values.len()
            }
        }
    }
}

/// Reads the cells of a row, whose columns have to rise if it says so.
trait ReadCells {
    type Found;

    fn read<const RISES: bool>(
        self,
        row: impl ExactSizeIterator<Item = (usize, f64)>,
    ) -> Self::Found;
}

/// Copies them.
struct Copying<'a>(&'a mut Vec<(usize, f64)>);

impl ReadCells for Copying<'_> {
    type Found = ();

    fn read<const RISES: bool>(self, row: impl ExactSizeIterator<Item = (usize, f64)>) {
        self.0.clear();
        self.0.extend(row);
    }
}

/// Finds the ids of their columns.
struct Finding<'a> {
    ids: &'a [FeatureId],
    features: &'a mut Vec<FeatureValue>,
}

impl ReadCells for Finding<'_> {
    /// Whether an id is missing or a column does not rise, and ‖x‖², in which NaN and infinities stay.
    type Found = (bool, f64);

    #[inline(always)]
    fn read<const RISES: bool>(
        self,
        row: impl ExactSizeIterator<Item = (usize, f64)>,
    ) -> (bool, f64) {
        let (mut unusual, mut squares, mut least) = (false, 0.0, 0);
        self.features.resize(row.len(), FeatureValue { id: UNKNOWN, value: 0.0 });
        for (feature, (column, value)) in self.features.iter_mut().zip(row) {
            let id = self.ids.get(column).copied().unwrap_or(UNSEEN);
            unusual |= id >= UNSEEN;
            if RISES {
                unusual |= column < least;
                least = column + 1;
            }
            squares += value * value;
            *feature = FeatureValue { id, value };
        }
        (unusual, squares)
    }
}

/// Reads one row after the other, and caches the ids of the columns' names.
struct RowReader<'a> {
    batch: &'a Batch<'a>,
    /// The ids of the columns' names. Numbers are in a table of the learner already.
    ids: Arc<Vec<FeatureId>>,
    event: EventBuffer,
    /// The columns of the event's features, if it was read closely.
    columns: Vec<u32>,
    cells: Vec<(usize, f64)>,
}

/// The names of the row that was read last.
struct RowNames<'a> {
    columns: &'a [u32],
    names: ColumnNames<'a>,
}

impl Names for RowNames<'_> {
    fn name(&self, position: usize) -> Name<'_> {
        self.names.name(self.columns[position] as usize)
    }
}

impl<'a> RowReader<'a> {
    /// `changes` says whether the learner will change, so that nobody else can use its ids meanwhile.
    fn new(learner: &Learner, batch: &'a Batch<'a>, changes: bool) -> Result<Self, Error> {
        let known = match batch.columns {
            ColumnNames::Numbers => Some(Arc::default()),
            ColumnNames::Kept(names, owner) => names.ids(owner, learner, changes),
            ColumnNames::Listed(_) => None,
        };
        let ids = if let Some(ids) = known {
            ids
        } else {
            for column in 0..batch.width {
                let check = learner.check_name(batch.columns.name(column));
                check.map_err(|text| Error::Event(format!("names: {text}")))?;
            }
            Arc::new(vec![UNSEEN; batch.width])
        };
        let (event, columns, cells) = (EventBuffer::default(), Vec::new(), Vec::new());
        Ok(Self { batch, ids, event, columns, cells })
    }

    fn is_numbered(&self) -> bool {
        matches!(self.batch.columns, ColumnNames::Numbers)
    }

    /// Read a row into `self.event`: its features and their ids.
    #[inline(always)]
    fn read(&mut self, learner: &Learner, row: usize) -> Result<(), Error> {
        if learner.evicts() {
            self.forget();
            return self.read_closely(learner, row);
        }
        let numbered = self.is_numbered();
        let Self { batch, ids, event, .. } = self;
        let found = if numbered { learner.table.small_numbers() } else { ids.as_slice() };
        let (unusual, squares) =
            batch.read_row(row, Finding { ids: found, features: &mut event.features });
        (event.known, event.squared_norm) = (true, squares);
        if unusual || !squares.is_finite() { self.read_closely(learner, row) } else { Ok(()) }
    }

    /// Read a row of which something is new, absent, not finite, or may be evicted.
    #[inline(never)]
    fn read_closely(&mut self, learner: &Learner, row: usize) -> Result<(), Error> {
        let numbered = self.is_numbered();
        let Self { batch, ids, event, columns, cells } = self;
        batch.features(row, cells)?;
        event.clear();
        columns.clear();
        for &(column, value) in cells.iter() {
            let mut id = if numbered { UNSEEN } else { ids[column] };
            if id == UNSEEN {
                id = learner.id(batch.columns.name(column));
                if !numbered {
                    Arc::make_mut(ids)[column] = id;
                }
            }
            event.features.push(FeatureValue { id, value });
            columns.push(column as u32);
        }
        event.known = event.features.iter().all(|feature| feature.id != UNKNOWN);
        event.squared_norm = sum_of_squares(&event.features);
        Ok(())
    }

    /// Decide on the row that was read last, and learn it if its label is asked for and there.
    #[inline(always)]
    fn step(
        &mut self,
        learner: &mut Learner,
        label: Option<&Label>,
        decided: &mut impl FnMut(&Decision),
    ) -> Result<(), Error> {
        let names = RowNames { columns: &self.columns, names: self.batch.columns };
        let record = |_: &Learner, decision: &Decision| {
            decided(decision);
            Ok(())
        };
        let stepped = learner.step(&mut self.event, &names, label, record)?;
        if stepped.grew {
            self.remember_ids();
        }
        Ok(())
    }

    fn learn(&mut self, learner: &mut Learner, label: &Label) -> Result<(), Error> {
        let names = RowNames { columns: &self.columns, names: self.batch.columns };
        if learner.learn(&mut self.event, &names, label)? {
            self.remember_ids();
        }
        Ok(())
    }

    /// Drop the cached ids of the last row: where features are evicted, ids change.
    fn forget(&mut self) {
        if self.is_numbered() {
            return;
        }
        let ids = Arc::make_mut(&mut self.ids);
        for &column in &self.columns {
            ids[column as usize] = UNSEEN;
        }
    }

    #[inline(never)]
    fn remember_ids(&mut self) {
        if self.is_numbered() {
            return;
        }
        let ids = Arc::make_mut(&mut self.ids);
        for (&column, feature) in self.columns.iter().zip(&self.event.features) {
            ids[column as usize] = feature.id;
        }
    }
}

#[cold]
fn at_row(row: usize, error: Error) -> Error {
    let place = if matches!(error, Error::Label(_)) { "y" } else { "X" };
    match error.placed(&format!("{place}, row {row}")) {
        Error::Step(text) => Error::Step(format!("{text} The rows before it were done.")),
        other => other,
    }
}

impl Learner {
    /// Check that labels fit, as if they were learned in this order.
    pub fn check_labels(&self, labels: LabelColumn<'_>) -> Result<(), Error> {
        let mut known = self.labels().clone();
        let mut check = |row: usize, label: &Label| {
            let parsed = known.read(label).map_err(|error| at_row(row, error))?;
            if known.is_binary() {
                known.learn(&parsed, label); // the following labels must have the same form
            }
            Ok(())
        };
        match labels {
            LabelColumn::Bools(labels) => {
                let mut firsts =
                    [true, false].map(|one| labels.iter().position(|&label| label == one));
                firsts.sort_unstable();
                firsts
                    .into_iter()
                    .flatten()
                    .try_for_each(|row| check(row, &Label::Bool(labels[row])))
            }
            LabelColumn::Integers(labels) => {
                let mut fine = [None, None]; // the last two different labels: most labels equal one of them
                for (row, &label) in labels.iter().enumerate() {
                    if !fine.contains(&Some(label)) {
                        check(row, &Label::Int(label))?;
                        fine = [Some(label), fine[0]];
                    }
                }
                Ok(())
            }
            LabelColumn::Listed(labels) => {
                let mut fine: [Option<&Label>; 2] = [None, None];
                for (row, label) in labels.iter().enumerate() {
                    if let Some(label) = label
                        && !fine.iter().flatten().any(|&one| label.is_written_like(one))
                    {
                        check(row, label)?;
                        fine = [Some(label), fine[0]];
                    }
                }
                Ok(())
            }
        }
    }

    /// Decide on each event, and learn those that are asked for and have a label.
    ///
    /// `decided` gets each decision. `tick` is called before each row; `false` stops the batch
    /// before it.
    pub fn simulate(
        &mut self,
        batch: &Batch<'_>,
        labels: LabelColumn<'_>,
        mut decided: impl FnMut(&Decision),
        mut tick: impl FnMut(usize) -> bool,
    ) -> Result<(), Error> {
        self.check_labels(labels)?;
        let mut reader = RowReader::new(self, batch, true)?;
        let mut step = |reader: &mut RowReader<'_>, row: usize| {
            reader.read(self, row)?;
            reader.step(self, labels.get(row).as_deref(), &mut decided)
        };
        let done = each_row(0..labels.len(), &mut tick, |row| step(&mut reader, row));
        batch.keep_ids(self, reader.ids);
        done
    }

    /// Learn every event. `tick` is called before each row; `false` stops the batch before it.
    pub fn learn_many(
        &mut self,
        batch: &Batch<'_>,
        labels: LabelColumn<'_>,
        mut tick: impl FnMut(usize) -> bool,
    ) -> Result<(), Error> {
        if (0..labels.len()).any(|row| labels.get(row).is_none()) {
            return Err(Error::Label(
                "y: learn_many needs a label for every row; simulate does not.".to_owned(),
            ));
        }
        self.check_labels(labels)?;
        let mut reader = RowReader::new(self, batch, true)?;
        let mut learn = |reader: &mut RowReader<'_>, row: usize| {
            reader.read(self, row)?;
            labels.get(row).map_or(Ok(()), |label| reader.learn(self, &label))
        };
        let done = each_row(0..labels.len(), &mut tick, |row| learn(&mut reader, row));
        batch.keep_ids(self, reader.ids);
        done
    }

    /// Call `score` with the features of each event of these rows as the model uses them; what it pushes comes
    /// in the order of the events. Changes nothing. `tick` is called before each row; `false` stops the batch.
    pub fn score_rows<T>(
        &self,
        batch: &Batch<'_>,
        rows: Range<usize>,
        mut tick: impl FnMut(usize) -> bool,
        score: impl Fn(&Self, &[FeatureValue], &mut Vec<T>) -> Result<(), Error>,
    ) -> Result<Vec<T>, Error> {
        let mut reader = RowReader::new(self, batch, false)?;
        let mut scores = Vec::new();
        scores.try_reserve(rows.len()).map_err(|_| {
            Error::Memory(format!(
                "X: there is no memory for the scores of {} rows; give it in smaller batches.",
                rows.len()
            ))
        })?;
        let done = each_row(rows, &mut tick, |row| {
            reader.read(self, row)?;
            self.transform(&mut reader.event)?;
            score(self, reader.event.inputs(), &mut scores)
        });
        batch.keep_ids(self, reader.ids);
        done.map(|()| scores)
    }
}

#[inline(always)]
fn each_row(
    rows: Range<usize>,
    tick: &mut dyn FnMut(usize) -> bool,
    mut step: impl FnMut(usize) -> Result<(), Error>,
) -> Result<(), Error> {
    for row in rows {
        if !tick(row) {
            return Err(Error::Interrupted);
        }
        step(row).map_err(|error| at_row(row, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::EvictionPolicy;
    use crate::event::OwnedName;
    use crate::learner::Config;
    use crate::learner::feature_names::FeatureNames;
    use crate::learner::own_features::OwnFeatures;
    use crate::learner::testing::{
        PA, STREAM, after_stream, buffer_of, bytes_of, decide_and_learn, every_kind, label_for,
        learner, limited, linear, misfit,
    };

    const COLUMNS: [Name<'static>; 5] =
        [Name::Text("e"), Name::Text("b"), Name::Text("d"), Name::Text("a"), Name::Text("c")];

    /// The three arrays of the stream.
    #[derive(Default)]
    struct Csr {
        indptr: Vec<i64>,
        indices: Vec<i32>,
        values: Vec<f64>,
    }

    impl Csr {
        fn of_stream() -> Self {
            let mut csr = Self { indptr: vec![0], ..Self::default() };
            for (event, _) in STREAM {
                for &(name, value) in event {
                    let column = COLUMNS.iter().position(|&column| column == Name::Text(name));
                    csr.indices.push(column.unwrap() as i32);
                    csr.values.push(value);
                }
                csr.indptr.push(csr.values.len() as i64);
            }
            csr
        }

        fn rows(&self) -> RowArrays<'_> {
            let Self { indptr, indices, values } = self;
            RowArrays::Csr { indptr, indices, values }
        }

        /// The same rows as one dense array, where NaN is absent.
        fn dense(&self) -> Vec<f64> {
            let mut dense = vec![f64::NAN; STREAM.len() * COLUMNS.len()];
            for row in 0..STREAM.len() {
                for i in self.indptr[row] as usize..self.indptr[row + 1] as usize {
                    dense[row * COLUMNS.len() + self.indices[i] as usize] = self.values[i];
                }
            }
            dense
        }
    }

    fn labels(learner: &Learner) -> Vec<Option<Label>> {
        STREAM.iter().map(|&(_, positive)| Some(label_for(learner.labels(), positive))).collect()
    }

    /// Every kind of learner, those that evict among them.
    fn configs() -> Vec<Config> {
        let mut configs = every_kind();
        configs.push(limited(3, EvictionPolicy::Oldest));
        configs.push(Config { scaled: true, ..limited(3, EvictionPolicy::Smallest) });
        configs.push(limited(2, EvictionPolicy::Refuse));
        configs
    }

    /// Simulate the arrays and compare with the event loop on `events`: (names, values) per row.
    fn assert_same(batch: &Batch<'_>, events: &[(Vec<Name<'_>>, Vec<f64>)]) {
        for config in configs() {
            let (mut by_array, mut by_event) = (learner(config.clone()), learner(config));
            let mut labels = labels(&by_array);
            labels[2] = None;
            let mut decisions = Vec::new();
            by_array
                .simulate(batch, LabelColumn::Listed(&labels), |one| decisions.push(*one), |_| true)
                .unwrap();
            for (row, (names, values)) in events.iter().enumerate() {
                let label = labels[row].as_ref();
                let decision = decide_and_learn(&mut by_event, names, values, label).unwrap();
                assert_eq!(decision, decisions[row]);
            }
            assert!(bytes_of(&by_array) == bytes_of(&by_event));
        }
    }

    #[test]
    fn sparse_rows_with_listed_names_equal_the_event_loop() {
        let csr = Csr::of_stream();
        let batch = Batch::new(csr.rows(), ColumnNames::Listed(&COLUMNS), 5).unwrap();
        let event = |&(event, _): &(&[(&'static str, f64)], bool)| {
            event.iter().map(|&(name, value)| (Name::Text(name), value)).unzip()
        };
        assert_same(&batch, &STREAM.iter().map(event).collect::<Vec<_>>());
    }

    #[test]
    fn dense_rows_equal_the_event_loop_and_nan_is_absent() {
        let dense = Csr::of_stream().dense();
        let rows = RowArrays::Dense { values: &dense, columns: 5, rows: STREAM.len() };
        let batch = Batch::new(rows, ColumnNames::Numbers, 5).unwrap();
        let event = |row: &[f64]| {
            let present = row.iter().enumerate().filter(|(_, value)| !value.is_nan());
            present.map(|(column, &value)| (Name::Number(column as i64), value)).unzip()
        };
        assert_same(&batch, &dense.chunks(5).map(event).collect::<Vec<_>>());
    }

    #[test]
    fn learning_many_equals_learning_one_by_one() {
        let csr = Csr::of_stream();
        let batch = Batch::new(csr.rows(), ColumnNames::Listed(&COLUMNS), 5).unwrap();
        for config in configs() {
            let (mut by_array, mut by_event) = (learner(config.clone()), learner(config));
            let labels = labels(&by_array);
            by_array.learn_many(&batch, LabelColumn::Listed(&labels), |_| true).unwrap();
            for ((event, _), label) in STREAM.iter().zip(&labels) {
                crate::learner::testing::learn(&mut by_event, event, label.as_ref().unwrap())
                    .unwrap();
            }
            assert!(bytes_of(&by_array) == bytes_of(&by_event));
        }
    }

    #[test]
    fn a_false_tick_stops_before_its_row_and_the_rows_before_are_done() {
        let csr = Csr::of_stream();
        let batch = Batch::new(csr.rows(), ColumnNames::Listed(&COLUMNS), 5).unwrap();
        let mut learner = learner(linear(PA));
        let labels = labels(&learner);
        let stopped = learner.simulate(&batch, LabelColumn::Listed(&labels), |_| (), |row| row < 3);
        assert_eq!(stopped, Err(Error::Interrupted));
        assert_eq!((learner.seen(), learner.learned()), (3, 3));
        let scored =
            learner.score_rows(&batch, 0..2, |row| row < 1, |_, _, _: &mut Vec<f64>| Ok(()));
        assert_eq!(scored, Err(Error::Interrupted));
    }

    #[test]
    fn an_error_names_its_row_and_the_rows_before_are_done() {
        let mut csr = Csr::of_stream();
        csr.values[3] = 1e200; // in row 2
        let batch = Batch::new(csr.rows(), ColumnNames::Listed(&COLUMNS), 5).unwrap();
        let mut learner = learner(linear(PA));
        let labels = labels(&learner);
        let refused = learner.learn_many(&batch, LabelColumn::Listed(&labels), |_| true);
        let Err(Error::Step(sentence)) = refused else { panic!("{refused:?}") };
        assert!(sentence.starts_with("X, row 2: its values") && sentence.ends_with("were done."));
        assert_eq!(learner.learned(), 2);
    }

    #[test]
    fn labels_are_checked_before_the_first_row() {
        let csr = Csr::of_stream();
        let batch = Batch::new(csr.rows(), ColumnNames::Listed(&COLUMNS), 5).unwrap();
        for config in every_kind() {
            let mut learner = learner(config);
            let (before, mut labels) = (bytes_of(&learner), labels(&learner));
            labels[5] = Some(misfit(learner.labels()));
            let refused = learner.learn_many(&batch, LabelColumn::Listed(&labels), |_| true);
            let Err(Error::Label(sentence)) = refused else { panic!("{refused:?}") };
            assert!(sentence.starts_with("y, row 5: label: "), "{sentence}");
            assert!(bytes_of(&learner) == before);
        }
    }

    #[test]
    fn a_label_of_another_form_than_those_before_it_is_refused_by_its_row() {
        let learner = learner(linear(PA));
        let [one, zero, minus] = [1, 0, -1].map(|number| Some(Label::Int(number)));
        let fine = [one.clone(), None, zero.clone(), one.clone()];
        assert_eq!(learner.check_labels(LabelColumn::Listed(&fine)), Ok(()));
        let labels = LabelColumn::Integers(&[1, -1, -1, 0]);
        assert!(learner.check_labels(labels).unwrap_err().to_string().starts_with("y, row 3: "));
        let refused = learner.check_labels(LabelColumn::Listed(&[one, minus, None, zero]));
        let Err(Error::Label(sentence)) = refused else { panic!("{refused:?}") };
        assert!(sentence.starts_with("y, row 3: "), "{sentence}");
    }

    #[test]
    fn kept_names_give_the_bytes_of_listed_ones_whatever_is_learned_between() {
        let csr = Csr::of_stream();
        let names = FeatureNames::new(COLUMNS.map(OwnedName::of).to_vec()).unwrap();
        let configs = every_kind().into_iter().chain([limited(2, EvictionPolicy::Oldest)]);
        for (kind, config) in configs.enumerate() {
            let mut learners = [learner(config.clone()), learner(config.clone()), learner(config)];
            let labels: Vec<_> =
                STREAM.iter().map(|(_, yes)| Some(label_for(learners[0].labels(), *yes))).collect();
            for round in 0..3 {
                for (number, learner) in learners.iter_mut().enumerate() {
                    let columns = match number {
                        0 => ColumnNames::Listed(&COLUMNS),
                        _ => ColumnNames::Kept(&names, (2 * kind + number) as u64),
                    };
                    let batch = Batch::new(csr.rows(), columns, 5).unwrap();
                    learner
                        .simulate(&batch, LabelColumn::Listed(&labels), |_| {}, |_| true)
                        .unwrap();
                    let other = [Name::Text("z"), Name::Text(["a", "e", "y"][round])];
                    let label = label_for(learner.labels(), true);
                    let mut event = buffer_of([1.0, 2.0]);
                    learner.look_up(&other[..], &mut event).unwrap();
                    learner.learn(&mut event, &other[..], &label).unwrap();
                }
                assert!(bytes_of(&learners[0]) == bytes_of(&learners[1]));
                assert!(bytes_of(&learners[0]) == bytes_of(&learners[2]));
            }
        }
        assert!(FeatureNames::new(vec![OwnedName::Number(1), OwnedName::Number(1)]).is_err());
    }

    #[test]
    fn scoring_sees_the_features_of_transform_and_changes_nothing() {
        let csr = Csr::of_stream();
        let batch = Batch::new(csr.rows(), ColumnNames::Listed(&COLUMNS), 5).unwrap();
        for config in every_kind() {
            let learner = after_stream(config);
            let before = bytes_of(&learner);
            let copy = |_: &Learner, features: &[FeatureValue], copies: &mut Vec<_>| {
                copies.push(features.to_vec());
                Ok(())
            };
            let visited = learner.score_rows(&batch, 0..STREAM.len(), |_| true, copy).unwrap();
            for ((event, _), features) in STREAM.iter().zip(&visited) {
                let mut buffer = buffer_of(event.iter().map(|&(_, value)| value));
                learner
                    .look_up(&crate::learner::testing::names_of(event)[..], &mut buffer)
                    .unwrap();
                learner.transform(&mut buffer).unwrap();
                assert_eq!(buffer.inputs(), features);
            }
            assert!(bytes_of(&learner) == before);
        }
    }

    #[test]
    fn arrays_that_do_not_fit_together_are_refused() {
        let refusal = |indptr: &[i64], indices: &[i32], values: &[f64]| {
            let rows = RowArrays::Csr { indptr, indices, values };
            let names = ColumnNames::Listed(&COLUMNS);
            Batch::new(rows, names, 5).unwrap_err().to_string()
        };
        for (sentence, part) in [
            (refusal(&[0, 1], &[0], &[]), "equally long"),
            (refusal(&[], &[], &[]), "indptr must start at 0"),
            (refusal(&[1, 1], &[0], &[1.0]), "indptr must start at 0"),
            (refusal(&[0, 1, 0], &[0], &[1.0]), "never fall"),
            (refusal(&[0, 2], &[0], &[1.0]), "must end at the number of values, 1, got 2"),
            (refusal(&[0, 1, 2], &[0, 5], &[1.0; 2]), "row 1: column 5 does not exist"),
            (refusal(&[0, 1], &[-1], &[1.0]), "row 0: column -1 does not exist"),
            (refusal(&[0, 3], &[3, 1, 3], &[1.0; 3]), "row 0: feature 'a' appears twice"),
            (refusal(&[0, 1], &[3], &[f64::NEG_INFINITY]), "feature 'a' must be a finite number"),
        ] {
            assert!(sentence.contains(part), "{sentence}");
        }
        let falling = RowArrays::Csr { indptr: &[0, 2], indices: &[3, 1], values: &[1.0; 2] };
        let batch = Batch::new(falling, ColumnNames::Numbers, 5);
        assert_eq!(batch.unwrap().len(), 1); // any order
    }

    #[test]
    fn column_names_must_be_one_per_column_different_and_not_the_learners_own() {
        let rows = RowArrays::Dense { values: &[1.0, 2.0], columns: 2, rows: 1 };
        let batch = |names| Batch::new(rows, ColumnNames::Listed(names), 2);
        let few = batch(&COLUMNS[..1]).unwrap_err();
        assert!(few.to_string().contains("2 in all, got 1"));
        let twice = [Name::Text("a"); 2];
        let twice = batch(&twice).unwrap_err();
        assert_eq!(twice.to_string(), "names: 'a' is given twice.");
        let own = [Name::Text("a"), Name::Text("(intercept)")];
        let batch = batch(&own).unwrap();
        let mut learner = learner(Config { own: OwnFeatures::Intercept, ..linear(PA) });
        let refused = learner.learn_many(&batch, LabelColumn::Bools(&[true]), |_| true);
        assert!(matches!(refused, Err(Error::Event(text)) if text.starts_with("names: feature")));
    }
}
