//! The weights of the inputs for each class, and how much each input matters.
//!
//! An input has one weight per class and column, and one *relevance* ρ, the prior variance of its weights, for all
//! classes. With S_k the sum of the input over the N_k labels of class k, T = ΣS_k, R its sum of squares, L = ΣN_k,
//! and K the classes with labels, it follows from the analysis of variance:
//!
//! ```text
//! v = R/L − (T/L)²      B = Σ S_k²/N_k − T²/L      effect = 2K/(K − 1) · (B/(Lv) − (K − 1)/L)
//! per kind:   e = max(0, effect), B and v summed over the inputs      s = e + 4/L
//!             ρ_kind = max(.02, (e + .3/L)/max over kinds)
//! per input:  ρ = ρ_kind · clip((max(0, effect) + s)/(2s), .1, 5)
//! ```
//!
//! With two classes of one size this is the relevance of two classes. Sums over a kind are kept label by label; ρ of
//! an input is worked out when the input is used. A change of concept is an *epoch*: a row catches up when it is used
//! next. A class that is new has weights of 0: no row is touched.

use serde::{Deserialize, Serialize};

use crate::event::{FeatureId, FeatureValue, UNKNOWN};
use crate::model::spring::rows::{DUAL, KINDS, PlacedInput};
use crate::storage::index_remap::IndexRemap;

const PRIOR_LABELS: f64 = 4.0; // what shrinks an input to its kind, in labels
const KIND_PRIOR_LABELS: f64 = 0.3; // the same for a kind
const LEAST_KIND: f64 = 0.02;
const SMALLEST: f64 = 0.1;
const LARGEST: f64 = 5.0;
const STILL: f64 = 1e-9; // up to this ratio of v to R/L an input counts as constant, and is as its kind
const FADED: f64 = 1e-6; // up to so many labels a class counts as one without
/// No place, neither this nor the next number: the feature was never learned.
const NONE: u32 = u32::MAX - 1;
/// No learned number in a file is larger.
pub const LARGEST_NUMBER: f64 = 1e30;

/// What an input has for all classes.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// R
    squares: f64,
    /// ρ as of `stamp`.
    relevance: f64,
    stamp: u32,
    epoch: u32,
}

/// The weights of one class, by place.
#[derive(Clone, Debug, Default)]
struct ClassWeights {
    dual: Vec<[f64; DUAL]>,
    /// S
    sums: Vec<f64>,
}

/// Sums over all inputs of a kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct KindSums {
    /// ΣS_k² of each class.
    classes: Vec<f64>,
    /// ΣT²
    total: f64,
    /// ΣR
    squares: f64,
}

/// s and ρ of a kind.
#[derive(Clone, Copy, Debug)]
struct KindRelevance {
    strength: f64,
    relevance: f64,
}

#[derive(Clone, Debug)]
pub struct ClassRows {
    /// The place of each feature's first row; [`NONE`] until it is learned.
    places: Vec<u32>,
    rows: Vec<Row>,
    classes: Vec<ClassWeights>,
    /// The feature of every [`KINDS`] rows.
    features: Vec<FeatureId>,
    /// The first features are the learner's own: they have no relevance.
    own: usize,
    /// N of each class.
    labels: Vec<f64>,
    kinds: [KindSums; KINDS],
    strengths: [KindRelevance; KINDS],
    /// 1/N of each class with labels, 0 of the others; 1/L; K.
    inverses: Vec<f64>,
    inverse_total: f64,
    with_labels: f64,
    /// Grows whenever relevances change.
    stamp: u32,
    epoch: u32,
    /// The last epoch that cleared column 0, column 1.
    cleared: [u32; 2],
}

/// The logits of every class in every column, and `Σρz²`.
#[derive(Clone, Debug, Default)]
pub struct Logits {
    pub classes: Vec<[f64; DUAL]>,
    pub squared_norm: f64,
}

/// What is saved: the rows of the features that were learned.
#[derive(Serialize, Deserialize)]
pub struct ClassRowsState {
    features: Vec<FeatureId>,
    /// R of values and presences.
    squares: Vec<[f64; KINDS]>,
    /// By class, then by feature.
    dual: Vec<Vec<[[f64; DUAL]; KINDS]>>,
    sums: Vec<Vec<[f64; KINDS]>>,
    labels: Vec<f64>,
    kinds: [KindSums; KINDS],
    /// s and ρ of both kinds.
    strengths: [[f64; 2]; KINDS],
}

