//! Plain data structures and arithmetic, without any algorithm of learning.

pub mod compensated;
pub mod fenwick;
pub mod heap;
pub mod index_remap;
pub mod math;
pub mod rng;
pub mod vocabulary;
pub mod weights;
