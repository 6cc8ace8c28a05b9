//! What was decided about one event: kept until its label comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_core::{CachedProducts, EventBuffer, FeatureValue, UNKNOWN};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{AnswerError, shown, type_name};
use crate::event::PyEvent;
use crate::name::{EventKey, check_names};

/// What a learner decided about an event, with the event's features as they were.
///
/// `learner.answer(decision, y)` learns from them, now or much later. Decisions pickle.
///
/// Examples
/// --------
/// >>> import headwater as hw
/// >>> model = hw.PAA()
/// >>> decision = model.decide_one({"rain": 1.0})
/// >>> decision.prediction, decision.margin, decision.asked
/// (False, 0.0, True)
/// >>> decision.features
/// {'rain': 1.0}
/// >>> model.answer(decision, True)
/// >>> model.weights()
/// {'rain': 1.0}
#[pyclass(frozen, module = "headwater._core")]
pub struct Decision {
    /// The predicted label; None while no class is known.
    #[pyo3(get)]
    pub prediction: Py<PyAny>,
    decided: headwater_core::Decision,
    pub keys: Arc<Vec<EventKey>>,
    /// The features as the model used them, without the learner's own, with the ids they had at the
    /// time.
    features: Vec<FeatureValue>,
    /// The raw values of the event, if the model used scaled ones.
    given: Option<Vec<f64>>,
    /// The factor and the energy of the event, computed by the scaler.
    summary: [f64; 2],
    /// The identity of the learner that made it.
    identity: u64,
    learner: (u64, u64),
    /// How many events the learner had learned at the time.
    rounds: u64,
    answered: AtomicBool,
}

impl Decision {
    pub fn new(
        prediction: Py<PyAny>,
        decided: headwater_core::Decision,
        event: PyEvent,
        given: Option<Vec<f64>>,
        (identity, learner, rounds): (u64, (u64, u64), u64),
    ) -> Self {
        let PyEvent { keys, buffer, .. } = event;
        let mut features = buffer.features;
        features.truncate(keys.len());
        Self {
            prediction,
            decided,
            keys,
            features,
            given,
            summary: buffer.summary,
            identity,
            learner,
            rounds,
            answered: AtomicBool::new(false),
        }
    }

    /// Learn the answer by calling `learn`, at most once.
    pub fn answer(&self, learn: impl FnOnce() -> PyResult<()>) -> PyResult<()> {
        if self.answered.swap(true, Ordering::AcqRel) {
            return Err(AnswerError::new_err(
                "answer: this decision was answered before; to learn the event again use \
                 learn_one(decision.features, y).",
            ));
        }
        learn().inspect_err(|_| self.answered.store(false, Ordering::Release))
    }

    pub fn decided(&self) -> &headwater_core::Decision {
        &self.decided
    }

    /// Refuse a learner that did not make this decision.
    pub fn check_maker(&self, identity: u64) -> Result<(), headwater_core::Error> {
        if identity == self.identity {
            return Ok(());
        }
        Err(headwater_core::Error::Answer(
            "answer: another learner made this decision, one with other parameters or another seed; \
             answer it there, or use learn_one(decision.features, y)."
                .to_owned(),
        ))
    }

    /// What the decision computed, if it is still what this learner would compute.
    pub fn products(&self, learner: (u64, u64), rounds: u64) -> Option<CachedProducts> {
        let same = self.learner == learner && self.rounds == rounds;
        same.then(|| self.decided.products())
    }

    /// Fill in the event's features, with ids only if they are still valid for this learner.
    pub fn fill(&self, event: &mut EventBuffer, learner: (u64, u64)) {
        event.features.clear();
        event.features.extend_from_slice(&self.features);
        if learner != self.learner {
            for feature in &mut event.features {
                feature.id = UNKNOWN;
            }
        }
        event.summary = self.summary;
    }
}

#[pymethods]
impl Decision {
    /// Signed distance from the boundary, or with several classes the lead over the second.
    #[getter]
    fn margin(&self) -> f64 {
        self.decided.margin
    }

    /// The probability with which the label was asked for.
    #[getter]
    fn query_probability(&self) -> f64 {
        self.decided.query_probability
    }

    /// Whether the label was asked for.
    #[getter]
    fn asked(&self) -> bool {
        self.decided.asked
    }

    /// The event's features: name to value, without absent ones.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (position, key) in self.keys.iter().enumerate() {
            let value = match &self.given {
                Some(given) => given[position],
                None => self.features[position].value,
            };
            dict.set_item(key.to_python(py)?, value)?;
        }
        Ok(dict)
    }

    /// Whether the decision has been answered.
    #[getter]
    fn answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "Decision(prediction={}, margin={}, query_probability={}, asked={})",
            self.prediction.bind(py).repr()?,
            self.decided.margin,
            self.decided.query_probability,
            if self.decided.asked { "True" } else { "False" },
        ))
    }

    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // what a pickle holds
    fn _restore(
        prediction: Py<PyAny>,
        margin: f64,
        query_probability: f64,
        asked: bool,
        answered: bool,
        features: &Bound<'_, PyAny>,
        seen_as: Option<Vec<f64>>,
        summary: [f64; 2],
        identity: u64,
        number: u64,
    ) -> PyResult<Self> {
        let decided = headwater_core::Decision {
            number,
            class: None,
            margin,
            query_probability,
            asked,
            squared_norm: None,
        };
        let mut event = PyEvent::read(features, None)?;
        check_names(features.py(), &event.keys)?;
        if seen_as.as_ref().is_some_and(|values| values.len() != event.keys.len()) {
            return Err(AnswerError::new_err(
                "decision: expected a value as the model saw it for each feature; it was altered.",
            ));
        }
        let given = seen_as.map(|values| {
            let seen = event.buffer.features.iter_mut().zip(values);
            seen.map(|(feature, value)| std::mem::replace(&mut feature.value, value)).collect()
        });
        event.buffer.summary = summary;
        let decision = Self::new(prediction, decided, event, given, (identity, (0, 0), 0));
        decision.answered.store(answered, Ordering::Release);
        Ok(decision)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, PickledDecision<'py>)> {
        let (this, py) = (slf.get(), slf.py());
        let values = || this.features.iter().map(|feature| feature.value).collect();
        let parts = (
            this.prediction.bind(py).clone(),
            this.decided.margin,
            this.decided.query_probability,
            this.decided.asked,
            this.answered(),
            this.features(py)?,
            this.given.as_ref().map(|_| values()),
            this.summary,
            this.identity,
            this.decided.number,
        );
        Ok((slf.get_type().getattr("_restore")?, parts))
    }
}

type PickledDecision<'py> = (
    Bound<'py, PyAny>,
    f64,
    f64,
    bool,
    bool,
    Bound<'py, PyDict>,
    Option<Vec<f64>>,
    [f64; 2],
    u64,
    u64,
);

/// The error for an object that is not a decision.
pub fn not_a_decision(object: &Bound<'_, PyAny>) -> PyErr {
    AnswerError::new_err(format!(
        "answer: expected a Decision, as decide_one gives, got {} ({}).",
        shown(object),
        type_name(object)
    ))
}
