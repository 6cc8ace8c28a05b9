//! The running view: on what scale a raw value counts.
//!
//! Per feature a mean and a variance that gross errors cannot run away with, and a *regularity*
//! `a` in [0, 1]: 1 for a sensor that reports round after round, near 0 for a word. A regular
//! feature is centred and scaled to its own deviation; an irregular one keeps its zero, shares one
//! scale with its like and weighs more the rarer it is. Then the event is brought to length 1.
//! Statistics are kept of every event shown, labelled or not. With a [`Whole`] the view also learns
//! what events have in common, and shows each event's factor and energy.

use std::f64::consts::LN_2;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::bound::Bound;
use crate::four::{FOUR, Four, four, ln, sum};
use crate::vocabulary::{Name, Names, Slot, Survivors, UNKNOWN, Vocabulary};
use crate::weights::Feature;
use crate::whole::{Sums, Whole, loading_step, trust};

const CLIP: f64 = 3.0; // of a scaled value
const GROSS: f64 = 10.0; // deviations beyond which a value is cut before it is counted
const WARM: f64 = 10.0; // values after which gross errors are cut
const STILL: f64 = 1e-24; // variance by squared mean of a feature that has not moved
const LARGEST: f64 = 1e140; // of a value: no sum of squares of such values overflows
const LARGEST_SQUARES: f64 = 1e282; // in a file, a value counted: no more than these can add
const LARGEST_LOADING: f64 = 1e100; // in a file; they are below 1 by themselves
const LARGEST_LOG: f64 = 800.0; // in a file; that of a float is less
const LARGEST_COUNT: u64 = 1 << 53;

/// What is known of one feature: a line of the cache. Counts are floats, which are exact below 2⁵³.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
struct Entry {
    /// Times seen.
    n: f64,
    mean: f64,
    /// Sum of squared deviations.
    squares: f64,
    /// Times seen in the round right after another time.
    runs: f64,
    first: f64,
    last: f64,
    /// Its part in the common factor.
    loading: f64,
    /// a, which follows from `n` and `runs`.
    regularity: f64,
}

impl Entry {
    fn new(round: f64) -> Self {
        Self { first: round, last: f64::NEG_INFINITY, ..Self::default() }
    }
}

/// a = min(1, 2·runs/(n − 1))⁴
fn regularity(n: f64, runs: f64) -> f64 {
    let share = least(2.0 * runs / most(n - 1.0, 1.0), 1.0);
    (share * share) * (share * share)
}

/// Four features of an event side by side, so that the compiler can take several at a step: a
/// number each of the event, of what is known, and of what follows. Nothing here branches on one
/// of them. Places that no feature takes are filled by one that is always 0.
#[derive(Clone, Copy, Debug)]
struct Row {
    value: Four,
    n: Four,
    mean: Four,
    squares: Four,
    runs: Four,
    /// Rounds since the first time.
    since: Four,
    loading: Four,
    regularity: Four,
    /// 1/n
    inverse: Four,
    /// What the value counts; at first before the event is brought to length 1.
    z: Four,
}

impl Row {
    const EMPTY: Self = Self {
        value: [0.0; FOUR],
        n: [1.0; FOUR],
        mean: [0.0; FOUR],
        squares: [0.0; FOUR],
        runs: [0.0; FOUR],
        since: [1.0; FOUR],
        loading: [0.0; FOUR],
        regularity: [0.0; FOUR],
        inverse: [1.0; FOUR],
        z: [0.0; FOUR],
    };

    fn put(&mut self, place: usize, value: f64, entry: &Entry, round: f64) {
        self.value[place] = value;
        self.n[place] = entry.n;
        self.mean[place] = entry.mean;
        self.squares[place] = entry.squares;
        self.runs[place] = entry.runs + f64::from(u8::from(entry.last + 1.0 == round));
        self.since[place] = round + 1.0 - entry.first;
        self.loading[place] = entry.loading;
        self.regularity[place] = entry.regularity;
    }

