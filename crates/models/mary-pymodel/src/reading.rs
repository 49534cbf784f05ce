//! Reading what the Python side says: an answer of the kind asked for, whole and finite, or an error.

use mary_contract::{
    ContinuationScore, ErrorKind, ModelError, Observed, Reply, Request, Response, Scored,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    answer: Option<Response>,
    #[serde(default)]
    error: Option<Value>,
}

pub fn read_answer(request: &Request, text: &str) -> Result<Reply, ModelError> {
    let said: Said = serde_json::from_str(text).map_err(|error| {
        let beginning: String = text.chars().take(120).collect();
        broken(format!(
            "the answer cannot be read ({error}); it begins: {beginning}"
        ))
    })?;
    checked(request, said)
}

/// Reads the answers to several requests; nothing where they cannot be told apart.
pub fn read_answers(requests: &[Request], text: &str) -> Option<Vec<Result<Reply, ModelError>>> {
    let said: Vec<Said> = serde_json::from_str(text).ok()?;
    let answers = (said.len() == requests.len()).then(|| requests.iter().zip(said));
    Some(
        answers?
            .map(|(request, said)| checked(request, said))
            .collect(),
    )
}

fn checked(request: &Request, said: Said) -> Result<Reply, ModelError> {
    if let Some(error) = said.error {
        return Err(read_error(&error));
    }
    let answer = said
        .answer
        .ok_or_else(|| broken("neither an answer nor an error came back".into()))?;
    match (request, &answer) {
        (Request::Score(asked), Response::Scored(scored)) => {
            check_scores(scored, asked.continuations.len())?;
        }
        (Request::Observe(asked), Response::Observed(seen)) => {
            check_vectors(seen, asked.pools.len())?;
        }
        _ => {}
    }
    Ok(Reply::bare(answer))
}

/// Reads an error; one without a kind of ours is an answer that broke.
pub fn read_error(value: &Value) -> ModelError {
    serde_json::from_value(value.clone()).unwrap_or_else(|_| broken(value.to_string()))
}

fn broken(message: String) -> ModelError {
    ModelError::new(ErrorKind::Transport, message)
}

fn check_scores(scored: &Scored, asked: usize) -> Result<(), ModelError> {
    if scored.continuations.len() != asked {
        let found = scored.continuations.len();
        return Err(broken(format!(
            "{asked} continuations were asked for, {found} came back"
        )));
    }
    scored.continuations.iter().try_for_each(check_continuation)
}

fn check_continuation(score: &ContinuationScore) -> Result<(), ModelError> {
    if score.tokens.len() != score.logprobs.len() {
        return Err(broken(
            "tokens and log-probabilities differ in number".into(),
        ));
    }
    match score.logprobs.iter().find(|x| !x.is_finite()) {
        None => Ok(()),
        Some(other) => Err(ModelError::new(
            ErrorKind::NotFinite,
            format!("a log-probability is {other}"),
        )),
    }
}

fn check_vectors(seen: &Observed, asked: usize) -> Result<(), ModelError> {
    if seen.pools.len() != asked {
        return Err(broken(format!(
            "{asked} pools were asked for, {} came back",
            seen.pools.len()
        )));
    }
    let mut widths = seen
        .pools
        .iter()
        .flat_map(|p| &p.layers)
        .map(|l| l.vector.0.len());
    let first = widths.next().unwrap_or(0);
    if widths.any(|w| w != first) {
        return Err(broken("vectors of several widths came back".into()));
    }
    match &seen.scores {
        Some(scores) => check_continuation(scores),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_contract::{Prompt, Score, Start};

    fn request() -> Request {
        Request::Score(Score::new(
            Prompt::plain("a"),
            vec![" b".into()],
            Start::Model,
        ))
    }

    #[test]
    fn an_answer_is_whole_or_an_error() {
        let good =
            r#"{"answer":{"scored":{"continuations":[{"tokens":["b"],"logprobs":[-1.5]}]}}}"#;
        assert!(read_answer(&request(), good).is_ok());
        for (text, kind) in [
            ("{", ErrorKind::Transport),
            ("{}", ErrorKind::Transport),
            (
                r#"{"answer":{"scored":{"continuations":[]}}}"#,
                ErrorKind::Transport,
            ),
            (
                r#"{"answer":{"scored":{"continuations":[{"tokens":[],"logprobs":[-1]}]}}}"#,
                ErrorKind::Transport,
            ),
            (
                r#"{"error":{"kind":"out_of_memory","message":"no room"}}"#,
                ErrorKind::OutOfMemory,
            ),
            (r#"{"error":"strange"}"#, ErrorKind::Transport),
        ] {
            assert_eq!(
                read_answer(&request(), text).unwrap_err().kind,
                kind,
                "{text}"
            );
        }
    }
}
