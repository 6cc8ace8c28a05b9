//! From a raw event to an event as the model uses it: ids, scaled values, the learner's own
//! features.

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, Names, UNKNOWN, sum_of_squares};
use crate::learner::Learner;
use crate::learner::event_buffer::EventBuffer;

impl Learner {
    /// Find the ids of an event's features.
    ///
    /// Ids other than `UNKNOWN` are kept: the caller has found them earlier, and [`Self::evicted`]
    /// has not grown since.
    pub fn look_up(
        &self,
        names: &(impl Names + ?Sized),
        event: &mut EventBuffer,
    ) -> Result<(), Error> {
        event.known = true;
        for (position, feature) in event.features.iter_mut().enumerate() {
            if feature.id == UNKNOWN {
                let name = names.name(position);
                self.check_name(name).map_err(|text| Error::Event(format!("event: {text}")))?;
                feature.id = self.table.id(name);
                event.known &= feature.id != UNKNOWN;
            }
        }
        Ok(())
    }

    /// Bring an event that is not part of the stream into the form that the model uses. Changes
    /// nothing but the event.
    pub fn transform(&self, event: &mut EventBuffer) -> Result<(), Error> {
        if let Some(scaler) = &self.scaler {
            let EventBuffer { features, presence, stats, summary, .. } = &mut *event;
            *summary = scaler.transform(features, presence, stats)?;
        }
        self.expand(event);
        Ok(())
    }

    /// The same for an event of the stream, which the scaler counts. Its new names get their ids. Only
    /// [`Self::commit`] makes the names known and stores the new statistics.
    #[inline(always)]
    pub(super) fn observe(
        &self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
    ) -> Result<(), Error> {
        event.pending = false;
        self.before_tracking(event)?;
        if self.scaler.is_some() {
            self.scale(event, names)?;
        } else {
            event.new.clear();
        }
        self.expand(event);
        Ok(())
    }

    fn scale(&self, event: &mut EventBuffer, names: &(impl Names + ?Sized)) -> Result<(), Error> {
        if let Some(scaler) = &self.scaler {
            self.admit(event, names)?;
            let event_is_known = event.known;
            let EventBuffer { features, presence, stats, summary, .. } = &mut *event;
            if event_is_known || features.iter().all(is_known) {
                *summary = scaler.observe(features, presence, stats)?;
            } else {
                // What has no room counts as absent.
                let mut known = features.iter().copied().filter(is_known).collect::<Vec<_>>();
                let mut known_presence = Vec::new();
                *summary = scaler.observe(&mut known, &mut known_presence, stats)?;
                presence.clear();
                presence.resize(features.len(), 0.0);
                for feature in features.iter_mut() {
                    feature.value = 0.0;
                }
                let places = features.iter_mut().zip(presence).filter(|(f, _)| is_known(f));
                for ((place, there), scaled) in places.zip(known.iter().zip(&known_presence)) {
                    (*place, *there) = (*scaled.0, *scaled.1);
                }
            }
            event.pending = true;
        }
        Ok(())
    }

    /// Make the new names of an observed event known and store its statistics, unless that was done already.
    /// Evicts names if there are too many.
    #[inline(always)]
    pub(super) fn commit(&mut self, event: &mut EventBuffer, names: &(impl Names + ?Sized)) {
        if std::mem::take(&mut event.pending) {
            self.commit_pending(event, names);
        }
    }

    fn commit_pending(&mut self, event: &mut EventBuffer, names: &(impl Names + ?Sized)) {
        self.insert_names(&event.new, names);
        self.model.set_rows(self.rows_of(self.table.len()));
        self.note_shown(event);
        let Some(scaler) = &mut self.scaler else { return };
        if event.known || event.features.iter().all(is_known) {
            scaler.commit(&event.stats, &event.features, self.table.len());
        } else {
            let known = event.features.iter().copied().filter(is_known).collect::<Vec<_>>();
            scaler.commit(&event.stats, &known, self.table.len());
        }
        self.evict(event);
    }

    /// Fill in the inputs of an event whose features have their ids and their values. With a scaler a feature has
    /// two rows in the model, for its value and for its presence; a feature without an id has none.
    #[inline(always)]
    pub fn expand(&self, event: &mut EventBuffer) {
        event.is_expanded = self.scaler.is_some() || !self.own_names().is_empty();
        if event.is_expanded {
            self.fill_inputs(event);
        }
    }

    fn fill_inputs(&self, event: &mut EventBuffer) {
        let own = self.config.own;
        let EventBuffer { features, presence, summary, expanded, squared_norm, known, .. } = event;
        let inputs = expanded;
        let inputs_per_feature = self.inputs_per_feature();
        let mut squares;
        if self.scaler.is_some() {
            squares = if *known {
                fill_pairs::<true>(inputs, features, presence)
            } else {
                fill_pairs::<false>(inputs, features, presence)
            };
        } else {
            inputs.clear();
            inputs.extend_from_slice(features);
            squares = sum_of_squares(features);
        }
        let mut id = 0; // they are the first of the table
        own.for_each(*summary, |value| {
            inputs.push(FeatureValue { id, value });
            squares += value * value;
            id += inputs_per_feature;
        });
        *squared_norm = squares;
    }

