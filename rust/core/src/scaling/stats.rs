//! The arithmetic of the running view: what is known of a feature, and two of them at a step.
//!
//! With n values seen, mean m and sum of squared deviations S, `a = min(1, 2·runs/(n − 1))⁴` is how
//! regular a feature is: its centre is `a m`, its variance `S/n + (m − a m)²`, which an irregular one
//! shares by `(1 − a)²` with its like. A value counts its deviations from the centre, at most 3, times
//! its rarity `ln(1 + max(1, rounds since the first/n))`.

use serde::{Deserialize, Serialize};

use crate::scaling::event_summary::{HEAD_START, SHRINK};
use crate::scaling::simd::{F64x2, LANES, all, any, ln};
use crate::storage::math::exp;

const CLIP: f64 = 3.0; // of a scaled value
const GROSS: f64 = 10.0; // deviations beyond which a value is cut before it is counted
const WARM: f64 = 10.0; // values after which gross errors are cut
const STILL: f64 = 1e-24; // variance by squared mean of a feature that has not moved

/// What is known of one feature: a line of the cache. Counts are floats, which are exact below 2⁵³.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub struct FeatureStats {
    /// Times seen.
    pub n: f64,
    pub mean: f64,
    /// CompensatedSum of squared deviations.
    pub squares: f64,
    /// Times seen in the round right after another time.
    pub runs: f64,
    pub first: f64,
    pub last: f64,
    /// Its part in the common factor.
    pub loading: f64,
    /// a, which follows from `n` and `runs`.
    pub regularity: f64,
}

/// What fills a place that no feature takes: its value is 0. Once counted it is as regular as can be.
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

/// What is divided by n, n − 1, n + 2 or n + 10.
pub struct CountInverses {
    /// 1/n
    pub n: F64x2,
    /// 1/(n − 1), but 1 of n = 1
    pub before: F64x2,
    /// n/(n + 10)
    pub trust: F64x2,
    /// 3/(n + 2), but at most 1
    pub step: F64x2,
}

impl CountInverses {
    /// One division for all of them; exact for n = 1.
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
    // Rounding must not take from what is 1.
    is_regular(n, runs).bitselect(F64x2::ONE, (share * share) * (share * share))
}

/// Whether 2·runs ≥ n − 1, so that a = 1; but not of n = 1.
#[inline(always)]
fn is_regular(n: F64x2, runs: F64x2) -> F64x2 {
    (runs + runs).simd_ge((n - F64x2::ONE).fast_max(F64x2::ONE))
}

/// Two features of an event side by side: a number each of the event, of what is known, and of what
/// follows. A place that no feature takes is filled by [`PADDING`].
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
    /// What the value counts; at first before the event is brought to length 1.
    pub z: F64x2,
}

impl StatsLanes {
    /// Values and what is known of their features, in this round.
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

    /// Welford's step with the values, gross errors cut, which are counted as sizes too.
    #[inline(always)]
    pub fn count(self, sizes: &mut LogSizes) -> Self {
        let Self { value, n, mean, squares, runs, .. } = self;
        let (mut counted, mut off) = (value, value - mean);
        let beyond = (off * off * n).simd_gt(F64x2::splat(GROSS * GROSS) * squares);
        let known = n.simd_ge(F64x2::splat(WARM)) & squares.simd_gt(F64x2::ZERO);
        let gross = beyond & known;
        if any(gross) {
            let reach = F64x2::splat(GROSS) * (squares / n).sqrt();
            let cut = value.fast_max(mean - reach).fast_min(mean + reach);
            counted = gross.bitselect(cut, value);
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
        Self { n, mean, squares, regularity, ..self }.with(&inverses)
    }

    /// With what follows from n.
    #[inline(always)]
    pub fn with(self, inverses: &CountInverses) -> Self {
        let &CountInverses { n: inverse, trust, step, .. } = inverses;
        Self { inverse, trust, step, ..self }
    }

    /// Whether both are as regular as can be.
    #[inline(always)]
    pub fn is_regular(&self) -> bool {
        all(self.regularity.simd_eq(F64x2::ONE))
    }

    /// The values as they count, before the event is brought to length 1, of features as regular as
    /// can be.
    #[inline(always)]
    pub fn scaled_as_regular(self) -> Self {
        let variance = self.squares * self.inverse;
        self.cut((self.value - self.mean) / variance.sqrt(), variance)
    }

    /// The same of any features; `shared` is the squared size that irregular ones share.
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
        // Of the smallest numbers there are, nothing may be left.
        let scaled = (self.value - centre) / variance.sqrt();
        self.cut(variance.simd_gt(F64x2::ZERO) & scaled, own)
    }

