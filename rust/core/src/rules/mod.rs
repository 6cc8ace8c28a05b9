//! The rules that models and learners are made of: one per file, with its formula above the code.

pub mod calibration;
pub mod class_odds;
pub mod expected_error;
pub mod query;
pub mod sparsify;
pub mod update;
