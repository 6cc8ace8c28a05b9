//! Arrow data, from any object with the PyCapsule protocol.
//!
//! Reading C structs needs `unsafe`. What is trusted is what the protocol promises: a capsule of such a
//! name holds such a C struct, whose callbacks do as they are documented. The structs are moved out of
//! their capsules, so that each is released once, by us.
//!
//! The memory that they describe may belong to somebody who changes it in another thread, so every chunk
//! is copied first, with the interpreter's lock held, and the copy is checked and read. The protocol does
//! not say how long a buffer of texts is: that follows from its last offset. pyarrow knows the length,
//! so its arrays are asked before anything behind that offset is read.

use std::ffi::CStr;
use std::ptr::NonNull;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayReader, ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::errors::EventError;

/// The chunks of `x`. None is read before `check` has accepted their type.
pub fn read<T>(
    x: &Bound<'_, PyAny>,
    check: impl FnOnce(&DataType) -> PyResult<T>,
) -> PyResult<(T, Vec<ArrayRef>)> {
    if is_pyarrow(x)? {
        return read_pyarrow(x, check);
    }
    if x.hasattr("__arrow_c_stream__")? {
        let capsule = x.call_method0("__arrow_c_stream__")?;
        let stream = pointer::<FFI_ArrowArrayStream>(&capsule, c"arrow_array_stream")?;
        // SAFETY: by its name the capsule holds this struct; from_raw moves it out.
        let reader = unsafe { ArrayStreamReader::from_raw(stream.as_ptr()) }.map_err(failed)?;
        let checked = check(reader.field().data_type())?;
        let chunks: Result<Vec<ArrayRef>, ArrowError> =
            reader.map(|chunk| owned(&chunk?.to_data()).map(make_array)).collect();
        return Ok((checked, chunks.map_err(failed)?));
    }
    let mut checked = None;
    let data = import(x, |data_type| {
        checked = Some(check(data_type)?);
        Ok(())
    })?;
    let chunk = owned(&data).map(make_array).map_err(failed)?;
    let checked = checked.ok_or_else(|| EventError::new_err("X: its Arrow data has no type."))?;
    Ok((checked, vec![chunk]))
}

/// Whether a class of pyarrow, or one made of it, is its type.
fn is_pyarrow(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    for class in x.get_type().mro() {
        if class.getattr("__module__")?.to_string().split('.').next() == Some("pyarrow") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The rows of a table, a batch, an array of structs or a reader of pyarrow, whose buffers are as long
/// as they must be.
fn read_pyarrow<T>(
    x: &Bound<'_, PyAny>,
    check: impl FnOnce(&DataType) -> PyResult<T>,
) -> PyResult<(T, Vec<ArrayRef>)> {
    let py = x.py();
    let lying = |error: PyErr| {
        if !error.is_instance_of::<PyException>(py) {
            return error; // a wish to stop
        }
        let said = error.value(py).to_string();
        let said = said.lines().next().unwrap_or_default().trim_end_matches('.');
        EventError::new_err(format!("X: its Arrow data cannot be read: {said}."))
    };
    let kind = if x.hasattr("schema")? { x.getattr("schema")? } else { x.getattr("type")? };
    let checked = check(&data_type_of(&kind)?)?;
    let x = if x.hasattr("read_all")? {
        x.call_method0("read_all").map_err(lying)? // of a reader
    } else {
        x.clone()
    };
    x.call_method0("validate").map_err(lying)?;
    let pieces = if x.hasattr("to_batches")? {
        x.call_method0("to_batches")?
    } else if x.hasattr("chunks")? {
        x.getattr("chunks")?
    } else {
        PyList::new(py, [x])?.into_any()
    };
    let mut chunks = Vec::new();
    for piece in pieces.try_iter()? {
        let piece = piece?;
        let data = import(&piece, |_| Ok(()))?;
        check_extent(&data, &piece)?;
        chunks.push(owned(&data).map(make_array).map_err(failed)?);
    }
    Ok((checked, chunks))
}

/// The type that a schema or a type of pyarrow describes.
pub fn data_type_of(kind: &Bound<'_, PyAny>) -> PyResult<DataType> {
    let schema = kind.call_method0("__arrow_c_schema__")?;
    let schema = pointer::<FFI_ArrowSchema>(&schema, c"arrow_schema")?;
    // SAFETY: the capsule's name says what it holds, and it is alive.
    DataType::try_from(unsafe { schema.as_ref() }).map_err(failed)
}

/// Refuse texts whose last offset lies behind their end, in an array or a batch of pyarrow.
fn check_extent(data: &ArrayData, array: &Bound<'_, PyAny>) -> PyResult<()> {
    if array.hasattr("storage")? {
        return check_extent(data, &array.getattr("storage")?); // of an extension's type
    }
    match data.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => {
            let texts = array.call_method0("buffers")?.get_item(2)?;
            let size: usize = if texts.is_none() { 0 } else { texts.getattr("size")?.extract()? };
            let extent = data.buffers().get(1).map_or(0, Buffer::len);
            if extent > size {
                return Err(EventError::new_err(format!(
                    "X: its Arrow data cannot be read: the offsets of a column of text reach to byte \
                     {extent}, but its texts have only {size} bytes."
                )));
            }
            Ok(())
        }
        DataType::Dictionary(..) => match data.child_data().first() {
            Some(values) => check_extent(values, &array.getattr("dictionary")?),
            None => Ok(()),
        },
        DataType::Struct(_) => {
            let column = if array.hasattr("column")? { "column" } else { "field" };
            for (number, child) in data.child_data().iter().enumerate() {
                check_extent(child, &array.call_method1(column, (number,))?)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What an object with `__arrow_c_array__` describes, once `check` has seen its type.
fn import(
    x: &Bound<'_, PyAny>,
    check: impl FnOnce(&DataType) -> PyResult<()>,
) -> PyResult<ArrayData> {
    let (schema, array) =
        x.call_method0("__arrow_c_array__")?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
    let schema = pointer::<FFI_ArrowSchema>(&schema, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(&array, c"arrow_array")?;
    // SAFETY: the capsules' names say what they hold; from_raw moves it out.
    let (schema, array) = unsafe {
        (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr()))
    };
    let data_type = DataType::try_from(&schema).map_err(failed)?;
    check(&data_type)?;
    // SAFETY: the producer says that this is the array's type.
    unsafe { from_ffi_and_data_type(array, data_type) }.map_err(failed)
}

/// A copy in our own memory, its offsets, dictionary keys and texts checked.
fn owned(data: &ArrayData) -> Result<ArrayData, ArrowError> {
    let copy = |buffer: &Buffer| Buffer::from_slice_ref(buffer.as_slice());
    let nulls = data.nulls().map(|nulls| {
        NullBuffer::new(BooleanBuffer::new(copy(nulls.buffer()), nulls.offset(), nulls.len()))
    });
    let children: Result<Vec<ArrayData>, ArrowError> =
        data.child_data().iter().map(owned).collect();
    ArrayData::builder(data.data_type().clone())
        .len(data.len())
        .offset(data.offset())
        .nulls(nulls)
        .buffers(data.buffers().iter().map(copy).collect())
        .child_data(children?)
        .build()
}

fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast())
}

#[allow(clippy::needless_pass_by_value)] // so that it maps errors
fn failed(error: ArrowError) -> PyErr {
    EventError::new_err(format!("X: its Arrow data cannot be read: {error}."))
}
