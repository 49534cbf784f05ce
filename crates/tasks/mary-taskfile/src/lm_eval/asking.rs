//! A row of the harness as an item: what is asked of a model, and what is right.

use mary_contract::{
    Ask, Details, Generate, Item, Part, Prompt, PromptForm, Request, Sampling, Score, Speaker,
    Start, Target, TaskSettings, Turn,
};
use serde_json::{Value as Json, json};

use crate::lm_eval::config::{Config, OutputType};
use crate::lm_eval::context::{Made, Message, Question, Role};
use crate::lm_eval::metrics::Metric;
use crate::lm_eval::python::{is_space, str_of_json};
use crate::lm_eval::render::Doc;

pub(crate) struct Asking<'a> {
    pub config: &'a Config,
    pub settings: &'a TaskSettings,
    pub several_targets: bool,
    pub several_inputs: bool,
}

impl Asking<'_> {
    pub fn item(&self, number: usize, made: &Made, doc: &Doc) -> Result<Item, String> {
        let target = self.target(made, doc)?;
        let asks = self.asks(made)?;
        Ok(Item::new(number.to_string(), target, asks))
    }

    fn asks(&self, made: &Made) -> Result<Vec<Ask>, String> {
        match &made.asked {
            Question::Answer(context) => {
                let generation = &self.config.generation;
                let positive = |text: &String| text.trim().parse().ok().filter(|n| *n > 0);
                let max_tokens = match self.settings.params.get("max_tokens") {
                    None => generation.max_tokens,
                    Some(text) => positive(text).ok_or("`max_tokens` is a number from 1")?,
                };
                Ok(vec![Ask::subject(Request::Generate(Generate {
                    prompt: self.prompt(made, context)?,
                    sampling: Sampling {
                        temperature: generation.temperature,
                        top_p: generation.top_p,
                        top_k: generation.top_k,
                        max_tokens,
                        stop: generation.until.clone(),
                        seed: None,
                    },
                }))])
            }
            Question::Text(text) => {
                if text.is_empty() {
                    return Err("the text is empty, so that it has no probability".into());
                }
                Ok(vec![score(Prompt::plain(""), vec![text.clone()], false)])
            }
            Question::Pairs {
                pairs,
                unconditional,
            } => {
                let mut asks = Vec::new();
                for group in [pairs, unconditional] {
                    // Options after one context are asked together.
                    let shared = group.windows(2).all(|w| matches!(w, [a, b] if a.0 == b.0));
                    let parts: Vec<&[(String, String)]> = match shared {
                        true if group.is_empty() => Vec::new(),
                        true => vec![group.as_slice()],
                        false => group.chunks(1).collect(),
                    };
                    for part in parts {
                        asks.push(self.scored(made, part)?);
                    }
                }
                Ok(asks)
            }
        }
    }

    /// Spaces at the end of a context belong to what follows, as the harness has it.
    fn scored(&self, made: &Made, pairs: &[(String, String)]) -> Result<Ask, String> {
        let context = pairs.first().map_or("", |(context, _)| context.as_str());
        let bare = context.trim_end_matches(is_space);
        let spaces = context.get(bare.len()..).unwrap_or_default();
        let continuations: Vec<String> =
            pairs.iter().map(|(_, c)| format!("{spaces}{c}")).collect();
        if let Some(empty) = continuations.iter().position(String::is_empty) {
            let number = empty + 1;
            return Err(format!(
                "the scored text {number} is empty, so that it has no probability"
            ));
        }
        // Whether greedy decoding would say it is asked of one continuation only.
        let rank = self.config.output == OutputType::Loglikelihood
            && self.config.metrics.iter().any(Metric::is_share);
        if self.settings.form == PromptForm::Chat {
            let prompt = self.prompt(made, context)?;
            let bare = pairs.iter().map(|(_, c)| {
                let delimiter = &self.config.shown.target_delimiter;
                c.strip_prefix(delimiter.as_str()).unwrap_or(c).to_owned()
            });
            return Ok(score(prompt, bare.collect(), rank));
        }
        Ok(score(Prompt::plain(bare), continuations, rank))
    }

    fn prompt(&self, made: &Made, context: &str) -> Result<Prompt, String> {
        if self.settings.form == PromptForm::Plain {
            return Ok(Prompt::plain(context));
        }
        if self.several_inputs {
            return Err("a task whose options stand in the question is not asked as a chat".into());
        }
        let last = made.messages.last();
        if last.is_some_and(|m| m.role == Role::Assistant) {
            let why = "`gen_prefix` begins the model's answer, which is not done in a chat";
            return Err(why.into());
        }
        let mut prompt = Prompt {
            form: PromptForm::Chat,
            system: None,
            turns: Vec::new(),
        };
        for Message { role, content, .. } in &made.messages {
            let speaker = match role {
                Role::System => {
                    prompt.system = Some(content.clone());
                    continue;
                }
                Role::User => Speaker::User,
                Role::Assistant => Speaker::Assistant,
            };
            prompt.turns.push(Turn {
                speaker,
                parts: vec![Part::Text(content.clone())],
            });
        }
        Ok(prompt)
    }

    fn target(&self, made: &Made, doc: &Doc) -> Result<Target, String> {
        Ok(match self.config.output {
            OutputType::MultipleChoice => {
                let options = made.choices.clone().unwrap_or_default();
                let gold = self.gold(made, &options);
                match gold.as_slice() {
                    [one] if !self.several_targets => Target::Choice {
                        question: str_of_json(&made.question),
                        options,
                        correct: *one,
                    },
                    _ => Target::Data(json!({ "options": options, "gold": gold })),
                }
            }
            OutputType::Loglikelihood => Target::Text(str_of_json(&made.target)),
            OutputType::Rolling => {
                let text = str_of_json(&made.target);
                Target::Data(json!({ "words": words(&text), "bytes": text.len() }))
            }
            OutputType::GenerateUntil => self.accepted(made, doc)?,
        })
    }

    /// The right options; none where the target names none of them.
    fn gold(&self, made: &Made, options: &[String]) -> Vec<usize> {
        let named = match self.several_inputs {
            true => &made.question,
            false => &made.target,
        };
        let one = |value: &Json| -> Option<usize> {
            let place = match value {
                Json::Number(n) => usize::try_from(n.as_i64()?).ok(),
                Json::Bool(b) => Some(usize::from(*b)),
                Json::String(text) => options.iter().position(|o| o == text),
                _ => None,
            };
            place.filter(|n| *n < options.len())
        };
        match named {
            Json::Array(several) => several.iter().filter_map(one).collect(),
            other => one(other).into_iter().collect(),
        }
    }

    fn accepted(&self, made: &Made, doc: &Doc) -> Result<Target, String> {
        let accepted: Vec<String> = match (&made.choices, &made.target) {
            (Some(choices), Json::Number(n)) => {
                let at = n.as_i64().and_then(|n| usize::try_from(n).ok());
                let gold = at.and_then(|n| choices.get(n)).cloned();
                vec![gold.ok_or("`doc_to_target` names none of the options of `doc_to_choice`")?]
            }
            (Some(_), other) => {
                return Err(format!(
                    "`doc_to_target` gives `{other}`; with `doc_to_choice` it is the place of an option"
                ));
            }
            (None, Json::Array(several)) => several.iter().map(str_of_json).collect(),
            (None, other) => vec![str_of_json(other)],
        };
        let sees = self.config.filters.iter().any(|f| f.sees_options());
        let options: Vec<String> = match doc.get("choices") {
            Some(Json::Array(members)) if sees => members.iter().map(str_of_json).collect(),
            _ if sees => {
                return Err("the filter `multi_choice_regex` needs a column `choices`".into());
            }
            _ => Vec::new(),
        };
        Ok(match accepted.as_slice() {
            [one] if !sees => Target::Text(one.clone()),
            _ => Target::Data(json!({ "accepted": accepted, "options": options })),
        })
    }
}

