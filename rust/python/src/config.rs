//! Makes the core's rules from components, given as (word, parameters).
//!
//! The Python side has checked every parameter. A missing or unknown one here is a bug of the
//! package.

use headwater_core::{
    Capacity, ClassWeight, Combine, Confidence, DualLogisticConfig, EvictionPolicy, ExternalConfig,
    FeslConfig, LinearConfig, Loss, ModelConfig, OfsPartialConfig, OlvfConfig, OwnFeatures,
    PositiveMargin, QueryRule, RfeslConfig, SecondOrderConfig, Sparsifier, SpringClassesConfig,
    SpringConfig, Task, UpdateRule,
};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A component as the Python side passes it.
#[derive(FromPyObject)]
pub struct Component<'py> {
    #[pyo3(item(0))]
    word: String,
    #[pyo3(item(1))]
    parameters: Bound<'py, PyDict>,
}

impl<'py> Component<'py> {
    fn get<T>(&self, name: &str) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        get(&self.parameters, name)
    }

    pub fn update(&self) -> PyResult<UpdateRule> {
        Ok(match self.word.as_str() {
            "perceptron" => UpdateRule::Perceptron,
            "margin_perceptron" => UpdateRule::MarginPerceptron,
            "pa" => UpdateRule::Pa,
            "pa1" => UpdateRule::Pa1 { c: self.get("C")? },
            "pa2" => UpdateRule::Pa2 { c: self.get("C")? },
            "cpa" => UpdateRule::Cpa { c: self.get("C")? },
            "arow" => UpdateRule::Arow { c: self.get("C")?, forgetting: self.get("forgetting")? },
            "cw" => match self.get::<String>("form")?.as_str() {
                "variance" => UpdateRule::CwVariance { phi: self.get("phi")? },
                "stdev" => UpdateRule::CwStdev { phi: self.get("phi")? },
                other => return Err(unknown(other)),
            },
            "gradient" => {
                UpdateRule::Gradient { step: self.get("step")?, decay: self.get("decay")? }
            }
            other => return Err(unknown(other)),
        })
    }

    /// A number, or the odds of a balanced margin.
    pub fn positive_margin(&self) -> PyResult<PositiveMargin> {
        if self.parameters.contains("balanced_odds")? {
            return Ok(PositiveMargin::Balanced { odds: self.get("balanced_odds")? });
        }
        let fixed = self.parameters.contains("positive_margin")?;
        Ok(PositiveMargin::Fixed(if fixed { self.get("positive_margin")? } else { 1.0 }))
    }

    pub fn query(&self) -> PyResult<QueryRule> {
        Ok(match self.word.as_str() {
            "all" => QueryRule::All,
            "random" => QueryRule::Random { rate: self.get("rate")? },
            "quota" => QueryRule::Quota { rate: self.get("rate")?, total: self.get("total")? },
            "margin" => QueryRule::Margin { width: self.get("width")? },
            "margin_plus_one" => QueryRule::MarginPlusOne { width: self.get("width")? },
            "sel_ada" => {
                QueryRule::SelAda { width: self.get("width")?, by_norm: self.get("by_norm")? }
            }
            "decaying" => QueryRule::Decaying { width: self.get("width")? },
            "budget" => QueryRule::Budget { rate: self.get("rate")? },
            "quantile" => QueryRule::Quantile { rate: self.get("rate")? },
            other => return Err(unknown(other)),
        })
    }

    /// What makes a margin of `w·x`.
    pub fn class_weight(&self) -> PyResult<ClassWeight> {
        Ok(match self.word.as_str() {
            "none" => ClassWeight::None,
            "balanced" => ClassWeight::Balanced,
            "costs" => ClassWeight::of_costs(self.get("negative")?, self.get("positive")?),
            "threshold" => ClassWeight::of_threshold(self.get("threshold")?),
            other => return Err(unknown(other)),
        })
    }

    pub fn sparsifier(&self) -> PyResult<Sparsifier> {
        Ok(match self.word.as_str() {
            "none" => Sparsifier::None,
            "keep_largest" => Sparsifier::KeepLargest {
                share: self.get("share")?,
                l1_radius: self.get("l1_radius")?,
            },
            "random_share" => Sparsifier::RandomShare { share: self.get("share")? },
            "keep_count" => Sparsifier::KeepCount {
                count: self.get("count")?,
                l2_radius: self.get("l2_radius")?,
            },
            other => return Err(unknown(other)),
        })
    }
}

/// The error for a word without a rule in the core: a bug, because the Python side should have
/// refused it.
fn unknown(word: &str) -> PyErr {
    PyKeyError::new_err(format!("the core does not know the word {word:?}"))
}

/// The limit of the number of names, and what happens beyond it.
pub fn capacity(most: u32, policy: &str) -> PyResult<Capacity> {
    let policy = match policy {
        "refuse" => EvictionPolicy::Refuse,
        "oldest" => EvictionPolicy::Oldest,
        "smallest" => EvictionPolicy::Smallest,
        other => return Err(unknown(other)),
    };
    Ok(Capacity { most, policy })
}

