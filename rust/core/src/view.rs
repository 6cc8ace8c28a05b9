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
use wide::{CmpEq, CmpGe, CmpGt, CmpLe};

use crate::Error;
use crate::bound::Bound;
use crate::pair::{PAIR, Pair, all, any, ln};
use crate::vocabulary::{Name, Names, Slot, Survivors, UNKNOWN, Vocabulary};
use crate::weights::Feature;
use crate::whole::{NEAR, SHRINK, Sums, Whole, trust};

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

/// What fills a place that no feature takes: its value is 0. Once counted it is as regular as can be.
const NOTHING: Entry = Entry {
    n: 1.0,
    mean: 0.0,
    squares: 0.0,
    runs: 1.0,
    first: 0.0,
    last: f64::NEG_INFINITY,
    loading: 0.0,
    regularity: 0.0,
};

impl Entry {
    fn new(round: f64) -> Self {
        Self { first: round, last: f64::NEG_INFINITY, ..Self::default() }
    }
}

/// What is divided by n, n − 1, n + 2 or n + 10.
struct Inverses {
    /// 1/n
    n: Pair,
    /// 1/(n − 1), but 1 of n = 1
    before: Pair,
    /// n/(n + 10)
    trust: Pair,
    /// 3/(n + 2), but at most 1
    step: Pair,
}

impl Inverses {
    /// One division for all of them; exact for n = 1.
    #[inline(always)]
    fn of(n: Pair) -> Self {
        let before = (n - Pair::ONE).fast_max(Pair::ONE);
        let (near, far) = (n + Pair::splat(NEAR), n + Pair::splat(SHRINK));
        let (counts, others) = (n * before, near * far);
        let all = Pair::ONE / (counts * others);
        let (of_counts, of_others) = (others * all, counts * all);
        Self {
            n: before * of_counts,
            before: n * of_counts,
            trust: n * (near * of_others),
            step: (Pair::splat(NEAR + 1.0) * (far * of_others)).fast_min(Pair::ONE),
        }
    }
}

/// a = min(1, 2·runs/(n − 1))⁴
#[inline(always)]
fn regularity(n: Pair, runs: Pair, inverses: &Inverses) -> Pair {
    let share = (runs + runs) * inverses.before;
    // Rounding must not take from what is 1.
    is_regular(n, runs).blend(Pair::ONE, (share * share) * (share * share))
}

/// Whether 2·runs ≥ n − 1, so that a = 1; but not of n = 1.
#[inline(always)]
fn is_regular(n: Pair, runs: Pair) -> Pair {
    (runs + runs).cmp_ge((n - Pair::ONE).fast_max(Pair::ONE))
}

/// Two features of an event side by side: a number each of the event, of what is known, and of what
/// follows. A place that no feature takes is filled by [`NOTHING`].
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    value: Pair,
    n: Pair,
    mean: Pair,
    squares: Pair,
    runs: Pair,
    /// Rounds since the first time.
    since: Pair,
    loading: Pair,
    regularity: Pair,
    /// 1/n
    inverse: Pair,
    /// n/(n + 10): how much the loadings count.
    trust: Pair,
    /// 3/(n + 2), but at most 1: how far the event moves the loadings.
    step: Pair,
    /// What the value counts; at first before the event is brought to length 1.
    z: Pair,
}

impl Row {
    /// Values and what is known of their features, in this round.
    #[inline(always)]
    fn of(values: [f64; PAIR], [a, b]: [&Entry; PAIR], round: f64) -> Self {
        let (round, one) = (Pair::splat(round), Pair::ONE);
        let just_before = (Pair::new([a.last, b.last]) + one).cmp_eq(round);
        Self {
            value: Pair::new(values),
            n: Pair::new([a.n, b.n]),
            mean: Pair::new([a.mean, b.mean]),
            squares: Pair::new([a.squares, b.squares]),
            runs: Pair::new([a.runs, b.runs]) + (just_before & one),
            since: round + one - Pair::new([a.first, b.first]),
            loading: Pair::new([a.loading, b.loading]),
            regularity: Pair::new([a.regularity, b.regularity]),
            ..Self::default()
        }
    }

    /// Welford's step with the values, gross errors cut, which are counted as sizes too.
    #[inline(always)]
    fn count(self, sizes: &mut Sizes) -> Self {
        let Self { value, n, mean, squares, runs, .. } = self;
        let (mut counted, mut off) = (value, value - mean);
        let beyond = (off * off * n).cmp_gt(Pair::splat(GROSS * GROSS) * squares);
        let known = n.cmp_ge(Pair::splat(WARM)) & squares.cmp_gt(Pair::ZERO);
        let gross = beyond & known;
        if any(gross) {
            let reach = Pair::splat(GROSS) * (squares / n).sqrt();
            let cut = value.fast_max(mean - reach).fast_min(mean + reach);
            counted = gross.blend(cut, value);
            off = counted - mean;
        }
        let n = n + Pair::ONE;
        let inverses = Inverses::of(n);
        let mean = mean + off * inverses.n;
        let squares = squares + off * (counted - mean);
        let mut regularity = Pair::ONE;
        if !all(is_regular(n, runs)) {
            regularity = self::regularity(n, runs, &inverses);
            sizes.add(counted, regularity);
        }
        Self { n, mean, squares, regularity, ..self }.with(&inverses)
    }

    #[inline(always)]
    fn with(self, inverses: &Inverses) -> Self {
        let &Inverses { n: inverse, trust, step, .. } = inverses;
        Self { inverse, trust, step, ..self }
    }

