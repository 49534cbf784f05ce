//! Every question that has a clear answer: each operation is carried out on the picture, and the
//! result is compared with every symbol.

use std::sync::OnceLock;

use mary_generators::glyphs::ink::{Form, Half, Ink, Place};
use mary_generators::glyphs::{glyphs, pen};

/// A result looks like a symbol from this likeness on.
pub const ALIKE: f64 = 0.975;
/// It clearly does not look like a symbol up to this likeness; between the two the symbol is never
/// offered.
pub const UNLIKE: f64 = 0.80;
/// A result this much like the symbol it was made from counts as that symbol unchanged.
const UNCHANGED: f64 = 0.90;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Move {
    /// 90 degrees clockwise.
    Right,
    /// 180 degrees.
    Around,
    /// 90 degrees counterclockwise.
    Left,
    Mirror,
    Flip,
}

impl Move {
    pub const ALL: [Self; 5] = [
        Self::Right,
        Self::Around,
        Self::Left,
        Self::Mirror,
        Self::Flip,
    ];

    fn flips(self) -> bool {
        matches!(self, Self::Mirror | Self::Flip)
    }

    fn of(self, ink: &Ink) -> Ink {
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

/// What is done to the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    Move(char, Move),
    Join(char, char, Join),
    AddStroke(char, Place),
    RemoveStroke(char, Place),
    RemoveHalf(char, Half),
    /// Two turns or flips, one after the other.
    Twice(char, Move, Move),
    /// A turn or flip, then a half covered.
    MoveThenHalf(char, Move, Half),
    /// A turn or flip, then a stroke added.
    MoveThenStroke(char, Move, Place),
    /// Two symbols put together, then a turn or flip.
    JoinThen(char, char, Join, Move),
    /// A stroke added, then a turn or flip.
    StrokeThen(char, Place, Move),
    /// A stroke taken away, then a turn or flip.
    WithoutThen(char, Place, Move),
    /// A half covered, then a turn or flip.
    HalfThen(char, Half, Move),
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

/// The paper's kinds of question. Two turns are a rotation, two flips a flipping; steps of different
/// kinds are a composition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Rotation,
    Flipping,
    /// Something put to it.
    Addition,
    Subtraction,
    Composition,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::Rotation,
        Self::Flipping,
        Self::Addition,
        Self::Subtraction,
        Self::Composition,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Rotation => "rotation",
            Self::Flipping => "flipping",
            Self::Addition => "addition",
            Self::Subtraction => "subtraction",
            Self::Composition => "composition",
        }
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
    pub fn kind(&self) -> Kind {
        match self {
            Self::Move(_, Move::Mirror | Move::Flip) => Kind::Flipping,
            Self::Move(..) => Kind::Rotation,
            Self::Join(..) | Self::AddStroke(..) => Kind::Addition,
            Self::RemoveStroke(..) | Self::RemoveHalf(..) => Kind::Subtraction,
            Self::Twice(_, first, second) if first.flips() && second.flips() => Kind::Flipping,
            Self::Twice(_, first, second) if !first.flips() && !second.flips() => Kind::Rotation,
            _ => Kind::Composition,
        }
    }

    /// What is done, as far as the words of the question tell: which of them stand together in a block.
    pub fn class(&self) -> Class {
        match self {
            Self::Move(..) | Self::Twice(..) => Class::Moves,
            Self::Join(..) | Self::JoinThen(..) => Class::Join,
            Self::AddStroke(..) | Self::MoveThenStroke(..) | Self::StrokeThen(..) => Class::Stroke,
            Self::RemoveStroke(..) | Self::WithoutThen(..) => Class::Without,
            Self::RemoveHalf(..) | Self::MoveThenHalf(..) | Self::HalfThen(..) => Class::Half,
        }
    }

    /// The steps that the words name: a turn (0), a flip (1), two turns (2), two flips (3), one of each
    /// (4), anything else (5).
    pub fn steps_in_words(&self) -> usize {
        match self {
            Self::Move(_, m) => usize::from(m.flips()),
            Self::Twice(_, a, b) => match (a.flips(), b.flips()) {
                (false, false) => 2,
                (true, true) => 3,
                _ => 4,
            },
            _ => 5,
        }
    }