impl Logits {
    /// Those of one column.
    pub fn column(&self, column: usize) -> Vec<f64> {
        self.classes.iter().map(|columns| columns[column]).collect()
    }
}

impl ClassRows {
    pub fn new(own: usize) -> Self {
        Self {
            places: Vec::new(),
            rows: Vec::new(),
            classes: Vec::new(),
            features: Vec::new(),
            own,
            labels: Vec::new(),
            kinds: Default::default(),
            strengths: [KindRelevance { strength: 0.0, relevance: 1.0 }; KINDS],
            inverses: Vec::new(),
            inverse_total: 0.0,
            with_labels: 0.0,
            stamp: 0,
            epoch: 0,
            cleared: [0; 2],
        }
    }

    pub fn classes(&self) -> usize {
        self.classes.len()
    }

    /// A class without weights.
    pub fn add_class(&mut self) {
        let rows = self.rows.len();
        self.classes.push(ClassWeights { dual: vec![[0.0; DUAL]; rows], sums: vec![0.0; rows] });
        self.labels.push(0.0);
        self.inverses.push(0.0);
        for kind in &mut self.kinds {
            kind.classes.push(0.0);
        }
    }

    /// Extend to so many rows.
    pub fn set_rows(&mut self, rows: usize) {
        self.places.resize(rows / KINDS, NONE);
    }

    /// The place of an input's row; beyond the last if its feature was never learned.
    fn place(&self, id: FeatureId) -> usize {
        let first = self.places.get(id as usize / KINDS).copied().unwrap_or(NONE);
        first as usize + id as usize % KINDS
    }

    /// Whether a row's feature was learned.
    pub fn is_learned(&self, id: FeatureId) -> bool {
        self.place(id) < self.rows.len()
    }

    /// Whether a column of a row was cleared since the row was used.
    fn is_cleared(&self, place: usize, column: usize) -> bool {
        column < 2 && self.rows[place].epoch < self.cleared[column]
    }

    /// By how much the sums of a row are to be faded.
    fn fading(&self, place: usize) -> f64 {
        match self.epoch - self.rows[place].epoch {
            0 => 1.0,
            behind => 0.5_f64.powi(behind as i32),
        }
    }

    /// The dual weights of a row as they are now.
    fn dual(&self, class: usize, place: usize) -> [f64; DUAL] {
        let mut dual = self.classes[class].dual[place];
        for (column, weight) in dual.iter_mut().enumerate() {
            if self.is_cleared(place, column) {
                *weight = 0.0;
            }
        }
        dual
    }

    /// `ρu` of a row for one class, if its feature was learned.
    pub fn weights(&self, id: FeatureId, class: usize) -> Option<[f64; DUAL]> {
        let place = self.place(id);
        if place >= self.rows.len() {
            return None;
        }
        let relevance = self.relevance_at(place);
        Some(self.dual(class, place).map(|weight| relevance * weight))
    }

    /// ρ of a row now.
    fn relevance_at(&self, place: usize) -> f64 {
        let row = &self.rows[place];
        if row.stamp == self.stamp { row.relevance } else { self.relevance(place) }
    }

    fn relevance(&self, place: usize) -> f64 {
        if (self.features[place / KINDS] as usize) < self.own {
            return 1.0;
        }
        let kind = place % KINDS;
        let KindRelevance { strength, relevance } = self.strengths[kind];
        if strength == 0.0 || self.with_labels < 2.0 {
            return relevance;
        }
        let fading = self.fading(place);
        let (mut total, mut between) = (0.0, 0.0);
        for (class, inverse) in self.classes.iter().zip(&self.inverses) {
            let sum = fading * class.sums[place];
            total += sum;
            between += sum * sum * inverse;
        }
        let mean_square = fading * self.rows[place].squares * self.inverse_total;
        let mean = total * self.inverse_total;
        let v = mean_square - mean * mean;
        if v <= STILL * mean_square {
            return relevance;
        }
        let effect = self.effect(between - total * mean, v).max(0.0);
        relevance * ((effect + strength) / (2.0 * strength)).clamp(SMALLEST, LARGEST)
    }

    /// What is explained beyond chance: of B and v.
    fn effect(&self, between: f64, v: f64) -> f64 {
        let k = self.with_labels;
        2.0 * k / (k - 1.0) * (between / v - (k - 1.0)) * self.inverse_total
    }

