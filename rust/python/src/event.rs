//! Events from Python.

use headwater_core::{EventBuffer, FeatureId, FeatureValue, Name, UNKNOWN};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyMapping, PyString};

use crate::dict::{ItemVisitor, NoObjects, PlainName, PlainValue, Recall, text_of, visit_items};
use crate::errors::{EventError, is_about_value, shown, type_name};
use crate::name::{EventKey, KeptNames, read_name};

/// An event without absent features.
#[derive(Default)]
pub struct PyEvent {
    pub buffer: EventBuffer,
    /// Names by position; those of known features may be missing here, they are in the learner's `NameBook`.
    pub kept: Vec<(u32, EventKey)>,
    pub texts: Vec<TextValue>,
    /// The name of an indicator, while it is looked for.
    joined: String,
}

/// Objects of an event.
pub struct EventObjects {
    /// Names by position.
    pub kept: Vec<(u32, EventKey)>,
    pub texts: Vec<TextValue>,
}

/// A text that an event gave as a value; as a feature it is part of the name of an indicator.
pub struct TextValue {
    pub position: usize,
    pub name: EventKey,
    pub text: Py<PyString>,
}

/// Finds the feature ids of an event's names. Runs no Python code.
pub trait FindId<'py> {
    /// What recognizes the objects of names.
    fn known(&self) -> impl Recall;

    /// The id of a name whose object was not recognized, or `UNKNOWN`: then the event keeps the name. `before` is
    /// the last id that was found.
    fn find(
        &mut self,
        _name: Name<'_>,
        _object: Option<Borrowed<'_, 'py, PyAny>>,
        _before: FeatureId,
    ) -> FeatureId {
        UNKNOWN
    }

    /// Whether an id appears twice.
    fn has_repeats(&mut self, _features: &[FeatureValue]) -> bool {
        false
    }
}

/// Knows no ids.
struct NoIds;

impl FindId<'_> for NoIds {
    fn known(&self) -> impl Recall {
        NoObjects
    }
}

impl PyEvent {
    /// Take the objects out of it, if it holds any.
    pub fn take_objects(&mut self) -> Option<Box<EventObjects>> {
        if self.kept.is_empty() && self.texts.is_empty() {
            return None;
        }
        let (kept, texts) = (std::mem::take(&mut self.kept), std::mem::take(&mut self.texts));
        Some(Box::new(EventObjects { kept, texts }))
    }

    /// Read a mapping from feature name to value; all names are kept.
    pub fn read(x: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut event = Self::default();
        match x.cast_exact::<PyDict>() {
            Ok(dict) if event.read_dict(dict, &mut NoIds) => Ok(event),
            _ => Self::read_mapping(x),
        }
    }

    /// Read a dict, whose names get the ids that `finder` finds. Runs no Python code. False if that is not
    /// possible, or if there is an error to be raised: then [`Self::read_mapping`] reads it.
    pub fn read_dict<'py>(
        &mut self,
        dict: &Bound<'py, PyDict>,
        finder: &mut impl FindId<'py>,
    ) -> bool {
        self.buffer.clear();
        self.buffer.features.reserve(dict.len());
        self.kept.clear();
        self.texts.clear();
        let mut reader = DictReader { event: self, finder, before: UNKNOWN };
        let Some(squared_norm) = visit_items(dict, &mut reader) else { return false };
        self.buffer.squared_norm = squared_norm;
        self.buffer.known = self.kept.is_empty();
        self.texts.is_empty() || !self.has_repeats(dict.py(), finder)
    }

    /// Whether an indicator has the name of another feature.
    fn has_repeats<'py>(&self, py: Python<'py>, finder: &mut impl FindId<'py>) -> bool {
        let names = KeptNames { py, kept: &self.kept };
        let mut unknown: Vec<Name<'_>> = names.iter().collect();
        unknown.sort_unstable();
        finder.has_repeats(&self.buffer.features)
            || unknown.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Read a mapping of any kind, whose values may be of any kind; all names are kept. May run Python code.
    pub fn read_mapping(x: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut items = EventItems::default();
        for_each_item(x, |name, value| items.push(name, value))?;
        items.check(x.py())?;
        let EventItems { kept, features, texts } = items;
        Ok(Self { buffer: EventBuffer::new(features), kept, texts, joined: String::new() })
    }
}

/// Reads the items of a dict into an event.
struct DictReader<'a, F> {
    event: &'a mut PyEvent,
    finder: &'a mut F,
    /// The last id that was found.
    before: FeatureId,
}

