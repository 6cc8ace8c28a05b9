//! From a raw event to an event as the model uses it: ids, scaled values, the learner's own features.

use crate::error::Error;
use crate::event::{Feature, FeatureId, Names, UNKNOWN};
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
    /// Ids other than `UNKNOWN` are kept: the caller has found them earlier, and [`Self::evicted`] has not
    /// grown since.
    pub fn find_ids(
        &self,
        names: &(impl Names + ?Sized),
        features: &mut [Feature],
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

    /// Bring an event that is not part of the stream into the form that the model uses. Changes nothing but
    /// the event.
    pub fn transform(&self, event: &mut EventBuffer) -> Result<(), Error> {
        if let Some(scaler) = &self.scaler {
            let EventBuffer { features, stats_ids, stats, .. } = event;
            event.summary = scaler.transform(stats_ids, features, stats)?;
        }
        self.add_own(event);
        Ok(())
    }

    /// The same for an event of the stream, which the scaler counts. Only [`Self::commit`] stores the new
    /// statistics.
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
                    let mut some: Vec<Feature> = positions.iter().map(|&i| features[i]).collect();
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
            let features: Vec<Feature> = positions.iter().map(|&i| event.features[i]).collect();
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
            features.extend(ids.next().map(|&id| Feature { id, value }));
        });
    }
}

/// The positions of the features that the scaler counts, if it has no room for all new names: the known names
/// and the first `room` new ones in sorted order.
fn counted(event: &EventBuffer, names: &(impl Names + ?Sized), room: usize) -> Vec<usize> {
    let (mut new, mut positions): (Vec<usize>, Vec<usize>) =
        (0..event.stats_ids.len()).partition(|&position| event.stats_ids[position] == UNKNOWN);
    new.sort_unstable_by(|&a, &b| names.name(a).cmp(&names.name(b)));
    positions.extend(&new[..room]);
    positions.sort_unstable();
    positions
}
