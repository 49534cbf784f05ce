//! Analogies by prompting: guidelines, query, options, and the letter the model answers with. The paper
//! describes this prompt and prints none for analogies: the wording is ours.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, ForPeople, InForce, Item, ItemSource, Items, Judgement, Needs, Reply, Request,
    Response, Sampling, Scoring, Task, TaskCard, TaskError, TaskSettings,
};

use super::{Question, WordPair, id, item_source, questions, target, written};
use crate::cards::{card, conventions};
use crate::choice;
use crate::settings::no_shots;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/analogies-prompting"));

const LETTERS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

#[derive(Debug, Clone, Copy)]
pub struct AnalogiesPrompting;

fn read(settings: &TaskSettings) -> Result<f64, TaskError> {
    settings.check(&CARD)?;
    no_shots(&CARD, settings)?;
    settings.number(&CARD, "temperature", |t: f64| t.is_finite() && t >= 0.0)
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

impl Task for AnalogiesPrompting {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn source(&self, settings: &TaskSettings) -> ItemSource {
        item_source(&CARD, settings)
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told(super::TO_PEOPLE))
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::GENERATE
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let temperature = read(settings)?;
        let questions = questions(&CARD, settings)?;
        let form = settings.form;
        let sampling = Sampling::greedy(12).at(temperature);
        let item = move |(index, question): (usize, Question)| {
            let ask = Request::words(form, prompt(&question), sampling.clone());
            Ok(Item::new(
                id(index),
                target(&question),
                vec![Ask::subject(ask)],
            ))
        };
        Ok(Box::new(questions.into_iter().enumerate().map(item)))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        if let (Some((options, correct)), [reply]) = (item.target.choice(), answers)
            && let Response::Generated(answer) = &reply.answer
        {
            return choice::judge_words(answer, |text| {
                let said = read_choice(text, options)?;
                Some((options.get(said).cloned()?, said == correct))
            });
        }
        Judgement::fault("expected one answer in words")
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked_whatever_the_seed(self.card())
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::WRITTEN
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(temperature) = read(settings) else {
            return BTreeMap::new();
        };
        conventions(&CARD, settings, &[("temperature", temperature.to_string())])
    }
}

/// The choice an answer names: a letter by itself at the beginning, or exactly one of the pairs. Two
/// choices are none: a second letter by itself, or the pair of another letter.
fn read_choice(text: &str, options: &[String]) -> Option<usize> {
    let text = text.trim().to_lowercase();
    let words = |s: &str| -> String {
        let parts = s
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty());
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
