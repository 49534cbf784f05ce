//! From what is asked to rows and columns; everything that cannot be done is refused here.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use mary_contract::{Change, Intervene, Operation, Place, Prompt, PromptForm, Score, Site, Start};

use crate::errors::{Result, bad_request, too_long};
use crate::model::LocalModel;
use crate::text;
use crate::transformer::{NewValue, Part, Spot};

/// The rows of one text: what all continuations have in common, and what each has besides.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Text {
    pub shared: Vec<u32>,
    pub tails: Vec<Vec<u32>>,
}

impl Text {
    pub fn len(&self) -> usize {
        self.shared.len() + self.tails.iter().map(Vec::len).sum::<usize>()
    }
}

/// A text with the places in it that can be named.
struct Read {
    text: Arc<Text>,
    continuations: Arc<Vec<text::Reading>>,
    /// Where the tokens before the continuations lie, in bytes.
    offsets: Vec<(usize, usize)>,
    /// Tokens put first.
    shift: usize,
    words: String,
}

impl Read {
    fn prefix(&self) -> usize {
        self.shift + self.offsets.len()
    }

    /// With `whole`, all rows that are read count as all, not only those before the continuations.
    fn positions(&self, place: Place, whole: bool) -> Result<Vec<usize>> {
        let own = self.offsets.len();
        let beyond = |what: String| {
            let message = format!("{what}; {:?} has {own} tokens", self.words);
            bad_request(message).hint("tokens count from 0, spans in bytes of the text")
        };
        let found: Vec<usize> = match place {
            Place::Token(at) if at < own => vec![self.shift + at],
            Place::Token(at) => return Err(beyond(format!("there is no token {at}"))),
            Place::Span { start, end } => {
                let touches = |(s, e): (usize, usize)| s < end && e > start;
                let inside = (0..own).filter(|&i| touches(self.offsets[i]));
                inside.map(|i| self.shift + i).collect()
            }
            Place::Last => vec![self.prefix() - 1],
            Place::All if whole => (0..self.text.len()).collect(),
            Place::All => (0..self.prefix()).collect(),
        };
        match found.is_empty() {
            true => Err(beyond(format!("no token lies in {place:?}"))),
            false => Ok(found),
        }
    }
}

pub(super) enum Value {
    Fixed(NewValue),
    From {
        text: Arc<Text>,
        spot: Spot,
        columns: Range<usize>,
        /// One for each changed position, or one for all.
        positions: Vec<usize>,
    },
}

pub(super) struct Edit {
    pub spot: Spot,
    pub columns: Range<usize>,
    pub positions: Vec<usize>,
    pub value: Value,
}

impl Edit {
    /// A value that is there already, since both texts are the same up to it. It holds only where nothing else is changed.
    fn changes_nothing(&self, own: &Text) -> bool {
        let Value::From {
            text,
            spot,
            columns,
            positions,
        } = &self.value
        else {
            return false;
        };
        let same = own.shared.iter().zip(&text.shared);
        let same = same.take_while(|(a, b)| a == b).count();
        let here = (self.spot, &self.columns, &self.positions);
        here == (*spot, columns, positions) && positions.iter().all(|&at| at < same)
    }
}

pub(super) struct State {
    pub spot: Spot,
    pub columns: Range<usize>,
    pub positions: Vec<usize>,
}

pub(super) struct Reading {
    pub text: Arc<Text>,
    pub continuations: Arc<Vec<text::Reading>>,
    pub edits: Vec<Edit>,
    pub states: Vec<State>,
}

impl Reading {
    /// Its text and those that values come from.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        let sources = self.edits.iter().filter_map(|edit| match &edit.value {
            Value::From { text, .. } => Some(&**text),
            Value::Fixed(_) => None,
        });
        std::iter::once(&*self.text).chain(sources)
    }

    /// The first layer and the first position that a change reaches.
    pub fn begins(&self) -> Option<(usize, usize)> {
        let layer = self.edits.iter().map(|e| e.spot.0).min()?;
        let positions = self.edits.iter().flat_map(|e| &e.positions);
        Some((layer, *positions.min()?))
    }

    /// What is predicted, continuation after continuation: the position before it and the token.
    pub fn wanted(&self) -> impl Iterator<Item = (usize, u32)> {
        let shared = self.text.shared.len();
        let mut tail = shared;
        let all = self.continuations.iter().enumerate();
        all.flat_map(move |(i, of)| {
            let begins = tail;
            tail += self.text.tails[i].len();
            (of.scored_from..of.tokens.len()).map(move |at| {
                let position = match at - 1 < shared {
                    true => at - 1,
                    false => begins + at - 1 - shared,
                };
                (position, of.tokens[at])
            })
        })
    }
}