    /// Welford's step with the values, gross errors cut, which are counted as sizes too.
    fn count(&mut self, sizes: &mut Sizes) {
        let Self { value, n, mean, squares, .. } = self;
        let off = four(|i| value[i] - mean[i]);
        let gross = |i| {
            off[i] * off[i] * n[i] > GROSS * GROSS * squares[i] && n[i] >= WARM && squares[i] > 0.0
        };
        let mut counted = *value;
        if (0..FOUR).any(gross) {
            for i in (0..FOUR).filter(|&i| gross(i)) {
                let reach = GROSS * (squares[i] / n[i]).sqrt();
                counted[i] = value[i].clamp(mean[i] - reach, mean[i] + reach);
            }
        }
        self.n = four(|i| self.n[i] + 1.0);
        self.inverse = four(|i| 1.0 / self.n[i]);
        let old = self.mean;
        self.mean = four(|i| old[i] + (counted[i] - old[i]) * self.inverse[i]);
        self.squares =
            four(|i| self.squares[i] + (counted[i] - old[i]) * (counted[i] - self.mean[i]));
        self.regularity = four(|i| regularity(self.n[i], self.runs[i]));
        if !self.is_regular() {
            sizes.add(counted, self.regularity);
        }
    }

    /// Whether all four are as regular as can be.
    fn is_regular(&self) -> bool {
        self.regularity == [1.0; FOUR]
    }

    /// The values as they count, before the event is brought to length 1; `shared` is the size
    /// that irregular features share.
    fn scale(&mut self, shared: Option<f64>) {
        let a = self.regularity;
        let centre = four(|i| a[i] * self.mean[i]);
        let off = four(|i| self.mean[i] - centre[i]);
        let own = four(|i| self.squares[i] * self.inverse[i] + off[i] * off[i]);
        let mut variance = own;
        if let (Some(shared), false) = (shared, self.is_regular()) {
            variance = four(|i| {
                let stdev = own[i].sqrt();
                let size = least(10.0 * stdev, most(0.1 * stdev, shared));
                own[i] + (1.0 - a[i]) * (1.0 - a[i]) * (size * size - own[i])
            });
        }
        let far = four(|i| (self.value[i] - centre[i]) / variance[i].sqrt());
        let rarity = self.rarity();
        self.z = four(|i| {
            let z = most(least(far[i], CLIP), -CLIP) * rarity[i];
            if own[i] <= STILL * self.mean[i] * self.mean[i] { 0.0 } else { z }
        });
    }

    /// ln(1 + max(1, since/n))
    fn rarity(&self) -> Four {
        let often = (0..FOUR).fold(true, |all, i| all & (self.since[i] <= self.n[i]));
        if often {
            return [LN_2; FOUR];
        }
        ln(four(|i| 1.0 + most(self.since[i] * self.inverse[i], 1.0)))
    }

    /// λ
    fn weight(&self) -> Four {
        four(|i| self.loading[i] * trust(self.n[i]) * self.regularity[i])
    }
}

fn most(x: f64, y: f64) -> f64 {
    if x > y { x } else { y }
}

fn least(x: f64, y: f64) -> f64 {
    if x < y { x } else { y }
}

/// The shared size of the values of irregular features: mean of ln|x|, and its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Pool {
    weight: f64,
    log_size: f64,
}

impl Pool {
    /// The size that irregular features share, once there is one.
    fn size(self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.log_size.exp())
    }

    /// Count the values of an event.
    fn count(&mut self, sizes: &Sizes) {
        let weight = sum(sizes.weight);
        if weight > 0.0 {
            self.weight += weight;
            self.log_size += (sum(sizes.logs) - weight * self.log_size) / self.weight;
        }
    }
}

/// Sums over the values of an event: of (1 − a)², and of it times ln|x|, where x is not 0.
#[derive(Default)]
struct Sizes {
    weight: Four,
    logs: Four,
}

impl Sizes {
    fn add(&mut self, values: Four, regularity: Four) {
        let weight = four(|i| {
            let weight = (1.0 - regularity[i]) * (1.0 - regularity[i]);
            if values[i] == 0.0 { 0.0 } else { weight }
        });
        let logs = ln(four(|i| if values[i] == 0.0 { 1.0 } else { values[i].abs() }));
        self.weight = four(|i| self.weight[i] + weight[i]);
        self.logs = four(|i| self.logs[i] + weight[i] * logs[i]);
    }
}

#[derive(Clone, Debug, Default)]
pub struct View {
    vocabulary: Vocabulary,
    entries: Vec<Entry>,
    pool: Pool,
    /// Events shown.
    rounds: u64,
    whole: Option<Whole>,
    /// With a whole: the seats of the model's slots.
    seats: Vec<Slot>,
    bound: Option<Bound>,
}

