//! Whole arrays of events: the same results as event by event, only faster.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, Name, Names};
use crate::label::Label;
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::learner::event_buffer::EventBuffer;
use crate::learner::feature_names::{FeatureNames, UNSEEN, check_count, check_names};

/// The rows of a sparse matrix (what is not stored is absent) or of a dense one (NaN is absent).
#[derive(Clone, Copy, Debug)]
pub enum RowArrays<'a> {
    Csr { indptr: &'a [i64], indices: &'a [i32], values: &'a [f64] },
    Dense { values: &'a [f64], columns: usize, rows: usize },
}

/// The names of a batch's columns.
#[derive(Clone, Copy, Debug)]
pub enum ColumnNames<'a> {
    Numbers,
    Listed(&'a [Name<'a>]),
    /// Names that keep their ids for the learner with this number, which no other learner has.
    Kept(&'a FeatureNames, u64),
}

impl ColumnNames<'_> {
    fn name(&self, column: usize) -> Name<'_> {
        match self {
            Self::Numbers => Name::Number(column as i64),
            Self::Listed(names) => names[column],
            Self::Kept(names, _) => names.name(column),
        }
    }
}

/// Events with named columns. All of it is checked before the first row is used.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    rows: RowArrays<'a>,
    columns: ColumnNames<'a>,
    width: usize,
    /// Whether a value is NaN.
    has_absent: bool,
}

impl<'a> Batch<'a> {
    pub fn new(rows: RowArrays<'a>, columns: ColumnNames<'a>, width: usize) -> Result<Self, Error> {
        match columns {
            ColumnNames::Listed(names) => check_names(names, width)?,
            ColumnNames::Kept(names, _) => check_count(names.len(), width)?,
            ColumnNames::Numbers => {}
        }
        let mut has_absent = false;
        match rows {
            RowArrays::Csr { indptr, indices, values } => {
                check_pointers(indptr, indices.len(), values.len())?;
                // All rows at once, and only if something is unusual one after the other.
                let (rising, finite) = (all_rise(indptr, indices, width), are_finite(values));
                let mut last_row_of = Vec::new();
                for row in 0..if rising && finite { 0 } else { indptr.len() - 1 } {
                    let range = indptr[row] as usize..indptr[row + 1] as usize;
                    if !rising {
                        let row_columns = &indices[range.clone()];
                        check_columns(row_columns, row, &columns, width, &mut last_row_of)?;
                    }
                    let column = |position| indices[range.start + position] as usize;
                    has_absent |= check_values(&values[range.clone()], row, &columns, column)?;
                }
            }
            RowArrays::Dense { values, columns: width, rows } => {
                for row in 0..if are_finite(values) { 0 } else { rows } {
                    let values = &values[row * width..(row + 1) * width];
                    has_absent |= check_values(values, row, &columns, |i| i)?;
                }
            }
        }
        Ok(Self { rows, columns, width, has_absent })
    }

