//! Messages of a broker for Python: one JSON object each, in memory.
#![allow(clippy::needless_pass_by_value)] // what PyO3 extracts

use std::io;

use headwater_core as core;
use headwater_core::readers::Reader;
use headwater_core::readers::options::{Format, OnError, Options};
use headwater_core::readers::record::{Id, Record, RecordError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::columns::PyColumns;
use crate::errors::raise;
use crate::files::{OwnedRecord, id_to_python};

/// A message as it was read: the event, its time in microseconds and its group; or a sentence.
type Read = Result<(OwnedRecord, Option<i64>, Option<Id>), String>;

/// One tuple (id, features, label, time, group) per message, or a sentence about what is wrong with it.
#[pyfunction]
pub fn read_messages(
    py: Python<'_>,
    messages: Vec<PyBackedBytes>,
    columns: PyColumns,
) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let columns = columns.read(true, false);
    let read = py.detach(|| read_all(&messages, columns)).map_err(raise)?;
    let to_python = |message: Read| match message {
        Ok((event, time, group)) => {
            let (id, features, label) = event.to_python(py)?;
            let time = time.map(|micros| micros as f64 / 1e6);
            let group = id_to_python(py, group.as_ref())?;
            Ok((id, features, label, time, group).into_pyobject(py)?.into_any())
        }
        Err(sentence) => Ok(sentence.into_pyobject(py)?.into_any()),
    };
    read.into_iter().map(to_python).collect()
}

/// All messages as the lines of one file, so that names that come again cost little.
fn read_all(
    messages: &[PyBackedBytes],
    columns: core::readers::columns::Columns,
) -> Result<Vec<Read>, core::Error> {
    // The first line is empty: what begins a packed file is a message like any other.
    let mut lines = vec![b'\n'];
    for message in messages {
        lines.extend(message.iter().map(|&byte| if is_end(byte) { b' ' } else { byte }));
        lines.push(b'\n');
    }
    let options = Options { format: Format::JsonLines, columns, on_error: OnError::Stop };
    let mut reader = Reader::new(io::Cursor::new(lines), "message", options)?;
    let mut record = Record::default();
    reader.next_line(&mut record).map_err(|refused| reader.error(refused))?;
    let mut read = Vec::with_capacity(messages.len());
    while read.len() < messages.len() {
        read.push(match reader.next_line(&mut record) {
            Ok(Some(true)) => {
                let (time, group) = (record.time, record.group.take());
                Ok((OwnedRecord::of(&reader, &mut record), time, group))
            }
            Ok(Some(false) | None) => Err("expected a JSON object, got nothing.".to_owned()),
            Err(RecordError::Line(sentence)) => Err(sentence),
            Err(refused) => return Err(reader.error(refused)),
        });
    }
    Ok(read)
}

fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
