//! Spring: logistic regression that learns much from few labels and follows a concept that changes.
//!
//! Every input has five weights, in columns that learn from different labels:
//!
//! | column | learns from | forgets |
//! | --- | --- | --- |
//! | LONG | every label since it began | nothing |
//! | SPARE | nothing: it is LONG as it was at the last change | – |
//! | MID, SHORT | the last 100 and the last 20 labels of each class | exactly: an event that leaves takes its part back |
//! | CALM | every label once, by AROW | nothing until a change |
//! | FADING | the same | slowly: what is known of an input, over about a hundred of its labels |
//!
//! LONG, MID and SHORT solve `min ½Σu²/ρ + Σ_j C_j ln(1 + exp(−y_j q_j))` by exact steps on its dual, one event at a
//! time, repeated on stored events; classes weigh the same however rare they are. The margin is
//! `q = Σ trust_c·q_c`. A label multiplies the trust of each column by the probability that the column gave the label
//! before it was learned, with the class odds put back; a small share is spread evenly, so that no column is lost.
//! If trust in LONG and CALM falls below a tenth, the concept has changed: the better window becomes the new LONG,
//! and the old LONG the SPARE. If the SPARE is trusted again, it returns.
//!
//! A question is worth more the smaller |q|/Σρz²: a margin near 0 because inputs that matter contradict each other
//! is a question; one near 0 because nothing in the event matters is none.
//!
//! M. Herbster and M. Warmuth, *Tracking the best expert*, MLJ 32 (1998).

pub mod classes;
pub mod probability;
pub mod rows;
pub mod windows;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::model::dual_logistic::{LARGEST_NORM, best_alpha};
use crate::model::example::{Example, Outcome, PriorScores, Score, squared_norm, too_large};
use crate::model::kind::ModelKind;
use crate::model::spring::probability::Probability;
use crate::model::spring::rows::{DUAL, Margins, PlacedInput, Rows, RowsState};
use crate::model::spring::windows::{Entered, NEWEST, StoredEvent, Window, WindowState};
use crate::rules::class_odds::{ClassOdds, Slope};
use crate::storage::index_remap::IndexRemap;
use crate::storage::math::{exp, logistic, softplus};
use crate::storage::rng::Generator;

/// Columns 0 and 1 are LONG and SPARE, which exchange their places.
const MID: usize = 2;
const SHORT: usize = 3;
const CALM: usize = 4;
const FADING: usize = 5;
const COLUMNS: usize = 6;
/// Columns that were there before FADING.
const EARLIER: usize = 5;

const C: f64 = 2.0; // of a label, if both classes have as many
const SHARE: f64 = 0.01; // of all trust is spread evenly at each label
const LOST: f64 = 0.1; // trust in LONG and CALM below which the concept has changed
const BACK: f64 = 0.5; // trust in SPARE above which the old concept is back
const REST: u64 = 30; // labels between two changes
const REPEATED: u32 = 15; // steps on stored events per label
const REPEATED_NEWEST: u32 = 8; // and on the newest of them
/// Changes that are remembered.
const REMEMBERED: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringConfig {
    /// How many of the first features are the learner's own.
    pub own: u32,
}

/// Why LONG is another column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    /// The window of the last hundred labels of each class predicted better.
    Mid,
    /// The window of the last twenty did.
    Short,
    /// The concept before the last change did.
    Returned,
}

impl Reason {
    fn word(self) -> &'static str {
        match self {
            Self::Mid => "the last hundred labels of each class predicted better",
            Self::Short => "the last twenty labels of each class predicted better",
            Self::Returned => "the concept before the last change predicted better",
        }
    }
}

/// A change of concept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Change {
    /// The number of the first event that belongs to the new concept, as far as the labels tell.
    number: u64,
    /// Labels learned when it was found.
    learned: u64,
    reason: Reason,
    /// The reign that began: reigns are counted from 0, and one that returns keeps its number.
    reign: u64,
}

