//! Events as bytes and back, with the names in a table of their own.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;
use headwater_core::event_bytes::{EventWriter, RawValue, read};
use headwater_core::{FeatureId, FeatureValue, Name, UNKNOWN};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::dict::{ItemVisitor, NoObjects, PlainName, PlainValue, Recall, visit_items};
use crate::errors::{EventError, ParameterError, raise, shown};
use crate::event::{for_each_item, read_number};
use crate::name::{EventKey, read_name};

/// The names of a journal's events by number, and the events as bytes and back.
///
/// A name gets the next number when it is first encoded; `since` lists the new ones, which the caller keeps
/// beside the events and gives back later. The bytes are described in `docs/operate/live.md`.
///
/// Examples
/// --------
/// >>> from headwater._core import EventNames
/// >>> names = EventNames()
/// >>> data, digest = names.encode({"rain": 2, "site": "roof", "wind": None})
/// >>> names.since(0)
/// [(0, 'rain'), (1, 'site')]
/// >>> EventNames(names.since(0)).decode(data)
/// {'rain': 2.0, 'site': 'roof'}
#[pyclass(frozen, module = "headwater._core")]
pub struct EventNames {
    table: Mutex<NameTable>,
}

#[derive(Default)]
struct NameTable {
    /// By number; none where a name was forgotten.
    names: Vec<Option<EventKey>>,
    texts: HashMap<String, u32, FixedState>,
    numbers: HashMap<i64, u32, FixedState>,
    /// The numbers of the table's own text objects by address: a repeated object costs no hash of its text.
    objects: HashMap<usize, u32, FixedState>,
}

impl NameTable {
    /// The number of a name, which is a new one if the name is new.
    fn number(&mut self, py: Python<'_>, key: &EventKey) -> PyResult<u32> {
        if let EventKey::Text(text) = key
            && let Some(&number) = self.objects.get(&text.as_ptr().addr())
        {
            return Ok(number);
        }
        let known = match key {
            EventKey::Text(text) => self.texts.get(text.bind(py).to_str()?),
            EventKey::Number(number) => self.numbers.get(number),
        };
        match known {
            Some(&number) => Ok(number),
            None => self.add(py, self.names.len(), key),
        }
    }

    fn add(&mut self, py: Python<'_>, number: usize, key: &EventKey) -> PyResult<u32> {
        let Ok(id) = u32::try_from(number) else {
            return Err(ParameterError::new_err("names: there are more than 2^32 of them."));
        };
        let kept = match key {
            EventKey::Number(number) => {
                self.numbers.insert(*number, id);
                EventKey::Number(*number)
            }
            EventKey::Text(text) => {
                let text = text.bind(py).to_str()?;
                Name::Text(text)
                    .check_length()
                    .map_err(|said| EventError::new_err(format!("event: {said}")))?;
                self.texts.insert(text.to_owned(), id);
                let own = PyString::new(py, text).unbind(); // not a subclass of somebody's
                self.objects.insert(own.as_ptr().addr(), id);
                EventKey::Text(own)
            }
        };
        if self.names.len() <= number {
            self.names.resize_with(number + 1, || None);
        }
        self.names[number] = Some(kept);
        Ok(id)
    }
}

/// A value as an event gives it.
enum GivenValue {
    Number(f64),
    Text(Py<PyString>),
}

/// 64 bits of an event's names and values, whatever their numbers: they tell whether two events are the same.
/// Journals keep them, so they never change.
struct Digest(u64);

impl Digest {
    fn word(&mut self, word: u64) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(ODD);
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        for part in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn name(&mut self, name: Name<'_>) {
        match name {
            Name::Number(number) => {
                self.word(1);
                self.word(number as u64);
            }
            Name::Text(text) => {
                self.word(2);
                self.text(text);
            }
        }
    }

    fn value(&mut self, value: RawValue<'_>) {
        match value {
            RawValue::Number(number) => {
                self.word(3);
                self.word(number.to_bits());
            }
            RawValue::Text(text) => {
                self.word(4);
                self.text(text);
            }
        }
    }
}

impl EventNames {
    fn table(&self) -> MutexGuard<'_, NameTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl EventNames {
    #[new]
    #[pyo3(signature = (names=Vec::new()))]
    fn new(py: Python<'_>, names: Vec<(usize, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let mut table = NameTable::default();
        for (number, name) in names {
            table.add(py, number, &read_name("names", &name)?)?;
        }
        Ok(Self { table: Mutex::new(table) })
    }

