//! A question as it is shown, without its key; an answer as it comes from a form and as it is kept; and
//! how the one becomes a reply that the task's own judge reads.

use mary_contract::{
    ContinuationScore, ForPeople, Generated, LabelledExample, Part, PeopleAnswer, Reply, Request,
    Response, Scored,
};
use serde::{Deserialize, Serialize};

/// An item as people see it. Nothing in it tells which answer is right: options stand in an order drawn
/// for each person, and the item's id (which may hold the answer) is not here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    #[serde(default)]
    pub instruction: String,
    #[serde(default)]
    pub examples: Vec<LabelledExample>,
    pub parts: Vec<Part>,
    /// What is uncovered word by word before the question, where it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reading: Vec<String>,
    pub answer: AnswerForm,
}

/// Options of a question, or marks of its scale, at most: a page shows all of them.
const MOST_OPTIONS: usize = 1_000;

impl Question {
    /// Why no page could show it, where a file from elsewhere asks for such a one.
    pub(crate) fn unaskable(&self) -> Option<String> {
        let shown = match &self.answer {
            AnswerForm::Rating { low, high } => high
                .checked_sub(*low)
                .and_then(|marks| usize::try_from(marks).ok())
                .map_or(usize::MAX, |marks| marks.saturating_add(1)),
            other => other.options().len(),
        };
        (shown > MOST_OPTIONS).then(|| {
            format!("a question has more than {MOST_OPTIONS} options or marks, or a scale that ends before it begins")
        })
    }
}

/// Whether people may say that no option fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NoneFits {
    #[default]
    Never,
    /// A mark beside the answer that they give all the same, as PHYSICO's people did (Yu et al. 2025, §5.3).
    Beside,
    /// In place of an answer; it counts as wrong.
    Instead,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum AnswerForm {
    Choice {
        /// In the task's order.
        options: Vec<String>,
        /// Whether they are always shown in it.
        ordered: bool,
        /// Whether "none fits" may be said.
        none_fits: bool,
        /// It is said beside an answer, not instead of one.
        #[serde(default)]
        beside: bool,
    },
    Several {
        /// In the task's order.
        options: Vec<String>,
    },
    Text,
    Transcription,
    Number,
    Rating {
        low: i64,
        high: i64,
    },
    /// Nothing: to have read is enough.
    Read,
}

/// An answer, in terms of the task's own order of options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Choice(usize),
    NoneFits,
    /// An option, with the mark that none really fits.
    Flagged(usize),
    Several(Vec<usize>),
    /// Words or a transcription.
    Text(String),
    /// A number, as it was written.
    Number(String),
    Rating(i64),
    Read,
    TimeOut,
}

/// Values of the form's field `answer` that stand for no option.
pub const NONE_FITS: &str = "none";
pub const TIME_OUT: &str = "time-out";
pub(crate) const READ: &str = "read";

impl AnswerForm {
    /// A choice of one option, always shown in this order.
    pub(crate) fn ordered(options: Vec<String>) -> Self {
        Self::Choice {
            options,
            ordered: true,
            none_fits: false,
            beside: false,
        }
    }

    pub fn for_task(answer: &PeopleAnswer, none_fits: NoneFits) -> Self {
        let texts = |options: &[mary_contract::PeopleOption]| {
            options.iter().map(|o| o.text.clone()).collect::<Vec<_>>()
        };
        match answer {
            PeopleAnswer::Choice { options, ordered } => Self::Choice {
                options: texts(options),
                ordered: *ordered,
                none_fits: none_fits != NoneFits::Never,
                beside: none_fits == NoneFits::Beside,
            },
            PeopleAnswer::Several { options } => Self::Several {
                options: texts(options),
            },
            PeopleAnswer::Text => Self::Text,
            PeopleAnswer::Transcription => Self::Transcription,
            PeopleAnswer::Number => Self::Number,
            PeopleAnswer::Rating { low, high } => Self::Rating {
                low: *low,
                high: *high,
            },
        }
    }

