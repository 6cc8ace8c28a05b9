//! The weights of Spring's inputs, and how much each input matters.
//!
//! A feature has two inputs, its value and its presence. An input has one weight per column. *Relevance* ρ is the
//! prior variance of an input's dual weights: `w = ρu`, where u is what is stored. It follows from the labels so
//! far. With S+ and S− the sums of the input over the P positive and N negative labels, R its sum of squares and
//! L = P + N:
//!
//! ```text
//! D = S+/P − S−/N      v = R/L − ((S+ + S−)/L)²      null = 1/P + 1/N
//! per kind:   e = max(0, Σ(D² − null·v)/Σv)      s = e + 4/L      ρ_kind = max(.02, (e + .3/L)/max over kinds)
//! per input:  ρ = ρ_kind · clip((max(0, D²/v − null) + s)/(2s), .1, 5)
//! ```
//!
//! so that an input counts as much as it explains beyond chance, shrunk to its kind. The sums over a kind are kept
//! label by label; ρ of an input is worked out when the input is used.
//!
//! When the concept changes a column is cleared and the sums are halved. That is an *epoch*: no row is touched, and
//! a row catches up when it is used next.

use serde::{Deserialize, Serialize};

use crate::event::{FeatureId, FeatureValue, UNKNOWN};
use crate::scaling::simd::F64x2;
use crate::storage::index_remap::IndexRemap;

/// Columns of dual weights.
pub const DUAL: usize = 4;
/// Columns of AROW's weights: CALM, and FADING, which forgets.
pub const AROW: usize = 2;
pub const CALM: usize = 0;
pub const FADING: usize = 1;
/// Inputs of a feature.
pub const KINDS: usize = 2;

const PRIOR_LABELS: f64 = 4.0; // what shrinks an input to its kind, in labels
const KIND_PRIOR_LABELS: f64 = 0.3; // the same for a kind
const LEAST_KIND: f64 = 0.02;
const SMALLEST: f64 = 0.1;
const LARGEST: f64 = 5.0;
/// What is left of the certainty of FADING's weights at each label of their inputs.
const KEPT: f64 = 0.99;
const STILL: f64 = 1e-9; // up to this ratio of v to R/L an input counts as constant, and is as its kind
/// No place, neither this nor the next number: the feature was never learned.
const NONE: u32 = u32::MAX - 1;

/// The weights of one input, in one cache line: all that a prediction needs.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Row {
    pub dual: [f64; DUAL],
    pub arow: [f64; AROW],
    /// ρ as of `stamp`.
    pub relevance: f64,
    stamp: u32,
    epoch: u32,
}

/// What the labels said of one input: S+, S−, R, and the variances of AROW's weights.
#[derive(Clone, Copy, Debug)]
struct Evidence {
    positive: f64,
    negative: f64,
    squares: f64,
    variances: [f64; AROW],
}

impl Default for Evidence {
    fn default() -> Self {
        Self { positive: 0.0, negative: 0.0, squares: 0.0, variances: [1.0; AROW] }
    }
}

/// Sums over all inputs of a kind: ΣS+², ΣS+S−, ΣS−², ΣR, and what follows from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct KindSums {
    positive: f64,
    mixed: f64,
    negative: f64,
    squares: f64,
}

/// s and ρ of a kind.
#[derive(Clone, Copy, Debug)]
struct KindRelevance {
    strength: f64,
    relevance: f64,
}

/// What relevances are worked out with, so that each costs one division.
#[derive(Clone, Copy, Debug, Default)]
struct Inverses {
    /// 1/P, 1/N; 0 while there are none.
    labels: [f64; 2],
    /// 1/L
    total: f64,
    /// 1/(2s) of each kind; 0 if s is 0.
    strengths: [f64; KINDS],
}

