//! Weights of two models in a common prediction, learned from their losses.
//!
//! The loss is log2(1 + e^(−yf)), or (y − f)² for a number. The weights start at α = (½, ½). They
//! follow the sums of the losses, α_i ∝ exp(−ηL_i), η = √(8 ln 2/T), or a fixed share, by which a
//! model can recover: v_i = α_i exp(−ηℓ_i), α_i = δW/2 + (1 − δ)v_i, W = v_1 + v_2, δ = 1/(T − 1),
//! η = √((8/T)(2 ln 2 + (T − 1)H(δ))). T is the horizon. If it is not known, epochs of 2, 4, 8, ...
//! rounds follow each other, each with new weights. Hou, Zhang and Zhou, *Learning with Feature
//! Evolvable Streams*, NIPS 2017.

use std::f64::consts::LN_2;

use serde::{Deserialize, Serialize};

use crate::label::Target;
use crate::storage::math::{exp, ln, ln_1p, logistic, softplus};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    Logistic,
    Square,
}

impl Loss {
    /// The target as the loss takes it: ±1 or a number.
    pub fn target(self, target: Target) -> f64 {
        match target {
            Target::Value(value) => value,
            Target::Class(_) => target.sign(),
        }
    }

    pub fn of(self, f: f64, y: f64) -> f64 {
        match self {
            Self::Logistic => {
                let z = -y * f;
                softplus(z) / LN_2
            }
            Self::Square => (y - f) * (y - f),
        }
    }

    /// −ℓ′(f)
    pub fn negative_gradient(self, f: f64, y: f64) -> f64 {
        match self {
            Self::Logistic => y * logistic(-y * f) / LN_2,
            Self::Square => 2.0 * (y - f),
        }
    }

    /// Whether the prediction was wrong.
    pub fn is_mistake(self, f: f64, y: f64) -> bool {
        match self {
            Self::Logistic => y * f <= 0.0,
            Self::Square => y != f,
        }
    }
}

/// How the weights follow the losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// By the sums of the losses.
    Sums,
    /// By the last losses, with a fixed share.
    Fixed,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TwoExperts {
    /// α
    pub alpha: [f64; 2],
    /// Sums of the losses in this epoch, minus the smaller of the two.
    lead: [f64; 2],
    /// Rounds of this epoch.
    rounds: u64,
    /// Length of this epoch.
    length: u64,
}

impl TwoExperts {
    pub fn new(horizon: Option<u64>) -> Self {
        Self { alpha: [0.5; 2], lead: [0.0; 2], rounds: 0, length: horizon.unwrap_or(2) }
    }

    /// The second model alone; the losses do not change that.
    pub fn second() -> Self {
        Self { alpha: [0.0, 1.0], lead: [0.0; 2], rounds: 0, length: 0 }
    }

    /// The weights after a round with these losses.
    pub fn updated(&self, losses: [f64; 2], sharing: Sharing, horizon: Option<u64>) -> Self {
        if self.length == 0 {
            return *self;
        }
        let mut next = *self;
        let least = losses[0].min(losses[1]);
        let losses = losses.map(|loss| loss - least);
        let (eta, delta) = rates(sharing, self.length as f64);
        match sharing {
            Sharing::Sums => {
                let sums = [self.lead[0] + losses[0], self.lead[1] + losses[1]];
                let least = sums[0].min(sums[1]);
                next.lead = sums.map(|sum| sum - least);
                next.alpha = normalized(next.lead.map(|sum| exp(-eta * sum)));
            }
            Sharing::Fixed => {
                let v = [0, 1].map(|i| self.alpha[i] * exp(-eta * losses[i]));
                let all = v[0] + v[1];
                next.alpha = normalized(v.map(|v| delta * all / 2.0 + (1.0 - delta) * v));
            }
        }
        next.rounds += 1;
        if horizon.is_none() && next.rounds == self.length {
            let length = self.length.saturating_mul(2);
            next = Self { length, ..Self::new(None) };
        }
        next
    }

