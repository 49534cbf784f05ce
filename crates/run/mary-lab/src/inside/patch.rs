//! Activation patching: values of the clean text are put into the run on the corrupted one, place by place, and the share
//! of the difference in behaviour that comes back is measured.
//!
//! Behaviour is log p(good) − log p(bad), each summed over its tokens. A cell is a value of one layer in one place. Its
//! effect is the share restored over all pairs (a ratio of sums), and it is marked only where the effect lies above zero and
//! above every control, by the largest of these p-values, corrected by Holm over all cells. Nothing is
//! marked for a model that does not tell clean from corrupted.

use std::collections::BTreeMap;

use mary_contract::{Change, Details, Intervene, Intervened, Operation, Place, Site};
use mary_stats::intervals::{mean_t, ratio_t};
use mary_stats::multiple::holm;
use mary_stats::{Interval, LEVEL, StatsError, p_of_interval};
use serde::Serialize;

use super::Subject;
use super::ask::{Lots, request};
use super::pairs::{Pair, Pairs, Spot};
use crate::texts::InstrumentError;

/// Pairs that are asked together.
const BLOCK: usize = 8;

/// Which values are patched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatchSite {
    /// The residual stream after so many blocks.
    Stream,
    /// What the attention of a block adds.
    Attention,
    /// What the feed-forward layers of a block add.
    FeedForward,
    /// What single heads gather, in one place.
    Heads,
}

/// How texts are patched.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchOptions {
    /// Which values.
    pub site: PatchSite,
    /// Values of the corrupted text go into the clean run, and the share destroyed is measured.
    pub into_clean: bool,
    /// The place in which heads are patched: a region, or a token counted from the end (`-1`).
    pub at: Option<String>,
    /// Whether controls are run; without them nothing is marked.
    pub controls: bool,
    /// Of what is drawn by lot.
    pub seed: u64,
}

impl Default for PatchOptions {
    fn default() -> Self {
        Self {
            site: PatchSite::Stream,
            into_clean: false,
            at: None,
            controls: true,
            seed: 0,
        }
    }
}

/// A value of one layer in one place, over all pairs that have the place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatchCell {
    /// The layer: blocks done for the stream, the block for everything else.
    pub layer: usize,
    /// The place, or the head.
    pub place: String,
    /// The share restored, or nats where there is nothing to restore.
    pub effect: Interval,
    /// The same for each control.
    pub controls: BTreeMap<String, Interval>,
    /// The largest p-value: of zero, and of each control.
    pub p: f64,
    /// Corrected by Holm over all cells.
    pub p_holm: f64,
    /// Above zero and above every control.
    pub marked: bool,
}

/// What patching found in one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Patched {
    /// The model as it is called.
    pub model: String,
    /// Which values.
    pub site: PatchSite,
    /// Values of the corrupted text went into the clean run.
    pub into_clean: bool,
    /// log p(good) − log p(bad) after the clean prefix minus the same after the corrupted one, in nats.
    pub difference: Interval,
    /// Pairs in which this difference has the wrong sign.
    pub wrong_sign: usize,
    /// Whether effects are shares of the difference; else nats, since the model makes none.
    pub shares: bool,
    /// Cells by layer.
    pub cells: Vec<PatchCell>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// The controls of a cell.
pub const CONTROLS: [&str; 4] = [
    "other text",
    "other place",
    "random direction",
    "untrained model",
];

/// One column of the picture in one layer.
struct Cell {
    layer: usize,
    column: String,
    site: Site,
    key: String,
}

/// Values that came of a pair: for each cell, the change in behaviour by the patch and by each control.
type Changes = Vec<[Option<f64>; 5]>;

struct Patching<'a> {
    pairs: &'a Pairs,
    spots: Vec<Vec<Spot>>,
    cells: Vec<Cell>,
    options: &'a PatchOptions,
}

