//! Analogies by prompting: guidelines, query, options, and the letter the model answers with. The paper
//! describes this prompt and prints none for analogies: the wording is ours.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, Judgement, Needs, Reply, Request, Response, Sampling, Scoring, TaskCard, TaskError,
    TaskSettings,
};

use super::{AnalogyTask, Question, WordPair, written};
use crate::cards::{card, conventions};
use crate::choice;
use crate::settings::no_shots;

pub static PROMPTING: AnalogyTask = AnalogyTask {
    card: LazyLock::new(|| card("psychometric/analogies-prompting")),
    needs: Needs::GENERATE,
    scoring: Scoring::WRITTEN,
    told: true,
    asks: |card, settings| {
        let form = settings.form;
        let sampling = Sampling::greedy(12).at(read(card, settings)?);
        Ok(Box::new(move |question| {
            let ask = Request::words(form, prompt(question), sampling.clone());
            vec![Ask::subject(ask)]
        }))
    },
    judge,
    conventions: |card, settings| match read(card, settings) {
        Ok(temperature) => conventions(card, settings, &[("temperature", temperature.to_string())]),
        Err(_) => BTreeMap::new(),
    },
};

const LETTERS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn read(card: &TaskCard, settings: &TaskSettings) -> Result<f64, TaskError> {
    settings.check(card)?;
    no_shots(card, settings)?;
    settings.number(card, "temperature", |t: f64| t.is_finite() && t >= 0.0)
}

fn prompt(question: &Question) -> String {
    let lettered = |(pair, letter): (&WordPair, &str)| format!("{letter}. {}", written(pair));
    let options: Vec<String> = question.choices.iter().zip(LETTERS).map(lettered).collect();
    format!(
        "Two words are related in some way. Choose the pair of words that is related in the same way.\n\n\
         Query:\n{}\n\nOptions:\n{}\n\nAnswer with the letter of the pair and nothing else.\nAnswer:",
        written(&question.stem),
        options.join("\n")
    )
}

fn judge(options: &[String], correct: usize, answers: &[Reply]) -> Judgement {
    if let [reply] = answers
        && let Response::Generated(answer) = &reply.answer
    {
        return choice::judge_words(answer, |text| {
            let said = read_choice(text, options)?;
            Some((options.get(said).cloned()?, said == correct))
        });
    }
    Judgement::fault("expected one answer in words")
}

/// The choice an answer names: a letter by itself at the beginning, or exactly one of the pairs. Two
/// choices are none: a second letter by itself, or the pair of another letter.
fn read_choice(text: &str, options: &[String]) -> Option<usize> {
    let text = text.trim().to_lowercase();
    let words = |s: &str| -> String {
        let parts = s.split(|c: char| !c.is_alphanumeric());
        let parts = parts.filter(|w| !w.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    };
    let said = words(&text);
    let named = |o: &String| said.contains(&words(&o.to_lowercase()));
    let named: Vec<usize> = (0..options.len()).filter(|&i| named(&options[i])).collect();
    let line = text.trim_start_matches(['(', '*', '"', '\'', '`']);
    let mut chars = line.chars();
    let (first, second) = (chars.next()?, chars.next());
    if second.is_none_or(|c| !c.is_alphanumeric()) {
        let mut letters = LETTERS.iter().take(options.len());
        let place = letters.position(|l| l.starts_with(first));
        // "a bird" is an article; "a. bird", "a)" and "a" are letters.
        if place.is_some() && second.is_none_or(|c| c != ' ') {
            // An `a` further on is an article, any other letter of the list a second choice.
            let letter = |w: &str| LETTERS.iter().take(options.len()).position(|l| *l == w);
            let others = said.split(' ').skip(1).filter(|w| *w != "a");
            let second_letter = others.filter_map(letter).any(|other| Some(other) != place);
            let second_pair = named.iter().any(|other| Some(*other) != place);
            return place.filter(|_| !second_letter && !second_pair);
        }
    }
    match named.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_pairs_are_read_and_guesses_are_not() {
        let options: Vec<String> = ["cow : milk", "bird : nest", "kitten : cat"]
            .map(String::from)
            .to_vec();
        let read = |text: &str| read_choice(text, &options);
        assert_eq!(read("b"), Some(1));
        assert_eq!(read(" (C) kitten : cat"), Some(2));
        assert_eq!(read("A. cow : milk"), Some(0));
        assert_eq!(read("Kitten: cat, of course"), Some(2));
        assert_eq!(read("a bird"), None);
        assert_eq!(read("cow : milk or bird : nest"), None);
        assert_eq!(read("A, B"), None);
        assert_eq!(read("a) or c)"), None);
        assert_eq!(read("A. bird : nest"), None);
        assert_eq!(read("b. a bird : nest"), Some(1));
        assert_eq!(read("e"), None);
        assert_eq!(read(""), None);
    }
}
