//! Reads dicts by borrowed pointers, so that an event costs little more than its values.
//!
//! This needs `unsafe`: the pointers of `PyDict_Next` are valid as long as the dict is not changed.
//! Nothing in this file runs Python code or releases the GIL, so nothing can change the dict while it is
//! read. A value that only Python code can turn into a number ends the reading.

use std::mem::MaybeUninit;

use headwater_core::Name;
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

impl<'a, 'py> PlainName<'a, 'py> {
    /// The name that an object is; none for what [`crate::name::read_name`] has to look at.
    pub fn of(object: Borrowed<'a, 'py, PyAny>) -> Option<Self> {
        // SAFETY: the object is alive for 'a.
        if let Some(text) = unsafe { scalars::ascii_in(object.as_ptr()) } {
            return Some(Self { name: Name::Text(text), object });
        }
        if let Ok(text) = object.cast::<PyString>() {
            let read = std::ptr::from_ref(text.to_str().ok()?);
            // SAFETY: a text keeps its bytes where they are as long as it is alive, which it is for 'a.
            return Some(Self { name: Name::Text(unsafe { &*read }), object });
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

/// Gets the items of a dict, one after the other.
pub trait ItemVisitor<'py> {
    /// A name that comes soon: memory can be prefetched. The pointer must not be read.
    fn ahead(&self, name: *const ffi::PyObject);

    /// The next item; what it adds to a sum, such as that of the squares. None ends the reading. Must not run
    /// Python code: that could change the dict.
    fn visit(&mut self, name: Borrowed<'_, 'py, PyAny>, value: PlainValue<'_, 'py>) -> Option<f64>;
}

/// Items whose memory is prefetched before the first of them is read: names and values are scattered.
const AHEAD: usize = 32;

/// Visit the items of a dict in their order: the sum of what they add. None if the visitor said so, or at a value that
/// is none of [`PlainValue`]: it is infinite, of another type, or beyond the floats.
#[inline]
pub fn visit_items<'py>(
    dict: &Bound<'py, PyDict>,
    visitor: &mut impl ItemVisitor<'py>,
) -> Option<f64> {
    let mut items = DictItems { dict: dict.as_ptr(), position: 0 };
    let mut pointers = [const { MaybeUninit::uninit() }; AHEAD];
    let mut sum = 0.0; // here, where it stays in a register
    loop {
        let mut count = 0;
        while count < AHEAD {
            // SAFETY: the dict is alive and unchanged: neither this loop nor, as `ItemVisitor` demands, the
            // visitor runs Python code.
            let Some((name, value)) = (unsafe { items.next() }) else { break };
            visitor.ahead(name.cast_const());
            call_for(value.cast_const());
            pointers[count].write((name, value));
            count += 1;
        }
        for pointers in &pointers[..count] {
            // SAFETY: so many were written, and name and value are alive, because the unchanged dict holds them.
            let (name, value) = unsafe {
                let (name, value) = pointers.assume_init();
                (Borrowed::from_ptr(dict.py(), name), plain_value(dict.py(), value)?)
            };
            sum += visitor.visit(name, value)?;
        }
        if count < AHEAD {
            return Some(sum);
        }
    }
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
        match scalars::float_in(object) {
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
    // subclass, such as NumPy's float64, holds its number as a float does.
    unsafe {
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
        if ffi::PyFloat_Check(object) != 0 {
            return as_value(ffi::PyFloat_AsDouble(object));
        }
        scalars::number_in(object).and_then(as_value)
    }
}