/// What showing an event will change, worked out before anything is changed.
#[derive(Default)]
pub struct Shown {
    rows: Vec<Row>,
    pool: Pool,
    whole: Option<Whole>,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct ViewState<'a> {
    #[serde(borrow)]
    names: Vec<Name<'a>>,
    seen: Vec<u64>,
    means: Vec<f64>,
    squares: Vec<f64>,
    runs: Vec<u64>,
    first: Vec<u64>,
    last: Vec<u64>,
    pool: Pool,
    rounds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loadings: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<Whole>,
}

impl View {
    pub fn new(whole: bool, bound: Option<Bound>) -> Self {
        Self { whole: whole.then(Whole::default), bound, ..Self::default() }
    }

    /// How many of an event's new names can be kept, if not all can.
    pub fn room(&self, seats: &[Slot]) -> Option<usize> {
        let bound = self.bound?;
        let new = seats.iter().filter(|&&seat| seat == UNKNOWN).count();
        let room = bound.room(self.vocabulary.len(), seats.len() - new);
        (new > room).then_some(room)
    }

    /// Let go of the names met the longest ago, if there are too many.
    fn let_go(&mut self) {
        let (names, Some(bound)) = (self.vocabulary.len(), self.bound) else { return };
        if names <= bound.most() {
            return;
        }
        let last = |seat: Slot| self.entries[seat as usize].last as u64;
        let met_before = |&seat: &Slot| last(seat) + 1 < self.rounds;
        let may_go = (0..names as Slot).filter(met_before).collect();
        let survivors =
            bound.survivors(names, names, may_go, |a, b| (last(a), a).cmp(&(last(b), b)));
        self.vocabulary.retain(&survivors);
        survivors.retain(&mut self.entries, 1);
        for seat in &mut self.seats {
            *seat = survivors.of(*seat);
        }
    }

    /// Be told that the model lets features go.
    pub fn part_with(&mut self, survivors: &Survivors) {
        if self.whole.is_some() {
            survivors.retain(&mut self.seats, 1);
        }
    }

    /// Where a name's statistics are kept, or `UNKNOWN`.
    pub fn seat(&self, name: Name<'_>) -> Slot {
        self.vocabulary.slot(name)
    }

    /// The names that it keeps statistics of.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Bring an event outside the stream to its view: names never shown count as 0. Returns its
    /// factor and energy.
    pub fn look(
        &self,
        seats: &[Slot],
        features: &mut [Feature],
        Shown { rows, .. }: &mut Shown,
    ) -> Result<[f64; 2], Error> {
        let still = Entry { n: 1.0, ..Entry::new(self.rounds as f64) };
        self.line_up(seats, features, &still, rows)?;
        let shared = self.pool.size();
        let mut sums = Sums::default();
        for row in rows.iter_mut() {
            row.inverse = four(|i| 1.0 / row.n[i]);
            row.scale(shared);
            sums.add(row.z, row.regularity, row.weight());
        }
        to_unit_length(rows, features, sums.squares());
        Ok(self.whole.as_ref().map_or([0.0; 2], |whole| whole.look(&sums)))
    }

    /// Count an event and bring it to its view; [`Self::keep`] makes the counting last. Returns its
    /// factor and energy.
    pub fn show(
        &self,
        seats: &[Slot],
        features: &mut [Feature],
        shown: &mut Shown,
    ) -> Result<[f64; 2], Error> {
        let new = Entry::new(self.rounds as f64);
        self.line_up(seats, features, &new, &mut shown.rows)?;
        (shown.pool, shown.whole) = (self.pool, self.whole);
        let mut sizes = Sizes::default();
        for row in &mut shown.rows {
            row.count(&mut sizes);
        }
        shown.pool.count(&sizes);
        let shared = shown.pool.size();
        let mut sums = Sums::default();
        for row in &mut shown.rows {
            row.scale(shared);
            sums.add(row.z, row.regularity, row.weight());
        }
        to_unit_length(&mut shown.rows, features, sums.squares());
        let Some(whole) = &mut shown.whole else { return Ok([0.0; 2]) };
        let values = whole.show(&sums);
        if sums.squares() > 0.0 {
            let score = sums.score().unwrap_or(1.0);
            for Row { loading, n, z, .. } in &mut shown.rows {
                let old = *loading;
                *loading = four(|i| old[i] + (score * z[i] - old[i]) * loading_step(n[i]));
            }
        }
        Ok(values)
    }

