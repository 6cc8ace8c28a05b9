//! The one lock of a learner.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{LockResult, Mutex, MutexGuard, TryLockError};

use headwater_core as core;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::event::PyEvent;
use crate::name_cache::{NameCache, NameFinder};

/// The core's learner, and an identity that no other learner has.
pub struct LockedLearner {
    pub core: core::Learner,
    identity: u64,
    pub name_cache: NameCache,
    /// The event that it is called about; its memory is reused for the next.
    pub event: PyEvent,
}

impl LockedLearner {
    pub fn new(core: core::Learner) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            core,
            identity: NEXT.fetch_add(1, Ordering::Relaxed),
            name_cache: NameCache::default(),
            event: PyEvent::default(),
        }
    }

    /// Read a dict with the ids of its names: see [`PyEvent::read_dict`].
    pub fn read_dict(&mut self, dict: &Bound<'_, PyDict>, event: &mut PyEvent) -> bool {
        let book = self.name_cache.book.clone();
        let mut finder = NameFinder::new(dict.py(), &self.core, &mut self.name_cache, &book);
        event.read_dict(dict, &mut finder)
    }

    /// Identifies whose ids a decision holds and since when: ids change when features are evicted.
    pub fn whose(&self) -> (u64, u64) {
        (self.identity, self.core.evicted())
    }
}

/// The core behind a lock that knows the thread that holds it.
#[derive(Default)]
pub struct LearnerLock {
    inner: Mutex<Option<LockedLearner>>,
    /// The thread that holds it, or 0.
    owner: AtomicUsize,
    /// The process in which the last batch ran.
    process: AtomicU32,
}

/// The held lock; dropping it clears the owner first.
pub struct HeldLearner<'a> {
    pub guard: MutexGuard<'a, Option<LockedLearner>>,
    owner: &'a AtomicUsize,
}

impl Drop for HeldLearner<'_> {
    fn drop(&mut self) {
        self.owner.store(0, Ordering::Relaxed);
    }
}

impl HeldLearner<'_> {
    pub fn inner(&mut self) -> Result<&mut LockedLearner, core::Error> {
        self.guard.as_mut().ok_or_else(|| core::Error::Parameter(NOT_BUILT.to_owned()))
    }
}

impl LearnerLock {
    /// Take the lock, waiting by `wait` if another thread has it.
    ///
    /// A signal handler or a finalizer interrupts whatever its thread is doing. If that is a call
    /// on this learner, waiting would never end: so it is an error.
    pub fn hold<'a>(
        &'a self,
        wait: impl FnOnce(
            &'a Mutex<Option<LockedLearner>>,
        ) -> LockResult<MutexGuard<'a, Option<LockedLearner>>>,
    ) -> Result<HeldLearner<'a>, core::Error> {
        let guard = match self.inner.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(_)) => return Err(poisoned()),
            Err(TryLockError::WouldBlock) => {
                if self.process.load(Ordering::Relaxed) != std::process::id() {
                    return Err(core::Error::Busy(FORKED.to_owned()));
                }
                if self.owner.load(Ordering::Relaxed) == this_thread() {
                    return Err(core::Error::Busy(BUSY.to_owned()));
                }
                wait(&self.inner).map_err(|_| poisoned())?
            }
        };
        self.owner.store(this_thread(), Ordering::Relaxed);
        Ok(HeldLearner { guard, owner: &self.owner })
    }

    /// The same for a batch, which runs without the interpreter's lock. Only then can the process fork
    /// while the lock is held, so only then is it worth asking for the process.
    pub fn hold_detached(&self) -> Result<HeldLearner<'_>, core::Error> {
        let held = self.hold(Mutex::lock)?;
        self.process.store(std::process::id(), Ordering::Relaxed);
        Ok(held)
    }
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
