//! Linear learning on streams whose features come and go and whose labels are scarce.
//!
//! A [`Learner`] is a model together with what all models share: names, labels, questions,
//! counters, the running scaler. Models are made of small rules, each a closed enum: [`UpdateRule`]
//! (how far a label moves the weights), [`QueryRule`] (whether a label is worth asking for) and
//! [`Sparsifier`] (which weights are set to 0). An event is a list of [`FeatureValue`]s in an
//! [`EventBuffer`]. [`Learner::look_up`] finds the ids of its names, [`Learner::decide`] predicts
//! and decides whether to ask, [`Learner::learn`] moves the weights. [`batch`] runs whole arrays
//! through the same three calls and [`Learner::simulate_file`] whole files. [`snapshot`] writes and
//! reads the state.
//!
//! A module imports only what lies below it (`tests/test_rust_layers.py` checks that):
//!
//! ```text
//! learner > event_bytes|readers|model > rules > scaling|register > capacity > feature_table > feature_history > storage > label > event > error
//! ```
#![forbid(unsafe_code)]

/// The number of the core's arithmetic: it grows with every change after which the same events could give other
/// bits. A journal notes it, because only the same arithmetic repeats a run bit for bit.
/// `rust/fuzz/tests/digest.rs` guards it.
pub const ARITHMETIC: u32 = 3;

mod capacity;
mod error;
mod event;
pub mod event_bytes;
mod feature_history;
mod feature_table;
mod label;
mod learner;
mod model;
pub mod readers;
mod register;
mod rules;
mod scaling;
mod storage;

pub use capacity::{Capacity, EvictionPolicy};
pub use error::Error;
pub use event::{FeatureId, FeatureValue, Name, Names, OwnedName, UNKNOWN};
pub use feature_history::FeatureHistory;
pub use label::{Label, Labels};
pub use learner::decision::Decision;
pub use learner::decision_bytes::{StoredDecision, event_fingerprint};
pub use learner::decision_writer::{DecisionSink, DecisionWriter, Output};
pub use learner::event_buffer::EventBuffer;
pub use learner::feature_names::{ColumnNames, FeatureNames};
pub use learner::file::{LearnedLabels, Progress, RunCounts};
pub use learner::own_features::OwnFeatures;
pub use learner::prediction_writer::PredictionWriter;
pub use learner::register_batch::observe_batch;
pub use learner::report::Report;
pub use learner::{Config, Learner, Part};
pub use learner::{batch, delta, row_arrays, snapshot, sweep};
pub use model::ModelConfig;
pub use model::dual_logistic::DualLogisticConfig;
pub use model::example::CachedProducts;
pub use model::external::ExternalConfig;
pub use model::fesl::{Combine, FeslConfig};
pub use model::linear::{LinearConfig, Task};
pub use model::ofs_partial::OfsPartialConfig;
pub use model::olvf::{Confidence, OlvfConfig};
pub use model::rfesl::RfeslConfig;
pub use model::second_order::{MOST_NAMES, SecondOrderConfig};
pub use model::spring::SpringConfig;
pub use model::spring::classes::SpringClassesConfig;
pub use model::two_experts::Loss;
pub use register::{
    FeatureState, FeatureSummary, Finding, FindingKind, KeptName, Register, RegisterConfig,
};
pub use rules::class_odds::ClassWeight;
pub use rules::query::{QueryRule, Told};
pub use rules::sparsify::Sparsifier;
pub use rules::update::{PositiveMargin, UpdateRule};
