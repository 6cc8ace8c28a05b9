//! Files of events for Python.
#![allow(clippy::needless_pass_by_value)] // what PyO3 extracts
#![allow(clippy::redundant_closure_for_method_calls)] // lifetimes need the closure

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use headwater_core as core;
use headwater_core::Names;
use headwater_core::OwnedName;
use headwater_core::readers::options::{Format, OnError, Options};
use headwater_core::readers::record::{Id, RawCell, Record};
use headwater_core::readers::record_table::RecordTable;
use headwater_core::readers::{Reader, Skips};
use headwater_core::{DecisionWriter, Output, Progress, RunCounts};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::columns::{FindingParts, PyColumns, finding_parts};
use crate::errors::{EventFileError, raise};
use crate::label::label_to_python;
use crate::name::name_to_python;
use crate::record_batches::{ArrowBatches, PythonError};

/// How long a batch runs before it checks for an interrupt.
pub const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Lines between two readings of the clock.
const LINES_A_LOOK: u32 = 64;

/// A file and what its lines mean: (path, format, columns, whether they may be missing, whether they
/// are handed over raw, whether to skip bad lines, and what decodes its batches if the core does not).
#[derive(FromPyObject)]
pub struct Source(PathBuf, String, PyColumns, bool, bool, bool, Option<Py<PyAny>>);

impl Source {
    /// Where the file is, if the core reads it itself.
    pub fn path(&self) -> Option<&Path> {
        self.6.is_none().then_some(&self.0)
    }

    /// The file's reader, and where an error of Python that stops it is put.
    pub fn open(self, py: Python<'_>) -> PyResult<(Reader, PythonError)> {
        let Self(path, format, columns, optional, raw, skip, batches) = self;
        let on_error = if skip { OnError::Skip } else { OnError::Stop };
        let columns = columns.read(optional, raw);
        let python_error = PythonError::default();
        if let Some(batches) = batches {
            let batches = ArrowBatches::new(batches.bind(py), python_error.clone())?;
            let name = path.to_string_lossy();
            let reader = Reader::of_batches(Box::new(batches), &name, columns, on_error);
            return Ok((reader.map_err(raise)?, python_error));
        }
        let format = match format.as_str() {
            "svmlight" => Format::Svmlight,
            "vw" => Format::Vw,
            "jsonl" => Format::JsonLines,
            "csv" => Format::Csv { delimiter: b',' },
            "tsv" => Format::Csv { delimiter: b'\t' },
            other => {
                let sentence = format!("format: the core does not read {other}.");
                return Err(EventFileError::new_err(sentence));
            }
        };
        let options = Options { format, columns, on_error };
        let mut stopped = None;
        let opened = py.detach(|| {
            Reader::open(&path, options, || {
                stopped = Python::attach(|py| py.check_signals()).err();
                stopped.is_none()
            })
        });
        match stopped {
            Some(error) => Err(error),
            None => Ok((opened.map_err(raise)?, python_error)),
        }
    }
}

/// The error that stopped a reader, if it was one of Python.
pub fn taken(error: &PythonError) -> Option<PyErr> {
    error.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The state of a run: events, labelled, mistakes, absolute error, asked, learned, skipped, bytes,
/// problems, findings, units.
pub type FileRun = (
    (u64, u64, u64, f64, u64, u64, u64, u64),
    Vec<String>,
    Vec<FindingParts>,
    Vec<(String, String)>,
);

/// `skips` are the lines that the learner could not use, `at_end`: nothing more is read.
pub fn file_run(run: &RunCounts, skips: &Skips, reader: &Reader, at_end: bool) -> FileRun {
    let problems = skips.problems.clone();
    let findings = reader.findings(at_end).into_iter().map(finding_parts).collect();
    let units = reader.units().to_vec();
    let RunCounts { events, labelled, mistakes, absolute_error, asked, learned } = *run;
    let (skipped, bytes) = (skips.count, reader.bytes());
    let counts = (events, labelled, mistakes, absolute_error, asked, learned, skipped, bytes);
    (counts, problems, findings, units)
}

/// Checks for Ctrl-C and reports progress a few times per second.
pub struct ProgressWatch<'a> {
    progress: Option<&'a Py<PyAny>>,
    last_look: Instant,
    last_told: Instant,
    lines: u32,
    pub stopped: Option<PyErr>,
}

