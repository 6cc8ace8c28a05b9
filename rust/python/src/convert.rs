//! Events and labels, from Python and back.

use headwater_core::{Entrant, Feature, Label, Learner, Name, Names, UNKNOWN};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PyString};

use crate::errors::{EventError, LabelError, raise};

/// A feature's name as the event gave it.
pub enum Key {
    Text(Py<PyString>),
    Number(i64),
}

impl Key {
    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Text(text) => Ok(text.bind(py).clone().into_any()),
            Self::Number(number) => Ok(number.into_pyobject(py)?.into_any()),
        }
    }
}

/// The names of an event, for the core.
pub struct Keys<'a, 'py> {
    pub py: Python<'py>,
    pub keys: &'a [Key],
}

impl Names for Keys<'_, '_> {
    fn name(&self, position: usize) -> Name<'_> {
        match &self.keys[position] {
            // Read once before, so it is UTF-8 and Python keeps the bytes.
            Key::Text(text) => Name::Text(text.bind(self.py).to_str().unwrap_or_default()),
            Key::Number(number) => Name::Number(*number),
        }
    }
}

/// An event: its names and, once looked up, its slots. Absent features are left out.
#[derive(Default)]
pub struct Event {
    pub keys: Vec<Key>,
    pub entrant: Entrant,
    indicators: bool,
}

impl Event {
    /// Read a mapping from feature name to value.
    pub fn read(x: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut event = Self::default();
        if let Ok(dict) = x.cast_exact::<PyDict>() {
            event.reserve(dict.len());
            let mut plain = true;
            for (name, value) in dict {
                if !is_plain(&value) {
                    plain = false; // reading it may run Python code, which may change the dict
                    break;
                }
                event.push(&name, &value)?;
            }
            if plain {
                return event.checked(x.py());
            }
            event = Self::default();
        }
        let mapping = x.cast::<PyMapping>().map_err(|_| {
            EventError::new_err(format!(
                "event: expected a mapping from feature name to value, got {}.",
                type_name(x)
            ))
        })?;
        for item in mapping.items()? {
            let (name, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            event.push(&name, &value)?;
        }
        event.checked(x.py())
    }

    pub fn look_up(&mut self, py: Python<'_>, learner: &Learner) -> PyResult<()> {
        learner.look_up(&Keys { py, keys: &self.keys }, &mut self.entrant).map_err(raise)
    }

    fn reserve(&mut self, count: usize) {
        self.keys.reserve(count);
        self.entrant.features.reserve(count + 1); // and perhaps an intercept
    }

    fn push(&mut self, name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = read_name(name)?;
        if value.is_none() {
            return Ok(());
        }
        let (key, number) = if let Ok(text) = value.cast::<PyString>() {
            self.indicators = true;
            (Key::Text(indicator(name, text)?), 1.0)
        } else {
            (key, read_value(name, value)?)
        };
        if number.is_nan() {
            return Ok(());
        }
        if number.is_infinite() {
            return Err(EventError::new_err(format!(
                "event: feature {} must be a finite number, got {number}.",
                shown(name)
            )));
        }
        self.keys.push(key);
        self.entrant.features.push(Feature { slot: UNKNOWN, value: number });
        Ok(())
    }

    /// A mapping has no name twice, but an indicator's may be there already.
    fn checked(self, py: Python<'_>) -> PyResult<Self> {
        if self.indicators {
            let keys = Keys { py, keys: &self.keys };
            let mut names: Vec<Name<'_>> = (0..self.keys.len()).map(|i| keys.name(i)).collect();
            names.sort_unstable();
            let mut pairs = names.windows(2);
            if let Some([name, _]) = pairs.find(|pair| pair[0] == pair[1]) {
                return Err(EventError::new_err(format!("event: feature {name} is there twice.")));
            }
        }
        Ok(self)
    }
}

fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_none()
}

pub fn read_name(name: &Bound<'_, PyAny>) -> PyResult<Key> {
    if let Ok(text) = name.cast::<PyString>() {
        text.to_str().map_err(|_| {
            EventError::new_err(format!("event: feature {} is not valid text.", shown(name)))
        })?;
        return Ok(Key::Text(text.clone().unbind()));
    }
    let is_integer = !name.is_instance_of::<PyBool>() && name.hasattr("__index__")?;
    if !is_integer || type_name(name).starts_with("bool") {
        return Err(EventError::new_err(format!(
            "event: a feature's name must be a str or an int, got {} ({}).",
            shown(name),
            type_name(name)
        )));
    }
    let number = name.extract::<i64>().map_err(|_| {
        EventError::new_err(format!(
            "event: feature {}: a name that is an int must fit 64 bits.",
            shown(name)
        ))
    })?;
    Ok(Key::Number(number))
}