    /// The symbols the question names.
    pub fn sources(&self) -> Vec<char> {
        match *self {
            Self::Join(one, two, _) | Self::JoinThen(one, two, ..) => vec![one, two],
            Self::Move(s, _)
            | Self::AddStroke(s, _)
            | Self::RemoveStroke(s, _)
            | Self::RemoveHalf(s, _)
            | Self::Twice(s, ..)
            | Self::MoveThenHalf(s, ..)
            | Self::MoveThenStroke(s, ..)
            | Self::StrokeThen(s, ..)
            | Self::WithoutThen(s, ..)
            | Self::HalfThen(s, ..) => vec![s],
        }
    }

    /// The picture before each step of several and after the last; nothing for an operation of one step.
    fn steps(&self) -> Option<Vec<Ink>> {
        let of = mary_generators::glyphs::picture;
        let last = self.result()?;
        match *self {
            Self::Twice(s, first, _)
            | Self::MoveThenHalf(s, first, _)
            | Self::MoveThenStroke(s, first, _) => {
                let source = of(s)?;
                Some(vec![source.clone(), first.of(source), last])
            }
            _ => Some(vec![self.before_the_turn()?.result()?, last]),
        }
    }

    /// What comes before the last step of those that end in a turn or flip.
    fn before_the_turn(&self) -> Option<Self> {
        match *self {
            Self::JoinThen(one, two, join, _) => Some(Self::Join(one, two, join)),
            Self::StrokeThen(s, place, _) => Some(Self::AddStroke(s, place)),
            Self::WithoutThen(s, place, _) => Some(Self::RemoveStroke(s, place)),
            Self::HalfThen(s, half, _) => Some(Self::RemoveHalf(s, half)),
            _ => None,
        }
    }

    /// The same with a turn or flip after it, where there is such an operation.
    fn then(&self, m: Move) -> Option<Self> {
        match *self {
            Self::Join(one, two, join) => Some(Self::JoinThen(one, two, join, m)),
            Self::AddStroke(s, place) => Some(Self::StrokeThen(s, place, m)),
            Self::RemoveStroke(s, place) => Some(Self::WithoutThen(s, place, m)),
            Self::RemoveHalf(s, half) => Some(Self::HalfThen(s, half, m)),
            _ => None,
        }
    }

