//! The lines by which symbols are cut or crossed, and the parts of them that are covered.

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
