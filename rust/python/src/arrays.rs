//! Batches of events and their labels, from NumPy arrays.

use headwater_core::batch::{Batch, ColumnNames, RowArrays};
use headwater_core::{Error, Label, Name};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{EventError, LabelError, raise};
use crate::label::read_label;
use crate::name::{OwnedName, read_names};

/// Events as arrays that the Python side has prepared: contiguous and of the types below.
#[derive(FromPyObject)]
pub enum Arrays<'py> {
    #[pyo3(transparent)]
    Dense(PyReadonlyArray2<'py, f64>),
    Csr(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, f64>, usize),
}

impl Arrays<'_> {
    fn rows(&self) -> PyResult<(RowArrays<'_>, usize)> {
        let contiguous = |_| EventError::new_err("X: the arrays must be contiguous.");
        Ok(match self {
            Self::Dense(values) => {
                let shape = values.as_array().dim();
                let values = values.as_slice().map_err(contiguous)?;
                (RowArrays::Dense { values, columns: shape.1, rows: shape.0 }, shape.1)
            }
            Self::Csr(indptr, indices, values, columns) => {
                let indptr = indptr.as_slice().map_err(contiguous)?;
                let indices = indices.as_slice().map_err(contiguous)?;
                let values = values.as_slice().map_err(contiguous)?;
                (RowArrays::Csr { indptr, indices, values }, *columns)
            }
        })
    }

    /// Check the batch and call `run` with it, with the GIL released.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        names: Option<&Bound<'_, PyAny>>,
        run: impl FnOnce(&Batch<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let (rows, width) = self.rows()?;
        let names = names.map(read_names).transpose()?;
        py.detach(|| {
            let names: Option<Vec<Name<'_>>> =
                names.as_ref().map(|names| names.iter().map(OwnedName::borrow).collect());
            let columns = names.as_deref().map_or(ColumnNames::Numbers, ColumnNames::Listed);
            run(&Batch::new(rows, columns, width)?)
        })
        .map_err(raise)
    }
}

/// The labels of a batch: an array of one type, or a list of objects, of which some may be missing.
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
