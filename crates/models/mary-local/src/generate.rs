//! Prompts with a common beginning, which is computed once, write one token at a time together. When some are
//! finished, others that share the beginning take their places.

use std::ops::ControlFlow;
use std::sync::Arc;

use mary_contract::{Finish, Generate, Generated, Job, ModelError, Reply, Usage, WorkQueue};
use mary_weights::Tokenizer;
use rayon::prelude::*;

use crate::batch::Batch;
use crate::engine::Session;
use crate::errors::too_long;
use crate::model::{LocalModel, replied};
use crate::sampling::Sampler;
use crate::text::Reader;
use crate::vision::{Album, Place};

const WINDOW: usize = 1024;
/// Prompts that write together unless the user says otherwise: weights are unpacked once for all of them.
const GROUP: usize = 64;
/// The same where a GPU computes: a step costs it little more.
const GROUP_ON_CARD: usize = 256;
/// A common beginning shorter than this is not worth sharing.
const SHARED: usize = 8;

struct Writing {
    job: usize,
    prompt: Vec<u32>,
    most: usize,
    sampler: Sampler,
    /// First cache row of its own, and how many there are; none while it waits or when it is answered.
    first: usize,
    rows: usize,
    answered: bool,
    /// Places of the prompt's tokens, then of those written, where the model turns by them.
    places: Vec<Place>,
    held: usize,
    written: Vec<u32>,
    finish: Option<Result<Finish, ModelError>>,
    /// Where the answer ends when a stop string cut it.
    cut: Option<String>,
}

#[derive(Default)]
struct Common {
    tokens: Vec<u32>,
    turns: Vec<[u32; 3]>,
}

type Queue<'q> = dyn WorkQueue<Generate, Generated> + 'q;

pub(crate) fn serve(model: &LocalModel, queue: &mut Queue<'_>) {
    loop {
        let jobs: Vec<Job<Generate>> = std::iter::from_fn(|| queue.next()).take(WINDOW).collect();
        let album = model.album(jobs.iter().map(|job| &job.request.prompt));
        let writer = Writer {
            model,
            album: &album,
            jobs: &jobs,
        };
        if jobs.is_empty() || writer.answer(queue).is_break() {
            return;
        }
    }
}

#[derive(Clone, Copy)]
struct Writer<'a> {
    model: &'a LocalModel,
    album: &'a Album<'a>,
    jobs: &'a [Job<Generate>],
}