    pub fn check(&self) -> Result<(), &'static str> {
        let numbers = self.alpha.iter().chain(&self.lead);
        let fits = numbers.clone().all(|number| number.is_finite() && *number >= 0.0)
            && self.alpha.iter().all(|alpha| *alpha <= 1.0)
            && self.rounds < u64::MAX / 2;
        if fits { Ok(()) } else { Err("its trust in the two models is damaged") }
    }
}

/// Divided by their sum.
fn normalized(v: [f64; 2]) -> [f64; 2] {
    let all = v[0] + v[1];
    if all > 0.0 { v.map(|v| v / all) } else { [0.5; 2] }
}

/// η and δ for a horizon.
fn rates(sharing: Sharing, horizon: f64) -> (f64, f64) {
    if sharing == Sharing::Sums {
        return ((8.0 * LN_2 / horizon).sqrt(), 0.0);
    }
    let delta = if horizon > 2.0 { 1.0 / (horizon - 1.0) } else { 1.0 };
    let entropy =
        if delta < 1.0 { -delta * ln(delta) - (1.0 - delta) * ln_1p(-delta) } else { 0.0 };
    ((8.0 / horizon * (2.0 * LN_2 + (horizon - 1.0) * entropy)).sqrt(), delta)
}

/// Σα_i f_i; a score with the weight 0 does not count, even if it is not finite.
pub fn blend(alpha: [f64; 2], f: [f64; 2]) -> f64 {
    match alpha {
        [0.0, second] => second * f[1],
        [first, 0.0] => first * f[0],
        [first, second] => first * f[0] + second * f[1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_with_the_smaller_loss_gets_the_larger_weight() {
        for sharing in [Sharing::Sums, Sharing::Fixed] {
            let mut experts = TwoExperts::new(Some(100));
            for _ in 0..100 {
                experts = experts.updated([0.2, 0.9], sharing, Some(100));
            }
            assert!(experts.alpha[0] > 0.98);
            assert!((experts.alpha[0] + experts.alpha[1] - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn with_a_fixed_share_a_model_recovers_sooner() {
        let after = |sharing| {
            let mut experts = TwoExperts::new(Some(400));
            for t in 0..300 {
                let losses = if t < 200 { [0.0, 1.0] } else { [1.0, 0.0] };
                experts = experts.updated(losses, sharing, Some(400));
            }
            experts.alpha[1]
        };
        assert!(after(Sharing::Fixed) > 0.9 && after(Sharing::Sums) < 0.1);
    }

    #[test]
    fn epochs_double_when_the_horizon_is_unknown() {
        let mut experts = TwoExperts::new(None);
        let mut restarts = Vec::new();
        for t in 1..=30 {
            experts = experts.updated([0.0, 1.0], Sharing::Sums, None);
            if experts.rounds == 0 {
                assert_eq!(experts.alpha, [0.5; 2]);
                restarts.push(t);
            }
        }
        assert_eq!(restarts, [2, 6, 14, 30]);
    }

    #[test]
    fn the_logistic_loss_is_1_at_0_and_its_gradient_the_derivative() {
        assert_eq!(Loss::Logistic.of(0.0, 1.0), 1.0);
        for (f, y) in [(0.3, 1.0), (-2.0, 1.0), (5.0, -1.0)] {
            let slope = (Loss::Logistic.of(f + 1e-6, y) - Loss::Logistic.of(f - 1e-6, y)) / 2e-6;
            assert!((slope + Loss::Logistic.negative_gradient(f, y)).abs() < 1e-6);
        }
        assert!(
            Loss::Logistic.of(-1e4, 1.0).is_finite()
                && Loss::Logistic.negative_gradient(-1e4, 1.0) > 1.0
        );
    }

    #[test]
    fn with_a_horizon_of_two_the_weights_stay_at_one_half() {
        let experts = TwoExperts::new(Some(2)).updated([0.0, 9.0], Sharing::Fixed, Some(2));
        assert_eq!(experts.alpha, [0.5; 2]);
    }
}
