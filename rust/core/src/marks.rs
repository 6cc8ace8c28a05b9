//! Slots that are marked or not, and how many of the first are: a Fenwick tree.

/// `tree[i − 1]` counts the marks of the slots `i − lowbit(i) .. i`; all work is O(log d).
#[derive(Clone, Debug, Default)]
pub struct Marks {
    tree: Vec<u32>,
    marked: Vec<bool>,
}

impl Marks {
    /// Make room for so many slots; new ones are not marked.
    pub fn set_len(&mut self, slots: usize) {
        while self.tree.len() < slots {
            let i = self.tree.len() + 1;
            let below = self.among_first(i - 1) - self.among_first(i - lowbit(i));
            self.tree.push(below as u32);
            self.marked.push(false);
        }
    }

    pub fn set(&mut self, slot: usize, mark: bool) {
        if std::mem::replace(&mut self.marked[slot], mark) == mark {
            return;
        }
        let mut i = slot + 1;
        while i <= self.tree.len() {
            let count = &mut self.tree[i - 1];
            *count = if mark { *count + 1 } else { *count - 1 };
            i += lowbit(i);
        }
    }

    /// How many of the first `slots` are marked.
    pub fn among_first(&self, slots: usize) -> usize {
        let (mut i, mut sum) = (slots, 0);
        while i > 0 {
            sum += self.tree[i - 1] as usize;
            i -= lowbit(i);
        }
        sum
    }
}

fn lowbit(i: usize) -> usize {
    i & i.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;

    #[test]
    fn marks_are_counted_while_slots_are_added() {
        let mut generator = Generator::from_seed(3);
        let (mut marks, mut plain) = (Marks::default(), Vec::new());
        for round in 1..400 {
            if generator.uniform() < 0.3 {
                plain.resize(plain.len() + 1 + round % 3, false);
                marks.set_len(plain.len());
            }
            if plain.is_empty() {
                continue;
            }
            let slot = (generator.uniform() * plain.len() as f64) as usize;
            let mark = generator.uniform() < 0.6;
            plain[slot] = mark;
            marks.set(slot, mark);
            for slots in 0..=plain.len() {
                let expected = plain[..slots].iter().filter(|&&mark| mark).count();
                assert_eq!(marks.among_first(slots), expected);
            }
        }
    }
}
