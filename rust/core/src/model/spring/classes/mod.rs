//! Spring for several classes: multinomial logistic regression that follows a concept that changes.
//!
//! Every input has four weights for each class, in the columns LONG, SPARE, MID and SHORT of two classes
//! ([`crate::model::spring`]). A column solves
//!
//! ```text
//! min ½Σ_k‖u_k‖²/ρ + Σ_j C_j (ln Σ_k exp(q_jk) − q_jy)      C_y = 4(N + K)/(K(N_y + 1))
//! ```
//!
//! by exact steps on its dual ([`softmax_step`]), N labels of K classes in the column, so that classes weigh the same
//! however rare they are. The logits of a class are `q_k = Σ trust_c·q_ck`; the largest is the prediction. A label
//! multiplies the trust of each column by the probability that the column gave the label before it was learned, with
//! the class odds put back. All classes share trust, relevance and changes of concept. A class that is new begins with
//! weights of 0 in every column and moves no trust: no column can have known it.
//!
//! There is no column CALM: beside multinomial columns AROW brought nothing.

pub mod probability;
pub mod rows;
pub mod softmax_step;
pub mod windows;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::model::example::{Example, Outcome, PriorScores, Score, squared_norm, too_large};
use crate::model::kind::ModelKind;
use crate::model::scores::largest;
use crate::model::spring::classes::probability::ClassProbability;
use crate::model::spring::classes::rows::{ClassRows, ClassRowsState, Logits};
use crate::model::spring::classes::softmax_step::{log_loss, step};
use crate::model::spring::classes::windows::{Entered, NEWEST, StoredEvent, Window, WindowState};
use crate::model::spring::rows::{DUAL, PlacedInput};
use crate::model::spring::{
    BACK, Change, MID, REMEMBERED, REPEATED, REPEATED_NEWEST, REST, Reason, SHARE, SHORT,
};
use crate::storage::index_remap::IndexRemap;
use crate::storage::math::{exp, ln};
use crate::storage::rng::Generator;

const C: f64 = 4.0; // of a label, classes of one size
const LOST: f64 = 0.02; // trust in LONG below which the concept has changed
const ODDS_FADING: f64 = 0.995;
const UNSEEN: f64 = 0.1; // labels that every class is given in its odds
/// Events with a larger ‖z‖² are refused; the scaler gives none.
const LARGEST_NORM: f64 = 100.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringClassesConfig {
    /// How many of the first features are the learner's own.
    pub own: u32,
}

#[derive(Clone, Debug)]
pub struct SpringClasses {
    rows: ClassRows,
    /// The stored events of each class.
    windows: Vec<Window>,
    /// The class repeated last, among all stored events and among the newest.
    turns: [usize; 2],
    /// Which of the columns 0 and 1 is LONG.
    long: usize,
    /// Whether there is a SPARE.
    spared: bool,
    trust: [f64; DUAL],
    /// Labels of each class in each column.
    sizes: Vec<[f64; DUAL]>,
    /// The labels of each class, the latest counting most.
    odds: Vec<f64>,
    /// Labels since the last change.
    since: u64,
    learned: u64,
    probability: ClassProbability,
    /// The reigns of columns 0 and 1.
    reigns: [u64; 2],
    next_reign: u64,
    changes: Vec<Change>,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct SpringClassesState {
    rows: ClassRowsState,
    windows: Vec<WindowState>,
    turns: [usize; 2],
    long: usize,
    spared: bool,
    trust: [f64; DUAL],
    sizes: Vec<[f64; DUAL]>,
    odds: Vec<f64>,
    since: u64,
    learned: u64,
    probability: ClassProbability,
    reigns: [u64; 2],
    next_reign: u64,
    changes: Vec<Change>,
}

impl SpringClasses {
    fn spare(&self) -> usize {
        1 - self.long
    }

    fn classes(&self) -> usize {
        self.windows.len()
    }

    fn add_class(&mut self) {
        self.rows.add_class();
        self.windows.push(Window::default());
        self.sizes.push([0.0; DUAL]);
        self.odds.push(0.0);
    }

