//! What looks wrong in a file: columns that were surely meant otherwise.

use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::readers::quantity::{self, NoQuantity};
use crate::readers::time;

/// Events that are looked at; after them a file is known.
const WATCHED: u64 = 10_000;
/// Texts that a column must have before anything is said about them.
const FEWEST_TEXTS: u64 = 50;
/// Columns that are watched; texts of more columns are passed over.
const MOST_COLUMNS: usize = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// Texts of which most are new: each would be a feature of its own.
    EverNew,
    /// Texts that are times.
    Times,
    /// Texts that are numbers with a decimal comma.
    Commas,
    /// Texts that are numbers, most with a unit or a currency.
    Units,
    /// A role for a column that no event has.
    Unused,
    /// Times before that of the event before.
    OutOfOrder,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    pub column: String,
    /// How many values, of how many.
    pub count: u64,
    pub of: u64,
    /// One of them.
    pub example: String,
}

/// The texts of one column without a role.
#[derive(Default)]
struct TextColumn {
    texts: u64,
    /// Hashes of those that were there.
    met: HashSet<u64>,
    times: u64,
    commas: u64,
    units: u64,
    /// The last text of each of the three kinds, and of any.
    example: [String; 4],
}

#[derive(Default)]
pub struct Findings {
    hasher: FixedState,
    events: u64,
    columns: BTreeMap<String, TextColumn>,
}

impl Findings {
    pub fn begin_event(&mut self) {
        self.events += 1;
    }

    /// A text of a column without a role.
    #[inline]
    pub fn see(&mut self, column: &str, text: &str) {
        if self.events <= WATCHED {
            self.watch(column, text);
        }
    }

    fn watch(&mut self, column: &str, text: &str) {
        if !self.columns.contains_key(column) {
            if self.columns.len() >= MOST_COLUMNS {
                return;
            }
            self.columns.insert(column.to_owned(), TextColumn::default());
        }
        let Some(seen) = self.columns.get_mut(column) else { return };
        seen.texts += 1;
        seen.met.insert(self.hasher.hash_one(text));
        let kind = if !text.bytes().any(|byte| byte.is_ascii_digit()) || text.len() > 64 {
            3
        } else if time::parse(text).is_some() {
            seen.times += 1;
            0
        } else {
            match quantity::parse(text, None) {
                Err(NoQuantity::Comma) => {
                    seen.commas += 1;
                    1
                }
                Ok(_) => {
                    seen.units += 1;
                    2
                }
                Err(NoQuantity::Other) => 3,
            }
        };
        text.clone_into(&mut seen.example[kind]);
    }

    /// What was found, by column.
    pub fn list(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for (column, seen) in &self.columns {
            let kinds = [
                (FindingKind::Times, seen.times),
                (FindingKind::Commas, seen.commas),
                (FindingKind::Units, seen.units),
                (FindingKind::EverNew, seen.met.len() as u64),
            ];
            for (place, (kind, count)) in kinds.into_iter().enumerate() {
                // One time or one comma is no habit, and what is no number may be a category.
                let is_much = 2 * count >= seen.texts;
                let said = if kind == FindingKind::EverNew {
                    seen.texts >= FEWEST_TEXTS && is_much
                } else {
                    count > 0 && is_much
                };
                if said {
                    let example = seen.example[place].clone();
                    found.push(Finding {
                        kind,
                        column: column.clone(),
                        count,
                        of: seen.texts,
                        example,
                    });
                    break; // the first explains the others
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: impl Iterator<Item = String>) -> Vec<(FindingKind, u64, u64)> {
        let mut findings = Findings::default();
        for text in texts {
            findings.begin_event();
            findings.see("a", &text);
        }
        findings.list().iter().map(|found| (found.kind, found.count, found.of)).collect()
    }

    #[test]
    fn columns_that_were_meant_otherwise_are_found() {
        use FindingKind as K;
        assert_eq!(
            found((0..60).map(|n| format!("2026-01-{:02}", n % 28 + 1))),
            [(K::Times, 60, 60)]
        );
        assert_eq!(found((0..60).map(|n| format!("{n},5"))), [(K::Commas, 60, 60)]);
        assert_eq!(found((0..60).map(|n| format!("{n} °C"))), [(K::Units, 60, 60)]);
        assert_eq!(found((0..60).map(|n| format!("message no {n}"))), [(K::EverNew, 60, 60)]);
        assert_eq!(found((0..3).map(|n| format!("{n} °C"))), [(K::Units, 3, 3)]);
        for few in ["roof", "room 7", "x"] {
            assert_eq!(found((0..60).map(|n| format!("{few} {}", n % 9))), []);
        }
        assert_eq!(found((0..49).map(|n| format!("message no {n}"))), []);
    }

    #[test]
    fn after_many_events_nothing_more_is_counted() {
        let texts = (0..2 * WATCHED).map(|n| format!("message no {n}"));
        assert_eq!(found(texts), [(FindingKind::EverNew, WATCHED, WATCHED)]);
    }
}