/// Words as the harness counts them: pieces between white space, empty ones at the ends too.
fn words(text: &str) -> usize {
    let mut count = 1;
    let mut within = false;
    for c in text.chars() {
        if is_space(c) {
            within = true;
        } else if within {
            within = false;
            count += 1;
        }
    }
    // White space at the very end is followed by an empty piece.
    count + usize::from(within)
}

/// As the harness does: before a context stands what the tokenizer puts there, before a text without one a
/// begin-of-sequence token, or end-of-sequence where there is no other.
fn score(prefix: Prompt, continuations: Vec<String>, rank: bool) -> Ask {
    let mut said = prefix.turns.iter().flat_map(|turn| &turn.parts);
    let silent = said.all(|part| matches!(part, Part::Text(text) if text.is_empty()));
    let nothing = prefix.system.is_none() && silent;
    Ask::subject(Request::Score(Score {
        prefix,
        continuations,
        start: if nothing { Start::Always } else { Start::Model },
        details: Details {
            rank,
            ..Details::default()
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python: `len(re.split(r"\s+", text))`.
    #[test]
    fn words_are_counted_as_the_harness_counts_them() {
        for (text, n) in [
            ("a b", 2),
            (" a", 2),
            ("a ", 2),
            ("", 1),
            (" ", 2),
            ("a \n\t b c", 3),
        ] {
            assert_eq!(words(text), n, "{text:?}");
        }
    }
}