impl<'a> ProgressWatch<'a> {
    pub fn new(progress: Option<&'a Py<PyAny>>) -> Self {
        let now = Instant::now();
        Self { progress, last_look: now, last_told: now, lines: 0, stopped: None }
    }

    pub fn look(&mut self, now: Progress<'_>) -> bool {
        if self.is_time(now.waiting) {
            self.stopped = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = self.progress else { return Ok(()) };
                progress
                    .call1(py, file_run(now.run, &now.reader.skips, now.reader, false))
                    .map(|_| ())
            })
            .err();
        }
        self.stopped.is_none()
    }

    /// The same between two blocks of lines, which are seldom enough to ask for the time at each.
    pub fn look_now(&mut self, run: &RunCounts, skips: &Skips, reader: &Reader) -> bool {
        if let (Some(progress), true) = (self.progress, self.last_told.elapsed() > BETWEEN_LOOKS) {
            self.last_told = Instant::now();
            self.stopped = Python::attach(|py| {
                progress.call1(py, file_run(run, skips, reader, false)).map(|_| ())
            })
            .err();
        }
        self.goes_on()
    }

    /// The same of a run that reports nothing.
    pub fn goes_on(&mut self) -> bool {
        if self.stopped.is_none() && self.is_time(false) {
            self.stopped = Python::attach(|py| py.check_signals()).err();
        }
        self.stopped.is_none()
    }

    fn is_time(&mut self, waiting: bool) -> bool {
        self.lines = self.lines.wrapping_add(1);
        let due = waiting || self.lines.is_multiple_of(LINES_A_LOOK);
        let due = due && self.last_look.elapsed() > BETWEEN_LOOKS;
        if due {
            self.last_look = Instant::now();
        }
        due
    }
}

/// A file that is written without a buffer: what was written is in it whatever happens next.
pub struct OutputFile(File);

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Output for OutputFile {
    fn cut(&mut self, length: u64) {
        // A pipe cannot be cut; then what is there stays there.
        if self.0.set_len(length).is_ok() {
            let _ = self.0.seek(SeekFrom::Start(length));
        }
    }
}

/// Where decisions are written: CSV if the name says so, else JSON lines.
pub fn decisions_file(path: &Path) -> PyResult<DecisionWriter<OutputFile>> {
    let csv = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("csv"));
    let file = OutputFile(File::create(path)?);
    DecisionWriter::new(file, path.to_string_lossy().into_owned(), csv).map_err(raise)
}

pub fn id_to_python<'py>(py: Python<'py>, id: Option<&Id>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let name = id.map(|id| match id {
        Id::Number(number) => core::Name::Number(*number),
        Id::Text(text) => core::Name::Text(text),
    });
    name.map(|name| name_to_python(py, name)).transpose()
}

/// A table of events as arrays and lists: (indptr, indices, data, names, labels, ids).
pub fn batch_to_python(py: Python<'_>, table: RecordTable) -> PyResult<FileBatch<'_>> {
    let names: PyResult<Vec<_>> = table.names().map(|name| name_to_python(py, name)).collect();
    let label = |label: &Option<core::Label>| {
        label.as_ref().map(|label| label_to_python(py, label)).transpose()
    };
    let labels: PyResult<Vec<_>> = table.labels.iter().map(label).collect();
    let ids: PyResult<Vec<_>> = table.ids.iter().map(|id| id_to_python(py, id.as_ref())).collect();
    let (names, labels, ids) = (names?, labels?, ids?);
    Ok((
        PyArray1::from_vec(py, table.indptr),
        PyArray1::from_vec(py, table.indices),
        PyArray1::from_vec(py, table.values),
        PyList::new(py, names)?,
        PyList::new(py, labels)?,
        PyList::new(py, ids)?,
    ))
}

/// The fields of an event as they are: name, value, whether it is a time in microseconds.
type RawEvent<'py> = Vec<(String, Bound<'py, PyAny>, bool)>;

