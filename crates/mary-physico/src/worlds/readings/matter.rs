//! Readings of matter that is pressed or wet: crowded, squeezed, rounded, dented, splashed, soaked,
//! spread as a film.

use super::look::{Look, Part, edge_or};
use super::{Reading, area, skin};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "compression",
        &["piston"],
        "did loose particles crowd into a much smaller room without loss?",
        crowded,
    )
    .touching(1, 2).kinds_stay().reshaping(6),
    Reading::new(
        "compression",
        &["sponge"],
        "did a block full of holes become half as high and solid, no cell lost?",
        holes_closed,
    )
    .touching(1, 2).kinds_stay().reshaping(6),
    Reading::new(
        "squeeze",
        &["soft-body"],
        "did a block between two jaws that close become thinner and longer without loss?",
        squeezed,
    )
    .touching(2, 2).kinds_stay().reshaping(4),
    Reading::new(
        "squeeze",
        &["tube"],
        "did two jaws close and as much of one colour come out at the end of what they press?",
        pressed_out,
    )
    .touching(3, 3).kinds_stay().keeping(6).movers(1),
    Reading::new(
        "surface-tension",
        &["round-drop"],
        "did ragged patches draw together into compact ones of the same size?",
        rounded,
    )
    .touching(1, 3).same_counts().reshaping(6),
    Reading::new(
        "surface-tension",
        &["water-strider"],
        "did a body come down on a liquid that gives way only right around its feet?",
        dented,
    )
    .touching(2, 2).kinds_stay().keeping(1).movers(1)
    .upright(),
    Reading::new(
        "splashing",
        &["crown", "stone"],
        "did something strike a liquid, and as much of it fly up on both sides?",
        splashed,
    )
    .touching(1, 2).kinds_stay().reshaping(20)
    .upright(),
    Reading::new(
        "wetting",
        &["soaking"],
        "did a body change colour just where it is near another that touches it, up to a distance?",
        soaked,
    )
    .touching(2, 2).recoloured().fresh(1),
    Reading::new(
        "wetting",
        &["spreading"],
        "of two equal drops that came down, did one become a flat film and the other keep its form?",
        became_a_film,
    )
    .touching(1, 1).same_counts().reshaping(4)
    .upright(),
];

fn crowded(look: &Look) -> bool {
    look.touched.iter().any(|&colour| {
        if !look.kept(colour, 6) || look.touched.len() > 2 {
            return false;
        }
        let (before, after) = (look.input.places_of(colour), look.output.places_of(colour));
        let (was, is) = (look.before_of(colour).len(), look.after_of(colour).len());
        // Fewer clumps, or a piston of another colour that came in.
        let plate = |c: &&u8| **c != colour && look.has(**c) > look.had(**c);
        let pushed = look.touched.len() == 2 && look.touched.iter().any(|c| plate(&c));
        let whole = |c: &&u8| **c == colour || look.has_parts(**c, 1, 1);
        3 * area(&after) <= 2 * area(&before)
            && 3 * after.len() as i32 >= area(&after)
            && (pushed || 2 * is <= was + 1)
            && look.touched.iter().all(|c| whole(&c))
            && 2 * skin(&look.input, &before) >= 3 * before.len()
            && was > 1
    })
}

fn holes_closed(look: &Look) -> bool {
    look.touched.len() <= 2
        && look.touched.iter().any(|&foam| {
            let after = look.after_of(foam);
            let [block] = after.as_slice() else {
                return false;
            };
            let loose = look.input.places_of(foam);
            let plate = |c: &&u8| **c == foam || look.has_parts(**c, 1, 1);
            look.kept(foam, 6)
                && look.touched.iter().all(|c| plate(&c))
                && block.is_box()
                && skin(&look.input, &loose) == 4 * loose.len()
                && area(&loose) == 2 * area(&block.cells)
        })
}

