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
use crate::scaling::stats::StatsLanes;
use crate::scaling::sums::Sums;
use crate::storage::math::ln;

/// The value of the constant.
pub const CONSTANT: f64 = 0.3;

const CLIP: f64 = 3.0; // of a standardised score
const FACTOR_SIZE: f64 = 0.5;
const ENERGY_SIZE: f64 = 0.3;
/// The smallest step of the factor's mean: it covers about the last two hundred events.
const SLOWEST: f64 = 0.005;
/// The same of the energy's: about the last four thousand.
const SLOWEST_ENERGY: f64 = 1.0 / 4_000.0;

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

    /// The number that was added to give these moments; none if none was.
    fn added_until(&self, after: &Self, slowest: f64) -> Option<f64> {
        let step = slowest.max(1.0 / after.n as f64);
        (after.n > self.n).then(|| self.mean + (after.mean - self.mean) / step)
    }

    /// Add many numbers, as if they were evenly mixed.
    fn absorb(&mut self, sums: &Sums, slowest: f64) {
        if sums.n == 0.0 {
            return;
        }
        let n = self.n + sums.n as u64;
        // What steps of 1/n, and then the slowest, leave of what was there.
        let quick = (n as f64).min((1.0 / slowest).floor()).max(self.n as f64);
        let kept = self.n as f64 / quick * power(1.0 - slowest, (n as f64 - quick) as u64);
        let off = sums.mean - self.mean;
        self.mean += (1.0 - kept) * off;
        self.variance = kept * self.variance
            + (1.0 - kept) * (sums.squares / sums.n)
            + kept * (1.0 - kept) * off * off;
        self.n = n;
    }

    fn standardised(&self, x: f64, guard: f64) -> f64 {
        ((x - self.mean) / (self.variance + guard).sqrt()).clamp(-CLIP, CLIP)
    }

    /// Whether observed scores can give these numbers: no score is beyond ±750.
    fn is_sound(&self) -> bool {
        self.n <= u64::MAX / 2 && self.mean.abs() <= 1e3 && (0.0..1e7).contains(&self.variance)
    }
}

/// By squaring, so that it is the same on every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            product *= base;
        }
        base *= base;
        exponent /= 2;
    }
    product
}

/// Sums over the features of an event, two side by side.
#[derive(Clone, Copy, Debug, Default)]
pub struct SummarySums {
    /// z² + b², b the presence
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
    /// Add two features, before the event is scaled to length 1.
    #[inline(always)]
    pub fn add(&mut self, pair: &StatsLanes) {
        let (z, a, lambda) = (pair.z, pair.regularity, pair.lambda());
        let square = z * z;
        self.squares += square + pair.presence * pair.presence;
        self.regularity += a;
        self.regular += a * square;
        self.projection += lambda * z;
        self.loadings += lambda * lambda;
    }

    /// Add their squares alone, where no summary is wanted.
    #[inline(always)]
    pub fn add_squares(&mut self, pair: &StatsLanes) {
        self.squares += pair.z * pair.z + pair.presence * pair.presence;
    }

    /// Take out so many padding features, whose z is 0 and whose a is 1.
    pub fn remove_padding(&mut self, count: usize) {
        self.regularity -= F64x2::new([count as f64, 0.0]);
    }

    /// Σ(z² + b²)
    pub fn squares(&self) -> f64 {
        self.squares.reduce_add()
    }

    /// D: the share of the event that is regular.
    fn share(&self) -> f64 {
        let squares = self.squares();
        if self.regularity.reduce_add() < 1.0 || squares == 0.0 {
            0.0 // too few regular features, or nothing at all
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
            self.energy.add(sums.log_energy(), SLOWEST_ENERGY);
        }
        if let Some(score) = sums.score() {
            self.factor.add(score, SLOWEST);
        }
        self.describe(sums)
    }

    /// Score of the factor and logarithm of the energy of the event that led to the statistics `after`, as far as
    /// it had them.
    pub fn scores_until(&self, after: &Self) -> [Option<f64>; 2] {
        [
            self.factor.added_until(&after.factor, SLOWEST),
            self.energy.added_until(&after.energy, SLOWEST_ENERGY),
        ]
    }

    /// Count the events with these scores and logarithms.
    pub fn absorb(&mut self, [factor, energy]: &[Sums; 2]) {
        self.factor.absorb(factor, SLOWEST);
        self.energy.absorb(energy, SLOWEST_ENERGY);
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
    fn many_numbers_at_once_are_those_one_by_one_until_the_steps_are_at_their_slowest() {
        let number = |i: u32| f64::from(i * 7 % 11);
        let (mut slowly, mut at_once, mut sums) =
            (RunningMoments::default(), RunningMoments::default(), Sums::default());
        for i in 0..40 {
            let before = slowly;
            slowly.add(number(i), 0.01);
            let added = before.added_until(&slowly, 0.01).unwrap();
            assert!((added - number(i)).abs() < 1e-12);
            if i < 10 { at_once.add(number(i), 0.01) } else { sums.count(number(i)) }
        }
        at_once.absorb(&sums, 0.01);
        assert!(at_once.n == 40 && (at_once.mean - slowly.mean).abs() < 1e-12);
        assert!((at_once.variance - slowly.variance).abs() < 1e-12);
        for i in 40..1_000 {
            slowly.add(number(i), 0.01);
        }
        let mut sums = Sums::default();
        for i in 40..1_000 {
            sums.count(number(i));
        }
        at_once.absorb(&sums, 0.01);
        assert!((at_once.mean - slowly.mean).abs() < 0.5, "{at_once:?} {slowly:?}");
        assert!((at_once.variance / slowly.variance - 1.0).abs() < 0.2, "{at_once:?} {slowly:?}");
        assert_eq!(power(0.5, 11), 0.5_f64.powi(11));
    }
}
