//! Prompts with a common beginning, which is computed once, write one token at a time together. When some are
//! finished, others that share the beginning take their places.

mod seats;

use std::ops::ControlFlow;
use std::sync::Arc;

use mary_contract::{
    ErrorKind, Finish, Generate, Generated, Job, ModelError, Reply, Ticket, Usage, WorkQueue,
};
use mary_weights::Tokenizer;
use rayon::prelude::*;

use crate::batch::Batch;
use crate::engine::{Prefixes, Session, alike as beginning};
use crate::errors::{Result, too_long};
use crate::model::{LocalModel, replied};
use crate::sampling::Sampler;
use crate::text::Reader;
use crate::vision::{Album, Place};

use seats::{Common, Seats, common};

const WINDOW: usize = 1024;
/// Prompts that write together unless the user says otherwise: weights are unpacked once for all of them.
const GROUP: usize = 64;
/// The same where a GPU computes: a step costs it little more.
const GROUP_ON_CARD: usize = 256;
/// Places for answers that join others while they are written, at least.
const JOINING: usize = 16;
/// A common beginning shorter than this is not worth sharing.
const SHARED: usize = 8;
/// Tokens that another is about to read, from which on it pays to wait for them.
const WAITING_PAYS: usize = 32;
/// A cache that is kept grows by so many rows: one that fits the next round, too, need not be made anew.
const ROWS_AT_ONCE: usize = 2048;

struct Writing {
    ticket: Ticket,
    stop: Vec<String>,
    prompt: Vec<u32>,
    /// Tokens of the source, where an encoder read one.
    source: usize,
    most: usize,
    sampler: Sampler,
    /// Tokens of the prompt that it shares with others, before those of its own.
    shared: usize,
    /// Tokens of the prompt that were read for others before.
    cached: usize,
    /// First cache row of its own, and how many there are; none while it waits or when it is answered.
    first: usize,
    rows: usize,
    answered: bool,
    /// Places of the prompt's tokens, then of those written, where the model turns by them.
    places: Vec<Place>,
    held: usize,
    written: Vec<u32>,
    finish: Option<Result<Finish>>,
    /// Where the answer ends when a stop string cut it.
    cut: Option<String>,
    /// Bytes of the answer that were told while it grew.
    told: usize,
}

type Queue<'q> = dyn WorkQueue<Generate, Generated> + 'q;