fn squeezed(look: &Look) -> bool {
    look.touched.len() == 2
        && look.touched.iter().any(|&body| {
            let (before, after) = (look.before_of(body), look.after_of(body));
            let ([from], [to]) = (before.as_slice(), after.as_slice()) else {
                return false;
            };
            let jaw = look.touched.iter().find(|c| **c != body).copied();
            // Touched by the same colour on both of two opposite sides.
            let held = |part: &Part, colour: &dyn Fn(Place) -> u8, across: bool| {
                let [t, l, b, r] = part.bounds;
                let (y, x) = ((t + b) / 2, (l + r) / 2);
                let sides = if across {
                    [(y, l - 1), (y, r + 1)]
                } else {
                    [(t - 1, x), (b + 1, x)]
                };
                sides.iter().all(|&p| Some(colour(p)) == jaw)
            };
            let (was, is) = (|p| look.was(p), |p| look.is(p));
            let thinner = |across: bool| {
                let (a, b) = if across {
                    (from.wide() - to.wide(), to.tall() - from.tall())
                } else {
                    (from.tall() - to.tall(), to.wide() - from.wide())
                };
                a > 0 && b > 0 && held(from, &was, across) && held(to, &is, across)
            };
            let jaws = |parts: Vec<&Part>| parts.len() == 2 && parts.iter().all(|p| p.is_box());
            look.kept(body, 4)
                && from.is_box()
                && to.is_box()
                && (thinner(true) || thinner(false))
                && jaw.is_some_and(|c| jaws(look.before_of(c)) && jaws(look.after_of(c)))
        })
}

fn pressed_out(look: &Look) -> bool {
    if look.touched.len() != 3 {
        return false;
    }
    look.touched.iter().any(|&jaw| {
        let Some(all) = look.moves_of(&[jaw]) else {
            return false;
        };
        let [a, b] = all.as_slice() else {
            return false;
        };
        let upright = a.by.0 != 0;
        let axis = usize::from(upright);
        let together = a.by == (-b.by.0, -b.by.1) && a.by.0 * a.by.1 == 0 && {
            let gap = |p: &Part, q: &Part| {
                let (m, n) = (p.middle(), q.middle());
                (m.0 - n.0).abs() + (m.1 - n.1).abs()
            };
            gap(a.to, b.to) < gap(a.from, b.from)
        };
        together
            && look.touched.iter().filter(|c| **c != jaw).any(|&paste| {
                let (before, after) = (look.before_of(paste), look.after_of(paste));
                let ([from], [to]) = (before.as_slice(), after.as_slice()) else {
                    return false;
                };
                let longer = |i: usize| {
                    let (f, t) = (from.bounds, to.bounds);
                    (t[i + 2] - t[i]) - (f[i + 2] - f[i])
                };
                let skin = look.touched.iter().find(|c| **c != jaw && **c != paste);
                look.kept(paste, 6)
                    && from.is_box()
                    && longer(axis) >= 2
                    && skin.is_some_and(|&c| look.has_parts(c, 1, 1))
            })
    })
}

fn rounded(look: &Look) -> bool {
    let restless = |parts: &'_ [Part]| -> Vec<Part> {
        parts.iter().filter(|p| look.restless(p)).cloned().collect()
    };
    if !look.same_counts || look.touched.len() > 3 {
        return false;
    }
    let (before, after) = (restless(look.parts_before()), restless(look.parts_after()));
    !before.is_empty()
        && before.len() == after.len()
        && before.iter().all(|p| {
            after
                .iter()
                .find(|q| q.colour == p.colour)
                .is_some_and(|q| {
                    q.len() == p.len()
                        && q.len() >= 6
                        && 4 * skin(&look.output, &q.cells) <= 3 * skin(&look.input, &p.cells)
                })
        })
}

/// The highest row that this colour fills from edge to edge, the row under it too.
fn surface(look: &Look, liquid: u8) -> Option<i32> {
    let full = |r: i32| (0..look.cols()).all(|c| look.was((r, c)) == liquid);
    (0..look.rows() - 1).find(|&r| full(r) && full(r + 1))
}

fn dented(look: &Look) -> bool {
    let t = &look.touched;
    let (2, Some(&x), Some(&y)) = (t.len(), t.first(), t.get(1)) else {
        return false;
    };
    [(x, y), (y, x)].into_iter().any(|(insect, water)| {
        let Some(top) = surface(look, water) else {
            return false;
        };
        let Some(all) = look.moves_of(&[insect]) else {
            return false;
        };
        let [one] = all.as_slice() else {
            return false;
        };
        let lost = look.gone(water);
        one.by.1 == 0
            && one.by.0 > 0
            && look.came(water).is_empty()
            && one.to.bounds[2] >= top
            && one.to.bounds[0] < top
            && !lost.is_empty()
            && lost.iter().all(|&p| one.to.touches(&[p]))
    })
}

