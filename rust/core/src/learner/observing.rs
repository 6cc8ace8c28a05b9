//! From a raw event to an event as the model uses it: ids, scaled values, the learner's own
//! features.

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, Names, UNKNOWN};
use crate::learner::Learner;
use crate::learner::event_buffer::{EventBuffer, LEFT_OUT, SelectedNames};

impl Learner {
    /// Find the ids of an event's features, and of their statistics in the scaler.
    pub fn look_up(
        &self,
        names: &(impl Names + ?Sized),
        event: &mut EventBuffer,
    ) -> Result<(), Error> {
        self.find_ids(names, &mut event.features)?;
        self.find_stats_ids(names, event);
        Ok(())
    }

    /// Find the ids of an event's features.
    ///
    /// Ids other than `UNKNOWN` are kept: the caller has found them earlier, and [`Self::evicted`]
    /// has not grown since.
    pub fn find_ids(
        &self,
        names: &(impl Names + ?Sized),
        features: &mut [FeatureValue],
    ) -> Result<(), Error> {
        for (position, feature) in features.iter_mut().enumerate() {
            if feature.id == UNKNOWN {
                let name = names.name(position);
                let check = self.config.own.check(name).and_then(|()| name.check_length());
                check.map_err(|text| Error::Event(format!("event: {text}")))?;
                feature.id = self.vocabulary.id(name);
            }
        }
        Ok(())
    }

    /// Find the ids of their statistics in the scaler; ids other than `UNKNOWN` are kept.
    fn find_stats_ids(&self, names: &(impl Names + ?Sized), event: &mut EventBuffer) {
        if let Some(scaler) = &self.scaler {
            event.stats_ids.resize(event.features.len(), UNKNOWN);
            for (position, stats_id) in event.stats_ids.iter_mut().enumerate() {
                if *stats_id == UNKNOWN {
                    *stats_id = scaler.stats_id(names.name(position));
                }
            }
        }
    }

    /// Bring an event that is not part of the stream into the form that the model uses. Changes
    /// nothing but the event.
    pub fn transform(&self, event: &mut EventBuffer) -> Result<(), Error> {
        if let Some(scaler) = &self.scaler {
            let EventBuffer { features, stats_ids, stats, .. } = event;
            event.summary = scaler.transform(stats_ids, features, stats)?;
        }
        self.add_own(event);
        Ok(())
    }

    /// The same for an event of the stream, which the scaler counts. Only [`Self::commit`] stores
    /// the new statistics.
    pub(super) fn observe(
        &self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
    ) -> Result<(), Error> {
        if let Some(scaler) = &self.scaler {
            event.counted = scaler.room(&event.stats_ids).map(|room| counted(event, names, room));
            let EventBuffer { features, stats_ids, stats, .. } = event;
            event.summary = match &event.counted {
                None => scaler.observe(stats_ids, features, stats)?,
                Some(positions) => {
                    let ids: Vec<FeatureId> = positions.iter().map(|&i| stats_ids[i]).collect();
                    let mut some: Vec<FeatureValue> =
                        positions.iter().map(|&i| features[i]).collect();
                    let summary = scaler.observe(&ids, &mut some, stats)?;
                    for feature in features.iter_mut() {
                        feature.value = LEFT_OUT;
                    }
                    for (&position, feature) in positions.iter().zip(some) {
                        features[position].value = feature.value + 0.0; // never −0
                    }
                    summary
                }
            };
            if self.config.capacity.is_some() && event.counted.is_none() {
                event.features.iter_mut().for_each(|feature| feature.value += 0.0);
            }
            event.pending = true;
        }
        self.add_own(event);
        Ok(())
    }

    /// Store the statistics of an observed event, unless that was done already.
    pub(super) fn commit(&mut self, event: &mut EventBuffer, names: &(impl Names + ?Sized)) {
        if let (Some(scaler), true) = (&mut self.scaler, event.pending) {
            event.pending = false;
            let Some(positions) = event.counted.take() else {
                scaler.commit(&event.stats, &mut event.stats_ids, &event.features, names);
                return;
            };
            let mut ids: Vec<FeatureId> = positions.iter().map(|&i| event.stats_ids[i]).collect();
            let features: Vec<FeatureValue> =
                positions.iter().map(|&i| event.features[i]).collect();
            let names = SelectedNames { names, positions: &positions };
            scaler.commit(&event.stats, &mut ids, &features, &names);
            for (&position, stats_id) in positions.iter().zip(ids) {
                event.stats_ids[position] = stats_id;
            }
        }
    }

    /// Add the learner's own features to the end of an event.
    pub fn add_own(&self, event: &mut EventBuffer) {
        let (mut ids, features) = (self.own_ids.iter(), &mut event.features);
        self.config.own.for_each(event.summary, |value| {
            features.extend(ids.next().map(|&id| FeatureValue { id, value }));
        });
    }
}

