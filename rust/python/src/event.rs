//! Events and labels, from Python and back.

use std::sync::Arc;

use headwater_core::{EventBuffer, Feature, Label, Name, Names, UNKNOWN};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyMapping, PyString};

use crate::dict::{read_plain, read_same};
use crate::errors::{AnswerError, EventError, LabelError};
use crate::name_cache::EventShape;

/// A feature's name as the event gave it.
pub enum EventKey {
    Text(Py<PyString>),
    Number(i64),
}

impl EventKey {
    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Text(text) => Ok(text.bind(py).clone().into_any()),
            Self::Number(number) => Ok(number.into_pyobject(py)?.into_any()),
        }
    }
}

/// The names of an event, for the core.
pub struct EventKeys<'a, 'py> {
    pub py: Python<'py>,
    pub keys: &'a [EventKey],
}

impl Names for EventKeys<'_, '_> {
    fn name(&self, position: usize) -> Name<'_> {
        match &self.keys[position] {
            // Looked at before, so it is UTF-8 and Python keeps the bytes.
            EventKey::Text(text) => Name::Text(text.bind(self.py).to_str().unwrap_or_default()),
            EventKey::Number(number) => Name::Number(*number),
        }
    }
}

/// An event: its names and, once looked up, its ids. Absent features are left out.
#[derive(Default)]
pub struct PyEvent {
    pub keys: Arc<Vec<EventKey>>,
    pub buffer: EventBuffer,
}

impl PyEvent {
    /// Read a mapping from feature name to value. If its names are those of `shape`, which many
    /// events may share, they are not even copied.
    pub fn read(x: &Bound<'_, PyAny>, shape: Option<&EventShape>) -> PyResult<Self> {
        if let Ok(dict) = x.cast_exact::<PyDict>() {
            let mut features = Vec::with_capacity(dict.len() + 3); // and perhaps the learner's own
            if let Some(shape) = shape
                && read_same(dict, &shape.keys, &shape.ids, &mut features)
            {
                let mut buffer = EventBuffer::new(features);
                buffer.stats_ids.extend_from_slice(&shape.stats_ids);
                return Ok(Self { keys: shape.keys.clone(), buffer });
            }
            features.clear();
            let mut keys = Vec::with_capacity(dict.len());
            if read_plain(dict, &mut keys, &mut features) {
                return Ok(Self { keys: Arc::new(keys), buffer: EventBuffer::new(features) });
            }
        }
        let mapping = x.cast::<PyMapping>().map_err(|_| {
            EventError::new_err(format!(
                "event: expected a mapping from feature name to value, got {}.",
                type_name(x)
            ))
        })?;
        let mut items = EventItems::default();
        for item in mapping.items()? {
            let (name, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            items.push(&name, &value)?;
        }
        items.check(x.py())?;
        Ok(Self { keys: Arc::new(items.keys), buffer: EventBuffer::new(items.features) })
    }
}

/// The items of a mapping of any kind, whose values may be of any kind.
#[derive(Default)]
struct EventItems {
    keys: Vec<EventKey>,
    features: Vec<Feature>,
}

impl EventItems {
    fn push(&mut self, name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = read_name("event", name)?;
        if value.is_none() {
            return Ok(());
        }
        let (key, number) = if let Ok(text) = value.cast::<PyString>() {
            (EventKey::Text(indicator(name, text)?), 1.0)
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
        self.features.push(Feature { id: UNKNOWN, value: number });
        Ok(())
    }

    /// Refuse a name that is there twice.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        check_names(py, &self.keys)?;
        let keys = EventKeys { py, keys: &self.keys };
        let mut names: Vec<Name<'_>> = (0..self.keys.len()).map(|i| keys.name(i)).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                Err(EventError::new_err(format!("event: feature {} is there twice.", pair[0])))
            }
            None => Ok(()),
        }
    }
}

/// Refuse a name that is not UTF-8. Names of a plain dict are not looked at while it is read.
pub fn check_names(py: Python<'_>, keys: &[EventKey]) -> PyResult<()> {
    for key in keys {
        if let EventKey::Text(text) = key {
            read_name("event", text.bind(py))?;
        }
    }
    Ok(())
}

/// A feature's name; `place` says where it stands, for the sentence.
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
    let number = name.extract::<i64>().map_err(|_| {
        EventError::new_err(format!(
            "{place}: feature {}: a name that is an int must fit 64 bits.",
            shown(name)
        ))
    })?;
    Ok(EventKey::Number(number))
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

/// What an object is as a label.
enum LabelKind {
    Label(Label),
    /// None or NaN.
    Missing,
    Other,
}

/// A label, if it is one; None and NaN are no label.
pub fn read_label(label: &Bound<'_, PyAny>) -> PyResult<Option<Label>> {
    let mut found = find_label(label)?;
    if matches!(found, LabelKind::Other) && label.hasattr("dtype")? && label.hasattr("item")? {
        found = find_label(&label.call_method0("item")?)?; // of a NumPy scalar
    }
    match found {
        LabelKind::Label(label) => Ok(Some(label)),
        LabelKind::Missing => Ok(None),
        LabelKind::Other => Err(not_a_label(label)),
    }
}

fn find_label(label: &Bound<'_, PyAny>) -> PyResult<LabelKind> {
    if label.is_none() {
        return Ok(LabelKind::Missing);
    }
    if let Ok(truth) = label.cast_exact::<PyBool>() {
        return Ok(LabelKind::Label(Label::Bool(truth.is_true())));
    }
    if let Ok(text) = label.cast::<PyString>() {
        let text = text.to_str().map_err(|_| not_a_label(label))?;
        return Ok(LabelKind::Label(Label::Text(text.to_owned())));
    }
    if let Ok(number) = label.cast::<PyFloat>() {
        let number = number.value();
        if number.is_nan() {
            return Ok(LabelKind::Missing);
        }
        return Ok(LabelKind::Label(whole(number).map_or(Label::Real(number), Label::Int)));
    }
    if label.hasattr("__index__")? {
        let number = label.extract::<i64>().map_err(|_| not_a_label(label))?;
        return Ok(LabelKind::Label(Label::Int(number)));
    }
    Ok(LabelKind::Other)
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

pub fn not_a_decision(object: &Bound<'_, PyAny>) -> PyErr {
    AnswerError::new_err(format!(
        "answer: expected a Decision, as decide_one gives, got {} ({}).",
        shown(object),
        type_name(object)
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

/// An object's `repr`, on one line and cut short.
pub fn shown(object: &Bound<'_, PyAny>) -> String {
    let text = object.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let text = lines.join(" ").replace(char::is_control, "?");
    if text.chars().count() <= 60 {
        return text;
    }
    let start: String = text.chars().take(57).collect();
    format!("{start}...")
}