    /// ln of the odds of each class, up to what they have in common.
    fn log_odds(&self) -> Vec<f64> {
        self.odds.iter().map(|odds| ln(odds + UNSEEN)).collect()
    }

    /// The logits of each class: those of the columns by trust.
    fn mixed(&self, logits: &Logits) -> Vec<f64> {
        let mix = |columns: &[f64; DUAL]| -> f64 {
            columns.iter().zip(self.trust).map(|(q, trust)| trust * q).sum()
        };
        logits.classes.iter().map(mix).collect()
    }

    /// What a row adds to the logit of a class, for a value of 1.
    fn effective_weight(&self, id: FeatureId, class: usize) -> f64 {
        let weights = self.rows.weights(id, class).unwrap_or_default();
        weights.iter().zip(self.trust).map(|(weight, trust)| trust * weight).sum()
    }

    /// Move trust by what each column said about a label.
    fn judge(&mut self, logits: &Logits, class: usize) {
        let (log_odds, spare) = (self.log_odds(), self.spare());
        let judged = |column: usize| column != spare || self.spared;
        let mut losses = [f64::INFINITY; DUAL];
        for column in (0..DUAL).filter(|&column| judged(column)) {
            let mut column_logits = logits.column(column);
            for (logit, odds) in column_logits.iter_mut().zip(&log_odds) {
                *logit += odds;
            }
            losses[column] = log_loss(&column_logits, class);
        }
        let count = (0..DUAL).filter(|&column| judged(column)).count();
        let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
        // The least trust is above 0, so that the total is, however much the others lost.
        let part =
            |column: usize| self.trust[column].max(f64::MIN_POSITIVE) * exp(best - losses[column]);
        let parts = [0, 1, 2, 3].map(|column| if judged(column) { part(column) } else { 0.0 });
        let total: f64 = parts.iter().sum();
        self.trust = [0, 1, 2, 3].map(|column| {
            let mixed_in = if judged(column) { SHARE / count as f64 } else { 0.0 };
            (1.0 - SHARE) * (parts[column] / total) + mixed_in
        });
    }

    /// C_y of a column.
    fn class_weight(&self, column: usize, class: usize) -> f64 {
        let total: f64 = self.sizes.iter().map(|sizes| sizes[column]).sum();
        let classes = self.classes() as f64;
        C * (total + classes) / (classes * (self.sizes[class][column] + 1.0))
    }

    /// One dual step in one column, for an event that is not stored.
    fn learn_once(&mut self, inputs: &[PlacedInput], class: usize, column: usize) {
        self.sizes[class][column] += 1.0;
        let mut duals = vec![[0.0; DUAL]; self.classes()];
        self.step(inputs, class, &mut duals, [column].into_iter());
    }

    /// A dual step on an event in some columns.
    fn step(
        &mut self,
        inputs: &[PlacedInput],
        class: usize,
        duals: &mut [[f64; DUAL]],
        columns: impl Iterator<Item = usize>,
    ) {
        let logits = self.rows.placed_logits(inputs);
        if logits.squared_norm <= 0.0 || self.classes() < 2 {
            return; // every value is 0, or no other class is known
        }
        let mut steps = vec![[0.0; DUAL]; self.classes()];
        for column in columns {
            let c = self.class_weight(column, class);
            let mut dual: Vec<f64> = duals.iter().map(|dual| dual[column]).collect();
            step(&mut dual, &logits.column(column), class, logits.squared_norm, c);
            for (k, new) in dual.into_iter().enumerate() {
                steps[k][column] = new - duals[k][column];
                duals[k][column] = new;
            }
        }
        self.rows.shift(inputs, &steps);
    }

    /// A dual step on a stored event, in every column that holds it.
    fn step_stored(&mut self, class: usize, place: usize) {
        let (classes, long) = (self.classes(), self.long);
        let newest = place >= self.windows[class].newest();
        let event = self.windows[class].get_mut(place);
        let held = event.held[long];
        let (inputs, mut duals) =
            (std::mem::take(&mut event.inputs), std::mem::take(&mut event.duals));
        duals.resize(classes, [0.0; DUAL]);
        let columns = [(long, held), (MID, true), (SHORT, newest)];
        let columns = columns.into_iter().filter_map(|(column, held)| held.then_some(column));
        self.step(&inputs, class, &mut duals, columns);
        let event = self.windows[class].get_mut(place);
        (event.inputs, event.duals) = (inputs, duals);
    }

