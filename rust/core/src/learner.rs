//! A learner: one update rule, one query rule, one sparsifier, and what they have learned.

use crate::Error;
use crate::labels::{Label, Labels};
use crate::query::{Moment, QueryRule, QueryState};
use crate::random::Generator;
use crate::sparsify::Sparsifier;
use crate::update::{Case, PositiveMargin, Step, UpdateRule};
use crate::vocabulary::{Name, Names, Slot, UNKNOWN, Vocabulary};
use crate::weights::{Feature, Weights};

/// The feature of value 1 that a learner with an intercept adds to the end of every event.
pub const INTERCEPT: Name<'static> = Name::Text("(intercept)");

/// What a learned round does that brings a new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The name is learned like any other.
    Open,
    /// All weights are set to 0 first.
    Restart,
    /// Only the names of the first learned round are ever used.
    Closed,
}

#[derive(Clone, Debug)]
pub struct Config {
    pub update: UpdateRule,
    pub positive_margin: PositiveMargin,
    pub query: QueryRule,
    pub sparsifier: Sparsifier,
    pub growth: Growth,
    pub intercept: bool,
    /// The quirks of the OLSF authors' code, all together.
    pub legacy: bool,
    pub labels: Labels,
    pub seed: u64,
}

/// When a feature was learned from. Rounds count the events learned, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    pub first: u64,
    pub last: u64,
    pub times: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Index of the predicted label; none while no class is known.
    pub class: Option<usize>,
    pub margin: f64,
    pub query_probability: f64,
    pub asked: bool,
}

/// What one feature adds to the margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    pub slot: Slot,
    pub amount: f64,
}

/// A prediction: binary, the sign of `w·x`; several classes, the largest of `w_r·x`.
struct Score {
    class: Option<usize>,
    /// The class that came second, if there are several.
    rival: Option<usize>,
    /// `w·x`, or the lead over the rival.
    margin: f64,
}

/// Everything that learning one event will do, worked out before anything is done.
struct Plan {
    step: Step,
    /// The weight vectors that move, and which way.
    moves: [Option<(usize, f64)>; 2],
    mistake: bool,
    restart: bool,
}

#[derive(Clone, Debug)]
pub struct Learner {
    pub(crate) config: Config,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) weights: Weights,
    pub(crate) register: Vec<Register>,
    pub(crate) labels: Labels,
    pub(crate) query_state: QueryState,
    pub(crate) coins: Generator,
    pub(crate) draws: Generator,
    pub(crate) intercept_slot: Slot,
    pub(crate) positives: u64,
    pub(crate) negatives: u64,
    pub(crate) seen: u64,
    pub(crate) asked: u64,
    pub(crate) learned: u64,
}

impl Learner {
    pub fn new(config: Config) -> Result<Self, Error> {
        check_combination(&config)?;
        let coins = Generator::from_seed(config.seed);
        let mut draws = coins.jumped();
        let mut query_state = QueryState::default();
        if matches!(config.query, QueryRule::Quota { total: None, .. }) {
            query_state.phase = draws.uniform();
        }
        let vectors = config.labels.vectors();
        Ok(Self {
            weights: Weights::new(config.sparsifier, config.update.uses_variance(), vectors),
            labels: config.labels.clone(),
            config,
            vocabulary: Vocabulary::default(),
            register: Vec::new(),
            query_state,
            coins,
            draws,
            intercept_slot: UNKNOWN,
            positives: 0,
            negatives: 0,
            seen: 0,
            asked: 0,
            learned: 0,
        })
    }

    /// Events decided on.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Events whose label was asked for.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// Events learned.
    pub fn learned(&self) -> u64 {
        self.learned
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    pub fn vocabulary_len(&self) -> usize {
        self.vocabulary.len()
    }

    pub fn slot(&self, name: Name<'_>) -> Slot {
        self.vocabulary.slot(name)
    }

    pub fn name(&self, slot: Slot) -> Name<'_> {
        self.vocabulary.name(slot)
    }

