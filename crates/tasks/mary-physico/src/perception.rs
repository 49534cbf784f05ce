//! Does the model see the grid at all? Questions about the objects of one input/output pair, whose
//! answers are known from the cells, so that a failure to understand can be told from a failure to
//! see (the paper's RQ 5, where people read free descriptions of 60 pairs).

use std::sync::LazyLock;

use mary_contract::{ForPeople, Item, Items, Part, Target, TaskError};
use mary_generators::{Stream, below, shuffle, stream};
use mary_platform::given;

use crate::cards::card;
use crate::choice_task::ChoiceTask;
use crate::grid::{COLOURS, Pair};
use crate::grid_task::{image, question};
use crate::judging;
use crate::prompt;
use crate::setup::PhysicoSettings;
use crate::worlds::{self, Change, Object, PairObjects, objects};

mary_generators::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum QuestionKind {
        Count = "count",
        Colour = "colour",
        Shape = "shape",
        Place = "place",
        Change = "change",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub kind: QuestionKind,
    pub words: String,
    pub options: Vec<String>,
    pub correct: usize,
    pub concept: &'static str,
    pub pair: Pair,
}

/// What can become of an object, in the words of the options.
const FATES: [&str; 4] = [
    "it stays as it is",
    "it changes its place only",
    "it changes its color only",
    "it changes its shape or size",
];

/// `n` questions of each kind, in blocks of four: within a block the right option stands once at each
/// place, and where the options are the same in all four (numbers, shapes, what became of an object)
/// each of them is right once, so that nothing is gained without looking.
pub fn questions(seed: u64, n: usize) -> Result<Vec<Question>, TaskError> {
    let mut rng = stream(seed, "physico/perception");
    let mut asked = Vec::with_capacity(n * QuestionKind::ALL.len());
    for kind in QuestionKind::ALL {
        let mut places = [0, 1, 2, 3];
        for index in 0..n {
            if index % 4 == 0 {
                shuffle(&mut rng, &mut places);
            }
            let place = places.get(index % 4).copied().unwrap_or(0);
            asked.push(one(&mut rng, kind, index, place)?);
        }
    }
    shuffle(&mut rng, &mut asked);
    Ok(asked)
}

fn one(
    rng: &mut Stream,
    kind: QuestionKind,
    index: usize,
    place: usize,
) -> Result<Question, TaskError> {
    const ATTEMPTS: usize = 4000;
    let all = worlds::concepts();
    for _ in 0..ATTEMPTS {
        let Some(&concept) = all.get(below(rng, all.len())) else {
            break;
        };
        let Some(aspect) = concept.aspects.get(below(rng, concept.aspects.len())) else {
            continue;
        };
        let palette = worlds::Setting::palette(rng);
        let Some(pair) = worlds::plain_pair(concept, aspect, rng, palette) else {
            continue;
        };
        let seen = objects(&pair);
        // On a background other than black, or crowded, "object" is a matter of taste.
        if seen.background != 0 || seen.input.is_empty() || seen.input.len() > 12 {
            continue;
        }
        let found = match kind {
            QuestionKind::Count => count(rng, &seen, index),
            QuestionKind::Colour => colour(rng, &seen),
            QuestionKind::Shape => shape(rng, &seen, index),
            QuestionKind::Place => whereabouts(rng, &seen, &pair),
            QuestionKind::Change => change(rng, &seen, index),
        };
        let Some((words, right, mut wrong)) = found else {
            continue;
        };
        shuffle(rng, &mut wrong);
        wrong.truncate(3);
        let mut options = wrong;
        options.insert(place.min(options.len()), right);
        if options.len() == 4 {
            return Ok(Question {
                kind,
                words,
                options,
                correct: place,
                concept: concept.name,
                pair,
            });
        }
    }
    let kind = kind.name();
    let fault = format!("physico: no question about {kind} in {ATTEMPTS} draws");
    Err(TaskError::Generator(fault))
}

/// A question in words, its answer, and at least three wrong answers.
type Drawn = (String, String, Vec<String>);

fn count(rng: &mut Stream, seen: &PairObjects, index: usize) -> Option<Drawn> {
    let (side, objects) = if below(rng, 2) == 0 {
        ("input", &seen.input)
    } else {
        ("output", &seen.output)
    };
    let lowest = 1 + index / 4 % 4;
    given(objects.len() == lowest + index % 4)?;
    let wrong = (lowest..lowest + 4).filter(|n| *n != objects.len());
    let wrong = wrong.map(|n| n.to_string());
    let question = format!("How many objects are there in the {side} grid?");
    Some((question, objects.len().to_string(), wrong.collect()))
}

fn colour_name(colour: u8) -> Option<&'static str> {
    COLOURS.get(usize::from(colour)).copied()
}

