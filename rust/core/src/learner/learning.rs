//! Learning an event: first everything that can fail, then everything that changes the learner.

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, Name, Names, UNKNOWN};
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
            self.model.check(&event.features)?;
            self.check_learnable(&event.features, names, label)?;
            self.commit(event, names); // from here on nothing can fail
        }
        let grew = self.learn_decided(&mut event.features, names, label, 1.0, None)?;
        self.commit(event, names);
        Ok(grew)
    }

    /// Refuse what [`Self::learn_decided`] would refuse of an event that the model can learn, and take the
    /// memory for its new names. For models that use the scaler, which changes before they learn.
    pub(super) fn check_learnable(
        &mut self,
        features: &[FeatureValue],
        names: &(impl Names + ?Sized),
        label: &Label,
    ) -> Result<(), Error> {
        self.labels.read(label)?;
        self.vocabulary.room_for(features.len())?;
        let own = self.own_names();
        let names = NamesWithOwn { names, given: features.len() - own.len(), own };
        let new = (0..features.len()).filter(|&position| features[position].id == UNKNOWN);
        self.vocabulary.reserve(new.map(|position| names.name(position)))
    }

    /// Learn the answer to a decision of this learner, now or much later; once. The arguments are those of
    /// [`Self::learn_decided`].
    pub fn answer(
        &mut self,
        decision: &Decision,
        features: &mut [FeatureValue],
        names: &(impl Names + ?Sized),
        label: &Label,
        products: Option<CachedProducts>,
    ) -> Result<bool, Error> {
        if decision.asked {
            let given = &features[..features.len() - self.own_names().len()];
            self.open.check(decision.number, fingerprint(decision.margin, given))?;
        }
        let grew = self.learn_decided(features, names, label, decision.weight(), products)?;
        self.open.close(decision.number);
        Ok(grew)
    }

    /// Learn an event that was decided on earlier. `features` are as [`Self::decide`] left them, the
    /// learner's own at the end. `weight` is the weight of the label in the calibration, `products` are those
    /// of the decision if nothing was learned since. New names get their ids, which are filled in. True if
    /// there were any. If features are evicted, all earlier ids are invalid.
    #[inline]
    pub(super) fn learn_decided(
        &mut self,
        features: &mut [FeatureValue],
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
        if !admission.new.is_empty() {
            self.vocabulary.reserve(admission.new.iter().map(|&position| names.name(position)))?;
        }
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

    /// Fill in the ids that an event's new names will get, in the sorted order of the names. Names
    /// without room, here or in the scaler, keep `UNKNOWN`.
    fn admit(
        &self,
        features: &mut [FeatureValue],
        names: &NamesWithOwn<'_, impl Names + ?Sized>,
    ) -> Result<Admission, Error> {
        let mut new: Vec<usize> = Vec::new();
        let unknown = |some, feature: &FeatureValue| some | (feature.id == UNKNOWN);
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
    fn remove_refused(&self, new: &mut Vec<usize>, features: &[FeatureValue], given: usize) -> u64 {
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
        features: &'a [FeatureValue],
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::EvictionPolicy;
    use crate::learner::Config;
    use crate::learner::own_features::OwnFeatures;
    use crate::learner::testing::{
        PA, STREAM, after_stream, buffer_of, bytes_of, every_kind, known_names, label_for, learn,
        learner, limited, linear, looked_up, misfit, names_of, spring, weight,
    };
    use crate::model::linear::LinearConfig;
    use crate::rules::query::QueryRule;

    /// Decide on an event, and learn it with the weight 1 of a label that was not asked for.
    fn decide_then_learn(learner: &mut Learner, event: &[(&str, f64)], label: &Label) {
        let (mut buffer, names) = (looked_up(learner, event).unwrap(), names_of(event));
        let decision = learner.decide(&mut buffer, &names[..]).unwrap();
        let products = Some(decision.products());
        learner.learn_decided(&mut buffer.features, &names[..], label, 1.0, products).unwrap();
    }

    #[test]
    fn deciding_and_then_learning_gives_the_weights_of_learning_at_once() {
        for config in every_kind() {
            let (mut at_once, mut decided) = (learner(config.clone()), learner(config));
            for (event, positive) in STREAM {
                let label = label_for(at_once.labels(), positive);
                learn(&mut at_once, event, &label).unwrap();
                decide_then_learn(&mut decided, event, &label);
            }
            assert_eq!(known_names(&at_once), known_names(&decided));
            for id in 0..at_once.vocabulary_len() as FeatureId {
                assert_eq!(at_once.weight(id, 0).to_bits(), decided.weight(id, 0).to_bits());
                assert_eq!(at_once.history(id), decided.history(id));
            }
            assert_eq!(at_once.learned_of_each(), decided.learned_of_each());
            assert_eq!((at_once.seen(), decided.seen()), (0, STREAM.len() as u64));
        }
    }

    #[test]
    fn new_names_of_an_event_get_their_ids_in_sorted_order() {
        let mut learner = learner(linear(PA));
        let names = [Name::Text("b"), Name::Number(10), Name::Text("a"), Name::Number(9)];
        let mut buffer = buffer_of([1.0; 4]);
        assert!(learner.learn(&mut buffer, &names[..], &Label::Bool(true)).unwrap());
        assert_eq!(known_names(&learner), ["9", "10", "'a'", "'b'"]);
        let ids: Vec<FeatureId> = buffer.features.iter().map(|feature| feature.id).collect();
        assert_eq!(ids, [3, 1, 2, 0]); // filled in
        assert!(!learn(&mut learner, &[("a", 1.0)], &Label::Bool(true)).unwrap());
    }

    #[test]
    fn a_label_that_does_not_fit_changes_nothing() {
        for config in every_kind() {
            let mut learner = after_stream(config);
            let (before, label) = (bytes_of(&learner), misfit(learner.labels()));
            let refused = learn(&mut learner, &[("a", 1.0), ("new", 1.0)], &label);
            assert!(matches!(refused, Err(Error::Label(_))), "{refused:?}");
            assert!(bytes_of(&learner) == before);
        }
    }

    #[test]
    fn a_value_that_is_too_large_changes_nothing() {
        for config in every_kind() {
            let mut learner = after_stream(config);
            let (before, label) = (bytes_of(&learner), label_for(learner.labels(), true));
            let refused = learn(&mut learner, &[("new", 1.0), ("b", 1e200)], &label);
            assert!(matches!(refused, Err(Error::Step(_))), "{refused:?}");
            assert!(bytes_of(&learner) == before);
        }
    }

    #[test]
    fn the_name_of_an_own_feature_changes_nothing() {
        let intercept = Config { own: OwnFeatures::Intercept, ..linear(PA) };
        for (config, name) in [(intercept, "(intercept)"), (spring(QueryRule::All), "(energy)")] {
            let mut learner = after_stream(config);
            let before = bytes_of(&learner);
            let refused = learn(&mut learner, &[("a", 1.0), (name, 1.0)], &Label::Bool(true));
            let Err(Error::Event(sentence)) = refused else { panic!("{refused:?}") };
            assert!(sentence.contains(name), "{sentence}");
            assert!(bytes_of(&learner) == before);
        }
    }

    #[test]
    fn a_late_answer_uses_the_current_ids_of_its_names() {
        let mut learner = learner(linear(PA));
        let (event, names) = ([("x", 1.0), ("y", 2.0)], names_of(&[("x", 1.0), ("y", 2.0)]));
        let mut late = looked_up(&learner, &event).unwrap();
        learner.decide(&mut late, &names[..]).unwrap();
        learn(&mut learner, &[("y", 1.0)], &Label::Bool(false)).unwrap(); // y is known by now
        learner.find_ids(&names[..], &mut late.features).unwrap();
        let label = Label::Bool(true);
        assert!(learner.learn_decided(&mut late.features, &names[..], &label, 1.0, None).unwrap());
        assert_eq!(known_names(&learner), ["'y'", "'x'"]);
        // y had the weight −1: q = −2, loss 3, ‖x‖² = 5
        assert_eq!((weight(&learner, "x"), weight(&learner, "y")), (0.6, -1.0 + 1.2));
    }

    #[test]
    fn a_restarting_learner_sets_its_weights_to_0_when_names_are_new() {
        let mut learner = learner(linear(LinearConfig { restarts: true, ..PA }));
        learn(&mut learner, &[("a", 1.0)], &Label::Bool(true)).unwrap();
        learn(&mut learner, &[("a", 2.0)], &Label::Bool(true)).unwrap();
        assert_eq!(weight(&learner, "a"), 1.0); // q = 2: nothing to correct
        learn(&mut learner, &[("a", 1.0), ("b", 1.0)], &Label::Bool(true)).unwrap();
        assert_eq!((weight(&learner, "a"), weight(&learner, "b")), (0.5, 0.5)); // from 0
    }

    #[test]
    fn names_without_room_are_left_out_of_the_step_and_counted() {
        let mut learner = learner(limited(1, EvictionPolicy::Refuse));
        learn(&mut learner, &[("b", 4.0), ("a", 2.0)], &Label::Bool(true)).unwrap();
        assert_eq!((known_names(&learner), learner.refused()), (vec!["'a'".to_owned()], 1));
        assert_eq!(weight(&learner, "a"), 0.5); // loss 1, ‖x‖² = 4 without b
        let mut decided = self::learner(limited(1, EvictionPolicy::Refuse));
        decide_then_learn(&mut decided, &[("b", 4.0), ("a", 2.0)], &Label::Bool(true));
        assert_eq!(weight(&decided, "a"), 0.5); // not with the ‖x‖² = 20 of the decision
        learn(&mut learner, &[("c", 1.0)], &Label::Bool(true)).unwrap(); // nothing is left of it
        assert_eq!((learner.vocabulary_len(), learner.refused(), learner.learned()), (1, 2, 2));
    }

    #[test]
    fn positive_and_negative_labels_are_counted_and_history_is_noted() {
        let mut learner = learner(linear(PA));
        for positive in [true, false, true] {
            learn(&mut learner, &[("a", 1.0)], &Label::Bool(positive)).unwrap();
        }
        learn(&mut learner, &[("b", 1.0)], &Label::Bool(true)).unwrap();
        assert_eq!(learner.learned_of_each(), (1, 3));
        assert_eq!(learner.history(0), FeatureHistory { first: 1, last: 3, times: 3 });
        assert_eq!(learner.history(1), FeatureHistory { first: 4, last: 4, times: 1 });
    }
}
