//! The arithmetic of the running scaler: the statistics of a feature, updated for two features at a
//! time.
//!
//! With n values seen, mean m and sum of squared deviations S, the regularity of a feature is
//! `a = min(1, 2·runs/(n − 1))⁴`. Its centre is `a m` and its variance `S/n + (m − a m)²`. With the
//! weight `(1 − a)²` the variance is replaced by one that all irregular features share. A scaled
//! value is its number of deviations from the centre, at most 3, times its rarity
//! `ln(1 + max(1, rounds since the first/n))`.

use serde::{Deserialize, Serialize};

use crate::scaling::event_summary::{HEAD_START, SHRINK};
use crate::scaling::simd::{F64x2, LANES, all, any, ln};
use crate::storage::math::exp;

const CLIP: f64 = 3.0; // of a scaled value, in deviations
const GROSS: f64 = 10.0; // a value further off, in deviations, is a gross error: it is clipped before it is counted
const WARM: f64 = 10.0; // values seen before gross errors are clipped
const STILL: f64 = 1e-24; // up to this ratio of variance to squared mean a feature counts as constant

/// The statistics of one feature, in one cache line. Counts are floats, which are exact below 2⁵³.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub struct FeatureStats {
    /// Times seen.
    pub n: f64,
    pub mean: f64,
    /// Sum of squared deviations.
    pub squares: f64,
    /// Times seen in two rounds in a row.
    pub runs: f64,
    /// The round in which it was first seen.
    pub first: f64,
    /// The round in which it was last seen.
    pub last: f64,
    /// Its loading in the common factor.
    pub loading: f64,
    /// a, which follows from `n` and `runs`.
    pub regularity: f64,
}

/// Fills the second lane if the number of features is odd. Its value is 0; once observed its
/// regularity is 1.
pub const PADDING: FeatureStats = FeatureStats {
    n: 1.0,
    mean: 0.0,
    squares: 0.0,
    runs: 1.0,
    first: f64::INFINITY, // so that it is never rare
    last: f64::NEG_INFINITY,
    loading: 0.0,
    regularity: 0.0,
};

impl FeatureStats {
    pub fn new(round: f64) -> Self {
        Self { first: round, last: f64::NEG_INFINITY, ..Self::default() }
    }
}

/// Quotients by n, n − 1, n + 2 and n + 10.
pub struct CountInverses {
    /// 1/n
    pub n: F64x2,
    /// 1/(n − 1), but 1 for n = 1
    pub before: F64x2,
    /// n/(n + 10)
    pub trust: F64x2,
    /// 3/(n + 2), but at most 1
    pub step: F64x2,
}

impl CountInverses {
    /// Computes all of them with one division; exact for n = 1.
    #[inline(always)]
    pub fn of(n: F64x2) -> Self {
        let before = (n - F64x2::ONE).fast_max(F64x2::ONE);
        let (near, far) = (n + F64x2::splat(HEAD_START), n + F64x2::splat(SHRINK));
        let (counts, others) = (n * before, near * far);
        let all = F64x2::ONE / (counts * others);
        let (of_counts, of_others) = (others * all, counts * all);
        Self {
            n: before * of_counts,
            before: n * of_counts,
            trust: n * (near * of_others),
            step: (F64x2::splat(HEAD_START + 1.0) * (far * of_others)).fast_min(F64x2::ONE),
        }
    }
}

/// a = min(1, 2·runs/(n − 1))⁴
#[inline(always)]
pub fn regularity_of(n: F64x2, runs: F64x2, inverses: &CountInverses) -> F64x2 {
    let share = (runs + runs) * inverses.before;
    // Where a is 1 it must be exactly 1, in spite of rounding.
    is_regular(n, runs).bitselect(F64x2::ONE, (share * share) * (share * share))
}

/// Whether 2·runs ≥ n − 1, so that a = 1; false for n = 1 without runs.
#[inline(always)]
fn is_regular(n: F64x2, runs: F64x2) -> F64x2 {
    (runs + runs).simd_ge((n - F64x2::ONE).fast_max(F64x2::ONE))
}

/// Two features of an event side by side: their values, their statistics, and what is computed from
/// them. A lane without a feature is filled by [`PADDING`].
#[derive(Clone, Copy, Debug, Default)]
pub struct StatsLanes {
    pub value: F64x2,
    pub n: F64x2,
    pub mean: F64x2,
    pub squares: F64x2,
    pub runs: F64x2,
    /// Rounds since the first time.
    pub since: F64x2,
    pub loading: F64x2,
    pub regularity: F64x2,
    /// 1/n
    pub inverse: F64x2,
    /// n/(n + 10): how much the loadings count.
    pub trust: F64x2,
    /// 3/(n + 2), but at most 1: how far the event moves the loadings.
    pub step: F64x2,
    /// The scaled value; at first before the event is scaled to length 1.
    pub z: F64x2,
}

