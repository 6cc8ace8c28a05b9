//! What a learner knows, and how it learns: one variant a kind of model.
//!
//! A [`crate::Learner`] gives every model the same shell: names, labels, questions, counters. A model
//! scores events and learns lessons. In a lesson every feature has its slot; slots from `known` on
//! are those that the new names will get, and a model has no entry for them yet.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::fesl::{Fesl, FeslState};
use crate::linear::{Linear, LinearState};
use crate::olvf::{Olvf, OlvfState};
use crate::partial::{Partial, PartialState};
use crate::random::Generator;
use crate::rfesl::{Rfesl, RfeslState};
use crate::second_order::{SecondOrder, SecondOrderState};
use crate::view::View;
use crate::vocabulary::{Slot, Survivors};
use crate::weights::Feature;

/// A prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Index of the predicted label; none while no class is known, and in regression.
    pub class: Option<usize>,
    /// The margin, with several classes the lead over the second, in regression the prediction.
    pub margin: f64,
    /// How sure it is: what a query rule looks at.
    pub confidence: f64,
    /// ‖x‖², if it was found on the way.
    pub squared_norm: Option<f64>,
}

impl Score {
    /// A binary prediction by the sign of the margin.
    pub fn by_sign(margin: f64) -> Self {
        let class = Some(usize::from(margin > 0.0));
        Self { class, margin, confidence: margin.abs(), squared_norm: None }
    }
}

/// What is to be learned of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Index of the label; the number of classes if it is a new one.
    Class(usize),
    Value(f64),
}

impl Target {
    /// ±1 of a binary label.
    pub fn sign(self) -> f64 {
        if self == Self::Class(1) { 1.0 } else { -1.0 }
    }
}

/// What a lesson found before it changed anything.
#[derive(Clone, Debug)]
pub struct Learned {
    /// Whether the model was mistaken.
    pub mistake: bool,
    /// The scores of the known classes, 0 and the margin if there are two; none in regression.
    pub scores: Scores,
}

#[derive(Clone, Debug)]
pub enum Scores {
    None,
    Two([f64; 2]),
    Several(Vec<f64>),
}

impl Scores {
    pub fn by_margin(margin: f64) -> Self {
        Self::Two([0.0, margin])
    }

    pub fn as_slice(&self) -> &[f64] {
        match self {
            Self::None => &[],
            Self::Two(scores) => scores,
            Self::Several(scores) => scores,
        }
    }
}

/// What a decision found of an event; it holds as long as nothing is learned.
#[derive(Clone, Copy, Debug)]
pub struct Products {
    pub margin: f64,
    pub squared_norm: Option<f64>,
}

/// An event to learn from.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    pub features: &'a [Feature],
    pub target: Target,
    /// Names known before.
    pub known: usize,
    /// Names known from now on: d.
    pub names: usize,
    /// Binary labels learned, this one included.
    pub positives: u64,
    pub negatives: u64,
    /// What is known from its decision.
    pub products: Option<Products>,
}

impl Lesson<'_> {
    pub fn grows(&self) -> bool {
        self.names > self.known
    }

    /// ‖x‖²
    pub fn squared_norm(&self) -> Result<f64, Error> {
        match self.products.and_then(|products| products.squared_norm) {
            Some(sum) => finite_norm(sum),
            None => squared_norm(self.features),
        }
    }
}

pub fn squared_norm(features: &[Feature]) -> Result<f64, Error> {
    let mut sum = 0.0;
    for feature in features {
        sum += feature.value * feature.value;
    }
    finite_norm(sum)
}

pub fn finite_norm(sum: f64) -> Result<f64, Error> {
    if f64::is_finite(sum) { Ok(sum) } else { Err(too_large("its squared length")) }
}

/// `σ(z) = 1/(1 + e^{−z})`, safe from overflow.
pub fn logistic(z: f64) -> f64 {
    if z < 0.0 {
        let e = z.exp();
        e / (1.0 + e)
    } else {
        1.0 / (1.0 + (-z).exp())
    }
}

pub fn too_large(what: &str) -> Error {
    Error::Step(format!(
        "event: its values are too large or too small: {what} would not be a finite number."
    ))
}

/// What is saved of a model.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelState {
    Linear(LinearState),
    SecondOrder(SecondOrderState),
    Partial(PartialState),
    Olvf(OlvfState),
    Fesl(Box<FeslState>),
    Rfesl(RfeslState),
}

#[derive(Clone, Debug)]
pub enum Model {
    Linear(Linear),
    SecondOrder(SecondOrder),
    Partial(Partial),
    Olvf(Olvf),
    Fesl(Box<Fesl>),
    Rfesl(Rfesl),
}

impl Model {
    /// A prediction. What it must draw is drawn from a copy of `draws`: scoring is pure.
    pub fn score(&self, features: &[Feature], draws: &Generator) -> Result<Score, Error> {
        let score = match self {
            Self::Linear(model) => model.score(features),
            Self::SecondOrder(model) => model.score(features),
            Self::Partial(model) => model.score(features, draws),
            Self::Olvf(model) => model.score(features),
            Self::Fesl(model) => model.score(features, draws),
            Self::Rfesl(model) => model.score(features),
        };
        if score.margin.is_finite() { Ok(score) } else { Err(too_large("its margin")) }
    }

