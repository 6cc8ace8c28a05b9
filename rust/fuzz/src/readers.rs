//! Files of events: the input is the file.

use std::io::{self, Cursor, Read};

use headwater_core::LearnedLabels;
use headwater_core::RunCounts;
use headwater_core::batch::{Batch, LabelColumn};
use headwater_core::readers::Reader;
use headwater_core::readers::columns::{Columns, TimeFeatures};
use headwater_core::readers::options::{Format, OnError, Options};
use headwater_core::readers::record::{Id, Record};
use headwater_core::readers::record_table::RecordTable;
use headwater_core::row_arrays::RowArrays;
use headwater_core::{ColumnNames, Error, Label, Learner, Name, Names};

use crate::check_sentence;
use crate::learners::{bytes_of, configs};
use crate::lessons::event;

/// An owned name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FuzzKept {
    Number(i64),
    Text(String),
}

impl FuzzKept {
    fn of(name: Name<'_>) -> Self {
        match name {
            Name::Number(number) => Self::Number(number),
            Name::Text(text) => Self::Text(text.to_owned()),
        }
    }

    fn name(&self) -> Name<'_> {
        match self {
            Self::Number(number) => Name::Number(*number),
            Self::Text(text) => Name::Text(text),
        }
    }
}

/// An owned record; values are compared bit by bit.
#[derive(Clone, Debug)]
pub struct FuzzEvent {
    label: Option<Label>,
    id: Option<Id>,
    names: Vec<FuzzKept>,
    values: Vec<f64>,
}

impl PartialEq for FuzzEvent {
    fn eq(&self, other: &Self) -> bool {
        let bits = |event: &Self| event.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let label = |event: &Self| format!("{:?}", event.label); // 1 is not True here
        label(self) == label(other)
            && self.id == other.id
            && self.names == other.names
            && bits(self) == bits(other)
    }
}

/// Everything that a reader returned.
#[derive(Debug, PartialEq)]
pub struct FuzzRun {
    pub events: Vec<FuzzEvent>,
    pub error: Option<Error>,
    skipped: u64,
    problems: Vec<String>,
}

/// A source that gives a few bytes at a time and is sometimes interrupted.
struct Trickle {
    data: Cursor<Vec<u8>>,
    calls: usize,
}

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = buffer.len().min([1, 7, 2, 31][self.calls % 4]);
        self.data.read(&mut buffer[..most])
    }
}

pub fn read(source: impl Read + Send + 'static, options: &Options) -> FuzzRun {
    let mut told = FuzzRun { events: Vec::new(), error: None, skipped: 0, problems: Vec::new() };
    let mut reader = match Reader::new(source, "f", options.clone()) {
        Ok(reader) => reader,
        Err(error) => return FuzzRun { error: Some(error), ..told },
    };
    let mut record = Record::default();
    loop {
        match reader.next(&mut record) {
            Ok(true) => told.events.push(kept(&reader, &record)),
            Ok(false) => break,
            Err(Error::Interrupted) => {} // it waits
            Err(error) => {
                told.error = Some(error);
                break;
            }
        }
    }
    told.skipped = reader.skipped();
    told.problems = reader.problems().to_vec();
    told
}

fn kept(reader: &Reader, record: &Record) -> FuzzEvent {
    let names = reader.names(record);
    let values: Vec<f64> = record.features.iter().map(|feature| feature.value).collect();
    assert!(values.iter().all(|value| value.is_finite()), "{values:?}");
    let names: Vec<FuzzKept> = (0..values.len()).map(|i| FuzzKept::of(names.name(i))).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "a name appears twice: {sorted:?}");
    assert!(!matches!(record.label, Some(Label::Real(number)) if number.is_nan()));
    FuzzEvent { label: record.label.clone(), id: record.id.clone(), names, values }
}

pub fn plain(data: &[u8]) -> Cursor<Vec<u8>> {
    Cursor::new(data.to_vec())
}

