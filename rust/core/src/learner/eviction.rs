//! Eviction: which features are dropped when a learner has more than `max_features`. It runs after learning.

use crate::capacity::EvictionPolicy;
use crate::event::FeatureId;
use crate::learner::Learner;

impl Learner {
    /// Evict features if there are too many. Those of the event just learned are kept, among them the
    /// learner's own.
    pub(super) fn evict(&mut self) {
        let Some(capacity) = self.config.capacity else { return };
        if self.given_names() <= capacity.most() {
            return;
        }
        let rows = self.history.len();
        let last = |id: FeatureId| self.history[id as usize].last;
        let candidates = (0..rows as FeatureId).filter(|&id| last(id) < self.learned).collect();
        let by_age = |a: FeatureId, b: FeatureId| (last(a), a).cmp(&(last(b), b));
        let remap = match capacity.policy {
            EvictionPolicy::Smallest => {
                let sizes: Vec<f64> =
                    (0..rows as FeatureId).map(|id| self.model.size(id)).collect();
                capacity.remap(rows, self.given_names(), candidates, |a, b| {
                    sizes[a as usize].total_cmp(&sizes[b as usize]).then_with(|| by_age(a, b))
                })
            }
            EvictionPolicy::Oldest | EvictionPolicy::Refuse => {
                capacity.remap(rows, self.given_names(), candidates, by_age)
            }
        };
        self.evicted += (rows - remap.len()) as u64;
        self.vocabulary.retain(&remap);
        remap.retain(&mut self.history, 1);
        self.model.retain(&remap);
        if let Some(scaler) = &mut self.scaler {
            scaler.on_evicted(&remap);
        }
        for id in &mut self.own_ids {
            *id = remap.of(*id);
        }
    }
}
