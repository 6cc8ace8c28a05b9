//! The one lock of a learner.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{
    Arc, LockResult, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};

use headwater_core as core;
use headwater_core::FeatureValue;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::event::PyEvent;
use crate::name::EventKey;
use crate::name_cache::{NameBook, NameCache, NameFinder};

/// The core's learner, and an identity that no other learner has.
pub struct LockedLearner {
    pub core: core::Learner,
    identity: u64,
    name_cache: NameCache,
    /// Shared with the decisions.
    pub book: Arc<NameBook>,
    /// The event that it is called about, but while somebody has taken it; its memory is reused for the next.
    pub event: Option<Box<PyEvent>>,
}

impl LockedLearner {
    fn new(core: core::Learner) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            core,
            identity: NEXT.fetch_add(1, Ordering::Relaxed),
            name_cache: NameCache::default(),
            book: Arc::default(),
            event: None,
        }
    }

    /// Read a dict with the ids of its names: see [`PyEvent::read_dict`].
    pub fn read_dict(&mut self, dict: &Bound<'_, PyDict>, event: &mut PyEvent) -> bool {
        let Self { core, name_cache, book, .. } = self;
        let mut finder = NameFinder::new(dict.py(), core, name_cache, book);
        let plain = event.read_dict(dict, &mut finder);
        finder.end_event(event.buffer.features.len() - event.kept.len());
        plain
    }

    /// Note the objects of an event's names, those that are known by now.
    pub fn note_names(&mut self, py: Python<'_>, kept: &[(u32, EventKey)], known: &[FeatureValue]) {
        if !kept.is_empty() {
            let Self { core, name_cache, book, .. } = self;
            NameFinder::new(py, core, name_cache, book).note(kept, known);
        }
    }

    /// Identifies whose ids a decision holds and since when: ids change when features are evicted.
    pub fn whose(&self) -> (u64, u64) {
        (self.identity, self.core.evicted())
    }
}

/// The core behind a lock that knows the threads that hold it: one that changes it, or several that read it.
#[derive(Default)]
pub struct LearnerLock {
    inner: RwLock<Option<LockedLearner>>,
    /// The thread that changes it, or 0.
    owner: AtomicUsize,
    /// The threads that read it.
    readers: Mutex<Vec<usize>>,
    /// The process in which the last batch ran.
    process: AtomicU32,
    /// The identity of the learner.
    identity: AtomicU64,
}

type WriteGuard<'a> = RwLockWriteGuard<'a, Option<LockedLearner>>;

/// The lock held to change the learner; dropping it clears the owner first.
pub struct HeldLearner<'a> {
    guard: WriteGuard<'a>,
    owner: &'a AtomicUsize,
}

impl Drop for HeldLearner<'_> {
    fn drop(&mut self) {
        self.owner.store(0, Ordering::Relaxed);
    }
}

impl HeldLearner<'_> {
    pub fn inner(&mut self) -> Result<&mut LockedLearner, core::Error> {
        self.guard.as_mut().ok_or_else(not_built)
    }
}

/// The lock held to read the learner, as others may do at the same time.
pub struct ReadLearner<'a> {
    guard: RwLockReadGuard<'a, Option<LockedLearner>>,
    lock: &'a LearnerLock,
}

impl Drop for ReadLearner<'_> {
    fn drop(&mut self) {
        let mut readers = self.lock.readers();
        if let Some(place) = readers.iter().position(|&reader| reader == this_thread()) {
            readers.swap_remove(place);
        }
    }
}

impl ReadLearner<'_> {
    pub fn core(&self) -> Result<&core::Learner, core::Error> {
        self.guard.as_ref().map(|inner| &inner.core).ok_or_else(not_built)
    }
}