    /// Whether both are as regular as can be.
    #[inline(always)]
    fn is_regular(&self) -> bool {
        all(self.regularity.cmp_eq(Pair::ONE))
    }

    /// The values as they count, before the event is brought to length 1, of features as regular as
    /// can be.
    #[inline(always)]
    fn scaled_as_regular(self) -> Self {
        let variance = self.squares * self.inverse;
        self.cut((self.value - self.mean) / variance.sqrt(), variance)
    }

    /// The same of any features; `shared` is the squared size that irregular ones share.
    #[inline(always)]
    fn scaled(self, shared: Option<f64>) -> Self {
        let a = self.regularity;
        let centre = a * self.mean;
        let off = self.mean - centre;
        let own = self.squares * self.inverse + off * off;
        let mut variance = own;
        if let Some(shared) = shared {
            let (rest, least, most) = (Pair::ONE - a, Pair::splat(0.01), Pair::splat(100.0));
            let shared = Pair::splat(shared).fast_max(least * own).fast_min(most * own);
            variance = own + rest * rest * (shared - own);
        }
        // Of the smallest numbers there are, nothing may be left.
        let scaled = (self.value - centre) / variance.sqrt();
        self.cut(variance.cmp_gt(Pair::ZERO) & scaled, own)
    }

    /// The values, so many deviations off, as they count.
    #[inline(always)]
    fn cut(self, off: Pair, variance: Pair) -> Self {
        let clip = Pair::splat(CLIP);
        let moves = variance.cmp_gt(Pair::splat(STILL) * self.mean * self.mean);
        let z = moves & (off.fast_min(clip).fast_max(-clip) * self.rarity());
        Self { z, ..self }
    }

    /// ln(1 + max(1, since/n))
    #[inline(always)]
    fn rarity(&self) -> Pair {
        if all(self.since.cmp_le(self.n)) {
            return Pair::LN_2;
        }
        ln(Pair::ONE + (self.since * self.inverse).fast_max(Pair::ONE))
    }

    /// Make one of the two last.
    #[inline(always)]
    fn keep<const PLACE: usize>(&self, entry: &mut Entry, round: f64) {
        entry.n = self.n.as_array_ref()[PLACE];
        entry.mean = self.mean.as_array_ref()[PLACE];
        entry.squares = self.squares.as_array_ref()[PLACE];
        entry.runs = self.runs.as_array_ref()[PLACE];
        entry.last = round;
        entry.loading = self.loading.as_array_ref()[PLACE];
        entry.regularity = self.regularity.as_array_ref()[PLACE];
    }

    /// λ
    #[inline(always)]
    fn weight(&self) -> Pair {
        self.loading * self.trust * self.regularity
    }
}

/// The shared size of the values of irregular features: mean of ln|x|, and its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Pool {
    weight: f64,
    log_size: f64,
}

impl Pool {
    /// The square of the size that irregular features share, once there is one.
    fn squared_size(self) -> Option<f64> {
        (self.weight > 0.0).then(|| (2.0 * self.log_size).exp())
    }

    /// Count the values of an event.
    fn count(&mut self, sizes: &Sizes) {
        let weight = sizes.weight.reduce_add();
        if weight > 0.0 {
            self.weight += weight;
            self.log_size += (sizes.logs.reduce_add() - weight * self.log_size) / self.weight;
        }
    }
}

/// Sums over the values of an event: of (1 − a)², and of it times ln|x|, where x is not 0.
#[derive(Default)]
struct Sizes {
    weight: Pair,
    logs: Pair,
}

impl Sizes {
    #[inline(always)]
    fn add(&mut self, values: Pair, regularity: Pair) {
        let zero = values.cmp_eq(Pair::ZERO);
        let rest = Pair::ONE - regularity;
        let weight = !zero & (rest * rest);
        self.weight += weight;
        self.logs += weight * ln(zero.blend(Pair::ONE, values.abs()));
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
                sums.add_regular(row.z, row.weight());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A view that was shown events of one feature, in these rounds.
    fn entry_of(values: &[(u64, f64)]) -> Entry {
        let mut entry = Entry::new(values[0].0 as f64);
        for &(round, value) in values {
            let row = Row::of([0.0, value], [&NOTHING, &entry], round as f64);
            let row = row.count(&mut Sizes::default());
            let [n, mean, squares] = [row.n, row.mean, row.squares].map(|pair| pair.to_array()[1]);
            let (runs, regularity, last) =
                (row.runs.to_array()[1], row.regularity.to_array()[1], round as f64);
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
            let (values, a) = ([0, 1].map(value), [0.0, [0.25, 1.0][i as usize % 2]]);
            sizes.add(Pair::new(values), Pair::new(a));
            for (value, a) in values.into_iter().zip(a).filter(|pair| pair.0 != 0.0) {
                weight += (1.0 - a) * (1.0 - a);
                logs += (1.0 - a) * (1.0 - a) * value.abs().ln();
            }
        }
        assert!((sizes.weight.reduce_add() - weight).abs() < 1e-9);
        assert!((sizes.logs.reduce_add() - logs).abs() < 1e-9);
    }

    #[test]
    fn a_constant_feature_counts_as_nothing() {
        let entry = entry_of(&(0..20).map(|round| (round, 7.0)).collect::<Vec<_>>());
        let row = Row::of([7.0, 0.0], [&entry, &NOTHING], 20.0);
        let row = row.count(&mut Sizes::default());
        assert!(row.is_regular());
        for scaled in [row.scaled_as_regular(), row.scaled(None)] {
            assert_eq!(scaled.z.to_array(), [0.0; PAIR]);
        }
    }
}
