//! A model that is served: its name, its backlogs, and asking it.

use std::sync::Arc;
use std::thread::JoinHandle;

use mary_contract::{
    Details, Generate, Generated, Model, Observe, Observed, Part, Prompt, Reply, Score, Scored,
    Start, Tokens, WorkQueue,
};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::backlog::{Backlog, Told};
use crate::error::ApiError;

/// Bytes of a token, at most.
const LONGEST_TOKEN: usize = 256;

type Line<Q, A> = Option<Arc<Backlog<Q, A>>>;

/// Where the pieces of an answer come from.
type Answering<A> = Result<UnboundedReceiver<Told<A>>, ApiError>;

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
        macro_rules! line {
            ($able:ident, $serve:ident) => {{
                let (has, lines) = (model.$able().is_some(), (&model, &mut threads));
                line(has, stringify!($serve), lines, |model, queue| {
                    model.$able().into_iter().for_each(|it| it.$serve(queue));
                })?
            }};
        }
        let served = Self {
            name,
            generate: line!(generator, generate),
            score: line!(scorer, score),
            observe: line!(observer, observe),
            model,
        };
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

    /// Refuses what is surely too long. The model's thread, which serves others meanwhile, would have to read it first.
    fn fits(&self, bytes: usize) -> Result<(), ApiError> {
        let least = bytes / LONGEST_TOKEN;
        match least > self.context() {
            true => Err(ApiError::too_long(
                format!("at least {least}"),
                self.context(),
            )),
            false => Ok(()),
        }
    }

    pub fn write(&self, client: u64, request: Generate) -> Answering<Generated> {
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
        self.fits(request.prompt.text().len())?;
        Ok(line.ask(client, request, bytes)?)
    }

    /// Token ids scored after others, with so many alternatives for each.
    pub fn score_ids(
        &self,
        client: u64,
        (before, ids): (&[u32], &[u32]),
        alternatives: u32,
        rank: bool,
    ) -> Answering<Scored> {
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

    pub fn score(&self, client: u64, request: Score) -> Answering<Scored> {
        let line = self.score.as_ref();
        let line = line.ok_or_else(|| self.cannot("gives no log-probabilities"))?;
        let continuations: usize = request.continuations.iter().map(String::len).sum();
        let bytes = request.prefix.text().len() + continuations;
        Ok(line.ask(client, request, bytes)?)
    }

    pub fn observe(&self, client: u64, request: Observe) -> Answering<Observed> {
        let line = self.observe.as_ref();
        let line = line.ok_or_else(|| self.cannot("shows no vectors"))?;
        let bytes = request.text.len();
        self.fits(bytes)?;
        Ok(line.ask(client, request, bytes)?)
    }
}

/// The backlog of one kind of request, with its thread, where the model `has` what it takes.
fn line<Q: Send + 'static, A: Send + 'static>(
    has: bool,
    name: &str,
    (model, threads): (&Arc<dyn Model>, &mut Vec<JoinHandle<()>>),
    serve: fn(&dyn Model, &mut dyn WorkQueue<Q, A>),
) -> std::io::Result<Line<Q, A>> {
    if !has {
        return Ok(None);
    }
    let model = Arc::clone(model);
    let (line, thread) = Backlog::start(name, move |queue| serve(&*model, queue))?;
    threads.push(thread);
    Ok(Some(line))
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
            None => return Err(ApiError::stopping()),
        }
    }
}
