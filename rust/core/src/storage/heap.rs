//! An indexed min-heap over the non-zero weights: the smallest is let go first.
//!
//! Ordered by (key, newest id first), so among equal weights the older id stays. The order is
//! total, so what is popped depends on the weights alone and not on the history of the heap.
//!
//! Most weights grow in most steps, and few of them are ever among the smallest. So a key that grows
//! is not moved: an entry's key is at most the weight, and is set right when it comes to the top.

use crate::event::{FeatureId, UNKNOWN};
use crate::storage::index_remap::IndexRemap;

/// A key and its id as one number, so that one comparison orders them: the bits of a positive
/// float rise with it, and below them stands the id, newest first.
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

/// Children of an entry: few levels, so that few entries move, and they lie side by side.
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

    /// Put a new id in place of the smallest, unless it is the smallest itself; returns the one
    /// that is out. `now` gives the keys of the others.
    pub fn exchange(
        &mut self,
        id: FeatureId,
        key: f64,
        now: impl Fn(FeatureId) -> f64,
    ) -> FeatureId {
        let entry = HeapEntry::new(key, id);
        // The first is at most the smallest, so that one below it need not wait for it.
        if self.entries.first().is_none_or(|first| entry < *first) {
            return id;
        }
        match self.smallest(now) {
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

    /// Take ids out and give the others their new numbers.
    pub fn retain(&mut self, remap: &IndexRemap) {
        for entry in &mut self.entries {
            *entry = HeapEntry::new(entry.key(), remap.of(entry.id()));
        }
        self.entries.retain(|entry| entry.id() != UNKNOWN);
        self.positions.clear();
        self.positions.resize(remap.len(), UNKNOWN);
        self.order();
    }

    pub fn ids(&self) -> impl Iterator<Item = FeatureId> {
        self.entries.iter().map(|entry| entry.id())
    }

    /// Set the keys of all ids anew; 0 takes one out.
    pub fn set_all(&mut self, key: impl Fn(FeatureId) -> f64) {
        for entry in &mut self.entries {
            let id = entry.id();
            *entry = HeapEntry::new(key(id), id);
            self.positions[id as usize] = UNKNOWN;
        }
        self.entries.retain(|entry| entry.key() > 0.0);
        self.order();
    }

    /// Make a heap of the entries, whatever their order.
    fn order(&mut self) {
        for (position, entry) in self.entries.iter().enumerate() {
            self.positions[entry.id() as usize] = position as u32;
        }
        for position in (0..self.entries.len().div_ceil(BRANCHES)).rev() {
            self.sift_down(position);
        }
    }

    /// Set the key of a id; 0 takes it out. One that has grown need not be told.
    pub fn set(&mut self, id: FeatureId, key: f64) {
        self.make_room(id);
        let position = self.positions[id as usize];
        if position == UNKNOWN {
            if key > 0.0 {
                self.entries.push(HeapEntry::new(key, id));
                self.sift_up(self.entries.len() - 1);
            }
        } else if key == 0.0 {
            self.take_out(position as usize);
        } else if key < self.entries[position as usize].key() {
            self.entries[position as usize] = HeapEntry::new(key, id);
            self.sift_up(position as usize);
        }
    }

    /// The id with the smallest key; `now` gives their keys.
    pub fn smallest(&mut self, now: impl Fn(FeatureId) -> f64) -> Option<FeatureId> {
        loop {
            let top = self.entries.first_mut()?;
            let id = top.id();
            let entry = HeapEntry::new(now(id), id);
            if entry == *top {
                return Some(id);
            }
            *top = entry;
            self.sift_down(0);
        }
    }

    /// Take out the smallest.
    pub fn pop(&mut self, now: impl Fn(FeatureId) -> f64) -> Option<FeatureId> {
        let id = self.smallest(now)?;
        self.take_out(0);
        Some(id)
    }

    fn take_out(&mut self, position: usize) {
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
                // OwnFeatures, not branched on: which of them it is cannot be foreseen.
                Some(&[a, b, c, d, ..]) => {
                    let (left, right) = (usize::from(b < a), 2 + usize::from(d < c));
                    let (low, high) = (if b < a { b } else { a }, if d < c { d } else { c });
                    first + if high < low { right } else { left }
                }
                Some(few) => match (0..few.len()).min_by(|&a, &b| few[a].0.cmp(&few[b].0)) {
                    Some(place) => first + place,
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
    fn drain(heap: &mut Heap, now: impl Fn(FeatureId) -> f64) -> Vec<FeatureId> {
        std::iter::from_fn(|| heap.pop(&now)).collect()
    }

    #[test]
    fn among_equals_the_newest_slot_goes_first() {
        let mut heap = Heap::default();
        for id in [2, 0, 1] {
            heap.set(id, 0.5);
        }
        heap.set(3, 0.25);
        assert_eq!(drain(&mut heap, |id| if id == 3 { 0.25 } else { 0.5 }), [3, 2, 1, 0]);
    }

    #[test]
    fn an_exchange_puts_out_the_smallest() {
        let mut heap = Heap::default();
        let now = |id| [1.0, 2.0, 0.5, 1.0, 1.5, 1.0][id as usize];
        heap.set(0, 1.0);
        heap.set(1, 2.0);
        assert_eq!(heap.exchange(2, 0.5, now), 2);
        assert_eq!(heap.exchange(3, 1.0, now), 3); // a tie: the older stays
        assert_eq!(heap.exchange(4, 1.5, now), 0);
        assert_eq!(drain(&mut heap, now), [4, 1]);
        assert_eq!(heap.exchange(5, 1.0, now), 5); // there is no place at all
    }

    #[test]
    fn a_key_of_zero_takes_a_slot_out() {
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
    fn slots_that_move_up_keep_their_order() {
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
                heap.set(id as FeatureId, key); // one that grows need not be told
            }
            keys[id] = key;
        }
        let mut expected: Vec<FeatureId> = (0..60).filter(|&s| keys[s as usize] > 0.0).collect();
        expected.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]).then(b.cmp(&a)));
        assert_eq!(drain(&mut heap, |id| keys[id as usize]), expected);
    }
}