    pub fn len(&self) -> usize {
        match self.rows {
            RowArrays::Csr { indptr, .. } => indptr.len() - 1,
            RowArrays::Dense { rows, .. } => rows,
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

    /// Call `visit` with column and value of each feature of a row.
    pub fn for_each(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let mut take = |column: usize, value: f64| {
            if !value.is_nan() {
                visit(column, value);
            }
        };
        match self.rows {
            RowArrays::Csr { indptr, indices, values } => {
                for place in indptr[row] as usize..indptr[row + 1] as usize {
                    take(indices[place] as usize, values[place]);
                }
            }
            RowArrays::Dense { values, columns, .. } => {
                for column in 0..columns {
                    take(column, values[row * columns + column]);
                }
            }
        }
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
            RowArrays::Csr { values, .. } | RowArrays::Dense { values, .. } => values.len(),
        }
    }
}

fn check_pointers(indptr: &[i64], indices: usize, values: usize) -> Result<(), Error> {
    let bad = |text: String| Err(Error::Event(text));
    if indices != values {
        return bad(format!(
            "X: indices and data must be equally long, got {indices} and {values}."
        ));
    }
    if indptr.is_empty() || indptr[0] != 0 || indptr.windows(2).any(|pair| pair[0] > pair[1]) {
        return bad("X: indptr must start at 0 and never fall.".to_owned());
    }
    if indptr[indptr.len() - 1] != indices as i64 {
        let end = indptr[indptr.len() - 1];
        return bad(format!("X: indptr must end at the number of values, {indices}, got {end}."));
    }
    Ok(())
}

/// How many columns are not below the next. Counted, so that the compiler makes wide steps of it.
fn falls(columns: &[i32]) -> usize {
    let next = columns.get(1..).unwrap_or_default();
    let count = |pairs: (&[i32], &[i32])| -> u32 {
        pairs.0.iter().zip(pairs.1).map(|(one, next)| u32::from(one >= next)).sum()
    };
    let pieces = columns.chunks(COUNTED).zip(next.chunks(COUNTED));
    pieces.map(|pieces| count(pieces) as usize).sum()
}

/// So many are counted in 32 bits.
const COUNTED: usize = 1 << 20;

/// Whether the columns of every row rise, and all of them exist.
fn all_rise(indptr: &[i64], indices: &[i32], width: usize) -> bool {
    let mut between_rows = 0;
    for row in indptr.windows(2) {
        let (start, end) = (row[0] as usize, row[1] as usize);
        if start == end {
            continue;
        }
        if indices[start] < 0 || indices[end - 1] as usize >= width {
            return false;
        }
        between_rows += usize::from(start > 0 && indices[start - 1] >= indices[start]);
    }
    falls(indices) == between_rows
}

/// Whether no value is NaN or infinite.
fn are_finite(values: &[f64]) -> bool {
    let finite: u64 = values.iter().map(|value| u64::from(value.abs() < f64::INFINITY)).sum();
    finite == values.len() as u64
}

/// With more columns a table of them would take longer than sorting a row.
const MOST_IN_TABLE: usize = 1 << 20;

fn check_columns(
    row: &[i32],
    number: usize,
    columns: &ColumnNames<'_>,
    width: usize,
    last_row_of: &mut Vec<usize>,
) -> Result<(), Error> {
    let (Some(first), Some(last)) = (row.first(), row.last()) else { return Ok(()) };
    if falls(row) == 0 && *first >= 0 && (*last as usize) < width {
        return Ok(());
    }
    if let Some(&column) = row.iter().find(|&&c| c < 0 || c as usize >= width) {
        return Err(Error::Event(format!(
            "X, row {number}: column {column} does not exist; there are {width}."
        )));
    }
    let twice = if width <= MOST_IN_TABLE {
        last_row_of.resize(width, usize::MAX);
        let is_there = |column: usize, last: &mut Vec<usize>| {
            std::mem::replace(&mut last[column], number) == number
        };
        row.iter().copied().find(|&column| is_there(column as usize, last_row_of))
    } else {
        let mut sorted = row.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    };
    let Some(column) = twice else { return Ok(()) };
    let name = columns.name(column as usize);
    Err(Error::Event(format!("X, row {number}: feature {name} appears twice.")))
}

/// Refuse an infinity; whether a value is NaN, which is absent.
fn check_values(
    row: &[f64],
    number: usize,
    columns: &ColumnNames<'_>,
    column: impl Fn(usize) -> usize,
) -> Result<bool, Error> {
    if are_finite(row) {
        return Ok(false);
    }
    match row.iter().position(|value| value.is_infinite()) {
        Some(position) => Err(Error::Event(format!(
            "X, row {number}: feature {} must be a finite number, got {}.",
            columns.name(column(position)),
            row[position]
        ))),
        None => Ok(true),
    }
}

/// Reads one row after the other, and caches the ids of the columns' names.
struct RowReader<'a> {
    batch: &'a Batch<'a>,
    /// The ids of the columns' names. Numbers are in a table of the learner already.
    ids: Arc<Vec<FeatureId>>,
    event: EventBuffer,
    columns: RowColumns<'a>,
}

/// The columns of an event's features.
#[derive(Clone)]
enum RowColumns<'a> {
    /// The columns of a CSR row.
    Row(&'a [i32]),
    /// All of them, in order.
    All,
    /// These, because others are absent.
    Some(Vec<u32>),
}

impl RowColumns<'_> {
    fn column(&self, position: usize) -> usize {
        match self {
            Self::Row(columns) => columns[position] as usize,
            Self::All => position,
            Self::Some(columns) => columns[position] as usize,
        }
    }
}

/// The names of the row that was read last.
struct RowNames<'a> {
    columns: &'a RowColumns<'a>,
    names: ColumnNames<'a>,
}

