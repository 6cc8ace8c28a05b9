//! Reads dicts by borrowed pointers, so that an event costs little more than its values.
//!
//! This needs `unsafe`: the pointers in a dict are valid as long as the dict is not changed.
//! Nothing in this file runs Python code or releases the GIL, so nothing can change the dict while it is
//! read. A value that only Python code can turn into a number ends the reading.
//!
//! Names and values of a dict stand side by side in one array (`pycore_dict.h`). It is read where it stands in
//! the versions of Python whose dicts are known to be laid out so, and only after a trial at import; in others
//! the pointers that `PyDict_Next` gives are written into such an array first.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_core::{FeatureId, FeatureValue, Name, UNKNOWN};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};

use crate::name::EventKey;
use crate::scalars;

/// A value that can be read without running Python code.
pub enum PlainValue<'a, 'py> {
    Number(f64),
    /// None or NaN.
    Absent,
    Text(Borrowed<'a, 'py, PyString>),
}

/// A name that can be read without running Python code, and its object.
#[derive(Clone, Copy)]
pub struct PlainName<'a, 'py> {
    pub name: Name<'a>,
    object: Borrowed<'a, 'py, PyAny>,
}

/// What a text says; none if it is not valid.
pub fn text_of<'a>(text: Borrowed<'a, '_, PyString>) -> Option<&'a str> {
    // SAFETY: the object is alive for 'a.
    if let Some(read) = unsafe { scalars::ascii_in(text.as_ptr()) } {
        return Some(read);
    }
    let read = std::ptr::from_ref(text.to_str().ok()?);
    // SAFETY: a text keeps its bytes where they are as long as it is alive, which it is for 'a.
    Some(unsafe { &*read })
}

impl<'a, 'py> PlainName<'a, 'py> {
    /// The name that an object is; none for what [`crate::name::read_name`] has to look at.
    pub fn of(object: Borrowed<'a, 'py, PyAny>) -> Option<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            return Some(Self { name: Name::Text(text_of(text)?), object });
        }
        let number = object.cast_exact::<PyInt>().ok()?.extract().ok()?;
        Some(Self { name: Name::Number(number), object })
    }

    /// The object, so that it can be recognized when it comes again. None of a subclass: it may be anything
    /// beside.
    pub fn object(self) -> Option<Borrowed<'a, 'py, PyAny>> {
        let is_text = || self.object.is_exact_instance_of::<PyString>();
        (matches!(self.name, Name::Number(_)) || is_text()).then_some(self.object)
    }

    pub fn to_key(self) -> EventKey {
        match (self.name, self.object.cast::<PyString>()) {
            (Name::Text(_), Ok(text)) => EventKey::Text(text.to_owned().unbind()),
            (Name::Text(text), Err(_)) => {
                EventKey::Text(PyString::new(self.object.py(), text).unbind())
            }
            (Name::Number(number), _) => EventKey::Number(number),
        }
    }
}

/// Recognizes objects that came before. Runs no Python code.
pub trait Recall {
    /// Whether [`Self::ahead`] is of use.
    fn looks_ahead(&self) -> bool;

    /// An object that comes soon: memory can be prefetched. The pointer must not be read.
    fn ahead(&self, object: *const ffi::PyObject);

    /// The id of the name that an object is, or `UNKNOWN`. The pointer must not be read.
    fn recall(&self, object: *const ffi::PyObject) -> FeatureId;

    /// Whether most objects are new, so that [`Self::follow`] finds more than [`Self::recall`].
    fn expects_new(&self) -> bool;

    /// The id of a text, if it is the name that came behind another one last time; else `UNKNOWN`.
    fn follow(&self, before: FeatureId, text: &str) -> FeatureId;
}

/// Recognizes nothing.
pub struct NoObjects;

impl Recall for NoObjects {
    fn looks_ahead(&self) -> bool {
        false
    }

    fn ahead(&self, _object: *const ffi::PyObject) {}

    fn recall(&self, _object: *const ffi::PyObject) -> FeatureId {
        UNKNOWN
    }

    fn expects_new(&self) -> bool {
        false
    }

