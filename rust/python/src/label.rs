//! Labels from Python and back.

use headwater_core::Label;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyString};

use crate::errors::{LabelError, is_about_value, shown, type_name};

/// The label that an object is.
enum LabelKind {
    Label(Label),
    /// None or NaN.
    Missing,
    Other,
}

/// The label that an object is; None and NaN mean that there is no label.
pub fn read_label(label: &Bound<'_, PyAny>) -> PyResult<Option<Label>> {
    let mut found = find_label(label)?;
    if matches!(found, LabelKind::Other) && label.hasattr("dtype")? && label.hasattr("item")? {
        found = find_label(&label.call_method0("item")?)?; // a NumPy scalar
    }
    match found {
        LabelKind::Label(label) => Ok(Some(label)),
        LabelKind::Missing => Ok(None),
        LabelKind::Other => Err(not_a_label(label)),
    }
}

fn find_label(label: &Bound<'_, PyAny>) -> PyResult<LabelKind> {
    if label.is_none() {
        return Ok(LabelKind::Missing);
    }
    if let Ok(truth) = label.cast_exact::<PyBool>() {
        return Ok(LabelKind::Label(Label::Bool(truth.is_true())));
    }
    if let Ok(text) = label.cast::<PyString>() {
        let text = text.to_str().map_err(|_| not_a_label(label))?;
        return Ok(LabelKind::Label(Label::Text(text.to_owned())));
    }
    if let Ok(number) = label.cast::<PyFloat>() {
        let number = number.value();
        if number.is_nan() {
            return Ok(LabelKind::Missing);
        }
        return Ok(LabelKind::Label(whole(number).map_or(Label::Real(number), Label::Int)));
    }
    if label.hasattr("__index__")? {
        let number = label.extract::<i64>().map_err(|error| {
            if is_about_value(label.py(), &error) { not_a_label(label) } else { error }
        })?;
        return Ok(LabelKind::Label(Label::Int(number)));
    }
    Ok(LabelKind::Other)
}

/// A label that must not be missing.
pub fn read_given_label(label: &Bound<'_, PyAny>) -> PyResult<Label> {
    read_label(label)?.ok_or_else(|| {
        LabelError::new_err(format!(
            "label: expected a str, an int or a bool, got {}.",
            shown(label)
        ))
    })
}

fn not_a_label(label: &Bound<'_, PyAny>) -> PyErr {
    LabelError::new_err(format!(
        "label: expected a str, an int or a bool, got {} ({}).",
        shown(label),
        type_name(label)
    ))
}

/// The integer that a float is equal to, if there is one.
fn whole(number: f64) -> Option<i64> {
    const LIMIT: f64 = 9_007_199_254_740_992.0; // 2^53: beyond it floats skip integers
    (number.fract() == 0.0 && number.abs() <= LIMIT).then_some(number as i64)
}

pub fn label_to_python<'py>(py: Python<'py>, label: &Label) -> PyResult<Bound<'py, PyAny>> {
    Ok(match label {
        Label::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Label::Int(number) => number.into_pyobject(py)?.into_any(),
        Label::Real(number) => number.into_pyobject(py)?.into_any(),
        Label::Text(text) => PyString::new(py, text).into_any(),
    })
}
