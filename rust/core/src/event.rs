//! What an event is made of: named features with values.

use serde::{Deserialize, Serialize};

/// The number of a feature's name: names are numbered in the order in which they are learned.
pub type FeatureId = u32;

/// Stands in place of a feature id: the name has never been learned.
pub const UNKNOWN: FeatureId = FeatureId::MAX;

/// A feature's name. The derived order is the order in which new names get their ids:
/// integers by value, then text by code point (which is the order of UTF-8 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged, expecting = "a name must be a text or a 64-bit integer")]
pub enum Name<'a> {
    Number(i64),
    #[serde(borrow)]
    Text(&'a str),
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(&quoted(text)),
        }
    }
}

/// A text between quotes, with control characters escaped.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for c in text.chars() {
        if c.is_control() || c == '\'' || c == '\\' {
            quoted.extend(c.escape_default());
        } else {
            quoted.push(c);
        }
    }
    quoted + "'"
}

/// The names of one event's features, by position.
pub trait Names {
    fn name(&self, position: usize) -> Name<'_>;
}

impl Names for [Name<'_>] {
    fn name(&self, position: usize) -> Name<'_> {
        self[position]
    }
}

/// One feature of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feature {
    pub id: FeatureId,
    pub value: f64,
}
