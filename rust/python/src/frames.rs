//! Frames: named Arrow columns, as rows of events.
//!
//! A row of a frame is an event with one feature per column. Null and NaN are absent, a text is the
//! indicator `column=text`, a boolean is 0 or 1. Columns of floats are read without copying.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, Fields};
use headwater_core::OwnedName;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::arrow;
use crate::errors::EventError;
use crate::name::{name_to_python, read_names};

pub type CsrArrays<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>, usize);

/// The three arrays of a frame's rows and the number of their columns, and the columns' names.
///
/// `names`, if given, replace the frame's own.
#[pyfunction]
pub fn read_frame<'py>(
    x: &Bound<'py, PyAny>,
    names: Option<&Bound<'py, PyAny>>,
) -> PyResult<(CsrArrays<'py>, Bound<'py, PyList>)> {
    let py = x.py();
    let given = names.map(read_names).transpose()?;
    let (names, chunks) = arrow::read(x, |data_type| name_columns(data_type, given))?;
    let (rows, names) = py.detach(|| {
        let mut rows = FrameRows::new();
        for chunk in &chunks {
            rows.add(chunk, &names)?;
        }
        let names = rows.columns.in_order();
        Ok::<_, PyErr>((rows, names))
    })?;
    let width = names.len();
    let spoken: PyResult<Vec<_>> =
        names.iter().map(|name| name_to_python(py, name.borrow())).collect();
    let arrays = (
        PyArray1::from_vec(py, rows.indptr),
        PyArray1::from_vec(py, rows.indices),
        PyArray1::from_vec(py, rows.values),
        width,
    );
    Ok((arrays, PyList::new(py, spoken?)?))
}

/// The names of a frame's columns, after checking that all of them can be read.
fn name_columns(data_type: &DataType, given: Option<Vec<OwnedName>>) -> PyResult<Vec<OwnedName>> {
    let DataType::Struct(fields) = data_type else {
        return Err(EventError::new_err(format!(
            "X: expected a table with named columns, got Arrow data of type {data_type}."
        )));
    };
    let own = |fields: &Fields| {
        fields.iter().map(|field| OwnedName::Text(field.name().clone())).collect()
    };
    let names: Vec<OwnedName> = given.unwrap_or_else(|| own(fields));
    if names.len() != fields.len() {
        return Err(EventError::new_err(format!(
            "names: expected one per column, {} in all, got {}.",
            fields.len(),
            names.len()
        )));
    }
    for (field, name) in fields.iter().zip(&names) {
        if !is_readable(field.data_type()) {
            return Err(EventError::new_err(format!(
                "X: column {} must hold numbers, booleans or text, got {}.",
                name.borrow(),
                field.data_type()
            )));
        }
    }
    let mut sorted: Vec<_> = names.iter().map(OwnedName::borrow).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(EventError::new_err(format!("X: column {} appears twice.", pair[0]))),
        None => Ok(names),
    }
}