impl StatsLanes {
    /// Load values of this round and the statistics of their features.
    #[inline(always)]
    pub fn of(values: [f64; LANES], [a, b]: [&FeatureStats; LANES], round: f64) -> Self {
        let (round, one) = (F64x2::splat(round), F64x2::ONE);
        let just_before = (F64x2::new([a.last, b.last]) + one).simd_eq(round);
        Self {
            value: F64x2::new(values),
            n: F64x2::new([a.n, b.n]),
            mean: F64x2::new([a.mean, b.mean]),
            squares: F64x2::new([a.squares, b.squares]),
            runs: F64x2::new([a.runs, b.runs]) + (just_before & one),
            since: round + one - F64x2::new([a.first, b.first]),
            loading: F64x2::new([a.loading, b.loading]),
            regularity: F64x2::new([a.regularity, b.regularity]),
            ..Self::default()
        }
    }

    /// Update the statistics with the values by Welford's step, gross errors clipped. Values of
    /// irregular features are added to the `sizes`.
    #[inline(always)]
    pub fn observe(self, sizes: &mut LogSizes) -> Self {
        let Self { value, n, mean, squares, runs, .. } = self;
        let (mut counted, mut off) = (value, value - mean);
        let beyond = (off * off * n).simd_gt(F64x2::splat(GROSS * GROSS) * squares);
        let known = n.simd_ge(F64x2::splat(WARM)) & squares.simd_gt(F64x2::ZERO);
        let gross = beyond & known;
        if any(gross) {
            let reach = F64x2::splat(GROSS) * (squares / n).sqrt();
            let clipped = value.fast_max(mean - reach).fast_min(mean + reach);
            counted = gross.bitselect(clipped, value);
            off = counted - mean;
        }
        let n = n + F64x2::ONE;
        let inverses = CountInverses::of(n);
        let mean = mean + off * inverses.n;
        let squares = squares + off * (counted - mean);
        let mut regularity = F64x2::ONE;
        if !all(is_regular(n, runs)) {
            regularity = regularity_of(n, runs, &inverses);
            sizes.add(counted, regularity);
        }
        Self { n, mean, squares, regularity, ..self }.with_inverses(&inverses)
    }

    /// Add what follows from n.
    #[inline(always)]
    pub fn with_inverses(self, inverses: &CountInverses) -> Self {
        let &CountInverses { n: inverse, trust, step, .. } = inverses;
        Self { inverse, trust, step, ..self }
    }

    /// Whether a = 1 for both.
    #[inline(always)]
    pub fn is_regular(&self) -> bool {
        all(self.regularity.simd_eq(F64x2::ONE))
    }

    /// Compute z, before the event is scaled to length 1, for two features with a = 1.
    #[inline(always)]
    pub fn scaled_as_regular(self) -> Self {
        let variance = self.squares * self.inverse;
        self.clipped((self.value - self.mean) / variance.sqrt(), variance)
    }

    /// Compute z for any two features; `shared` is the squared size that irregular features share.
    #[inline(always)]
    pub fn scaled(self, shared: Option<f64>) -> Self {
        let a = self.regularity;
        let centre = a * self.mean;
        let off = self.mean - centre;
        let own = self.squares * self.inverse + off * off;
        let mut variance = own;
        if let Some(shared) = shared {
            let (rest, least, most) = (F64x2::ONE - a, F64x2::splat(0.01), F64x2::splat(100.0));
            let shared = F64x2::splat(shared).fast_max(least * own).fast_min(most * own);
            variance = own + rest * rest * (shared - own);
        }
        // The variance of the smallest floats may be rounded to 0: then z is 0.
        let scaled = (self.value - centre) / variance.sqrt();
        self.clipped(variance.simd_gt(F64x2::ZERO) & scaled, own)
    }

    /// z of values that are so many deviations off; 0 if the feature is constant.
    #[inline(always)]
    fn clipped(self, off: F64x2, variance: F64x2) -> Self {
        let clip = F64x2::splat(CLIP);
        let moves = variance.simd_gt(F64x2::splat(STILL) * self.mean * self.mean);
        let z = moves & (off.fast_min(clip).fast_max(-clip) * self.rarity());
        Self { z, ..self }
    }

    /// ln(1 + max(1, since/n))
    #[inline(always)]
    fn rarity(&self) -> F64x2 {
        if all(self.since.simd_le(self.n)) {
            return F64x2::LN_2;
        }
        ln(F64x2::ONE + (self.since * self.inverse).fast_max(F64x2::ONE))
    }

