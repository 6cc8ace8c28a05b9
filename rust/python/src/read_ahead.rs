//! Files read ahead: while learners are at work on a block of lines, the next is read.

use std::fs::Metadata;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use headwater_core::readers::Reader;
use headwater_core::sweep::{Block, Following, Header, MOST_LINES, SweptLearner};
use headwater_core::{DecisionSink, Error, LearnedLabels, RunCounts};

use crate::files::{BETWEEN_LOOKS, ProgressWatch};

/// Files of fewer bytes are not worth a second thread.
const LEAST_BYTES: u64 = 1 << 20;
/// Lines of the first block.
const FIRST_LINES: usize = 64;

/// Whether reading a file beside learning is of use: it is a large file, not a pipe, and there is a second core.
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
pub fn go_through<R: Send>(
    runs: &mut [R],
    reader: &mut Reader,
    watch: &mut ProgressWatch<'_>,
    take: impl Fn(&mut R, &Block) -> bool + Sync,
    goes_on: impl Fn(&mut ProgressWatch<'_>, &[R], &Reader) -> bool,
) -> Result<(), Error> {
    let helpers = (thread::available_parallelism().map_or(1, NonZero::get) - 1).min(runs.len());
    let (mut block, mut next, mut header) = (Block::default(), Block::default(), Header::default());
    let mut lines = FIRST_LINES;
    let mut following = block.fill(reader, &mut header, lines, || watch.goes_on());
    loop {
        let began = Instant::now();
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
                // Without a thread, for want of memory say, this one does the work.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            let read = matches!(following, Following::Block);
            let filled = read.then(|| next.fill(reader, &mut header, lines, || watch.goes_on()));
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
        lines = lines_after(lines, began.elapsed());
        following = filled;
        std::mem::swap(&mut block, &mut next);
    }
    match following {
        Following::Stop(error) => Err(error),
        Following::Block | Following::End => Ok(()),
    }
}

/// How many lines the next block should have after one that took so long: whoever waits for Ctrl-C or for progress
/// waits for a block.
fn lines_after(lines: usize, took: Duration) -> usize {
    let next = if took > BETWEEN_LOOKS {
        lines / 2
    } else if took * 2 < BETWEEN_LOOKS {
        lines * 2
    } else {
        lines
    };
    next.clamp(1, MOST_LINES)
}
