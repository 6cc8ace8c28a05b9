//! What the unit tests of the learner share: small configurations, a short stream, and the event
//! loop.

use crate::capacity::{Capacity, EvictionPolicy};
use crate::error::Error;
use crate::event::{FeatureValue, Name, UNKNOWN};
use crate::label::{Label, Labels};
use crate::learner::decision::Decision;
use crate::learner::event_buffer::EventBuffer;
use crate::learner::own_features::OwnFeatures;
use crate::learner::{Config, Learner, snapshot};
use crate::model::ModelConfig;
use crate::model::dual_logistic::DualLogisticConfig;
use crate::model::fesl::{Combine, FeslConfig};
use crate::model::linear::{LinearConfig, Task};
use crate::model::ofs_partial::OfsPartialConfig;
use crate::model::olvf::{Confidence, OlvfConfig};
use crate::model::rfesl::RfeslConfig;
use crate::model::second_order::SecondOrderConfig;
use crate::model::spring::SpringConfig;
use crate::model::spring::classes::SpringClassesConfig;
use crate::model::two_experts::Loss;
use crate::rules::class_odds::ClassWeight;
use crate::rules::query::QueryRule;
use crate::rules::sparsify::Sparsifier;
use crate::rules::update::{PositiveMargin, UpdateRule};

