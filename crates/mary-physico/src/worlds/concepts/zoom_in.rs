//! Zoom in: how it is drawn, said and recognised.

use crate::worlds::scenery::images::{framed_part, larger};
use crate::worlds::{Aspect, Concept, Set, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "zoom-in",
    name: "zoom in",
    set: Set::Associative,
    associative: true,
    aspects: &[
        Aspect::free(
            "larger",
            "The thing is shown two or three times as large, every cell a square, its form and colours kept.",
            larger,
        ),
        Aspect::free(
            "framed-part",
            "Only the framed part of the scene is left, twice as large.",
            framed_part,
        ),
    ],
    words: Words {
        names: &["zoom*", "magnif*", "enlarg*"],
        giveaways: &["telephoto"],
        definitions: &[
            "To [PHENOMENON] is to let a part of the scene fill the whole view: what is seen gets larger in the same proportions, and less of the surroundings is shown.",
            "A photographer who turns the ring of the objective to pick a single face out of a crowd is about to [PHENOMENON]; a reader of a digital map does so by spreading two fingers.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("expansion", "what is shown larger may have grown"),
        ("explosion", "what is shown larger may have burst"),
        ("reference-frame", "a nearer view is another way of looking"),
        ("relativity", "a change of size shows both"),
        (
            "thermal-expansion-and-contraction",
            "what is shown larger may have grown",
        ),
    ],
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
