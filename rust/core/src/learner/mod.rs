//! A learner: a model together with what all models share: names, labels, questions, counters, the
//! running scaler.

mod admission;
pub mod batch;
pub mod decision;
pub mod decision_bytes;
pub mod decision_writer;
pub mod delta;
pub mod event_buffer;
mod eviction;
mod external;
pub mod feature_names;
pub mod file;
mod learning;
mod observing;
mod open_questions;
pub mod own_features;
pub mod prediction_writer;
pub mod register_batch;
mod registering;
mod replica;
mod replica_state;
pub mod report;
mod resolve;
pub mod row_arrays;
pub mod snapshot;
mod stepping;
pub mod sweep;
mod tracking;

use crate::capacity::{Capacity, EvictionPolicy};
use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, Name, Names, UNKNOWN};
use crate::feature_history::FeatureHistory;
use crate::feature_table::FeatureTable;
use crate::label::{Label, Labels};
use crate::learner::decision::Decision;
use crate::learner::event_buffer::EventBuffer;
use crate::learner::open_questions::{OpenQuestions, fingerprint};
use crate::learner::own_features::OwnFeatures;
use crate::learner::replica_state::{Absorbed, Replica};
use crate::learner::tracking::Tracking;
use crate::model::dual_logistic::LARGEST_NORM;
use crate::model::example::{Score, finite_norm, squared_norm};
use crate::model::{Model, ModelConfig};
use crate::rules::calibration::Calibration;
use crate::rules::query::{Quantile, Query, QueryContext, QueryRule, Scaled, Told};
use crate::scaling::RunningScaler;
use crate::storage::rng::Generator;

/// Every model can learn an event whose ‖x‖² is at most this; what is longer is looked at more closely.
const SAFE_NORM: f64 = LARGEST_NORM;

#[derive(Clone, Debug)]
pub struct Config {
    pub model: ModelConfig,
    pub query: QueryRule,
    /// Whether a running scaler brings raw values to one scale.
    pub scaled: bool,
    /// Whether only the names of the first event learned are used.
    pub closed: bool,
    /// The limit of the number of names, if there is one.
    pub capacity: Option<Capacity>,
    /// The features that the learner adds to every event; a summary needs a scaler.
    pub own: OwnFeatures,
    pub labels: Labels,
    pub seed: u64,
}

/// What a part of a margin belongs to: the value or the presence of the feature at a position of the event, or
/// one of the learner's own features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Value(usize),
    Presence(usize),
    Own(Name<'static>),
}

#[derive(Clone, Debug)]
pub struct Learner {
    config: Config,
    /// All names; the learner's own features are the first.
    table: FeatureTable,
    model: Model,
    scaler: Option<RunningScaler>,
    /// The register of all features, if there is one.
    tracking: Option<Box<Tracking>>,
    labels: Labels,
    query: Query,
    calibration: Calibration,
    /// One number per query decision.
    coins: Generator,
    /// The random numbers of models and sparsifiers. Only learning advances it.
    draws: Generator,
    /// Questions that wait for their answer.
    open: OpenQuestions,
    identity: u64,
    /// What a replica has still to report.
    replica: Option<Box<Replica>>,
    /// What was reported by replicas.
    absorbed: Absorbed,
    positives: u64,
    negatives: u64,
    seen: u64,
    asked: u64,
    learned: u64,
    refused: u64,
    evicted: u64,
}

