//! What digit matrices and letter strings share: an answer in brackets, scored among candidates or
//! written by the model.

use mary_contract::{
    Ask, Changes, Finish, Generate, Generated, Param, Prompt, PromptForm, Request, Sampling, Score,
    Start, TaskCard, TaskError, TaskSettings, UnscoredReason,
};

use crate::settings::choose;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Score,
    /// In its own words, up to the closing bracket.
    Generate,
}

pub(super) const MODE: Param = Param::new(
    "mode",
    "score",
    "score, generate",
    "Compare the candidates' log-probabilities, or let the model write the answer up to the \
            closing bracket.",
);
pub(super) const SCORING: Param = Param::new(
    "scoring",
    "sum",
    "sum, mean",
    "Which makes the score of mode=score: the log-probability of the whole candidate, or its mean \
            per token. Both are measured.",
)
.changing(Changes::Judging);

pub(super) fn mode(card: &TaskCard, settings: &TaskSettings) -> Result<Mode, TaskError> {
    choose(
        card,
        settings,
        "mode",
        &[("score", Mode::Score), ("generate", Mode::Generate)],
    )
}

/// Things in brackets, blanks between them.
pub(super) fn bracketed<T: ToString>(things: &[T]) -> String {
    let words: Vec<String> = things.iter().map(ToString::to_string).collect();
    format!("[{}]", words.join(" "))
}

/// Asks for what follows `prefix`, which ends with a closed bracket.
pub(super) fn ask(mode: Mode, form: PromptForm, prefix: &str, candidates: &[String]) -> Ask {
    Ask::subject(match mode {
        Mode::Score => {
            let before = match form {
                PromptForm::Plain => " ",
                PromptForm::Chat => "",
            };
            Request::Score(Score {
                prefix: Prompt::single(form, prefix),
                continuations: candidates.iter().map(|c| format!("{before}{c}")).collect(),
                start: Start::Model,
                details: Default::default(),
            })
        }
        Mode::Generate => Request::Generate(Generate {
            prompt: Prompt::single(form, format!("{prefix} [")),
            sampling: Sampling {
                stop: vec!["]".into()],
                ..Sampling::greedy(64)
            },
        }),
    })
}

/// What stands between the brackets of a written answer; nothing where no word was written.
pub(super) fn written(answer: &Generated) -> Result<Vec<String>, UnscoredReason> {
    match answer.finish {
        Finish::Refusal => return Err(UnscoredReason::Refused),
        Finish::ContentFilter => return Err(UnscoredReason::Filtered),
        _ => {}
    }
    let text = answer.text.trim_start();
    // A chat model repeats the line or opens the bracket itself: the last bracket is the answer.
    let text = text.split_once(']').map_or(text, |(before, _)| before);
    let text = text.rsplit_once('[').map_or(text, |(_, after)| after);
    if answer.finish == Finish::Length && !answer.text.contains(']') {
        return Err(UnscoredReason::Truncated);
    }
    Ok(text.split_whitespace().map(str::to_owned).collect())
}
