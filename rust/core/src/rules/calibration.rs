//! Turns scores into probabilities, by one slope that is learned from the labels.
//!
//! With scores f_k and mean lead m of the largest score over the second, P(k) ∝ exp(a f_k / m). Two
//! classes have the scores 0 and q, so that P(+1) = 1/(1 + exp(−a q / m)): Platt's sigmoid without
//! its offset, above ½ exactly when the margin is positive. Every label learned moves ln a by one
//! natural-gradient step on its log loss, with the scores from *before* it was learned:
//!
//! ```text
//! t_k = a f_k / m     g = Σ P(k) t_k − t_y     h = Σ P(k) t_k² − (Σ P(k) t_k)²
//! I ← γI + w h        ln a ← ln a − w g / (1 + I)
//! ```
//!
//! w is one over the probability with which the label was asked for, so that the answers represent
//! the stream and not the questions. γ discounts earlier labels, because the model has changed
//! since. PriorScores are divided by the running mean m, so their scale does not matter. J. Platt,
//! *Probabilistic outputs for support vector machines* (1999); S. Amari, *Natural gradient works
//! efficiently in learning*, Neural Computation 10 (1998).

use serde::{Deserialize, Serialize};

use crate::storage::math::exp;

/// γ: the discount of earlier labels per label. The last hundred labels or so count.
const FADING: f64 = 0.99;
/// The most that one label counts: otherwise answers to rare questions would outweigh all others.
const LARGEST_WEIGHT: f64 = 10.0;
/// No step of ln a is longer.
const LONGEST_STEP: f64 = 0.5;
/// Beyond this the logistic function is flat.
const FLAT: f64 = 30.0;
const SLOPES: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Calibration {
    /// a
    slope: f64,
    /// I: the information about the slope.
    information: f64,
    /// m: mean lead of the first score over the second, before learning.
    mean_lead: f64,
    /// The weight of the labels in this mean.
    weight: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { slope: 1.0, information: 0.0, mean_lead: 0.0, weight: 0.0 }
    }
}

/// The weight of a label that was asked for with this probability.
pub fn weight_of(query_probability: f64) -> f64 {
    (1.0 / query_probability).min(LARGEST_WEIGHT)
}

impl Calibration {
    /// One probability per score.
    pub fn probabilities(&self, scores: &[f64]) -> Vec<f64> {
        let parts: Vec<f64> = self.log_ratios(scores).map(exp).collect();
        let total: f64 = parts.iter().sum();
        let mut shares: Vec<f64> = parts.iter().map(|part| part / total).collect();
        if let ([one, other], [p, q]) = (scores, &mut shares[..])
            && one != other
            && p.max(*q) <= 0.5
        {
            // Rounded to ½, but the probabilities must tell on which side of it they are.
            *q = 0.5 + (f64::EPSILON / 2.0).copysign(other - one);
            *p = 1.0 - *q;
        }
        shares
    }

    /// Learn from the scores of an event and its class.
    pub fn learn(&mut self, scores: &[f64], class: usize, weight: f64) {
        let lead = lead(scores);
        if class >= scores.len() || scores.len() < 2 || !lead.is_finite() {
            return; // no score for this class, or no finite lead
        }
        self.weight = FADING * self.weight + weight;
        self.mean_lead += weight / self.weight * (lead - self.mean_lead);
        self.information *= FADING;
        if self.mean_lead == 0.0 {
            return;
        }
        // P(k) = part / total
        let (mut total, mut sum, mut squares, mut own) = (0.0, 0.0, 0.0, 0.0);
        if let &[one, other] = scores {
            // The larger score has t = 0: it contributes only to the total.
            let t = -lead / self.mean_lead * self.slope;
            let (t, part) = (t.max(-FLAT), exp(t));
            (total, sum, squares) = (1.0 + part, part * t, part * t * t);
            if one != other && (one < other) == (class == 0) {
                own = t;
            }
        } else {
            for (k, t) in self.log_ratios(scores).enumerate() {
                let (t, part) = (t.max(-FLAT), exp(t));
                total += part;
                sum += part * t;
                squares += part * t * t;
                if k == class {
                    own = t;
                }
            }
        }
        let inverse = 1.0 / total;
        let mean = sum * inverse;
        self.information += weight * (squares * inverse - mean * mean).max(0.0);
        let step = weight * (own - mean) / (1.0 + self.information);
        let slope = self.slope * exp(step.clamp(-LONGEST_STEP, LONGEST_STEP));
        self.slope = slope.clamp(*SLOPES.start(), *SLOPES.end());
    }

