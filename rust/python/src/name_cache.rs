//! Feature ids of the names in dicts, with as little hashing as possible.
//!
//! A text object that came before is recognized by its address. A text that is another object in every event,
//! as a decoder of JSON makes it, is compared with the text that came behind the one before it last time. Where
//! most objects are new, few are written down. Nothing is cached if features can be evicted, because then ids
//! change.

use std::hint::select_unpredictable;
use std::sync::{Mutex, MutexGuard, PoisonError};

use headwater_core::{self as core, FeatureId, FeatureValue, Name, UNKNOWN};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::dict::{PlainName, Recall, call_for};
use crate::event::FindId;
use crate::name::EventKey;

/// Objects in a place: they fill one line of the processor's cache.
const WAYS: usize = 4;
const SMALLEST: usize = 1 << 8;
const LARGEST: usize = 1 << 18;
/// A table of this size lies in the cache anyway.
const NEAR: usize = 1 << 9;
/// Ids below this have a follower.
const FOLLOWED: FeatureId = 1 << 16;
/// Where most objects are new, those of one event in so many are written down, in case they come again.
const TRIED: u64 = 16;
/// The most by which known objects can be ahead of new ones.
const MOST_AHEAD: i32 = 1 << 9;

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

/// A text or an int.
#[derive(Default)]
struct CachedObject {
    object: Option<Py<PyAny>>,
    id: FeatureId,
}

impl CachedObject {
    #[inline(always)]
    fn is(&self, object: *const ffi::PyObject) -> bool {
        self.object.as_ref().map_or(std::ptr::null_mut(), Py::as_ptr).cast_const() == object
    }
}

/// The newer first.
#[derive(Default)]
#[repr(align(64))]
struct Place([CachedObject; WAYS]);

/// The id that came behind another one, and a part of its name, which tells most others from it.
#[derive(Clone, Copy)]
struct Follower {
    id: FeatureId,
    tail: u32,
}

const NO_FOLLOWER: Follower = Follower { id: UNKNOWN, tail: 0 };

impl Follower {
    /// The id, if it has this name.
    #[inline(always)]
    fn named(self, name: Name<'_>, learner: &core::Learner) -> FeatureId {
        if self.tail != tail(name) || self.id == UNKNOWN {
            return UNKNOWN;
        }
        let is_same = match (name, learner.name(self.id)) {
            (Name::Text(one), Name::Text(other)) => are_same(one.as_bytes(), other.as_bytes()),
            (one, other) => one == other,
        };
        if is_same { self.id } else { UNKNOWN }
    }
}

/// The last bytes of a name, and its length.
#[inline(always)]
fn tail(name: Name<'_>) -> u32 {
    match name {
        Name::Number(number) => number as u32,
        Name::Text(text) => {
            let last = text.as_bytes().last_chunk().copied().unwrap_or_default();
            u32::from_le_bytes(last) ^ text.len() as u32
        }
    }
}

/// Whether texts are the same, eight bytes at a time: names are short, and a call would cost more.
#[inline(always)]
fn are_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    if let (Some(one_end), Some(other_end)) = (one.last_chunk::<8>(), other.last_chunk::<8>()) {
        let mut eights = one.as_chunks::<8>().0.iter().zip(other.as_chunks::<8>().0);
        return one_end == other_end && eights.all(|(one, other)| one == other);
    }
    if let (Some(one_end), Some(other_end)) = (one.last_chunk::<4>(), other.last_chunk::<4>()) {
        return one_end == other_end && one.first_chunk::<4>() == other.first_chunk::<4>();
    }
    one.iter().zip(other).all(|(one, other)| one == other)
}

#[derive(Default)]
pub struct NameCache {
    /// The table holds references to its objects, so that no other object can get the address of one of them.
    places: Vec<Place>,
    /// What came behind each id last time.
    followers: Vec<Follower>,
    /// By how much names whose objects were recalled were ahead of the others lately.
    ahead: i32,
    /// The last event that carried each id, to detect a name that an event has twice.
    last_event: Vec<u64>,
    events: u64,
}

