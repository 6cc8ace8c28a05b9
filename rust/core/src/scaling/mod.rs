//! The running view: on what scale a raw value counts.
//!
//! Per feature a mean and a variance that gross errors cannot run away with, and a *regularity*
//! `a` in [0, 1]: 1 for a sensor that reports round after round, near 0 for a word. A regular
//! feature is centred and scaled to its own deviation; an irregular one keeps its zero, shares one
//! scale with its like and weighs more the rarer it is. Then the event is brought to length 1.
//! Statistics are kept of every event pending, labelled or not. With a [`EventSummary`] the scaler also learns
//! what events have in common, and shows each event's factor and energy.

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

const LARGEST: f64 = 1e140; // of a value: no sum of squares of such values overflows
const LARGEST_SQUARES: f64 = 1e282; // in a file, a value counted: no more than these can add
const LARGEST_LOADING: f64 = 1e100; // in a file; they are below 1 by themselves
const LARGEST_LOG: f64 = 800.0; // in a file; that of a float is less
const LARGEST_COUNT: u64 = 1 << 53;

#[derive(Clone, Debug, Default)]
pub struct RunningScaler {
    vocabulary: Vocabulary,
    stats: Vec<FeatureStats>,
    shared_scale: SharedScale,
    /// Events pending.
    rounds: u64,
    summary: Option<EventSummary>,
    /// With a summary: the stats_ids of the model's ids.
    stats_ids: Vec<FeatureId>,
    capacity: Option<Capacity>,
}

/// What showing an event will change, worked out before anything is changed.
#[derive(Default)]
pub struct PendingStats {
    rows: Vec<StatsLanes>,
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

    /// How many of an event's new names can be kept, if not all can.
    pub fn room(&self, stats_ids: &[FeatureId]) -> Option<usize> {
        let capacity = self.capacity?;
        let new = stats_ids.iter().filter(|&&stats_id| stats_id == UNKNOWN).count();
        let room = capacity.room(self.vocabulary.len(), stats_ids.len() - new);
        (new > room).then_some(room)
    }

    /// Let go of the names met the longest ago, if there are too many.
    fn evict(&mut self) {
        let (names, Some(capacity)) = (self.vocabulary.len(), self.capacity) else { return };
        if names <= capacity.most() {
            return;
        }
        let last = |stats_id: FeatureId| self.stats[stats_id as usize].last as u64;
        let met_before = |&stats_id: &FeatureId| last(stats_id) + 1 < self.rounds;
        let may_go = (0..names as FeatureId).filter(met_before).collect();
        let remap = capacity.remap(names, names, may_go, |a, b| (last(a), a).cmp(&(last(b), b)));
        self.vocabulary.retain(&remap);
        remap.retain(&mut self.stats, 1);
        for stats_id in &mut self.stats_ids {
            *stats_id = remap.of(*stats_id);
        }
    }

    /// Be told that the model lets features go.
    pub fn on_evicted(&mut self, remap: &IndexRemap) {
        if self.summary.is_some() {
            remap.retain(&mut self.stats_ids, 1);
        }
    }

    /// Where a name's statistics are kept, or `UNKNOWN`.
    pub fn stats_id(&self, name: Name<'_>) -> FeatureId {
        self.vocabulary.id(name)
    }

    /// The names that it keeps statistics of.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Bring an event outside the stream to its view: names never pending count as 0. Returns its
    /// factor and energy.
    pub fn transform(
        &self,
        stats_ids: &[FeatureId],
        features: &mut [Feature],
        PendingStats { rows, .. }: &mut PendingStats,
    ) -> Result<[f64; 2], Error> {
        check_sizes(features)?;
        let still = FeatureStats { n: 1.0, ..FeatureStats::new(self.rounds as f64) };
        let (shared, mut sums) = (self.shared_scale.squared_size(), SummarySums::default());
        for row in self.line_up(stats_ids, features, &still, rows) {
            *row = row.with(&CountInverses::of(row.n)).scaled(shared);
            sums.add(row.z, row.regularity, row.weight());
        }
        to_unit_length(rows, features, sums.squares());
        Ok(self.summary.as_ref().map_or([0.0; 2], |summary| summary.describe(&sums)))
    }