/// The events of a file, one after the other or in batches.
#[pyclass(frozen, module = "headwater._core")]
pub struct EventReader {
    state: Mutex<ReaderState>,
    python_error: PythonError,
}

struct ReaderState {
    reader: Reader,
    record: Record,
    /// An error that is raised after the events before it.
    pending: Option<core::Error>,
    ended: bool,
}

impl EventReader {
    /// Never waits: the thread that reads may need the GIL, which the caller may hold.
    fn state(&self) -> Result<MutexGuard<'_, ReaderState>, core::Error> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(core::Error::Busy("file: it is being read by another thread.".to_owned()))
            }
        }
    }
}

impl EventReader {
    /// Read some events, and whether there were none, without the interpreter's lock. An error behind
    /// events is raised by the next call; nothing is read after it.
    pub fn read_some<T: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&mut Reader, &mut dyn FnMut() -> bool) -> (T, bool, Result<(), core::Error>)
        + Send,
    ) -> PyResult<Option<T>> {
        let mut watch = ProgressWatch::new(None);
        let found = py.detach(|| {
            let mut state = self.state()?;
            if let Some(error) = state.pending.take() {
                state.ended = true;
                return Err(error);
            }
            if state.ended {
                return Ok(None);
            }
            let mut stopped = None;
            let (found, is_empty, result) = read(&mut state.reader, &mut || {
                stopped = taken(&self.python_error);
                if stopped.is_none() && watch.is_time(true) {
                    stopped = Python::attach(|py| py.check_signals()).err();
                }
                stopped.is_none()
            });
            watch.stopped = stopped;
            match result {
                Err(error) if is_empty => {
                    state.ended = true;
                    return Err(error);
                }
                result => state.pending = result.err(),
            }
            Ok(Some(found))
        });
        match watch.stopped {
            Some(error) => Err(error),
            None => found.map_err(raise),
        }
    }
}

pub type FileEvent<'py> =
    (Option<Bound<'py, PyAny>>, Bound<'py, PyDict>, Option<Bound<'py, PyAny>>);
pub type FileBatch<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyList>,
    Bound<'py, PyList>,
    Bound<'py, PyList>,
);

#[pymethods]
impl EventReader {
    #[new]
    fn new(py: Python<'_>, source: Source) -> PyResult<Self> {
        let (reader, python_error) = source.open(py)?;
        let state = ReaderState { reader, record: Record::default(), pending: None, ended: false };
        Ok(Self { state: Mutex::new(state), python_error })
    }