/// The object with the most cells, if it is the only one with so many.
fn largest(objects: &[Object]) -> Option<&Object> {
    let most = objects.iter().map(|o| o.cells.len()).max()?;
    only(objects.iter().filter(|o| o.cells.len() == most))
}

fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Colours seen in the pair come first among the wrong options, so that presence gives nothing away.
fn colour(rng: &mut Stream, seen: &PairObjects) -> Option<Drawn> {
    let object = largest(&seen.input)?;
    let right = colour_name(object.colour)?;
    let all = seen.input.iter().chain(&seen.output).map(|o| o.colour);
    let present = |c: &u8| all.clone().any(|o| o == *c);
    let wrong = (1..10).filter(|c| *c != object.colour);
    let (mut there, mut others): (Vec<u8>, Vec<u8>) = wrong.partition(present);
    given(!there.is_empty())?;
    shuffle(rng, &mut there);
    shuffle(rng, &mut others);
    let wrong = there.into_iter().chain(others).take(3);
    let wrong = wrong.filter_map(colour_name).map(str::to_owned).collect();
    let question = "Which color has the object with the most cells in the input grid?";
    Some((question.into(), right.into(), wrong))
}

/// An object that its colour names: the only one of its colour in the input.
fn named<'a>(rng: &mut Stream, seen: &'a PairObjects) -> Option<&'a Object> {
    let like = |o: &Object| seen.input.iter().filter(|p| p.colour == o.colour).count();
    let alone: Vec<&Object> = seen.input.iter().filter(|o| like(o) == 1).collect();
    alone.get(below(rng, alone.len())).copied()
}

fn shape(rng: &mut Stream, seen: &PairObjects, index: usize) -> Option<Drawn> {
    const SHAPES: [&str; 6] = [
        "single cell",
        "horizontal line",
        "vertical line",
        "filled square",
        "filled rectangle",
        "irregular shape",
    ];
    let object = named(rng, seen)?;
    let offered = SHAPES.iter().cycle().skip(index / 4 % SHAPES.len()).take(4);
    let right = offered.clone().nth(index % 4);
    let right = right.filter(|s| **s == object.shape)?;
    let wrong = offered.filter(|s| *s != right);
    let colour = colour_name(object.colour)?;
    Some((
        format!("Which shape has the {colour} object in the input grid?"),
        (*right).to_owned(),
        wrong.map(|s| (*s).to_owned()).collect(),
    ))
}

/// Two rows and two columns give the four options, so that none of them is the odd one.
fn whereabouts(rng: &mut Stream, seen: &PairObjects, pair: &Pair) -> Option<Drawn> {
    let object = named(rng, seen)?;
    let [top, left, ..] = object.bounds;
    let mut beside = |at: i32, length: usize| {
        let near = [-4, -3, -2, -1, 1, 2, 3, 4].map(|s| at + s).into_iter();
        let there: Vec<i32> = near.filter(|p| (0..length as i32).contains(p)).collect();
        there.get(below(rng, there.len())).copied()
    };
    let row = beside(top, pair.input.rows())?;
    let col = beside(left, pair.input.cols())?;
    let words = |row: i32, col: i32| format!("row {}, column {}", row + 1, col + 1);
    let colour = colour_name(object.colour)?;
    Some((
        format!(
            "Where is the upper left corner of the smallest box around the {colour} object in the input grid?"
        ),
        words(top, left),
        vec![words(top, col), words(row, left), words(row, col)],
    ))
}

fn change(rng: &mut Stream, seen: &PairObjects, index: usize) -> Option<Drawn> {
    let object = named(rng, seen)?;
    // A second object of its colour in the output would leave open which is meant.
    let like = |o: &&Object| o.colour == object.colour;
    let after = seen.output.iter().filter(like).count();
    let fate = seen.changes.iter().find_map(|c| match c {
        Change::Still(o) if o.cells == object.cells && after == 1 => Some(0),
        Change::Moved { from, .. } if from.cells == object.cells && after == 1 => Some(1),
        Change::Recoloured { from, .. } if from.cells == object.cells && after == 0 => Some(2),
        Change::Reshaped { from, .. } if from.cells == object.cells && after == 1 => Some(3),
        _ => None,
    })?;
    // Each of the four is right once in a block.
    given(fate == index % 4)?;
    let right = FATES.get(fate)?;
    let wrong = FATES.iter().filter(|f| *f != right);
    let colour = colour_name(object.colour)?;
    Some((
        format!(
            "What happens to the {colour} object of the input grid on the way to the output grid?"
        ),
        (*right).to_owned(),
        wrong.map(|f| (*f).to_owned()).collect(),
    ))
}

