//! Arrow data, from any object with the PyCapsule protocol.
//!
//! The `unsafe` code relies on what the protocol guarantees: a capsule with such a name holds such
//! a C struct, and its callbacks behave as documented. The structs are moved out of their capsules,
//! so that each is released exactly once, here. The memory that they describe is not copied; its
//! content is checked before it is read. The other `unsafe` code of the package is in `dict.rs`.

use std::ffi::CStr;
use std::ptr::NonNull;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayReader, ArrayRef, make_array};
use arrow_schema::{ArrowError, DataType};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::EventError;

/// The chunks of `x`. None is read before `check` has accepted their type.
pub fn read<T>(
    x: &Bound<'_, PyAny>,
    check: impl FnOnce(&DataType) -> PyResult<T>,
) -> PyResult<(T, Vec<ArrayRef>)> {
    if x.hasattr("__arrow_c_stream__")? {
        let capsule = x.call_method0("__arrow_c_stream__")?;
        let stream = pointer::<FFI_ArrowArrayStream>(&capsule, c"arrow_array_stream")?;
        // SAFETY: by its name the capsule holds this struct; from_raw moves it out.
        let reader = unsafe { ArrayStreamReader::from_raw(stream.as_ptr()) }.map_err(failed)?;
        let checked = check(reader.field().data_type())?;
        let chunks: Result<Vec<ArrayRef>, ArrowError> = reader.map(whole).collect();
        return Ok((checked, chunks.map_err(failed)?));
    }
    let (schema, array) =
        x.call_method0("__arrow_c_array__")?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
    let schema = pointer::<FFI_ArrowSchema>(&schema, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(&array, c"arrow_array")?;
    // SAFETY: as above, for both.
    let (schema, array) = unsafe {
        (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr()))
    };
    let data_type = DataType::try_from(&schema).map_err(failed)?;
    let checked = check(&data_type)?;
    // SAFETY: the protocol guarantees that this is the array's type.
    let data = unsafe { from_ffi_and_data_type(array, data_type) };
    let chunk = whole(data.map(make_array)).map_err(failed)?;
    Ok((checked, vec![chunk]))
}

fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast())
}

/// A chunk after checking its offsets, dictionary keys and texts.
fn whole(chunk: Result<ArrayRef, ArrowError>) -> Result<ArrayRef, ArrowError> {
    let chunk = chunk?;
    chunk.to_data().validate_full()?;
    Ok(chunk)
}

#[allow(clippy::needless_pass_by_value)] // so that it maps errors
fn failed(error: ArrowError) -> PyErr {
    EventError::new_err(format!("X: its Arrow data cannot be read: {error}."))
}
