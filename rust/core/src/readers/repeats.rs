//! Finds a name that an event has twice, by hashing each of its names once.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::event::Names;
use crate::readers::record::{RecordNames, is_there_twice};

/// The table is used again for every event; one that an unusually long event has made this many
/// times too large is given up.
const MOST_ROOM: usize = 64;

#[derive(Default)]
pub struct RepeatFinder {
    hasher: FixedState,
    /// Positions of the event's names.
    table: HashTable<u32>,
}

impl RepeatFinder {
    /// Refuse a name that appears twice.
    pub fn check(&mut self, names: &RecordNames<'_>) -> Result<(), String> {
        let count = names.places.len();
        if self.table.capacity() > MOST_ROOM * (count + 1) {
            self.table = HashTable::new();
        }
        self.table.clear();
        for position in 0..count as u32 {
            let name = names.name(position as usize);
            let hash = self.hasher.hash_one(name);
            if self.table.find(hash, |&other| names.name(other as usize) == name).is_some() {
                return Err(is_there_twice(name));
            }
            let rehash = |&other: &u32| self.hasher.hash_one(names.name(other as usize));
            self.table.insert_unique(hash, position, rehash);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::record::NameRef;

    fn check(finder: &mut RepeatFinder, texts: &[&str]) -> Result<(), String> {
        let mut places = Vec::new();
        let mut line = String::new();
        for text in texts {
            let start = line.len() as u32;
            line.push_str(text);
            places.push(NameRef::Line { start, end: line.len() as u32 });
        }
        finder.check(&RecordNames { line: &line, header: &[], texts: "", places: &places })
    }

    #[test]
    fn a_name_is_found_twice_wherever_it_stands_and_in_one_event_only() {
        let mut finder = RepeatFinder::default();
        let many: Vec<String> = (0..5_000).map(|i| format!("name-{i}")).collect();
        let mut all: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(check(&mut finder, &all), Ok(()));
        assert_eq!(check(&mut finder, &all), Ok(()));
        all.push("name-17");
        assert_eq!(check(&mut finder, &all), Err("feature 'name-17' appears twice.".to_owned()));
        for names in [["a", "b", "a"], ["a", "a", "b"], ["b", "a", "a"]] {
            assert_eq!(check(&mut finder, &names), Err("feature 'a' appears twice.".to_owned()));
        }
        assert_eq!(check(&mut finder, &["a", "b"]), Ok(()));
        assert_eq!(check(&mut finder, &[]), Ok(()));
    }
}