#[derive(Clone, Debug)]
pub struct Spring {
    rows: Rows,
    /// The stored events of the negative and of the positive class.
    windows: [Window; 2],
    /// Which of the columns 0 and 1 is LONG.
    long: usize,
    /// Whether there is a SPARE.
    spared: bool,
    trust: [f64; COLUMNS],
    /// Labels of each class in each dual column.
    sizes: [[f64; 2]; DUAL],
    /// The odds of the labels, and what turns CALM's margin into log-odds.
    class_odds: ClassOdds,
    /// What turns FADING's margin into log-odds.
    fading_slope: Slope,
    /// Labels since the last change.
    since: u64,
    learned: u64,
    probability: Probability,
    /// The reigns of columns 0 and 1.
    reigns: [u64; 2],
    next_reign: u64,
    changes: Vec<Change>,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct SpringState {
    rows: RowsState,
    windows: [WindowState; 2],
    long: usize,
    spared: bool,
    trust: [f64; EARLIER],
    sizes: [[f64; 2]; DUAL],
    odds: [f64; 2],
    slope: f64,
    curve: f64,
    /// Learners that were saved without it begin with it; what has nothing in it is saved without it.
    #[serde(default, skip_serializing_if = "FadingState::is_new")]
    fading: FadingState,
    since: u64,
    learned: u64,
    probability: Probability,
    reigns: [u64; 2],
    next_reign: u64,
    changes: Vec<Change>,
}

/// The trust in FADING, and its slope.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct FadingState {
    trust: f64,
    slope: f64,
    curve: f64,
}

impl Default for FadingState {
    fn default() -> Self {
        let Slope { value: slope, curve } = Slope::default();
        Self { trust: 0.0, slope, curve }
    }
}

impl FadingState {
    fn is_new(&self) -> bool {
        *self == Self::default()
    }
}

impl Spring {
    fn spare(&self) -> usize {
        1 - self.long
    }

    /// The margin of every column, under classes that weigh the same.
    fn columns(&self, margins: &Margins) -> [f64; COLUMNS] {
        let [a, b, mid, short] = margins.dual();
        let [calm, fading] = margins.arow();
        let prior = self.class_odds.prior();
        let fading = self.fading_slope.value * fading - prior;
        [a, b, mid, short, self.class_odds.slope * calm - prior, fading]
    }

    fn balanced_margin(&self, inputs: &[FeatureValue]) -> f64 {
        self.mixed(self.columns(&self.rows.margins(inputs)))
    }

    /// The sign of the shifted margin predicts; questions are asked by the other one, over the length of what
    /// matters in the event.
    fn score_of(&self, margins: &Margins) -> Score {
        let q = self.mixed(self.columns(margins));
        let length = margins.squared_norm();
        let confidence = if length > 0.0 { q.abs() / length } else { 0.0 };
        Score { confidence, ..Score::by_sign(q + self.shift()) }
    }

    /// What is added to q so that its sign predicts.
    fn shift(&self) -> f64 {
        self.probability.shift(self.rows.labels())
    }

    /// q: the margins of the columns by trust, under classes that weigh the same.
    fn mixed(&self, columns: [f64; COLUMNS]) -> f64 {
        columns.iter().zip(self.trust).map(|(q, trust)| trust * q).sum()
    }

    /// What a row adds to the margin, for a value of 1.
    fn effective_weight(&self, id: FeatureId) -> f64 {
        let Some(row) = self.rows.row(id) else { return 0.0 };
        let dual: f64 = row.dual.iter().zip(self.trust).map(|(weight, trust)| trust * weight).sum();
        row.relevance * dual
            + self.trust[CALM] * self.class_odds.slope * row.arow[rows::CALM]
            + self.trust[FADING] * self.fading_slope.value * row.arow[rows::FADING]
    }

