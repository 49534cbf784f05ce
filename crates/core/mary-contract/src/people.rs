//! What a person is shown instead of a prompt: the same item, without the words that only a model needs
//! ("respond in one letter and nothing else"), and in which way it can be answered.
//!
//! A task need say nothing here: [`ForPeople::of`] makes it from the item. A task that has labelled
//! examples, or whose judge reads answers in a form of its own, says so ([`crate::Task::for_people`]).

use serde::{Deserialize, Serialize};

use crate::{Item, Part, Prompt, Request, Speaker, Target};

/// An item as a person sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForPeople {
    /// What is to be done, in a sentence or two; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instruction: String,
    /// Examples with their labels, for finding a rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<LabelledExample>,
    /// The item itself: words, grids of digits, pictures.
    pub parts: Vec<Part>,
    /// The kind of answer that is asked for.
    pub answer: PeopleAnswer,
    /// Seconds that its protocol gives a person, where it has a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
}

/// One example of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelledExample {
    /// The example itself.
    pub text: String,
    /// The label that the rule gives it.
    pub label: String,
}

/// How a question is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PeopleAnswer {
    /// One of several options.
    Choice {
        /// The options in the task's order.
        options: Vec<PeopleOption>,
        /// Whether the order means something (labels A and B, a scale), so that it stays.
        #[serde(default)]
        ordered: bool,
    },
    /// Any number of several options.
    Several {
        /// The options in the task's order.
        options: Vec<PeopleOption>,
    },
    /// A few words or sentences.
    Text,
    /// What is seen or heard, letter by letter: nothing is trimmed or corrected on the way.
    Transcription,
    /// A number, with or without decimals.
    Number,
    /// A whole number on a scale.
    Rating {
        /// The lowest rating.
        low: i64,
        /// The highest rating.
        high: i64,
    },
}

/// One option as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeopleOption {
    /// What a person reads.
    pub text: String,
    /// What a model would have to write in order to choose it; the judge reads this. Empty where any
    /// usual form will do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
}

impl PeopleOption {
    /// An option whose judge reads the usual forms (its letter, or its text).
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            said: String::new(),
        }
    }

    /// An option with what a model would have to write.
    pub fn said(text: impl Into<String>, said: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            said: said.into(),
        }
    }
}

impl ForPeople {
    /// Something to read or look at and to answer, without a word before it.
    pub fn new(parts: Vec<Part>, answer: PeopleAnswer) -> Self {
        Self {
            instruction: String::new(),
            examples: Vec::new(),
            parts,
            answer,
            seconds: None,
        }
    }

    /// The item as it can be shown without knowing its task. Nothing where there is no question that a
    /// person could read or answer (hidden states, data of the task's own).
    pub fn of(item: &Item) -> Option<Self> {
        let prompt = item.asks.first().and_then(|ask| match &ask.request {
            Request::Generate(g) => Some(&g.prompt),
            Request::Score(s) => Some(&s.prefix),
            Request::Observe(_) => None,
        });
        let mut parts = prompt.map(pictures).unwrap_or_default();
        let (said, answer) = match &item.target {
            Target::Choice {
                question, options, ..
            } => {
                let options = options.iter().map(PeopleOption::new).collect();
                let ordered = false;
                (question.clone(), PeopleAnswer::Choice { options, ordered })
            }
            Target::Pair { good, bad } => {
                let options = vec![PeopleOption::new(good), PeopleOption::new(bad)];
                let ordered = false;
                let before = prompt.map(Prompt::text).unwrap_or_default();
                (before, PeopleAnswer::Choice { options, ordered })
            }
            Target::Text(_) => (prompt.map(Prompt::text)?, PeopleAnswer::Text),
            Target::Data(_) => return None,
        };
        if !said.trim().is_empty() {
            parts.push(Part::Text(said));
        }
        Some(Self::new(parts, answer))
    }

    /// With what is to be done.
    #[must_use]
    pub fn told(mut self, instruction: impl Into<String>) -> Self {
        self.instruction = instruction.into();
        self
    }

    /// Options stay in their order.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        if let PeopleAnswer::Choice { ordered, .. } = &mut self.answer {
            *ordered = true;
        }
        self
    }
}

/// The pictures of the last question in a prompt; those of earlier ones belong to its shots.
fn pictures(prompt: &Prompt) -> Vec<Part> {
    let asked = prompt.turns.iter().rev();
    let last = asked.into_iter().find(|turn| turn.speaker == Speaker::User);
    let parts = last.map(|turn| turn.parts.as_slice()).unwrap_or_default();
    let is_picture = |part: &&Part| matches!(part, Part::Image(_));
    parts.iter().filter(is_picture).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ask, Generate, Image, Sampling};

    fn item(target: Target, prompt: Prompt) -> Item {
        let sampling = Sampling::greedy(4);
        let ask = Ask::subject(Request::Generate(Generate::new(prompt, sampling)));
        Item::new("i", target, vec![ask])
    }

    #[test]
    fn a_choice_shows_its_pictures_its_question_and_its_options() {
        let mut prompt = Prompt::chat("Which? Respond with one letter.");
        let picture = Part::Image(Image {
            media_type: "image/png".into(),
            data: vec![1],
        });
        prompt.turns[0].parts.insert(0, picture.clone());
        let target = Target::one_of("Which?".into(), vec!["one".into(), "two".into()], 1);
        let shown = ForPeople::of(&item(target, prompt)).unwrap();
        assert_eq!(shown.parts, [picture, Part::Text("Which?".into())]);
        let options = ["one", "two"].map(PeopleOption::new).to_vec();
        let ordered = false;
        assert_eq!(shown.answer, PeopleAnswer::Choice { options, ordered });
    }

    #[test]
    fn data_of_a_tasks_own_is_not_for_people() {
        let target = Target::Data(serde_json::json!({}));
        assert_eq!(ForPeople::of(&item(target, Prompt::plain("x"))), None);
        let text = ForPeople::of(&item(Target::Text("y".into()), Prompt::plain("x"))).unwrap();
        assert_eq!(text.answer, PeopleAnswer::Text);
    }
}