    fn follow(&self, _before: FeatureId, _text: &str) -> FeatureId {
        UNKNOWN
    }
}

/// Gets the items of a dict, in their order.
pub trait ItemVisitor<'py> {
    /// What recognizes names, where a number under such a name goes without a visit, and the last id that was
    /// found.
    fn known(&mut self) -> (impl Recall, &mut Vec<FeatureValue>, &mut FeatureId);

    /// Another item; what it adds to a sum, such as that of the squares. None ends the reading. Must not run
    /// Python code: that could change the dict.
    fn visit(&mut self, name: Borrowed<'_, 'py, PyAny>, value: PlainValue<'_, 'py>) -> Option<f64>;
}

/// How many items before its turn an item's memory is prefetched: names and values are scattered.
const AHEAD: usize = 16;

/// Visit the items of a dict in their order: the sum of the squares and of what else they add. None if the visitor
/// said so, or at a value that is none of [`PlainValue`]: it is infinite, of another type, or beyond the floats.
#[inline]
pub fn visit_items<'py>(
    dict: &Bound<'py, PyDict>,
    visitor: &mut impl ItemVisitor<'py>,
) -> Option<f64> {
    let py = dict.py();
    let items = Items::of(dict);
    let (mut index, mut sum) = (0, 0.0);
    // SAFETY: the dict is alive and unchanged: neither this loop nor, as `ItemVisitor` demands, the visitor runs
    // Python code. So it holds the names and values, and they are alive.
    unsafe {
        loop {
            (index, sum) = if visitor.known().0.expects_new() {
                take_numbers::<true>(&items, index, sum, visitor)
            } else {
                take_numbers::<false>(&items, index, sum, visitor)
            };
            if index == items.count {
                return Some(sum);
            }
            let Item { name, value } = items.at(index);
            if !value.is_null() {
                sum += visitor.visit(Borrowed::from_ptr(py, name), plain_value(py, value)?)?;
            }
            index += 1;
        }
    }
}

/// Take finite floats under known names, and pass over what is absent, from an item on. The next item, and the sum
/// with their squares. Where no new objects are expected it calls nothing, so that all it needs stays in registers.
///
/// # Safety
/// The dict must be as it was.
#[inline(always)]
unsafe fn take_numbers<'py, const NEW: bool>(
    items: &Items,
    start: usize,
    mut sum: f64,
    visitor: &mut impl ItemVisitor<'py>,
) -> (usize, f64) {
    let (known, features, last) = visitor.known();
    let (looks_ahead, float) = (known.looks_ahead(), scalars::float_type());
    let (mut index, mut taken, mut before) = (start, 0, *last);
    let room = features.spare_capacity_mut();
    // SAFETY: the dict is as it was, so its names and values are alive.
    unsafe {
        if looks_ahead && start == 0 {
            for index in 0..AHEAD.min(items.count) {
                known.ahead(items.at(index).name);
                call_for(items.at(index).value);
            }
        }
        while index < items.count {
            if looks_ahead && index + AHEAD < items.count {
                let soon = items.at(index + AHEAD);
                known.ahead(soon.name);
                call_for(soon.value);
            }
            let Item { name, value } = items.at(index);
            if value.is_null() {
                break;
            }
            let number = match scalars::float_in(value, float) {
                Some(number) => number,
                None if value == ffi::Py_None() => f64::NAN,
                None => break,
            };
            let mut id = UNKNOWN;
            if NEW && let Some(text) = scalars::ascii_in(name) {
                id = known.follow(before, text);
            }
            if id == UNKNOWN {
                id = known.recall(name);
            }
            if id == UNKNOWN || !number.is_finite() {
                // A text of ASCII is a name, whether it is known or not.
                let is_name = id != UNKNOWN || scalars::ascii_in(name).is_some();
                if !number.is_nan() || !is_name {
                    break;
                }
                index += 1;
                continue;
            }
            before = id;
            let Some(place) = room.get_mut(taken) else { break };
            place.write(FeatureValue { id, value: number });
            sum += number * number;
            taken += 1;
            index += 1;
        }
        // SAFETY: so many were written.
        features.set_len(features.len() + taken);
    }
    *last = before;
    (index, sum)
}

