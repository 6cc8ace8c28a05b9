//! The one table of all feature names: the id of each name, and when it was learned.
//!
//! A name gets the next id when it is first met: with a running scaler by an event of the stream, without one
//! by an event that is learned. The id is its row in this table, in the scaler's statistics and in the
//! model's weights, so a name is looked up once per event. When names are evicted the others are renumbered
//! in their order, so that an older name always has a smaller id.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use std::hash::BuildHasher;

use crate::error::Error;
use crate::event::{FeatureId, Name, UNKNOWN};
use crate::feature_history::{FeatureHistory, Histories};
use crate::storage::index_remap::IndexRemap;

/// A name as it is stored: texts lie end to end in one string.
#[derive(Clone, Copy, Debug)]
enum StoredName {
    Number(i64),
    Text { length: u32, start: u64 },
}

/// Numbers from 0 to this have their ids in a plain table, which is at most 16 MB large.
pub(crate) const SMALL: i64 = 1 << 22;

#[derive(Clone, Debug, Default)]
pub struct FeatureTable {
    /// The id of each small number.
    numbers: Vec<FeatureId>,
    /// The ids of all other names.
    table: HashTable<FeatureId>,
    hasher: FixedState,
    stored: Vec<StoredName>,
    texts: String,
    history: Histories,
}

impl FeatureTable {
    /// Number of names: d.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// The ids of the numbers from 0 on; those behind the end have to be looked up.
    pub fn small_numbers(&self) -> &[FeatureId] {
        &self.numbers
    }

    /// The id of a name, or `UNKNOWN`.
    #[inline]
    pub fn id(&self, name: Name<'_>) -> FeatureId {
        if let Name::Number(number @ 0..SMALL) = name {
            return self.numbers.get(number as usize).copied().unwrap_or(UNKNOWN);
        }
        self.hashed_id(name)
    }

    #[inline(never)]
    fn hashed_id(&self, name: Name<'_>) -> FeatureId {
        self.table.find(self.hash(name), |&id| self.name(id) == name).copied().unwrap_or(UNKNOWN)
    }

    #[inline]
    pub fn name(&self, id: FeatureId) -> Name<'_> {
        name_at(&self.stored, &self.texts, id)
    }

    pub fn names(&self) -> impl Iterator<Item = Name<'_>> {
        (0..self.len() as FeatureId).map(|id| self.name(id))
    }

    /// When each name was learned, by its id.
    pub fn history(&self) -> &Histories {
        &self.history
    }

    /// Note that an event of this round was learned, with these features.
    #[inline(always)]
    pub fn note_learned(&mut self, ids: impl Iterator<Item = FeatureId>, round: u64) {
        self.history.note(ids, round);
    }

    /// Put a saved history in place of that of all names; so many events were learned.
    pub fn set_history(&mut self, history: Vec<FeatureHistory>, learned: u64) {
        self.history.adopt(history, learned);
    }

    /// Refuse so many more names if there are not enough ids.
    pub fn room_for(&self, more: usize) -> Result<(), Error> {
        if self.len() + more < UNKNOWN as usize {
            return Ok(());
        }
        Err(Error::Event(format!("event: more than {UNKNOWN} feature names cannot be learned.")))
    }

    /// Take the memory for new names, so that [`Self::insert`] needs none.
    pub fn reserve<'a>(&mut self, new: impl Iterator<Item = Name<'a>>) -> Result<(), Error> {
        let (mut count, mut bytes) = (0, 0);
        for name in new {
            count += 1;
            bytes += if let Name::Text(text) = name { text.len() } else { 0 };
        }
        let full = || Error::Memory("event: there is no memory for its new names.".to_owned());
        self.texts.try_reserve(bytes).map_err(|_| full())?;
        self.stored.try_reserve(count).map_err(|_| full())?;
        self.history.try_reserve(count).map_err(|_| full())?;
        let (stored, texts, hasher) = (&self.stored, &self.texts, &self.hasher);
        let rehash = |&id: &FeatureId| hasher.hash_one(name_at(stored, texts, id));
        self.table.try_reserve(count, rehash).map_err(|_| full())
    }

    /// The next id for a name, which cannot be found yet.
    fn store(&mut self, name: Name<'_>) -> FeatureId {
        let id = self.len() as FeatureId;
        self.history.push();
        self.stored.push(match name {
            Name::Number(number) => StoredName::Number(number),
            Name::Text(text) => {
                let start = self.texts.len() as u64;
                self.texts.push_str(text);
                StoredName::Text { length: text.len() as u32, start }
            }
        });
        id
    }

    /// Give a new name the next id. The caller knows that it is new and that there is room.
    pub fn insert(&mut self, name: Name<'_>) -> FeatureId {
        let id = self.store(name);
        if let Name::Number(number @ 0..SMALL) = name {
            let index = number as usize;
            if index >= self.numbers.len() {
                self.numbers.resize((index + 1).next_power_of_two(), UNKNOWN);
            }
            self.numbers[index] = id;
            return id;
        }
        let hash = self.hash(name);
        let (stored, texts, hasher) = (&self.stored, &self.texts, &self.hasher);
        let rehash = |&id: &FeatureId| hasher.hash_one(name_at(stored, texts, id));
        self.table.insert_unique(hash, id, rehash);
        id
    }

    /// Give a name the next id, unless it has one. False if it has; the caller knows that there is room.
    pub fn insert_if_new(&mut self, name: Name<'_>) -> bool {
        if let Name::Number(0..SMALL) = name {
            let is_new = self.id(name) == UNKNOWN;
            if is_new {
                self.insert(name);
            }
            return is_new;
        }
        let (hash, id) = (self.hash(name), self.len() as FeatureId);
        let (stored, texts, hasher) = (&self.stored, &self.texts, &self.hasher);
        let rehash = |&id: &FeatureId| hasher.hash_one(name_at(stored, texts, id));
        let is_same = |&id: &FeatureId| name_at(stored, texts, id) == name;
        let Entry::Vacant(place) = self.table.entry(hash, is_same, rehash) else { return false };
        place.insert(id);
        self.store(name);
        true
    }

    /// Drop the names of evicted ids, and their texts.
    pub fn retain(&mut self, remap: &IndexRemap) {
        let mut history = std::mem::take(&mut self.history);
        history.retain(remap);
        let (stored, texts) = (std::mem::take(&mut self.stored), std::mem::take(&mut self.texts));
        self.table.clear();
        self.numbers.fill(UNKNOWN);
        self.stored.reserve(stored.len());
        self.texts.reserve(texts.len());
        for id in 0..stored.len() as FeatureId {
            if remap.of(id) != UNKNOWN {
                self.insert(name_at(&stored, &texts, id));
            }
        }
        self.history = history;
    }

    fn hash(&self, name: Name<'_>) -> u64 {
        self.hasher.hash_one(name)
    }
}

