//! Scoring over HTTP, in the three ways services offer it: an echo of the prompt, the list of the
//! most probable next tokens, and llama.cpp's forced tokens.

use mary_contract::{
    ErrorKind, Generate, ModelError, Prompt, PromptForm, Reply, ReplyMeta, Sampling, Score, Scored,
    Start, Usage,
};
use serde_json::{Value, json};

use crate::connection::{Question, Told};
use crate::estimate::{tokens_in, tokens_in_prompt};
use crate::llamacpp::{Cut, Token, cut, read_tokens, tokenize_body};
use crate::model::Remote;
use crate::money::Promise;
use crate::openai_completions::Echo;
use crate::options::Logprobs;
use crate::wire::{Read, words};
use crate::{openai_chat, openai_completions};

/// What several requests for one answer add up to.
struct Sum {
    usage: Usage,
    /// Every one of them was counted.
    told: bool,
    cache_writes: u64,
    raw: Vec<Value>,
    retries: u32,
    version: Option<String>,
    answers: usize,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            usage: Usage::default(),
            told: true,
            cache_writes: 0,
            raw: Vec::new(),
            retries: 0,
            version: None,
            answers: 0,
        }
    }
}

impl Sum {
    fn add<T>(&mut self, told: Told<Read<T>>) -> T {
        self.usage += told.answer.usage;
        self.told &= told.answer.usage_told;
        self.cache_writes += told.answer.cache_writes;
        self.retries += told.retries;
        self.raw.push(told.raw);
        self.answers += 1;
        self.version = told.answer.model_version.or(self.version.take());
        told.answer.answer
    }
}

impl Remote {
    /// Answers one scoring request.
    pub(crate) async fn score_one(&self, score: Score) -> Result<Reply<Scored>, ModelError> {
        if score.continuations.is_empty() {
            return Ok(Reply::bare(Scored {
                continuations: vec![],
            }));
        }
        if let Some(empty) = score.continuations.iter().position(String::is_empty) {
            return Err(bad(format!("continuation number {empty} is empty")));
        }
        let estimate = self.estimator.score(&score);
        let promise = self.set_aside(estimate.cost).await?;
        let mut sum = Sum::default();
        let scored = match self.logprobs {
            Logprobs::None => Err(bad(format!(
                "{} gives no log-probabilities of given text",
                self.card.model
            ))),
            Logprobs::Top => self.score_by_top(&score, &promise, &mut sum).await,
            Logprobs::Echo => self.score_by_echo(&score, &promise, &mut sum).await,
            Logprobs::Forced => self.score_by_force(&score, &promise, &mut sum).await,
        };
        let counted = (sum.cache_writes, false);
        let usage = self.priced(sum.usage, sum.told, counted, promise.dollars());
        let cost = usage.cost.unwrap_or(0.0);
        let scored = match scored {
            Ok(scored) => scored,
            // What was answered before the rest failed was paid for.
            Err(error) => {
                if sum.answers > 0 {
                    promise.lost_part(cost);
                }
                return Err(error);
            }
        };
        promise.settle(cost);
        Ok(Reply {
            answer: scored,
            meta: ReplyMeta {
                usage,
                model_version: sum.version,
                raw: (!sum.raw.is_empty()).then_some(Value::Array(sum.raw)),
                retries: sum.retries,
            },
        })
    }

    async fn score_by_top(
        &self,
        score: &Score,
        promise: &Promise,
        sum: &mut Sum,
    ) -> Result<Scored, ModelError> {
        let generate = Generate {
            prompt: score.prefix.clone(),
            sampling: Sampling {
                temperature: 1.0,
                ..Sampling::greedy(1)
            },
        };
        let format = self
            .entry
            .chat
            .ok_or_else(|| bad(format!("{} takes no chat messages", self.card.model)))?;
        let told = self
            .connection
            .ask(
                Question::post(
                    &format.path(&self.connection.model),
                    &|shape| format.top_body(&self.asked(&generate, shape, 0)),
                    &|raw| format.read_top(raw, &score.continuations),
                )
                .costing(tokens_in_prompt(&score.prefix), promise),
            )
            .await?;
        Ok(sum.add(told))
    }

    async fn score_by_echo(
        &self,
        score: &Score,
        promise: &Promise,
        sum: &mut Sum,
    ) -> Result<Scored, ModelError> {
        let prefix = plain_text(&score.prefix)?;
        let mut continuations = Vec::with_capacity(score.continuations.len());
        for continuation in &score.continuations {
            let echo = Echo {
                model: &self.connection.model,
                prefix: &prefix,
                continuation,
                start: &score.start,
                bos: self.options.bos.as_deref(),
                special_tokens_switch: self.entry.name == "vllm",
            };
            echo.check()?;
            let told = self
                .connection
                .ask(
                    Question::post(openai_completions::PATH, &|_| echo.body(), &|raw| {
                        echo.read(raw)
                    })
                    .costing(tokens_in(&prefix) + tokens_in(continuation), promise),
                )
                .await?;
            continuations.extend(sum.add(told).continuations);
        }
        Ok(Scored { continuations })
    }

