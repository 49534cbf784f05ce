//! Every question that has a clear answer: each operation is carried out on the picture, and the
//! result is compared with every symbol.

use std::sync::OnceLock;

use mary_generators::glyphs::ink::{Form, Half, Ink, Place};
use mary_generators::glyphs::{glyphs, pen, picture};

/// A result looks like a symbol from this likeness on.
pub const ALIKE: f64 = 0.975;
/// It clearly does not look like a symbol up to this likeness; between the two the symbol is never
/// offered.
pub const UNLIKE: f64 = 0.80;
/// A result this much like the symbol it was made from counts as that symbol unchanged.
const UNCHANGED: f64 = 0.90;

mary_generators::named! {
    /// In the words of a question.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Move {
        Right = "rotated 90 degrees clockwise",
        Around = "rotated 180 degrees",
        Left = "rotated 90 degrees counterclockwise",
        Mirror = "flipped along a vertical line through its middle",
        Flip = "flipped along a horizontal line through its middle",
    }
}

impl Move {
    fn flips(self) -> bool {
        matches!(self, Self::Mirror | Self::Flip)
    }

    fn apply(self, ink: &Ink) -> Ink {
        match self {
            Self::Right => ink.clockwise(),
            Self::Around => ink.clockwise().clockwise(),
            Self::Left => ink.clockwise().clockwise().clockwise(),
            Self::Mirror => ink.left_right(),
            Self::Flip => ink.top_bottom(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Join {
    Beside,
    Above,
    /// Centres in one place.
    Over,
}

/// What is done to the picture at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    Move(Move),
    /// Another symbol put to it.
    Join(char, Join),
    AddStroke(Place),
    RemoveStroke(Place),
    RemoveHalf(Half),
}

impl Step {
    fn apply(self, ink: &Ink) -> Option<Ink> {
        match self {
            Self::Move(m) => Some(m.apply(ink)),
            Self::Join(other, join) => {
                let other = picture(other)?;
                match join {
                    Join::Beside => ink.beside(other),
                    Join::Above => ink.above(other),
                    Join::Over => ink.over(other),
                }
            }
            Self::AddStroke(place) => ink.with_stroke(place, pen()),
            Self::RemoveStroke(place) => ink.without_stroke(place, pen()),
            Self::RemoveHalf(half) => ink.without_half(half),
        }
    }
}

/// One or two steps, one of which at most is no turn or flip; symbols are put together first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation {
    pub symbol: char,
    pub first: Step,
    pub second: Option<Step>,
}

/// Questions whose words tell the same about what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Turns and flips, one or two.
    Moves,
    Join,
    /// A stroke added, perhaps after a turn or flip.
    Stroke,
    Without,
    /// A half covered, perhaps after a turn or flip.
    Half,
}

mary_generators::named! {
    /// The paper's kinds of question. Two turns are a rotation, two flips a flipping; steps of different
    /// kinds are a composition.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum OperationKind {
        Rotation = "rotation",
        Flipping = "flipping",
        /// Something put to it.
        Addition = "addition",
        Subtraction = "subtraction",
        Composition = "composition",
    }
}

#[derive(Debug, Clone)]
pub struct Question {
    pub operation: Operation,
    /// The symbol it looks most like.
    pub answer: char,
    pub likeness: f64,
    /// Every symbol that clearly does not look like the result, in the order of the symbols.
    pub unlike: Vec<char>,
}

impl Operation {
    fn once(symbol: char, first: Step) -> Self {
        Self {
            symbol,
            first,
            second: None,
        }
    }

    fn twice(symbol: char, first: Step, second: Step) -> Self {
        Self {
            second: Some(second),
            ..Self::once(symbol, first)
        }
    }

    pub fn kind(&self) -> OperationKind {
        match (self.first, self.second) {
            (Step::Move(m), None) if m.flips() => OperationKind::Flipping,
            (Step::Move(_), None) => OperationKind::Rotation,
            (Step::Join(..) | Step::AddStroke(_), None) => OperationKind::Addition,
            (Step::RemoveStroke(_) | Step::RemoveHalf(_), None) => OperationKind::Subtraction,
            (Step::Move(a), Some(Step::Move(b))) => match (a.flips(), b.flips()) {
                (true, true) => OperationKind::Flipping,
                (false, false) => OperationKind::Rotation,
                _ => OperationKind::Composition,
            },
            _ => OperationKind::Composition,
        }
    }

