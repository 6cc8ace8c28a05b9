//! The map from a new feature space to an old one, learned from rows that have both.
//!
//! With the rows X1 (old names) and X2 (new names) the ridge map is ψ(x) = Mᵀx,
//! M = (X2ᵀX2 + εI)⁻¹X2ᵀX1. Its dual form never makes M: with K = X2X2ᵀ + εI,
//! ψ(x) = X1ᵀK⁻¹z, z = X2x. Of a weight vector w on the old names only u = X1w is needed:
//! w·ψ(x) = β·z with β = K⁻¹u, and the step w += s·ψ(x) is u += s·X1X1ᵀK⁻¹z. So neither X1 nor w is
//! stored, and an event costs O(B·n + B²). The weights of the new names are X2ᵀβ.

use serde::{Deserialize, Serialize};

use crate::event::{FeatureId, FeatureValue};

/// The default ε, as a share of the mean diagonal entry of X2X2ᵀ.
const SMALL_RIDGE: f64 = 1e-8;

/// A square matrix, row by row.
pub type SquareMatrix = Vec<f64>;

/// A sparse matrix by columns: for each feature id the rows that have it.
#[derive(Clone, Debug, Default)]
pub struct SparseColumns {
    ids: Vec<FeatureId>,
    /// Where the entries of each id end.
    ends: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl SparseColumns {
    /// The features of these rows for which `keep` is true.
    pub fn of(rows: &[&[FeatureValue]], keep: impl Fn(FeatureId) -> bool) -> Self {
        let mut all: Vec<(FeatureId, u32, f64)> = Vec::new();
        for (row, features) in rows.iter().enumerate() {
            let kept = features.iter().filter(|feature| keep(feature.id));
            all.extend(kept.map(|feature| (feature.id, row as u32, feature.value)));
        }
        all.sort_unstable_by_key(|&(id, row, _)| (id, row));
        let mut columns = Self::default();
        for (id, row, value) in all {
            if columns.ids.last() != Some(&id) {
                columns.ids.push(id);
                columns.ends.push(columns.entries.len());
            }
            columns.entries.push((row, value));
            if let Some(end) = columns.ends.last_mut() {
                *end = columns.entries.len();
            }
        }
        columns
    }

    fn column(&self, place: usize) -> &[(u32, f64)] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.entries[start..self.ends[place]]
    }

    fn column_of(&self, id: FeatureId) -> &[(u32, f64)] {
        self.ids.binary_search(&id).map_or(&[], |place| self.column(place))
    }

    /// XXᵀ for `size` rows, summed in the order of the ids.
    pub fn gram(&self, size: usize) -> SquareMatrix {
        let mut gram = vec![0.0; size * size];
        for place in 0..self.ids.len() {
            let column = self.column(place);
            for &(i, a) in column {
                for &(j, b) in column {
                    gram[i as usize * size + j as usize] += a * b;
                }
            }
        }
        gram
    }

    /// z = Xx, summed in the order of the event.
    fn times(&self, features: &[FeatureValue], size: usize) -> Vec<f64> {
        let mut product = vec![0.0; size];
        for feature in features {
            for &(row, value) in self.column_of(feature.id) {
                product[row as usize] += value * feature.value;
            }
        }
        product
    }
}