    /// A score a label that is known.
    pub fn scores(&self, features: &[Feature], draws: &Generator) -> Result<Vec<f64>, Error> {
        let scores = match self {
            Self::Linear(model) if model.is_multiclass() => model.scores(features),
            _ => vec![0.0, self.score(features, draws)?.margin],
        };
        let finite = scores.iter().all(|score| score.is_finite());
        if finite { Ok(scores) } else { Err(too_large("a score")) }
    }

    /// A probability a label that is known, if the model has its own way to it.
    pub fn probabilities(&self, features: &[Feature]) -> Option<Vec<f64>> {
        match self {
            Self::Linear(model) => model.probabilities(features),
            _ => None,
        }
    }

    /// Whether learning looks at the view, which then has to count an event before it is learned.
    pub fn uses_view(&self) -> bool {
        matches!(self, Self::Linear(model) if model.uses_view())
    }

    /// Whether [`Self::learn`] would refuse an event, for models that use the view.
    pub fn check(&self, features: &[Feature]) -> Result<(), Error> {
        match self {
            Self::Linear(model) => model.check(features),
            _ => Ok(()),
        }
    }

    /// Learn. An error has changed nothing.
    pub fn learn(
        &mut self,
        lesson: &Lesson<'_>,
        view: Option<&View>,
        draws: &mut Generator,
    ) -> Result<Learned, Error> {
        match self {
            Self::Linear(model) => model.learn(lesson, view, draws),
            Self::SecondOrder(model) => model.learn(lesson),
            Self::Partial(model) => model.learn(lesson, draws),
            Self::Olvf(model) => model.learn(lesson),
            Self::Fesl(model) => model.learn(lesson, draws),
            Self::Rfesl(model) => model.learn(lesson),
        }
    }

    /// What each feature adds to the margin.
    pub fn contributions(&self, features: &[Feature], draws: &Generator) -> Vec<f64> {
        match self {
            Self::Linear(model) => model.contributions(features),
            Self::SecondOrder(model) => model.contributions(features),
            Self::Partial(model) => model.contributions(features, draws),
            Self::Olvf(model) => model.contributions(features),
            Self::Fesl(model) => model.contributions(features, draws),
            Self::Rfesl(model) => model.contributions(features),
        }
    }

    /// What else there is to say of an event, by name.
    pub fn details(&self, features: &[Feature]) -> Vec<(&'static str, f64)> {
        match self {
            Self::Olvf(model) => model.details(features),
            _ => Vec::new(),
        }
    }

    /// The weight of a feature in a weight vector (0 if binary, else the class).
    pub fn weight(&self, slot: Slot, vector: usize) -> f64 {
        match self {
            Self::Linear(model) => model.weight(slot, vector),
            Self::SecondOrder(model) => model.weight(slot),
            Self::Partial(model) => model.weight(slot),
            Self::Olvf(model) => model.weight(slot),
            Self::Fesl(model) => model.weight(slot),
            Self::Rfesl(model) => model.weight(slot),
        }
    }

    /// Whether features can be let go.
    pub fn can_let_go(&self) -> bool {
        matches!(self, Self::Linear(_) | Self::Olvf(_))
    }

    /// Let features go; only of a model that can.
    pub fn retain(&mut self, survivors: &Survivors) {
        match self {
            Self::Linear(model) => model.retain(survivors),
            Self::Olvf(model) => model.retain(survivors),
            _ => {}
        }
    }

    /// The size of a feature's largest weight.
    pub fn size(&self, slot: Slot) -> f64 {
        match self {
            Self::Linear(model) => model.size(slot),
            _ => self.weight(slot, 0).abs(),
        }
    }

    /// What the model says of itself beside its weights.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Fesl(model) => Some(model.note()),
            _ => None,
        }
    }

    pub fn state(&self) -> ModelState {
        match self {
            Self::Linear(model) => ModelState::Linear(model.state()),
            Self::SecondOrder(model) => ModelState::SecondOrder(model.state()),
            Self::Partial(model) => ModelState::Partial(model.state()),
            Self::Olvf(model) => ModelState::Olvf(model.state()),
            Self::Fesl(model) => ModelState::Fesl(Box::new(model.state())),
            Self::Rfesl(model) => ModelState::Rfesl(model.state()),
        }
    }

    /// Put a saved state back, for so many names and weight vectors.
    pub fn adopt(
        &mut self,
        state: &ModelState,
        names: usize,
        vectors: usize,
    ) -> Result<(), &'static str> {
        match (self, state) {
            (Self::Linear(model), ModelState::Linear(state)) => model.adopt(state, names, vectors),
            (Self::SecondOrder(model), ModelState::SecondOrder(state)) => model.adopt(state, names),
            (Self::Partial(model), ModelState::Partial(state)) => model.adopt(state, names),
            (Self::Olvf(model), ModelState::Olvf(state)) => model.adopt(state, names),
            (Self::Fesl(model), ModelState::Fesl(state)) => model.adopt(state, names),
            (Self::Rfesl(model), ModelState::Rfesl(state)) => model.adopt(state, names),
            _ => Err("it is of another kind of model"),
        }
    }
}
