//! One pass over a file for many learners, on all cores.

use headwater_core::LearnedLabels;
use headwater_core::sweep::{Block, SweptLearner};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::files::{FileRun, ProgressWatch, Source, file_run, taken};
use crate::learner::Learner;
use crate::read_ahead::go_through;

/// Run each learner over a file as `_simulate_file` does, all in one pass: the state of each run. No learner is
/// there twice.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what PyO3 extracts
pub fn sweep_file(
    py: Python<'_>,
    learners: Vec<Py<Learner>>,
    source: Source,
) -> PyResult<Vec<FileRun>> {
    let (mut reader, python_error) = source.open(py)?;
    let mut watch = ProgressWatch::new(None);
    let mut locks: Vec<_> = learners.iter().map(|one| one.get().lock()).enumerate().collect();
    // Two sweeps at the same time take the locks in the same order, so that none waits for the other.
    locks.sort_by_key(|&(_, lock)| std::ptr::from_ref(lock));
    let result = py.detach(|| {
        let mut held = Vec::with_capacity(locks.len());
        for (place, lock) in locks {
            held.push((place, lock.hold_detached()?));
        }
        held.sort_by_key(|&(place, _)| place);
        let mut cores = Vec::with_capacity(held.len());
        for (_, one) in &mut held {
            cores.push(&mut one.inner()?.core);
        }
        let mut runs: Vec<_> =
            cores.into_iter().map(|core| SweptLearner::new(core, &reader)).collect();
        let take = |run: &mut SweptLearner<'_>, block: &Block| {
            run.take(block, LearnedLabels::Asked, &mut ());
            run.failed.is_some()
        };
        go_through(&mut runs, &mut reader, &mut watch, take, |watch, _, _| watch.goes_on())?;
        let alone = runs.iter().all(|run| run.failed.is_some());
        let mut told = Vec::with_capacity(runs.len());
        for (place, run) in runs.into_iter().enumerate() {
            match run.failed {
                Some(error) if alone => return Err(error), // of a line that is bad for all of them
                Some(error) => return Err(error.placed(&format!("learners[{place}]"))),
                None => told.push((run.run, run.skips)),
            }
        }
        Ok(told)
    });
    if let Some(error) = watch.stopped.or_else(|| taken(&python_error)) {
        return Err(error);
    }
    let told = |(run, skips)| file_run(&run, &skips, &reader, true);
    Ok(result.map_err(raise)?.into_iter().map(told).collect())
}