impl Learner {
    pub fn new(config: Config) -> Result<Self, Error> {
        let mut model = Model::new(config.model, config.labels.vectors())?;
        if config.capacity.is_some() && !model.can_evict() {
            return Err(Error::Parameter("max_features: this model cannot be bounded.".to_owned()));
        }
        let coins = Generator::from_seed(config.seed);
        let mut draws = coins.jumped();
        let summarizes = config.own == OwnFeatures::Summary;
        let mut table = FeatureTable::default();
        for &name in config.own.names() {
            table.insert(name);
        }
        model.set_rows(table.len() * if config.scaled { 2 } else { 1 });
        Ok(Self {
            model,
            scaler: config.scaled.then(|| RunningScaler::new(summarizes, config.own.names().len())),
            tracking: None,
            labels: config.labels.clone(),
            table,
            query: Query::new(config.query, &mut draws),
            calibration: Calibration::default(),
            coins,
            draws,
            open: OpenQuestions::default(),
            identity: identity_of(&config),
            replica: None,
            absorbed: Absorbed::default(),
            config,
            positives: 0,
            negatives: 0,
            seen: 0,
            asked: 0,
            learned: 0,
            refused: 0,
            evicted: 0,
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

    /// How often a new name was left out of an event learned, because there was no room for it.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Features evicted. Whenever this number grows, feature ids change.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Whether feature ids can change at all.
    pub fn evicts(&self) -> bool {
        self.config.capacity.is_some_and(Capacity::evicts)
    }

    /// Labels learned that were (negative, positive); with several classes and in regression none.
    pub fn learned_of_each(&self) -> (u64, u64) {
        (self.negatives, self.positives)
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The number of names in the feature table. The first are the learner's own.
    pub fn names(&self) -> usize {
        self.table.len()
    }

    pub fn id(&self, name: Name<'_>) -> FeatureId {
        self.table.id(name)
    }

    pub fn name(&self, id: FeatureId) -> Name<'_> {
        self.table.name(id)
    }

    pub fn history(&self, id: FeatureId) -> FeatureHistory {
        self.table.history().get(id)
    }

    /// Whether a feature was learned. With a scaler, features of events that were not are known too.
    pub fn is_learned(&self, id: FeatureId) -> bool {
        self.history(id).is_learned()
    }

    /// The weight of a feature in a weight vector (0 if binary, else the class).
    pub fn weight(&self, id: FeatureId, vector: usize) -> f64 {
        self.model.weight(id * self.inputs_per_feature(), vector)
    }

    /// With a scaler: the weight of a feature's presence.
    pub fn presence_weight(&self, id: FeatureId, vector: usize) -> f64 {
        if self.scaler.is_none() {
            return 0.0;
        }
        self.model.weight(id * self.inputs_per_feature() + 1, vector)
    }

    /// Changes of concept found: the first event after each, labels learned when it was found, and why.
    pub fn changes(&self) -> Vec<(u64, u64, &'static str)> {
        self.model.changes()
    }

    /// A sentence on the state of the model beside its weights.
    pub fn note(&self) -> Option<String> {
        self.model.note()
    }

    /// Whether values are scaled.
    pub fn is_scaled(&self) -> bool {
        self.scaler.is_some()
    }

    /// The names of the features that it adds to the end of every event.
    pub fn own_names(&self) -> &'static [Name<'static>] {
        self.config.own.names()
    }

    /// Whether new names are ignored.
    fn is_closed(&self) -> bool {
        self.config.closed && self.learned > 0
    }

    /// Whether a new name would be refused.
    fn is_full(&self) -> bool {
        self.config.capacity.is_some_and(|capacity| {
            capacity.policy == EvictionPolicy::Refuse && self.given_names() >= capacity.most()
        })
    }

    /// The number of names without the learner's own.
    fn given_names(&self) -> usize {
        self.table.len() - self.own_names().len()
    }

    /// The index of the predicted label, and the margin. Changes nothing.
    pub fn predict(&self, features: &[FeatureValue]) -> Result<(Option<usize>, f64), Error> {
        let Score { class, margin, .. } = self.model.score(features, &self.draws)?;
        Ok((class, margin))
    }

    /// One score per known label; of two labels the first scores 0, the second the margin.
    pub fn scores(&self, features: &[FeatureValue]) -> Result<Vec<f64>, Error> {
        self.model.scores(features, &self.draws)
    }

    /// The predicted label, written as the learner writes labels; in regression the number.
    pub fn prediction(&self, class: Option<usize>, margin: f64) -> Option<Label> {
        if self.labels.is_number() {
            return Some(Label::Real(margin));
        }
        class.map(|class| self.labels.label(class))
    }

    /// One probability per known label, calibrated by the labels learned so far.
    pub fn probabilities(&self, features: &[FeatureValue]) -> Result<Vec<f64>, Error> {
        if self.labels.is_number() {
            return Err(Error::Parameter(
                "predict_proba: this learner predicts a number; there are no classes to give \
                 probabilities."
                    .to_owned(),
            ));
        }
        if let Some(shares) = self.model.probabilities(features) {
            return Ok(shares);
        }
        let scores = self.scores(features)?;
        Ok(self.calibration.probabilities(&scores))
    }

    /// Predict an event of the stream and decide whether to ask: draws one coin. Leaves the
    /// features as the model uses them: scaled, the learner's own at the end.
    pub fn decide(
        &mut self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
    ) -> Result<Decision, Error> {
        self.decide_told(event, names, Told::default())
    }

    /// The same for an event whose rate or outcome is given.
    pub fn decide_told(
        &mut self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
        told: Told,
    ) -> Result<Decision, Error> {
        self.check_told(told)?;
        self.observe(event, names)?;
        self.reserve_names(event, names)?;
        let scaled = if self.scaler.is_some() { Scaled::Running } else { Scaled::No };
        let decision = self.ask(event, scaled, told)?;
        self.commit(event, names);
        if decision.asked {
            self.open_question(&decision, event);
        }
        self.track(event, names);
        Ok(decision)
    }

    /// Refuse a rate that this learner's query rule cannot use, and what is no rate and no probability.
    fn check_told(&self, told: Told) -> Result<(), Error> {
        let refused = |text: String| Err(Error::Parameter(format!("decide_one: {text}")));
        if let Some(rate) = told.rate {
            if !(0.0..=1.0).contains(&rate) {
                return refused(format!("rate must be a number from 0 to 1, got {rate}."));
            }
            if !self.query.takes_rate() {
                return refused(
                    "rate is for query rules that have one for each event (Random, Quota without a \
                     total, Budget, Quantile); this learner's has none."
                        .to_owned(),
                );
            }
        }
        if let Some((_, a)) =
            told.reserve.filter(|(hit, a)| !(0.0..=1.0).contains(a) || *hit && *a == 0.0)
        {
            return refused(format!(
                "the probability of a reserve must be a number from 0 to 1, above 0 if it asks, got {a}."
            ));
        }
        match told.outcome {
            Some((_, probability)) if !(0.0..=1.0).contains(&probability) => refused(format!(
                "the probability of an outcome must be a number from 0 to 1, got {probability}."
            )),
            Some((true, 0.0)) => refused(
                "an outcome that was asked for must have a probability above 0, got 0.".to_owned(),
            ),
            Some(_) | None => Ok(()),
        }
    }

    fn open_question(&mut self, decision: &Decision, event: &EventBuffer) {
        self.open.add(decision.number, fingerprint(decision.margin, &event.features));
    }

    /// A number that learners with the same parameters share, and others hardly ever.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Whether to ask for the label of an event that the scaler does not count. Draws one coin and moves the
    /// query rule's state.
    pub fn query(&mut self, event: &EventBuffer) -> Result<bool, Error> {
        let scaled = match &self.scaler {
            None => Scaled::No,
            Some(scaler) if scaler.rounds() == 0 => Scaled::Nothing,
            Some(_) => Scaled::Running,
        };
        Ok(self.ask(event, scaled, Told::default())?.asked)
    }

    #[inline(always)]
    fn ask(&mut self, event: &EventBuffer, scaled: Scaled, told: Told) -> Result<Decision, Error> {
        let score = self.model.score_next(event.inputs(), &self.draws)?;
        let is_safe = event.squared_norm <= SAFE_NORM; // scaled events are never long
        if !is_safe && self.scaler.is_none() {
            self.model.check(event.inputs())?; // nothing is asked that cannot be learned
        }
        let context = self.query_context(&score, event, scaled)?;
        let coin = self.coins.uniform();
        let decision = Decision::new(self.seen + 1, &score, self.query.ask(&context, coin, told));
        self.seen += 1;
        self.asked += u64::from(decision.asked);
        Ok(decision)
    }

    #[inline(always)]
    fn query_context(
        &self,
        score: &Score,
        event: &EventBuffer,
        scaled: Scaled,
    ) -> Result<QueryContext, Error> {
        let squared_norm = if !self.query.uses_norm() {
            0.0 // which most rules never look at
        } else if self.is_closed() || self.is_full() {
            squared_norm(&known(event.inputs()))?
        } else {
            finite_norm(event.squared_norm)?
        };
        let several = self.labels.vectors() > 2;
        let first = self.asked < Quantile::first_questions(self.learned, several);
        Ok(QueryContext {
            t: self.seen + 1,
            asked: self.asked,
            confidence: score.confidence,
            squared_norm,
            learned: self.learned,
            all_zero: first && self.all_zero(event.inputs()),
            several,
            scaled,
        })
    }

    /// Whether all inputs but the learner's own are 0.
    #[inline(never)]
    fn all_zero(&self, inputs: &[FeatureValue]) -> bool {
        let given = &inputs[..inputs.len() - self.own_names().len()];
        given.iter().all(|input| input.value == 0.0)
    }

    /// What each feature adds to the margin, and what [`Self::decide`] would decide. Changes
    /// nothing.
    pub fn explain(&self, event: &EventBuffer) -> Result<(Vec<(Part, f64)>, Decision), Error> {
        let decision = self.would_decide(event)?;
        let amounts = self.model.contributions(event.inputs(), &self.draws);
        let mut parts = Vec::with_capacity(amounts.len());
        for (position, feature) in event.features.iter().enumerate() {
            if self.scaler.is_none() || feature.id != UNKNOWN {
                parts.push(Part::Value(position));
            }
            if self.scaler.is_some() && feature.id != UNKNOWN && event.presence[position] != 0.0 {
                parts.push(Part::Presence(position));
            }
        }
        parts.extend(self.own_names().iter().map(|&name| Part::Own(name)));
        Ok((parts.into_iter().zip(amounts).collect(), decision))
    }

    /// What [`Self::decide`] would decide. Changes nothing.
    pub fn would_decide(&self, event: &EventBuffer) -> Result<Decision, Error> {
        let score = self.model.score(event.inputs(), &self.draws)?;
        let scaled = if self.scaler.is_some() { Scaled::Running } else { Scaled::No };
        let context = self.query_context(&score, event, scaled)?;
        let said = self.query.clone().ask(&context, 1.0, Told::default());
        Ok(Decision::new(self.seen + 1, &score, said))
    }

    /// Further numbers of the model about an event, by name. Changes nothing.
    pub fn details(&self, features: &[FeatureValue]) -> Vec<(&'static str, f64)> {
        self.model.details(features)
    }
}

/// FNV-1a of the parameters.
fn identity_of(config: &Config) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let text = format!("{config:?}");
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// The features whose names are known.
fn known(features: &[FeatureValue]) -> Vec<FeatureValue> {
    features.iter().copied().filter(|feature| feature.id != UNKNOWN).collect()
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::{
        PA, after_stream, bytes_of, config, decide, every_kind, known_names, learn, learner,
        limited, linear, looked_up, spring, transformed, weight,
    };
    use crate::model::rfesl::RfeslConfig;

    const EVENT: &[(&str, f64)] = &[("a", 1.0), ("e", -0.5), ("unknown", 2.0)];

    #[test]
    fn predicting_scoring_and_explaining_change_nothing() {
        for config in every_kind() {
            let learner = after_stream(config);
            let before = bytes_of(&learner);
            let mut event = looked_up(&learner, EVENT).unwrap();
            learner.transform(&mut event).unwrap();
            let features = event.inputs().to_vec();
            let (class, margin) = learner.predict(&features).unwrap();
            let (parts, decision) = learner.explain(&event).unwrap();
            assert_eq!((decision.class, decision.margin), (class, margin));
            assert_eq!(parts.len(), features.len());
            let sum: f64 = parts.iter().map(|(_, amount)| amount).sum();
            assert!((sum - margin).abs() < 1e-12, "{parts:?} {margin}");
            if !learner.labels().is_number() {
                let shares = learner.probabilities(&features).unwrap();
                assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert_eq!(shares.len(), learner.labels().known().len());
                assert_eq!(learner.scores(&features).unwrap().len(), shares.len());
            }
            assert!(bytes_of(&learner) == before);
        }
    }

    #[test]
    fn an_explanation_gives_the_query_probability_and_asks_only_if_it_is_certain() {
        for (rule, probability) in [
            (QueryRule::Random { rate: 0.25 }, 0.25),
            (QueryRule::Margin { width: 1.0 }, 0.5), // of a margin of 1
            (QueryRule::All, 1.0),
        ] {
            let mut learner = learner(Config { query: rule, ..linear(PA) });
            learn(&mut learner, &[("a", 1.0)], &Label::Bool(true)).unwrap();
            let mut event = looked_up(&learner, &[("a", 1.0)]).unwrap();
            learner.transform(&mut event).unwrap();
            let (_, decision) = learner.explain(&event).unwrap();
            assert_eq!(decision.query_probability, probability);
            assert_eq!(decision.asked, probability == 1.0);
        }
    }

    #[test]
    fn a_decision_counts_the_event_and_the_question() {
        let mut learner =
            learner(Config { query: QueryRule::Quota { rate: 0.5, total: Some(4) }, ..linear(PA) });
        let asked: u64 =
            (0..4).map(|_| u64::from(decide(&mut learner, EVENT).unwrap().asked)).sum();
        assert_eq!((learner.seen(), learner.asked(), learner.learned()), (4, 2, 0));
        assert_eq!(asked, 2);
        assert_eq!(learner.names(), 0); // without a scaler deciding learns no names
    }

    #[test]
    fn a_query_draws_one_coin_and_moves_only_the_query_rule() {
        let mut learner = after_stream(Config {
            query: QueryRule::Budget { rate: 0.5 },
            scaled: true,
            ..linear(PA)
        });
        let (mut coins, draws, seen) = (learner.coins.clone(), learner.draws.clone(), learner.seen);
        let (weight_before, query_before) = (weight(&learner, "a"), learner.query.state());
        let rounds = learner.scaler.as_ref().unwrap().state();
        let rounds = rmp_serde::to_vec_named(&rounds).unwrap();
        let event = transformed(&learner, EVENT);
        learner.query(&event).unwrap();
        coins.uniform();
        assert_eq!((&learner.coins, &learner.draws, learner.seen), (&coins, &draws, seen + 1));
        assert_eq!(weight(&learner, "a"), weight_before);
        assert_ne!(learner.query.state(), query_before);
        let after = learner.scaler.as_ref().unwrap().state();
        assert!(rmp_serde::to_vec_named(&after).unwrap() == rounds);
    }

    #[test]
    fn a_query_before_any_event_does_not_wait_for_the_scaler() {
        let rule = QueryRule::Quantile { rate: 0.5 };
        let mut querying = learner(spring(rule));
        let event = transformed(&querying, EVENT);
        assert!(querying.query(&event).unwrap()); // no event was observed: waiting is of no use
        let mut deciding = learner(spring(rule));
        assert!(!decide(&mut deciding, EVENT).unwrap().asked); // waits for the tenth event
        let event = transformed(&deciding, EVENT);
        assert!(!deciding.query(&event).unwrap()); // and so does a query from then on
    }

    #[test]
    fn a_closed_learner_uses_the_names_of_the_first_event_learned_only() {
        let mut learner = learner(Config { closed: true, ..linear(PA) });
        learn(&mut learner, &[("a", 1.0)], &Label::Bool(true)).unwrap();
        assert_eq!(weight(&learner, "a"), 1.0); // loss 1, ‖x‖² = 1
        let grew = learn(&mut learner, &[("b", 3.0), ("a", 2.0)], &Label::Bool(false)).unwrap();
        assert!(!grew);
        assert_eq!(known_names(&learner), ["'a'"]);
        // b is ignored: q = 2, loss 1 + 2, ‖x‖² = 4, so w = 1 − 3/4·2
        assert_eq!(weight(&learner, "a"), -0.5);
        assert_eq!(learner.refused(), 0);
    }

    #[test]
    fn the_intercept_is_a_feature_of_value_1_that_does_not_count_as_a_given_name() {
        let mut learner =
            learner(Config { own: OwnFeatures::Intercept, ..limited(2, EvictionPolicy::Refuse) });
        learn(&mut learner, &[("a", 1.0)], &Label::Bool(true)).unwrap();
        assert_eq!(known_names(&learner), ["'a'"]);
        assert_eq!(weight(&learner, "(intercept)"), 0.5); // loss 1, ‖x‖² = 1 + 1
        assert_eq!((learner.given_names(), learner.is_full()), (1, false));
        learn(&mut learner, &[("b", 1.0), ("c", 1.0)], &Label::Bool(true)).unwrap();
        assert_eq!((learner.given_names(), learner.is_full(), learner.refused()), (2, true, 1));
        assert_eq!(learner.names(), 3);
    }

    #[test]
    fn names_that_were_only_observed_are_known_but_not_learned() {
        let mut learner = learner(Config { scaled: true, ..linear(PA) });
        decide(&mut learner, EVENT).unwrap();
        assert_eq!((learner.names(), learner.is_learned(0)), (3, false));
    }

    #[test]
    fn a_model_that_cannot_evict_refuses_a_capacity() {
        let model = ModelConfig::Rfesl(RfeslConfig { step: 0.5, horizon: None });
        let capacity = Some(Capacity { most: 3, policy: EvictionPolicy::Oldest });
        let refused = Learner::new(Config { capacity, ..config(model) });
        assert!(matches!(refused, Err(Error::Parameter(_))));
    }

    #[test]
    fn a_learner_of_numbers_has_no_probabilities() {
        let learner = after_stream(every_kind().swap_remove(3));
        let event = transformed(&learner, EVENT);
        assert!(matches!(learner.probabilities(event.inputs()), Err(Error::Parameter(_))));
        let (class, margin) = learner.predict(event.inputs()).unwrap();
        assert!(matches!(learner.prediction(class, margin), Some(Label::Real(y)) if y == margin));
    }
}
