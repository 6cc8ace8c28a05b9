//! What turns the bytes of an earlier state into those of a later one, so that little is sent when little has changed.
//!
//! The bytes are `HWDELTA1`, length and CRC-32 of the state before and of the one after (8 and 4 bytes each), a frame
//! of zstd whose prefix is the state before, and a CRC-32 of all of it. Where there is none before, the frame holds
//! the whole.

use std::io::{Read, Write};

use crate::error::Error;

const MAGIC: &[u8; 8] = b"HWDELTA1";
const START: usize = 32;
const END: usize = 4;
/// The least that zstd can do costs least time, and what is new in a state hardly shrinks by more.
const LEVEL: i32 = 1;
/// The farthest that zstd can look back, as a power of two: 2 GB.
const FARTHEST: u32 = 31;

/// What makes `after` of `before`.
pub fn write(before: &[u8], after: &[u8]) -> Result<Vec<u8>, Error> {
    let failed = |error| Error::State(format!("delta: cannot be written: {error}."));
    let mut bytes = MAGIC.to_vec();
    for state in [before, after] {
        bytes.extend_from_slice(&(state.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(state).to_le_bytes());
    }
    let far = u64::BITS - ((before.len() + after.len()) as u64).leading_zeros();
    let frame = || {
        let mut encoder = zstd::stream::write::Encoder::with_ref_prefix(bytes, LEVEL, before)?;
        encoder.window_log(far.clamp(10, FARTHEST))?;
        encoder.long_distance_matching(true)?;
        encoder.write_all(after)?;
        encoder.finish()
    };
    let mut bytes = frame().map_err(failed)?;
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    Ok(bytes)
}

/// What a delta makes of `before`.
pub fn apply(before: &[u8], delta: &[u8]) -> Result<Vec<u8>, Error> {
    let damaged = |what: &str| Error::State(format!("delta: {what}."));
    if !delta.starts_with(MAGIC) {
        return Err(damaged("expected the bytes that delta() returned, got others"));
    }
    let body = delta.len().checked_sub(END).filter(|&body| body >= START);
    let (all, checksum) = delta
        .split_at_checked(body.unwrap_or(usize::MAX))
        .ok_or_else(|| damaged("it ends too early; it was cut off"))?;
    if checksum != crc32fast::hash(all).to_le_bytes() {
        return Err(damaged("its checksum is wrong; it was altered or cut off"));
    }
    let (told, frame) = all[MAGIC.len()..].split_at(START - MAGIC.len());
    let (told_before, told_after) = told.split_at(told.len() / 2);
    let before = if told_before == told_of(&[]) { &[][..] } else { before };
    if told_before != told_of(before) {
        return Err(damaged(
            "it was made for another state than the one given; ask for the whole, delta(b\"\")",
        ));
    }
    let length = told_after.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let unpacked = || {
        let mut decoder = zstd::stream::read::Decoder::with_ref_prefix(frame, before)?;
        decoder.window_log_max(FARTHEST)?;
        let mut after = Vec::new();
        decoder.take(length.saturating_add(1)).read_to_end(&mut after)?;
        Ok(after)
    };
    let after = unpacked()
        .map_err(|error: std::io::Error| damaged(&format!("it cannot be unpacked: {error}")))?;
    if told_after == told_of(&after) {
        Ok(after)
    } else {
        Err(damaged("what it makes is not what it was made of"))
    }
}

/// Length and checksum of a state.
fn told_of(state: &[u8]) -> [u8; (START - MAGIC.len()) / 2] {
    let mut told = [0; (START - MAGIC.len()) / 2];
    told[..8].copy_from_slice(&(state.len() as u64).to_le_bytes());
    told[8..].copy_from_slice(&crc32fast::hash(state).to_le_bytes());
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(seed: u64, length: usize) -> Vec<u8> {
        let mut x = seed;
        let mut next = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 56) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn a_delta_is_as_long_as_what_has_changed_wherever_it_stands() {
        let before = state(1, 300_000);
        let mut after = before.clone();
        after[1_000] ^= 1;
        after.splice(150_000..150_000, state(2, 500)); // all that follows stands elsewhere
        let delta = write(&before, &after).unwrap();
        assert!(delta.len() < 2_000, "{}", delta.len());
        assert_eq!(apply(&before, &delta).unwrap(), after);
    }

    #[test]
    fn without_a_state_before_it_is_the_whole() {
        let after = state(1, 10_000);
        let whole = write(&[], &after).unwrap();
        assert_eq!(apply(&[], &whole).unwrap(), after);
        assert_eq!(apply(&state(2, 50), &whole).unwrap(), after);
        assert_eq!(apply(&after, &write(&after, &[]).unwrap()).unwrap(), b"");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let (before, after) = (state(1, 5_000), state(2, 5_000));
        let delta = write(&before, &after).unwrap();
        let mut altered = delta.clone();
        altered[100] ^= 1;
        for (before, delta, said) in [
            (&after, &delta[..], "made for another state"),
            (&before, &delta[..delta.len() - 1], "checksum is wrong"),
            (&before, &delta[..30], "ends too early"),
            (&before, &altered[..], "checksum is wrong"),
            (&before, &b"none"[..], "got others"),
        ] {
            let error = apply(before, delta).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
