//! The verbs of a learner.
#![allow(clippy::needless_pass_by_value)] // what PyO3 extracts
#![allow(clippy::redundant_closure_for_method_calls)] // lifetimes need the closure

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use headwater_core as core;
use headwater_core::snapshot;
use headwater_core::{Label, Labels};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::arrays::Arrays;
use crate::config::{self, Slot};
use crate::convert::{
    Event, Keys, label_to_python, name_to_python, read_given_label, read_label, read_labels,
};
use crate::decision::Decision;
use crate::errors::{LabelError, ParameterError, raise};

/// How long a batch goes on before it looks whether it was interrupted.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Rows between two looks at the clock.
const ROWS_A_LOOK: usize = 64;

/// The core's learner, and an identity that says whose slots a decision holds.
struct Inner {
    core: core::Learner,
    identity: u64,
}

impl Inner {
    fn new(core: core::Learner) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { core, identity: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

/// A linear learner: the verbs that every learner of this package has.
#[pyclass(subclass, frozen, module = "headwater._core")]
pub struct Learner {
    inner: Mutex<Option<Inner>>,
}

type Explained<'py> = (Option<Bound<'py, PyAny>>, f64, Vec<(Bound<'py, PyAny>, f64)>, f64);
type Traced<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<bool>>,
);

impl Learner {
    /// Run `f` on the core. Waits without the interpreter's lock if a batch is under way.
    fn with<T>(&self, py: Python<'_>, f: impl FnOnce(&mut Inner) -> PyResult<T>) -> PyResult<T> {
        let mut guard = match self.inner.lock_py_attached(py) {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        };
        f(built(&mut guard)?)
    }

    /// The same on an event outside the stream, as the model sees it.
    fn on_view<'py, T>(
        &self,
        x: &Bound<'py, PyAny>,
        f: impl FnOnce(Python<'py>, &mut Inner, Event) -> PyResult<T>,
    ) -> PyResult<T> {
        self.on_event(x, |py, inner, mut event| {
            inner.core.look(&mut event.entrant).map_err(raise)?;
            f(py, inner, event)
        })
    }

    /// The same on an event, its features looked up.
    fn on_event<'py, T>(
        &self,
        x: &Bound<'py, PyAny>,
        f: impl FnOnce(Python<'py>, &mut Inner, Event) -> PyResult<T>,
    ) -> PyResult<T> {
        let (py, mut event) = (x.py(), Event::read(x)?);
        self.with(py, |inner| {
            event.look_up(py, &inner.core)?;
            f(py, inner, event)
        })
    }

    /// The same for a batch: the interpreter's lock is released, and Ctrl-C is looked for.
    fn with_batch<T: Send>(
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
        let mut interruption = None;
        let mut last_look = Instant::now();
        let result = rows.run(py, names, |batch| {
            let mut tick = |row: usize| {
                if row.is_multiple_of(ROWS_A_LOOK) && last_look.elapsed() > BETWEEN_LOOKS {
                    last_look = Instant::now();
                    interruption = Python::attach(|py| py.check_signals()).err();
                }
                interruption.is_none()
            };
            let mut guard = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let Some(inner) = guard.as_mut() else {
                return Err(core::Error::Parameter(NOT_BUILT.to_owned()));
            };
            f(&mut inner.core, batch, &mut tick)
        });
        match interruption {
            Some(error) => Err(error),
            None => result,
        }
    }
}

const NOT_BUILT: &str = "learner: it was never built; its class must call Learner's constructor.";

fn built<'a>(guard: &'a mut MutexGuard<'_, Option<Inner>>) -> PyResult<&'a mut Inner> {
    guard.as_mut().ok_or_else(|| ParameterError::new_err(NOT_BUILT))
}

/// The prediction in the form in which the learner speaks of labels; in regression the number.
fn spoken<'py>(
    py: Python<'py>,
    core: &core::Learner,
    class: Option<usize>,
    margin: f64,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if core.labels().is_number() {
        return Ok(Some(margin.into_pyobject(py)?.into_any()));
    }
    class.map(|class| label_to_python(py, &core.labels().known()[class])).transpose()
}

#[pymethods]
impl Learner {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    #[allow(clippy::used_underscore_binding)] // taken by the subclass's own constructor
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self { inner: Mutex::new(None) }
    }

