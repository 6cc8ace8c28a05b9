//! One learner of each kind, with limits so small that a few events reach every case.

use headwater_core::{
    Capacity, ClassWeight, Combine, Confidence, Config, DualLogisticConfig, Error, EvictionPolicy,
    ExternalConfig, FeslConfig, Label, Labels, Learner, LinearConfig, Loss, ModelConfig,
    OfsPartialConfig, OlvfConfig, OwnFeatures, PositiveMargin, QueryRule, RfeslConfig,
    SecondOrderConfig, Sparsifier, SpringClassesConfig, SpringConfig, Task, UpdateRule, snapshot,
};

use crate::bytes::Bytes;

const LINEAR: LinearConfig = LinearConfig {
    update: UpdateRule::Pa1 { c: Some(1.0) },
    positive_margin: PositiveMargin::Fixed(1.0),
    sparsifier: Sparsifier::None,
    restarts: false,
    legacy: false,
    task: Task::Binary,
    class_weight: ClassWeight::None,
};

const FESL: FeslConfig = FeslConfig {
    combine: Combine::Weights,
    loss: Loss::Logistic,
    step: 0.5,
    ridge: None,
    overlap: 3,
    horizon: None,
    clip_losses: true,
    switch_after: None,
};

fn with(model: ModelConfig, query: QueryRule) -> Config {
    Config {
        model,
        query,
        scaled: false,
        closed: false,
        capacity: None,
        own: OwnFeatures::None,
        labels: Labels::binary(),
        seed: 7,
    }
}

fn linear(config: LinearConfig, query: QueryRule) -> Config {
    with(ModelConfig::Linear(config), query)
}

fn dual_logistic(labels: Labels) -> Config {
    let model = ModelConfig::DualLogistic(DualLogisticConfig {
        c: 1.0,
        replay: 3,
        memory: 4,
        balance: true,
        multiclass: labels.is_multiclass(),
        sparsifier: Sparsifier::None,
        restarts: false,
    });
    let query = QueryRule::Quantile { rate: 0.5 };
    Config { scaled: true, own: OwnFeatures::Summary, labels, ..with(model, query) }
}

fn bounded(policy: EvictionPolicy, config: Config) -> Config {
    Config { capacity: Some(Capacity { most: 3, policy }), ..config }
}