    pub fn register(&self, slot: Slot) -> Register {
        self.register[slot as usize]
    }

    /// The weight of a feature in a weight vector (0 if binary, else the class).
    pub fn weight(&self, slot: Slot, vector: usize) -> f64 {
        self.weights.weight(slot, vector)
    }

    /// Fill in the slots of an event's features and add the intercept at their end.
    ///
    /// A feature whose slot is not `UNKNOWN` was looked up before; slots never change.
    pub fn look_up(
        &self,
        names: &(impl Names + ?Sized),
        features: &mut Vec<Feature>,
    ) -> Result<(), Error> {
        for (position, feature) in features.iter_mut().enumerate() {
            if feature.slot == UNKNOWN {
                feature.slot = self.vocabulary.slot(names.name(position));
            }
            if self.config.intercept
                && feature.slot == self.intercept_slot
                && names.name(position) == INTERCEPT
            {
                return Err(Error::Event(format!("event: {}", own_intercept())));
            }
        }
        self.add_intercept(features);
        Ok(())
    }

    pub(crate) fn add_intercept(&self, features: &mut Vec<Feature>) {
        if self.config.intercept {
            features.push(Feature { slot: self.intercept_slot, value: 1.0 });
        }
    }

    /// Whether a new name means nothing to this learner.
    fn is_closed(&self) -> bool {
        self.config.growth == Growth::Closed && self.learned > 0
    }

    fn score(&self, features: &[Feature]) -> Result<Score, Error> {
        let score = if self.labels.is_multiclass() {
            let scores = self.weights.dots(features);
            let class = largest(&scores, None);
            let rival = largest(&scores, class);
            let margin = match (class, rival) {
                (Some(first), Some(second)) => scores[first] - scores[second],
                _ => 0.0,
            };
            Score { class, rival, margin }
        } else {
            let margin = self.weights.dot(0, features);
            Score { class: Some(usize::from(margin > 0.0)), rival: None, margin }
        };
        if score.margin.is_finite() { Ok(score) } else { Err(too_large("its margin")) }
    }

    /// The index of the predicted label, and the margin. Changes nothing.
    pub fn predict(&self, features: &[Feature]) -> Result<(Option<usize>, f64), Error> {
        let Score { class, margin, .. } = self.score(features)?;
        Ok((class, margin))
    }

    /// A probability a known label: the logistic function of the margin, or of each score.
    pub fn probabilities(&self, features: &[Feature]) -> Result<Vec<f64>, Error> {
        let scores = if self.labels.is_multiclass() {
            self.weights.dots(features)
        } else {
            vec![0.0, self.weights.dot(0, features)]
        };
        if scores.iter().any(|score| !score.is_finite()) {
            return Err(too_large("a score"));
        }
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let parts: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
        let total: f64 = parts.iter().sum();
        Ok(parts.iter().map(|part| part / total).collect())
    }

    /// Predict, and decide whether to ask: draws one coin.
    pub fn decide(&mut self, features: &[Feature]) -> Result<Decision, Error> {
        let score = self.score(features)?;
        let now = self.moment(&score, features)?;
        let coin = self.coins.uniform();
        let (asked, query_probability) = self.config.query.ask(&mut self.query_state, now, coin);
        self.seen += 1;
        self.asked += u64::from(asked);
        Ok(Decision { class: score.class, margin: score.margin, query_probability, asked })
    }

    fn squared_norm(&self, features: &[Feature]) -> Result<f64, Error> {
        let closed = self.is_closed();
        let mut sum = 0.0;
        for feature in features {
            if !(closed && feature.slot == UNKNOWN) {
                sum += feature.value * feature.value;
            }
        }
        if f64::is_finite(sum) { Ok(sum) } else { Err(too_large("its squared length")) }
    }

    fn moment(&self, score: &Score, features: &[Feature]) -> Result<Moment, Error> {
        let squared_norm =
            if self.config.query.uses_norm() { self.squared_norm(features)? } else { 0.0 };
        let confidence = score.margin.abs();
        Ok(Moment { t: self.seen + 1, asked: self.asked, confidence, squared_norm })
    }