    pub fn options(&self) -> &[String] {
        match self {
            Self::Choice { options, .. } | Self::Several { options } => options,
            _ => &[],
        }
    }

    /// The order in which options are shown, given the one that was drawn.
    pub fn shown_order(&self, drawn: Vec<usize>) -> Vec<usize> {
        match self {
            Self::Choice { ordered: true, .. } => (0..self.options().len()).collect(),
            _ => drawn,
        }
    }

    /// Reads the values of a form's field `answer`; `order` says which option stood in which place.
    /// Nothing where it is no answer to this question.
    pub fn read(&self, values: &[String], order: &[usize], characters: usize) -> Option<Answer> {
        if let [only] = values
            && only == TIME_OUT
        {
            return Some(Answer::TimeOut);
        }
        let place = |value: &String| order.get(value.parse::<usize>().ok()?).copied();
        match (self, values) {
            (
                Self::Choice {
                    none_fits, beside, ..
                },
                [value],
            ) => {
                if *none_fits && !beside && value == NONE_FITS {
                    return Some(Answer::NoneFits);
                }
                place(value).map(Answer::Choice)
            }
            (Self::Choice { beside: true, .. }, [value, flag]) if flag == NONE_FITS => {
                place(value).map(Answer::Flagged)
            }
            (Self::Several { .. }, values) => {
                let mut chosen: Vec<usize> = values.iter().map(place).collect::<Option<_>>()?;
                chosen.sort_unstable();
                chosen.dedup();
                (chosen.len() == values.len()).then_some(Answer::Several(chosen))
            }
            (Self::Text, [value]) => {
                let fits = !value.trim().is_empty() && value.chars().count() <= characters;
                fits.then(|| Answer::Text(value.trim().to_owned()))
            }
            (Self::Transcription, [value]) => {
                let fits = !value.is_empty() && value.chars().count() <= characters;
                // A browser sends every line break as two characters.
                fits.then(|| Answer::Text(value.replace("\r\n", "\n")))
            }
            (Self::Number, [value]) => {
                let value = value.trim();
                let number: f64 = value.parse().ok()?;
                (number.is_finite() && value.len() <= 64).then(|| Answer::Number(value.to_owned()))
            }
            (Self::Rating { low, high }, [value]) => {
                let mark: i64 = value.trim().parse().ok()?;
                (*low..=*high)
                    .contains(&mark)
                    .then_some(Answer::Rating(mark))
            }
            (Self::Read, [value]) if value == READ => Some(Answer::Read),
            _ => None,
        }
    }
}

impl Question {
    pub fn for_task(shown: &ForPeople, none_fits: NoneFits) -> Self {
        Self {
            instruction: shown.instruction.clone(),
            examples: shown.examples.clone(),
            parts: shown.parts.clone(),
            reading: Vec::new(),
            answer: AnswerForm::for_task(&shown.answer, none_fits),
        }
    }
}