impl NameCache {
    /// Whether the objects of this event are worth being written down.
    fn keeps(&self) -> bool {
        self.ahead >= 0 || self.events.is_multiple_of(TRIED)
    }

    /// Note how many names of an event were recalled by their objects, and how many were not.
    fn end_event(&mut self, recalled: usize, others: usize) {
        if self.keeps() {
            let ahead = self.ahead.saturating_add(recalled as i32).saturating_sub(others as i32);
            self.ahead = ahead.clamp(-MOST_AHEAD, MOST_AHEAD);
        }
        self.events += 1;
    }

    /// Cache an object; `names` is the number of names that the learner knows.
    fn put(&mut self, object: Py<PyAny>, id: FeatureId, names: usize) {
        // With room for twice as many objects as names hardly any has to leave its place.
        let size = (2 * names / WAYS).next_power_of_two().clamp(SMALLEST, LARGEST);
        if self.places.len() < size {
            let mut places = Vec::new();
            places.resize_with(size, Default::default);
            for Place(kept) in std::mem::replace(&mut self.places, places) {
                kept.into_iter().rev().for_each(|one| self.put_in_place(one));
            }
        }
        self.put_in_place(CachedObject { object: Some(object), id });
    }

    fn put_in_place(&mut self, cached: CachedObject) {
        let Some(object) = &cached.object else { return };
        let object = object.as_ptr().cast_const();
        let place = place_of(object, self.places.len());
        let Place(kept) = &mut self.places[place];
        let last = kept.iter().position(|one| one.is(object)).unwrap_or(WAYS - 1);
        kept[..=last].rotate_right(1);
        kept[0] = cached;
    }

    fn follows(&mut self, before: FeatureId, follower: Follower) {
        let place = before.wrapping_add(1); // none comes before the first
        if place < FOLLOWED {
            if place as usize >= self.followers.len() {
                self.followers.resize((place as usize + 1).next_power_of_two(), NO_FOLLOWER);
            }
            self.followers[place as usize] = follower;
        }
    }
}

/// A hash of the object's address.
#[inline(always)]
fn place_of(object: *const ffi::PyObject, places: usize) -> usize {
    let mixed = (object.addr() as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize & places.wrapping_sub(1)
}

/// Recognizes names by their objects, or by what came before them.
struct Known<'a> {
    places: &'a [Place],
    followers: &'a [Follower],
    learner: &'a core::Learner,
    expects_new: bool,
}

