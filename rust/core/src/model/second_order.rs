//! The second-order perceptron with selective sampling (SEL-2nd).
//!
//! It keeps `v`, the sum of `y x` over the mistakes learned, and `M = A⁻¹` with `A = a·I + Σxxᵀ` over
//! the same events. With `u = M x` and `r = x·u` the margin is
//! `p = v·u/(1 + r)`, which is `v·(A + xxᵀ)⁻¹x`. A mistake learned (`y p ≤ 0`) moves `v += y x` and
//! `M -= uuᵀ/(1 + r)`. A new name adds a row and a column of zeros to M with `1/a` on the diagonal;
//! a name never learned already counts so in a prediction: `x²/a` in r, nothing in `v·u`.
//! Time and memory O(d²): there is a limit to the names.
//! Cesa-Bianchi, Gentile and Zaniboni, *Worst-Case Analysis of Selective Sampling for Linear
//! Classification*, JMLR 7 (2006).

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{Feature, FeatureId};
use crate::model::example::{Example, Outcome, Score, Scores, too_large};
use crate::model::kind::ModelKind;
use crate::scaling::RunningScaler;
use crate::storage::rng::Generator;

/// More names than these are refused: the matrix of so many takes 64 MiB.
pub const MOST_NAMES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondOrderConfig {
    /// a: what the start `A = a·I` weighs beside the events learned.
    pub prior_weight: f64,
    /// What a query rule looks at: `|p| + p²(1 + r)/2` instead of `|p|`.
    pub original: bool,
}

#[derive(Clone, Debug)]
pub struct SecondOrder {
    config: SecondOrderConfig,
    mistakes: Vec<f64>, // v
    matrix: Vec<f64>,   // M, row by row up to its diagonal
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct SecondOrderState {
    mistakes: Vec<f64>,
    matrix: Vec<f64>,
}

/// What the matrix makes of an event.
struct Projection {
    /// `u = M x`, an entry a known name.
    image: Vec<f64>,
    /// `r = x·u`
    spread: f64,
    /// `p`
    margin: f64,
}

fn place(row: usize, column: usize) -> usize {
    let (row, column) = if row < column { (column, row) } else { (row, column) };
    row * (row + 1) / 2 + column
}

impl ModelKind for SecondOrder {
    type Config = SecondOrderConfig;
    type State = SecondOrderState;

    fn new(config: SecondOrderConfig, _vectors: usize) -> Self {
        Self { config, mistakes: Vec::new(), matrix: Vec::new() }
    }

    fn score(&self, features: &[Feature], _draws: &Generator) -> Score {
        let Projection { margin, spread, .. } = self.look(features);
        let mut score = Score::by_sign(margin);
        if self.config.original {
            score.confidence += 0.5 * margin * margin * (1.0 + spread);
        }
        score
    }

    fn learn(
        &mut self,
        example: &Example<'_>,
        _scaler: Option<&RunningScaler>,
        _draws: &mut Generator,
    ) -> Result<Outcome, Error> {
        if example.names > MOST_NAMES {
            return Err(Error::Event(format!(
                "event: this learner keeps a matrix of all pairs of names and takes at most \
                 {MOST_NAMES} names; with this event there would be {}. Use a learner without a \
                 matrix, such as PAA or SEL-ada; nothing was changed.",
                example.names
            )));
        }
        example.squared_norm()?;
        let Projection { mut image, spread, margin } = self.look(example.features);
        if !margin.is_finite() || !spread.is_finite() {
            return Err(too_large("its margin"));
        }
        let sign = example.target.sign();
        let mistake = sign * margin <= 0.0;
        image.resize(example.names, 0.0);
        for feature in example.features.iter().filter(|f| f.id as usize >= example.known) {
            image[feature.id as usize] = feature.value * self.fresh();
        }
        let root = (1.0 + spread).sqrt();
        for (row, z) in image.iter_mut().enumerate() {
            // |u_i|/√(1 + r) ≤ √M_ii; where rounding has it otherwise M would drift away.
            let diagonal = self.matrix.get(place(row, row)).copied().unwrap_or(self.fresh());
            *z = (*z / root).clamp(-diagonal.sqrt(), diagonal.sqrt());
        }
        let moved = |f: &Feature| self.mistakes.get(f.id as usize).unwrap_or(&0.0) + sign * f.value;
        if mistake && !example.features.iter().all(|f| moved(f).is_finite()) {
            return Err(too_large("a weight"));
        }

        // From here on nothing can fail.
        self.grow(example.names);
        if mistake {
            for feature in example.features {
                self.mistakes[feature.id as usize] += sign * feature.value;
            }
            if spread > 0.0 {
                self.narrow(&image);
            }
        }
        Ok(Outcome { mistake, scores: Scores::by_margin(margin) })
    }

    fn contributions(&self, features: &[Feature], _draws: &Generator) -> Vec<f64> {
        let spread = self.look(features).spread;
        let weight = |feature: &Feature| {
            let known = (feature.id as usize) < self.mistakes.len();
            if known { self.weight(feature.id, 0) } else { 0.0 }
        };
        features.iter().map(|f| weight(f) * f.value / (1.0 + spread)).collect()
    }

