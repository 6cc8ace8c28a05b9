//! Plain data structures and arithmetic, without any algorithm of learning.

pub mod byte_cursor;
pub mod compensated;
pub mod fenwick;
pub mod heap;
pub mod index_remap;
pub mod math;
pub mod rng;
pub mod weights;