impl Recall for Known<'_> {
    #[inline(always)]
    fn looks_ahead(&self) -> bool {
        self.places.len() > NEAR
    }

    #[inline(always)]
    fn ahead(&self, object: *const ffi::PyObject) {
        if let Some(place) = self.places.get(place_of(object, self.places.len())) {
            call_for(place);
        }
    }

    #[inline(always)]
    fn recall(&self, object: *const ffi::PyObject) -> FeatureId {
        let Some(Place(kept)) = self.places.get(place_of(object, self.places.len())) else {
            return UNKNOWN;
        };
        // Without a branch: the processor cannot predict which of them it is, and waiting for
        // memory would delay the names that follow.
        let mut id = UNKNOWN;
        for one in kept {
            id = select_unpredictable(one.is(object), one.id, id);
        }
        id
    }

    #[inline(always)]
    fn expects_new(&self) -> bool {
        self.expects_new
    }

    #[inline(never)]
    fn follow(&self, before: FeatureId, text: &str) -> FeatureId {
        let follower = self.followers.get(before.wrapping_add(1) as usize);
        follower.map_or(UNKNOWN, |follower| follower.named(Name::Text(text), self.learner))
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
    /// Known names whose objects were not recalled.
    others: usize,
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
        Self { py, learner, cache, book, pages: None, others: 0, caches }
    }

    /// Note the object of a known name.
    fn meet(&mut self, name: Name<'_>, object: Option<Borrowed<'_, 'py, PyAny>>, id: FeatureId) {
        let Self { py, book, .. } = self;
        let pages = self.pages.get_or_insert_with(|| book.open());
        let index = id as usize;
        if index >= pages.len() {
            pages.resize_with((index + 1).next_power_of_two(), || None);
        }
        if pages[index].is_none() {
            let text =
                object.and_then(|object| object.cast::<PyString>().ok().map(Borrowed::to_owned));
            pages[index] = Some(match name {
                Name::Number(number) => EventKey::Number(number),
                Name::Text(name) => {
                    EventKey::Text(text.unwrap_or_else(|| PyString::new(*py, name)).unbind())
                }
            });
        }
    }

    /// Cache the object of a known name, if that is worth it.
    #[inline]
    fn keep(&mut self, object: Option<Borrowed<'_, 'py, PyAny>>, id: FeatureId) {
        if self.cache.keeps()
            && let Some(object) = object
        {
            self.cache.put(object.to_owned().unbind(), id, self.learner.names());
        }
    }

    /// Note the objects of names that were new to the learner, of those that have their ids now.
    pub fn note(&mut self, kept: &[(u32, EventKey)], features: &[FeatureValue]) {
        if !self.caches || !self.cache.keeps() {
            return; // an object that will not come again need not live as long as the learner
        }
        for (position, key) in kept {
            let id = features.get(*position as usize).map_or(UNKNOWN, |feature| feature.id);
            if id != UNKNOWN {
                let py = self.py;
                let text = match key {
                    EventKey::Text(text) => PlainName::of(text.bind(py).as_any().as_borrowed()),
                    EventKey::Number(_) => None,
                };
                let object = text.and_then(PlainName::object);
                self.meet(key.name(py), object, id);
                self.keep(object, id);
            }
        }
    }

    /// An event was read of which so many names were known.
    pub fn end_event(&mut self, known: usize) {
        self.cache.end_event(known.saturating_sub(self.others), self.others);
    }
}

impl<'py> FindId<'py> for NameFinder<'_, 'py> {
    #[inline(always)]
    fn known(&self) -> impl Recall {
        let NameCache { places, followers, .. } = &*self.cache;
        let expects_new = !self.cache.keeps();
        Known { places, followers, learner: self.learner, expects_new }
    }

    fn find(
        &mut self,
        name: Name<'_>,
        object: Option<Borrowed<'_, 'py, PyAny>>,
        before: FeatureId,
    ) -> FeatureId {
        if !self.caches {
            return UNKNOWN;
        }
        let place = before.wrapping_add(1) as usize;
        let expected = self.cache.followers.get(place).copied().unwrap_or(NO_FOLLOWER);
        let expected = expected.named(name, self.learner);
        if expected != UNKNOWN {
            self.keep(object, expected); // it is in the book
            self.others += 1;
            return expected;
        }
        let id = self.learner.id(name);
        let own = self.learner.own_names().len() as FeatureId; // they are the first
        if id == UNKNOWN || id < own {
            return UNKNOWN; // who looks it up refuses it
        }
        self.meet(name, object, id);
        self.keep(object, id);
        self.cache.follows(before, Follower { id, tail: tail(name) });
        self.others += 1;
        id
    }

    fn has_repeats(&mut self, features: &[FeatureValue]) -> bool {
        let NameCache { last_event, events, .. } = &mut *self.cache;
        let event = *events + 1; // 0 stands for none
        if last_event.len() < self.learner.names() {
            last_event.resize(self.learner.names().next_power_of_two(), 0);
        }
        let is_repeated = |feature: &FeatureValue| {
            let last = last_event.get_mut(feature.id as usize); // an unknown id lies behind the end
            last.is_some_and(|last| std::mem::replace(last, event) == event)
        };
        features.iter().any(is_repeated)
    }
}
