//! One event of a stream whose labels may be there already: decided, recorded and learned, or refused with
//! nothing changed.

use crate::error::Error;
use crate::event::Names;
use crate::label::Label;
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::learner::event_buffer::EventBuffer;
use crate::learner::learning::LabelContext;
use crate::model::example::CachedProducts;
use crate::rules::query::{Scaled, Told};

/// What a step did.
#[derive(Clone, Copy)]
pub struct Stepped {
    pub learned: bool,
    /// Whether the event brought new names, which have their ids now.
    pub grew: bool,
}

impl Learner {
    /// Decide on an event and, if its label is asked for and there, learn it. `record` gets the decision before
    /// anything is learned. An error, also one of `record`, has changed nothing.
    pub fn step(
        &mut self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        label: Option<&Label>,
        record: impl FnOnce(&Self, &Decision) -> Result<(), Error>,
    ) -> Result<Stepped, Error> {
        if label.is_some() {
            self.check_learns()?;
        }
        self.observe(event, names)?;
        let before = (self.coins.clone(), self.query, self.seen, self.asked);
        let stepped = self.step_observed(event, names, label, record);
        if stepped.is_err() {
            (self.coins, self.query, self.seen, self.asked) = before;
            event.pending = false;
        }
        stepped
    }

    /// Learn an event whose label is known without asking: the query rule does not see it, and the
    /// recorded decision did not ask. An error, also one of `record`, has changed nothing.
    pub fn step_labelled(
        &mut self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        label: &Label,
        record: impl FnOnce(&Self, &Decision) -> Result<(), Error>,
    ) -> Result<Stepped, Error> {
        self.check_learns()?;
        self.observe(event, names)?;
        let stepped = self.learn_observed(event, names, label, record);
        if stepped.is_err() {
            event.pending = false;
        }
        stepped
    }

    fn learn_observed(
        &mut self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        label: &Label,
        record: impl FnOnce(&Self, &Decision) -> Result<(), Error>,
    ) -> Result<Stepped, Error> {
        self.reserve_names(event, names)?;
        let would = self.would_decide(event)?;
        let decision = Decision { asked: false, query_probability: 0.0, ..would };
        let commits_first = self.commits_first();
        if commits_first {
            self.check_learnable(event, label)?;
        }
        record(self, &decision)?;
        if commits_first {
            self.commit(event, names); // nothing can fail now
        }
        let products = Some(decision.products());
        let context = LabelContext { number: self.seen, weight: 1.0, products };
        self.learn_decided(event, names, label, context)?;
        self.commit(event, names);
        self.track(event, names);
        Ok(Stepped { learned: true, grew: !event.new.is_empty() })
    }