    /// Put an event's values side by side with what is known of their features, or what an unknown
    /// one is taken for.
    fn line_up(
        &self,
        seats: &[Slot],
        features: &[Feature],
        unknown: &Entry,
        rows: &mut Vec<Row>,
    ) -> Result<(), Error> {
        let fits = |feature: &Feature| feature.value.abs() <= LARGEST;
        if !features.iter().fold(true, |all, feature| all & fits(feature)) {
            let found = features.iter().find(|&feature| !fits(feature));
            let value = found.map_or(f64::NAN, |feature| feature.value);
            return Err(Error::Step(format!(
                "event: values must lie between -{LARGEST:e} and {LARGEST:e} to be scaled, got {value:e}."
            )));
        }
        let round = self.rounds as f64;
        rows.resize(features.len().div_ceil(FOUR), Row::EMPTY);
        if let Some(last) = rows.last_mut() {
            *last = Row::EMPTY;
        }
        for ((seats, features), row) in seats.chunks(FOUR).zip(features.chunks(FOUR)).zip(rows) {
            for (place, (&seat, feature)) in seats.iter().zip(features).enumerate() {
                let entry = self.entries.get(seat as usize).unwrap_or(unknown);
                row.put(place, feature.value, entry, round);
            }
        }
        Ok(())
    }

    /// Make the counting last; new names get their seats, which are filled in. Where names are let go, no
    /// seat of before is right any more.
    pub fn keep(
        &mut self,
        shown: &Shown,
        seats: &mut [Slot],
        features: &[Feature],
        names: &(impl Names + ?Sized),
    ) {
        let round = self.rounds as f64;
        if seats.iter().fold(false, |some, &seat| some | (seat == UNKNOWN)) {
            for (position, seat) in
                seats.iter_mut().enumerate().filter(|(_, seat)| **seat == UNKNOWN)
            {
                *seat = self.vocabulary.insert(names.name(position));
                self.entries.push(Entry::new(round));
                if let Some(known) = self.seats.get_mut(features[position].slot as usize) {
                    *known = *seat;
                }
            }
        }
        for (seats, row) in seats.chunks(FOUR).zip(&shown.rows) {
            for (place, &seat) in seats.iter().enumerate() {
                let entry = &mut self.entries[seat as usize];
                entry.n = row.n[place];
                entry.mean = row.mean[place];
                entry.squares = row.squares[place];
                entry.runs = row.runs[place];
                entry.last = round;
                entry.loading = row.loading[place];
                entry.regularity = row.regularity[place];
            }
        }
        self.pool = shown.pool;
        self.whole = shown.whole;
        self.rounds += 1;
        self.let_go();
    }

    /// Be told that the model's next slot is that of this name.
    pub fn meet(&mut self, name: Name<'_>) {
        if self.whole.is_some() {
            self.seats.push(self.vocabulary.slot(name));
        }
    }

    /// With a whole: the factor of an event that it has shown before, as it is now.
    pub fn factor(&self, features: &[Feature]) -> Option<f64> {
        let whole = self.whole.as_ref()?;
        let mut sums = Sums::default();
        for features in features.chunks(FOUR) {
            let [mut z, mut a, mut n, mut loading] = [[0.0; FOUR]; 4];
            for (place, feature) in features.iter().enumerate() {
                let seat = self.seats.get(feature.slot as usize).copied().unwrap_or(UNKNOWN);
                if let Some(entry) = self.entries.get(seat as usize) {
                    z[place] = feature.value;
                    a[place] = entry.regularity;
                    n[place] = entry.n;
                    loading[place] = entry.loading;
                }
            }
            sums.add(z, a, four(|i| loading[i] * trust(n[i]) * a[i]));
        }
        Some(whole.restated(&sums))
    }

