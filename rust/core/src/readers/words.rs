//! The words of a text.

/// Words with more characters are left out: codes and addresses, new in every text.
const LONGEST_WORD: usize = 40;

/// The words of a text, in lower case: runs of letters, digits, `_` and, between letters, `'`.
#[derive(Default)]
pub struct Words {
    text: String,
    /// Where each word starts and ends.
    spans: Vec<(usize, usize)>,
}

impl Words {
    pub fn read(&mut self, text: &str) {
        self.text.clear();
        self.spans.clear();
        let mut start = None;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let inside = start.is_some()
                && matches!(c, '\'' | '’')
                && characters.peek().is_some_and(|next| next.is_alphanumeric());
            if c.is_alphanumeric() || c == '_' || inside {
                start.get_or_insert(self.text.len());
                if inside {
                    self.text.push('\'');
                } else {
                    self.text.extend(c.to_lowercase());
                }
            } else if let Some(start) = start.take() {
                self.end(start);
            }
        }
        if let Some(start) = start {
            self.end(start);
        }
    }

    fn end(&mut self, start: usize) {
        if self.text[start..].chars().nth(LONGEST_WORD).is_some() {
            self.text.truncate(start);
        } else {
            self.spans.push((start, self.text.len()));
        }
    }

    /// Every word, then every two in a row, and so on up to `most`.
    pub fn ngrams(&self, most: usize) -> impl Iterator<Item = impl Iterator<Item = &str>> {
        (1..=most).flat_map(move |count| {
            self.spans
                .windows(count)
                .map(|spans| spans.iter().map(|&(start, end)| &self.text[start..end]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, most: usize) -> Vec<String> {
        let mut words = Words::default();
        words.read("something before");
        words.read(text);
        words.ngrams(most).map(|words| words.collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn words_are_in_lower_case_and_without_punctuation() {
        assert_eq!(
            of("Don't PANIC, über-cool: e_mail 42!", 1),
            ["don't", "panic", "über", "cool", "e_mail", "42"]
        );
        assert_eq!(of("'quoted' it’s 5'", 1), ["quoted", "it's", "5"]);
        assert_eq!(of(" ,.; ", 2), [""; 0]);
        assert_eq!(of(&format!("a {} b", "x".repeat(41)), 1), ["a", "b"]);
        assert_eq!(of(&"ä".repeat(40), 1), ["ä".repeat(40)]);
    }

    #[test]
    fn words_in_a_row_follow_the_single_ones() {
        assert_eq!(of("not very good", 2), ["not", "very", "good", "not very", "very good"]);
        assert_eq!(of("good", 3), ["good"]);
    }
}
