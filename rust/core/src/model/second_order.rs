//! The second-order perceptron with selective sampling (SEL-2nd).
//!
//! It keeps `v`, the sum of `y x` over the mistakes learned, and `M = A⁻¹` with `A = a·I + Σxxᵀ`
//! over the same events. With `u = M x` and `r = x·u` the margin is `p = v·u/(1 + r)`, which is
//! `v·(A + xxᵀ)⁻¹x`. A mistake learned (`y p ≤ 0`) moves `v += y x` and `M -= uuᵀ/(1 + r)`. A new
//! name adds a row and a column of zeros to M with `1/a` on the diagonal. In a prediction an
//! unknown name already counts like this: `x²/a` in r, nothing in `v·u`. Time and memory are O(d²),
//! so the number of names is limited. Cesa-Bianchi, Gentile and Zaniboni, *Worst-Case Analysis of
//! Selective Sampling for Linear Classification*, JMLR 7 (2006).

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::model::example::{Example, Outcome, PriorScores, Score, too_large};
use crate::model::kind::ModelKind;
use crate::storage::rng::Generator;

/// More names are refused: the matrix of so many takes 64 MiB.
pub const MOST_NAMES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondOrderConfig {
    /// a: the weight of the initial `A = a·I` against the events learned.
    pub prior_weight: f64,
    /// The confidence for the query rule is `|p| + p²(1 + r)/2` instead of `|p|`.
    pub original: bool,
}

#[derive(Clone, Debug)]
pub struct SecondOrder {
    config: SecondOrderConfig,
    /// v
    mistakes: Vec<f64>,
    /// M, row by row up to the diagonal.
    matrix: Vec<f64>,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct SecondOrderState {
    mistakes: Vec<f64>,
    matrix: Vec<f64>,
}

/// The products of the matrix with an event.
struct MatrixProducts {
    /// `u = M x`, one entry per known name.
    product: Vec<f64>,
    /// `r = x·u`
    quadratic: f64,
    /// `p`
    margin: f64,
}

/// Where an entry of the symmetric matrix is stored.
fn entry_index(row: usize, column: usize) -> usize {
    let (row, column) = if row < column { (column, row) } else { (row, column) };
    row * (row + 1) / 2 + column
}

impl ModelKind for SecondOrder {
    type Config = SecondOrderConfig;
    type State = SecondOrderState;

    fn new(config: SecondOrderConfig, _vectors: usize) -> Self {
        Self { config, mistakes: Vec::new(), matrix: Vec::new() }
    }

    fn score(&self, features: &[FeatureValue], _draws: &Generator) -> Score {
        let MatrixProducts { margin, quadratic, .. } = self.multiply(features);
        let mut score = Score::by_sign(margin);
        if self.config.original {
            score.confidence += 0.5 * margin * margin * (1.0 + quadratic);
        }
        score
    }

    fn learn(
        &mut self,
        example: &Example<'_>,
        _draws: &mut Generator,
    ) -> Result<Outcome<'_>, Error> {
        if example.rows > MOST_NAMES {
            return Err(Error::Event(format!(
                "event: this learner keeps a matrix of all pairs of names and takes at most \
                 {MOST_NAMES} names; with this event there would be {}. Use a learner without a \
                 matrix, such as PAA or SEL-ada; nothing was changed.",
                example.rows
            )));
        }
        example.finite_norm()?;
        let MatrixProducts { mut product, quadratic, margin } = self.multiply(example.features);
        if !margin.is_finite() || !quadratic.is_finite() {
            return Err(too_large("its margin"));
        }
        let sign = example.target.sign();
        let mistake = sign * margin <= 0.0;
        product.resize(example.rows, 0.0);
        for feature in example.features.iter().filter(|f| !example.is_learned(f.id)) {
            product[feature.id as usize] = feature.value * self.initial_diagonal();
        }
        let root = (1.0 + quadratic).sqrt();
        for (row, z) in product.iter_mut().enumerate() {
            // |u_i|/√(1 + r) ≤ √M_ii. Rounding must not violate this, or M would stop being positive.
            let diagonal =
                self.matrix.get(entry_index(row, row)).copied().unwrap_or(self.initial_diagonal());
            *z = (*z / root).clamp(-diagonal.sqrt(), diagonal.sqrt());
        }
        let moved =
            |f: &FeatureValue| self.mistakes.get(f.id as usize).unwrap_or(&0.0) + sign * f.value;
        if mistake && !example.features.iter().all(|f| moved(f).is_finite()) {
            return Err(too_large("a weight"));
        }

