//! Batches of events and their labels, from NumPy arrays.
//!
//! Another thread may write into the arrays while a batch runs without the interpreter's lock. They are checked as
//! a whole; each number is then read once, as an atomic, and refused if it no longer fits (`row_arrays.rs` of the
//! core). Reading them so needs `unsafe`. Only where the columns of a row do not rise are the arrays copied.

use std::sync::atomic::{AtomicI32, AtomicU64};

use headwater_core::batch::{Batch, LabelColumn};
use headwater_core::row_arrays::{AreUsual, RowArrays, SharedArrays};
use headwater_core::{ColumnNames, Error, Label, Name, OwnedName};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::all_cores::holds_for_all;
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

/// The same arrays as others may write them.
fn shared(rows: RowArrays<'_>) -> SharedArrays<'_> {
    match rows {
        RowArrays::Dense { values, columns, rows } => {
            SharedArrays::Dense { values: shared_numbers(values), columns, rows }
        }
        RowArrays::Csr { indptr, indices, values } => SharedArrays::Csr {
            indptr,
            indices: shared_columns(indices),
            values: shared_numbers(values),
        },
    }
}

/// Run on the arrays where they are or, if columns do not rise in every row, on a copy of them.
fn run_on<T>(
    rows: RowArrays<'_>,
    columns: ColumnNames<'_>,
    width: usize,
    run: impl FnOnce(&Batch<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let by_ranges = |count, holds: &AreUsual<'_>| holds_for_all(count, rows.values().len(), holds);
    if let Some(batch) = Batch::shared(rows, shared(rows), columns, width, by_ranges)? {
        return run(&batch);
    }
    let values = copied(rows.values())?;
    match rows {
        RowArrays::Csr { indptr, indices, .. } => {
            let indices = copied(indices)?;
            let rows = RowArrays::Csr { indptr, indices: &indices, values: &values };
            run(&Batch::new(rows, columns, width)?)
        }
        RowArrays::Dense { columns: wide, rows, .. } => {
            let rows = RowArrays::Dense { values: &values, columns: wide, rows };
            run(&Batch::new(rows, columns, width)?)
        }
    }
}

impl Arrays<'_> {
    /// Check the batch and hand it to `run` without the interpreter's lock. `owner` is the number of the learner
    /// that it is for.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        names: Option<&Bound<'_, PyAny>>,
        owner: u64,
        run: impl FnOnce(&Batch<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let ends; // a copy: nobody else may move the ends of rows
        let (rows, width) = match self {
            Self::Dense(values) => {
                let (rows, columns) = values.as_array().dim();
                let values = contiguous(values.as_slice())?;
                (RowArrays::Dense { values, columns, rows }, columns)
            }
            Self::Csr(indptr, indices, values, width) => {
                ends = contiguous(indptr.as_slice())?.to_vec();
                let (indices, values) = (indices.as_slice(), values.as_slice());
                let (indices, values) = (contiguous(indices)?, contiguous(values)?);
                (RowArrays::Csr { indptr: &ends, indices, values }, *width)
            }
        };
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
            run_on(rows, columns, width, run)
        })
        .map_err(raise)
    }
}

fn copied<T: Copy>(slice: &[T]) -> Result<Vec<T>, Error> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(slice.len()).map_err(|_| {
        Error::Memory(format!(
            "X: there is no memory for a copy of its {} values; give it in smaller batches.",
            slice.len()
        ))
    })?;
    copy.extend_from_slice(slice);
    Ok(copy)
}

fn contiguous<T>(slice: Result<&[T], impl Sized>) -> PyResult<&[T]> {
    let aligned = slice.ok().filter(|slice| slice.as_ptr().is_aligned());
    aligned.ok_or_else(|| EventError::new_err("X: the arrays must be contiguous and aligned."))
}

/// Numbers that another thread may write while they are read.
fn shared_numbers(values: &[f64]) -> &[AtomicU64] {
    // SAFETY: an f64 has the size and alignment of an AtomicU64 and every bit pattern is allowed. The arrays are
    // alive: whoever called holds references to them. Nothing is written through the result.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

/// Likewise columns.
fn shared_columns(indices: &[i32]) -> &[AtomicI32] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(indices.as_ptr().cast(), indices.len()) }
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

/// The labels as the core reads them. Arrays are copied: what is learned must be what was checked.
pub enum OwnedLabels {
    Bools(Vec<bool>),
    Integers(Vec<i64>),
    Listed(Vec<Option<Label>>),
}

impl OwnedLabels {
    pub fn column(&self) -> LabelColumn<'_> {
        match self {
            Self::Bools(labels) => LabelColumn::Bools(labels),
            Self::Integers(labels) => LabelColumn::Integers(labels),
            Self::Listed(labels) => LabelColumn::Listed(labels),
        }
    }
}

impl Answers<'_> {
    pub fn read(&self) -> PyResult<OwnedLabels> {
        Ok(match self {
            Self::Bools(y) => OwnedLabels::Bools(y.as_array().to_vec()),
            Self::Integers(y) => OwnedLabels::Integers(y.as_array().to_vec()),
            Self::List(labels) => {
                let read = |(row, label)| {
                    read_label(&label).map_err(|error| {
                        LabelError::new_err(format!("y, row {row}: {}", error.value(labels.py())))
                    })
                };
                OwnedLabels::Listed(labels.iter().enumerate().map(read).collect::<PyResult<_>>()?)
            }
        })
    }
}
