//! What was decided about an event.

use crate::model::example::{CachedProducts, Score};
use crate::rules::calibration::weight_of;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The number of its event, from 1.
    pub number: u64,
    /// Index of the predicted label; none while no class is known, and in regression.
    pub class: Option<usize>,
    /// The margin, or in regression the prediction.
    pub margin: f64,
    pub query_probability: f64,
    pub asked: bool,
}

impl Decision {
    pub fn new(number: u64, score: &Score, (asked, query_probability): (bool, f64)) -> Self {
        let Score { class, margin, .. } = *score;
        Self { number, class, margin, query_probability, asked }
    }

    /// What need not be computed again if nothing else is learned before the event.
    pub fn products(&self) -> CachedProducts {
        CachedProducts { margin: self.margin, is_latest: false }
    }

    /// The weight of its label in the calibration: a label that was asked for also represents
    /// similar events that were not.
    pub fn weight(&self) -> f64 {
        if self.asked { weight_of(self.query_probability) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_was_asked_for_weighs_one_over_its_probability() {
        let score = Score::by_sign(-0.5);
        assert_eq!(Decision::new(1, &score, (true, 0.25)).weight(), 4.0);
        assert_eq!(Decision::new(1, &score, (false, 0.25)).weight(), 1.0);
        assert_eq!(Decision::new(1, &score, (true, 0.25)).products().margin, -0.5);
    }
}
