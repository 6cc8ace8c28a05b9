//! A summary of an event: two features that are learned from every event, labelled or not.
//!
//! The *common factor* is the first principal component of the scaled values. Every feature has a
//! loading `v`, which moves towards `u z` by steps of its own, so that features may be missing. A
//! feature counts with `λ = v·n/(n + 10)·a`: rarely seen and irregular features hardly count. An
//! event's score is `u = Σλz/√Σλ²`. The *energy* says how unusual the event is in any direction: it
//! is the logarithm of the mean square. Both are standardised by their running mean and variance,
//! and multiplied by D, the share of the event that is regular: for a text both are 0.

use serde::{Deserialize, Serialize};

use crate::scaling::simd::F64x2;
use crate::storage::math::ln;

/// How many features are added to the end of an event: factor, energy and a constant, in this
/// order.
pub const OWN_FEATURES: usize = 3;
/// The value of the constant.
pub const CONSTANT: f64 = 0.3;

const CLIP: f64 = 3.0; // of a standardised score
const FACTOR_SIZE: f64 = 0.5;
const ENERGY_SIZE: f64 = 0.3;
/// A loading seen so many times counts half.
pub const SHRINK: f64 = 10.0;
/// The n-th event moves a loading towards `u z` by the share (1 + this)/(n + this), at most 1.
pub const HEAD_START: f64 = 2.0;
/// The smallest step of the factor's mean: it covers about the last two hundred events.
const SLOWEST: f64 = 0.005;

/// How much the loading of a feature seen `n` times counts.
#[inline(always)]
pub fn trust(n: F64x2) -> F64x2 {
    n / (n + F64x2::splat(SHRINK))
}

/// A running mean and variance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct RunningMoments {
    n: u64,
    mean: f64,
    variance: f64,
}

impl RunningMoments {
    fn add(&mut self, x: f64, slowest: f64) {
        self.n += 1;
        let h = slowest.max(1.0 / self.n as f64);
        let delta = x - self.mean;
        self.mean += h * delta;
        self.variance += h * (delta * (x - self.mean) - self.variance);
    }

    fn standardised(&self, x: f64, guard: f64) -> f64 {
        ((x - self.mean) / (self.variance + guard).sqrt()).clamp(-CLIP, CLIP)
    }

    /// Whether observed scores can give these numbers: no score is beyond ±750.
    fn is_sound(&self) -> bool {
        self.n <= u64::MAX / 2 && self.mean.abs() <= 1e3 && (0.0..1e7).contains(&self.variance)
    }
}

/// Sums over the features of an event, two side by side. z may be taken before or after the event
/// is scaled to length 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct SummarySums {
    /// z²
    squares: F64x2,
    /// a
    regularity: F64x2,
    /// a z²
    regular: F64x2,
    /// λz
    projection: F64x2,
    /// λ²
    loadings: F64x2,
}

impl SummarySums {
    /// Add two features.
    #[inline(always)]
    pub fn add(&mut self, z: F64x2, a: F64x2, lambda: F64x2) {
        self.squares += z * z;
        self.regularity += a;
        self.regular += a * (z * z);
        self.projection += lambda * z;
        self.loadings += lambda * lambda;
    }

    /// Add two features of an event that is already scaled: only what its factor needs.
    #[inline(always)]
    pub fn add_for_factor(&mut self, z: F64x2, a: F64x2, lambda: F64x2) {
        self.regular += a * (z * z);
        self.projection += lambda * z;
        self.loadings += lambda * lambda;
    }

    /// Take out so many padding features, whose z is 0 and whose a is 1.
    pub fn remove_padding(&mut self, count: usize) {
        self.regularity -= F64x2::new([count as f64, 0.0]);
    }

    /// Σz²
    pub fn squares(&self) -> f64 {
        self.squares.reduce_add()
    }

    /// D: the share of the event that is regular.
    fn share(&self) -> f64 {
        let squares = self.squares();
        if self.regularity.reduce_add() < 1.0 || squares == 0.0 {
            0.0
        } else {
            self.regular.reduce_add() / squares
        }
    }

    /// ℓ, the logarithm of the mean square; only if D > 0.
    fn log_energy(&self) -> f64 {
        ln(self.regular.reduce_add() / self.regularity.reduce_add())
    }

    /// u for z as it was added; none while no feature has a loading that counts.
    fn unscaled_score(&self) -> Option<f64> {
        let loadings = self.loadings.reduce_add();
        (loadings > 1e-30).then(|| self.projection.reduce_add() / loadings.sqrt())
    }

