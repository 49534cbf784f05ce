//! Intervening: texts with values changed inside, as many as fit in one pass. The unchanged texts stand in the same
//! pass, so that what a change cannot reach is taken from them.

mod read;

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use mary_contract::{
    ContinuationScore, Intervene, Intervened, Job, Reply, Scored, Usage, Vector, WorkQueue,
};

use crate::details::{self, Distributions};
use crate::errors::Result;
use crate::kernels::{TokenStatistics, WantedToken};
use crate::model::{LocalModel, replied};
use crate::transformer::{Cells, NewValue, Part, Script, Seen};
use crate::trie::Chunk;
use read::{Edit, Reading, Text, Value};

const WINDOW: usize = 32_768;

pub(crate) fn serve(model: &LocalModel, queue: &mut dyn WorkQueue<Intervene, Intervened>) {
    loop {
        let jobs: Vec<Job<Intervene>> = std::iter::from_fn(|| queue.next()).take(WINDOW).collect();
        if jobs.is_empty() || answer(model, queue, &jobs).is_break() {
            return;
        }
    }
}

fn answer(
    model: &LocalModel,
    queue: &mut dyn WorkQueue<Intervene, Intervened>,
    jobs: &[Job<Intervene>],
) -> ControlFlow<()> {
    let mut readings = vec![];
    let mut reader = read::Reader::new(model);
    for job in jobs {
        match reader.read(&job.request) {
            Ok(reading) => readings.push((job, reading)),
            Err(error) => queue.answer(job.ticket, Err(error))?,
        }
    }
    let mut rest = readings.as_slice();
    while !rest.is_empty() {
        let most = model.chunk_rows();
        let mut room = Room::default();
        let mut count = 0;
        while count < rest.len() && room.take(&rest[count].1) <= most {
            count += 1;
        }
        let count = count.max(1);
        let (now, later) = rest.split_at(count);
        let answers = match model.install(|| pass(model, now)) {
            Err(error) if count > 1 && model.narrow(most, &error) => continue,
            Err(error) => vec![Err(error); count],
            Ok(all) => all,
        };
        rest = later;
        for ((job, _), answer) in now.iter().zip(answers) {
            queue.answer(job.ticket, answer)?;
        }
    }
    ControlFlow::Continue(())
}

/// Rows that a pass has taken: each unchanged text once, and the changed rows.
#[derive(Default)]
struct Room<'a> {
    texts: std::collections::HashSet<&'a Text>,
    rows: usize,
}

impl<'a> Room<'a> {
    fn take(&mut self, reading: &'a Reading) -> usize {
        for text in reading.texts() {
            if self.texts.insert(text) {
                self.rows += text.len();
            }
        }
        if let Some((_, position)) = reading.begins() {
            self.rows += reading.text.len() - position;
        }
        self.rows
    }
}

/// Where the rows of one text lie, changed from a position on.
#[derive(Clone, Copy)]
struct Rows<'a> {
    text: &'a Text,
    /// First row of the unchanged text.
    first: usize,
    /// First changed position and the row that it has.
    changed: Option<(usize, usize)>,
}

impl Rows<'_> {
    /// The row of a position; tails follow the shared words, one after the other.
    fn row(&self, position: usize) -> usize {
        match self.changed {
            Some((from, row)) if position >= from => row + position - from,
            _ => self.first + position,
        }
    }
}

/// A pass in the making.
struct Plan<'a> {
    script: Script,
    /// The first row of each unchanged text.
    texts: HashMap<&'a Text, usize>,
}

impl<'a> Plan<'a> {
    fn new(layers: usize) -> Self {
        let script = Script {
            joins: vec![vec![]; layers + 1],
            ..Script::default()
        };
        Self {
            script,
            texts: HashMap::new(),
        }
    }

    /// Adds the rows of a text from a position on; those before it are rows of the unchanged text.
    fn push(&mut self, text: &Text, from: usize, unchanged: usize) -> usize {
        let batch = &mut self.script.batch;
        let row = batch.len();
        let mut past = match from {
            0 => vec![],
            _ => vec![(unchanged, from)],
        };
        batch.push(&text.shared[from..], &past, row);
        past.push((row, text.shared.len() - from));
        if from == 0 {
            past = vec![(row, text.shared.len())];
        }
        for tail in text.tails.iter().filter(|tail| !tail.is_empty()) {
            let at = batch.len();
            batch.push(tail, &past, at);
        }
        row
    }

