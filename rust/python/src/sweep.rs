//! One pass over a file for one learner or many, on all cores: while learners are at work on a block of lines, the
//! next is read.

use std::fs::Metadata;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use headwater_core::readers::Reader;
use headwater_core::sweep::{Block, Following, Header, SweptLearner};
use headwater_core::{DecisionSink, Error, LearnedLabels, RunCounts};
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

/// Files of fewer bytes are not worth a second thread.
const LEAST_BYTES: u64 = 1 << 20;

/// Whether reading a file beside learning is of use: it is large, there is a second core, and nobody waits for what
/// is written into it meanwhile.
pub fn is_worth_a_thread(path: &Path) -> bool {
    let size = path.metadata().ok().filter(Metadata::is_file).map_or(0, |data| data.len());
    size >= LEAST_BYTES && thread::available_parallelism().map_or(1, NonZero::get) > 1
}

/// Run one learner over a file as `simulate_file` of the core does, while the next lines are read. `run` and the
/// reader's skips are those of the run.
pub fn read_ahead<D: DecisionSink + Send>(
    learner: &mut headwater_core::Learner,
    reader: &mut Reader,
    which: LearnedLabels,
    run: &mut RunCounts,
    watch: &mut ProgressWatch<'_>,
    decisions: &mut D,
) -> Result<(), Error> {
    let mut runs = [(SweptLearner::new(learner, reader), decisions)];
    let take = |(run, decisions): &mut (SweptLearner<'_>, &mut D), block: &Block| {
        run.take(block, which, *decisions);
        run.failed.is_some()
    };
    let look =
        |watch: &mut ProgressWatch<'_>, runs: &[(SweptLearner<'_>, &mut D)], reader: &Reader| {
            let (run, skips) = (&runs[0].0.run, &runs[0].0.skips);
            watch.look_now(run, skips, reader)
        };
    let done = go_through(&mut runs, reader, watch, take, look);
    let [(swept, _)] = runs;
    (*run, reader.skips) = (swept.run, swept.skips);
    swept.failed.map_or(done, Err)
}

/// Take every run through a file by `take`, which says whether it has ended early; meanwhile the next block is read.
/// Those that have not ended go on. The error is one of the file, or that `goes_on` said `false` after a block: then
/// all runs have gone through the same events.
fn go_through<R: Send>(
    runs: &mut [R],
    reader: &mut Reader,
    watch: &mut ProgressWatch<'_>,
    take: impl Fn(&mut R, &Block) -> bool + Sync,
    goes_on: impl Fn(&mut ProgressWatch<'_>, &[R], &Reader) -> bool,
) -> Result<(), Error> {
    let helpers = (thread::available_parallelism().map_or(1, NonZero::get) - 1).min(runs.len());
    let (mut block, mut next, mut header) = (Block::default(), Block::default(), Header::default());
    let mut following = block.fill(reader, &mut header, || watch.goes_on());
    loop {
        let at_work = AtomicUsize::new(0);
        let queue = Mutex::new(runs.iter_mut());
        let work = || {
            let taken = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(run) = taken() {
                at_work.fetch_add(usize::from(!take(run, &block)), Ordering::Relaxed);
            }
        };
        let filled = thread::scope(|scope| {
            for _ in 0..helpers {
                scope.spawn(work);
            }
            let read = matches!(following, Following::Block);
            let filled = read.then(|| next.fill(reader, &mut header, || watch.goes_on()));
            work();
            filled
        });
        let at_work = at_work.into_inner();
        let Some(filled) = filled else { break };
        if at_work == 0 {
            return Ok(());
        }
        if !goes_on(watch, runs, reader) {
            return Err(Error::Interrupted);
        }
        following = filled;
        std::mem::swap(&mut block, &mut next);
    }
    match following {
        Following::Stop(error) => Err(error),
        Following::Block | Following::End => Ok(()),
    }
}
