//! The weights: one row per feature and one column per weight vector (one vector for two classes,
//! otherwise one per class).
//!
//! A vector is stored as `w = scale·v`, so that scaling all of it is O(1). Beside it stands what
//! its sparsifier needs: a compensated norm of `v` and a heap of its non-zero values. Scaling never
//! changes the order of
//! |v|, so the heap pops exactly the smallest |w|.

use crate::event::{FeatureId, FeatureValue, UNKNOWN};
use crate::storage::compensated::CompensatedSum;
use crate::storage::heap::Heap;
use crate::storage::index_remap::IndexRemap;
use crate::storage::rng::Generator;
use serde::{Deserialize, Serialize};

/// Stored values below this count as 0.
pub(crate) const TINY: f64 = 1e-300;
/// A smaller scale is multiplied into the stored values.
pub(crate) const SMALLEST_SCALE: f64 = 1e-100;
/// No sum, square or product of stored values and steps overflows while they are below this.
const SAFE: f64 = 1e150;
/// A norm is summed again from the values after so many steps, or after d if that is more: O(1) per
/// step.
pub(crate) const RESUM_AFTER: u64 = 4096;

/// Which norm of its stored values a weight vector keeps up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    None,
    Absolute,
    Squared,
}

/// What is kept up to date beside the values, because the sparsifier needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upkeep {
    pub norm: Norm,
    /// Whether the smallest non-zero weights must be found quickly.
    pub ranked: bool,
}

impl Upkeep {
    /// Values alone.
    pub const NONE: Self = Self { norm: Norm::None, ranked: false };
}

/// What a label does to the weights: `w *= shrink`, `w_i += length·y·x_i` (times σ_i), and a change
/// of σ_i.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub shrink: f64,
    pub length: f64,
    pub narrowing: Narrowing,
}

/// What a step does to the variances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Narrowing {
    None,
    /// `σ_i -= β(σ_i x_i)²`
    Subtract(f64),
    /// `1/σ_i += β x_i²`
    AddPrecision(f64),
}

impl Step {
    /// A step that neither shrinks nor narrows.
    pub fn of(length: f64) -> Self {
        Self { shrink: 1.0, length, narrowing: Narrowing::None }
    }
}

#[derive(Clone, Debug)]
pub struct WeightVector {
    pub scale: f64,
    /// Σ|v| or Σv², whichever the sparsifier needs.
    pub norm: CompensatedSum,
    /// Steps since the norm was last summed from the values.
    pub steps: u64,
    heap: Heap,
    /// Ids that a step made non-zero. They enter the heap when the vector is truncated.
    newly_nonzero: Vec<FeatureId>,
    /// An upper bound of all |v|.
    bound: f64,
}

