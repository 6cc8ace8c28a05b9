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
use crate::model::too_large;
use crate::vocabulary::{Name, Names, Slot, Survivors, UNKNOWN, Vocabulary};
use crate::weights::Feature;
use crate::whole::{Sums, Whole, loading_step, trust};

const CLIP: f64 = 3.0; // of a scaled value
const GROSS: f64 = 10.0; // deviations beyond which a value is cut before it is counted
const WARM: u64 = 10; // values after which gross errors are cut
const LARGEST_LOADING: f64 = 1e100; // in a file; they are below 1 by themselves

/// What is known of one feature: 64 bytes, a line of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Entry {
    /// Times seen.
    n: u64,
    mean: f64,
    /// Sum of squared deviations.
    squares: f64,
    /// Times seen in the round right after another time.
    runs: u64,
    first: u64,
    last: u64,
    /// Its part in the common factor.
    loading: f64,
    /// a, which follows from `n` and `runs`.
    regularity: f64,
}

impl Entry {
    fn new(round: u64) -> Self {
        Self { first: round, ..Self::default() }
    }

    /// a = min(1, 2·runs/(n − 1))⁴
    fn set_regularity(&mut self) {
        self.regularity = if self.runs == 0 {
            0.0
        } else if 2 * self.runs >= self.n - 1 {
            1.0
        } else {
            (2.0 * self.runs as f64 / (self.n - 1) as f64).powi(4)
        };
    }

    /// Welford's step with the value, gross errors cut; returns what was counted.
    fn count(&mut self, value: f64, round: u64, inverse: &mut Last) -> f64 {
        if self.n > 0 && self.last + 1 == round {
            self.runs += 1;
        }
        let mut value = value;
        if self.n >= WARM && self.squares > 0.0 {
            let (n, delta) = (self.n as f64, value - self.mean);
            if delta * delta * n > GROSS * GROSS * self.squares {
                let reach = GROSS * (self.squares / n).sqrt();
                value = value.clamp(self.mean - reach, self.mean + reach);
            }
        }
        let delta = value - self.mean;
        self.n += 1;
        self.mean += delta * inverse.of(self.n, f64::recip);
        self.squares += delta * (value - self.mean);
        self.last = round;
        self.set_regularity();
        value
    }

    /// A value as it counts, before the event is brought to length 1; `shared` is the size that
    /// irregular features share.
    fn scaled(&self, value: f64, shared: Option<f64>, round: u64, inverse: &mut Last) -> f64 {
        let a = self.regularity;
        let inverse = inverse.of(self.n, f64::recip);
        let centre = a * self.mean;
        let off = self.mean - centre;
        let mut variance = self.squares * inverse + off * off;
        if variance <= 1e-24 * self.mean * self.mean {
            return 0.0; // constant so far
        }
        let mut size = None;
        if let (true, Some(shared)) = (a < 1.0, shared) {
            let square = shared * shared;
            let within = square <= 100.0 * variance && variance <= 100.0 * square;
            if a == 0.0 && within {
                size = Some(shared);
            } else {
                let stdev = variance.sqrt();
                let shared = (10.0 * stdev).min((stdev / 10.0).max(shared));
                variance += (1.0 - a) * (1.0 - a) * (shared * shared - variance);
            }
        }
        let size = size.unwrap_or_else(|| variance.sqrt());
        let rounds = round + 1 - self.first;
        let rarity = if rounds <= self.n { LN_2 } else { (1.0 + rounds as f64 * inverse).ln() };
        ((value - centre) / size).clamp(-CLIP, CLIP) * rarity
    }

    /// λ
    fn weight(&self, trusted: &mut Last) -> f64 {
        if self.regularity == 0.0 {
            return 0.0;
        }
        self.loading * trusted.of(self.n, trust) * self.regularity
    }
}

/// A feature's part in the common factor: λ, and a.
#[derive(Clone, Copy, Debug)]
struct Part {
    weight: f64,
    regularity: f64,
}

/// A number that follows from the times seen, which many features of an event have in common.
#[derive(Default)]
struct Last {
    n: u64,
    value: f64,
}

impl Last {
    fn of(&mut self, n: u64, value: impl Fn(f64) -> f64) -> f64 {
        if n != self.n {
            *self = Self { n, value: value(n as f64) };
        }
        self.value
    }
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
    fn count(&mut self, values: &LogSum) {
        let weight = values.weight + values.count as f64;
        if weight > 0.0 {
            self.weight += weight;
            self.log_size += (values.value() - weight * self.log_size) / self.weight;
        }
    }
}

