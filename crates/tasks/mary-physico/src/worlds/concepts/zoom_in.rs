//! Zoom in: how it is drawn and recognised.

use crate::worlds::ConceptCode;
use crate::worlds::scenery::images::{framed_part, larger};

pub(super) static CONCEPT: ConceptCode = ConceptCode {
    id: "zoom-in",
    data: include_str!("zoom_in.json"),
    aspects: &[("larger", larger), ("framed-part", framed_part)],
    readings: reading::READINGS,
};

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::images::{filled, scaled, view};
    use crate::worlds::readings::look::Look;

    pub(super) static READINGS: &[Reading] = &[
        Reading::new(
            "zoom-in",
            &["larger"],
            "is the whole picture the same, two or three times as large?",
            enlarged,
        ),
        Reading::new(
            "zoom-in",
            &["framed-part"],
            "is what a frame held all there is now, twice as large, in a larger frame?",
            only_the_framed,
        ),
    ];

    fn enlarged(look: &Look) -> bool {
        scaled(&look.input, &look.output, filled(look))
    }

    fn only_the_framed(look: &Look) -> bool {
        (1..10).any(|c| {
            look.had(c) >= 12 && look.has(c) > look.had(c) && view(&look.input, &look.output, c)
        })
    }
}
