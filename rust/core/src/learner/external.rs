//! What a learner offers to a model that lives outside of this crate.

use crate::error::Error;
use crate::event::FeatureValue;
use crate::label::{Label, Target};
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::learner::open_questions::fingerprint;
use crate::model::Model;
use crate::model::external::External;

impl Learner {
    /// The model, if it lives outside.
    pub fn external(&mut self) -> Result<&mut External, Error> {
        match &mut self.model {
            Model::External(model) => Ok(model),
            Model::Linear(_)
            | Model::Spring(_)
            | Model::SpringClasses(_)
            | Model::DualLogistic(_)
            | Model::SecondOrder(_)
            | Model::OfsPartial(_)
            | Model::Olvf(_)
            | Model::Fesl(_)
            | Model::Rfesl(_) => {
                Err(Error::Parameter("learner: its model does not live outside.".to_owned()))
            }
        }
    }

    /// What is to be predicted by this label, if it fits. Changes nothing.
    pub fn target_of(&self, label: &Label) -> Result<Target, Error> {
        Ok(self.labels.read(label)?.target)
    }

    /// Refuse an answer that [`Self::answer`] would refuse because of its question. `given` are the features
    /// of the decision without the learner's own.
    pub fn check_question(&self, decision: &Decision, given: &[FeatureValue]) -> Result<(), Error> {
        if decision.asked {
            self.open.check(decision.number, fingerprint(decision.margin, given))?;
        }
        Ok(())
    }
}