    /// The unchanged texts stand first, then the changed ones in the order in which they join.
    fn lay_out(&mut self, readings: &[&'a Reading]) -> Vec<Rows<'a>> {
        for text in readings.iter().flat_map(|r| r.texts()) {
            if !self.texts.contains_key(text) {
                let row = self.push(text, 0, 0);
                self.texts.insert(text, row);
            }
        }
        let mut order: Vec<usize> = (0..readings.len()).collect();
        order.sort_by_key(|&i| readings[i].begins().map_or(0, |(layer, _)| layer));
        let mut rows: Vec<Rows<'a>> = readings
            .iter()
            .map(|r| Rows {
                text: &r.text,
                first: self.texts[&*r.text],
                changed: None,
            })
            .collect();
        for i in order {
            let Some((layer, from)) = readings[i].begins() else {
                continue;
            };
            let of = &mut rows[i];
            let row = self.push(of.text, from, of.first);
            of.changed = Some((from, row));
            if layer > 0 {
                let copies = of.first + from..of.first + of.text.len();
                self.script.joins[layer].extend(copies);
            }
        }
        rows
    }

    fn edit(&mut self, edit: &Edit, rows: &Rows<'_>) {
        let value = |i: usize| match &edit.value {
            Value::Fixed(value) => value.clone(),
            Value::From {
                text,
                spot,
                columns,
                positions,
            } => {
                let position = positions[i.min(positions.len() - 1)];
                NewValue::Copy(Cells {
                    spot: *spot,
                    row: self.texts[&**text] + position,
                    columns: columns.clone(),
                })
            }
        };
        let edits: Vec<(Cells, NewValue)> = edit
            .positions
            .iter()
            .enumerate()
            .map(|(i, &position)| {
                let cells = Cells {
                    spot: edit.spot,
                    row: rows.row(position),
                    columns: edit.columns.clone(),
                };
                (cells, value(i))
            })
            .collect();
        let all = self.script.changes.entry(edit.spot).or_default();
        all.extend(edits);
    }
}

type Answer = Result<Reply<Intervened>>;

fn pass(model: &LocalModel, asked: &[(&Job<Intervene>, Reading)]) -> Result<Vec<Answer>> {
    let readings: Vec<&Reading> = asked.iter().map(|(_, reading)| reading).collect();
    let mut plan = Plan::new(model.architecture().layers);
    let rows = plan.lay_out(&readings);
    for (reading, rows) in readings.iter().zip(&rows) {
        for edit in &reading.edits {
            plan.edit(edit, rows);
        }
        for state in &reading.states {
            let watched = plan.script.watched.entry(state.spot).or_default();
            watched.extend(state.positions.iter().map(|&p| rows.row(p)));
        }
    }
    let mut session = model.session(0)?;
    let seen = session.follow(&plan.script)?;
    let mut wanted: Vec<(usize, u32, usize)> = vec![];
    for (reading, rows) in readings.iter().zip(&rows) {
        for (position, token) in reading.wanted() {
            wanted.push((rows.row(position), token, wanted.len()));
        }
    }
    let details: Vec<_> = asked.iter().map(|(j, _)| j.request.score.details).collect();
    let (logprobs, statistics, looking) = predictions(model, &mut session, wanted, &details)?;
    let (mut next, mut answers) = (0, vec![]);
    for ((reading, rows), details) in readings.iter().zip(&rows).zip(details) {
        let known = (logprobs.as_slice(), statistics.as_slice(), &looking);
        let scores = scores(model, (reading, details), known, &mut next);
        answers.push(scores.and_then(|scores| {
            let states = states(model, reading, rows, &seen)?;
            let usage = Usage {
                prompt_tokens: reading.text.len() as u64,
                ..Usage::default()
            };
            Ok(replied(Intervened { scores, states }, usage))
        }));
    }
    Ok(answers)
}

/// Log-probabilities in the order wanted, with what else was seen where whole distributions are looked at.
type Predictions = (Vec<f32>, Vec<TokenStatistics>, Option<Distributions>);

fn predictions(
    model: &LocalModel,
    session: &mut crate::Session<'_>,
    mut wanted: Vec<(usize, u32, usize)>,
    details: &[mary_contract::Details],
) -> Result<Predictions> {
    wanted.sort_unstable();
    let mut chunk = Chunk::default();
    let mut heads: BTreeMap<usize, u32> = BTreeMap::new();
    for &(row, token, node) in &wanted {
        let at = *heads.entry(row).or_insert_with(|| {
            chunk.head_rows.push(row);
            chunk.head_rows.len() as u32 - 1
        });
        chunk.wanted.push(WantedToken { row: at, token });
        chunk.nodes.push(node);
    }
    let (mut logprobs, mut statistics) = (vec![f32::NAN; wanted.len()], vec![]);
    if wanted.is_empty() {
        return Ok((logprobs, statistics, None));
    }
    let looking = details.iter().any(|d| d.of_distributions()).then(|| {
        let starts = details.iter().any(|d| d.word_starts);
        let starts = starts.then(|| model.word_starts()).flatten();
        let ranks = details.iter().any(|d| d.rank);
        let most = details.iter().map(|d| d.alternatives).max().unwrap_or(0);
        Distributions::new(starts, model.architecture().vocab, ranks)
            .with_alternatives(most as usize)
    });
    let (values, seen) = match &looking {
        Some(looking) => looking.at(session, &chunk)?,
        None => {
            session.ask(&chunk.head_rows, &chunk.wanted)?;
            (session.collect()?, vec![])
        }
    };
    for (&node, value) in chunk.nodes.iter().zip(values) {
        logprobs[node] = value;
    }
    if !seen.is_empty() {
        statistics = vec![TokenStatistics::default(); logprobs.len()];
        for (&node, value) in chunk.nodes.iter().zip(seen) {
            statistics[node] = value;
        }
    }
    Ok((logprobs, statistics, looking))
}

fn scores(
    model: &LocalModel,
    (reading, asked): (&Reading, mary_contract::Details),
    (logprobs, statistics, looking): (&[f32], &[TokenStatistics], &Option<Distributions>),
    next: &mut usize,
) -> Result<Scored> {
    let tokenizer = model.checkpoint().tokenizer();
    let mut continuations = vec![];
    // What is wanted was numbered continuation after continuation; all of it is passed over, also after an error.
    let first = *next;
    *next += reading.wanted().count();
    let mut at = first;
    for of in reading.continuations.iter() {
        let scored = &of.tokens[of.scored_from..];
        let range = at..at + scored.len();
        at = range.end;
        let values = logprobs[range.clone()].to_vec();
        if values.iter().any(|x| !x.is_finite()) {
            return Err(model.not_finite());
        }
        let seen = statistics.get(range.clone()).unwrap_or_default();
        let mut details = details::told(asked, &of.places, seen);
        if let (Some(looking), Some(details)) = (looking, &mut details)
            && asked.alternatives > 0
        {
            let nodes: Vec<usize> = range.collect();
            details.alternatives = looking.alternatives(&nodes, asked.alternatives);
        }
        continuations.push(ContinuationScore {
            tokens: scored.iter().map(|&id| tokenizer.piece(id)).collect(),
            logprobs: values,
            first_unscored: of.first_unscored,
            details,
            ..ContinuationScore::default()
        });
    }
    Ok(Scored { continuations })
}

fn states(
    model: &LocalModel,
    reading: &Reading,
    rows: &Rows<'_>,
    seen: &Seen,
) -> Result<Vec<Vec<Vector>>> {
    let mut all = vec![];
    for state in &reading.states {
        let mut vectors = vec![];
        for &position in &state.positions {
            let row = seen.get(&(state.spot, rows.row(position)));
            let values = row.map(|row| {
                let columns = state.columns.clone();
                let each = match state.spot.1 {
                    Part::Pattern => row.len() / model.architecture().heads,
                    _ => 1,
                };
                row[columns.start * each..columns.end * each].to_vec()
            });
            let values = values.unwrap_or_default();
            if values.is_empty() || values.iter().any(|x| !x.is_finite()) {
                return Err(model.not_finite());
            }
            vectors.push(Vector(values));
        }
        all.push(vectors);
    }
    Ok(all)
}
