//! A model that is served: its name, its backlogs, and asking it.

use std::sync::Arc;
use std::thread::JoinHandle;

use mary_contract::{
    Details, Generate, Generated, Model, ModelError, Observe, Observed, Part, Prompt, Reply, Score,
    Scored, Start, Tokens,
};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::backlog::{Backlog, Told};
use crate::error::ApiError;

/// Bytes of a token, at most, in most texts.
const LONG_TOKEN: usize = 8;

type Line<Q, A> = Option<Arc<Backlog<Q, A>>>;

/// A model under the name that clients call it by.
pub(crate) struct Served {
    pub name: String,
    pub model: Arc<dyn Model>,
    pub generate: Line<Generate, Generated>,
    pub score: Line<Score, Scored>,
    pub observe: Line<Observe, Observed>,
}

impl Served {
    pub fn start(
        name: String,
        model: Arc<dyn Model>,
    ) -> std::io::Result<(Self, Vec<JoinHandle<()>>)> {
        let mut threads = vec![];
        let mut served = Self {
            name,
            generate: None,
            score: None,
            observe: None,
            model,
        };
        if served.model.generator().is_some() {
            let model = Arc::clone(&served.model);
            let (line, thread) = Backlog::start("generate", move |queue| {
                if let Some(generator) = model.generator() {
                    generator.generate(queue);
                }
            })?;
            served.generate = Some(line);
            threads.push(thread);
        }
        if served.model.scorer().is_some() {
            let model = Arc::clone(&served.model);
            let (line, thread) = Backlog::start("score", move |queue| {
                if let Some(scorer) = model.scorer() {
                    scorer.score(queue);
                }
            })?;
            served.score = Some(line);
            threads.push(thread);
        }
        if served.model.observer().is_some() {
            let model = Arc::clone(&served.model);
            let (line, thread) = Backlog::start("observe", move |queue| {
                if let Some(observer) = model.observer() {
                    observer.observe(queue);
                }
            })?;
            served.observe = Some(line);
            threads.push(thread);
        }
        Ok((served, threads))
    }

    pub fn end(&self) {
        self.generate.iter().for_each(|line| line.end());
        self.score.iter().for_each(|line| line.end());
        self.observe.iter().for_each(|line| line.end());
    }

    /// Requests that wait and those under way.
    pub fn load(&self) -> (usize, usize) {
        let loads = [
            self.generate.as_ref().map(|line| line.load()),
            self.score.as_ref().map(|line| line.load()),
            self.observe.as_ref().map(|line| line.load()),
        ];
        let all = loads.into_iter().flatten();
        all.fold((0, 0), |sum, load| (sum.0 + load.0, sum.1 + load.1))
    }

    fn cannot(&self, what: &str) -> ApiError {
        ApiError::bad(format!("`{}` {what}", self.name))
    }

    pub fn tokens(&self) -> Result<&dyn Tokens, ApiError> {
        let tokens = self.model.tokens();
        tokens.ok_or_else(|| self.cannot("does not show its tokens"))
    }

    pub fn context(&self) -> usize {
        self.model.card().context_length.unwrap_or(usize::MAX)
    }

    /// Refuses what is too long for the model. Its thread serves others meanwhile: it is not to read what is refused in
    /// the end.
    fn fits(
        &self,
        bytes: usize,
        read: impl FnOnce(&dyn Tokens) -> Result<Vec<u32>, ModelError>,
    ) -> Result<(), ApiError> {
        let context = self.context();
        match self.model.tokens() {
            Some(tokens) if bytes / LONG_TOKEN > context => {
                let length = tokio::task::block_in_place(|| read(tokens))?.len();
                match length > context {
                    true => Err(ApiError::too_long(length, context)),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    pub fn write(
        &self,
        client: u64,
        request: Generate,
    ) -> Result<UnboundedReceiver<Told<Generated>>, ApiError> {
        let line = self.generate.as_ref();
        let line = line.ok_or_else(|| self.cannot("does not write"))?;
        if request.prompt.has_images() && !self.model.card().capabilities.images {
            return Err(self.cannot("takes no pictures"));
        }
        let parts = request.prompt.turns.iter().flat_map(|turn| &turn.parts);
        let bytes = parts.map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Image(image) => image.data.len(),
        });
        let bytes: usize = bytes.sum();
        if !request.prompt.has_images() {
            self.fits(bytes, |tokens| tokens.prompt(&request.prompt))?;
        }
        Ok(line.ask(client, request, bytes)?)
    }

    /// Token ids scored after others, with so many alternatives for each.
    pub fn score_ids(
        &self,
        client: u64,
        (before, ids): (&[u32], &[u32]),
        alternatives: u32,
        rank: bool,
    ) -> Result<UnboundedReceiver<Told<Scored>>, ApiError> {
        let request = Score {
            prefix: Prompt::plain(in_decimal(before)),
            continuations: vec![in_decimal(ids)],
            start: Start::Never,
            details: Details {
                as_ids: true,
                alternatives,
                rank,
                ..Details::default()
            },
        };
        self.score(client, request)
    }

    pub fn score(
        &self,
        client: u64,
        request: Score,
    ) -> Result<UnboundedReceiver<Told<Scored>>, ApiError> {
        let line = self.score.as_ref();
        let line = line.ok_or_else(|| self.cannot("gives no log-probabilities"))?;
        let continuations: usize = request.continuations.iter().map(String::len).sum();
        let bytes = request.prefix.text().len() + continuations;
        Ok(line.ask(client, request, bytes)?)
    }

    pub fn observe(
        &self,
        client: u64,
        request: Observe,
    ) -> Result<UnboundedReceiver<Told<Observed>>, ApiError> {
        let line = self.observe.as_ref();
        let line = line.ok_or_else(|| self.cannot("shows no vectors"))?;
        let bytes = request.text.len();
        self.fits(bytes, |tokens| tokens.encode(&request.text))?;
        Ok(line.ask(client, request, bytes)?)
    }
}

fn in_decimal(ids: &[u32]) -> String {
    let words: Vec<String> = ids.iter().map(u32::to_string).collect();
    words.join(" ")
}

/// Waits for the end of an answer.
pub(crate) async fn whole<A>(
    mut receiver: UnboundedReceiver<Told<A>>,
) -> Result<(Reply<A>, Option<Vec<u32>>), ApiError> {
    let mut ids = None;
    loop {
        match receiver.recv().await {
            Some(Told::Done(done)) => return Ok(((*done)?, ids)),
            Some(Told::Ids(told)) => ids = Some(told),
            Some(Told::Words(_)) => {}
            None => {
                let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
                return Err(ApiError::new(
                    status,
                    "server_error",
                    "the server is stopping",
                ));
            }
        }
    }
}
