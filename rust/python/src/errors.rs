//! Each variant of the core's error is one exception class of `headwater.errors`.

use headwater_core::Error;
use pyo3::PyErr;
use pyo3::exceptions::PyKeyboardInterrupt;

pyo3::import_exception!(headwater.errors, ParameterError);
pyo3::import_exception!(headwater.errors, EventError);
pyo3::import_exception!(headwater.errors, LabelError);
pyo3::import_exception!(headwater.errors, AnswerError);
pyo3::import_exception!(headwater.errors, StepError);
pyo3::import_exception!(headwater.errors, ModelFileError);
pyo3::import_exception!(headwater.errors, EventFileError);
pyo3::import_exception!(headwater.errors, BusyError);

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
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
    }
}
