//! The running view: on what scale a raw value counts.
//!
//! Per feature a mean and a variance that gross errors cannot run away with, and a *regularity*
//! `a` in [0, 1]: 1 for a sensor that reports round after round, near 0 for a word. A regular
//! feature is centred and scaled to its own deviation; an irregular one keeps its zero, shares one
//! scale with its like and weighs more the rarer it is. Then the event is brought to length 1.
//! Statistics are kept of every event shown, labelled or not.

use std::f64::consts::LN_2;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::model::too_large;
use crate::vocabulary::{Name, Names, Slot, UNKNOWN, Vocabulary};
use crate::weights::Feature;

const CLIP: f64 = 3.0; // of a scaled value
const GROSS: f64 = 10.0; // deviations beyond which a value is cut before it is counted
const WARM: u64 = 10; // values after which gross errors are cut

/// What is known of one feature.
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
}

impl Entry {
    fn new(round: u64) -> Self {
        Self { first: round, ..Self::default() }
    }

    fn regularity(&self) -> f64 {
        if self.n <= 1 {
            return 0.0;
        }
        (2.0 * self.runs as f64 / (self.n - 1) as f64).min(1.0).powi(4)
    }

    /// Welford's step with the value, gross errors cut; returns what was counted.
    fn count(&mut self, value: f64, round: u64) -> f64 {
        if self.n > 0 && self.last + 1 == round {
            self.runs += 1;
        }
        let mut value = value;
        if self.n >= WARM && self.squares > 0.0 {
            let reach = GROSS * (self.squares / self.n as f64).sqrt();
            value = value.clamp(self.mean - reach, self.mean + reach);
        }
        let delta = value - self.mean;
        self.n += 1;
        self.mean += delta / self.n as f64;
        self.squares += delta * (value - self.mean);
        self.last = round;
        value
    }

