//! Events of a batch scored on all cores, to the same results as on one.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use headwater_core::batch::Batch;
use headwater_core::{Error, FeatureValue, Learner};

/// Adds what is computed of an event to what was computed of those before it.
pub trait ScoreEvent<T>:
    Fn(&Learner, &[FeatureValue], &mut Vec<T>) -> Result<(), Error> + Send + Sync
{
}

impl<T, F> ScoreEvent<T> for F where
    F: Fn(&Learner, &[FeatureValue], &mut Vec<T>) -> Result<(), Error> + Send + Sync
{
}

/// Values that are worth a thread of their own.
const VALUES_PER_THREAD: usize = 1 << 15;

/// What `score` computes of each event, in the order of the events. `tick` is called before rows, by this thread;
/// false stops the batch. If events cannot be scored, the error is that of the first.
pub fn score_many<T: Send>(
    learner: &Learner,
    batch: &Batch<'_>,
    mut tick: impl FnMut(usize) -> bool,
    score: &impl ScoreEvent<T>,
) -> Result<Vec<T>, Error> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let most = batch.values() / VALUES_PER_THREAD;
    let threads = if most < 2 { 1 } else { cores().min(most) };
    let share = batch.len().div_ceil(threads).max(1);
    // The first share that failed; those before it go on, so that the first bad row is the one named.
    let failed = AtomicUsize::new(usize::MAX);
    let run = |number: usize, tick: &mut dyn FnMut(usize) -> bool| {
        let first = number * share;
        let goes_on = |row| number <= failed.load(Ordering::Relaxed) && tick(row);
        let rows = first..(first + share).min(batch.len());
        let scored = learner.score_rows(batch, rows, goes_on, score);
        scored.inspect_err(|_| _ = failed.fetch_min(number, Ordering::Relaxed))
    };
    let shares: Vec<Result<Vec<T>, Error>> = std::thread::scope(|scope| {
        let run = &run;
        let spawn = |number| scope.spawn(move || run(number, &mut |_| true));
        let others: Vec<_> = (1..threads).map(spawn).collect();
        let first = run(0, &mut tick);
        let joined = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(first).chain(joined).collect()
    });
    let mut all = Vec::new();
    for share in shares {
        all.extend(share?);
    }
    Ok(all)
}
