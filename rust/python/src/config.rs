//! Slot values, as (word, parameters), become the core's rules.
//!
//! Python has checked every parameter; what is missing here is a fault of the package.

use headwater_core::{
    Combine, Confidence, DualConfig, FeslConfig, LinearConfig, Loss, ModelConfig, OlvfConfig,
    PartialConfig, PositiveMargin, QueryRule, RfeslConfig, SecondOrderConfig, Sparsifier, Task,
    UpdateRule, WhenFull,
};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A slot value.
#[derive(FromPyObject)]
pub struct Slot<'py> {
    #[pyo3(item(0))]
    word: String,
    #[pyo3(item(1))]
    parameters: Bound<'py, PyDict>,
}

impl<'py> Slot<'py> {
    fn get<T>(&self, name: &str) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        match self.parameters.get_item(name)? {
            Some(value) => value.extract().map_err(Into::into),
            None => Err(PyKeyError::new_err(format!("{}: {name}", self.word))),
        }
    }

    fn unknown<T>(&self) -> PyResult<T> {
        Err(PyKeyError::new_err(self.word.clone()))
    }

    pub fn update(&self) -> PyResult<UpdateRule> {
        Ok(match self.word.as_str() {
            "perceptron" => UpdateRule::Perceptron,
            "margin_perceptron" => UpdateRule::MarginPerceptron,
            "pa" => UpdateRule::Pa,
            "pa1" => UpdateRule::Pa1 { c: self.get("C")? },
            "pa2" => UpdateRule::Pa2 { c: self.get("C")? },
            "cpa" => UpdateRule::Cpa { c: self.get("C")? },
            "arow" => UpdateRule::Arow { c: self.get("C")? },
            "cw" if self.get::<String>("form")? == "variance" => {
                UpdateRule::CwVariance { phi: self.get("phi")? }
            }
            "cw" => UpdateRule::CwStdev { phi: self.get("phi")? },
            "gradient" => {
                UpdateRule::Gradient { step: self.get("step")?, decay: self.get("decay")? }
            }
            "dual_logistic" => UpdateRule::DualLogistic(DualConfig {
                c: self.get("C")?,
                replay: self.get("replay")?,
                memory: self.get("memory")?,
                balance: self.get("balance")?,
            }),
            _ => return self.unknown(),
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
            _ => return self.unknown(),
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
            _ => return self.unknown(),
        })
    }
}

/// How many names are kept, and what happens to more.
pub fn bound(most: u32, when_full: &str) -> headwater_core::Bound {
    let when_full = match when_full {
        "refuse" => WhenFull::Refuse,
        "oldest" => WhenFull::Oldest,
        _ => WhenFull::Smallest,
    };
    headwater_core::Bound { most, when_full }
}

/// A model by its `kind` and what it is made of.
pub fn model(parameters: &Bound<'_, PyDict>) -> PyResult<ModelConfig> {
    let get =
        |name: &str| parameters.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()));
    let kind: String = get("kind")?.extract()?;
    match kind.as_str() {
        "linear" => {
            let update: Slot<'_> = get("update")?.extract()?;
            let task: String = get("task")?.extract()?;
            Ok(ModelConfig::Linear(LinearConfig {
                update: update.update()?,
                positive_margin: update.positive_margin()?,
                sparsifier: get("sparsify")?.extract::<Slot<'_>>()?.sparsifier()?,
                restarts: get("restarts")?.extract()?,
                legacy: get("legacy")?.extract()?,
                task: match task.as_str() {
                    "binary" => Task::Binary,
                    "multiclass" => Task::Multiclass,
                    _ => Task::Regression { epsilon: get("epsilon")?.extract()? },
                },
            }))
        }
        "second_order" => Ok(ModelConfig::SecondOrder(SecondOrderConfig {
            prior_weight: get("prior_weight")?.extract()?,
            original: get("query_form")?.extract::<String>()? == "original",
        })),
        "partial" => Ok(ModelConfig::Partial(PartialConfig {
            count: get("count")?.extract()?,
            exploration: get("exploration")?.extract()?,
            step: get("step")?.extract()?,
            l2_radius: get("l2_radius")?.extract()?,
        })),
        "olvf" => Ok(ModelConfig::Olvf(OlvfConfig {
            c: get("C")?.extract()?,
            c_space: get("C_space")?.extract()?,
            l1_radius: get("l1_radius")?.extract()?,
            kept_share: get("kept_share")?.extract()?,
            confidence: if get("confidence")?.extract::<String>()? == "divide" {
                Confidence::Divide
            } else {
                Confidence::Multiply
            },
        })),
        "fesl" => {
            let combine: String = get("combine")?.extract()?;
            let loss: String = get("loss")?.extract()?;
            Ok(ModelConfig::Fesl(FeslConfig {
                combine: match combine.as_str() {
                    "weights" => Combine::Weights,
                    "draw" => Combine::Draw,
                    "best" => Combine::Best,
                    "new" => Combine::New,
                    "old" => Combine::Old,
                    _ => Combine::Frozen,
                },
                loss: if loss == "square" { Loss::Square } else { Loss::Logistic },
                step: get("step")?.extract()?,
                ridge: get("ridge")?.extract()?,
                overlap: get("overlap")?.extract()?,
                horizon: get("horizon")?.extract()?,
                clip_losses: get("clip_losses")?.extract()?,
                switch_after: get("switch_after")?.extract()?,
            }))
        }
        "rfesl" => Ok(ModelConfig::Rfesl(RfeslConfig {
            step: get("step")?.extract()?,
            horizon: get("horizon")?.extract()?,
        })),
        _ => Err(PyKeyError::new_err(kind)),
    }
}
