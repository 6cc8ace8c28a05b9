//! A few bytes of a text, by which texts that come again and again are told apart.

use crate::readers::swar::eight_bytes;

/// A few bytes of a text. Two texts of up to 16 bytes are the same if these are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    first: u64,
    last: u64,
    length: u32,
}

impl Fingerprint {
    /// That of no text: none is so long.
    pub const NONE: Self = Self { first: 0, last: 0, length: u32::MAX };

    /// Of the text that lies between two places.
    #[inline]
    pub fn of(bytes: &[u8], start: u32, end: u32) -> Self {
        let length = end - start;
        let some = length.min(8);
        let others = 64 - 8 * some; // bits of what stands behind a short text
        Self {
            first: eight_bytes(bytes, start as usize).wrapping_shl(others),
            last: eight_bytes(bytes, (end - some) as usize).wrapping_shl(others),
            length,
        }
    }

    pub fn is_all(self) -> bool {
        self.length <= 16
    }

    /// 64 bits of which the higher are as good as drawn.
    pub fn hash(self) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (self.first.wrapping_mul(ODD).rotate_left(32) ^ self.last).wrapping_mul(ODD);
        mixed.wrapping_add(u64::from(self.length))
    }
}
