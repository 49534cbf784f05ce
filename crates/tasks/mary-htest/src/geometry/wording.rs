//! The questions in words, ours.

use super::bank::{Join, Operation, Step};
use mary_generators::glyphs::ink::{Half, Place};

/// Where a stroke lies, in words: its way and its place.
fn stroke(place: Place) -> (&'static str, &'static str) {
    match place {
        Place::Top => ("horizontal", "along its top edge"),
        Place::Across => ("horizontal", "across its middle"),
        Place::Bottom => ("horizontal", "along its bottom edge"),
        Place::Left => ("vertical", "along its left edge"),
        Place::Down => ("vertical", "down its middle"),
        Place::Right => ("vertical", "along its right edge"),
    }
}

fn side(half: Half) -> &'static str {
    match half {
        Half::Top => "upper half",
        Half::Bottom => "lower half",
        Half::Left => "left half",
        Half::Right => "right half",
    }
}

/// How two symbols are put together, in words.
fn together(join: Join) -> &'static str {
    match join {
        Join::Beside => "the second is set to the right of the first so that they touch",
        Join::Above => "the second is set below the first so that they touch",
        Join::Over => "they are laid over each other with their centres in one place",
    }
}

impl Step {
    /// As the only step, or the first.
    fn words(self) -> String {
        match self {
            Self::Move(m) => format!("it is {}", m.name()),
            Self::Join(_, join) => together(join).to_owned(),
            Self::AddStroke(place) => {
                let (way, place) = stroke(place);
                format!("a {way} stroke is added {place}")
            }
            Self::RemoveStroke(place) => {
                let (way, place) = stroke(place);
                format!("the {way} stroke {place} is taken away")
            }
            Self::RemoveHalf(half) => format!("its {} is covered", side(half)),
        }
    }

    /// As the step after a turn or flip.
    fn words_after_a_move(self) -> String {
        match self {
            Self::Move(m) => m.name().to_owned(),
            Self::AddStroke(place) => {
                let (way, place) = stroke(place);
                format!("a {way} stroke is added to the result {place}")
            }
            Self::RemoveHalf(half) => format!("the {} of the result is covered", side(half)),
            Self::Join(..) | Self::RemoveStroke(_) => self.words(),
        }
    }
}

impl Operation {
    pub fn words(&self) -> String {
        let given = match self.first {
            Step::Join(other, _) => format!("symbols \"{}\" and \"{other}\"", self.symbol),
            _ => format!("symbol \"{}\"", self.symbol),
        };
        let done = match (self.first, self.second) {
            (first, None) => first.words(),
            (Step::Move(m), Some(then)) => {
                let then = then.words_after_a_move();
                format!("it is first {} and then {then}", m.name())
            }
            (first, Some(Step::Move(m))) => {
                let first = first.words();
                format!("first {first} and then the result is {}", m.name())
            }
            (first, Some(then)) => format!("first {} and then {}", first.words(), then.words()),
        };
        format!("Given the {given}, what is it most likely to look like when {done}?")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::bank::bank;

    #[test]
    fn no_two_questions_read_the_same() {
        let words: HashSet<String> = bank().iter().map(|q| q.operation.words()).collect();
        assert_eq!(words.len(), bank().len());
    }
}