        // From here on nothing can fail.
        self.grow(example.rows);
        if mistake {
            for feature in example.features {
                self.mistakes[feature.id as usize] += sign * feature.value;
            }
            if quadratic > 0.0 {
                self.subtract_outer(&product);
            }
        }
        Ok(Outcome { mistake, scores: PriorScores::Margin(margin) })
    }

    fn contributions(&self, features: &[FeatureValue], _draws: &Generator) -> Vec<f64> {
        let quadratic = self.multiply(features).quadratic;
        let weight = |feature: &FeatureValue| {
            let known = (feature.id as usize) < self.mistakes.len();
            if known { self.weight(feature.id, 0) } else { 0.0 }
        };
        features.iter().map(|f| weight(f) * f.value / (1.0 + quadratic)).collect()
    }

    fn weight(&self, id: FeatureId, _vector: usize) -> f64 {
        let row = id as usize;
        let mut sum = 0.0;
        for (column, v) in self.mistakes.iter().enumerate() {
            sum += self.matrix[entry_index(row, column)] * v;
        }
        sum
    }

    fn state(&self) -> SecondOrderState {
        SecondOrderState { mistakes: self.mistakes.clone(), matrix: self.matrix.clone() }
    }

    fn adopt(
        &mut self,
        state: &SecondOrderState,
        names: usize,
        _vectors: usize,
    ) -> Result<(), &'static str> {
        if names > MOST_NAMES {
            return Err("it has too many names");
        }
        if state.mistakes.len() != names || state.matrix.len() != names * (names + 1) / 2 {
            return Err("its matrix is not as large as its names");
        }
        if !state.mistakes.iter().chain(&state.matrix).all(|number| number.is_finite()) {
            return Err("a number is not finite");
        }
        if (0..names).any(|row| state.matrix[entry_index(row, row)] < 0.0) {
            return Err("its matrix has a diagonal below 0");
        }
        self.mistakes.clone_from(&state.mistakes);
        self.matrix.clone_from(&state.matrix);
        Ok(())
    }
}

impl SecondOrder {
    /// 1/a, the diagonal of M for a name never learned.
    fn initial_diagonal(&self) -> f64 {
        1.0 / self.config.prior_weight
    }

    fn multiply(&self, features: &[FeatureValue]) -> MatrixProducts {
        let d = self.mistakes.len();
        let mut product = vec![0.0; d];
        for feature in features.iter().filter(|feature| (feature.id as usize) < d) {
            let column = feature.id as usize;
            let start = entry_index(column, 0);
            for (sum, entry) in product.iter_mut().zip(&self.matrix[start..=start + column]) {
                *sum += entry * feature.value;
            }
            for (row, sum) in product.iter_mut().enumerate().skip(column + 1) {
                *sum += self.matrix[entry_index(row, column)] * feature.value;
            }
        }
        let mut quadratic = 0.0;
        for feature in features {
            let own = product.get(feature.id as usize).copied();
            quadratic += own.unwrap_or(feature.value * self.initial_diagonal()) * feature.value;
        }
        let quadratic = if quadratic < 0.0 { 0.0 } else { quadratic }; // only by rounding: M is positive
        let mut sum = 0.0;
        for (v, u) in self.mistakes.iter().zip(&product) {
            sum += v * u;
        }
        MatrixProducts { margin: sum / (1.0 + quadratic), product, quadratic }
    }

