//! Melting: how it is drawn, said and recognised.

use crate::grid::Pair;
use crate::worlds::scenery::heat::{flame, puddle, sun};
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "melting",
    name: "melting",
    set: Set::CoreDev,
    associative: false,
    aspects: &[
        Aspect::upright(
            "ice-on-the-table",
            "Under the sun a solid block becomes liquid: it turns colour and runs out flat over the table, no cell lost.",
            ice_on_the_table,
        ),
        Aspect::upright(
            "cubes-in-a-glass",
            "Solid cubes piled in a heated glass become a liquid with a level surface, no cell lost.",
            cubes_in_a_glass,
        ),
    ],
    words: Words {
        names: &["melt*", "molten", "fusion", "thaw*", "liquef*"],
        giveaways: &["latent heat"],
        definitions: &[
            "[PHENOMENON] is the change of a solid into a liquid when it takes up warmth. For a pure substance the temperature does not rise until all of the solid has changed.",
            "By [PHENOMENON], an ice cube in a warm room loses its shape and becomes a puddle, and solder under a hot iron begins to flow.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("communicating-vessels", "a heap becomes level in both"),
        ("thermal-expansion-and-contraction", "heat changes the form"),
        ("vaporization", "a change of state by heat"),
    ],
};

fn ice_on_the_table(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (table, ice, water, light) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let floor = s.rows - s.between(1, 2);
    let (tall, wide) = (s.between(3, 5), s.between(3, 4));
    let mid = s.between(s.cols / 2 - 1, s.cols / 2 + 1);
    let left = mid - wide / 2;
    let corner = if s.coin() { (1, 1) } else { (1, s.cols - 3) };
    p.both(|g| {
        g.fill((floor, 0), (g.rows() as i32, g.cols() as i32), table);
        sun(g, corner, light);
    });
    p.input
        .fill((floor - tall, left), (floor - 1, left + wide - 1), ice);
    puddle(&mut p.output, floor, mid, s.cols - 2, tall * wide, water);
    let whole = p.output.count(water) as i32 == tall * wide;
    (whole && floor - tall > 4).then_some(p)
}

fn cubes_in_a_glass(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (glass, ice, water, fire) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let wide = s.between(5, s.cols - 4);
    let left = s.between(1, s.cols - wide - 3);
    let right = left + wide + 1;
    let floor = s.rows - 4;
    let top = s.between(0, 2);
    p.both(|g| {
        g.fill((top, left), (floor, left), glass);
        g.fill((top, right), (floor, right), glass);
        g.fill((floor, left), (floor, right), glass);
        flame(g, floor + 3, (left + right) / 2, fire);
    });
    // Cubes stand on one another, none higher than the rim.
    let mut c = left + 1;
    while c + 1 < right {
        let high = s.between(1, ((floor - top) / 2 - 1).max(1));
        for k in 0..high {
            let base = floor - 1 - 2 * k;
            if base - 1 > top {
                p.input.fill((base - 1, c), (base, c + 1), ice);
            }
        }
        c += 3;
    }
    let cells = p.input.count(ice) as i32;
    for i in 0..cells {
        p.output
            .set(floor - 1 - i / wide, left + 1 + i % wide, water);
    }
    let highest = p.input.places_of(ice).first().map_or(0, |q| floor - q.0);
    (cells >= 8 && cells % wide == 0 && cells / wide + 2 <= highest && floor - top > 5).then_some(p)
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::Place;
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::heat::became;
    use crate::worlds::readings::look::Look;

    pub(super) static READINGS: &[Reading] = &[Reading::new(
        "melting",
        &["ice-on-the-table", "cubes-in-a-glass"],
        "did one colour become another, as many cells, in a flatter heap?",
        melted,
    )
    .touching(2, 2)
    .fresh(1)
    .upright()];

    fn melted(look: &Look) -> bool {
        if look.fresh.is_empty() || look.touched.len() != 2 {
            return false;
        }
        let high = |cells: &[Place]| {
            crate::worlds::readings::bounds(cells).map_or(0, |[t, _, b, _]| b - t + 1)
        };
        became(look).into_iter().any(|(ice, water)| {
            let (a, b) = (look.input.places_of(ice), look.output.places_of(water));
            a.len() >= 6 && a.len() == b.len() && high(&b) < high(&a)
        })
    }
}