    fn weight(&self, id: FeatureId, _vector: usize) -> f64 {
        let row = id as usize;
        let mut sum = 0.0;
        for (column, v) in self.mistakes.iter().enumerate() {
            sum += self.matrix[place(row, column)] * v;
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
        if (0..names).any(|row| state.matrix[place(row, row)] < 0.0) {
            return Err("its matrix has a diagonal below 0");
        }
        self.mistakes.clone_from(&state.mistakes);
        self.matrix.clone_from(&state.matrix);
        Ok(())
    }
}

impl SecondOrder {
    /// Of a name never learned the matrix is to have 1/a on its diagonal.
    fn fresh(&self) -> f64 {
        1.0 / self.config.prior_weight
    }

    fn look(&self, features: &[Feature]) -> Projection {
        let d = self.mistakes.len();
        let mut image = vec![0.0; d];
        for feature in features.iter().filter(|feature| (feature.id as usize) < d) {
            let column = feature.id as usize;
            let start = place(column, 0);
            for (sum, entry) in image.iter_mut().zip(&self.matrix[start..=start + column]) {
                *sum += entry * feature.value;
            }
            for (row, sum) in image.iter_mut().enumerate().skip(column + 1) {
                *sum += self.matrix[place(row, column)] * feature.value;
            }
        }
        let mut spread = 0.0;
        for feature in features {
            let own = image.get(feature.id as usize).copied();
            spread += own.unwrap_or(feature.value * self.fresh()) * feature.value;
        }
        let spread = if spread < 0.0 { 0.0 } else { spread }; // by rounding only: M has no such x
        let mut sum = 0.0;
        for (v, u) in self.mistakes.iter().zip(&image) {
            sum += v * u;
        }
        Projection { margin: sum / (1.0 + spread), image, spread }
    }

    fn grow(&mut self, names: usize) {
        for row in self.mistakes.len()..names {
            self.matrix.resize(place(row, row), 0.0);
            self.matrix.push(self.fresh());
        }
        self.mistakes.resize(names, 0.0);
    }

    /// `M -= zzᵀ`
    fn narrow(&mut self, z: &[f64]) {
        let mut entries = self.matrix.iter_mut();
        for (row, &by) in z.iter().enumerate() {
            for (other, entry) in z[..row].iter().zip(entries.by_ref()) {
                *entry -= by * other;
            }
            if let Some(diagonal) = entries.next() {
                *diagonal = (*diagonal - by * by).max(0.0); // below 0 by rounding only
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Target;

    fn model(prior_weight: f64, original: bool) -> SecondOrder {
        SecondOrder::new(SecondOrderConfig { prior_weight, original }, 1)
    }

    fn example(features: &[Feature], class: usize, known: usize, names: usize) -> Example<'_> {
        let target = Target::Class(class);
        Example { features, target, known, names, positives: 1, negatives: 1, products: None }
    }

    fn learn(model: &mut SecondOrder, example: &Example<'_>) -> Result<Outcome, Error> {
        model.learn(example, None, &mut Generator::from_seed(0))
    }

    #[test]
    fn the_first_mistake_by_hand() {
        let mut model = model(2.0, true);
        let x = [Feature { id: 0, value: 2.0 }];
        assert_eq!(model.score(&x, &Generator::from_seed(0)).margin, 0.0);
        assert!(learn(&mut model, &example(&x, 1, 0, 1)).unwrap().mistake);
        // u = 1, r = 2, so M = 1/2 − 1/3 = 1/6 = 1/(2 + 2²), and v = 2.
        assert!((model.matrix[0] - 1.0 / 6.0).abs() < 1e-15);
        let score = model.score(&x, &Generator::from_seed(0));
        assert!((score.margin - 0.4).abs() < 1e-15); // v·(A + xx)⁻¹x = 2·2/10
        let expected = 0.4 + 0.5 * 0.16 * (1.0 + 4.0 / 6.0);
        assert!((score.confidence - expected).abs() < 1e-15);
        assert!(!learn(&mut model, &example(&x, 1, 1, 1)).unwrap().mistake);
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
            let x: Vec<Feature> = (0..names)
                .map(|id| Feature { id: id as FeatureId, value: draws.uniform() - 0.5 })
                .collect();
            let class = usize::from(draws.uniform() < 0.5);
            if learn(&mut model, &example(&x, class, known, names)).unwrap().mistake {
                for (a, b) in x.iter().flat_map(|a| x.iter().map(move |b| (a, b))) {
                    inverse[a.id as usize][b.id as usize] += a.value * b.value;
                }
            }
            known = names;
        }
        for (i, row) in inverse.iter().enumerate() {
            for j in 0..d {
                let product: f64 = (0..d).map(|k| row[k] * model.matrix[place(k, j)]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn too_many_names_are_refused() {
        let mut model = model(1.0, false);
        let x: Vec<Feature> =
            (0..=MOST_NAMES).map(|id| Feature { id: id as FeatureId, value: 1.0 }).collect();
        assert!(matches!(learn(&mut model, &example(&x, 1, 0, x.len())), Err(Error::Event(_))));
        assert!(model.mistakes.is_empty());
    }
}