    /// Extend v and M to so many names.
    fn grow(&mut self, names: usize) {
        for row in self.mistakes.len()..names {
            self.matrix.resize(entry_index(row, row), 0.0);
            self.matrix.push(self.initial_diagonal());
        }
        self.mistakes.resize(names, 0.0);
    }

    /// `M -= zzᵀ`
    fn subtract_outer(&mut self, z: &[f64]) {
        let mut entries = self.matrix.iter_mut();
        for (row, &by) in z.iter().enumerate() {
            for (other, entry) in z[..row].iter().zip(entries.by_ref()) {
                *entry -= by * other;
            }
            if let Some(diagonal) = entries.next() {
                *diagonal = (*diagonal - by * by).max(0.0); // below 0 only by rounding
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::sum_of_squares;
    use crate::label::Target;
    use crate::model::example::testing::learned;

    fn model(prior_weight: f64, original: bool) -> SecondOrder {
        SecondOrder::new(SecondOrderConfig { prior_weight, original }, 1)
    }

    /// Learn an event, of whose names the first `known` were learned before.
    fn learn<'a>(
        model: &'a mut SecondOrder,
        features: &[FeatureValue],
        class: usize,
        known: usize,
    ) -> Result<Outcome<'a>, Error> {
        let example = Example {
            features,
            squared_norm: sum_of_squares(features),
            target: Target::Class(class),
            number: 0,
            weight: 1.0,
            per_feature: 1,
            history: &learned(known),
            rows: features.len(),
            positives: 1,
            negatives: 1,
            products: None,
        };
        model.learn(&example, &mut Generator::from_seed(0))
    }

    #[test]
    fn the_first_mistake_by_hand() {
        let mut model = model(2.0, true);
        let x = [FeatureValue { id: 0, value: 2.0 }];
        assert_eq!(model.score(&x, &Generator::from_seed(0)).margin, 0.0);
        assert!(learn(&mut model, &x, 1, 0).unwrap().mistake);
        // u = 1, r = 2, so M = 1/2 − 1/3 = 1/6 = 1/(2 + 2²), and v = 2.
        assert!((model.matrix[0] - 1.0 / 6.0).abs() < 1e-15);
        let score = model.score(&x, &Generator::from_seed(0));
        assert!((score.margin - 0.4).abs() < 1e-15); // v·(A + xx)⁻¹x = 2·2/10
        let expected = 0.4 + 0.5 * 0.16 * (1.0 + 4.0 / 6.0);
        assert!((score.confidence - expected).abs() < 1e-15);
        assert!(!learn(&mut model, &x, 1, 1).unwrap().mistake);
    }

    #[test]
    fn the_matrix_stays_the_inverse_of_a_plus_the_mistakes() {
        let (mut model, mut draws) = (model(0.5, false), Generator::from_seed(4));
        let d = 6;
        let mut inverse = vec![vec![0.0; d]; d]; // A
        for (i, row) in inverse.iter_mut().enumerate() {
            row[i] = 0.5;
        }
        let mut known = 0;
        for round in 0..60 {
            let names = (2 + round / 10).min(d);
            let x: Vec<FeatureValue> = (0..names)
                .map(|id| FeatureValue { id: id as FeatureId, value: draws.uniform() - 0.5 })
                .collect();
            let class = usize::from(draws.uniform() < 0.5);
            if learn(&mut model, &x, class, known).unwrap().mistake {
                for (a, b) in x.iter().flat_map(|a| x.iter().map(move |b| (a, b))) {
                    inverse[a.id as usize][b.id as usize] += a.value * b.value;
                }
            }
            known = names;
        }
        for (i, row) in inverse.iter().enumerate() {
            for j in 0..d {
                let product: f64 = (0..d).map(|k| row[k] * model.matrix[entry_index(k, j)]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn too_many_names_are_refused() {
        let mut model = model(1.0, false);
        let x: Vec<FeatureValue> =
            (0..=MOST_NAMES).map(|id| FeatureValue { id: id as FeatureId, value: 1.0 }).collect();
        assert!(matches!(learn(&mut model, &x, 1, 0), Err(Error::Event(_))));
        assert!(model.mistakes.is_empty());
    }
}