    /// Catch up a row.
    fn refresh(&mut self, place: usize) {
        if self.rows[place].epoch < self.epoch {
            let fading = self.fading(place);
            for class in 0..self.classes.len() {
                let dual = self.dual(class, place);
                let weights = &mut self.classes[class];
                weights.dual[place] = dual;
                weights.sums[place] *= fading;
            }
            self.rows[place].squares *= fading;
            self.rows[place].epoch = self.epoch;
        }
        let relevance = self.relevance(place);
        let row = &mut self.rows[place];
        (row.stamp, row.relevance) = (self.stamp, relevance);
    }

    /// What follows from labels and strengths; all rows are behind then.
    fn renew(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
        let inverse = |n: f64| if n > FADED { 1.0 / n } else { 0.0 };
        self.inverses = self.labels.iter().map(|&n| inverse(n)).collect();
        self.inverse_total = inverse(self.labels.iter().sum());
        self.with_labels = self.labels.iter().filter(|&&n| n > FADED).count() as f64;
    }

    /// The inputs of an event by the places of their rows; a feature that was never learned gets its rows.
    pub fn located(&mut self, inputs: &[FeatureValue]) -> Vec<PlacedInput> {
        let mut placed = Vec::with_capacity(inputs.len());
        for input in inputs {
            let feature = input.id as usize / KINDS;
            if self.places[feature] == NONE {
                self.places[feature] = self.rows.len() as u32;
                let stamp = self.stamp.wrapping_sub(1); // its relevance is worked out when it is used
                let row = Row { squares: 0.0, relevance: 1.0, stamp, epoch: self.epoch };
                self.rows.extend([row; KINDS]);
                for class in &mut self.classes {
                    class.dual.extend([[0.0; DUAL]; KINDS]);
                    class.sums.extend([0.0; KINDS]);
                }
                self.features.push(feature as FeatureId);
            }
            placed.push(PlacedInput { place: self.place(input.id) as u32, value: input.value });
        }
        placed
    }

    /// The row of the model that lies at a place.
    pub fn id_at(&self, place: u32) -> FeatureId {
        self.features[place as usize / KINDS] * KINDS as FeatureId + place % KINDS as FeatureId
    }

    /// The logits of an event. Inputs whose features were never learned add nothing.
    pub fn logits(&self, inputs: &[FeatureValue]) -> Logits {
        let mut placed = Vec::with_capacity(inputs.len());
        let mut behind = false;
        for input in inputs {
            let place = self.place(input.id);
            if place < self.rows.len() {
                behind |= self.rows[place].epoch < self.epoch;
                placed.push(PlacedInput { place: place as u32, value: input.value });
            }
        }
        let scaled = |input: &PlacedInput| self.relevance_at(input.place as usize) * input.value;
        let values: Vec<f64> = placed.iter().map(scaled).collect();
        let mut logits = self.sums_of(&placed, &values);
        if behind {
            for (class, sums) in logits.classes.iter_mut().enumerate() {
                *sums = [0.0; DUAL];
                for (input, value) in placed.iter().zip(&values) {
                    add(sums, &self.dual(class, input.place as usize), *value);
                }
            }
        }
        logits
    }

    /// The same where rows that are behind are caught up.
    pub fn refreshed_logits(&mut self, inputs: &[FeatureValue]) -> Logits {
        for input in inputs {
            let place = self.place(input.id);
            if self.rows.get(place).is_some_and(|row| row.stamp != self.stamp) {
                self.refresh(place);
            }
        }
        self.logits(inputs)
    }

    /// The logits of an event whose features all have rows, which are caught up.
    pub fn placed_logits(&mut self, inputs: &[PlacedInput]) -> Logits {
        self.catch_up(inputs);
        let scaled = |input: &PlacedInput| self.rows[input.place as usize].relevance * input.value;
        let values: Vec<f64> = inputs.iter().map(scaled).collect();
        self.sums_of(inputs, &values)
    }

    /// `ρ·u·z` of every class and column, with `ρz` as `values`, for rows that are caught up.
    fn sums_of(&self, inputs: &[PlacedInput], values: &[f64]) -> Logits {
        let squared_norm = inputs.iter().zip(values).map(|(input, rz)| rz * input.value).sum();
        let of_class = |class: &ClassWeights| {
            let mut sums = [0.0; DUAL];
            for (input, value) in inputs.iter().zip(values) {
                add(&mut sums, &class.dual[input.place as usize], *value);
            }
            sums
        };
        Logits { classes: self.classes.iter().map(of_class).collect(), squared_norm }
    }

    pub fn catch_up(&mut self, inputs: &[PlacedInput]) {
        for input in inputs {
            let place = input.place as usize;
            if self.rows[place].stamp != self.stamp {
                self.refresh(place);
            }
        }
    }

