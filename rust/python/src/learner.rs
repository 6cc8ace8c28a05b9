//! The verbs of a learner.
#![allow(clippy::needless_pass_by_value)] // what PyO3 extracts
#![allow(clippy::redundant_closure_for_method_calls)] // lifetimes need the closure

use std::path::PathBuf;
use std::time::Instant;

use headwater_core as core;
use headwater_core::snapshot;
use headwater_core::{FeatureValue, Label, Labels, PredictionWriter};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::all_cores::{ScoreEvent, score_many};
use crate::arrays::{Answers, Arrays};
use crate::config::{self, Component};
use crate::decision::{Decision, not_a_decision};
use crate::errors::{LabelError, ParameterError, raise, shown};
use crate::event::PyEvent;
use crate::files::{
    BETWEEN_LOOKS, EventReader, FileRun, ProgressWatch, Source, decisions_file, file_run, taken,
};
use crate::label::{label_to_python, read_given_label, read_label};
use crate::learned_features::LearnedFeatures;
use crate::lock::{HeldLearner, LearnerLock, LockedLearner};
use crate::name::{KeptNames, name_to_python, presence_name};
use crate::read_ahead::{is_worth_a_thread, read_ahead};
use crate::register::{FindingParts, Register, findings_to_python};

type Rounds<'py> = Bound<'py, PyArray1<i64>>;
type FeatureColumns<'py> = (
    Bound<'py, PyList>,
    (Rounds<'py>, Rounds<'py>, Rounds<'py>),
    Option<Vec<Bound<'py, PyAny>>>,
    Vec<Bound<'py, PyArray1<f64>>>,
);

/// The cycle of a register: seconds.
const DAY: f64 = 86_400.0;
/// Rows between two readings of the clock.
const ROWS_A_LOOK: usize = 64;

/// A linear learner: the verbs that every learner of this package has.
#[pyclass(subclass, frozen, module = "headwater._core")]
pub struct Learner {
    guarded: LearnerLock,
}

type ExplanationParts<'py> =
    (Option<Bound<'py, PyAny>>, f64, Vec<(Bound<'py, PyAny>, f64)>, f64, Vec<(&'static str, f64)>);
type StatusParts = (Vec<(&'static str, f64)>, Vec<(u64, u64, &'static str)>);
type TraceArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<bool>>,
);

impl Learner {
    pub fn lock(&self) -> &LearnerLock {
        &self.guarded
    }