/// The positions of the features that the scaler counts, if it has no room for all new names: the
/// known names and the first `room` new ones in sorted order.
fn counted(event: &EventBuffer, names: &(impl Names + ?Sized), room: usize) -> Vec<usize> {
    let (mut new, mut positions): (Vec<usize>, Vec<usize>) =
        (0..event.stats_ids.len()).partition(|&position| event.stats_ids[position] == UNKNOWN);
    new.sort_unstable_by(|&a, &b| names.name(a).cmp(&names.name(b)));
    positions.extend(&new[..room]);
    positions.sort_unstable();
    positions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::{Capacity, EvictionPolicy};
    use crate::event::Name;
    use crate::learner::Config;
    use crate::learner::event_buffer::is_left_out;
    use crate::learner::testing::{
        PA, after_stream, buffer_of, bytes_of, decide, every_kind, learner, linear, looked_up,
        names_of, spring, transformed,
    };
    use crate::rules::query::QueryRule;

    const EVENT: &[(&str, f64)] = &[("a", 1.0), ("e", -0.5), ("unknown", 2.0)];

    #[test]
    fn observing_an_event_without_committing_changes_nothing() {
        for config in every_kind() {
            let learner = after_stream(config);
            let before = bytes_of(&learner);
            let mut event = looked_up(&learner, EVENT).unwrap();
            learner.observe(&mut event, &names_of(EVENT)[..]).unwrap();
            assert_eq!(event.pending, learner.is_scaled());
            assert!(bytes_of(&learner) == before);
        }
    }

    #[test]
    fn an_event_is_committed_once() {
        let mut learner = learner(Config { scaled: true, ..linear(PA) });
        let (mut event, names) = (looked_up(&learner, EVENT).unwrap(), names_of(EVENT));
        learner.observe(&mut event, &names[..]).unwrap();
        learner.commit(&mut event, &names[..]);
        let before = bytes_of(&learner);
        learner.commit(&mut event, &names[..]);
        assert!(bytes_of(&learner) == before);
        assert_eq!(event.stats_ids, [0, 1, 2]);
    }

    #[test]
    fn without_a_scaler_values_are_those_of_the_event() {
        let learner = after_stream(linear(PA));
        let features = transformed(&learner, EVENT);
        let values: Vec<f64> = features.iter().map(|feature| feature.value).collect();
        assert_eq!(values, [1.0, -0.5, 2.0]);
    }

    #[test]
    fn own_features_are_added_to_the_end_with_their_ids() {
        let learner = after_stream(spring(QueryRule::All));
        let mut event = EventBuffer { summary: [0.25, -0.5], ..buffer_of([1.0]) };
        learner.add_own(&mut event);
        let own = ["(factor)", "(energy)", "(intercept)"].map(|name| learner.id(Name::Text(name)));
        assert!(!own.contains(&UNKNOWN));
        for (feature, (id, value)) in
            event.features[1..].iter().zip(own.iter().zip([0.25, -0.5, 0.3]))
        {
            assert_eq!((feature.id, feature.value), (*id, value));
        }
    }

    #[test]
    fn ids_that_were_found_earlier_are_not_looked_up_again() {
        let learner = after_stream(linear(PA));
        let mut features =
            [FeatureValue { id: 77, value: 1.0 }, FeatureValue { id: UNKNOWN, value: 1.0 }];
        learner.find_ids(&[Name::Text("a"), Name::Text("a")][..], &mut features).unwrap();
        assert_eq!((features[0].id, features[1].id), (77, learner.id(Name::Text("a"))));
    }

    #[test]
    fn names_without_room_in_the_scaler_are_marked_by_negative_zeros() {
        let capacity = Some(Capacity { most: 2, policy: EvictionPolicy::Oldest });
        let mut learner = learner(Config { scaled: true, capacity, ..linear(PA) });
        let event = [("c", 1.0), ("b", 2.0), ("a", 0.0)];
        let (mut buffer, names) = (looked_up(&learner, &event).unwrap(), names_of(&event));
        learner.decide(&mut buffer, &names[..]).unwrap();
        let left_out: Vec<bool> =
            buffer.features.iter().map(|feature| is_left_out(feature.value)).collect();
        assert_eq!(left_out, [true, false, false]); // the first two in sorted order have room
        assert_eq!(buffer.stats_ids, [UNKNOWN, 0, 1]);
        assert_eq!(learner.name_count(), 2);
    }

    #[test]
    fn a_negative_zero_of_an_event_does_not_mark_a_feature_as_left_out() {
        let capacity = Some(Capacity { most: 3, policy: EvictionPolicy::Oldest });
        let mut learner = learner(Config { scaled: true, capacity, ..linear(PA) });
        for _ in 0..3 {
            decide(&mut learner, &[("word", 1.0)]).unwrap();
            decide(&mut learner, &[("other", 1.0)]).unwrap(); // so that the word keeps its zero
        }
        let all = [("word", -0.0), ("a", 1.0), ("b", 1.0), ("c", 1.0)];
        for event in [&all[..2], &all] {
            let (mut buffer, names) = (looked_up(&learner, event).unwrap(), names_of(event));
            learner.observe(&mut buffer, &names[..]).unwrap();
            assert_eq!(buffer.features[0].value.to_bits(), 0.0_f64.to_bits());
        }
    }
}
