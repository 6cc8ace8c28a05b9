//! Learning an event: first everything that can fail, then everything that changes the learner.

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, Names, UNKNOWN};
use crate::label::{Label, Target};
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::learner::event_buffer::EventBuffer;
use crate::model::Model;
use crate::model::example::{CachedProducts, Example, PriorScores};
use crate::model::kind::ModelKind;

/// What is known of a labelled event beside its features.
#[derive(Clone, Copy)]
pub(super) struct LabelContext {
    /// The number of the event.
    pub number: u64,
    /// The weight of the label in the calibration.
    pub weight: f64,
    /// What its decision computed, if nothing was learned since.
    pub products: Option<CachedProducts>,
}

impl Learner {
    /// Learn an event of the stream without deciding on it first. True if it had new names, which have their ids
    /// now. If features are evicted, all earlier ids are invalid.
    pub fn learn(
        &mut self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        label: &Label,
    ) -> Result<bool, Error> {
        self.check_learns()?;
        self.observe(event, names)?;
        self.reserve_names(event, names)?;
        if self.commits_first() {
            self.check_learnable(event, label)?;
            self.commit(event, names);
        }
        let context = LabelContext { number: self.seen, weight: 1.0, products: None };
        self.learn_decided(event, names, label, context)?;
        self.track(event, names);
        Ok(!event.new.is_empty())
    }

    /// Whether the scaler counts an event before the event is learned: if names are evicted, which happens when
    /// an event is counted.
    pub(super) fn commits_first(&self) -> bool {
        self.scaler.is_some() && self.evicts()
    }

    /// Refuse what [`Self::learn_decided`] would refuse of an event that is observed and not yet counted.
    pub(super) fn check_learnable(&self, event: &EventBuffer, label: &Label) -> Result<(), Error> {
        let target = self.labels.read(label)?.target;
        let example = Example {
            features: event.inputs(),
            squared_norm: event.squared_norm,
            target,
            number: self.seen,
            weight: 1.0,
            history: self.table.history(),
            per_feature: self.inputs_per_feature(),
            rows: self.rows_of(self.table.len() + event.new.len()),
            positives: self.positives + 1,
            negatives: self.negatives + 1,
            products: None,
        };
        self.model.check_example(&example)
    }

    /// Learn the answer to a decision of this learner, now or much later; once. The event's features are as
    /// [`Self::decide`] left them, `products` are those of the decision if nothing was learned since. If features
    /// are evicted, all earlier ids are invalid.
    pub fn answer(
        &mut self,
        decision: &Decision,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        label: &Label,
        products: Option<CachedProducts>,
    ) -> Result<(), Error> {
        self.answer_weighed(decision, event, names, label, products, decision.weight())
    }

    /// [`Self::answer`] with a label that stands for so many labels in probabilities. One of weight 0 says
    /// nothing about how often labels and errors occur, because somebody chose whose label to tell: it is
    /// learned, but calibration, class odds and trust are as if it had not come.
    pub fn answer_weighed(
        &mut self,
        decision: &Decision,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        label: &Label,
        products: Option<CachedProducts>,
        weight: f64,
    ) -> Result<(), Error> {
        if !(weight.is_finite() && weight >= 0.0) {
            return Err(Error::Parameter(format!(
                "answer: weight must be a number, 0 or above, got {weight}."
            )));
        }
        self.check_learns()?;
        self.check_question(decision, &event.features)?;
        let context = LabelContext { number: decision.number, weight, products };
        self.learn_decided(event, names, label, context)?;
        self.open.close(decision.number);
        Ok(())
    }

    /// Learn an event that was decided on. Without a scaler its new names become known now; with one they became
    /// known when the event was observed, and names that are not known any more are left out.
    #[inline(always)]
    pub(super) fn learn_decided(
        &mut self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        label: &Label,
        mut context: LabelContext,
    ) -> Result<(), Error> {
        let parsed = self.labels.read(label)?;
        let (closed, enters) = (self.is_closed(), self.scaler.is_none());
        if enters {
            event.new.clear(); // the buffer may have served another event
        }
        let (mut left_out, mut learnable) = (0, None); // what is learned, if something is left out
        if closed || !event.known {
            left_out = self.admit_learnable(event, names, closed)?;
            if left_out > 0 {
                learnable = Some(self.without_left_out(event, closed));
                context.products = None;
            }
        }
        let (binary, positive) = (self.labels.is_binary(), parsed.target == Target::Class(1));
        let positives = self.positives + u64::from(binary && positive);
        let negatives = self.negatives + u64::from(binary && !positive);
        let new = if event.pending || enters { event.new.len() } else { 0 };
        let (table, per_feature) = (&self.table, self.inputs_per_feature());
        let taught = learnable.as_deref().unwrap_or(event);
        let example = Example {
            features: taught.inputs(),
            squared_norm: taught.squared_norm,
            target: parsed.target,
            number: context.number,
            weight: context.weight,
            history: table.history(),
            per_feature,
            rows: (table.len() + new) * per_feature as usize,
            positives,
            negatives,
            products: context.products,
        };
        let outcome = match &mut self.model {
            // Compiled into the loop of the caller, where the example need not be in memory.
            Model::Linear(model) => model.learn(&{ example }, &mut self.draws)?,
            model => model.learn(&{ example }, &mut self.draws)?,
        };

        // From here on nothing can fail.
        (self.positives, self.negatives) = (positives, negatives);
        self.learned += 1;
        self.labels.learn(&parsed, label);
        self.query.on_learned(outcome.mistake);
        if let Target::Class(class) = parsed.target
            && context.weight > 0.0
        {
            match outcome.scores {
                PriorScores::None => {}
                PriorScores::Margin(ahead) => {
                    self.calibration.learn_lead(ahead, class, context.weight);
                }
                PriorScores::Several(scores) => {
                    self.calibration.learn(scores, class, context.weight);
                }
            }
        }
        if enters {
            self.insert_names(&event.new, names);
        } else {
            self.commit(event, names);
        }
        let own = 0..self.own_names().len() as FeatureId;
        let learned = &learnable.as_deref().unwrap_or(event).features;
        self.table.note_learned(learned.iter().map(|feature| feature.id), self.learned);
        self.table.note_learned(own, self.learned);
        self.refused += if closed { 0 } else { left_out as u64 };
        if enters {
            self.evict(event);
        }
        Ok(())
    }

