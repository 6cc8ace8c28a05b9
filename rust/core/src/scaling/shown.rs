//! What a scaler was shown, as sums by name, so that another scaler can be told of it later.
//!
//! Of each feature there are the sums of its values as they were counted, gross errors clipped by whoever was shown
//! them. Adding them to a scaler gives the statistics that it would have if it had been
//! shown the events itself, up to rounding, until a feature forgets or begins again: it forgets half whenever
//! 8,000 values are counted, as if what it was shown were evenly mixed, and begins again if whoever was shown the
//! values saw another unit.

use serde::{Deserialize, Serialize};

use crate::event::{FeatureId, FeatureValue, Name};
use crate::feature_table::FeatureTable;
use crate::scaling::simd::{F64x2, LANES};
use crate::scaling::stats::{FeatureStats, MOST_COUNTED};
use crate::scaling::sums::Sums;
use crate::scaling::{
    LARGEST, LARGEST_COUNT, LARGEST_LOADING, LARGEST_SQUARES, PendingStats, RunningScaler,
};

/// What was shown of one feature.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ShownFeature {
    values: Sums,
    /// The mean of `u z`, towards which its loading moves.
    pull: f64,
    /// The first and the last event that the sums hold, from 0.
    first: u64,
    last: u64,
    /// Whether it began again at the first.
    again: bool,
}

impl ShownFeature {
    fn add(&mut self, other: &Self) {
        if self.values.n == 0.0 {
            *self = *other;
            return;
        }
        let share = other.values.n / (self.values.n + other.values.n);
        self.pull += (other.pull - self.pull) * share;
        self.values.add(&other.values);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// What a scaler was shown.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    table: FeatureTable,
    features: Vec<ShownFeature>,
    /// Events.
    rounds: u64,
    /// Scores of the common factor, and logarithms of energies.
    summary: [Sums; 2],
    /// What is not among the sums by name yet, by the ids of the scaler.
    live: Vec<ShownFeature>,
}

/// What is saved of features.
#[derive(Default, Serialize, Deserialize)]
struct FeaturesState {
    counts: Vec<u64>,
    means: Vec<f64>,
    squares: Vec<f64>,
    pulls: Vec<f64>,
    first: Vec<u64>,
    last: Vec<u64>,
    again: Vec<bool>,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct ShownState<'a> {
    #[serde(borrow)]
    names: Vec<Name<'a>>,
    features: FeaturesState,
    rounds: u64,
    summary: [Sums; 2],
    ids: Vec<FeatureId>,
    live: FeaturesState,
}

impl Shown {
    /// Events.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    pub fn names(&self) -> impl Iterator<Item = Name<'_>> {
        self.table.names()
    }

