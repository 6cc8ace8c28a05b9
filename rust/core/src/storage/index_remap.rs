//! New feature ids after an eviction.

use crate::event::{FeatureId, UNKNOWN};

/// Who stays when names are let go, and the ids that they get.
#[derive(Clone, Debug)]
pub struct IndexRemap {
    /// By old id; `UNKNOWN` of those that go.
    ids: Vec<FeatureId>,
    count: usize,
}

impl IndexRemap {
    /// All of so many ids but these.
    pub fn without(leaving: &[FeatureId], ids: usize) -> Self {
        let mut new = vec![0; ids];
        for &id in leaving {
            new[id as usize] = UNKNOWN;
        }
        let mut count = 0;
        for id in new.iter_mut().filter(|id| **id != UNKNOWN) {
            *id = count;
            count += 1;
        }
        Self { ids: new, count: count as usize }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The new id; `UNKNOWN` if it goes, or was never there.
    pub fn of(&self, id: FeatureId) -> FeatureId {
        self.ids.get(id as usize).copied().unwrap_or(UNKNOWN)
    }

    /// Their rows of `width` cells each.
    pub fn retain<T: Copy>(&self, cells: &mut Vec<T>, width: usize) {
        let mut end = 0;
        for (row, &id) in self.ids.iter().enumerate() {
            if id != UNKNOWN {
                cells.copy_within(row * width..(row + 1) * width, end);
                end += width;
            }
        }
        cells.truncate(end);
    }
}