    /// u for z scaled to length 1.
    pub fn score(&self) -> Option<f64> {
        let squares = self.squares();
        let length = if squares == 0.0 { 1.0 } else { squares.sqrt() };
        self.unscaled_score().map(|score| score / length)
    }
}

/// The running statistics of both scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventSummary {
    factor: RunningMoments,
    energy: RunningMoments,
}

impl EventSummary {
    /// (factor, energy) of an event. Changes no statistics.
    pub fn describe(&self, sums: &SummarySums) -> [f64; 2] {
        [self.factor_feature(sums.score(), sums.share()), self.energy_feature(sums)]
    }

    /// Count an event of the stream; returns its (factor, energy) by the new statistics.
    pub fn observe(&mut self, sums: &SummarySums) -> [f64; 2] {
        if sums.share() > 0.0 {
            self.energy.add(sums.log_energy(), 0.0);
        }
        if let Some(score) = sums.score() {
            self.factor.add(score, SLOWEST);
        }
        self.describe(sums)
    }

    /// The factor of an event that was scaled earlier, and so has length 1.
    pub fn factor_of_scaled(&self, sums: &SummarySums) -> f64 {
        self.factor_feature(sums.unscaled_score(), sums.regular.reduce_add())
    }

    fn factor_feature(&self, score: Option<f64>, share: f64) -> f64 {
        score.map_or(0.0, |u| FACTOR_SIZE * share * self.factor.standardised(u, 1e-12))
    }

    fn energy_feature(&self, sums: &SummarySums) -> f64 {
        let share = sums.share();
        if share > 0.0 {
            ENERGY_SIZE * share * self.energy.standardised(sums.log_energy(), 1e-6)
        } else {
            0.0
        }
    }

    pub fn is_sound(&self) -> bool {
        self.factor.is_sound() && self.energy.is_sound()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_moments_are_the_mean_and_the_variance() {
        let mut moments = RunningMoments::default();
        for x in [1.0, 2.0, 6.0] {
            moments.add(x, 0.0);
        }
        assert!((moments.mean - 3.0).abs() < 1e-15);
        assert!((moments.variance - 14.0 / 3.0).abs() < 1e-12); // (4 + 1 + 9)/3
        assert_eq!(moments.standardised(1e9, 1e-6), 3.0);
    }

    #[test]
    fn an_event_of_words_has_neither_factor_nor_energy() {
        let mut sums = SummarySums::default();
        let [one, half, a] = [1.0, 0.5, 0.001].map(F64x2::splat);
        for _ in 0..24 {
            sums.add(one, a, half * trust(F64x2::splat(20.0)) * a);
        }
        let mut summary = EventSummary::default();
        assert_eq!(summary.observe(&sums), [0.0, 0.0]); // Σa < 1
        assert_eq!(summary.energy.n, 0);
    }

    #[test]
    fn sensors_that_move_together_share_a_factor() {
        let (mut loadings, mut summary) = ([0.0; 4], EventSummary::default());
        let mut features = Vec::new();
        for round in 1..500 {
            let common = f64::from(round * 7 % 13) - 6.0;
            let z = [common, -common, common, f64::from(round * 5 % 11) - 4.8].map(|x| x * 0.1);
            let mut sums = SummarySums::default();
            let (round, step) = (f64::from(round), 3.0 / (f64::from(round) + 2.0));
            for (z, v) in z.chunks(2).zip(loadings.chunks(2)) {
                let [z, v] = [z, v].map(|pair| F64x2::new([pair[0], pair[1]]));
                sums.add(z, F64x2::ONE, v * trust(F64x2::splat(round)));
            }
            let [factor, _] = summary.observe(&sums);
            let (u, length) = (sums.score().unwrap_or(1.0), sums.squares().sqrt());
            for (v, z) in loadings.iter_mut().zip(z) {
                *v += (u * z / length - *v) * step.min(1.0);
            }
            features.push((common, factor));
        }
        let agree = |&(common, factor): &(f64, f64)| common * factor * loadings[0] >= 0.0;
        let clear = features.split_off(100).into_iter().filter(|pair| pair.0.abs() >= 3.0);
        let late: Vec<(f64, f64)> = clear.collect();
        assert!(late.iter().filter(|pair| agree(pair)).count() > late.len() * 9 / 10);
        assert!(loadings[0] * loadings[1] < 0.0 && loadings[0] * loadings[2] > 0.0);
        assert!(loadings[3].abs() < 0.2 * loadings[0].abs());
    }
}