impl Default for WeightVector {
    fn default() -> Self {
        Self {
            scale: 1.0,
            norm: CompensatedSum::default(),
            steps: 0,
            heap: Heap::default(),
            newly_nonzero: Vec::new(),
            bound: 0.0,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Weights {
    upkeep: Upkeep,
    /// Whether there is one variance per weight.
    has_variances: bool,
    /// Columns that are allocated.
    width: usize,
    rows: usize,
    pub vectors: Vec<WeightVector>,
    values: Vec<f64>,
    variances: Vec<f64>,
}

impl Weights {
    pub fn new(upkeep: Upkeep, has_variances: bool, vectors: usize) -> Self {
        Self {
            upkeep,
            has_variances,
            width: vectors.max(1),
            rows: 0,
            vectors: vec![WeightVector::default(); vectors],
            values: Vec::new(),
            variances: Vec::new(),
        }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether all weights of a vector are 0; only for vectors that are ranked.
    pub fn is_zero(&self, vector: usize) -> bool {
        self.vectors[vector].heap.len() == 0
    }

    pub fn has_variances(&self) -> bool {
        self.has_variances
    }

    /// Extend to `rows` features; new weights are 0, new variances 1.
    #[inline]
    pub fn set_rows(&mut self, rows: usize) {
        if rows != self.rows {
            self.resize(rows);
        }
    }

    #[inline(never)]
    fn resize(&mut self, rows: usize) {
        self.rows = rows;
        self.values.resize(rows * self.width, 0.0);
        if self.has_variances {
            self.variances.resize(rows * self.width, 1.0);
        }
    }

    /// Drop the weights of evicted features.
    pub fn retain(&mut self, remap: &IndexRemap) {
        remap.retain(&mut self.values, self.width);
        if self.has_variances {
            remap.retain(&mut self.variances, self.width);
        }
        self.rows = remap.len();
        for vector in 0..self.vectors.len() {
            let part = &mut self.vectors[vector];
            part.heap.retain(remap);
            for id in &mut part.newly_nonzero {
                *id = remap.of(*id);
            }
            part.newly_nonzero.retain(|&id| id != UNKNOWN);
            self.recompute_norm(vector);
        }
    }

    /// The largest |w| of a feature in any vector.
    pub fn size(&self, id: FeatureId) -> f64 {
        let weights = (0..self.vectors.len()).map(|vector| self.weight(id, vector).abs());
        weights.fold(0.0, f64::max)
    }

    /// Add a weight vector of zeros.
    pub fn add_vector(&mut self) {
        if self.vectors.len() == self.width {
            let width = self.width * 2;
            self.values = widened(&self.values, self.width, width, 0.0);
            self.variances = widened(&self.variances, self.width, width, 1.0);
            self.width = width;
        }
        self.vectors.push(WeightVector::default());
    }

    /// Whether there is a row for the id; a new or unknown name has none.
    pub fn has_row(&self, id: FeatureId) -> bool {
        (id as usize) < self.rows
    }

    fn index(&self, id: FeatureId, vector: usize) -> usize {
        id as usize * self.width + vector
    }

    pub fn weight(&self, id: FeatureId, vector: usize) -> f64 {
        self.vectors[vector].scale * self.values[self.index(id, vector)]
    }

    pub fn state(&self) -> WeightsState {
        let vectors = 0..self.vectors.len();
        let columns = |cells: &[f64]| -> Vec<Vec<f64>> {
            vectors.clone().map(|vector| self.column(cells, vector)).collect()
        };
        WeightsState {
            values: columns(&self.values),
            scales: self.vectors.iter().map(|part| part.scale).collect(),
            variances: if self.has_variances { columns(&self.variances) } else { Vec::new() },
            norms: self.vectors.iter().map(|part| part.norm.into()).collect(),
            steps: self.vectors.iter().map(|part| part.steps).collect(),
        }
    }

    /// Put a saved state back, for so many names and weight vectors.
    pub fn adopt(
        &mut self,
        state: &WeightsState,
        names: usize,
        vectors: usize,
    ) -> Result<(), &'static str> {
        state.check(names, vectors, self.has_variances)?;
        while self.vectors.len() < vectors {
            self.add_vector();
        }
        self.set_rows(names);
        for (vector, values) in state.values.iter().enumerate() {
            let part = &mut self.vectors[vector];
            part.scale = state.scales[vector];
            part.norm = state.norms[vector].into();
            part.steps = state.steps[vector];
            self.restore_column(vector, values, state.variances.get(vector).map(Vec::as_slice));
        }
        Ok(())
    }

    /// The column of a vector, in the order of the ids.
    fn column(&self, cells: &[f64], vector: usize) -> Vec<f64> {
        (0..self.rows).map(|row| cells[row * self.width + vector]).collect()
    }

    /// Put back the stored values and variances of a vector, after its scale, norm and steps.
    fn restore_column(&mut self, vector: usize, values: &[f64], variances: Option<&[f64]>) {
        let part = &mut self.vectors[vector];
        for (row, &value) in values.iter().enumerate() {
            self.values[row * self.width + vector] = value;
            part.bound = part.bound.max(value.abs());
        }
        if self.upkeep.ranked {
            part.heap.fill(values.iter().map(|value| value.abs()));
        }
        for (row, &variance) in variances.into_iter().flatten().enumerate() {
            self.variances[row * self.width + vector] = variance;
        }
    }

    /// `w·x` of one vector, summed in the event's order.
    #[inline(always)]
    pub fn dot(&self, vector: usize, features: &[FeatureValue]) -> f64 {
        let mut sum = 0.0;
        // A new or unknown name has no row: its id, and so its index, is too large.
        let mut add = |value: Option<&f64>, feature: &FeatureValue| {
            if let Some(value) = value {
                sum += value * feature.value;
            }
        };
        if self.width == 1 {
            for one in features {
                add(self.values.get(one.id as usize), one);
            }
        } else {
            for one in features {
                add(self.values.get(self.index(one.id, vector)), one);
            }
        }
        self.vectors[vector].scale * sum
    }

    /// `w·x` of one vector as four sums side by side: faster than [`Self::dot`], but rounded
    /// differently.
    pub fn dot_unrolled(&self, vector: usize, features: &[FeatureValue]) -> f64 {
        let product = |feature: &FeatureValue| {
            let value = self.values.get(self.index(feature.id, vector));
            value.map_or(0.0, |value| value * feature.value)
        };
        let (fours, rest) = features.as_chunks::<4>();
        let [mut a, mut b, mut c, mut d] = [0.0; 4];
        for [one, two, three, four] in fours {
            a += product(one);
            b += product(two);
            c += product(three);
            d += product(four);
        }
        let rest: f64 = rest.iter().map(product).sum();
        self.vectors[vector].scale * (((a + b) + (c + d)) + rest)
    }

    /// `w·x` of every vector.
    pub fn dots(&self, features: &[FeatureValue]) -> Vec<f64> {
        let mut sums = Vec::new();
        self.dots_into(features, &mut sums);
        sums
    }

    /// The same, in place of what `sums` held.
    pub fn dots_into(&self, features: &[FeatureValue], sums: &mut Vec<f64>) {
        sums.clear();
        sums.resize(self.vectors.len(), 0.0);
        for feature in features {
            if self.has_row(feature.id) {
                let start = self.index(feature.id, 0);
                for (sum, value) in sums.iter_mut().zip(&self.values[start..]) {
                    *sum += value * feature.value;
                }
            }
        }
        for (sum, vector) in sums.iter_mut().zip(&self.vectors) {
            *sum *= vector.scale;
        }
    }

    /// Σσ_i x_i² of one vector; a feature or vector never learned has σ = 1.
    pub fn variance(&self, vector: usize, features: &[FeatureValue]) -> f64 {
        let known = vector < self.vectors.len();
        let mut sum = 0.0;
        for feature in features {
            let sigma = if known && self.has_row(feature.id) {
                self.variances[self.index(feature.id, vector)]
            } else {
                1.0
            };
            sum += sigma * feature.value * feature.value;
        }
        sum
    }

    /// Whether every number stays finite if `vector` takes this step.
    #[inline(always)]
    pub fn can_take(
        &self,
        vector: usize,
        features: &[FeatureValue],
        step: Step,
        norm: f64,
    ) -> bool {
        let part = self.vectors.get(vector);
        let (scale, bound) = part.map_or((1.0, 0.0), |part| (part.scale, part.bound));
        let per_value = step.length / (scale * step.shrink);
        // |x_i| ≤ ‖x‖ and σ_i ≤ 1
        bound + per_value.abs() * norm <= SAFE || self.stays_finite(vector, features, per_value)
    }

    #[cold]
    fn stays_finite(&self, vector: usize, features: &[FeatureValue], per_value: f64) -> bool {
        let mut total = self.vectors.get(vector).map_or(0.0, |part| part.norm.value());
        for feature in features {
            let old = if vector < self.vectors.len() && self.has_row(feature.id) {
                self.values[self.index(feature.id, vector)]
            } else {
                0.0
            };
            let new = old.abs() + (per_value * feature.value).abs();
            total += if self.upkeep.norm == Norm::Squared { new * new } else { new };
        }
        total.is_finite()
    }

    /// Multiply a vector by a factor in (0, 1].
    pub fn shrink(&mut self, vector: usize, factor: f64) {
        self.vectors[vector].scale *= factor;
        self.fold_if_small(vector);
    }

    /// `w_i += length·x_i` (times σ_i) for every feature, and narrow the variances.
    /// `norm` is the length of the event, or any number that is not below it.
    pub fn shift(
        &mut self,
        vector: usize,
        features: &[FeatureValue],
        length: f64,
        step: Step,
        norm: f64,
    ) {
        let Upkeep { norm: kind, ranked } = self.upkeep;
        let part = &mut self.vectors[vector];
        let per_value = length / part.scale;
        part.bound += per_value.abs() * norm; // |x_i| ≤ ‖x‖ and σ_i ≤ 1
        if !(self.has_variances || ranked) && kind == Norm::None {
            let (values, width) = (&mut self.values[..], self.width);
            let move_one = |value: &mut f64, feature: &FeatureValue| {
                let new = *value + per_value * feature.value;
                *value = if new.abs() < TINY { 0.0 } else { new };
            };
            if width == 1 {
                for feature in features {
                    move_one(&mut values[feature.id as usize], feature);
                }
            } else {
                for feature in features {
                    move_one(&mut values[feature.id as usize * width + vector], feature);
                }
            }
            return;
        }
        let mut growth = 0.0;
        for feature in features {
            let index = feature.id as usize * self.width + vector;
            let mut change = per_value * feature.value;
            if self.has_variances {
                let sigma = &mut self.variances[index];
                change *= *sigma;
                let x = feature.value;
                match step.narrowing {
                    Narrowing::None => {}
                    Narrowing::Subtract(beta) => {
                        *sigma = (*sigma - beta * (*sigma * x) * (*sigma * x)).max(0.0);
                    }
                    Narrowing::AddPrecision(beta) => *sigma /= 1.0 + beta * *sigma * x * x,
                }
            }
            let value = &mut self.values[index];
            let old = *value;
            let mut new = old + change;
            if new.abs() < TINY {
                new = 0.0;
            }
            *value = new;
            let (size, old_size) = (new.abs(), old.abs());
            growth += if kind == Norm::Squared { new * new - old * old } else { size - old_size };
            if ranked {
                if old == 0.0 && new != 0.0 {
                    part.newly_nonzero.push(feature.id);
                } else if size < old_size {
                    part.heap.set(feature.id, size);
                }
            }
        }
        if kind != Norm::None {
            part.norm.add(growth);
        }
    }

    /// `1/σ_i ← λ/σ_i + 1 − λ` for every feature: variances go back towards 1. A variance of 0 stays.
    pub fn widen(&mut self, vector: usize, features: &[FeatureValue], forgetting: f64) {
        for feature in features {
            let sigma = &mut self.variances[feature.id as usize * self.width + vector];
            *sigma = (*sigma / (forgetting + (1.0 - forgetting) * *sigma)).min(1.0);
        }
    }

    /// If the norm of a vector is above the radius, scale the vector back to it.
    pub fn scale_back(&mut self, vector: usize, radius: f64) {
        let part = &mut self.vectors[vector];
        let size = match self.upkeep.norm {
            Norm::None => 0.0,
            Norm::Absolute => part.scale * part.norm.value(),
            Norm::Squared => part.scale * part.norm.value().max(0.0).sqrt(),
        };
        if size > radius {
            part.scale *= radius / size;
        }
    }

    /// End a step on a vector: undo what lazy scaling and rounding errors accumulate.
    #[inline]
    pub fn end_step(&mut self, vector: usize) {
        self.fold_if_small(vector);
        let part = &mut self.vectors[vector];
        part.steps += 1;
        if part.steps >= RESUM_AFTER.max(self.rows as u64) {
            self.recompute_norm(vector);
        }
    }

    /// Keep the `kept` largest weights of a vector that is ranked, and set the others to 0.
    ///
    /// The heap always holds the largest. So a weight that a step made non-zero is either among
    /// them or is set to 0 at once. The heap holds more than `kept` only where features were
    /// evicted and d fell.
    pub fn keep_largest(&mut self, vector: usize, kept: usize) {
        let newly_nonzero = std::mem::take(&mut self.vectors[vector].newly_nonzero);
        for &id in &newly_nonzero {
            let key = self.values[self.index(id, vector)].abs();
            let Self { vectors, values, width, .. } = self;
            let heap = &mut vectors[vector].heap;
            if heap.len() < kept {
                heap.set(id, key);
            } else {
                let current = |id: FeatureId| values[id as usize * *width + vector].abs();
                let out = heap.push_pop(id, key, current);
                self.zero(out, vector);
            }
        }
        self.vectors[vector].newly_nonzero = newly_nonzero;
        self.vectors[vector].newly_nonzero.clear();
        while self.vectors[vector].heap.len() > kept {
            let Self { vectors, values, width, .. } = self;
            let current = |id: FeatureId| values[id as usize * *width + vector].abs();
            let Some(out) = vectors[vector].heap.pop(current) else { break };
            self.zero(out, vector);
        }
    }

    fn zero(&mut self, id: FeatureId, vector: usize) {
        let index = self.index(id, vector);
        let value = std::mem::take(&mut self.values[index]);
        let norm = &mut self.vectors[vector].norm;
        match self.upkeep.norm {
            Norm::None => {}
            Norm::Absolute => norm.add(-value.abs()),
            Norm::Squared => norm.add(-value * value),
        }
    }

    /// Selection sampling: each of the d features is kept with the same probability.
    pub fn keep_random(&mut self, vector: usize, kept: usize, draws: &mut Generator) {
        let mut wanted = kept;
        for row in 0..self.rows {
            if draws.uniform() * ((self.rows - row) as f64) < wanted as f64 {
                wanted -= 1;
            } else {
                self.values[row * self.width + vector] = 0.0;
            }
        }
    }

    /// Set all weights to 0; variances are not changed.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
        for part in &mut self.vectors {
            part.heap.clear();
            *part =
                WeightVector { heap: std::mem::take(&mut part.heap), ..WeightVector::default() };
        }
    }

    /// If the scale is small: `v *= scale, scale = 1`. This is monotone, so the heap stays in
    /// order. Where there is a heap, all values outside it are 0.
    #[inline]
    fn fold_if_small(&mut self, vector: usize) {
        let scale = self.vectors[vector].scale;
        if scale < SMALLEST_SCALE {
            self.fold(vector, scale);
        }
    }

    #[cold]
    fn fold(&mut self, vector: usize, scale: f64) {
        let width = self.width;
        let Self { vectors, values, .. } = self;
        let part = &mut vectors[vector];
        let mut fold = |row: usize| {
            let value = &mut values[row * width + vector];
            *value *= scale;
            if value.abs() < TINY {
                *value = 0.0;
            }
        };
        if self.upkeep.ranked {
            part.heap.ids().for_each(|id| fold(id as usize));
            part.heap.set_all(|id| values[id as usize * width + vector].abs());
        } else {
            (0..self.rows).for_each(fold);
        }
        let factor = if self.upkeep.norm == Norm::Squared { scale * scale } else { scale };
        part.norm.sum *= factor;
        part.norm.compensation *= factor;
        part.bound *= scale;
        part.scale = 1.0;
    }

    #[cold]
    fn recompute_norm(&mut self, vector: usize) {
        let squared = self.upkeep.norm == Norm::Squared;
        let keeps_norm = self.upkeep.norm != Norm::None;
        let (mut norm, mut bound) = (CompensatedSum::default(), 0.0_f64);
        for row in 0..self.rows {
            let size = self.values[row * self.width + vector].abs();
            bound = bound.max(size);
            if keeps_norm {
                norm.add(if squared { size * size } else { size });
            }
        }
        let part = &mut self.vectors[vector];
        part.norm = norm;
        part.bound = bound;
        part.steps = 0;
    }
}

/// What is saved: one array per weight vector.
#[derive(Serialize, Deserialize)]
pub struct WeightsState {
    pub values: Vec<Vec<f64>>,
    scales: Vec<f64>,
    variances: Vec<Vec<f64>>,
    norms: Vec<(f64, f64)>,
    steps: Vec<u64>,
}

impl WeightsState {
    fn check(&self, names: usize, vectors: usize, has_variances: bool) -> Result<(), &'static str> {
        let counts = [self.values.len(), self.scales.len(), self.norms.len(), self.steps.len()];
        if counts != [vectors; 4] || self.variances.len() != if has_variances { vectors } else { 0 }
        {
            return Err("it has another number of weight vectors");
        }
        let columns = || self.values.iter().chain(&self.variances);
        if columns().any(|column| column.len() != names) {
            return Err("a weight vector is not as long as its names");
        }
        let norms = self.norms.iter().flat_map(|&(sum, compensation)| [sum, compensation]);
        let mut numbers = columns().flatten().chain(&self.scales).copied().chain(norms);
        if !numbers.all(f64::is_finite) {
            return Err("a number is not finite");
        }
        if self.steps.iter().any(|&steps| steps > u64::MAX / 2) {
            return Err("a counter is too large");
        }
        if self.scales.iter().any(|&scale| scale <= 0.0 || scale > 1.0) {
            return Err("a scale is not in (0, 1]");
        }
        if self.variances.iter().flatten().any(|&sigma| !(0.0..=1.0).contains(&sigma)) {
            return Err("a variance is not in [0, 1]");
        }
        Ok(())
    }
}

/// The same rows with more columns.
fn widened(cells: &[f64], width: usize, new_width: usize, filler: f64) -> Vec<f64> {
    let mut wide = Vec::with_capacity(cells.len() / width * new_width);
    for row in cells.chunks_exact(width) {
        wide.extend_from_slice(row);
        wide.resize(wide.len() + new_width - width, filler);
    }
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights_of(weights: &Weights) -> Vec<f64> {
        (0..weights.rows).map(|row| weights.weight(row as FeatureId, 0)).collect()
    }

    #[test]
    fn a_new_class_does_not_change_the_others() {
        let mut weights = Weights::new(Upkeep::NONE, true, 1);
        weights.set_rows(2);
        let feature = FeatureValue { id: 1, value: 2.0 };
        weights.shift(0, &[feature], 0.5, Step::of(0.5), 2.0);
        for _ in 0..4 {
            weights.add_vector();
        }
        assert_eq!(weights_of(&weights), [0.0, 1.0]);
        assert_eq!(weights.weight(1, 4), 0.0);
        assert_eq!(weights.variance(4, &[feature]), 4.0);
    }

    #[test]
    fn forgetting_brings_a_precision_back_towards_1() {
        let mut weights = Weights::new(Upkeep::NONE, true, 1);
        weights.set_rows(3);
        let features = [FeatureValue { id: 0, value: 1.0 }, FeatureValue { id: 1, value: 0.0 }];
        weights.variances = vec![0.25, 0.0, 0.25];
        weights.widen(0, &features, 0.5);
        assert_eq!(weights.variances, [1.0 / 2.5, 0.0, 0.25]); // 4 becomes 2.5
        weights.variances[0] = 1.0;
        weights.widen(0, &features, 0.3);
        assert_eq!(weights.variances[0], 1.0);
    }

    #[test]
    fn a_step_that_would_overflow_is_detected_beforehand() {
        let mut weights = Weights::new(Upkeep::NONE, false, 1);
        weights.set_rows(1);
        let feature = FeatureValue { id: 0, value: 1.0 };
        assert!(weights.can_take(0, &[feature], Step::of(1e300), 1.0));
        weights.shift(0, &[feature], 1.5e308, Step::of(1.5e308), 1.0);
        assert!(!weights.can_take(0, &[feature], Step::of(1.5e308), 1.0));
        assert!(weights.can_take(0, &[feature], Step::of(1.0), 1.0));
    }
}