    /// Names that are not known to others, in the order in which a scaler would have met them.
    pub fn new_names(&self, is_known: impl Fn(Name<'_>) -> bool) -> Vec<Name<'_>> {
        let of = |name| (self.features[self.table.id(name) as usize].first, name);
        let mut new: Vec<_> = self.names().filter(|&name| !is_known(name)).map(of).collect();
        new.sort_unstable();
        new.into_iter().map(|(_, name)| name).collect()
    }

    /// Put everything under names; `table` has those of the scaler's ids.
    pub fn settle(&mut self, table: &FeatureTable) {
        for (id, one) in (0..).zip(std::mem::take(&mut self.live)) {
            if one.values.n > 0.0 {
                let place = self.place(table.name(id));
                if one.again {
                    *place = one; // what was counted before is of another unit
                } else {
                    place.add(&one);
                }
            }
        }
    }

    fn place(&mut self, name: Name<'_>) -> &mut ShownFeature {
        if self.table.insert_if_new(name) {
            self.features.push(ShownFeature::default());
        }
        &mut self.features[self.table.id(name) as usize]
    }

    /// Add what was shown afterwards; both are settled. By another scaler: where one of the two began a feature
    /// again and the other did not, what the other counted is of another unit.
    pub fn append(&mut self, later: &Self, by_another: bool) {
        for (name, one) in later.names().zip(&later.features) {
            let (first, last) = (one.first + self.rounds, one.last + self.rounds);
            let one = ShownFeature { first, last, ..*one };
            let place = self.place(name);
            if one.again && !(by_another && place.again) {
                *place = one;
            } else if one.again || !(by_another && place.again) {
                place.add(&one);
            }
        }
        self.rounds += later.rounds;
        for (all, one) in self.summary.iter_mut().zip(&later.summary) {
            all.add(one);
        }
    }

    /// The state of settled sums, or of sums with the ids of a scaler.
    pub fn state(&self) -> ShownState<'_> {
        let live = || (0..).zip(&self.live).filter(|(_, one)| one.values.n > 0.0);
        ShownState {
            names: self.table.names().collect(),
            features: FeaturesState::of(self.features.iter()),
            rounds: self.rounds,
            summary: self.summary,
            ids: live().map(|(id, _)| id).collect(),
            live: FeaturesState::of(live().map(|(_, one)| one)),
        }
    }

    /// Sums that were saved, beside a scaler with so many names.
    pub fn restored(state: &ShownState<'_>, names: usize) -> Result<Self, &'static str> {
        const OTHER: &str = "what it was shown is impossible";
        let mut shown = Self { rounds: state.rounds, summary: state.summary, ..Self::default() };
        let limits = [(1e3, 1e7), (1e3, 1e7)];
        let summaries = state.summary.iter().zip(limits);
        if state.rounds > LARGEST_COUNT
            || !summaries
                .fold(true, |all, (one, (a, b))| all & one.is_sound(state.rounds as f64, a, b))
        {
            return Err(OTHER);
        }
        let features = state.features.read(state.names.len(), state.rounds).ok_or(OTHER)?;
        shown
            .table
            .reserve(state.names.iter().copied())
            .map_err(|_| "there is no memory for its names")?;
        for &name in &state.names {
            if name.check_length().is_err() || !shown.table.insert_if_new(name) {
                return Err(OTHER);
            }
        }
        shown.features = features;
        let live = state.live.read(state.ids.len(), state.rounds).ok_or(OTHER)?;
        for (&id, one) in state.ids.iter().zip(live) {
            if id as usize >= names || (id as usize) < shown.live.len() {
                return Err(OTHER);
            }
            shown.live.resize(id as usize, ShownFeature::default());
            shown.live.push(one);
        }
        Ok(shown)
    }
}

impl FeaturesState {
    fn of<'a>(features: impl Iterator<Item = &'a ShownFeature>) -> Self {
        let mut state = Self::default();
        for one in features {
            state.counts.push(one.values.n as u64);
            state.means.push(one.values.mean);
            state.squares.push(one.values.squares);
            state.pulls.push(one.pull);
            state.first.push(one.first);
            state.last.push(one.last);
            state.again.push(one.again);
        }
        state
    }

    fn read(&self, length: usize, rounds: u64) -> Option<Vec<ShownFeature>> {
        let counts = [&self.counts, &self.first, &self.last];
        let numbers = [&self.means, &self.squares, &self.pulls];
        if counts.iter().any(|column| column.len() != length)
            || numbers.iter().any(|column| column.len() != length)
            || self.again.len() != length
        {
            return None;
        }
        let mut features = Vec::with_capacity(length);
        for i in 0..length {
            let values =
                Sums { n: self.counts[i] as f64, mean: self.means[i], squares: self.squares[i] };
            let (first, last) = (self.first[i], self.last[i]);
            let one =
                ShownFeature { values, pull: self.pulls[i], first, last, again: self.again[i] };
            let sound = values.is_sound(rounds as f64, LARGEST, LARGEST_SQUARES)
                && values.n > 0.0
                && one.pull.abs() <= LARGEST_LOADING
                && first <= last
                && last < rounds;
            if !sound {
                return None;
            }
            features.push(one);
        }
        Some(features)
    }
}

impl RunningScaler {
    /// Note an event that [`Self::observe`] has described and [`Self::commit`] has not stored yet.
    pub fn note(&self, pending: &PendingStats, features: &[FeatureValue], shown: &mut Shown) {
        let unknown = FeatureStats::new(self.rounds as f64);
        for (position, feature) in features.iter().enumerate() {
            let (pair, lane) = (&pending.lanes[position / LANES], position % LANES);
            let of = |two: F64x2| two.to_array()[lane];
            let before = self.stats.get(feature.id as usize).unwrap_or(&unknown);
            if feature.id as usize >= shown.live.len() {
                shown.live.resize(feature.id as usize + 1, ShownFeature::default());
            }
            let one = &mut shown.live[feature.id as usize];
            let (value, round) = (of(pair.value), shown.rounds);
            let begins_again = of(pair.n) == 1.0 && before.n > 1.0;
            let counted = if begins_again { value } else { before.counted(value) };
            if begins_again || one.values.n == 0.0 {
                *one = ShownFeature { first: round, again: begins_again, ..Default::default() };
            }
            one.values.count(counted);
            if self.summary.is_some() {
                let pull = before.loading + (of(pair.loading) - before.loading) / of(pair.step);
                one.pull += (pull - one.pull) / one.values.n;
            }
            one.last = round;
        }
        if let (Some(before), Some(after)) = (&self.summary, &pending.summary) {
            for (sums, score) in shown.summary.iter_mut().zip(before.scores_until(after)) {
                if let Some(score) = score {
                    sums.count(score);
                }
            }
        }
        shown.rounds += 1;
    }

