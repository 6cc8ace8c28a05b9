//! Class odds: what makes the `w·x` of two classes log-odds, and how often each class comes.
//!
//! A slope κ turns `q = w·x` into log-odds. Every label learned, y = ±1, moves it by one step on its log loss, with
//! the q from *before* the label was learned; earlier labels fade:
//!
//! ```text
//! p = σ(−y κ q)      h ← 0.998 h + q² p (1 − p)      κ ← κ + y q p / (h + 1), kept in 0.5 … 20
//! a_± ← 0.995 a_± + σ(±κ q)
//! ```
//!
//! a counts what κq expected of the events whose labels were learned, and not the labels themselves: a slope without
//! an offset cannot always reach their odds, and then all events would lie on one side.
//!
//! `κq` is right for the stream as it comes. `κq − ln(a₊/a₋)` is right if both classes came equally often: its sign
//! predicts a rare class too. `κq + shift` is for known costs or a known threshold.

use serde::{Deserialize, Serialize};

use crate::storage::math::{ln, logistic};

const ODDS_FADING: f64 = 0.995;
const CURVE_FADING: f64 = 0.998;
const SLOPES: [f64; 2] = [0.5, 20.0];
/// Beyond this p (1 − p) is 0, and q² may not be finite.
const FLAT: f64 = 1e100;

/// κ, and the curvature of the log loss in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// κ
    pub value: f64,
    /// h
    pub curve: f64,
}

impl Default for Slope {
    fn default() -> Self {
        Self { value: 3.0, curve: 1.0 }
    }
}

impl Slope {
    /// Move κ by a step on the log loss of an event.
    pub fn learn(&mut self, q: f64, class: usize) {
        let (q, y) = (q.clamp(-FLAT, FLAT), if class == 1 { 1.0 } else { -1.0 });
        let wrong = logistic(-y * self.value * q);
        self.curve = CURVE_FADING * self.curve + q * q * wrong * (1.0 - wrong);
        let slope = self.value + y * q * wrong / (self.curve + 1.0);
        self.value = slope.clamp(SLOPES[0], SLOPES[1]);
    }

    /// Whether learning can have given these numbers.
    pub fn is_sound(&self) -> bool {
        (SLOPES[0]..=SLOPES[1]).contains(&self.value) && (0.0..=1e100).contains(&self.curve)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassOdds {
    /// κ
    pub slope: f64,
    /// h: the curvature of the log loss in κ.
    pub curve: f64,
    /// a: the events of each class, the latest counting most.
    pub odds: [f64; 2],
}

impl Default for ClassOdds {
    fn default() -> Self {
        let Slope { value: slope, curve } = Slope::default();
        Self { slope, curve, odds: [1.0; 2] }
    }
}

impl ClassOdds {
    /// ln of the odds of the positive class.
    pub fn prior(&self) -> f64 {
        ln(self.odds[1] / self.odds[0])
    }

    /// The probability of each class, `σ(±κq)`.
    pub fn probabilities(&self, q: f64) -> [f64; 2] {
        [logistic(-self.slope * q), logistic(self.slope * q)]
    }

    /// Learn from the `w·x` of an event and its class.
    pub fn learn(&mut self, q: f64, class: usize) {
        self.count(self.probabilities(q));
        self.move_slope(q, class);
    }

    /// Count an event, by its share in each class.
    pub fn count(&mut self, shares: [f64; 2]) {
        for (labels, share) in self.odds.iter_mut().zip(shares) {
            *labels = ODDS_FADING * *labels + share;
        }
    }

    /// Move κ by a step on the log loss of an event.
    pub fn move_slope(&mut self, q: f64, class: usize) {
        let mut slope = self.of_slope();
        slope.learn(q, class);
        (self.slope, self.curve) = (slope.value, slope.curve);
    }

    fn of_slope(&self) -> Slope {
        Slope { value: self.slope, curve: self.curve }
    }

    /// Whether learning can have given these numbers.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.of_slope().is_sound() && self.odds.iter().all(|&odds| odds > 0.0 && odds < 1e6) {
            return Ok(());
        }
        Err("its class odds are too large, too small or not finite")
    }
}