    /// Count an event and bring it to its view; [`Self::commit`] makes the counting last. Returns its
    /// factor and energy.
    pub fn observe(
        &self,
        stats_ids: &[FeatureId],
        features: &mut [Feature],
        pending: &mut PendingStats,
    ) -> Result<[f64; 2], Error> {
        check_sizes(features)?;
        let new = black_box(FeatureStats::new(self.rounds as f64)); // else every number of it gets a branch
        let PendingStats { rows, shared_scale, summary } = pending;
        (*shared_scale, *summary) = (self.shared_scale, self.summary);
        let (mut sizes, mut sums) = (LogSizes::default(), SummarySums::default());
        rows.resize(features.len().div_ceil(LANES), StatsLanes::default());
        let (round, stats) = (self.rounds as f64, &self.stats[..]);
        let entry = |stats_id: FeatureId| stats.get(stats_id as usize).unwrap_or(&new);
        let (pairs, last) = features.as_chunks::<LANES>();
        let (stats_ids, last_stats_id) = stats_ids.as_chunks::<LANES>();
        for ((row, stats_ids), [one, other]) in rows.iter_mut().zip(stats_ids).zip(pairs) {
            *row = StatsLanes::of([one.value, other.value], stats_ids.map(entry), round)
                .count(&mut sizes);
        }
        if let (Some(row), [one], [stats_id]) = (rows.last_mut(), last, last_stats_id) {
            let two = [entry(*stats_id), &PADDING];
            *row = StatsLanes::of([one.value, 0.0], two, round).count(&mut sizes);
        }
        shared_scale.count(&sizes);
        let shared = shared_scale.squared_size();
        for row in rows.iter_mut() {
            if row.is_regular() {
                *row = row.scaled_as_regular();
                sums.add(row.z, F64x2::ONE, row.weight());
            } else {
                *row = row.scaled(shared);
                sums.add(row.z, row.regularity, row.weight());
            }
        }
        sums.leave_out(LANES * rows.len() - features.len());
        to_unit_length(rows, features, sums.squares());
        let Some(summary) = summary else { return Ok([0.0; 2]) };
        let values = summary.observe(&sums);
        if sums.squares() > 0.0 {
            let score = F64x2::splat(sums.score().unwrap_or(1.0));
            for StatsLanes { loading, step, z, .. } in rows {
                *loading += (score * *z - *loading) * *step;
            }
        }
        Ok(values)
    }

