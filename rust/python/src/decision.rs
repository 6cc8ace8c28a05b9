//! What was decided about one event: kept until its label comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_core::{
    CachedProducts, EventBuffer, FeatureValue, StoredDecision, UNKNOWN, event_fingerprint,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict};

use crate::errors::{AnswerError, raise, shown, type_name};
use crate::event::{EventObjects, PyEvent, TextValue};
use crate::label::{label_to_python, read_label};
use crate::name::EventKey;
use crate::name_cache::NameBook;

/// What a learner decided about an event, with the event's features as they were.
///
/// `learner.answer(decision, y)` learns from them, now or much later. Decisions pickle; `to_bytes` is for
/// whoever keeps the event elsewhere.
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
    /// Whether the label was asked for.
    #[pyo3(get)]
    asked: Py<PyBool>, // an object, which Python reads without a call
    decided: headwater_core::Decision,
    /// The features as the model used them, without the learner's own, with the ids they had at the
    /// time.
    features: Box<[FeatureValue]>,
    /// ‖x‖² of the features, or of what the model made of them.
    squared_norm: f64,
    book: Arc<NameBook>,
    /// None of most events.
    objects: Option<Box<EventObjects>>,
    /// With a scaler.
    scaled: Option<Box<ScaledEvent>>,
    /// The identity of the learner that made it.
    identity: u64,
    learner: (u64, u64),
    /// How many events the learner had learned at the time.
    rounds: u64,
    answered: AtomicBool,
}

/// What the model made of an event.
struct ScaledEvent {
    /// What each feature said by being there.
    presence: Vec<f64>,
    /// The raw values of the event.
    given: Vec<f64>,
    /// The factor and the energy of the event, computed by the scaler.
    summary: [f64; 2],
}

impl Decision {
    /// A decision about an event, whose objects it takes; `given` are the raw values of the event, if the model
    /// used scaled ones.
    pub fn new(
        py: Python<'_>,
        decided: headwater_core::Decision,
        event: &mut PyEvent,
        book: Arc<NameBook>,
        given: Option<Vec<f64>>,
        (identity, learner, rounds): (u64, (u64, u64), u64),
    ) -> Self {
        let EventBuffer { features, presence, squared_norm, summary, .. } = &event.buffer;
        let scale =
            |given| Box::new(ScaledEvent { presence: presence.clone(), given, summary: *summary });
        Self {
            prediction: py.None(),
            asked: PyBool::new(py, decided.asked).to_owned().unbind(),
            decided,
            features: features.as_slice().into(),
            squared_norm: *squared_norm,
            book,
            scaled: given.map(scale),
            objects: event.take_objects(),
            identity,
            learner,
            rounds,
            answered: AtomicBool::new(false),
        }
    }

    /// The names of its features.
    fn keys(&self, py: Python<'_>) -> Vec<EventKey> {
        self.book.keys(py, self.kept_names(), &self.features)
    }

    /// The names that a learner has to be told: all of them if the ids are not its own. None: those that
    /// are kept are enough.
    pub fn all_names(&self, py: Python<'_>, learner: (u64, u64)) -> Option<Vec<(u32, EventKey)>> {
        (learner != self.learner).then(|| (0..).zip(self.keys(py)).collect())
    }

    /// The names of the features that had no id.
    pub fn kept_names(&self) -> &[(u32, EventKey)] {
        self.objects.as_ref().map_or(&[], |objects| &objects.kept)
    }

    fn texts(&self) -> &[TextValue] {
        self.objects.as_ref().map_or(&[], |objects| &objects.texts)
    }

    /// Learn the answer by calling `learn`, at most once.
    pub fn answer(&self, learn: impl FnOnce() -> PyResult<()>) -> PyResult<()> {
        if self.answered.swap(true, Ordering::AcqRel) {
            return Err(answered_before());
        }
        learn().inspect_err(|_| self.answered.store(false, Ordering::Release))
    }

    /// Refuse a decision that was answered.
    pub fn check_open(&self) -> PyResult<()> {
        if self.answered() { Err(answered_before()) } else { Ok(()) }
    }

    /// The features as the model used them, without the learner's own.
    pub fn seen_features(&self) -> &[FeatureValue] {
        &self.features
    }