    #[pyo3(signature = (*, model, query, view, closed, intercept, labels, classes, seed, state=None))]
    #[allow(clippy::too_many_arguments)] // the slots, by name
    fn _build(
        &self,
        py: Python<'_>,
        model: Bound<'_, PyDict>,
        query: Slot<'_>,
        view: bool,
        closed: bool,
        intercept: bool,
        labels: &str,
        classes: Option<Vec<Bound<'_, PyAny>>>,
        seed: u64,
        state: Option<&[u8]>,
    ) -> PyResult<()> {
        let config = core::Config {
            model: config::model(&model)?,
            query: query.query()?,
            view,
            closed,
            intercept,
            labels: read_classes(labels, classes.as_deref())?,
            seed,
        };
        let core = match state {
            None => core::Learner::new(config),
            Some(bytes) => core::Learner::restore(config, bytes),
        }
        .map_err(raise)?;
        let mut guard = match self.inner.lock_py_attached(py) {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        };
        *guard = Some(Inner::new(core));
        Ok(())
    }

    /// The bytes of a model file with this header.
    fn _write<'py>(&self, py: Python<'py>, header: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |inner| snapshot::write(&inner.core, header).map_err(raise))?;
        Ok(PyBytes::new(py, &bytes))
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
        self.on_view(x, |py, inner, event| {
            let (class, margin) = inner.core.predict(&event.entrant.features).map_err(raise)?;
            spoken(py, &inner.core, class, margin)
        })
    }

    /// A number a label that adds up to 1: the logistic function of the margins. Changes nothing.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> hw.OLSF(classes=("ham", "spam")).predict_proba_one({"offer": 1.0})
    /// {'ham': 0.5, 'spam': 0.5}
    fn predict_proba_one<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        self.on_view(x, |py, inner, event| {
            let shares = inner.core.probabilities(&event.entrant.features).map_err(raise)?;
            let dict = PyDict::new(py);
            for (label, share) in inner.core.labels().known().iter().zip(shares) {
                dict.set_item(label_to_python(py, label)?, share)?;
            }
            Ok(dict)
        })
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
        self.on_view(x, |_, inner, event| {
            Ok(inner.core.predict(&event.entrant.features).map_err(raise)?.1)
        })
    }

    /// Whether it wants the event's label. Draws one coin and moves the query rule's own state.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> hw.PAA().query_one({"rain": 1.0})  # a margin of 0 is always worth a question
    /// True
    fn query_one(&self, x: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.on_view(x, |_, inner, event| {
            Ok(inner.core.ask(&event.entrant.features).map_err(raise)?.asked)
        })
    }

    /// Predict and query in one pass. The decision keeps the event's features for `answer`.
    ///
    /// Examples
    /// --------
    /// >>> import headwater as hw
    /// >>> model = hw.PAA()
    /// >>> model.decide_one({"rain": 1.0})
    /// Decision(prediction=False, margin=0, query_probability=1, asked=True)
    fn decide_one(&self, x: &Bound<'_, PyAny>) -> PyResult<Decision> {
        self.on_event(x, |py, inner, mut event| {
            let values = event.entrant.features.iter().map(|feature| feature.value);
            let given = inner.core.has_view().then(|| values.collect());
            let names = Keys { py, keys: &event.keys };
            let decided = inner.core.decide(&mut event.entrant, &names).map_err(raise)?;
            let prediction = spoken(py, &inner.core, decided.class, decided.margin)?;
            let prediction = prediction.map_or_else(|| py.None(), Bound::unbind);
            Ok(Decision::new(prediction, decided, event, given, inner.identity))
        })
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
        let label = read_given_label(y)?;
        self.on_event(x, |py, inner, mut event| {
            let names = Keys { py, keys: &event.keys };
            inner.core.learn(&mut event.entrant, &names, &label).map_err(raise)?;
            Ok(())
        })
    }

    /// Learn a decided event from the features frozen in its decision, with the model as it is
    /// now. A second answer is an error.
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
    fn answer(&self, decision: &Bound<'_, Decision>, y: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, decision) = (decision.py(), decision.get());
        let label = read_given_label(y)?;
        decision.answer(|| {
            self.with(py, |inner| {
                let mut entrant = decision.entrant_for(inner.identity);
                let names = Keys { py, keys: &decision.keys };
                inner.core.look_up(&names, &mut entrant).map_err(raise)?;
                inner.core.add_intercept(&mut entrant.features);
                inner.core.study(&mut entrant.features, &names, &label).map_err(raise)?;
                Ok(())
            })
        })
    }

    /// (prediction, margin, [(name, contribution)], query probability) of an event.
    fn _explain<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Explained<'py>> {
        self.on_view(x, |py, inner, event| {
            let (contributions, decided) = inner.core.explain(&event.entrant.features).map_err(raise)?;
            let mut named = Vec::with_capacity(contributions.len());
            for (position, amount) in contributions.into_iter().enumerate() {
                let name = match event.keys.get(position) {
                    Some(key) => key.to_python(py)?,
                    None => name_to_python(py, core::INTERCEPT)?,
                };
                named.push((name, amount));
            }
            let prediction = spoken(py, &inner.core, decided.class, decided.margin)?;
            Ok((prediction, decided.margin, named, decided.query_probability))
        })
    }

    /// What the model says of itself beside its weights.
    fn _note(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |inner| Ok(inner.core.note()))
    }

    /// The weights that are not 0 by feature name; with several classes a dict a class.
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
        self.with(py, |inner| {
            let core = &inner.core;
            if !core.labels().is_multiclass() {
                return weights_of(py, core, 0);
            }
            let all = PyDict::new(py);
            for (class, label) in core.labels().known().iter().enumerate() {
                all.set_item(label_to_python(py, label)?, weights_of(py, core, class)?)?;
            }
            Ok(all)
        })
    }

    /// [(name, first, last, times, weight)] of what it has learned from.
    fn _features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.with(py, |inner| {
            let core = &inner.core;
            let classes = core.labels().known();
            let rows = PyList::empty(py);
            for slot in 0..core.vocabulary_len() as core::Slot {
                let entry = core.register(slot);
                let weight = if core.labels().is_multiclass() {
                    let weights = PyDict::new(py);
                    for (class, label) in classes.iter().enumerate() {
                        weights.set_item(label_to_python(py, label)?, core.weight(slot, class))?;
                    }
                    weights.into_any()
                } else {
                    core.weight(slot, 0).into_pyobject(py)?.into_any()
                };
                let name = name_to_python(py, core.name(slot))?;
                rows.append((name, entry.first, entry.last, entry.times, weight))?;
            }
            Ok(rows)
        })
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

    /// The known labels in order: (negative, positive), or the classes as they were met.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let known = self.with(py, |inner| Ok(inner.core.labels().known()))?;
        let labels: PyResult<Vec<_>> =
            known.iter().map(|label| label_to_python(py, label)).collect();
        PyTuple::new(py, labels?)
    }

    /// Decide on each row and learn what was asked for: class indices, margins, probabilities, asked.
    fn _simulate<'py>(
        &self,
        py: Python<'py>,
        rows: Arrays<'py>,
        names: Option<&Bound<'py, PyAny>>,
        y: &Bound<'py, PyAny>,
    ) -> PyResult<Traced<'py>> {
        let labels = read_labels(y)?;
        let decisions = self.with_batch(py, &rows, names, |core, batch, tick| {
            let mut decisions = Vec::with_capacity(batch.len());
            check_length(batch.len(), labels.len())?;
            core.simulate(batch, &labels, &mut decisions, tick)?;
            Ok(decisions)
        })?;
        let class = |d: &core::Decision| d.class.map_or(-1, |class| class as i64);
        Ok((
            PyArray1::from_iter(py, decisions.iter().map(class)),
            PyArray1::from_iter(py, decisions.iter().map(|d| d.margin)),
            PyArray1::from_iter(py, decisions.iter().map(|d| d.query_probability)),
            PyArray1::from_iter(py, decisions.iter().map(|d| d.asked)),
        ))
    }

    fn _learn_many<'py>(
        &self,
        py: Python<'py>,
        rows: Arrays<'py>,
        names: Option<&Bound<'py, PyAny>>,
        y: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let labels: Option<Vec<Label>> = read_labels(y)?.into_iter().collect();
        let labels = labels.ok_or_else(|| {
            LabelError::new_err("y: learn_many needs a label for every row; simulate does not.")
        })?;
        self.with_batch(py, &rows, names, |core, batch, tick| {
            check_length(batch.len(), labels.len())?;
            core.learn_many(batch, &labels, tick)
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
        let (classes, margins) = self.with_batch(py, &rows, names, |core, batch, tick| {
            let (mut classes, mut margins) = (Vec::new(), Vec::new());
            core.visit(batch, tick, |core, features| {
                let (class, margin) = core.predict(features)?;
                classes.push(class.map_or(-1, |class| class as i64));
                margins.push(margin);
                Ok(())
            })?;
            Ok((classes, margins))
        })?;
        Ok((PyArray1::from_vec(py, classes), PyArray1::from_vec(py, margins)))
    }

    /// A row an event, a column a known label.
    fn _predict_proba_many<'py>(
        &self,
        py: Python<'py>,
        rows: Arrays<'py>,
        names: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (count, width, shares) = self.with_batch(py, &rows, names, |core, batch, tick| {
            let mut all = Vec::new();
            core.visit(batch, tick, |core, features| {
                all.extend(core.probabilities(features)?);
                Ok(())
            })?;
            Ok((batch.len(), core.labels().known().len(), all))
        })?;
        PyArray1::from_vec(py, shares).reshape([count, width])
    }
}

