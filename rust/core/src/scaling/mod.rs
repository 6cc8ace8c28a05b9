//! The running scaler: brings raw values to one scale, learned from all events, labelled or not.
//!
//! Every feature of an event has a *value*, its number of deviations from its mean, and a *presence*, which is 0
//! for a feature that is always there and grows with its rarity. A sensor is its value, a word its presence, a
//! sensor that comes and goes is both. Then the event is scaled to length 1. `stats.rs` has the formulas. With an
//! [`EventSummary`] the scaler also learns what events have in common, and gives each event's factor and energy.

pub mod event_summary;
pub mod shown;
pub mod simd;
pub mod stats;
pub mod sums;

use std::hint::black_box;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::scaling::event_summary::{EventSummary, SummarySums};
use crate::scaling::simd::{F64x2, LANES, all};
use crate::scaling::stats::{FeatureStats, MOST_COUNTED, PADDING, StatsLanes};
use crate::storage::index_remap::IndexRemap;

/// The largest |value| that is accepted: no sum of squares of such values overflows.
const LARGEST: f64 = 1e140;
// Limits for numbers in a model file. Learning stays below them.
const LARGEST_SQUARES: f64 = 1e282; // per value counted: no value can add more
const LARGEST_LOADING: f64 = 1e100; // learned loadings are below 1
const LARGEST_COUNT: u64 = 1 << 53;
const MOST_IN_A_ROW: u64 = 100;

#[derive(Clone, Debug, Default)]
pub struct RunningScaler {
    /// By feature id.
    stats: Vec<FeatureStats>,
    /// Events observed.
    rounds: u64,
    summary: Option<EventSummary>,
}

/// What observing an event will change, computed by [`RunningScaler::observe`] before anything is
/// changed.
#[derive(Default)]
pub struct PendingStats {
    lanes: Vec<StatsLanes>,
    summary: Option<EventSummary>,
}

/// What is saved, one number per name of the feature table.
#[derive(Serialize, Deserialize)]
pub struct ScalerState {
    counts: Vec<u64>,
    means: Vec<f64>,
    squares: Vec<f64>,
    first: Vec<f64>,
    last: Vec<u64>,
    far_off: Vec<u64>,
    anchors: Vec<f64>,
    close: Vec<u64>,
    rounds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loadings: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<EventSummary>,
}

impl RunningScaler {
    /// A scaler that has observed nothing; the first `own` features of the table are never observed.
    pub fn new(summary: bool, own: usize) -> Self {
        let stats = vec![FeatureStats::new(0.0); own];
        Self { summary: summary.then(EventSummary::default), stats, ..Self::default() }
    }

    /// Events observed.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The number of the event that carried a feature last, from 1; 0 if it was never observed.
    pub fn last(&self, id: FeatureId) -> u64 {
        let stats = self.stats.get(id as usize).filter(|stats| stats.n > 0.0);
        stats.map_or(0, |stats| stats.last as u64 + 1)
    }

    /// Drop the statistics of evicted features.
    pub fn retain(&mut self, remap: &IndexRemap) {
        remap.retain(&mut self.stats, 1);
    }

    /// Scale an event that is not part of the stream, and return its factor and energy. Changes no
    /// statistics. A feature that was never observed counts as absent.
    pub fn transform(
        &self,
        features: &mut [FeatureValue],
        presence: &mut Vec<f64>,
        PendingStats { lanes, .. }: &mut PendingStats,
    ) -> Result<[f64; 2], Error> {
        check_sizes(features)?;
        let round = self.rounds as f64;
        let (mut sums, mut absent) = (SummarySums::default(), 0);
        lanes.clear();
        for two in features.chunks(LANES) {
            let (mut values, mut stats) = ([0.0; LANES], [&PADDING; LANES]);
            absent += LANES;
            for (lane, feature) in two.iter().enumerate() {
                if let Some(known) = self.stats.get(feature.id as usize) {
                    (values[lane], stats[lane]) = (feature.value, known);
                    absent -= 1;
                }
            }
            let pair = StatsLanes::of(values, stats).described(round);
            sums.add(&pair);
            lanes.push(pair);
        }
        sums.remove_padding(absent);
        to_unit_length(lanes, features, presence, sums.squares());
        Ok(self.summary.as_ref().map_or([0.0; 2], |summary| summary.describe(&sums)))
    }

