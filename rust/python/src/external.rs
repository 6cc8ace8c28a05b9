//! What a learner written in Python needs of the core beside the verbs that it inherits.
#![allow(clippy::needless_pass_by_value)] // what PyO3 extracts

use headwater_core::{Error, Label};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Answers, Arrays};
use crate::decision::{Decision, not_a_decision};
use crate::event::PyEvent;
use crate::label::label_to_python;
use crate::learner::{Learner, check_length};

/// An event as a dict of numbers: what is absent is left out, texts are indicators.
#[pyfunction]
pub fn read_event<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let event = PyEvent::read(x)?;
    let dict = PyDict::new(x.py());
    for ((_, key), feature) in event.kept.iter().zip(&event.buffer.features) {
        dict.set_item(key.to_python(x.py())?, feature.value)?;
    }
    Ok(dict)
}

/// Tell a learner the scores of the event that it is called about next.
#[pyfunction]
pub fn tell_scores(py: Python<'_>, learner: &Learner, scores: Vec<f64>) -> PyResult<()> {
    learner.with(py, |inner| {
        inner.core.external()?.tell(&scores);
        Ok(())
    })
}

/// What a label asks its model to predict: a bool, a class or a number. Refuses a label that does not fit.
#[pyfunction]
pub fn read_target<'py>(learner: &Learner, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let label = learner.given_label(y)?;
    let target = learner.with(y.py(), |inner| target_of(&inner.core, label))?;
    label_to_python(y.py(), &target)
}

fn target_of(core: &headwater_core::Learner, label: Label) -> Result<Label, Error> {
    let target = core.target_of(&label)?;
    Ok(if core.labels().is_number() {
        Label::Real(target.value())
    } else if core.labels().is_multiclass() {
        core.labels().known().into_iter().nth(target.class()).unwrap_or(label)
    } else {
        Label::Bool(target.class() == 1)
    })
}

/// Refuse an answer that `answer` would refuse because of its question.
#[pyfunction]
pub fn check_question(learner: &Learner, decision: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = decision.py();
    let decision = decision.cast::<Decision>().map_err(|_| not_a_decision(decision))?.get();
    decision.check_open()?;
    learner.with(py, |inner| {
        let decided = decision.known_to(&inner.core)?;
        inner.core.check_question(&decided, decision.seen_features())
    })
}

/// What the model has learned, as it was last handed over.
#[pyfunction]
pub fn model_memory(py: Python<'_>, learner: &Learner) -> PyResult<String> {
    learner.with(py, |inner| Ok(inner.core.external()?.memory().to_owned()))
}

/// Hand over what the model has learned, to be saved.
#[pyfunction]
pub fn keep_memory(py: Python<'_>, learner: &Learner, memory: String) -> PyResult<()> {
    learner.with(py, |inner| {
        inner.core.external()?.remember(memory);
        Ok(())
    })
}

/// Refuse a batch that a batch verb of the core would refuse: all of it is checked before the first row.
#[pyfunction]
pub fn check_batch<'py>(
    py: Python<'py>,
    learner: &Learner,
    rows: Arrays<'py>,
    names: Option<&Bound<'py, PyAny>>,
    y: Option<Answers<'py>>,
) -> PyResult<()> {
    let labels = y.map(|y| y.read()).transpose()?;
    learner.with_batch(py, &rows, names, |core, batch, _| {
        let Some(labels) = labels else { return Ok(()) };
        check_length(batch.len(), labels.column().len())?;
        core.check_labels(labels.column())
    })
}
