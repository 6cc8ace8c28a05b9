//! A learner: a model in the shell that all share: names, labels, questions, counters, the view.

use crate::Error;
use crate::bound::{Bound, WhenFull};
use crate::calibration::{Calibration, weight_of};
use crate::fesl::{Fesl, FeslConfig};
use crate::labels::{Label, Labels};
use crate::linear::{Linear, LinearConfig};
use crate::model::{Lesson, Model, Products, Score, Target, finite_norm, squared_norm};
use crate::olvf::{Olvf, OlvfConfig};
use crate::partial::{Partial, PartialConfig};
use crate::query::{Moment, QueryRule, QueryState};
use crate::random::Generator;
use crate::rfesl::{Rfesl, RfeslConfig};
use crate::second_order::{SecondOrder, SecondOrderConfig};
use crate::view::{Shown, View};
use crate::vocabulary::{Name, Names, Slot, UNKNOWN, Vocabulary};
use crate::weights::Feature;
use crate::whole::CONSTANT;

/// The value of a feature that the view has no place for: 0, whose sign tells who learns the event,
/// perhaps much later, that its name is to be left out.
const LEFT_OUT: f64 = -0.0;

fn is_left_out(value: f64) -> bool {
    value.to_bits() == LEFT_OUT.to_bits()
}

/// What a learner adds to the end of every event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    Nothing,
    /// A feature of value 1.
    Intercept,
    /// What the view says of the event as a whole, and a small constant.
    Whole,
}

const INTERCEPT: Name<'static> = Name::Text("(intercept)");
const FIRST_QUESTION: u64 = 10; // of a learner with a view: what events are like must be known first
const WHOLE: [Name<'static>; 3] = [Name::Text("(factor)"), Name::Text("(energy)"), INTERCEPT];

impl Added {
    /// The names of the added features, in order.
    pub fn names(self) -> &'static [Name<'static>] {
        match self {
            Self::Nothing => &[],
            Self::Intercept => &WHOLE[2..],
            Self::Whole => &WHOLE,
        }
    }

    /// Refuse a name that is one of them.
    pub fn check(self, name: Name<'_>) -> Result<(), String> {
        if !self.names().contains(&name) {
            return Ok(());
        }
        let cure =
            if self == Self::Intercept { ", or make the learner with intercept=False" } else { "" };
        Err(format!("feature {name} is the learner's own; rename it{cure}."))
    }
}

#[derive(Clone, Debug)]
pub struct Config {
    pub model: ModelConfig,
    pub query: QueryRule,
    /// Whether raw values come through a running view.
    pub view: bool,
    /// Only the names of the first learned round are ever used.
    pub closed: bool,
    /// How many names are kept, if not all.
    pub bound: Option<Bound>,
    /// A whole needs a view.
    pub added: Added,
    pub labels: Labels,
    pub seed: u64,
}

#[derive(Clone, Debug)]
pub enum ModelConfig {
    Linear(LinearConfig),
    SecondOrder(SecondOrderConfig),
    Partial(PartialConfig),
    Olvf(OlvfConfig),
    Fesl(FeslConfig),
    Rfesl(RfeslConfig),
}

impl ModelConfig {
    fn build(&self, labels: &Labels) -> Result<Model, Error> {
        Ok(match self {
            Self::Linear(config) => Model::Linear(Linear::new(*config, labels.vectors())?),
            Self::SecondOrder(config) => Model::SecondOrder(SecondOrder::new(*config)),
            Self::Partial(config) => Model::Partial(Partial::new(*config)),
            Self::Olvf(config) => Model::Olvf(Olvf::new(*config)),
            Self::Fesl(config) => Model::Fesl(Box::new(Fesl::new(*config))),
            Self::Rfesl(config) => Model::Rfesl(Rfesl::new(*config)),
        })
    }
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
    /// Index of the predicted label; none while no class is known, and in regression.
    pub class: Option<usize>,
    /// The margin, or in regression the prediction.
    pub margin: f64,
    pub query_probability: f64,
    pub asked: bool,
    /// ‖x‖² as the model sees the event, if it was found on the way.
    pub squared_norm: Option<f64>,
}

