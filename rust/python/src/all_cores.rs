//! Events of a batch checked and scored on all cores, to the same results as on one.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

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
    let cores = || thread::available_parallelism().map_or(1, NonZero::get);
    let most = values / VALUES_PER_THREAD;
    if most < 2 { 1 } else { cores().min(most) }
}

/// The result of `first`, computed by this thread, and of `work` for each number from 1 below `count`, by threads of
/// their own. Where none can be had, for want of memory say, this one does their work.
fn side_by_side<R: Send>(
    count: usize,
    first: impl FnOnce() -> R,
    work: impl Fn(usize) -> R + Sync,
) -> Vec<R> {
    thread::scope(|scope| {
        let work = &work;
        let spawn = |number| {
            let spawned = thread::Builder::new().spawn_scoped(scope, move || work(number));
            spawned.map_err(|_| number)
        };
        let others: Vec<_> = (1..count).map(spawn).collect();
        let first = first();
        let joined = others.into_iter().map(|other| match other {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(number) => work(number),
        });
        std::iter::once(first).chain(joined).collect()
    })
}

/// Whether something holds for all of so many rows, with so many values.
pub fn holds_for_all(rows: usize, values: usize, holds: &AreUsual<'_>) -> bool {
    let threads = threads_for(values);
    let share = rows.div_ceil(threads).max(1);
    let holds_for =
        |number: usize| holds((number * share).min(rows)..((number + 1) * share).min(rows));
    side_by_side(threads, || holds_for(0), holds_for).into_iter().all(|held| held)
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
    let shares = side_by_side(threads, || run(0, &mut tick), |number| run(number, &mut |_| true));
    let mut all = Vec::new();
    for share in shares {
        let share = share?;
        if all.is_empty() {
            all = share;
        } else {
            all.extend(share);
        }
    }
    Ok(all)
}
