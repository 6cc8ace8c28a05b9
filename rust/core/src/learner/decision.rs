//! What was decided about an event.

use crate::model::example::{CachedProducts, Score};
use crate::rules::calibration::weight_of;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Index of the predicted label; none while no class is known, and in regression.
    pub class: Option<usize>,
    /// The margin, or in regression the prediction.
    pub margin: f64,
    pub query_probability: f64,
    pub asked: bool,
    /// ‖x‖² as the model sees the event, if it was found on the way.
    pub squared_norm: Option<f64>,
}

impl Decision {
    pub fn new(score: &Score, (asked, query_probability): (bool, f64)) -> Self {
        let Score { class, margin, squared_norm, .. } = *score;
        Self { class, margin, query_probability, asked, squared_norm }
    }

    /// What need not be computed again if the event is learned before anything else is.
    pub fn products(&self) -> CachedProducts {
        CachedProducts { margin: self.margin, squared_norm: self.squared_norm }
    }

    /// What its label counts among those that say how sure margins are: one that was asked for
    /// stands for all those that were not.
    pub fn weight(&self) -> f64 {
        if self.asked { weight_of(self.query_probability) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_asked_for_stands_for_those_that_were_not() {
        let score = Score::by_sign(-0.5);
        assert_eq!(Decision::new(&score, (true, 0.25)).weight(), 4.0);
        assert_eq!(Decision::new(&score, (false, 0.25)).weight(), 1.0);
        assert_eq!(Decision::new(&score, (true, 0.25)).products().margin, -0.5);
    }
}
