//! What every kind of model can do.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::event::{Feature, FeatureId};
use crate::model::example::{Example, Outcome, Score};
use crate::scaling::RunningScaler;
use crate::storage::index_remap::IndexRemap;
use crate::storage::rng::Generator;

/// A kind of model: scores events and learns examples. What few kinds do has a default.
///
/// In an example every feature has its id; ids from `known` on are those that the new names will get,
/// and a model has no entry for them yet.
pub trait ModelKind: Sized {
    type Config: Copy;
    /// What is saved.
    type State: Serialize + DeserializeOwned;

    /// Refuse parameters that make no sense together.
    fn validate(_config: &Self::Config) -> Result<(), Error> {
        Ok(())
    }

    /// A model that has learned nothing, with so many weight vectors if it may have several.
    fn new(config: Self::Config, vectors: usize) -> Self;

    /// A prediction. What it must draw is drawn from a copy of `draws`: scoring is pure.
    fn score(&self, features: &[Feature], draws: &Generator) -> Score;

    /// One score per class that is known; none if there are two classes, or none.
    fn class_scores(&self, _features: &[Feature]) -> Option<Vec<f64>> {
        None
    }

    /// One probability per label that is known, if the model has its own way to it.
    fn probabilities(&self, _features: &[Feature]) -> Option<Vec<f64>> {
        None
    }

    /// Whether learning looks at the scaler, which then has to count an event before it is learned.
    fn uses_scaler(&self) -> bool {
        false
    }

    /// Whether [`Self::learn`] would refuse an event, for models that use the scaler.
    fn check(&self, _features: &[Feature]) -> Result<(), Error> {
        Ok(())
    }

    /// Learn. An error has changed nothing.
    fn learn(
        &mut self,
        example: &Example<'_>,
        scaler: Option<&RunningScaler>,
        draws: &mut Generator,
    ) -> Result<Outcome, Error>;

    /// What each feature adds to the margin.
    fn contributions(&self, features: &[Feature], draws: &Generator) -> Vec<f64>;

    /// What else there is to say of an event, by name.
    fn details(&self, _features: &[Feature]) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The weight of a feature in a weight vector (0 if binary, else the class).
    fn weight(&self, id: FeatureId, vector: usize) -> f64;

    /// The size of a feature's largest weight.
    fn size(&self, id: FeatureId) -> f64 {
        self.weight(id, 0).abs()
    }

    /// Whether features can be evicted.
    fn can_evict(&self) -> bool {
        false
    }

    /// Drop what is known of evicted features; only called of a model that can.
    fn retain(&mut self, _remap: &IndexRemap) {}

    /// What the model says of itself beside its weights.
    fn note(&self) -> Option<String> {
        None
    }

    fn state(&self) -> Self::State;

    /// Put a saved state back, for so many names and weight vectors.
    fn adopt(
        &mut self,
        state: &Self::State,
        names: usize,
        vectors: usize,
    ) -> Result<(), &'static str>;
}
