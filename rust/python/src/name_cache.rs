//! Feature ids of the names in dicts, with as little hashing as possible.
//!
//! A text object that came before is recognized by its address. A text that is another object in every event,
//! as a decoder of JSON makes it, is compared with the text that came behind the one before it last time. Nothing
//! is cached if features can be evicted, because then ids change.

use std::sync::{Mutex, MutexGuard, PoisonError};

use headwater_core::{self as core, FeatureId, FeatureValue, Name, UNKNOWN};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::dict::{call_for, is_held_elsewhere};
use crate::event::FindId;
use crate::name::EventKey;

const SMALLEST: usize = 1 << 5;
const LARGEST: usize = 1 << 19;
/// A table of this size lies in the cache anyway.
const NEAR: usize = 1 << 13;
/// Ids below this have a follower.
const FOLLOWED: FeatureId = 1 << 16;

/// Objects for the names of features, by id: those that came in events.
///
/// Decisions share it, so that they need no list of their names. It lives as long as one of them.
#[derive(Default)]
pub struct NameBook(Mutex<Vec<Option<EventKey>>>);

type BookPages<'a> = MutexGuard<'a, Vec<Option<EventKey>>>;

impl NameBook {
    /// It is held while no Python code runs.
    fn open(&self) -> BookPages<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of an event's features: those that it keeps itself, by position, and the others by id.
    pub fn keys(
        &self,
        py: Python<'_>,
        kept: &[(u32, EventKey)],
        features: &[FeatureValue],
    ) -> Vec<EventKey> {
        let (pages, mut kept) = (self.open(), kept.iter().peekable());
        let found = features.iter().enumerate().filter_map(|(position, feature)| {
            match kept.next_if(|(at, _)| *at as usize == position) {
                Some((_, key)) => Some(key.clone_ref(py)),
                None => pages.get(feature.id as usize)?.as_ref().map(|key| key.clone_ref(py)),
            }
        });
        found.collect()
    }
}

#[derive(Default)]
struct CachedText {
    text: Option<Py<PyString>>,
    id: FeatureId,
}

impl CachedText {
    #[inline(always)]
    fn is(&self, text: *const ffi::PyObject) -> bool {
        self.text.as_ref().is_some_and(|kept| kept.as_ptr().cast_const() == text)
    }
}

#[derive(Default)]
pub struct NameCache {
    /// Two places per text, the newer first. The table holds references to its texts, so that no other object
    /// can get the address of one of them.
    places: Vec<[CachedText; 2]>,
    /// The id that came behind each id last time.
    followers: Vec<FeatureId>,
    /// The last event that carried each id, to detect a name that an event has twice.
    last_event: Vec<u64>,
    events: u64,
}

impl NameCache {
    #[inline(always)]
    fn recall(&self, text: *const ffi::PyObject) -> FeatureId {
        let Some([newer, older]) = self.places.get(self.place(text)) else { return UNKNOWN };
        // Without a branch: the processor cannot predict which of the two it is, and waiting for
        // memory would delay the names that follow.
        let id = if older.is(text) { older.id } else { UNKNOWN };
        if newer.is(text) { newer.id } else { id }
    }

    /// Cache a text; `names` is the number of names that the learner knows.
    fn put(&mut self, text: Py<PyString>, id: FeatureId, names: usize) {
        // With twice as many places as names hardly any has to keep three of them.
        let size = (2 * names).next_power_of_two().clamp(SMALLEST, LARGEST);
        if self.places.len() < size {
            let mut places = Vec::new();
            places.resize_with(size, Default::default);
            let old = std::mem::replace(&mut self.places, places);
            for [newer, older] in old {
                self.put_in_place(older);
                self.put_in_place(newer);
            }
        }
        self.put_in_place(CachedText { text: Some(text), id });
    }

    fn put_in_place(&mut self, cached: CachedText) {
        let Some(text) = &cached.text else { return };
        let text = text.as_ptr().cast_const();
        let place = self.place(text);
        let [newer, older] = &mut self.places[place];
        if !newer.is(text) {
            std::mem::swap(newer, older);
        }
        *newer = cached;
    }

