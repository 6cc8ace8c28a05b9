//! Names of columns that are read and checked once.

use std::sync::Arc;

use headwater_core as core;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyType};

use crate::errors::raise;
use crate::name::{name_to_python, read_names};

/// Names of columns, read and checked once, for many batches: `names=` of the batch verbs takes them.
///
/// A list of names is read in every call, which takes longer than a small batch. These also keep the feature ids
/// that a learner has for them.
///
/// Parameters
/// ----------
/// names
///     One name per column, a str or an int, none of them twice.
///
/// Examples
/// --------
/// >>> import headwater as hw
/// >>> names = hw.FeatureNames(["rain", "wind"])
/// >>> model = hw.PAA()
/// >>> for chunk in ([[2.0, 0.0]], [[1.0, 4.0]]):
/// ...     model.learn_many(chunk, [True], names=names)
/// >>> model.weights()
/// {'rain': 0.5, 'wind': 0.125}
/// >>> list(names), len(names)
/// (['rain', 'wind'], 2)
#[allow(clippy::doc_link_with_quotes)] // Python
#[pyclass(frozen, module = "headwater._core")]
pub struct FeatureNames(pub Arc<core::FeatureNames>);

impl FeatureNames {
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names: PyResult<Vec<_>> = self.0.iter().map(|name| name_to_python(py, name)).collect();
        PyList::new(py, names?)
    }
}

#[pymethods]
impl FeatureNames {
    #[new]
    fn new(names: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(Arc::new(core::FeatureNames::new(read_names(names)?).map_err(raise)?)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, column: isize) -> PyResult<Bound<'py, PyAny>> {
        let count = self.0.len();
        let wanted = if column < 0 { column + count as isize } else { column };
        match usize::try_from(wanted) {
            Ok(wanted) if wanted < count => name_to_python(py, self.0.name(wanted)),
            _ => Err(pyo3::exceptions::PyIndexError::new_err(format!(
                "names: there is no column {column}; there are {count}."
            ))),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.list(py)?.try_iter()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyList>,))> {
        Ok((slf.get_type(), (slf.get().list(slf.py())?,)))
    }

    fn __repr__(&self) -> String {
        format!("FeatureNames({} names)", self.0.len())
    }
}