/// An event: names and values.
pub type Event<'a> = &'a [(&'a str, f64)];

/// PA on two classes: the step is `loss/‖x‖²`, so that weights can be computed by hand.
pub const PA: LinearConfig = LinearConfig {
    update: UpdateRule::Pa,
    positive_margin: PositiveMargin::Fixed(1.0),
    sparsifier: Sparsifier::None,
    restarts: false,
    legacy: false,
    task: Task::Binary,
    class_weight: ClassWeight::None,
};

/// Features that come and go, and whether the label is positive.
pub const STREAM: [(Event<'static>, bool); 8] = [
    (&[("b", 1.0), ("a", 0.5)], true),
    (&[("a", -1.0)], false),
    (&[("c", 2.0), ("a", 1.0)], true),
    (&[("d", -0.5), ("b", -1.5)], false),
    (&[], true),
    (&[("c", 1.5), ("d", 1.0)], true),
    (&[("e", -2.0), ("d", 0.25)], false),
    (&[("a", 0.0), ("e", -1.0)], false),
];

/// A learner that asks for every label.
pub fn config(model: ModelConfig) -> Config {
    Config {
        model,
        query: QueryRule::All,
        scaled: false,
        closed: false,
        capacity: None,
        own: OwnFeatures::None,
        labels: Labels::binary(),
        seed: 7,
    }
}

pub fn linear(model: LinearConfig) -> Config {
    config(ModelConfig::Linear(model))
}

/// A linear learner with a limit on its names.
pub fn limited(most: u32, policy: EvictionPolicy) -> Config {
    Config { capacity: Some(Capacity { most, policy }), ..linear(PA) }
}

/// Spring: a scaler that summarizes events, and columns that learn side by side.
pub fn spring(query: QueryRule) -> Config {
    let own = OwnFeatures::Summary;
    Config { query, scaled: true, own, ..config(ModelConfig::Spring(SpringConfig { own: 3 })) }
}

/// Spring for several classes.
pub fn spring_classes(query: QueryRule) -> Config {
    let model = ModelConfig::SpringClasses(SpringClassesConfig { own: 3 });
    Config { model, labels: Labels::open(Vec::new()), ..spring(query) }
}

/// Dual logistic regression with a scaler.
pub fn dual_logistic(query: QueryRule) -> Config {
    let model = DualLogisticConfig {
        c: 1.0,
        replay: 3,
        memory: 4,
        balance: true,
        multiclass: false,
        sparsifier: Sparsifier::None,
        restarts: false,
    };
    Config { query, scaled: true, ..config(ModelConfig::DualLogistic(model)) }
}

/// One learner of each kind of model, and of each task.
pub fn every_kind() -> Vec<Config> {
    let fesl = FeslConfig {
        combine: Combine::Weights,
        loss: Loss::Logistic,
        step: 0.5,
        ridge: None,
        overlap: 2,
        horizon: None,
        clip_losses: true,
        switch_after: None,
    };
    let olvf = OlvfConfig {
        c: 1.0,
        c_space: 0.5,
        l1_radius: 3.0,
        kept_share: 0.5,
        confidence: Confidence::Multiply,
    };
    let ofs = OfsPartialConfig { count: 2, exploration: 0.2, step: 0.2, l2_radius: 2.0 };
    let second_order = SecondOrderConfig { prior_weight: 1.0, original: true };
    vec![
        linear(LinearConfig {
            sparsifier: Sparsifier::KeepLargest { share: 0.5, l1_radius: 3.0 },
            ..PA
        }),
        Config {
            scaled: true,
            own: OwnFeatures::Intercept,
            query: QueryRule::Budget { rate: 0.5 },
            ..linear(LinearConfig {
                update: UpdateRule::Arow { c: Some(1.0), forgetting: Some(0.9) },
                class_weight: ClassWeight::of_threshold(0.2),
                ..PA
            })
        },
        Config {
            labels: Labels::open(Vec::new()),
            ..linear(LinearConfig { task: Task::Multiclass, ..PA })
        },
        Config {
            labels: Labels::numbers(),
            ..linear(LinearConfig { task: Task::Regression { epsilon: 0.1 }, ..PA })
        },
        spring(QueryRule::All),
        spring_classes(QueryRule::All),
        dual_logistic(QueryRule::All),
        config(ModelConfig::SecondOrder(second_order)),
        config(ModelConfig::OfsPartial(ofs)),
        config(ModelConfig::Olvf(olvf)),
        config(ModelConfig::Fesl(fesl)),
        config(ModelConfig::Rfesl(RfeslConfig { step: 0.5, horizon: Some(3) })),
    ]
}

/// A label that fits the learner.
pub fn label_for(labels: &Labels, positive: bool) -> Label {
    if labels.is_number() {
        Label::Real(if positive { 1.5 } else { -0.5 })
    } else if labels.is_multiclass() {
        Label::Text(if positive { "yes" } else { "no" }.to_owned())
    } else {
        Label::Bool(positive)
    }
}

/// A label that does not fit the learner.
pub fn misfit(labels: &Labels) -> Label {
    if labels.is_multiclass() { Label::Real(0.5) } else { Label::Text("maybe".to_owned()) }
}

pub fn learner(config: Config) -> Learner {
    Learner::new(config).unwrap()
}

pub fn names_of(event: Event<'_>) -> Vec<Name<'_>> {
    event.iter().map(|&(name, _)| Name::Text(name)).collect()
}

/// An event whose names are not looked up yet.
pub fn buffer_of(values: impl IntoIterator<Item = f64>) -> EventBuffer {
    let feature = |value| FeatureValue { id: UNKNOWN, value };
    EventBuffer::new(values.into_iter().map(feature).collect())
}

/// An event whose names are looked up.
pub fn looked_up(learner: &Learner, event: Event<'_>) -> Result<EventBuffer, Error> {
    let mut buffer = buffer_of(event.iter().map(|&(_, value)| value));
    learner.look_up(&names_of(event)[..], &mut buffer)?;
    Ok(buffer)
}

/// An event outside the stream, as the model uses it.
pub fn transformed(learner: &Learner, event: Event<'_>) -> EventBuffer {
    let mut buffer = looked_up(learner, event).unwrap();
    learner.transform(&mut buffer).unwrap();
    buffer
}

pub fn decide(learner: &mut Learner, event: Event<'_>) -> Result<Decision, Error> {
    let mut buffer = looked_up(learner, event)?;
    learner.decide(&mut buffer, &names_of(event)[..])
}

pub fn learn(learner: &mut Learner, event: Event<'_>, label: &Label) -> Result<bool, Error> {
    let mut buffer = looked_up(learner, event)?;
    learner.learn(&mut buffer, &names_of(event)[..], label)
}

/// Decide on an event and learn its label if it is asked for.
pub fn decide_and_learn(
    learner: &mut Learner,
    names: &[Name<'_>],
    values: &[f64],
    label: Option<&Label>,
) -> Result<Decision, Error> {
    let mut buffer = buffer_of(values.iter().copied());
    learner.look_up(names, &mut buffer)?;
    let decision = learner.decide(&mut buffer, names)?;
    if let (true, Some(label)) = (decision.asked, label) {
        let products = Some(decision.products());
        learner.answer(&decision, &mut buffer, names, label, products)?;
    }
    Ok(decision)
}

/// A learner after the whole stream, in the event loop.
pub fn after_stream(config: Config) -> Learner {
    let mut learner = learner(config);
    for (event, positive) in STREAM {
        let label = label_for(learner.labels(), positive);
        let values: Vec<f64> = event.iter().map(|&(_, value)| value).collect();
        decide_and_learn(&mut learner, &names_of(event), &values, Some(&label)).unwrap();
    }
    learner
}

/// The weight of a name in the first weight vector.
pub fn weight(learner: &Learner, name: &str) -> f64 {
    let id = learner.id(Name::Text(name));
    assert_ne!(id, UNKNOWN, "{name} is not known");
    learner.weight(id, 0)
}

/// All names but the learner's own, in the order of their ids.
pub fn known_names(learner: &Learner) -> Vec<String> {
    let own = learner.own_names().len() as u32;
    (own..learner.names() as u32).map(|id| learner.name(id).to_string()).collect()
}

/// The bytes of the learner's model file: equal bytes mean an equal state.
pub fn bytes_of(learner: &Learner) -> Vec<u8> {
    snapshot::write(learner, "{}").unwrap()
}