    /// What each feature adds to the margin, and what [`Self::decide`] would say. Changes nothing.
    pub fn explain(&self, features: &[Feature]) -> Result<(Vec<Contribution>, Decision), Error> {
        let score = self.score(features)?;
        let now = self.moment(&score, features)?;
        let (asked, query_probability) =
            self.config.query.ask(&mut self.query_state.clone(), now, 1.0);
        let weight = |slot| match (score.class, score.rival) {
            _ if slot == UNKNOWN => 0.0,
            _ if !self.labels.is_multiclass() => self.weights.weight(slot, 0),
            (Some(class), Some(rival)) => {
                self.weights.weight(slot, class) - self.weights.weight(slot, rival)
            }
            _ => 0.0,
        };
        let contributions = features
            .iter()
            .map(|f| Contribution { slot: f.slot, amount: weight(f.slot) * f.value })
            .collect();
        let Score { class, margin, .. } = score;
        Ok((contributions, Decision { class, margin, query_probability, asked }))
    }

    /// Learn an event: the features as [`Self::look_up`] left them, and their names.
    ///
    /// New names get their slots, which are filled in. True if there were any.
    pub fn learn(
        &mut self,
        features: &mut [Feature],
        names: &(impl Names + ?Sized),
        label: &Label,
    ) -> Result<bool, Error> {
        if self.is_closed() && features.iter().any(|feature| feature.slot == UNKNOWN) {
            let mut known = features.to_vec();
            known.retain(|feature| feature.slot != UNKNOWN);
            return self.learn(&mut known, names, label);
        }
        let reading = self.labels.read(label)?;
        let new: Vec<usize> =
            (0..features.len()).filter(|&i| features[i].slot == UNKNOWN).collect();
        self.vocabulary.room_for(new.len())?;
        let plan = self.plan(features, reading.class, !new.is_empty())?;

        // From here on nothing can fail.
        self.learned += 1;
        if self.labels.learn(&reading, label) {
            self.weights.add_vector();
        }
        if !self.labels.is_multiclass() {
            self.positives += u64::from(reading.class == 1);
            self.negatives += u64::from(reading.class == 0);
        }
        self.config.query.learned(&mut self.query_state, plan.mistake);
        let grew = !new.is_empty();
        if grew {
            self.meet(features, names, new);
        }
        for feature in features.iter() {
            let entry = &mut self.register[feature.slot as usize];
            entry.last = self.learned;
            entry.times += 1;
        }
        self.take(&plan, features);
        Ok(grew)
    }

    fn plan(&self, features: &[Feature], class: usize, grows: bool) -> Result<Plan, Error> {
        let squared_norm = self.squared_norm(features)?;
        let restart = self.config.growth == Growth::Restart && grows;
        let (margin, mistake, moves) = if self.labels.is_multiclass() {
            self.lead(features, class, restart)?
        } else {
            let q = if restart { 0.0 } else { self.score(features)?.margin };
            let sign = if class == 1 { 1.0 } else { -1.0 };
            (sign * q, sign * q <= 0.0, [Some((0, sign)), None])
        };
        let positive = u64::from(class == 1);
        let positive_margin = self
            .config
            .positive_margin
            .now(self.positives + positive, self.negatives + 1 - positive);
        let moving = moves.iter().flatten();
        let case = Case {
            margin,
            target: if class == 1 && !self.labels.is_multiclass() { positive_margin } else { 1.0 },
            mistake,
            squared_norm: squared_norm * moving.clone().count() as f64,
            variance: if self.weights.varies() {
                moving.clone().map(|&(vector, _)| self.weights.variance(vector, features)).sum()
            } else {
                0.0
            },
            positive_margin,
        };
        let step = if self.config.legacy {
            self.config.update.legacy_step(&case)
        } else {
            self.config.update.step(&case)
        };
        let norm = squared_norm.sqrt();
        let safe = step.length.is_finite()
            && moving.clone().all(|&(v, _)| self.weights.can_take(v, features, step, norm));
        if safe { Ok(Plan { step, moves, mistake, restart }) } else { Err(too_large("a weight")) }
    }