    /// Store the new statistics of the feature in one lane.
    #[inline(always)]
    pub fn commit<const LANE: usize>(&self, stats: &mut FeatureStats, round: f64) {
        stats.n = self.n.as_array()[LANE];
        stats.mean = self.mean.as_array()[LANE];
        stats.squares = self.squares.as_array()[LANE];
        stats.runs = self.runs.as_array()[LANE];
        stats.last = round;
        stats.loading = self.loading.as_array()[LANE];
        stats.regularity = self.regularity.as_array()[LANE];
    }

    /// λ
    #[inline(always)]
    pub fn lambda(&self) -> F64x2 {
        self.loading * self.trust * self.regularity
    }
}

/// The size of values that irregular features share: the mean of ln|x|, and the weight in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedScale {
    pub weight: f64,
    pub log_size: f64,
}

impl SharedScale {
    /// The square of the shared size; none before the first value of an irregular feature.
    pub fn squared_size(self) -> Option<f64> {
        (self.weight > 0.0).then(|| exp(2.0 * self.log_size))
    }

    /// Count the values of an event.
    pub fn count(&mut self, sizes: &LogSizes) {
        let weight = sizes.weight.reduce_add();
        if weight > 0.0 {
            self.weight += weight;
            self.log_size += (sizes.logs.reduce_add() - weight * self.log_size) / self.weight;
        }
    }
}

/// Sums over the values of an event that are not 0: of (1 − a)², and of (1 − a)² ln|x|.
#[derive(Default)]
pub struct LogSizes {
    weight: F64x2,
    logs: F64x2,
}

impl LogSizes {
    #[inline(always)]
    pub fn add(&mut self, values: F64x2, regularity: F64x2) {
        let zero = values.simd_eq(F64x2::ZERO);
        let rest = F64x2::ONE - regularity;
        let weight = !zero & (rest * rest);
        self.weight += weight;
        self.logs += weight * ln(zero.bitselect(F64x2::ONE, values.abs()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statistics of a feature with these values, in these rounds.
    fn stats_of(values: &[(u64, f64)]) -> FeatureStats {
        let mut stats = FeatureStats::new(values[0].0 as f64);
        for &(round, value) in values {
            let pair = StatsLanes::of([0.0, value], [&PADDING, &stats], round as f64);
            pair.observe(&mut LogSizes::default()).commit::<1>(&mut stats, round as f64);
        }
        stats
    }

    #[test]
    fn a_sensor_is_regular_and_a_rare_word_is_not() {
        let sensor: Vec<(u64, f64)> = (0..50).map(|round| (round, 20.0)).collect();
        assert_eq!(stats_of(&sensor).regularity, 1.0);
        let word: Vec<(u64, f64)> = (0..50).map(|i| (10 * i, 1.0)).collect();
        assert_eq!(stats_of(&word).regularity, 0.0);
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_values() {
        let stats = stats_of(&[(0, 1.0), (1, 2.0), (2, 6.0)]);
        assert!((stats.mean - 3.0).abs() < 1e-15);
        assert!((stats.squares - 14.0).abs() < 1e-12); // 4 + 1 + 9
    }

    #[test]
    fn a_gross_error_hardly_moves_the_scale() {
        let mut values: Vec<(u64, f64)> =
            (0..100).map(|round| (round, (round % 3) as f64)).collect();
        let before = stats_of(&values);
        values.push((100, 1e9));
        let after = stats_of(&values);
        assert!(after.squares < 3.0 * before.squares);
    }

    #[test]
    fn sizes_are_the_logarithms_of_what_is_not_zero() {
        let (mut sizes, mut logs, mut weight) = (LogSizes::default(), 0.0, 0.0);
        for i in 1..3_000 {
            let value = |place: i32| f64::from((i + place) % 7 - 3) * 10.0_f64.powi(i % 80 - 40);
            let (values, a) = ([0, 1].map(value), [0.0, [0.25, 1.0][i as usize % 2]]);
            sizes.add(F64x2::new(values), F64x2::new(a));
            for (value, a) in values.into_iter().zip(a).filter(|pair| pair.0 != 0.0) {
                weight += (1.0 - a) * (1.0 - a);
                logs += (1.0 - a) * (1.0 - a) * value.abs().ln();
            }
        }
        assert!((sizes.weight.reduce_add() - weight).abs() < 1e-9);
        assert!((sizes.logs.reduce_add() - logs).abs() < 1e-9);
    }

    #[test]
    fn a_constant_feature_is_scaled_to_0() {
        let stats = stats_of(&(0..20).map(|round| (round, 7.0)).collect::<Vec<_>>());
        let pair = StatsLanes::of([7.0, 0.0], [&stats, &PADDING], 20.0);
        let pair = pair.observe(&mut LogSizes::default());
        assert!(pair.is_regular());
        for scaled in [pair.scaled_as_regular(), pair.scaled(None)] {
            assert_eq!(scaled.z.to_array(), [0.0; LANES]);
        }
    }
}
