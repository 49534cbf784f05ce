//! Prompts with a common beginning, which is computed once, write one token at a time together. When some are
//! finished, others that share the beginning take their places.

use std::ops::ControlFlow;
use std::sync::Arc;

use mary_contract::{
    ErrorKind, Finish, Generate, Generated, Job, ModelError, Reply, Ticket, Usage, WorkQueue,
};
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
/// Places for answers that join others while they are written, at least.
const JOINING: usize = 16;
/// A common beginning shorter than this is not worth sharing.
const SHARED: usize = 8;

struct Writing {
    ticket: Ticket,
    stop: Vec<String>,
    prompt: Vec<u32>,
    most: usize,
    sampler: Sampler,
    /// Tokens of the prompt that it shares with others, before those of its own.
    shared: usize,
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
    /// Bytes of the answer that were told while it grew.
    told: usize,
}

#[derive(Default)]
struct Common {
    tokens: Vec<u32>,
    turns: Vec<[u32; 3]>,
}

type Queue<'q> = dyn WorkQueue<Generate, Generated> + 'q;

pub(crate) fn serve(model: &LocalModel, queue: &mut Queue<'_>) {
    let mut later = vec![];
    loop {
        let mut jobs: Vec<Job<Generate>> = std::mem::take(&mut later);
        jobs.extend(std::iter::from_fn(|| queue.next()).take(WINDOW));
        let album = model.album(jobs.iter().map(|job| &job.request.prompt));
        let writer = Writer {
            model,
            album: &album,
        };
        if jobs.is_empty() || writer.answer(queue, &jobs, &mut later).is_break() {
            return;
        }
    }
}

#[derive(Clone, Copy)]
struct Writer<'a> {
    model: &'a LocalModel,
    album: &'a Album<'a>,
}