/// Reads requests; texts that many of them name are read once.
pub(super) struct Reader<'m> {
    model: &'m LocalModel,
    read: HashMap<String, Arc<Read>>,
}

impl<'m> Reader<'m> {
    pub fn new(model: &'m LocalModel) -> Self {
        Self {
            model,
            read: HashMap::new(),
        }
    }

    pub fn read(&mut self, request: &Intervene) -> Result<Reading> {
        let a = self.model.architecture();
        if !(a.causal && a.language_head) {
            let message = format!("a {} predicts no next token", a.family);
            return Err(bad_request(message).hint("interventions are for causal language models"));
        }
        let score = &request.score;
        if score.prefix.has_images() || score.prefix.form == PromptForm::Chat {
            return Err(bad_request("interventions are on plain text"));
        }
        if score.details.as_ids || score.details.top > 0 {
            let message = "token ids and `top` cannot be asked for together with changes";
            return Err(bad_request(message).hint("`alternatives` gives the likeliest tokens"));
        }
        let read = self.text(score)?;
        let edit = |change: &Change| self.edit(change, &read, &score.start);
        let edits = request.changes.iter().map(edit);
        let mut edits = edits.collect::<Result<Vec<_>>>()?;
        if edits.iter().all(|edit| edit.changes_nothing(&read.text)) {
            edits.clear();
        }
        let state = |&(site, place): &(Site, Place)| {
            let (spot, columns) = self.spot(site)?;
            let positions = read.positions(place, true)?;
            Ok(State {
                spot,
                columns,
                positions,
            })
        };
        let states = request.states.iter().map(state);
        Ok(Reading {
            edits,
            states: states.collect::<Result<_>>()?,
            text: Arc::clone(&read.text),
            continuations: Arc::clone(&read.continuations),
        })
    }

    fn text(&mut self, score: &Score) -> Result<Arc<Read>> {
        let key = (score.prefix.text(), &score.continuations, &score.start);
        let key = format!("{key:?}");
        if let Some(known) = self.read.get(&key) {
            return Ok(Arc::clone(known));
        }
        let reader = text::Reader::new(self.model.checkpoint());
        let (words, first) = reader.render(&score.prefix, &score.start)?;
        let encoding = self.model.checkpoint().tokenizer().encode(&words, false)?;
        let prefix: Vec<u32> = first.into_iter().chain(encoding.ids).collect();
        if prefix.is_empty() {
            return Err(bad_request("there is no token before the continuations")
                .hint("begin with a word, or with a start token"));
        }
        let continuations = reader.continuations(score)?;
        for (of, continuation) in continuations.iter().zip(&score.continuations) {
            if of.boundary_merged || !of.tokens.starts_with(&prefix) {
                let message =
                    format!("the tokens of {words:?} change when {continuation:?} follows");
                return Err(bad_request(message)
                    .hint("let the continuation begin with the space, not the text end with it"));
            }
        }
        let rows = |of: &text::Reading| (of.tokens.len() - 1).max(prefix.len());
        let context = self.model.architecture().context;
        if let Some(rows) = continuations.iter().map(rows).find(|&rows| rows > context) {
            let message = format!("the text has {rows} tokens; this model sees {context}");
            return Err(too_long(message));
        }
        let each: Vec<&[u32]> = continuations
            .iter()
            .map(|of| &of.tokens[..rows(of)])
            .collect();
        let shared = each.first().map_or(prefix.len(), |first| {
            let same = |i: &usize| each.iter().all(|rows| rows.get(*i) == first.get(*i));
            (0..first.len()).take_while(same).count()
        });
        let tails = each.iter().map(|rows| rows[shared..].to_vec()).collect();
        let beginning = each.first().copied().unwrap_or(&prefix);
        let read = Arc::new(Read {
            text: Arc::new(Text {
                shared: beginning[..shared].to_vec(),
                tails,
            }),
            continuations: Arc::new(continuations),
            offsets: encoding.offsets,
            shift: usize::from(first.is_some()),
            words,
        });
        self.read.insert(key, Arc::clone(&read));
        Ok(read)
    }