/// Read a file in every way, and learn it in every input format.
fn check(data: &[u8], options: &Options, kind: usize) {
    let told = read(plain(data), options);
    let trickled = read(Trickle { data: plain(data), calls: 0 }, options);
    assert_eq!(told, trickled, "in other blocks it is another file");
    if let Some(error) = &told.error {
        assert!(matches!(error, Error::File(_)), "{error:?}");
        check_sentence(error);
    }
    let lenient = Options { on_error: OnError::Skip, ..options.clone() };
    let skipping = read(plain(data), &lenient);
    assert_eq!(told.events, skipping.events[..told.events.len()]);
    match &told.error {
        None => assert_eq!((told.events.len(), 0), (skipping.events.len(), skipping.skipped)),
        Some(error) => {
            let first = skipping.problems.first().cloned();
            let first = first.or_else(|| skipping.error.as_ref().map(Error::to_string));
            assert_eq!(first, Some(error.to_string()));
        }
    }
    learn(data, options, &told, kind);
    learn(data, &lenient, &skipping, kind);
}

/// Learning a file, arrays and single events must give the same bytes.
fn learn(data: &[u8], options: &Options, told: &FuzzRun, kind: usize) {
    let config = configs().swap_remove(kind);
    let mut by_file = Learner::new(config).expect("a sound configuration");
    let (mut by_event, mut by_array) = (by_file.clone(), by_file.clone());
    let Ok(mut reader) = Reader::new(plain(data), "f", options.clone()) else { return };
    let mut run = RunCounts::default();
    let done =
        by_file.simulate_file(&mut reader, LearnedLabels::Asked, &mut run, |_| true, &mut ());
    if let Err(error) = &done {
        check_sentence(error);
    }
    for problem in reader.problems() {
        assert!(problem.ends_with('.'), "{problem}");
    }
    if done.is_err() || reader.skipped() != told.skipped {
        return; // the learner refused a label or a step, which the reader does not do
    }
    assert_eq!(run.events, told.events.len() as u64);
    for FuzzEvent { label, names, values, .. } in &told.events {
        let names: Vec<Name<'_>> = names.iter().map(FuzzKept::name).collect();
        event(&mut by_event, &names, values, label.as_ref()).expect("the file was learned");
    }
    assert!(bytes_of(&by_file) == bytes_of(&by_event), "as a file it is learned otherwise");
    let mut reader = Reader::new(plain(data), "f", options.clone()).expect("it was read before");
    let (table, result) = RecordTable::read(&mut reader, usize::MAX, || true);
    assert_eq!((result, table.len()), (Ok(()), told.events.len()));
    let rows =
        RowArrays::Csr { indptr: &table.indptr, indices: &table.indices, values: &table.values };
    let names: Vec<Name<'_>> = table.names().collect();
    let batch = Batch::new(rows, ColumnNames::Listed(&names), names.len()).expect("a sound table");
    let labels = LabelColumn::Listed(&table.labels);
    by_array.simulate(&batch, labels, |_| (), |_| true).expect("as the file");
    assert!(bytes_of(&by_file) == bytes_of(&by_array), "as arrays it is learned otherwise");
}

pub fn options(format: Format) -> Options {
    Options { format, columns: Columns::default(), on_error: OnError::Stop }
}

fn named(format: Format) -> Options {
    let names = |name: &str| vec![name.to_owned()];
    let columns = Columns {
        time: Some("t".to_owned()),
        group: Some("g".to_owned()),
        ignore: names("i"),
        text: names("w"),
        category: names("c"),
        time_features: TimeFeatures { hour: true, weekday: true, since_last: false },
        ngrams: 2,
        optional: true,
        ..Columns::new(Some("y".to_owned()), Some("id".to_owned()))
    };
    Options { columns, ..options(format) }
}

pub fn svmlight(data: &[u8]) {
    check(data, &options(Format::Svmlight), 0);
}

pub fn vw(data: &[u8]) {
    check(data, &options(Format::Vw), 1);
}

pub fn json(data: &[u8]) {
    check(data, &named(Format::JsonLines), 3);
}

/// The first character of the header that can be a delimiter is the delimiter.
pub fn csv(data: &[u8]) {
    let header = data.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let delimiter = header.iter().copied().find(|byte| b",;\t|".contains(byte)).unwrap_or(b',');
    let format = Format::Csv { delimiter };
    check(data, &named(format), 8);
}