impl Writer<'_> {
    /// What comes meanwhile and cannot join is left for `later`.
    fn answer(
        self,
        queue: &mut Queue<'_>,
        jobs: &[Job<Generate>],
        later: &mut Vec<Job<Generate>>,
    ) -> ControlFlow<()> {
        let mut all = vec![];
        for job in jobs {
            match self.begin(job) {
                Ok(writing) => all.push(writing),
                Err(error) => queue.answer(job.ticket, Err(error))?,
            }
        }
        all.sort_by(|a, b| a.prompt.cmp(&b.prompt));
        let on_card = self.model.ahead() > 0;
        let usual = if on_card { GROUP_ON_CARD } else { GROUP };
        let group = self.model.options().batch_size.unwrap_or(usual).max(1);
        while !all.is_empty() {
            let lengths = all.iter().map(|w| w.prompt.len() + w.most);
            let together = self.model.fitting(lengths, group);
            let mut now: Vec<Writing> = all.drain(..alike(&all, together)).collect();
            while !now.is_empty() {
                let seats = together.min(now.len());
                match self.write(queue, &mut now, (seats, group), later) {
                    Ok(flow) => flow?,
                    Err(error) => {
                        for writing in now.iter().filter(|w| !w.answered) {
                            queue.answer(writing.ticket, Err(error.clone()))?;
                        }
                        break;
                    }
                }
                // Those that were too long for the places of others have a round of their own.
                now.retain(|w| !w.answered);
            }
        }
        ControlFlow::Continue(())
    }

    fn begin(self, job: &Job<Generate>) -> Result<Writing, ModelError> {
        let request = &job.request;
        let reader = Reader::showing(self.model.checkpoint(), self.album);
        let (prompt, shown) = (reader.prompt(&request.prompt)?, self.album.shown());
        let (count, context) = (prompt.len(), self.model.architecture().context);
        if count >= context {
            let message = format!("the prompt has {count} tokens; this model sees {context}");
            return Err(too_long(message).hint("shorten the prompt or take fewer shots"));
        }
        let places = shown.turns().then(|| shown.places(&prompt));
        Ok(Writing {
            ticket: job.ticket,
            stop: request.sampling.stop.clone(),
            shared: 0,
            told: 0,
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
        pool: &mut Vec<Writing>,
        (together, group): (usize, usize),
        later: &mut Vec<Job<Generate>>,
    ) -> Result<ControlFlow<()>, ModelError> {
        let common = common(pool);
        pool.iter_mut().for_each(|w| w.shared = common.tokens.len());
        let mut seats = Seats::new(self.model, pool, &common, together);
        if queue.joins() {
            seats.add(self.model, pool, group);
        }
        let mut session = self.model.session(seats.rows)?;
        if !self.album.is_empty() {
            session.show(Arc::clone(self.album.shown()));
        }
        self.read_common(&mut session, &common)?;
        loop {
            if queue.joins() && later.is_empty() {
                let flow = self.welcome(queue, pool, (&common, &seats), later);
                if flow.is_break() {
                    return Ok(flow);
                }
            }
            let came = seats.fill(pool);
            if !came.is_empty() {
                self.read_prompts(&mut session, pool, &came)?;
            }
            let alone = pool.len() == 1;
            for writing in pool.iter_mut().filter(|w| w.rows > 0) {
                if alone || queue.joins() {
                    self.tell(queue, writing);
                }
                if queue.forgotten(writing.ticket) {
                    let gone = ModelError::new(ErrorKind::Interrupted, "nobody waits for it");
                    writing.finish = Some(Err(gone));
                }
                if writing.finish.is_some() {
                    seats.leave(writing);
                    queue.written(writing.ticket, &writing.written);
                    let reply = self.reply(writing);
                    if queue.answer(writing.ticket, reply).is_break() {
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
                let past = writing.past();
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

    /// Requests that came meanwhile take free places. Where somebody waits who found none long enough, nobody is let
    /// in before.
    fn welcome(
        self,
        queue: &mut Queue<'_>,
        pool: &mut Vec<Writing>,
        (common, seats): (&Common, &Seats),
        later: &mut Vec<Job<Generate>>,
    ) -> ControlFlow<()> {
        let waits = pool.iter().any(|w| !w.answered && w.rows == 0);
        if waits {
            return ControlFlow::Continue(());
        }
        pool.retain(|w| !w.answered);
        for _ in 0..seats.free.len() {
            let Some(job) = queue.next() else { break };
            // Pictures are looked at before a round begins.
            if job.request.prompt.has_images() {
                later.push(job);
                break;
            }
            match self.begin(&job) {
                Err(error) => queue.answer(job.ticket, Err(error))?,
                Ok(mut writing) => {
                    let known = &common.tokens;
                    let same = writing.prompt.len() > known.len()
                        && writing.prompt[..known.len()] == known[..];
                    writing.shared = if same { known.len() } else { 0 };
                    pool.push(writing);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Tells what is new of an answer. The last token may be half a character or the beginning of one that a later
    /// token changes, so it is held back while it does not read as text; so is what may be the beginning of a stop
    /// string.
    fn tell(self, queue: &mut Queue<'_>, writing: &mut Writing) {
        let text = match &writing.cut {
            Some(text) => Some(text.clone()),
            None => self.tokenizer().decode(&writing.written).ok(),
        };
        let Some(text) = text.filter(|t| !t.ends_with('\u{fffd}')) else {
            return;
        };
        let mut end = text.len();
        if writing.finish.is_none() {
            let begun = writing.stop.iter().filter_map(|stop| {
                let parts = stop.char_indices().map(|(at, _)| at).rev();
                parts.into_iter().find(|&at| text.ends_with(&stop[..at]))
            });
            end -= begun.max().unwrap_or(0);
        }
        if let Some(new) = text.get(writing.told..end).filter(|new| !new.is_empty()) {
            queue.writing(writing.ticket, new);
            writing.told = end;
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
        group: &mut [Writing],
        who: &[usize],
    ) -> Result<(), ModelError> {
        let mut batch = Batch::default();
        let mut ends: Vec<(usize, usize)> = vec![];
        for &i in who {
            loop {
                let writing = &mut group[i];
                let read = writing.shared + writing.held;
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
                batch.push(part, &writing.past(), writing.first + writing.held);
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
        let stops = writing.stop.iter().filter(|s| !s.is_empty());
        if !writing.stop.is_empty()
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
        let own = Writing::own_rows;
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

    /// More places for those who come later, as long as the longest, if there is memory for them.
    fn add(&mut self, model: &LocalModel, pool: &[Writing], group: usize) {
        let longest = pool.iter().map(|w| w.prompt.len() + w.most).max();
        let len = longest.unwrap_or(0).next_power_of_two();
        let wanted = self.all.next_power_of_two().max(JOINING).min(group);
        let fitting = model.fitting(std::iter::repeat(len), wanted);
        for _ in self.all..fitting {
            self.free.push((self.rows, len));
            self.rows += len;
            self.all += 1;
        }
    }

    /// Reading a prompt is a pass of its own, so a few places are filled together.
    fn fill(&mut self, pool: &mut [Writing]) -> Vec<usize> {
        let waits = |w: &Writing| !w.answered && w.rows == 0;
        let waiting = pool.iter().filter(|w| waits(w)).count();
        if waiting == 0 || self.free.len() < self.all.div_ceil(4).min(waiting) {
            return vec![];
        }
        let mut came = vec![];
        for (i, writing) in pool.iter_mut().enumerate().filter(|(_, w)| waits(w)) {
            let need = writing.own_rows();
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
    fn own_rows(&self) -> usize {
        self.prompt.len() - self.shared + self.most
    }

    fn past(&self) -> Vec<(usize, usize)> {
        let spans = [(0, self.shared), (self.first, self.held)];
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