    /// Run `f` on the core. Waits with the GIL released if a batch is running. `f` creates no
    /// Python objects, because that may run a finalizer that needs the core as well.
    pub fn with<T>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut LockedLearner) -> Result<T, core::Error>,
    ) -> PyResult<T> {
        let mut held = self.hold(py)?;
        held.inner().and_then(f).map_err(raise)
    }

    /// The same where all feature ids change.
    pub fn with_new_ids(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut core::Learner) -> Result<(), core::Error>,
    ) -> PyResult<()> {
        let mut held = self.hold(py)?;
        held.inner().and_then(|inner| f(&mut inner.core)).map_err(raise)?;
        let names = self.guarded.renew(&mut held);
        drop(held); // before the last reference to an object is given back, which may run Python code
        drop(names);
        Ok(())
    }

    /// A copy of the core. Others wait for the copying only, not for what is then done with the copy; the
    /// caller has released the GIL.
    pub fn copied(&self) -> Result<core::Learner, core::Error> {
        Ok(self.guarded.read_detached()?.core()?.clone())
    }

    /// A label that must not be missing; the error of a regressor asks for a number.
    pub fn given_label(&self, y: &Bound<'_, PyAny>) -> PyResult<Label> {
        read_given_label(y).or_else(|error| {
            let py = y.py();
            if self.with(py, |inner| Ok(inner.core.labels().is_number()))? {
                let sentence = format!("label: expected a finite number, got {}.", shown(y));
                Err(LabelError::new_err(sentence))
            } else {
                Err(error)
            }
        })
    }

    /// The same on an event outside the stream, in the form that the model uses.
    fn on_transformed<T>(
        &self,
        x: &Bound<'_, PyAny>,
        f: impl FnOnce(&mut core::Learner, &[FeatureValue]) -> Result<T, core::Error>,
    ) -> PyResult<T> {
        self.on_event(x, |inner, event| {
            inner.core.transform(&mut event.buffer)?;
            f(&mut inner.core, event.buffer.inputs())
        })
    }

    /// The same on an event whose names are looked up first.
    #[inline(always)]
    fn on_event<T>(
        &self,
        x: &Bound<'_, PyAny>,
        f: impl FnOnce(&mut LockedLearner, &mut PyEvent) -> Result<T, core::Error>,
    ) -> PyResult<T> {
        let py = x.py();
        let mut held = self.hold(py)?;
        let mut event = held.inner().map_err(raise)?.event.take().unwrap_or_default();
        let plain = match (x.cast_exact::<PyDict>(), held.inner()) {
            (Ok(dict), Ok(inner)) => inner.read_dict(dict, &mut event),
            _ => false,
        };
        if !plain {
            drop(held); // for reading this may run Python code
            *event = PyEvent::read_mapping(x)?;
            held = self.hold(py)?;
        }
        let result = held.inner().and_then(|inner| {
            if !event.kept.is_empty() {
                let names = KeptNames { py, kept: &event.kept };
                inner.core.look_up(&names, &mut event.buffer)?;
            }
            f(inner, &mut event)
        });
        let objects = event.take_objects();
        if let Ok(inner) = held.inner() {
            inner.event = Some(event);
        }
        drop(held); // before the last reference to an object is given back, which may run Python code
        drop(objects);
        result.map_err(raise)
    }

    fn hold<'a>(&'a self, py: Python<'_>) -> PyResult<HeldLearner<'a>> {
        self.guarded.hold(|lock| lock.write_py_attached(py)).map_err(raise)
    }

    /// Rows, known labels, and on all cores what `score` computes of each event of a batch.
    fn score_many<T: Send>(
        &self,
        py: Python<'_>,
        rows: &Arrays<'_>,
        names: Option<&Bound<'_, PyAny>>,
        score: impl ScoreEvent<T>,
    ) -> PyResult<([usize; 2], Vec<T>)> {
        self.run_batch(py, rows, names, |batch, tick| {
            let held = self.guarded.read_detached()?;
            let core = held.core()?;
            let scores = score_many(core, batch, tick, &score)?;
            Ok(([batch.len(), core.labels().known().len()], scores))
        })
    }

    /// Change the core by a batch, with the GIL released. Checks for Ctrl-C.
    pub fn with_batch<T: Send>(
        &self,
        py: Python<'_>,
        rows: &Arrays<'_>,
        names: Option<&Bound<'_, PyAny>>,
        f: impl FnOnce(
            &mut core::Learner,
            &core::batch::Batch<'_>,
            &mut dyn FnMut(usize) -> bool,
        ) -> Result<T, core::Error>
        + Send,
    ) -> PyResult<T> {
        self.run_batch(py, rows, names, |batch, tick| {
            let mut held = self.guarded.hold_detached()?;
            f(&mut held.inner()?.core, batch, tick)
        })
    }

    fn run_batch<T: Send>(
        &self,
        py: Python<'_>,
        rows: &Arrays<'_>,
        names: Option<&Bound<'_, PyAny>>,
        f: impl FnOnce(&core::batch::Batch<'_>, &mut dyn FnMut(usize) -> bool) -> Result<T, core::Error>
        + Send,
    ) -> PyResult<T> {
        let mut interruption = None;
        let mut last_look = Instant::now();
        let result = rows.run(py, names, self.guarded.identity(), |batch| {
            let mut tick = |row: usize| {
                if row.is_multiple_of(ROWS_A_LOOK) && last_look.elapsed() > BETWEEN_LOOKS {
                    last_look = Instant::now();
                    interruption = Python::attach(|py| py.check_signals()).err();
                }
                interruption.is_none()
            };
            f(batch, &mut tick)
        });
        match interruption {
            Some(error) => Err(error),
            None => result,
        }
    }
}

fn spoken_to_python<'py>(
    py: Python<'py>,
    label: Option<&Label>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    label.map(|label| label_to_python(py, label)).transpose()
}