    /// The values as the model saw them, then the presences, if they are not those of the event.
    fn seen_as(&self) -> Option<Vec<f64>> {
        let ScaledEvent { presence, .. } = self.scaled.as_deref()?;
        let values = self.features.iter().map(|feature| feature.value);
        let presences = presence.iter().copied().chain(std::iter::repeat(0.0));
        Some(values.chain(presences.take(self.features.len())).collect())
    }

    /// The raw value of a feature.
    fn raw(&self, position: usize) -> f64 {
        let seen = self.features[position].value;
        self.scaled.as_ref().map_or(seen, |scaled| scaled.given[position])
    }

    fn summary(&self) -> [f64; 2] {
        self.scaled.as_ref().map_or_else(Default::default, |scaled| scaled.summary)
    }

    fn event_fingerprint(&self, py: Python<'_>) -> u32 {
        let keys = self.keys(py);
        event_fingerprint(keys.iter().enumerate().map(|(i, key)| (key.name(py), self.raw(i))))
    }

    /// What was decided, with the number by which this learner knows the event. Refuses a learner that neither
    /// made this decision nor absorbed the replica that did.
    pub fn known_to(
        &self,
        learner: &headwater_core::Learner,
    ) -> Result<headwater_core::Decision, headwater_core::Error> {
        let number = learner.number_of(self.identity, self.decided.number).ok_or_else(|| {
            headwater_core::Error::Answer(
                "answer: another learner made this decision, one with other parameters or another seed, \
                 or a replica that was not absorbed since, or whose questions all were answered; answer it \
                 there, or use learn_one(decision.features, y)."
                    .to_owned(),
            )
        })?;
        Ok(headwater_core::Decision { number, ..self.decided })
    }

    /// What the decision computed, if it is still what this learner would compute.
    pub fn products(&self, learner: (u64, u64), rounds: u64) -> Option<CachedProducts> {
        let same = self.learner == learner && self.rounds == rounds;
        same.then(|| self.decided.products())
    }