/// A weighted sum of ln|x|. Values of weight 1, which most are, are multiplied first: the logarithm
/// of a product of fractions in [1, 2) and the sum of their exponents.
struct LogSum {
    sum: f64,
    weight: f64,
    product: f64,
    exponents: i64,
    count: u64,
}

impl LogSum {
    fn new() -> Self {
        Self { sum: 0.0, weight: 0.0, product: 1.0, exponents: 0, count: 0 }
    }

    fn add(&mut self, value: f64, regularity: f64) {
        let weight = (1.0 - regularity) * (1.0 - regularity);
        if value == 0.0 || weight == 0.0 {
            return;
        }
        let bits = value.abs().to_bits();
        let exponent = (bits >> 52) as i64;
        if weight < 1.0 || exponent == 0 {
            self.weight += weight;
            self.sum += weight * value.abs().ln();
            return;
        }
        self.count += 1;
        self.exponents += exponent - 1023;
        self.product *= f64::from_bits(bits & !(0x7ff << 52) | 1023 << 52);
        if self.product > 1e300 {
            self.sum += self.product.ln();
            self.product = 1.0;
        }
    }

    fn value(&self) -> f64 {
        self.sum + self.product.ln() + self.exponents as f64 * LN_2
    }
}

#[derive(Clone, Debug, Default)]
pub struct View {
    vocabulary: Vocabulary,
    entries: Vec<Entry>,
    /// What follows from each entry.
    parts: Vec<Part>,
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
    entries: Vec<Entry>,
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
        let last = |seat: Slot| self.entries[seat as usize].last;
        let met_before = |&seat: &Slot| last(seat) + 1 < self.rounds;
        let may_go = (0..names as Slot).filter(met_before).collect();
        let survivors =
            bound.survivors(names, names, may_go, |a, b| (last(a), a).cmp(&(last(b), b)));
        self.vocabulary.retain(&survivors);
        survivors.retain(&mut self.entries, 1);
        survivors.retain(&mut self.parts, 1);
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
    pub fn look(&self, seats: &[Slot], features: &mut [Feature]) -> Result<[f64; 2], Error> {
        let shared = self.pool.size();
        let (mut sums, mut inverse, mut trusted) =
            (Sums::default(), Last::default(), Last::default());
        for (&seat, feature) in seats.iter().zip(features.iter_mut()) {
            feature.value = if seat == UNKNOWN {
                0.0
            } else {
                let entry = &self.entries[seat as usize];
                let z = entry.scaled(feature.value, shared, self.rounds, &mut inverse);
                sums.add(z, entry.regularity, entry.weight(&mut trusted));
                z
            };
        }
        to_unit_length(features, sums.squares())?;
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
        *shown = Shown {
            entries: std::mem::take(&mut shown.entries),
            pool: self.pool,
            whole: self.whole,
        };
        shown.entries.clear();
        let (mut sizes, mut inverse, mut trusted) =
            (LogSum::new(), Last::default(), Last::default());
        for (&seat, feature) in seats.iter().zip(features.iter()) {
            let mut entry =
                if seat == UNKNOWN { Entry::new(self.rounds) } else { self.entries[seat as usize] };
            let counted = entry.count(feature.value, self.rounds, &mut inverse);
            if !entry.squares.is_finite() || !entry.mean.is_finite() {
                return Err(too_large("a feature's variance"));
            }
            sizes.add(counted, entry.regularity);
            shown.entries.push(entry);
        }
        shown.pool.count(&sizes);
        let shared = shown.pool.size();
        let mut sums = Sums::default();
        for (entry, feature) in shown.entries.iter().zip(features.iter_mut()) {
            feature.value = entry.scaled(feature.value, shared, self.rounds, &mut inverse);
            sums.add(feature.value, entry.regularity, entry.weight(&mut trusted));
        }
        to_unit_length(features, sums.squares())?;
        let Some(whole) = &mut shown.whole else { return Ok([0.0; 2]) };
        let values = whole.show(&sums);
        if sums.squares() > 0.0 {
            let (score, mut step) = (sums.score().unwrap_or(1.0), Last::default());
            for (entry, feature) in shown.entries.iter_mut().zip(features.iter()) {
                let by = step.of(entry.n, loading_step);
                entry.loading += (score * feature.value - entry.loading) * by;
            }
        }
        Ok(values)
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
        let mut trusted = Last::default();
        for (position, &entry) in shown.entries.iter().enumerate() {
            let part = Part { weight: entry.weight(&mut trusted), regularity: entry.regularity };
            if seats[position] == UNKNOWN {
                seats[position] = self.vocabulary.insert(names.name(position));
                self.entries.push(entry);
                self.parts.push(part);
                if let Some(seat) = self.seats.get_mut(features[position].slot as usize) {
                    *seat = seats[position];
                }
            } else {
                self.entries[seats[position] as usize] = entry;
                self.parts[seats[position] as usize] = part;
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
        for feature in features {
            let seat = self.seats.get(feature.slot as usize).copied().unwrap_or(UNKNOWN);
            if let Some(part) = self.parts.get(seat as usize) {
                sums.add(feature.value, part.regularity, part.weight);
            }
        }
        Some(whole.restated(&sums))
    }

    pub fn state(&self) -> ViewState<'_> {
        let loadings = || self.entries.iter().map(|entry| entry.loading).collect();
        ViewState {
            names: self.vocabulary.names().collect(),
            seen: self.entries.iter().map(|entry| entry.n).collect(),
            means: self.entries.iter().map(|entry| entry.mean).collect(),
            squares: self.entries.iter().map(|entry| entry.squares).collect(),
            runs: self.entries.iter().map(|entry| entry.runs).collect(),
            first: self.entries.iter().map(|entry| entry.first).collect(),
            last: self.entries.iter().map(|entry| entry.last).collect(),
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
            let mut entry = Entry {
                n: state.seen[i],
                mean: state.means[i],
                squares: state.squares[i],
                runs: state.runs[i],
                first: state.first[i],
                last: state.last[i],
                loading: state.loadings.as_ref().map_or(0.0, |loadings| loadings[i]),
                regularity: 0.0,
            };
            if self.vocabulary.slot(name) != UNKNOWN
                || entry.n == 0
                || entry.squares < 0.0
                || entry.first > entry.last
                || entry.last >= state.rounds
            {
                return Err("a statistic is impossible");
            }
            entry.set_regularity();
            let weight = entry.weight(&mut Last::default());
            self.vocabulary.insert(name);
            self.entries.push(entry);
            self.parts.push(Part { weight, regularity: entry.regularity });
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
        let numbers = self.means.iter().chain(&self.squares);
        let pool = [self.pool.weight, self.pool.log_size];
        if !numbers.chain(&pool).all(|number| number.is_finite())
            || !self.whole.is_none_or(|whole| whole.is_sound())
            || !loadings.iter().all(|loading| loading.abs() <= LARGEST_LOADING)
        {
            return Err("a statistic is not finite");
        }
        let most = u64::MAX / 2;
        if self.rounds > most || counts.iter().any(|column| column.iter().any(|&n| n > most)) {
            return Err("a counter is too large");
        }
        Ok(())
    }
}

fn to_unit_length(features: &mut [Feature], squares: f64) -> Result<(), Error> {
    if !f64::is_finite(squares) {
        return Err(too_large("a scaled value"));
    }
    if squares > 0.0 {
        let inverse = squares.sqrt().recip();
        for feature in features {
            feature.value *= inverse;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry_of(values: &[(u64, f64)]) -> Entry {
        let mut entry = Entry::new(values[0].0);
        for &(round, value) in values {
            entry.count(value, round, &mut Last::default());
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
        assert_eq!(entry.mean, 3.0);
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
    fn the_logarithm_of_a_product_is_the_sum_of_logarithms() {
        let (mut sums, mut plain, mut weight) = (LogSum::new(), 0.0, 0.0);
        for i in 1..3_000 {
            let value = f64::from(i % 7 - 3) * 10.0_f64.powi(i % 80 - 40);
            let regularity = if i % 5 == 0 { 0.25 } else { 0.0 };
            sums.add(value, regularity);
            if value != 0.0 {
                let one = (1.0 - regularity) * (1.0 - regularity);
                weight += one;
                plain += one * value.abs().ln();
            }
        }
        sums.add(5e-324, 0.0);
        assert_eq!(sums.weight + sums.count as f64, weight + 1.0);
        assert!((sums.value() - plain - 5e-324_f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn a_constant_feature_counts_as_nothing() {
        let entry = entry_of(&(0..20).map(|round| (round, 7.0)).collect::<Vec<_>>());
        assert_eq!(entry.scaled(7.0, None, 20, &mut Last::default()), 0.0);
    }
}