impl LearnerLock {
    fn readers(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The identity of the learner, which no other has.
    pub fn identity(&self) -> u64 {
        self.identity.load(Ordering::Relaxed)
    }

    /// Put a learner in place of what is there.
    pub fn build(&self, core: core::Learner, mut held: HeldLearner<'_>) {
        let learner = LockedLearner::new(core);
        self.identity.store(learner.identity, Ordering::Relaxed);
        *held.guard = Some(learner);
    }

    /// Give the learner another identity, because its feature ids have changed. Returns what was remembered of
    /// names, which the caller drops once the lock is free.
    pub fn renew(&self, held: &mut HeldLearner<'_>) -> Option<(NameCache, Arc<NameBook>)> {
        let LockedLearner { core, name_cache, book, .. } = held.guard.take()?;
        let learner = LockedLearner::new(core);
        self.identity.store(learner.identity, Ordering::Relaxed);
        *held.guard = Some(learner);
        Some((name_cache, book))
    }

    /// Refuse to wait for what will never end.
    ///
    /// A signal handler or a finalizer interrupts whatever its thread is doing. If that is a call
    /// on this learner, it waits for the handler.
    fn check_waiting(&self) -> Result<(), core::Error> {
        if self.process.load(Ordering::Relaxed) != std::process::id() {
            return Err(core::Error::Busy(FORKED.to_owned()));
        }
        let here = this_thread();
        if self.owner.load(Ordering::Relaxed) == here || self.readers().contains(&here) {
            return Err(core::Error::Busy(BUSY.to_owned()));
        }
        Ok(())
    }

    /// Take the lock to change the learner, waiting by `wait` if another thread has it.
    pub fn hold<'a>(
        &'a self,
        wait: impl FnOnce(&'a RwLock<Option<LockedLearner>>) -> LockResult<WriteGuard<'a>>,
    ) -> Result<HeldLearner<'a>, core::Error> {
        let guard = match self.inner.try_write() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(_)) => return Err(poisoned()),
            Err(TryLockError::WouldBlock) => {
                self.check_waiting()?;
                wait(&self.inner).map_err(|_| poisoned())?
            }
        };
        self.owner.store(this_thread(), Ordering::Relaxed);
        Ok(HeldLearner { guard, owner: &self.owner })
    }

    /// The same for a batch, which runs without the interpreter's lock. Only then can the process fork
    /// while the lock is held, so only then is it worth asking for the process.
    pub fn hold_detached(&self) -> Result<HeldLearner<'_>, core::Error> {
        let held = self.hold(RwLock::write)?;
        self.process.store(std::process::id(), Ordering::Relaxed);
        Ok(held)
    }

    /// Take the lock to read the learner, without the interpreter's lock.
    pub fn read_detached(&self) -> Result<ReadLearner<'_>, core::Error> {
        let guard = match self.inner.try_read() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(_)) => return Err(poisoned()),
            Err(TryLockError::WouldBlock) => {
                self.check_waiting()?;
                self.inner.read().map_err(|_| poisoned())?
            }
        };
        self.process.store(std::process::id(), Ordering::Relaxed);
        self.readers().push(this_thread());
        Ok(ReadLearner { guard, lock: self })
    }
}

fn not_built() -> core::Error {
    core::Error::Parameter(NOT_BUILT.to_owned())
}

const BUSY: &str = "learner: it is at work in this very thread; a signal handler or a finalizer \
                    cannot use it now.";
const FORKED: &str = "learner: another thread was using it when this process was forked, and in this \
                      process nobody will finish that; load the model from a file here, or fork \
                      before threads use it.";
const NOT_BUILT: &str = "learner: it was never built; its class must call Learner's constructor.";

/// A panic in the middle of a step may have left it half changed.
fn poisoned() -> core::Error {
    core::Error::Poisoned(
        "learner: a fault inside the core interrupted it in the middle of a step, so its state may be \
         half changed and it can no longer be used; load the model that was saved last, and please \
         report the fault."
            .to_owned(),
    )
}

/// A number that no other living thread has; never 0.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}