    /// Make rows of an event's values and what is known of their features, or what an unknown one is
    /// taken for.
    fn line_up<'a>(
        &self,
        stats_ids: &[FeatureId],
        features: &[Feature],
        unknown: &FeatureStats,
        rows: &'a mut Vec<StatsLanes>,
    ) -> &'a mut [StatsLanes] {
        let entry = |&stats_id: &FeatureId| self.stats.get(stats_id as usize).unwrap_or(unknown);
        let pair = |(stats_ids, features): (&[FeatureId], &[Feature])| {
            let (mut values, mut two) = ([0.0; LANES], [&PADDING; LANES]);
            for (place, (stats_id, feature)) in stats_ids.iter().zip(features).enumerate() {
                (values[place], two[place]) = (feature.value, entry(stats_id));
            }
            StatsLanes::of(values, two, self.rounds as f64)
        };
        rows.clear();
        rows.extend(stats_ids.chunks(LANES).zip(features.chunks(LANES)).map(pair));
        rows
    }

    /// Make the counting last; new names get their stats_ids, which are filled in. Where names are let go, no
    /// stats_id of before is right any more.
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
        for (&[one, other], row) in pairs.iter().zip(&pending.rows) {
            row.commit::<0>(&mut self.stats[one as usize], round);
            row.commit::<1>(&mut self.stats[other as usize], round);
        }
        if let (&[one], Some(row)) = (last, pending.rows.last()) {
            row.commit::<0>(&mut self.stats[one as usize], round);
        }
        self.shared_scale = pending.shared_scale;
        self.summary = pending.summary;
        self.rounds += 1;
        self.evict();
    }

    /// Be told that the model's next id is that of this name.
    pub fn on_learned(&mut self, name: Name<'_>) {
        if self.summary.is_some() {
            self.stats_ids.push(self.vocabulary.id(name));
        }
    }

    /// With a summary: the factor of an event that it has pending before, as it is now.
    pub fn factor(&self, features: &[Feature]) -> Option<f64> {
        let summary = self.summary.as_ref()?;
        let mut sums = SummarySums::default();
        let nothing = black_box(&PADDING);
        let entry = |feature: &Feature| {
            let stats_id = self.stats_ids.get(feature.id as usize).copied().unwrap_or(UNKNOWN);
            self.stats.get(stats_id as usize).unwrap_or(nothing)
        };
        let mut add = |values: [f64; LANES], [a, b]: [&FeatureStats; LANES]| {
            let regularity = F64x2::new([a.regularity, b.regularity]);
            let loading = F64x2::new([a.loading, b.loading]);
            let lambda = loading * trust(F64x2::new([a.n, b.n])) * regularity;
            sums.add_seen(F64x2::new(values), regularity, lambda);
        };
        let (pairs, last) = features.as_chunks::<LANES>();
        for [one, other] in pairs {
            add([one.value, other.value], [entry(one), entry(other)]);
        }
        if let [one] = last {
            add([one.value, 0.0], [entry(one), nothing]);
        }
        Some(summary.restated(&sums))
    }

    pub fn state(&self) -> ScalerState<'_> {
        let loadings = || self.stats.iter().map(|entry| entry.loading).collect();
        ScalerState {
            names: self.vocabulary.names().collect(),
            seen: self.stats.iter().map(|entry| entry.n as u64).collect(),
            means: self.stats.iter().map(|entry| entry.mean).collect(),
            squares: self.stats.iter().map(|entry| entry.squares).collect(),
            runs: self.stats.iter().map(|entry| entry.runs as u64).collect(),
            first: self.stats.iter().map(|entry| entry.first as u64).collect(),
            last: self.stats.iter().map(|entry| entry.last as u64).collect(),
            shared_scale: self.shared_scale,
            rounds: self.rounds,
            loadings: self.summary.map(|_| loadings()),
            summary: self.summary,
        }
    }

    /// Take over a saved state; [`Self::on_learned`] has still to be told the model's names.
    pub fn adopt(&mut self, state: &ScalerState<'_>) -> Result<(), &'static str> {
        state.check(self.summary.is_some())?;
        if self.capacity.is_some_and(|capacity| state.names.len() > capacity.most()) {
            return Err("it has statistics of more names than it should");
        }
        (self.shared_scale, self.rounds, self.summary) =
            (state.shared_scale, state.rounds, state.summary);
        for (i, &name) in state.names.iter().enumerate() {
            let (n, runs) = (state.seen[i] as f64, state.runs[i] as f64);
            let [many, runs_of_both] = [n, runs].map(F64x2::splat);
            let [regularity, _] =
                regularity_of(many, runs_of_both, &CountInverses::of(many)).to_array();
            let entry = FeatureStats {
                n,
                mean: state.means[i],
                squares: state.squares[i],
                runs,
                first: state.first[i] as f64,
                last: state.last[i] as f64,
                loading: state.loadings.as_ref().map_or(0.0, |loadings| loadings[i]),
                regularity,
            };
            if self.vocabulary.id(name) != UNKNOWN
                || entry.n == 0.0
                || entry.squares < 0.0
                || entry.first > entry.last
                || state.last[i] >= state.rounds
            {
                return Err("a statistic is impossible");
            }
            self.vocabulary.insert(name);
            self.stats.push(entry);
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

fn to_unit_length(rows: &mut [StatsLanes], features: &mut [Feature], squares: f64) {
    let inverse = if squares > 0.0 { squares.sqrt().recip() } else { 1.0 };
    let inverse = F64x2::splat(inverse);
    for (row, features) in rows.iter_mut().zip(features.chunks_mut(LANES)) {
        row.z *= inverse;
        for (feature, z) in features.iter_mut().zip(row.z.to_array()) {
            feature.value = z;
        }
    }
}
