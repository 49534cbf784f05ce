//! Scoring with the llama.cpp server's own endpoints.
//!
//! Its `/v1/completions` takes no `echo`, so the prompt's log-probabilities cannot be asked for. But
//! `/completion` reports, for every token it emits, the log-probability *before* sampling, and a
//! grammar of token ids (`root ::= <[7042]> <[30]>`) makes it emit exactly the tokens we want. So one
//! request scores one continuation, and the server's prompt cache keeps the shared prefix. Tokens
//! that are half a character cannot be emitted under a grammar; for those the whole distribution of
//! that one position is asked for (`n_probs` = size of the vocabulary).

use mary_contract::{ContinuationScore, Prompt, Start, Usage};
use serde_json::{Value, json};

use crate::connection::{Connection, Question};
use crate::formats::openai_chat::messages;
use crate::options::{Result, bad};
use crate::wire::{Read, ReadError, RequestShape, count, finite_score, list_at, text, told};

/// Fields of the answer we need; without this list it repeats the prompt and all settings.
const FIELDS: &str =
    "completion_probabilities tokens_evaluated tokens_predicted timings truncated stop_type model";

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LlamaServer {
    pub(crate) vocabulary: u64,
    /// A token it can always emit.
    pub(crate) plain_token: u64,
    pub(crate) start_token: Option<u64>,
    /// The start token's text: begin of sequence, or end of sequence for models without.
    pub(crate) start_text: Option<String>,
    /// The token that ends a text in training and is no marker of a role.
    pub(crate) text_start: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) id: u64,
    pub(crate) bytes: Vec<u8>,
    /// It is whole characters, so that the server can emit it on its own.
    whole: bool,
}

/// The text as the model's template renders it, up to where its answer begins.
pub(crate) async fn render(connection: &Connection, prompt: &Prompt) -> Result<String> {
    let body = json!({"messages": messages(prompt)});
    let read = |raw: &Value| {
        let prompt = text(raw, "/prompt");
        prompt.ok_or_else(|| ReadError::missing("prompt"))
    };
    let body = |_: &RequestShape| body.clone();
    let question = Question::post("/apply-template", &body, &read);
    Ok(connection.ask(question).await?.answer)
}

/// The tokens of a text. `special` lets the tokenizer add what it adds by itself; special tokens spelt out
/// in the text are read as such, as Hugging Face's tokenizers do.
pub(crate) async fn tokenize(
    connection: &Connection,
    text: &str,
    special: bool,
) -> Result<Vec<Token>> {
    if text.is_empty() && !special {
        return Ok(Vec::new());
    }
    let body = json!({
        "content": text,
        "add_special": special,
        "parse_special": true,
        "with_pieces": true,
    });
    let read = |raw: &Value| {
        let tokens = list_at(raw, "/tokens");
        let tokens = tokens.ok_or_else(|| ReadError::missing("tokens"))?;
        let tokens: Option<Vec<Token>> = tokens.iter().map(read_token).collect();
        tokens.ok_or_else(|| ReadError::missing("id and piece for every token"))
    };
    let body = |_: &RequestShape| body.clone();
    let question = Question::post("/tokenize", &body, &read);
    Ok(connection.ask(question).await?.answer)
}

impl LlamaServer {
    /// Cuts prefix and continuation into tokens, after a start token where one is wanted and can be named.
    /// A text that a template rendered spells its own, and has no `start`.
    pub(crate) async fn cut(
        &self,
        connection: &Connection,
        (prefix, continuation): (&str, &str),
        start: Option<(&Start, Option<&str>)>,
    ) -> Result<Cut> {
        let named = matches!(start, Some((Start::Token(_), _)));
        let special = start.is_some_and(|(start, _)| *start != Start::Never && !named);
        let tokens = tokenize(connection, &format!("{prefix}{continuation}"), special).await?;
        let first = tokens.first().map(|token| token.id);
        let started = first.is_some() && first == self.start_token;
        let before = match start {
            Some((Start::Token(token), _)) => Some(token.as_str()),
            Some((Start::Text, bos)) if !started => bos.or(self.text_start.as_deref()),
            Some((Start::Always, bos)) if !started => {
                let name = bos.or(self.start_text.as_deref());
                let untold = || {
                    bad("the server does not tell its start token")
                        .hint("name it, for example --model-arg bos='<s>'")
                };
                Some(name.ok_or_else(untold)?)
            }
            _ => None,
        };
        // Where every token is the marker of a role, none of them is put first.
        let before = tokenize(connection, before.unwrap_or_default(), false).await?;
        Ok(cut(before, tokens, prefix, continuation)?)
    }
}

