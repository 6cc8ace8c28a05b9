//! The running scaler: brings raw values to one scale, learned from all events, labelled or not.
//!
//! Per feature it keeps a mean and a variance, which gross errors hardly move, and a *regularity* `a` in
//! [0, 1]: 1 for a sensor that reports round after round, near 0 for a word. A regular feature is centred and
//! scaled to its own deviation. An irregular feature keeps its zero, shares one scale with all irregular
//! features and weighs more the rarer it is. Then the event is scaled to length 1. With an [`EventSummary`]
//! the scaler also learns what events have in common, and gives each event's factor and energy.

pub mod event_summary;
pub mod simd;
pub mod stats;

use std::hint::black_box;

use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;
use crate::error::Error;
use crate::event::{Feature, FeatureId, Name, Names, UNKNOWN};
use crate::scaling::event_summary::{EventSummary, SummarySums, trust};
use crate::scaling::simd::{F64x2, LANES};
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

/// What observing an event will change, computed by [`RunningScaler::observe`] before anything is changed.
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
        features: &mut [Feature],
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

    /// Scale an event of the stream with statistics that include it, and return its factor and energy.
    /// The new statistics are left in `pending`; only [`Self::commit`] stores them.
    pub fn observe(
        &self,
        stats_ids: &[FeatureId],
        features: &mut [Feature],
        pending: &mut PendingStats,
    ) -> Result<[f64; 2], Error> {
        check_sizes(features)?;
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
        for ((pair, stats_ids), [one, other]) in lanes.iter_mut().zip(stats_ids).zip(pairs) {
            *pair = StatsLanes::of([one.value, other.value], stats_ids.map(stats_of), round)
                .observe(&mut sizes);
        }
        if let (Some(pair), [one], [stats_id]) = (lanes.last_mut(), last, last_stats_id) {
            let two = [stats_of(*stats_id), &PADDING];
            *pair = StatsLanes::of([one.value, 0.0], two, round).observe(&mut sizes);
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
        features: &[Feature],
        unknown: &FeatureStats,
        lanes: &'a mut Vec<StatsLanes>,
    ) -> &'a mut [StatsLanes] {
        let stats_of = |&stats_id: &FeatureId| self.stats.get(stats_id as usize).unwrap_or(unknown);
        let pair = |(stats_ids, features): (&[FeatureId], &[Feature])| {
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

    /// Store the statistics that [`Self::observe`] computed. New names get their stats ids, which are
    /// filled in. If names are evicted, all earlier stats ids are invalid.
    pub fn commit(
        &mut self,
        pending: &PendingStats,
        stats_ids: &mut [FeatureId],
        features: &[Feature],
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
    pub fn factor(&self, features: &[Feature]) -> Option<f64> {
        let summary = self.summary.as_ref()?;
        let mut sums = SummarySums::default();
        let padding = black_box(&PADDING);
        let stats_of = |feature: &Feature| {
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

    /// Adopt a saved state. The caller then calls [`Self::on_learned`] for each of the model's names.
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
fn check_sizes(features: &[Feature]) -> Result<(), Error> {
    let fits = |feature: &Feature| feature.value.abs() <= LARGEST;
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
fn to_unit_length(lanes: &mut [StatsLanes], features: &mut [Feature], squares: f64) {
    let inverse = if squares > 0.0 { squares.sqrt().recip() } else { 1.0 };
    let inverse = F64x2::splat(inverse);
    for (pair, features) in lanes.iter_mut().zip(features.chunks_mut(LANES)) {
        pair.z *= inverse;
        for (feature, z) in features.iter_mut().zip(pair.z.to_array()) {
            feature.value = z;
        }
    }
}