impl<'py, F: FindId<'py>> ItemVisitor<'py> for DictReader<'_, F> {
    #[inline(always)]
    fn known(&mut self) -> (impl Recall, &mut Vec<FeatureValue>, &mut FeatureId) {
        (self.finder.known(), &mut self.event.buffer.features, &mut self.before)
    }

    #[inline(never)]
    fn visit(&mut self, name: Borrowed<'_, 'py, PyAny>, value: PlainValue<'_, 'py>) -> Option<f64> {
        let value = match value {
            PlainValue::Number(value) => value,
            PlainValue::Absent => return self.skip(name),
            PlainValue::Text(text) => return self.visit_text(name, text),
        };
        let id = self.finder.known().recall(name.as_ptr());
        if id == UNKNOWN {
            return self.visit_unknown(name, value);
        }
        self.before = id;
        self.event.buffer.features.push(FeatureValue { id, value });
        Some(value * value)
    }
}

impl<'py, F: FindId<'py>> DictReader<'_, F> {
    /// An absent feature must have a name too.
    fn skip(&mut self, name: Borrowed<'_, 'py, PyAny>) -> Option<f64> {
        let is_known = self.finder.known().recall(name.as_ptr()) != UNKNOWN;
        (is_known || PlainName::of(name).is_some()).then_some(0.0)
    }

    fn visit_unknown(&mut self, name: Borrowed<'_, 'py, PyAny>, value: f64) -> Option<f64> {
        let name = PlainName::of(name)?;
        let id = self.find(name.name, name.object());
        self.push(id, value, || name.to_key());
        Some(value * value)
    }

    fn find(&mut self, name: Name<'_>, object: Option<Borrowed<'_, 'py, PyAny>>) -> FeatureId {
        let id = self.finder.find(name, object, self.before);
        self.before = if id == UNKNOWN { self.before } else { id };
        id
    }

    #[inline(never)]
    fn visit_text(
        &mut self,
        name: Borrowed<'_, 'py, PyAny>,
        value: Borrowed<'_, 'py, PyString>,
    ) -> Option<f64> {
        let (name, text) = (PlainName::of(name)?, text_of(value)?);
        let mut joined = std::mem::take(&mut self.event.joined);
        join(&mut joined, name.name, text);
        let position = self.event.buffer.features.len();
        let (name, text) = (name.to_key(), value.to_owned().unbind());
        self.event.texts.push(TextValue { position, name, text });
        let id = self.find(Name::Text(&joined), None);
        self.push(id, 1.0, || EventKey::Text(PyString::new(value.py(), &joined).unbind()));
        self.event.joined = joined;
        Some(1.0)
    }

    fn push(&mut self, id: FeatureId, value: f64, key: impl FnOnce() -> EventKey) {
        let PyEvent { buffer, kept, .. } = &mut *self.event;
        if id == UNKNOWN {
            kept.push((buffer.features.len() as u32, key()));
        }
        buffer.features.push(FeatureValue { id, value });
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
    kept: Vec<(u32, EventKey)>,
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
            let text_read = text.to_str().map_err(|_| {
                let sentence = format!("event: the value of {} is not valid text.", shown(name));
                EventError::new_err(sentence)
            })?;
            let (position, mut joined) = (self.kept.len(), String::new());
            join(&mut joined, key.name(name.py()), text_read);
            self.texts.push(TextValue { position, name: key, text: text.clone().unbind() });
            (EventKey::Text(PyString::new(name.py(), &joined).unbind()), 1.0)
        } else {
            match read_number(name, value)? {
                Some(number) => (key, number),
                None => return Ok(()),
            }
        };
        self.kept.push((self.kept.len() as u32, key));
        self.features.push(FeatureValue { id: UNKNOWN, value: number });
        Ok(())
    }

    /// Refuse a name that the event has twice.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let kept = KeptNames { py, kept: &self.kept };
        let mut names: Vec<Name<'_>> = kept.iter().collect();
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

/// `name=value`: the name of the indicator of a text. The text itself counts, whatever `str` makes of a
/// subclass: an enum's member of value "red" is red.
fn join(joined: &mut String, name: Name<'_>, text: &str) {
    joined.clear();
    match name {
        Name::Text(name) => joined.push_str(name),
        Name::Number(number) => joined.push_str(&number.to_string()),
    }
    joined.push('=');
    joined.push_str(text);
}