/// The lower Cholesky factor of a symmetric matrix; none if it is not positive definite.
pub fn cholesky(matrix: &[f64], size: usize) -> Option<SquareMatrix> {
    let mut lower = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..=i {
            let mut rest = matrix[i * size + j];
            for k in 0..j {
                rest -= lower[i * size + k] * lower[j * size + k];
            }
            if i != j {
                lower[i * size + j] = rest / lower[j * size + j];
            } else if rest > 0.0 && rest.is_finite() {
                lower[i * size + i] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    lower.iter().all(|value| value.is_finite()).then_some(lower)
}

/// K⁻¹v, with the Cholesky factor of K.
pub fn solve(lower: &[f64], v: &[f64]) -> Vec<f64> {
    let size = v.len();
    let mut x = v.to_vec();
    for i in 0..size {
        for j in 0..i {
            x[i] -= lower[i * size + j] * x[j];
        }
        x[i] /= lower[i * size + i];
    }
    for i in (0..size).rev() {
        for j in i + 1..size {
            x[i] -= lower[j * size + i] * x[j];
        }
        x[i] /= lower[i * size + i];
    }
    x
}

/// The old model together with the map.
#[derive(Clone, Debug)]
pub struct RidgeMap {
    /// X2
    new: SparseColumns,
    /// X1X1ᵀ
    old_gram: SquareMatrix,
    /// The Cholesky factor of K.
    factor: SquareMatrix,
    /// u = X1w
    at_rows: Vec<f64>,
    /// β = K⁻¹u
    beta: Vec<f64>,
}

/// What is saved; the rest is computed from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RidgeMapState {
    ids: Vec<FeatureId>,
    ends: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
    old_gram: Vec<f64>,
    at_rows: Vec<f64>,
}

/// The old model after a step.
pub struct MapStep {
    at_rows: Vec<f64>,
    beta: Vec<f64>,
}

impl RidgeMap {
    /// The map from `new` (X2) with X1X1ᵀ and the old model's X1w. None if X2 is 0, or if its
    /// numbers are too large.
    pub fn new(
        new: SparseColumns,
        old_gram: SquareMatrix,
        at_rows: Vec<f64>,
        ridge: Option<f64>,
    ) -> Option<Self> {
        let size = at_rows.len();
        let mut kernel = new.gram(size);
        let trace: f64 = (0..size).map(|i| kernel[i * size + i]).sum();
        if trace <= 0.0 || !trace.is_finite() {
            return None;
        }
        let ridge = ridge.unwrap_or(SMALL_RIDGE * trace / size as f64);
        for i in 0..size {
            kernel[i * size + i] += ridge;
        }
        let factor = cholesky(&kernel, size)?;
        let beta = solve(&factor, &at_rows);
        let mut numbers = old_gram.iter().chain(&at_rows).chain(&beta);
        if !numbers.all(|number| number.is_finite()) {
            return None;
        }
        Some(Self { new, old_gram, factor, at_rows, beta })
    }

    /// The number of rows that the map was learned from.
    pub fn rows(&self) -> usize {
        self.at_rows.len()
    }

    /// z = X2x
    pub fn project(&self, features: &[FeatureValue]) -> Vec<f64> {
        self.new.times(features, self.rows())
    }

    /// w·ψ(x) = β·z
    pub fn score(&self, z: &[f64]) -> f64 {
        dot(&self.beta, z)
    }

    /// The weight of a new name: its entry of X2ᵀβ.
    pub fn weight(&self, id: FeatureId) -> f64 {
        let column = self.new.column_of(id).iter();
        column.map(|&(row, value)| value * self.beta[row as usize]).sum()
    }

    /// The old model after w += step·ψ(x).
    pub fn moved(&self, z: &[f64], step: f64) -> MapStep {
        let size = self.rows();
        let k = solve(&self.factor, z);
        let at_rows: Vec<f64> = (0..size)
            .map(|i| self.at_rows[i] + step * dot(&self.old_gram[i * size..(i + 1) * size], &k))
            .collect();
        let beta = solve(&self.factor, &at_rows);
        MapStep { at_rows, beta }
    }

    pub fn take(&mut self, moved: MapStep) {
        (self.at_rows, self.beta) = (moved.at_rows, moved.beta);
    }

    pub fn state(&self) -> RidgeMapState {
        let entries = || self.new.entries.iter();
        RidgeMapState {
            ids: self.new.ids.clone(),
            ends: self.new.ends.clone(),
            rows: entries().map(|&(row, _)| row).collect(),
            values: entries().map(|&(_, value)| value).collect(),
            old_gram: self.old_gram.clone(),
            at_rows: self.at_rows.clone(),
        }
    }

    /// The map of a saved state, for so many names.
    pub fn restored(
        state: &RidgeMapState,
        names: usize,
        ridge: Option<f64>,
    ) -> Result<Self, &'static str> {
        let size = state.at_rows.len();
        let sorted = |numbers: &[usize]| numbers.windows(2).all(|pair| pair[0] < pair[1]);
        let ids: Vec<usize> = state.ids.iter().map(|&id| id as usize).collect();
        let fits = state.old_gram.len() == size * size
            && state.rows.len() == state.values.len()
            && state.ids.len() == state.ends.len()
            && state.ends.last().copied().unwrap_or(0) == state.rows.len()
            && state.ends.first() != Some(&0)
            && sorted(&state.ends)
            && sorted(&ids)
            && ids.last().is_none_or(|&id| id < names)
            && state.rows.iter().all(|&row| (row as usize) < size);
        if !fits {
            return Err("its overlap is damaged");
        }
        let entries = state.rows.iter().copied().zip(state.values.iter().copied()).collect();
        let new = SparseColumns { ids: state.ids.clone(), ends: state.ends.clone(), entries };
        Self::new(new, state.old_gram.clone(), state.at_rows.clone(), ridge)
            .ok_or("its overlap gives no map")
    }
}