fn read_token(raw: &Value) -> Option<Token> {
    let id = raw.get("id").and_then(Value::as_u64)?;
    let (bytes, whole) = match raw.get("piece")? {
        Value::String(text) => (text.as_bytes().to_vec(), !text.is_empty()),
        Value::Array(bytes) => {
            let bytes: Option<Vec<u8>> = bytes
                .iter()
                .map(|b| b.as_u64().and_then(|b| u8::try_from(b).ok()))
                .collect();
            (bytes?, false)
        }
        _ => return None,
    };
    Some(Token { id, bytes, whole })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cut {
    tokens: Vec<Token>,
    /// The first token to be scored.
    first: usize,
    /// That token also holds the end of the prefix.
    merged: bool,
    /// The first token of all would be scored, but has nothing before it.
    first_unscored: bool,
}

/// Finds the continuation among tokens. `start` are tokens put before the text; they and whatever
/// the tokenizer added by itself hold none of the text's bytes.
fn cut(
    start: Vec<Token>,
    tokens: Vec<Token>,
    prefix: &str,
    continuation: &str,
) -> Result<Cut, ReadError> {
    let wanted = continuation.len();
    let total: usize = tokens.iter().map(|t| t.bytes.len()).sum();
    let text = prefix.len() + wanted;
    // Tokens added by the tokenizer spell themselves; sentencepiece adds a space in front.
    if total < text {
        return Err(ReadError::Unreadable(format!(
            "the tokens spell {total} bytes where {text} were sent"
        )));
    }
    let begins = total - wanted;
    let mut offset = 0;
    let mut first = tokens.len();
    let mut merged = false;
    for (index, token) in tokens.iter().enumerate() {
        let end = offset + token.bytes.len();
        if end > begins {
            first = index;
            merged = offset < begins && !prefix.is_empty();
            break;
        }
        offset = end;
    }
    let shift = start.len();
    let mut all = start;
    all.extend(tokens);
    let spelt: Vec<u8> = all.iter().flat_map(|t| t.bytes.iter().copied()).collect();
    if !spelt.ends_with(continuation.as_bytes()) {
        return Err(ReadError::Unreadable(
            "the tokens do not spell the text that was sent".into(),
        ));
    }
    let first = first + shift;
    let first_unscored = first == 0;
    Ok(Cut {
        tokens: all,
        first: first.max(1),
        merged,
        first_unscored,
    })
}

/// One question to the server: the log-probabilities of `count` tokens from `at` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Index of the first token.
    at: usize,
    count: usize,
    /// Asked by a grammar; otherwise by the whole distribution.
    pub(crate) forced: bool,
}