    /// A value as it counts, before the event is brought to length 1; `shared` is the size that
    /// irregular features share.
    fn scaled(&self, value: f64, shared: Option<f64>, round: u64) -> f64 {
        let a = self.regularity();
        let n = self.n as f64;
        let centre = a * self.mean;
        let mut variance = self.squares / n + (self.mean - centre) * (self.mean - centre);
        if variance <= 1e-24 * self.mean * self.mean {
            return 0.0; // constant so far
        }
        if let (true, Some(shared)) = (a < 1.0, shared) {
            let stdev = variance.sqrt();
            let shared = (10.0 * stdev).min((stdev / 10.0).max(shared));
            variance += (1.0 - a) * (1.0 - a) * (shared * shared - variance);
        }
        let rounds = (round + 1 - self.first) as f64;
        let rarity = if rounds <= n { LN_2 } else { (1.0 + rounds / n).ln() };
        ((value - centre) / variance.sqrt()).clamp(-CLIP, CLIP) * rarity
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

    fn count(&mut self, value: f64, regularity: f64) {
        let weight = (1.0 - regularity) * (1.0 - regularity);
        if value != 0.0 && weight > 0.0 {
            self.weight += weight;
            self.log_size += (value.abs().ln() - self.log_size) * weight / self.weight;
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct View {
    vocabulary: Vocabulary,
    entries: Vec<Entry>,
    pool: Pool,
    /// Events shown.
    rounds: u64,
}

/// What showing an event will change, worked out before anything is changed.
pub struct Shown {
    entries: Vec<Entry>,
    pool: Pool,
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
}

impl View {
    /// Where a name's statistics are kept, or `UNKNOWN`.
    pub fn seat(&self, name: Name<'_>) -> Slot {
        self.vocabulary.slot(name)
    }

    /// The names that it keeps statistics of.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Bring an event outside the stream to its view: names never shown count as 0.
    pub fn look(&self, seats: &[Slot], features: &mut [Feature]) -> Result<(), Error> {
        let shared = self.pool.size();
        for (&seat, feature) in seats.iter().zip(features.iter_mut()) {
            feature.value = if seat == UNKNOWN {
                0.0
            } else {
                self.entries[seat as usize].scaled(feature.value, shared, self.rounds)
            };
        }
        to_unit_length(features)
    }

    /// Count an event and bring it to its view; [`Self::keep`] makes the counting last.
    pub fn show(&self, seats: &[Slot], features: &mut [Feature]) -> Result<Shown, Error> {
        let mut shown = Shown { entries: Vec::with_capacity(features.len()), pool: self.pool };
        for (&seat, feature) in seats.iter().zip(features.iter()) {
            let mut entry =
                if seat == UNKNOWN { Entry::new(self.rounds) } else { self.entries[seat as usize] };
            let counted = entry.count(feature.value, self.rounds);
            if !entry.squares.is_finite() || !entry.mean.is_finite() {
                return Err(too_large("a feature's variance"));
            }
            shown.pool.count(counted, entry.regularity());
            shown.entries.push(entry);
        }
        let shared = shown.pool.size();
        for (entry, feature) in shown.entries.iter().zip(features.iter_mut()) {
            feature.value = entry.scaled(feature.value, shared, self.rounds);
        }
        to_unit_length(features)?;
        Ok(shown)
    }

    /// Make the counting last; new names get their seats, which are filled in.
    pub fn keep(&mut self, shown: Shown, seats: &mut [Slot], names: &(impl Names + ?Sized)) {
        for (position, entry) in shown.entries.into_iter().enumerate() {
            if seats[position] == UNKNOWN {
                seats[position] = self.vocabulary.insert(names.name(position));
                self.entries.push(entry);
            } else {
                self.entries[seats[position] as usize] = entry;
            }
        }
        self.pool = shown.pool;
        self.rounds += 1;
    }

    pub fn state(&self) -> ViewState<'_> {
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
        }
    }

    pub fn restored(state: &ViewState<'_>) -> Result<Self, &'static str> {
        let d = state.names.len();
        let counts = [&state.seen, &state.runs, &state.first, &state.last];
        if counts.iter().any(|column| column.len() != d)
            || state.means.len() != d
            || state.squares.len() != d
        {
            return Err("its statistics are not as long as their names");
        }
        let numbers = state.means.iter().chain(&state.squares);
        let pool = [state.pool.weight, state.pool.log_size];
        if !numbers.chain(&pool).all(|number| number.is_finite()) {
            return Err("a statistic is not finite");
        }
        let most = u64::MAX / 2;
        if state.rounds > most || counts.iter().any(|column| column.iter().any(|&n| n > most)) {
            return Err("a counter is too large");
        }
        let mut view = Self { pool: state.pool, rounds: state.rounds, ..Self::default() };
        for (i, &name) in state.names.iter().enumerate() {
            let entry = Entry {
                n: state.seen[i],
                mean: state.means[i],
                squares: state.squares[i],
                runs: state.runs[i],
                first: state.first[i],
                last: state.last[i],
            };
            if view.vocabulary.slot(name) != UNKNOWN
                || entry.n == 0
                || entry.squares < 0.0
                || entry.first > entry.last
                || entry.last >= state.rounds
            {
                return Err("a statistic is impossible");
            }
            view.vocabulary.insert(name);
            view.entries.push(entry);
        }
        Ok(view)
    }
}

fn to_unit_length(features: &mut [Feature]) -> Result<(), Error> {
    let mut squares = 0.0;
    for feature in features.iter() {
        squares += feature.value * feature.value;
    }
    if !f64::is_finite(squares) {
        return Err(too_large("a scaled value"));
    }
    if squares > 0.0 {
        let length = squares.sqrt();
        for feature in features {
            feature.value /= length;
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
            entry.count(value, round);
        }
        entry
    }

    #[test]
    fn a_sensor_is_regular_and_a_rare_word_is_not() {
        let sensor: Vec<(u64, f64)> = (0..50).map(|round| (round, 20.0)).collect();
        assert_eq!(entry_of(&sensor).regularity(), 1.0);
        let word: Vec<(u64, f64)> = (0..50).map(|i| (10 * i, 1.0)).collect();
        assert_eq!(entry_of(&word).regularity(), 0.0);
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
    fn a_constant_feature_counts_as_nothing() {
        let entry = entry_of(&(0..20).map(|round| (round, 7.0)).collect::<Vec<_>>());
        assert_eq!(entry.scaled(7.0, None, 20), 0.0);
    }
}
