//! Zoom out: how it is drawn and recognised.

use crate::grid::Pair;
use crate::worlds::scenery::images::{framed_part, larger};
use crate::worlds::{ConceptCode, Setting};

pub(super) static CONCEPT: ConceptCode = ConceptCode {
    id: "zoom-out",
    data: include_str!("zoom_out.json"),
    aspects: &[("smaller", smaller), ("wider-view", wider_view)],
    readings: reading::READINGS,
};

fn smaller(s: &mut Setting) -> Option<Pair> {
    let p = larger(s)?;
    Some(Pair {
        input: p.output,
        output: p.input,
    })
}

fn wider_view(s: &mut Setting) -> Option<Pair> {
    let p = framed_part(s)?;
    Some(Pair {
        input: p.output,
        output: p.input,
    })
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::images::{filled, scaled, view};
    use crate::worlds::readings::look::Look;

    pub(super) static READINGS: &[Reading] = &[
        Reading::new(
            "zoom-out",
            &["smaller"],
            "is the whole picture the same, at half or a third of its size?",
            reduced,
        ),
        Reading::new(
            "zoom-out",
            &["wider-view"],
            "is all there was now in a frame, at half its size, with more around it?",
            framed_now,
        ),
    ];

    fn reduced(look: &Look) -> bool {
        let (before, after) = filled(look);
        scaled(&look.output, &look.input, (after, before))
    }

    fn framed_now(look: &Look) -> bool {
        (1..10).any(|c| {
            look.has(c) >= 12 && look.had(c) > look.has(c) && view(&look.output, &look.input, c)
        })
    }
}
