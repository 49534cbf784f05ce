//! Polarization of light: how it is drawn, said and recognised.

use crate::grid::{Grid, Pair, Place};
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "polarization-of-light",
    name: "polarization of light",
    set: Set::Associative,
    associative: true,
    aspects: &[
        Aspect::free(
            "one-direction",
            "Light that swings both along and across meets a grating, and behind it only the swing along its bars is left.",
            one_direction,
        ),
        Aspect::free(
            "second-grating",
            "Light that swings along the bars passes a grating whose bars lie the same way and is stopped by a crossed one.",
            second_grating,
        ),
    ],
    words: Words {
        names: &["polari*", "light*"],
        giveaways: &["Malus*", "Brewster*"],
        definitions: &[
            "[PHENOMENON] means that the swinging of the transverse field in a beam is kept to one direction across the beam, for example by a sheet that lets only that direction pass.",
            "Two pieces of the same grey film let a beam through when their axes agree and stop it when they are crossed; this [PHENOMENON] is used in sunglasses against glare.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("diffraction-of-waves", "light behind a grating shows both"),
        ("electromagnetic-wave", "only such waves can be polarized"),
        (
            "move",
            "the strokes behind the grating look like moved ones",
        ),
        ("reflection", "light at a plate shows both"),
    ],
};

/// A crossed swing, or only its upright or level stroke.
fn swing(g: &mut Grid, at: Place, upright: bool, level: bool, colour: u8) {
    if upright {
        g.fill((at.0 - 1, at.1), (at.0 + 1, at.1), colour);
    }
    if level {
        g.fill((at.0, at.1 - 1), (at.0, at.1 + 1), colour);
    }
}

/// A grating of three columns: upright bars, or level bars.
fn grating(g: &mut Grid, rows: (i32, i32), left: i32, upright: bool, colour: u8) {
    for r in rows.0..=rows.1 {
        for c in left..left + 3 {
            let bar = if upright {
                (c - left) % 2 == 0
            } else {
                (r - rows.0) % 2 == 0
            };
            if bar {
                g.set(r, c, colour);
            }
        }
    }
}

fn one_direction(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (bars, light) = (s.colour(0), s.colour(1));
    let upright = s.coin();
    let left = (s.cols - 3) / 2;
    p.both(|g| grating(g, (0, g.rows() as i32 - 1), left, upright, bars));
    let mut row = s.between(1, 2);
    while row < s.rows - 1 {
        p.both(|g| swing(g, (row, left - 3), true, true, light));
        swing(&mut p.output, (row, left + 5), upright, !upright, light);
        row += s.between(4, 5);
    }
    Some(p)
}

fn second_grating(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (bars, light) = (s.colour(0), s.colour(1));
    let upright = s.coin();
    let left = (s.cols - 3) / 2;
    let half = s.rows / 2;
    let two = half >= 8 && s.coin();
    let lets_top = s.coin();
    for (rows, lets) in [
        ((0, half - 2), lets_top),
        ((half + 1, s.rows - 1), !lets_top),
    ] {
        let way = if lets { upright } else { !upright };
        p.both(|g| grating(g, rows, left, way, bars));
        let mid = (rows.0 + rows.1) / 2;
        let rays = if two {
            vec![mid - 2, mid + 2]
        } else {
            vec![mid]
        };
        for row in rays {
            for c in [left - 3, left - 5] {
                if c > 0 {
                    p.both(|g| swing(g, (row, c), upright, !upright, light));
                }
            }
            for c in [left + 5, left + 7] {
                if lets && c < s.cols - 1 {
                    swing(&mut p.output, (row, c), upright, !upright, light);
                }
            }
        }
    }
    Some(p)
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::Place;
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::look::{Look, Part};

    pub(super) static READINGS: &[Reading] = &[Reading::new(
        "polarization-of-light",
        &["one-direction", "second-grating"],
        "do strokes along the bars of a grating appear behind it, all the same way?",
        passed_the_grating,
    )
    .touching(1, 1)
    .added()];

    fn passed_the_grating(look: &Look) -> bool {
        let Some(light) = look.one_added() else {
            return false;
        };
        if look.had(light) < 2 {
            return false;
        }
        let strokes = look.new_parts();
        let upright = |p: &Part| p.tall() > p.wide();
        let Some(way) = strokes.first().map(upright) else {
            return false;
        };
        if !strokes
            .iter()
            .all(|s| s.is_run() && s.len() >= 2 && upright(s) == way)
        {
            return false;
        }
        // A grating: still bars of one colour along the strokes, every second line.
        let bars: Vec<&Part> = look
            .parts_before()
            .iter()
            .filter(|p| {
                p.colour != light
                    && p.is_run()
                    && p.len() >= 3
                    && upright(p) == way
                    && !look.restless(p)
            })
            .collect();
        let twin = |p: &&&Part| {
            bars.iter().any(|q| {
                let (dr, dc) = p.step_to(q);
                q.colour == p.colour
                    && q.len() == p.len()
                    && (dr.abs(), dc.abs()) == if way { (0, 2) } else { (2, 0) }
            })
        };
        let grating: Vec<&&Part> = bars.iter().filter(twin).collect();
        let cells: Vec<Place> = grating
            .iter()
            .flat_map(|p| p.cells.iter().copied())
            .collect();
        let Some([t, l, b, r]) = crate::worlds::readings::bounds(&cells) else {
            return false;
        };
        let old = look.input.places_of(light);
        let parted = |before: &dyn Fn(&Place) -> bool, after: &dyn Fn(&Place) -> bool| {
            old.iter().all(before) && look.changed.iter().all(after)
        };
        parted(&|p| p.1 < l, &|p| p.1 > r)
            || parted(&|p| p.1 > r, &|p| p.1 < l)
            || parted(&|p| p.0 < t, &|p| p.0 > b)
            || parted(&|p| p.0 > b, &|p| p.0 < t)
    }
}