    fn step_observed(
        &mut self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        label: Option<&Label>,
        record: impl FnOnce(&Self, &Decision) -> Result<(), Error>,
    ) -> Result<Stepped, Error> {
        self.reserve_names(event, names)?;
        let scaled = if self.scaler.is_some() { Scaled::Running } else { Scaled::No };
        let decision = self.ask(event, scaled, Told::default())?;
        let answer = label.filter(|_| decision.asked);
        let commits_first = self.commits_first();
        if let (Some(label), true) = (answer, commits_first) {
            self.check_learnable(event, label)?;
        }
        record(self, &decision)?;
        if commits_first {
            self.commit(event, names); // nothing can fail now
        }
        match answer {
            Some(label) => {
                let (number, weight) = (decision.number, decision.weight());
                let products = Some(CachedProducts { is_latest: true, ..decision.products() });
                self.learn_decided(event, names, label, LabelContext { number, weight, products })?;
            }
            None if decision.asked => self.open_question(&decision, event),
            None => {}
        }
        self.commit(event, names);
        self.track(event, names);
        Ok(Stepped { learned: answer.is_some(), grew: !event.new.is_empty() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Name;
    use crate::learner::Config;
    use crate::learner::testing::{
        PA, after_stream, buffer_of, bytes_of, every_kind, label_for, learn, learner, linear,
        looked_up, misfit, names_of,
    };
    use crate::rules::query::QueryRule;

    #[test]
    fn a_label_that_does_not_fit_and_a_record_that_fails_change_nothing() {
        let (event, mut refused) = ([("a", 1.0), ("new", 2.0)], 0);
        for config in every_kind() {
            let mut learner = after_stream(config);
            let (before, names) = (bytes_of(&learner), names_of(&event));
            let label = misfit(learner.labels());
            let mut buffer = looked_up(&learner, &event).unwrap();
            let failed = learner.step(&mut buffer, &names[..], Some(&label), |_, _| Ok(()));
            if failed.is_ok() {
                continue; // it did not ask, so it did not look at the label
            }
            assert!(bytes_of(&learner) == before);
            let mut buffer = looked_up(&learner, &event).unwrap();
            let full = |_: &Learner, _: &Decision| Err(Error::Output("full".to_owned()));
            assert!(learner.step(&mut buffer, &names[..], None, full).is_err());
            assert!(bytes_of(&learner) == before);
            refused += 1;
        }
        assert!(refused >= 7, "most of them ask, only {refused} did");
    }

    #[test]
    fn a_label_that_is_known_is_learned_as_learn_does_it_and_without_asking() {
        for config in every_kind() {
            let (mut stepping, mut learning) = (after_stream(config.clone()), after_stream(config));
            for value in [0.5, -2.0, 1.0] {
                let event = [("a", value), ("new", 2.0)];
                let label = label_for(learning.labels(), value > 0.0);
                let names = names_of(&event);
                let mut buffer = looked_up(&stepping, &event).unwrap();
                let mut recorded = None;
                let stepped = stepping.step_labelled(&mut buffer, &names[..], &label, |_, made| {
                    recorded = Some(*made);
                    Ok(())
                });
                assert!(stepped.unwrap().learned);
                let recorded = recorded.unwrap();
                assert_eq!((recorded.asked, recorded.query_probability), (false, 0.0));
                learn(&mut learning, &event, &label).unwrap();
                assert!(bytes_of(&stepping) == bytes_of(&learning));
            }
            let before = bytes_of(&stepping);
            let event = [("a", 1.0), ("newer", 2.0)];
            let names = names_of(&event);
            let full = |_: &Learner, _: &Decision| Err(Error::Output("full".to_owned()));
            let label = label_for(stepping.labels(), true);
            let mut buffer = looked_up(&stepping, &event).unwrap();
            assert!(stepping.step_labelled(&mut buffer, &names[..], &label, full).is_err());
            let label = misfit(stepping.labels());
            let mut buffer = looked_up(&stepping, &event).unwrap();
            assert!(
                stepping.step_labelled(&mut buffer, &names[..], &label, |_, _| Ok(())).is_err()
            );
            assert!(bytes_of(&stepping) == before);
        }
    }

    #[test]
    fn an_event_that_no_label_could_teach_is_not_asked_about() {
        let mut learner = learner(linear(PA));
        let before = bytes_of(&learner);
        let (mut buffer, names) = (buffer_of([1e200]), [Name::Text("a")]);
        learner.look_up(&names[..], &mut buffer).unwrap();
        assert!(matches!(learner.decide(&mut buffer, &names[..]), Err(Error::Step(_))));
        assert!(bytes_of(&learner) == before);
    }

    #[test]
    fn an_answer_is_learned_once_and_only_by_the_learner_that_asked() {
        let config = Config { query: QueryRule::All, ..linear(PA) };
        let (mut one, mut other) = (learner(config.clone()), learner(config));
        let (event, names) = ([("a", 1.0)], names_of(&[("a", 1.0)]));
        let mut buffer = looked_up(&one, &event).unwrap();
        let decision = one.decide(&mut buffer, &names[..]).unwrap();
        let mut foreign = looked_up(&other, &[("a", 3.0)]).unwrap();
        other.decide(&mut foreign, &names[..]).unwrap();
        let label = Label::Bool(true);
        let mut answer = |learner: &mut Learner| {
            learner.answer(&decision, &mut buffer, &names[..], &label, None)
        };
        assert!(matches!(answer(&mut other), Err(Error::Answer(_))), "its event was another");
        answer(&mut one).unwrap();
        let after = bytes_of(&one);
        assert!(matches!(answer(&mut one), Err(Error::Answer(_))), "it was answered");
        assert!(bytes_of(&one) == after);
    }
}