fn read_value(name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Ok(number.value());
    }
    value.extract::<f64>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            EventError::new_err(format!(
                "event: feature {} must be a finite number, got an int beyond the floats.",
                shown(name)
            ))
        } else {
            EventError::new_err(format!(
                "event: feature {} must be a number, a bool, a str, None or NaN, got {} ({}).",
                shown(name),
                shown(value),
                type_name(value)
            ))
        }
    })
}

/// `name=value`: the feature that says so.
fn indicator(name: &Bound<'_, PyAny>, value: &Bound<'_, PyString>) -> PyResult<Py<PyString>> {
    let text = value.to_str().map_err(|_| {
        EventError::new_err(format!("event: the value of {} is not valid text.", shown(name)))
    })?;
    Ok(PyString::new(name.py(), &format!("{}={text}", name.str()?.to_str()?)).unbind())
}

/// A label, if it is one; None and NaN are no label.
pub fn read_label(label: &Bound<'_, PyAny>) -> PyResult<Option<Label>> {
    if label.is_none() {
        return Ok(None);
    }
    if let Ok(truth) = label.cast_exact::<PyBool>() {
        return Ok(Some(Label::Bool(truth.is_true())));
    }
    if let Ok(text) = label.cast::<PyString>() {
        let text = text.to_str().map_err(|_| not_a_label(label))?;
        return Ok(Some(Label::Text(text.to_owned())));
    }
    if let Ok(number) = label.cast::<PyFloat>() {
        let number = number.value();
        if number.is_nan() {
            return Ok(None);
        }
        return Ok(Some(whole(number).map_or(Label::Real(number), Label::Int)));
    }
    if label.hasattr("__index__")? {
        let number = label.extract::<i64>().map_err(|_| not_a_label(label))?;
        return Ok(Some(Label::Int(number)));
    }
    if type_name(label).starts_with("bool") {
        return Ok(Some(Label::Bool(label.is_truthy()?))); // NumPy's
    }
    if label.hasattr("dtype")? && label.hasattr("item")? {
        return read_label(&label.call_method0("item")?); // another NumPy scalar
    }
    Err(not_a_label(label))
}

/// A label that must be there.
pub fn read_given_label(label: &Bound<'_, PyAny>) -> PyResult<Label> {
    read_label(label)?.ok_or_else(|| {
        LabelError::new_err(format!(
            "label: expected a str, an int or a bool, got {}.",
            shown(label)
        ))
    })
}

fn not_a_label(label: &Bound<'_, PyAny>) -> PyErr {
    LabelError::new_err(format!(
        "label: expected a str, an int or a bool, got {} ({}).",
        shown(label),
        type_name(label)
    ))
}

/// The integer that a float is, if it is one.
fn whole(number: f64) -> Option<i64> {
    const LIMIT: f64 = 9_007_199_254_740_992.0; // 2^53: beyond it floats skip integers
    (number.fract() == 0.0 && number.abs() <= LIMIT).then_some(number as i64)
}

pub fn label_to_python<'py>(py: Python<'py>, label: &Label) -> PyResult<Bound<'py, PyAny>> {
    Ok(match label {
        Label::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Label::Int(number) => number.into_pyobject(py)?.into_any(),
        Label::Real(number) => number.into_pyobject(py)?.into_any(),
        Label::Text(text) => PyString::new(py, text).into_any(),
    })
}

pub fn name_to_python<'py>(py: Python<'py>, name: Name<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match name {
        Name::Number(number) => number.into_pyobject(py)?.into_any(),
        Name::Text(text) => PyString::new(py, text).into_any(),
    })
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// An object's `repr`, cut short.
fn shown(object: &Bound<'_, PyAny>) -> String {
    let text = object.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    if text.chars().count() <= 60 {
        return text;
    }
    let start: String = text.chars().take(57).collect();
    format!("{start}...")
}

/// Labels of a whole array, missing ones included.
pub fn read_labels(labels: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Label>>> {
    let mut read = Vec::new();
    for (row, label) in labels.try_iter()?.enumerate() {
        let label = read_label(&label?).map_err(|error| {
            if error.is_instance_of::<PyTypeError>(labels.py()) {
                error
            } else {
                LabelError::new_err(format!("y, row {row}: {}", error.value(labels.py())))
            }
        })?;
        read.push(label);
    }
    Ok(read)
}
