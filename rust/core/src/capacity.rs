//! How many feature names are kept, and which of them are evicted when there are more.
//!
//! Eviction runs after learning, and never takes the names of the event just learned. So that it is
//! rare, an eighth of the capacity goes at once, or what is too much if that is more: O(1) per new
//! name on average, and nothing has to be kept up to date between two evictions.

use std::cmp::Ordering;

use crate::event::FeatureId;
use crate::storage::index_remap::IndexRemap;

/// One part in so many goes at once.
const SHARE: usize = 8;

/// What happens to a new name for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionPolicy {
    /// It is left out.
    Refuse,
    /// Those learned the longest ago make room.
    Oldest,
    /// Those of the smallest weights make room.
    Smallest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Names of events that are kept; the learner's own come on top.
    pub most: u32,
    pub policy: EvictionPolicy,
}

impl Capacity {
    pub fn most(self) -> usize {
        self.most as usize
    }

    /// Whether known names can be evicted.
    pub fn evicts(self) -> bool {
        self.policy != EvictionPolicy::Refuse
    }

    /// How many new names an event may bring: of `known` names it carries `carried`.
    pub fn room(self, known: usize, carried: usize) -> usize {
        self.most().saturating_sub(if self.evicts() { carried } else { known })
    }

    /// What is kept of `rows` rows, `names` of which count and are too many: of those that may go, the
    /// first in this order make room.
    pub fn remap(
        self,
        rows: usize,
        names: usize,
        mut may_go: Vec<FeatureId>,
        order: impl Fn(FeatureId, FeatureId) -> Ordering,
    ) -> IndexRemap {
        let too_many = names.saturating_sub(self.most());
        let count = too_many.max(self.most() / SHARE).min(may_go.len());
        if count < may_go.len() {
            may_go.select_nth_unstable_by(count, |&a, &b| order(a, b));
        }
        IndexRemap::without(&may_go[..count], rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::UNKNOWN;

    const OLDEST: Capacity = Capacity { most: 20, policy: EvictionPolicy::Oldest };

    #[test]
    fn an_eighth_goes_at_once_or_what_is_too_much() {
        let ages = |a: FeatureId, b: FeatureId| a.cmp(&b);
        let left = |names: usize| OLDEST.remap(names, names, (0..19).collect(), ages).len();
        assert_eq!(left(21), 19); // an eighth of 20 is 2
        assert_eq!(left(27), 20);
        let few = OLDEST.remap(21, 21, vec![4], ages);
        assert_eq!((few.len(), few.of(3), few.of(4), few.of(5)), (20, 3, UNKNOWN, 4));
    }

    #[test]
    fn only_what_an_event_carries_is_in_the_way_of_its_new_names() {
        assert_eq!(OLDEST.room(20, 3), 17);
        assert_eq!(OLDEST.room(20, 25), 0);
        let refuses = Capacity { policy: EvictionPolicy::Refuse, ..OLDEST };
        assert_eq!(refuses.room(18, 3), 2);
    }
}
