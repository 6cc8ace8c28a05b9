//! A Fenwick tree: marks feature ids and counts the marked ones among the first n.

/// `tree[i − 1]` counts the marks of the ids `i − lowbit(i) .. i`. Every operation is O(log d).
#[derive(Clone, Debug, Default)]
pub struct FenwickCounter {
    tree: Vec<u32>,
    marked: Vec<bool>,
}

impl FenwickCounter {
    /// Extend to so many ids; new ones are not marked.
    pub fn set_len(&mut self, ids: usize) {
        while self.tree.len() < ids {
            let i = self.tree.len() + 1;
            let below = self.count_first(i - 1) - self.count_first(i - lowbit(i));
            self.tree.push(below as u32);
            self.marked.push(false);
        }
    }

    pub fn set(&mut self, id: usize, mark: bool) {
        if std::mem::replace(&mut self.marked[id], mark) == mark {
            return;
        }
        let mut i = id + 1;
        while i <= self.tree.len() {
            let count = &mut self.tree[i - 1];
            *count = if mark { *count + 1 } else { *count - 1 };
            i += lowbit(i);
        }
    }

    /// How many of the first `ids` ids are marked.
    pub fn count_first(&self, ids: usize) -> usize {
        let (mut i, mut sum) = (ids, 0);
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
    use crate::storage::rng::Generator;

    #[test]
    fn marks_are_counted_while_ids_are_added() {
        let mut generator = Generator::from_seed(3);
        let (mut marks, mut plain) = (FenwickCounter::default(), Vec::new());
        for round in 1..400 {
            if generator.uniform() < 0.3 {
                plain.resize(plain.len() + 1 + round % 3, false);
                marks.set_len(plain.len());
            }
            if plain.is_empty() {
                continue;
            }
            let id = (generator.uniform() * plain.len() as f64) as usize;
            let mark = generator.uniform() < 0.6;
            plain[id] = mark;
            marks.set(id, mark);
            for ids in 0..=plain.len() {
                let expected = plain[..ids].iter().filter(|&&mark| mark).count();
                assert_eq!(marks.count_first(ids), expected);
            }
        }
    }
}
