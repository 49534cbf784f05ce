//! Whole words in a blank with their probabilities: tokens that go on a word are followed until the word must end. A beginning
//! that is less probable than the words already found cannot become one of them, so that nothing likely is missed but what lies
//! beyond the [`SEEN`] likeliest tokens of a place.

use std::collections::BTreeMap;

use mary_contract::{Ask, BLANK, Details, Prompt, Request, Score, Start};

/// How many tokens are looked at in each place.
pub(super) const SEEN: u32 = 500;
/// Beginnings that are followed at once, and rounds, at most.
const AT_ONCE: usize = 20;
const ROUNDS: usize = 6;

type Told = Vec<(String, f64)>;

/// Where the search stands after the answers so far.
pub(super) struct Cloze {
    /// Whole words, the likeliest first.
    pub words: Told,
    /// What is to be asked next: beginnings of words.
    pub open: Vec<String>,
}

/// Follows the answers, of which the first is about the blank and the others about beginnings in the order in which they were
/// asked. `spaced`: a blank stands before the word, so that its first token brings one.
pub(super) fn search(answers: &[Told], spaced: bool, top: usize) -> Cloze {
    let (mut words, mut open): (BTreeMap<String, f64>, BTreeMap<String, f64>) = Default::default();
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-');
    let Some((first, mut rest)) = answers.split_first() else {
        return Cloze {
            words: Vec::new(),
            open: Vec::new(),
        };
    };
    for (token, p) in first {
        let bare = token.trim_start();
        if (bare.len() < token.len()) == spaced && bare.starts_with(char::is_alphanumeric) {
            *open.entry(bare.to_owned()).or_default() += p;
        }
    }
    let mut round = 0;
    loop {
        let mut best: Vec<f64> = words.values().copied().collect();
        best.sort_by(|a, b| b.total_cmp(a));
        let least = best.get(top.saturating_sub(1)).copied().unwrap_or(0.0);
        let mut next: Told = open.iter().map(|(word, p)| (word.clone(), *p)).collect();
        next.retain(|(_, p)| *p > least);
        next.sort_by(|a, b| b.1.total_cmp(&a.1));
        next.truncate(AT_ONCE);
        if next.is_empty() || round == ROUNDS || next.len() > rest.len() {
            let mut words: Told = words.into_iter().collect();
            words.sort_by(|a, b| b.1.total_cmp(&a.1));
            words.truncate(top);
            let open = if round == ROUNDS { Vec::new() } else { next };
            return Cloze {
                words,
                open: open.into_iter().map(|(word, _)| word).collect(),
            };
        }
        let (now, later) = rest.split_at(next.len());
        rest = later;
        for ((word, p), told) in next.iter().zip(now) {
            open.remove(word);
            let seen: f64 = told.iter().map(|(_, q)| q).sum();
            let mut on = 0.0;
            for (token, q) in told.iter().filter(|(token, _)| token.starts_with(goes_on)) {
                on += q;
                let piece = token
                    .split(|c: char| !goes_on(c))
                    .next()
                    .unwrap_or_default();
                let longer = format!("{word}{piece}");
                // A token that also ends the word is a whole one.
                let of = if piece.len() == token.len() {
                    &mut open
                } else {
                    &mut words
                };
                *of.entry(longer).or_default() += p * q;
            }
            // What was not looked at may end the word or not: it is left out.
            *words.entry(word.clone()).or_default() += p * (seen - on);
        }
        round += 1;
    }
}

/// What follows a beginning, asked after the text before the blank.
pub(super) fn ask(before: &str, space: &str, begun: &str) -> Ask {
    let prefix = format!("{before}{space}{begun}");
    likeliest(prefix, BLANK.to_owned(), Start::Model, SEEN)
}

/// Asks for so many of the likeliest tokens in a blank.
pub(super) fn likeliest(prefix: String, blank: String, start: Start, top: u32) -> Ask {
    Ask::subject(Request::Score(Score {
        prefix: Prompt::plain(prefix),
        continuations: vec![blank],
        start,
        details: Details {
            top,
            ..Details::default()
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(tokens: &[(&str, f64)]) -> Told {
        tokens.iter().map(|(t, p)| ((*t).to_owned(), *p)).collect()
    }

    /// A language of which everything is known: cat .5, catfish .1 (two tokens), cats .2, dog .15, and no word at all.
    #[test]
    fn words_of_several_tokens_are_put_together_and_others_end() {
        let first = told(&[(" cat", 0.8), (" dog", 0.15), ("s", 0.04), (",", 0.01)]);
        let start = search(std::slice::from_ref(&first), true, 2);
        assert_eq!(start.open, ["cat", "dog"]);
        let after_cat = told(&[(" ", 0.5), (".", 0.125), ("s", 0.25), ("fish", 0.125)]);
        let after_dog = told(&[(" ", 1.0)]);
        let answers = [first, after_cat, after_dog];
        // The third likeliest beginning cannot beat the second word.
        let found = search(&answers, true, 2);
        assert_eq!(found.open, ["cats"]);
        let answers = [&answers[..], &[told(&[(" ", 1.0)])]].concat();
        let found = search(&answers, true, 2);
        assert!(found.open.is_empty());
        assert_eq!(
            found.words,
            told(&[("cat", 0.8 * 0.625), ("cats", 0.8 * 0.25)])
        );
        // Four are wanted and three are known: both beginnings may still become the fourth.
        assert_eq!(search(&answers, true, 4).open, ["cats", "catfish"]);
    }
}
