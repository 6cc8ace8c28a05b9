//! An indexed min-heap over the non-zero weights: the smallest is let go first.
//!
//! Ordered by (key, newest slot first), so among equal weights the older slot stays. The order is
//! total, so what is popped depends on the weights alone and not on the history of the heap.

use crate::vocabulary::{Slot, Survivors, UNKNOWN};

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: f64, // |v| > 0
    slot: Slot,
}

impl Entry {
    fn goes_before(self, other: Self) -> bool {
        self.key < other.key || (self.key == other.key && self.slot > other.slot)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Heap {
    entries: Vec<Entry>,
    positions: Vec<u32>, // by slot; UNKNOWN if the slot is not in the heap
}

impl Heap {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.positions.fill(UNKNOWN);
    }

    /// Put a new slot in place of the smallest, unless it is the smallest itself; returns the one
    /// that is out.
    pub fn exchange(&mut self, slot: Slot, key: f64) -> Slot {
        let entry = Entry { key, slot };
        match self.entries.first() {
            Some(smallest) if !entry.goes_before(*smallest) => {
                let out = smallest.slot;
                self.positions[out as usize] = UNKNOWN;
                self.make_room(slot);
                self.entries[0] = entry;
                self.sift_down(0);
                out
            }
            _ => slot,
        }
    }

    fn make_room(&mut self, slot: Slot) {
        if self.positions.len() <= slot as usize {
            self.positions.resize(slot as usize + 1, UNKNOWN);
        }
    }

    /// Take slots out and give the others their new numbers.
    pub fn retain(&mut self, survivors: &Survivors) {
        for entry in &mut self.entries {
            entry.slot = survivors.of(entry.slot);
        }
        self.entries.retain(|entry| entry.slot != UNKNOWN);
        self.positions.clear();
        self.positions.resize(survivors.len(), UNKNOWN);
        self.order();
    }

    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.entries.iter().map(|entry| entry.slot)
    }

    /// Set the keys of all slots anew; 0 takes one out.
    pub fn set_all(&mut self, key: impl Fn(Slot) -> f64) {
        for entry in &mut self.entries {
            entry.key = key(entry.slot);
            self.positions[entry.slot as usize] = UNKNOWN;
        }
        self.entries.retain(|entry| entry.key > 0.0);
        self.order();
    }

    /// Make a heap of the entries, whatever their order.
    fn order(&mut self) {
        for (position, entry) in self.entries.iter().enumerate() {
            self.positions[entry.slot as usize] = position as u32;
        }
        for position in (0..self.entries.len() / 2).rev() {
            self.sift_down(position);
        }
    }

    /// Set the key of a slot; 0 takes it out.
    pub fn set(&mut self, slot: Slot, key: f64) {
        self.make_room(slot);
        let position = self.positions[slot as usize];
        if position == UNKNOWN {
            if key > 0.0 {
                self.entries.push(Entry { key, slot });
                self.sift_up(self.entries.len() - 1);
            }
        } else if key == 0.0 {
            self.take_out(position as usize);
        } else {
            let position = position as usize;
            let shrank = key < self.entries[position].key;
            self.entries[position].key = key;
            if shrank { self.sift_up(position) } else { self.sift_down(position) }
        }
    }

    /// The slot with the smallest key.
    pub fn smallest(&self) -> Option<Slot> {
        self.entries.first().map(|entry| entry.slot)
    }

    /// Take out the smallest.
    pub fn pop(&mut self) -> Option<Slot> {
        let slot = self.entries.first()?.slot;
        self.take_out(0);
        Some(slot)
    }

    fn take_out(&mut self, position: usize) {
        let out = self.entries.swap_remove(position);
        self.positions[out.slot as usize] = UNKNOWN;
        if position < self.entries.len() {
            let moved = self.entries[position];
            if moved.goes_before(out) { self.sift_up(position) } else { self.sift_down(position) }
        }
    }

    fn sift_up(&mut self, mut position: usize) {
        let entry = self.entries[position];
        while position > 0 {
            let parent = (position - 1) / 2;
            if !entry.goes_before(self.entries[parent]) {
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
            let left = 2 * position + 1;
            if left >= self.entries.len() {
                break;
            }
            let right = left + 1;
            let smaller = if right < self.entries.len()
                && self.entries[right].goes_before(self.entries[left])
            {
                right
            } else {
                left
            };
            if !self.entries[smaller].goes_before(entry) {
                break;
            }
            self.put(position, self.entries[smaller]);
            position = smaller;
        }
        self.put(position, entry);
    }

    fn put(&mut self, position: usize, entry: Entry) {
        self.entries[position] = entry;
        self.positions[entry.slot as usize] = position as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;

    fn drain(heap: &mut Heap) -> Vec<Slot> {
        std::iter::from_fn(|| heap.pop()).collect()
    }

    #[test]
    fn among_equals_the_newest_slot_goes_first() {
        let mut heap = Heap::default();
        for slot in [2, 0, 1] {
            heap.set(slot, 0.5);
        }
        heap.set(3, 0.25);
        assert_eq!(drain(&mut heap), [3, 2, 1, 0]);
    }

    #[test]
    fn an_exchange_puts_out_the_smallest() {
        let mut heap = Heap::default();
        heap.set(0, 1.0);
        heap.set(1, 2.0);
        assert_eq!(heap.exchange(2, 0.5), 2);
        assert_eq!(heap.exchange(3, 1.0), 3); // a tie: the older stays
        assert_eq!(heap.exchange(4, 1.5), 0);
        assert_eq!(drain(&mut heap), [4, 1]);
        assert_eq!(heap.exchange(5, 1.0), 5); // there is no place at all
    }

    #[test]
    fn a_key_of_zero_takes_a_slot_out() {
        let mut heap = Heap::default();
        heap.set(0, 1.0);
        heap.set(1, 2.0);
        heap.set(0, 0.0);
        heap.set(5, 0.0);
        assert_eq!(drain(&mut heap), [1]);
    }

    #[test]
    fn keys_that_become_equal_or_zero_keep_their_order() {
        let mut heap = Heap::default();
        for (slot, key) in [(0, 4.0), (1, 1.0), (2, 2.0), (3, 3.0)] {
            heap.set(slot, key);
        }
        heap.set_all(|slot| if slot == 3 { 0.0 } else { 5.0 });
        heap.set(3, 6.0);
        assert_eq!(drain(&mut heap), [2, 1, 0, 3]);
    }

    #[test]
    fn slots_that_move_up_keep_their_order() {
        let mut heap = Heap::default();
        for (slot, key) in [(0, 4.0), (1, 1.0), (2, 2.0), (3, 1.0), (5, 3.0)] {
            heap.set(slot, key);
        }
        heap.retain(&Survivors::without(&[2, 4], 6));
        heap.set(1, 3.0); // 0 1 3 5 are 0 1 2 3 now
        assert_eq!(drain(&mut heap), [2, 3, 1, 0]);
    }

    #[test]
    fn pops_in_order_after_any_changes() {
        let mut generator = Generator::from_seed(1);
        let mut heap = Heap::default();
        let mut keys = vec![0.0; 60];
        for _ in 0..5_000 {
            let slot = (generator.uniform() * 60.0) as usize;
            let key = (generator.uniform() * 12.0).floor() / 4.0; // many ties, many zeros
            keys[slot] = key;
            heap.set(slot as Slot, key);
        }
        let mut expected: Vec<Slot> = (0..60).filter(|&s| keys[s as usize] > 0.0).collect();
        expected.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]).then(b.cmp(&a)));
        assert_eq!(drain(&mut heap), expected);
    }
}
