//! The arithmetic of the running scaler: the statistics of a feature, updated for two features at a
//! time.
//!
//! With n values counted, mean m and sum of squared deviations S, the *value* of a feature is its number of
//! deviations `√(S/n)` from the mean, at most 3, and 0 while the feature is constant. Its share of the events
//! since the first one that carried it is `p`; its *presence* is `½ ln(1/p)`: 0 for a feature that is always
//! there, the usual weight of rarity for a word. Its regularity is `a = min(1, 2p)⁴`: 1 for a sensor, near 0
//! for a word.
//!
//! The statistics forget. When n reaches 8,000 it is halved, and S with it. A feature begins again if it lies
//! beyond 3 deviations 20 times in a row, or stays within half a deviation 100 times in a row while it still moves:
//! another unit, another place.

use crate::scaling::simd::{F64x2, LANES, all, any, ln};

const CLIP: f64 = 3.0; // of a value, in deviations
const GROSS: f64 = 10.0; // a value further off, in deviations, is a gross error: it is clipped before it is counted
const WARM: f64 = 10.0; // values counted before gross errors are clipped
const STILL: f64 = 1e-24; // up to this ratio of variance to squared mean a feature counts as constant
const KNOWN: f64 = 30.0; // values counted before a feature may begin again
const FAR_OFF: f64 = 20.0; // arrivals beyond the clip in a row after which it does
const CLOSE: f64 = 0.5; // deviations from the anchor within which a value counts as close
const ALL_CLOSE: f64 = 100.0; // arrivals close to the anchor in a row after which a feature begins again
pub const MOST_COUNTED: f64 = 8_000.0; // n is halved here
const PRESENCE: f64 = 0.5;
const SHRINK: f64 = 10.0; // a loading seen so many times counts half
const HEAD_START: f64 = 2.0; // the n-th event moves a loading by the share (1 + this)/(n + this), at most 1

/// The statistics of one feature, in one cache line. Counts are floats, which are exact below 2⁵³.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub struct FeatureStats {
    /// n: values counted.
    pub n: f64,
    pub mean: f64,
    /// S: the sum of squared deviations.
    pub squares: f64,
    /// The round from which presence is counted: the first that carried it, later as it follows from forgetting.
    pub first: f64,
    /// The last round that carried it.
    pub last: f64,
    /// Its loading in the common factor.
    pub loading: f64,
    /// A value to which those after it were close.
    pub anchor: f64,
    /// How often in a row it was beyond the clip.
    pub far_off: f32,
    /// How often it was close to the anchor, and not the same, since it was farther from it.
    pub close: f32,
}

/// Fills the second lane if the number of features is odd, and stands for a feature without statistics
/// outside the stream: value and presence are 0, the regularity is 1.
pub const PADDING: FeatureStats = FeatureStats {
    n: 1.0,
    mean: 0.0,
    squares: 0.0,
    first: f64::INFINITY, // so that it is always there
    last: f64::NEG_INFINITY,
    loading: 0.0,
    anchor: 0.0,
    far_off: 0.0,
    close: 0.0,
};

impl FeatureStats {
    pub fn new(round: f64) -> Self {
        Self { first: round, last: f64::NEG_INFINITY, ..Self::default() }
    }

    /// A value as it is counted: a gross error is clipped.
    pub fn counted(&self, value: f64) -> f64 {
        let off = value - self.mean;
        if self.n < WARM
            || self.squares <= 0.0
            || off * off * self.n <= GROSS * GROSS * self.squares
        {
            return value;
        }
        let reach = GROSS * (self.squares / self.n).sqrt();
        value.clamp(self.mean - reach, self.mean + reach)
    }
}

/// Quotients by n, n + 2 and n + 10.
struct CountInverses {
    /// 1/n
    n: F64x2,
    /// n/(n + 10)
    trust: F64x2,
    /// 3/(n + 2), but at most 1
    step: F64x2,
}

impl CountInverses {
    /// Computes all of them with one division; exact for n = 1.
    #[inline(always)]
    fn of(n: F64x2) -> Self {
        let (near, far) = (n + F64x2::splat(HEAD_START), n + F64x2::splat(SHRINK));
        let others = near * far;
        let all = F64x2::ONE / (n * others);
        let of_others = n * all;
        Self {
            n: others * all,
            trust: n * (near * of_others),
            step: (F64x2::splat(HEAD_START + 1.0) * (far * of_others)).fast_min(F64x2::ONE),
        }
    }
}

