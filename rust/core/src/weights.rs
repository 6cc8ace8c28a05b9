//! The weights: a row a feature, a column a weight vector (one if binary, one a class otherwise).
//!
//! A vector is kept as `w = scale·v`, so that scaling all of it costs nothing; what its sparsifier
//! needs is kept with it: a compensated norm of `v` and a heap of its non-zero values. Scaling
//! never changes the order of |v|, so the heap pops exactly the smallest |w|.

use crate::heap::Heap;
use crate::random::Generator;
use crate::sparsify::{Norm, Sparsifier};
use crate::update::{Narrowing, Step};
use crate::vocabulary::{Slot, Survivors, UNKNOWN};

/// One feature of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feature {
    pub slot: Slot,
    pub value: f64,
}

/// Stored values below this count as 0.
pub(crate) const TINY: f64 = 1e-300;
/// Below this a scale is folded into the stored values.
pub(crate) const SMALLEST_SCALE: f64 = 1e-100;
/// Below this no sum, square or product of stored values and steps can overflow.
const SAFE: f64 = 1e150;
/// A norm is summed afresh after so many steps, or d if that is more: O(1) a step.
pub(crate) const FRESH_AFTER: u64 = 4096;

/// A running sum with Neumaier's compensation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    pub sum: f64,
    pub compensation: f64,
}

impl Sum {
    pub fn add(&mut self, x: f64) {
        let total = self.sum + x;
        self.compensation +=
            if self.sum.abs() >= x.abs() { (self.sum - total) + x } else { (x - total) + self.sum };
        self.sum = total;
    }

    pub fn value(self) -> f64 {
        self.sum + self.compensation
    }
}

#[derive(Clone, Debug)]
pub struct Vector {
    pub scale: f64,
    /// Σ|v| or Σv², whichever the sparsifier needs.
    pub norm: Sum,
    /// Steps since the norm was summed afresh.
    pub steps: u64,
    heap: Heap,
    /// Slots that a step made non-zero; they enter the heap when weights are let go.
    fresh: Vec<Slot>,
    /// No |v| is larger; may overstate.
    bound: f64,
}

