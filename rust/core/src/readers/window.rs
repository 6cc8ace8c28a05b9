//! The next bytes of a line, looked at without asking at each of them whether it is there, 16 at a time in wide
//! registers.

use wide::i8x16;

/// Bytes of a window.
pub const WINDOW: usize = 64;
/// Eight bytes from one of so many places on stay in the window.
const PLACES: usize = 32;

/// The bytes from a place of a line on.
#[derive(Clone, Copy)]
pub struct Window<'a>(&'a [u8; WINDOW]);

impl<'a> Window<'a> {
    /// The window that starts at a place; none if so many bytes are not there.
    #[inline(always)]
    pub fn of(bytes: &'a [u8], at: usize) -> Option<Self> {
        bytes.get(at..)?.first_chunk().map(Self)
    }

    /// The byte at a place of the window.
    #[inline(always)]
    pub fn byte(self, at: u32) -> u8 {
        self.0[at as usize % WINDOW]
    }

    /// Eight bytes from one of the first places on, the first of them in the lowest bits.
    #[inline(always)]
    pub fn eight(self, at: u32) -> u64 {
        let at = at as usize % PLACES;
        u64::from_le_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    /// The first 16 bytes, the first of them in the lowest bits.
    #[inline(always)]
    pub fn sixteen(self) -> u128 {
        u128::from_le_bytes(std::array::from_fn(|i| self.0[i]))
    }

    /// Marks what is no digit, from a place on, among the bytes of so many registers: bit `i` is that of byte `i`.
    #[inline(always)]
    pub fn others<const REGISTERS: usize>(self, from: u32) -> u64 {
        let others = self.marks::<REGISTERS>(|bytes| {
            // Only digits become the ten largest signed bytes.
            let shifted = bytes + i8x16::splat(0x7f - b'9' as i8);
            !shifted.simd_gt(i8x16::splat(0x7f - 10)).to_bitmask()
        });
        others >> from << from
    }

    /// Marks a byte in the same way.
    #[inline(always)]
    pub fn equal_to<const REGISTERS: usize>(self, byte: u8, from: u32) -> u64 {
        let byte = i8x16::splat(byte.cast_signed());
        self.marks::<REGISTERS>(|bytes| bytes.simd_eq(byte).to_bitmask()) >> from << from
    }

    #[inline(always)]
    fn marks<const REGISTERS: usize>(self, of_register: impl Fn(i8x16) -> u32) -> u64 {
        let (registers, _) = self.0.as_chunks::<16>();
        registers.iter().take(REGISTERS).rev().fold(0, |marks, &register| {
            let marked = of_register(i8x16::new(register.map(u8::cast_signed)));
            marks << 16 | u64::from(marked & 0xffff)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of the marks.
    fn places(marks: u64) -> Vec<u32> {
        (0..64).filter(|place| marks >> place & 1 == 1).collect()
    }

    #[test]
    fn every_byte_but_the_ten_digits_is_marked_as_another() {
        for byte in 0..=u8::MAX {
            let window = [byte; WINDOW];
            let others = Window(&window).others::<4>(0);
            assert_eq!(others, if byte.is_ascii_digit() { 0 } else { u64::MAX }, "{byte}");
        }
    }

    #[test]
    fn marks_stand_where_the_bytes_stand_as_far_as_the_registers_reach() {
        let mut window = [b'0'; WINDOW];
        for place in [0, 7, 15, 16, 30, 33, 63] {
            window[place] = b'"';
        }
        let window = Window(&window);
        assert_eq!(places(window.others::<4>(0)), [0, 7, 15, 16, 30, 33, 63]);
        assert_eq!(places(window.equal_to::<4>(b'"', 8)), [15, 16, 30, 33, 63]);
        assert_eq!(places(window.equal_to::<2>(b'"', 1)), [7, 15, 16, 30]);
        assert_eq!(places(window.others::<1>(1)), [7, 15]);
    }

    #[test]
    fn bytes_are_taken_from_their_places_and_nothing_from_behind_the_end() {
        let bytes: Vec<u8> = (0..=WINDOW as u8).collect();
        let window = Window::of(&bytes, 1).unwrap();
        assert_eq!(window.byte(3), 4);
        assert_eq!(window.eight(2).to_le_bytes(), [3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(window.sixteen().to_le_bytes()[15], 16);
        assert!(Window::of(&bytes, 2).is_none());
        assert!(Window::of(&bytes, 99).is_none());
    }
}