/// Two features of an event side by side: their values, their statistics, and what is computed from
/// them. A lane without a feature is filled by [`PADDING`].
#[derive(Clone, Copy, Debug, Default)]
pub struct StatsLanes {
    pub value: F64x2,
    pub n: F64x2,
    pub mean: F64x2,
    pub squares: F64x2,
    pub first: F64x2,
    pub far_off: F64x2,
    pub anchor: F64x2,
    pub close: F64x2,
    pub loading: F64x2,
    /// a
    pub regularity: F64x2,
    /// n/(n + 10): how much the loadings count.
    pub trust: F64x2,
    /// 3/(n + 2), but at most 1: how far the event moves the loadings.
    pub step: F64x2,
    /// The value; at first before the event is scaled to length 1.
    pub z: F64x2,
    /// The presence, likewise.
    pub presence: F64x2,
}

impl StatsLanes {
    /// Load values and the statistics of their features.
    #[inline(always)]
    pub fn of(values: [f64; LANES], [a, b]: [&FeatureStats; LANES]) -> Self {
        Self {
            value: F64x2::new(values),
            n: F64x2::new([a.n, b.n]),
            mean: F64x2::new([a.mean, b.mean]),
            squares: F64x2::new([a.squares, b.squares]),
            first: F64x2::new([a.first, b.first]),
            far_off: F64x2::new([a.far_off.into(), b.far_off.into()]),
            anchor: F64x2::new([a.anchor, b.anchor]),
            close: F64x2::new([a.close.into(), b.close.into()]),
            loading: F64x2::new([a.loading, b.loading]),
            ..Self::default()
        }
    }

    /// Values and the statistics of their features, updated with them. What only a summary of events needs is left
    /// at 0 if there is none.
    #[inline(always)]
    pub fn observed<const SUMMARIZES: bool>(
        values: [f64; LANES],
        stats: [&FeatureStats; LANES],
        round: f64,
    ) -> Self {
        let arrived = Self::of(values, stats).arrived();
        if any(arrived.begins_again() | arrived.fills_up()) {
            return Self::observed_rarely(values, stats, round);
        }
        let (counted, inverses) = arrived.counted();
        counted.with_inverses::<SUMMARIZES>(&inverses, round)
    }

    /// The same where statistics begin again or forget. A function that starts anew from memory, so that the
    /// usual case can keep its numbers in registers.
    #[cold]
    #[inline(never)]
    fn observed_rarely(values: [f64; LANES], stats: [&FeatureStats; LANES], round: f64) -> Self {
        let mut arrived = Self::of(values, stats).arrived();
        if any(arrived.begins_again()) {
            arrived.begin_again(round);
        }
        let (mut counted, _) = arrived.counted();
        counted.forget_half(round);
        counted.described(round)
    }

    /// Note whether the values are far off or close to the anchor.
    #[inline(always)]
    fn arrived(mut self) -> Self {
        let off = self.value - self.mean;
        let distance = off * off * self.n; // to be compared with so many S
        let known = self.n.simd_ge(F64x2::splat(KNOWN)) & self.squares.simd_gt(F64x2::ZERO);
        let beyond = distance.simd_gt(F64x2::splat(CLIP * CLIP) * self.squares) & known;
        self.far_off = beyond & (self.far_off + F64x2::ONE);
        let gap = self.value - self.anchor;
        let away = (gap * gap * self.n).simd_gt(F64x2::splat(CLOSE * CLOSE) * self.squares) & known;
        let moved = self.value.simd_ne(self.anchor) & known;
        self.close = !away & (self.close + (moved & F64x2::ONE));
        self.anchor = away.bitselect(self.value, self.anchor);
        self
    }

    /// Which features begin again.
    #[inline(always)]
    fn begins_again(&self) -> F64x2 {
        self.far_off.simd_ge(F64x2::splat(FAR_OFF)) | self.close.simd_ge(F64x2::splat(ALL_CLOSE))
    }

    /// Which features will have so many values that they forget half of them.
    #[inline(always)]
    fn fills_up(&self) -> F64x2 {
        self.n.simd_ge(F64x2::splat(MOST_COUNTED - 1.0))
    }

