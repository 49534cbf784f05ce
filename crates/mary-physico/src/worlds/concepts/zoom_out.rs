//! Zoom out: how it is drawn, said and recognised.

use crate::grid::Pair;
use crate::worlds::scenery::images::{framed_part, larger};
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "zoom-out",
    name: "zoom out",
    set: Set::Associative,
    associative: true,
    aspects: &[
        Aspect::free(
            "smaller",
            "The thing is shown at half or a third of its size, its form and colours kept.",
            smaller,
        ),
        Aspect::free(
            "wider-view",
            "The framed picture shrinks to half its size, and what lies around it comes into view.",
            wider_view,
        ),
    ],
    words: Words {
        names: &["zoom*", "reduc*"],
        giveaways: &["wide-angle"],
        definitions: &[
            "To [PHENOMENON] is to take in a wider view: everything seen gets smaller in the same proportions, and more of the surroundings comes into the picture.",
            "A reader of a digital map pinches two fingers together to [PHENOMENON], and sees the whole country instead of one street.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        (
            "atmospheric-pressure",
            "what is shown smaller may have been crushed",
        ),
        ("compression", "what is shown smaller may have been pressed"),
        ("reference-frame", "a wider view is another way of looking"),
        ("relativity", "a change of size shows both"),
        ("squeeze", "what is shown smaller may have been pressed"),
        (
            "surface-tension",
            "what is shown smaller may have drawn together",
        ),
        (
            "thermal-expansion-and-contraction",
            "what is shown smaller may have shrunk",
        ),
    ],
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
