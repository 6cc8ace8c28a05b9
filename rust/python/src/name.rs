//! Names of features from Python and back.

use headwater_core::{Name, Names, OwnedName};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use crate::errors::{EventError, is_about_value, shown, type_name};

/// How the presence of a feature is named beside its value.
pub fn presence_name<'py>(name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyString::new(name.py(), &format!("{} (present)", name.str()?.to_str()?)).into_any())
}

/// A feature's name as the event gave it.
pub enum EventKey {
    Text(Py<PyString>),
    Number(i64),
}

impl EventKey {
    /// The name. It was checked before, so it is UTF-8 and Python keeps the bytes.
    pub fn name<'a>(&'a self, py: Python<'a>) -> Name<'a> {
        match self {
            Self::Text(text) => Name::Text(text.bind(py).to_str().unwrap_or_default()),
            Self::Number(number) => Name::Number(*number),
        }
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.clone_ref(py)),
            Self::Number(number) => Self::Number(*number),
        }
    }

    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Text(text) => Ok(text.bind(py).clone().into_any()),
            Self::Number(number) => Ok(number.into_pyobject(py)?.into_any()),
        }
    }
}

/// Names of an event by position, for the core: those that it keeps itself.
pub struct KeptNames<'a, 'py> {
    pub py: Python<'py>,
    pub kept: &'a [(u32, EventKey)],
}

impl KeptNames<'_, '_> {
    pub fn iter(&self) -> impl Iterator<Item = Name<'_>> {
        self.kept.iter().map(|(_, key)| key.name(self.py))
    }
}

impl Names for KeptNames<'_, '_> {
    /// The core asks for names that are not known, and these are kept.
    fn name(&self, position: usize) -> Name<'_> {
        let at = |index: usize| self.kept.get(index).filter(|(at, _)| *at as usize == position);
        let found = at(position).or_else(|| {
            at(self.kept.binary_search_by_key(&(position as u32), |&(at, _)| at).ok()?)
        });
        found.map_or(Name::Text(""), |(_, key)| key.name(self.py))
    }
}

/// A feature's name; `place` says where it is, for the error message.
pub fn read_name(place: &str, name: &Bound<'_, PyAny>) -> PyResult<EventKey> {
    if let Ok(text) = name.cast::<PyString>() {
        text.to_str().map_err(|_| {
            EventError::new_err(format!("{place}: feature {} is not valid text.", shown(name)))
        })?;
        return Ok(EventKey::Text(text.clone().unbind()));
    }
    let is_integer = !name.is_instance_of::<PyBool>() && name.hasattr("__index__")?;
    if !is_integer || type_name(name).starts_with("bool") {
        return Err(EventError::new_err(format!(
            "{place}: a feature's name must be a str or an int, got {} ({}).",
            shown(name),
            type_name(name)
        )));
    }
    let number = name.extract::<i64>().map_err(|error| {
        if !is_about_value(name.py(), &error) {
            return error;
        }
        EventError::new_err(format!(
            "{place}: feature {}: a name that is an int must fit 64 bits.",
            shown(name)
        ))
    })?;
    Ok(EventKey::Number(number))
}

pub fn read_names(names: &Bound<'_, PyAny>) -> PyResult<Vec<OwnedName>> {
    let read = |name: PyResult<Bound<'_, PyAny>>| {
        let name = name?;
        Ok(match read_name("names", &name)? {
            EventKey::Number(number) => OwnedName::Number(number),
            EventKey::Text(_) => OwnedName::Text(name.cast::<PyString>()?.to_str()?.to_owned()),
        })
    };
    names.try_iter()?.map(read).collect()
}

pub fn name_to_python<'py>(py: Python<'py>, name: Name<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match name {
        Name::Number(number) => number.into_pyobject(py)?.into_any(),
        Name::Text(text) => PyString::new(py, text).into_any(),
    })
}
