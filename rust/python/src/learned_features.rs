//! Names, history and weights of a learner's features, copied so that its lock can be released.

use headwater_core as core;
use headwater_core::{Label, OwnedName};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::name::{name_to_python, presence_name};

pub struct LearnedFeatures {
    pub multiclass: bool,
    /// The classes if there are several; otherwise empty.
    pub labels: Vec<Label>,
    pub names: Vec<OwnedName>,
    pub history: Vec<core::FeatureHistory>,
    /// One column per weight vector.
    pub weights: Vec<Vec<f64>>,
    /// The same of presences, for learners with a scaler.
    presence: Vec<Vec<f64>>,
}

impl LearnedFeatures {
    pub fn of(core: &core::Learner) -> Self {
        let all = 0..core.names() as core::FeatureId;
        let ids: Vec<core::FeatureId> = all.filter(|&id| core.is_learned(id)).collect();
        let multiclass = core.labels().is_multiclass();
        let vectors = 0..core.labels().vectors();
        Self {
            multiclass,
            labels: if multiclass { core.labels().known() } else { Vec::new() },
            names: ids.iter().map(|&id| OwnedName::of(core.name(id))).collect(),
            history: ids.iter().map(|&id| core.history(id)).collect(),
            weights: vectors
                .clone()
                .map(|vector| ids.iter().map(|&id| core.weight(id, vector)).collect())
                .collect(),
            presence: vectors
                .map(|vector| ids.iter().map(|&id| core.presence_weight(id, vector)).collect())
                .collect(),
        }
    }

    /// Place and weight of the `count` features with the largest weights, largest first; the older one first of
    /// equal ones, and without those of weight 0.
    pub fn heaviest(&self, count: usize) -> Vec<(usize, f64)> {
        let largest = |id: usize| {
            let columns = self.weights.iter().map(|column| column[id]);
            columns.fold(
                0.0,
                |best: f64, weight| if weight.abs() > best.abs() { weight } else { best },
            )
        };
        let mut all: Vec<(usize, f64)> =
            (0..self.names.len()).map(|id| (id, largest(id))).filter(|one| one.1 != 0.0).collect();
        let order = |a: &(usize, f64), b: &(usize, f64)| {
            b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0))
        };
        if count < all.len() {
            all.select_nth_unstable_by(count, order);
            all.truncate(count);
        }
        all.sort_unstable_by(order);
        all
    }

    /// The weights of a vector that are not 0.
    pub fn weights<'py>(&self, py: Python<'py>, vector: usize) -> PyResult<Bound<'py, PyDict>> {
        let weights = PyDict::new(py);
        for (name, &weight) in self.names.iter().zip(&self.weights[vector]) {
            if weight != 0.0 {
                weights.set_item(name_to_python(py, name.borrow())?, weight)?;
            }
        }
        for (name, &weight) in self.names.iter().zip(&self.presence[vector]) {
            if weight != 0.0 {
                let name = name_to_python(py, name.borrow())?;
                weights.set_item(presence_name(&name)?, weight)?;
            }
        }
        Ok(weights)
    }
}
