//! Scoring over HTTP, in the three ways services offer it: an echo of the prompt, the list of the
//! most probable next tokens, and llama.cpp's forced tokens.

use mary_contract::{
    Generate, Prompt, PromptForm, Reply, ReplyMeta, Sampling, Score, Scored, Usage, prompt_tokens,
    text_tokens,
};
use serde_json::Value;

use crate::connection::{Question, Received};
use crate::format::Echo;
use crate::llamacpp;
use crate::money::Promise;
use crate::options::{Logprobs, Result, bad};
use crate::remote::Remote;
use crate::wire::{Read, RequestShape, words};

/// What several requests for one answer add up to.
struct Sum {
    promise: Promise,
    usage: Usage,
    /// One of them was not counted by the service.
    untold: bool,
    cache_writes: u64,
    raw: Vec<Value>,
    retries: u32,
    version: Option<String>,
    answers: usize,
}

impl Sum {
    fn add<T>(&mut self, received: Received<Read<T>>) -> T {
        let read = received.answer;
        self.usage += read.usage;
        self.untold |= !read.usage_told;
        self.cache_writes += read.cache_writes;
        self.retries += received.retries;
        self.raw.push(received.raw);
        self.answers += 1;
        self.version = read.model_version.or(self.version.take());
        read.answer
    }
}

impl Remote {
    pub(crate) async fn score_one(&self, score: Score) -> Result<Reply<Scored>> {
        if score.continuations.is_empty() {
            return Ok(Reply::bare(Scored {
                continuations: vec![],
            }));
        }
        if let Some(empty) = score.continuations.iter().position(String::is_empty) {
            return Err(bad(format!("continuation number {empty} is empty")));
        }
        let promise = self.set_aside(self.estimator.score(&score).cost).await?;
        let mut sum = Sum {
            promise,
            usage: Usage::default(),
            untold: false,
            cache_writes: 0,
            raw: Vec::new(),
            retries: 0,
            version: None,
            answers: 0,
        };
        let scored = match self.logprobs {
            Logprobs::None => Err(bad(format!(
                "{} gives no log-probabilities of given text",
                self.card.model
            ))),
            Logprobs::Top => self.score_by_top(&score, &mut sum).await,
            Logprobs::Echo => self.score_by_echo(&score, &mut sum).await,
            Logprobs::Forced => self.score_by_force(&score, &mut sum).await,
        };
        let counted = (sum.cache_writes, false);
        let usage = self.priced(sum.usage, !sum.untold, counted, sum.promise.dollars());
        let cost = usage.cost.unwrap_or(0.0);
        let answer = scored.inspect_err(|_| {
            // What was answered before the rest failed was paid for.
            if sum.answers > 0 {
                sum.promise.lost_part(cost);
            }
        })?;
        sum.promise.settle(cost);
        Ok(Reply {
            answer,
            meta: ReplyMeta {
                usage,
                model_version: sum.version,
                raw: (!sum.raw.is_empty()).then_some(Value::Array(sum.raw)),
                retries: sum.retries,
            },
        })
    }

    async fn score_by_top(&self, score: &Score, sum: &mut Sum) -> Result<Scored> {
        let generate = Generate {
            prompt: score.prefix.clone(),
            sampling: Sampling {
                temperature: 1.0,
                ..Sampling::greedy(1)
            },
        };
        let chat = self.entry.chat.and_then(|f| Some((f, f.top_tokens()?)));
        let (format, top) =
            chat.ok_or_else(|| bad(format!("{} takes no chat messages", self.card.model)))?;
        let path = format.path(&self.connection.model);
        let body = |shape: &RequestShape| top.body(&self.wire_request(&generate, shape, 0));
        let read = |raw: &Value| top.read(raw, &score.continuations);
        let question = Question::post(&path, &body, &read);
        let question = question.costing(prompt_tokens(&score.prefix), &sum.promise);
        let received = self.connection.ask(question).await?;
        Ok(sum.add(received))
    }

    async fn score_by_echo(&self, score: &Score, sum: &mut Sum) -> Result<Scored> {
        let plain = self.entry.plain.and_then(|f| Some((f, f.echo()?)));
        let (format, echoes) =
            plain.ok_or_else(|| bad(format!("{} echoes no text", self.card.model)))?;
        let path = format.path(&self.connection.model);
        let prefix = plain_text(&score.prefix)?;
        let mut continuations = Vec::with_capacity(score.continuations.len());
        for continuation in &score.continuations {
            let echo = Echo {
                model: &self.connection.model,
                prefix: &prefix,
                continuation,
                start: &score.start,
                bos: self.options.bos.as_deref(),
                special_tokens_switch: self.entry.extensions.add_special_tokens,
            };
            let body = echoes.body(&echo)?;
            let tokens = text_tokens(&prefix) + text_tokens(continuation);
            let body = |_: &RequestShape| body.clone();
            let read = |raw: &Value| echoes.read(raw, &echo);
            let question = Question::post(&path, &body, &read).costing(tokens, &sum.promise);
            let received = self.connection.ask(question).await?;
            continuations.extend(sum.add(received).continuations);
        }
        Ok(Scored { continuations })
    }

    async fn score_by_force(&self, score: &Score, sum: &mut Sum) -> Result<Scored> {
        let (prefix, rendered) = match score.prefix.form {
            PromptForm::Plain => (plain_text(&score.prefix)?, false),
            PromptForm::Chat => (
                llamacpp::render(&self.connection, &score.prefix).await?,
                true,
            ),
        };
        let (server, bos) = (&self.identity.llama, self.options.bos.as_deref());
        let mut continuations = Vec::with_capacity(score.continuations.len());
        for continuation in &score.continuations {
            let text = (prefix.as_str(), continuation.as_str());
            let start = (!rendered).then_some((&score.start, bos));
            let cut = server.cut(&self.connection, text, start).await?;
            let mut logprobs = Vec::new();
            for stretch in cut.stretches() {
                let body = cut.body(stretch, server);
                let body = |_: &RequestShape| body.clone();
                let read = |raw: &Value| cut.read(stretch, raw);
                let question = Question::post("/completion", &body, &read);
                let question = question.costing(text_tokens(&prefix), &sum.promise);
                let received = self.connection.ask(question).await?;
                logprobs.extend(sum.add(received));
                if !stretch.forced {
                    // Megabytes of alternatives nobody asked for.
                    sum.raw.pop();
                }
            }
            continuations.push(cut.score(logprobs)?);
        }
        Ok(Scored { continuations })
    }
}

/// The prefix as plain text, or why it is none.
fn plain_text(prompt: &Prompt) -> Result<String> {
    if prompt.has_images() {
        return Err(bad("a scored text cannot hold pictures over HTTP"));
    }
    if prompt.form == PromptForm::Chat {
        return Err(
            bad("this server scores plain text only; it cannot be asked to render a chat template for scoring")
                .hint("run the task in its plain form, or serve the model with llama.cpp"),
        );
    }
    Ok(prompt.turns.iter().map(|t| words(&t.parts)).collect())
}