/// One configuration of each kind. Stored inputs and digests refer to them by index: add new ones
/// at the end.
#[allow(clippy::too_many_lines)] // a list
pub fn configs() -> Vec<Config> {
    let open = || Labels::open(Vec::new());
    let keep_largest = Sparsifier::KeepLargest { share: 0.5, l1_radius: 3.0 };
    vec![
        linear(
            LinearConfig { sparsifier: keep_largest, ..LINEAR },
            QueryRule::Margin { width: 1.0 },
        ),
        Config {
            scaled: true,
            own: OwnFeatures::Intercept,
            ..linear(
                LinearConfig {
                    update: UpdateRule::Arow { c: Some(1.0), forgetting: None },
                    ..LINEAR
                },
                QueryRule::Budget { rate: 0.5 },
            )
        },
        dual_logistic(Labels::binary()),
        dual_logistic(open()),
        Config {
            labels: Labels::open(vec![Label::Text("x".to_owned())]),
            ..linear(
                LinearConfig {
                    update: UpdateRule::Pa2 { c: Some(0.5) },
                    sparsifier: keep_largest,
                    task: Task::Multiclass,
                    ..LINEAR
                },
                QueryRule::All,
            )
        },
        Config {
            labels: Labels::numbers(),
            own: OwnFeatures::Intercept,
            ..linear(
                LinearConfig { task: Task::Regression { epsilon: 0.1 }, ..LINEAR },
                QueryRule::Budget { rate: 0.5 },
            )
        },
        with(
            ModelConfig::SecondOrder(SecondOrderConfig { prior_weight: 1.0, original: true }),
            QueryRule::SelAda { width: 1.0, by_norm: true },
        ),
        with(
            ModelConfig::OfsPartial(OfsPartialConfig {
                count: 2,
                exploration: 0.2,
                step: 0.2,
                l2_radius: 2.0,
            }),
            QueryRule::Random { rate: 0.5 },
        ),
        with(
            ModelConfig::Olvf(OlvfConfig {
                c: 1.0,
                c_space: 0.5,
                l1_radius: 3.0,
                kept_share: 0.5,
                confidence: Confidence::Divide,
            }),
            QueryRule::MarginPlusOne { width: 1.0 },
        ),
        with(ModelConfig::Fesl(FESL), QueryRule::All),
        with(
            ModelConfig::Fesl(FeslConfig {
                combine: Combine::Draw,
                horizon: Some(5),
                switch_after: Some(4),
                ..FESL
            }),
            QueryRule::Decaying { width: 9.0 },
        ),
        with(ModelConfig::Rfesl(RfeslConfig { step: 0.5, horizon: Some(3) }), QueryRule::All),
        Config {
            labels: Labels::given(Label::Text("no".to_owned()), Label::Int(1)),
            ..linear(
                LinearConfig {
                    update: UpdateRule::CwStdev { phi: 1.0 },
                    sparsifier: Sparsifier::RandomShare { share: 0.5 },
                    ..LINEAR
                },
                QueryRule::Quota { rate: 0.5, total: None },
            )
        },
        Config {
            closed: true,
            ..linear(
                LinearConfig {
                    update: UpdateRule::Gradient { step: 0.5, decay: 0.1 },
                    sparsifier: Sparsifier::KeepCount { count: 2, l2_radius: 2.0 },
                    positive_margin: PositiveMargin::Balanced { odds: 1.0 },
                    ..LINEAR
                },
                QueryRule::Quota { rate: 0.5, total: Some(6) },
            )
        },
        linear(
            LinearConfig {
                update: UpdateRule::Pa,
                sparsifier: keep_largest,
                restarts: true,
                legacy: true,
                ..LINEAR
            },
            QueryRule::All,
        ),
        Config {
            labels: Labels::numbers(),
            ..with(ModelConfig::Fesl(FeslConfig { loss: Loss::Square, ..FESL }), QueryRule::All)
        },
        bounded(EvictionPolicy::Refuse, linear(LINEAR, QueryRule::All)),
        bounded(
            EvictionPolicy::Oldest,
            linear(LinearConfig { sparsifier: keep_largest, ..LINEAR }, QueryRule::All),
        ),
        bounded(EvictionPolicy::Smallest, dual_logistic(Labels::binary())),
        Config {
            scaled: true,
            own: OwnFeatures::Intercept,
            ..linear(
                LinearConfig {
                    update: UpdateRule::Arow { c: Some(1.0), forgetting: Some(0.9) },
                    class_weight: ClassWeight::Balanced,
                    ..LINEAR
                },
                QueryRule::Budget { rate: 0.5 },
            )
        },
        Config {
            labels: Labels::numbers(),
            ..with(
                ModelConfig::External(ExternalConfig {
                    task: Task::Regression { epsilon: 0.0 },
                    identity: 1,
                }),
                QueryRule::Budget { rate: 0.5 },
            )
        },
        bounded(
            EvictionPolicy::Smallest,
            Config {
                model: ModelConfig::SpringClasses(SpringClassesConfig { own: 3 }),
                ..dual_logistic(open())
            },
        ),
        Config {
            model: ModelConfig::Spring(SpringConfig { own: 3 }),
            ..dual_logistic(Labels::binary())
        },
    ]
}

/// The bytes of a learner's model file.
///
/// # Panics
/// If the learner cannot be written, which is a bug of the core.
pub fn bytes_of(learner: &Learner) -> Vec<u8> {
    snapshot::write(learner, "{}").expect("a learner can be written")
}

/// The learner in a model file that [`bytes_of`] wrote.
///
/// # Panics
/// If the file has another header.
pub fn restored(config: Config, file: &[u8]) -> Result<Learner, Error> {
    let (header, state) = snapshot::split(file)?;
    assert_eq!(header, "{}");
    Learner::restore(config, state)
}

/// A label, which may fit the learner or not.
pub fn label(bytes: &mut Bytes<'_>) -> Label {
    match bytes.byte() % 16 {
        0..3 => Label::Bool(false),
        3..6 => Label::Bool(true),
        6 => Label::Int(0),
        7..10 => Label::Int(1),
        10 => Label::Int(-1),
        11 => Label::Int(2),
        12 => Label::Text("x".to_owned()),
        13 => Label::Text("no".to_owned()),
        _ => Label::Real(bytes.number()),
    }
}