    /// Take back what an event gave to a column.
    fn take_back(&mut self, inputs: &[PlacedInput], duals: &[[f64; DUAL]], column: usize) {
        let back = |dual: &[f64; DUAL]| {
            let mut step = [0.0; DUAL];
            step[column] = -dual[column];
            step
        };
        let steps: Vec<[f64; DUAL]> = duals.iter().map(back).collect();
        self.rows.shift(inputs, &steps);
    }

    /// Store a labelled event, and let others leave the windows.
    fn store(&mut self, number: u64, inputs: &[PlacedInput], class: usize) -> Option<usize> {
        let mut held = [false; 2];
        held[self.long] = true;
        let duals = vec![[0.0; DUAL]; self.classes()];
        let event = StoredEvent { number, inputs: inputs.to_vec(), duals, held };
        let Entered { place, left, aged } = self.windows[class].enter(event);
        let place = place?;
        self.sizes[class][self.long] += 1.0;
        self.sizes[class][MID] += 1.0;
        if place >= self.windows[class].newest() {
            self.sizes[class][SHORT] += 1.0;
        }
        if let Some(aged) = aged {
            let event = self.windows[class].get_mut(aged);
            let (inputs, duals) = (event.inputs.clone(), event.duals.clone());
            for dual in &mut event.duals {
                dual[SHORT] = 0.0;
            }
            self.sizes[class][SHORT] -= 1.0;
            self.take_back(&inputs, &duals, SHORT);
        }
        if let Some(left) = left {
            self.sizes[class][MID] -= 1.0;
            self.take_back(&left.inputs, &left.duals, MID);
        }
        Some(place)
    }

    /// The next stored event of the next class that has any gets a step.
    fn repeat(&mut self, among_newest: bool) {
        let turn = &mut self.turns[usize::from(among_newest)];
        let after = (*turn + 1..self.windows.len()).chain(0..=*turn);
        if let Some(class) = after.into_iter().find(|&class| self.windows[class].len() > 0) {
            *turn = class;
            let place = self.windows[class].next(among_newest);
            self.step_stored(class, place);
        }
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

    /// The concept has changed: a window's column becomes LONG, and LONG the SPARE.
    fn reset(&mut self, window: usize) {
        let long = self.spare();
        (self.long, self.spared) = (long, true);
        self.reigns[long] = self.next_reign;
        self.next_reign += 1;
        self.rows.begin_epoch(long);
        let mut held: Vec<(u64, usize, usize)> = Vec::new(); // number, class, place
        for class in 0..self.classes() {
            self.sizes[class][long] = self.sizes[class][window];
            let newest = self.windows[class].newest();
            for place in 0..self.windows[class].len() {
                let inside = window == MID || place >= newest;
                let event = self.windows[class].get_mut(place);
                event.held[long] = inside;
                for dual in &mut event.duals {
                    dual[long] = if inside { dual[window] } else { 0.0 };
                }
                if inside {
                    held.push((event.number, class, place));
                }
            }
        }
        held.sort_unstable(); // the oldest first
        for &(_, class, place) in &held {
            let event = self.windows[class].get(place);
            self.rows.catch_up(&event.inputs);
            let give = |dual: &[f64; DUAL]| {
                let mut step = [0.0; DUAL];
                step[long] = dual[long];
                step
            };
            let steps: Vec<[f64; DUAL]> = event.duals.iter().map(give).collect();
            self.rows.shift(&event.inputs, &steps);
        }
        self.trust[long] += self.trust[window];
        self.trust[window] = 0.0;
        let reason = if window == MID { Reason::Mid } else { Reason::Short };
        self.note_change(held.first().map_or(0, |&(number, ..)| number), reason);
    }

    /// The concept before the last change is back.
    fn bring_back(&mut self) {
        self.long = self.spare();
        let numbers = self.windows.iter().filter_map(Window::oldest_of_newest);
        self.note_change(numbers.min().unwrap_or(0), Reason::Returned);
    }

    /// The column that reigned at an event before the last change, if that is known and it is still there.
    fn reigned(&self, number: u64) -> Option<usize> {
        let before = self.changes.iter().rev().find(|change| change.number <= number);
        let first = (self.changes.len() < REMEMBERED).then_some(0); // later it is forgotten
        let reign = before.map(|change| change.reign).or(first)?;
        let column = self.reigns.iter().position(|&one| one == reign)?;
        (column == self.long || self.spared).then_some(column)
    }
}

impl ModelKind for SpringClasses {
    type Config = SpringClassesConfig;
    type State = SpringClassesState;