#[pymethods]
impl Learner {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    #[allow(clippy::used_underscore_binding)] // taken by the subclass's own constructor
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self { guarded: LearnerLock::default() }
    }

    #[pyo3(signature = (*, model, query, scaled, closed, capacity, own, task, classes, seed, state=None, track=false))]
    #[allow(clippy::too_many_arguments)] // the parameters, by name
    fn _build(
        &self,
        py: Python<'_>,
        model: Bound<'_, PyDict>,
        query: Component<'_>,
        scaled: bool,
        closed: bool,
        capacity: Option<(u32, String)>,
        own: &str,
        task: &str,
        classes: Option<Vec<Bound<'_, PyAny>>>,
        seed: u64,
        state: Option<&[u8]>,
        track: bool,
    ) -> PyResult<()> {
        let config = core::Config {
            model: config::model(&model)?,
            query: query.query()?,
            scaled,
            closed,
            capacity: match capacity {
                None => None,
                Some((most, policy)) => Some(config::capacity(most, &policy)?),
            },
            own: config::own_features(own)?,
            labels: read_classes(task, classes.as_deref())?,
            seed,
        };
        let most = config.capacity.map(|capacity| capacity.most);
        let mut core = match state {
            None => core::Learner::new(config),
            Some(bytes) => core::Learner::restore(config, bytes),
        }
        .map_err(raise)?;
        if track && core.register().is_none() {
            core.keep_register(core::RegisterConfig { cycle: DAY, most });
        }
        self.guarded.build(core, self.hold(py)?);
        Ok(())
    }

    /// Say the time, in seconds, of the events that follow: for a learner with `track=True`.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> model = hw.Spring(track=True)
    /// >>> model.tell_time(1_767_225_600.0)
    /// >>> decision = model.decide_one({"rain": 1.0})
    /// >>> model.register.time
    /// 1767225600.0
    fn tell_time(&self, py: Python<'_>, time: f64) -> PyResult<()> {
        self.with(py, |inner| inner.core.tell_time(time))
    }

    /// A copy of the register, if there is one.
    fn _register(&self, py: Python<'_>) -> PyResult<Option<Register>> {
        let copy = self.with(py, |inner| Ok(inner.core.register().cloned()))?;
        Ok(copy.map(Register::of))
    }

    /// The findings of the register after this number, and whether there is one.
    fn _findings<'py>(
        &self,
        py: Python<'py>,
        since: u64,
    ) -> PyResult<Option<Vec<FindingParts<'py>>>> {
        let found = self.with(py, |inner| {
            Ok(inner.core.register().map(|register| {
                let found: Vec<core::Finding> = register.findings(since).cloned().collect();
                (found, register.timed() == Some(true))
            }))
        })?;
        found.map(|(found, timed)| findings_to_python(py, &found, timed)).transpose()
    }

    /// The bytes of a model file with this header.
    fn _write<'py>(&self, py: Python<'py>, header: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.copied().and_then(|copy| snapshot::write(&copy, header)));
        Ok(PyBytes::new(py, &bytes.map_err(raise)?))
    }

    /// Become a copy of another learner with the same parameters.
    fn _copy(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        let core = py.detach(|| other.copied()).map_err(raise)?;
        self.guarded.build(core, self.hold(py)?);
        Ok(())
    }

    /// The label it would give the event; None while no class is known. Changes nothing.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> model = hw.OLSF()
    /// >>> model.learn_one({"rain": 1.0}, True)
    /// >>> model.predict_one({"rain": 0.5, "wind": 3.0})
    /// True
    fn predict_one<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let label = self.on_transformed(x, |core, features| {
            let (class, margin) = core.predict(features)?;
            Ok(core.prediction(class, margin))
        })?;
        spoken_to_python(x.py(), label.as_ref())
    }

    /// One probability per label, calibrated by the labels learned so far. Changes nothing.
    ///
    /// Above one half exactly when the margin is positive; `docs/concepts/probabilities.md` says how.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> hw.OLSF(classes=("ham", "spam")).predict_proba_one({"offer": 1.0})
    /// {'ham': 0.5, 'spam': 0.5}
    fn predict_proba_one<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let (labels, shares) = self.on_transformed(x, |core, features| {
            Ok((core.labels().known(), core.probabilities(features)?))
        })?;
        let dict = PyDict::new(x.py());
        for (label, share) in labels.iter().zip(shares) {
            dict.set_item(label_to_python(x.py(), label)?, share)?;
        }
        Ok(dict)
    }

    /// How sure it is: the signed distance from the boundary, or with several classes the lead
    /// of the first over the second. Changes nothing.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> model = hw.OLSF()
    /// >>> model.learn_one({"rain": 1.0}, False)
    /// >>> model.margin_one({"rain": 0.5})
    /// -0.5
    fn margin_one(&self, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        self.on_transformed(x, |core, features| Ok(core.predict(features)?.1))
    }

    /// Whether the event's label is worth asking for. Counts the event, as `decide_one` does.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> hw.PAA().query_one({"rain": 1.0})  # a margin of 0 is always worth a question
    /// True
    fn query_one(&self, x: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.on_event(x, |inner, event| {
            inner.core.transform(&mut event.buffer)?;
            inner.core.query(&event.buffer)
        })
    }

    /// Predict an event, and say whether its label is worth asking for.
    ///
    /// The decision keeps the event's features until `answer` learns the label.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     The event: a dict from names to values.
    /// rate
    ///     A label rate for this event alone, from 0 (never ask) to 1, for query rules that have a
    ///     rate. `query.Quantile` then asks at most R + 2√R + 4 questions, R the sum of all rates.
    /// outcome
    ///     To repeat an event of an earlier run: whether its label was asked for, and with which
    ///     probability. This stands in place of what the query rule says, even against its limit.
    /// reserve
    ///     To ask at random as well: whether a coin of yours came up, and with which probability a it
    ///     does. The label is asked for if the rule or the coin says so, with probability
    ///     p + a·(1 − p).
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> model = hw.PAA()
    /// >>> model.decide_one({"rain": 1.0})
    /// Decision(prediction=False, margin=0, query_probability=1, asked=True)
    /// >>> model.decide_one({"rain": 1.0}, outcome=(False, 0.25))
    /// Decision(prediction=False, margin=0, query_probability=0.25, asked=False)
    /// >>> hw.Spring().decide_one({"rain": 1.0}, rate=0.0).asked
    /// False
    /// >>> hw.Linear(query=hw.query.Random(0.5)).decide_one({}, reserve=(True, 0.2))
    /// Decision(prediction=False, margin=0, query_probability=0.6, asked=True)
    #[pyo3(signature = (x, *, rate=None, outcome=None, reserve=None))]
    fn decide_one(
        &self,
        x: &Bound<'_, PyAny>,
        rate: Option<&Bound<'_, PyAny>>,
        outcome: Option<&Bound<'_, PyAny>>,
        reserve: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decision> {
        let told = core::Told {
            rate: rate.map(read_rate).transpose()?,
            outcome: outcome.map(|one| read_outcome(one, "outcome")).transpose()?,
            reserve: reserve.map(|one| read_outcome(one, "reserve")).transpose()?,
        };
        let py = x.py();
        let mut decision = None; // made where it stays: it is large
        let label = self.on_event(x, |inner, event| {
            let values = event.buffer.features.iter().map(|feature| feature.value);
            let given = inner.core.is_scaled().then(|| values.collect());
            let names = KeptNames { py, kept: &event.kept };
            let decided = inner.core.decide_told(&mut event.buffer, &names, told)?;
            inner.note_names(py, &event.kept, &event.buffer.features);
            let label = inner.core.prediction(decided.class, decided.margin);
            let maker = (inner.core.identity(), inner.whose(), inner.core.learned());
            let book = inner.book.clone();
            decision = Some(Decision::new(py, decided, event, book, given, maker));
            Ok(label)
        })?;
        let Some(mut decision) = decision else { unreachable!("without an error it was made") };
        if let Some(label) = &label {
            decision.prediction = label_to_python(py, label)?.unbind();
        }
        Ok(decision)
    }

    /// Learn an event with its label: moves the weights and makes its features known.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> model = hw.OLSF()
    /// >>> model.learn_one({"rain": 2.0}, True)
    /// >>> model.weights()
    /// {'rain': 0.5}
    fn learn_one(&self, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<()> {
        let label = self.given_label(y)?;
        self.on_event(x, |inner, event| {
            let names = KeptNames { py: x.py(), kept: &event.kept };
            inner.core.learn(&mut event.buffer, &names, &label)?;
            inner.note_names(x.py(), &event.kept, &event.buffer.features);
            Ok(())
        })
    }

    /// Learn the label of a decided event, now or much later, with the model as it is now.
    ///
    /// The features are those that the decision has kept. A second answer is an error.
    ///
    /// Parameters
    /// ----------
    /// decision
    ///     What `decide_one` returned.
    /// y
    ///     The label.
    /// weight
    ///     How many labels this one stands for in the probabilities. None: 1 divided by the
    ///     probability with which it was asked for. 0: for a label that somebody volunteered,
    ///     perhaps because it is a special case: it is learned, but does not count in calibration,
    ///     class odds and trust.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> model = hw.PAA()
    /// >>> event = {"rain": 2.0}
    /// >>> decision = model.decide_one(event)
    /// >>> event["rain"] = 100.0  # too late: the decision keeps what it saw
    /// >>> model.answer(decision, True)
    /// >>> model.weights()
    /// {'rain': 0.5}
    #[pyo3(signature = (decision, y, *, weight=None))]
    fn answer(
        &self,
        decision: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        weight: Option<f64>,
    ) -> PyResult<()> {
        let py = decision.py();
        let decision = decision.cast::<Decision>().map_err(|_| not_a_decision(decision))?.get();
        let label = self.given_label(y)?;
        decision.answer(|| {
            self.with(py, |inner| {
                let whose = inner.whose();
                let decided = decision.known_to(&inner.core)?;
                let mut event = inner.event.take().unwrap_or_default();
                decision.fill(&mut event.buffer, whose);
                let all = decision.all_names(py, whose);
                let kept = all.as_deref().unwrap_or(decision.kept_names());
                let answered = (|| {
                    let names = KeptNames { py, kept };
                    if !kept.is_empty() {
                        inner.core.look_up(&names, &mut event.buffer)?;
                    }
                    inner.core.expand(&mut event.buffer);
                    let products = decision.products(whose, inner.core.learned());
                    let weight = weight.unwrap_or_else(|| decided.weight());
                    let event = &mut event.buffer;
                    inner.core.answer_weighed(&decided, event, &names, &label, products, weight)
                })();
                if answered.is_ok() {
                    inner.note_names(py, kept, &event.buffer.features);
                }
                inner.event = Some(event);
                answered
            })
        })
    }

    /// (prediction, margin, [(name, contribution)], query probability, [(word, detail)]) of an
    /// event.
    fn _explain<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<ExplanationParts<'py>> {
        let py = x.py();
        let (label, parts, decided, details, keys) = self.on_event(x, |inner, event| {
            let keys = inner.book.keys(py, &event.kept, &event.buffer.features);
            inner.core.transform(&mut event.buffer)?;
            let (parts, decided) = inner.core.explain(&event.buffer)?;
            let label = inner.core.prediction(decided.class, decided.margin);
            let details = inner.core.details(event.buffer.inputs());
            Ok((label, parts, decided, details, keys))
        })?;
        let mut named = Vec::with_capacity(parts.len());
        for (part, amount) in parts {
            let name = match part {
                core::Part::Value(position) => keys[position].to_python(py)?,
                core::Part::Presence(position) => presence_name(&keys[position].to_python(py)?)?,
                core::Part::Own(name) => name_to_python(py, name)?,
            };
            named.push((name, amount));
        }
        let prediction = spoken_to_python(py, label.as_ref())?;
        Ok((prediction, decided.margin, named, decided.query_probability, details))
    }

    /// Fail in the middle of a step, as only a fault of the program would: for tests.
    #[allow(clippy::unused_self, clippy::panic)]
    fn _panic(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |_| panic!("on purpose"))
    }

    /// Numbers of the model by word, and the changes of concept that it has found.
    fn _status(&self, py: Python<'_>) -> PyResult<StatusParts> {
        self.with(py, |inner| Ok((inner.core.details(&[]), inner.core.changes())))
    }

    /// What the model says of itself beside its weights.
    fn _note(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |inner| Ok(inner.core.note()))
    }

    /// The weights that are not 0 by feature name; with several classes one dict per class.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> model = hw.MPAA()
    /// >>> model.learn_one({"sweet": 1.0}, "apple")
    /// >>> model.learn_one({"sour": 1.0}, "lemon")
    /// >>> model.weights()
    /// {'apple': {'sour': -0.5}, 'lemon': {'sour': 0.5}}
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let known = self.with(py, |inner| Ok(LearnedFeatures::of(&inner.core)))?;
        if known.labels.is_empty() && !known.multiclass {
            return known.weights(py, 0);
        }
        let all = PyDict::new(py);
        for (class, label) in known.labels.iter().enumerate() {
            all.set_item(label_to_python(py, label)?, known.weights(py, class)?)?;
        }
        Ok(all)
    }

    /// The features learned, as columns: names, first, last and times learned, the labels of several
    /// classes (None: two classes or a number), and one column of weights per weight vector.
    fn _features<'py>(&self, py: Python<'py>) -> PyResult<FeatureColumns<'py>> {
        let known = self.with(py, |inner| Ok(LearnedFeatures::of(&inner.core)))?;
        let names = PyList::empty(py);
        for name in &known.names {
            names.append(name_to_python(py, name.borrow())?)?;
        }
        let rounds = |of: fn(&core::FeatureHistory) -> u64| {
            PyArray1::from_iter(py, known.history.iter().map(|entry| of(entry) as i64))
        };
        let history =
            (rounds(|entry| entry.first), rounds(|entry| entry.last), rounds(|entry| entry.times));
        let labels = if known.multiclass {
            let labels = known.labels.iter().map(|label| label_to_python(py, label));
            Some(labels.collect::<PyResult<Vec<_>>>()?)
        } else {
            None
        };
        let vectors = labels.as_ref().map_or(1, Vec::len);
        let weights = known.weights.iter().take(vectors);
        let weights = weights.map(|column| PyArray1::from_slice(py, column)).collect();
        Ok((names, history, labels, weights))
    }

    /// [(name, weight)] of the `count` features with the largest weights, largest first; with several classes
    /// the largest weight of each feature.
    fn _heaviest<'py>(
        &self,
        py: Python<'py>,
        count: usize,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, f64)>> {
        let known = self.with(py, |inner| Ok(LearnedFeatures::of(&inner.core)))?;
        let heaviest = known.heaviest(count);
        let named = |(id, weight): (usize, f64)| {
            Ok((name_to_python(py, known.names[id].borrow())?, weight))
        };
        heaviest.into_iter().map(named).collect()
    }

    /// Events decided on (`decide_one`, `query_one`, `simulate`).
    #[getter]
    fn seen(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| Ok(inner.core.seen()))
    }

    /// Events whose label was asked for.
    #[getter]
    fn asked(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| Ok(inner.core.asked()))
    }

    /// Events learned: rounds.
    #[getter]
    fn learned(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| Ok(inner.core.learned()))
    }

    /// How often a new name was left out when an event was learned, because there was no room
    /// (`max_features`).
    #[getter]
    fn refused(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| Ok(inner.core.refused()))
    }

    /// Features evicted to make room for new names (`max_features`).
    #[getter]
    fn evicted(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| Ok(inner.core.evicted()))
    }

    /// What it predicts, as a word.
    fn _predicts(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |inner| {
            let labels = inner.core.labels();
            Ok(match (labels.is_number(), labels.is_multiclass()) {
                (true, _) => "regression",
                (_, true) => "multiclass",
                _ => "binary",
            })
        })
    }

    /// Labels learned that were (negative, positive); with several classes and in regression none.
    fn _learned_of_each(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.with(py, |inner| Ok(inner.core.learned_of_each()))
    }

    /// The known labels in order: (negative, positive), or the classes in the order in which they
    /// appeared.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let known = self.with(py, |inner| Ok(inner.core.labels().known()))?;
        let labels: PyResult<Vec<_>> =
            known.iter().map(|label| label_to_python(py, label)).collect();
        PyTuple::new(py, labels?)
    }

    /// Decide on each row and learn those asked for. Returns class indices, margins, probabilities,
    /// asked.
    fn _simulate<'py>(
        &self,
        py: Python<'py>,
        rows: Arrays<'py>,
        names: Option<&Bound<'py, PyAny>>,
        y: Answers<'py>,
    ) -> PyResult<TraceArrays<'py>> {
        let labels = y.read()?;
        let found = self.with_batch(py, &rows, names, |core, batch, tick| {
            let (rows, labels) = (batch.len(), labels.column());
            check_length(rows, labels.len())?;
            let (mut classes, mut margins) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
            let (mut chances, mut asked) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
            let decided = |decision: &core::Decision| {
                classes.push(decision.class.map_or(-1, |class| class as i64));
                margins.push(decision.margin);
                chances.push(decision.query_probability);
                asked.push(decision.asked);
            };
            core.simulate(batch, labels, decided, tick)?;
            Ok((classes, margins, chances, asked))
        })?;
        let (classes, margins, chances, asked) = found;
        Ok((
            PyArray1::from_vec(py, classes),
            PyArray1::from_vec(py, margins),
            PyArray1::from_vec(py, chances),
            PyArray1::from_vec(py, asked),
        ))
    }

    /// The same for a file, whose events never become Python objects. `progress` is called with the
    /// state of the run a few times per second.
    fn _simulate_file(
        &self,
        py: Python<'_>,
        source: Source,
        every_label: bool,
        decisions: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<FileRun> {
        let ahead = source.path().is_some_and(is_worth_a_thread);
        let (mut reader, python_error) = source.open(py)?;
        let mut decisions = decisions.map(|path| decisions_file(&path)).transpose()?;
        let mut run = core::RunCounts::default();
        let which = if every_label { core::LearnedLabels::All } else { core::LearnedLabels::Asked };
        let mut watch = ProgressWatch::new(progress.as_ref());
        let result = py.detach(|| {
            let mut held = self.guarded.hold_detached()?;
            let core = &mut held.inner()?.core;
            let (reader, run, watch) = (&mut reader, &mut run, &mut watch);
            if ahead {
                return match &mut decisions {
                    None => read_ahead(core, reader, which, run, watch, &mut ()),
                    Some(writer) => {
                        let done = read_ahead(core, reader, which, run, watch, writer);
                        done.and(writer.finish())
                    }
                };
            }
            let tick = |now: core::Progress<'_>| watch.look(now);
            match &mut decisions {
                None => core.simulate_file(reader, which, run, tick, &mut ()),
                Some(writer) => {
                    let done = core.simulate_file(reader, which, run, tick, writer);
                    done.and(writer.finish())
                }
            }
        });
        match watch.stopped.or_else(|| taken(&python_error)) {
            Some(error) => Err(error),
            None => result.map(|()| file_run(&run, &reader.skips, &reader, true)).map_err(raise),
        }
    }

    /// Lines with the predictions of the next events of a file, at most `size`, and how many events
    /// there were; `count` were before them.
    fn _predict_file(
        &self,
        py: Python<'_>,
        reader: &EventReader,
        size: u64,
        csv: bool,
        count: u64,
    ) -> PyResult<(String, u64)> {
        let written = reader.read_some(py, |reader, tick| {
            let predicted = || {
                let held = self.guarded.read_detached()?;
                let core = held.core()?;
                let unwritten = |error| core::Error::Output(format!("predictions: {error}."));
                let mut writer = PredictionWriter::new(core, csv, count).map_err(unwritten)?;
                let done = core.predict_file(reader, size, &mut writer, tick);
                Ok((writer, done))
            };
            match predicted() {
                Err(error) => (None, true, Err(error)),
                Ok((writer, done)) => {
                    let is_empty = writer.count() == count;
                    (Some(writer), is_empty, done)
                }
            }
        })?;
        let Some(writer) = written.flatten() else { return Ok((String::new(), 0)) };
        let text = String::from_utf8_lossy(&writer.text).into_owned();
        Ok((text, writer.count() - count))
    }

    fn _learn_many<'py>(
        &self,
        py: Python<'py>,
        rows: Arrays<'py>,
        names: Option<&Bound<'py, PyAny>>,
        y: Answers<'py>,
    ) -> PyResult<()> {
        let labels = y.read()?;
        self.with_batch(py, &rows, names, |core, batch, tick| {
            check_length(batch.len(), labels.column().len())?;
            core.learn_many(batch, labels.column(), tick)
        })
    }

    /// Class indices (-1: none known) and margins.
    #[allow(clippy::type_complexity)] // two arrays
    fn _predict_many<'py>(
        &self,
        py: Python<'py>,
        rows: Arrays<'py>,
        names: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>)> {
        let scored = self.score_many(py, &rows, names, |core, features, scored| {
            let (class, margin) = core.predict(features)?;
            scored.push((class.map_or(-1, |class| class as i64), margin));
            Ok(())
        })?;
        let (classes, margins) = scored.1.into_iter().unzip();
        Ok((PyArray1::from_vec(py, classes), PyArray1::from_vec(py, margins)))
    }

    /// One row per event and one column per known label.
    fn _predict_proba_many<'py>(
        &self,
        py: Python<'py>,
        rows: Arrays<'py>,
        names: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (shape, shares) = self.score_many(py, &rows, names, |core, features, shares| {
            shares.extend(core.probabilities(features)?);
            Ok(())
        })?;
        PyArray1::from_vec(py, shares).reshape(shape)
    }

    /// One row per event and one column per known label; of two labels the first scores 0, the
    /// second the margin.
    fn _scores_many<'py>(
        &self,
        py: Python<'py>,
        rows: Arrays<'py>,
        names: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (shape, scores) = self.score_many(py, &rows, names, |core, features, scores| {
            scores.extend(core.scores(features)?);
            Ok(())
        })?;
        PyArray1::from_vec(py, scores).reshape(shape)
    }
}