    /// With several classes: the lead of `class` over its best rival, and the two that move.
    #[allow(clippy::type_complexity)] // a private triple, taken apart where it is made
    fn lead(
        &self,
        features: &[Feature],
        class: usize,
        restart: bool,
    ) -> Result<(f64, bool, [Option<(usize, f64)>; 2]), Error> {
        let mut scores = self.weights.dots(features);
        if restart {
            scores.fill(0.0);
        }
        let mistake = largest(&scores, None) != Some(class);
        let Some(rival) = largest(&scores, Some(class)) else {
            return Ok((0.0, mistake, [None, None])); // one class known: nothing to tell it from
        };
        let own = scores.get(class).copied().unwrap_or(0.0);
        let margin = own - scores[rival];
        if !margin.is_finite() {
            return Err(too_large("its margin"));
        }
        Ok((margin, mistake, [Some((class, 1.0)), Some((rival, -1.0))]))
    }

    /// Give new names their slots, in the order of the names.
    fn meet(
        &mut self,
        features: &mut [Feature],
        names: &(impl Names + ?Sized),
        mut new: Vec<usize>,
    ) {
        let intercept_at = self.config.intercept.then(|| features.len() - 1);
        let name_of = |position: usize| {
            if Some(position) == intercept_at { INTERCEPT } else { names.name(position) }
        };
        new.sort_unstable_by(|&a, &b| name_of(a).cmp(&name_of(b)));
        for position in new {
            let slot = self.vocabulary.insert(name_of(position));
            features[position].slot = slot;
            self.register.push(Register { first: self.learned, last: 0, times: 0 });
            if Some(position) == intercept_at {
                self.intercept_slot = slot;
            }
        }
        self.weights.set_rows(self.vocabulary.len());
    }

    /// Take the step of a plan: shrink, move, let go.
    fn take(&mut self, plan: &Plan, features: &[Feature]) {
        let Plan { step, moves, restart, .. } = *plan;
        if restart {
            self.weights.clear();
        }
        if step.shrink != 1.0 {
            self.weights.shrink(0, step.shrink);
        }
        if step.length == 0.0 {
            return;
        }
        let kept = self.config.sparsifier.kept(self.vocabulary.len(), self.config.legacy);
        for (vector, sign) in moves.into_iter().flatten() {
            self.weights.shift(vector, features, sign * step.length, step);
            self.weights.sparsify(vector, kept, &mut self.draws);
        }
    }
}

fn check_combination(config: &Config) -> Result<(), Error> {
    let refuse = |text: &str| Err(Error::Parameter(text.to_owned()));
    if config.labels.is_multiclass() {
        if !config.update.is_multiclass() {
            return refuse(
                "update: this rule is defined for two classes only; with multiclass=True use \
                 perceptron, margin_perceptron, pa, pa1, pa2 or arow.",
            );
        }
        if config.positive_margin != PositiveMargin::Fixed(1.0) {
            return refuse("positive_margin: there is no positive class with multiclass=True.");
        }
    }
    if let UpdateRule::Gradient { step, decay } = config.update
        && step * decay >= 1.0
    {
        return refuse("update.Gradient: step times decay must be below 1.");
    }
    Ok(())
}

/// Index of the largest score, the first of equals, `except` left out.
fn largest(scores: &[f64], except: Option<usize>) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (index, score) in scores.iter().enumerate() {
        if Some(index) != except && best.is_none_or(|b| *score > scores[b]) {
            best = Some(index);
        }
    }
    best
}

pub(crate) fn own_intercept() -> String {
    format!(
        "feature {INTERCEPT} is the learner's own; rename it, or make the learner with \
         intercept=False."
    )
}

fn too_large(what: &str) -> Error {
    Error::Step(format!(
        "event: its values are too large or too small: {what} would not be a finite number; \
         nothing was changed."
    ))
}