    /// Scale an event of the stream with statistics that include it, and return its factor and
    /// energy. The new statistics are left in `pending`; only [`Self::commit`] stores them.
    pub fn observe(
        &self,
        features: &mut [FeatureValue],
        presence: &mut Vec<f64>,
        pending: &mut PendingStats,
    ) -> Result<[f64; 2], Error> {
        pending.summary = self.summary;
        let (sums, largest) = if self.summary.is_some() {
            self.observe_lanes::<true>(features, &mut pending.lanes)
        } else {
            self.observe_lanes::<false>(features, &mut pending.lanes)
        };
        let PendingStats { lanes, summary } = pending;
        if !all(largest.simd_le(F64x2::splat(LARGEST))) {
            check_sizes(features)?;
        }
        to_unit_length(lanes, features, presence, sums.squares());
        let Some(summary) = summary else { return Ok([0.0; 2]) };
        let values = summary.observe(&sums);
        if sums.squares() > 0.0 {
            let score = F64x2::splat(sums.score().unwrap_or(1.0));
            for StatsLanes { loading, step, z, .. } in lanes {
                *loading += (score * *z - *loading) * *step;
            }
        }
        Ok(values)
    }

    /// The new statistics of all features, what they sum up to, and the largest |values|.
    #[inline(always)]
    fn observe_lanes<const SUMMARIZES: bool>(
        &self,
        features: &[FeatureValue],
        lanes: &mut Vec<StatsLanes>,
    ) -> (SummarySums, F64x2) {
        // Without `black_box` the compiler makes a branch for each of its numbers.
        let unknown = black_box(FeatureStats::new(self.rounds as f64));
        lanes.resize(features.len().div_ceil(LANES), StatsLanes::default());
        let (round, stats) = (self.rounds as f64, &self.stats[..]);
        let stats_of = |feature: &FeatureValue| stats.get(feature.id as usize).unwrap_or(&unknown);
        let (pairs, last) = features.as_chunks::<LANES>();
        let (mut sums, mut largest) = (SummarySums::default(), F64x2::ZERO);
        let mut add = |pair: &StatsLanes| {
            largest = largest.fast_max(pair.value.abs());
            if SUMMARIZES {
                sums.add(pair);
            } else {
                sums.add_squares(pair);
            }
        };
        for (place, [one, other]) in lanes.iter_mut().zip(pairs) {
            let two = [stats_of(one), stats_of(other)];
            let pair = StatsLanes::observed::<SUMMARIZES>([one.value, other.value], two, round);
            add(&pair);
            *place = pair;
        }
        if let (Some(place), [one]) = (lanes.last_mut(), last) {
            let two = [stats_of(one), &PADDING];
            let pair = StatsLanes::observed::<SUMMARIZES>([one.value, 0.0], two, round);
            add(&pair);
            *place = pair;
        }
        sums.remove_padding(LANES * lanes.len() - features.len());
        (sums, largest)
    }

    /// Store the statistics that [`Self::observe`] computed for features that all have their ids now; there are
    /// `names` names.
    pub fn commit(&mut self, pending: &PendingStats, features: &[FeatureValue], names: usize) {
        let round = self.rounds as f64;
        if names > self.stats.len() {
            self.stats.resize(names, FeatureStats::new(round));
        }
        if self.summary.is_some() {
            self.commit_lanes::<true>(&pending.lanes, features);
        } else {
            self.commit_lanes::<false>(&pending.lanes, features);
        }
        self.summary = pending.summary;
        self.rounds += 1;
    }

