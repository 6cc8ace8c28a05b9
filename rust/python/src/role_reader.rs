//! Frames, and events that are mappings, read by the roles of their columns.

use std::sync::{Mutex, PoisonError};

use headwater_core as core;
use headwater_core::Names;
use headwater_core::readers::Reader;
use headwater_core::readers::columns::Role;
use headwater_core::readers::options::OnError;
use headwater_core::readers::record::{NameRef, Record, RecordNames};
use headwater_core::readers::record_table::RecordTable;
use headwater_core::readers::roles::{Cell, Roles};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyMapping, PyString};

use crate::columns::PyColumns;
use crate::errors::{EventError, is_about_value, raise, shown, type_name};
use crate::files::{FileBatch, FileEvent, batch_to_python, id_to_python};
use crate::label::label_to_python;
use crate::name::{EventKey, name_to_python, read_name};
use crate::record_batches::Chunks;

/// The rows of a frame by the roles of its columns: (indptr, indices, data, names, labels, ids).
#[pyfunction]
pub fn read_columns<'py>(x: &Bound<'py, PyAny>, columns: PyColumns) -> PyResult<FileBatch<'py>> {
    let py = x.py();
    let chunks = Chunks::read(x)?;
    let columns = columns.read(false, false);
    let table = py.detach(|| {
        let mut reader = Reader::of_batches(Box::new(chunks), "X", columns, OnError::Stop)?;
        let (table, result) = RecordTable::read(&mut reader, usize::MAX, || true);
        result.map(|()| table)
    });
    batch_to_python(
        py,
        table.map_err(|error| match error {
            core::Error::File(said) => EventError::new_err(said),
            error => raise(error),
        })?,
    )
}

/// Reads events that are mappings, one after the other, by the roles of their fields.
#[pyclass(frozen, module = "headwater._core")]
pub struct RoleReader {
    roles: Mutex<Roles>,
}

#[pymethods]
impl RoleReader {
    #[new]
    fn new(columns: PyColumns) -> Self {
        Self { roles: Mutex::new(Roles::new(columns.read(true, false))) }
    }

    /// An event as (id, features, label).
    fn read<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<FileEvent<'py>> {
        let py = x.py();
        let mapping = x.cast::<PyMapping>().map_err(|_| {
            EventError::new_err(format!(
                "event: expected a mapping from field to value, got {}.",
                type_name(x)
            ))
        })?;
        let mut items = Vec::new();
        for item in mapping.items()? {
            let (name, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let key = read_name("event", &name)?;
            items.push((name, key, OwnedCell::of(&value)?));
        }
        let (mut record, header) = (Record::default(), Vec::new());
        let refused = |reason: String| EventError::new_err(format!("event: {reason}"));
        let mut roles = self.roles.lock().unwrap_or_else(PoisonError::into_inner);
        roles.begin_event();
        for (name, key, cell) in &items {
            let (EventKey::Text(_), Ok(text)) = (key, name.cast::<PyString>()) else {
                let EventKey::Number(number) = key else { continue };
                let spelled = number.to_string();
                let place = NameRef::Number(*number);
                roles.feature(&mut record, &spelled, place, cell.borrow()).map_err(refused)?;
                continue;
            };
            let name = text.to_str()?;
            let role = roles.meet(name);
            let start = record.texts.len();
            let place = match role {
                None | Some(Role::Number) => {
                    record.texts.push_str(name);
                    record.text_from(start).map_err(refused)?
                }
                Some(_) => NameRef::Line { start: 0, end: 0 }, // such a role makes names of its own
            };
            match role {
                None => roles.feature(&mut record, name, place, cell.borrow()),
                Some(role) => roles.take(&mut record, role, name, place, cell.borrow()),
            }
            .map_err(refused)?;
        }
        roles.finish(&mut record).map_err(refused)?;
        drop(roles);
        let names =
            RecordNames { line: "", header: &header, texts: &record.texts, places: &record.places };
        let features = PyDict::new(py);
        for (position, feature) in record.features.iter().enumerate() {
            let name = names.name(position);
            features.set_item(name_to_python(py, name)?, feature.value)?;
            if features.len() <= position {
                return Err(refused(format!("feature {name} appears twice.")));
            }
        }
        let label = record.label.as_ref().map(|label| label_to_python(py, label)).transpose()?;
        Ok((id_to_python(py, record.id.as_ref())?, features, label))
    }
}

/// A value of a mapping.
enum OwnedCell {
    Absent,
    Number(f64),
    Integer(i64),
    Bool(bool),
    Text(String),
    Time(i64),
}

impl OwnedCell {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::Absent);
        }
        if let Ok(truth) = value.cast_exact::<PyBool>() {
            return Ok(Self::Bool(truth.is_true()));
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Self::Text(text.to_str()?.to_owned()));
        }
        let number =
            |number: f64| if number.is_nan() { Self::Absent } else { Self::Number(number) };
        if let Ok(float) = value.cast::<PyFloat>() {
            return Ok(number(float.value()));
        }
        if value.hasattr("isoformat")? {
            let text = value.call_method0("isoformat")?.to_string(); // of a date, a datetime
            if text == "NaT" {
                return Ok(Self::Absent);
            }
            return core::readers::parse_time(&text).map(Self::Time).ok_or_else(|| {
                EventError::new_err(format!("event: expected a time, got {}.", shown(value)))
            });
        }
        if value.hasattr("__index__")?
            && let Ok(whole) = value.extract::<i64>()
        {
            return Ok(Self::Integer(whole));
        }
        value.extract::<f64>().map(number).map_err(|error| {
            if !is_about_value(value.py(), &error) {
                return error;
            }
            EventError::new_err(format!(
                "event: expected a number, a bool, a str, a time, None or NaN, got {} ({}).",
                shown(value),
                type_name(value)
            ))
        })
    }

    fn borrow(&self) -> Cell<'_> {
        match self {
            Self::Absent => Cell::Absent,
            Self::Number(number) => Cell::Number(*number),
            Self::Integer(number) => Cell::Integer(*number),
            Self::Bool(truth) => Cell::Bool(*truth),
            Self::Text(text) => Cell::Text(text),
            Self::Time(time) => Cell::Time(*time),
        }
    }
}
