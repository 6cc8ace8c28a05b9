//! The slots of a record's names, found with as little hashing as may be.
//!
//! Unless names are let go a slot never changes, so what was found stays found: columns and small numbers have a table, and a
//! text is first compared with what stood at its place in the event before, because most streams
//! repeat their order.

use super::{Given, Place, Record, is_there_twice};
use crate::learner::Learner;
use crate::vocabulary::{Names, Slot, UNKNOWN, Vocabulary};
use crate::weights::Feature;

/// Numbers below this have a place in the table.
const SMALL: i64 = 1 << 22;
/// Right guesses are worth going on guessing; after so many wrong ones in a row it is given up.
const PATIENCE: i32 = 16;
/// Events after which guessing is tried again.
const AGAIN: u64 = 256;

/// Slots by number, by column, and in the order of the last event.
#[derive(Default)]
struct Known {
    numbers: Vec<Slot>,
    columns: Vec<Slot>,
    last: Vec<Slot>,
    trust: i32,
}

impl Known {
    /// The slot of the name at a position, or `UNKNOWN`.
    fn find(&mut self, vocabulary: &Vocabulary, given: &Given<'_>, position: usize) -> Slot {
        let table = match given.places[position] {
            Place::Number(number @ 0..SMALL) => (&mut self.numbers, number as usize),
            Place::Column(column) => (&mut self.columns, column as usize),
            _ => return self.guess(vocabulary, given, position),
        };
        let (slots, index) = table;
        if index >= slots.len() {
            slots.resize((index + 1).next_power_of_two(), UNKNOWN);
        }
        let slot = &mut slots[index];
        if *slot == UNKNOWN {
            *slot = vocabulary.slot(given.name(position));
        }
        *slot
    }

    fn guess(&mut self, vocabulary: &Vocabulary, given: &Given<'_>, position: usize) -> Slot {
        let name = given.name(position);
        if self.trust < 0 {
            return vocabulary.slot(name);
        }
        if position >= self.last.len() {
            self.last.resize(position + 1, UNKNOWN);
        }
        let guess = &mut self.last[position];
        if *guess != UNKNOWN && vocabulary.name(*guess) == name {
            self.trust = PATIENCE;
            return *guess;
        }
        self.trust -= i32::from(*guess != UNKNOWN);
        let slot = vocabulary.slot(name);
        if slot != UNKNOWN {
            *guess = slot;
        }
        slot
    }

    fn trust_again(&mut self) {
        self.trust = PATIENCE;
    }
}

#[derive(Default)]
pub struct Finder {
    slots: Known,
    seats: Known,
    /// The event in which a slot was met last, to see a name that is there twice.
    met: Vec<u64>,
    events: u64,
}

impl Finder {
    /// Fill in the slots and seats of a record, and refuse a name that is there twice or is the
    /// learner's own.
    pub fn find(
        &mut self,
        learner: &Learner,
        record: &mut Record,
        given: &Given<'_>,
    ) -> Result<(), String> {
        self.events += 1;
        if self.events.is_multiple_of(AGAIN) || self.events == 1 {
            self.slots.trust_again();
            self.seats.trust_again();
        }
        let event = &mut record.event;
        let evicts = learner.evicts();
        for (position, feature) in event.features.iter_mut().enumerate() {
            feature.slot = if evicts {
                learner.vocabulary.slot(given.name(position))
            } else {
                self.slots.find(&learner.vocabulary, given, position)
            };
        }
        for (position, feature) in event.features.iter().enumerate() {
            if learner.added_slots.contains(&feature.slot) {
                learner.config.added.check(given.name(position))?;
            }
        }
        if record.may_repeat {
            self.check(&event.features, learner.vocabulary.len(), given)?;
        }
        if let Some(view) = &learner.view {
            event.seats.clear();
            for position in 0..event.features.len() {
                event.seats.push(if evicts {
                    view.seat(given.name(position))
                } else {
                    self.seats.find(view.vocabulary(), given, position)
                });
            }
        }
        Ok(())
    }

    fn check(
        &mut self,
        features: &[Feature],
        names: usize,
        given: &Given<'_>,
    ) -> Result<(), String> {
        if self.met.len() < names {
            self.met.resize(names.next_power_of_two(), 0);
        }
        let mut unknown = 0;
        for (position, feature) in features.iter().enumerate() {
            if feature.slot == UNKNOWN {
                unknown += 1;
            } else if std::mem::replace(&mut self.met[feature.slot as usize], self.events)
                == self.events
            {
                return Err(is_there_twice(given.name(position)));
            }
        }
        if unknown > 1 {
            let positions = 0..features.len() as u32;
            let unknown = positions.filter(|&i| features[i as usize].slot == UNKNOWN);
            given.check_some(unknown.collect())?;
        }
        Ok(())
    }
}