    #[inline(always)]
    fn commit_lanes<const SUMMARIZES: bool>(
        &mut self,
        lanes: &[StatsLanes],
        features: &[FeatureValue],
    ) {
        let (round, stats) = (self.rounds as f64, &mut self.stats[..]);
        let (pairs, last) = features.as_chunks::<LANES>();
        for ([one, other], pair) in pairs.iter().zip(lanes) {
            pair.commit::<0, SUMMARIZES>(&mut stats[one.id as usize], round);
            pair.commit::<1, SUMMARIZES>(&mut stats[other.id as usize], round);
        }
        if let ([one], Some(pair)) = (last, lanes.last()) {
            pair.commit::<0, SUMMARIZES>(&mut stats[one.id as usize], round);
        }
    }

    pub fn state(&self) -> ScalerState {
        let column = |of: fn(&FeatureStats) -> f64| self.stats.iter().map(of).collect();
        let counts =
            |of: fn(&FeatureStats) -> f64| self.stats.iter().map(|s| of(s) as u64).collect();
        ScalerState {
            counts: counts(|stats| stats.n),
            means: column(|stats| stats.mean),
            squares: column(|stats| stats.squares),
            first: column(|stats| stats.first),
            last: counts(|stats| stats.last),
            far_off: counts(|stats| stats.far_off.into()),
            anchors: column(|stats| stats.anchor),
            close: counts(|stats| stats.close.into()),
            rounds: self.rounds,
            loadings: self.summary.map(|_| column(|stats| stats.loading)),
            summary: self.summary,
        }
    }

    /// Adopt a saved state, for so many names.
    pub fn adopt(&mut self, state: &ScalerState, names: usize) -> Result<(), &'static str> {
        state.check(self.summary.is_some(), names)?;
        (self.rounds, self.summary) = (state.rounds, state.summary);
        self.stats.clear();
        for i in 0..names {
            let restored = FeatureStats {
                n: state.counts[i] as f64,
                mean: state.means[i],
                squares: state.squares[i],
                first: state.first[i],
                last: if state.counts[i] > 0 { state.last[i] as f64 } else { f64::NEG_INFINITY },
                far_off: state.far_off[i] as f32,
                anchor: state.anchors[i],
                close: state.close[i] as f32,
                loading: state.loadings.as_ref().map_or(0.0, |loadings| loadings[i]),
            };
            let observed = restored.first <= restored.last && state.last[i] < state.rounds;
            let unseen = restored.n == 0.0;
            if restored.squares < 0.0 || (unseen && state.last[i] != 0) || !(unseen || observed) {
                return Err("a statistic is impossible");
            }
            self.stats.push(restored);
        }
        Ok(())
    }
}

impl ScalerState {
    fn check(&self, summary: bool, names: usize) -> Result<(), &'static str> {
        let counts = [&self.counts, &self.last, &self.far_off, &self.close];
        let numbers = [&self.means, &self.squares, &self.first, &self.anchors];
        let loadings = self.loadings.as_deref().unwrap_or_default();
        if counts.iter().any(|column| column.len() != names)
            || numbers.iter().any(|column| column.len() != names)
            || loadings.len() != if summary { names } else { 0 }
        {
            return Err("its statistics are not as long as their names");
        }
        if self.summary.is_some() != summary || self.loadings.is_some() != summary {
            return Err("it knows events as a summary and should not, or the other way round");
        }
        let within = |column: &[f64], most: f64| column.iter().all(|x| x.abs() <= most);
        let fine = within(&self.means, 2.0 * LARGEST)
            && within(&self.anchors, 2.0 * LARGEST)
            && (self.squares.iter().zip(&self.counts))
                .all(|(squares, &n)| squares.abs() <= n as f64 * LARGEST_SQUARES)
            && within(&self.first, LARGEST_COUNT as f64)
            && self.summary.is_none_or(|summary| summary.is_sound())
            && within(loadings, LARGEST_LOADING);
        if !fine {
            return Err("a statistic is too large or not finite");
        }
        let too_many = |&count: &u64| count > LARGEST_COUNT;
        if too_many(&self.rounds)
            || self.last.iter().any(too_many)
            || self.far_off.iter().chain(&self.close).any(|&count| count > MOST_IN_A_ROW)
            || self.counts.iter().any(|&count| count as f64 >= MOST_COUNTED)
        {
            return Err("a counter is too large");
        }
        Ok(())
    }
}

