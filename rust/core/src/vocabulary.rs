//! Feature names and their slots.
//!
//! A slot is given when a name is first learned, so slots count d. Where names are let go, the others
//! move up in their order, so that an older name always has a smaller slot.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher;

use crate::Error;

pub type Slot = u32;

/// In place of a slot: the name has never been learned.
pub const UNKNOWN: Slot = Slot::MAX;

/// A feature's name. The derived order is the order in which new names get their slots:
/// integers by value, then text by code point (which is the order of UTF-8 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged, expecting = "a name must be a text or a 64-bit integer")]
pub enum Name<'a> {
    Number(i64),
    #[serde(borrow)]
    Text(&'a str),
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(&quoted(text)),
        }
    }
}

/// A text between quotes, control characters made visible.
pub fn quoted(text: &str) -> String {
    let mut shown = String::from("'");
    for c in text.chars() {
        if c.is_control() || c == '\'' || c == '\\' {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown + "'"
}

/// The names of one event's features, by position.
pub trait Names {
    fn name(&self, position: usize) -> Name<'_>;
}

impl Names for [Name<'_>] {
    fn name(&self, position: usize) -> Name<'_> {
        self[position]
    }
}

/// Who stays when names are let go, and the slots that they get.
#[derive(Clone, Debug)]
pub struct Survivors {
    /// By old slot; `UNKNOWN` of those that go.
    slots: Vec<Slot>,
    count: usize,
}

impl Survivors {
    /// All of so many slots but these.
    pub fn without(leaving: &[Slot], slots: usize) -> Self {
        let mut new = vec![0; slots];
        for &slot in leaving {
            new[slot as usize] = UNKNOWN;
        }
        let mut count = 0;
        for slot in new.iter_mut().filter(|slot| **slot != UNKNOWN) {
            *slot = count;
            count += 1;
        }
        Self { slots: new, count: count as usize }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The new slot; `UNKNOWN` if it goes, or was never there.
    pub fn of(&self, slot: Slot) -> Slot {
        self.slots.get(slot as usize).copied().unwrap_or(UNKNOWN)
    }

    /// Their rows of `width` cells each.
    pub fn retain<T: Copy>(&self, cells: &mut Vec<T>, width: usize) {
        let mut end = 0;
        for (row, &slot) in self.slots.iter().enumerate() {
            if slot != UNKNOWN {
                cells.copy_within(row * width..(row + 1) * width, end);
                end += width;
            }
        }
        cells.truncate(end);
    }
}

/// Where a name is kept: texts lie end to end in one string.
#[derive(Clone, Copy, Debug)]
enum Place {
    Number(i64),
    Text { length: u32, start: u64 },
}

/// Numbers from 0 up to this have their slots in a plain table, which is then at most 16 MB large.
const SMALL: i64 = 1 << 22;

#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// The slots of small numbers.
    numbers: Vec<Slot>,
    /// Those of all other names.
    table: HashTable<Slot>,
    hasher: FixedState,
    places: Vec<Place>,
    texts: String,
}

impl Vocabulary {
    /// Number of names learned so far: d.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The slot of a name, or `UNKNOWN`.
    pub fn slot(&self, name: Name<'_>) -> Slot {
        if let Name::Number(number @ 0..SMALL) = name {
            return self.numbers.get(number as usize).copied().unwrap_or(UNKNOWN);
        }
        self.table
            .find(self.hash(name), |&slot| self.name(slot) == name)
            .copied()
            .unwrap_or(UNKNOWN)
    }

    pub fn name(&self, slot: Slot) -> Name<'_> {
        name_at(&self.places, &self.texts, slot)
    }

    pub fn names(&self) -> impl Iterator<Item = Name<'_>> {
        (0..self.len() as Slot).map(|slot| self.name(slot))
    }

    /// Whether so many more names can be given slots.
    pub fn room_for(&self, more: usize) -> Result<(), Error> {
        if self.len() + more < UNKNOWN as usize {
            return Ok(());
        }
        Err(Error::Event(format!("event: more than {UNKNOWN} feature names cannot be learned.")))
    }

    /// Give a new name the next slot. The caller knows that it is new and that there is room.
    pub fn insert(&mut self, name: Name<'_>) -> Slot {
        let slot = self.len() as Slot;
        self.places.push(match name {
            Name::Number(number) => Place::Number(number),
            Name::Text(text) => {
                let start = self.texts.len() as u64;
                self.texts.push_str(text);
                Place::Text { length: text.len() as u32, start }
            }
        });
        if let Name::Number(number @ 0..SMALL) = name {
            let index = number as usize;
            if index >= self.numbers.len() {
                self.numbers.resize((index + 1).next_power_of_two(), UNKNOWN);
            }
            self.numbers[index] = slot;
            return slot;
        }
        let hash = self.hash(name);
        let (places, texts, hasher) = (&self.places, &self.texts, &self.hasher);
        let rehash = |&slot: &Slot| hasher.hash_one(name_at(places, texts, slot));
        self.table.insert_unique(hash, slot, rehash);
        slot
    }

    /// Let names go; their texts too.
    pub fn retain(&mut self, survivors: &Survivors) {
        let (places, texts) = (std::mem::take(&mut self.places), std::mem::take(&mut self.texts));
        self.table.clear();
        self.numbers.fill(UNKNOWN);
        self.places.reserve(places.len());
        self.texts.reserve(texts.len());
        for slot in 0..places.len() as Slot {
            if survivors.of(slot) != UNKNOWN {
                self.insert(name_at(&places, &texts, slot));
            }
        }
    }

    fn hash(&self, name: Name<'_>) -> u64 {
        self.hasher.hash_one(name)
    }
}