pub fn is_readable(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Dictionary(_, values) => !matches!(**values, T::Dictionary(..)) && is_readable(values),
        T::Null | T::Boolean => true,
        other => is_text(other) || other.is_numeric(),
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// The rows read so far: what is not stored is absent.
struct FrameRows {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f64>,
    columns: FrameFeatures,
}

impl FrameRows {
    fn new() -> Self {
        let columns = FrameFeatures(HashMap::new());
        Self { indptr: vec![0], indices: Vec::new(), values: Vec::new(), columns }
    }

    fn add(&mut self, chunk: &ArrayRef, names: &[OwnedName]) -> PyResult<()> {
        let chunk = chunk.as_struct();
        let columns: Vec<FrameColumn<'_>> = chunk
            .columns()
            .iter()
            .zip(names)
            .map(|(array, name)| FrameColumn::read(array, name, &mut self.columns))
            .collect::<PyResult<_>>()?;
        let present = chunk.columns().iter().map(|array| array.len() - array.null_count()).sum();
        self.indices.reserve(present);
        self.values.reserve(present);
        for row in 0..chunk.len() {
            if chunk.is_valid(row) {
                for column in &columns {
                    match column {
                        FrameColumn::Numbers(feature, values) => {
                            if !values[row].is_nan() {
                                self.indices.push(*feature);
                                self.values.push(values[row]);
                            }
                        }
                        FrameColumn::Indicators(features) => {
                            if features[row] != ABSENT {
                                self.indices.push(features[row]);
                                self.values.push(1.0);
                            }
                        }
                    }
                }
            }
            self.indptr.push(self.indices.len() as i64);
        }
        Ok(())
    }
}

/// The features of a frame, numbered as they appear. An indicator may have the name of a column:
/// then both are the same feature, and a row that has both is refused, as an event would be.
struct FrameFeatures(HashMap<OwnedName, i32>);

impl FrameFeatures {
    fn number(&mut self, name: OwnedName) -> PyResult<i32> {
        let next = i32::try_from(self.0.len())
            .map_err(|_| EventError::new_err("X: it has more than 2^31 features."))?;
        Ok(*self.0.entry(name).or_insert(next))
    }

    fn in_order(&mut self) -> Vec<OwnedName> {
        let mut listed: Vec<(OwnedName, i32)> = std::mem::take(&mut self.0).into_iter().collect();
        listed.sort_unstable_by_key(|&(_, number)| number);
        listed.into_iter().map(|(name, _)| name).collect()
    }
}

/// In place of a feature's number: absent.
const ABSENT: i32 = -1;
/// In place of a feature's number: not looked up yet.
const UNSEEN: i32 = -2;

/// A column of a chunk, with one cell per row.
enum FrameColumn<'a> {
    /// One feature and its values; NaN is absent.
    Numbers(i32, Cow<'a, [f64]>),
    /// One feature of value 1 per row.
    Indicators(Vec<i32>),
}

impl<'a> FrameColumn<'a> {
    fn read(array: &'a ArrayRef, name: &OwnedName, features: &mut FrameFeatures) -> PyResult<Self> {
        let indicator = |text: &str| match name {
            OwnedName::Number(number) => OwnedName::Text(format!("{number}={text}")),
            OwnedName::Text(name) => OwnedName::Text(format!("{name}={text}")),
        };
        if let Some(texts) = texts(array) {
            let mut known: HashMap<&str, i32> = HashMap::new();
            let mut cells = Vec::with_capacity(texts.len());
            for text in texts {
                cells.push(match text.map(|text| (text, known.get(text))) {
                    None => ABSENT,
                    Some((_, Some(&feature))) => feature,
                    Some((text, None)) => {
                        let feature = features.number(indicator(text))?;
                        known.insert(text, feature);
                        feature
                    }
                });
            }
            return Ok(Self::Indicators(cells));
        }
        if let Some(dictionary) = array.as_any_dictionary_opt()
            && let Some(texts) = texts(dictionary.values())
        {
            let mut known = vec![UNSEEN; texts.len()]; // a text that no row has is not a feature
            let mut cells = Vec::with_capacity(array.len());
            for key in keys(array) {
                cells.push(match key.and_then(|key| Some((key, texts[key]?))) {
                    None => ABSENT,
                    Some((key, text)) => {
                        if known[key] == UNSEEN {
                            known[key] = features.number(indicator(text))?;
                        }
                        known[key]
                    }
                });
            }
            return Ok(Self::Indicators(cells));
        }
        Ok(Self::Numbers(features.number(name.clone())?, numbers(array)))
    }
}

/// The keys of a dictionary's rows.
pub fn keys(array: &ArrayRef) -> impl Iterator<Item = Option<usize>> {
    let dictionary = array.as_any_dictionary();
    let present = dictionary.keys().nulls();
    let keys = if dictionary.values().is_empty() {
        vec![0; array.len()] // all rows are null
    } else {
        dictionary.normalized_keys()
    };
    let here = move |row| present.is_none_or(|nulls| nulls.is_valid(row));
    keys.into_iter().enumerate().map(move |(row, key)| here(row).then_some(key))
}

/// The texts of a column of text.
pub fn texts(array: &ArrayRef) -> Option<Vec<Option<&str>>> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        DataType::Utf8View => array.as_string_view().iter().collect(),
        _ => return None,
    })
}

/// The numbers of a column of numbers or booleans.
pub fn numbers(array: &ArrayRef) -> Cow<'_, [f64]> {
    use DataType as T;
    Cow::Owned(match array.data_type() {
        T::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            if floats.null_count() == 0 {
                return Cow::Borrowed(floats.values());
            }
            widened(floats, |value| value)
        }
        T::Float32 => widened(array.as_primitive::<Float32Type>(), f64::from),
        T::Float16 => widened(array.as_primitive::<Float16Type>(), f64::from),
        T::Int8 => widened(array.as_primitive::<Int8Type>(), f64::from),
        T::Int16 => widened(array.as_primitive::<Int16Type>(), f64::from),
        T::Int32 => widened(array.as_primitive::<Int32Type>(), f64::from),
        T::Int64 => widened(array.as_primitive::<Int64Type>(), |value| value as f64),
        T::UInt8 => widened(array.as_primitive::<UInt8Type>(), f64::from),
        T::UInt16 => widened(array.as_primitive::<UInt16Type>(), f64::from),
        T::UInt32 => widened(array.as_primitive::<UInt32Type>(), f64::from),
        T::UInt64 => widened(array.as_primitive::<UInt64Type>(), |value| value as f64),
        T::Decimal32(..) => spelled(array.as_primitive::<Decimal32Type>()),
        T::Decimal64(..) => spelled(array.as_primitive::<Decimal64Type>()),
        T::Decimal128(..) => spelled(array.as_primitive::<Decimal128Type>()),
        T::Decimal256(..) => spelled(array.as_primitive::<Decimal256Type>()),
        T::Boolean => {
            let truths = array.as_boolean().iter();
            truths.map(|truth| truth.map_or(f64::NAN, |truth| f64::from(u8::from(truth)))).collect()
        }
        T::Dictionary(..) => {
            let values = numbers(array.as_any_dictionary().values());
            keys(array).map(|key| key.map_or(f64::NAN, |key| values[key])).collect()
        }
        _ => vec![f64::NAN; array.len()], // a column of type null
    })
}

fn widened<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    widen: impl Fn(T::Native) -> f64,
) -> Vec<f64> {
    match array.nulls() {
        None => array.values().iter().map(|&value| widen(value)).collect(),
        Some(_) => array.iter().map(|value| value.map_or(f64::NAN, &widen)).collect(),
    }
}

/// Decimals as the nearest floats.
fn spelled<T: DecimalType>(array: &PrimitiveArray<T>) -> Vec<f64> {
    let float = |row| array.value_as_string(row).parse().unwrap_or(f64::NAN);
    (0..array.len()).map(|row| if array.is_null(row) { f64::NAN } else { float(row) }).collect()
}
