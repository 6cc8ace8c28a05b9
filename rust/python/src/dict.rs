//! Reads plain dicts by borrowed pointers, so that an event costs little more than its values.
//!
//! This needs `unsafe`: the pointers of `PyDict_Next` are valid as long as the dict is not changed.
//! Nothing in this file runs Python code, releases the GIL or creates an object, so nothing can
//! change the dict. A name that is kept gets a reference of its own.

use headwater_core::{FeatureId, FeatureValue, UNKNOWN};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::name::EventKey;

/// If the dict's names are identical to these objects, in this order, and its values are numbers:
/// the features, with these ids. Otherwise false, and the content of `features` is undefined.
pub fn read_same(
    dict: &Bound<'_, PyDict>,
    keys: &[EventKey],
    ids: &[FeatureId],
    features: &mut Vec<FeatureValue>,
) -> bool {
    if dict.len() != keys.len() {
        return false;
    }
    let mut items = DictItems::of(dict);
    features.extend(ids.iter().map(|&id| FeatureValue { id, value: 0.0 }));
    for (key, feature) in keys.iter().zip(features) {
        // SAFETY: see `DictItems::next`; the pointers are used before the next step.
        let Some((name, value)) = (unsafe { items.next() }) else { return false };
        let EventKey::Text(text) = key else { return false };
        // SAFETY: the value is alive, because the dict holds it.
        let Some(value) = (unsafe { plain_number(value) }) else { return false };
        if text.as_ptr() != name {
            return false;
        }
        feature.value = value;
    }
    true
}

/// If the dict's names are texts and its values are numbers: its names and features. Otherwise
/// false, and the content of `keys` and `features` is undefined.
pub fn read_plain(
    dict: &Bound<'_, PyDict>,
    keys: &mut Vec<EventKey>,
    features: &mut Vec<FeatureValue>,
) -> bool {
    // Names and values are scattered in memory: all are prefetched before the first is read.
    let mut pointers = Vec::with_capacity(dict.len());
    let mut items = DictItems::of(dict);
    // SAFETY: see `DictItems::next`; the pointers are used while nothing changes the dict.
    while let Some((name, value)) = unsafe { items.next() } {
        call_for(name.cast_const());
        call_for(value.cast_const());
        pointers.push((name, value));
    }
    for (name, value) in pointers {
        // SAFETY: name and value are alive, because the dict holds them; the name is a text by its
        // type, and `Py` counts a reference of its own.
        unsafe {
            if ffi::PyUnicode_CheckExact(name) == 0 {
                return false;
            }
            let Some(value) = plain_number(value) else { return false };
            let name = Borrowed::from_ptr(dict.py(), name).cast_unchecked::<PyString>();
            keys.push(EventKey::Text(name.to_owned().unbind()));
            features.push(FeatureValue { id: UNKNOWN, value });
        }
    }
    true
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

struct DictItems {
    dict: *mut ffi::PyObject,
    position: ffi::Py_ssize_t,
}

impl DictItems {
    fn of(dict: &Bound<'_, PyDict>) -> Self {
        Self { dict: dict.as_ptr(), position: 0 }
    }

    /// The next name and value.
    ///
    /// # Safety
    /// The dict must be alive and unchanged since the first step, and the pointers must not be used
    /// after it has changed.
    unsafe fn next(&mut self) -> Option<(*mut ffi::PyObject, *mut ffi::PyObject)> {
        let (mut name, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the dict is alive, as the caller says.
        let more = unsafe {
            ffi::PyDict_Next(self.dict, &raw mut self.position, &raw mut name, &raw mut value)
        };
        (more != 0).then_some((name, value))
    }
}

/// The number in an object of exactly the type float or int, if it is finite. Runs no Python code.
///
/// # Safety
/// The object must be alive.
unsafe fn plain_number(object: *mut ffi::PyObject) -> Option<f64> {
    // SAFETY: the object is alive, as the caller says, and of the type that each call wants.
    let number = unsafe {
        if ffi::PyFloat_CheckExact(object) != 0 {
            ffi::PyFloat_AsDouble(object)
        } else if ffi::PyLong_CheckExact(object) != 0 {
            let number = ffi::PyLong_AsDouble(object);
            if number == -1.0 && !ffi::PyErr_Occurred().is_null() {
                ffi::PyErr_Clear(); // too large: the slow path refuses it and names the feature
                return None;
            }
            number
        } else {
            return None;
        }
    };
    number.is_finite().then_some(number)
}