/// Refuse values whose squares could overflow.
fn check_sizes(features: &[FeatureValue]) -> Result<(), Error> {
    let fits = |feature: &FeatureValue| feature.value.abs() <= LARGEST;
    if features.iter().fold(true, |all, feature| all & fits(feature)) {
        return Ok(());
    }
    let found = features.iter().find(|&feature| !fits(feature));
    let value = found.map_or(f64::NAN, |feature| feature.value);
    Err(Error::Step(format!(
        "event: values must lie between -{LARGEST:e} and {LARGEST:e} to be scaled, got {value:e}."
    )))
}

/// Divide values and presences by the length √`squares`, and write them into the event.
fn to_unit_length(
    lanes: &mut [StatsLanes],
    features: &mut [FeatureValue],
    presence: &mut Vec<f64>,
    squares: f64,
) {
    let inverse = if squares > 0.0 { squares.sqrt().recip() } else { 1.0 };
    let inverse = F64x2::splat(inverse);
    presence.resize(features.len(), 0.0);
    let (pairs, last) = features.as_chunks_mut::<LANES>();
    let (presences, last_presence) = presence.as_chunks_mut::<LANES>();
    for (pair, ([one, other], presence)) in lanes.iter_mut().zip(pairs.iter_mut().zip(presences)) {
        pair.z *= inverse;
        [one.value, other.value] = pair.z.to_array();
        *presence = (pair.presence * inverse).to_array();
    }
    if let (Some(pair), [one], [presence]) = (lanes.last_mut(), last, last_presence) {
        pair.z *= inverse;
        [one.value, _] = pair.z.to_array();
        [*presence, _] = (pair.presence * inverse).to_array();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Name, UNKNOWN};
    use crate::feature_table::FeatureTable;
    use crate::storage::rng::Generator;

    type Event<'a> = &'a [(&'a str, f64)];

    /// A scaler with the names of its features.
    struct Named {
        scaler: RunningScaler,
        table: FeatureTable,
    }

    /// Values and presences of an event, and its factor and energy.
    type Scaled = (Vec<f64>, Vec<f64>, [f64; 2]);

    impl Named {
        fn new(summary: bool) -> Self {
            Self { scaler: RunningScaler::new(summary, 0), table: FeatureTable::default() }
        }

        fn features_of(&self, event: Event<'_>) -> Vec<FeatureValue> {
            let id = |name| self.table.id(Name::Text(name));
            event.iter().map(|&(name, value)| FeatureValue { id: id(name), value }).collect()
        }

        /// Observe and commit an event.
        fn observe(&mut self, event: Event<'_>) -> Scaled {
            let (mut features, mut pending) = (self.features_of(event), PendingStats::default());
            let mut presence = Vec::new();
            let summary = self.scaler.observe(&mut features, &mut presence, &mut pending).unwrap();
            for (feature, &(name, _)) in features.iter_mut().zip(event) {
                if feature.id == UNKNOWN {
                    feature.id = self.table.insert(Name::Text(name));
                }
            }
            self.scaler.commit(&pending, &features, self.table.len());
            (features.iter().map(|feature| feature.value).collect(), presence, summary)
        }

        fn transform(&self, event: Event<'_>) -> Scaled {
            let (mut features, mut presence) = (self.features_of(event), Vec::new());
            let mut pending = PendingStats::default();
            let summary = self.scaler.transform(&mut features, &mut presence, &mut pending);
            (features.iter().map(|feature| feature.value).collect(), presence, summary.unwrap())
        }

        fn stats(&self, name: &str) -> FeatureStats {
            self.scaler.stats[self.table.id(Name::Text(name)) as usize]
        }

        fn bytes(&self) -> Vec<u8> {
            rmp_serde::to_vec_named(&self.scaler.state()).unwrap()
        }
    }

    /// The formulas of `stats.rs` for one feature, one at a time and without any shortcut.
    #[derive(Clone, Copy, Default)]
    struct Plain {
        n: f64,
        mean: f64,
        squares: f64,
        first: Option<f64>,
    }

    impl Plain {
        /// Count a value of this round.
        fn count(&mut self, value: f64, round: f64) {
            let mut counted = value;
            if self.n >= 10.0 && self.squares > 0.0 {
                let reach = 10.0 * (self.squares / self.n).sqrt();
                counted = value.clamp(self.mean - reach, self.mean + reach);
            }
            self.first = self.first.or(Some(round));
            self.n += 1.0;
            let off = counted - self.mean;
            self.mean += off / self.n;
            self.squares += off * (counted - self.mean);
        }

        fn share(&self, round: f64) -> f64 {
            (self.n / (round + 1.0 - self.first.unwrap())).min(1.0)
        }

        fn scaled(&self, value: f64) -> f64 {
            let variance = self.squares / self.n;
            if variance <= 1e-24 * self.mean * self.mean {
                return 0.0; // constant
            }
            ((value - self.mean) / variance.sqrt()).clamp(-3.0, 3.0)
        }
    }

    #[test]
    fn values_presences_and_energies_are_those_of_the_plain_formulas() {
        const NAMES: [&str; 5] = ["always", "mostly", "half", "rare", "constant"];
        let (mut scaler, mut draws) = (Named::new(true), Generator::from_seed(5));
        let (mut plain, mut logs) = ([Plain::default(); 5], Vec::new());
        for round in 0..120_u32 {
            let mut event = Vec::new();
            for (i, (name, share)) in NAMES.iter().zip([1.0, 0.9, 0.5, 0.05, 0.7]).enumerate() {
                let value = if i == 4 { 7.0 } else { 10.0 * i as f64 + 4.0 * draws.uniform() };
                let gross = if round == 60 { 1e6 } else { 1.0 };
                if draws.uniform() < share {
                    event.push((i, *name, value * gross));
                }
            }
            let round = f64::from(round);
            let (mut z, mut b, mut a) = (Vec::new(), Vec::new(), Vec::new());
            for &(i, _, value) in &event {
                plain[i].count(value, round);
                let share = plain[i].share(round);
                z.push(plain[i].scaled(value));
                b.push(-0.5 * share.ln());
                a.push((2.0 * share).min(1.0).powi(4));
            }
            let squares: f64 = z.iter().chain(&b).map(|x| x * x).sum();
            let regular: f64 = z.iter().zip(&a).map(|(z, a)| a * z * z).sum();
            let weight: f64 = a.iter().sum();
            let mut energy = 0.0;
            if weight >= 1.0 && regular > 0.0 {
                logs.push((regular / weight).ln());
                let (n, last) = (logs.len() as f64, logs[logs.len() - 1]);
                let mean = logs.iter().sum::<f64>() / n;
                let variance = logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
                let standardised = ((last - mean) / (variance + 1e-6).sqrt()).clamp(-3.0, 3.0);
                energy = 0.3 * (regular / squares) * standardised;
            }
            let length = if squares > 0.0 { squares.sqrt() } else { 1.0 };
            let event: Vec<(&str, f64)> = event.iter().map(|&(_, name, x)| (name, x)).collect();
            let (values, presences, [_, found_energy]) = scaler.observe(&event);
            assert!((found_energy - energy).abs() < 1e-9, "{round}: {found_energy} {energy}");
            for (found, wanted) in values.iter().zip(&z).chain(presences.iter().zip(&b)) {
                assert!((found - wanted / length).abs() < 1e-9, "{round}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn an_event_is_scaled_to_length_1_unless_nothing_is_known_of_it() {
        let mut scaler = Named::new(false);
        assert_eq!(scaler.observe(&[("a", 3.0), ("b", 0.0)]).0, [0.0, 0.0]);
        for round in 0..20 {
            let event = [("a", f64::from(round % 3)), ("b", f64::from(round % 5)), ("c", 1.0)];
            let (values, presences, _) = scaler.observe(&event);
            let length: f64 = values.iter().chain(&presences).map(|z| z * z).sum();
            assert!(round == 0 || (length - 1.0).abs() < 1e-12);
        }
        assert_eq!(scaler.observe(&[]).0, []);
    }

    #[test]
    fn two_devices_that_report_in_turn_are_sensors_and_a_rare_word_is_its_presence() {
        let mut scaler = Named::new(false);
        for round in 0..400 {
            let device = [("one", f64::from(round % 6)), ("other", f64::from(round % 10))];
            let event = [device[(round % 2) as usize], ("word", 1.0)];
            scaler.observe(if round % 40 == 0 { &event } else { &event[..1] });
        }
        let (values, presences, _) = scaler.transform(&[("one", 4.0), ("word", 1.0)]);
        assert!(values[0] > 0.1 && values[1] == 0.0, "{values:?}");
        assert!(presences[1] > 4.0 * presences[0] && presences[0] > 0.0, "{presences:?}");
    }

    #[test]
    fn neither_transform_nor_observe_without_commit_changes_anything() {
        let mut scaler = Named::new(true);
        for round in 0..20 {
            scaler.observe(&[("a", f64::from(round % 3)), ("b", f64::from(round % 5))]);
        }
        let before = scaler.bytes();
        let event = [("a", 5.0), ("b", -1.0), ("new", 2.0)];
        let (values, presences, summary) = scaler.transform(&event);
        assert_eq!((values[2], presences[2]), (0.0, 0.0)); // never observed: it counts as absent
        assert_eq!((values[..2].to_vec(), summary), {
            let (values, _, summary) = scaler.transform(&event[..2]);
            (values, summary)
        });
        let (mut features, mut presence) = (scaler.features_of(&event), Vec::new());
        let mut pending = PendingStats::default();
        scaler.scaler.observe(&mut features, &mut presence, &mut pending).unwrap();
        assert!(scaler.bytes() == before);
    }

    #[test]
    fn a_value_whose_square_could_overflow_is_refused() {
        let scaler = RunningScaler::default();
        let feature = |value| [FeatureValue { id: UNKNOWN, value }];
        let (mut presence, mut pending) = (Vec::new(), PendingStats::default());
        for value in [1e141, -1e300] {
            let refused = scaler.observe(&mut feature(value), &mut presence, &mut pending);
            assert!(matches!(refused, Err(Error::Step(_))), "{refused:?}");
            let refused = scaler.transform(&mut feature(value), &mut presence, &mut pending);
            assert!(matches!(refused, Err(Error::Step(_))), "{refused:?}");
        }
        assert!(scaler.observe(&mut feature(1e140), &mut presence, &mut pending).is_ok());
    }

    #[test]
    fn evicted_features_lose_their_statistics() {
        let mut scaler = Named::new(false);
        for name in ["a", "b", "c", "a"] {
            scaler.observe(&[(name, 1.0)]);
        }
        assert_eq!([0, 1, 2, 3].map(|id| scaler.scaler.last(id)), [4, 2, 3, 0]);
        let remap = IndexRemap::without(&[1], 3);
        scaler.scaler.retain(&remap);
        assert_eq!([0, 1, 2].map(|id| scaler.scaler.last(id)), [4, 3, 0]);
        assert_eq!((scaler.scaler.stats[0].n, scaler.scaler.rounds()), (2.0, 4));
    }

    #[test]
    fn a_restored_scaler_has_the_same_bytes_and_continues_in_the_same_way() {
        for summary in [false, true] {
            let mut scaler = Named::new(summary);
            for round in 0..60 {
                let event = [("a", f64::from(round % 7)), ("b", 1.0), ("c", f64::from(round % 4))];
                scaler.observe(if round % 3 == 0 { &event } else { &event[..1] });
            }
            let mut restored = Named::new(summary);
            restored.scaler.adopt(&scaler.scaler.state(), 3).unwrap();
            restored.table = scaler.table.clone();
            assert!(restored.bytes() == scaler.bytes());
            for event in [&[("b", 2.0), ("c", 1.0)][..], &[("a", 300.0), ("new", 1.0)]] {
                assert_eq!(restored.observe(event), scaler.observe(event));
            }
            assert!(restored.bytes() == scaler.bytes());
        }
    }

    #[test]
    fn a_state_that_is_impossible_is_refused() {
        type Change<'a> = &'a dyn Fn(&mut ScalerState);
        let mut scaler = Named::new(false);
        for value in [1.0, 2.0] {
            scaler.observe(&[("a", value), ("b", 1.0)]);
        }
        let refusal = |summary: bool, change: Change<'_>| {
            let mut state = scaler.scaler.state();
            change(&mut state);
            RunningScaler::new(summary, 0).adopt(&state, 2).err()
        };
        assert_eq!(refusal(false, &|_| ()), None);
        let cases: [(Change<'_>, &str); 7] = [
            (&|state| state.squares[0] = -1.0, "impossible"),
            (&|state| state.first[0] = 5.0, "impossible"),
            (&|state| state.last[0] = 2, "impossible"),
            (&|state| state.means[1] = f64::INFINITY, "too large or not finite"),
            (&|state| state.rounds = u64::MAX, "a counter is too large"),
            (&|state| state.counts[0] = 8_000, "a counter is too large"),
            (&|state| state.means.truncate(1), "not as long as their names"),
        ];
        for (change, part) in cases {
            let sentence = refusal(false, change).unwrap();
            assert!(sentence.contains(part), "{sentence}");
        }
        assert!(refusal(true, &|_| ()).is_some()); // there is no summary in it
        let refused = RunningScaler::new(false, 0).adopt(&scaler.scaler.state(), 1);
        assert_eq!(refused, Err("its statistics are not as long as their names"));
    }

    #[test]
    fn sensors_that_move_together_have_a_common_factor() {
        let mut scaler = Named::new(true);
        let names = ["up", "down", "alone"];
        let (mut agree, mut clear) = (0, 0);
        for round in 0..400_u32 {
            let common = f64::from(round * 7 % 13) - 6.0;
            let alone = f64::from(round * 5 % 11) - 5.0;
            let event = [(names[0], 50.0 + common), (names[1], -3.0 * common), (names[2], alone)];
            let (_, _, [factor, energy]) = scaler.observe(&event);
            assert!(factor.abs() <= 1.5 && energy.abs() <= 0.9); // 0.5·3 and 0.3·3
            let sign = scaler.stats("up").loading.signum();
            if round >= 100 && common.abs() >= 4.0 {
                clear += 1;
                agree += u32::from(factor * common * sign > 0.0);
            }
        }
        assert!(agree * 10 > clear * 9, "{agree} of {clear}");
        let [up, down, alone] = names.map(|name| scaler.stats(name).loading);
        assert!(up * down < 0.0 && alone.abs() < 0.3 * up.abs(), "{up} {down} {alone}");
    }

    #[test]
    fn an_event_of_words_has_neither_factor_nor_energy() {
        let mut scaler = Named::new(true);
        let words: Vec<String> = (0..200).map(|word| format!("w{word}")).collect();
        for round in 0..300_usize {
            let event: Vec<(&str, f64)> =
                (0..5).map(|i| (&words[(round * 37 + i * 41) % 200][..], 1.0)).collect();
            let (_, _, summary) = scaler.observe(&event);
            assert!(round < 200 || summary == [0.0, 0.0], "{summary:?}");
        }
    }
}
