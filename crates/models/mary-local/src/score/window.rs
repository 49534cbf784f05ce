//! A window of requests, read: what each of them asks for as token sequences, and the tree of them all.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mary_contract::{Details, Job, ModelError, Score, Ticket};
use rayon::prelude::*;

use crate::errors::{Result, too_long};
use crate::model::LocalModel;
use crate::text::{Reader, Reading, windows};
use crate::trie::{Sequence, Trie};
use crate::vision::Album;

pub(super) struct Waiting {
    pub ticket: Ticket,
    /// For each continuation: its reading and the sequences that score it.
    pub parts: Vec<(Reading, Range<usize>)>,
    /// All nodes below this one must be done.
    pub due: usize,
    pub details: Details,
}

/// Requests that are computed as one tree.
pub(super) struct Window<'m> {
    pub album: Album<'m>,
    pub sequences: Vec<Sequence>,
    pub trie: Trie,
    /// Those that are ready first stand last.
    pub waiting: Vec<Waiting>,
    pub refused: Vec<(Ticket, ModelError)>,
    /// Those that ask for the likeliest tokens at one place; they are no part of the tree.
    pub places: Vec<Job<Score>>,
    /// Whether one of them asks for more than the log-probability of its tokens.
    pub distributions: bool,
    /// Nobody waits for any of them.
    pub dropped: Arc<AtomicBool>,
}

impl<'m> Window<'m> {
    pub fn read(model: &'m LocalModel, jobs: Vec<Job<Score>>) -> Self {
        let (places, jobs): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .partition(|job| job.request.details.top > 0);
        let jobs = jobs.as_slice();
        let album = model.album(
            jobs.iter()
                .map(|job| (&job.request.prefix, job.request.details.as_ids)),
        );
        let reader = Reader::showing(model.checkpoint(), &album);
        let readings: Vec<Result<Vec<Reading>>> = model.install(|| {
            jobs.par_iter()
                .map(|job| reader.continuations(&job.request))
                .collect()
        });
        let context = model.architecture().context;
        let tokenizer = model.checkpoint().tokenizer();
        let mut sequences = vec![];
        let mut waiting = vec![];
        let mut refused = vec![];
        for (job, readings) in jobs.iter().zip(readings) {
            let pictured = job.request.prefix.has_images();
            match readings.and_then(|all| whole(all, context, pictured || album.answers())) {
                Err(error) => refused.push((job.ticket, error)),
                Ok(readings) => {
                    let details = job.request.details;
                    let place = |mut reading: Reading| {
                        if details.word_starts && reading.scored_from < reading.tokens.len() {
                            // What may follow the last token is looked at by asking for one more.
                            reading
                                .tokens
                                .push(tokenizer.eos().or(tokenizer.bos()).unwrap_or(0));
                        }
                        let first = sequences.len();
                        sequences.extend(windows(&reading.tokens, reading.scored_from, context));
                        (reading, first..sequences.len())
                    };
                    waiting.push(Waiting {
                        ticket: job.ticket,
                        parts: readings.into_iter().map(place).collect(),
                        due: 0,
                        details,
                    });
                }
            }
        }
        let mut trie = Trie::new(&sequences, model.options().share);
        trie.place(album.shown());
        for request in &mut waiting {
            let all = request.parts.iter().flat_map(|(_, range)| range.clone());
            request.due = all.map(|s| trie.finished_at(s)).max().unwrap_or(0);
        }
        waiting.sort_by_key(|w| std::cmp::Reverse(w.due));
        Self {
            distributions: waiting.iter().any(|w| w.details.of_distributions()),
            album,
            sequences,
            trie,
            waiting,
            refused,
            places,
            dropped: Arc::default(),
        }
    }
}

/// A text with pictures must fit: a window that begins within a picture shows another one. So must a target, whose
/// first token names its source.
fn whole(all: Vec<Reading>, context: usize, bound: bool) -> Result<Vec<Reading>> {
    let longest = all.iter().map(|r| r.tokens.len()).max().unwrap_or(0);
    match bound && longest > context + 1 {
        true if all.iter().any(|r| r.source > 0) => Err(too_long(format!(
            "the continuation has {} tokens; this model writes {context}",
            longest - 1
        ))),
        true => Err(too_long(format!(
            "with its pictures the text has {longest} tokens; this model sees {context}"
        ))
        .hint("show fewer or smaller pictures")),
        false => Ok(all),
    }
}
