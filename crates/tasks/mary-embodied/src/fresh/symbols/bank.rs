//! What is known of every symbol, looked at once per process.

use std::sync::OnceLock;

use mary_generators::glyphs::glyphs;
use mary_generators::glyphs::ink::{Form, Half, Ink};

use super::fonts::{Looks, listed};

/// Symbols that look the same, as far as a count goes, in every plain type: no digit 4 (open or
/// closed), no a (one storey or two), no G, Q, R, K, k, t, y with their many shapes.
const STEADY: &str = "ABCDEFHILMNOPSTUVWXYZbcdehmnpquvwxz2356789ΓΛΠΦΨΔ";

/// The lines a symbol is cut or crossed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuttingLine {
    /// A horizontal line; else a vertical one.
    pub level: bool,
    /// Thirds or halves or quarters: the share of the way down, or from the left.
    pub share: Share,
}

/// How far down, or from the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    Quarter,
    Third,
    Half,
    TwoThirds,
    ThreeQuarters,
}

impl Share {
    pub const ALL: [Self; 5] = [
        Self::Quarter,
        Self::Third,
        Self::Half,
        Self::TwoThirds,
        Self::ThreeQuarters,
    ];

    /// As the phrases call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Quarter => "quarter",
            Self::Third => "third",
            Self::Half => "half",
            Self::TwoThirds => "two-thirds",
            Self::ThreeQuarters => "three-quarters",
        }
    }

    /// As a share of the whole.
    pub fn value(self) -> f64 {
        match self {
            Self::Quarter => 0.25,
            Self::Third => 1.0 / 3.0,
            Self::Half => 0.5,
            Self::TwoThirds => 2.0 / 3.0,
            Self::ThreeQuarters => 0.75,
        }
    }
}

/// The parts of a symbol that are covered.
pub(super) const COVERS: [Share; 3] = [Share::Quarter, Share::Third, Share::Half];

pub(super) fn lines() -> impl Iterator<Item = CuttingLine> {
    [true, false]
        .into_iter()
        .flat_map(|level| Share::ALL.map(|share| CuttingLine { level, share }))
}

/// A symbol and all that is clear about it in every font that was looked at.
#[derive(Debug, Clone)]
pub struct Known {
    pub symbol: char,
    /// Looks the same, as far as counts go, in every plain type.
    pub steady: bool,
    /// All its ink hangs together.
    pub single: bool,
    /// Regions wholly surrounded by ink.
    pub regions: Option<usize>,
    /// The side it is open to, in eighths clockwise from up.
    pub opening: Option<usize>,
    /// Whether it looks the same flipped left to right, top to bottom, and turned half around.
    pub symmetry: Option<[bool; 3]>,
    /// Width and height in each font that has it.
    pub boxes: Vec<Option<(f64, f64)>>,
    looks: Looks,
}

/// Alike from this likeness on, where a dot may be off by a 24th of the side …
const ALIKE: f64 = 0.96;
/// … and from this share of all ink that lies exactly on ink.
const OVERLAP: f64 = 0.80;
/// Symmetric but for a small spur at a foot or shoulder: people may see it either way.
const SPURRED: &str = "nuɯ";
/// Not alike up to this likeness.
const UNLIKE: f64 = 0.86;

impl Known {
    /// Regions left when a share is covered from one side.
    pub fn regions_left(&self, side: Half, share: Share) -> Option<usize> {
        self.looks.regions_left(side, share)
    }

    /// Pieces after a cut.
    pub fn pieces(&self, line: CuttingLine) -> Option<usize> {
        self.looks.pieces(line)
    }

    /// Strokes crossed by a line.
    pub fn strokes(&self, line: CuttingLine) -> Option<usize> {
        self.looks.strokes(line)
    }
}

/// The dots that both pictures have as a share of those that either has.
fn overlap(one: &Ink, two: &Ink) -> f64 {
    let (mut both, mut either) = (0.0f64, 0.0f64);
    for y in 0..one.height().max(two.height()) {
        for x in 0..one.width().max(two.width()) {
            let (a, b) = (one.dot(x, y), two.dot(x, y));
            both += f64::from(u8::from(a && b));
            either += f64::from(u8::from(a || b));
        }
    }
    both / either.max(1.0)
}

/// Which flips and turns leave a picture as it is; nothing where one of them is a matter of taste.
pub fn symmetry(ink: &Ink) -> Option<[bool; 3]> {
    let form = Form::of(ink);
    let moved = [
        ink.left_right(),
        ink.top_bottom(),
        ink.clockwise().clockwise(),
    ];
    let mut same = [false; 3];
    for (place, other) in same.iter_mut().zip(moved) {
        let likeness = form.likeness(&Form::of(&other));
        *place = likeness >= ALIKE && overlap(ink, &other) >= OVERLAP;
        if likeness > UNLIKE && !*place {
            return None;
        }
    }
    Some(same)
}

pub fn known() -> &'static [Known] {
    static KNOWN: OnceLock<Vec<Known>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        glyphs()
            .iter()
            .filter_map(|glyph| {
                let looks = listed(glyph.symbol)?.clone();
                Some(Known {
                    symbol: glyph.symbol,
                    steady: STEADY.contains(glyph.symbol),
                    single: looks.single,
                    regions: looks.regions,
                    opening: looks.opening,
                    symmetry: looks.symmetry.filter(|_| !SPURRED.contains(glyph.symbol)),
                    boxes: looks.boxes.clone(),
                    looks,
                })
            })
            .collect()
    })
}

/// The symbols of which something holds.
pub fn which(holds: impl Fn(&Known) -> bool) -> Vec<&'static Known> {
    known().iter().filter(|k| holds(k)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(symbol: char) -> Option<[bool; 3]> {
        known().iter().find(|k| k.symbol == symbol)?.symmetry
    }

    #[test]
    fn symmetries_are_what_people_see() {
        let show = |wanted: [bool; 3]| -> String {
            let class = which(|k| k.symmetry == Some(wanted));
            class.iter().map(|k| k.symbol).collect()
        };
        eprintln!("left-right {}", show([true, false, false]));
        eprintln!("top-bottom {}", show([false, true, false]));
        eprintln!("half turn {}", show([false, false, true]));
        eprintln!("none {}", show([false, false, false]));
        let open: String = which(|k| k.opening.is_some() && k.single && k.regions == Some(0))
            .iter()
            .map(|k| k.symbol)
            .collect();
        eprintln!("open to one side {open}");
        for (symbol, same) in [
            ('A', [true, false, false]),
            ('V', [true, false, false]),
            ('[', [false, true, false]),
            ('N', [false, false, true]),
            ('Z', [false, false, true]),
            ('F', [false, false, false]),
            ('H', [true, true, true]),
        ] {
            assert_eq!(of(symbol), Some(same), "{symbol}");
        }
        // A spur or a smaller upper bowl leaves room for doubt: not asked.
        assert_eq!((of('u'), of('B')), (None, None));
        // The ends of a C differ from font to font.
        assert_eq!(of('C'), None);
    }
}
