//! Stored events and decisions: the first byte of an input selects which, the rest is the record, with a right
//! checksum or as it is.
//!
//! What is accepted is written again byte for byte; what is refused is refused by a sentence.

use headwater_core::event_bytes::{EventWriter, RawValue, read};
use headwater_core::{Label, StoredDecision};

use crate::check_sentence;

fn decision() -> StoredDecision {
    StoredDecision {
        identity: 0x0123_4567_89ab_cdef,
        number: 300,
        prediction: Some(Label::Text("grün".to_owned())),
        margin: -0.5,
        query_probability: 0.25,
        asked: true,
        answered: false,
        summary: [0.5, -0.25],
        event: 77,
        features: 2,
        values: Some(vec![1.5, -0.0]),
    }
}

fn without_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 4);
    bytes
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut writer = EventWriter::new(3);
    for (name, value) in
        [(0, RawValue::Number(-0.0)), (300, RawValue::Text("roof")), (1, RawValue::Number(1e300))]
    {
        writer.push(name, value).expect("few features");
    }
    let event = without_checksum(writer.finish());
    let mut decisions = vec![decision()];
    for prediction in [None, Some(Label::Bool(true)), Some(Label::Int(-7)), Some(Label::Real(2.5))]
    {
        decisions.push(StoredDecision { prediction, values: None, ..decision() });
    }
    let decisions =
        decisions.into_iter().map(|one| [&[1], &*without_checksum(one.write())].concat());
    [[&[0], event.as_slice()].concat()].into_iter().chain(decisions).collect()
}

pub fn run(data: &[u8]) {
    let Some((&kind, record)) = data.split_first() else { return };
    let mut record = record.to_vec();
    if kind & 2 == 0 {
        let checksum = crc32fast::hash(&record);
        record.extend(checksum.to_le_bytes());
    }
    if kind & 1 == 0 {
        match read(&record) {
            Err(error) => check_sentence(&error),
            Ok(features) => {
                let mut writer = EventWriter::new(features.len());
                for (name, value) in features {
                    writer.push(name, value).expect("as many features as were read");
                }
                assert_eq!(writer.finish(), record, "an event is written as it was read");
            }
        }
    } else {
        match StoredDecision::read(&record) {
            Err(error) => check_sentence(&error),
            Ok(decision) => {
                assert_eq!(decision.write(), record, "a decision is written as it was read");
            }
        }
    }
}