/// Patches all pairs in a model, beside an untrained one where there is one. `tell` hears how many pairs are done.
pub fn patch(
    name: &str,
    (subject, twin): (&Subject<'_>, Option<&Subject<'_>>),
    pairs: &Pairs,
    options: &PatchOptions,
    tell: &mut dyn FnMut(usize),
) -> Result<Patched, InstrumentError> {
    let spots = pairs.spots(subject)?;
    let cells = cells(subject, &spots, options)?;
    let patching = Patching {
        pairs,
        spots,
        cells,
        options,
    };
    let (mut differences, mut changes): (Vec<f64>, Vec<Changes>) = (Vec::new(), Vec::new());
    let (mut untrained, mut beside) = (Vec::new(), Vec::new());
    for first in (0..pairs.pairs.len()).step_by(BLOCK) {
        let block = first..(first + BLOCK).min(pairs.pairs.len());
        tell(first);
        let found = patching.block(subject, block.clone(), options.controls)?;
        for (difference, of) in found {
            differences.push(difference);
            changes.push(of);
        }
        if let Some(twin) = twin.filter(|_| options.controls) {
            for (difference, of) in patching.block(twin, block, false)? {
                untrained.push(difference);
                beside.push(of);
            }
        }
    }
    // Shuffled weights have logits of any size: changes count in units of each model's own differences.
    let size = |all: &[f64]| all.iter().map(|d| d * d).sum::<f64>().sqrt();
    let scale = match size(&untrained) {
        0.0 => 0.0,
        theirs => size(&differences) / theirs,
    };
    for (of, beside) in changes.iter_mut().flatten().zip(beside.iter().flatten()) {
        of[4] = beside[0].map(|change| scale * change);
    }
    let mut found = patching
        .summary(name, &differences, &changes)
        .map_err(failed)?;
    for cell in &mut found.cells {
        cell.place = pairs.label(&cell.place, subject)?;
    }
    if options.controls && twin.is_none() {
        found
            .notes
            .push("no untrained twin was run beside it".into());
    }
    Ok(found)
}

pub(crate) fn failed(error: StatsError) -> InstrumentError {
    InstrumentError::Usage(error.to_string())
}

/// Every layer with every place, or with every head.
fn cells(
    subject: &Subject<'_>,
    spots: &[Vec<Spot>],
    options: &PatchOptions,
) -> Result<Vec<Cell>, InstrumentError> {
    // Places in the order of the longest text.
    let longest = spots.iter().max_by_key(|s| s.len());
    let keys: Vec<&String> = longest.into_iter().flatten().map(|s| &s.key).collect();
    let mut cells = Vec::new();
    if options.site == PatchSite::Heads {
        let last = keys.last().map(|k| k.to_string()).unwrap_or_default();
        let at = options.at.clone().unwrap_or(last);
        if !keys.contains(&&at) {
            let known: Vec<&str> = keys.iter().map(|k| k.as_str()).collect();
            return Err(InstrumentError::Usage(format!(
                "there is no place `{at}` in these texts\nhint: there are {}",
                known.join(", ")
            )));
        }
        let heads = subject.heads()?;
        for (layer, head) in (0..subject.layers).flat_map(|l| (0..heads).map(move |h| (l, h))) {
            cells.push(Cell {
                layer,
                column: format!("head {head}"),
                site: Site::Head(layer, head),
                key: at.clone(),
            });
        }
        return Ok(cells);
    }
    let last = match options.site {
        PatchSite::Stream => subject.layers,
        _ => subject.layers.saturating_sub(1),
    };
    for layer in 0..=last {
        for key in &keys {
            cells.push(Cell {
                layer,
                column: key.to_string(),
                site: match options.site {
                    PatchSite::Stream => Site::Stream(layer),
                    PatchSite::Attention => Site::Attention(layer),
                    _ => Site::FeedForward(layer),
                },
                key: key.to_string(),
            });
        }
    }
    Ok(cells)
}

/// log p(good) − log p(bad).
pub(crate) fn preference(answer: &Intervened) -> f64 {
    match answer.scores.continuations.as_slice() {
        [good, bad, ..] => good.sum() - bad.sum(),
        _ => f64::NAN,
    }
}