    /// Count the values by Welford's step, gross errors clipped.
    #[inline(always)]
    fn counted(mut self) -> (Self, CountInverses) {
        let (mut counted, mut off) = (self.value, self.value - self.mean);
        let gross = (off * off * self.n).simd_gt(F64x2::splat(GROSS * GROSS) * self.squares)
            & self.n.simd_ge(F64x2::splat(WARM))
            & self.squares.simd_gt(F64x2::ZERO);
        if any(gross) {
            let reach = F64x2::splat(GROSS) * (self.squares / self.n).sqrt();
            let clipped = self.value.fast_max(self.mean - reach).fast_min(self.mean + reach);
            counted = gross.bitselect(clipped, self.value);
            off = counted - self.mean;
        }
        self.n += F64x2::ONE;
        let inverses = CountInverses::of(self.n);
        self.mean += off * inverses.n;
        self.squares += off * (counted - self.mean);
        (self, inverses)
    }

    /// Start the statistics of features that were far off too often with the current value.
    fn begin_again(&mut self, round: f64) {
        let fields = [self.n, self.mean, self.squares, self.first];
        let others = [self.far_off, self.close, self.anchor];
        let (mut fields, mut others) = (fields.map(F64x2::to_array), others.map(F64x2::to_array));
        for lane in 0..LANES {
            let ([n, mean, squares, first], [far_off, close, anchor]) = (&mut fields, &mut others);
            if far_off[lane] >= FAR_OFF || close[lane] >= ALL_CLOSE {
                let gap = (round + 1.0 - first[lane]) / n[lane]; // rounds per arrival, which stays
                first[lane] = round + 1.0 - gap;
                (n[lane], mean[lane]) = (0.0, self.value.to_array()[lane]);
                (squares[lane], far_off[lane], close[lane]) = (0.0, 0.0, 0.0);
                anchor[lane] = mean[lane];
            }
        }
        [self.n, self.mean, self.squares, self.first] = fields.map(F64x2::new);
        [self.far_off, self.close, self.anchor] = others.map(F64x2::new);
    }

    /// Let the older half of the values go; the share of events stays.
    fn forget_half(&mut self, round: f64) {
        let full = self.n.simd_ge(F64x2::splat(MOST_COUNTED));
        let half = F64x2::splat(0.5);
        self.n = full.bitselect(self.n * half, self.n);
        self.squares = full.bitselect(self.squares * half, self.squares);
        self.first = full.bitselect((self.first + F64x2::splat(round + 1.0)) * half, self.first);
    }

    /// Compute value, presence and regularity by statistics that are not changed.
    #[inline(always)]
    pub fn described(self, round: f64) -> Self {
        self.with_inverses::<true>(&CountInverses::of(self.n), round)
    }

    #[inline(always)]
    fn with_inverses<const SUMMARIZES: bool>(
        mut self,
        inverses: &CountInverses,
        round: f64,
    ) -> Self {
        let (one, clip) = (F64x2::ONE, F64x2::splat(CLIP));
        if SUMMARIZES {
            (self.trust, self.step) = (inverses.trust, inverses.step);
        }
        let variance = self.squares * inverses.n;
        let moves = variance.simd_gt(F64x2::splat(STILL) * self.mean * self.mean);
        let off = (self.value - self.mean) / variance.sqrt();
        self.z = moves & off.fast_min(clip).fast_max(-clip);
        let since = F64x2::splat(round + 1.0) - self.first;
        self.presence = F64x2::ZERO;
        if SUMMARIZES {
            self.regularity = one;
        }
        if all(since.simd_le(self.n)) {
            return self;
        }
        let share = (self.n / since).fast_min(one);
        let share = since.simd_le(self.n).bitselect(one, share);
        if SUMMARIZES {
            let twice = (share + share).fast_min(one);
            self.regularity = (twice * twice) * (twice * twice);
        }
        self.presence = F64x2::splat(-PRESENCE) * ln(share);
        self
    }

    /// Store the new statistics of the feature in one lane.
    #[inline(always)]
    pub fn commit<const LANE: usize, const SUMMARIZES: bool>(
        &self,
        stats: &mut FeatureStats,
        round: f64,
    ) {
        stats.n = self.n.as_array()[LANE];
        stats.mean = self.mean.as_array()[LANE];
        stats.squares = self.squares.as_array()[LANE];
        stats.first = self.first.as_array()[LANE];
        stats.last = round;
        stats.far_off = self.far_off.as_array()[LANE] as f32;
        stats.anchor = self.anchor.as_array()[LANE];
        stats.close = self.close.as_array()[LANE] as f32;
        if SUMMARIZES {
            stats.loading = self.loading.as_array()[LANE];
        }
    }

