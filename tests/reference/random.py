"""xoshiro256++, seeded by SplitMix64. A generator is its state: four 64-bit words.

Blackman and Vigna, *Scrambled Linear Pseudorandom Number Generators*, ACM TOMS 47 (2021).
"""

from functools import lru_cache

Generator = tuple[int, int, int, int]

MASK = 2**64 - 1
JUMP = (0x180EC6D33CFD0ABA, 0xD5A61266F0C9392C, 0xA9582618E03FC9AA, 0x39ABDC4529B1661C)


def split_mix(counter: int) -> tuple[int, int]:
    """The next word of SplitMix64, and its counter after it."""
    counter = (counter + 0x9E3779B97F4A7C15) & MASK
    word = counter
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
    return word ^ word >> 31, counter


def seeded(seed: int) -> Generator:
    """The generator whose state is the first four words of SplitMix64."""
    first, counter = split_mix(seed)
    second, counter = split_mix(counter)
    third, counter = split_mix(counter)
    fourth, counter = split_mix(counter)
    return first, second, third, fourth


@lru_cache
def generators(seed: int) -> tuple[Generator, Generator]:
    """A learner's two generators: the coins of its queries, and the draws for everything else."""
    coins = seeded(seed)
    return coins, jump(coins)


def rotate(word: int, places: int) -> int:
    return (word << places | word >> 64 - places) & MASK


def next_word(generator: Generator) -> tuple[int, Generator]:
    """64 random bits, and the generator after them."""
    a, b, c, d = generator
    word = (rotate((a + d) & MASK, 23) + a) & MASK
    shifted = b << 17 & MASK
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = rotate(d, 45)
    return word, (a, b, c, d)


def uniform(generator: Generator) -> tuple[float, Generator]:
    """A number in [0, 1), the top 53 bits times 2^-53, and the generator after it."""
    word, generator = next_word(generator)
    return (word >> 11) * 2.0**-53, generator


def jump(generator: Generator) -> Generator:
    """The generator 2^128 words later."""
    a = b = c = d = 0
    for mask in JUMP:
        for bit in range(64):
            if mask >> bit & 1:
                a, b, c, d = a ^ generator[0], b ^ generator[1], c ^ generator[2], d ^ generator[3]
            _, generator = next_word(generator)
    return a, b, c, d