    /// An event as bytes, and a digest of its content; absent features are left out.
    fn encode<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyBytes>, i64)> {
        let py = x.py();
        let entries = read_entries(x)?;
        let mut writer = EventWriter::new(entries.len());
        let mut digest = Digest(0);
        let mut table = self.table();
        for (key, value) in &entries {
            let name = table.number(py, key)?;
            digest.name(key.name(py));
            let value = match value {
                GivenValue::Text(text) => RawValue::Text(text.bind(py).to_str()?),
                GivenValue::Number(number) => RawValue::Number(*number),
            };
            digest.value(value);
            writer.push(name, value).map_err(raise)?;
        }
        Ok((PyBytes::new(py, &writer.finish()), digest.0 as i64))
    }

    /// The event that these bytes are, with the table's own objects as names.
    fn decode<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyDict>> {
        let features = read(data).map_err(raise)?;
        let mut keys = Vec::with_capacity(features.len());
        {
            let table = self.table(); // held while no object is made that could run a finalizer
            for &(name, _) in &features {
                let Some(Some(key)) = table.names.get(name as usize) else {
                    return Err(EventError::new_err(format!(
                        "event: its stored bytes use name number {name}, which is not in the table of \
                         names."
                    )));
                };
                keys.push(key.to_python(py)?);
            }
        }
        let dict = PyDict::new(py);
        for (key, (_, value)) in keys.into_iter().zip(features) {
            match value {
                RawValue::Number(number) => dict.set_item(key, number)?,
                RawValue::Text(text) => dict.set_item(key, text)?,
            }
        }
        Ok(dict)
    }

    /// The numbers of the names that these bytes use.
    #[allow(clippy::unused_self)] // beside `decode`
    fn used(&self, data: &[u8]) -> PyResult<Vec<u32>> {
        Ok(read(data).map_err(raise)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Number and name of all names from this number on.
    fn since<'py>(
        &self,
        py: Python<'py>,
        number: usize,
    ) -> PyResult<Vec<(usize, Bound<'py, PyAny>)>> {
        let table = self.table();
        let known = table.names.iter().enumerate().skip(number);
        known
            .filter_map(|(number, name)| Some((number, name.as_ref()?)))
            .map(|(number, name)| Ok((number, name.to_python(py)?)))
            .collect()
    }

    /// One more than the largest number.
    fn __len__(&self) -> usize {
        self.table().names.len()
    }
}

/// The items of a dict that are not absent.
struct Entries {
    found: Vec<(EventKey, GivenValue)>,
    /// Stays empty, because no name is known.
    features: Vec<FeatureValue>,
    before: FeatureId,
}

impl<'py> ItemVisitor<'py> for Entries {
    fn known(&mut self) -> (impl Recall, &mut Vec<FeatureValue>, &mut FeatureId) {
        (NoObjects, &mut self.features, &mut self.before)
    }

    fn visit(&mut self, name: Borrowed<'_, 'py, PyAny>, value: PlainValue<'_, 'py>) -> Option<f64> {
        let name = PlainName::of(name)?;
        let value = match value {
            PlainValue::Absent => return Some(0.0),
            PlainValue::Number(number) => GivenValue::Number(number),
            PlainValue::Text(text) if text.to_str().is_err() => return None,
            PlainValue::Text(text) => GivenValue::Text(text.to_owned().unbind()),
        };
        self.found.push((name.to_key(), value));
        Some(0.0)
    }
}

/// The items of an event that are not absent.
fn read_entries(x: &Bound<'_, PyAny>) -> PyResult<Vec<(EventKey, GivenValue)>> {
    if let Ok(dict) = x.cast_exact::<PyDict>() {
        let found = Vec::with_capacity(dict.len());
        let mut entries = Entries { found, features: Vec::new(), before: UNKNOWN };
        if visit_items(dict, &mut entries).is_some() {
            return Ok(entries.found);
        }
    }
    let mut entries: Vec<(EventKey, GivenValue)> = Vec::new();
    for_each_item(x, |name, value| {
        let key = read_name("event", name)?;
        if let Ok(text) = value.cast::<PyString>() {
            text.to_str().map_err(|_| {
                EventError::new_err(format!(
                    "event: the value of {} is not valid text.",
                    shown(name)
                ))
            })?;
            entries.push((key, GivenValue::Text(text.clone().unbind())));
        } else if !value.is_none()
            && let Some(number) = read_number(name, value)?
        {
            entries.push((key, GivenValue::Number(number)));
        }
        Ok(())
    })?;
    Ok(entries)
}
