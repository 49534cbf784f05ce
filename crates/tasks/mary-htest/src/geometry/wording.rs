//! The questions in words, ours.

use super::bank::{Join, Move, Operation};
use mary_generators::glyphs::ink::{Half, Place};

impl Move {
    fn words(self) -> &'static str {
        match self {
            Self::Right => "rotated 90 degrees clockwise",
            Self::Around => "rotated 180 degrees",
            Self::Left => "rotated 90 degrees counterclockwise",
            Self::Mirror => "flipped along a vertical line through its middle",
            Self::Flip => "flipped along a horizontal line through its middle",
        }
    }
}

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

impl Operation {
    pub fn words(&self) -> String {
        const ASK: &str = "what is it most likely to look like when";
        match *self {
            Self::Move(s, m) => format!("Given the symbol \"{s}\", {ASK} it is {}?", m.words()),
            Self::Join(one, two, join) => {
                let how = together(join);
                format!("Given the symbols \"{one}\" and \"{two}\", {ASK} {how}?")
            }
            Self::AddStroke(s, place) => {
                let (way, place) = stroke(place);
                format!("Given the symbol \"{s}\", {ASK} a {way} stroke is added {place}?")
            }
            Self::RemoveStroke(s, place) => {
                let (way, place) = stroke(place);
                format!("Given the symbol \"{s}\", {ASK} the {way} stroke {place} is taken away?")
            }
            Self::RemoveHalf(s, half) => {
                format!(
                    "Given the symbol \"{s}\", {ASK} its {} is covered?",
                    side(half)
                )
            }
            Self::Twice(s, first, second) => format!(
                "Given the symbol \"{s}\", {ASK} it is first {} and then {}?",
                first.words(),
                second.words()
            ),
            Self::MoveThenHalf(s, m, half) => format!(
                "Given the symbol \"{s}\", {ASK} it is first {} and then the {} of the result is covered?",
                m.words(),
                side(half)
            ),
            Self::MoveThenStroke(s, m, place) => {
                let (way, place) = stroke(place);
                format!(
                    "Given the symbol \"{s}\", {ASK} it is first {} and then a {way} stroke is added to \
                     the result {place}?",
                    m.words()
                )
            }
            Self::JoinThen(one, two, join, m) => {
                let how = together(join);
                format!(
                    "Given the symbols \"{one}\" and \"{two}\", {ASK} first {how} and then the result is \
                     {}?",
                    m.words()
                )
            }
            Self::StrokeThen(s, place, m) => {
                let (way, place) = stroke(place);
                format!(
                    "Given the symbol \"{s}\", {ASK} first a {way} stroke is added {place} and then the \
                     result is {}?",
                    m.words()
                )
            }
            Self::WithoutThen(s, place, m) => {
                let (way, place) = stroke(place);
                format!(
                    "Given the symbol \"{s}\", {ASK} first the {way} stroke {place} is taken away and then \
                     the result is {}?",
                    m.words()
                )
            }
            Self::HalfThen(s, half, m) => format!(
                "Given the symbol \"{s}\", {ASK} first its {} is covered and then the result is {}?",
                side(half),
                m.words()
            ),
        }
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