    /// The values, so many deviations off, as they count.
    #[inline(always)]
    fn cut(self, off: F64x2, variance: F64x2) -> Self {
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

    /// Make one of the two last.
    #[inline(always)]
    pub fn commit<const PLACE: usize>(&self, entry: &mut FeatureStats, round: f64) {
        entry.n = self.n.as_array()[PLACE];
        entry.mean = self.mean.as_array()[PLACE];
        entry.squares = self.squares.as_array()[PLACE];
        entry.runs = self.runs.as_array()[PLACE];
        entry.last = round;
        entry.loading = self.loading.as_array()[PLACE];
        entry.regularity = self.regularity.as_array()[PLACE];
    }

    /// λ
    #[inline(always)]
    pub fn weight(&self) -> F64x2 {
        self.loading * self.trust * self.regularity
    }
}

/// The shared size of the values of irregular features: mean of ln|x|, and its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedScale {
    pub weight: f64,
    pub log_size: f64,
}

impl SharedScale {
    /// The square of the size that irregular features share, once there is one.
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

/// SummarySums over the values of an event: of (1 − a)², and of it times ln|x|, where x is not 0.
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

    /// What is known of a feature with these values, in these rounds.
    fn entry_of(values: &[(u64, f64)]) -> FeatureStats {
        let mut entry = FeatureStats::new(values[0].0 as f64);
        for &(round, value) in values {
            let row = StatsLanes::of([0.0, value], [&PADDING, &entry], round as f64);
            let row = row.count(&mut LogSizes::default());
            let [n, mean, squares] = [row.n, row.mean, row.squares].map(|pair| pair.to_array()[1]);
            let (runs, regularity, last) =
                (row.runs.to_array()[1], row.regularity.to_array()[1], round as f64);
            entry = FeatureStats { n, mean, squares, runs, last, regularity, ..entry };
        }
        entry
    }

    #[test]
    fn a_sensor_is_regular_and_a_rare_word_is_not() {
        let sensor: Vec<(u64, f64)> = (0..50).map(|round| (round, 20.0)).collect();
        assert_eq!(entry_of(&sensor).regularity, 1.0);
        let word: Vec<(u64, f64)> = (0..50).map(|i| (10 * i, 1.0)).collect();
        assert_eq!(entry_of(&word).regularity, 0.0);
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_values() {
        let entry = entry_of(&[(0, 1.0), (1, 2.0), (2, 6.0)]);
        assert!((entry.mean - 3.0).abs() < 1e-15);
        assert!((entry.squares - 14.0).abs() < 1e-12); // 4 + 1 + 9
    }

    #[test]
    fn a_gross_error_hardly_moves_the_scale() {
        let mut values: Vec<(u64, f64)> =
            (0..100).map(|round| (round, (round % 3) as f64)).collect();
        let before = entry_of(&values);
        values.push((100, 1e9));
        let after = entry_of(&values);
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
    fn a_constant_feature_counts_as_nothing() {
        let entry = entry_of(&(0..20).map(|round| (round, 7.0)).collect::<Vec<_>>());
        let row = StatsLanes::of([7.0, 0.0], [&entry, &PADDING], 20.0);
        let row = row.count(&mut LogSizes::default());
        assert!(row.is_regular());
        for scaled in [row.scaled_as_regular(), row.scaled(None)] {
            assert_eq!(scaled.z.to_array(), [0.0; LANES]);
        }
    }
}
