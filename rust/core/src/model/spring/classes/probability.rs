//! Turns the logits of several classes into probabilities of the stream as it comes.
//!
//! The logits q are those under classes that weigh the same, and they are made to predict, not to be calibrated. The
//! probabilities are `softmax(a q_k + b ln o_k)`, o the classes' odds among the labels. Slope a and exponent b follow
//! every label by one step of Newton's method on its log loss, with the logits from *before* the label was learned: two
//! numbers, however many classes there are. A label that was asked for by chance counts for those that were not asked
//! for, up to three times. Earlier labels fade, because the model has changed since.

use serde::{Deserialize, Serialize};

use crate::model::spring::classes::softmax_step::softmax;

const FADING: f64 = 0.998;
const RIDGE: f64 = 0.3; // keeps the first steps short
const HEAVIEST: f64 = 3.0;
const LONGEST_STEP: f64 = 0.5;
const SLOPES: [f64; 2] = [0.05, 20.0];
const EXPONENTS: [f64; 2] = [-0.5, 3.0];

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassProbability {
    slope: f64,
    exponent: f64,
    /// Sums over the labels of the variance of q, the covariance, and the variance of ln o under the probabilities.
    information: [f64; 3],
}

impl Default for ClassProbability {
    fn default() -> Self {
        Self { slope: 1.0, exponent: 1.0, information: [0.0; 3] }
    }
}

impl ClassProbability {
    /// One probability per class, from its logit and its log-odds.
    pub fn probabilities(&self, logits: &[f64], odds: &[f64]) -> Vec<f64> {
        let both = logits.iter().zip(odds);
        let mut shares: Vec<f64> = both.map(|(q, o)| self.slope * q + self.exponent * o).collect();
        softmax(&mut shares);
        shares
    }

    /// Learn from an event and its class.
    pub fn learn(&mut self, logits: &[f64], odds: &[f64], class: usize, weight: f64) {
        let weight = weight.min(HEAVIEST);
        let shares = self.probabilities(logits, odds);
        let mean = |values: &[f64]| -> f64 { shares.iter().zip(values).map(|(p, x)| p * x).sum() };
        let [q, o] = [mean(logits), mean(odds)];
        let mut spread = [0.0; 3];
        for (k, p) in shares.iter().enumerate() {
            let (by_q, by_o) = (logits[k] - q, odds[k] - o);
            spread[0] += p * by_q * by_q;
            spread[1] += p * by_q * by_o;
            spread[2] += p * by_o * by_o;
        }
        for (sum, spread) in self.information.iter_mut().zip(spread) {
            *sum = FADING * *sum + weight * spread;
        }
        let [a, b, d] = self.hessian();
        let [by_slope, by_exponent] = [weight * (logits[class] - q), weight * (odds[class] - o)];
        let det = a * d - b * b;
        let limited = |step: f64| step.clamp(-LONGEST_STEP, LONGEST_STEP);
        let slope = self.slope + limited((d * by_slope - b * by_exponent) / det);
        let exponent = self.exponent + limited((a * by_exponent - b * by_slope) / det);
        self.slope = slope.clamp(SLOPES[0], SLOPES[1]);
        self.exponent = exponent.clamp(EXPONENTS[0], EXPONENTS[1]);
    }

    fn hessian(&self) -> [f64; 3] {
        let [qq, qo, oo] = self.information;
        [qq + RIDGE, qo, oo + RIDGE]
    }

    /// Whether learning can have given these numbers.
    pub fn check(&self) -> Result<(), &'static str> {
        let [qq, _, oo] = self.information;
        let [a, b, d] = self.hessian();
        if (0.0..=1e100).contains(&qq)
            && (0.0..=1e100).contains(&oo)
            && a * d - b * b > 0.0
            && (SLOPES[0]..=SLOPES[1]).contains(&self.slope)
            && (EXPONENTS[0]..=EXPONENTS[1]).contains(&self.exponent)
        {
            return Ok(());
        }
        Err("its probabilities are no slope and exponent with what is known of them")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::math::ln;
    use crate::storage::rng::Generator;

    #[test]
    fn slope_and_exponent_find_those_of_the_stream() {
        let (mut probability, mut draws) = (ClassProbability::default(), Generator::from_seed(3));
        let odds = [100.0, 10.0, 40.0].map(ln);
        for _ in 0..6_000 {
            let logits = [0, 1, 2].map(|_| 6.0 * draws.uniform() - 3.0);
            let true_one = ClassProbability { slope: 1.6, exponent: 0.6, ..probability };
            let shares = true_one.probabilities(&logits, &odds);
            let coin = draws.uniform();
            let class =
                if coin < shares[0] { 0 } else { 2 - usize::from(coin < shares[0] + shares[1]) };
            probability.learn(&logits, &odds, class, 1.0);
        }
        assert!((probability.slope - 1.6).abs() < 0.3, "{probability:?}");
        assert!((probability.exponent - 0.6).abs() < 0.2, "{probability:?}");
        assert_eq!(probability.check(), Ok(()));
    }

    #[test]
    fn one_label_never_moves_them_far_and_leaves_them_sound() {
        for size in [1e6, 1e30] {
            let mut probability = ClassProbability::default();
            for class in [0, 1, 1, 0] {
                probability.learn(&[size, -size], &[5.0, -2.0], class, 1e9);
                assert_eq!(probability.check(), Ok(()), "{probability:?}");
            }
            probability = ClassProbability::default();
            probability.learn(&[size, -size], &[5.0, -2.0], 1, 1e9);
            assert_eq!(probability.slope, 0.5);
        }
    }
}
