//! Move: how it is drawn, said and recognised.

use crate::grid::Pair;
use crate::worlds::draw::{extent, shifted};
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "move",
    name: "move",
    set: Set::CoreTest,
    associative: true,
    aspects: &[
        Aspect::free(
            "one-body",
            "One body among resting ones goes to another place without turning or changing.",
            one_body,
        ),
        Aspect::free(
            "all-alike",
            "All bodies of one colour go the same way by the same number of cells; the others stay.",
            all_alike,
        ),
    ],
    words: Words {
        names: &["mov*", "motion*", "displac*", "translat*"],
        giveaways: &[],
        definitions: &[
            "To [PHENOMENON] is to change place as time goes on, while size and shape stay the same.",
            "A tram between two stops and a chess rook between two squares [PHENOMENON]: all their points go the same way by the same amount.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("acceleration", "what speeds up moves"),
        ("brownian-motion", "grains move"),
        ("buoyancy", "what rises moves"),
        ("chemical-bond", "atoms move together"),
        ("communicating-vessels", "liquid moves"),
        ("compression", "the piston moves"),
        ("cut", "the pieces move apart"),
        ("diffusion", "particles move"),
        ("elastic-force", "what is pushed moves"),
        ("energy-conservation", "the ball moves"),
        ("explosion", "fragments move"),
        ("fictitious-force", "what is thrown back moves"),
        ("force-composition", "forces move"),
        ("friction", "what slides moves"),
        ("gravity", "what falls moves"),
        ("inclined-plane", "what slides down moves"),
        ("inertia", "what goes on moves"),
        ("lever", "the ends move"),
        ("lifting", "what is lifted moves"),
        ("magnet", "what is attracted moves"),
        ("nuclear-fission", "pieces move apart"),
        ("nuclear-fusion", "nuclei move together"),
        ("photoelectric-effect", "electrons move"),
        ("pulley", "the load moves"),
        ("reference-frame", "a shifted view looks like a moved scene"),
        ("relativity", "the fast one moves"),
        ("repulsive-force", "what is repelled moves"),
        ("resonance", "what swings moves"),
        ("siphon", "liquid moves"),
        ("splashing", "drops move"),
        ("squeeze", "the jaws move"),
        ("surface-tension", "liquid moves"),
        ("vacuum", "dust moves"),
        ("wetting", "drops move"),
    ],
};

fn one_body(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let size = s.between(5, 8) as usize;
    let form = s.blob(size);
    let (height, width) = extent(&form);
    let from = s.place((0, s.rows - height), (0, s.cols / 2 - width));
    let by = s.between(width + 1, s.cols - width - from.1);
    let to = (from.0, from.1 + by);
    p.input.stamp(&form, from, s.colour(0));
    p.output.stamp(&form, to, s.colour(0));
    rest(s, &mut p, 2);
    (p.output.count(s.colour(0)) == form.len()).then_some(p)
}

fn all_alike(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let by = s.between(3, 6);
    let mut bodies = 0;
    for _ in 0..s.between(6, 12) {
        let size = s.between(2, 5) as usize;
        let form = s.blob(size);
        let (height, width) = extent(&form);
        let at = s.place((0, s.rows - height), (0, s.cols - width - by));
        let (from, to) = (shifted(&form, at), shifted(&form, (at.0, at.1 + by)));
        if p.input.roomy(&from) && p.output.roomy(&to) {
            p.input.paint(from, s.colour(0));
            p.output.paint(to, s.colour(0));
            bodies += 1;
        }
    }
    rest(s, &mut p, 2);
    (bodies >= 2).then_some(p)
}

/// Bodies that stay where they are, where both grids have room.
fn rest(s: &mut Setting, p: &mut Pair, many: usize) {
    for role in 1..=many {
        let size = s.between(2, 5) as usize;
        let form = s.blob(size);
        for _ in 0..20 {
            let at = s.place((0, s.rows - 2), (0, s.cols - 2));
            let cells = shifted(&form, at);
            if p.input.roomy(&cells) && p.output.roomy(&cells) {
                let colour = s.colour(role);
                p.both(|g| g.paint(cells.iter().copied(), colour));
                break;
            }
        }
    }
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::Place;
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::look::Look;

    pub(super) static READINGS: &[Reading] = &[Reading::new(
        "move",
        &["one-body", "all-alike"],
        "did some bodies go the same way, unchanged, while all else stayed?",
        moved,
    )
    .same_counts()];

    fn moved(look: &Look) -> bool {
        if !look.same_counts {
            return false;
        }
        // All of one colour, shifted: bodies may come to lie where others of it lay.
        if let [colour] = *look.touched.as_slice() {
            let (was, is) = (look.input.places_of(colour), look.output.places_of(colour));
            let step = was
                .first()
                .zip(is.first())
                .map_or((0, 0), |(a, b)| (b.0 - a.0, b.1 - a.1));
            let shifted = |(a, b): (&Place, &Place)| (a.0 + step.0, a.1 + step.1) == *b;
            if was.iter().zip(&is).all(shifted) {
                return true;
            }
        }
        look.moves().is_some_and(|all| {
            let first = all.first().map(|m| m.by);
            all.iter().all(|m| Some(m.by) == first)
        })
    }
}
