//! A few bytes of a text, by which texts that come again and again are told apart without a hash of
//! all their bytes.

use crate::readers::swar::eight_bytes;

/// Length, first and last eight bytes of a text. Texts of up to 16 bytes are equal if their
/// fingerprints are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    first: u64,
    last: u64,
    length: u32,
}

impl Fingerprint {
    /// Differs from the fingerprint of every text: none is so long.
    pub const NONE: Self = Self { first: 0, last: 0, length: u32::MAX };

    /// The fingerprint of `bytes[start..end]`; bytes behind the end of `bytes` count as zeros.
    #[inline]
    pub fn of(bytes: &[u8], start: u32, end: u32) -> Self {
        let length = end - start;
        let taken = length.min(8);
        let behind = 64 - 8 * taken; // bits that lie behind a text of fewer than eight bytes
        Self {
            first: eight_bytes(bytes, start as usize).wrapping_shl(behind),
            last: eight_bytes(bytes, (end - taken) as usize).wrapping_shl(behind),
            length,
        }
    }

    /// Whether it holds all bytes of its text.
    pub fn is_all(self) -> bool {
        self.length <= 16
    }

    /// A hash whose higher bits are the better ones.
    pub fn hash(self) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (self.first.wrapping_mul(ODD).rotate_left(32) ^ self.last).wrapping_mul(ODD);
        mixed.wrapping_add(u64::from(self.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Fingerprint {
        Fingerprint::of(text.as_bytes(), 0, text.len() as u32)
    }

    #[test]
    fn it_does_not_depend_on_what_stands_around_the_text() {
        for length in 1..30 {
            let text = &"abcdefghijklmnopqrstuvwxyz123456"[..length];
            let inside = format!("before{text}behind, and more");
            let found = Fingerprint::of(inside.as_bytes(), 6, 6 + length as u32);
            assert!(found == of(text), "{text}");
        }
    }

    #[test]
    fn one_other_byte_of_sixteen_is_seen() {
        for length in 1..=16 {
            let text = "abcdefghijklmnop"[..length].to_owned();
            assert!(of(&text).is_all());
            for at in 0..length {
                let mut other = text.clone();
                other.replace_range(at..=at, "X");
                assert!(of(&other) != of(&text), "{other}");
            }
        }
        assert!(!of("abcdefghijklmnopq").is_all());
        assert!(of("a") != Fingerprint::NONE);
    }
}
