//! Which beginning of a prompt is shared with other prompts, so that a cache mark can be set behind
//! it: at a line end, so that cutting the text there changes no token, and at the same place as
//! long as it serves.

use std::collections::VecDeque;

/// Providers cache nothing shorter than about 1024 tokens.
const SHORTEST: usize = 4096;
const REMEMBERED: usize = 4;
const KNOWN: usize = 32;

#[derive(Debug, Default)]
pub struct PrefixBook {
    recent: VecDeque<String>,
    known: VecDeque<String>,
}

impl PrefixBook {
    /// How many bytes of this text are shared with others; 0 when it does not pay.
    pub fn shared(&mut self, text: &str) -> usize {
        let known = self
            .known
            .iter()
            .filter(|prefix| prefix.len() < text.len() && text.starts_with(prefix.as_str()))
            .map(String::len)
            .max()
            .unwrap_or(0);
        let found = self
            .recent
            .iter()
            .map(|other| common_lines(other, text))
            .max()
            .unwrap_or(0);
        self.recent.push_back(text.to_owned());
        if self.recent.len() > REMEMBERED {
            self.recent.pop_front();
        }
        // A little more is not worth giving up what is in the cache already.
        if found >= SHORTEST && found > known + known / 4 {
            if let Some(prefix) = text.get(..found) {
                self.known.push_back(prefix.to_owned());
            }
            if self.known.len() > KNOWN {
                self.known.pop_front();
            }
            return found;
        }
        known
    }
}

/// Length of the common beginning of two texts, up to and including its last line end, and short of
/// the whole text.
fn common_lines(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let same = same.min(b.len().saturating_sub(1));
    let bytes = b.as_bytes().get(..same).unwrap_or_default();
    bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shots_are_found_and_the_question_left_out() {
        let shots = "Is this right? Yes.\n".repeat(300);
        let mut book = PrefixBook::default();
        assert_eq!(
            book.shared(&format!("{shots}Question one?")),
            0,
            "the first is alone"
        );
        assert_eq!(book.shared(&format!("{shots}Question two?")), shots.len());
        // A question that happens to share more does not move the mark.
        assert_eq!(
            book.shared(&format!("{shots}Question two again?")),
            shots.len()
        );
        assert_eq!(book.shared("something else"), 0);
        assert_eq!(book.shared(&format!("{shots}Question three?")), shots.len());
    }

    #[test]
    fn short_or_lineless_beginnings_do_not_pay() {
        let mut book = PrefixBook::default();
        for text in ["a\nb", "a\nc", &"x".repeat(9000), &"x".repeat(9001)] {
            assert_eq!(book.shared(text), 0);
        }
    }

    #[test]
    fn the_same_text_twice_keeps_something_behind_the_mark() {
        let text = "line é\n".repeat(1000);
        let mut book = PrefixBook::default();
        book.shared(&text);
        let shared = book.shared(&text);
        assert!(shared < text.len() && text.is_char_boundary(shared) && shared > 0);
    }
}
