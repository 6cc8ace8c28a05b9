//! Batches of events and their labels, from NumPy arrays.

use headwater_core::batch::{Batch, ColumnNames, RowArrays};
use headwater_core::{Error, Label, Name, OwnedName};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{EventError, LabelError, raise};
use crate::feature_names::FeatureNames;
use crate::label::read_label;
use crate::name::read_names;

/// Events as arrays that the Python side has prepared: contiguous and of the types below.
#[derive(FromPyObject)]
pub enum Arrays<'py> {
    #[pyo3(transparent)]
    Dense(PyReadonlyArray2<'py, f64>),
    Csr(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, f64>, usize),
}

/// Copies of the arrays: another thread may change the arrays themselves while a batch runs without
/// the interpreter's lock, and what is read must be what was checked.
enum OwnedArrays {
    Dense { values: Vec<f64>, columns: usize, rows: usize },
    Csr { indptr: Vec<i64>, indices: Vec<i32>, values: Vec<f64>, columns: usize },
}

impl OwnedArrays {
    fn rows(&self) -> (RowArrays<'_>, usize) {
        match self {
            Self::Dense { values, columns, rows } => {
                (RowArrays::Dense { values, columns: *columns, rows: *rows }, *columns)
            }
            Self::Csr { indptr, indices, values, columns } => {
                (RowArrays::Csr { indptr, indices, values }, *columns)
            }
        }
    }
}

impl Arrays<'_> {
    fn copied(&self) -> PyResult<OwnedArrays> {
        Ok(match self {
            Self::Dense(values) => {
                let (rows, columns) = values.as_array().dim();
                OwnedArrays::Dense { values: copied(values.as_slice())?, columns, rows }
            }
            Self::Csr(indptr, indices, values, columns) => OwnedArrays::Csr {
                indptr: copied(indptr.as_slice())?,
                indices: copied(indices.as_slice())?,
                values: copied(values.as_slice())?,
                columns: *columns,
            },
        })
    }

    /// Check a copy of the batch and hand it to `run` without the interpreter's lock. `owner` is the number of
    /// the learner that it is for.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        names: Option<&Bound<'_, PyAny>>,
        owner: u64,
        run: impl FnOnce(&Batch<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let arrays = self.copied()?;
        let kept = names.and_then(|names| names.cast::<FeatureNames>().ok());
        let kept = kept.map(|names| names.get().0.clone());
        let names = names.filter(|_| kept.is_none()).map(read_names).transpose()?;
        py.detach(|| {
            let names: Option<Vec<Name<'_>>> =
                names.as_ref().map(|names| names.iter().map(OwnedName::borrow).collect());
            let columns = match (&kept, &names) {
                (Some(names), _) => ColumnNames::Kept(names, owner),
                (None, Some(names)) => ColumnNames::Listed(names),
                (None, None) => ColumnNames::Numbers,
            };
            let (rows, width) = arrays.rows();
            run(&Batch::new(rows, columns, width)?)
        })
        .map_err(raise)
    }
}

/// Bytes copied at a time.
const PIECE: usize = 4_032;

fn copied<T: Copy>(slice: Result<&[T], impl Sized>) -> PyResult<Vec<T>> {
    let slice = slice.map_err(|_| EventError::new_err("X: the arrays must be contiguous."))?;
    let mut copy = Vec::new();
    copy.try_reserve_exact(slice.len()).map_err(|_| {
        PyMemoryError::new_err(format!(
            "X: there is no memory for a copy of its {} values; give it in smaller batches.",
            slice.len()
        ))
    })?;
    // In pieces: callgrind counts a long copy, which is one instruction, byte by byte.
    slice.chunks(PIECE / size_of::<T>()).for_each(|piece| copy.extend_from_slice(piece));
    Ok(copy)
}

/// The labels of a batch: arrays of one type, or a list of whatever they are, missing ones included.
#[derive(FromPyObject)]
pub enum Answers<'py> {
    #[pyo3(transparent)]
    Bools(PyReadonlyArray1<'py, bool>),
    #[pyo3(transparent)]
    Integers(PyReadonlyArray1<'py, i64>),
    #[pyo3(transparent)]
    List(Bound<'py, PyList>),
}

impl Answers<'_> {
    pub fn read(&self) -> PyResult<Vec<Option<Label>>> {
        Ok(match self {
            Self::Bools(y) => y.as_array().iter().map(|&truth| Some(Label::Bool(truth))).collect(),
            Self::Integers(y) => y.as_array().iter().map(|&n| Some(Label::Int(n))).collect(),
            Self::List(labels) => {
                let read = |(row, label)| {
                    read_label(&label).map_err(|error| {
                        LabelError::new_err(format!("y, row {row}: {}", error.value(labels.py())))
                    })
                };
                return labels.iter().enumerate().map(read).collect();
            }
        })
    }
}