    /// Trust in the columns: long, spare, mid, short, calm, fading.
    fn trusts(&self) -> [(&'static str, f64); COLUMNS] {
        let [long, spare] = [self.trust[self.long], self.trust[self.spare()]];
        [
            ("long", long),
            ("spare", spare),
            ("mid", self.trust[MID]),
            ("short", self.trust[SHORT]),
            ("calm", self.trust[CALM]),
            ("fading", self.trust[FADING]),
        ]
    }

    /// Move trust by what each column said about a label.
    fn judge(&mut self, columns: [f64; COLUMNS], y: f64) {
        let prior = self.class_odds.prior();
        let losses = columns.map(|q| softplus(-y * (q + prior)));
        let spare = self.spare();
        let judged = |column: usize| column != spare || self.spared;
        let count = (0..COLUMNS).filter(|&column| judged(column)).count();
        let best =
            (0..COLUMNS).filter(|&c| judged(c)).map(|c| losses[c]).fold(f64::INFINITY, f64::min);
        let mut parts = [0.0; COLUMNS];
        for column in (0..COLUMNS).filter(|&column| judged(column)) {
            parts[column] = self.trust[column] * exp(best - losses[column]);
        }
        let total: f64 = parts.iter().sum();
        for (column, part) in parts.into_iter().enumerate() {
            if column == spare && !self.spared {
                self.trust[column] = 0.0;
                continue;
            }
            self.trust[column] = (1.0 - SHARE) * part / total + SHARE / count as f64;
        }
    }

    /// Learn the label of an event older than the last change: only the column that reigned then, if that is
    /// known and it is still there, learns it.
    fn learn_old(&mut self, inputs: &[PlacedInput], side: usize, reign: Option<u64>) {
        if let Some(column) = self.reigns.iter().position(|&one| Some(one) == reign)
            && (column == self.long || self.spared)
        {
            self.learn_once(inputs, side, column);
        }
    }

    /// One dual step in one column, for an event that is not stored.
    fn learn_once(&mut self, inputs: &[PlacedInput], side: usize, column: usize) {
        self.sizes[column][side] += 1.0;
        let margins = self.rows.placed_margins(inputs);
        let mut steps = [0.0; DUAL];
        let y = sign(side);
        let c = self.class_weight(column, side);
        if margins.squared_norm() > 0.0 {
            steps[column] =
                y * best_alpha(0.0, y * margins.dual()[column], margins.squared_norm(), c);
        }
        self.rows.shift(inputs, steps);
    }

    /// C_y of a column.
    fn class_weight(&self, column: usize, side: usize) -> f64 {
        let [negatives, positives] = self.sizes[column];
        C * 0.5 * (negatives + positives + 2.0) / (self.sizes[column][side] + 1.0)
    }

    /// A dual step on a stored event, in every column that holds it.
    fn step(&mut self, side: usize, place: usize) {
        let newest = self.windows[side].newest();
        let event = self.windows[side].get(place);
        let margins = self.rows.placed_margins(&event.inputs);
        let (dual, squared_norm) = (margins.dual(), margins.squared_norm());
        if squared_norm <= 0.0 {
            return;
        }
        let (y, mut alphas) = (sign(side), event.alphas);
        let mut steps = [0.0; DUAL];
        for column in [self.long, MID, SHORT] {
            let holds = match column {
                MID => true,
                SHORT => place >= newest,
                long => event.held[long],
            };
            if holds {
                let c = self.class_weight(column, side);
                let alpha = best_alpha(alphas[column], y * dual[column], squared_norm, c);
                steps[column] = y * (alpha - alphas[column]);
                alphas[column] = alpha;
            }
        }
        self.rows.shift(&event.inputs, steps);
        self.windows[side].get_mut(place).alphas = alphas;
    }

    /// Take back what an event gave to some columns.
    fn take_back(&mut self, inputs: &[PlacedInput], side: usize, parts: [f64; DUAL]) {
        self.rows.shift(inputs, parts.map(|alpha| -sign(side) * alpha));
    }

    /// Store a labelled event, and let others leave the windows.
    fn store(&mut self, number: u64, inputs: &[PlacedInput], side: usize) -> Option<usize> {
        let mut held = [false; 2];
        held[self.long] = true;
        let event = StoredEvent { number, inputs: inputs.to_vec(), alphas: [0.0; DUAL], held };
        let Entered { place, left, aged } = self.windows[side].enter(event);
        let place = place?;
        self.sizes[self.long][side] += 1.0;
        self.sizes[MID][side] += 1.0;
        if place >= self.windows[side].newest() {
            self.sizes[SHORT][side] += 1.0;
        }
        if let Some(aged) = aged {
            let event = self.windows[side].get_mut(aged);
            let alpha = std::mem::take(&mut event.alphas[SHORT]);
            let inputs = event.inputs.clone();
            self.sizes[SHORT][side] -= 1.0;
            self.take_back(&inputs, side, [0.0, 0.0, 0.0, alpha]);
        }
        if let Some(left) = left {
            self.sizes[MID][side] -= 1.0;
            self.take_back(&left.inputs, side, [0.0, 0.0, left.alphas[MID], 0.0]);
        }
        Some(place)
    }

    /// The next of a class's stored events gets a step; the other class's, if this one has none.
    fn repeat(&mut self, class: usize, among_newest: bool) {
        let side = if self.windows[class].len() == 0 { 1 - class } else { class };
        let place = self.windows[side].next(among_newest);
        self.step(side, place);
    }

    fn note_change(&mut self, number: u64, reason: Reason) {
        let reign = self.reigns[self.long];
        let number = self.changes.last().map_or(number, |last| last.number.max(number));
        if self.changes.len() == REMEMBERED {
            self.changes.remove(0);
        }
        self.changes.push(Change { number, learned: self.learned, reason, reign });
        self.since = 0;
    }

    /// The oldest event number of a window.
    fn oldest(&self, among_newest: bool) -> u64 {
        let numbers = self.windows.iter().filter_map(|window| window.oldest(among_newest));
        numbers.min().unwrap_or(0)
    }

    /// The concept has changed: a window's column becomes LONG, and LONG the SPARE.
    fn reset(&mut self, window: usize) {
        let long = self.spare();
        (self.long, self.spared) = (long, true);
        self.reigns[long] = self.next_reign;
        self.next_reign += 1;
        self.rows.begin_epoch(long);
        self.sizes[long] = self.sizes[window];
        let mut held: Vec<(u64, usize, usize)> = Vec::new(); // number, class, place
        for side in 0..2 {
            let newest = self.windows[side].newest();
            for place in 0..self.windows[side].len() {
                let inside = window == MID || place >= newest;
                let event = self.windows[side].get_mut(place);
                event.held[long] = inside;
                event.alphas[long] = if inside { event.alphas[window] } else { 0.0 };
                if inside {
                    held.push((event.number, side, place));
                }
            }
        }
        held.sort_unstable(); // the oldest first
        for &(_, side, place) in &held {
            self.rows.placed_margins(&self.windows[side].get(place).inputs); // rows of this epoch
            let event = self.windows[side].get(place);
            let mut steps = [0.0; DUAL];
            steps[long] = sign(side) * event.alphas[long];
            self.rows.shift(&event.inputs, steps);
        }
        for &(_, side, place) in &held {
            self.rows.learn_arow(&self.windows[side].get(place).inputs, sign(side), rows::CALM);
        }
        self.trust[long] += self.trust[window];
        self.trust[window] = 0.0;
        let reason = if window == MID { Reason::Mid } else { Reason::Short };
        self.note_change(held.first().map_or(0, |&(number, ..)| number), reason);
    }
}

/// y of a class.
fn sign(side: usize) -> f64 {
    if side == 1 { 1.0 } else { -1.0 }
}

impl ModelKind for Spring {
    type Config = SpringConfig;
    type State = SpringState;

