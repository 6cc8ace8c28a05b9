//! New feature ids after an eviction.

use crate::event::{FeatureId, UNKNOWN};

/// Which ids are kept when others are evicted, and their new numbers. Kept ids keep their order.
#[derive(Clone, Debug)]
pub struct IndexRemap {
    /// The new id of every old id; `UNKNOWN` if it is evicted.
    new_ids: Vec<FeatureId>,
    count: usize,
}

impl IndexRemap {
    /// Keep all of the first `ids` ids except the `evicted`.
    pub fn without(evicted: &[FeatureId], ids: usize) -> Self {
        let mut new_ids = vec![0; ids];
        for &id in evicted {
            new_ids[id as usize] = UNKNOWN;
        }
        let mut count = 0;
        for id in new_ids.iter_mut().filter(|id| **id != UNKNOWN) {
            *id = count;
            count += 1;
        }
        Self { new_ids, count: count as usize }
    }

    /// The same for `width` consecutive rows per id.
    pub fn widened(&self, width: FeatureId) -> Self {
        let rows = |&id: &FeatureId| {
            (0..width).map(move |i| if id == UNKNOWN { UNKNOWN } else { id * width + i })
        };
        let new_ids = self.new_ids.iter().flat_map(rows).collect();
        Self { new_ids, count: self.count * width as usize }
    }

    /// How many ids there were.
    pub fn ids(&self) -> usize {
        self.new_ids.len()
    }

    /// How many ids are kept.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The new id of an old one; `UNKNOWN` if it is evicted or never existed.
    pub fn of(&self, id: FeatureId) -> FeatureId {
        self.new_ids.get(id as usize).copied().unwrap_or(UNKNOWN)
    }

    /// Remove the rows of evicted ids from a table with `width` cells per row.
    pub fn retain<T: Copy>(&self, cells: &mut Vec<T>, width: usize) {
        let mut end = 0;
        for (row, &id) in self.new_ids.iter().enumerate() {
            if id != UNKNOWN {
                cells.copy_within(row * width..(row + 1) * width, end);
                end += width;
            }
        }
        cells.truncate(end);
    }
}