pub(crate) fn serve(model: &LocalModel, queue: &mut Queue<'_>) {
    let mut later = vec![];
    loop {
        let mut jobs: Vec<Job<Generate>> = std::mem::take(&mut later);
        // What an encoder read is kept until the last of them is answered.
        let most = if model.answers() { GROUP } else { WINDOW };
        jobs.extend(std::iter::from_fn(|| queue.next()).take(most));
        let album = model.album(jobs.iter().map(|job| (&job.request.prompt, false)));
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

impl<'a> Writer<'a> {
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
            let lengths = all.iter().map(|w| w.source + w.prompt.len() + w.most);
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

    fn begin(self, job: &Job<Generate>) -> Result<Writing> {
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
            cached: 0,
            told: 0,
            most: (request.sampling.max_tokens as usize).min(context - count),
            places: places.unwrap_or_default(),
            source: match self.album.answers() {
                true => shown.count(prompt[0]),
                false => 0,
            },
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
    ) -> Result<ControlFlow<()>> {
        let common = common(pool);
        pool.iter_mut().for_each(|w| w.shared = common.tokens.len());
        let mut seats = Seats::new(self.model, pool, &common, together);
        if queue.joins() {
            seats.add(self.model, pool, group);
        }
        // A state is that of one place: a beginning that somebody else read further than is wanted has none.
        let carries = self.model.architecture().recurrence.is_some();
        let keeps = queue.joins() && self.album.is_empty() && !carries;
        let (mut session, mut known) = self.session(seats.rows, keeps)?;
        self.read_common(&mut session, &common, &mut known)?;
        loop {
            forget(queue, pool);
            if queue.joins() && later.is_empty() {
                let flow = self.welcome(queue, pool, (&common, &seats), later);
                if flow.is_break() {
                    return Ok(flow);
                }
            }
            let mut came = seats.fill(pool);
            if keeps {
                came = bring(&mut session, &mut known, pool, (came, &mut seats))?;
            }
            if !came.is_empty() {
                self.read_prompts(&mut session, pool, &came, &common)?;
                came.iter().for_each(|&i| pool[i].hold(&mut known));
            }
            let alone = pool.len() == 1;
            let here = |w: &&mut Writing| w.rows > 0 || !w.answered && w.finish.is_some();
            for writing in pool.iter_mut().filter(here) {
                if alone || queue.joins() {
                    self.tell(queue, writing);
                }
                if writing.finish.is_some() {
                    writing.hold(&mut known);
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
                    if keeps {
                        session.keep(known);
                    }
                    return Ok(ControlFlow::Continue(()));
                }
                continue;
            }
            batch.needed = common.end().collect();
            batch.needed.extend(writers.iter().filter_map(|w| w.end()));
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

    /// A run begins afresh: what was read before it must not decide what it reads. Nor is anything kept beside pictures,
    /// whose rows are numbered anew each time.
    fn session(self, rows: usize, keeps: bool) -> Result<(Session<'a>, Prefixes)> {
        if keeps {
            let mut session = self.model.session(rows.next_multiple_of(ROWS_AT_ONCE))?;
            let known = session.resume();
            return Ok((session, known));
        }
        let mut session = self.model.session(rows)?;
        if !self.album.is_empty() {
            session.show(Arc::clone(self.album.shown()));
        }
        Ok((session, Prefixes::default()))
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
            // Pictures and sources are looked at before a round begins.
            if job.request.prompt.has_images() || self.album.answers() {
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

    fn read_common(
        self,
        session: &mut Session<'_>,
        common: &Common,
        known: &mut Prefixes,
    ) -> Result<()> {
        let copies = known.bring(&common.tokens, 0, 0);
        session.move_rows(&copies)?;
        known.put(common.tokens.clone(), 0, 0..common.tokens.len());
        let mut done = copies.len();
        while let Some(left) = common.tokens.get(done..).filter(|left| !left.is_empty()) {
            let part = &left[..self.album.shown().cut(left, self.model.chunk_rows())];
            let mut batch = Batch::default();
            let past: &[(usize, usize)] = if done == 0 { &[] } else { &[(0, done)] };
            batch.push(part, past, done);
            batch.needed = vec![done + part.len() - 1];
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
        common: &Common,
    ) -> Result<()> {
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
                    self.flush(session, &mut batch, &mut ends, (group, common))?;
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
        self.flush(session, &mut batch, &mut ends, (group, common))
    }

    /// Runs a batch of prompts; some end in it, by row and by place in the group.
    fn flush(
        self,
        session: &mut Session<'_>,
        batch: &mut Batch,
        ends: &mut Vec<(usize, usize)>,
        (group, common): (&mut [Writing], &Common),
    ) -> Result<()> {
        let here = group.iter().filter(|w| w.rows > 0);
        batch.needed = here.filter_map(Writing::end).chain(common.end()).collect();
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
    ) -> Result<Next> {
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

    fn reply(self, writing: &mut Writing) -> Result<Reply<Generated>> {
        let finish = writing.finish.take().unwrap_or(Ok(Finish::Length))?;
        let text = match writing.cut.take() {
            Some(text) => text,
            None => self.tokenizer().decode(&writing.written)?,
        };
        let usage = Usage {
            prompt_tokens: (writing.source + writing.prompt.len()) as u64,
            cached_tokens: writing.cached as u64,
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

/// Nothing more is written for who has gone.
fn forget(queue: &mut Queue<'_>, pool: &mut [Writing]) {
    for writing in pool.iter_mut().filter(|w| !w.answered) {
        if queue.forgotten(writing.ticket) {
            let gone = ModelError::new(ErrorKind::Interrupted, "nobody waits for it");
            writing.finish = Some(Err(gone));
        }
    }
}

/// Copies the beginnings that lie in the cache to the places of those who came. Who begins like another that came has
/// to wait until that one is read.
fn bring(
    session: &mut Session<'_>,
    known: &mut Prefixes,
    pool: &mut [Writing],
    (came, seats): (Vec<usize>, &mut Seats),
) -> Result<Vec<usize>> {
    let mut reading: Vec<usize> = vec![];
    for i in came {
        let writing = &pool[i];
        let but_last = &writing.prompt[..writing.prompt.len().saturating_sub(1)];
        let copies = known.bring(but_last, writing.shared, writing.first);
        let worth = writing.shared + copies.len() + WAITING_PAYS;
        let read_now = |j: &usize| beginning(but_last, &pool[*j].prompt) >= worth;
        if reading.iter().any(read_now) {
            seats.give_back(&mut pool[i]);
            continue;
        }
        session.move_rows(&copies)?;
        pool[i].held = copies.len();
        pool[i].cached = pool[i].shared + copies.len();
        pool[i].hold(known);
        reading.push(i);
    }
    Ok(reading)
}

impl Writing {
    /// Notes which of its tokens lie in the cache.
    fn hold(&self, known: &mut Prefixes) {
        if self.rows == 0 {
            return;
        }
        let all = self.prompt.iter().chain(&self.written).copied();
        let held = all.take(self.shared + self.held).collect();
        known.put(held, self.shared, self.first..self.first + self.rows);
    }

    /// The row of the last token of its own that was read.
    fn end(&self) -> Option<usize> {
        (self.held > 0).then(|| self.first + self.held - 1)
    }

    fn own_rows(&self) -> usize {
        self.prompt.len() - self.shared + self.most
    }

    fn past(&self) -> Vec<(usize, usize)> {
        let spans = [(0, self.shared), (self.first, self.held)];
        spans.into_iter().filter(|(_, len)| *len > 0).collect()
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