pub(crate) static PERCEPTION_TEXT_TASK: ChoiceTask = ChoiceTask {
    card: LazyLock::new(|| card("physico/perception-text")),
    seen: false,
    source: None,
    items: |setup, _| items(false, setup),
    for_people: |shown| told(shown, "before the arrow"),
};
pub(crate) static PERCEPTION_VISUAL_TASK: ChoiceTask = ChoiceTask {
    card: LazyLock::new(|| card("physico/perception-visual")),
    seen: true,
    items: |setup, _| items(true, setup),
    for_people: for_viewers,
    source: None,
};

/// The question over the picture alone.
fn for_viewers(mut shown: ForPeople) -> ForPeople {
    for part in &mut shown.parts {
        if let Part::Text(text) = part {
            text.truncate(text.find("\n\n").unwrap_or(text.len()));
        }
    }
    told(shown, "on the left")
}

fn told(shown: ForPeople, side: &str) -> ForPeople {
    shown.told(format!(
        "The grid {side} is the input, the other one the output. Answer the question about them."
    ))
}

fn items(seen: bool, setup: PhysicoSettings) -> Result<Items, TaskError> {
    let asked = questions(setup.seed, setup.n)?;
    let items = asked.into_iter().enumerate().map(move |(index, q)| {
        let asked = if seen {
            let picture = image(std::slice::from_ref(&q.pair))?;
            prompt::perception_picture(picture, &q.words, &q.options)
        } else {
            prompt::perception(&q.pair, &q.words, &q.options, setup.grid)
        };
        let ask = judging::ask(&setup, &[], &asked, &q.options);
        let whole = format!("{}\n\n{}", q.words, question(std::slice::from_ref(&q.pair)));
        let target = Target::one_of(whole, q.options, q.correct);
        let id = format!("{}-{}-{index:04}", setup.seed, q.kind.name());
        Ok(Item::new(id, target, vec![ask])
            .in_stratum_of("kind", q.kind.name())
            .tagged("concept", q.concept))
    });
    Ok(Box::new(items))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn places_and_fates_are_balanced() {
        let all = questions(5, 16).unwrap();
        assert_eq!(all.len(), 80);
        let mut places: BTreeMap<(QuestionKind, usize), usize> = BTreeMap::new();
        let mut fates: BTreeMap<&str, usize> = BTreeMap::new();
        for q in &all {
            assert_eq!(q.options.len(), 4);
            let distinct: std::collections::BTreeSet<&String> = q.options.iter().collect();
            assert_eq!(distinct.len(), 4, "{:?}", q.options);
            *places.entry((q.kind, q.correct)).or_default() += 1;
            if q.kind == QuestionKind::Change {
                *fates.entry(&q.options[q.correct]).or_default() += 1;
            }
        }
        assert!(places.values().all(|n| *n == 4), "{places:?}");
        assert!(fates.values().all(|n| *n == 4), "{fates:?}");
    }

    #[test]
    fn answers_can_be_checked_in_the_cells() {
        for q in questions(9, 12).unwrap() {
            let grid = &q.pair.input;
            let right = &q.options[q.correct];
            match q.kind {
                QuestionKind::Count => {
                    let side = if q.words.contains("input") {
                        grid
                    } else {
                        &q.pair.output
                    };
                    assert_eq!(side.parts(0).len().to_string(), *right);
                }
                QuestionKind::Colour => {
                    let colour = COLOURS.iter().position(|c| c == right).unwrap() as u8;
                    let of = |c: u8| {
                        let parts = grid.parts(0);
                        let mine = parts.iter().filter(|p| grid.at(p[0].0, p[0].1) == c);
                        mine.map(Vec::len).max().unwrap_or(0)
                    };
                    assert!((1..10).all(|c| c == colour || of(c) < of(colour)));
                }
                QuestionKind::Place => {
                    let name = COLOURS
                        .iter()
                        .position(|c| q.words.contains(&format!("the {c} object")));
                    let cells = grid.places_of(name.unwrap() as u8);
                    let top = cells.iter().map(|p| p.0).min().unwrap() + 1;
                    let left = cells.iter().map(|p| p.1).min().unwrap() + 1;
                    assert_eq!(*right, format!("row {top}, column {left}"));
                }
                QuestionKind::Shape => {
                    let name = COLOURS
                        .iter()
                        .position(|c| q.words.contains(&format!("the {c} object")));
                    let cells = grid.places_of(name.unwrap() as u8);
                    assert_eq!(cells.len() == 1, right == "single cell");
                }
                QuestionKind::Change => {
                    let name = COLOURS
                        .iter()
                        .position(|c| q.words.contains(&format!("the {c} object")));
                    let colour = name.unwrap() as u8;
                    let (a, b) = (grid.places_of(colour), q.pair.output.places_of(colour));
                    match right.as_str() {
                        "it stays as it is" => assert_eq!(a, b),
                        "it changes its color only" => assert!(b.is_empty()),
                        "it changes its place only" => assert!(a != b && a.len() == b.len()),
                        _ => assert!(a != b && !b.is_empty()),
                    }
                }
            }
        }
    }
}