    fn new(config: SpringConfig, _vectors: usize) -> Self {
        Self {
            rows: Rows::new(config.own as usize),
            windows: Default::default(),
            long: 0,
            spared: false,
            trust: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            sizes: [[0.0; 2]; DUAL],
            class_odds: ClassOdds::default(),
            fading_slope: Slope::default(),
            since: 0,
            learned: 0,
            probability: Probability::default(),
            reigns: [0, 0],
            next_reign: 1,
            changes: Vec::new(),
        }
    }

    fn score(&self, features: &[FeatureValue], _draws: &Generator) -> Score {
        self.score_of(&self.rows.margins(features))
    }

    fn score_next(&mut self, features: &[FeatureValue], _draws: &Generator) -> Score {
        let margins = self.rows.refreshed_margins(features);
        self.score_of(&margins)
    }

    fn probabilities(&self, features: &[FeatureValue]) -> Option<Vec<f64>> {
        let log_odds = self.probability.log_odds(self.balanced_margin(features));
        Some(vec![logistic(-log_odds), logistic(log_odds)])
    }

    fn check(&self, features: &[FeatureValue]) -> Result<(), Error> {
        let norm = squared_norm(features)?;
        if norm <= LARGEST_NORM { Ok(()) } else { Err(too_large("its part in later sums")) }
    }

