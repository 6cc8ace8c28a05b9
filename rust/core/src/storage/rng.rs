//! The two generators of a learner: xoshiro256++ (Blackman and Vigna), seeded by `SplitMix64`.
//!
//! Implemented here because its four words are part of the saved state and of the plain reference.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    pub words: [u64; 4],
}

impl Generator {
    pub fn from_seed(seed: u64) -> Self {
        let mut state = seed;
        let words = std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Self { words }
    }

    /// A generator 2^128 steps ahead: no stream is long enough for the two to overlap.
    pub fn jumped(&self) -> Self {
        const JUMP: [u64; 4] = [
            0x180e_c6d3_3cfd_0aba,
            0xd5a6_1266_f0c9_392c,
            0xa958_2618_e03f_c9aa,
            0x39ab_dc45_29b1_661c,
        ];
        let mut walker = self.clone();
        let mut words = [0; 4];
        for polynomial in JUMP {
            for bit in 0..64 {
                if polynomial >> bit & 1 == 1 {
                    for (word, walked) in words.iter_mut().zip(walker.words) {
                        *word ^= walked;
                    }
                }
                walker.next();
            }
        }
        Self { words }
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.words;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1): the top 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_published_code() {
        // First outputs for the words 1, 2, 3, 4, as the authors' C code and its ports print them.
        let mut generator = Generator { words: [1, 2, 3, 4] };
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(expected.map(|_| generator.next()), expected);
    }

    #[test]
    fn uniform_numbers_fill_the_unit_interval() {
        let mut generator = Generator::from_seed(7);
        let numbers: Vec<f64> = (0..10_000).map(|_| generator.uniform()).collect();
        assert!(numbers.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = numbers.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02);
    }

    #[test]
    fn a_jump_gives_other_numbers() {
        let first = Generator::from_seed(0);
        assert_ne!(first.jumped(), first);
        assert_ne!(first.jumped().uniform(), first.clone().uniform());
    }
}
