//! An event as bytes, for a journal that keeps events as they came: in their order, numbers with all 64 bits,
//! texts as texts. `docs/operate/live.md` describes them.
//!
//! Names stand in a table of the journal and are written as their numbers there. Version 1:
//!
//! ```text
//! version: 1 byte, 1
//! one entry per feature: varint 2·name + (1 if the value is a text, else 0), then
//!     8 bytes of a finite float, little-endian; or varint length and UTF-8
//! CRC-32 of all before: 4 bytes, little-endian
//! ```

use crate::error::Error;
use crate::storage::byte_cursor::{ByteCursor, push_varint, seal};

const VERSION: u8 = 1;
/// An event has at most so many features.
pub const MOST_FEATURES: usize = 100_000;

/// A value as the event gave it; absent ones are not written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RawValue<'a> {
    Number(f64),
    Text(&'a str),
}

/// Writes an event.
#[derive(Debug)]
pub struct EventWriter {
    bytes: Vec<u8>,
    features: usize,
}

impl EventWriter {
    /// For an event of about so many features.
    pub fn new(features: usize) -> Self {
        let mut bytes = Vec::with_capacity(5 + 10 * features);
        bytes.push(VERSION);
        Self { bytes, features: 0 }
    }

    /// Add a feature, its name by number; its value must be finite.
    pub fn push(&mut self, name: u32, value: RawValue<'_>) -> Result<(), Error> {
        self.features += 1;
        if self.features > MOST_FEATURES {
            return Err(Error::Event(format!(
                "event: it has more than {MOST_FEATURES} features, which is the most that a journal keeps."
            )));
        }
        match value {
            RawValue::Number(number) => {
                push_varint(&mut self.bytes, 2 * u64::from(name));
                self.bytes.extend_from_slice(&number.to_le_bytes());
            }
            RawValue::Text(text) => {
                push_varint(&mut self.bytes, 2 * u64::from(name) + 1);
                push_varint(&mut self.bytes, text.len() as u64);
                self.bytes.extend_from_slice(text.as_bytes());
            }
        }
        Ok(())
    }

    pub fn finish(mut self) -> Vec<u8> {
        seal(&mut self.bytes);
        self.bytes
    }
}

/// The features of an event: the numbers of their names, and their values.
pub fn read(bytes: &[u8]) -> Result<Vec<(u32, RawValue<'_>)>, Error> {
    let damaged = |what: &str| Error::Event(format!("event: its stored bytes {what}."));
    let mut cursor =
        ByteCursor::sealed(bytes).ok_or_else(|| damaged("are damaged: their checksum is wrong"))?;
    match cursor.byte() {
        Some(VERSION) => {}
        Some(version) => {
            return Err(damaged(&format!(
                "have version {version}, and this program reads version {VERSION}"
            )));
        }
        None => return Err(damaged("are too few")),
    }
    let mut features = Vec::with_capacity(bytes.len() / 9);
    while !cursor.is_empty() {
        let feature = read_feature(&mut cursor)
            .filter(|_| features.len() < MOST_FEATURES)
            .ok_or_else(|| damaged("are not as this program would have written them"))?;
        features.push(feature);
    }
    Ok(features)
}

fn read_feature<'a>(cursor: &mut ByteCursor<'a>) -> Option<(u32, RawValue<'a>)> {
    let key = cursor.varint()?;
    let name = u32::try_from(key >> 1).ok()?;
    let value = match key & 1 {
        0 => RawValue::Number(cursor.finite()?),
        _ => RawValue::Text(cursor.text()?),
    };
    Some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(features: &[(u32, RawValue<'_>)]) -> Vec<u8> {
        let mut writer = EventWriter::new(features.len());
        for &(name, value) in features {
            writer.push(name, value).unwrap();
        }
        writer.finish()
    }

    #[test]
    fn order_signs_and_texts_come_back() {
        let features = [
            (3, RawValue::Number(-0.0)),
            (0, RawValue::Text("grün")),
            (u32::MAX, RawValue::Number(f64::MIN_POSITIVE)),
            (1, RawValue::Text("")),
        ];
        let bytes = written(&features);
        let again = read(&bytes).unwrap();
        assert_eq!(again, features);
        let RawValue::Number(zero) = again[0].1 else { panic!() };
        assert!(zero.is_sign_negative());
        assert_eq!(bytes.len(), 1 + 9 + 7 + 13 + 2 + 4);
    }

    #[test]
    fn altered_bytes_and_other_versions_are_refused_with_a_sentence() {
        let good = written(&[(1, RawValue::Number(2.0)), (2, RawValue::Text("x"))]);
        for position in 0..good.len() {
            let mut bad = good.clone();
            bad[position] ^= 4;
            assert!(matches!(read(&bad), Err(Error::Event(text)) if text.contains("checksum")));
        }
        for (content, part) in [
            (&[][..], "too few"),
            (&[2], "version 2"),
            (&[1, 2, 0], "not as"),
            (&[1, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f], "not as"), // infinite
        ] {
            let mut bad = content.to_vec();
            seal(&mut bad);
            assert!(matches!(read(&bad), Err(Error::Event(text)) if text.contains(part)));
        }
    }

    #[test]
    fn an_event_of_too_many_features_is_refused() {
        let mut writer = EventWriter::new(0);
        for name in 0..MOST_FEATURES as u32 {
            writer.push(name, RawValue::Number(1.0)).unwrap();
        }
        assert!(matches!(writer.push(0, RawValue::Number(1.0)), Err(Error::Event(_))));
    }
}