    async fn score_by_force(
        &self,
        score: &Score,
        promise: &Promise,
        sum: &mut Sum,
    ) -> Result<Scored, ModelError> {
        let (prefix, rendered) = match score.prefix.form {
            PromptForm::Plain => (plain_text(&score.prefix)?, false),
            PromptForm::Chat => (self.render(&score.prefix).await?, true),
        };
        let mut continuations = Vec::with_capacity(score.continuations.len());
        for continuation in &score.continuations {
            let cut = self
                .cut(&prefix, continuation, &score.start, rendered)
                .await?;
            let mut logprobs = Vec::new();
            for stretch in cut.stretches() {
                let body = cut.body(stretch, self.identity.vocabulary, self.identity.plain_token);
                let told = self
                    .connection
                    .ask(
                        Question::post("/completion", &|_| body.clone(), &|raw| {
                            let answer = cut.read(stretch, raw)?;
                            Ok(llama_usage(raw, answer))
                        })
                        .costing(tokens_in(&prefix), promise),
                    )
                    .await?;
                let whole_distribution = !stretch.forced;
                logprobs.extend(sum.add(told));
                if whole_distribution {
                    // Megabytes of alternatives nobody asked for.
                    sum.raw.pop();
                }
            }
            let scored = cut.score(logprobs).map_err(final_error)?;
            continuations.push(scored);
        }
        Ok(Scored { continuations })
    }

    /// The text as the model's template renders it, up to where its answer begins.
    async fn render(&self, prompt: &Prompt) -> Result<String, ModelError> {
        let body = json!({"messages": openai_chat::messages(prompt)});
        let told = self
            .connection
            .ask(Question::post(
                "/apply-template",
                &|_| body.clone(),
                &|raw| {
                    let prompt = crate::wire::text(raw, "/prompt");
                    Ok(prompt.ok_or_else(|| crate::wire::Unreadable::missing("prompt"))?)
                },
            ))
            .await?;
        Ok(told.answer)
    }

    async fn tokenize(&self, text: &str, special: bool) -> Result<Vec<Token>, ModelError> {
        if text.is_empty() && !special {
            return Ok(Vec::new());
        }
        let body = tokenize_body(text, special);
        let told = self
            .connection
            .ask(Question::post("/tokenize", &|_| body.clone(), &read_tokens))
            .await?;
        Ok(told.answer)
    }

    async fn cut(
        &self,
        prefix: &str,
        continuation: &str,
        start: &Start,
        rendered: bool,
    ) -> Result<Cut, ModelError> {
        // A rendered template spells its own start token.
        let named = matches!(start, Start::Token(_));
        let special = *start != Start::Never && !named && !rendered;
        let tokens = self
            .tokenize(&format!("{prefix}{continuation}"), special)
            .await?;
        let started = tokens
            .first()
            .is_some_and(|t| Some(t.id) == self.identity.start_token);
        let mut before = Vec::new();
        let wanted = matches!(start, Start::Always | Start::Text) && !started || named;
        if wanted && !rendered {
            let told = match start {
                Start::Token(token) => Some(token.clone()),
                Start::Text => self.identity.text_start.clone(),
                _ => self.identity.start_text.clone(),
            };
            let chosen = self.options.bos.clone().filter(|_| !named);
            before = match chosen.or(told) {
                Some(name) => self.tokenize(&name, false).await?,
                // Where every token is the marker of a role, none of them is put first.
                None if *start == Start::Text => Vec::new(),
                None => {
                    return Err(bad("the server does not tell its start token".into())
                        .hint("name it, for example --model-arg bos='<s>'"));
                }
            };
        }
        cut(before, tokens, prefix, continuation).map_err(final_error)
    }
}

fn llama_usage<A>(raw: &Value, answer: A) -> Read<A> {
    Read {
        answer,
        usage: Usage {
            prompt_tokens: crate::wire::count(raw, "/tokens_evaluated"),
            cached_tokens: crate::wire::count(raw, "/timings/cache_n"),
            completion_tokens: crate::wire::count(raw, "/tokens_predicted"),
            reasoning_tokens: 0,
            cost: None,
        },
        usage_told: crate::wire::told(raw, "/tokens_evaluated"),
        cache_writes: 0,
        model_version: crate::wire::text(raw, "/model"),
    }
}

fn final_error(error: crate::wire::ReadError) -> ModelError {
    match error {
        crate::wire::ReadError::Final(error) => error,
        crate::wire::ReadError::Unreadable(what) => {
            ModelError::new(ErrorKind::Transport, what.to_string())
        }
    }
}

/// The prefix as plain text, or why it is none.
fn plain_text(prompt: &Prompt) -> Result<String, ModelError> {
    if prompt.has_images() {
        return Err(bad("a scored text cannot hold pictures over HTTP".into()));
    }
    if prompt.form == PromptForm::Chat {
        return Err(
            bad("this server scores plain text only; it cannot be asked to render a chat template for scoring".into())
                .hint("run the task in its plain form, or serve the model with llama.cpp"),
        );
    }
    Ok(prompt.turns.iter().map(|t| words(&t.parts)).collect())
}

fn bad(message: String) -> ModelError {
    ModelError::new(ErrorKind::BadRequest, message)
}
