//! Slots of the names met lately, by the very objects: most streams use the same texts again, and
//! an object that is known need be neither hashed nor compared. Many repeat whole events' names.
//!
//! A table with one place a text. It holds on to its texts, so that no other object can come to lie
//! where one of them lay.

use std::sync::Arc;

use headwater_core::{Entrant, Error, Slot, UNKNOWN};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::convert::Key;

const SMALLEST: usize = 1 << 6;
const LARGEST: usize = 1 << 18;

/// The names of events that follow each other, with their slots and the view's seats.
pub struct Shape {
    pub keys: Arc<Vec<Key>>,
    pub slots: Vec<Slot>,
    pub seats: Vec<Slot>,
}

impl Shape {
    fn of(keys: &Arc<Vec<Key>>, event: &Entrant) -> Self {
        Self {
            keys: keys.clone(),
            slots: event.features.iter().map(|feature| feature.slot).collect(),
            seats: event.seats.clone(),
        }
    }

    fn holds(&self, event: &Entrant) -> bool {
        let slots = event.features.iter().map(|feature| feature.slot);
        self.seats == event.seats && self.slots.iter().copied().eq(slots)
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

    /// Note the names and slots of an event, for the next one.
    pub fn note(&mut self, keys: &Arc<Vec<Key>>, event: &Entrant) {
        match (&self.shape, &self.last) {
            (Some(shape), _) if Arc::ptr_eq(&shape.keys, keys) => {
                if !shape.holds(event) {
                    self.shape = Some(Arc::new(Shape::of(keys, event)));
                }
                return;
            }
            (_, Some(last)) if are_same(last, keys) => {
                self.shape = Some(Arc::new(Shape::of(keys, event)));
            }
            _ => {}
        }
        self.last = Some(keys.clone());
    }

    /// Fill in the slots of the texts that are remembered, and refuse those that are no text.
    /// True if some are not remembered.
    pub fn recall(&self, py: Python<'_>, keys: &[Key], event: &mut Entrant) -> Result<bool, Error> {
        let mut missed = false;
        event.seats.resize(keys.len(), UNKNOWN);
        for ((key, feature), seat) in keys.iter().zip(&mut event.features).zip(&mut event.seats) {
            let Key::Text(text) = key else { continue };
            match self.places.get(self.place(text)) {
                Some(Some(place)) if place.text.is(text) => {
                    feature.slot = place.slot;
                    *seat = place.seat;
                    missed |= place.slot == UNKNOWN;
                }
                _ => {
                    missed = true;
                    if text.bind(py).to_str().is_err() {
                        return Err(Error::Event(
                            "event: a feature's name is not valid text.".to_owned(),
                        ));
                    }
                }
            }
        }
        Ok(missed)
    }

    /// Remember the texts whose slots have been found; `names` is how many the learner knows.
    pub fn remember(&mut self, py: Python<'_>, keys: &[Key], event: &Entrant, names: usize) {
        if self.places.len() < LARGEST && self.places.len() < 2 * names {
            let size = (2 * names).next_power_of_two().clamp(SMALLEST, LARGEST);
            self.places.clear();
            self.places.resize_with(size, || None);
        }
        for ((key, feature), &seat) in keys.iter().zip(&event.features).zip(&event.seats) {
            if let Key::Text(text) = key
                && (feature.slot != UNKNOWN || seat != UNKNOWN)
                && text.bind(py).is_exact_instance_of::<PyString>()
            // letting go of it runs no code
            {
                let place = self.place(text);
                if let Some(kept) = self.places.get_mut(place) {
                    *kept = Some(Place { text: text.clone_ref(py), slot: feature.slot, seat });
                }
            }
        }
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
