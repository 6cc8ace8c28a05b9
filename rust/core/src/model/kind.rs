//! What every kind of model can do.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::model::example::{Example, Outcome, Score, squared_norm};
use crate::storage::index_remap::IndexRemap;
use crate::storage::rng::Generator;

/// A kind of model: scores events and learns examples. Methods that few kinds need have a default.
///
/// To a model a feature is a row: ids are those of rows, of which a feature may have several. In an example
/// every feature has its row; the model may have no weights for new ones yet.
pub trait ModelKind: Sized {
    type Config: Copy;
    /// What is saved.
    type State: Serialize + DeserializeOwned;

    /// Refuse parameters that make no sense together.
    fn validate(_config: &Self::Config) -> Result<(), Error> {
        Ok(())
    }

    /// A model that has learned nothing, with `vectors` weight vectors if its kind may have
    /// several.
    fn new(config: Self::Config, vectors: usize) -> Self;

    /// Predict. Random numbers come from a copy of `draws`: scoring changes nothing.
    fn score(&self, features: &[FeatureValue], draws: &Generator) -> Score;

    /// The same where what is cached may be brought up to date.
    #[inline(always)]
    fn score_next(&mut self, features: &[FeatureValue], draws: &Generator) -> Score {
        self.score(features, draws)
    }

    /// One score per known class; none if the model has a single weight vector.
    fn class_scores(&self, _features: &[FeatureValue]) -> Option<Vec<f64>> {
        None
    }

    /// One probability per known label, if the model computes its own.
    fn probabilities(&self, _features: &[FeatureValue]) -> Option<Vec<f64>> {
        None
    }

    /// Refuse an event that [`Self::learn`] would refuse whatever its label is.
    fn check(&self, features: &[FeatureValue]) -> Result<(), Error> {
        squared_norm(features).map(|_| ())
    }

    /// Refuse an example that [`Self::learn`] would refuse.
    fn check_example(&self, example: &Example<'_>) -> Result<(), Error> {
        self.check(example.features)
    }

    /// Learn an example. An error has changed nothing.
    fn learn(&mut self, example: &Example<'_>, draws: &mut Generator)
    -> Result<Outcome<'_>, Error>;

    /// There are so many rows now. Only called for models that a scaler or own features may serve; learning an
    /// example with new rows does the same.
    fn set_rows(&mut self, _rows: usize) {}

    /// What each feature adds to the margin.
    fn contributions(&self, features: &[FeatureValue], draws: &Generator) -> Vec<f64>;

    /// Further numbers about an event, by name.
    fn details(&self, _features: &[FeatureValue]) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The weight of a feature in a weight vector (0 if binary, else the class).
    fn weight(&self, id: FeatureId, vector: usize) -> f64;

    /// The largest |w| of a feature.
    fn size(&self, id: FeatureId) -> f64 {
        self.weight(id, 0).abs()
    }

    /// Whether features can be evicted.
    fn can_evict(&self) -> bool {
        false
    }

    /// Drop the weights of evicted features; only called if the model can evict.
    fn retain(&mut self, _remap: &IndexRemap) {}

    /// Changes of concept that the model has found: the number of the first event after each, labels learned
    /// when it was found, and why.
    fn changes(&self) -> Vec<(u64, u64, &'static str)> {
        Vec::new()
    }

    /// A sentence on the state of the model beside its weights.
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
