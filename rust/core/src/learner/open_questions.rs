//! The questions of a learner that wait for their answer: each is learned once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::FeatureValue;

/// Beyond so many the oldest question expires.
const MOST: usize = 1_000_000;

/// Open questions by the number of their event, with a fingerprint of the event.
#[derive(Clone, Debug, Default)]
pub struct OpenQuestions {
    /// The last one, which most often is answered before the next is asked.
    newest: Option<(u64, u64)>,
    /// The others.
    fingerprints: BTreeMap<u64, u64>,
}

/// What is saved: two arrays in the order of the numbers.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct OpenQuestionsState {
    numbers: Vec<u64>,
    fingerprints: Vec<u64>,
}

impl OpenQuestions {
    /// Add a question about the newest event.
    pub fn add(&mut self, number: u64, fingerprint: u64) {
        self.add_bounded(number, fingerprint, MOST);
    }

    fn add_bounded(&mut self, number: u64, fingerprint: u64, most: usize) {
        if let Some((number, fingerprint)) = self.newest.replace((number, fingerprint)) {
            self.fingerprints.insert(number, fingerprint);
            if self.fingerprints.len() >= most {
                self.fingerprints.pop_first();
            }
        }
    }

    fn get(&self, number: u64) -> Option<u64> {
        match self.newest {
            Some((newest, fingerprint)) if newest == number => Some(fingerprint),
            Some(_) | None => self.fingerprints.get(&number).copied(),
        }
    }

    /// Refuse an answer to a question that is not open, or that was about another event.
    pub fn check(&self, number: u64, fingerprint: u64) -> Result<(), Error> {
        match self.get(number) {
            Some(kept) if kept == fingerprint => Ok(()),
            Some(_) => Err(Error::Answer(
                "answer: this decision is not about the event that this learner asked about; another \
                 learner made it, or it was altered."
                    .to_owned(),
            )),
            None => Err(Error::Answer(
                "answer: this decision was answered before, or its question has expired; to learn the \
                 event again use learn_one(decision.features, y)."
                    .to_owned(),
            )),
        }
    }

    /// The question was answered.
    pub fn close(&mut self, number: u64) {
        if self.newest.is_some_and(|(newest, _)| newest == number) {
            self.newest = None;
        } else {
            self.fingerprints.remove(&number);
        }
    }

    /// Whether a question about one of these events is open.
    pub fn any_in(&self, numbers: std::ops::RangeInclusive<u64>) -> bool {
        self.newest.is_some_and(|(newest, _)| numbers.contains(&newest))
            || self.fingerprints.range(numbers).next().is_some()
    }

    pub fn state(&self) -> OpenQuestionsState {
        let others = self.fingerprints.iter().map(|(&number, &fingerprint)| (number, fingerprint));
        let (numbers, fingerprints) = others.chain(self.newest).unzip();
        OpenQuestionsState { numbers, fingerprints }
    }

    /// Put a saved state back, of a learner that has seen so many events.
    pub fn adopt(&mut self, state: &OpenQuestionsState, seen: u64) -> Result<(), &'static str> {
        let OpenQuestionsState { numbers, fingerprints } = state;
        if numbers.len() != fingerprints.len() || numbers.len() > MOST {
            return Err("its open questions are too many, or not as many as their events");
        }
        if numbers.windows(2).any(|pair| pair[0] >= pair[1])
            || numbers.first().is_some_and(|&first| first == 0)
            || numbers.last().is_some_and(|&last| last > seen)
        {
            return Err("an open question is about an event that there was not");
        }
        self.newest = None;
        for (&number, &fingerprint) in numbers.iter().zip(fingerprints) {
            self.add(number, fingerprint);
        }
        Ok(())
    }
}

impl OpenQuestionsState {
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.fingerprints.is_empty()
    }

    /// Numbers of events, and their fingerprints.
    pub fn pairs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.numbers.iter().copied().zip(self.fingerprints.iter().copied())
    }

    /// The number of the first event.
    pub fn first(&self) -> Option<u64> {
        self.numbers.first().copied()
    }
}

/// 64 bits that tell decisions apart: from the margin, in which all features have a part, and from a few
/// of the values as the model uses them.
pub fn fingerprint(margin: f64, features: &[FeatureValue]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    const FEW: usize = 4;
    let mix = |hash: u64, value: f64| (hash.rotate_left(23) ^ value.to_bits()).wrapping_mul(ODD);
    let (first, last) = (features.iter().take(FEW), features.iter().rev().take(FEW));
    let few = first.chain(last).map(|feature| feature.value);
    few.fold(mix(features.len() as u64, margin), mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(values: &[f64]) -> Vec<FeatureValue> {
        values.iter().map(|&value| FeatureValue { id: 0, value }).collect()
    }

    #[test]
    fn a_question_is_open_until_it_is_closed_and_for_its_own_event_alone() {
        let mut open = OpenQuestions::default();
        open.add(3, 7);
        assert!(open.check(3, 7).is_ok());
        assert!(matches!(open.check(3, 8), Err(Error::Answer(text)) if text.contains("another")));
        open.close(3);
        assert!(matches!(open.check(3, 7), Err(Error::Answer(text)) if text.contains("before")));
    }

    #[test]
    fn the_oldest_expires_when_there_are_too_many() {
        let mut open = OpenQuestions::default();
        for number in 1..=4 {
            open.add_bounded(number, 0, 3);
        }
        assert!(open.check(1, 0).is_err());
        assert!(open.check(2, 0).is_ok());
    }

    #[test]
    fn events_that_differ_in_value_order_or_length_have_other_fingerprints() {
        let prints = [&[1.0, 2.0][..], &[2.0, 1.0], &[1.0], &[1.0, 2.0, 0.0], &[], &[-0.0], &[0.0]]
            .map(|values| fingerprint(0.0, &features(values)));
        for (i, a) in prints.iter().enumerate() {
            assert!(prints[..i].iter().all(|b| a != b));
        }
        assert_ne!(prints[0], fingerprint(1.0, &features(&[1.0, 2.0])));
    }

    #[test]
    fn a_saved_state_comes_back_and_an_impossible_one_is_refused() {
        let mut open = OpenQuestions::default();
        open.add(2, 5);
        open.add(9, 6);
        let mut restored = OpenQuestions::default();
        restored.adopt(&open.state(), 9).unwrap();
        assert_eq!(restored.state().numbers, [2, 9]);
        assert_eq!(restored.state().fingerprints, [5, 6]);
        assert!(restored.adopt(&open.state(), 8).is_err());
        for numbers in [vec![2, 2], vec![0, 1], vec![3, 1], vec![1]] {
            let state = OpenQuestionsState { numbers, fingerprints: vec![0, 0] };
            assert!(restored.adopt(&state, 9).is_err());
        }
    }
}