    pub fn state(&self) -> ViewState<'_> {
        let loadings = || self.entries.iter().map(|entry| entry.loading).collect();
        ViewState {
            names: self.vocabulary.names().collect(),
            seen: self.entries.iter().map(|entry| entry.n as u64).collect(),
            means: self.entries.iter().map(|entry| entry.mean).collect(),
            squares: self.entries.iter().map(|entry| entry.squares).collect(),
            runs: self.entries.iter().map(|entry| entry.runs as u64).collect(),
            first: self.entries.iter().map(|entry| entry.first as u64).collect(),
            last: self.entries.iter().map(|entry| entry.last as u64).collect(),
            pool: self.pool,
            rounds: self.rounds,
            loadings: self.whole.map(|_| loadings()),
            whole: self.whole,
        }
    }

    /// Take over a saved state; [`Self::meet`] has still to be told the model's names.
    pub fn adopt(&mut self, state: &ViewState<'_>) -> Result<(), &'static str> {
        state.check(self.whole.is_some())?;
        if self.bound.is_some_and(|bound| state.names.len() > bound.most()) {
            return Err("it has statistics of more names than it should");
        }
        (self.pool, self.rounds, self.whole) = (state.pool, state.rounds, state.whole);
        for (i, &name) in state.names.iter().enumerate() {
            let (n, runs) = (state.seen[i] as f64, state.runs[i] as f64);
            let entry = Entry {
                n,
                mean: state.means[i],
                squares: state.squares[i],
                runs,
                first: state.first[i] as f64,
                last: state.last[i] as f64,
                loading: state.loadings.as_ref().map_or(0.0, |loadings| loadings[i]),
                regularity: regularity(n, runs),
            };
            if self.vocabulary.slot(name) != UNKNOWN
                || entry.n == 0.0
                || entry.squares < 0.0
                || entry.first > entry.last
                || state.last[i] >= state.rounds
            {
                return Err("a statistic is impossible");
            }
            self.vocabulary.insert(name);
            self.entries.push(entry);
        }
        Ok(())
    }
}

impl ViewState<'_> {
    fn check(&self, whole: bool) -> Result<(), &'static str> {
        let d = self.names.len();
        let counts = [&self.seen, &self.runs, &self.first, &self.last];
        let loadings = self.loadings.as_deref().unwrap_or_default();
        if counts.iter().any(|column| column.len() != d)
            || self.means.len() != d
            || self.squares.len() != d
            || loadings.len() != if whole { d } else { 0 }
        {
            return Err("its statistics are not as long as their names");
        }
        if self.whole.is_some() != whole || self.loadings.is_some() != whole {
            return Err("it knows events as a whole and should not, or the other way round");
        }
        let pool = self.pool.weight.is_finite() && self.pool.log_size.abs() <= LARGEST_LOG;
        let fine = pool
            && self.means.iter().all(|mean| mean.abs() <= 2.0 * LARGEST)
            && (self.squares.iter().zip(&self.seen))
                .all(|(squares, &n)| squares.abs() <= n as f64 * LARGEST_SQUARES)
            && self.whole.is_none_or(|whole| whole.is_sound())
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

fn to_unit_length(rows: &mut [Row], features: &mut [Feature], squares: f64) {
    let inverse = if squares > 0.0 { squares.sqrt().recip() } else { 1.0 };
    for (row, features) in rows.iter_mut().zip(features.chunks_mut(FOUR)) {
        row.z = four(|i| row.z[i] * inverse);
        for (feature, z) in features.iter_mut().zip(row.z) {
            feature.value = z;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A view that was shown events of one feature, in these rounds.
    fn entry_of(values: &[(u64, f64)]) -> Entry {
        let mut entry = Entry::new(values[0].0 as f64);
        for &(round, value) in values {
            let mut row = Row::EMPTY;
            row.put(2, value, &entry, round as f64);
            row.count(&mut Sizes::default());
            let [n, mean, squares] = [row.n, row.mean, row.squares].map(|four| four[2]);
            let (runs, regularity, last) = (row.runs[2], row.regularity[2], round as f64);
            entry = Entry { n, mean, squares, runs, last, regularity, ..entry };
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
        let (mut sizes, mut logs, mut weight) = (Sizes::default(), 0.0, 0.0);
        for i in 1..3_000 {
            let value = |place: i32| f64::from((i + place) % 7 - 3) * 10.0_f64.powi(i % 80 - 40);
            let (values, a) = ([0, 1, 2, 3].map(value), [0.0, 0.25, 1.0, 0.0]);
            sizes.add(values, a);
            for (value, a) in values.into_iter().zip(a).filter(|pair| pair.0 != 0.0) {
                weight += (1.0 - a) * (1.0 - a);
                logs += (1.0 - a) * (1.0 - a) * value.abs().ln();
            }
        }
        assert!((sum(sizes.weight) - weight).abs() < 1e-9);
        assert!((sum(sizes.logs) - logs).abs() < 1e-9);
    }

    #[test]
    fn a_constant_feature_counts_as_nothing() {
        let entry = entry_of(&(0..20).map(|round| (round, 7.0)).collect::<Vec<_>>());
        let mut row = Row::EMPTY;
        row.put(0, 7.0, &entry, 20.0);
        row.count(&mut Sizes::default());
        row.scale(None);
        assert_eq!(row.z, [0.0; FOUR]);
    }
}