    pub fn result(&self) -> Option<Ink> {
        let of = mary_generators::glyphs::picture;
        match *self {
            Self::Move(s, m) => Some(m.of(of(s)?)),
            Self::Join(one, two, join) => {
                let (one, two) = (of(one)?, of(two)?);
                match join {
                    Join::Beside => one.beside(two),
                    Join::Above => one.above(two),
                    Join::Over => one.over(two),
                }
            }
            Self::AddStroke(s, place) => of(s)?.with_stroke(place, pen()),
            Self::RemoveStroke(s, place) => of(s)?.without_stroke(place, pen()),
            Self::RemoveHalf(s, half) => of(s)?.without_half(half),
            Self::Twice(s, first, second) => Some(second.of(&first.of(of(s)?))),
            Self::MoveThenHalf(s, m, half) => m.of(of(s)?).without_half(half),
            Self::MoveThenStroke(s, m, place) => m.of(of(s)?).with_stroke(place, pen()),
            Self::JoinThen(.., m)
            | Self::StrokeThen(.., m)
            | Self::WithoutThen(.., m)
            | Self::HalfThen(.., m) => Some(m.of(&self.before_the_turn()?.result()?)),
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
    let mut all = Vec::new();
    for glyph in glyphs() {
        let s = glyph.symbol;
        all.extend(Move::ALL.map(|m| Operation::Move(s, m)));
        all.extend(PLACES.map(|p| Operation::AddStroke(s, p)));
        all.extend(PLACES.map(|p| Operation::RemoveStroke(s, p)));
        all.extend(HALVES.map(|h| Operation::RemoveHalf(s, h)));
        for m in Move::ALL {
            all.extend(Move::ALL.map(|n| Operation::Twice(s, m, n)));
            all.extend(HALVES.map(|h| Operation::MoveThenHalf(s, m, h)));
            all.extend(PLACES.map(|p| Operation::MoveThenStroke(s, m, p)));
        }
    }
    for one in PARTS.chars() {
        for two in PARTS.chars() {
            all.extend(
                [Join::Beside, Join::Above, Join::Over].map(|j| Operation::Join(one, two, j)),
            );
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
    let form = Form::of(&result);
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
    let may_stay = matches!(operation, Operation::Move(..) | Operation::Twice(..));
    let sources = operation.sources();
    let stayed = glyphs()
        .iter()
        .any(|g| sources.contains(&g.symbol) && form.likeness(&g.form) >= UNCHANGED);
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
    let steps = operation.steps().unwrap_or_default();
    let forms: Vec<Form> = steps.iter().map(Form::of).collect();
    forms
        .windows(2)
        .any(|pair| pair[0].likeness(&pair[1]) >= UNCHANGED)
}

/// Every question with a clear answer, in a fixed order. Made once per process.
pub fn bank() -> &'static [Question] {
    static BANK: OnceLock<Vec<Question>> = OnceLock::new();
    BANK.get_or_init(|| {
        let mut bank: Vec<Question> = operations().into_iter().filter_map(question).collect();
        // What has a clear answer may be turned once more.
        let further: Vec<Question> = bank
            .iter()
            .flat_map(|q| Move::ALL.map(|m| q.operation.then(m)))
            .flatten()
            .filter_map(question)
            .collect();
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

    #[test]
    fn answers_are_what_people_would_say() {
        let cases = [
            (Operation::Move('A', Move::Around), '∀'),
            (Operation::Move('b', Move::Mirror), 'd'),
            (Operation::Move('b', Move::Around), 'q'),
            (Operation::Move('6', Move::Around), '9'),
            (Operation::Move('N', Move::Mirror), 'И'),
            (Operation::Move('T', Move::Left), '⊢'),
            (Operation::Move('U', Move::Right), '⊂'),
            (Operation::AddStroke('F', Place::Bottom), 'E'),
            (Operation::Join('V', 'V', Join::Beside), 'W'),
            (Operation::Join('n', 'n', Join::Beside), 'm'),
            (Operation::RemoveStroke('L', Place::Bottom), 'I'),
            (Operation::Twice('b', Move::Mirror, Move::Flip), 'q'),
        ];
        for (operation, symbol) in cases {
            assert_eq!(answer(operation), Some(symbol), "{operation:?}");
        }
        // No symbol looks like a turned B or a mirrored 6: such questions are not asked.
        assert_eq!(answer(Operation::Move('B', Move::Right)), None);
        assert_eq!(answer(Operation::Move('6', Move::Mirror)), None);
    }

    #[test]
    fn there_are_enough_distinct_questions_of_every_kind() {
        let bank = bank();
        let distinct: BTreeSet<Operation> = bank.iter().map(|q| q.operation).collect();
        assert_eq!(distinct.len(), bank.len());
        let of = |kind| bank.iter().filter(|q| q.operation.kind() == kind).count();
        let counts: Vec<(&str, usize)> = Kind::ALL.map(|k| (k.name(), of(k))).to_vec();
        eprintln!("{} questions: {counts:?}", bank.len());
        assert!(bank.len() >= 500, "{counts:?}");
        assert!(counts.iter().all(|(_, n)| *n >= 40), "{counts:?}");
    }

    #[test]
    fn no_step_of_several_is_without_effect() {
        // A mirrored T is a T, and a T turned around has its stroke at the bottom already.
        for operation in [
            Operation::Twice('T', Move::Mirror, Move::Around),
            Operation::MoveThenStroke('T', Move::Around, Place::Bottom),
            Operation::MoveThenHalf('H', Move::Around, Half::Left),
        ] {
            assert!(idle(&operation), "{operation:?}");
            assert_eq!(answer(operation), None, "{operation:?}");
        }
        assert!(!idle(&Operation::Twice('b', Move::Mirror, Move::Flip)));
        let composed = bank().iter().filter(|q| q.operation.steps().is_some());
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