impl Decision {
    /// What need not be found again if the event is learned before anything else is.
    pub fn products(&self) -> Products {
        Products { margin: self.margin, squared_norm: self.squared_norm }
    }

    /// What its label counts among those that say how sure margins are: one that was asked for
    /// stands for all those that were not.
    pub fn weight(&self) -> f64 {
        if self.asked { weight_of(self.query_probability) } else { 1.0 }
    }
}

/// An event on its way: its features, where the view keeps their statistics, and what showing
/// them will change there. One is used for event after event, so that nothing is allocated.
#[derive(Default)]
pub struct Entrant {
    /// The event's features; values as the event gave them, later as the model sees them.
    pub features: Vec<Feature>,
    /// With a view that looks at events as a whole: its factor and energy.
    pub whole: [f64; 2],
    /// Where the view keeps the features' statistics; filled in by [`Learner::look_up`].
    pub seats: Vec<Slot>,
    shown: Shown,
    /// Whether `shown` is still to be kept.
    pending: bool,
    /// The positions that the view counts, if it has no place for all.
    counted: Option<Vec<usize>>,
}

/// The names at some positions of an event.
struct Picked<'a, N: ?Sized> {
    names: &'a N,
    positions: &'a [usize],
}

impl<N: Names + ?Sized> Names for Picked<'_, N> {
    fn name(&self, position: usize) -> Name<'_> {
        self.names.name(self.positions[position])
    }
}

impl Entrant {
    pub fn new(features: Vec<Feature>) -> Self {
        Self { features, ..Self::default() }
    }
}

#[derive(Clone, Debug)]
pub struct Learner {
    pub(crate) config: Config,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) model: Model,
    pub(crate) view: Option<View>,
    pub(crate) register: Vec<Register>,
    pub(crate) labels: Labels,
    pub(crate) query_state: QueryState,
    pub(crate) calibration: Calibration,
    pub(crate) coins: Generator,
    pub(crate) draws: Generator,
    /// Of the added features, in order; `UNKNOWN` until they are learned.
    pub(crate) added_slots: Vec<Slot>,
    pub(crate) positives: u64,
    pub(crate) negatives: u64,
    pub(crate) seen: u64,
    pub(crate) asked: u64,
    pub(crate) learned: u64,
    pub(crate) refused: u64,
    pub(crate) evicted: u64,
}