/// The reply that a model would have given. `said` is what it would have written for each option.
/// Nothing for an answer that chooses none of what is offered: it is judged without the judge.
pub fn reply(answer: &Answer, said: &[String], request: &Request) -> Option<Reply> {
    let words = |text: String| Some(Reply::bare(Response::Generated(Generated::whole(text))));
    match (answer, request) {
        (Answer::Choice(chosen) | Answer::Flagged(chosen), Request::Score(score)) => {
            let continuations = (0..score.continuations.len()).map(|place| ContinuationScore {
                tokens: vec![score.continuations.get(place).cloned().unwrap_or_default()],
                logprobs: vec![if place == *chosen { 0.0 } else { -1.0 }],
                ..ContinuationScore::default()
            });
            Some(Reply::bare(Response::Scored(Scored {
                continuations: continuations.collect(),
            })))
        }
        (_, Request::Score(_) | Request::Observe(_)) => None,
        (Answer::Choice(chosen) | Answer::Flagged(chosen), _) => words(said.get(*chosen)?.clone()),
        (Answer::Several(chosen), _) => {
            let chosen: Option<Vec<&str>> = chosen
                .iter()
                .map(|c| said.get(*c).map(String::as_str))
                .collect();
            words(chosen?.join(", "))
        }
        (Answer::Text(text) | Answer::Number(text), _) => words(text.clone()),
        (Answer::Rating(mark), _) => words(mark.to_string()),
        (Answer::Read, _) => words(String::new()),
        (Answer::NoneFits | Answer::TimeOut, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(form: &AnswerForm, values: &[&str]) -> Option<Answer> {
        let values: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
        form.read(&values, &[2, 0, 1], 10)
    }

    #[test]
    fn answers_are_read_in_terms_of_the_tasks_own_order() {
        let options = ["a", "b", "c"].map(String::from).to_vec();
        let choice = AnswerForm::Choice {
            options: options.clone(),
            ordered: false,
            none_fits: true,
            beside: false,
        };
        assert_eq!(read(&choice, &["0"]), Some(Answer::Choice(2)));
        assert_eq!(read(&choice, &["none"]), Some(Answer::NoneFits));
        assert_eq!(read(&choice, &["time-out"]), Some(Answer::TimeOut));
        for wrong in [&["3"][..], &["-1"], &[], &["0", "1"], &["a"], &[""]] {
            assert_eq!(read(&choice, wrong), None, "{wrong:?}");
        }
        // Beside an answer "none fits" is a mark on it, and never an answer by itself.
        let flagged = AnswerForm::Choice {
            options: options.clone(),
            ordered: false,
            none_fits: true,
            beside: true,
        };
        assert_eq!(read(&flagged, &["0", "none"]), Some(Answer::Flagged(2)));
        assert_eq!(read(&flagged, &["1"]), Some(Answer::Choice(0)));
        for wrong in [&["none"][..], &["none", "none"], &["0", "1"]] {
            assert_eq!(read(&flagged, wrong), None, "{wrong:?}");
        }
        assert_eq!(read(&choice, &["0", "none"]), None);
        let several = AnswerForm::Several { options };
        assert_eq!(
            read(&several, &["0", "2"]),
            Some(Answer::Several(vec![1, 2]))
        );
        assert_eq!(read(&several, &[]), Some(Answer::Several(vec![])));
        assert_eq!(read(&several, &["0", "0"]), None);
    }

    #[test]
    fn words_numbers_and_marks_are_held_to_their_form() {
        assert_eq!(
            read(&AnswerForm::Text, &[" x "]),
            Some(Answer::Text("x".into()))
        );
        assert_eq!(read(&AnswerForm::Text, &["01234567890"]), None);
        assert_eq!(read(&AnswerForm::Text, &["  "]), None);
        let transcribed = read(&AnswerForm::Transcription, &[" a\r\nb"]);
        assert_eq!(transcribed, Some(Answer::Text(" a\nb".into())));
        assert_eq!(
            read(&AnswerForm::Number, &["-1.5"]),
            Some(Answer::Number("-1.5".into()))
        );
        assert_eq!(read(&AnswerForm::Number, &["inf"]), None);
        let rating = AnswerForm::Rating { low: 1, high: 7 };
        assert_eq!(read(&rating, &["7"]), Some(Answer::Rating(7)));
        assert_eq!(read(&rating, &["8"]), None);
    }

    /// A page shows every mark of a scale; a file could ask for any number of them.
    #[test]
    fn no_scale_is_longer_than_a_page() {
        let rated = |low, high| {
            let question = Question {
                instruction: String::new(),
                examples: Vec::new(),
                parts: Vec::new(),
                reading: Vec::new(),
                answer: AnswerForm::Rating { low, high },
            };
            question.unaskable()
        };
        assert_eq!((rated(1, 7), rated(-50, 50)), (None, None));
        for (low, high) in [(i64::MIN, i64::MAX), (0, 1 << 40), (7, 1), (0, 1_000)] {
            assert!(rated(low, high).is_some(), "{low} to {high}");
        }
    }
}