    fn new(config: SpringClassesConfig, vectors: usize) -> Self {
        let mut model = Self {
            rows: ClassRows::new(config.own as usize),
            windows: Vec::new(),
            turns: [0; 2],
            long: 0,
            spared: false,
            trust: [1.0, 0.0, 0.0, 0.0],
            sizes: Vec::new(),
            odds: Vec::new(),
            since: 0,
            learned: 0,
            probability: ClassProbability::default(),
            reigns: [0, 0],
            next_reign: 1,
            changes: Vec::new(),
        };
        (0..vectors).for_each(|_| model.add_class());
        model
    }

    fn score(&self, features: &[FeatureValue], _draws: &Generator) -> Score {
        score_of(&self.mixed(&self.rows.logits(features)))
    }

    fn score_next(&mut self, features: &[FeatureValue], _draws: &Generator) -> Score {
        let logits = self.rows.refreshed_logits(features);
        score_of(&self.mixed(&logits))
    }

    fn class_scores(&self, features: &[FeatureValue]) -> Option<Vec<f64>> {
        Some(self.mixed(&self.rows.logits(features)))
    }

    fn probabilities(&self, features: &[FeatureValue]) -> Option<Vec<f64>> {
        let logits = self.mixed(&self.rows.logits(features));
        Some(self.probability.probabilities(&logits, &self.log_odds()))
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
        let class = example.target.class();
        let known = class < self.classes();

        // From here on nothing can fail.
        self.set_rows(example.rows);
        while self.classes() <= class {
            self.add_class();
        }
        self.learned += 1;
        let inputs = &self.rows.located(example.features)[..];
        let logits = self.rows.placed_logits(inputs);
        let mixed = self.mixed(&logits);
        let mistake = !known || largest(&mixed, None) != Some(class);
        let outcome = Outcome { mistake, scores: PriorScores::None };
        if self.changes.last().is_some_and(|last| example.number < last.number) {
            if let Some(column) = self.reigned(example.number) {
                self.learn_once(inputs, class, column);
            }
            return Ok(outcome);
        }
        let counts = example.weight > 0.0;
        if counts && known && self.classes() > 1 {
            self.probability.learn(&mixed, &self.log_odds(), class, example.weight);
            self.judge(&logits, class);
            if self.spared && self.trust[self.spare()] > BACK && self.since > REST {
                self.bring_back();
            }
        }
        for (k, odds) in self.odds.iter_mut().enumerate().filter(|_| counts) {
            *odds = ODDS_FADING * *odds + f64::from(u8::from(k == class));
        }
        self.rows.count_label(inputs, class);
        match self.store(example.number, inputs, class) {
            Some(place) => self.step_stored(class, place),
            None => self.learn_once(inputs, class, self.long),
        }
        for _ in 0..REPEATED {
            self.repeat(false);
        }
        for _ in 0..REPEATED_NEWEST {
            self.repeat(true);
        }
        self.since += 1;
        let first = largest(&self.trust, None).unwrap_or(self.long);
        let window = first == MID || first == SHORT;
        if self.trust[self.long] < LOST && window && self.since > REST {
            self.reset(first);
        }
        Ok(outcome)
    }

    fn set_rows(&mut self, rows: usize) {
        self.rows.set_rows(rows);
    }

    fn contributions(&self, features: &[FeatureValue], _draws: &Generator) -> Vec<f64> {
        let logits = self.mixed(&self.rows.logits(features));
        let class = largest(&logits, None);
        let lead = |input: &FeatureValue| match (class, largest(&logits, class)) {
            (Some(class), Some(rival)) => {
                let weight = |class| self.effective_weight(input.id, class);
                (weight(class) - weight(rival)) * input.value
            }
            _ => 0.0,
        };
        features.iter().map(lead).collect()
    }