    fn learn(
        &mut self,
        example: &Example<'_>,
        _draws: &mut Generator,
    ) -> Result<Outcome<'_>, Error> {
        self.check(example.features)?;
        let (inputs, side) = (example.features, example.target.class());
        let y = sign(side);

        // From here on nothing can fail.
        self.set_rows(example.rows);
        self.learned += 1;
        if let Some(last) = self.changes.last()
            && example.number < last.number
        {
            let earlier = self.changes.iter().rev().skip(1);
            let before = earlier.into_iter().find(|change| change.number <= example.number);
            let first = (self.changes.len() < REMEMBERED).then_some(0); // later it is forgotten
            let reign = before.map(|change| change.reign).or(first);
            let mistake = y * (self.balanced_margin(inputs) + self.shift()) <= 0.0;
            let placed = self.rows.located(inputs);
            self.learn_old(&placed, side, reign);
            return Ok(Outcome { mistake, scores: PriorScores::None });
        }
        let inputs = &self.rows.located(inputs)[..];
        let margins = self.rows.placed_margins(inputs);
        let columns = self.columns(&margins);
        let margin = self.mixed(columns);
        let mistake = y * (margin + self.shift()) <= 0.0;
        if example.weight > 0.0 {
            self.probability.learn(margin, side == 1, example.weight);
            self.judge(columns, y);
            if self.spared && self.trust[self.spare()] > BACK {
                self.long = self.spare();
                self.note_change(self.oldest(true), Reason::Returned);
            }
            let [calm, fading] = margins.arow();
            self.class_odds.move_slope(calm, side);
            self.fading_slope.learn(fading, side);
            self.class_odds.count([1.0 - side as f64, side as f64]);
        }
        for column in [rows::CALM, rows::FADING] {
            self.rows.learn_arow(inputs, y, column);
        }
        self.rows.count_label(inputs, side == 1);
        match self.store(example.number, inputs, side) {
            Some(place) => self.step(side, place),
            None => self.learn_once(inputs, side, self.long),
        }
        for round in 1..=REPEATED {
            self.repeat(round as usize % 2, false);
        }
        for round in REPEATED + 1..=REPEATED + REPEATED_NEWEST {
            self.repeat(round as usize % 2, true);
        }
        self.since += 1;
        let first =
            (1..COLUMNS).fold(
                0,
                |best, column| {
                    if self.trust[column] > self.trust[best] { column } else { best }
                },
            );
        if self.trust[self.long] + self.trust[CALM] < LOST
            && (first == MID || first == SHORT)
            && self.since > REST
        {
            self.reset(first);
        }
        Ok(Outcome { mistake, scores: PriorScores::None })
    }

    fn set_rows(&mut self, rows: usize) {
        self.rows.set_rows(rows);
    }

    /// The class odds of CALM and FADING and the shift are part of the last feature's contribution, which is
    /// constant.
    fn contributions(&self, features: &[FeatureValue], _draws: &Generator) -> Vec<f64> {
        let weigh = |input: &FeatureValue| self.effective_weight(input.id) * input.value;
        let mut parts: Vec<f64> = features.iter().map(weigh).collect();
        if let Some(last) = parts.last_mut() {
            let trust = self.trust[CALM] + self.trust[FADING];
            *last += self.shift() - trust * self.class_odds.prior();
        }
        parts
    }