impl Writer<'_> {
    fn answer(self, queue: &mut Queue<'_>) -> ControlFlow<()> {
        let mut all = vec![];
        for (job, asked) in self.jobs.iter().enumerate() {
            match self.begin(job, &asked.request) {
                Ok(writing) => all.push(writing),
                Err(error) => queue.answer(asked.ticket, Err(error))?,
            }
        }
        all.sort_by(|a, b| a.prompt.cmp(&b.prompt));
        let on_card = self.model.ahead() > 0;
        let usual = if on_card { GROUP_ON_CARD } else { GROUP };
        let group = self.model.options().batch_size.unwrap_or(usual).max(1);
        let mut rest = all.as_mut_slice();
        while !rest.is_empty() {
            let lengths = rest.iter().map(|w| w.prompt.len() + w.most);
            let together = self.model.fitting(lengths, group);
            let (mut now, later) = rest.split_at_mut(alike(rest, together));
            rest = later;
            while !now.is_empty() {
                match self.write(queue, now, together.min(now.len())) {
                    Ok(flow) => flow?,
                    Err(error) => {
                        for writing in now.iter().filter(|w| !w.answered) {
                            queue.answer(self.jobs[writing.job].ticket, Err(error.clone()))?;
                        }
                        break;
                    }
                }
                // Those that were too long for the places of others have a round of their own.
                now.sort_by_key(|w| w.answered);
                let left = now.partition_point(|w| !w.answered);
                now = &mut now[..left];
            }
        }
        ControlFlow::Continue(())
    }

    fn begin(self, job: usize, request: &Generate) -> Result<Writing, ModelError> {
        let reader = Reader::showing(self.model.checkpoint(), self.album);
        let (prompt, shown) = (reader.prompt(&request.prompt)?, self.album.shown());
        let (count, context) = (prompt.len(), self.model.architecture().context);
        if count >= context {
            let message = format!("the prompt has {count} tokens; this model sees {context}");
            return Err(too_long(message).hint("shorten the prompt or take fewer shots"));
        }
        let places = shown.turns().then(|| shown.places(&prompt));
        Ok(Writing {
            job,
            most: (request.sampling.max_tokens as usize).min(context - count),
            places: places.unwrap_or_default(),
            prompt,
            sampler: Sampler::new(&request.sampling),
            first: 0,
            rows: 0,
            answered: false,
            held: 0,
            written: vec![],
            finish: None,
            cut: None,
        })
    }

    /// Some answers may be left, for whom no place was long enough.
    fn write(
        self,
        queue: &mut Queue<'_>,
        pool: &mut [Writing],
        together: usize,
    ) -> Result<ControlFlow<()>, ModelError> {
        let mut told = 0;
        let common = common(pool);
        let mut seats = Seats::new(self.model, pool, &common, together);
        let mut session = self.model.session(seats.rows)?;
        if !self.album.is_empty() {
            session.show(Arc::clone(self.album.shown()));
        }
        self.read_common(&mut session, &common)?;
        loop {
            let came = seats.fill(pool, &common);
            if !came.is_empty() {
                self.read_prompts(&mut session, &common, pool, &came)?;
            }
            if let [only] = pool {
                self.tell(queue, only, &mut told);
            }
            for writing in pool.iter_mut().filter(|w| w.rows > 0) {
                if writing.finish.is_some() {
                    seats.leave(writing);
                    let reply = self.reply(writing);
                    let ticket = self.jobs[writing.job].ticket;
                    if queue.answer(ticket, reply).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            let mut batch = Batch {
                writing: true,
                ..Batch::default()
            };
            let mut writers = vec![];
            for writing in pool.iter_mut().filter(|w| w.rows > 0) {
                let Some(&token) = writing.written.last() else {
                    continue;
                };
                let past = writing.past(&common);
                batch.push(&[token], &past, writing.first + writing.held);
                if let Some(&last) = writing.places.last() {
                    let place = self.album.shown().place(Some(last), token);
                    batch.turns.push(place.at);
                    writing.places.push(place);
                }
                writing.held += 1;
                writers.push(writing);
            }
            if writers.is_empty() {
                if came.is_empty() {
                    return Ok(ControlFlow::Continue(()));
                }
                continue;
            }
            let rows: Vec<usize> = (0..batch.len()).collect();
            let samplers = writers.iter_mut().map(|w| &mut w.sampler);
            let next = self.step(&mut session, &batch, &rows, samplers)?;
            // A draw goes over the whole vocabulary: on one thread it would cost more than a GPU's step.
            self.model.install(|| {
                let all = writers.into_par_iter().enumerate();
                all.for_each(|(i, writing)| self.take(writing, &next, i));
            });
        }
    }

    /// Tells what is new of the only answer that is being written; so many bytes were `told` before. The last
    /// token may be half a character or the beginning of one that a later token changes, so it is held back
    /// while it does not read as text.
    fn tell(self, queue: &mut Queue<'_>, writing: &Writing, told: &mut usize) {
        let text = match &writing.cut {
            Some(text) => Some(text.clone()),
            None => self.tokenizer().decode(&writing.written).ok(),
        };
        let Some(text) = text.filter(|t| !t.ends_with('\u{fffd}')) else {
            return;
        };
        if let Some(new) = text.get(*told..).filter(|new| !new.is_empty()) {
            queue.writing(self.jobs[writing.job].ticket, new);
            *told = text.len();
        }
    }

    fn tokenizer(&self) -> &Tokenizer {
        self.model.checkpoint().tokenizer()
    }

    fn read_common(self, session: &mut Session<'_>, common: &Common) -> Result<(), ModelError> {
        let mut done = 0;
        while let Some(left) = common.tokens.get(done..).filter(|left| !left.is_empty()) {
            let part = &left[..self.album.shown().cut(left, self.model.chunk_rows())];
            let mut batch = Batch::default();
            let past: &[(usize, usize)] = if done == 0 { &[] } else { &[(0, done)] };
            batch.push(part, past, done);
            if let Some(turns) = common.turns.get(done..done + part.len()) {
                batch.turns.extend_from_slice(turns);
            }
            self.model.install(|| session.forward(&batch, None))?;
            done += part.len();
        }
        Ok(())
    }

    fn read_prompts(
        self,
        session: &mut Session<'_>,
        common: &Common,
        group: &mut [Writing],
        who: &[usize],
    ) -> Result<(), ModelError> {
        let mut batch = Batch::default();
        let mut ends: Vec<(usize, usize)> = vec![];
        for &i in who {
            loop {
                let writing = &mut group[i];
                let read = common.tokens.len() + writing.held;
                let left = &writing.prompt[read..];
                if left.is_empty() {
                    break;
                }
                let room = self.model.chunk_rows().saturating_sub(batch.len());
                if room == 0 {
                    self.flush(session, &mut batch, &mut ends, group)?;
                    continue;
                }
                let part = &left[..self.album.shown().cut(left, room)];
                let ends_here = part.len() == left.len();
                batch.push(part, &writing.past(common), writing.first + writing.held);
                let places = writing.places.iter().skip(read).take(part.len());
                batch.turns.extend(places.map(|p| p.at));
                writing.held += part.len();
                if ends_here {
                    ends.push((batch.len() - 1, i));
                }
            }
        }
        self.flush(session, &mut batch, &mut ends, group)
    }

    /// Runs a batch of prompts; some end in it, by row and by place in the group.
    fn flush(
        self,
        session: &mut Session<'_>,
        batch: &mut Batch,
        ends: &mut Vec<(usize, usize)>,
        group: &mut [Writing],
    ) -> Result<(), ModelError> {
        let rows: Vec<usize> = ends.iter().map(|(row, _)| *row).collect();
        // Prompts end in the order of the group.
        let mut open = ends.iter().map(|(_, i)| *i).peekable();
        let samplers = group.iter_mut().enumerate().filter_map(|(i, writing)| {
            open.next_if_eq(&i)?;
            Some(&mut writing.sampler)
        });
        let next = self.step(session, batch, &rows, samplers)?;
        for (place, (_, i)) in ends.drain(..).enumerate() {
            self.take(&mut group[i], &next, place);
        }
        *batch = Batch::default();
        Ok(())
    }

    fn step<'s>(
        self,
        session: &mut Session<'_>,
        batch: &Batch,
        rows: &[usize],
        samplers: impl Iterator<Item = &'s mut Sampler>,
    ) -> Result<Next, ModelError> {
        let draws = session.draws();
        let draws = draws.then(|| samplers.map(Sampler::on_device).collect::<Vec<_>>());
        let vocabulary = self.model.architecture().vocab;
        self.model.install(|| {
            session.forward(batch, None)?;
            if rows.is_empty() {
                return Ok(Next::Tokens(vec![]));
            }
            if let Some(draws) = &draws {
                return Ok(Next::Tokens(session.draw(rows, draws)?));
            }
            let all = session.logits(rows)?;
            Ok(Next::Logits { all, vocabulary })
        })
    }

    /// Draws a token and sees whether the answer is finished.
    fn take(self, writing: &mut Writing, next: &Next, row: usize) {
        if writing.most == 0 {
            writing.finish = Some(Ok(Finish::Length));
            return;
        }
        let Some(token) = next.draw(row, &mut writing.sampler) else {
            writing.finish = Some(Err(self.model.not_finite()));
            return;
        };
        if self.tokenizer().eos_ids().contains(&token) {
            writing.finish = Some(Ok(Finish::Stop));
            return;
        }
        writing.written.push(token);
        let stop = &self.jobs[writing.job].request.sampling.stop;
        let stops = stop.iter().filter(|s| !s.is_empty());
        if !stop.is_empty()
            && let Ok(text) = self.tokenizer().decode(&writing.written)
            && let Some(at) = stops.filter_map(|s| text.find(s.as_str())).min()
        {
            writing.cut = Some(text[..at].to_owned());
            writing.finish = Some(Ok(Finish::Stop));
        } else if writing.written.len() >= writing.most {
            writing.finish = Some(Ok(Finish::Length));
        }
    }

    fn reply(self, writing: &mut Writing) -> Result<Reply<Generated>, ModelError> {
        let finish = writing.finish.take().unwrap_or(Ok(Finish::Length))?;
        let text = match writing.cut.take() {
            Some(text) => text,
            None => self.tokenizer().decode(&writing.written)?,
        };
        let usage = Usage {
            prompt_tokens: writing.prompt.len() as u64,
            completion_tokens: writing.written.len() as u64,
            ..Usage::default()
        };
        let answer = Generated {
            text,
            finish,
            reasoning: None,
        };
        Ok(replied(answer, usage))
    }
}

