//! The slots of a record's names, found with as little hashing as may be.
//!
//! Unless names are let go a slot never changes, so what was found stays found: columns and small
//! numbers have a table, and texts met lately a place each in another, by a few of their bytes.

use super::number::eight_bytes;
use super::{Given, Place, Record, is_there_twice};
use crate::learner::Learner;
use crate::vocabulary::{Names, Slot, UNKNOWN, Vocabulary};
use crate::weights::Feature;

/// Numbers below this have a place in the table.
const SMALL: i64 = 1 << 22;
/// Pairs of places for texts, at first and at most.
const FEWEST: usize = 1 << 7;
const MOST: usize = 1 << 16;

/// A few bytes of a text. Two texts of up to 16 bytes are the same if these are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Print {
    first: u64,
    last: u64,
    length: u32,
}

impl Print {
    /// Of the text that lies between two places.
    #[inline]
    pub fn of(bytes: &[u8], start: u32, end: u32) -> Self {
        let length = end - start;
        let some = length.min(8);
        let others = 64 - 8 * some; // bits of what stands behind a short text
        Self {
            first: eight_bytes(bytes, start as usize).wrapping_shl(others),
            last: eight_bytes(bytes, (end - some) as usize).wrapping_shl(others),
            length,
        }
    }

    pub fn is_all(self) -> bool {
        self.length <= 16
    }

    /// 64 bits of which the higher are as good as drawn.
    fn hash(self) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (self.first.wrapping_mul(ODD).rotate_left(32) ^ self.last).wrapping_mul(ODD);
        mixed.wrapping_add(u64::from(self.length))
    }
}

/// A text met lately.
#[derive(Clone, Copy)]
struct Met {
    print: Print,
    slot: Slot,
}

const NONE: Met = Met { print: Print { first: 0, last: 0, length: u32::MAX }, slot: UNKNOWN };

/// Two texts that share a line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Pair([Met; 2]);

/// Slots by number, by column and by text.
#[derive(Default)]
struct Known {
    numbers: Vec<Slot>,
    columns: Vec<Slot>,
    texts: Vec<Pair>,
    /// What is left of the hash of a text, shifted by this, is the place of its pair.
    shift: u32,
}

impl Known {
    /// The slot of the name at a position, or `UNKNOWN`.
    #[inline(always)]
    fn find(&mut self, vocabulary: &Vocabulary, given: &Given<'_>, position: usize) -> Slot {
        let known = match given.places[position] {
            Place::Number(number) => self.numbers.get(number as usize),
            Place::Column(column) => self.columns.get(column as usize),
            Place::Line { start, end } => {
                let print = Print::of(given.line.as_bytes(), start, end);
                return self.find_text(vocabulary, given, position, print);
            }
            Place::Text { start, end } => {
                let print = Print::of(given.texts.as_bytes(), start, end);
                return self.find_text(vocabulary, given, position, print);
            }
        };
        match known {
            Some(&slot) if slot != UNKNOWN => slot,
            _ => self.look_up(vocabulary, given, position),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, vocabulary: &Vocabulary, given: &Given<'_>, position: usize) -> Slot {
        let slot = vocabulary.slot(given.name(position));
        let (slots, index) = match given.places[position] {
            Place::Number(number @ 0..SMALL) => (&mut self.numbers, number as usize),
            Place::Column(column) => (&mut self.columns, column as usize),
            _ => return slot,
        };
        if index >= slots.len() {
            slots.resize((index + 1).next_power_of_two(), UNKNOWN);
        }
        slots[index] = slot;
        slot
    }

    #[inline(always)]
    fn find_text(
        &mut self,
        vocabulary: &Vocabulary,
        given: &Given<'_>,
        position: usize,
        print: Print,
    ) -> Slot {
        if let Some(Pair(pair)) = self.texts.get((print.hash() >> self.shift) as usize) {
            for met in pair {
                if met.print == print
                    && (print.is_all() || is_name(vocabulary, met.slot, given, position))
                {
                    return met.slot;
                }
            }
        }
        self.look_up_text(vocabulary, given, position, print)
    }

    #[inline(never)]
    fn look_up_text(
        &mut self,
        vocabulary: &Vocabulary,
        given: &Given<'_>,
        position: usize,
        print: Print,
    ) -> Slot {
        let slot = vocabulary.slot(given.name(position));
        if slot == UNKNOWN {
            return slot;
        }
        if self.texts.len() < vocabulary.len().min(MOST) {
            let pairs = (2 * vocabulary.len()).next_power_of_two().clamp(FEWEST, MOST);
            self.texts = vec![Pair([NONE; 2]); pairs];
            self.shift = u64::BITS - pairs.ilog2();
        }
        let Pair([first, second]) = &mut self.texts[(print.hash() >> self.shift) as usize];
        *(if first.slot == UNKNOWN { first } else { second }) = Met { print, slot };
        slot
    }
}

#[inline(never)]
fn is_name(vocabulary: &Vocabulary, slot: Slot, given: &Given<'_>, position: usize) -> bool {
    vocabulary.name(slot) == given.name(position)
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
        let event = &mut record.event;
        let evicts = learner.evicts();
        for (position, feature) in event.features.iter_mut().enumerate() {
            feature.slot = if evicts {
                learner.vocabulary.slot(given.name(position))
            } else {
                self.slots.find(&learner.vocabulary, given, position)
            };
        }
        if !learner.added_slots.is_empty() {
            for (position, feature) in event.features.iter().enumerate() {
                if learner.added_slots.contains(&feature.slot) {
                    learner.config.added.check(given.name(position))?;
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Name;

    #[test]
    fn a_slot_is_that_of_the_vocabulary_whatever_was_met_before() {
        let mut texts: Vec<String> = (0..3_000).map(|i| format!("word-{i}")).collect();
        texts.extend((0..300).map(|i| format!("begins-alike-{i}-ends-alike")));
        texts.extend((0..20).map(|length| "x".repeat(length)));
        texts.push("äöü".to_owned());
        let mut vocabulary = Vocabulary::default();
        let mut known = Known::default();
        for round in 0..4 {
            // In a line each has others beside it, in the texts too; some are learned later.
            let line = texts.join("\"");
            let (mut places, mut start) = (Vec::new(), 0);
            for text in &texts {
                let (from, to) = (start as u32, (start + text.len()) as u32);
                places.push(Place::Line { start: from, end: to });
                places.push(Place::Text { start: from, end: to });
                start += text.len() + 1;
            }
            for number in [-1, 0, 7, SMALL - 1, SMALL, i64::MAX] {
                places.push(Place::Number(number));
            }
            places.extend((0..20).map(Place::Column));
            let given = Given { line: &line, header: &texts, texts: &line, places: &places };
            for position in 0..places.len() {
                let slot = known.find(&vocabulary, &given, position);
                assert_eq!(slot, vocabulary.slot(given.name(position)), "{}", given.name(position));
            }
            for position in (round..places.len()).step_by(3) {
                let name = given.name(position);
                if vocabulary.slot(name) == UNKNOWN {
                    vocabulary.insert(name);
                }
            }
        }
        assert_ne!(vocabulary.slot(Name::Text("word-7")), UNKNOWN);
        assert!((vocabulary.len()..MOST).contains(&known.texts.len()));
    }
}
