//! Slots of the names met lately, by the very objects: most streams use the same texts again, and
//! an object that is known need be neither hashed nor compared. Many repeat whole events' names. Where
//! names are let go slots change, and nothing is remembered.
//!
//! A table with two places for a text. It holds on to its texts, so that no other object can come to
//! lie where one of them lay.

use std::sync::Arc;

use headwater_core::{Entrant, Error, Slot, UNKNOWN};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::convert::Key;
use crate::dict::call_for;

const SMALLEST: usize = 1 << 6;
const LARGEST: usize = 1 << 20;

/// The names of events that follow each other, with their slots and the view's seats.
pub struct Shape {
    pub keys: Arc<Vec<Key>>,
    pub slots: Vec<Slot>,
    pub seats: Vec<Slot>,
    /// Whether none of them is unknown, so that nothing need be looked up.
    pub complete: bool,
}

impl Shape {
    fn of(keys: &Arc<Vec<Key>>, event: &Entrant, has_view: bool) -> Self {
        let slots: Vec<Slot> = event.features.iter().map(|feature| feature.slot).collect();
        let unseated = has_view && event.seats.contains(&UNKNOWN);
        let complete = !unseated && !slots.contains(&UNKNOWN);
        Self { keys: keys.clone(), slots, seats: event.seats.clone(), complete }
    }
}

struct Place {
    text: Py<PyString>,
    slot: Slot,
    seat: Slot,
}

#[derive(Default)]
pub struct Memory {
    places: Vec<Option<Place>>,
    /// Of the last two events, if their names were the same.
    shape: Option<Arc<Shape>>,
    /// The names of the last event.
    last: Option<Arc<Vec<Key>>>,
}

impl Memory {
    pub fn shape(&self) -> Option<Arc<Shape>> {
        self.shape.clone()
    }

    /// Note the names and slots of an event, for the next one. Not for one whose shape is complete.
    pub fn note(&mut self, keys: &Arc<Vec<Key>>, event: &Entrant, has_view: bool) {
        let again = |last: &Arc<Vec<Key>>| Arc::ptr_eq(last, keys) || are_same(last, keys);
        if self.last.as_ref().is_some_and(again) {
            self.shape = Some(Arc::new(Shape::of(keys, event, has_view)));
        }
        self.last = Some(keys.clone());
    }

    /// Fill in the slots of the texts that are remembered, and refuse those that are no text. Says
    /// where the others stand.
    pub fn recall(
        &self,
        py: Python<'_>,
        keys: &[Key],
        event: &mut Entrant,
    ) -> Result<Vec<u32>, Error> {
        let mut missed = Vec::new();
        event.seats.resize(keys.len(), UNKNOWN);
        for key in keys {
            if let Key::Text(text) = key
                && let Some(place) = self.places.get(self.place(text))
            {
                call_for(place);
            }
        }
        for (position, key) in keys.iter().enumerate() {
            let Key::Text(text) = key else { continue };
            if let Some(place) = self.find(text) {
                (event.features[position].slot, event.seats[position]) = (place.slot, place.seat);
                if place.slot != UNKNOWN {
                    continue;
                }
            } else if text.bind(py).to_str().is_err() {
                return Err(Error::Event("event: a feature's name is not valid text.".to_owned()));
            }
            missed.push(position as u32);
        }
        Ok(missed)
    }

    fn find(&self, text: &Py<PyString>) -> Option<&Place> {
        let first = self.place(text);
        let holds = |place: usize| {
            let kept = self.places.get(place).and_then(Option::as_ref);
            kept.filter(|kept| kept.text.is(text))
        };
        // Worked out, not branched on: which of the two it is cannot be foreseen, and waiting for
        // the memory to say would hold up the names that follow.
        holds(first ^ usize::from(holds(first).is_none()))
    }

    /// Remember texts that were missed, now that they have been looked up; `names` is how many the
    /// learner knows.
    pub fn remember(
        &mut self,
        py: Python<'_>,
        keys: &[Key],
        event: &Entrant,
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
            let (slot, seat) = (event.features[position].slot, event.seats[position]);
            if let Key::Text(text) = &keys[position]
                && (slot != UNKNOWN || seat != UNKNOWN)
                && text.bind(py).is_exact_instance_of::<PyString>()
            // letting go of it runs no code
            {
                self.put(Place { text: text.clone_ref(py), slot, seat });
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

    fn put(&mut self, place: Place) {
        let first = self.place(&place.text);
        if self.places[first].as_ref().is_some_and(|kept| !kept.text.is(&place.text)) {
            self.places.swap(first, first ^ 1); // the older of the two goes
        }
        self.places[first] = Some(place);
    }

    /// By the object's address, well mixed.
    fn place(&self, text: &Py<PyString>) -> usize {
        let mixed = (text.as_ptr().addr() as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & self.places.len().wrapping_sub(1)
    }
}

/// Whether these are the same texts, object by object.
fn are_same(some: &[Key], others: &[Key]) -> bool {
    let pairs = || some.iter().zip(others);
    some.len() == others.len()
        && pairs().all(|pair| matches!(pair, (Key::Text(a), Key::Text(b)) if a.is(b)))
}