    /// Without a scaler, admit the new names of an event. Returns how many features have to be left out.
    #[inline(never)]
    fn admit_learnable(
        &self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        closed: bool,
    ) -> Result<usize, Error> {
        if self.scaler.is_none() && !closed {
            let left_out = self.admit(event, names)?;
            self.expand(event);
            return Ok(left_out);
        }
        Ok(event.features.iter().filter(|feature| self.is_left_out(feature, closed)).count())
    }

    fn is_left_out(&self, feature: &FeatureValue, closed: bool) -> bool {
        feature.id == UNKNOWN || (closed && !self.is_learned(feature.id))
    }

    #[inline(never)]
    fn without_left_out(&self, event: &EventBuffer, closed: bool) -> Box<EventBuffer> {
        let EventBuffer { features, presence, summary, .. } = event;
        let presence = presence.iter().copied().chain(std::iter::repeat(0.0));
        let all = features.iter().copied().zip(presence);
        let (features, presence) = all.filter(|(one, _)| !self.is_left_out(one, closed)).unzip();
        let mut kept = EventBuffer { presence, summary: *summary, ..EventBuffer::new(features) };
        self.expand(&mut kept);
        Box::new(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::EvictionPolicy;
    use crate::event::{FeatureId, Name};
    use crate::feature_history::FeatureHistory;
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
        let context = LabelContext { number: decision.number, weight: 1.0, products };
        learner.learn_decided(&mut buffer, &names[..], label, context).unwrap();
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
            for id in 0..at_once.names() as FeatureId {
                assert_eq!(at_once.weight(id, 0).to_bits(), decided.weight(id, 0).to_bits());
                assert_eq!(at_once.history(id), decided.history(id));
            }
            assert_eq!(at_once.learned_of_each(), decided.learned_of_each());
            assert_eq!((at_once.seen(), decided.seen()), (0, STREAM.len() as u64));
        }
    }

    #[test]
    fn an_answer_of_weight_0_is_learned_and_trust_stays() {
        let event = [("a", 1.0), ("b", -0.5)];
        let mut learner = learner(spring(QueryRule::All));
        for (event, positive) in STREAM.iter().cycle().take(60) {
            let label = label_for(learner.labels(), *positive);
            learn(&mut learner, event, &label).unwrap();
        }
        let told = |model: &Learner, weight: f64| {
            let (mut model, names) = (model.clone(), names_of(&event));
            let mut buffer = looked_up(&model, &event).unwrap();
            let decision = model.decide(&mut buffer, &names[..]).unwrap();
            let label = label_for(model.labels(), true);
            let before = model.details(&[]);
            let answered =
                model.answer_weighed(&decision, &mut buffer, &names[..], &label, None, weight);
            (answered.map(|()| model.learned()), before == model.details(&[]))
        };
        let one_more = learner.learned() + 1;
        assert_eq!(told(&learner, 0.0), (Ok(one_more), true));
        assert_eq!(told(&learner, 1.0), (Ok(one_more), false));
        for weight in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(told(&learner, weight), (Err(Error::Parameter(_)), true)));
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
        learner.look_up(&names[..], &mut late).unwrap();
        let context = LabelContext { number: 1, weight: 1.0, products: None };
        learner.learn_decided(&mut late, &names[..], &Label::Bool(true), context).unwrap();
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
        assert_eq!((learner.names(), learner.refused(), learner.learned()), (1, 2, 2));
    }

    #[test]
    fn names_without_room_keep_their_places_in_the_event() {
        for scaled in [false, true] {
            let mut learner = learner(Config { scaled, ..limited(1, EvictionPolicy::Refuse) });
            let event = [("b", 4.0), ("a", 2.0)];
            let (mut buffer, names) = (looked_up(&learner, &event).unwrap(), names_of(&event));
            learner.learn(&mut buffer, &names[..], &Label::Bool(true)).unwrap();
            let ids: Vec<FeatureId> = buffer.features.iter().map(|feature| feature.id).collect();
            assert_eq!(ids, [UNKNOWN, 0]); // who reads them by position finds its own
        }
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