impl MapStep {
    pub fn is_finite(&self) -> bool {
        self.at_rows.iter().chain(&self.beta).all(|number| number.is_finite())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f64], first: FeatureId) -> Vec<FeatureValue> {
        (first..).zip(values).map(|(id, &value)| FeatureValue { id, value }).collect()
    }

    #[test]
    fn the_cholesky_factor_solves_its_equations() {
        let matrix = [4.0, 2.0, 2.0, 3.0];
        let factor = cholesky(&matrix, 2).unwrap();
        let x = solve(&factor, &[2.0, 5.0]);
        assert!((4.0 * x[0] + 2.0 * x[1] - 2.0).abs() < 1e-12);
        assert!((2.0 * x[0] + 3.0 * x[1] - 5.0).abs() < 1e-12);
        assert_eq!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2), None);
    }

    #[test]
    fn the_map_recovers_an_exact_relation() {
        // old = (new0 + new1, new0 - new1); new names have ids 2 and 3
        let rows: Vec<Vec<FeatureValue>> = [[1.0, 0.5], [0.2, -1.0], [3.0, 1.0]]
            .iter()
            .map(|[a, b]| row(&[a + b, a - b, *a, *b], 0))
            .collect();
        let rows: Vec<&[FeatureValue]> = rows.iter().map(Vec::as_slice).collect();
        let old = SparseColumns::of(&rows, |id| id < 2);
        let w = [2.0, -1.0];
        let at_rows = rows.iter().map(|r| r[0].value * w[0] + r[1].value * w[1]).collect();
        let new = SparseColumns::of(&rows, |id| id >= 2);
        let mut map = RidgeMap::new(new, old.gram(3), at_rows, None).unwrap();
        let x = row(&[0.7, 0.3], 2);
        let z = map.project(&x);
        let old_x = [1.0, 0.4];
        assert!((map.score(&z) - (2.0 * old_x[0] - old_x[1])).abs() < 1e-6);
        let by_weights = 0.7 * map.weight(2) + 0.3 * map.weight(3);
        assert!((map.score(&z) - by_weights).abs() < 1e-9);
        let moved = map.moved(&z, 0.5); // w += 0.5·ψ(x)
        map.take(moved);
        let w = [w[0] + 0.5 * old_x[0], w[1] + 0.5 * old_x[1]];
        assert!((map.score(&z) - (w[0] * old_x[0] + w[1] * old_x[1])).abs() < 1e-6);
    }

    #[test]
    fn rows_without_new_values_give_no_map() {
        let old = row(&[1.0], 0);
        let new = SparseColumns::of(&[&old], |id| id > 0);
        assert!(RidgeMap::new(new, vec![1.0], vec![1.0], None).is_none());
    }
}
