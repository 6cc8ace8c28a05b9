//! The running scaler: brings raw values to one scale, learned from all events, labelled or not.
//!
//! Per feature it keeps a mean and a variance, which gross errors hardly move, and a *regularity*
//! `a` in [0, 1]: 1 for a sensor that reports round after round, near 0 for a word. A regular
//! feature is centred and scaled to its own deviation. An irregular feature keeps its zero, shares
//! one scale with all irregular features and weighs more the rarer it is. Then the event is scaled
//! to length 1. With an [`EventSummary`] the scaler also learns what events have in common, and
//! gives each event's factor and energy.

pub mod event_summary;
pub mod simd;
pub mod stats;

use std::hint::black_box;

use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;
use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, Name, Names, UNKNOWN};
use crate::scaling::event_summary::{EventSummary, SummarySums, trust};
use crate::scaling::simd::{F64x2, LANES, all};
use crate::scaling::stats::{
    CountInverses, FeatureStats, LogSizes, PADDING, SharedScale, StatsLanes, regularity_of,
};
use crate::storage::index_remap::IndexRemap;
use crate::storage::vocabulary::Vocabulary;

/// The largest |value| that is accepted: no sum of squares of such values overflows.
const LARGEST: f64 = 1e140;
// Limits for numbers in a model file. Learning stays below them.
const LARGEST_SQUARES: f64 = 1e282; // per value counted: no value can add more
const LARGEST_LOADING: f64 = 1e100; // learned loadings are below 1
const LARGEST_LOG: f64 = 800.0; // the logarithm of any float is below
const LARGEST_COUNT: u64 = 1 << 53;

#[derive(Clone, Debug, Default)]
pub struct RunningScaler {
    vocabulary: Vocabulary,
    stats: Vec<FeatureStats>,
    shared_scale: SharedScale,
    /// Events observed.
    rounds: u64,
    summary: Option<EventSummary>,
    /// With a summary: the stats id of each of the model's feature ids.
    stats_ids: Vec<FeatureId>,
    capacity: Option<Capacity>,
}

/// What observing an event will change, computed by [`RunningScaler::observe`] before anything is
/// changed.
#[derive(Default)]
pub struct PendingStats {
    lanes: Vec<StatsLanes>,
    shared_scale: SharedScale,
    summary: Option<EventSummary>,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct ScalerState<'a> {
    #[serde(borrow)]
    names: Vec<Name<'a>>,
    seen: Vec<u64>,
    means: Vec<f64>,
    squares: Vec<f64>,
    runs: Vec<u64>,
    first: Vec<u64>,
    last: Vec<u64>,
    shared_scale: SharedScale,
    rounds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loadings: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<EventSummary>,
}

impl RunningScaler {
    pub fn new(summary: bool, capacity: Option<Capacity>) -> Self {
        Self { summary: summary.then(EventSummary::default), capacity, ..Self::default() }
    }

    /// How many of an event's new names there is room for; none if there is room for all.
    pub fn room(&self, stats_ids: &[FeatureId]) -> Option<usize> {
        let capacity = self.capacity?;
        let new = stats_ids.iter().filter(|&&stats_id| stats_id == UNKNOWN).count();
        let room = capacity.room(self.vocabulary.len(), stats_ids.len() - new);
        (new > room).then_some(room)
    }

    /// Evict the names observed longest ago, if there are too many.
    fn evict(&mut self) {
        let (names, Some(capacity)) = (self.vocabulary.len(), self.capacity) else { return };
        if names <= capacity.most() {
            return;
        }
        let last = |stats_id: FeatureId| self.stats[stats_id as usize].last as u64;
        let not_in_this_event = |&stats_id: &FeatureId| last(stats_id) + 1 < self.rounds;
        let candidates = (0..names as FeatureId).filter(not_in_this_event).collect();
        let by_age = |a, b| (last(a), a).cmp(&(last(b), b));
        let remap = capacity.remap(names, names, candidates, by_age);
        self.vocabulary.retain(&remap);
        remap.retain(&mut self.stats, 1);
        for stats_id in &mut self.stats_ids {
            *stats_id = remap.of(*stats_id);
        }
    }

    /// Follow an eviction of the model: drop and renumber the model's feature ids.
    pub fn on_evicted(&mut self, remap: &IndexRemap) {
        if self.summary.is_some() {
            remap.retain(&mut self.stats_ids, 1);
        }
    }

    /// The id of a name's statistics, or `UNKNOWN`.
    pub fn stats_id(&self, name: Name<'_>) -> FeatureId {
        self.vocabulary.id(name)
    }