/// A name and its value; without a value it was deleted.
#[derive(Clone, Copy)]
#[repr(C)]
struct Item {
    name: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
}

/// The items of a dict where they stand.
struct Items {
    first: *const Item,
    count: usize,
    /// Bytes from one to the next.
    stride: usize,
    /// Where they stand, if that is not in the dict.
    _written: Vec<Item>,
}

/// A dict, and its keys, in memory.
#[repr(C)]
struct DictObject {
    head: ffi::PyObject,
    used: ffi::Py_ssize_t,
    tag: u64,
    keys: *const DictKeys,
    /// The values of an object's attributes, which share their keys.
    values: *const c_void,
}

#[repr(C)]
struct DictKeys {
    references: ffi::Py_ssize_t,
    log2_size: u8,
    /// Of all indices; the entries stand behind them.
    log2_index_bytes: u8,
    kind: u8,
    version: u32,
    usable: ffi::Py_ssize_t,
    entries: ffi::Py_ssize_t,
}

/// Keys of any kind, with a hash before each, and keys that all are texts.
const ANY: u8 = 0;
const TEXTS: u8 = 1;

/// Whether dicts are laid out so.
static IS_KNOWN: AtomicBool = AtomicBool::new(false);

impl Items {
    /// The items of a dict, which must not change as long as they are used.
    #[inline(always)]
    fn of(dict: &Bound<'_, PyDict>) -> Self {
        if IS_KNOWN.load(Ordering::Relaxed) {
            // SAFETY: the dict is alive, and laid out as what was tried.
            if let Some(items) = unsafe { Self::inside(dict.as_ptr()) } {
                return items;
            }
        }
        Self::written(dict)
    }

    /// Those of a dict that has keys of its own.
    ///
    /// # Safety
    /// It must be a dict, alive, and laid out as [`DictObject`].
    #[inline(always)]
    unsafe fn inside(dict: *mut ffi::PyObject) -> Option<Self> {
        // SAFETY: as the caller says.
        unsafe {
            let DictObject { keys, values, .. } = &*dict.cast::<DictObject>();
            let DictKeys { log2_index_bytes, kind, entries, .. } = **keys;
            if !values.is_null() || kind > TEXTS {
                return None;
            }
            let hash = if kind == ANY { size_of::<ffi::Py_hash_t>() } else { 0 };
            let start = keys.add(1).byte_add((1 << log2_index_bytes) + hash);
            let stride = hash + size_of::<Item>();
            Some(Self {
                first: start.cast(),
                count: entries as usize,
                stride,
                _written: Vec::new(),
            })
        }
    }

    /// Those of any dict.
    #[inline(never)]
    fn written(dict: &Bound<'_, PyDict>) -> Self {
        let (mut items, mut position) = (Vec::with_capacity(dict.len()), 0);
        let mut item = Item { name: std::ptr::null_mut(), value: std::ptr::null_mut() };
        // SAFETY: the dict is alive and nothing changes it.
        while unsafe {
            let Item { name, value } = &mut item;
            ffi::PyDict_Next(dict.as_ptr(), &raw mut position, name, value)
        } != 0
        {
            items.push(item);
        }
        let (first, count, stride) = (items.as_ptr(), items.len(), size_of::<Item>());
        Self { first, count, stride, _written: items }
    }

    /// # Safety
    /// There must be so many items, and the dict must be as it was.
    #[inline(always)]
    unsafe fn at(&self, index: usize) -> Item {
        // SAFETY: as the caller says.
        unsafe { self.first.byte_add(index * self.stride).read() }
    }
}