/// What is added to `κq` before its sign is the prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClassWeight {
    /// Nothing, and there is no κ: the margin is `w·x`.
    None,
    /// What makes the classes equally frequent: `−ln(a₊/a₋)`.
    Balanced,
    /// This number.
    Shift(f64),
}

impl ClassWeight {
    /// Mistakes on either class cost this much.
    pub fn of_costs(negative: f64, positive: f64) -> Self {
        Self::Shift(ln(positive) - ln(negative))
    }

    /// The positive class is predicted above this probability.
    pub fn of_threshold(threshold: f64) -> Self {
        Self::Shift(ln(1.0 - threshold) - ln(threshold))
    }

    /// What is added to `κq`.
    pub fn shift(self, odds: &ClassOdds) -> f64 {
        self.shift_at(|| odds.prior())
    }

    /// The same for these logarithmic odds of the positive class.
    #[inline(always)]
    pub fn shift_at(self, prior: impl FnOnce() -> f64) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Balanced => -prior(),
            Self::Shift(shift) => shift,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::rng::Generator;

    #[test]
    fn the_slope_finds_that_of_the_stream_and_the_prior_its_odds() {
        let (mut odds, mut draws) = (ClassOdds::default(), Generator::from_seed(3));
        for _ in 0..6_000 {
            let q = 4.0 * draws.uniform() - 3.0; // mostly negative
            odds.learn(q, usize::from(draws.uniform() < logistic(1.5 * q)));
        }
        assert!((odds.slope - 1.5).abs() < 0.3, "{odds:?}");
        assert!((-2.0..-0.5).contains(&odds.prior()), "{odds:?}");
        assert_eq!(odds.check(), Ok(()));
    }

    #[test]
    fn one_label_moves_the_slope_by_its_formula() {
        let mut odds = ClassOdds::default();
        odds.learn(0.5, 0); // p = σ(1.5)
        let p = 1.0 / (1.0 + (-1.5_f64).exp());
        let curve = 0.998 + 0.25 * p * (1.0 - p);
        assert!((odds.curve - curve).abs() < 1e-15);
        assert!((odds.slope - (3.0 - 0.5 * p / (curve + 1.0))).abs() < 1e-15);
        let share = 1.0 / (1.0 + 1.5_f64.exp()); // σ(−1.5), of the negative class
        assert!((odds.odds[0] - (0.995 + share)).abs() < 1e-15);
        assert!((odds.odds[1] - (1.995 - share)).abs() < 1e-15);
    }

    #[test]
    fn any_finite_product_leaves_it_sound() {
        let mut odds = ClassOdds::default();
        for q in [0.0, 1e308, -1e308, 1e160, -1e160, 5e-324] {
            for class in [0, 1, 1] {
                odds.learn(q, class);
                assert_eq!(odds.check(), Ok(()), "{odds:?}");
            }
        }
        for broken in [
            ClassOdds { slope: 0.4, ..odds },
            ClassOdds { curve: f64::NAN, ..odds },
            ClassOdds { odds: [0.0, 1.0], ..odds },
        ] {
            assert!(broken.check().is_err(), "{broken:?}");
        }
    }

    #[test]
    fn costs_and_thresholds_are_shifts() {
        let odds = ClassOdds { odds: [3.0, 1.0], ..ClassOdds::default() };
        assert_eq!(ClassWeight::None.shift(&odds), 0.0);
        assert!((ClassWeight::Balanced.shift(&odds) - 3.0_f64.ln()).abs() < 1e-15);
        let shift = |weight: ClassWeight| weight.shift(&odds);
        assert!((shift(ClassWeight::of_costs(1.0, 4.0)) - 4.0_f64.ln()).abs() < 1e-15);
        assert!((shift(ClassWeight::of_threshold(0.2)) - 4.0_f64.ln()).abs() < 1e-15);
        assert!(shift(ClassWeight::of_costs(5e-324, f64::MAX)).is_finite());
    }
}