    /// t − max t of each score: the logarithm of its probability over the largest.
    fn log_ratios(&self, scores: &[f64]) -> impl Iterator<Item = f64> {
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // While all leads were 0 there is no unit: scores are taken as they are.
        let (slope, unit) =
            if self.mean_lead > 0.0 { (self.slope, self.mean_lead) } else { (1.0, 1.0) };
        scores.iter().map(move |score| (score - top) / unit * slope)
    }

    /// Whether learning can give these numbers.
    pub fn is_sound(&self) -> bool {
        let finite = |number: f64| number.is_finite() && number >= 0.0;
        SLOPES.contains(&self.slope)
            && finite(self.information)
            && finite(self.mean_lead)
            && finite(self.weight)
    }
}

/// The largest score minus the second largest.
fn lead(scores: &[f64]) -> f64 {
    let mut first = f64::NEG_INFINITY;
    let mut second = f64::NEG_INFINITY;
    for &score in scores {
        second = second.max(score.min(first));
        first = first.max(score);
    }
    first - second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_slope_with_which_labels_were_drawn() {
        for unit in [1e-30, 1.0, 1e30] {
            let mut calibration = Calibration::default();
            let mut coins = crate::storage::rng::Generator::from_seed(1);
            let (mut found, rounds) = (0.0, 20_000);
            for round in 0..rounds {
                let q = 4.0 * coins.uniform() - 2.0;
                let positive = coins.uniform() < 1.0 / (1.0 + (-3.0 * q).exp());
                calibration.learn(&[0.0, q * unit], usize::from(positive), 1.0);
                if round >= rounds / 2 {
                    found += calibration.slope / calibration.mean_lead * unit;
                }
            }
            let mean = found / f64::from(rounds / 2);
            assert!((2.7..3.4).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn two_classes_are_several_with_the_scores_0_and_q() {
        let mut calibration = Calibration::default();
        calibration.learn(&[0.0, 2.0], 1, 1.0);
        let a = calibration.slope / calibration.mean_lead;
        let shares = calibration.probabilities(&[0.0, 0.7]);
        assert!((shares[1] - 1.0 / (1.0 + (-a * 0.7).exp())).abs() < 1e-15);
        assert_eq!(calibration.probabilities(&[0.3, 1.0]), shares);
    }

    #[test]
    fn the_smallest_margin_is_on_its_side_of_one_half() {
        let calibration = Calibration::default();
        for margin in [f64::MIN_POSITIVE, 1e-300, 1e-20, 5.6e-17, 1.2e-16] {
            let shares = calibration.probabilities(&[0.0, margin]);
            assert!(shares[1] > 0.5 && shares[0] < 0.5 && shares[0] + shares[1] == 1.0);
            let shares = calibration.probabilities(&[0.0, -margin]);
            assert!(shares[1] < 0.5 && shares[0] > 0.5);
        }
        assert_eq!(calibration.probabilities(&[0.0, 0.0]), [0.5, 0.5]);
        assert_eq!(calibration.probabilities(&[1.0, 1.0]), [0.5, 0.5]);
    }

    #[test]
    fn it_stays_sound_for_any_scores() {
        let mut calibration = Calibration::default();
        for (round, q) in
            [0.0, 5e-324, 1e308, -1e308, 1e-308, -3.0].into_iter().cycle().take(600).enumerate()
        {
            calibration.learn(&[0.0, q], round % 2, weight_of(1e-3));
            assert!(calibration.is_sound(), "{calibration:?}");
            let shares = calibration.probabilities(&[0.0, q]);
            assert!((shares[0] + shares[1] - 1.0).abs() < 1e-12, "{shares:?}");
        }
        calibration.learn(&[-1e308, 1e308], 1, 1.0); // a lead that is not finite is ignored
        assert!(calibration.is_sound());
    }

    #[test]
    fn a_class_without_a_score_is_ignored() {
        let mut calibration = Calibration::default();
        calibration.learn(&[0.5], 0, 1.0);
        calibration.learn(&[0.5, 1.0], 2, 1.0);
        assert_eq!(calibration.weight, 0.0);
    }

    #[test]
    fn the_answer_to_a_rare_question_counts_more_within_limits() {
        assert_eq!(weight_of(1.0), 1.0);
        assert_eq!(weight_of(0.25), 4.0);
        assert_eq!(weight_of(0.0), LARGEST_WEIGHT);
    }
}