#[derive(Clone, Debug)]
pub struct Rows {
    /// The place of each feature's first row; [`NONE`] until it is learned.
    places: Vec<u32>,
    weights: Vec<Row>,
    evidence: Vec<Evidence>,
    /// The feature of every [`KINDS`] rows.
    features: Vec<FeatureId>,
    /// The first features are the learner's own: they have no relevance.
    own: usize,
    /// P and N.
    labels: [f64; 2],
    kinds: [KindSums; KINDS],
    strengths: [KindRelevance; KINDS],
    inverses: Inverses,
    /// Grows whenever relevances change.
    stamp: u32,
    epoch: u32,
    /// The last epoch that cleared column 0, column 1.
    cleared: [u32; 2],
}

/// `u·z` of every dual column with relevance, of AROW's without, and `Σρz²`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Margins {
    dual: [F64x2; DUAL / 2],
    arow: F64x2,
    squared_norm: f64,
}

/// An input of a labelled event, by the place of its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedInput {
    pub place: u32,
    pub value: f64,
}

/// What is saved: the rows that differ from new ones.
#[derive(Serialize, Deserialize)]
pub struct RowsState {
    features: Vec<FeatureId>,
    dual: Vec<[[f64; DUAL]; KINDS]>,
    calm: Vec<[[f64; 2]; KINDS]>,
    /// Empty in files of learners that had no FADING.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fading: Vec<[[f64; 2]; KINDS]>,
    sums: Vec<[[f64; 3]; KINDS]>,
    labels: [f64; 2],
    kinds: [KindSums; KINDS],
    /// s and ρ of both kinds.
    strengths: [[f64; 2]; KINDS],
}

impl Margins {
    pub fn dual(&self) -> [f64; DUAL] {
        let [[a, b], [c, d]] = self.dual.map(F64x2::to_array);
        [a, b, c, d]
    }

    /// Of CALM and FADING, before their slopes.
    pub fn arow(&self) -> [f64; AROW] {
        self.arow.to_array()
    }

    /// Of the inputs whose features were learned.
    pub fn squared_norm(&self) -> f64 {
        self.squared_norm
    }

    #[inline(always)]
    fn add(&mut self, row: &Row, value: f64) {
        let scaled = row.relevance * value;
        let [a, b, c, d] = row.dual;
        self.dual[0] += F64x2::splat(scaled) * F64x2::new([a, b]);
        self.dual[1] += F64x2::splat(scaled) * F64x2::new([c, d]);
        self.arow += F64x2::splat(value) * F64x2::new(row.arow);
        self.squared_norm += value * scaled;
    }
}

impl Row {
    /// Forget what the epochs since its own have cleared.
    fn begin_epoch(&mut self, epoch: u32, cleared: [u32; 2]) {
        if self.epoch < epoch {
            for (weight, cleared) in self.dual.iter_mut().zip(cleared) {
                if self.epoch < cleared {
                    *weight = 0.0;
                }
            }
            (self.arow[CALM], self.epoch) = (0.0, epoch);
        }
    }

    fn new(stamp: u32, epoch: u32) -> Self {
        Self { dual: [0.0; DUAL], arow: [0.0; AROW], relevance: 1.0, stamp, epoch }
    }
}

impl Rows {
    pub fn new(own: usize) -> Self {
        Self {
            places: Vec::new(),
            weights: Vec::new(),
            evidence: Vec::new(),
            features: Vec::new(),
            own,
            labels: [0.0; 2],
            kinds: [KindSums::default(); KINDS],
            strengths: [KindRelevance { strength: 0.0, relevance: 1.0 }; KINDS],
            inverses: Inverses::default(),
            stamp: 0,
            epoch: 0,
            cleared: [0; 2],
        }
    }

    /// Extend to so many rows.
    pub fn set_rows(&mut self, rows: usize) {
        self.places.resize(rows / KINDS, NONE);
    }

    /// The place of an input's row; beyond the last if its feature was never learned.
    #[inline(always)]
    fn place(&self, id: FeatureId) -> usize {
        let first = self.places.get(id as usize / KINDS).copied().unwrap_or(NONE);
        first as usize + id as usize % KINDS
    }