    /// A hash of the object's address.
    #[inline(always)]
    fn place(&self, text: *const ffi::PyObject) -> usize {
        let mixed = (text.addr() as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & self.places.len().wrapping_sub(1)
    }

    fn follower(&self, id: FeatureId) -> FeatureId {
        self.followers.get(id.wrapping_add(1) as usize).copied().unwrap_or(UNKNOWN)
    }

    fn follows(&mut self, before: FeatureId, id: FeatureId) {
        let place = before.wrapping_add(1); // none comes before the first
        if place < FOLLOWED {
            if place as usize >= self.followers.len() {
                self.followers.resize((place as usize + 1).next_power_of_two(), UNKNOWN);
            }
            self.followers[place as usize] = id;
        }
    }
}

/// Finds the ids of one event's names.
pub struct NameFinder<'a, 'py> {
    py: Python<'py>,
    learner: &'a core::Learner,
    cache: &'a mut NameCache,
    book: &'a NameBook,
    /// Opened when it is needed.
    pages: Option<BookPages<'a>>,
    /// The last id that was known.
    before: FeatureId,
    caches: bool,
}

impl<'a, 'py> NameFinder<'a, 'py> {
    pub fn new(
        py: Python<'py>,
        learner: &'a core::Learner,
        cache: &'a mut NameCache,
        book: &'a NameBook,
    ) -> Self {
        let caches = !learner.evicts();
        Self { py, learner, cache, book, pages: None, before: UNKNOWN, caches }
    }

    /// Note the object of a known name.
    fn meet(&mut self, name: Name<'_>, object: Option<Borrowed<'_, 'py, PyString>>, id: FeatureId) {
        let Self { py, cache, book, .. } = self;
        let pages = self.pages.get_or_insert_with(|| book.open());
        let index = id as usize;
        if index >= pages.len() {
            pages.resize_with((index + 1).next_power_of_two(), || None);
        }
        let exact = object.filter(|object| object.is_exact_instance_of::<PyString>());
        if pages[index].is_none() {
            pages[index] = Some(match (name, exact) {
                (Name::Number(number), _) => EventKey::Number(number),
                (Name::Text(_), Some(object)) => EventKey::Text(object.to_owned().unbind()),
                (Name::Text(text), None) => EventKey::Text(PyString::new(*py, text).unbind()),
            });
        }
        // What only the dict holds is gone after the event, and the next one has another object.
        if let Some(object) = exact
            && is_held_elsewhere(object)
        {
            cache.put(object.to_owned().unbind(), id, self.learner.names());
        }
    }
}

impl<'py> FindId<'py> for NameFinder<'_, 'py> {
    fn ahead(&self, name: *const ffi::PyObject) {
        if self.cache.places.len() > NEAR
            && let Some(place) = self.cache.places.get(self.cache.place(name))
        {
            call_for(place);
        }
    }

    #[inline]
    fn recall(&mut self, name: *const ffi::PyObject) -> FeatureId {
        let id = self.cache.recall(name);
        if id != UNKNOWN {
            self.before = id;
        }
        id
    }

    fn find(&mut self, name: Name<'_>, object: Option<Borrowed<'_, 'py, PyString>>) -> FeatureId {
        if !self.caches {
            return UNKNOWN;
        }
        let own = self.learner.own_names().len() as FeatureId; // they are the first
        let expected = self.cache.follower(self.before);
        let is_expected = expected != UNKNOWN && self.learner.name(expected) == name;
        let id = if is_expected { expected } else { self.learner.id(name) };
        if id == UNKNOWN || id < own {
            return UNKNOWN; // who looks it up refuses it
        }
        self.cache.follows(self.before, id);
        self.meet(name, object, id);
        self.before = id;
        id
    }

    fn has_repeats(&mut self, features: &[FeatureValue]) -> bool {
        let NameCache { last_event, events, .. } = &mut *self.cache;
        *events += 1;
        if last_event.len() < self.learner.names() {
            last_event.resize(self.learner.names().next_power_of_two(), 0);
        }
        let is_repeated = |feature: &FeatureValue| {
            let last = last_event.get_mut(feature.id as usize); // an unknown id lies behind the end
            last.is_some_and(|last| std::mem::replace(last, *events) == *events)
        };
        features.iter().any(is_repeated)
    }
}
