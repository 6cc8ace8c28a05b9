//! What a learner knows of its features, copied out of it so that its lock can be let go.

use headwater_core as core;
use headwater_core::Label;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::OwnedName;
use crate::convert::name_to_python;

pub struct Knowledge {
    pub multiclass: bool,
    /// Of several classes; empty otherwise.
    pub labels: Vec<Label>,
    pub names: Vec<OwnedName>,
    pub register: Vec<core::Register>,
    /// A column a weight vector.
    pub weights: Vec<Vec<f64>>,
}

impl Knowledge {
    pub fn of(core: &core::Learner) -> Self {
        let slots = 0..core.vocabulary_len() as core::Slot;
        let multiclass = core.labels().is_multiclass();
        let vectors = 0..core.labels().vectors();
        Self {
            multiclass,
            labels: if multiclass { core.labels().known() } else { Vec::new() },
            names: slots.clone().map(|slot| OwnedName::of(core.name(slot))).collect(),
            register: slots.clone().map(|slot| core.register(slot)).collect(),
            weights: vectors
                .map(|vector| slots.clone().map(|slot| core.weight(slot, vector)).collect())
                .collect(),
        }
    }

    /// The weights of a vector that are not 0.
    pub fn weights<'py>(&self, py: Python<'py>, vector: usize) -> PyResult<Bound<'py, PyDict>> {
        let weights = PyDict::new(py);
        for (name, &weight) in self.names.iter().zip(&self.weights[vector]) {
            if weight != 0.0 {
                weights.set_item(name_to_python(py, name.borrow())?, weight)?;
            }
        }
        Ok(weights)
    }
}
