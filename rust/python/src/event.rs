//! Events from Python.

use std::sync::Arc;

use headwater_core::{EventBuffer, FeatureValue, Name, Names, UNKNOWN};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyMapping, PyString};

use crate::dict::{read_plain, read_same};
use crate::errors::{EventError, is_about_value, shown, type_name};
use crate::name::{EventKey, EventKeys, check_names, read_name};
use crate::name_cache::EventShape;

/// An event: its names and, after the lookup, its ids. Without absent features.
#[derive(Default)]
pub struct PyEvent {
    pub keys: Arc<Vec<EventKey>>,
    pub buffer: EventBuffer,
    pub texts: Vec<TextValue>,
}

/// A text that an event gave as a value; in `keys` it is part of the name of an indicator.
pub struct TextValue {
    pub position: usize,
    pub name: EventKey,
    pub text: Py<PyString>,
}

impl PyEvent {
    /// Read a mapping from feature name to value. If its names are those of `shape`, which many
    /// events may share, they are not copied.
    pub fn read(x: &Bound<'_, PyAny>, shape: Option<&EventShape>) -> PyResult<Self> {
        if let Ok(dict) = x.cast_exact::<PyDict>() {
            let mut features = Vec::with_capacity(dict.len() + 3); // and perhaps the learner's own
            if let Some(shape) = shape
                && read_same(dict, &shape.keys, &shape.ids, &mut features)
            {
                let buffer = EventBuffer::new(features);
                return Ok(Self { keys: shape.keys.clone(), buffer, texts: Vec::new() });
            }
            features.clear();
            let mut keys = Vec::with_capacity(dict.len());
            if read_plain(dict, &mut keys, &mut features) {
                let (keys, buffer) = (Arc::new(keys), EventBuffer::new(features));
                return Ok(Self { keys, buffer, texts: Vec::new() });
            }
        }
        let mut items = EventItems::default();
        for_each_item(x, |name, value| items.push(name, value))?;
        items.check(x.py())?;
        let EventItems { keys, features, texts } = items;
        Ok(Self { keys: Arc::new(keys), buffer: EventBuffer::new(features), texts })
    }
}

/// Call `visit` with each name and value of a mapping, in their order.
pub fn for_each_item(
    x: &Bound<'_, PyAny>,
    mut visit: impl FnMut(&Bound<'_, PyAny>, &Bound<'_, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let mapping = x.cast::<PyMapping>().map_err(|_| {
        EventError::new_err(format!(
            "event: expected a mapping from feature name to value, got {}.",
            type_name(x)
        ))
    })?;
    for item in mapping.items()? {
        let (name, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        visit(&name, &value)?;
    }
    Ok(())
}

/// The items of a mapping of any kind, whose values may be of any kind.
#[derive(Default)]
struct EventItems {
    keys: Vec<EventKey>,
    features: Vec<FeatureValue>,
    texts: Vec<TextValue>,
}

impl EventItems {
    fn push(&mut self, name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = read_name("event", name)?;
        if value.is_none() {
            return Ok(());
        }
        let (key, number) = if let Ok(text) = value.cast::<PyString>() {
            let (position, joined) = (self.keys.len(), indicator(name, text)?);
            self.texts.push(TextValue { position, name: key, text: text.clone().unbind() });
            (EventKey::Text(joined), 1.0)
        } else {
            match read_number(name, value)? {
                Some(number) => (key, number),
                None => return Ok(()),
            }
        };
        self.keys.push(key);
        self.features.push(FeatureValue { id: UNKNOWN, value: number });
        Ok(())
    }

    /// Refuse a name that the event has twice.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        check_names(py, &self.keys)?;
        let keys = EventKeys { py, keys: &self.keys };
        let mut names: Vec<Name<'_>> = (0..self.keys.len()).map(|i| keys.name(i)).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                Err(EventError::new_err(format!("event: feature {} appears twice.", pair[0])))
            }
            None => Ok(()),
        }
    }
}

/// A value that is a number; none if it is NaN.
pub fn read_number(name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    let number = read_value(name, value)?;
    if number.is_infinite() {
        return Err(EventError::new_err(format!(
            "event: feature {} must be a finite number, got {number}.",
            shown(name)
        )));
    }
    Ok(Some(number).filter(|number| !number.is_nan()))
}

fn read_value(name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Ok(number.value());
    }
    value.extract::<f64>().map_err(|error| {
        if !is_about_value(value.py(), &error) {
            error
        } else if error.is_instance_of::<PyOverflowError>(value.py()) {
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

/// `name=value`: the indicator feature of a text value.
fn indicator(name: &Bound<'_, PyAny>, value: &Bound<'_, PyString>) -> PyResult<Py<PyString>> {
    let text = value.to_str().map_err(|_| {
        EventError::new_err(format!("event: the value of {} is not valid text.", shown(name)))
    })?;
    // The text itself, whatever `str` makes of a subclass: an enum's member of value "red" is red.
    let joined = match name.cast::<PyString>() {
        Ok(name) => format!("{}={text}", name.to_str()?),
        Err(_) => format!("{}={text}", name.extract::<i64>()?),
    };
    Ok(PyString::new(value.py(), &joined).unbind())
}