impl Names for RowNames<'_> {
    fn name(&self, position: usize) -> Name<'_> {
        self.names.name(self.columns.column(position))
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
        Ok(Self { batch, ids, event: EventBuffer::default(), columns: RowColumns::All })
    }

    fn is_numbered(&self) -> bool {
        matches!(self.batch.columns, ColumnNames::Numbers)
    }

    /// Read a row into `self.event`: its features and their ids.
    fn read(&mut self, learner: &Learner, row: usize) {
        if learner.evicts() {
            self.forget();
        }
        let Self { batch, ids, event, columns } = self;
        let (names, numbered) = (batch.columns, matches!(batch.columns, ColumnNames::Numbers));
        let found = if numbered { learner.table.small_numbers() } else { ids.as_slice() };
        let features = &mut event.features;
        features.clear();
        let mut unseen = false;
        let mut feature = |column: usize, value: f64| {
            let id = found.get(column).copied().unwrap_or(UNSEEN);
            unseen |= id == UNSEEN;
            FeatureValue { id, value }
        };
        let values = match batch.rows {
            RowArrays::Csr { indptr, indices, values } => {
                let range = indptr[row] as usize..indptr[row + 1] as usize;
                let (row, values) = (&indices[range.clone()], &values[range]);
                features
                    .extend(row.iter().zip(values).map(|(&c, &value)| feature(c as usize, value)));
                *columns = RowColumns::Row(row);
                values
            }
            RowArrays::Dense { values, columns: width, .. } => {
                let values = &values[row * width..(row + 1) * width];
                features.extend(values.iter().enumerate().map(|(c, &value)| feature(c, value)));
                *columns = RowColumns::All;
                values
            }
        };
        let is_nan = |some, value: &f64| some | value.is_nan();
        if batch.has_absent && values.iter().fold(false, is_nan) {
            features.retain(|feature| !feature.value.is_nan());
            let present = (0..values.len()).filter(|&position| !values[position].is_nan());
            let present = present.map(|position| columns.column(position) as u32).collect();
            *columns = RowColumns::Some(present);
        }
        if unseen {
            let ids = Arc::make_mut(ids);
            for (position, feature) in features.iter_mut().enumerate() {
                if feature.id == UNSEEN {
                    let column = columns.column(position);
                    feature.id = learner.id(names.name(column));
                    if !numbered {
                        ids[column] = feature.id;
                    }
                }
            }
        }
    }

    /// Decide on the row that was read last, and learn it if its label is asked for and there.
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
        for position in 0..self.event.features.len() {
            ids[self.columns.column(position)] = UNSEEN;
        }
    }

    fn remember_ids(&mut self) {
        if self.is_numbered() {
            return;
        }
        let ids = Arc::make_mut(&mut self.ids);
        for (position, feature) in self.event.features.iter().enumerate() {
            ids[self.columns.column(position)] = feature.id;
        }
    }
}

fn at_row(row: usize, error: Error) -> Error {
    let place = if matches!(error, Error::Label(_)) { "y" } else { "X" };
    match error.placed(&format!("{place}, row {row}")) {
        Error::Step(text) => Error::Step(format!("{text} The rows before it were done.")),
        other => other,
    }
}

