//! A bound on the names that are kept, and which of them go when it is reached.
//!
//! An event is learned first and names are let go afterwards, never those of the event itself. So
//! that sweeps are rare, an eighth of the bound goes at once, or what is too much if that is more: O(1)
//! a new name on average, and nothing has to be kept up to date between two sweeps.

use std::cmp::Ordering;

use crate::vocabulary::{Slot, Survivors};

/// One part in so many goes at once.
const SHARE: usize = 8;

/// What happens to a new name for which there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It is left out.
    Refuse,
    /// Those learned the longest ago make room.
    Oldest,
    /// Those of the smallest weights make room.
    Smallest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Names of events that are kept; the learner's own come on top.
    pub most: u32,
    pub when_full: WhenFull,
}

impl Bound {
    pub fn most(self) -> usize {
        self.most as usize
    }

    /// Whether names that are known can be let go.
    pub fn evicts(self) -> bool {
        self.when_full != WhenFull::Refuse
    }

    /// How many new names an event may bring: of `known` names it carries `carried`.
    pub fn room(self, known: usize, carried: usize) -> usize {
        self.most().saturating_sub(if self.evicts() { carried } else { known })
    }

    /// Who stays of `rows` rows, `names` of which count and are too many: of those that may go, the
    /// first in this order make room.
    pub fn survivors(
        self,
        rows: usize,
        names: usize,
        mut may_go: Vec<Slot>,
        order: impl Fn(Slot, Slot) -> Ordering,
    ) -> Survivors {
        let too_many = names.saturating_sub(self.most());
        let count = too_many.max(self.most() / SHARE).min(may_go.len());
        if count < may_go.len() {
            may_go.select_nth_unstable_by(count, |&a, &b| order(a, b));
        }
        Survivors::without(&may_go[..count], rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::UNKNOWN;

    const OLDEST: Bound = Bound { most: 20, when_full: WhenFull::Oldest };

    #[test]
    fn an_eighth_goes_at_once_or_what_is_too_much() {
        let ages = |a: Slot, b: Slot| a.cmp(&b);
        let left = |names: usize| OLDEST.survivors(names, names, (0..19).collect(), ages).len();
        assert_eq!(left(21), 19); // an eighth of 20 is 2
        assert_eq!(left(27), 20);
        let few = OLDEST.survivors(21, 21, vec![4], ages);
        assert_eq!((few.len(), few.of(3), few.of(4), few.of(5)), (20, 3, UNKNOWN, 4));
    }

    #[test]
    fn only_what_an_event_carries_is_in_the_way_of_its_new_names() {
        assert_eq!(OLDEST.room(20, 3), 17);
        assert_eq!(OLDEST.room(20, 25), 0);
        let refuses = Bound { when_full: WhenFull::Refuse, ..OLDEST };
        assert_eq!(refuses.room(18, 3), 2);
    }
}
