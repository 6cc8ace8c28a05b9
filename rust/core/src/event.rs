//! What an event is made of: named features with values.

use std::borrow::Cow;
use std::fmt::Write;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The number of a feature's name: names are numbered in the order in which they are learned.
pub type FeatureId = u32;

/// Stands in place of a feature id: the name has never been learned.
pub const UNKNOWN: FeatureId = FeatureId::MAX;

/// A feature's name. The derived order is the order in which new names get their ids:
/// integers by value, then text by code point (which is the order of UTF-8 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub enum Name<'a> {
    Number(i64),
    Text(&'a str),
}

/// Reads what comes. The derived way would first try a number, and write an error for each text.
impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = Name<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a name that is a text or a 64-bit integer")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Name<'de>, E> {
        Ok(Name::Text(text))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Name<'de>, E> {
        Ok(Name::Number(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Name<'de>, E> {
        let fits = i64::try_from(number).map(Name::Number);
        fits.map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(&quoted(&shortened(text))),
        }
    }
}

/// A text between quotes, with control characters escaped.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' | '\n' | '\r' | '\t' => quoted.extend(c.escape_default()),
            c if c.is_control() => {
                let _ = write!(quoted, "\\x{:02x}", c as u32); // as Python writes it
            }
            c => quoted.push(c),
        }
    }
    quoted + "'"
}

/// A text that is too long for a sentence, without its middle.
pub fn shortened(text: &str) -> Cow<'_, str> {
    const START: usize = 48;
    const END: usize = 24;
    let start = text.char_indices().nth(START);
    let end = text.char_indices().rev().nth(END - 1);
    match (start, end) {
        (Some((start, _)), Some((end, _))) if start < end => {
            Cow::Owned(format!("{}...{}", &text[..start], &text[end..]))
        }
        _ => Cow::Borrowed(text),
    }
}

/// No name is longer, in bytes: one that is long and new in every event would fill the memory.
pub const LONGEST_NAME: usize = 1_024;

impl Name<'_> {
    /// Refuse a name that is too long.
    pub fn check_length(self) -> Result<(), String> {
        match self {
            Self::Text(text) if text.len() > LONGEST_NAME => Err(format!(
                "feature {self} has a name of {} bytes; at most {LONGEST_NAME} are allowed.",
                text.len()
            )),
            Self::Text(_) | Self::Number(_) => Ok(()),
        }
    }
}

/// A name that owns its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OwnedName {
    Number(i64),
    Text(String),
}

impl OwnedName {
    pub fn of(name: Name<'_>) -> Self {
        match name {
            Name::Number(number) => Self::Number(number),
            Name::Text(text) => Self::Text(text.to_owned()),
        }
    }

    pub fn borrow(&self) -> Name<'_> {
        match self {
            Self::Number(number) => Name::Number(*number),
            Self::Text(text) => Name::Text(text),
        }
    }
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
pub struct FeatureValue {
    pub id: FeatureId,
    pub value: f64,
}

/// ‖x‖², summed in the event's order.
pub fn sum_of_squares(features: &[FeatureValue]) -> f64 {
    let mut sum = 0.0;
    for feature in features {
        sum += feature.value * feature.value;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_loses_its_middle_and_no_character_is_cut() {
        assert_eq!(shortened("short"), "short");
        let long = "ä".repeat(1_000) + "end";
        let shown = shortened(&long);
        assert!(shown.chars().count() < 80 && shown.starts_with('ä') && shown.ends_with("end"));
        assert!(Name::Text(&long).to_string().chars().count() < 80);
    }

    #[test]
    fn a_name_has_at_most_1024_bytes() {
        assert!(Name::Text(&"x".repeat(LONGEST_NAME)).check_length().is_ok());
        let sentence = Name::Text(&"x".repeat(LONGEST_NAME + 1)).check_length().unwrap_err();
        assert!(sentence.contains("1025 bytes") && sentence.len() < 200, "{sentence}");
        assert!(Name::Number(i64::MIN).check_length().is_ok());
    }
}