    /// The names that have statistics.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Scale an event that is not part of the stream, and return its factor and energy. Changes no
    /// statistics. A name that was never observed counts as 0.
    pub fn transform(
        &self,
        stats_ids: &[FeatureId],
        features: &mut [FeatureValue],
        PendingStats { lanes, .. }: &mut PendingStats,
    ) -> Result<[f64; 2], Error> {
        check_sizes(features)?;
        let unknown = FeatureStats { n: 1.0, ..FeatureStats::new(self.rounds as f64) };
        let (shared, mut sums) = (self.shared_scale.squared_size(), SummarySums::default());
        for pair in self.load_lanes(stats_ids, features, &unknown, lanes) {
            *pair = pair.with_inverses(&CountInverses::of(pair.n)).scaled(shared);
            sums.add(pair.z, pair.regularity, pair.lambda());
        }
        to_unit_length(lanes, features, sums.squares());
        Ok(self.summary.as_ref().map_or([0.0; 2], |summary| summary.describe(&sums)))
    }

    /// Scale an event of the stream with statistics that include it, and return its factor and
    /// energy. The new statistics are left in `pending`; only [`Self::commit`] stores them.
    pub fn observe(
        &self,
        stats_ids: &[FeatureId],
        features: &mut [FeatureValue],
        pending: &mut PendingStats,
    ) -> Result<[f64; 2], Error> {
        // Without `black_box` the compiler makes a branch for each of its numbers.
        let unknown = black_box(FeatureStats::new(self.rounds as f64));
        let PendingStats { lanes, shared_scale, summary } = pending;
        (*shared_scale, *summary) = (self.shared_scale, self.summary);
        let (mut sizes, mut sums) = (LogSizes::default(), SummarySums::default());
        lanes.resize(features.len().div_ceil(LANES), StatsLanes::default());
        let (round, stats) = (self.rounds as f64, &self.stats[..]);
        let stats_of = |stats_id: FeatureId| stats.get(stats_id as usize).unwrap_or(&unknown);
        let (pairs, last) = features.as_chunks::<LANES>();
        let (stats_ids, last_stats_id) = stats_ids.as_chunks::<LANES>();
        let mut largest = F64x2::ZERO;
        for ((pair, stats_ids), [one, other]) in lanes.iter_mut().zip(stats_ids).zip(pairs) {
            *pair = StatsLanes::of([one.value, other.value], stats_ids.map(stats_of), round)
                .observe(&mut sizes);
            largest = largest.fast_max(pair.value.abs());
        }
        if let (Some(pair), [one], [stats_id]) = (lanes.last_mut(), last, last_stats_id) {
            let two = [stats_of(*stats_id), &PADDING];
            *pair = StatsLanes::of([one.value, 0.0], two, round).observe(&mut sizes);
            largest = largest.fast_max(pair.value.abs());
        }
        if !all(largest.simd_le(F64x2::splat(LARGEST))) {
            check_sizes(features)?;
        }
        shared_scale.count(&sizes);
        let shared = shared_scale.squared_size();
        for pair in lanes.iter_mut() {
            if pair.is_regular() {
                *pair = pair.scaled_as_regular();
                sums.add(pair.z, F64x2::ONE, pair.lambda());
            } else {
                *pair = pair.scaled(shared);
                sums.add(pair.z, pair.regularity, pair.lambda());
            }
        }
        sums.remove_padding(LANES * lanes.len() - features.len());
        to_unit_length(lanes, features, sums.squares());
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

    /// Load an event's values and the statistics of its features, two features at a time. A feature
    /// without statistics gets those of `unknown`.
    fn load_lanes<'a>(
        &self,
        stats_ids: &[FeatureId],
        features: &[FeatureValue],
        unknown: &FeatureStats,
        lanes: &'a mut Vec<StatsLanes>,
    ) -> &'a mut [StatsLanes] {
        let stats_of = |&stats_id: &FeatureId| self.stats.get(stats_id as usize).unwrap_or(unknown);
        let pair = |(stats_ids, features): (&[FeatureId], &[FeatureValue])| {
            let (mut values, mut two) = ([0.0; LANES], [&PADDING; LANES]);
            for (lane, (stats_id, feature)) in stats_ids.iter().zip(features).enumerate() {
                (values[lane], two[lane]) = (feature.value, stats_of(stats_id));
            }
            StatsLanes::of(values, two, self.rounds as f64)
        };
        lanes.clear();
        lanes.extend(stats_ids.chunks(LANES).zip(features.chunks(LANES)).map(pair));
        lanes
    }

    /// Store the statistics that [`Self::observe`] computed. New names get their stats ids, which
    /// are filled in. If names are evicted, all earlier stats ids are invalid.
    pub fn commit(
        &mut self,
        pending: &PendingStats,
        stats_ids: &mut [FeatureId],
        features: &[FeatureValue],
        names: &(impl Names + ?Sized),
    ) {
        let round = self.rounds as f64;
        if stats_ids.iter().fold(false, |some, &stats_id| some | (stats_id == UNKNOWN)) {
            for (position, stats_id) in
                stats_ids.iter_mut().enumerate().filter(|(_, stats_id)| **stats_id == UNKNOWN)
            {
                *stats_id = self.vocabulary.insert(names.name(position));
                self.stats.push(FeatureStats::new(round));
                if let Some(known) = self.stats_ids.get_mut(features[position].id as usize) {
                    *known = *stats_id;
                }
            }
        }
        let (pairs, last) = stats_ids.as_chunks::<LANES>();
        for (&[one, other], pair) in pairs.iter().zip(&pending.lanes) {
            pair.commit::<0>(&mut self.stats[one as usize], round);
            pair.commit::<1>(&mut self.stats[other as usize], round);
        }
        if let (&[one], Some(pair)) = (last, pending.lanes.last()) {
            pair.commit::<0>(&mut self.stats[one as usize], round);
        }
        self.shared_scale = pending.shared_scale;
        self.summary = pending.summary;
        self.rounds += 1;
        self.evict();
    }

    /// Record that the model has given its next feature id to this name.
    pub fn on_learned(&mut self, name: Name<'_>) {
        if self.summary.is_some() {
            self.stats_ids.push(self.vocabulary.id(name));
        }
    }

    /// With a summary: the factor of an event that was scaled earlier, by the current loadings.
    pub fn factor(&self, features: &[FeatureValue]) -> Option<f64> {
        let summary = self.summary.as_ref()?;
        let mut sums = SummarySums::default();
        let padding = black_box(&PADDING);
        let stats_of = |feature: &FeatureValue| {
            let stats_id = self.stats_ids.get(feature.id as usize).copied().unwrap_or(UNKNOWN);
            self.stats.get(stats_id as usize).unwrap_or(padding)
        };
        let mut add = |values: [f64; LANES], [a, b]: [&FeatureStats; LANES]| {
            let regularity = F64x2::new([a.regularity, b.regularity]);
            let loading = F64x2::new([a.loading, b.loading]);
            let lambda = loading * trust(F64x2::new([a.n, b.n])) * regularity;
            sums.add_for_factor(F64x2::new(values), regularity, lambda);
        };
        let (pairs, last) = features.as_chunks::<LANES>();
        for [one, other] in pairs {
            add([one.value, other.value], [stats_of(one), stats_of(other)]);
        }
        if let [one] = last {
            add([one.value, 0.0], [stats_of(one), padding]);
        }
        Some(summary.factor_of_scaled(&sums))
    }

    pub fn state(&self) -> ScalerState<'_> {
        let loadings = || self.stats.iter().map(|stats| stats.loading).collect();
        ScalerState {
            names: self.vocabulary.names().collect(),
            seen: self.stats.iter().map(|stats| stats.n as u64).collect(),
            means: self.stats.iter().map(|stats| stats.mean).collect(),
            squares: self.stats.iter().map(|stats| stats.squares).collect(),
            runs: self.stats.iter().map(|stats| stats.runs as u64).collect(),
            first: self.stats.iter().map(|stats| stats.first as u64).collect(),
            last: self.stats.iter().map(|stats| stats.last as u64).collect(),
            shared_scale: self.shared_scale,
            rounds: self.rounds,
            loadings: self.summary.map(|_| loadings()),
            summary: self.summary,
        }
    }

    /// Adopt a saved state. The caller then calls [`Self::on_learned`] for each of the model's
    /// names.
    pub fn adopt(&mut self, state: &ScalerState<'_>) -> Result<(), &'static str> {
        state.check(self.summary.is_some())?;
        if self.capacity.is_some_and(|capacity| state.names.len() > capacity.most()) {
            return Err("it has statistics of more names than it should");
        }
        (self.shared_scale, self.rounds, self.summary) =
            (state.shared_scale, state.rounds, state.summary);
        for (i, &name) in state.names.iter().enumerate() {
            let (n, runs) = (state.seen[i] as f64, state.runs[i] as f64);
            let [n_lanes, runs_lanes] = [n, runs].map(F64x2::splat);
            let [regularity, _] =
                regularity_of(n_lanes, runs_lanes, &CountInverses::of(n_lanes)).to_array();
            let restored = FeatureStats {
                n,
                mean: state.means[i],
                squares: state.squares[i],
                runs,
                first: state.first[i] as f64,
                last: state.last[i] as f64,
                loading: state.loadings.as_ref().map_or(0.0, |loadings| loadings[i]),
                regularity,
            };
            if name.check_length().is_err()
                || self.vocabulary.id(name) != UNKNOWN
                || restored.n == 0.0
                || restored.squares < 0.0
                || restored.first > restored.last
                || state.last[i] >= state.rounds
            {
                return Err("a statistic is impossible");
            }
            self.vocabulary.insert(name);
            self.stats.push(restored);
        }
        Ok(())
    }
}

