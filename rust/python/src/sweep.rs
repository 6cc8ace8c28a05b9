//! One pass over a file for many learners, on all cores.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use headwater_core::readers::Reader;
use headwater_core::sweep::{Block, Following, Header, SweptLearner};
use headwater_core::{Error, LearnedLabels};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::files::{FileRun, ProgressWatch, Source, file_run, taken};
use crate::learner::Learner;

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
        go_through(&mut runs, &mut reader, || watch.goes_on())?;
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

/// Take every learner through a file. While they are at work on a block, the next is read. One that fails stops
/// there, and the others go on; the error is one of the file, or that `tick` said `false`: then all learners have
/// gone through the same events.
fn go_through(
    runs: &mut [SweptLearner<'_>],
    reader: &mut Reader,
    mut tick: impl FnMut() -> bool,
) -> Result<(), Error> {
    let helpers = (thread::available_parallelism().map_or(1, NonZero::get) - 1).min(runs.len());
    let (mut block, mut next, mut header) = (Block::default(), Block::default(), Header::default());
    let mut following = block.fill(reader, &mut header, &mut tick);
    loop {
        let queue = Mutex::new(runs.iter_mut());
        let work = || {
            let taken = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(run) = taken() {
                run.take(&block, LearnedLabels::Asked);
            }
        };
        let filled = thread::scope(|scope| {
            for _ in 0..helpers {
                scope.spawn(work);
            }
            let read = matches!(following, Following::Block);
            let filled = read.then(|| next.fill(reader, &mut header, &mut tick));
            work();
            filled
        });
        let Some(filled) = filled else { break };
        if runs.iter().all(|run| run.failed.is_some()) {
            return Ok(());
        }
        following = filled;
        std::mem::swap(&mut block, &mut next);
    }
    match following {
        Following::Stop(error) => Err(error),
        Following::Block | Following::End => Ok(()),
    }
}