impl Learner {
    /// Check that labels fit, as if they were learned in this order.
    pub fn check_labels<'a>(
        &self,
        labels: impl IntoIterator<Item = Option<&'a Label>>,
    ) -> Result<(), Error> {
        let mut known = self.labels().clone();
        let mut fine = [None, None]; // the last two different labels: most labels equal one of them
        for (row, label) in labels.into_iter().enumerate() {
            let Some(label) = label else { continue };
            if fine.iter().flatten().any(|&one| label.is_written_like(one)) {
                continue;
            }
            let parsed = known.read(label).map_err(|error| at_row(row, error))?;
            if known.is_binary() {
                known.learn(&parsed, label); // the following labels must have the same form
            }
            fine = [Some(label), fine[0]];
        }
        Ok(())
    }

    /// Decide on each event, and learn those that are asked for and have a label.
    ///
    /// `decided` gets each decision. `tick` is called before each row; `false` stops the batch
    /// before it.
    pub fn simulate(
        &mut self,
        batch: &Batch<'_>,
        labels: &[Option<Label>],
        mut decided: impl FnMut(&Decision),
        mut tick: impl FnMut(usize) -> bool,
    ) -> Result<(), Error> {
        self.check_labels(labels.iter().map(Option::as_ref))?;
        let mut reader = RowReader::new(self, batch, true)?;
        let mut step = |reader: &mut RowReader<'_>, row: usize| {
            reader.read(self, row);
            reader.step(self, labels[row].as_ref(), &mut decided)
        };
        let done = each_row(0..labels.len(), &mut tick, |row| step(&mut reader, row));
        batch.keep_ids(self, reader.ids);
        done
    }

    /// Learn every event. `tick` is called before each row; `false` stops the batch before it.
    pub fn learn_many(
        &mut self,
        batch: &Batch<'_>,
        labels: &[Label],
        mut tick: impl FnMut(usize) -> bool,
    ) -> Result<(), Error> {
        self.check_labels(labels.iter().map(Some))?;
        let mut reader = RowReader::new(self, batch, true)?;
        let mut learn = |reader: &mut RowReader<'_>, row: usize| {
            reader.read(self, row);
            reader.learn(self, &labels[row])
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
        let done = each_row(rows, &mut tick, |row| {
            reader.read(self, row);
            self.transform(&mut reader.event)?;
            score(self, reader.event.inputs(), &mut scores)
        });
        batch.keep_ids(self, reader.ids);
        done.map(|()| scores)
    }
}

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

    fn labels(learner: &Learner) -> Vec<Label> {
        STREAM.iter().map(|&(_, positive)| label_for(learner.labels(), positive)).collect()
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
            let mut labels: Vec<Option<Label>> = labels(&by_array).into_iter().map(Some).collect();
            labels[2] = None;
            let mut decisions = Vec::new();
            by_array.simulate(batch, &labels, |one| decisions.push(*one), |_| true).unwrap();
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
            by_array.learn_many(&batch, &labels, |_| true).unwrap();
            for ((event, _), label) in STREAM.iter().zip(&labels) {
                crate::learner::testing::learn(&mut by_event, event, label).unwrap();
            }
            assert!(bytes_of(&by_array) == bytes_of(&by_event));
        }
    }

    #[test]
    fn a_false_tick_stops_before_its_row_and_the_rows_before_are_done() {
        let csr = Csr::of_stream();
        let batch = Batch::new(csr.rows(), ColumnNames::Listed(&COLUMNS), 5).unwrap();
        let mut learner = learner(linear(PA));
        let labels: Vec<Option<Label>> = labels(&learner).into_iter().map(Some).collect();
        let stopped = learner.simulate(&batch, &labels, |_| (), |row| row < 3);
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
        let refused = learner.learn_many(&batch, &labels, |_| true);
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
            labels[5] = misfit(learner.labels());
            let refused = learner.learn_many(&batch, &labels, |_| true);
            let Err(Error::Label(sentence)) = refused else { panic!("{refused:?}") };
            assert!(sentence.starts_with("y, row 5: label: "), "{sentence}");
            assert!(bytes_of(&learner) == before);
        }
    }

    #[test]
    fn a_label_of_another_form_than_those_before_it_is_refused_by_its_row() {
        let learner = learner(linear(PA));
        let [one, zero, minus] = [1, 0, -1].map(Label::Int);
        let fine = [Some(&one), None, Some(&zero), Some(&one)];
        assert_eq!(learner.check_labels(fine), Ok(()));
        let refused = learner.check_labels([Some(&one), Some(&minus), None, Some(&zero)]);
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
                    learner.simulate(&batch, &labels, |_| {}, |_| true).unwrap();
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
            Batch::new(rows, ColumnNames::Listed(&COLUMNS), 5).unwrap_err().to_string()
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
        assert_eq!(Batch::new(falling, ColumnNames::Numbers, 5).unwrap().len(), 1); // any order
    }

    #[test]
    fn column_names_must_be_one_per_column_different_and_not_the_learners_own() {
        let rows = RowArrays::Dense { values: &[1.0, 2.0], columns: 2, rows: 1 };
        let few = Batch::new(rows, ColumnNames::Listed(&COLUMNS[..1]), 2).unwrap_err();
        assert!(few.to_string().contains("2 in all, got 1"));
        let twice = [Name::Text("a"); 2];
        let twice = Batch::new(rows, ColumnNames::Listed(&twice), 2).unwrap_err();
        assert_eq!(twice.to_string(), "names: 'a' is given twice.");
        let own = [Name::Text("a"), Name::Text("(intercept)")];
        let batch = Batch::new(rows, ColumnNames::Listed(&own), 2).unwrap();
        let mut learner = learner(Config { own: OwnFeatures::Intercept, ..linear(PA) });
        let refused = learner.learn_many(&batch, &[Label::Bool(true)], |_| true);
        assert!(matches!(refused, Err(Error::Event(text)) if text.starts_with("names: feature")));
    }
}
