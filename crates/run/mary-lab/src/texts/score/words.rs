//! From tokens to words.
//!
//! A word is a run of characters without white space; punctuation belongs to the word it touches. A token
//! belongs to the word that holds its first byte that is not white space; a token of white space alone
//! belongs to the word after it, and to none at the end of a text. A token that reaches into a second
//! word counts for the first.
//!
//! Under the plain rule a word's log-probability is the sum over its tokens. Where the space before a
//! word is part of the word's first token, this sum holds the probability that the word *before* has
//! ended, and lacks that of its own end. The corrected rule (Pimentel and Meister 2024; Oh and Schuler
//! 2024) moves the probability of a word's end to the word: it adds ln p(the next token begins with a
//! space | the word and all before it) where a space or nothing follows, and takes off the same term
//! before the word where the word's first token begins with the space. As in minicons, line breaks and
//! the end of the text are no such tokens.

use std::ops::Range;

use mary_contract::ContinuationScore;

/// A word and its scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// Where it lies in the text, in bytes.
    pub place: Range<usize>,
    /// Its tokens.
    pub tokens: Range<usize>,
    /// Sum over its tokens; `None` where its first token could not be scored or it has none.
    pub plain: Option<f64>,
    /// The same with the leading space moved to the word before; `None` where tokens do not tell.
    pub corrected: Option<f64>,
}

