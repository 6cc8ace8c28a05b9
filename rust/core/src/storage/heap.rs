//! An indexed min-heap over the non-zero weights: finds the smallest, which is set to 0 first.
//!
//! Entries are ordered by (key, newest id first), so among equal weights the older id is kept. The
//! order is total, so what is popped depends on the weights alone and not on the history of the
//! heap.
//!
//! Keys are updated lazily. Most weights grow in most steps, and few of them are ever among the
//! smallest. So an entry whose key has grown is not moved. Invariant: the key of an entry is at
//! most the current one. It is corrected when the entry comes to the top.

use crate::event::{FeatureId, UNKNOWN};
use crate::storage::index_remap::IndexRemap;

/// A key and its id as one number, so that one comparison orders them. The high bits are those of
/// the key, which rise with a positive float; the low bits are the complement of the id, so that
/// the newest comes first.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct HeapEntry(u128);

impl HeapEntry {
    /// 0 < key ≤ |v|
    fn new(key: f64, id: FeatureId) -> Self {
        Self(u128::from(key.to_bits()) << 32 | u128::from(!id))
    }

    fn key(self) -> f64 {
        f64::from_bits((self.0 >> 32) as u64)
    }

    fn id(self) -> FeatureId {
        !(self.0 as u32)
    }
}

/// Children per entry. Four give few levels, so that few entries move, and lie side by side in
/// memory.
const BRANCHES: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct Heap {
    entries: Vec<HeapEntry>,
    positions: Vec<u32>, // by id; UNKNOWN if the id is not in the heap
}