    /// The next event as (id, features, label); None at the end.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<FileEvent<'py>>> {
        let read = || {
            let state = &mut *self.state()?;
            if let Some(error) = state.pending.take() {
                state.ended = true;
                return Err(error);
            }
            if state.ended {
                return Ok(None);
            }
            let ReaderState { reader, record, .. } = state;
            let found = reader.next(record);
            state.ended = !matches!(found, Ok(true) | Err(core::Error::Interrupted));
            if !found? {
                return Ok(None);
            }
            Ok(Some(OwnedRecord::of(&state.reader, &mut state.record)))
        };
        loop {
            match py.detach(read) {
                Ok(event) => return event.map(|event| event.to_python(py)).transpose(),
                Err(core::Error::Interrupted) => match taken(&self.python_error) {
                    Some(error) => return Err(error),
                    None => py.check_signals()?,
                },
                Err(error) => return Err(raise(error)),
            }
        }
    }

    /// The next events, at most `size`: (indptr, indices, data, names, labels, ids); none at the
    /// end.
    fn batch<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Option<FileBatch<'py>>> {
        let table = self.read_some(py, |reader, tick| {
            let (table, result) = RecordTable::read(reader, size, tick);
            let is_empty = table.is_empty();
            (table, is_empty, result)
        })?;
        let Some(table) = table.filter(|table| !table.is_empty()) else { return Ok(None) };
        batch_to_python(py, table).map(Some)
    }

    /// The next events as their files have them, at most `size`: lists of (name, value, whether it is
    /// a time in microseconds).
    fn raw<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Vec<RawEvent<'py>>> {
        let events = self.read_some(py, |reader, tick| {
            let (mut record, mut events) = (Record::default(), Vec::new());
            let mut result = Ok(());
            while events.len() < size && tick() {
                match reader.next(&mut record) {
                    Ok(true) => events.push(std::mem::take(&mut record.raw)),
                    Ok(false) => break,
                    Err(core::Error::Interrupted) => {}
                    Err(error) => {
                        result = Err(error);
                        break;
                    }
                }
            }
            let is_empty = events.is_empty();
            (events, is_empty, result)
        })?;
        let value = |(name, cell): (String, RawCell)| {
            let is_time = matches!(cell, RawCell::Time(_));
            let value = match cell {
                RawCell::Absent => py.None().into_bound(py),
                RawCell::Number(number) => number.into_pyobject(py)?.into_any(),
                RawCell::Integer(number) | RawCell::Time(number) => {
                    number.into_pyobject(py)?.into_any()
                }
                RawCell::Bool(truth) => label_to_python(py, &core::Label::Bool(truth))?,
                RawCell::Text(text) => text.into_pyobject(py)?.into_any(),
            };
            Ok((name, value, is_time))
        };
        let event = |event: Vec<(String, RawCell)>| event.into_iter().map(value).collect();
        events.unwrap_or_default().into_iter().map(event).collect()
    }

    /// What looks wrong in what was read so far.
    #[getter]
    fn findings(&self) -> PyResult<Vec<FindingParts>> {
        let state = self.state().map_err(raise)?;
        Ok(state.reader.findings(state.ended).into_iter().map(finding_parts).collect())
    }

    /// When the last event of `next` happened, in seconds since 1970.
    #[getter]
    fn time(&self) -> PyResult<Option<f64>> {
        Ok(self.state().map_err(raise)?.record.time.map(|micros| micros as f64 / 1e6))
    }

    /// What it belongs to.
    #[getter]
    fn group<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let group = self.state().map_err(raise)?.record.group.clone();
        id_to_python(py, group.as_ref())
    }

    /// The number of lines that could not be used.
    #[getter]
    fn skipped(&self) -> PyResult<u64> {
        Ok(self.state().map_err(raise)?.reader.skipped())
    }

    /// The reasons for the first of them.
    #[getter]
    fn problems(&self) -> PyResult<Vec<String>> {
        Ok(self.state().map_err(raise)?.reader.problems().to_vec())
    }
}

/// An event copied out of its reader, so that the reader's lock can be released.
pub struct OwnedRecord {
    id: Option<Id>,
    label: Option<core::Label>,
    features: Vec<(OwnedName, f64)>,
}

impl OwnedRecord {
    pub fn of(reader: &Reader, record: &mut Record) -> Self {
        let names = reader.names(record);
        let feature = |(position, feature): (usize, &core::FeatureValue)| {
            (OwnedName::of(names.name(position)), feature.value)
        };
        let features = record.features.iter().enumerate().map(feature).collect();
        Self { features, id: record.id.take(), label: record.label.take() }
    }

    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<FileEvent<'py>> {
        let features = PyDict::new(py);
        for (name, value) in &self.features {
            features.set_item(name_to_python(py, name.borrow())?, value)?;
        }
        let label = self.label.as_ref().map(|label| label_to_python(py, label)).transpose()?;
        Ok((id_to_python(py, self.id.as_ref())?, features, label))
    }
}
