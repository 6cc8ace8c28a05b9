//! Replicas: what they and their owner tell each other.

use headwater_core::{Report, delta};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::raise;
use crate::learner::Learner;

/// Make a new learner a replica of another, whose parameters it has but for the seed.
#[pyfunction]
pub fn become_replica(py: Python<'_>, replica: &Learner, owner: &Learner) -> PyResult<()> {
    let owner = py.detach(|| owner.copied()).map_err(raise)?;
    replica.with_new_ids(py, |core| core.become_replica(&owner))
}

/// Let a replica take what its owner knows now.
#[pyfunction]
pub fn refresh_replica(py: Python<'_>, replica: &Learner, owner: &Learner) -> PyResult<()> {
    let owner = py.detach(|| owner.copied()).map_err(raise)?;
    replica.with_new_ids(py, |core| core.refresh(&owner))
}

/// What a replica did since its last report.
#[pyfunction]
pub fn report_of<'py>(py: Python<'py>, replica: &Learner) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = replica.with(py, |inner| inner.core.report()?.write())?;
    Ok(PyBytes::new(py, &bytes))
}

/// Give a replica a report back that its owner has refused.
#[pyfunction]
pub fn take_back(py: Python<'_>, replica: &Learner, report: &[u8]) -> PyResult<()> {
    let report = Report::read(report).map_err(raise)?;
    replica.with(py, |inner| inner.core.take_back(report))
}

/// Count reports in the owner, in this order, and open their questions there.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what PyO3 extracts
pub fn absorb_reports(py: Python<'_>, owner: &Learner, reports: Vec<Vec<u8>>) -> PyResult<()> {
    let read = py.detach(|| reports.iter().map(|bytes| Report::read(bytes)).collect());
    let reports: Vec<Report> = Result::<_, headwater_core::Error>::map_err(read, raise)?;
    owner.with(py, |inner| inner.core.absorb(&reports))
}

/// What turns the bytes of an earlier state into those of a later one.
#[pyfunction]
pub fn write_delta<'py>(
    py: Python<'py>,
    before: &[u8],
    after: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py.detach(|| delta::write(before, after)).map_err(raise)?;
    Ok(PyBytes::new(py, &bytes))
}

/// The later state.
#[pyfunction]
pub fn apply_delta<'py>(
    py: Python<'py>,
    before: &[u8],
    delta: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py.detach(|| delta::apply(before, delta)).map_err(raise)?;
    Ok(PyBytes::new(py, &bytes))
}