    /// What is done, as far as the words of the question tell: which of them stand together in a block.
    pub fn class(&self) -> Class {
        let steps = [Some(self.first), self.second].into_iter().flatten();
        let mut others = steps.filter(|s| !matches!(s, Step::Move(_)));
        match others.next() {
            Some(Step::Join(..)) => Class::Join,
            Some(Step::AddStroke(_)) => Class::Stroke,
            Some(Step::RemoveStroke(_)) => Class::Without,
            Some(Step::RemoveHalf(_)) => Class::Half,
            Some(Step::Move(_)) | None => Class::Moves,
        }
    }

    /// The steps that the words name: a turn (0), a flip (1), two turns (2), two flips (3), one of each
    /// (4), anything else (5).
    pub fn steps_in_words(&self) -> usize {
        match (self.first, self.second) {
            (Step::Move(m), None) => usize::from(m.flips()),
            (Step::Move(a), Some(Step::Move(b))) => match (a.flips(), b.flips()) {
                (false, false) => 2,
                (true, true) => 3,
                _ => 4,
            },
            _ => 5,
        }
    }

    /// The symbols the question names.
    pub fn sources(&self) -> Vec<char> {
        match self.first {
            Step::Join(other, _) => vec![self.symbol, other],
            _ => vec![self.symbol],
        }
    }

    pub fn result(&self) -> Option<Ink> {
        let first = self.first.apply(picture(self.symbol)?)?;
        match self.second {
            Some(second) => second.apply(&first),
            None => Some(first),
        }
    }
}

/// Symbols that are put together with each other: simple enough that the sum may be a symbol.
const PARTS: &str = "CILTUVXcnrvx()[]<>/\\-ΓΛƆ⅂⅃∩∪⊂⊃⊥⊢⊣⊓⊔⊏⊐⌈⌉⌊⌋△▽◁▷□";
/// What a one-step half or stroke is tried on and with.
const PLACES: [Place; 6] = [
    Place::Top,
    Place::Across,
    Place::Bottom,
    Place::Left,
    Place::Down,
    Place::Right,
];
const HALVES: [Half; 4] = [Half::Top, Half::Bottom, Half::Left, Half::Right];

fn operations() -> Vec<Operation> {
    let moves = Move::ALL.map(Step::Move);
    let (added, removed) = (PLACES.map(Step::AddStroke), PLACES.map(Step::RemoveStroke));
    let halves = HALVES.map(Step::RemoveHalf);
    let mut all = Vec::new();
    for glyph in glyphs() {
        let once = |step: &Step| Operation::once(glyph.symbol, *step);
        let steps = moves.iter().chain(&added).chain(&removed).chain(&halves);
        all.extend(steps.map(once));
        for first in moves {
            let twice = |second: &Step| Operation::twice(glyph.symbol, first, *second);
            all.extend(moves.iter().chain(&halves).chain(&added).map(twice));
        }
    }
    for one in PARTS.chars() {
        for two in PARTS.chars() {
            let joins = [Join::Beside, Join::Above, Join::Over];
            all.extend(joins.map(|j| Operation::once(one, Step::Join(two, j))));
        }
    }
    all
}

/// The question of an operation, if its result clearly looks like one symbol. Only turns and flips may
/// leave their symbol as it was: one because the symbol is even, two because the second undoes the
/// first. Any other operation that does (a stroke added where there is one) is no question, and neither
/// is one of several steps of which one changes nothing (a turn of a symbol that looks the same turned).
fn question(operation: Operation) -> Option<Question> {
    let result = operation.result()?;
    let form = Form::from_ink(&result);
    let mut best = None;
    let mut unlike = Vec::new();
    for glyph in glyphs() {
        let likeness = form.likeness(&glyph.form);
        if likeness <= UNLIKE {
            unlike.push(glyph.symbol);
        } else if likeness >= ALIKE && best.is_none_or(|(_, most)| likeness > most) {
            best = Some((glyph.symbol, likeness));
        }
    }
    let (answer, likeness) = best?;
    let may_stay = operation.class() == Class::Moves;
    let sources = operation.sources();
    let mut near = glyphs().iter().filter(|g| sources.contains(&g.symbol));
    let stayed = near.any(|g| form.likeness(&g.form) >= UNCHANGED);
    if stayed && !may_stay || idle(&operation) {
        return None;
    }
    Some(Question {
        operation,
        answer,
        likeness,
        unlike,
    })
}

