//! Eviction: which features are dropped when a learner has more than `max_features`. It runs after
//! learning.

use crate::capacity::{Capacity, EvictionPolicy};
use crate::event::FeatureId;
use crate::learner::Learner;
use crate::learner::event_buffer::EventBuffer;
use crate::scaling::RunningScaler;

impl Learner {
    /// Evict features if there are too many. The learner's own and those of the event that came last are kept:
    /// its features get their new ids. With a scaler features age from the last event that carried them, otherwise
    /// from the last such event that was learned.
    #[inline]
    pub(super) fn evict(&mut self, event: &mut EventBuffer) {
        if let Some(capacity) = self.config.capacity
            && self.given_names() > capacity.most()
        {
            self.evict_to(capacity, event);
        }
    }

    #[inline(never)]
    fn evict_to(&mut self, capacity: Capacity, event: &mut EventBuffer) {
        let (rows, names) = (self.table.len(), self.given_names());
        let now = self.scaler.as_ref().map_or(self.learned, RunningScaler::rounds);
        let last = |id: FeatureId| match &self.scaler {
            Some(scaler) => scaler.last(id),
            None => self.table.history().get(id).last,
        };
        let others = (rows - names) as FeatureId..rows as FeatureId;
        let candidates = others.filter(|&id| last(id) < now).collect();
        let by_age = |a: FeatureId, b: FeatureId| (last(a), a).cmp(&(last(b), b));
        let remap = match capacity.policy {
            EvictionPolicy::Smallest => {
                let sizes: Vec<f64> = (0..rows as FeatureId).map(|id| self.size(id)).collect();
                capacity.remap(rows, names, candidates, |a, b| {
                    sizes[a as usize].total_cmp(&sizes[b as usize]).then_with(|| by_age(a, b))
                })
            }
            EvictionPolicy::Oldest | EvictionPolicy::Refuse => {
                capacity.remap(rows, names, candidates, by_age)
            }
        };
        self.evicted += (rows - remap.len()) as u64;
        self.settle_shown();
        self.table.retain(&remap);
        self.model.retain(&remap.widened(self.inputs_per_feature()));
        if let Some(scaler) = &mut self.scaler {
            scaler.retain(&remap);
        }
        if let Some(tracking) = &mut self.tracking {
            tracking.retain(&remap);
        }
        for feature in &mut event.features {
            feature.id = remap.of(feature.id);
        }
        event.known = false;
        self.expand(event);
    }