fn splashed(look: &Look) -> bool {
    if look.touched.len() > 2 {
        return false;
    }
    look.touched.iter().any(|&water| {
        if !look.kept(water, 20) {
            return false;
        }
        let Some(top) = surface(look, water) else {
            return false;
        };
        let up: Vec<Place> = look
            .output
            .places_of(water)
            .into_iter()
            .filter(|p| p.0 < top)
            .collect();
        // What fell: a body that is under water now, or a drop of the liquid itself.
        let body = look.touched.iter().find(|c| **c != water);
        let struck: Vec<Place> = match body {
            Some(&c) => {
                let fell = look
                    .moves_of(&[c])
                    .is_some_and(|m| m.len() == 1 && m.iter().all(|m| m.by.0 > 0 && m.by.1 == 0));
                if !fell {
                    return false;
                }
                look.output.places_of(c)
            }
            None => look.gone(water),
        };
        // Before it struck, nothing of the liquid was above but the drop.
        let above: Vec<Place> = look
            .input
            .places_of(water)
            .into_iter()
            .filter(|p| p.0 < top)
            .collect();
        if above.is_empty() != body.is_some() || !super::connected(&above) {
            return false;
        }
        let pit: Vec<Place> = struck.iter().copied().filter(|p| p.0 >= top).collect();
        let Some([_, l, _, r]) = super::bounds(&pit) else {
            return false;
        };
        let m = (l + r) / 2;
        let clumped = up.iter().any(|&(r, c)| {
            [(r, c + 1), (r + 1, c), (r + 1, c + 1)]
                .iter()
                .all(|p| p.0 < top && look.is(*p) == water)
        });
        let sides = |ok: &dyn Fn(i32) -> bool| up.iter().any(|p| ok(p.1));
        up.len() >= 2
            && !clumped
            && r - l < 5
            && up
                .iter()
                .all(|p| p.1 <= l.min(m - 1) || p.1 >= r.max(m + 1))
            && sides(&|c| c < m)
            && sides(&|c| c > m)
            && up.iter().all(|&p| look.was(p) != water || body.is_none())
    })
}

fn soaked(look: &Look) -> bool {
    let (Some(wet), true, 2) = (look.one_fresh(), look.only_recoloured, look.touched.len()) else {
        return false;
    };
    let cloth = look.touched.iter().find(|c| **c != wet).copied();
    let Some(cloth) = cloth else { return false };
    if look.has(cloth) == 0 || look.changed.len() < 4 {
        return false;
    }
    let near = look.still_beside(&look.changed);
    near.iter().filter(|c| **c != cloth).any(|&water| {
        let sources = look.input.places_of(water);
        let far = |p: &Place| {
            let steps = |q: &Place| (p.0 - q.0).abs() + (p.1 - q.1).abs();
            sources.iter().map(steps).min().unwrap_or(99)
        };
        let front = look.changed.iter().map(far).max().unwrap_or(0);
        let dry = look.output.places_of(cloth);
        (2..=6).contains(&front) && dry.iter().all(|p| far(p) > front)
    })
}

fn became_a_film(look: &Look) -> bool {
    let [water] = *look.touched.as_slice() else {
        return false;
    };
    let (before, after) = (look.before_of(water), look.after_of(water));
    let ([a, b], [c, d]) = (before.as_slice(), after.as_slice()) else {
        return false;
    };
    let rests = |part: &Part| {
        part.cells
            .iter()
            .any(|&(r, x)| !part.has((r + 1, x)) && edge_or(&look.output, (r + 1, x), |v| v != 0))
    };
    let under = |part: &Part| look.is((part.bounds[2] + 1, part.bounds[1]));
    a.alike(b)
        && [(c, d), (d, c)].into_iter().any(|(ball, film)| {
            ball.alike(a)
                && film.len() == a.len()
                && film.tall() < a.tall()
                && film.wide() > a.wide()
                && [ball, film].iter().all(|p| rests(p))
                && ball.bounds[2] > a.bounds[2]
                && under(film) != look.is((ball.bounds[2] + 1, ball.bounds[3] - 1))
        })
}