    /// P and N: the labels of each class, those before a change counting half.
    pub fn labels(&self) -> [f64; 2] {
        self.labels
    }

    /// Whether a row's feature was learned.
    pub fn is_learned(&self, id: FeatureId) -> bool {
        self.place(id) < self.weights.len()
    }

    /// A row as it is now, if its feature was learned.
    pub fn row(&self, id: FeatureId) -> Option<Row> {
        let place = self.place(id);
        (place < self.weights.len()).then(|| self.caught_up(place))
    }

    #[inline(never)]
    fn caught_up(&self, place: usize) -> Row {
        let mut row = self.weights[place];
        let evidence = self.evidence[place].faded(self.epoch - row.epoch);
        row.begin_epoch(self.epoch, self.cleared);
        row.stamp = self.stamp;
        row.relevance = self.relevance(place, &evidence);
        row
    }

    /// Catch up a row and what labels said of it.
    #[inline(never)]
    fn refresh(&mut self, place: usize) {
        let behind = self.epoch - self.weights[place].epoch;
        if behind > 0 {
            self.evidence[place] = self.evidence[place].faded(behind);
            self.weights[place].begin_epoch(self.epoch, self.cleared);
        }
        let relevance = self.relevance(place, &self.evidence[place]);
        let row = &mut self.weights[place];
        (row.stamp, row.relevance) = (self.stamp, relevance);
    }

    /// ρ of an input, by what labels said of it.
    #[inline(always)]
    fn relevance(&self, place: usize, evidence: &Evidence) -> f64 {
        if (self.features[place / KINDS] as usize) < self.own {
            return 1.0;
        }
        let kind = place % KINDS;
        let KindRelevance { strength, relevance } = self.strengths[kind];
        let Inverses { labels: [p, n], total, strengths } = self.inverses;
        let mean = (evidence.positive + evidence.negative) * total;
        let mean_square = evidence.squares * total;
        let v = mean_square - mean * mean;
        if v <= STILL * mean_square || strengths[kind] == 0.0 || p * n == 0.0 {
            return relevance;
        }
        let effect = evidence.positive * p - evidence.negative * n;
        let explained = (effect * effect / v - (p + n)).max(0.0);
        relevance * ((explained + strength) * strengths[kind]).clamp(SMALLEST, LARGEST)
    }

    /// What follows from labels and strengths; all rows are behind then.
    fn renew(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
        let inverse = |x: f64| if x > 0.0 { 1.0 / x } else { 0.0 };
        self.inverses = Inverses {
            labels: self.labels.map(inverse),
            total: inverse(self.labels[0] + self.labels[1]),
            strengths: self.strengths.map(|kind| inverse(2.0 * kind.strength)),
        };
    }

