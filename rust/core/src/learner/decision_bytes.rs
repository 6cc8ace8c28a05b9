//! A decision as bytes: what it holds beside its event, which is kept elsewhere. `docs/operate/live.md` describes them.
//!
//! Version 1:
//!
//! ```text
//! version: 1 byte, 1
//! flags: 1 byte: 1 asked, 2 answered, 4 has a summary, 8 has values, 16·(form of the prediction)
//! identity of the learner: 8 bytes
//! number of the event: varint
//! margin, query probability: 8 bytes each
//! prediction: nothing, varint (zigzag), 8 bytes or a text, by its form
//! summary: twice 8 bytes, if it has one
//! fingerprint of the event: 4 bytes
//! number of features: varint
//! values and then presences as the model saw them: 8 bytes each, if they are not those of the event
//! CRC-32 of all before: 4 bytes
//! ```

use crate::error::Error;
use crate::event::Name;
use crate::label::Label;
use crate::storage::byte_cursor::{ByteCursor, push_varint, seal, unzigzag, zigzag};

const VERSION: u8 = 1;

const ASKED: u8 = 1;
const ANSWERED: u8 = 2;
const SUMMARY: u8 = 4;
const VALUES: u8 = 8;

/// A decision without the names and raw values of its event.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDecision {
    /// The learner that made it: see `Learner::identity`.
    pub identity: u64,
    /// The number of its event, from 1.
    pub number: u64,
    pub prediction: Option<Label>,
    pub margin: f64,
    pub query_probability: f64,
    pub asked: bool,
    pub answered: bool,
    /// Factor and energy of the event, as the scaler computed them.
    pub summary: [f64; 2],
    /// Tells another event apart: see [`event_fingerprint`].
    pub event: u32,
    /// The number of the event's features.
    pub features: usize,
    /// The values and then the presences as the model saw them, if they are not those of the event.
    pub values: Option<Vec<f64>>,
}

