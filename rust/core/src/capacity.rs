//! How many feature names are kept, and which of them are evicted when there are more.
//!
//! Eviction runs after learning and never evicts a name of the event just learned. One run evicts
//! an eighth of the capacity, or the excess if that is larger. So runs are rare: the cost is O(1)
//! per new name on average, and no order has to be maintained between two runs.

use std::cmp::Ordering;

use crate::event::FeatureId;
use crate::storage::index_remap::IndexRemap;

/// One run of eviction frees this part of the capacity: an eighth.
const EVICTED_PART: usize = 8;

/// What happens to a new name for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionPolicy {
    /// The new name is left out.
    Refuse,
    /// Names learned longest ago are evicted.
    Oldest,
    /// Names with the smallest weights are evicted.
    Smallest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// The most names that are kept. The learner's own features are not counted.
    pub most: u32,
    pub policy: EvictionPolicy,
}

impl Capacity {
    pub fn most(self) -> usize {
        self.most as usize
    }

    /// Whether the policy evicts known names.
    pub fn evicts(self) -> bool {
        self.policy != EvictionPolicy::Refuse
    }

    /// How many new names of an event can be learned, if it carries `carried` of the `known` names.
    pub fn room(self, known: usize, carried: usize) -> usize {
        self.most().saturating_sub(if self.evicts() { carried } else { known })
    }

    /// The new ids after evicting as many `candidates` as needed, in this order. There are `rows`
    /// features, of which `names` count against the capacity.
    pub fn remap(
        self,
        rows: usize,
        names: usize,
        mut candidates: Vec<FeatureId>,
        order: impl Fn(FeatureId, FeatureId) -> Ordering,
    ) -> IndexRemap {
        let excess = names.saturating_sub(self.most());
        let count = excess.max(self.most() / EVICTED_PART).min(candidates.len());
        if count < candidates.len() {
            candidates.select_nth_unstable_by(count, |&a, &b| order(a, b));
        }
        IndexRemap::without(&candidates[..count], rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::UNKNOWN;

    const OLDEST: Capacity = Capacity { most: 20, policy: EvictionPolicy::Oldest };

    #[test]
    fn a_run_evicts_an_eighth_or_the_excess_if_that_is_larger() {
        let ages = |a: FeatureId, b: FeatureId| a.cmp(&b);
        let left = |names: usize| OLDEST.remap(names, names, (0..19).collect(), ages).len();
        assert_eq!(left(21), 19); // an eighth of 20 is 2
        assert_eq!(left(27), 20);
        let few = OLDEST.remap(21, 21, vec![4], ages);
        assert_eq!((few.len(), few.of(3), few.of(4), few.of(5)), (20, 3, UNKNOWN, 4));
    }

    #[test]
    fn with_eviction_only_the_names_that_an_event_carries_limit_its_new_names() {
        assert_eq!(OLDEST.room(20, 3), 17);
        assert_eq!(OLDEST.room(20, 25), 0);
        let refuses = Capacity { policy: EvictionPolicy::Refuse, ..OLDEST };
        assert_eq!(refuses.room(18, 3), 2);
    }
}
