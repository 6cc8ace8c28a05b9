//! Eight bytes of text in one machine word, looked at all at once (SWAR: SIMD within a register).

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

/// Marks the bytes that are 0 by their highest bit. Only the first mark is certain: a byte of 1
/// behind a 0 may be marked as well.
#[inline]
pub fn zero_bytes(eight: u64) -> u64 {
    eight.wrapping_sub(repeated(1)) & !eight & repeated(0x80)
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
    fn the_first_zero_byte_is_found_wherever_it_stands() {
        for at in 0..8 {
            for others in [1, 7, 0x7f, 0x80, 0xff] {
                let mut bytes = [others; 8];
                bytes[at] = 0;
                let marks = zero_bytes(u64::from_le_bytes(bytes));
                assert_eq!(marks.trailing_zeros() as usize / 8, at, "{bytes:?}");
            }
        }
        for byte in 1..=u8::MAX {
            assert_eq!(zero_bytes(repeated(byte)), 0, "{byte}");
        }
    }
}