    /// Count what others were shown, under settled names. `id` gives the ids of names, none for names without
    /// room; there are `names` names.
    pub fn absorb(
        &mut self,
        shown: &Shown,
        id: impl Fn(Name<'_>) -> Option<FeatureId>,
        names: usize,
    ) {
        let round = self.rounds as f64;
        if names > self.stats.len() {
            self.stats.resize(names, FeatureStats::new(round));
        }
        for (name, one) in shown.names().zip(&shown.features) {
            if let Some(id) = id(name) {
                self.stats[id as usize].absorb(one, round);
            }
        }
        if let Some(summary) = &mut self.summary {
            summary.absorb(&shown.summary);
        }
        self.rounds += shown.rounds;
    }
}

impl FeatureStats {
    /// Count what was shown of the feature in the events from this round on.
    fn absorb(&mut self, shown: &ShownFeature, round: f64) {
        let begin = round + shown.first as f64;
        if self.n == 0.0 {
            self.first = begin;
        } else if shown.again {
            let gap = (begin + 1.0 - self.first) / self.n; // events per arrival, which stays
            *self = Self { first: begin + 1.0 - gap, anchor: shown.values.mean, ..*self };
            (self.n, self.mean, self.squares) = (0.0, shown.values.mean, 0.0);
            (self.far_off, self.close) = (0.0, 0.0);
        }
        let all = shown.values.n;
        let length = (shown.last - shown.first) as f64 + 1.0;
        let mut left = all;
        while left > 0.0 {
            let n = left.min(MOST_COUNTED - self.n);
            left -= n;
            let kept = [0.0, 1.0, 2.0].map(|i| (self.n + i) / (self.n + n + i));
            let kept: f64 = kept.iter().product(); // what n steps of 3/(n + 2) leave of a loading
            self.loading = shown.pull + (self.loading - shown.pull) * kept;
            let mut sums = Sums { n: self.n, mean: self.mean, squares: self.squares };
            sums.add(&Sums { n, squares: shown.values.squares * (n / all), ..shown.values });
            (self.n, self.mean, self.squares) = (sums.n, sums.mean, sums.squares);
            if self.n >= MOST_COUNTED {
                let now = begin + length * (1.0 - left / all);
                (self.n, self.squares) = (0.5 * self.n, 0.5 * self.squares);
                self.first = 0.5 * (self.first + now); // the share of events stays
            }
        }
        self.last = round + shown.last as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::rng::Generator;

    const NAMES: [&str; 4] = ["always", "often", "rare", "far"];

    /// Show an event to a scaler, whose table has all names.
    fn show(scaler: &mut RunningScaler, event: &[(FeatureId, f64)], shown: Option<&mut Shown>) {
        let mut features: Vec<_> =
            event.iter().map(|&(id, value)| FeatureValue { id, value }).collect();
        let (mut presence, mut pending) = (Vec::new(), PendingStats::default());
        scaler.observe(&mut features, &mut presence, &mut pending).unwrap();
        if let Some(shown) = shown {
            scaler.note(&pending, &features, shown);
        }
        scaler.commit(&pending, &features, NAMES.len());
    }

    fn table() -> FeatureTable {
        let mut table = FeatureTable::default();
        for name in NAMES {
            table.insert(Name::Text(name));
        }
        table
    }

    fn events(count: usize, seed: u64) -> Vec<Vec<(FeatureId, f64)>> {
        let mut draws = Generator::from_seed(seed);
        let mut event = || {
            let mut event = Vec::new();
            for (id, share) in (0..).zip([1.0, 0.7, 0.05, 0.9]) {
                let value = draws.uniform() + draws.uniform() + f64::from(id * id * id) * 100.0;
                if draws.uniform() < share {
                    event.push((id, value));
                }
            }
            event
        };
        (0..count).map(|_| event()).collect()
    }

    /// A scaler that is told what two others were shown, and one that was shown all of it.
    fn told_and_shown(before: usize, each: usize, summary: bool) -> [RunningScaler; 2] {
        let all = events(before + 2 * each, 5);
        let mut owner = RunningScaler::new(summary, 0);
        for event in &all[..before] {
            show(&mut owner, event, None);
        }
        let mut single = owner.clone();
        let mut pooled = Shown::default();
        for part in all[before..].chunks(each) {
            let (mut copy, mut shown) = (owner.clone(), Shown::default());
            for event in part {
                show(&mut copy, event, Some(&mut shown));
            }
            shown.settle(&table());
            pooled.append(&shown, true);
        }
        for event in &all[before..] {
            show(&mut single, event, None);
        }
        let table = table();
        owner.absorb(&pooled, |name| Some(table.id(name)), NAMES.len());
        [owner, single]
    }

    #[test]
    fn counts_means_and_variances_are_those_of_one_scaler() {
        for (before, each) in [(100, 200), (0, 50), (1_000, 1)] {
            let [told, single] = told_and_shown(before, each, true);
            assert_eq!(told.rounds, single.rounds);
            for (a, b) in told.stats.iter().zip(&single.stats) {
                assert_eq!((a.n, a.last), (b.n, b.last));
                assert!(before == 0 || a.first == b.first, "{a:?} {b:?}"); // all names enter at once here
                assert!((a.mean - b.mean).abs() <= 1e-12 * b.mean.abs().max(1.0));
                let near = 1e-12 * b.mean.powi(2).max(1.0) * b.n;
                assert!((a.squares - b.squares).abs() <= near, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn counts_are_the_same_and_shares_near_where_half_is_forgotten() {
        let [told, single] = told_and_shown(3_000, 9_000, false);
        for (a, b) in told.stats.iter().zip(&single.stats) {
            let (round, share) =
                (told.rounds as f64, |one: &FeatureStats, t: f64| one.n / (t - one.first));
            assert_eq!(a.n, b.n);
            assert!((share(a, round) / share(b, round) - 1.0).abs() < 0.05, "{a:?} {b:?}");
            assert!((a.mean - b.mean).abs() < 0.02 && (a.squares / b.squares - 1.0).abs() < 0.05);
        }
    }

    #[test]
    fn a_feature_whose_unit_changed_begins_again_once_for_all() {
        let mut owner = RunningScaler::new(false, 0);
        for round in 0..100 {
            show(&mut owner, &[(0, f64::from(round % 5))], None);
        }
        let mut pooled = Shown::default();
        for (count, clean) in [(60, true), (50, true), (5, false)] {
            let (mut copy, mut shown) = (owner.clone(), Shown::default());
            for round in 0..count {
                let value = if clean { 1_000.0 } else { 0.0 } + f64::from(round % 5);
                show(&mut copy, &[(0, value)], Some(&mut shown));
            }
            shown.settle(&table());
            pooled.append(&shown, true);
        }
        let table = table();
        owner.absorb(&pooled, |name| Some(table.id(name)), NAMES.len());
        let FeatureStats { n, mean, squares, .. } = owner.stats[0];
        assert_eq!(n, 41.0 + 31.0); // from the twentieth on, in both
        assert!((mean - 1_002.0).abs() < 0.5 && squares / n < 4.0, "{mean} {squares}");
    }

    #[test]
    fn a_gross_error_is_clipped_by_whoever_was_shown_it() {
        let mut owner = RunningScaler::new(false, 0);
        for round in 0..100 {
            show(&mut owner, &[(0, f64::from(round % 5))], None);
        }
        let (mut copy, mut shown) = (owner.clone(), Shown::default());
        show(&mut copy, &[(0, 1e9)], Some(&mut shown));
        shown.settle(&table());
        let table = table();
        owner.absorb(&shown, |name| Some(table.id(name)), NAMES.len());
        assert!((owner.stats[0].mean - copy.stats[0].mean).abs() < 1e-12);
        assert!((owner.stats[0].squares - copy.stats[0].squares).abs() < 1e-9);
    }

    #[test]
    fn sums_come_back_from_their_state_and_impossible_ones_are_refused() {
        type Change<'a> = &'a dyn Fn(&mut ShownState<'_>);
        let (mut scaler, mut shown) = (RunningScaler::new(true, 0), Shown::default());
        for event in events(30, 1) {
            show(&mut scaler, &event, Some(&mut shown));
        }
        let written = |shown: &Shown| rmp_serde::to_vec_named(&shown.state()).unwrap();
        let again = Shown::restored(&shown.state(), NAMES.len()).unwrap();
        assert!(written(&again) == written(&shown));
        shown.settle(&table());
        let again = Shown::restored(&shown.state(), 0).unwrap();
        assert!(written(&again) == written(&shown));
        let cases: [Change<'_>; 7] = [
            &|state| state.features.counts[0] = 31,
            &|state| state.features.means[0] = f64::NAN,
            &|state| state.features.squares[0] = -1.0,
            &|state| state.features.last[0] = 30,
            &|state| state.names[0] = state.names[1],
            &|state| state.features.pulls.truncate(1),
            &|state| state.summary[0].n = 0.5,
        ];
        for change in cases {
            let mut state = shown.state();
            change(&mut state);
            assert!(Shown::restored(&state, NAMES.len()).is_err());
        }
    }
}
