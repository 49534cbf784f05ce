//! The queue's work, the reading of the next window and the computation of the present one, each on a thread:
//! on a GPU each takes about as long as the others. Which requests stand together must not depend on the
//! clock: a window is taken only when all answers of the last but one are handed in.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use mary_contract::{Job, Reply, Score, Scored, Ticket, WorkQueue};

use super::{compute, window::Window};
use crate::errors::Result;
use crate::model::LocalModel;

const WINDOW_REQUESTS: usize = 8_192;
/// Bytes of text taken at once, at most: some millions of tokens.
const WINDOW_BYTES: usize = 4 << 20;
/// The same where clients take turns, on the processor and on a GPU: who comes next waits for what was taken before.
const SERVED_BYTES: [usize; 2] = [64 << 10, 1 << 20];
/// Bytes of text for a token, rather too few than too many.
const BYTES_PER_TOKEN: u64 = 3;
const WINDOWS: usize = 2;
/// How soon a stop is heard while nothing arrives.
const LISTEN: Duration = Duration::from_millis(100);

pub(super) type Answer = (Ticket, Result<Reply<Scored>>);

pub(crate) fn serve(model: &LocalModel, queue: &mut dyn WorkQueue<Score, Scored>) {
    let stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        let (take_in, taken) = mpsc::sync_channel::<(Vec<Job<Score>>, Arc<AtomicBool>)>(WINDOWS);
        let (pass_on, read) = mpsc::sync_channel::<Window<'_>>(1);
        let (hand_in, answers) = mpsc::sync_channel::<Answer>(WINDOW_REQUESTS);
        let stopped = &stopped;
        scope.spawn(move || {
            for (jobs, dropped) in taken {
                // A GPU adds whole distributions up in another way: who asks for none is not to notice that
                // others do.
                let (whole, plain): (Vec<_>, Vec<_>) = jobs
                    .into_iter()
                    .partition(|job| job.request.details.of_distributions());
                for jobs in [whole, plain] {
                    if jobs.is_empty() {
                        continue;
                    }
                    let mut window = Window::read(model, jobs);
                    window.dropped = Arc::clone(&dropped);
                    if pass_on.send(window).is_err() {
                        return;
                    }
                }
            }
        });
        scope.spawn(move || {
            for window in read {
                let mut hand = |answer: Answer| match hand_in.send(answer) {
                    Ok(()) if !stopped.load(Ordering::Relaxed) => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                };
                if compute(model, window, stopped, &mut hand).is_break() {
                    return;
                }
            }
        });
        let mut under_way: VecDeque<Taken> = VecDeque::new();
        let mut looked = Instant::now();
        loop {
            while under_way.len() < WINDOWS {
                let jobs = pull(model, queue);
                if jobs.is_empty() {
                    break;
                }
                let tickets = jobs.iter().map(|job| job.ticket).collect();
                let dropped = Arc::<AtomicBool>::default();
                under_way.push_back((tickets, Arc::clone(&dropped)));
                if take_in.send((jobs, dropped)).is_err() {
                    return;
                }
            }
            let Some(count) = under_way.front().map(|(tickets, _)| tickets.len()) else {
                return;
            };
            for _ in 0..count {
                if next(&answers, queue, (&under_way, &mut looked)).is_break() {
                    stopped.store(true, Ordering::Relaxed);
                    return;
                }
            }
            under_way.pop_front();
        }
    });
}

/// The requests of a window, and whether nobody waits for any of them.
type Taken = (Vec<Ticket>, Arc<AtomicBool>);

/// Hands the next answer in; breaks where no more are wanted.
fn next(
    answers: &mpsc::Receiver<Answer>,
    queue: &mut dyn WorkQueue<Score, Scored>,
    (under_way, looked): (&VecDeque<Taken>, &mut Instant),
) -> ControlFlow<()> {
    loop {
        if looked.elapsed() > LISTEN {
            for (tickets, dropped) in under_way {
                let all = tickets.iter().all(|ticket| queue.forgotten(*ticket));
                dropped.store(all, Ordering::Relaxed);
            }
            *looked = Instant::now();
        }
        match answers.recv_timeout(LISTEN) {
            Ok((ticket, reply)) => return queue.answer(ticket, reply),
            Err(RecvTimeoutError::Timeout) if !queue.stopping() => {}
            Err(_) => return ControlFlow::Break(()),
        }
    }
}

fn pull(model: &LocalModel, queue: &mut dyn WorkQueue<Score, Scored>) -> Vec<Job<Score>> {
    let most = model.options().batch_size.unwrap_or(WINDOW_REQUESTS).max(1);
    let room = match queue.joins() {
        true => SERVED_BYTES[usize::from(model.ahead() > 0)],
        false => WINDOW_BYTES,
    };
    // Where streams wait between blocks, no more are taken than have room.
    let room = match model.window_tokens() {
        Some(tokens) => room.min((tokens * BYTES_PER_TOKEN) as usize),
        None => room,
    };
    let mut bytes = 0;
    let mut jobs = vec![];
    while jobs.len() < most && bytes < room {
        let Some(job) = queue.next() else { break };
        let prefix = job.request.prefix.text().len();
        let lengths = job.request.continuations.iter().map(|c| c.len() + prefix);
        bytes += lengths.sum::<usize>();
        jobs.push(job);
    }
    jobs
}