impl Patching<'_> {
    /// The text that is changed and the one that values come from.
    fn texts<'p>(&self, pair: &'p Pair) -> [&'p String; 2] {
        match self.options.into_clean {
            true => [&pair.clean, &pair.corrupted],
            false => [&pair.corrupted, &pair.clean],
        }
    }

    /// Places in the same order.
    fn order<T: Copy>(&self, [clean, corrupted]: [T; 2]) -> [T; 2] {
        match self.options.into_clean {
            true => [clean, corrupted],
            false => [corrupted, clean],
        }
    }

    fn spot(&self, pair: usize, key: &str) -> Option<&Spot> {
        self.spots[pair].iter().find(|s| s.key == key)
    }

    /// What some pairs come to in a model: clean minus corrupted, and the changes of all cells.
    fn block(
        &self,
        subject: &Subject<'_>,
        block: std::ops::Range<usize>,
        controls: bool,
    ) -> Result<Vec<(f64, Changes)>, InstrumentError> {
        let mut plain = Vec::new();
        for at in block.clone() {
            let pair = &self.pairs.pairs[at];
            for (side, text) in self.texts(pair).into_iter().enumerate() {
                let spots = self.cells.iter().map(|c| (c, self.spot(at, &c.key)));
                let states = spots
                    .filter_map(|(cell, spot)| Some((cell.site, self.order(spot?.places)[side])));
                plain.push(Intervene {
                    states: states.filter(|_| controls).collect(),
                    ..request(text, &pair.words, Details::default())
                });
            }
        }
        let plain = subject.ask(plain)?;
        let (mut requests, mut owners) = (Vec::new(), Vec::new());
        for (at, sides) in block.clone().zip(plain.chunks_exact(2)) {
            let mut states = sides[0].states.iter().zip(&sides[1].states);
            for (number, cell) in self.cells.iter().enumerate() {
                let Some(spot) = self.spot(at, &cell.key) else {
                    continue;
                };
                let apart = states.next().map(|(a, b)| distance(a, b));
                let operations = self.operations(at, cell, spot, apart).into_iter();
                for (which, operation) in operations.enumerate() {
                    let Some(operation) = operation.filter(|_| controls || which == 0) else {
                        continue;
                    };
                    let pair = &self.pairs.pairs[at];
                    requests.push(Intervene {
                        changes: vec![Change {
                            site: cell.site,
                            place: self.order(spot.places)[0],
                            operation,
                        }],
                        ..request(self.texts(pair)[0], &pair.words, Details::default())
                    });
                    owners.push((at - block.start, number, which));
                }
            }
        }
        let sides: Vec<[f64; 2]> = plain
            .chunks_exact(2)
            .map(|sides| [preference(&sides[0]), preference(&sides[1])])
            .collect();
        let sign = if self.options.into_clean { -1.0 } else { 1.0 };
        let empty = vec![[None; 5]; self.cells.len()];
        let mut found: Vec<(f64, Changes)> = sides
            .iter()
            .map(|[changed, source]| (sign * (source - changed), empty.clone()))
            .collect();
        for (answer, (pair, cell, which)) in subject.ask(requests)?.iter().zip(owners) {
            found[pair].1[cell][which] = Some(sign * (preference(answer) - sides[pair][0]));
        }
        Ok(found)
    }

    /// The patch of a cell, and its controls.
    fn operations(
        &self,
        at: usize,
        cell: &Cell,
        spot: &Spot,
        apart: Option<(f64, usize)>,
    ) -> [Option<Operation>; 4] {
        let source = self.texts(&self.pairs.pairs[at])[1];
        let from = |text: &str, place: Place| Operation::From {
            text: text.to_owned(),
            place,
            site: None,
        };
        let what = format!("{at} {} {}", cell.site, cell.key);
        let mut lots = Lots::new(self.options.seed, &what);
        // Controls bring foreign values without what sets the two sides of this pair apart: from a text after which
        // the same continuation is wrong, and from elsewhere in the text that is changed. Another clean text, or
        // another place of this one, may bring the same property along.
        let pairs = &self.pairs.pairs;
        let mut others: Vec<usize> = (0..self.spots.len())
            .filter(|&other| other != at && self.spot(other, &cell.key).is_some())
            .collect();
        let alike = |other: &usize| pairs[*other].words == pairs[at].words;
        if others.iter().any(alike) {
            others.retain(alike);
        }
        let other = others.get(lots.below(others.len())).and_then(|&other| {
            let text = self.texts(&pairs[other])[0];
            Some(from(text, self.order(self.spot(other, &cell.key)?.ends)[0]))
        });
        let places = self.spots[at].iter().filter(|s| s.ends != spot.ends);
        let places: Vec<&Spot> = places.collect();
        let own = self.texts(&pairs[at])[0];
        let elsewhere = places.get(lots.below(places.len()));
        [
            Some(from(source, self.order(spot.places)[1])),
            other,
            elsewhere.map(|other| from(own, self.order(other.ends)[0])),
            apart.map(|(length, width)| Operation::Add(lots.direction(width, length), 1.0)),
        ]
    }

    fn summary(
        &self,
        name: &str,
        differences: &[f64],
        changes: &[Changes],
    ) -> Result<Patched, StatsError> {
        let difference = mean_t(differences, LEVEL)?;
        let shares = difference.low > 0.0;
        let mut found = Patched {
            model: name.to_owned(),
            site: self.options.site,
            into_clean: self.options.into_clean,
            difference,
            wrong_sign: differences.iter().filter(|d| **d <= 0.0).count(),
            shares,
            cells: Vec::new(),
            notes: Vec::new(),
        };
        if !shares {
            found.notes.push(
                "the model does not tell clean from corrupted: effects are in nats and nothing is marked".into(),
            );
        }
        for (number, cell) in self.cells.iter().enumerate() {
            let unit = |at: usize| if shares { differences[at] } else { 1.0 };
            // Pairs that have both, and what `value` makes of the two.
            let over = |which: usize, value: &dyn Fn(f64, f64) -> f64| {
                let both = changes.iter().enumerate().filter_map(|(at, of)| {
                    Some((value(of[number][0]?, of[number][which]?), unit(at)))
                });
                let (values, units): (Vec<f64>, Vec<f64>) = both.unzip();
                (values.len() > 1).then(|| ratio_t(&values, &units, LEVEL))
            };
            let Some(effect) = over(0, &|change, _| change).transpose()? else {
                continue;
            };
            let (mut p, mut above) = (p_of(&effect), effect.low > 0.0);
            let mut controls = BTreeMap::new();
            for (which, called) in (1..).zip(CONTROLS) {
                let Some(control) = over(which, &|_, control| control).transpose()? else {
                    continue;
                };
                let beyond = over(which, &|change, control| change - control);
                if let Some(beyond) = beyond.transpose()? {
                    p = p.max(p_of(&beyond));
                    above &= beyond.low > 0.0;
                }
                controls.insert(called.to_owned(), control);
            }
            found.cells.push(PatchCell {
                layer: cell.layer,
                place: cell.column.clone(),
                effect,
                marked: above && shares && !controls.is_empty(),
                controls,
                p,
                p_holm: 1.0,
            });
        }
        let all: Vec<f64> = found.cells.iter().map(|c| c.p).collect();
        for (cell, p) in found.cells.iter_mut().zip(holm(&all)?) {
            cell.p_holm = p;
            cell.marked &= p < 1.0 - LEVEL;
        }
        Ok(found)
    }
}

/// The p-value of zero. A value without spread is certain, unless it is zero.
pub(crate) fn p_of(found: &Interval) -> f64 {
    let bounds = (found.value, found.low, found.high);
    p_of_interval(bounds, found.n, found.method, 0.0).unwrap_or(1.0)
}

/// How far apart the values of two texts are, as a mean over tokens, and how wide they are.
fn distance(left: &[mary_contract::Vector], right: &[mary_contract::Vector]) -> (f64, usize) {
    let squares = left.iter().zip(right).map(|(a, b)| {
        let each = a.0.iter().zip(&b.0).map(|(x, y)| f64::from(x - y).powi(2));
        each.sum::<f64>()
    });
    let tokens = left.len().min(right.len()).max(1) as f64;
    let width = left.first().map_or(0, |v| v.0.len());
    ((squares.sum::<f64>() / tokens).sqrt(), width)
}