    /// Trust in the columns.
    fn details(&self, _features: &[FeatureValue]) -> Vec<(&'static str, f64)> {
        let [long, spare] = [self.trust[self.long], self.trust[self.spare()]];
        let [mid, short] = [self.trust[MID], self.trust[SHORT]];
        vec![("long", long), ("spare", spare), ("mid", mid), ("short", short)]
    }

    fn changes(&self) -> Vec<(u64, u64, &'static str)> {
        let word = |change: &Change| match change.reason {
            Reason::Short => "the last ten labels of each class predicted better",
            other => other.word(),
        };
        let told = |change: &Change| (change.number, change.learned, word(change));
        self.changes.iter().map(told).collect()
    }

    fn weight(&self, id: FeatureId, vector: usize) -> f64 {
        self.effective_weight(id, vector)
    }

    fn size(&self, id: FeatureId) -> f64 {
        let sizes = (0..self.classes()).map(|class| self.effective_weight(id, class).abs());
        sizes.fold(0.0, f64::max)
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

    fn state(&self) -> SpringClassesState {
        SpringClassesState {
            rows: self.rows.state(),
            windows: self.windows.iter().map(|window| window.state(&self.rows)).collect(),
            turns: self.turns,
            long: self.long,
            spared: self.spared,
            trust: self.trust,
            sizes: self.sizes.clone(),
            odds: self.odds.clone(),
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
        state: &SpringClassesState,
        rows: usize,
        vectors: usize,
    ) -> Result<(), &'static str> {
        state.check(vectors)?;
        self.rows.adopt(&state.rows, rows, vectors)?;
        self.windows = vec![Window::default(); vectors];
        for (window, saved) in self.windows.iter_mut().zip(&state.windows) {
            window.adopt(saved, rows, &mut self.rows)?;
        }
        self.sizes.clone_from(&state.sizes);
        self.odds.clone_from(&state.odds);
        (self.turns, self.long, self.spared) = (state.turns, state.long, state.spared);
        (self.trust, self.since, self.learned) = (state.trust, state.since, state.learned);
        self.probability = state.probability;
        (self.reigns, self.next_reign) = (state.reigns, state.next_reign);
        self.changes.clone_from(&state.changes);
        Ok(())
    }
}

/// The largest logit, and its lead over the second.
fn score_of(logits: &[f64]) -> Score {
    let class = largest(logits, None);
    let margin = match (class, largest(logits, class)) {
        (Some(first), Some(second)) => logits[first] - logits[second],
        _ => 0.0,
    };
    Score { class, margin, confidence: margin }
}

impl SpringClassesState {
    fn check(&self, classes: usize) -> Result<(), &'static str> {
        if [self.windows.len(), self.sizes.len(), self.odds.len()] != [classes; 3]
            || self.turns.iter().any(|&turn| turn >= classes.max(1))
        {
            return Err("its windows or counts are not as many as its classes");
        }
        if self.long > 1 || self.changes.len() > REMEMBERED {
            return Err("it has columns or changes that there are not");
        }
        let total: f64 = self.trust.iter().sum();
        if !self.trust.iter().all(|share| (0.0..=1.0).contains(share)) || (total - 1.0).abs() > 1e-6
        {
            return Err("its trust in columns does not sum to 1");
        }
        let counts = self.sizes.iter().flatten().chain(&self.odds);
        if !counts.into_iter().all(|count| (0.0..=1e15).contains(count)) {
            return Err("a count is negative, too large or not finite");
        }
        let most = u64::MAX / 2;
        if [self.since, self.learned, self.next_reign].iter().any(|&count| count > most) {
            return Err("a counter is too large");
        }
        for (window, sizes) in self.windows.iter().zip(&self.sizes) {
            let length = window.len();
            if [sizes[MID], sizes[SHORT]] != [length as f64, length.min(NEWEST) as f64] {
                return Err("its windows are not as long as their counts");
            }
        }
        self.probability.check()
    }
}
