//! In which rounds each feature was learned.
//!
//! Learning notes its round at every feature of the event, so what it writes there is kept small: two counters
//! of 32 bits. Counts beyond that are kept apart, so that none is ever lost.

use crate::event::FeatureId;
use crate::storage::index_remap::IndexRemap;

/// Rounds count the events learned, from 1; all is 0 until the feature is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureHistory {
    pub first: u64,
    pub last: u64,
    pub times: u64,
}

impl FeatureHistory {
    /// Whether the feature was learned.
    pub fn is_learned(&self) -> bool {
        self.times > 0
    }
}

/// What learning writes: the last round and the number of rounds, both since `base`.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    last: u32,
    times: u32,
}

impl Recent {
    /// A whole history, if it is short enough.
    fn of(history: &FeatureHistory) -> Option<Self> {
        let FeatureHistory { last, times, .. } = *history;
        let recent = Self { last: last.try_into().ok()?, times: times.try_into().ok()? };
        (times > 0 || last == 0).then_some(recent)
    }
}

/// The histories of all features, by id.
#[derive(Clone, Debug, Default)]
pub struct Histories {
    recent: Vec<Recent>,
    /// The first round of each feature.
    first: Vec<u64>,
    /// What was noted up to the round `base`; empty while that is 0.
    older: Vec<FeatureHistory>,
    base: u64,
}

impl Histories {
    pub fn len(&self) -> usize {
        self.recent.len()
    }

    /// Take the memory for so many more features.
    pub fn try_reserve(&mut self, count: usize) -> Result<(), std::collections::TryReserveError> {
        self.recent.try_reserve(count)?;
        self.first.try_reserve(count)?;
        if self.base > 0 { self.older.try_reserve(count) } else { Ok(()) }
    }

    /// Add a feature that was never learned.
    pub fn push(&mut self) {
        self.recent.push(Recent::default());
        self.first.push(0);
        if self.base > 0 {
            self.older.push(FeatureHistory::default());
        }
    }

    pub fn get(&self, id: FeatureId) -> FeatureHistory {
        let index = id as usize;
        let Recent { last, times } = self.recent[index];
        let older = self.older.get(index).copied().unwrap_or_default();
        FeatureHistory {
            first: self.first[index],
            last: if times > 0 { self.base + u64::from(last) } else { older.last },
            times: older.times + u64::from(times),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = FeatureHistory> {
        (0..self.len() as FeatureId).map(|id| self.get(id))
    }

    /// Whether a feature was learned. An id that is not in the table was never learned.
    pub fn is_learned(&self, id: FeatureId) -> bool {
        let index = id as usize;
        self.recent.get(index).is_some_and(|recent| recent.times > 0)
            || self.older.get(index).is_some_and(FeatureHistory::is_learned)
    }

    /// Note that an event of this round carried these features.
    #[inline(always)]
    pub fn note(&mut self, ids: impl Iterator<Item = FeatureId>, round: u64) {
        if round - self.base > u64::from(u32::MAX) {
            self.begin_anew(round - 1);
        }
        let last = (round - self.base) as u32;
        for id in ids {
            let recent = &mut self.recent[id as usize];
            recent.last = last;
            recent.times += 1;
            if recent.times == 1 {
                self.note_first(id, round);
            }
        }
    }

    #[inline(never)]
    fn note_first(&mut self, id: FeatureId, round: u64) {
        let first = &mut self.first[id as usize];
        if *first == 0 {
            *first = round;
        }
    }

    /// Count from this round on.
    #[cold]
    fn begin_anew(&mut self, base: u64) {
        let all: Vec<FeatureHistory> = self.iter().collect();
        self.recent.fill(Recent::default());
        (self.older, self.base) = (all, base);
    }

    /// Put saved histories in place of all; the last round was `now`.
    pub fn adopt(&mut self, all: Vec<FeatureHistory>, now: u64) {
        self.first = all.iter().map(|one| one.first).collect();
        let recent: Option<Vec<Recent>> = all.iter().map(Recent::of).collect();
        if let Some(recent) = recent {
            (self.recent, self.older, self.base) = (recent, Vec::new(), 0);
        } else {
            (self.recent, self.older, self.base) = (vec![Recent::default(); all.len()], all, now);
        }
    }

    /// Drop the histories of evicted features.
    pub fn retain(&mut self, remap: &IndexRemap) {
        remap.retain(&mut self.recent, 1);
        remap.retain(&mut self.first, 1);
        if self.base > 0 {
            remap.retain(&mut self.older, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: usize) -> Histories {
        let mut histories = Histories::default();
        (0..count).for_each(|_| histories.push());
        histories
    }

    #[test]
    fn the_first_round_is_kept_and_the_last_is_updated() {
        let mut histories = of(2);
        for round in [3, 5, 9] {
            histories.note([1].into_iter(), round);
        }
        assert_eq!(histories.get(1), FeatureHistory { first: 3, last: 9, times: 3 });
        assert_eq!(histories.get(0), FeatureHistory::default());
        assert_eq!([0, 1, 2].map(|id| histories.is_learned(id)), [false, true, false]);
    }

    #[test]
    fn beyond_four_billion_rounds_nothing_is_lost() {
        const MANY: u64 = u32::MAX as u64;
        let mut histories = of(4);
        histories.note([0, 1].into_iter(), 7);
        histories.note([0, 2].into_iter(), MANY);
        histories.note([0, 3].into_iter(), MANY + 1);
        histories.push();
        histories.note([4, 2].into_iter(), 2 * MANY + 9);
        let expected = [
            (7, MANY + 1, 3),
            (7, 7, 1),
            (MANY, 2 * MANY + 9, 2),
            (MANY + 1, MANY + 1, 1),
            (2 * MANY + 9, 2 * MANY + 9, 1),
        ];
        let expected = expected.map(|(first, last, times)| FeatureHistory { first, last, times });
        assert_eq!(histories.iter().collect::<Vec<_>>(), expected);
        let mut loaded = Histories::default();
        loaded.adopt(expected.to_vec(), 2 * MANY + 9);
        assert_eq!(loaded.iter().collect::<Vec<_>>(), expected);
        for all in [&mut histories, &mut loaded] {
            all.retain(&IndexRemap::without(&[0, 3], 5));
            all.note([0].into_iter(), 2 * MANY + 10);
            assert_eq!(all.get(0), FeatureHistory { first: 7, last: 2 * MANY + 10, times: 2 });
            assert_eq!(all.get(2), expected[4]);
            assert!(all.is_learned(2) && !all.is_learned(3));
        }
    }
}