/// Whether one of several steps leaves the picture as it was.
fn idle(operation: &Operation) -> bool {
    let stays = |before: &Ink, after: &Ink| {
        Form::from_ink(before).likeness(&Form::from_ink(after)) >= UNCHANGED
    };
    let steps = || {
        let second = operation.second?;
        let source = picture(operation.symbol)?;
        let middle = operation.first.apply(source)?;
        let last = second.apply(&middle)?;
        // What is added or taken away first was a question of its own, so that it did something.
        let first = matches!(operation.first, Step::Move(_)) && stays(source, &middle);
        Some(first || stays(&middle, &last))
    };
    steps().unwrap_or(false)
}

/// Every question with a clear answer, in a fixed order. Made once per process.
pub fn bank() -> &'static [Question] {
    static BANK: OnceLock<Vec<Question>> = OnceLock::new();
    BANK.get_or_init(|| {
        let mut bank: Vec<Question> = operations().into_iter().filter_map(question).collect();
        // What has a clear answer may be turned once more.
        let all = bank.iter().map(|q| q.operation);
        let open = all.filter(|o| o.second.is_none() && o.class() != Class::Moves);
        let turned =
            |o: Operation| Move::ALL.map(|m| Operation::twice(o.symbol, o.first, Step::Move(m)));
        let further: Vec<_> = open.flat_map(turned).filter_map(question).collect();
        bank.extend(further);
        bank
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn answer(operation: Operation) -> Option<char> {
        bank()
            .iter()
            .find(|q| q.operation == operation)
            .map(|q| q.answer)
    }

    fn turned(symbol: char, m: Move) -> Operation {
        Operation::once(symbol, Step::Move(m))
    }

    #[test]
    fn answers_are_what_people_would_say() {
        let cases = [
            (turned('A', Move::Around), '∀'),
            (turned('b', Move::Mirror), 'd'),
            (turned('b', Move::Around), 'q'),
            (turned('6', Move::Around), '9'),
            (turned('N', Move::Mirror), 'И'),
            (turned('T', Move::Left), '⊢'),
            (turned('U', Move::Right), '⊂'),
            (Operation::once('F', Step::AddStroke(Place::Bottom)), 'E'),
            (Operation::once('V', Step::Join('V', Join::Beside)), 'W'),
            (Operation::once('n', Step::Join('n', Join::Beside)), 'm'),
            (Operation::once('L', Step::RemoveStroke(Place::Bottom)), 'I'),
            (
                Operation::twice('b', Step::Move(Move::Mirror), Step::Move(Move::Flip)),
                'q',
            ),
        ];
        for (operation, symbol) in cases {
            assert_eq!(answer(operation), Some(symbol), "{operation:?}");
        }
        // No symbol looks like a turned B or a mirrored 6: such questions are not asked.
        assert_eq!(answer(turned('B', Move::Right)), None);
        assert_eq!(answer(turned('6', Move::Mirror)), None);
    }

    #[test]
    fn there_are_enough_distinct_questions_of_every_kind() {
        let bank = bank();
        let distinct: BTreeSet<Operation> = bank.iter().map(|q| q.operation).collect();
        assert_eq!(distinct.len(), bank.len());
        let of = |kind| bank.iter().filter(|q| q.operation.kind() == kind).count();
        let counts: Vec<(&str, usize)> = OperationKind::ALL.map(|k| (k.name(), of(k))).to_vec();
        eprintln!("{} questions: {counts:?}", bank.len());
        assert!(bank.len() >= 500, "{counts:?}");
        assert!(counts.iter().all(|(_, n)| *n >= 40), "{counts:?}");
    }

    #[test]
    fn no_step_of_several_is_without_effect() {
        // A mirrored T is a T, and a T turned around has its stroke at the bottom already.
        for operation in [
            Operation::twice('T', Step::Move(Move::Mirror), Step::Move(Move::Around)),
            Operation::twice(
                'T',
                Step::Move(Move::Around),
                Step::AddStroke(Place::Bottom),
            ),
            Operation::twice('H', Step::Move(Move::Around), Step::RemoveHalf(Half::Left)),
        ] {
            assert!(idle(&operation), "{operation:?}");
            assert_eq!(answer(operation), None, "{operation:?}");
        }
        assert!(!idle(&Operation::twice(
            'b',
            Step::Move(Move::Mirror),
            Step::Move(Move::Flip)
        )));
        let composed = bank().iter().filter(|q| q.operation.second.is_some());
        for question in composed {
            assert!(!idle(&question.operation), "{:?}", question.operation);
        }
    }

    #[test]
    fn an_answer_is_never_among_the_symbols_that_look_otherwise() {
        for q in bank() {
            assert!(
                q.likeness >= ALIKE && !q.unlike.contains(&q.answer),
                "{q:?}"
            );
        }
    }
}