/// How many prompts share what the first ones share, which write together at once.
fn alike(sorted: &[Writing], together: usize) -> usize {
    if together == 1 {
        return 1;
    }
    let shared = common(&sorted[..together]).tokens.len();
    let begins =
        |w: &&Writing| w.prompt.len() > shared && w.prompt[..shared] == sorted[0].prompt[..shared];
    let more = sorted[together..].iter().take_while(begins).count();
    together + more
}

struct Seats {
    /// First row and number of rows of each that is free.
    free: Vec<(usize, usize)>,
    all: usize,
    rows: usize,
}

impl Seats {
    /// As long as anybody needs if there is memory for that, else as long as the first ones need.
    fn new(model: &LocalModel, pool: &[Writing], common: &Common, together: usize) -> Self {
        let own = |w: &Writing| w.own_rows(common);
        let longest = pool.iter().map(own).max().unwrap_or(0);
        let sum: usize = pool[..together].iter().map(own).sum();
        let spare = pool.len() > together
            && together * longest <= 2 * sum
            && model.fitting(std::iter::repeat(longest), together) == together;
        let mut rows = common.tokens.len();
        let mut free = vec![];
        for writing in &pool[..together] {
            let len = if spare { longest } else { own(writing) };
            free.push((rows, len));
            rows += len;
        }
        Self {
            all: free.len(),
            free,
            rows,
        }
    }