#[inline]
fn name_at<'a>(stored: &[StoredName], texts: &'a str, id: FeatureId) -> Name<'a> {
    match stored[id as usize] {
        StoredName::Number(number) => Name::Number(number),
        StoredName::Text { length, start } => {
            let start = start as usize;
            Name::Text(&texts[start..start + length as usize])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reserved_is_enough_for_the_names() {
        let mut table = FeatureTable::default();
        let texts: Vec<String> = (0..500).map(|i| format!("name-{i}")).collect();
        let names = || texts.iter().map(|text| Name::Text(text)).chain([Name::Number(-5)]);
        table.reserve(names()).unwrap();
        let room =
            |of: &FeatureTable| (of.texts.capacity(), of.stored.capacity(), of.table.capacity());
        let before = room(&table);
        for name in names() {
            table.insert(name);
        }
        assert_eq!((room(&table), table.len()), (before, 501));
    }

    #[test]
    fn a_name_is_inserted_once() {
        let mut table = FeatureTable::default();
        let names = [Name::Text("a"), Name::Number(7), Name::Number(-7), Name::Text("7")];
        for name in names {
            assert!(table.insert_if_new(name));
        }
        for (id, name) in names.into_iter().enumerate() {
            assert!(!table.insert_if_new(name));
            assert_eq!(table.id(name) as usize, id);
        }
        assert_eq!(table.len(), 4);
    }

    #[test]
    fn a_number_and_its_text_are_different_names() {
        let mut table = FeatureTable::default();
        assert_eq!(table.insert(Name::Number(1)), 0);
        assert_eq!(table.id(Name::Text("1")), UNKNOWN);
        assert_eq!(table.insert(Name::Text("1")), 1);
        assert_eq!(table.id(Name::Number(1)), 0);
        assert_eq!(table.id(Name::Text("1")), 1);
    }

    #[test]
    fn small_and_large_numbers_are_found_before_and_after_an_eviction() {
        let mut table = FeatureTable::default();
        let numbers = [0, 7, -1, SMALL - 1, SMALL, i64::MAX, i64::MIN, 8, -7];
        for (id, &number) in numbers.iter().enumerate() {
            assert_eq!(table.id(Name::Number(number)), UNKNOWN);
            assert_eq!(table.insert(Name::Number(number)) as usize, id);
        }
        table.retain(&IndexRemap::without(&[0, 4], numbers.len()));
        let left = [7, -1, SMALL - 1, i64::MAX, i64::MIN, 8, -7];
        for (id, &number) in left.iter().enumerate() {
            assert_eq!(table.id(Name::Number(number)) as usize, id);
            assert_eq!(table.name(id as FeatureId), Name::Number(number));
        }
        assert_eq!(table.id(Name::Number(0)), UNKNOWN);
        assert_eq!(table.id(Name::Number(SMALL)), UNKNOWN);
    }

    #[test]
    fn names_are_found_after_the_table_has_grown() {
        let mut table = FeatureTable::default();
        let texts: Vec<String> = (0..10_000).map(|i| format!("wort-ä-{i}")).collect();
        for text in &texts {
            table.insert(Name::Text(text));
        }
        for (id, text) in texts.iter().enumerate() {
            assert_eq!(table.id(Name::Text(text)) as usize, id);
            assert_eq!(table.name(id as FeatureId), Name::Text(text));
        }
    }

    #[test]
    fn kept_names_are_renumbered_together_with_their_rows() {
        let mut table = FeatureTable::default();
        for name in [Name::Text("a"), Name::Number(7), Name::Text("bc"), Name::Text("d")] {
            table.insert(name);
        }
        let remap = IndexRemap::without(&[2, 0], 4);
        table.retain(&remap);
        let names: Vec<Name<'_>> = table.names().collect();
        assert_eq!(names, [Name::Number(7), Name::Text("d")]);
        assert_eq!(table.id(Name::Text("d")), 1);
        assert_eq!(table.id(Name::Text("bc")), UNKNOWN);
        assert_eq!(table.texts, "d");
        let mut rows = vec![1, 2, 3, 4, 5, 6, 7, 8];
        remap.retain(&mut rows, 2);
        assert_eq!(rows, [3, 4, 7, 8]);
        assert_eq!((remap.of(3), remap.of(0), remap.of(9)), (1, UNKNOWN, UNKNOWN));
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