fn read_rate(rate: &Bound<'_, PyAny>) -> PyResult<f64> {
    rate.extract::<f64>().map_err(|_| {
        let got = shown(rate);
        ParameterError::new_err(format!(
            "decide_one: rate must be a number from 0 to 1, got {got}."
        ))
    })
}

fn read_outcome(outcome: &Bound<'_, PyAny>, name: &str) -> PyResult<(bool, f64)> {
    outcome.extract::<(bool, f64)>().map_err(|_| {
        ParameterError::new_err(format!(
            "decide_one: {name} must be (asked, probability), a bool and a number from 0 to 1, got {}.",
            shown(outcome)
        ))
    })
}

pub fn check_length(rows: usize, labels: usize) -> Result<(), core::Error> {
    if rows == labels {
        return Ok(());
    }
    Err(core::Error::Label(format!("y: expected one label per row, {rows} in all, got {labels}.")))
}

/// The labels of a learner: `kind` is "binary", "multiclass" or "number".
fn read_classes(task: &str, classes: Option<&[Bound<'_, PyAny>]>) -> PyResult<Labels> {
    let mut given: Vec<Label> = Vec::new();
    for class in classes.unwrap_or_default() {
        let label = match read_label(class) {
            Err(_) | Ok(Some(Label::Real(_)) | None) => {
                return Err(ParameterError::new_err(format!(
                    "classes: each must be a str, an int or a bool, got {}.",
                    shown(class)
                )));
            }
            Ok(Some(label)) => label,
        };
        if given.contains(&label) {
            return Err(ParameterError::new_err(format!("classes: {label} is given twice.")));
        }
        given.push(label);
    }
    match task {
        "multiclass" => return Ok(Labels::open(given)),
        "regression" => return Ok(Labels::numbers()),
        "binary" => {}
        other => {
            let sentence = format!("task: the core does not know {other:?}.");
            return Err(ParameterError::new_err(sentence));
        }
    }
    match <[Label; 2]>::try_from(given) {
        Ok([negative, positive]) => Ok(Labels::given(negative, positive)),
        Err(given) if classes.is_none() && given.is_empty() => Ok(Labels::binary()),
        Err(given) => Err(ParameterError::new_err(format!(
            "classes: expected (negative, positive), got {} classes; more than two need \
             multiclass=True.",
            given.len()
        ))),
    }
}