impl Learner {
    pub fn new(config: Config) -> Result<Self, Error> {
        let model = config.model.build(&config.labels)?;
        if config.bound.is_some() && !model.can_let_go() {
            return Err(Error::Parameter("max_features: this model cannot be bounded.".to_owned()));
        }
        let coins = Generator::from_seed(config.seed);
        let mut draws = coins.jumped();
        let mut query_state = QueryState::default();
        if matches!(config.query, QueryRule::Quota { total: None, .. }) {
            query_state.phase = draws.uniform();
        }
        let added_slots = vec![UNKNOWN; config.added.names().len()];
        Ok(Self {
            model,
            view: config.view.then(|| View::new(config.added == Added::Whole, config.bound)),
            labels: config.labels.clone(),
            config,
            vocabulary: Vocabulary::default(),
            register: Vec::new(),
            query_state,
            calibration: Calibration::default(),
            coins,
            draws,
            added_slots,
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

    /// How often a new name was left out of an event learned, for want of a place.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Features let go. When it grows, slots change.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Whether slots can change at all.
    pub fn evicts(&self) -> bool {
        self.config.bound.is_some_and(Bound::evicts)
    }

    /// Names learned, without the learner's own.
    pub(crate) fn given_names(&self) -> usize {
        let own = self.added_slots.iter().filter(|&&slot| slot != UNKNOWN).count();
        self.vocabulary.len() - own
    }

    /// Labels learned that were (negative, positive); with several classes and in regression none.
    pub fn learned_of_each(&self) -> (u64, u64) {
        (self.negatives, self.positives)
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
        self.model.weight(slot, vector)
    }

    /// What the model says of itself beside its weights.
    pub fn note(&self) -> Option<String> {
        self.model.note()
    }

    /// How many names it knows, learned or only met.
    pub fn names_met(&self) -> usize {
        let met = self.view.as_ref().map_or(0, |view| view.vocabulary().len());
        self.vocabulary.len().max(met)
    }

    /// Find the slots of an event's features, and where the view keeps their statistics.
    pub fn look_up(&self, names: &(impl Names + ?Sized), event: &mut Entrant) -> Result<(), Error> {
        self.find_slots(names, &mut event.features)?;
        self.find_seats(names, event);
        Ok(())
    }

    /// Find the slots of an event's features.
    ///
    /// A feature whose slot is not `UNKNOWN` was looked up before, and [`Self::evicted`] has not grown
    /// since.
    pub fn find_slots(
        &self,
        names: &(impl Names + ?Sized),
        features: &mut [Feature],
    ) -> Result<(), Error> {
        for (position, feature) in features.iter_mut().enumerate() {
            if feature.slot == UNKNOWN {
                let name = names.name(position);
                let check = self.config.added.check(name);
                check.map_err(|text| Error::Event(format!("event: {text}")))?;
                feature.slot = self.vocabulary.slot(name);
            }
        }
        Ok(())
    }

    /// Find where the view keeps their statistics; seats that are not `UNKNOWN` were found before.
    fn find_seats(&self, names: &(impl Names + ?Sized), event: &mut Entrant) {
        if let Some(view) = &self.view {
            event.seats.resize(event.features.len(), UNKNOWN);
            for (position, seat) in event.seats.iter_mut().enumerate() {
                if *seat == UNKNOWN {
                    *seat = view.seat(names.name(position));
                }
            }
        }
    }

    /// Bring an event that is not part of the stream to the model's view of it.
    pub fn look(&self, event: &mut Entrant) -> Result<(), Error> {
        if let Some(view) = &self.view {
            event.whole = view.look(&event.seats, &mut event.features, &mut event.shown)?;
        }
        self.add_own(event);
        Ok(())
    }

    /// The same for an event of the stream, which the view will count.
    fn show(&self, event: &mut Entrant, names: &(impl Names + ?Sized)) -> Result<(), Error> {
        if let Some(view) = &self.view {
            event.counted = view.room(&event.seats).map(|room| counted(event, names, room));
            event.whole = match &event.counted {
                None => view.show(&event.seats, &mut event.features, &mut event.shown)?,
                Some(positions) => {
                    let seats: Vec<Slot> = positions.iter().map(|&i| event.seats[i]).collect();
                    let mut features: Vec<Feature> =
                        positions.iter().map(|&i| event.features[i]).collect();
                    let whole = view.show(&seats, &mut features, &mut event.shown)?;
                    event.features.iter_mut().for_each(|feature| feature.value = LEFT_OUT);
                    for (&position, feature) in positions.iter().zip(features) {
                        event.features[position].value = feature.value + 0.0; // never −0
                    }
                    whole
                }
            };
            if self.config.bound.is_some() && event.counted.is_none() {
                event.features.iter_mut().for_each(|feature| feature.value += 0.0);
            }
            event.pending = true;
        }
        self.add_own(event);
        Ok(())
    }

    fn keep_shown(&mut self, event: &mut Entrant, names: &(impl Names + ?Sized)) {
        if let (Some(view), true) = (&mut self.view, event.pending) {
            event.pending = false;
            let Some(positions) = event.counted.take() else {
                view.keep(&event.shown, &mut event.seats, &event.features, names);
                return;
            };
            let mut seats: Vec<Slot> = positions.iter().map(|&i| event.seats[i]).collect();
            let features: Vec<Feature> = positions.iter().map(|&i| event.features[i]).collect();
            let names = Picked { names, positions: &positions };
            view.keep(&event.shown, &mut seats, &features, &names);
            for (&position, seat) in positions.iter().zip(seats) {
                event.seats[position] = seat;
            }
        }
    }

    /// Whether values come through a view, and so differ from what an event gave.
    pub fn has_view(&self) -> bool {
        self.view.is_some()
    }

    /// The names of the features that it adds to the end of every event.
    pub fn added_names(&self) -> &'static [Name<'static>] {
        self.config.added.names()
    }

    /// Add the learner's own features to the end of an event.
    pub fn add_own(&self, event: &mut Entrant) {
        let [factor, energy] = event.whole;
        let values: &[f64] = match self.config.added {
            Added::Nothing => &[],
            Added::Intercept => &[1.0],
            Added::Whole => &[factor, energy, CONSTANT],
        };
        let own = self.added_slots.iter().zip(values);
        event.features.extend(own.map(|(&slot, &value)| Feature { slot, value }));
    }

    /// Whether a new name means nothing to this learner.
    fn is_closed(&self) -> bool {
        self.config.closed && self.learned > 0
    }

    /// Whether a new name would be refused.
    fn is_full(&self) -> bool {
        let full = |bound: Bound| {
            bound.when_full == WhenFull::Refuse && self.given_names() >= bound.most()
        };
        self.config.bound.is_some_and(full)
    }

    /// The index of the predicted label, and the margin. Changes nothing.
    pub fn predict(&self, features: &[Feature]) -> Result<(Option<usize>, f64), Error> {
        let Score { class, margin, .. } = self.model.score(features, &self.draws)?;
        Ok((class, margin))
    }

    /// A score a known label; of two labels the first scores 0, the second the margin.
    pub fn scores(&self, features: &[Feature]) -> Result<Vec<f64>, Error> {
        self.model.scores(features, &self.draws)
    }

    /// A prediction in the form in which the learner speaks of labels; in regression the number.
    pub fn prediction(&self, class: Option<usize>, margin: f64) -> Option<Label> {
        if self.labels.is_number() {
            return Some(Label::Real(margin));
        }
        class.map(|class| self.labels.label(class))
    }

    /// A probability a known label, by what the labels learned so far say of the margins.
    pub fn probabilities(&self, features: &[Feature]) -> Result<Vec<f64>, Error> {
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

    /// Predict an event of the stream and decide whether to ask: draws one coin. The features
    /// are left as the model sees them.
    pub fn decide(
        &mut self,
        event: &mut Entrant,
        names: &(impl Names + ?Sized),
    ) -> Result<Decision, Error> {
        self.show(event, names)?;
        let decision = self.ask(&event.features, true)?;
        self.keep_shown(event, names);
        Ok(decision)
    }

    /// Whether to ask for the label of an event that the view does not count: draws one coin. To a
    /// view that has counted nothing all events are blank, so it must not wait for another.
    pub fn query(&mut self, features: &[Feature]) -> Result<bool, Error> {
        let may_wait = self.view.as_ref().is_none_or(|view| view.vocabulary().len() > 0);
        Ok(self.ask(features, may_wait)?.asked)
    }

    fn ask(&mut self, features: &[Feature], may_wait: bool) -> Result<Decision, Error> {
        let score = self.model.score(features, &self.draws)?;
        let mut now = self.moment(&score, features)?;
        now.blank &= may_wait;
        let coin = self.coins.uniform();
        let (asked, query_probability) = self.config.query.ask(&mut self.query_state, now, coin);
        self.seen += 1;
        self.asked += u64::from(asked);
        let Score { class, margin, squared_norm, .. } = score;
        Ok(Decision { class, margin, query_probability, asked, squared_norm })
    }

    /// Whether there is a view that knows too few events to show what one is like.
    fn is_new_to_view(&self) -> bool {
        self.view.is_some() && self.seen + 1 < FIRST_QUESTION
    }

    fn moment(&self, score: &Score, features: &[Feature]) -> Result<Moment, Error> {
        let squared_norm = if !self.config.query.uses_norm() {
            0.0
        } else if self.is_closed() || self.is_full() {
            squared_norm(&known(features))?
        } else {
            score.squared_norm.map_or_else(|| squared_norm(features), finite_norm)?
        };
        let given = &features[..features.len() - self.added_slots.len()];
        Ok(Moment {
            t: self.seen + 1,
            asked: self.asked,
            confidence: score.confidence,
            squared_norm,
            learned: self.learned,
            blank: self.learned == 0
                && (self.is_new_to_view() || given.iter().all(|feature| feature.value == 0.0)),
        })
    }

    /// What each feature adds to the margin, and what [`Self::decide`] would say. Changes nothing.
    pub fn explain(&self, features: &[Feature]) -> Result<(Vec<f64>, Decision), Error> {
        let score = self.model.score(features, &self.draws)?;
        let now = self.moment(&score, features)?;
        let (asked, query_probability) =
            self.config.query.ask(&mut self.query_state.clone(), now, 1.0);
        let Score { class, margin, squared_norm, .. } = score;
        let decision = Decision { class, margin, query_probability, asked, squared_norm };
        Ok((self.model.contributions(features, &self.draws), decision))
    }

    /// What else the model can say of an event, by name. Changes nothing.
    pub fn details(&self, features: &[Feature]) -> Vec<(&'static str, f64)> {
        self.model.details(features)
    }

    /// Learn an event of the stream that no decision was made about.
    pub fn learn(
        &mut self,
        event: &mut Entrant,
        names: &(impl Names + ?Sized),
        label: &Label,
    ) -> Result<bool, Error> {
        self.show(event, names)?;
        if self.model.uses_view() {
            self.labels.read(label)?;
            self.vocabulary.room_for(event.features.len())?;
            self.model.check(&event.features)?;
            self.keep_shown(event, names); // nothing can fail from here on
        }
        let grew = self.study(&mut event.features, names, label, 1.0, None)?;
        self.keep_shown(event, names);
        Ok(grew)
    }

    /// Learn an event that was decided on before: its features as [`Self::decide`] left them, the
    /// learner's own at their end. `weight` is what the label counts for the probabilities, `products`
    /// those of the decision if nothing was learned since. New names get their slots, which are filled
    /// in. True if there were any. Where features are let go, no slot of before is right any more.
    pub fn study(
        &mut self,
        features: &mut [Feature],
        names: &(impl Names + ?Sized),
        label: &Label,
        weight: f64,
        mut products: Option<Products>,
    ) -> Result<bool, Error> {
        if self.is_closed() && features.iter().any(|feature| feature.slot == UNKNOWN) {
            return self.study(&mut known(features), names, label, weight, None);
        }
        let reading = self.labels.read(label)?;
        let (added, given) = (self.added_names(), features.len() - self.added_names().len());
        let name_of = |position: usize| {
            if position < given { names.name(position) } else { added[position - given] }
        };
        let mut new: Vec<usize> = Vec::new();
        let unknown = |some, feature: &Feature| some | (feature.slot == UNKNOWN);
        if features.iter().fold(false, unknown) {
            new.extend((0..features.len()).filter(|&i| features[i].slot == UNKNOWN));
            new.sort_unstable_by(|&a, &b| name_of(a).cmp(&name_of(b)));
        }
        let refused = self.refuse(&mut new, features, given);
        self.vocabulary.room_for(new.len())?;
        let known = self.vocabulary.len();
        for (rank, &position) in new.iter().enumerate() {
            features[position].slot = (known + rank) as Slot;
        }
        let taken; // what is left of the event
        let features = if refused == 0 {
            &*features
        } else {
            taken = self::known(features);
            products = None;
            &taken
        };
        let binary = self.labels.is_binary();
        let positive = binary && reading.target == Target::Class(1);
        let lesson = Lesson {
            features,
            target: reading.target,
            known,
            names: known + new.len(),
            positives: self.positives + u64::from(positive),
            negatives: self.negatives + u64::from(binary && !positive),
            products,
        };
        let learned = self.model.learn(&lesson, self.view.as_ref(), &mut self.draws)?;

        // From here on nothing can fail.
        (self.positives, self.negatives) = (lesson.positives, lesson.negatives);
        self.learned += 1;
        self.labels.learn(&reading, label);
        self.config.query.learned(&mut self.query_state, learned.mistake);
        if let Target::Class(class) = reading.target {
            self.calibration.learn(learned.scores.as_slice(), class, weight);
        }
        for &position in &new {
            let slot = self.vocabulary.insert(name_of(position));
            self.register.push(Register { first: self.learned, last: 0, times: 0 });
            if position >= given {
                self.added_slots[position - given] = slot;
            }
            if let Some(view) = &mut self.view {
                view.meet(name_of(position));
            }
        }
        for feature in features {
            let entry = &mut self.register[feature.slot as usize];
            entry.last = self.learned;
            entry.times += 1;
        }
        self.refused += refused;
        self.let_go();
        Ok(!new.is_empty())
    }

    /// Take out of an event's new names, which are in order, those that find no place here or in the
    /// view, and count them.
    fn refuse(&self, new: &mut Vec<usize>, features: &[Feature], given: usize) -> u64 {
        let (Some(bound), false) = (self.config.bound, new.is_empty()) else { return 0 };
        let carried = features[..given].iter().filter(|feature| feature.slot != UNKNOWN).count();
        let mut room = bound.room(self.given_names(), carried);
        let all = new.len();
        new.retain(|&position| {
            let own = position >= given;
            let left_out = self.view.is_some() && is_left_out(features[position].value);
            let comes = own || (room > 0 && !left_out);
            room -= usize::from(comes && !own);
            comes
        });
        (all - new.len()) as u64
    }

    /// Let go of features if there are too many. Those of the event just learned stay, the
    /// learner's own among them.
    fn let_go(&mut self) {
        let Some(bound) = self.config.bound else { return };
        if self.given_names() <= bound.most() {
            return;
        }
        let rows = self.register.len();
        let last = |slot: Slot| self.register[slot as usize].last;
        let may_go = (0..rows as Slot).filter(|&slot| last(slot) < self.learned).collect();
        let by_age = |a: Slot, b: Slot| (last(a), a).cmp(&(last(b), b));
        let survivors = if bound.when_full == WhenFull::Smallest {
            let sizes: Vec<f64> = (0..rows as Slot).map(|slot| self.model.size(slot)).collect();
            bound.survivors(rows, self.given_names(), may_go, |a, b| {
                sizes[a as usize].total_cmp(&sizes[b as usize]).then_with(|| by_age(a, b))
            })
        } else {
            bound.survivors(rows, self.given_names(), may_go, by_age)
        };
        self.evicted += (rows - survivors.len()) as u64;
        self.vocabulary.retain(&survivors);
        survivors.retain(&mut self.register, 1);
        self.model.retain(&survivors);
        if let Some(view) = &mut self.view {
            view.part_with(&survivors);
        }
        for slot in &mut self.added_slots {
            *slot = survivors.of(*slot);
        }
    }
}

/// Of an event with more new names than the view has places for, the positions of those that it
/// counts: the known ones and the first of the new in the order of the names.
fn counted(event: &Entrant, names: &(impl Names + ?Sized), room: usize) -> Vec<usize> {
    let (mut new, mut positions): (Vec<usize>, Vec<usize>) =
        (0..event.seats.len()).partition(|&position| event.seats[position] == UNKNOWN);
    new.sort_unstable_by(|&a, &b| names.name(a).cmp(&names.name(b)));
    positions.extend(&new[..room]);
    positions.sort_unstable();
    positions
}

/// The features whose names are known.
fn known(features: &[Feature]) -> Vec<Feature> {
    features.iter().copied().filter(|feature| feature.slot != UNKNOWN).collect()
}
