//! The queue's work, the reading of the next window and the computation of the present one, each on a thread:
//! on a GPU each takes about as long as the others. Which requests stand together must not depend on the
//! clock: a window is taken only when all answers of the last but one are handed in.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use mary_contract::{Job, ModelError, Reply, Score, Scored, Ticket, WorkQueue};

use super::{compute, window::Window};
use crate::model::LocalModel;

const WINDOW_REQUESTS: usize = 8_192;
/// Bytes of text taken at once, at most: some millions of tokens.
const WINDOW_BYTES: usize = 4 << 20;
const WINDOWS: usize = 2;
/// How soon a stop is heard while nothing arrives.
const LISTEN: Duration = Duration::from_millis(100);

pub(super) type Answer = (Ticket, Result<Reply<Scored>, ModelError>);

pub(crate) fn serve(model: &LocalModel, queue: &mut dyn WorkQueue<Score, Scored>) {
    let stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        let (take_in, taken) = mpsc::sync_channel::<Vec<Job<Score>>>(WINDOWS);
        let (pass_on, read) = mpsc::sync_channel::<Window<'_>>(1);
        let (hand_in, answers) = mpsc::sync_channel::<Answer>(WINDOW_REQUESTS);
        let stopped = &stopped;
        scope.spawn(move || {
            for jobs in taken {
                // A GPU adds whole distributions up in another way: who asks for none is not to notice that
                // others do.
                let (whole, plain): (Vec<_>, Vec<_>) = jobs
                    .into_iter()
                    .partition(|job| job.request.details.of_distributions());
                for jobs in [whole, plain] {
                    if !jobs.is_empty() && pass_on.send(Window::read(model, jobs)).is_err() {
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
        let mut under_way: VecDeque<usize> = VecDeque::new();
        loop {
            while under_way.len() < WINDOWS {
                let jobs = pull(model, queue);
                if jobs.is_empty() {
                    break;
                }
                under_way.push_back(jobs.len());
                if take_in.send(jobs).is_err() {
                    return;
                }
            }
            let Some(count) = under_way.pop_front() else {
                return;
            };
            for _ in 0..count {
                if next(&answers, queue).is_break() {
                    stopped.store(true, Ordering::Relaxed);
                    return;
                }
            }
        }
    });
}

/// Hands the next answer in; breaks where no more are wanted.
fn next(
    answers: &mpsc::Receiver<Answer>,
    queue: &mut dyn WorkQueue<Score, Scored>,
) -> ControlFlow<()> {
    loop {
        match answers.recv_timeout(LISTEN) {
            Ok((ticket, reply)) => return queue.answer(ticket, reply),
            Err(RecvTimeoutError::Timeout) if !queue.stopping() => {}
            Err(_) => return ControlFlow::Break(()),
        }
    }
}

fn pull(model: &LocalModel, queue: &mut dyn WorkQueue<Score, Scored>) -> Vec<Job<Score>> {
    let most = model.options().batch_size.unwrap_or(WINDOW_REQUESTS).max(1);
    let mut bytes = 0;
    let mut jobs = vec![];
    while jobs.len() < most && bytes < WINDOW_BYTES {
        let Some(job) = queue.next() else { break };
        let prefix = job.request.prefix.text().len();
        let lengths = job.request.continuations.iter().map(|c| c.len() + prefix);
        bytes += lengths.sum::<usize>();
        jobs.push(job);
    }
    jobs
}