    /// Move the dual weights: `u += step·z` for every class and column. Rows are caught up.
    pub fn shift(&mut self, inputs: &[PlacedInput], steps: &[[f64; DUAL]]) {
        for (class, step) in self.classes.iter_mut().zip(steps) {
            for input in inputs {
                add(&mut class.dual[input.place as usize], step, input.value);
            }
        }
    }

    /// Count a label of an event in the sums of its inputs, which are caught up.
    pub fn count_label(&mut self, inputs: &[PlacedInput], class: usize) {
        self.catch_up(inputs);
        self.labels[class] += 1.0;
        for &PlacedInput { place, value: z } in inputs {
            let place = place as usize;
            if (self.features[place / KINDS] as usize) < self.own {
                continue;
            }
            let total: f64 = self.classes.iter().map(|class| class.sums[place]).sum();
            let all = &mut self.kinds[place % KINDS];
            let sum = &mut self.classes[class].sums[place];
            all.classes[class] += z * (2.0 * *sum + z);
            all.total += z * (2.0 * total + z);
            all.squares += z * z;
            *sum += z;
            self.rows[place].squares += z * z;
        }
        self.renew();
        self.weigh_kinds();
    }

    /// Work out s and ρ of both kinds from the sums.
    fn weigh_kinds(&mut self) {
        if self.with_labels < 2.0 {
            return;
        }
        let per_label = self.inverse_total;
        let explained = [0, 1].map(|kind| {
            let all = &self.kinds[kind];
            let v = (all.squares - all.total * per_label) * per_label;
            let parts = all.classes.iter().zip(&self.inverses);
            let between: f64 = parts.map(|(sum, inverse)| sum * inverse).sum();
            let effect = self.effect(between - all.total * per_label, v);
            (v > 1e-12).then_some(effect.max(0.0))
        });
        let prior = KIND_PRIOR_LABELS * per_label;
        let top = explained.iter().flatten().fold(0.0, |top: f64, e| top.max(e + prior));
        self.strengths = explained.map(|explained| match explained {
            Some(e) => KindRelevance {
                strength: e + PRIOR_LABELS * per_label,
                relevance: ((e + prior) / top).max(LEAST_KIND),
            },
            None => KindRelevance { strength: 0.0, relevance: 1.0 },
        });
    }

    /// Clear a column and halve the label sums: an epoch.
    pub fn begin_epoch(&mut self, column: usize) {
        self.epoch += 1;
        self.cleared[column] = self.epoch;
        for labels in &mut self.labels {
            *labels *= 0.5;
        }
        for kind in &mut self.kinds {
            kind.classes.iter_mut().for_each(|sum| *sum *= 0.25);
            kind.total *= 0.25;
            kind.squares *= 0.5;
        }
        self.renew();
    }

    /// Drop the rows of evicted features. Returns the new place of every old one, none if it is dropped.
    pub fn retain(&mut self, remap: &IndexRemap) -> Vec<Option<u32>> {
        let features = std::mem::take(&mut self.features);
        self.places = vec![NONE; remap.len() / KINDS];
        let mut moved = vec![None; self.rows.len()];
        let mut kept = Vec::new();
        // In the order of the features, which saving keeps, and not in that of learning: sums are rounded.
        let mut slots: Vec<(FeatureId, usize)> = features.into_iter().zip(0..).collect();
        slots.sort_unstable();
        for (feature, slot) in slots {
            let range = slot * KINDS..(slot + 1) * KINDS;
            let id = remap.of(feature * KINDS as FeatureId);
            if id != UNKNOWN {
                self.places[id as usize / KINDS] = kept.len() as u32;
                self.features.push(id / KINDS as FeatureId);
                for place in range {
                    moved[place] = Some(kept.len() as u32);
                    kept.push(place);
                }
                continue;
            }
            for (kind, place) in range.enumerate() {
                let fading = self.fading(place);
                let all = &mut self.kinds[kind];
                let mut total = 0.0;
                for (class, squares) in self.classes.iter().zip(&mut all.classes) {
                    let sum = fading * class.sums[place];
                    total += sum;
                    *squares = (*squares - sum * sum).max(0.0);
                }
                all.total = (all.total - total * total).max(0.0);
                all.squares = (all.squares - fading * self.rows[place].squares).max(0.0);
            }
        }
        self.rows = kept.iter().map(|&place| self.rows[place]).collect();
        for class in &mut self.classes {
            class.dual = kept.iter().map(|&place| class.dual[place]).collect();
            class.sums = kept.iter().map(|&place| class.sums[place]).collect();
        }
        moved
    }

