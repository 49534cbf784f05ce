//! The lines by which symbols are cut or crossed, and the parts of them that are covered.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuttingLine {
    /// A horizontal line; else a vertical one.
    pub level: bool,
    /// Thirds or halves or quarters: the share of the way down, or from the left.
    pub share: Share,
}

mary_generators::named! {
    /// By the words of the phrases.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Share {
        Quarter = "quarter",
        Third = "third",
        Half = "half",
        TwoThirds = "two-thirds",
        ThreeQuarters = "three-quarters",
    }
}

pub const COVERS: [Share; 3] = [Share::Quarter, Share::Third, Share::Half];

pub fn lines() -> impl Iterator<Item = CuttingLine> {
    let of = |level: bool| Share::ALL.map(|share| CuttingLine { level, share });
    [true, false].into_iter().flat_map(of)
}
