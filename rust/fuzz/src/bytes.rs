//! Reads choices, numbers and events from the bytes of an input; zeros after its end.

use headwater_core::Name;

pub struct Bytes<'a>(&'a [u8]);

const NUMBERS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    3.0,
    -20.0,
    1e6,
    1e-300,
    5e-324,
    1e100,
    -1e150,
    1e154,
    1e300,
    f64::MAX,
    f64::MIN_POSITIVE,
];

const NAMES: [Name<'static>; 16] = [
    Name::Text("a"),
    Name::Text("b"),
    Name::Text("c"),
    Name::Text("d"),
    Name::Text("e"),
    Name::Text("f=g"),
    Name::Text(""),
    Name::Text("\u{0}ä😀"),
    Name::Text("(factor)"),
    Name::Text("(intercept)"),
    Name::Number(0),
    Name::Number(1),
    Name::Number(2),
    Name::Number(-1),
    Name::Number(i64::MIN),
    Name::Number(i64::MAX),
];

impl<'a> Bytes<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// A finite number: an extreme or simple one of a list, a small one made of one byte, or any of
    /// eight bytes.
    pub fn number(&mut self) -> f64 {
        match self.byte() {
            menu @ 0..64 => NUMBERS[usize::from(menu % 16)],
            small @ 64..240 => (f64::from(small) - 152.0) / 16.0,
            _ => {
                let word = [(); 8].map(|()| self.byte());
                let number = f64::from_le_bytes(word);
                if number.is_finite() { number } else { 2.0 }
            }
        }
    }

    /// An event: its names, none twice, and their values.
    pub fn event(&mut self) -> (Vec<Name<'static>>, Vec<f64>) {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for _ in 0..self.below(8) {
            let name = NAMES[self.below(NAMES.len())];
            if !names.contains(&name) {
                names.push(name);
                values.push(self.number());
            }
        }
        (names, values)
    }
}
