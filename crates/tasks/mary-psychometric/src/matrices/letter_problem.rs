//! Letter strings after Hofstadter and Webb, Holyoak & Lu 2023: "[a b c d] [a b c e]", and what becomes
//! of "[i j k l]"? Six transformations, and generalisations between the first line and the second.

use std::collections::HashSet;

use mary_contract::TaskError;
use mary_generators::{Stream, below, shuffle, stream};

use super::matrix::RightPlaces;

mary_generators::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Transformation {
        /// The last letter becomes its successor.
        Successor = "successor",
        /// The first letter becomes its predecessor.
        Predecessor = "predecessor",
        Extend = "extend",
        RemoveRedundant = "remove-redundant",
        /// A letter out of place is mended.
        FixAlphabet = "fix-alphabet",
        Sort = "sort",
    }
}

impl Transformation {
    fn mends(self) -> bool {
        matches!(self, Self::RemoveRedundant | Self::FixAlphabet | Self::Sort)
    }
}

mary_generators::named! {
    /// How the second line differs from the first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Generalisation {
        Longer = "longer",
        /// Every second letter of the alphabet.
        LargerInterval = "larger-interval",
        Reversed = "reversed",
        Grouped = "grouped",
        /// A letter between all letters.
        Interleaved = "interleaved",
        Numbers = "numbers",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterProblem {
    pub id: String,
    pub transformation: Transformation,
    pub generalisations: Vec<Generalisation>,
    pub source: [Vec<String>; 2],
    pub target: Vec<String>,
    pub candidates: Vec<Vec<String>>,
    pub correct: usize,
}

/// A string as places along its own alphabet: 0 is its first letter, 1 the next.
type Places = Vec<i32>;

struct Script {
    start: i32,
    step: i32,
    grouped: bool,
    interleaved: bool,
    numbers: bool,
}

impl Script {
    /// Nothing where a place lies outside the alphabet, or meets the letter put between.
    fn write(&self, places: &[i32]) -> Option<Vec<String>> {
        let between = if self.numbers { "0" } else { "x" };
        let mut out = Vec::new();
        for place in places {
            let value = self.start + self.step * place;
            let sign = if self.numbers {
                (1..=60).contains(&value).then(|| value.to_string())?
            } else {
                let letter = u8::try_from(value).ok().filter(|v| *v < 26)?;
                char::from(b'a' + letter).to_string()
            };
            if self.interleaved && sign == between {
                return None;
            }
            let times = if self.grouped { 2 } else { 1 };
            out.extend(std::iter::repeat_n(sign, times));
            if self.interleaved {
                out.extend(std::iter::repeat_n(between.to_owned(), times));
            }
        }
        Some(out)
    }
}

/// Where a fault sits, so that both lines have one of their own.
struct Fault {
    at: usize,
    with: usize,
    foreign: i32,
}

fn transform(kind: Transformation, length: usize, fault: &Fault) -> Option<(Places, Places)> {
    let run: Places = (0..length as i32).collect();
    let mut before = run.clone();
    let mut after = run.clone();
    match kind {
        Transformation::Successor => *after.last_mut()? += 1,
        Transformation::Predecessor => *after.first_mut()? -= 1,
        Transformation::Extend => after.push(length as i32),
        Transformation::RemoveRedundant => before.insert(fault.at, *run.get(fault.at)?),
        Transformation::FixAlphabet => *before.get_mut(fault.at)? = length as i32 + fault.foreign,
        Transformation::Sort => before.swap(fault.at, fault.with),
    }
    (before != after).then_some((before, after))
}

/// Six strings that someone could answer, the right one first. A mended string is never the only
/// orderly one among them.
fn candidates(kind: Transformation, before: &Places, after: &Places) -> Option<Vec<Places>> {
    let edit = |of: &Places, what: usize| -> Option<Places> {
        let mut out = of.clone();
        match what {
            0 => *out.last_mut()? += 1,
            1 => *out.first_mut()? -= 1,
            2 => out.push(out.iter().max()? + 1),
            3 => {
                out.pop();
            }
            _ => {
                let n = out.len();
                out.swap(n.checked_sub(2)?, n - 1);
            }
        }
        Some(out)
    };
    let mut all = vec![after.clone(), before.clone()];
    let edits: &[(&Places, usize)] = match kind.mends() {
        true => &[(after, 0), (after, 1), (after, 2), (before, 2)],
        false => &[0, 1, 2, 3, 4].map(|what| (before, what)),
    };
    for (of, what) in edits {
        all.push(edit(of, *what)?);
    }
    let mut seen = HashSet::new();
    all.retain(|places| seen.insert(places.clone()));
    (all.len() == 6).then_some(all)
}

fn problem(
    rng: &mut Stream,
    kind: Transformation,
    generalisations: &[Generalisation],
) -> Option<LetterProblem> {
    use Generalisation as G;
    let has = |g: G| generalisations.contains(&g);
    let base = if kind.mends() { 5 } else { 4 };
    let length = if has(G::Longer) { 2 * base } else { base };
    let fault = |rng: &mut Stream, length: usize| {
        let at = below(rng, length);
        Fault {
            at,
            with: (at + 1 + below(rng, length - 1)) % length,
            foreign: 1 + below(rng, 4) as i32,
        }
    };
    let plain = Script {
        start: below(rng, 26) as i32,
        step: 1,
        grouped: false,
        interleaved: false,
        numbers: false,
    };
    let forward = if has(G::LargerInterval) { 2 } else { 1 };
    let script = Script {
        start: below(rng, if has(G::Numbers) { 40 } else { 26 }) as i32,
        step: if has(G::Reversed) { -forward } else { forward },
        grouped: has(G::Grouped),
        interleaved: has(G::Interleaved),
        numbers: has(G::Numbers),
    };
    let first = fault(rng, base);
    let (shown, changed) = transform(kind, base, &first)?;
    let second = fault(rng, length);
    let (before, after) = transform(kind, length, &second)?;
    let candidates = candidates(kind, &before, &after)?;
    let written: Option<Vec<Vec<String>>> = candidates.iter().map(|c| script.write(c)).collect();
    let source = [plain.write(&shown)?, plain.write(&changed)?];
    let target = script.write(&before)?;
    (source[0] != target).then_some(LetterProblem {
        id: String::new(),
        transformation: kind,
        generalisations: generalisations.to_vec(),
        source,
        target,
        candidates: written?,
        correct: 0,
    })
}

const TRIES: usize = 20_000;

/// `n` fresh problems of a seed with this many generalisations, transformations by turns, none twice.
pub fn fresh_letters(
    seed: u64,
    n: usize,
    generalisations: usize,
) -> Result<Vec<LetterProblem>, TaskError> {
    let mut rng = stream(seed, "psychometric/letter-strings");
    let mut seen = HashSet::new();
    let mut dealt = RightPlaces::<6>::default();
    let mut made = Vec::with_capacity(n);
    for index in 0..n {
        let kind = Transformation::ALL[index % Transformation::ALL.len()];
        let found = (0..TRIES).find_map(|_| {
            let mut chosen = Generalisation::ALL.to_vec();
            shuffle(&mut rng, &mut chosen);
            chosen.truncate(generalisations);
            chosen.sort_unstable();
            let found = problem(&mut rng, kind, &chosen)?;
            let key = (found.source.clone(), found.target.clone());
            seen.insert(key).then_some(found)
        });
        let Some(mut found) = found else {
            return Err(TaskError::Generator(format!(
                "psychometric/letter-strings: no further problem of the kind {} was found after {index}",
                kind.name()
            )));
        };
        found.correct = dealt.deal(&mut rng, &mut found.candidates);
        found.id = format!("{seed}-{index:04}");
        made.push(found);
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault() -> Fault {
        Fault {
            at: 1,
            with: 3,
            foreign: 2,
        }
    }

    #[test]
    fn six_transformations_by_hand() {
        let script = |step| Script {
            start: 8,
            step,
            grouped: false,
            interleaved: false,
            numbers: false,
        };
        let shown = |kind, length, step| {
            let (before, after) = transform(kind, length, &fault()).unwrap();
            let write = |p: &Places| script(step).write(p).unwrap().concat();
            format!("{} {}", write(&before), write(&after))
        };
        assert_eq!(shown(Transformation::Successor, 4, 1), "ijkl ijkm");
        assert_eq!(shown(Transformation::Predecessor, 4, -1), "ihgf jhgf");
        assert_eq!(shown(Transformation::Extend, 4, 2), "ikmo ikmoq");
        assert_eq!(shown(Transformation::RemoveRedundant, 5, 1), "ijjklm ijklm");
        assert_eq!(shown(Transformation::FixAlphabet, 5, 1), "ipklm ijklm");
        assert_eq!(shown(Transformation::Sort, 5, 1), "ilkjm ijklm");
    }

    #[test]
    fn groups_and_letters_between() {
        let script = Script {
            start: 4,
            step: 1,
            grouped: true,
            interleaved: true,
            numbers: true,
        };
        assert_eq!(script.write(&[0, 1]).unwrap().join(" "), "4 4 0 0 5 5 0 0");
        assert_eq!(script.write(&[-4]), None);
    }
}