    /// The largest |w| of a feature, over its inputs.
    fn size(&self, id: FeatureId) -> f64 {
        let rows = (0..self.inputs_per_feature()).map(|i| id * self.inputs_per_feature() + i);
        rows.map(|row| self.model.size(row)).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::Capacity;
    use crate::label::Label;
    use crate::learner::Config;
    use crate::learner::own_features::OwnFeatures;
    use crate::learner::testing::{
        STREAM, bytes_of, decide, every_kind, known_names, learn, learner, limited, spring, weight,
    };
    use crate::rules::query::QueryRule;

    /// Learn one event per name, with this value and a positive label: PA gives the weight 1/value.
    fn learn_each(learner: &mut Learner, events: &[(&str, f64)]) {
        for &event in events {
            learn(learner, &[event], &Label::Bool(true)).unwrap();
        }
    }

    #[test]
    fn the_names_learned_longest_ago_are_evicted_and_the_others_keep_order_and_weights() {
        let mut learner = learner(limited(3, EvictionPolicy::Oldest));
        learn_each(&mut learner, &[("a", 1.0), ("b", 2.0), ("c", 4.0), ("a", 1.0), ("d", 8.0)]);
        assert_eq!(known_names(&learner), ["'a'", "'c'", "'d'"]); // a was learned again
        assert_eq!(["a", "c", "d"].map(|name| weight(&learner, name)), [1.0, 0.25, 0.125]);
        assert_eq!(learner.evicted(), 1);
        assert_eq!(learner.history(1).first, 3);
    }

    #[test]
    fn the_names_with_the_smallest_weights_are_evicted_but_none_of_the_event_just_learned() {
        let mut learner = learner(limited(3, EvictionPolicy::Smallest));
        learn_each(&mut learner, &[("a", 1.0), ("b", 8.0), ("c", 2.0), ("d", 64.0)]);
        assert_eq!(known_names(&learner), ["'a'", "'c'", "'d'"]); // b had 1/8, d has 1/64
        learn_each(&mut learner, &[("e", 4.0)]);
        assert_eq!(known_names(&learner), ["'a'", "'c'", "'e'"]);
    }

    #[test]
    fn among_equal_weights_the_oldest_is_evicted() {
        let mut learner = learner(limited(3, EvictionPolicy::Smallest));
        learn_each(&mut learner, &[("a", 2.0), ("b", 2.0), ("c", 2.0), ("d", 2.0)]);
        assert_eq!(known_names(&learner), ["'b'", "'c'", "'d'"]);
    }

    #[test]
    fn an_eighth_of_the_capacity_is_evicted_at_once() {
        let mut learner = learner(limited(16, EvictionPolicy::Oldest));
        let names: Vec<String> = (10..27).map(|i| i.to_string()).collect();
        let events: Vec<(&str, f64)> = names.iter().map(|name| (&name[..], 1.0)).collect();
        learn_each(&mut learner, &events);
        assert_eq!((learner.names(), learner.evicted()), (15, 2));
        assert_eq!(known_names(&learner)[0], "'12'");
    }

    #[test]
    fn an_event_with_more_new_names_than_the_capacity_keeps_the_first_and_evicts_all_others() {
        let mut learner = learner(limited(3, EvictionPolicy::Oldest));
        learn_each(&mut learner, &[("x", 1.0), ("y", 1.0), ("z", 1.0)]);
        let event = [("e", 1.0), ("d", 1.0), ("c", 1.0), ("b", 1.0), ("y", 1.0)];
        learn(&mut learner, &event, &Label::Bool(false)).unwrap();
        assert_eq!(known_names(&learner), ["'y'", "'b'", "'c'"]); // y is carried: room for two
        assert_eq!((learner.evicted(), learner.refused()), (2, 2));
    }

    #[test]
    fn own_features_are_never_evicted() {
        let mut learner =
            learner(Config { own: OwnFeatures::Intercept, ..limited(1, EvictionPolicy::Oldest) });
        learn_each(&mut learner, &[("a", 1.0), ("b", 1.0), ("c", 1.0)]);
        assert_eq!(known_names(&learner), ["'c'"]);
        assert_eq!(learner.name(0), learner.own_names()[0]);
    }

    #[test]
    fn without_a_capacity_or_below_it_nothing_is_evicted() {
        let mut learner = learner(limited(5, EvictionPolicy::Oldest));
        for (event, positive) in STREAM {
            learn(&mut learner, event, &Label::Bool(positive)).unwrap();
        }
        assert_eq!((learner.names(), learner.evicted()), (5, 0));
        assert!(learner.evicts() && !self::learner(every_kind().swap_remove(0)).evicts());
    }

    #[test]
    fn names_that_were_only_observed_are_evicted_too() {
        let capacity = Some(Capacity { most: 2, policy: EvictionPolicy::Smallest });
        let mut learner = learner(Config { capacity, ..spring(QueryRule::All) });
        for (event, positive) in STREAM {
            decide(&mut learner, &[("only observed", 1.0), ("a", 0.5)]).unwrap();
            learn(&mut learner, event, &Label::Bool(positive)).unwrap();
        }
        assert!(learner.given_names() <= 2);
        let file = bytes_of(&learner);
        let (_, state) = crate::learner::snapshot::split(&file).unwrap();
        let mut restored = Learner::restore(learner.config.clone(), state).unwrap();
        assert!(bytes_of(&restored) == file);
        for (event, positive) in STREAM {
            // A wrong id would change stored factors.
            learn(&mut learner, event, &Label::Bool(positive)).unwrap();
            learn(&mut restored, event, &Label::Bool(positive)).unwrap();
        }
        assert!(bytes_of(&restored) == bytes_of(&learner));
    }
}
