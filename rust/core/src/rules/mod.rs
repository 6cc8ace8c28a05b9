//! The rules that models and learners are made of: one closed enum or estimate per file, its formula above it.

pub mod calibration;
pub mod expected_error;
pub mod query;
pub mod sparsify;
pub mod update;