    /// How many rows of the model a feature has.
    pub(super) fn inputs_per_feature(&self) -> FeatureId {
        if self.scaler.is_some() { 2 } else { 1 }
    }

    /// The rows of the model for so many features.
    pub(super) fn rows_of(&self, names: usize) -> usize {
        names * self.inputs_per_feature() as usize
    }
}

/// With a scaler: the value and the presence of each feature that has an id, the latter only if it is not 0.
/// Returns the sum of their squares. `KNOWN`: all have an id.
#[inline(always)]
fn fill_pairs<const KNOWN: bool>(
    inputs: &mut Vec<FeatureValue>,
    features: &[FeatureValue],
    presence: &[f64],
) -> f64 {
    // Both are written, and what is not there is written over by the next: no branch per feature.
    inputs.resize(2 * features.len(), FeatureValue { id: UNKNOWN, value: 0.0 });
    let (mut end, mut squares) = (0, 0.0);
    for (feature, &presence) in features.iter().zip(presence) {
        let (value, there) =
            if KNOWN || is_known(feature) { (feature.value, presence) } else { (0.0, 0.0) };
        squares = squares + value * value + there * there;
        let row = feature.id.wrapping_mul(2);
        if let Some([one, other]) = inputs[end..].first_chunk_mut() {
            *one = FeatureValue { id: row, value };
            *other = FeatureValue { id: row.wrapping_add(1), value: there };
        }
        end += usize::from(KNOWN || is_known(feature)) + usize::from(there.to_bits() << 1 != 0); // no zero
    }
    inputs.truncate(end);
    squares
}

fn is_known(feature: &FeatureValue) -> bool {
    feature.id != UNKNOWN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::{Capacity, EvictionPolicy};
    use crate::event::Name;
    use crate::label::Label;
    use crate::learner::Config;
    use crate::learner::learning::LabelContext;
    use crate::learner::testing::{
        PA, after_stream, buffer_of, bytes_of, every_kind, learner, linear, looked_up, names_of,
        spring, transformed,
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
        let ids: Vec<u32> = event.features.iter().map(|feature| feature.id).collect();
        assert_eq!(ids, [0, 1, 2]);
    }

    #[test]
    fn without_a_scaler_values_are_those_of_the_event() {
        let learner = after_stream(linear(PA));
        let event = transformed(&learner, EVENT);
        let values: Vec<f64> = event.inputs().iter().map(|feature| feature.value).collect();
        assert_eq!(values, [1.0, -0.5, 2.0]);
    }

    #[test]
    fn with_a_scaler_a_feature_has_a_value_and_a_presence_and_own_features_are_at_the_end() {
        let learner = after_stream(spring(QueryRule::All));
        let mut event = EventBuffer {
            summary: [0.25, -0.5],
            presence: vec![0.0, 0.75, 0.5],
            ..buffer_of([1.0, 2.0, 3.0])
        };
        (event.features[0].id, event.features[1].id) = (4, 3); // the third is unknown
        learner.expand(&mut event);
        let inputs: Vec<(u32, f64)> = event.inputs().iter().map(|f| (f.id, f.value)).collect();
        let own = [(0, 0.25), (2, -0.5), (4, 0.3)];
        assert_eq!(inputs, [&[(8, 1.0), (6, 2.0), (7, 0.75)][..], &own].concat());
    }

    #[test]
    fn ids_that_were_found_earlier_are_not_looked_up_again() {
        let learner = after_stream(linear(PA));
        let mut event = buffer_of([1.0, 1.0]);
        event.features[0].id = 77;
        learner.look_up(&[Name::Text("a"), Name::Text("a")][..], &mut event).unwrap();
        let ids = [event.features[0].id, event.features[1].id];
        assert_eq!(ids, [77, learner.id(Name::Text("a"))]);
    }

    #[test]
    fn names_without_room_count_as_absent_and_stay_unknown() {
        let capacity = Some(Capacity { most: 2, policy: EvictionPolicy::Oldest });
        let mut learner = learner(Config { scaled: true, capacity, ..linear(PA) });
        let event = [("c", 1.0), ("b", 2.0), ("a", 0.0)];
        let (mut buffer, names) = (looked_up(&learner, &event).unwrap(), names_of(&event));
        learner.decide(&mut buffer, &names[..]).unwrap();
        let ids: Vec<u32> = buffer.features.iter().map(|feature| feature.id).collect();
        assert_eq!(ids, [UNKNOWN, 1, 0]); // the first two in sorted order have room
        assert_eq!(buffer.features[0].value, 0.0);
        assert_eq!((learner.names(), learner.refused()), (2, 0));
        let context = LabelContext { number: 1, weight: 1.0, products: None };
        learner.learn_decided(&mut buffer, &names[..], &Label::Bool(true), context).unwrap();
        assert_eq!((learner.names(), learner.refused()), (2, 1));
    }
}
