//! Numbers in Python's floats and NumPy's scalars, and texts of ASCII, read without a call and without running
//! Python code.
//!
//! They hold their number or their bytes behind the head of the object (`floatobject.h`, `arrayscalars.h`,
//! `unicodeobject.h`). Whether this is so in the Python and the NumPy that are installed is tried with objects of
//! each type; a type for which it is not is left out, and its objects are read as those of any other type.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString, PyType};

/// Reads the number behind the head of an object.
type Reader = unsafe fn(*const ffi::PyObject) -> f64;

/// The types by address, and how their objects are read. A reference to each type is never given back.
static READERS: OnceLock<Vec<(usize, Reader)>> = OnceLock::new();
/// The type of floats, if it is one of them.
static FLOAT: AtomicUsize = AtomicUsize::new(0);

/// Where the length and the state of a text stand.
const LENGTH: usize = size_of::<ffi::PyObject>();
const STATE: usize = LENGTH + 2 * size_of::<usize>(); // the hash is between them
/// Where the bytes of a text of ASCII stand; 0 if that is not known.
static ASCII_START: AtomicUsize = AtomicUsize::new(0);
/// The bits of the state that tell such a text from others, and what they are.
static ASCII_STATE: AtomicU64 = AtomicU64::new(0);

/// # Safety
/// The object must be alive, and a float must stand behind its head.
#[inline]
unsafe fn read_float(object: *const ffi::PyObject) -> f64 {
    // SAFETY: as the caller says.
    unsafe { object.add(1).cast::<f64>().read() }
}

macro_rules! reader {
    ($number:ty, $convert:expr) => {{
        /// # Safety
        /// The object must be alive, and such a number must stand behind its head.
        unsafe fn read(object: *const ffi::PyObject) -> f64 {
            // SAFETY: as the caller says.
            let number = unsafe { object.add(1).cast::<$number>().read_unaligned() };
            $convert(number)
        }
        read as Reader
    }};
}

/// Find the types. To be called once.
pub fn find_types(py: Python<'_>) {
    let candidates: [(&str, &str, Reader); 14] = [
        ("builtins", "float", read_float),
        ("numpy", "float64", read_float),
        ("numpy", "float32", reader!(f32, f64::from)),
        ("numpy", "int64", reader!(i64, |number| number as f64)),
        ("numpy", "int32", reader!(i32, f64::from)),
        ("numpy", "int16", reader!(i16, f64::from)),
        ("numpy", "int8", reader!(i8, f64::from)),
        ("numpy", "uint64", reader!(u64, |number| number as f64)),
        ("numpy", "uint32", reader!(u32, f64::from)),
        ("numpy", "uint16", reader!(u16, f64::from)),
        ("numpy", "uint8", reader!(u8, f64::from)),
        ("numpy", "longlong", reader!(i64, |number| number as f64)),
        ("numpy", "ulonglong", reader!(u64, |number| number as f64)),
        ("numpy", "bool_", reader!(u8, f64::from)),
    ];
    let mut found = Vec::new();
    for (module, name, reader) in candidates {
        let read = || -> PyResult<(usize, bool)> {
            let scalar_type = py.import(module)?.getattr(name)?;
            let mut fits = true;
            for number in [1.0, 0.0] {
                let one = scalar_type.call1((number,))?;
                // SAFETY: a scalar is larger than its head by at least its number; what is read is checked.
                let read = unsafe { reader(one.as_ptr()) };
                fits &= one.get_type().is(&scalar_type) && read == number;
            }
            Ok((scalar_type.unbind().into_ptr().addr(), fits))
        };
        if let Ok((address, true)) = read() {
            found.push((address, reader));
        }
    }
    let float = py.get_type::<PyFloat>().as_ptr().addr();
    if found.iter().any(|&(address, _)| address == float) {
        FLOAT.store(float, Ordering::Relaxed);
    }
    let _ = READERS.set(found);
    if let Ok(Some((start, state))) = find_ascii(py) {
        ASCII_STATE.store(state, Ordering::Relaxed);
        ASCII_START.store(start, Ordering::Relaxed);
    }
}

