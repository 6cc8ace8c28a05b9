//! Slots of the names met lately, by the very objects: most streams use the same texts again, and
//! an object that is known need be neither hashed nor compared.
//!
//! A table with one place a text. It holds on to its texts, so that no other object can come to lie
//! where one of them lay.

use headwater_core::{Entrant, Error, Slot, UNKNOWN};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::convert::Key;

const SMALLEST: usize = 1 << 6;
const LARGEST: usize = 1 << 16;

#[derive(Default)]
pub struct Memory {
    places: Vec<Option<(Py<PyString>, Slot)>>,
    /// How many features the learner had let go; with more, slots have changed.
    evicted: u64,
}

impl Memory {
    /// Forget all slots if features have been let go since.
    pub fn keep_up(&mut self, evicted: u64) {
        if evicted != self.evicted {
            *self = Self { places: Vec::new(), evicted };
        }
    }

    /// Fill in the slots of the texts that are remembered, and refuse those that are no text.
    /// True if some are not remembered.
    pub fn recall(&self, py: Python<'_>, keys: &[Key], event: &mut Entrant) -> Result<bool, Error> {
        let mut missed = false;
        for (key, feature) in keys.iter().zip(&mut event.features) {
            let Key::Text(text) = key else { continue };
            match self.places.get(self.place(text)) {
                Some(Some((known, slot))) if known.is(text) => feature.slot = *slot,
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
        for (key, feature) in keys.iter().zip(&event.features) {
            if let (Key::Text(text), true) = (key, feature.slot != UNKNOWN)
                && text.bind(py).is_exact_instance_of::<PyString>()
            // letting go of it runs no code
            {
                let place = self.place(text);
                if let Some(kept) = self.places.get_mut(place)
                    && !kept.as_ref().is_some_and(|(known, _)| known.is(text))
                {
                    *kept = Some((text.clone_ref(py), feature.slot));
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
