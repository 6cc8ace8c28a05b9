//! The register of all features: alone, and as a learner keeps it.
#![allow(clippy::needless_pass_by_value)] // what PyO3 extracts
#![allow(clippy::redundant_closure_for_method_calls)] // lifetimes need the closure

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use headwater_core as core;
use headwater_core::{FeatureId, FindingKind, UNKNOWN};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList};

use crate::arrays::Arrays;
use crate::errors::raise;
use crate::event::PyEvent;
use crate::files::BETWEEN_LOOKS;
use crate::name::{EventKey, KeptNames, name_to_python, read_name};

/// Rows between two readings of the clock.
const ROWS_A_LOOK: usize = 64;

/// A finding: number, event, time, kind, feature, before, now, the feature that replaces it.
pub type FindingParts<'py> =
    (u64, u64, Option<f64>, &'static str, Bound<'py, PyAny>, f64, f64, Option<Bound<'py, PyAny>>);

/// The register of all features of a stream.
#[pyclass(subclass, frozen, module = "headwater._core")]
pub struct Register {
    inner: Mutex<core::Register>,
}

impl Register {
    pub fn of(register: core::Register) -> Self {
        Self { inner: Mutex::new(register) }
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, core::Register> {
        self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Register {
    #[new]
    #[pyo3(signature = (cycle=86_400.0, max_features=None))]
    fn new(cycle: f64, max_features: Option<u32>) -> Self {
        Self::of(core::Register::new(core::RegisterConfig { cycle, most: max_features }))
    }

    fn _observe_one(&self, x: &Bound<'_, PyAny>, time: Option<f64>) -> PyResult<()> {
        let py = x.py();
        let event = PyEvent::read(x)?;
        let names = KeptNames { py, kept: &event.kept };
        let values: Vec<f64> = event.buffer.features.iter().map(|feature| feature.value).collect();
        let mut ids = vec![UNKNOWN; values.len()];
        self.lock(py).observe(&mut ids, &values, &names, time).map_err(raise)
    }

    fn _observe_many<'py>(
        &self,
        py: Python<'py>,
        rows: Arrays<'py>,
        names: Option<&Bound<'py, PyAny>>,
        times: Option<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<()> {
        let times: Option<Vec<f64>> = times.map(|times| times.as_array().to_vec());
        let (mut interruption, mut last_look) = (None, Instant::now());
        let no_learner = 0; // a register looks names up itself
        let result = rows.run(py, names, no_learner, |batch| {
            let mut tick = |row: usize| {
                if row.is_multiple_of(ROWS_A_LOOK) && last_look.elapsed() > BETWEEN_LOOKS {
                    last_look = Instant::now();
                    interruption = Python::attach(|py| py.check_signals()).err();
                }
                interruption.is_none()
            };
            let mut held = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            core::observe_batch(&mut held, batch, times.as_deref(), &mut tick)
        });
        match interruption {
            Some(error) => Err(error),
            None => result,
        }
    }

    /// Events observed.
    #[getter]
    fn events(&self, py: Python<'_>) -> u64 {
        self.lock(py).events()
    }

    /// The time of the last event; None if events have no times.
    #[getter]
    fn time(&self, py: Python<'_>) -> Option<f64> {
        self.lock(py).time()
    }

    /// Features dropped because there were more than `max_features`.
    #[getter]
    fn evicted(&self, py: Python<'_>) -> u64 {
        self.lock(py).evicted()
    }

    #[getter]
    fn cycle(&self, py: Python<'_>) -> f64 {
        self.lock(py).config().cycle
    }

    #[getter]
    fn max_features(&self, py: Python<'_>) -> Option<u32> {
        self.lock(py).config().most
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.lock(py).len()
    }

    fn _state(&self, name: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
        let py = name.py();
        let key = read_name("register", name)?;
        let register = self.lock(py);
        let id = register.id(key.name(py));
        Ok(register.state(id).map(core::FeatureState::word))
    }

    fn _features<'py>(
        &self,
        py: Python<'py>,
        name: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let key = name.map(|name| read_name("register", name)).transpose()?;
        let found = feature_summaries(py, &self.lock(py), key);
        features_to_python(py, &found)
    }

    fn _findings<'py>(&self, py: Python<'py>, since: u64) -> PyResult<Vec<FindingParts<'py>>> {
        let found: Vec<core::Finding> = self.lock(py).findings(since).cloned().collect();
        let timed = self.lock(py).timed() == Some(true);
        findings_to_python(py, &found, timed)
    }

    fn _counts(&self, py: Python<'_>) -> Vec<(&'static str, u64)> {
        finding_counts(&self.lock(py))
    }

    fn _states(&self, py: Python<'_>) -> Vec<(&'static str, u64)> {
        state_counts(&self.lock(py))
    }

    /// The whole state. Equal parameters and events: equal bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let copy = self.lock(py).clone();
        let bytes = py.detach(|| copy.to_bytes()).map_err(raise)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn _adopt(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        *self.lock(py) = core::Register::from_bytes(data).map_err(raise)?;
        Ok(())
    }

    /// Become a copy of another register.
    fn _copy(&self, py: Python<'_>, other: &Self) {
        let copy = other.lock(py).clone();
        *self.lock(py) = copy;
    }

    fn _merge(&self, py: Python<'_>, later: &Self) -> PyResult<()> {
        let later = later.lock(py).clone();
        self.lock(py).merge(&later).map_err(raise)
    }
}

fn feature_summaries(
    py: Python<'_>,
    register: &core::Register,
    only: Option<EventKey>,
) -> Vec<core::FeatureSummary> {
    let ids = match only {
        Some(key) => {
            let id = register.id(key.name(py));
            id..id.saturating_add(1)
        }
        None => 0..register.len() as FeatureId,
    };
    ids.filter_map(|id| register.summary(id)).collect()
}

fn features_to_python<'py>(
    py: Python<'py>,
    found: &[core::FeatureSummary],
) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    for one in found {
        let seen = (one.first_event, one.first_time, one.last_event, one.last_time);
        let gaps = (one.mean_gap, one.longest_gap);
        rows.append((
            name_to_python(py, one.name.borrow())?,
            one.state.word(),
            seen,
            one.count,
            one.share,
            gaps,
            one.now,
            one.before,
            one.stuck,
            one.values.clone(),
        ))?;
    }
    Ok(rows)
}

pub fn findings_to_python<'py>(
    py: Python<'py>,
    found: &[core::Finding],
    timed: bool,
) -> PyResult<Vec<FindingParts<'py>>> {
    found
        .iter()
        .map(|one| {
            let other = one.other.as_ref();
            Ok((
                one.number,
                one.event,
                timed.then_some(one.time),
                one.kind.word(),
                name_to_python(py, one.name.borrow())?,
                one.before,
                one.now,
                other.map(|name| name_to_python(py, name.borrow())).transpose()?,
            ))
        })
        .collect()
}

fn finding_counts(register: &core::Register) -> Vec<(&'static str, u64)> {
    FindingKind::ALL.map(|kind| (kind.word(), register.made_of(kind))).to_vec()
}

fn state_counts(register: &core::Register) -> Vec<(&'static str, u64)> {
    let mut counts = [("new", 0), ("live", 0), ("silent", 0), ("gone", 0), ("back", 0)];
    for id in 0..register.len() as FeatureId {
        if let Some(state) = register.state(id) {
            counts[state as usize].1 += 1;
        }
    }
    counts.to_vec()
}
