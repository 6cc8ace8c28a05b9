//! Eight bytes of text in one machine word, looked at all at once (SWAR: SIMD within a register).

use bytemuck::cast;
use wide::{i16x8, u8x16, u16x8};

/// The eight bytes from `at` on, the first of them in the lowest bits; zeros stand for those behind
/// the end.
#[inline(always)]
pub fn eight_bytes(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8).and_then(<[u8]>::first_chunk) {
        Some(eight) => u64::from_le_bytes(*eight),
        None => last_bytes(bytes, at),
    }
}

#[cold]
#[inline(never)]
fn last_bytes(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// The same byte eight times.
pub const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// How many of the eight bytes are decimal digits before the first that is not.
#[inline]
pub fn count_digits(eight: u64) -> u32 {
    let digits = eight ^ repeated(b'0');
    // The highest bit of a byte is set if it is not a digit; a carry changes only bytes behind such
    // a one.
    let others = (digits.wrapping_add(repeated(0x7f - 9)) | digits) & repeated(0x80);
    others.trailing_zeros() / 8
}

/// The number that the first `count` of the eight bytes write, from 1 to 8 digits.
#[inline]
pub fn read_digits(eight: u64, count: u32) -> u64 {
    let digits = (eight ^ repeated(b'0')).wrapping_shl(64 - 8 * count); // zeros in front
    let twos = digits.wrapping_mul(1 + (10 << 8)) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = twos.wrapping_mul(1 + (100 << 16)) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(1 + (10_000 << 32)) >> 32
}

/// The numbers that the first digits of two words write, from 1 to 8 digits each: as [`read_digits`], both at
/// once.
#[inline]
pub fn read_two(words: [u64; 2], counts: [u32; 2]) -> [u64; 2] {
    let aligned = [0, 1].map(|i| words[i].wrapping_shl(64 - 8 * counts[i])); // zeros in front
    let digits: u16x8 = cast(cast::<_, u8x16>(aligned).saturating_sub(u8x16::splat(b'0')));
    let twos = (digits & u16x8::splat(0xff)) * u16x8::splat(10) + (digits >> 8);
    let fours = cast::<_, i16x8>(twos).dot(i16x8::new([100, 1, 100, 1, 100, 1, 100, 1]));
    cast::<_, [u64; 2]>(fours).map(|fours| fours.wrapping_mul(1 + (10_000 << 32)) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_in_front_are_counted_and_read() {
        for (text, number, count) in [
            ("12345678", 12_345_678, 8),
            ("00000001", 1, 8),
            ("1234567:", 1_234_567, 7),
            ("9/999999", 9, 1),
            ("9:999999", 9, 1),
            ("42\u{80}999", 42, 2),
            ("7\u{ff}\u{ff}", 7, 1),
            ("0", 0, 1),
        ] {
            let eight = eight_bytes(text.as_bytes(), 0);
            assert_eq!((read_digits(eight, count), count_digits(eight)), (number, count), "{text}");
        }
        for text in ["", "x1", ":12", "/12", "\u{b0}1"] {
            assert_eq!(count_digits(eight_bytes(text.as_bytes(), 0)), 0, "{text}");
        }
    }

    #[test]
    fn zeros_stand_for_bytes_behind_the_end() {
        assert_eq!(eight_bytes(b"ab", 0), 0x6261);
        assert_eq!(eight_bytes(b"abcdefghi", 1), u64::from_le_bytes(*b"bcdefghi"));
        assert_eq!(eight_bytes(b"ab", 3), 0);
    }

    #[test]
    fn two_numbers_are_read_at_once() {
        let text = "1234567890123456";
        let words = [0, 8].map(|at| eight_bytes(text.as_bytes(), at));
        for first in 1..=8 {
            for second in 1..=8 {
                let expected = [&text[..first], &text[8..8 + second]].map(|x| x.parse().unwrap());
                let counts = [first as u32, second as u32];
                assert_eq!(read_two(words, counts), expected, "{counts:?}");
            }
        }
        let bounded = [b"99999999", b"99x99999"].map(|eight| u64::from_le_bytes(*eight));
        assert_eq!(read_two(bounded, [8, 2]), [99_999_999, 99]);
    }
}