    /// The inputs of an event by the places of their rows; a feature that was never learned gets its rows.
    pub fn located(&mut self, inputs: &[FeatureValue]) -> Vec<PlacedInput> {
        let mut placed = Vec::with_capacity(inputs.len());
        for input in inputs {
            let feature = input.id as usize / KINDS;
            if self.places[feature] == NONE {
                self.places[feature] = self.weights.len() as u32;
                let behind = self.stamp.wrapping_sub(1); // its relevance is worked out when it is used
                self.weights.extend([Row::new(behind, self.epoch); KINDS]);
                self.evidence.extend([Evidence::default(); KINDS]);
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

    /// Catch up the rows of an event.
    fn catch_up(&mut self, inputs: &[PlacedInput]) {
        for input in inputs {
            let place = input.place as usize;
            if self.weights[place].stamp != self.stamp {
                self.refresh(place);
            }
        }
    }

    /// The margins of an event. Inputs whose features were never learned add nothing.
    pub fn margins(&self, inputs: &[FeatureValue]) -> Margins {
        let mut sums = Margins::default();
        for input in inputs {
            let place = self.place(input.id);
            let Some(row) = self.weights.get(place) else { continue };
            if row.stamp == self.stamp {
                sums.add(row, input.value);
            } else {
                sums.add(&self.caught_up(place), input.value);
            }
        }
        sums
    }

    /// The same; rows that are behind are caught up.
    pub fn refreshed_margins(&mut self, inputs: &[FeatureValue]) -> Margins {
        let (mut sums, mut behind) = (Margins::default(), false);
        for input in inputs {
            if let Some(row) = self.weights.get(self.place(input.id)) {
                behind |= row.stamp != self.stamp;
                sums.add(row, input.value);
            }
        }
        if !behind {
            return sums;
        }
        for input in inputs {
            let place = self.place(input.id);
            if self.weights.get(place).is_some_and(|row| row.stamp != self.stamp) {
                self.refresh(place);
            }
        }
        self.margins(inputs)
    }

    /// The margins of an event whose features all have rows, which are caught up.
    pub fn placed_margins(&mut self, inputs: &[PlacedInput]) -> Margins {
        let mut sums = Margins::default();
        for input in inputs {
            let place = input.place as usize;
            if self.weights[place].stamp != self.stamp {
                self.refresh(place);
            }
            sums.add(&self.weights[place], input.value);
        }
        sums
    }

    /// Move the dual weights: `u += step·z` in every column.
    pub fn shift(&mut self, inputs: &[PlacedInput], steps: [f64; DUAL]) {
        let [a, b, c, d] = steps;
        let steps = [F64x2::new([a, b]), F64x2::new([c, d])];
        for input in inputs {
            let row = &mut self.weights[input.place as usize];
            let [a, b, c, d] = row.dual;
            let value = F64x2::splat(input.value);
            let [a, b] = (F64x2::new([a, b]) + steps[0] * value).to_array();
            let [c, d] = (F64x2::new([c, d]) + steps[1] * value).to_array();
            row.dual = [a, b, c, d];
        }
    }

    /// Learn a label by AROW in the column CALM or FADING.
    pub fn learn_arow(&mut self, inputs: &[PlacedInput], y: f64, column: usize) {
        self.catch_up(inputs);
        if column == FADING {
            for input in inputs {
                let variance = &mut self.evidence[input.place as usize].variances[FADING];
                *variance = 1.0 / (KEPT / *variance + (1.0 - KEPT));
            }
        }
        let (mut margin, mut total) = (0.0, 0.0);
        for input in inputs {
            let place = input.place as usize;
            margin += self.weights[place].arow[column] * input.value;
            total += self.evidence[place].variances[column] * input.value * input.value;
        }
        let loss = 1.0 - y * margin;
        if !(loss > 0.0 && total > 0.0) {
            return;
        }
        let beta = 1.0 / (total + 1.0);
        for input in inputs {
            let place = input.place as usize;
            let variance = &mut self.evidence[place].variances[column];
            let reach = *variance * input.value;
            *variance -= beta * reach * reach;
            self.weights[place].arow[column] += loss * beta * y * reach;
        }
    }

    /// Count a label of an event in the sums of its inputs.
    pub fn count_label(&mut self, inputs: &[PlacedInput], positive: bool) {
        self.labels[usize::from(!positive)] += 1.0;
        for &PlacedInput { place, value: z } in inputs {
            if (self.features[place as usize / KINDS] as usize) < self.own {
                continue;
            }
            let sums = &mut self.evidence[place as usize];
            let all = &mut self.kinds[place as usize % KINDS];
            if positive {
                all.positive += z * (2.0 * sums.positive + z);
                all.mixed += z * sums.negative;
                sums.positive += z;
            } else {
                all.negative += z * (2.0 * sums.negative + z);
                all.mixed += z * sums.positive;
                sums.negative += z;
            }
            sums.squares += z * z;
            all.squares += z * z;
        }
        self.weigh_kinds();
    }

    /// Work out s and ρ of both kinds from the sums.
    fn weigh_kinds(&mut self) {
        let [p, n] = self.labels;
        if p == 0.0 || n == 0.0 {
            return self.renew();
        }
        let total = p + n;
        let explained = self.kinds.map(|kind| {
            let all = kind.positive + 2.0 * kind.mixed + kind.negative;
            let variance = kind.squares / total - all / (total * total);
            let effect =
                kind.positive / (p * p) - 2.0 * kind.mixed / (p * n) + kind.negative / (n * n);
            let explained = (effect - (1.0 / p + 1.0 / n) * variance) / variance;
            (variance > 1e-12).then_some(explained.max(0.0))
        });
        let prior = KIND_PRIOR_LABELS / total;
        let top = explained.iter().flatten().fold(0.0, |top: f64, e| top.max(e + prior));
        self.strengths = explained.map(|explained| match explained {
            Some(e) => KindRelevance {
                strength: e + PRIOR_LABELS / total,
                relevance: ((e + prior) / top).max(LEAST_KIND),
            },
            None => KindRelevance { strength: 0.0, relevance: 1.0 },
        });
        self.renew();
    }

    /// Clear a column and CALM, and halve the label sums: an epoch.
    pub fn begin_epoch(&mut self, column: usize) {
        self.epoch += 1;
        self.cleared[column] = self.epoch;
        for labels in &mut self.labels {
            *labels *= 0.5;
        }
        for kind in &mut self.kinds {
            kind.positive *= 0.25;
            kind.mixed *= 0.25;
            kind.negative *= 0.25;
            kind.squares *= 0.5;
        }
        self.renew();
    }

    /// Drop the rows of evicted features. Returns the new place of every old one, none if it is dropped.
    pub fn retain(&mut self, remap: &IndexRemap) -> Vec<Option<u32>> {
        let old_rows = std::mem::take(&mut self.weights);
        let old_evidence = std::mem::take(&mut self.evidence);
        let features = std::mem::take(&mut self.features);
        self.places = vec![NONE; remap.len() / KINDS];
        let mut moved = vec![None; old_rows.len()];
        // In the order of the features, which saving keeps, and not in that of learning: sums are rounded.
        let mut slots: Vec<(FeatureId, usize)> = features.into_iter().zip(0..).collect();
        slots.sort_unstable();
        for (feature, slot) in slots {
            let range = slot * KINDS..(slot + 1) * KINDS;
            let id = remap.of(feature * KINDS as FeatureId);
            if id != UNKNOWN {
                let first = self.weights.len() as u32;
                for (kind, place) in (0..).zip(range.clone()) {
                    moved[place] = Some(first + kind);
                }
                self.places[id as usize / KINDS] = first;
                self.features.push(id / KINDS as FeatureId);
                self.weights.extend_from_slice(&old_rows[range.clone()]);
                self.evidence.extend_from_slice(&old_evidence[range]);
                continue;
            }
            for (kind, place) in range.enumerate() {
                let sums = old_evidence[place].faded(self.epoch - old_rows[place].epoch);
                let all = &mut self.kinds[kind];
                all.positive = (all.positive - sums.positive * sums.positive).max(0.0);
                all.negative = (all.negative - sums.negative * sums.negative).max(0.0);
                all.mixed -= sums.positive * sums.negative;
                all.squares = (all.squares - sums.squares).max(0.0);
            }
        }
        moved
    }

    pub fn state(&self) -> RowsState {
        let mut state = RowsState {
            features: Vec::new(),
            dual: Vec::new(),
            calm: Vec::new(),
            fading: Vec::new(),
            sums: Vec::new(),
            labels: self.labels,
            kinds: self.kinds,
            strengths: self.strengths.map(|kind| [kind.strength, kind.relevance]),
        };
        let learned = self.places.iter().enumerate().filter(|(_, first)| **first != NONE);
        for (feature, &first) in learned {
            let place = |kind| first as usize + kind;
            let rows = [self.caught_up(place(0)), self.caught_up(place(1))];
            let evidence = [0, 1].map(|kind| {
                let behind = self.epoch - self.weights[place(kind)].epoch;
                self.evidence[place(kind)].faded(behind)
            });
            let arow = |column: usize| {
                [0, 1].map(|kind| [rows[kind].arow[column], evidence[kind].variances[column]])
            };
            state.features.push(feature as FeatureId);
            state.dual.push(rows.map(|row| row.dual));
            state.calm.push(arow(CALM));
            state.fading.push(arow(FADING));
            state.sums.push(evidence.map(|e| [e.positive, e.negative, e.squares]));
        }
        state
    }

    /// Put a saved state back, for so many rows.
    pub fn adopt(&mut self, state: &RowsState, rows: usize) -> Result<(), &'static str> {
        let d = state.features.len();
        let faded = state.fading.len();
        if [state.dual.len(), state.calm.len(), state.sums.len()] != [d; 3]
            || (faded != d && faded != 0)
        {
            return Err("its weights are not as many as their features");
        }
        let rising = state.features.windows(2).all(|pair| pair[0] < pair[1]);
        if !rising || state.features.last().is_some_and(|&last| last as usize >= rows / KINDS) {
            return Err("a weight belongs to a feature that there is not");
        }
        let numbers =
            state.dual.iter().flatten().flatten().chain(state.sums.iter().flatten().flatten());
        let kinds = state.kinds.iter().flat_map(|k| [k.positive, k.mixed, k.negative, k.squares]);
        let strengths = state.strengths.iter().flatten().copied();
        let mut numbers = numbers.copied().chain(kinds).chain(state.labels).chain(strengths);
        if !numbers.all(|number| number.abs() <= LARGEST_NUMBER)
            || state.labels.iter().any(|&labels| labels < 0.0)
            || state.strengths.iter().any(|&[s, relevance]| s < 0.0 || relevance <= 0.0)
        {
            return Err("a number is too large or not finite");
        }
        let mut arow = state.calm.iter().chain(&state.fading).flatten();
        if arow.any(|[weight, variance]| {
            weight.is_nan() || weight.abs() > LARGEST_NUMBER || !(0.0..=1.0).contains(variance)
        }) {
            return Err("a weight is not finite, or a variance is not in [0, 1]");
        }
        self.set_rows(rows);
        (self.labels, self.kinds) = (state.labels, state.kinds);
        self.strengths =
            state.strengths.map(|[strength, relevance]| KindRelevance { strength, relevance });
        for i in 0..d {
            self.places[state.features[i] as usize] = self.weights.len() as u32;
            self.features.push(state.features[i]);
            for kind in 0..KINDS {
                let mut row = Row::new(self.stamp, self.epoch);
                row.dual = state.dual[i][kind];
                let [positive, negative, squares] = state.sums[i][kind];
                let mut variances = [1.0; AROW];
                [row.arow[CALM], variances[CALM]] = state.calm[i][kind];
                if let Some(fading) = state.fading.get(i) {
                    [row.arow[FADING], variances[FADING]] = fading[kind];
                }
                self.weights.push(row);
                self.evidence.push(Evidence { positive, negative, squares, variances });
            }
        }
        self.renew();
        Ok(())
    }
}

/// No learned number is larger.
const LARGEST_NUMBER: f64 = 1e100;

impl Evidence {
    /// What is left of it after so many changes of concept: half of the sums at each, and nothing of CALM's.
    fn faded(self, halvings: u32) -> Self {
        if halvings == 0 {
            return self;
        }
        let factor = 0.5_f64.powi(halvings as i32);
        Self {
            positive: self.positive * factor,
            negative: self.negative * factor,
            squares: self.squares * factor,
            variances: [1.0, self.variances[FADING]],
        }
    }
}