    fn changes(&self) -> Vec<(u64, u64, &'static str)> {
        let told = |change: &Change| (change.number, change.learned, change.reason.word());
        self.changes.iter().map(told).collect()
    }

    fn details(&self, _features: &[FeatureValue]) -> Vec<(&'static str, f64)> {
        self.trusts().to_vec()
    }

    fn weight(&self, id: FeatureId, _vector: usize) -> f64 {
        self.effective_weight(id)
    }

    fn can_evict(&self) -> bool {
        true
    }

    fn retain(&mut self, remap: &IndexRemap) {
        let moved = self.rows.retain(remap);
        for window in &mut self.windows {
            window.retain(&moved);
        }
    }

    fn state(&self) -> SpringState {
        let [a, b, mid, short, calm, fading] = self.trust;
        let Slope { value: slope, curve } = self.fading_slope;
        SpringState {
            rows: self.rows.state(),
            windows: [self.windows[0].state(&self.rows), self.windows[1].state(&self.rows)],
            long: self.long,
            spared: self.spared,
            trust: [a, b, mid, short, calm],
            fading: FadingState { trust: fading, slope, curve },
            sizes: self.sizes,
            odds: self.class_odds.odds,
            slope: self.class_odds.slope,
            curve: self.class_odds.curve,
            since: self.since,
            learned: self.learned,
            probability: self.probability,
            reigns: self.reigns,
            next_reign: self.next_reign,
            changes: self.changes.clone(),
        }
    }

    fn adopt(
        &mut self,
        state: &SpringState,
        rows: usize,
        _vectors: usize,
    ) -> Result<(), &'static str> {
        state.check()?;
        self.rows.adopt(&state.rows, rows)?;
        for (window, saved) in self.windows.iter_mut().zip(&state.windows) {
            window.adopt(saved, rows, &mut self.rows)?;
        }
        (self.long, self.spared, self.trust) = (state.long, state.spared, state.trusts());
        (self.sizes, self.class_odds) = (state.sizes, state.class_odds());
        self.fading_slope = state.fading_slope();
        (self.since, self.learned) = (state.since, state.learned);
        self.probability = state.probability;
        (self.reigns, self.next_reign) = (state.reigns, state.next_reign);
        self.changes.clone_from(&state.changes);
        Ok(())
    }
}

impl SpringState {
    fn class_odds(&self) -> ClassOdds {
        ClassOdds { slope: self.slope, curve: self.curve, odds: self.odds }
    }

    fn fading_slope(&self) -> Slope {
        Slope { value: self.fading.slope, curve: self.fading.curve }
    }

    fn trusts(&self) -> [f64; COLUMNS] {
        let [a, b, mid, short, calm] = self.trust;
        [a, b, mid, short, calm, self.fading.trust]
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.long > 1 || self.changes.len() > REMEMBERED {
            return Err("it has columns or changes that there are not");
        }
        let shares = |shares: &[f64]| shares.iter().all(|share| (0.0..=1.0).contains(share));
        let total: f64 = self.trusts().iter().sum();
        if !shares(&self.trusts()) || (total - 1.0).abs() > 1e-6 {
            return Err("its trust in columns does not sum to 1");
        }
        let counts = self.sizes.iter().flatten();
        if !counts.clone().all(|&count| (0.0..=1e15).contains(&count)) {
            return Err("a number is too large or not finite");
        }
        self.class_odds().check()?;
        if !self.fading_slope().is_sound() {
            return Err("the slope of a column is too large, too small or not finite");
        }
        let most = u64::MAX / 2;
        if [self.since, self.learned, self.next_reign].iter().any(|&count| count > most) {
            return Err("a counter is too large");
        }
        let short = |side: usize| self.windows[side].len().min(NEWEST) as f64;
        if (0..2).any(|side| self.sizes[SHORT][side] != short(side)) {
            return Err("its windows are not as long as their counts");
        }
        self.probability.check()
    }
}