    /// Fill in the event's features, with ids only if they are still valid for this learner.
    pub fn fill(&self, event: &mut EventBuffer, learner: (u64, u64)) {
        event.clear();
        event.features.extend_from_slice(&self.features);
        if let Some(scaled) = &self.scaled {
            event.presence.extend_from_slice(&scaled.presence);
        }
        event.squared_norm = self.squared_norm;
        event.known = learner == self.learner && self.kept_names().is_empty();
        if learner != self.learner {
            for feature in &mut event.features {
                feature.id = UNKNOWN;
            }
        }
        event.summary = self.summary();
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

    /// The event's features: name to value, without absent ones.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (position, key) in self.keys(py).iter().enumerate() {
            dict.set_item(key.to_python(py)?, self.raw(position))?;
        }
        Ok(dict)
    }

    /// The event as it came, without absent features: numbers as floats, texts as texts.
    #[getter]
    fn event<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (dict, mut texts) = (PyDict::new(py), self.texts().iter().peekable());
        for (position, key) in self.keys(py).iter().enumerate() {
            match texts.next_if(|one| one.position == position) {
                Some(one) => dict.set_item(one.name.to_python(py)?, one.text.bind(py))?,
                None => dict.set_item(key.to_python(py)?, self.raw(position))?,
            }
        }
        Ok(dict)
    }

    /// What the decision holds beside its event, as bytes: versioned, checksummed, not executable.
    ///
    /// They name the learner and the event; the event itself is kept by the caller, who gives it to
    /// `from_bytes`. At most 64 bytes and 20 per feature, and the text of a predicted class.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> model = hw.PAA()
    /// >>> decision = model.decide_one({"rain": 1.0})
    /// >>> again = hw.Decision.from_bytes(decision.to_bytes(), decision.event)
    /// >>> model.answer(again, True)
    /// >>> model.weights()
    /// {'rain': 1.0}
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let stored = StoredDecision {
            identity: self.identity,
            number: self.decided.number,
            prediction: read_label(self.prediction.bind(py))?,
            margin: self.decided.margin,
            query_probability: self.decided.query_probability,
            asked: self.decided.asked,
            answered: self.answered(),
            summary: self.summary(),
            event: self.event_fingerprint(py),
            features: self.features.len(),
            values: self.seen_as(),
        };
        Ok(PyBytes::new(py, &stored.write()))
    }

    /// The decision whose `to_bytes` returned these bytes, about the event that it was about.
    ///
    /// Damaged bytes, another version and another event are refused.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> decision = hw.PAA().decide_one({"rain": 1.0})
    /// >>> hw.Decision.from_bytes(decision.to_bytes(), {"rain": 1.0})
    /// Decision(prediction=False, margin=0, query_probability=1, asked=True)
    #[staticmethod]
    fn from_bytes(data: &[u8], event: &Bound<'_, PyAny>) -> PyResult<Self> {
        let stored = StoredDecision::read(data).map_err(raise)?;
        let py = event.py();
        let mut event = PyEvent::read(event)?;
        let decided = headwater_core::Decision {
            number: stored.number,
            class: None,
            margin: stored.margin,
            query_probability: stored.query_probability,
            asked: stored.asked,
        };
        let same_length = stored.features == event.kept.len();
        let given = stored
            .values
            .filter(|_| same_length)
            .map(|values| put_seen(&mut event.buffer, &values));
        event.buffer.summary = stored.summary;
        let maker = (stored.identity, (0, 0), 0);
        let mut decision = Self::new(py, decided, &mut event, Arc::default(), given, maker);
        if let Some(label) = &stored.prediction {
            decision.prediction = label_to_python(py, label)?.unbind();
        }
        if !same_length || decision.event_fingerprint(py) != stored.event {
            return Err(AnswerError::new_err(
                "decision: it was made about another event than the one given; give the event that it \
                 was made about, with its features in the same order.",
            ));
        }
        decision.answered.store(stored.answered, Ordering::Release);
        Ok(decision)
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

    /// The decision as a small table, which notebooks show.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("headwater.display.html")?.call_method1("decision", (slf,))
    }

    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // what a pickle holds
    fn _restore(
        prediction: Py<PyAny>,
        margin: f64,
        query_probability: f64,
        asked: bool,
        answered: bool,
        event: &Bound<'_, PyAny>,
        seen_as: Option<Vec<f64>>,
        summary: [f64; 2],
        identity: u64,
        number: u64,
    ) -> PyResult<Self> {
        let decided =
            headwater_core::Decision { number, class: None, margin, query_probability, asked };
        let py = event.py();
        let mut event = PyEvent::read(event)?;
        if seen_as.as_ref().is_some_and(|values| values.len() != 2 * event.kept.len()) {
            return Err(AnswerError::new_err(
                "decision: expected a value and a presence as the model saw them for each feature; it was \
                 altered.",
            ));
        }
        let given = seen_as.map(|values| put_seen(&mut event.buffer, &values));
        event.buffer.summary = summary;
        let maker = (identity, (0, 0), 0);
        let new = Self::new(py, decided, &mut event, Arc::default(), given, maker);
        let decision = Self { prediction, ..new };
        decision.answered.store(answered, Ordering::Release);
        Ok(decision)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, PickledDecision<'py>)> {
        let (this, py) = (slf.get(), slf.py());
        let parts = (
            this.prediction.bind(py).clone(),
            this.decided.margin,
            this.decided.query_probability,
            this.decided.asked,
            this.answered(),
            this.event(py)?,
            this.seen_as(),
            this.summary(),
            this.identity,
            this.decided.number,
        );
        Ok((slf.get_type().getattr("_restore")?, parts))
    }
}

/// Put values and presences as the model saw them in place of an event's raw values, which are returned.
fn put_seen(event: &mut EventBuffer, seen: &[f64]) -> Vec<f64> {
    let (values, presence) = seen.split_at(event.features.len());
    event.presence = presence.to_vec();
    event.squared_norm = values.iter().map(|value| value * value).sum();
    let places = event.features.iter_mut().zip(values);
    places.map(|(feature, &value)| std::mem::replace(&mut feature.value, value)).collect()
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

fn answered_before() -> PyErr {
    AnswerError::new_err(
        "answer: this decision was answered before; to learn the event again use \
         learn_one(decision.features, y).",
    )
}

/// The error for an object that is not a decision.
pub fn not_a_decision(object: &Bound<'_, PyAny>) -> PyErr {
    AnswerError::new_err(format!(
        "answer: expected a Decision, as decide_one gives, got {} ({}).",
        shown(object),
        type_name(object)
    ))
}
