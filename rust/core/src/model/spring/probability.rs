//! Turns Spring's margins into probabilities of the stream as it comes.
//!
//! The margin q is one under classes that weigh the same, and it is made to predict, not to be calibrated. The
//! probability is `σ(a q + b)`. Slope and offset follow every label by one step of Newton's method on its log
//! loss, with the margin from *before* the label was learned. A label that was asked for by chance counts for those
//! that were not asked for, up to three times. Earlier labels fade, because the model has changed since.

use serde::{Deserialize, Serialize};

use crate::storage::math::logistic;

const FADING: f64 = 0.998;
const RIDGE: f64 = 0.3; // keeps the first steps short
const HEAVIEST: f64 = 3.0;
const LONGEST_STEP: f64 = 0.5;
const SLOPES: [f64; 2] = [0.05, 20.0];
const LARGEST_OFFSET: f64 = 20.0;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probability {
    slope: f64,
    offset: f64,
    /// Σ v q², Σ v q, Σ v, with v = weight·p(1 − p).
    information: [f64; 3],
}

impl Default for Probability {
    fn default() -> Self {
        Self { slope: 1.0, offset: 0.0, information: [0.0; 3] }
    }
}

impl Probability {
    /// The log-odds of the positive class.
    pub fn log_odds(&self, margin: f64) -> f64 {
        self.slope * margin + self.offset
    }

    /// Learn from the margin of an event and its label.
    pub fn learn(&mut self, q: f64, positive: bool, weight: f64) {
        let weight = weight.min(HEAVIEST);
        let p = logistic(self.log_odds(q));
        let v = weight * p * (1.0 - p);
        let [qq, q1, one] = &mut self.information;
        *qq = FADING * *qq + v * q * q;
        *q1 = FADING * *q1 + v * q;
        *one = FADING * *one + v;
        let (a, b, d) = (*qq + RIDGE, *q1, *one + RIDGE);
        let error = weight * (f64::from(u8::from(positive)) - p);
        let det = a * d - b * b;
        let limited = |step: f64| step.clamp(-LONGEST_STEP, LONGEST_STEP);
        let slope = self.slope + limited((d * error * q - b * error) / det);
        let offset = self.offset + limited((a * error - b * error * q) / det);
        self.slope = slope.clamp(SLOPES[0], SLOPES[1]);
        self.offset = offset.clamp(-LARGEST_OFFSET, LARGEST_OFFSET);
    }

    /// Whether learning can have given these numbers.
    pub fn check(&self) -> Result<(), &'static str> {
        let [qq, q1, one] = self.information;
        let sums = qq >= 0.0 && one >= 0.0 && qq <= 1e100 && one <= 1e100;
        if sums
            && q1 * q1 <= 1.000_001 * qq * one + 1e-9
            && (SLOPES[0]..=SLOPES[1]).contains(&self.slope)
            && self.offset.abs() <= LARGEST_OFFSET
        {
            return Ok(());
        }
        Err("its probabilities are no slope and offset with what is known of them")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::rng::Generator;

    #[test]
    fn slope_and_offset_find_those_of_the_stream() {
        let (mut probability, mut draws) = (Probability::default(), Generator::from_seed(3));
        for _ in 0..4_000 {
            let q = 8.0 * draws.uniform() - 4.0;
            let positive = draws.uniform() < logistic(0.5 * q - 2.0);
            probability.learn(q, positive, 1.0);
        }
        assert!((probability.slope - 0.5).abs() < 0.15, "{probability:?}");
        assert!((probability.offset + 2.0).abs() < 0.4, "{probability:?}");
        assert!(probability.check().is_ok());
    }

    #[test]
    fn one_label_never_moves_them_far() {
        let mut probability = Probability::default();
        probability.learn(1e6, false, 1e9);
        assert_eq!((probability.slope, probability.offset), (0.5, -0.5));
        assert!(probability.check().is_ok());
    }
}