    /// λ
    #[inline(always)]
    pub fn lambda(&self) -> F64x2 {
        self.loading * self.trust * self.regularity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statistics of a feature with these values, in these rounds, and the last lanes.
    fn stats_of(values: impl IntoIterator<Item = (u64, f64)>) -> (FeatureStats, StatsLanes) {
        let (mut stats, mut last) = (FeatureStats::default(), StatsLanes::default());
        for (i, (round, value)) in values.into_iter().enumerate() {
            if i == 0 {
                stats = FeatureStats::new(round as f64);
            }
            last = StatsLanes::observed::<true>([0.0, value], [&PADDING, &stats], round as f64);
            last.commit::<1, true>(&mut stats, round as f64);
        }
        (stats, last)
    }

    #[test]
    fn a_sensor_is_its_value_and_a_word_its_presence() {
        let sensor = stats_of((0..50).map(|round| (round, (round % 2) as f64))).1;
        let [z, presence, a] =
            [sensor.z, sensor.presence, sensor.regularity].map(|x| x.as_array()[1]);
        assert!((z - 1.0).abs() < 1e-12 && presence == 0.0 && a == 1.0); // half the values are 1
        let word = stats_of((0..50).map(|i| (10 * i, 1.0))).1;
        let [z, presence, a] = [word.z, word.presence, word.regularity].map(|x| x.as_array()[1]);
        let share: f64 = 50.0 / 491.0;
        assert!((presence + 0.5 * share.ln()).abs() < 1e-12 && z == 0.0);
        assert!((a - (2.0 * share).powi(4)).abs() < 1e-12);
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_values() {
        let stats = stats_of([(0, 1.0), (1, 2.0), (2, 6.0)]).0;
        assert!((stats.mean - 3.0).abs() < 1e-15);
        assert!((stats.squares - 14.0).abs() < 1e-12); // 4 + 1 + 9
    }

    #[test]
    fn a_gross_error_hardly_moves_the_scale() {
        let values = (0..100).map(|round| (round, (round % 3) as f64));
        let before = stats_of(values.clone()).0;
        let after = stats_of(values.chain([(100, 1e9)])).0;
        assert!(after.squares < 3.0 * before.squares);
    }

    #[test]
    fn a_feature_that_is_far_off_twenty_times_begins_again_with_the_same_share_of_events() {
        let old = (0..2_000).map(|i| (2 * i, (i % 3) as f64));
        let new = |count: u64| (2_000..2_000 + count).map(|i| (2 * i, 50.0 + (i % 3) as f64));
        let before = stats_of(old.clone().chain(new(19))).0;
        assert_eq!((before.n, before.far_off), (2_019.0, 19.0));
        let (after, lanes) = stats_of(old.chain(new(20)));
        assert_eq!((after.n, after.far_off), (1.0, 0.0));
        assert!((after.mean - 51.0).abs() < 2.0);
        let presence = lanes.presence.as_array()[1];
        assert!((presence - 0.5 * 2.0_f64.ln()).abs() < 0.01, "{presence}");
    }

    #[test]
    fn a_feature_whose_values_all_are_close_while_they_move_begins_again() {
        let old = (0..500).map(|round| (round, (round % 10) as f64));
        let new =
            |count: u64| (500..500 + count).map(|round| (round, 4.0 + (round % 3) as f64 / 10.0));
        let before = stats_of(old.clone().chain(new(100))).0;
        assert!(before.n > 500.0 && before.close > 0.0, "{before:?}");
        let after = stats_of(old.clone().chain(new(250))).0;
        assert!(after.n < 200.0 && after.squares / after.n < 0.01, "{after:?}");
        let stuck = stats_of(old.chain((500..900).map(|round| (round, 4.0)))).0;
        assert_eq!(stuck.n, 900.0); // it repeats one value: nothing is known of another unit
    }

    #[test]
    fn at_eight_thousand_values_the_older_half_is_let_go_and_the_share_stays() {
        let (before, after) = (
            stats_of((0..7_999).map(|i| (4 * i, (i % 2) as f64))).0,
            stats_of((0..8_000).map(|i| (4 * i, (i % 2) as f64))),
        );
        assert_eq!((before.n, after.0.n), (7_999.0, 4_000.0));
        assert!((after.0.squares / 4_000.0 - 0.25).abs() < 1e-3);
        assert!((after.1.presence.as_array()[1] - 0.5 * 4.0_f64.ln()).abs() < 1e-3);
    }

    #[test]
    fn a_constant_feature_has_no_value() {
        let lanes = stats_of((0..20).map(|round| (round, 7.0))).1;
        assert_eq!(lanes.z.to_array(), [0.0; LANES]);
    }
}
