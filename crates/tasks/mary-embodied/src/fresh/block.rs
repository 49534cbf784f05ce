//! Four questions to one set of four options, each option the answer of exactly one: whoever does
//! not read the question is right one time in four, whatever he knows about the options.

use std::collections::HashSet;

use mary_contract::TaskError;
use mary_generators::{Stream, shuffle, stream};

use super::said::{Level, Said, phrase};
use super::sketch::Sketch;

pub const OPTIONS: usize = 4;

#[derive(Debug, Clone)]
pub struct Posed {
    pub words: Said,
    /// What is asked when only the picture is shown.
    pub seen: Said,
    /// What the picture shows, said when both are given.
    pub caption: Said,
    pub sketch: Sketch,
}

impl Posed {
    /// The question whose wordings are `KEY.words`, `KEY.seen` and `KEY.caption`, their places filled.
    pub(super) fn new(key: &str, sketch: Sketch, fill: impl Fn(Said) -> Said) -> Self {
        let [words, seen, caption] =
            ["words", "seen", "caption"].map(|form| fill(phrase(&format!("{key}.{form}"))));
        Self {
            words,
            seen,
            caption,
            sketch,
        }
    }
}

/// Four questions that share their options: option `i` answers question `i` and no other.
#[derive(Debug, Clone)]
pub struct Block {
    pub options: Vec<Said>,
    /// The same options where only the picture is shown, when they read differently there.
    pub seen_options: Option<Vec<Said>>,
    pub questions: Vec<Posed>,
}

impl Block {
    pub(super) fn new(options: Vec<Said>, questions: Vec<Posed>) -> Self {
        Self {
            options,
            seen_options: None,
            questions,
        }
    }

    pub(super) fn seen_as(mut self, options: Vec<Said>) -> Self {
        self.seen_options = Some(options);
        self
    }
}

#[derive(Debug)]
pub struct FreshKind {
    pub name: &'static str,
    /// Draws four questions of a level that go together; `None` when this draw did not work out.
    pub draw: fn(&mut Stream, Level) -> Option<Block>,
    /// What grows from rung to rung, in words; nothing where all are alike: such a kind is asked only
    /// when questions are taken as they come.
    pub grows: Option<&'static str>,
}

impl FreshKind {
    pub(super) const fn new(
        name: &'static str,
        draw: fn(&mut Stream, Level) -> Option<Block>,
    ) -> Self {
        Self {
            name,
            draw,
            grows: None,
        }
    }

    pub(super) const fn growing(mut self, grows: &'static str) -> Self {
        self.grows = Some(grows);
        self
    }
}

#[derive(Debug, Clone)]
pub struct FreshItem {
    pub kind: &'static str,
    pub posed: Posed,
    pub options: Vec<Said>,
    /// The same where only the picture is shown.
    pub seen_options: Vec<Said>,
    pub correct: usize,
    pub block: usize,
}

const ATTEMPTS: usize = 200_000;

/// `n` items of a seed and a level, the kinds by turns, no question twice.
pub fn items(
    task: &str,
    kinds: &[&'static FreshKind],
    (seed, level): (u64, Level),
    n: usize,
) -> Result<Vec<FreshItem>, TaskError> {
    let wrong = |why: String| Err(TaskError::Setting(format!("{task}: {why}")));
    if n == 0 || !n.is_multiple_of(OPTIONS) {
        let expected = format!("expected a multiple of {OPTIONS}");
        return wrong(format!(
            "n={n}; {expected}, since four questions share their options"
        ));
    }
    let has_rungs = |k: &&FreshKind| level == Level::Any || k.grows.is_some();
    let asked_kinds: Vec<&'static FreshKind> = kinds.iter().copied().filter(has_rungs).collect();
    if asked_kinds.is_empty() {
        return wrong(
            "no kind of question asked for has rungs\nhint: level=any, or colours=names".into(),
        );
    }
    // As they come, the stream is the one that questions had before there was a ladder.
    let mut rng = match level {
        Level::Any => stream(seed, task),
        rung => stream(seed, &format!("{task}/level-{}", rung.name())),
    };
    let mut asked: HashSet<String> = HashSet::new();
    let mut items = Vec::with_capacity(n);
    let turns = asked_kinds.into_iter().cycle().take(n / OPTIONS);
    for (number, kind) in turns.enumerate() {
        let is_new = |b: &Block| {
            let new: HashSet<&str> = b.questions.iter().map(|q| q.words.en.as_str()).collect();
            new.len() == OPTIONS && new.iter().all(|w| !asked.contains(*w))
        };
        let mut drawn = (0..ATTEMPTS).filter_map(|_| (kind.draw)(&mut rng, level));
        let block = drawn.find(is_new).ok_or_else(|| {
            let (kind, made) = (kind.name, items.len());
            TaskError::Generator(format!(
                "{task}: no further four questions of the kind `{kind}` after {made} items; ask for fewer \
                 with --set n=…"
            ))
        })?;
        asked.extend(block.questions.iter().map(|q| q.words.en.clone()));
        items.extend(placed(&mut rng, kind.name, number, block));
    }
    shuffle(&mut rng, &mut items);
    Ok(items)
}

/// The questions of a block with their options in the order shown: each place holds the right one
/// once in a block.
fn placed(rng: &mut Stream, kind: &'static str, number: usize, block: Block) -> Vec<FreshItem> {
    let mut places: Vec<usize> = (0..OPTIONS).collect();
    shuffle(rng, &mut places);
    let seen = block.seen_options.as_ref().unwrap_or(&block.options);
    let mut items = Vec::with_capacity(OPTIONS);
    for ((right, posed), correct) in block.questions.into_iter().enumerate().zip(places) {
        let mut order: Vec<usize> = (0..OPTIONS).filter(|o| *o != right).collect();
        shuffle(rng, &mut order);
        order.insert(correct.min(order.len()), right);
        let shown = |from: &[Said]| -> Vec<Said> {
            order.iter().filter_map(|o| from.get(*o).cloned()).collect()
        };
        items.push(FreshItem {
            kind,
            posed,
            options: shown(&block.options),
            seen_options: shown(seen),
            correct,
            block: number,
        });
    }
    items
}

/// Draws until four questions have four different answers, or `draws` are used up. The answers, in words,
/// become the options.
pub fn gathered<A: PartialEq>(
    rng: &mut Stream,
    draws: usize,
    mut draw: impl FnMut(&mut Stream) -> Option<(A, Posed)>,
    words: impl Fn(&A) -> Said,
) -> Option<Block> {
    let mut answers: Vec<A> = Vec::with_capacity(OPTIONS);
    let mut questions = Vec::with_capacity(OPTIONS);
    for _ in 0..draws {
        if let Some((answer, posed)) = draw(rng)
            && !answers.contains(&answer)
        {
            answers.push(answer);
            questions.push(posed);
        }
        if answers.len() == OPTIONS {
            return Some(Block::new(answers.iter().map(words).collect(), questions));
        }
    }
    None
}

pub fn counted(
    rng: &mut Stream,
    draws: usize,
    draw: impl FnMut(&mut Stream) -> Option<(usize, Posed)>,
) -> Option<Block> {
    gathered(rng, draws, draw, |count| Said::same(count))
}

/// Names in a row as people say them: `a, b, c and d`.
pub fn listed(names: &[Said]) -> Said {
    let english: Vec<&str> = names.iter().map(|n| n.en.as_str()).collect();
    let chinese: Vec<&str> = names.iter().map(|n| n.zh.as_str()).collect();
    let en = match english.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    };
    Said::new(en, chinese.join("、"))
}