/// The features that a learner adds to every event.
pub fn own_features(word: &str) -> PyResult<OwnFeatures> {
    match word {
        "none" => Ok(OwnFeatures::None),
        "intercept" => Ok(OwnFeatures::Intercept),
        "summary" => Ok(OwnFeatures::Summary),
        other => Err(unknown(other)),
    }
}

/// A model by its `kind` and its parameters.
pub fn model(parameters: &Bound<'_, PyDict>) -> PyResult<ModelConfig> {
    let kind: String = get(parameters, "kind")?;
    Ok(match kind.as_str() {
        "linear" => {
            let update: Component<'_> = get(parameters, "update")?;
            ModelConfig::Linear(LinearConfig {
                update: update.update()?,
                positive_margin: update.positive_margin()?,
                sparsifier: get::<Component<'_>>(parameters, "sparsify")?.sparsifier()?,
                restarts: get(parameters, "restarts")?,
                legacy: get(parameters, "legacy")?,
                task: task(parameters)?,
                class_weight: get::<Component<'_>>(parameters, "class_weight")?.class_weight()?,
            })
        }
        "spring" => ModelConfig::Spring(SpringConfig { own: get(parameters, "own")? }),
        "spring_classes" => {
            ModelConfig::SpringClasses(SpringClassesConfig { own: get(parameters, "own")? })
        }
        "dual_logistic" => ModelConfig::DualLogistic(DualLogisticConfig {
            c: get(parameters, "C")?,
            replay: get(parameters, "replay")?,
            memory: get(parameters, "memory")?,
            balance: get(parameters, "balance")?,
            multiclass: task(parameters)? == Task::Multiclass,
            sparsifier: get::<Component<'_>>(parameters, "sparsify")?.sparsifier()?,
            restarts: get(parameters, "restarts")?,
        }),
        "second_order" => ModelConfig::SecondOrder(SecondOrderConfig {
            prior_weight: get(parameters, "prior_weight")?,
            original: match get::<String>(parameters, "query_form")?.as_str() {
                "original" => true,
                "text" => false,
                other => return Err(unknown(other)),
            },
        }),
        "ofs_partial" => ModelConfig::OfsPartial(OfsPartialConfig {
            count: get(parameters, "count")?,
            exploration: get(parameters, "exploration")?,
            step: get(parameters, "step")?,
            l2_radius: get(parameters, "l2_radius")?,
        }),
        "olvf" => ModelConfig::Olvf(OlvfConfig {
            c: get(parameters, "C")?,
            c_space: get(parameters, "C_space")?,
            l1_radius: get(parameters, "l1_radius")?,
            kept_share: get(parameters, "kept_share")?,
            confidence: match get::<String>(parameters, "confidence")?.as_str() {
                "divide" => Confidence::Divide,
                "multiply" => Confidence::Multiply,
                other => return Err(unknown(other)),
            },
        }),
        "fesl" => ModelConfig::Fesl(FeslConfig {
            combine: match get::<String>(parameters, "combine")?.as_str() {
                "weights" => Combine::Weights,
                "draw" => Combine::Draw,
                "best" => Combine::Best,
                "new" => Combine::New,
                "old" => Combine::Old,
                "frozen" => Combine::Frozen,
                other => return Err(unknown(other)),
            },
            loss: match get::<String>(parameters, "loss")?.as_str() {
                "square" => Loss::Square,
                "logistic" => Loss::Logistic,
                other => return Err(unknown(other)),
            },
            step: get(parameters, "step")?,
            ridge: get(parameters, "ridge")?,
            overlap: get(parameters, "overlap")?,
            horizon: get(parameters, "horizon")?,
            clip_losses: get(parameters, "clip_losses")?,
            switch_after: get(parameters, "switch_after")?,
        }),
        "rfesl" => ModelConfig::Rfesl(RfeslConfig {
            step: get(parameters, "step")?,
            horizon: get(parameters, "horizon")?,
        }),
        "external" => ModelConfig::External(ExternalConfig {
            task: task(parameters)?,
            identity: get(parameters, "identity")?,
        }),
        other => return Err(unknown(other)),
    })
}

fn task(parameters: &Bound<'_, PyDict>) -> PyResult<Task> {
    match get::<String>(parameters, "task")?.as_str() {
        "binary" => Ok(Task::Binary),
        "multiclass" => Ok(Task::Multiclass),
        "regression" => Ok(Task::Regression { epsilon: get(parameters, "epsilon")? }),
        other => Err(unknown(other)),
    }
}

fn get<'py, T>(parameters: &Bound<'py, PyDict>, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    match parameters.get_item(name)? {
        Some(value) => value.extract().map_err(Into::into),
        None => Err(PyKeyError::new_err(format!("the core needs the parameter {name:?}"))),
    }
}
