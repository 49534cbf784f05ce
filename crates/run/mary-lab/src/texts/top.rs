//! The likeliest words in a blank, as in the form of Table 1 of Yang et al. (2025): sentences of one's own as a
//! task, and what models would put there as a table. Nothing is judged.

use std::collections::BTreeMap;

use mary_contract::{
    BLANK, Cell, DataSource, FollowUp, InForce, Item, Items, Judgement, Needs, Reply, Sample,
    Start, Table, Target, Task, TaskCard, TaskError, TaskSettings, UnscoredReason,
};
use serde_json::json;

use super::ask::NO_RIGHT_ANSWER;
use super::cloze;
use crate::DECLARED;

/// How a blank may be written beside [`BLANK`].
const OTHER_BLANKS: [&str; 2] = ["<mask>", "___"];

/// Sentences with a blank as a task.
pub struct TopTask {
    sentences: Vec<String>,
    top: u32,
    /// Whole words, however many tokens they have.
    whole: bool,
    card: TaskCard,
}

impl TopTask {
    /// The id of the task.
    pub const ID: &'static str = "ask/top";

    /// A task of one item for each sentence. A sentence without a blank is continued at its end.
    pub fn new(sentences: Vec<String>, top: u32, whole: bool) -> Self {
        let about = "The likeliest words in a blank; nothing is judged.";
        let mut card = TaskCard::new(Self::ID, "likeliest words", about);
        let written = match whole {
            true => json!([sentences, top, "whole words"]),
            false => json!([sentences, top]),
        }
        .to_string();
        card.content = Some(blake3::hash(written.as_bytes()).to_hex().to_string().into());
        Self {
            sentences,
            top,
            whole,
            card,
        }
    }

    /// What a model would put into the blank of a sample's sentence, with probabilities; `None` where it does not tell.
    pub fn predictions(&self, sample: &Sample) -> Option<Vec<(String, f64)>> {
        let replies = sample
            .exchanges
            .iter()
            .map(|e| told(e.reply.as_ref().ok()?));
        let told: Vec<_> = replies.collect::<Option<_>>()?;
        if !self.whole {
            return told.into_iter().next();
        }
        let (_, blank) = parts(sentence(sample));
        let spaced = blank.starts_with(char::is_whitespace);
        Some(cloze::search(&told, spaced, self.top as usize).words)
    }

    /// One line for each sentence and model: its likeliest words with their probabilities.
    pub fn table(&self, samples: &[Sample]) -> Table {
        let mut lines: Vec<(String, String, Vec<String>)> = samples
            .iter()
            .filter_map(|sample| {
                let words = self.predictions(sample)?;
                let shown = words
                    .iter()
                    .map(|(word, p)| format!("{} ({p:.2})", word.trim()));
                let (item, model) = (sample.id.item.clone(), sample.id.model.clone());
                let mut cells = vec![sentence(sample).to_owned(), model.clone()];
                cells.extend(shown);
                Some((item, model, cells))
            })
            .collect();
        lines.sort();
        let widest = lines.iter().map(|(_, _, cells)| cells.len()).max();
        let places = (1..=widest.unwrap_or(2).saturating_sub(2)).map(|place| place.to_string());
        let lines = lines.into_iter().map(|(_, _, cells)| cells);
        let table = DECLARED.table("likeliest-words");
        let table = table.with_heads("places", places);
        table.with_rows(Cell::rows(lines.collect()))
    }
}

/// What stands before the blank, and the blank with what follows.
fn parts(sentence: &str) -> (String, String) {
    let marks = [BLANK].into_iter().chain(OTHER_BLANKS);
    let found = marks.filter_map(|mark| Some((sentence.find(mark)?, mark)));
    match found.min_by_key(|(at, _)| *at) {
        Some((at, mark)) => {
            let (before, rest) = sentence.split_at(at);
            let rest = rest.strip_prefix(mark).unwrap_or(rest);
            let rest = rest.trim_start_matches('_');
            // The space belongs to the token that is predicted.
            let bare = before.trim_end();
            let space = before.get(bare.len()..).unwrap_or_default();
            (bare.to_owned(), format!("{space}{BLANK}{rest}"))
        }
        None => (sentence.trim_end().to_owned(), format!(" {BLANK}")),
    }
}

impl Task for TopTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let item = |(place, sentence): (usize, &String)| {
            let (before, blank) = parts(sentence);
            let top = if self.whole { cloze::SEEN } else { self.top };
            let ask = cloze::likeliest(before, blank, Start::Model, top);
            let target = Target::Data(json!(sentence));
            Ok(Item::new(format!("{:03}", place + 1), target, vec![ask]))
        };
        let items: Vec<_> = self.sentences.iter().enumerate().map(item).collect();
        Ok(Box::new(items.into_iter()))
    }

    fn follow_up(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> FollowUp {
        let told: Option<Vec<_>> = answers.iter().map(told).collect();
        let (Target::Data(sentence), Some(told), true) = (&item.target, told, self.whole) else {
            return Ok(Vec::new());
        };
        let (before, blank) = parts(sentence.as_str().unwrap_or_default());
        let space = blank.split_once(BLANK).map_or("", |(space, _)| space);
        let open = cloze::search(&told, !space.is_empty(), self.top as usize).open;
        Ok(open
            .iter()
            .map(|word| cloze::ask(&before, space, word))
            .collect())
    }

    fn judge(&self, _: &TaskSettings, _: &Item, _: &[Reply]) -> Judgement {
        Judgement::unscored(UnscoredReason::NotApplicable(NO_RIGHT_ANSWER.into()))
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked_whatever_the_seed(&self.card)
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        let seen = "a masked model sees both sides of the blank, another what stands before it";
        let mut said = BTreeMap::from([("context".to_owned(), seen.to_owned())]);
        if self.whole {
            let how =
                "sum over the token sequences found, times the probability that the word then ends";
            said.insert("probability of a word".to_owned(), how.to_owned());
        }
        said
    }
}

/// The likeliest tokens of an answer, with probabilities.
pub(crate) fn told(reply: &Reply) -> Option<Vec<(String, f64)>> {
    let told = &reply
        .answer
        .as_scored()?
        .continuations
        .first()?
        .details
        .as_ref()?
        .top;
    let told: Vec<(String, f64)> = told
        .iter()
        .map(|(token, logprob)| (token.clone(), f64::from(*logprob).exp()))
        .collect();
    (!told.is_empty()).then_some(told)
}

/// The sentence that a sample is of.
pub fn sentence(sample: &Sample) -> &str {
    match &sample.item.target {
        Target::Data(text) => text.as_str().unwrap_or_default(),
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_space_before_a_blank_belongs_to_what_is_predicted() {
        for (sentence, before, blank) in [
            (
                "They are the [MASK] birds.",
                "They are the",
                " [MASK] birds.",
            ),
            ("They are the ____ birds.", "They are the", " [MASK] birds."),
            ("It is <mask>.", "It is", " [MASK]."),
            ("They are", "They are", " [MASK]"),
            ("[MASK] it is", "", "[MASK] it is"),
        ] {
            assert_eq!(parts(sentence), (before.to_owned(), blank.to_owned()));
        }
    }
}
