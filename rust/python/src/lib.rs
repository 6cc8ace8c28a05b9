//! The Python bindings of `headwater-core`: convert, call, convert back. No algorithm is here.

mod arrays;
mod arrow;
mod config;
mod decision;
mod dict;
mod errors;
mod event;
mod files;
mod frames;
mod label;
mod learned_features;
mod learner;
mod lock;
mod name;
mod name_cache;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The header (text) and the state (bytes) of a model file.
#[pyfunction]
fn split_model<'py>(py: Python<'py>, data: &[u8]) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let (header, state) = headwater_core::snapshot::split(data).map_err(errors::raise)?;
    Ok((header.to_owned(), PyBytes::new(py, state)))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<decision::Decision>()?;
    module.add_class::<learner::Learner>()?;
    module.add_class::<files::EventReader>()?;
    module.add_function(wrap_pyfunction!(frames::read_frame, module)?)?;
    module.add_function(wrap_pyfunction!(split_model, module)?)
}
