//! From a rule to sets of items: shots, training and test items that never meet.
//!
//! A rule is a function that draws *twins*: an A item and a B item that share their frame, their
//! words where the rule allows it, their length and their capitals, so that nothing but the rule
//! tells them apart. Test and training sets hold both twins; the shots hold one of each pair, as the
//! paper's do, because two twins side by side would give the rule away.

use std::collections::HashSet;

use mary_contract::TaskError;

use mary_generators::{Stream, shuffle, stream};

/// Shots in the pool, as published: 25 A and 25 B.
pub const SHOT_POOL: usize = 50;
pub const TRAIN_SIZE: usize = 1000;
/// Test items of a seed unless another number is asked for.
const TEST_SIZE: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Label {
    A,
    B,
}

impl Label {
    /// As it is written in the prompt.
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    pub fn index(self) -> usize {
        self as usize
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// What stands between the quotation marks.
    pub text: String,
    pub label: Label,
    /// Names what it was drawn with (its twin; for rhymes four or eight items); `None` for published items.
    pub pair: Option<String>,
}

impl Example {
    /// The same with the labels exchanged.
    pub fn exchanged(&self) -> Self {
        let label = match self.label {
            Label::A => Label::B,
            Label::B => Label::A,
        };
        Self {
            label,
            ..self.clone()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twins {
    pub a: String,
    pub b: String,
}

impl Twins {
    /// One pair, which belongs with no other.
    pub(crate) fn pair(a: String, b: String) -> Vec<Self> {
        vec![Self { a, b }]
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The task's name, for the streams of randomness.
    pub name: &'static str,
    /// Draws matched pairs that belong together (one; two or four for rhymes); none when the draw failed.
    pub draw: fn(&mut Stream) -> Vec<Twins>,
    /// What two texts share when they count as the same item.
    pub key: fn(&str) -> String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sets {
    /// The pool, A, B, A, B …: its first k are as many A as B for every even k. What a prompt shows
    /// is mixed (see `mixed`).
    pub shots: Vec<Example>,
    /// Both twins of every pair, shuffled.
    pub train: Vec<Example>,
    /// Both twins of every pair, shuffled.
    pub test: Vec<Example>,
}

/// The part of a stream's name that tells a draw of shots from the first, which has none.
fn nth(draw: usize) -> String {
    match draw {
        0 => String::new(),
        later => format!("/{later}"),
    }
}

/// Puts shots into a random order that depends on the seed, the task, the draw and how many they are. Small
/// models answer strictly alternating labels with the label whose turn it is (nineteen of twenty cells
/// at k = 4 said A), so that an order that happens to alternate is drawn again.
pub fn mixed(shots: &mut [Example], seed: u64, task: &str, draw: usize) {
    const ATTEMPTS: usize = 100;
    let name = format!("htest/{task}/shots{}/order/{}", nth(draw), shots.len());
    let mut rng = stream(seed, &name);
    for _ in 0..ATTEMPTS {
        shuffle(&mut rng, shots);
        // Two shots of two labels cannot do otherwise.
        if shots.len() < 4 || shots.windows(2).any(|w| w[0].label == w[1].label) {
            break;
        }
    }
}

/// The default identity of a text: letters regardless of case.
pub fn same_letters(text: &str) -> String {
    text.to_lowercase()
}

impl Rule {
    /// Shots, training and test items of a seed. The training set is drawn before the test set, so
    /// that a larger test set still never meets it, and a smaller one is a part of it.
    pub fn sets(&self, seed: u64, test: usize) -> Result<Sets, TaskError> {
        Ok(self.begun(seed, test, &[])?.0)
    }

    /// Test items, and several draws of `k` shots that share nothing with them. The first draw is that
    /// of [`Self::sets`]; the others come after everything else, so that they change no item. Two draws
    /// may share a text: each is a sample of all shots there could be. Nothing is in the sets of the seeds
    /// to keep apart from.
    pub fn draws(
        &self,
        (seed, test): (u64, usize),
        (k, draws): (usize, usize),
        apart: &[u64],
    ) -> Result<(Vec<Vec<Example>>, Vec<Example>), TaskError> {
        let (sets, mut rng, seen) = self.begun(seed, test, apart)?;
        let mut all = vec![sets.shots];
        all.resize(draws.max(1), Vec::new());
        for (draw, shots) in all.iter_mut().enumerate() {
            if draw > 0 {
                rng = stream(seed, &format!("htest/{}/shots{}", self.name, nth(draw)));
            }
            // Of an odd number every second draw has one more B.
            self.more_shots(&mut rng, (k, draw * (k % 2)), &mut seen.clone(), shots)?;
            shots.truncate(k);
        }
        Ok((all, sets.test))
    }

    /// The sets, the stream from which more shots come, and every text so far.
    fn begun(
        &self,
        seed: u64,
        test: usize,
        apart: &[u64],
    ) -> Result<(Sets, Stream, HashSet<String>), TaskError> {
        let (mut seen, mut shots) = (HashSet::new(), Vec::with_capacity(SHOT_POOL));
        for other in apart.iter().filter(|other| **other != seed) {
            let sets = self.sets(*other, TEST_SIZE)?;
            let all = sets.shots.iter().chain(&sets.train).chain(&sets.test);
            seen.extend(all.map(|e| (self.key)(&e.text)));
        }
        let mut rng = stream(seed, &format!("htest/{}/shots", self.name));
        self.more_shots(&mut rng, (SHOT_POOL, 0), &mut seen, &mut shots)?;
        let train = self.both_twins(seed, "train", TRAIN_SIZE, &mut seen)?;
        let test = self.both_twins(seed, "test", test, &mut seen)?;
        Ok((Sets { shots, train, test }, rng, seen))
    }

    /// Shots up to this many, A and B by turns; `turn` 1 begins with B.
    fn more_shots(
        &self,
        rng: &mut Stream,
        (size, turn): (usize, usize),
        seen: &mut HashSet<String>,
        shots: &mut Vec<Example>,
    ) -> Result<(), TaskError> {
        while shots.len() < size {
            let drawn = self.fresh(rng, seen)?;
            let Some(Twins { a, b }) = drawn.into_iter().next() else {
                continue;
            };
            let even = (shots.len() + turn).is_multiple_of(2);
            let (text, label) = if even { (a, Label::A) } else { (b, Label::B) };
            let pair = Some(format!("shot-{:02}", shots.len()));
            shots.push(Example { text, label, pair });
        }
        Ok(())
    }

    fn both_twins(
        &self,
        seed: u64,
        split: &str,
        size: usize,
        seen: &mut HashSet<String>,
    ) -> Result<Vec<Example>, TaskError> {
        if size % 2 == 1 {
            return Err(TaskError::Setting(format!(
                "htest/{}: n={size} cannot be balanced; give an even number",
                self.name
            )));
        }
        let name = format!("htest/{}/{split}", self.name);
        let mut rng = stream(seed, &name);
        let mut examples = Vec::with_capacity(size + 2);
        for draw in 0.. {
            if examples.len() >= size {
                break;
            }
            let pair = Some(format!("{split}-{draw:04}"));
            for twins in self.fresh(&mut rng, seen)? {
                for (text, label) in [(twins.a, Label::A), (twins.b, Label::B)] {
                    let pair = pair.clone();
                    examples.push(Example { text, label, pair });
                }
            }
        }
        examples.truncate(size);
        shuffle(&mut stream(seed, &format!("{name}/order")), &mut examples);
        Ok(examples)
    }

    /// Twins none of whose texts was seen before.
    fn fresh(&self, rng: &mut Stream, seen: &mut HashSet<String>) -> Result<Vec<Twins>, TaskError> {
        const ATTEMPTS: usize = 20_000;
        for _ in 0..ATTEMPTS {
            let drawn = (self.draw)(rng);
            let keys = |t: &Twins| [&t.a, &t.b].map(|text| (self.key)(text));
            let keys: HashSet<String> = drawn.iter().flat_map(keys).collect();
            if !drawn.is_empty() && keys.is_disjoint(seen) {
                seen.extend(keys);
                return Ok(drawn);
            }
        }
        Err(TaskError::Generator(format!(
            "htest/{}: no new item in {ATTEMPTS} draws after {} texts; ask for fewer with --set n=… or -k",
            self.name,
            seen.len()
        )))
    }
}
