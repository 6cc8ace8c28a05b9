//! Numbers in Python's floats and NumPy's scalars, read without a call and without running Python code.
//!
//! They hold their number behind the head of the object (`floatobject.h`, `arrayscalars.h`). Whether this is so
//! in the Python and the NumPy that are installed is tried with objects of each type; a type for which it is not
//! is left out, and its objects are read as those of any other type.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyFloat;

/// Reads the number behind the head of an object.
type Reader = unsafe fn(*const ffi::PyObject) -> f64;

/// The types by address, and how their objects are read. A reference to each type is never given back.
static READERS: OnceLock<Vec<(usize, Reader)>> = OnceLock::new();
/// The type of floats, if it is one of them.
static FLOAT: AtomicUsize = AtomicUsize::new(0);

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
}

/// The number in an object that is exactly a float.
///
/// # Safety
/// The object must be alive.
#[inline]
pub unsafe fn float_in(object: *mut ffi::PyObject) -> Option<f64> {
    // SAFETY: the object is alive, as the caller says, and of exactly the type that was tried.
    unsafe {
        let is_float = ffi::Py_TYPE(object).addr() == FLOAT.load(Ordering::Relaxed);
        is_float.then(|| read_float(object))
    }
}

/// The number in an object, if it is one of NumPy's scalars.
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
