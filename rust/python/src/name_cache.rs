//! `NameCache` maps Python string objects, by identity, to feature ids, so that a repeated key
//! costs no hash. Many streams also repeat all names of an event: these are cached as the event's
//! shape. Nothing is cached if features can be evicted, because then ids change.
//!
//! The table has two places per text. It holds references to its texts, so that no other object can
//! get the address of one of them.

use std::sync::Arc;

use headwater_core::{Error, EventBuffer, FeatureId, UNKNOWN};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::dict::call_for;
use crate::name::EventKey;

const SMALLEST: usize = 1 << 6;
const LARGEST: usize = 1 << 20;
/// A table of this size lies in the cache anyway.
const NEAR: usize = 1 << 14;

/// The names that consecutive events share, with their ids.
pub struct EventShape {
    pub keys: Arc<Vec<EventKey>>,
    pub ids: Vec<FeatureId>,
    /// Whether none of them is unknown, so that no lookup is needed.
    pub complete: bool,
}

impl EventShape {
    fn of(keys: &Arc<Vec<EventKey>>, event: &EventBuffer) -> Self {
        let ids: Vec<FeatureId> = event.features.iter().map(|feature| feature.id).collect();
        let complete = !ids.contains(&UNKNOWN);
        Self { keys: keys.clone(), ids, complete }
    }
}

struct CachedText {
    text: Py<PyString>,
    id: FeatureId,
}

#[derive(Default)]
pub struct NameCache {
    places: Vec<Option<CachedText>>,
    /// The shape of the last two events, if their names were the same.
    shape: Option<Arc<EventShape>>,
    /// The names of the last event.
    last: Option<Arc<Vec<EventKey>>>,
}

impl NameCache {
    pub fn shape(&self) -> Option<Arc<EventShape>> {
        self.shape.clone()
    }

    /// Remember the names and ids of an event for the next one. Not needed if its shape was
    /// complete.
    pub fn note(&mut self, keys: &Arc<Vec<EventKey>>, event: &EventBuffer) {
        let again = |last: &Arc<Vec<EventKey>>| Arc::ptr_eq(last, keys) || are_same(last, keys);
        if self.last.as_ref().is_some_and(again) {
            self.shape = Some(Arc::new(EventShape::of(keys, event)));
        }
        self.last = Some(keys.clone());
    }

    /// Fill in the ids of cached texts, and refuse names that are not texts. Returns the positions
    /// of the others.
    pub fn recall(
        &self,
        py: Python<'_>,
        keys: &[EventKey],
        event: &mut EventBuffer,
    ) -> Result<Vec<u32>, Error> {
        let mut missed = Vec::new();
        if self.places.len() > NEAR {
            for key in keys {
                if let EventKey::Text(text) = key
                    && let Some(place) = self.places.get(self.place(text))
                {
                    call_for(place);
                }
            }
        }
        for (position, key) in keys.iter().enumerate() {
            let EventKey::Text(text) = key else { continue };
            if let Some(place) = self.find(text) {
                event.features[position].id = place.id;
                continue;
            }
            if text.bind(py).to_str().is_err() {
                return Err(Error::Event("event: a feature's name is not valid text.".to_owned()));
            }
            missed.push(position as u32);
        }
        Ok(missed)
    }

    fn find(&self, text: &Py<PyString>) -> Option<&CachedText> {
        let first = self.place(text);
        let holds = |place: usize| {
            let kept = self.places.get(place).and_then(Option::as_ref);
            kept.filter(|kept| kept.text.is(text))
        };
        // Without a branch: the processor cannot predict which of the two it is, and waiting for
        // memory would delay the names that follow.
        holds(first ^ usize::from(holds(first).is_none()))
    }

    /// Cache texts that were missing, after they have been looked up; `names` is the number of
    /// names that the learner knows.
    pub fn remember(
        &mut self,
        py: Python<'_>,
        keys: &[EventKey],
        event: &EventBuffer,
        missed: &[u32],
        names: usize,
    ) {
        if missed.is_empty() {
            return;
        }
        if self.places.len() < LARGEST && self.places.len() < 2 * names {
            self.grow((2 * names).next_power_of_two().clamp(SMALLEST, LARGEST));
        }
        for position in missed.iter().map(|&position| position as usize) {
            let id = event.features[position].id;
            if let EventKey::Text(text) = &keys[position]
                && id != UNKNOWN
                && text.bind(py).is_exact_instance_of::<PyString>()
            // dropping it runs no Python code
            {
                self.put(CachedText { text: text.clone_ref(py), id });
            }
        }
    }

    fn grow(&mut self, size: usize) {
        let mut places = Vec::new();
        places.resize_with(size, || None);
        for place in std::mem::replace(&mut self.places, places).into_iter().flatten() {
            self.put(place);
        }
    }

    fn put(&mut self, place: CachedText) {
        let first = self.place(&place.text);
        if self.places[first].as_ref().is_some_and(|kept| !kept.text.is(&place.text)) {
            self.places.swap(first, first ^ 1); // the older of the two is replaced
        }
        self.places[first] = Some(place);
    }

    /// A hash of the object's address.
    fn place(&self, text: &Py<PyString>) -> usize {
        let mixed = (text.as_ptr().addr() as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & self.places.len().wrapping_sub(1)
    }
}

/// Whether these are the same objects, in the same order.
fn are_same(some: &[EventKey], others: &[EventKey]) -> bool {
    let pairs = || some.iter().zip(others);
    some.len() == others.len()
        && pairs().all(|pair| matches!(pair, (EventKey::Text(a), EventKey::Text(b)) if a.is(b)))
}