/// The places of a text's words, in bytes.
pub fn places(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (c.is_whitespace(), start) {
            (true, Some(first)) => {
                words.push(first..at);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    if let Some(first) = start {
        words.push(first..text.len());
    }
    words
}

/// The place of each token in a text: the model's, or by laying tokens end to end. `None` if they do not fit.
pub fn token_places(text: &str, score: &ContinuationScore) -> Option<Vec<Range<usize>>> {
    let told = score.details.as_ref().map_or(&[][..], |d| &d.places);
    if !told.is_empty() || score.tokens.is_empty() {
        let range = |&(start, end): &(u32, u32)| start as usize..end as usize;
        let inside = told.iter().all(|&(_, end)| end as usize <= text.len());
        return (inside && told.len() == score.tokens.len())
            .then(|| told.iter().map(range).collect());
    }
    let length: usize = score.tokens.iter().map(String::len).sum();
    // What is missing at the beginning is the token that had nothing before it.
    let mut at = text.len().checked_sub(length)?;
    let joined: String = score.tokens.concat();
    if text.get(at..) != Some(joined.as_str()) || (at > 0 && !score.first_unscored) {
        return None;
    }
    let mut places = Vec::new();
    for token in &score.tokens {
        places.push(at..at + token.len());
        at += token.len();
    }
    Some(places)
}

/// The word (by its number) of each token.
pub fn of_tokens(words: &[Range<usize>], tokens: &[Range<usize>]) -> Vec<Option<usize>> {
    let word = |token: &Range<usize>| {
        let at = words.partition_point(|w| w.end <= token.start);
        (at < words.len()).then_some(at)
    };
    tokens.iter().map(word).collect()
}

/// The mean log-probability of the words that have a score; `None` where none has.
pub fn mean(words: &[Word]) -> Option<f64> {
    let scored: Vec<f64> = words.iter().filter_map(|word| word.plain).collect();
    (!scored.is_empty()).then(|| scored.iter().sum::<f64>() / scored.len() as f64)
}

/// The places of given words in a text, one after the other; what stands between them is white space.
pub fn found(text: &str, words: &[String]) -> Result<Vec<Range<usize>>, String> {
    let mut at = 0;
    let mut places = Vec::new();
    for word in words {
        let word = word.trim();
        let rest = text.get(at..).unwrap_or_default();
        let start = at + rest.len() - rest.trim_start().len();
        if word.is_empty() || !text.get(start..).unwrap_or_default().starts_with(word) {
            return Err(format!(
                "word {} is `{word}`, and the text goes on `{}`",
                places.len() + 1,
                rest.trim_start().chars().take(20).collect::<String>()
            ));
        }
        at = start + word.len();
        places.push(start..at);
    }
    Ok(places)
}

/// The words of a text with their scores; `tokens` are the places of the scored tokens.
pub fn scored(text: &str, tokens: &[Range<usize>], score: &ContinuationScore) -> Vec<Word> {
    scored_in(text, &places(text), tokens, score)
}

/// The same of words in given places.
pub fn scored_in(
    text: &str,
    words: &[Range<usize>],
    tokens: &[Range<usize>],
    score: &ContinuationScore,
) -> Vec<Word> {
    let of = of_tokens(words, tokens);
    let mut all: Vec<Word> = words
        .iter()
        .map(|place| Word {
            place: place.clone(),
            tokens: 0..0,
            plain: None,
            corrected: None,
        })
        .collect();
    for (token, word) in of.iter().enumerate() {
        let Some(word) = word.and_then(|w| all.get_mut(w)) else {
            continue;
        };
        if word.tokens.is_empty() {
            word.tokens = token..token;
        }
        word.tokens.end = token + 1;
    }
    for (at, word) in all.iter_mut().enumerate() {
        // The unscored first token of a text belongs to its first word.
        let cut = at == 0 && score.first_unscored;
        if word.tokens.is_empty() || cut {
            continue;
        }
        let tokens = word.tokens.clone();
        let sum: f64 = score
            .logprobs
            .get(tokens.clone())
            .unwrap_or_default()
            .iter()
            .map(|&x| f64::from(x))
            .sum();
        word.plain = Some(sum);
        word.corrected = correction(text, score, &tokens).map(|by| sum + by);
    }
    all
}

/// What the corrected rule adds to the sum over these tokens of a text.
pub fn correction(text: &str, score: &ContinuationScore, tokens: &Range<usize>) -> Option<f64> {
    let starts = &score.details.as_ref()?.word_starts;
    let spaced = |at: usize| score.tokens.get(at).map(|t| t.starts_with(' '));
    // A space before the first token counts only if the text has it: some tokenizers write one themselves.
    let begins = match tokens.start {
        0 => text.starts_with(' '),
        at => spaced(at) == Some(true),
    };
    let term = |there: bool, at: usize| match there {
        true => starts.get(at).map(|&x| f64::from(x)),
        false => Some(0.0),
    };
    let ends = spaced(tokens.end) != Some(false);
    starts.get(tokens.end)?;
    Some(term(ends, tokens.end)? - term(begins, tokens.start)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_contract::TokenDetails;

    fn score(tokens: &[&str], word_starts: &[f32]) -> ContinuationScore {
        ContinuationScore {
            tokens: tokens.iter().map(|t| (*t).to_owned()).collect(),
            logprobs: (1..=tokens.len()).map(|i| -(i as f32)).collect(),
            boundary_merged: false,
            first_unscored: false,
            windowed: false,
            details: Some(Box::new(TokenDetails {
                word_starts: word_starts.to_vec(),
                ..TokenDetails::default()
            })),
        }
    }

    #[test]
    fn tokens_go_to_the_word_of_their_first_letter_and_spaces_to_the_next() {
        let text = "The un\u{301}do  it. ";
        let words = places(text);
        assert_eq!(
            words.iter().map(|w| &text[w.clone()]).collect::<Vec<_>>(),
            ["The", "un\u{301}do", "it."]
        );
        let score = score(&["The", " un", "\u{301}do", " ", " it", ".", " "], &[]);
        let places = token_places(text, &score).unwrap();
        let of = of_tokens(&words, &places);
        assert_eq!(
            of,
            [Some(0), Some(1), Some(1), Some(2), Some(2), Some(2), None]
        );
        let found = scored(text, &places, &score);
        let sums: Vec<f64> = found.iter().filter_map(|w| w.plain).collect();
        assert_eq!(sums, [-1.0, -5.0, -15.0]);
        assert!(found.iter().all(|w| w.corrected.is_none()));
    }

    #[test]
    fn the_space_moves_to_the_word_that_it_ends() {
        // ln p(a word begins) before "The", " cat", "s" and after "s".
        let score = score(&["The", " cat", "s"], &[-9.0, -0.5, -0.25, -0.125]);
        let places = token_places("The cats", &score).unwrap();
        let found = scored("The cats", &places, &score);
        assert_eq!(found[0].corrected, Some(-1.0 - 0.5));
        assert_eq!(found[1].corrected, Some(-5.0 - 0.125 + 0.5));
        // Over a whole text, what was moved is there once: the end of the last word is added.
        let total: f64 = found.iter().filter_map(|w| w.corrected).sum();
        assert!((total - (-6.0 - 0.125)).abs() < 1e-12);
    }

    #[test]
    fn a_first_token_without_a_score_leaves_its_word_without_one() {
        let mut score = score(&["at", " sat"], &[-1.0, -1.0, -1.0]);
        score.first_unscored = true;
        let places = token_places("Cat sat", &score).unwrap();
        let found = scored("Cat sat", &places, &score);
        assert_eq!((found[0].plain, found[0].corrected), (None, None));
        assert_eq!(found[1].plain, Some(-2.0));
        score.first_unscored = false;
        assert_eq!(token_places("Cat sat", &score), None);
    }
}
