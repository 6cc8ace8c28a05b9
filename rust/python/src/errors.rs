//! Raises each variant of the core's error as one exception class of `headwater.errors`, and
//! formats Python objects for error messages.

use headwater_core::Error;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyMemoryError, PyRecursionError};
use pyo3::prelude::*;

pyo3::import_exception!(headwater.errors, ParameterError);
pyo3::import_exception!(headwater.errors, EventError);
pyo3::import_exception!(headwater.errors, LabelError);
pyo3::import_exception!(headwater.errors, AnswerError);
pyo3::import_exception!(headwater.errors, StepError);
pyo3::import_exception!(headwater.errors, ModelFileError);
pyo3::import_exception!(headwater.errors, EventFileError);
pyo3::import_exception!(headwater.errors, BusyError);
pyo3::import_exception!(headwater.errors, PoisonedError);
pyo3::import_exception!(headwater.errors, OutputError);

#[allow(clippy::needless_pass_by_value)] // used as `map_err(raise)`
pub fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Parameter(_) => ParameterError::new_err(text),
        Error::Event(_) => EventError::new_err(text),
        Error::Label(_) => LabelError::new_err(text),
        Error::Step(_) => StepError::new_err(text),
        Error::State(_) => ModelFileError::new_err(text),
        Error::File(_) => EventFileError::new_err(text),
        Error::Busy(_) => BusyError::new_err(text),
        Error::Answer(_) => AnswerError::new_err(text),
        Error::Memory(_) => PyMemoryError::new_err(text),
        Error::Poisoned(_) => PoisonedError::new_err(text),
        Error::Output(_) => OutputError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
    }
}

/// Whether an error that a user's `__float__` or `__index__` raised is about its value, and not a wish
/// to stop (Ctrl-C, exit) or want of memory, which nobody may swallow.
pub fn is_about_value(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyException>(py)
        && !error.is_instance_of::<PyMemoryError>(py)
        && !error.is_instance_of::<PyRecursionError>(py)
}

/// The name of an object's type.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// An object's `repr`, on one line and shortened.
pub fn shown(object: &Bound<'_, PyAny>) -> String {
    let text = object.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let text = lines.join(" ").replace(char::is_control, "?");
    if text.chars().count() <= 60 {
        return text;
    }
    let start: String = text.chars().take(57).collect();
    format!("{start}...")
}