fn check_length(rows: usize, labels: usize) -> Result<(), core::Error> {
    if rows == labels {
        return Ok(());
    }
    Err(core::Error::Label(format!("y: expected one label a row, {rows} in all, got {labels}.")))
}

/// The labels of a learner: `kind` is "binary", "multiclass" or "number".
fn read_classes(kind: &str, classes: Option<&[Bound<'_, PyAny>]>) -> PyResult<Labels> {
    let mut given: Vec<Label> = Vec::new();
    for class in classes.unwrap_or_default() {
        let label = match read_label(class)? {
            Some(Label::Real(_)) | None => {
                return Err(ParameterError::new_err(format!(
                    "classes: each must be a str, an int or a bool, got {}.",
                    class.repr()?
                )));
            }
            Some(label) => label,
        };
        if given.contains(&label) {
            return Err(ParameterError::new_err(format!("classes: {label} is given twice.")));
        }
        given.push(label);
    }
    match kind {
        "multiclass" => return Ok(Labels::open(given)),
        "number" => return Ok(Labels::numbers()),
        _ => {}
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

fn weights_of<'py>(
    py: Python<'py>,
    core: &core::Learner,
    vector: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let weights = PyDict::new(py);
    for slot in 0..core.vocabulary_len() as core::Slot {
        let weight = core.weight(slot, vector);
        if weight != 0.0 {
            weights.set_item(name_to_python(py, core.name(slot))?, weight)?;
        }
    }
    Ok(weights)
}
