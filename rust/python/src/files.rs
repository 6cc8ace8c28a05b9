//! Files of events for Python.
#![allow(clippy::needless_pass_by_value)] // what PyO3 extracts
#![allow(clippy::redundant_closure_for_method_calls)] // lifetimes need the closure

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use headwater_core as core;
use headwater_core::Names;
use headwater_core::readers::Reader;
use headwater_core::readers::options::{Format, OnError, Options};
use headwater_core::readers::record::{Id, Record};
use headwater_core::readers::record_table::RecordTable;
use headwater_core::{DecisionWriter, Output, Progress, RunCounts};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{EventFileError, raise};
use crate::label::label_to_python;
use crate::name::{OwnedName, name_to_python};

/// How long a batch runs before it checks for an interrupt.
pub const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Lines between two readings of the clock.
const LINES_A_LOOK: u32 = 64;

/// A file and what its lines mean: (path, format, label, id, whether to skip bad lines).
#[derive(FromPyObject)]
pub struct Source(PathBuf, String, Option<String>, Option<String>, bool);

impl Source {
    pub fn open(&self, py: Python<'_>) -> PyResult<Reader> {
        let Self(path, format, label, id, skip) = self;
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
        let on_error = if *skip { OnError::Skip } else { OnError::Stop };
        let options = Options { format, label: label.clone(), id: id.clone(), on_error };
        let mut stopped = None;
        let opened = py.detach(|| {
            Reader::open(path, options, || {
                stopped = Python::attach(|py| py.check_signals()).err();
                stopped.is_none()
            })
        });
        match stopped {
            Some(error) => Err(error),
            None => opened.map_err(raise),
        }
    }
}

/// The state of a run: events, labelled, mistakes, absolute error, asked, learned, skipped, bytes,
/// problems.
pub type FileRun = (u64, u64, u64, f64, u64, u64, u64, u64, Vec<String>);

pub fn file_run(run: &RunCounts, reader: &Reader) -> FileRun {
    let problems = reader.problems().to_vec();
    let RunCounts { events, labelled, mistakes, absolute_error, asked, learned } = *run;
    let (skipped, bytes) = (reader.skipped(), reader.bytes());
    (events, labelled, mistakes, absolute_error, asked, learned, skipped, bytes, problems)
}

/// Checks for Ctrl-C and reports progress a few times per second.
pub struct ProgressWatch<'a> {
    progress: Option<&'a Py<PyAny>>,
    last_look: Instant,
    lines: u32,
    pub stopped: Option<PyErr>,
}

impl<'a> ProgressWatch<'a> {
    pub fn new(progress: Option<&'a Py<PyAny>>) -> Self {
        Self { progress, last_look: Instant::now(), lines: 0, stopped: None }
    }

    pub fn look(&mut self, now: Progress<'_>) -> bool {
        if self.is_time(now.waiting) {
            self.stopped = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = self.progress else { return Ok(()) };
                progress.call1(py, file_run(now.run, now.reader)).map(|_| ())
            })
            .err();
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

fn id_to_python<'py>(py: Python<'py>, id: Option<&Id>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let name = id.map(|id| match id {
        Id::Number(number) => core::Name::Number(*number),
        Id::Text(text) => core::Name::Text(text),
    });
    name.map(|name| name_to_python(py, name)).transpose()
}

/// The events of a file, one after the other or in batches.
#[pyclass(frozen, module = "headwater._core")]
pub struct EventReader {
    state: Mutex<ReaderState>,
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

type FileEvent<'py> = (Option<Bound<'py, PyAny>>, Bound<'py, PyDict>, Option<Bound<'py, PyAny>>);
type FileBatch<'py> = (
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
        let reader = source.open(py)?;
        let state = ReaderState { reader, record: Record::default(), pending: None, ended: false };
        Ok(Self { state: Mutex::new(state) })
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
                Err(core::Error::Interrupted) => py.check_signals()?,
                Err(error) => return Err(raise(error)),
            }
        }
    }

    /// The next events, at most `size`: (indptr, indices, data, names, labels, ids); none at the
    /// end.
    fn batch<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Option<FileBatch<'py>>> {
        let mut watch = ProgressWatch::new(None);
        let read = || {
            let mut state = self.state()?;
            if let Some(error) = state.pending.take() {
                state.ended = true;
                return Err(error);
            }
            if state.ended {
                return Ok(RecordTable::default());
            }
            let mut stopped = None;
            let (table, result) = RecordTable::read(&mut state.reader, size, || {
                if watch.is_time(true) {
                    stopped = Python::attach(|py| py.check_signals()).err();
                }
                stopped.is_none()
            });
            watch.stopped = stopped;
            match result {
                Err(error) if table.is_empty() => {
                    state.ended = true;
                    return Err(error);
                }
                result => state.pending = result.err(),
            }
            Ok(table)
        };
        let table = py.detach(read);
        if let Some(error) = watch.stopped {
            return Err(error);
        }
        let table = table.map_err(raise)?;
        if table.is_empty() {
            return Ok(None);
        }
        let names: PyResult<Vec<_>> = table.names().map(|name| name_to_python(py, name)).collect();
        let label = |label: &Option<core::Label>| {
            label.as_ref().map(|label| label_to_python(py, label)).transpose()
        };
        let labels: PyResult<Vec<_>> = table.labels.iter().map(label).collect();
        let ids: PyResult<Vec<_>> =
            table.ids.iter().map(|id| id_to_python(py, id.as_ref())).collect();
        Ok(Some((
            PyArray1::from_vec(py, table.indptr),
            PyArray1::from_vec(py, table.indices),
            PyArray1::from_vec(py, table.values),
            PyList::new(py, names?)?,
            PyList::new(py, labels?)?,
            PyList::new(py, ids?)?,
        )))
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
struct OwnedRecord {
    id: Option<Id>,
    label: Option<core::Label>,
    features: Vec<(OwnedName, f64)>,
}

impl OwnedRecord {
    fn of(reader: &Reader, record: &mut Record) -> Self {
        let names = reader.names(record);
        let feature = |(position, feature): (usize, &core::FeatureValue)| {
            (OwnedName::of(names.name(position)), feature.value)
        };
        let features = record.features.iter().enumerate().map(feature).collect();
        Self { features, id: record.id.take(), label: record.label.take() }
    }

    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<FileEvent<'py>> {
        let features = PyDict::new(py);
        for (name, value) in &self.features {
            features.set_item(name_to_python(py, name.borrow())?, value)?;
        }
        let label = self.label.as_ref().map(|label| label_to_python(py, label)).transpose()?;
        Ok((id_to_python(py, self.id.as_ref())?, features, label))
    }
}
