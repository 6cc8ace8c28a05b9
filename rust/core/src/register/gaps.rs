//! How long a feature is usually absent, in events or in time.

use serde::{Deserialize, Serialize};

use crate::storage::math::larger;

/// How fast mean and variance forget.
const STEP: f64 = 1.0 / 64.0;
const FEW: u64 = 64;
/// A gap is unusual if it is so many times the longest usual one.
const LONGER: f64 = 2.0;

/// The gaps between a feature's arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gaps {
    pub mean: f64,
    variance: f64,
    /// The longest gap of this generation, and of the one before.
    longest: f64,
    longest_before: f64,
    /// The longest gap that was reported as a silence.
    excused: f64,
}

impl Gaps {
    /// Count the nth gap.
    #[inline]
    pub fn add(&mut self, gap: f64, n: u64) {
        let step = if n < FEW { 1.0 / n as f64 } else { STEP };
        let delta = gap - self.mean;
        self.mean += step * delta;
        self.variance = (1.0 - step) * (self.variance + step * delta * delta);
        self.longest = larger(self.longest, gap);
    }

    /// A gap that was reported: it is usual only if it is the second of its kind.
    pub fn excuse(&mut self, gap: f64) {
        self.longest = self.longest.max(gap.min(self.excused));
        self.excused = self.excused.max(gap);
    }

    /// Begin a generation: the longest gap of the one before the last is forgotten.
    pub fn turn(&mut self) {
        self.longest_before = std::mem::replace(&mut self.longest, 0.0);
    }

    /// The longest usual gap.
    pub fn usual(&self) -> f64 {
        larger(self.longest, self.longest_before)
    }

    /// A longer gap may be unusual, a shorter one never is.
    #[inline]
    pub fn least_patience(&self) -> f64 {
        LONGER * self.usual()
    }

    /// A longer gap is unusual.
    pub fn patience(&self, spreads: f64) -> f64 {
        self.least_patience().max(self.mean + spreads * self.variance.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_twice_the_longest_usual_one_is_unusual() {
        let mut gaps = Gaps::default();
        for (n, gap) in [1.0, 1.0, 5.0, 1.0].into_iter().enumerate() {
            gaps.add(gap, n as u64 + 1);
        }
        assert_eq!((gaps.usual(), gaps.patience(0.0)), (5.0, 10.0));
        assert!((gaps.mean - 2.0).abs() < 1e-12);
        // The variance is (3·1 + 9)/4.
        assert!((gaps.patience(10.0) - (2.0 + 10.0 * 3.0_f64.sqrt())).abs() < 1e-12);
    }

    #[test]
    fn a_reported_gap_counts_when_it_comes_twice() {
        let mut gaps = Gaps { longest: 2.0, ..Gaps::default() };
        gaps.excuse(50.0);
        assert_eq!(gaps.usual(), 2.0);
        gaps.excuse(40.0);
        assert_eq!(gaps.usual(), 40.0);
    }

    #[test]
    fn a_long_gap_is_forgotten_after_two_generations() {
        let mut gaps = Gaps::default();
        gaps.add(9.0, 1);
        gaps.turn();
        assert_eq!(gaps.usual(), 9.0);
        gaps.add(1.0, 2);
        gaps.turn();
        assert_eq!(gaps.usual(), 1.0);
    }
}