impl Cut {
    pub(crate) fn stretches(&self) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for (at, token) in self.tokens.iter().enumerate().skip(self.first) {
            match stretches.last_mut() {
                Some(last) if last.forced && token.whole => last.count += 1,
                _ => stretches.push(Stretch {
                    at,
                    count: 1,
                    forced: token.whole,
                }),
            }
        }
        stretches
    }

    fn asked(&self, stretch: Stretch) -> &[Token] {
        let range = stretch.at..stretch.at + stretch.count;
        self.tokens.get(range).unwrap_or_default()
    }

    /// The body of one question. Where only the distribution matters, the server is made to emit a token
    /// that it always can.
    pub(crate) fn body(&self, stretch: Stretch, server: &LlamaServer) -> Value {
        let before = self.tokens.get(..stretch.at).unwrap_or_default();
        let mut body = json!({
            "prompt": before.iter().map(|t| t.id).collect::<Vec<_>>(),
            "n_predict": stretch.count,
            "n_probs": 1,
            "temperature": 0.0,
            "cache_prompt": true,
            "response_fields": FIELDS.split(' ').collect::<Vec<_>>(),
        });
        if stretch.forced {
            let wanted = self.asked(stretch).iter().map(|t| format!(" <[{}]>", t.id));
            body["grammar"] = format!("root ::={}", wanted.collect::<String>()).into();
        } else {
            body["n_probs"] = server.vocabulary.into();
            body["logit_bias"] = json!([[server.plain_token, 1000.0]]);
        }
        body
    }

    /// Reads the log-probabilities out of the answer to one question.
    pub(crate) fn read(&self, stretch: Stretch, raw: &Value) -> Result<Read<Vec<f64>>, ReadError> {
        let steps = list_at(raw, "/completion_probabilities")
            .ok_or_else(|| ReadError::missing("completion_probabilities"))?;
        let wanted = self.asked(stretch);
        if steps.len() != wanted.len() {
            return Err(ReadError::Unreadable(format!(
                "{} tokens came back where {} were asked for",
                steps.len(),
                wanted.len()
            )));
        }
        let pairs = wanted.iter().zip(steps);
        let values: Option<Vec<f64>> = pairs
            .map(|(token, step)| {
                let own = std::iter::once(step);
                let listed = list_at(step, "/top_logprobs");
                own.chain(listed.into_iter().flatten())
                    .find(|entry| entry.get("id").and_then(Value::as_u64) == Some(token.id))
                    .and_then(|entry| entry.get("logprob").and_then(Value::as_f64))
            })
            .collect();
        let other =
            || ReadError::Unreadable("the server emitted other tokens than it was told to".into());
        Ok(Read {
            answer: values.ok_or_else(other)?,
            usage: Usage {
                prompt_tokens: count(raw, "/tokens_evaluated"),
                cached_tokens: count(raw, "/timings/cache_n"),
                completion_tokens: count(raw, "/tokens_predicted"),
                ..Usage::default()
            },
            usage_told: told(raw, "/tokens_evaluated"),
            cache_writes: 0,
            model_version: text(raw, "/model"),
        })
    }

    pub(crate) fn score(&self, logprobs: Vec<f64>) -> Result<ContinuationScore, ReadError> {
        let scored = self.tokens.get(self.first..).unwrap_or_default();
        let tokens = scored
            .iter()
            .map(|t| String::from_utf8_lossy(&t.bytes).into_owned())
            .collect();
        finite_score(tokens, logprobs, self.merged, self.first_unscored).map_err(ReadError::Final)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(id: u64, bytes: &[u8]) -> Token {
        Token {
            id,
            bytes: bytes.to_vec(),
            whole: std::str::from_utf8(bytes).is_ok(),
        }
    }

    #[test]
    fn a_continuation_is_one_question_unless_a_character_is_split() {
        let tokens = vec![
            token(1, b"Hi"),
            token(2, b" you"),
            token(3, b" \xf0\x9f"),
            token(4, b"\x98\x80"),
            token(5, b"!"),
        ];
        let cut = cut(vec![], tokens, "Hi", " you \u{1f600}!").unwrap();
        assert_eq!(
            (cut.first, cut.merged, cut.first_unscored),
            (1, false, false)
        );
        let stretches: Vec<_> = cut
            .stretches()
            .iter()
            .map(|s| (s.at, s.count, s.forced))
            .collect();
        assert_eq!(
            stretches,
            [(1, 1, true), (2, 1, false), (3, 1, false), (4, 1, true)]
        );
        insta::assert_json_snapshot!(cut.body(cut.stretches()[0], &LlamaServer::default()), @r###"
        {
          "prompt": [
            1
          ],
          "n_predict": 1,
          "n_probs": 1,
          "temperature": 0.0,
          "cache_prompt": true,
          "response_fields": [
            "completion_probabilities",
            "tokens_evaluated",
            "tokens_predicted",
            "timings",
            "truncated",
            "stop_type",
            "model"
          ],
          "grammar": "root ::= <[2]>"
        }
        "###);
    }

    #[test]
    fn the_first_token_of_an_empty_prefix_needs_a_start() {
        let tokens = || vec![token(1, b"Hi"), token(2, b" you")];
        let bare = cut(vec![], tokens(), "", "Hi you").unwrap();
        assert_eq!((bare.first, bare.first_unscored), (1, true));
        let started = cut(vec![token(0, b"<s>")], tokens(), "", "Hi you").unwrap();
        assert_eq!((started.first, started.first_unscored), (1, false));
        assert_eq!(started.stretches()[0].count, 2);
    }

    #[test]
    fn a_merge_over_the_boundary_is_said_so() {
        let cut = cut(
            vec![],
            vec![token(1, b"H"), token(2, b"i you")],
            "Hi",
            " you",
        )
        .unwrap();
        assert_eq!((cut.first, cut.merged), (1, true));
    }

    #[test]
    fn tokens_that_spell_something_else_are_refused() {
        assert!(cut(vec![], vec![token(1, b"Ha")], "", "Hi").is_err());
        assert!(cut(vec![], vec![token(1, b"H")], "", "Hi").is_err());
    }

    #[test]
    fn the_forced_tokens_probability_is_read_not_the_likeliest_ones() {
        let tokens = vec![token(1, b"a"), token(2, b"b")];
        let cut = cut(vec![], tokens, "a", "b").unwrap();
        let stretch = cut.stretches()[0];
        let raw = json!({"completion_probabilities": [
            {"id": 2, "logprob": -7.5, "top_logprobs": [{"id": 9, "logprob": -0.1}]},
        ]});
        assert_eq!(cut.read(stretch, &raw).unwrap().answer, [-7.5]);
        let other = json!({"completion_probabilities": [{"id": 9, "logprob": -0.1}]});
        assert!(cut.read(stretch, &other).is_err());
    }
}