impl Default for Vector {
    fn default() -> Self {
        Self {
            scale: 1.0,
            norm: Sum::default(),
            steps: 0,
            heap: Heap::default(),
            fresh: Vec::new(),
            bound: 0.0,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Weights {
    sparsifier: Sparsifier,
    /// Whether a variance a weight is kept.
    varies: bool,
    /// Columns that there is room for.
    width: usize,
    rows: usize,
    pub vectors: Vec<Vector>,
    values: Vec<f64>,
    variances: Vec<f64>,
}

impl Weights {
    pub fn new(sparsifier: Sparsifier, varies: bool, vectors: usize) -> Self {
        Self {
            sparsifier,
            varies,
            width: vectors.max(1),
            rows: 0,
            vectors: vec![Vector::default(); vectors],
            values: Vec::new(),
            variances: Vec::new(),
        }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether all weights of a vector are 0, for sparsifiers that rank.
    pub fn is_zero(&self, vector: usize) -> bool {
        self.vectors[vector].heap.len() == 0
    }

    pub fn varies(&self) -> bool {
        self.varies
    }

    /// Make room for `rows` features; new weights are 0, new variances 1.
    pub fn set_rows(&mut self, rows: usize) {
        self.rows = rows;
        self.values.resize(rows * self.width, 0.0);
        if self.varies {
            self.variances.resize(rows * self.width, 1.0);
        }
    }

    /// Let features go, their weights too.
    pub fn retain(&mut self, survivors: &Survivors) {
        survivors.retain(&mut self.values, self.width);
        if self.varies {
            survivors.retain(&mut self.variances, self.width);
        }
        self.rows = survivors.len();
        for vector in 0..self.vectors.len() {
            let part = &mut self.vectors[vector];
            part.heap.retain(survivors);
            for slot in &mut part.fresh {
                *slot = survivors.of(*slot);
            }
            part.fresh.retain(|&slot| slot != UNKNOWN);
            self.sum_afresh(vector);
        }
    }

    /// The largest weight of a feature in any vector, whatever its sign.
    pub fn size(&self, slot: Slot) -> f64 {
        let weights = (0..self.vectors.len()).map(|vector| self.weight(slot, vector).abs());
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
        self.vectors.push(Vector::default());
    }

    /// Whether there is a row for the slot; a new or unknown name has none.
    pub fn knows(&self, slot: Slot) -> bool {
        (slot as usize) < self.rows
    }

    fn index(&self, slot: Slot, vector: usize) -> usize {
        slot as usize * self.width + vector
    }

    pub fn weight(&self, slot: Slot, vector: usize) -> f64 {
        self.vectors[vector].scale * self.values[self.index(slot, vector)]
    }

    /// The stored values of a vector, in slot order.
    pub fn column(&self, vector: usize) -> Vec<f64> {
        (0..self.rows).map(|row| self.values[row * self.width + vector]).collect()
    }

    /// The variances of a vector, in slot order.
    pub fn variance_column(&self, vector: usize) -> Vec<f64> {
        (0..self.rows).map(|row| self.variances[row * self.width + vector]).collect()
    }

    /// Put back the stored values and variances of a vector, after its scale, norm and steps.
    pub fn restore_column(&mut self, vector: usize, values: &[f64], variances: Option<&[f64]>) {
        let ranks = self.sparsifier.ranks();
        for (row, &value) in values.iter().enumerate() {
            self.values[row * self.width + vector] = value;
            let part = &mut self.vectors[vector];
            part.bound = part.bound.max(value.abs());
            if ranks {
                part.heap.set(row as Slot, value.abs());
            }
        }
        for (row, &variance) in variances.into_iter().flatten().enumerate() {
            self.variances[row * self.width + vector] = variance;
        }
    }

    /// `w·x` of one vector, summed in the event's order.
    pub fn dot(&self, vector: usize, features: &[Feature]) -> f64 {
        let mut sum = 0.0;
        for feature in features {
            // A new or unknown name has no row: its slot, and so its index, is too large.
            if let Some(value) = self.values.get(self.index(feature.slot, vector)) {
                sum += value * feature.value;
            }
        }
        self.vectors[vector].scale * sum
    }

    /// `w·x` of one vector, four sums side by side: faster than [`Self::dot`], and other bits.
    pub fn dot_by_fours(&self, vector: usize, features: &[Feature]) -> f64 {
        let product = |feature: &Feature| {
            let value = self.values.get(self.index(feature.slot, vector));
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

    /// `w·x` of one vector and ‖x‖², each summed in the event's order: side by side they cost
    /// hardly more than one.
    pub fn dot_and_norm(&self, vector: usize, features: &[Feature]) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for feature in features {
            if let Some(value) = self.values.get(self.index(feature.slot, vector)) {
                sum += value * feature.value;
            }
            squares += feature.value * feature.value;
        }
        (self.vectors[vector].scale * sum, squares)
    }

    /// `w·x` of every vector.
    pub fn dots(&self, features: &[Feature]) -> Vec<f64> {
        let mut sums = vec![0.0; self.vectors.len()];
        for feature in features {
            if self.knows(feature.slot) {
                let start = self.index(feature.slot, 0);
                for (sum, value) in sums.iter_mut().zip(&self.values[start..]) {
                    *sum += value * feature.value;
                }
            }
        }
        for (sum, vector) in sums.iter_mut().zip(&self.vectors) {
            *sum *= vector.scale;
        }
        sums
    }

    /// Σσ_i x_i² of one vector; a feature or vector never learned has σ = 1.
    pub fn variance(&self, vector: usize, features: &[Feature]) -> f64 {
        let known = vector < self.vectors.len();
        let mut sum = 0.0;
        for feature in features {
            let sigma = if known && self.knows(feature.slot) {
                self.variances[self.index(feature.slot, vector)]
            } else {
                1.0
            };
            sum += sigma * feature.value * feature.value;
        }
        sum
    }

    /// Whether every number stays finite if `vector` takes this step.
    pub fn can_take(&self, vector: usize, features: &[Feature], step: Step, norm: f64) -> bool {
        let nothing = Vector::default();
        let part = self.vectors.get(vector).unwrap_or(&nothing);
        let per_value = step.length / (part.scale * step.shrink);
        if part.bound + per_value.abs() * norm <= SAFE {
            return true; // |x_i| ≤ ‖x‖ and σ_i ≤ 1
        }
        let mut total = part.norm.value();
        for feature in features {
            let old = if vector < self.vectors.len() && self.knows(feature.slot) {
                self.values[self.index(feature.slot, vector)]
            } else {
                0.0
            };
            let new = old.abs() + (per_value * feature.value).abs();
            total += if self.sparsifier.norm() == Norm::Squared { new * new } else { new };
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
        features: &[Feature],
        length: f64,
        step: Step,
        norm: f64,
    ) {
        let (ranks, kind) = (self.sparsifier.ranks(), self.sparsifier.norm());
        let part = &mut self.vectors[vector];
        let per_value = length / part.scale;
        part.bound += per_value.abs() * norm; // |x_i| ≤ ‖x‖ and σ_i ≤ 1
        if !(self.varies || ranks) && kind == Norm::None {
            for feature in features {
                let value = &mut self.values[feature.slot as usize * self.width + vector];
                *value += per_value * feature.value;
                if value.abs() < TINY {
                    *value = 0.0;
                }
            }
            return;
        }
        let mut growth = 0.0;
        for feature in features {
            let index = feature.slot as usize * self.width + vector;
            let mut change = per_value * feature.value;
            if self.varies {
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
            let (size, before) = (new.abs(), old.abs());
            growth += if kind == Norm::Squared { new * new - old * old } else { size - before };
            if ranks {
                if old == 0.0 && new != 0.0 {
                    part.fresh.push(feature.slot);
                } else if size < before {
                    part.heap.set(feature.slot, size);
                }
            }
        }
        if kind != Norm::None {
            part.norm.add(growth);
        }
    }

    /// Let weights go after a step: scale back to the radius, then keep `kept` of them.
    pub fn sparsify(&mut self, vector: usize, kept: usize, draws: &mut Generator) {
        let part = &mut self.vectors[vector];
        let size = match self.sparsifier.norm() {
            Norm::None => 0.0,
            Norm::Absolute => part.scale * part.norm.value(),
            Norm::Squared => part.scale * part.norm.value().max(0.0).sqrt(),
        };
        let radius = self.sparsifier.radius();
        if size > radius {
            part.scale *= radius / size;
        }
        if self.sparsifier.ranks() {
            self.keep_largest(vector, kept);
        }
        if matches!(self.sparsifier, Sparsifier::RandomShare { .. }) {
            self.keep_random(vector, kept, draws);
        }
        self.fold_if_small(vector);
        let part = &mut self.vectors[vector];
        part.steps += 1;
        if part.steps >= FRESH_AFTER.max(self.rows as u64) {
            self.sum_afresh(vector);
        }
    }

    /// The heap always holds the largest, so what a step made non-zero is either among them or goes
    /// at once. It holds more than `kept` only where features were let go and d fell.
    fn keep_largest(&mut self, vector: usize, kept: usize) {
        let fresh = std::mem::take(&mut self.vectors[vector].fresh);
        for &slot in &fresh {
            let key = self.values[self.index(slot, vector)].abs();
            let Self { vectors, values, width, .. } = self;
            let heap = &mut vectors[vector].heap;
            if heap.len() < kept {
                heap.set(slot, key);
            } else {
                let now = |slot: Slot| values[slot as usize * *width + vector].abs();
                let out = heap.exchange(slot, key, now);
                self.let_go(out, vector);
            }
        }
        self.vectors[vector].fresh = fresh;
        self.vectors[vector].fresh.clear();
        while self.vectors[vector].heap.len() > kept {
            let Self { vectors, values, width, .. } = self;
            let now = |slot: Slot| values[slot as usize * *width + vector].abs();
            let Some(out) = vectors[vector].heap.pop(now) else { break };
            self.let_go(out, vector);
        }
    }

    fn let_go(&mut self, slot: Slot, vector: usize) {
        let index = self.index(slot, vector);
        let value = std::mem::take(&mut self.values[index]);
        let norm = &mut self.vectors[vector].norm;
        match self.sparsifier.norm() {
            Norm::None => {}
            Norm::Absolute => norm.add(-value.abs()),
            Norm::Squared => norm.add(-value * value),
        }
    }

    /// Selection sampling: each of the d features is kept with the same probability.
    fn keep_random(&mut self, vector: usize, kept: usize, draws: &mut Generator) {
        let mut wanted = kept;
        for row in 0..self.rows {
            if draws.uniform() * ((self.rows - row) as f64) < wanted as f64 {
                wanted -= 1;
            } else {
                self.values[row * self.width + vector] = 0.0;
            }
        }
    }

    /// Set all weights to 0; variances stay.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
        for part in &mut self.vectors {
            part.heap.clear();
            *part = Vector { heap: std::mem::take(&mut part.heap), ..Vector::default() };
        }
    }

    /// `v *= scale, scale = 1`: monotone, so the order of the heap survives. Where there is a heap
    /// only what is in it is not 0.
    fn fold_if_small(&mut self, vector: usize) {
        let scale = self.vectors[vector].scale;
        if scale >= SMALLEST_SCALE {
            return;
        }
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
        if self.sparsifier.ranks() {
            part.heap.slots().for_each(|slot| fold(slot as usize));
            part.heap.set_all(|slot| values[slot as usize * width + vector].abs());
        } else {
            (0..self.rows).for_each(fold);
        }
        let factor = if self.sparsifier.norm() == Norm::Squared { scale * scale } else { scale };
        part.norm.sum *= factor;
        part.norm.compensation *= factor;
        part.bound *= scale;
        part.scale = 1.0;
    }

    fn sum_afresh(&mut self, vector: usize) {
        let squared = self.sparsifier.norm() == Norm::Squared;
        let keeps_norm = self.sparsifier.norm() != Norm::None;
        let (mut norm, mut bound) = (Sum::default(), 0.0_f64);
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

    fn plain(length: f64) -> Step {
        Step { shrink: 1.0, length, narrowing: Narrowing::None }
    }

    fn weights_of(weights: &Weights) -> Vec<f64> {
        (0..weights.rows).map(|row| weights.weight(row as Slot, 0)).collect()
    }

    #[test]
    fn lazy_scaling_and_the_heap_give_the_same_weights_as_sorting() {
        let sparsifier = Sparsifier::KeepLargest { share: 0.3, l1_radius: 2.0 };
        let (mut fast, mut draws) = (Weights::new(sparsifier, false, 1), Generator::from_seed(5));
        let rows = 40;
        fast.set_rows(rows);
        let mut slow = vec![0.0; rows];
        for _ in 0..3_000 {
            let features: Vec<Feature> = (0..rows)
                .filter_map(|slot| {
                    let value = draws.uniform() - 0.5;
                    (draws.uniform() < 0.2).then_some(Feature { slot: slot as Slot, value })
                })
                .collect();
            fast.shift(0, &features, 1.0, plain(1.0), 10.0);
            fast.sparsify(0, 12, &mut draws.clone());
            for feature in &features {
                slow[feature.slot as usize] += feature.value;
            }
            let norm: f64 = slow.iter().map(|w| w.abs()).sum();
            let factor = (2.0 / norm).min(1.0);
            for weight in &mut slow {
                *weight *= factor;
            }
            let mut order: Vec<usize> = (0..rows).collect();
            order.sort_by(|&a, &b| slow[b].abs().total_cmp(&slow[a].abs()).then(a.cmp(&b)));
            for &slot in &order[12..] {
                slow[slot] = 0.0;
            }
            for (a, b) in weights_of(&fast).iter().zip(&slow) {
                assert!((a - b).abs() < 1e-12, "{a} {b}");
            }
        }
        assert!(fast.vectors[0].scale > SMALLEST_SCALE); // folded on the way, more than once
    }

    #[test]
    fn a_new_class_leaves_the_others_alone() {
        let mut weights = Weights::new(Sparsifier::None, true, 1);
        weights.set_rows(2);
        let feature = Feature { slot: 1, value: 2.0 };
        weights.shift(0, &[feature], 0.5, plain(0.5), 2.0);
        for _ in 0..4 {
            weights.add_vector();
        }
        assert_eq!(weights_of(&weights), [0.0, 1.0]);
        assert_eq!(weights.weight(1, 4), 0.0);
        assert_eq!(weights.variance(4, &[feature]), 4.0);
    }

    #[test]
    fn a_step_that_would_overflow_is_foreseen() {
        let mut weights = Weights::new(Sparsifier::None, false, 1);
        weights.set_rows(1);
        let feature = Feature { slot: 0, value: 1.0 };
        assert!(weights.can_take(0, &[feature], plain(1e300), 1.0));
        weights.shift(0, &[feature], 1.5e308, plain(1.5e308), 1.0);
        assert!(!weights.can_take(0, &[feature], plain(1.5e308), 1.0));
        assert!(weights.can_take(0, &[feature], plain(1.0), 1.0));
    }
}
