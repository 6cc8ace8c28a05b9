//! The Python bindings of `headwater-core`: convert, call, convert back. No algorithm is here.

mod all_cores;
mod arrays;
mod arrow;
mod columns;
mod config;
mod decision;
mod dict;
mod errors;
mod event;
mod event_list;
mod event_names;
mod external;
mod feature_names;
mod files;
mod frames;
mod label;
mod learned_features;
mod learner;
mod lock;
mod messages;
mod name;
mod name_cache;
mod read_ahead;
mod record_batches;
mod register;
mod replica;
mod role_reader;
mod scalars;
mod sweep;

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
    scalars::find_types(module.py());
    dict::find_layout(module.py())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ARITHMETIC", headwater_core::ARITHMETIC)?;
    module.add_class::<decision::Decision>()?;
    module.add_class::<event_names::EventNames>()?;
    module.add_class::<feature_names::FeatureNames>()?;
    module.add_class::<learner::Learner>()?;
    module.add_class::<register::Register>()?;
    module.add_class::<files::EventReader>()?;
    module.add_class::<role_reader::RoleReader>()?;
    module.add_function(wrap_pyfunction!(role_reader::read_columns, module)?)?;
    module.add_function(wrap_pyfunction!(event_list::read_events, module)?)?;
    module.add_function(wrap_pyfunction!(frames::read_frame, module)?)?;
    module.add_function(wrap_pyfunction!(messages::read_messages, module)?)?;
    module.add_function(wrap_pyfunction!(external::read_event, module)?)?;
    module.add_function(wrap_pyfunction!(external::tell_scores, module)?)?;
    module.add_function(wrap_pyfunction!(external::read_target, module)?)?;
    module.add_function(wrap_pyfunction!(external::check_question, module)?)?;
    module.add_function(wrap_pyfunction!(external::check_batch, module)?)?;
    module.add_function(wrap_pyfunction!(external::model_memory, module)?)?;
    module.add_function(wrap_pyfunction!(external::keep_memory, module)?)?;
    module.add_function(wrap_pyfunction!(replica::become_replica, module)?)?;
    module.add_function(wrap_pyfunction!(replica::refresh_replica, module)?)?;
    module.add_function(wrap_pyfunction!(replica::report_of, module)?)?;
    module.add_function(wrap_pyfunction!(replica::take_back, module)?)?;
    module.add_function(wrap_pyfunction!(replica::absorb_reports, module)?)?;
    module.add_function(wrap_pyfunction!(replica::write_delta, module)?)?;
    module.add_function(wrap_pyfunction!(replica::apply_delta, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep_file, module)?)?;
    module.add_function(wrap_pyfunction!(split_model, module)?)
}
