//! Turns Spring's margins into probabilities of the stream as it comes.
//!
//! The margin q is one under classes that weigh the same, and it is made to predict, not to be calibrated. The
//! probability is `σ(a q + b)`. Slope and offset follow every label by one step of Newton's method on its log
//! loss, with the margin from *before* the label was learned. A label that was asked for by chance counts for those
//! that were not asked for, up to three times. Earlier labels fade, because the model has changed since.
//!
//! A class of few labels is learned by heart: the margins of its next events lie lower than those of the events that
//! were learned, so that most of the stream goes to the other class. The probabilities know, because they follow
//! margins from before learning. With π = Σwp/Σw, the share of positives in the stream (w = 1/P(asked), at most 10), the
//! margin at which both classes are equally likely once they weigh the same is `(ln(π/(1 − π)) − b)/a`. The *shift* brings it
//! to 0, as far as it favours the class of fewer labels:
//!
//! ```text
//! r = (N − P)/(N + P)      I = Σv − (Σvq)²/Σvq²      s = (b − ln(π/(1 − π)))/a
//! shift = r²·I/(I + 10)·s if r s > 0, else 0
//! ```
//!
//! so that it is 0 for classes of one size, and small while little is known.

use serde::{Deserialize, Serialize};

use crate::storage::math::{ln, logistic};

const FADING: f64 = 0.998;
const RIDGE: f64 = 0.3; // keeps the first steps short
const HEAVIEST: f64 = 3.0;
const LONGEST_STEP: f64 = 0.5;
const SLOPES: [f64; 2] = [0.05, 20.0];
const LARGEST_OFFSET: f64 = 20.0;
const KNOWN: f64 = 10.0; // the information I at which half of the shift counts
const LEAST_SHARE: f64 = 1e-4; // π and 1 − π are not taken to be smaller
/// The most events that a label stands for.
const MOST_STOOD_FOR: f64 = 1e6;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probability {
    slope: f64,
    offset: f64,
    /// Σ v q², Σ v q, Σ v, with v = weight·p(1 − p).
    information: [f64; 3],
    /// Σ w p, Σ w; models that were saved without it begin with it, and what is still so is saved without it.
    #[serde(default = "half", skip_serializing_if = "is_half")]
    expected: [f64; 2],
}

fn is_half(expected: &[f64; 2]) -> bool {
    *expected == half()
}

/// As many positives as negatives, in one event.
fn half() -> [f64; 2] {
    [0.5, 1.0]
}

impl Default for Probability {
    fn default() -> Self {
        Self { slope: 1.0, offset: 0.0, information: [0.0; 3], expected: half() }
    }
}

impl Probability {
    /// The log-odds of the positive class.
    pub fn log_odds(&self, margin: f64) -> f64 {
        self.slope * margin + self.offset
    }

    /// What is added to a margin so that its sign predicts, given the positive and negative labels.
    pub fn shift(&self, [positives, negatives]: [f64; 2]) -> f64 {
        let [qq, q1, one] = self.information;
        let labels = positives + negatives;
        if labels <= 0.0 || qq <= 0.0 {
            return 0.0;
        }
        let lean = (negatives - positives) / labels;
        let known = (one - q1 * q1 / qq).max(0.0);
        let [positive, all] = self.expected;
        let share = (positive / all).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
        let full = (self.offset - ln(share / (1.0 - share))) / self.slope;
        if full * lean > 0.0 { lean * lean * (known / (known + KNOWN)) * full } else { 0.0 }
    }

    /// Learn from the margin of an event and its label.
    pub fn learn(&mut self, q: f64, positive: bool, weight: f64) {
        let p = logistic(self.log_odds(q));
        let stands_for = weight.min(MOST_STOOD_FOR);
        let [expected, all] = &mut self.expected;
        *expected = FADING * *expected + stands_for * p;
        *all = FADING * *all + stands_for;
        let weight = weight.min(HEAVIEST);
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
        let [positive, all] = self.expected;
        let sums = qq >= 0.0 && one >= 0.0 && qq <= 1e100 && one <= 1e100;
        if sums
            && q1 * q1 <= 1.000_001 * qq * one + 1e-9
            && (SLOPES[0]..=SLOPES[1]).contains(&self.slope)
            && self.offset.abs() <= LARGEST_OFFSET
            && (0.0..=all * 1.000_001).contains(&positive)
            && (1e-100..=1e100).contains(&all)
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
        assert_eq!(probability.expected, [FADING * 0.5 + MOST_STOOD_FOR, FADING + MOST_STOOD_FOR]);
        assert!(probability.check().is_ok());
    }

    #[test]
    fn the_shift_favours_the_class_of_fewer_labels_and_no_other() {
        let known = |offset: f64, share: f64| Probability {
            slope: 2.0,
            offset,
            information: [1.0, 0.0, 30.0],
            expected: [share, 1.0],
        };
        let one = known(-2.0, 0.01); // even odds of the stream lie at q = 1, even classes at about −1.3
        let full = (-2.0 - ln(0.01 / 0.99)) / 2.0;
        assert!((one.shift([10.0, 30.0]) - 0.25 * 0.75 * full).abs() < 1e-12 && full > 1.0);
        assert_eq!(one.shift([20.0, 20.0]), 0.0);
        assert_eq!(one.shift([30.0, 10.0]), 0.0);
        assert_eq!(known(-8.0, 0.01).shift([10.0, 30.0]), 0.0); // the other way
        let other = known(2.0, 0.99);
        assert!((other.shift([30.0, 10.0]) + one.shift([10.0, 30.0])).abs() < 1e-9);
        assert_eq!(Probability::default().shift([1.0, 9.0]), 0.0);
    }

    #[test]
    fn a_label_counts_for_all_events_that_it_stands_for_in_the_share_of_positives() {
        let mut probability = Probability::default();
        for _ in 0..400 {
            probability.learn(3.0, true, 1.0); // always asked for
            probability.learn(-3.0, false, 50.0); // of fifty such events one is asked for
        }
        let [positive, all] = probability.expected;
        assert!((positive / all - 1.0 / 51.0).abs() < 0.005, "{probability:?}");
    }
}
