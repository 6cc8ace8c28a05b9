//! One event of a stream whose labels may be there already: decided, recorded and learned, or refused with
//! nothing changed.

use crate::error::Error;
use crate::event::Names;
use crate::label::Label;
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::learner::event_buffer::EventBuffer;
use crate::rules::query::Scaled;

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
        self.observe(event, names)?;
        let before = (self.coins.clone(), self.query, self.seen, self.asked);
        let stepped = self.step_observed(event, names, label, record);
        if stepped.is_err() {
            (self.coins, self.query, self.seen, self.asked) = before;
            event.discard();
        }
        stepped
    }

    fn step_observed(
        &mut self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        label: Option<&Label>,
        record: impl FnOnce(&Self, &Decision) -> Result<(), Error>,
    ) -> Result<Stepped, Error> {
        let scaled = if self.scaler.is_some() { Scaled::Running } else { Scaled::No };
        let decision = self.ask(&event.features, scaled)?;
        let answer = label.filter(|_| decision.asked);
        let uses_scaler = self.model.uses_scaler();
        if let (Some(label), true) = (answer, uses_scaler) {
            self.check_learnable(&event.features, names, label)?; // `ask` has asked the model
        }
        record(self, &decision)?;
        if uses_scaler {
            self.commit(event, names); // such a model learns from what was observed; nothing can fail now
        }
        let mut grew = false;
        match answer {
            Some(label) => {
                let (weight, products) = (decision.weight(), Some(decision.products()));
                grew = self.learn_decided(&mut event.features, names, label, weight, products)?;
            }
            None if decision.asked => self.open_question(&decision, &event.features),
            None => {}
        }
        if !uses_scaler {
            self.commit(event, names);
        }
        Ok(Stepped { learned: answer.is_some(), grew })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Name;
    use crate::learner::Config;
    use crate::learner::testing::{
        PA, after_stream, buffer_of, bytes_of, every_kind, learner, linear, looked_up, misfit,
        names_of,
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
            learner.answer(&decision, &mut buffer.features, &names[..], &label, None)
        };
        assert!(matches!(answer(&mut other), Err(Error::Answer(_))), "its event was another");
        answer(&mut one).unwrap();
        let after = bytes_of(&one);
        assert!(matches!(answer(&mut one), Err(Error::Answer(_))), "it was answered");
        assert!(bytes_of(&one) == after);
    }
}
