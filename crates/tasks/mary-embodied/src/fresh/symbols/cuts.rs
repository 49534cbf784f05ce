//! The lines by which symbols are cut or crossed, and the parts of them that are covered.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuttingLine {
    /// A horizontal line; else a vertical one.
    pub level: bool,
    /// Thirds or halves or quarters: the share of the way down, or from the left.
    pub share: Share,
}

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
        self.known().0
    }

    pub fn value(self) -> f64 {
        self.known().1
    }

    fn known(self) -> (&'static str, f64) {
        match self {
            Self::Quarter => ("quarter", 0.25),
            Self::Third => ("third", 1.0 / 3.0),
            Self::Half => ("half", 0.5),
            Self::TwoThirds => ("two-thirds", 2.0 / 3.0),
            Self::ThreeQuarters => ("three-quarters", 0.75),
        }
    }
}

pub(super) const COVERS: [Share; 3] = [Share::Quarter, Share::Third, Share::Half];

pub(super) fn lines() -> impl Iterator<Item = CuttingLine> {
    [true, false]
        .into_iter()
        .flat_map(|level| Share::ALL.map(|share| CuttingLine { level, share }))
}