    /// Reading a prompt is a pass of its own, so a few places are filled together.
    fn fill(&mut self, pool: &mut [Writing], common: &Common) -> Vec<usize> {
        let waits = |w: &Writing| !w.answered && w.rows == 0;
        let waiting = pool.iter().filter(|w| waits(w)).count();
        if waiting == 0 || self.free.len() < self.all.div_ceil(4).min(waiting) {
            return vec![];
        }
        let mut came = vec![];
        for (i, writing) in pool.iter_mut().enumerate().filter(|(_, w)| waits(w)) {
            let need = writing.own_rows(common);
            let Some(place) = self.free.iter().position(|&(_, len)| len >= need) else {
                continue;
            };
            (writing.first, writing.rows) = self.free.remove(place);
            came.push(i);
        }
        came
    }

    fn leave(&mut self, writing: &mut Writing) {
        self.free.push((writing.first, writing.rows));
        (writing.rows, writing.answered) = (0, true);
    }
}

impl Writing {
    fn own_rows(&self, common: &Common) -> usize {
        self.prompt.len() - common.tokens.len() + self.most
    }

    fn past(&self, common: &Common) -> Vec<(usize, usize)> {
        let spans = [(0, common.tokens.len()), (self.first, self.held)];
        spans.into_iter().filter(|(_, len)| *len > 0).collect()
    }
}

/// The beginning all prompts share; at least one token of each is left to be read on its own.
fn common(group: &[Writing]) -> Common {
    let [first, .., last] = group else {
        return Common::default();
    };
    // Prompts are sorted, so what the first and the last share all of them share.
    let both = first.prompt.iter().zip(&last.prompt);
    let same = both.take_while(|(a, b)| a == b).count();
    let shortest = group.iter().map(|w| w.prompt.len()).min().unwrap_or(0);
    let same = same.min(shortest.saturating_sub(1));
    let same = if same < SHARED { 0 } else { same };
    Common {
        tokens: first.prompt[..same].to_vec(),
        turns: first.places.iter().take(same).map(|p| p.at).collect(),
    }
}

/// What a step gave: logits, or tokens where the device draws them itself.
enum Next {
    Logits { all: Vec<f32>, vocabulary: usize },
    Tokens(Vec<Option<u32>>),
}

impl Next {
    fn draw(&self, row: usize, sampler: &mut Sampler) -> Option<u32> {
        match self {
            Self::Tokens(tokens) => tokens.get(row).copied().flatten(),
            Self::Logits { all, vocabulary } => {
                sampler.draw(all.get(row * vocabulary..(row + 1) * vocabulary)?)
            }
        }
    }
}
