//! Answers that are sent while they are written, as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use mary_contract::Generated;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::backlog::Told;
use crate::error::ApiError;
use crate::metrics::Metrics;
use crate::wire::{self, Head};

/// How the pieces of an answer are written.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Completion,
    Chat,
}

impl Form {
    fn chunk(self, head: &Head, words: &str, finish: Option<&str>) -> Value {
        match self {
            Self::Completion => head.with(
                "text_completion",
                json!([{"index": 0, "text": words, "finish_reason": finish, "logprobs": null}]),
            ),
            Self::Chat => {
                let delta = match finish {
                    None => json!({"role": "assistant", "content": words}),
                    Some(_) if words.is_empty() => json!({}),
                    Some(_) => json!({"content": words}),
                };
                head.with(
                    "chat.completion.chunk",
                    json!([{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": null}]),
                )
            }
        }
    }
}

pub(crate) struct Events {
    pub form: Form,
    pub head: Head,
    pub with_usage: bool,
    pub receiver: UnboundedReceiver<Told<Generated>>,
    pub metrics: Arc<Metrics>,
}

impl Events {
    pub fn response(self) -> Response {
        let stream = Sending {
            events: self,
            told: 0,
            ready: VecDeque::new(),
            over: false,
        };
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache"),
        ];
        (headers, Body::from_stream(stream)).into_response()
    }
}

/// Dropped when the client leaves; the model then sees that nobody waits.
struct Sending {
    events: Events,
    told: usize,
    ready: VecDeque<Bytes>,
    over: bool,
}

impl Sending {
    fn push(&mut self, event: &Value) {
        self.ready.push_back(format!("data: {event}\n\n").into());
    }

    fn take(&mut self, told: Option<Told<Generated>>) {
        let (form, head) = (self.events.form, self.events.head.clone());
        match told {
            Some(Told::Words(words)) => {
                self.told += words.len();
                self.push(&form.chunk(&head, &words, None));
            }
            Some(Told::Ids(_)) => {}
            Some(Told::Done(done)) => match *done {
                Ok(reply) => {
                    let usage = reply.meta.usage;
                    self.events.metrics.tokens(&usage);
                    let rest = reply.answer.text.get(self.told..).unwrap_or_default();
                    let finish = wire::finish(&reply.answer.finish);
                    self.push(&form.chunk(&head, rest, Some(finish)));
                    if self.events.with_usage {
                        let mut last = form.chunk(&head, "", None);
                        last["choices"] = json!([]);
                        last["usage"] = wire::usage(&usage);
                        self.push(&last);
                    }
                    self.end();
                }
                Err(error) => self.fail(error.into()),
            },
            None => self.fail(ApiError::stopping()),
        }
    }

    fn fail(&mut self, error: ApiError) {
        self.push(&error.body());
        self.end();
    }

    fn end(&mut self) {
        self.ready
            .push_back(Bytes::from_static(b"data: [DONE]\n\n"));
        self.over = true;
    }
}

impl Stream for Sending {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(piece)));
            }
            if self.over {
                return Poll::Ready(None);
            }
            match self.events.receiver.poll_recv(context) {
                Poll::Ready(told) => self.take(told),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
