//! The running view: on what scale a raw value counts.
//!
//! Per feature a mean and a variance that gross errors cannot run away with, and a *regularity*
//! `a` in [0, 1]: 1 for a sensor that reports round after round, near 0 for a word. A regular
//! feature is centred and scaled to its own deviation; an irregular one keeps its zero, shares one
//! scale with its like and weighs more the rarer it is. Then the event is brought to length 1.
//! Statistics are kept of every event shown, labelled or not. With a [`Whole`] the view also learns
//! what events have in common, and shows each event's factor and energy.

use std::hint::black_box;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::bound::Bound;
use crate::pair::{PAIR, Pair};
use crate::row::{Entry, Inverses, NOTHING, Pool, Row, Sizes, regularity};
use crate::vocabulary::{Name, Names, Slot, Survivors, UNKNOWN, Vocabulary};
use crate::weights::Feature;
use crate::whole::{Sums, Whole, trust};

const LARGEST: f64 = 1e140; // of a value: no sum of squares of such values overflows
const LARGEST_SQUARES: f64 = 1e282; // in a file, a value counted: no more than these can add
const LARGEST_LOADING: f64 = 1e100; // in a file; they are below 1 by themselves
const LARGEST_LOG: f64 = 800.0; // in a file; that of a float is less
const LARGEST_COUNT: u64 = 1 << 53;

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
        check_sizes(features)?;
        let still = Entry { n: 1.0, ..Entry::new(self.rounds as f64) };
        let (shared, mut sums) = (self.pool.squared_size(), Sums::default());
        for row in self.line_up(seats, features, &still, rows) {
            *row = row.with(&Inverses::of(row.n)).scaled(shared);
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
        check_sizes(features)?;
        let new = black_box(Entry::new(self.rounds as f64)); // else every number of it gets a branch
        let Shown { rows, pool, whole } = shown;
        (*pool, *whole) = (self.pool, self.whole);
        let (mut sizes, mut sums) = (Sizes::default(), Sums::default());
        rows.resize(features.len().div_ceil(PAIR), Row::default());
        let (round, entries) = (self.rounds as f64, &self.entries[..]);
        let entry = |seat: Slot| entries.get(seat as usize).unwrap_or(&new);
        let (pairs, last) = features.as_chunks::<PAIR>();
        let (seats, last_seat) = seats.as_chunks::<PAIR>();
        for ((row, seats), [one, other]) in rows.iter_mut().zip(seats).zip(pairs) {
            *row = Row::of([one.value, other.value], seats.map(entry), round).count(&mut sizes);
        }
        if let (Some(row), [one], [seat]) = (rows.last_mut(), last, last_seat) {
            let two = [entry(*seat), &NOTHING];
            *row = Row::of([one.value, 0.0], two, round).count(&mut sizes);
        }
        pool.count(&sizes);
        let shared = pool.squared_size();
        for row in rows.iter_mut() {
            if row.is_regular() {
                *row = row.scaled_as_regular();
                sums.add(row.z, Pair::ONE, row.weight());
            } else {
                *row = row.scaled(shared);
                sums.add(row.z, row.regularity, row.weight());
            }
        }
        sums.leave_out(PAIR * rows.len() - features.len());
        to_unit_length(rows, features, sums.squares());
        let Some(whole) = whole else { return Ok([0.0; 2]) };
        let values = whole.show(&sums);
        if sums.squares() > 0.0 {
            let score = Pair::splat(sums.score().unwrap_or(1.0));
            for Row { loading, step, z, .. } in rows {
                *loading += (score * *z - *loading) * *step;
            }
        }
        Ok(values)
    }

    /// Make rows of an event's values and what is known of their features, or what an unknown one is
    /// taken for.
    fn line_up<'a>(
        &self,
        seats: &[Slot],
        features: &[Feature],
        unknown: &Entry,
        rows: &'a mut Vec<Row>,
    ) -> &'a mut [Row] {
        let entry = |&seat: &Slot| self.entries.get(seat as usize).unwrap_or(unknown);
        let pair = |(seats, features): (&[Slot], &[Feature])| {
            let (mut values, mut two) = ([0.0; PAIR], [&NOTHING; PAIR]);
            for (place, (seat, feature)) in seats.iter().zip(features).enumerate() {
                (values[place], two[place]) = (feature.value, entry(seat));
            }
            Row::of(values, two, self.rounds as f64)
        };
        rows.clear();
        rows.extend(seats.chunks(PAIR).zip(features.chunks(PAIR)).map(pair));
        rows
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
        let (pairs, last) = seats.as_chunks::<PAIR>();
        for (&[one, other], row) in pairs.iter().zip(&shown.rows) {
            row.keep::<0>(&mut self.entries[one as usize], round);
            row.keep::<1>(&mut self.entries[other as usize], round);
        }
        if let (&[one], Some(row)) = (last, shown.rows.last()) {
            row.keep::<0>(&mut self.entries[one as usize], round);
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
        let nothing = black_box(&NOTHING);
        let entry = |feature: &Feature| {
            let seat = self.seats.get(feature.slot as usize).copied().unwrap_or(UNKNOWN);
            self.entries.get(seat as usize).unwrap_or(nothing)
        };
        let mut add = |values: [f64; PAIR], [a, b]: [&Entry; PAIR]| {
            let regularity = Pair::new([a.regularity, b.regularity]);
            let loading = Pair::new([a.loading, b.loading]);
            let lambda = loading * trust(Pair::new([a.n, b.n])) * regularity;
            sums.add_seen(Pair::new(values), regularity, lambda);
        };
        let (pairs, last) = features.as_chunks::<PAIR>();
        for [one, other] in pairs {
            add([one.value, other.value], [entry(one), entry(other)]);
        }
        if let [one] = last {
            add([one.value, 0.0], [entry(one), nothing]);
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
            let [many, runs_of_both] = [n, runs].map(Pair::splat);
            let [regularity, _] = regularity(many, runs_of_both, &Inverses::of(many)).to_array();
            let entry = Entry {
                n,
                mean: state.means[i],
                squares: state.squares[i],
                runs,
                first: state.first[i] as f64,
                last: state.last[i] as f64,
                loading: state.loadings.as_ref().map_or(0.0, |loadings| loadings[i]),
                regularity,
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

fn to_unit_length(rows: &mut [Row], features: &mut [Feature], squares: f64) {
    let inverse = if squares > 0.0 { squares.sqrt().recip() } else { 1.0 };
    let inverse = Pair::splat(inverse);
    for (row, features) in rows.iter_mut().zip(features.chunks_mut(PAIR)) {
        row.z *= inverse;
        for (feature, z) in features.iter_mut().zip(row.z.to_array()) {
            feature.value = z;
        }
    }
}
