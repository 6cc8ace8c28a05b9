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
pub struct Stepped {
    pub decision: Decision,
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
        if self.model.uses_scaler() {
            if let Some(label) = answer {
                self.check_learnable(event, label)?;
            }
            record(self, &decision)?;
            self.commit(event, names); // such a model learns from what was observed; nothing can fail now
        } else {
            record(self, &decision)?;
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
        self.commit(event, names);
        Ok(Stepped { decision, learned: answer.is_some(), grew })
    }
}