/// Try whether dicts are laid out as expected. To be called once, at import.
pub fn find_layout(py: Python<'_>) -> PyResult<()> {
    let version = py.version_info();
    let size: usize = py.get_type::<PyDict>().getattr("__basicsize__")?.extract()?;
    let implementation = py.import("sys")?.getattr("implementation")?.getattr("name")?;
    let is_known = version.major == 3
        && (11..=13).contains(&version.minor)
        && implementation.eq("cpython")?
        && size == size_of::<DictObject>();
    if !is_known {
        return Ok(());
    }
    let texts = |count: usize| {
        let dict = PyDict::new(py);
        (0..count).try_for_each(|i| dict.set_item(format!("name {i}"), i as f64)).map(|()| dict)
    };
    let mut dicts = vec![texts(0)?, texts(1)?, texts(5)?, texts(50)?, texts(1_000)?];
    let holes = texts(300)?;
    (0..300).step_by(7).try_for_each(|i| holes.del_item(format!("name {i}")))?;
    let mixed = texts(20)?;
    mixed.set_item(7, 1.0)?;
    let numbers = PyDict::new(py);
    (0..300).try_for_each(|i| numbers.set_item(i, 1.0))?;
    numbers.del_item(9)?;
    dicts.extend([holes.copy()?, mixed.copy()?, numbers.copy()?, holes, mixed, numbers]);
    let fits = dicts.iter().all(|dict| {
        // SAFETY: dicts of these versions are laid out so.
        let Some(inside) = (unsafe { Items::inside(dict.as_ptr()) }) else { return false };
        let expected = Items::written(dict);
        // SAFETY: the dict is as it was.
        let all =
            |items: &Items| (0..items.count).map(|i| unsafe { items.at(i) }).collect::<Vec<_>>();
        let there = all(&inside).into_iter().filter(|item| !item.value.is_null());
        let there = there.map(|item| (item.name, item.value));
        there.eq(all(&expected).into_iter().map(|item| (item.name, item.value)))
    });
    IS_KNOWN.store(fits, Ordering::Relaxed);
    Ok(())
}

/// Prefetch memory, where the processor has an instruction for it.
#[inline]
pub fn call_for<T>(object: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(object.cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = object;
}

/// What an object is as a value. Runs no Python code.
///
/// # Safety
/// The object must be alive as long as the result is used.
#[inline(always)]
unsafe fn plain_value<'a>(
    py: Python<'_>,
    object: *mut ffi::PyObject,
) -> Option<PlainValue<'a, '_>> {
    // SAFETY: the object is alive, as the caller says.
    unsafe {
        match scalars::float_in(object, scalars::float_type()) {
            Some(number) if number.is_finite() => Some(PlainValue::Number(number)),
            _ => other_value(py, object),
        }
    }
}

fn as_value<'a, 'py>(number: f64) -> Option<PlainValue<'a, 'py>> {
    if number.is_finite() {
        return Some(PlainValue::Number(number));
    }
    number.is_nan().then_some(PlainValue::Absent)
}

/// The same of an object that is no finite float.
///
/// # Safety
/// The object must be alive as long as the result is used.
#[inline(never)]
unsafe fn other_value<'a>(
    py: Python<'_>,
    object: *mut ffi::PyObject,
) -> Option<PlainValue<'a, '_>> {
    // SAFETY: the object is alive, as the caller says, and of the type that each call wants. That of a float's
    // subclass holds its number as a float does.
    unsafe {
        if let Some(number) = scalars::number_in(object) {
            return as_value(number);
        }
        if ffi::PyLong_CheckExact(object) != 0 {
            let number = ffi::PyLong_AsDouble(object);
            if number == -1.0 && !ffi::PyErr_Occurred().is_null() {
                ffi::PyErr_Clear(); // too large: who reads it anew refuses it and names the feature
                return None;
            }
            return as_value(number);
        }
        if object == ffi::Py_None() {
            return Some(PlainValue::Absent);
        }
        if ffi::PyBool_Check(object) != 0 {
            return as_value(f64::from(u8::from(object == ffi::Py_True())));
        }
        if ffi::PyUnicode_Check(object) != 0 {
            return Some(PlainValue::Text(Borrowed::from_ptr(py, object).cast_unchecked()));
        }
        let is_float = ffi::PyFloat_Check(object) != 0;
        is_float.then(|| as_value(ffi::PyFloat_AsDouble(object))).flatten()
    }
}