    fn edit(&mut self, change: &Change, read: &Read, start: &Start) -> Result<Edit> {
        let (spot, columns) = self.spot(change.site)?;
        if spot.1 == Part::Pattern {
            let message = format!("{} can be looked at, not changed", change.site);
            return Err(bad_request(message).hint("change what the head gathers instead"));
        }
        let copies = matches!(change.operation, Operation::From { .. });
        let positions = read.positions(change.place, !copies)?;
        let vector = |v: &mary_contract::Vector| -> Result<Arc<[f32]>> {
            if v.0.len() != columns.len() {
                let (found, wanted) = (v.0.len(), columns.len());
                let message = format!("{} holds {wanted} numbers, not {found}", change.site);
                return Err(bad_request(message).hint("the vector belongs to another model"));
            }
            match v.0.iter().all(|x| x.is_finite()) {
                true => Ok(v.0.as_slice().into()),
                false => Err(bad_request("the vector holds numbers that are not finite")),
            }
        };
        let value = match &change.operation {
            Operation::Zero => Value::Fixed(NewValue::Zero),
            Operation::Set(v) => Value::Fixed(NewValue::Set(vector(v)?)),
            Operation::Add(v, factor) => Value::Fixed(NewValue::Add(vector(v)?, *factor)),
            Operation::Remove(v) => {
                let v = vector(v)?;
                let length = v.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt() as f32;
                if length == 0.0 {
                    return Err(bad_request("a vector of zeros has no direction"));
                }
                Value::Fixed(NewValue::Remove(v.iter().map(|x| x / length).collect()))
            }
            Operation::From { text, place, site } => {
                let site = site.unwrap_or(change.site);
                let source = self.text(&Score {
                    prefix: Prompt::plain(text),
                    continuations: vec![],
                    start: start.clone(),
                    details: Default::default(),
                })?;
                let (from, their_columns) = self.spot(site)?;
                if their_columns.len() != columns.len() || from > spot {
                    let message = format!("{} cannot take its value from {site}", change.site);
                    return Err(bad_request(message).hint(
                        "values move between sites of the same width, never to an earlier one",
                    ));
                }
                let theirs = source.positions(*place, false)?;
                if theirs.len() != 1 && theirs.len() != positions.len() {
                    let (ours, theirs) = (positions.len(), theirs.len());
                    let message = format!(
                        "{ours} tokens of {:?} cannot take the values of {theirs} of {text:?}",
                        read.words
                    );
                    return Err(bad_request(message)
                        .hint("name as many tokens in both texts, or one in the other"));
                }
                Value::From {
                    text: Arc::clone(&source.text),
                    spot: from,
                    columns: their_columns,
                    positions: theirs,
                }
            }
        };
        Ok(Edit {
            spot,
            columns,
            positions,
            value,
        })
    }

    fn spot(&self, site: Site) -> Result<(Spot, Range<usize>)> {
        let a = self.model.architecture();
        let (spot, most) = match site {
            Site::Stream(layer) => ((layer, Part::Stream), a.layers),
            Site::Attention(layer) => ((layer, Part::Attention), a.layers - 1),
            Site::FeedForward(layer) => ((layer, Part::FeedForward), a.layers - 1),
            Site::Head(layer, _) => ((layer, Part::Heads), a.layers - 1),
            Site::Pattern(layer, _) => ((layer, Part::Pattern), a.layers - 1),
        };
        if spot.0 > most {
            let message = format!("there is no {site}: this model's last is {most}");
            return Err(bad_request(message));
        }
        match site {
            Site::Head(_, head) | Site::Pattern(_, head) if head >= a.heads => {
                let last = a.heads - 1;
                let message = format!("there is no {site}: heads are numbered 0 to {last}");
                Err(bad_request(message))
            }
            Site::Head(_, head) => Ok((spot, head * a.value_dim()..(head + 1) * a.value_dim())),
            // As many numbers as the row has seen tokens; heads are counted here.
            Site::Pattern(_, head) => Ok((spot, head..head + 1)),
            _ => Ok((spot, 0..a.hidden)),
        }
    }
}