/// A checksum over names and raw values of an event, in their order.
pub fn event_fingerprint<'a>(features: impl Iterator<Item = (Name<'a>, f64)>) -> u32 {
    let mut bytes = Vec::with_capacity(1024);
    for (name, value) in features {
        match name {
            Name::Number(number) => {
                bytes.push(0);
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            Name::Text(text) => {
                bytes.push(1);
                bytes.extend_from_slice(text.as_bytes());
                bytes.push(0xff); // in no text
            }
        }
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    crc32fast::hash(&bytes)
}

impl StoredDecision {
    pub fn write(&self) -> Vec<u8> {
        let has_summary = self.summary.map(f64::to_bits) != [0, 0];
        let form = match &self.prediction {
            None => 0,
            Some(Label::Bool(false)) => 1,
            Some(Label::Bool(true)) => 2,
            Some(Label::Int(_)) => 3,
            Some(Label::Real(_)) => 4,
            Some(Label::Text(_)) => 5,
        };
        let flags = [
            (self.asked, ASKED),
            (self.answered, ANSWERED),
            (has_summary, SUMMARY),
            (self.values.is_some(), VALUES),
        ];
        let flags =
            flags.iter().fold(form << 4, |all, &(is, flag)| all | if is { flag } else { 0 });
        // By what is there: a record that was read may claim any number of features.
        let mut bytes = Vec::with_capacity(80 + 8 * self.values.as_ref().map_or(0, Vec::len));
        bytes.extend_from_slice(&[VERSION, flags]);
        bytes.extend_from_slice(&self.identity.to_le_bytes());
        push_varint(&mut bytes, self.number);
        bytes.extend_from_slice(&self.margin.to_le_bytes());
        bytes.extend_from_slice(&self.query_probability.to_le_bytes());
        match &self.prediction {
            None | Some(Label::Bool(_)) => {}
            Some(Label::Int(number)) => push_varint(&mut bytes, zigzag(*number)),
            Some(Label::Real(number)) => bytes.extend_from_slice(&number.to_le_bytes()),
            Some(Label::Text(text)) => {
                push_varint(&mut bytes, text.len() as u64);
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        if has_summary {
            self.summary.iter().for_each(|part| bytes.extend_from_slice(&part.to_le_bytes()));
        }
        bytes.extend_from_slice(&self.event.to_le_bytes());
        push_varint(&mut bytes, self.features as u64);
        for value in self.values.iter().flatten() {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        seal(&mut bytes);
        bytes
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |what: &str| Error::Answer(format!("decision: its stored bytes {what}."));
        let mut cursor = ByteCursor::sealed(bytes)
            .ok_or_else(|| damaged("are damaged: their checksum is wrong"))?;
        match cursor.byte() {
            Some(VERSION) => {}
            Some(version) => {
                return Err(damaged(&format!(
                    "have version {version}, and this program reads version {VERSION}"
                )));
            }
            None => return Err(damaged("are too few")),
        }
        let read =
            Self::read_fields(&mut cursor).filter(|read| cursor.is_empty() && read.is_sound());
        read.ok_or_else(|| damaged("are not as this program would have written them"))
    }

    fn read_fields(cursor: &mut ByteCursor<'_>) -> Option<Self> {
        let flags = cursor.byte()?;
        let has = |flag: u8| flags & flag != 0;
        let identity = cursor.array().map(u64::from_le_bytes)?;
        let number = cursor.varint()?;
        let (margin, query_probability) = (cursor.finite()?, cursor.finite()?);
        let prediction = match flags >> 4 {
            0 => None,
            1 => Some(Label::Bool(false)),
            2 => Some(Label::Bool(true)),
            3 => Some(Label::Int(unzigzag(cursor.varint()?))),
            4 => Some(Label::Real(cursor.finite()?)),
            5 => Some(Label::Text(cursor.text()?.to_owned())),
            _ => return None,
        };
        let mut summary = [0.0; 2];
        if has(SUMMARY) {
            summary = [cursor.finite()?, cursor.finite()?];
            if summary.map(f64::to_bits) == [0, 0] {
                return None; // would have been left out
            }
        }
        let event = cursor.array().map(u32::from_le_bytes)?;
        let features = usize::try_from(cursor.varint()?).ok()?;
        let mut values = None;
        if has(VALUES) {
            let mut seen = Vec::new(); // grows with what is there, whatever `features` claims
            for _ in 0..features.checked_mul(2)? {
                seen.push(cursor.finite()?);
            }
            values = Some(seen);
        }
        Some(Self {
            identity,
            number,
            prediction,
            margin,
            query_probability,
            asked: has(ASKED),
            answered: has(ANSWERED),
            summary,
            event,
            features,
            values,
        })
    }

    fn is_sound(&self) -> bool {
        (0.0..=1.0).contains(&self.query_probability)
            && (!self.asked || self.query_probability > 0.0)
            && self.number > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision() -> StoredDecision {
        StoredDecision {
            identity: u64::MAX,
            number: 3_000_000_000,
            prediction: Some(Label::Bool(true)),
            margin: -0.0,
            query_probability: 0.25,
            asked: true,
            answered: false,
            summary: [0.5, -0.0],
            event: 77,
            features: 2,
            values: Some(vec![1.5, -0.0, 0.25, 0.0]),
        }
    }

    #[test]
    fn every_form_comes_back_and_takes_at_most_64_bytes_and_20_per_feature() {
        let text = Label::Text("grün".to_owned());
        for prediction in [
            None,
            Some(Label::Bool(false)),
            Some(Label::Int(-1)),
            Some(Label::Real(0.5)),
            Some(text),
        ] {
            for values in [None, decision().values] {
                let one = StoredDecision { prediction: prediction.clone(), values, ..decision() };
                let bytes = one.write();
                let again = StoredDecision::read(&bytes).unwrap();
                assert_eq!(format!("{again:?}"), format!("{one:?}"));
                assert!(bytes.len() <= 64 + 20 * one.features, "{}", bytes.len());
            }
        }
        let plain = StoredDecision { summary: [0.0; 2], values: None, ..decision() };
        assert_eq!(plain.write().len(), 2 + 8 + 5 + 16 + 4 + 1 + 4);
    }

    #[test]
    fn altered_bytes_are_refused_and_so_is_what_no_learner_decides() {
        let good = decision().write();
        for position in 0..good.len() {
            let mut bad = good.clone();
            bad[position] ^= 2;
            assert!(matches!(StoredDecision::read(&bad), Err(Error::Answer(_))), "{position}");
        }
        for bad in [
            StoredDecision { query_probability: 1.5, ..decision() },
            StoredDecision { query_probability: 0.0, ..decision() },
            StoredDecision { margin: f64::NAN, ..decision() },
            StoredDecision { values: Some(vec![f64::INFINITY; 4]), ..decision() },
            StoredDecision { values: Some(vec![1.0; 5]), ..decision() },
            StoredDecision { number: 0, ..decision() },
        ] {
            let sentence = StoredDecision::read(&bad.write()).unwrap_err().to_string();
            assert!(sentence.ends_with("would have written them."), "{sentence}");
        }
    }

    #[test]
    fn events_that_differ_in_name_kind_value_or_order_have_other_fingerprints() {
        let of = |features: &[(Name<'_>, f64)]| event_fingerprint(features.iter().copied());
        let (a, b) = ((Name::Text("a"), 1.0), (Name::Text("b"), 1.0));
        let all = [
            of(&[a, b]),
            of(&[b, a]),
            of(&[a]),
            of(&[(Name::Text("a"), -1.0), b]),
            of(&[(Name::Number(97), 1.0), b]),
            of(&[]),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one));
        }
    }
}