/// Where the bytes of a text of ASCII start, and mask and bits of its state, if it is laid out as expected.
fn find_ascii(py: Python<'_>) -> PyResult<Option<(usize, u64)>> {
    let size = |text: &Bound<'_, PyAny>| text.call_method0("__sizeof__")?.extract::<usize>();
    let Some(start) = size(PyString::new(py, "").as_any())?.checked_sub(1) else { return Ok(None) };
    // SAFETY: a text is larger than its head by at least length, hash and state; what is read is tried.
    let state = |text: &Bound<'_, PyAny>| unsafe { text_state(text.as_ptr()) };
    let (plain, long) = ("a name".to_owned(), "a long name ".repeat(100));
    let ascii = [
        PyString::new(py, &plain).into_any(),
        PyString::intern(py, "an interned name").into_any(),
        PyString::new(py, "a").into_any(),
        PyString::new(py, &long).into_any(),
    ];
    let subclass =
        py.get_type::<PyType>().call1(("Text", (py.get_type::<PyString>(),), PyDict::new(py)))?;
    let mut others = vec![subclass.call1((&plain,))?];
    others.extend(
        ["\u{e9}", "name \u{e9}", "name \u{20ac}", "name \u{1f600}"]
            .map(|text| PyString::new(py, text).into_any()),
    );
    let usual = state(&ascii[0]);
    let differing = others.iter().fold(0, |bits, text| bits | (state(text) ^ usual));
    let mask = ascii.iter().fold(differing, |bits, text| bits & !(state(text) ^ usual));
    let fits = |text: &Bound<'_, PyAny>| -> PyResult<bool> {
        let known = text.cast::<PyString>()?.to_str()?;
        // SAFETY: every text holds so many bytes behind its head.
        let length = unsafe { text_length(text.as_ptr()) };
        let has_room = start > STATE && size(text)? == start + known.len() + 1;
        // SAFETY: the bytes lie within the size of the object.
        Ok(length == known.len()
            && has_room
            && unsafe { ascii_at(text.as_ptr(), start) } == known.as_bytes())
    };
    for text in &ascii {
        if state(text) & mask != usual & mask || !fits(text)? {
            return Ok(None);
        }
    }
    let differ = others.iter().all(|text| state(text) & mask != usual & mask);
    Ok(differ.then_some((start, u64::from(mask) << 32 | u64::from(usual & mask))))
}

/// # Safety
/// The object must be alive and a text.
#[inline]
unsafe fn text_state(text: *const ffi::PyObject) -> u32 {
    // SAFETY: as the caller says.
    unsafe { text.byte_add(STATE).cast::<u32>().read() }
}

/// # Safety
/// The object must be alive and a text.
#[inline]
unsafe fn text_length(text: *const ffi::PyObject) -> usize {
    // SAFETY: as the caller says.
    unsafe { text.byte_add(LENGTH).cast::<usize>().read() }
}

/// # Safety
/// The object must be a text that is alive for 'a, and its bytes must start there.
#[inline]
unsafe fn ascii_at<'a>(text: *const ffi::PyObject, start: usize) -> &'a [u8] {
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(text.byte_add(start).cast(), text_length(text)) }
}

/// The text in an object that is exactly a str and all ASCII; none also if this is not known without a call.
///
/// # Safety
/// The object must be alive for 'a.
#[inline(always)]
pub unsafe fn ascii_in<'a>(object: *const ffi::PyObject) -> Option<&'a str> {
    let (start, wanted) =
        (ASCII_START.load(Ordering::Relaxed), ASCII_STATE.load(Ordering::Relaxed));
    // SAFETY: the object is alive, as the caller says, and laid out as what was tried.
    unsafe {
        let is_text = std::ptr::eq(ffi::Py_TYPE(object.cast_mut()), &raw const ffi::PyUnicode_Type);
        if start == 0 || !is_text || text_state(object) & (wanted >> 32) as u32 != wanted as u32 {
            return None;
        }
        Some(std::str::from_utf8_unchecked(ascii_at(object, start)))
    }
}

/// The type of floats, or 0 if its objects are read as those of any other type.
#[inline]
pub fn float_type() -> usize {
    FLOAT.load(Ordering::Relaxed)
}

/// The number in an object that is exactly a float; `float` is [`float_type`].
///
/// # Safety
/// The object must be alive.
#[inline(always)]
pub unsafe fn float_in(object: *mut ffi::PyObject, float: usize) -> Option<f64> {
    // SAFETY: the object is alive, as the caller says, and of exactly the type that was tried.
    unsafe { (ffi::Py_TYPE(object).addr() == float).then(|| read_float(object)) }
}

/// The number in an object, if it is a float or one of NumPy's scalars.
///
/// # Safety
/// The object must be alive.
pub unsafe fn number_in(object: *mut ffi::PyObject) -> Option<f64> {
    // SAFETY: the object is alive, as the caller says.
    let address = unsafe { ffi::Py_TYPE(object) }.addr();
    let (_, reader) = READERS.get()?.iter().find(|(known, _)| *known == address)?;
    // SAFETY: the object is of exactly the type that was tried.
    Some(unsafe { reader(object) })
}
