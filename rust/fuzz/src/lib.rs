//! Properties that must hold for any input bytes.
//!
//! A target is a function that takes bytes and panics if a property is violated. `make fuzz` runs
//! libFuzzer to find such bytes (`bin/fuzz.rs`); the tests replay those that were found.
#![forbid(unsafe_code)]

mod bytes;
mod disk;
pub mod learners;
mod lessons;
mod packed;
mod readers;
mod records;
mod registers;
mod states;

use headwater_core::Error;

/// A target and its name.
pub struct FuzzTarget {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Inputs to begin with, beside the files in `tests/fuzz`.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

pub const TARGETS: [FuzzTarget; 10] = [
    FuzzTarget { name: "svmlight", run: readers::svmlight, seeds: Vec::new },
    FuzzTarget { name: "vw", run: readers::vw, seeds: Vec::new },
    FuzzTarget { name: "json", run: readers::json, seeds: Vec::new },
    FuzzTarget { name: "csv", run: readers::csv, seeds: Vec::new },
    FuzzTarget { name: "packed", run: packed::run, seeds: packed::seeds },
    FuzzTarget { name: "disk", run: disk::run, seeds: disk::seeds },
    FuzzTarget { name: "state", run: states::run, seeds: states::seeds },
    FuzzTarget { name: "records", run: records::run, seeds: records::seeds },
    FuzzTarget { name: "register", run: registers::run, seeds: registers::seeds },
    FuzzTarget { name: "lessons", run: lessons::run, seeds: lessons::seeds },
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static FuzzTarget> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Every error message must be a sentence on one line.
fn check_sentence(error: &Error) {
    let text = error.to_string();
    let one_line = !text.chars().any(char::is_control);
    assert!(text.ends_with('.') && text.contains(": ") && one_line, "no sentence: {text:?}");
}
