//! Linear learning on streams whose features come and go and whose labels are scarce.
//!
//! A [`Learner`] is made of three small rules, each a closed enum:
//! [`UpdateRule`] (how far a label moves the weights), [`QueryRule`] (whether a label is worth
//! asking for) and [`Sparsifier`] (which weights are let go). An event is a list of
//! [`Feature`]s: [`Learner::look_up`] makes it from names and values, [`Learner::decide`] predicts
//! and perhaps asks, [`Learner::learn`] moves the weights. [`batch`] runs whole arrays through
//! the same three calls, [`readers`] whole files; [`snapshot`] writes and reads the state.
#![forbid(unsafe_code)]

pub mod batch;
mod bound;
mod calibration;
mod dual;
mod elementary;
mod error;
mod expected_error;
mod experts;
mod fesl;
mod heap;
mod labels;
mod learner;
mod linear;
mod marks;
mod model;
mod olvf;
mod overlap;
mod pair;
mod partial;
mod query;
mod random;
pub mod readers;
mod rfesl;
mod row;
mod second_order;
pub mod snapshot;
mod sparsify;
mod update;
mod view;
mod vocabulary;
mod weights;
mod whole;

pub use bound::{Bound, WhenFull};
pub use dual::DualConfig;
pub use error::Error;
pub use experts::Loss;
pub use fesl::{Combine, FeslConfig};
pub use labels::{Label, Labels};
pub use learner::{Added, Config, Decision, Entrant, Learner, ModelConfig, Register};
pub use linear::{LinearConfig, Task};
pub use model::Products;
pub use olvf::{Confidence, OlvfConfig};
pub use partial::PartialConfig;
pub use query::QueryRule;
pub use rfesl::RfeslConfig;
pub use second_order::{MOST_NAMES, SecondOrderConfig};
pub use sparsify::Sparsifier;
pub use update::{PositiveMargin, UpdateRule};
pub use vocabulary::{Name, Names, Slot, UNKNOWN};
pub use weights::Feature;
