//! What was found about features, in order.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::event::Name;

/// How many findings are kept; all are counted.
const KEPT: usize = 10_000;

/// What happened to a feature. The order is that of the findings about one feature at one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FindingKind {
    Born,
    Back,
    Scale,
    Stuck,
    Silent,
    Gone,
    Replaced,
}

impl FindingKind {
    pub const ALL: [Self; 7] = [
        Self::Born,
        Self::Back,
        Self::Scale,
        Self::Stuck,
        Self::Silent,
        Self::Gone,
        Self::Replaced,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Born => "born",
            Self::Back => "back",
            Self::Scale => "changed scale",
            Self::Stuck => "stuck",
            Self::Silent => "silent",
            Self::Gone => "gone",
            Self::Replaced => "replaced",
        }
    }
}

/// A name that is kept beyond the feature table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a name must be a text or a 64-bit integer")]
pub enum KeptName {
    Number(i64),
    Text(String),
}

impl KeptName {
    pub fn borrow(&self) -> Name<'_> {
        match self {
            Self::Number(number) => Name::Number(*number),
            Self::Text(text) => Name::Text(text),
        }
    }
}

impl From<Name<'_>> for KeptName {
    fn from(name: Name<'_>) -> Self {
        match name {
            Name::Number(number) => Self::Number(number),
            Name::Text(text) => Self::Text(text.to_owned()),
        }
    }
}

/// Something that was found. What `before` and `now` are depends on the kind: `docs/concepts/register.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Findings are numbered from 1.
    pub number: u64,
    /// The event with which it was found, from 1, and its time.
    pub event: u64,
    pub time: f64,
    pub kind: FindingKind,
    pub name: KeptName,
    pub before: f64,
    pub now: f64,
    /// The feature that replaces it.
    pub other: Option<KeptName>,
}

/// The latest findings, and how many there were of each kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindingLog {
    latest: VecDeque<Finding>,
    counts: [u64; 7],
}

impl FindingLog {
    /// Keep a finding; its number is the next.
    pub fn push(&mut self, mut finding: Finding) {
        self.counts[finding.kind as usize] += 1;
        finding.number = self.made();
        if self.latest.len() == KEPT {
            self.latest.pop_front();
        }
        self.latest.push_back(finding);
    }

    /// How many findings there were of a kind.
    pub fn count(&self, kind: FindingKind) -> u64 {
        self.counts[kind as usize]
    }

    /// How many findings there were.
    pub fn made(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The findings after this number that are kept, the oldest first.
    pub fn since(&self, number: u64) -> impl Iterator<Item = &Finding> {
        let start = self.latest.partition_point(|finding| finding.number <= number);
        self.latest.range(start..)
    }

    /// What is wrong with a saved log.
    pub fn check(&self, events: u64) -> Result<(), &'static str> {
        let most = u64::MAX / 16;
        if self.counts.iter().any(|&count| count > most) || self.latest.len() > KEPT {
            return Err("its findings are too many");
        }
        let first = (self.made() + 1).checked_sub(self.latest.len() as u64);
        let Some(first) = first else { return Err("its findings are not as many as they should") };
        let numbered = |(finding, number): (&Finding, u64)| {
            finding.number == number && finding.event <= events && finding.time.is_finite()
        };
        if !self.latest.iter().zip(first..).all(numbered) {
            return Err("its findings are not in order");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(event: u64) -> Finding {
        let name = KeptName::Number(1);
        let kind = FindingKind::Back;
        Finding { number: 0, event, time: 0.0, kind, name, before: 0.0, now: 0.0, other: None }
    }

    #[test]
    fn the_latest_are_kept_and_all_are_counted() {
        let mut log = FindingLog::default();
        (1..=KEPT as u64 + 3).for_each(|event| log.push(finding(event)));
        assert_eq!((log.made(), log.count(FindingKind::Back)), (10_003, 10_003));
        let numbers: Vec<u64> = log.since(10_000).map(|finding| finding.number).collect();
        assert_eq!(numbers, [10_001, 10_002, 10_003]);
        assert_eq!(log.since(0).next().unwrap().event, 4);
        assert!(log.check(10_003).is_ok() && log.check(10).is_err());
    }

    #[test]
    fn kinds_are_counted_in_their_order() {
        for (index, kind) in FindingKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
    }
}