    pub fn state(&self) -> ClassRowsState {
        let mut places = Vec::new();
        let mut features = Vec::new();
        for (feature, &first) in self.places.iter().enumerate() {
            if first != NONE {
                places.push([0, 1].map(|kind| first as usize + kind));
                features.push(feature as FeatureId);
            }
        }
        let squares = |place: usize| self.fading(place) * self.rows[place].squares;
        let classes = 0..self.classes();
        ClassRowsState {
            features,
            squares: places.iter().map(|pair| pair.map(squares)).collect(),
            dual: classes
                .clone()
                .map(|k| places.iter().map(|pair| pair.map(|place| self.dual(k, place))).collect())
                .collect(),
            sums: classes
                .map(|k| {
                    let sum = |place: usize| self.fading(place) * self.classes[k].sums[place];
                    places.iter().map(|pair| pair.map(sum)).collect()
                })
                .collect(),
            labels: self.labels.clone(),
            kinds: self.kinds.clone(),
            strengths: [0, 1].map(|kind| {
                let KindRelevance { strength, relevance } = self.strengths[kind];
                [strength, relevance]
            }),
        }
    }

    /// Put a saved state back, for so many rows and classes.
    pub fn adopt(
        &mut self,
        state: &ClassRowsState,
        rows: usize,
        classes: usize,
    ) -> Result<(), &'static str> {
        let d = state.features.len();
        let lengths = [state.dual.len(), state.sums.len(), state.labels.len()];
        if lengths != [classes; 3] || state.kinds.iter().any(|kind| kind.classes.len() != classes) {
            return Err("its weights are not as many as its classes");
        }
        if state.squares.len() != d
            || state.dual.iter().any(|dual| dual.len() != d)
            || state.sums.iter().any(|sums| sums.len() != d)
        {
            return Err("its weights are not as many as their features");
        }
        let rising = state.features.windows(2).all(|pair| pair[0] < pair[1]);
        if !rising || state.features.last().is_some_and(|&last| last as usize >= rows / KINDS) {
            return Err("a weight belongs to a feature that there is not");
        }
        state.check_numbers()?;
        self.set_rows(rows);
        self.features.clone_from(&state.features);
        for (first, &feature) in (0..).step_by(KINDS).zip(&state.features) {
            self.places[feature as usize] = first;
        }
        let row =
            |&squares: &f64| Row { squares, relevance: 1.0, stamp: self.stamp, epoch: self.epoch };
        self.rows = state.squares.as_flattened().iter().map(row).collect();
        self.classes = (0..classes)
            .map(|k| ClassWeights {
                dual: state.dual[k].as_flattened().to_vec(),
                sums: state.sums[k].as_flattened().to_vec(),
            })
            .collect();
        self.labels.clone_from(&state.labels);
        self.kinds.clone_from(&state.kinds);
        self.strengths =
            state.strengths.map(|[strength, relevance]| KindRelevance { strength, relevance });
        self.renew();
        Ok(())
    }
}

impl ClassRowsState {
    fn check_numbers(&self) -> Result<(), &'static str> {
        let dual = self.dual.iter().flatten().flatten().flatten();
        let sums = self.sums.iter().flatten().flatten();
        let kinds = self.kinds.iter().flat_map(|kind| kind.classes.iter().chain([&kind.total]));
        if !dual.chain(sums).chain(kinds).all(|number| number.abs() <= LARGEST_NUMBER) {
            return Err("a number is too large or not finite");
        }
        let squares = self.squares.iter().flatten().copied();
        let kinds = self.kinds.iter().map(|kind| kind.squares);
        let mut numbers = squares.chain(kinds).chain(self.labels.iter().copied());
        if !numbers.all(|number| (0.0..=LARGEST_NUMBER).contains(&number)) {
            return Err("a sum of squares is negative, too large or not finite");
        }
        let strength = |&[s, relevance]: &[f64; 2]| {
            (0.0..=LARGEST_NUMBER).contains(&s) && relevance > 0.0 && relevance <= 1.0
        };
        if self.strengths.iter().all(strength) {
            return Ok(());
        }
        Err("a relevance is not in (0, 1]")
    }
}

/// `sums += value·weights`.
#[inline(always)]
fn add(sums: &mut [f64; DUAL], weights: &[f64; DUAL], value: f64) {
    for (sum, weight) in sums.iter_mut().zip(weights) {
        *sum += weight * value;
    }
}
