//! Whole arrays of events: the same results as event by event, only faster.

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, Name, Names, UNKNOWN};
use crate::label::Label;
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::learner::event_buffer::EventBuffer;

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
}

impl ColumnNames<'_> {
    fn name(&self, column: usize) -> Name<'_> {
        match self {
            Self::Numbers => Name::Number(column as i64),
            Self::Listed(names) => names[column],
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
        if let ColumnNames::Listed(names) = columns {
            check_names(names, width)?;
        }
        let mut has_absent = false;
        match rows {
            RowArrays::Csr { indptr, indices, values } => {
                check_pointers(indptr, indices.len(), values.len())?;
                let mut last_row_of = Vec::new();
                for row in 0..indptr.len() - 1 {
                    let range = indptr[row] as usize..indptr[row + 1] as usize;
                    check_columns(&indices[range.clone()], row, &columns, width, &mut last_row_of)?;
                    let column = |position| indices[range.start + position] as usize;
                    has_absent |= check_values(&values[range.clone()], row, &columns, column)?;
                }
            }
            RowArrays::Dense { values, columns: width, rows } => {
                for row in 0..rows {
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
}

fn check_names(names: &[Name<'_>], width: usize) -> Result<(), Error> {
    if names.len() != width {
        return Err(Error::Event(format!(
            "names: expected one per column, {width} in all, got {}.",
            names.len()
        )));
    }
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::Event(format!("names: {} is given twice.", pair[0]))),
        None => Ok(()),
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

fn check_columns(
    row: &[i32],
    number: usize,
    columns: &ColumnNames<'_>,
    width: usize,
    last_row_of: &mut Vec<usize>,
) -> Result<(), Error> {
    // Without a branch per column, as below.
    let rises = row.windows(2).fold(true, |fine, pair| fine & (pair[0] < pair[1]));
    let (Some(first), Some(last)) = (row.first(), row.last()) else { return Ok(()) };
    if rises && *first >= 0 && (*last as usize) < width {
        return Ok(());
    }
    if let Some(&column) = row.iter().find(|&&c| c < 0 || c as usize >= width) {
        return Err(Error::Event(format!(
            "X, row {number}: column {column} does not exist; there are {width}."
        )));
    }
    last_row_of.resize(width, usize::MAX);
    for &column in row {
        if std::mem::replace(&mut last_row_of[column as usize], number) == number {
            let name = columns.name(column as usize);
            return Err(Error::Event(format!("X, row {number}: feature {name} appears twice.")));
        }
    }
    Ok(())
}

/// Refuse an infinity; whether a value is NaN, which is absent.
fn check_values(
    row: &[f64],
    number: usize,
    columns: &ColumnNames<'_>,
    column: impl Fn(usize) -> usize,
) -> Result<bool, Error> {
    // Without a branch per value.
    if row.iter().fold(true, |finite, value| finite & (value.abs() < f64::INFINITY)) {
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

/// In place of an id in the table of a batch's columns: not looked up yet.
const UNSEEN: FeatureId = UNKNOWN - 1;

/// Reads one row after the other, and caches the ids of the columns' names.
struct RowReader<'a> {
    batch: &'a Batch<'a>,
    ids: Vec<FeatureId>,
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
    fn new(learner: &Learner, batch: &'a Batch<'a>) -> Result<Self, Error> {
        if let ColumnNames::Listed(names) = batch.columns {
            for &name in names {
                let check = learner.check_name(name);
                check.map_err(|text| Error::Event(format!("names: {text}")))?;
            }
        }
        Ok(Self {
            batch,
            ids: vec![UNSEEN; batch.width],
            event: EventBuffer::default(),
            columns: RowColumns::All,
        })
    }

    /// Read a row into `self.event`: its features and their ids.
    fn read(&mut self, learner: &Learner, row: usize) {
        if learner.evicts() {
            self.forget();
        }
        let unseen = match self.batch.rows {
            RowArrays::Csr { indptr, indices, values } => {
                let range = indptr[row] as usize..indptr[row + 1] as usize;
                let (columns, values) = (&indices[range.clone()], &values[range]);
                let index = |position: usize| columns[position] as usize;
                self.take(
                    values,
                    columns.iter().map(|&c| c as usize),
                    index,
                    RowColumns::Row(columns),
                )
            }
            RowArrays::Dense { values, columns, .. } => {
                let values = &values[row * columns..(row + 1) * columns];
                self.take(values, 0..columns, |position| position, RowColumns::All)
            }
        };
        let names = &self.batch.columns;
        if unseen {
            for (position, feature) in self.event.features.iter_mut().enumerate() {
                if feature.id == UNSEEN {
                    let column = self.columns.column(position);
                    feature.id = learner.id(names.name(column));
                    self.ids[column] = feature.id;
                }
            }
        }
    }

    /// Take the features that are present, with the cached ids of their columns. True if some are
    /// not cached.
    fn take(
        &mut self,
        values: &[f64],
        columns: impl Iterator<Item = usize>,
        index: impl Fn(usize) -> usize,
        which: RowColumns<'a>,
    ) -> bool {
        let (features, ids, mut unseen) = (&mut self.event.features, &self.ids, false);
        features.clear();
        features.extend(columns.zip(values).map(|(column, &value)| {
            let id = ids[column];
            unseen |= id == UNSEEN;
            FeatureValue { id, value }
        }));
        self.columns = which;
        let is_nan = |some, value: &f64| some | value.is_nan();
        if self.batch.has_absent && values.iter().fold(false, is_nan) {
            features.retain(|feature| !feature.value.is_nan());
            let present = (0..values.len()).filter(|&position| !values[position].is_nan());
            self.columns =
                RowColumns::Some(present.map(|position| index(position) as u32).collect());
        }
        unseen
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
        // The learner's own features may be at the end.
        for position in 0..self.event.features.len().min(self.count()) {
            let column = self.columns.column(position);
            self.ids[column] = UNSEEN;
        }
    }

    /// The number of features of the row, without the learner's own.
    fn count(&self) -> usize {
        match &self.columns {
            RowColumns::Row(columns) => columns.len(),
            RowColumns::All => self.batch.width,
            RowColumns::Some(columns) => columns.len(),
        }
    }

    fn remember_ids(&mut self) {
        for (position, feature) in self.event.features.iter().take(self.count()).enumerate() {
            self.ids[self.columns.column(position)] = feature.id;
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
        let mut reader = RowReader::new(self, batch)?;
        for (row, label) in labels.iter().enumerate() {
            if !tick(row) {
                return Err(Error::Interrupted);
            }
            reader.read(self, row);
            let stepped = reader.step(self, label.as_ref(), &mut decided);
            stepped.map_err(|error| at_row(row, error))?;
        }
        Ok(())
    }

    /// Learn every event. `tick` is called before each row; `false` stops the batch before it.
    pub fn learn_many(
        &mut self,
        batch: &Batch<'_>,
        labels: &[Label],
        mut tick: impl FnMut(usize) -> bool,
    ) -> Result<(), Error> {
        self.check_labels(labels.iter().map(Some))?;
        let mut reader = RowReader::new(self, batch)?;
        for (row, label) in labels.iter().enumerate() {
            if !tick(row) {
                return Err(Error::Interrupted);
            }
            reader.read(self, row);
            reader.learn(self, label).map_err(|error| at_row(row, error))?;
        }
        Ok(())
    }

    /// Call `visit` with the features of each event as the model uses them. Changes nothing. `tick`
    /// is called before each row; `false` stops the batch before it.
    pub fn visit(
        &self,
        batch: &Batch<'_>,
        mut tick: impl FnMut(usize) -> bool,
        mut visit: impl FnMut(&Self, &[FeatureValue]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut reader = RowReader::new(self, batch)?;
        for row in 0..batch.len() {
            if !tick(row) {
                return Err(Error::Interrupted);
            }
            reader.read(self, row);
            self.transform(&mut reader.event)
                .and_then(|()| visit(self, reader.event.inputs()))
                .map_err(|error| at_row(row, error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::EvictionPolicy;
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
        let visited = learner.visit(&batch, |row| row < 1, |_, _| Ok(()));
        assert_eq!(visited, Err(Error::Interrupted));
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
    fn visiting_gives_the_features_of_transform_and_changes_nothing() {
        let csr = Csr::of_stream();
        let batch = Batch::new(csr.rows(), ColumnNames::Listed(&COLUMNS), 5).unwrap();
        for config in every_kind() {
            let learner = after_stream(config);
            let before = bytes_of(&learner);
            let mut visited = Vec::new();
            let visit = |_: &Learner, features: &[FeatureValue]| {
                visited.push(features.to_vec());
                Ok(())
            };
            learner.visit(&batch, |_| true, visit).unwrap();
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