impl Heap {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.positions.fill(UNKNOWN);
    }

    /// Add an id and remove the smallest, which may be the same one. Returns the id that was
    /// removed. `current_key` gives the keys of the others.
    pub fn push_pop(
        &mut self,
        id: FeatureId,
        key: f64,
        current_key: impl Fn(FeatureId) -> f64,
    ) -> FeatureId {
        let entry = HeapEntry::new(key, id);
        // The top is at most the smallest key: an entry below it is the smallest.
        if self.entries.first().is_none_or(|first| entry < *first) {
            return id;
        }
        match self.smallest(current_key) {
            Some(out) if entry > self.entries[0] => {
                self.positions[out as usize] = UNKNOWN;
                self.make_room(id);
                self.entries[0] = entry;
                self.sift_down(0);
                out
            }
            _ => id,
        }
    }

    fn make_room(&mut self, id: FeatureId) {
        if self.positions.len() <= id as usize {
            self.positions.resize(id as usize + 1, UNKNOWN);
        }
    }

    /// Remove evicted ids and give the others their new numbers.
    pub fn retain(&mut self, remap: &IndexRemap) {
        for entry in &mut self.entries {
            *entry = HeapEntry::new(entry.key(), remap.of(entry.id()));
        }
        self.entries.retain(|entry| entry.id() != UNKNOWN);
        self.positions.clear();
        self.positions.resize(remap.len(), UNKNOWN);
        self.heapify();
    }

    pub fn ids(&self) -> impl Iterator<Item = FeatureId> {
        self.entries.iter().map(|entry| entry.id())
    }

    /// Replace the keys of all ids; a key of 0 removes the id.
    pub fn set_all(&mut self, key: impl Fn(FeatureId) -> f64) {
        for entry in &mut self.entries {
            let id = entry.id();
            *entry = HeapEntry::new(key(id), id);
            self.positions[id as usize] = UNKNOWN;
        }
        self.entries.retain(|entry| entry.key() > 0.0);
        self.heapify();
    }

    /// Put the keys of ids from 0 on in place of all entries.
    pub fn fill(&mut self, keys: impl ExactSizeIterator<Item = f64>) {
        self.entries.clear();
        self.positions.clear();
        self.positions.resize(keys.len(), UNKNOWN);
        let entries = (0..).zip(keys).filter(|&(_, key)| key > 0.0);
        self.entries.extend(entries.map(|(id, key)| HeapEntry::new(key, id)));
        self.heapify();
    }

    /// Restore the heap order of all entries.
    fn heapify(&mut self) {
        for (position, entry) in self.entries.iter().enumerate() {
            self.positions[entry.id() as usize] = position as u32;
        }
        for position in (0..self.entries.len().div_ceil(BRANCHES)).rev() {
            self.sift_down(position);
        }
    }

    /// Set the key of an id; a key of 0 removes the id. Not needed for a key that has only grown.
    pub fn set(&mut self, id: FeatureId, key: f64) {
        self.make_room(id);
        let position = self.positions[id as usize];
        if position == UNKNOWN {
            if key > 0.0 {
                self.entries.push(HeapEntry::new(key, id));
                self.sift_up(self.entries.len() - 1);
            }
        } else if key == 0.0 {
            self.remove(position as usize);
        } else if key < self.entries[position as usize].key() {
            self.entries[position as usize] = HeapEntry::new(key, id);
            self.sift_up(position as usize);
        }
    }

    /// The id with the smallest key; `current_key` gives the keys.
    pub fn smallest(&mut self, current_key: impl Fn(FeatureId) -> f64) -> Option<FeatureId> {
        loop {
            let top = self.entries.first_mut()?;
            let id = top.id();
            let entry = HeapEntry::new(current_key(id), id);
            if entry == *top {
                return Some(id);
            }
            *top = entry;
            self.sift_down(0);
        }
    }

    /// Remove the smallest.
    pub fn pop(&mut self, current_key: impl Fn(FeatureId) -> f64) -> Option<FeatureId> {
        let id = self.smallest(current_key)?;
        self.remove(0);
        Some(id)
    }

    fn remove(&mut self, position: usize) {
        let out = self.entries.swap_remove(position);
        self.positions[out.id() as usize] = UNKNOWN;
        if position < self.entries.len() {
            if self.entries[position] < out {
                self.sift_up(position);
            } else {
                self.sift_down(position);
            }
        }
    }

    fn sift_up(&mut self, mut position: usize) {
        let entry = self.entries[position];
        while position > 0 {
            let parent = (position - 1) / BRANCHES;
            if entry > self.entries[parent] {
                break;
            }
            self.put(position, self.entries[parent]);
            position = parent;
        }
        self.put(position, entry);
    }

    fn sift_down(&mut self, mut position: usize) {
        let entry = self.entries[position];
        loop {
            let first = BRANCHES * position + 1;
            let smallest = match self.entries.get(first..) {
                // Without branches: the processor cannot predict which of the four is the smallest.
                Some(&[a, b, c, d, ..]) => {
                    let (left, right) = (usize::from(b < a), 2 + usize::from(d < c));
                    let (low, high) = (if b < a { b } else { a }, if d < c { d } else { c });
                    first + if high < low { right } else { left }
                }
                Some(few) => match (0..few.len()).min_by(|&a, &b| few[a].0.cmp(&few[b].0)) {
                    Some(child) => first + child,
                    None => break,
                },
                None => break,
            };
            if entry < self.entries[smallest] {
                break;
            }
            self.put(position, self.entries[smallest]);
            position = smallest;
        }
        self.put(position, entry);
    }

    fn put(&mut self, position: usize, entry: HeapEntry) {
        self.entries[position] = entry;
        self.positions[entry.id() as usize] = position as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::rng::Generator;

    /// The ids, smallest key first.
    fn drain(heap: &mut Heap, current_key: impl Fn(FeatureId) -> f64) -> Vec<FeatureId> {
        std::iter::from_fn(|| heap.pop(&current_key)).collect()
    }

    #[test]
    fn among_equal_keys_the_newest_id_is_popped_first() {
        let mut heap = Heap::default();
        for id in [2, 0, 1] {
            heap.set(id, 0.5);
        }
        heap.set(3, 0.25);
        assert_eq!(drain(&mut heap, |id| if id == 3 { 0.25 } else { 0.5 }), [3, 2, 1, 0]);
    }

    #[test]
    fn push_pop_removes_the_smallest() {
        let mut heap = Heap::default();
        let current_key = |id| [1.0, 2.0, 0.5, 1.0, 1.5, 1.0][id as usize];
        heap.set(0, 1.0);
        heap.set(1, 2.0);
        assert_eq!(heap.push_pop(2, 0.5, current_key), 2);
        assert_eq!(heap.push_pop(3, 1.0, current_key), 3); // a tie: the older is kept
        assert_eq!(heap.push_pop(4, 1.5, current_key), 0);
        assert_eq!(drain(&mut heap, current_key), [4, 1]);
        assert_eq!(heap.push_pop(5, 1.0, current_key), 5); // an empty heap keeps nothing
    }

    #[test]
    fn a_key_of_zero_removes_its_id() {
        let mut heap = Heap::default();
        heap.set(0, 1.0);
        heap.set(1, 2.0);
        heap.set(0, 0.0);
        heap.set(5, 0.0);
        assert_eq!(drain(&mut heap, |_| 2.0), [1]);
    }

    #[test]
    fn keys_that_become_equal_or_zero_keep_their_order() {
        let mut heap = Heap::default();
        for (id, key) in [(0, 4.0), (1, 1.0), (2, 2.0), (3, 3.0)] {
            heap.set(id, key);
        }
        heap.set_all(|id| if id == 3 { 0.0 } else { 5.0 });
        heap.set(3, 6.0);
        assert_eq!(drain(&mut heap, |id| if id == 3 { 6.0 } else { 5.0 }), [2, 1, 0, 3]);
    }

    #[test]
    fn a_heap_whose_keys_are_all_replaced_is_in_order() {
        let mut heap = Heap::default();
        for id in 0..50 {
            heap.set(id, f64::from(id) + 1.0);
        }
        let turned = |id: FeatureId| 51.0 - f64::from(id);
        heap.set_all(turned);
        assert_eq!(drain(&mut heap, turned), (0..50).rev().collect::<Vec<FeatureId>>());
    }

    #[test]
    fn ids_that_are_renumbered_keep_their_order() {
        let mut heap = Heap::default();
        for (id, key) in [(0, 4.0), (1, 1.0), (2, 2.0), (3, 1.0), (5, 3.0)] {
            heap.set(id, key);
        }
        heap.retain(&IndexRemap::without(&[2, 4], 6));
        // 0 1 3 5 are 0 1 2 3 now, and the second of them has grown
        assert_eq!(drain(&mut heap, |id| [4.0, 3.0, 1.0, 3.0][id as usize]), [2, 3, 1, 0]);
    }

    #[test]
    fn pops_in_order_after_any_changes() {
        let mut generator = Generator::from_seed(1);
        let mut heap = Heap::default();
        let mut keys = vec![0.0; 60];
        for _ in 0..5_000 {
            let id = (generator.uniform() * 60.0) as usize;
            let key = (generator.uniform() * 12.0).floor() / 4.0; // many ties, many zeros
            if key <= keys[id] || keys[id] == 0.0 || generator.uniform() < 0.5 {
                heap.set(id as FeatureId, key); // a key that grows need not be set
            }
            keys[id] = key;
        }
        let mut expected: Vec<FeatureId> = (0..60).filter(|&s| keys[s as usize] > 0.0).collect();
        expected.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]).then(b.cmp(&a)));
        assert_eq!(drain(&mut heap, |id| keys[id as usize]), expected);
    }
}
