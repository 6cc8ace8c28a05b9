//! Files that pyarrow decodes, as batches for the core's reader.

use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use headwater_core::readers::record::RecordError;
use headwater_core::readers::record_batches::{
    BatchSource, Cells, Field, FieldKind, RecordBatch, TextCells,
};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::arrow;
use crate::errors::{EventError, is_about_value};
use crate::frames::{is_readable, keys, numbers, texts};

/// An error of Python that ends reading and is not about the file, such as Ctrl-C.
pub type PythonError = Arc<Mutex<Option<PyErr>>>;

/// An iterator over pyarrow's batches that also has `schema`, and `bytes`: those of the file that are
/// done.
pub struct ArrowBatches {
    batches: Py<PyAny>,
    names: Vec<(String, DataType)>,
    bytes: u64,
    stopped: PythonError,
}

impl ArrowBatches {
    pub fn new(batches: &Bound<'_, PyAny>, stopped: PythonError) -> PyResult<Self> {
        let names = named_types(&arrow::data_type_of(&batches.getattr("schema")?)?)?;
        Ok(Self { batches: batches.clone().unbind(), names, bytes: 0, stopped })
    }

    fn read(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let batches = self.batches.bind(py);
        let batch = batches.try_iter()?.next().transpose()?;
        self.bytes = batches.getattr("bytes")?.extract()?;
        let Some(batch) = batch else { return Ok(None) };
        let ((), chunks) = arrow::read(&batch, |_| Ok(()))?;
        Ok(chunks.first().map(batch_of))
    }
}

fn field((name, kind): &(String, DataType)) -> Field {
    use DataType as T;
    let kind = match kind {
        T::Timestamp(..) | T::Date32 | T::Date64 => FieldKind::Times(kind.to_string()),
        kind if is_readable(kind) => FieldKind::Plain,
        kind => FieldKind::Other(kind.to_string()),
    };
    Field { name: name.clone(), kind }
}

fn named_types(data_type: &DataType) -> PyResult<Vec<(String, DataType)>> {
    let DataType::Struct(fields) = data_type else {
        return Err(EventError::new_err(format!(
            "X: expected a table with named columns, got Arrow data of type {data_type}."
        )));
    };
    Ok(fields.iter().map(|field| (field.name().clone(), field.data_type().clone())).collect())
}

fn batch_of(chunk: &ArrayRef) -> RecordBatch {
    let chunk = chunk.as_struct();
    RecordBatch { rows: chunk.len(), columns: chunk.columns().iter().map(cells).collect() }
}

/// A frame that is there already.
pub struct Chunks {
    names: Vec<(String, DataType)>,
    chunks: std::vec::IntoIter<ArrayRef>,
}

impl Chunks {
    pub fn read(x: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (names, chunks) = arrow::read(x, named_types)?;
        Ok(Self { names, chunks: chunks.into_iter() })
    }
}

impl BatchSource for Chunks {
    fn fields(&self) -> Vec<Field> {
        self.names.iter().map(field).collect()
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, RecordError> {
        Ok(self.chunks.next().map(|chunk| batch_of(&chunk)))
    }

    fn bytes(&self) -> u64 {
        0
    }
}

impl BatchSource for ArrowBatches {
    fn fields(&self) -> Vec<Field> {
        self.names.iter().map(field).collect()
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, RecordError> {
        Python::attach(|py| {
            self.read(py).map_err(|error| {
                if error.is_instance_of::<PyMemoryError>(py) {
                    return RecordError::NoMemory;
                }
                if is_about_value(py, &error) {
                    let said = error.value(py).to_string();
                    let said = said.lines().next().unwrap_or_default();
                    return RecordError::File(said.trim_end_matches('.').to_owned());
                }
                *self.stopped.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                    Some(error);
                RecordError::Stopped
            })
        })
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The cells of a column; none of them if it has a type that is not read.
fn cells(array: &ArrayRef) -> Cells {
    use DataType as T;
    match array.data_type() {
        T::Null => Cells::Absent,
        T::Timestamp(..) | T::Date32 | T::Date64 => times(array),
        kind if !is_readable(kind) => Cells::Absent,
        T::Boolean => Cells::Bools(array.as_boolean().iter().collect()),
        T::Int8 => integers::<Int8Type>(array),
        T::Int16 => integers::<Int16Type>(array),
        T::Int32 => integers::<Int32Type>(array),
        T::Int64 => integers::<Int64Type>(array),
        T::UInt8 => integers::<UInt8Type>(array),
        T::UInt16 => integers::<UInt16Type>(array),
        T::UInt32 => integers::<UInt32Type>(array),
        T::UInt64 => integers::<UInt64Type>(array),
        _ => text_cells(array).unwrap_or_else(|| Cells::Numbers(numbers(array).into_owned())),
    }
}

/// Times, in microseconds; what a zone is called makes no difference, all are in UTC.
fn times(array: &ArrayRef) -> Cells {
    use DataType as T;
    use TimeUnit as U;
    const DAY: i64 = 86_400_000_000;
    Cells::Times(match array.data_type() {
        T::Date32 => {
            scaled(array.as_primitive::<Date32Type>(), |days| i64::from(days).checked_mul(DAY))
        }
        T::Date64 => scaled(array.as_primitive::<Date64Type>(), |millis| millis.checked_mul(1_000)),
        T::Timestamp(U::Second, _) => {
            scaled(array.as_primitive::<TimestampSecondType>(), |time| time.checked_mul(1_000_000))
        }
        T::Timestamp(U::Millisecond, _) => {
            scaled(array.as_primitive::<TimestampMillisecondType>(), |time| time.checked_mul(1_000))
        }
        T::Timestamp(U::Microsecond, _) => {
            scaled(array.as_primitive::<TimestampMicrosecondType>(), Some)
        }
        _ => scaled(array.as_primitive::<TimestampNanosecondType>(), |time| {
            Some(time.div_euclid(1_000))
        }),
    })
}

fn scaled<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    scale: impl Fn(T::Native) -> Option<i64>,
) -> Vec<Option<i64>> {
    array.iter().map(|value| value.and_then(&scale)).collect()
}

/// Integers; numbers if one of them does not fit 64 bits with a sign.
fn integers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Cells
where
    i64: TryFrom<T::Native>,
{
    let whole = |value: Option<T::Native>| value.map(i64::try_from).transpose().ok();
    let integers: Option<Vec<Option<i64>>> = array.as_primitive::<T>().iter().map(whole).collect();
    integers.map_or_else(|| Cells::Numbers(numbers(array).into_owned()), Cells::Integers)
}

/// The cells of a column of texts, or of keys of texts.
fn text_cells(array: &ArrayRef) -> Option<Cells> {
    let mut cells = TextCells::default();
    let mut push = |text: &str| {
        let start = cells.texts.len();
        cells.texts.push_str(text);
        (start, cells.texts.len())
    };
    if let Some(texts) = texts(array) {
        cells.spans = texts.into_iter().map(|text| text.map(&mut push)).collect();
        return Some(Cells::Texts(cells));
    }
    let texts = texts(array.as_any_dictionary_opt()?.values())?;
    let spans: Vec<_> = texts.into_iter().map(|text| text.map(&mut push)).collect();
    cells.spans = keys(array).map(|key| key.and_then(|key| spans[key])).collect();
    Some(Cells::Texts(cells))
}