fn name_at<'a>(places: &[Place], texts: &'a str, slot: Slot) -> Name<'a> {
    match places[slot as usize] {
        Place::Number(number) => Name::Number(number),
        Place::Text { length, start } => {
            let start = start as usize;
            Name::Text(&texts[start..start + length as usize])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_text_are_different_names() {
        let mut vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.insert(Name::Number(1)), 0);
        assert_eq!(vocabulary.slot(Name::Text("1")), UNKNOWN);
        assert_eq!(vocabulary.insert(Name::Text("1")), 1);
        assert_eq!(vocabulary.slot(Name::Number(1)), 0);
        assert_eq!(vocabulary.slot(Name::Text("1")), 1);
    }

    #[test]
    fn small_and_large_numbers_keep_their_slots() {
        let mut vocabulary = Vocabulary::default();
        let numbers = [0, 7, -1, SMALL - 1, SMALL, i64::MAX, i64::MIN, 8, -7];
        for (slot, &number) in numbers.iter().enumerate() {
            assert_eq!(vocabulary.slot(Name::Number(number)), UNKNOWN);
            assert_eq!(vocabulary.insert(Name::Number(number)) as usize, slot);
        }
        vocabulary.retain(&Survivors::without(&[0, 4], numbers.len()));
        let left = [7, -1, SMALL - 1, i64::MAX, i64::MIN, 8, -7];
        for (slot, &number) in left.iter().enumerate() {
            assert_eq!(vocabulary.slot(Name::Number(number)) as usize, slot);
            assert_eq!(vocabulary.name(slot as Slot), Name::Number(number));
        }
        assert_eq!(vocabulary.slot(Name::Number(0)), UNKNOWN);
        assert_eq!(vocabulary.slot(Name::Number(SMALL)), UNKNOWN);
    }

    #[test]
    fn names_survive_growth() {
        let mut vocabulary = Vocabulary::default();
        let texts: Vec<String> = (0..10_000).map(|i| format!("wort-ä-{i}")).collect();
        for text in &texts {
            vocabulary.insert(Name::Text(text));
        }
        for (slot, text) in texts.iter().enumerate() {
            assert_eq!(vocabulary.slot(Name::Text(text)) as usize, slot);
            assert_eq!(vocabulary.name(slot as Slot), Name::Text(text));
        }
    }

    #[test]
    fn who_stays_moves_up_and_takes_rows_along() {
        let mut vocabulary = Vocabulary::default();
        for name in [Name::Text("a"), Name::Number(7), Name::Text("bc"), Name::Text("d")] {
            vocabulary.insert(name);
        }
        let survivors = Survivors::without(&[2, 0], 4);
        vocabulary.retain(&survivors);
        let names: Vec<Name<'_>> = vocabulary.names().collect();
        assert_eq!(names, [Name::Number(7), Name::Text("d")]);
        assert_eq!(vocabulary.slot(Name::Text("d")), 1);
        assert_eq!(vocabulary.slot(Name::Text("bc")), UNKNOWN);
        assert_eq!(vocabulary.texts, "d");
        let mut rows = vec![1, 2, 3, 4, 5, 6, 7, 8];
        survivors.retain(&mut rows, 2);
        assert_eq!(rows, [3, 4, 7, 8]);
        assert_eq!((survivors.of(3), survivors.of(0), survivors.of(9)), (1, UNKNOWN, UNKNOWN));
    }

    #[test]
    fn numbers_come_before_text_and_text_by_code_point() {
        let mut names =
            [Name::Text("b"), Name::Text("ä"), Name::Number(10), Name::Number(-2), Name::Text("B")];
        names.sort_unstable();
        let expected =
            [Name::Number(-2), Name::Number(10), Name::Text("B"), Name::Text("b"), Name::Text("ä")];
        assert_eq!(names, expected);
    }
}
