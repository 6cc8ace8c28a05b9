//! Events of a batch checked and scored on all cores, to the same results as on one.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use headwater_core::batch::Batch;
use headwater_core::row_arrays::AreUsual;
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

/// How many threads so many values are worth.
fn threads_for(values: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let most = values / VALUES_PER_THREAD;
    if most < 2 { 1 } else { cores().min(most) }
}

/// Whether something holds for all of so many rows, with so many values.
pub fn holds_for_all(rows: usize, values: usize, holds: &AreUsual<'_>) -> bool {
    let threads = threads_for(values);
    let share = rows.div_ceil(threads).max(1);
    let range = |number: usize| (number * share).min(rows)..((number + 1) * share).min(rows);
    std::thread::scope(|scope| {
        let spawn = |number| scope.spawn(move || holds(range(number)));
        let others: Vec<_> = (1..threads).map(spawn).collect();
        let joined = |other: ScopedJoinHandle<'_, bool>| {
            other.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        others.into_iter().fold(holds(range(0)), |all, other| all & joined(other))
    })
}

/// What `score` computes of each event, in the order of the events. `tick` is called before rows, by this thread;
/// false stops the batch. If events cannot be scored, the error is that of the first.
pub fn score_many<T: Send>(
    learner: &Learner,
    batch: &Batch<'_>,
    mut tick: impl FnMut(usize) -> bool,
    score: &impl ScoreEvent<T>,
) -> Result<Vec<T>, Error> {
    let threads = threads_for(batch.values());
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
            .map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(first).chain(joined).collect()
    });
    let mut all = Vec::new();
    for share in shares {
        all.extend(share?);
    }
    Ok(all)
}