impl ScalerState<'_> {
    fn check(&self, summary: bool) -> Result<(), &'static str> {
        let d = self.names.len();
        let counts = [&self.seen, &self.runs, &self.first, &self.last];
        let loadings = self.loadings.as_deref().unwrap_or_default();
        if counts.iter().any(|column| column.len() != d)
            || self.means.len() != d
            || self.squares.len() != d
            || loadings.len() != if summary { d } else { 0 }
        {
            return Err("its statistics are not as long as their names");
        }
        if self.summary.is_some() != summary || self.loadings.is_some() != summary {
            return Err("it knows events as a summary and should not, or the other way round");
        }
        let shared_scale =
            self.shared_scale.weight.is_finite() && self.shared_scale.log_size.abs() <= LARGEST_LOG;
        let fine = shared_scale
            && self.means.iter().all(|mean| mean.abs() <= 2.0 * LARGEST)
            && (self.squares.iter().zip(&self.seen))
                .all(|(squares, &n)| squares.abs() <= n as f64 * LARGEST_SQUARES)
            && self.summary.is_none_or(|summary| summary.is_sound())
            && loadings.iter().all(|loading| loading.abs() <= LARGEST_LOADING);
        if !fine {
            return Err("a statistic is too large or not finite");
        }
        let too_many = |&count: &u64| count > LARGEST_COUNT;
        if too_many(&self.rounds) || counts.iter().any(|column| column.iter().any(too_many)) {
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

/// Divide z by its length √`squares`, and write it into the features.
fn to_unit_length(lanes: &mut [StatsLanes], features: &mut [FeatureValue], squares: f64) {
    let inverse = if squares > 0.0 { squares.sqrt().recip() } else { 1.0 };
    let inverse = F64x2::splat(inverse);
    for (pair, features) in lanes.iter_mut().zip(features.chunks_mut(LANES)) {
        pair.z *= inverse;
        for (feature, z) in features.iter_mut().zip(pair.z.to_array()) {
            feature.value = z;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::EvictionPolicy;
    use crate::storage::rng::Generator;

    type Event<'a> = &'a [(&'a str, f64)];

    fn features_of(event: Event<'_>) -> Vec<FeatureValue> {
        event.iter().map(|&(_, value)| FeatureValue { id: UNKNOWN, value }).collect()
    }

    fn stats_ids_of(scaler: &RunningScaler, event: Event<'_>) -> Vec<FeatureId> {
        event.iter().map(|&(name, _)| scaler.stats_id(Name::Text(name))).collect()
    }

    /// Observe and commit an event: its scaled values, and its factor and energy.
    fn observe(scaler: &mut RunningScaler, event: Event<'_>) -> (Vec<f64>, [f64; 2]) {
        let (mut features, mut stats_ids) = (features_of(event), stats_ids_of(scaler, event));
        let mut pending = PendingStats::default();
        let summary = scaler.observe(&stats_ids, &mut features, &mut pending).unwrap();
        let names: Vec<Name<'_>> = event.iter().map(|&(name, _)| Name::Text(name)).collect();
        scaler.commit(&pending, &mut stats_ids, &features, &names[..]);
        (features.iter().map(|feature| feature.value).collect(), summary)
    }

    fn transform(scaler: &RunningScaler, event: Event<'_>) -> Vec<f64> {
        let mut features = features_of(event);
        let stats_ids = stats_ids_of(scaler, event);
        scaler.transform(&stats_ids, &mut features, &mut PendingStats::default()).unwrap();
        features.iter().map(|feature| feature.value).collect()
    }

    fn stats(scaler: &RunningScaler, name: &str) -> FeatureStats {
        scaler.stats[scaler.stats_id(Name::Text(name)) as usize]
    }

    fn bytes_of(scaler: &RunningScaler) -> Vec<u8> {
        rmp_serde::to_vec_named(&scaler.state()).unwrap()
    }

    fn limited(most: u32, policy: EvictionPolicy) -> RunningScaler {
        RunningScaler::new(false, Some(Capacity { most, policy }))
    }

    /// The formulas of `stats.rs` for one feature, one at a time and without any shortcut.
    #[derive(Clone, Copy, Default)]
    struct Plain {
        n: f64,
        mean: f64,
        squares: f64,
        runs: f64,
        first: Option<f64>,
        last: Option<f64>,
    }

    impl Plain {
        /// Count a value of this round; returns it as it was counted.
        fn count(&mut self, value: f64, round: f64) -> f64 {
            let mut counted = value;
            if self.n >= 10.0 && self.squares > 0.0 {
                let reach = 10.0 * (self.squares / self.n).sqrt();
                counted = value.clamp(self.mean - reach, self.mean + reach);
            }
            self.runs += f64::from(u8::from(self.last == Some(round - 1.0)));
            (self.first, self.last) = (self.first.or(Some(round)), Some(round));
            self.n += 1.0;
            let off = counted - self.mean;
            self.mean += off / self.n;
            self.squares += off * (counted - self.mean);
            counted
        }

        fn regularity(&self) -> f64 {
            if self.n < 2.0 { 0.0 } else { (2.0 * self.runs / (self.n - 1.0)).min(1.0).powi(4) }
        }

        fn scaled(&self, value: f64, round: f64, shared: Option<f64>) -> f64 {
            let a = self.regularity();
            let own = self.squares / self.n + (self.mean - a * self.mean).powi(2);
            if own <= 1e-24 * self.mean * self.mean {
                return 0.0; // constant
            }
            let shared = shared.map_or(own, |size| (size * size).clamp(0.01 * own, 100.0 * own));
            let variance = own + (1.0 - a).powi(2) * (shared - own);
            let off = (value - a * self.mean) / variance.sqrt();
            let rarity = ((round + 1.0 - self.first.unwrap()) / self.n).max(1.0);
            off.clamp(-3.0, 3.0) * (1.0 + rarity).ln()
        }
    }

    /// The energy of an event of (a, z), by the formulas of `event_summary.rs`: 0.3·D times the
    /// logarithm of its mean square, standardised by those of all events so far.
    fn plain_energy(
        event: impl Iterator<Item = (f64, f64)> + Clone,
        log_energies: &mut Vec<f64>,
    ) -> f64 {
        let regularity: f64 = event.clone().map(|(a, _)| a).sum();
        let regular: f64 = event.clone().map(|(a, z)| a * z * z).sum();
        let squares: f64 = event.map(|(_, z)| z * z).sum();
        if regularity < 1.0 || regular == 0.0 {
            return 0.0;
        }
        let log_energy = (regular / regularity).ln();
        log_energies.push(log_energy);
        let n = log_energies.len() as f64;
        let mean = log_energies.iter().sum::<f64>() / n;
        let variance = log_energies.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let standardised = ((log_energy - mean) / (variance + 1e-6).sqrt()).clamp(-3.0, 3.0);
        0.3 * (regular / squares) * standardised
    }

    #[test]
    fn scaled_values_and_energies_are_those_of_the_plain_formulas() {
        const NAMES: [&str; 5] = ["always", "mostly", "half", "rare", "constant"];
        let (mut scaler, mut draws) = (RunningScaler::new(true, None), Generator::from_seed(5));
        let (mut plain, mut weight, mut logs) = ([Plain::default(); 5], 0.0, 0.0);
        let mut log_energies = Vec::new();
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
            for &(i, _, value) in &event {
                let counted = plain[i].count(value, round);
                let rest = (1.0 - plain[i].regularity()).powi(2);
                weight += rest;
                logs += rest * counted.abs().ln();
            }
            let shared = (weight > 0.0).then(|| (logs / weight).exp());
            let mut expected: Vec<f64> =
                event.iter().map(|&(i, _, value)| plain[i].scaled(value, round, shared)).collect();
            let energy = plain_energy(
                event.iter().zip(&expected).map(|(&(i, ..), z)| (plain[i].regularity(), *z)),
                &mut log_energies,
            );
            let length = expected.iter().map(|z| z * z).sum::<f64>().sqrt();
            if length > 0.0 {
                for z in &mut expected {
                    *z /= length;
                }
            }
            let event: Vec<(&str, f64)> = event.iter().map(|&(_, name, x)| (name, x)).collect();
            let (found, [_, found_energy]) = observe(&mut scaler, &event);
            assert!((found_energy - energy).abs() < 1e-9, "{round}: {found_energy} {energy}");
            for (z, wanted) in found.iter().zip(&expected) {
                assert!((z - wanted).abs() < 1e-9, "{round}: {found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn the_statistics_of_a_sensor_are_its_mean_and_its_squared_deviations() {
        let mut scaler = RunningScaler::default();
        for value in [1.0, 2.0, 6.0] {
            observe(&mut scaler, &[("sensor", value)]);
        }
        let FeatureStats { n, mean, squares, runs, regularity, .. } = stats(&scaler, "sensor");
        assert_eq!((n, runs, regularity), (3.0, 2.0, 1.0));
        assert!((mean - 3.0).abs() < 1e-15 && (squares - 14.0).abs() < 1e-12); // 4 + 1 + 9
    }

    #[test]
    fn a_gross_error_is_counted_as_ten_deviations() {
        let mut scaler = RunningScaler::default();
        for i in 0..10 {
            observe(&mut scaler, &[("sensor", if i % 2 == 0 { 1.0 } else { -1.0 })]);
        }
        observe(&mut scaler, &[("sensor", 1e6)]); // mean 0 and deviation 1: counted as 10
        let FeatureStats { mean, squares, .. } = stats(&scaler, "sensor");
        assert!((mean - 10.0 / 11.0).abs() < 1e-12);
        assert!((squares - (10.0 + 10.0 * (10.0 - 10.0 / 11.0))).abs() < 1e-9);
    }

    #[test]
    fn a_sensor_is_centred_and_a_word_keeps_its_zero() {
        let mut scaler = RunningScaler::default();
        for round in 0..40 {
            let sensor = ("sensor", 20.0 + f64::from(round % 2));
            let word = ("word", 2.0);
            let event = [sensor, word];
            observe(&mut scaler, if round % 4 == 0 { &event } else { &event[..1] });
        }
        assert_eq!(stats(&scaler, "word").regularity, 0.0);
        assert!(transform(&scaler, &[("sensor", 20.5)])[0].abs() < 1e-12); // the mean
        assert!(transform(&scaler, &[("sensor", 20.0), ("word", 0.0)])[0] < 0.0);
        assert_eq!(transform(&scaler, &[("word", 0.0), ("sensor", 21.0)])[0], 0.0);
        assert!(transform(&scaler, &[("word", 1.0), ("sensor", 21.0)])[0] > 0.0);
    }

    #[test]
    fn a_rare_word_weighs_more_by_the_logarithm_of_its_rarity() {
        let mut scaler = RunningScaler::default();
        let mut last = Vec::new();
        for round in 0..=40 {
            let both = [("often", 1.0), ("rare", 1.0)];
            let event: Event<'_> = match round {
                0 | 20 | 40 => &both,
                even if even % 2 == 0 => &both[..1],
                _ => &[("other", 1.0)],
            };
            last = observe(&mut scaler, event).0;
        }
        // In 41 rounds one was seen 21 times, the other 3 times. Both share the scale.
        let expected = (1.0_f64 + 41.0 / 3.0).ln() / (1.0_f64 + 41.0 / 21.0).ln();
        assert!((last[1] / last[0] - expected).abs() < 1e-12);
    }

    #[test]
    fn an_event_is_scaled_to_length_1_unless_every_value_is_0() {
        let mut scaler = RunningScaler::default();
        assert_eq!(observe(&mut scaler, &[("a", 3.0), ("b", 0.0)]).0, [1.0, 0.0]);
        assert_eq!(observe(&mut scaler, &[("new", 0.0)]).0, [0.0]);
        for round in 0..20 {
            let event = [("a", f64::from(round % 3)), ("b", f64::from(round % 5)), ("c", 1.0)];
            let length: f64 = observe(&mut scaler, &event).0.iter().map(|z| z * z).sum();
            assert!((length - 1.0).abs() < 1e-12);
        }
        assert_eq!(observe(&mut scaler, &[]).0, []);
    }

    #[test]
    fn neither_transform_nor_observe_without_commit_changes_anything() {
        let mut scaler = RunningScaler::new(true, None);
        for round in 0..20 {
            observe(&mut scaler, &[("a", f64::from(round % 3)), ("b", f64::from(round % 5))]);
        }
        let before = bytes_of(&scaler);
        let event = [("a", 5.0), ("b", -1.0), ("new", 2.0)];
        assert_eq!(transform(&scaler, &event)[2], 0.0); // a name never observed counts as 0
        let (mut features, stats_ids) = (features_of(&event), stats_ids_of(&scaler, &event));
        let mut pending = PendingStats::default();
        scaler.observe(&stats_ids, &mut features, &mut pending).unwrap();
        assert!(bytes_of(&scaler) == before);
    }

    #[test]
    fn a_value_whose_square_could_overflow_is_refused() {
        let scaler = RunningScaler::default();
        for value in [1e141, -1e300] {
            let (mut features, mut pending) =
                (features_of(&[("a", value)]), PendingStats::default());
            let refused = scaler.observe(&[UNKNOWN], &mut features, &mut pending);
            assert!(matches!(refused, Err(Error::Step(_))), "{refused:?}");
            let refused = scaler.transform(&[UNKNOWN], &mut features, &mut pending);
            assert!(matches!(refused, Err(Error::Step(_))), "{refused:?}");
        }
        let (mut features, mut pending) = (features_of(&[("a", 1e140)]), PendingStats::default());
        assert!(scaler.observe(&[UNKNOWN], &mut features, &mut pending).is_ok());
    }

    #[test]
    fn the_names_observed_longest_ago_are_evicted() {
        let mut scaler = limited(3, EvictionPolicy::Oldest);
        for name in ["a", "b", "c", "a", "d"] {
            observe(&mut scaler, &[(name, 1.0)]);
        }
        let names: Vec<Name<'_>> = scaler.vocabulary().names().collect();
        assert_eq!(names, ["a", "c", "d"].map(Name::Text));
        assert_eq!(stats(&scaler, "a").n, 2.0);
        observe(&mut scaler, &[("d", 1.0), ("e", 1.0), ("f", 1.0)]);
        let names: Vec<Name<'_>> = scaler.vocabulary().names().collect();
        assert_eq!(names, ["d", "e", "f"].map(Name::Text)); // none of the current event
    }

    #[test]
    fn the_models_ids_follow_evictions_of_the_scaler_and_of_the_model() {
        let capacity = Some(Capacity { most: 3, policy: EvictionPolicy::Oldest });
        let mut scaler = RunningScaler::new(true, capacity);
        for name in ["a", "b", "c"] {
            observe(&mut scaler, &[(name, 1.0)]);
            scaler.on_learned(Name::Text(name));
        }
        assert_eq!(scaler.stats_ids, [0, 1, 2]);
        observe(&mut scaler, &[("d", 1.0)]); // evicts the statistics of a
        assert_eq!(scaler.stats_ids, [UNKNOWN, 0, 1]);
        scaler.on_evicted(&IndexRemap::without(&[1], 3)); // the model evicts b
        assert_eq!(scaler.stats_ids, [UNKNOWN, 1]);
        scaler.on_learned(Name::Text("d"));
        assert_eq!(scaler.stats_ids, [UNKNOWN, 1, 2]);
        let mut features = [FeatureValue { id: 0, value: 1.0 }]; // a comes back: the model knows it as 0
        let mut pending = PendingStats::default();
        scaler.observe(&[UNKNOWN], &mut features, &mut pending).unwrap();
        scaler.commit(&pending, &mut [UNKNOWN], &features, &[Name::Text("a")][..]);
        assert_eq!(scaler.stats_ids, [2, 0, 1]); // and b is evicted
    }

    #[test]
    fn no_name_of_the_current_event_is_evicted_to_free_an_eighth_of_the_capacity() {
        let mut scaler = limited(16, EvictionPolicy::Oldest);
        observe(&mut scaler, &[("old", 1.0)]);
        let names: Vec<String> = (0..16).map(|i| i.to_string()).collect();
        let event: Vec<(&str, f64)> = names.iter().map(|name| (&name[..], 1.0)).collect();
        observe(&mut scaler, &event);
        assert_eq!(scaler.vocabulary().len(), 16); // not two, but the one earlier name
        assert_eq!(scaler.stats_id(Name::Text("old")), UNKNOWN);
    }

    #[test]
    fn room_is_what_the_event_and_the_policy_leave() {
        let mut evicting = limited(3, EvictionPolicy::Oldest);
        let mut refusing = limited(3, EvictionPolicy::Refuse);
        for scaler in [&mut evicting, &mut refusing] {
            observe(scaler, &[("a", 1.0), ("b", 1.0)]);
        }
        assert_eq!(evicting.room(&[0, UNKNOWN, UNKNOWN]), None); // b makes room
        assert_eq!(evicting.room(&[0, UNKNOWN, UNKNOWN, UNKNOWN]), Some(2));
        assert_eq!(refusing.room(&[0, UNKNOWN, UNKNOWN]), Some(1));
        assert_eq!(refusing.room(&[0, UNKNOWN]), None);
        assert_eq!(RunningScaler::default().room(&[UNKNOWN; 9]), None);
    }

    #[test]
    fn a_restored_scaler_has_the_same_bytes_and_continues_in_the_same_way() {
        for summary in [false, true] {
            let mut scaler = RunningScaler::new(summary, None);
            for round in 0..30 {
                let event = [("a", f64::from(round % 7)), ("b", 1.0), ("c", f64::from(round % 4))];
                observe(&mut scaler, if round % 3 == 0 { &event } else { &event[..1] });
            }
            let mut restored = RunningScaler::new(summary, None);
            restored.adopt(&scaler.state()).unwrap();
            assert!(bytes_of(&restored) == bytes_of(&scaler));
            for event in [&[("b", 2.0), ("c", 1.0)][..], &[("a", 3.0), ("new", 1.0)]] {
                assert_eq!(observe(&mut restored, event), observe(&mut scaler, event));
            }
            assert!(bytes_of(&restored) == bytes_of(&scaler));
        }
    }

    #[test]
    fn a_state_that_is_impossible_is_refused() {
        type Change<'a> = &'a dyn Fn(&mut ScalerState<'_>);
        let mut scaler = RunningScaler::default();
        for value in [1.0, 2.0] {
            observe(&mut scaler, &[("a", value), ("b", 1.0)]);
        }
        let refusal = |summary: bool, change: Change<'_>| {
            let mut state = scaler.state();
            change(&mut state);
            RunningScaler::new(summary, None).adopt(&state).err()
        };
        assert_eq!(refusal(false, &|_| ()), None);
        let cases: [(Change<'_>, &str); 9] = [
            (&|state| state.names[1] = state.names[0], "impossible"),
            (&|state| state.seen[1] = 0, "impossible"),
            (&|state| state.squares[0] = -1.0, "impossible"),
            (&|state| state.first[0] = 5, "impossible"),
            (&|state| state.last[0] = 2, "impossible"),
            (&|state| state.means[1] = f64::INFINITY, "too large or not finite"),
            (&|state| state.shared_scale.log_size = 1e3, "too large or not finite"),
            (&|state| state.rounds = u64::MAX, "a counter is too large"),
            (&|state| state.means.truncate(1), "not as long as their names"),
        ];
        for (change, part) in cases {
            let sentence = refusal(false, change).unwrap();
            assert!(sentence.contains(part), "{sentence}");
        }
        assert!(refusal(true, &|_| ()).is_some()); // there is no summary in it
        let few = Some(Capacity { most: 1, policy: EvictionPolicy::Oldest });
        let refused = RunningScaler::new(false, few).adopt(&scaler.state());
        assert_eq!(refused, Err("it has statistics of more names than it should"));
    }

    #[test]
    fn sensors_that_move_together_have_a_common_factor() {
        let mut scaler = RunningScaler::new(true, None);
        let names = ["up", "down", "alone"];
        let (mut agree, mut clear) = (0, 0);
        for round in 0..400_u32 {
            let common = f64::from(round * 7 % 13) - 6.0;
            let alone = f64::from(round * 5 % 11) - 5.0;
            let event = [(names[0], 50.0 + common), (names[1], -3.0 * common), (names[2], alone)];
            let (_, [factor, energy]) = observe(&mut scaler, &event);
            assert!(factor.abs() <= 1.5 && energy.abs() <= 0.9); // 0.5·3 and 0.3·3
            let sign = stats(&scaler, "up").loading.signum();
            if round >= 100 && common.abs() >= 4.0 {
                clear += 1;
                agree += u32::from(factor * common * sign > 0.0);
            }
        }
        assert!(agree * 10 > clear * 9, "{agree} of {clear}");
        let [up, down, alone] = names.map(|name| stats(&scaler, name).loading);
        assert!(up * down < 0.0 && alone.abs() < 0.3 * up.abs(), "{up} {down} {alone}");
    }

    #[test]
    fn the_factor_of_an_earlier_event_follows_the_current_loadings() {
        let mut scaler = RunningScaler::new(true, None);
        let names = ["up", "down", "alone"];
        let (mut first, mut last) = ((Vec::new(), 0.0), (Vec::new(), 0.0));
        for round in 0..300_u32 {
            let common = f64::from(round * 7 % 13) - 6.0;
            let event = [(names[0], common), (names[1], -common), (names[2], f64::from(round % 2))];
            let (values, [factor, _]) = observe(&mut scaler, &event);
            if round == 0 {
                for name in names {
                    scaler.on_learned(Name::Text(name)); // the model's ids are 0, 1 and 2
                }
            }
            let feature = |(id, value)| FeatureValue { id, value };
            last = ((0..).zip(values).map(feature).collect(), factor);
            if round == 20 {
                first = last.clone();
            }
        }
        // Right after an event its own step of the loadings is all that has changed.
        assert!((scaler.factor(&last.0).unwrap() - last.1).abs() < 0.02);
        let now = scaler.factor(&first.0).unwrap();
        assert!(now != first.1 && now.is_finite());
        assert_eq!(RunningScaler::default().factor(&last.0), None); // without a summary
    }
}
