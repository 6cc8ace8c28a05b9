//! Learning an event: first everything that can fail, then everything that changes the learner.

use crate::error::Error;
use crate::event::{Feature, FeatureId, Name, Names, UNKNOWN};
use crate::label::{Label, ParsedLabel, Target};
use crate::learner::decision::Decision;
use crate::learner::event_buffer::{EventBuffer, is_left_out};
use crate::learner::history::FeatureHistory;
use crate::learner::open_questions::fingerprint;
use crate::learner::{Learner, known};
use crate::model::example::{CachedProducts, Example, Outcome};

/// An event's names, followed by those of the learner's own features.
struct NamesWithOwn<'a, N: ?Sized> {
    names: &'a N,
    given: usize,
    own: &'static [Name<'static>],
}

impl<N: Names + ?Sized> Names for NamesWithOwn<'_, N> {
    fn name(&self, position: usize) -> Name<'_> {
        match position.checked_sub(self.given) {
            None => self.names.name(position),
            Some(index) => self.own[index],
        }
    }
}

/// Which of an event's new names are learned.
struct Admission {
    /// Their positions, in the order in which they get ids.
    new: Vec<usize>,
    /// The number of names that there was no room for.
    refused: u64,
}

impl Learner {
    /// Learn an event of the stream without deciding on it first. True if it had new names.
    pub fn learn(
        &mut self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        label: &Label,
    ) -> Result<bool, Error> {
        self.observe(event, names)?;
        if self.model.uses_scaler() {
            self.check_learnable(event, label)?;
            self.commit(event, names); // from here on nothing can fail
        }
        let grew = self.learn_decided(&mut event.features, names, label, 1.0, None)?;
        self.commit(event, names);
        Ok(grew)
    }

    /// Refuse what [`Self::learn_decided`] would refuse, for models that use the scaler.
    pub(super) fn check_learnable(&self, event: &EventBuffer, label: &Label) -> Result<(), Error> {
        self.labels.read(label)?;
        self.vocabulary.room_for(event.features.len())?;
        self.model.check(&event.features)
    }

    /// Learn the answer to a decision of this learner, now or much later; once. The arguments are those of
    /// [`Self::learn_decided`].
    pub fn answer(
        &mut self,
        decision: &Decision,
        features: &mut [Feature],
        names: &(impl Names + ?Sized),
        label: &Label,
        products: Option<CachedProducts>,
    ) -> Result<bool, Error> {
        if decision.asked {
            let given = &features[..features.len() - self.own_names().len()];
            self.open.check(decision.number, fingerprint(given))?;
        }
        let grew = self.learn_decided(features, names, label, decision.weight(), products)?;
        self.open.close(decision.number);
        Ok(grew)
    }

    /// Learn an event that was decided on earlier. `features` are as [`Self::decide`] left them, the
    /// learner's own at the end. `weight` is the weight of the label in the calibration, `products` are those
    /// of the decision if nothing was learned since. New names get their ids, which are filled in. True if
    /// there were any. If features are evicted, all earlier ids are invalid.
    pub(super) fn learn_decided(
        &mut self,
        features: &mut [Feature],
        names: &(impl Names + ?Sized),
        label: &Label,
        weight: f64,
        products: Option<CachedProducts>,
    ) -> Result<bool, Error> {
        if self.is_closed() && features.iter().any(|feature| feature.id == UNKNOWN) {
            return self.learn_decided(&mut known(features), names, label, weight, None);
        }
        let given = features.len() - self.own_names().len();
        let names = NamesWithOwn { names, given, own: self.own_names() };
        let parsed = self.labels.read(label)?;
        let admission = self.admit(features, &names)?;
        let learnable; // the features left if names were refused
        let (features, products) = if admission.refused == 0 {
            (&*features, products)
        } else {
            learnable = known(features);
            (&learnable[..], None)
        };
        let example = self.example(features, parsed.target, admission.new.len(), products);
        let outcome = self.model.learn(&example, self.scaler.as_ref(), &mut self.draws)?;

        // From here on nothing can fail.
        (self.positives, self.negatives) = (example.positives, example.negatives);
        self.learned += 1;
        self.learn_label(&parsed, label, &outcome, weight);
        self.insert_names(&admission.new, &names);
        for feature in features {
            self.history[feature.id as usize].note(self.learned);
        }
        self.refused += admission.refused;
        self.evict();
        Ok(!admission.new.is_empty())
    }

    /// Fill in the ids that an event's new names will get, in the sorted order of the names. Names without
    /// room, here or in the scaler, keep `UNKNOWN`.
    fn admit(
        &self,
        features: &mut [Feature],
        names: &NamesWithOwn<'_, impl Names + ?Sized>,
    ) -> Result<Admission, Error> {
        let mut new: Vec<usize> = Vec::new();
        let unknown = |some, feature: &Feature| some | (feature.id == UNKNOWN);
        if features.iter().fold(false, unknown) {
            new.extend((0..features.len()).filter(|&i| features[i].id == UNKNOWN));
            new.sort_unstable_by(|&a, &b| names.name(a).cmp(&names.name(b)));
        }
        let refused = self.remove_refused(&mut new, features, names.given);
        self.vocabulary.room_for(new.len())?;
        for (rank, &position) in new.iter().enumerate() {
            features[position].id = (self.vocabulary.len() + rank) as FeatureId;
        }
        Ok(Admission { new, refused })
    }

    /// Remove the new names that there is no room for; returns how many.
    fn remove_refused(&self, new: &mut Vec<usize>, features: &[Feature], given: usize) -> u64 {
        let (Some(capacity), false) = (self.config.capacity, new.is_empty()) else { return 0 };
        let carried = features[..given].iter().filter(|feature| feature.id != UNKNOWN).count();
        let mut room = capacity.room(self.given_names(), carried);
        let all = new.len();
        new.retain(|&position| {
            let own = position >= given;
            let left_out = self.scaler.is_some() && is_left_out(features[position].value);
            let admitted = own || (room > 0 && !left_out);
            room -= usize::from(admitted && !own);
            admitted
        });
        (all - new.len()) as u64
    }

    /// The example for the model.
    fn example<'a>(
        &self,
        features: &'a [Feature],
        target: Target,
        new: usize,
        products: Option<CachedProducts>,
    ) -> Example<'a> {
        let binary = self.labels.is_binary();
        let positive = binary && target == Target::Class(1);
        let known = self.vocabulary.len();
        Example {
            features,
            target,
            known,
            names: known + new,
            positives: self.positives + u64::from(positive),
            negatives: self.negatives + u64::from(binary && !positive),
            products,
        }
    }

    /// Pass a label to the known labels, the query rule and the calibration.
    fn learn_label(&mut self, parsed: &ParsedLabel, label: &Label, outcome: &Outcome, weight: f64) {
        self.labels.learn(parsed, label);
        self.query.on_learned(outcome.mistake);
        if let Target::Class(class) = parsed.target {
            self.calibration.learn(outcome.scores.as_slice(), class, weight);
        }
    }

    /// Add new names to the vocabulary and to what is kept per name.
    fn insert_names(&mut self, new: &[usize], names: &NamesWithOwn<'_, impl Names + ?Sized>) {
        for &position in new {
            let name = names.name(position);
            let id = self.vocabulary.insert(name);
            self.history.push(FeatureHistory::new(self.learned));
            if let Some(index) = position.checked_sub(names.given) {
                self.own_ids[index] = id;
            }
            if let Some(scaler) = &mut self.scaler {
                scaler.on_learned(name);
            }
        }
    }
}
