use super::*;

concept!(draws: one_slit, crossed_slits; reads: behind_the_slit);

/// A plate three columns wide with a slit: along the swing (upright) or across it (level).
fn plate(g: &mut Grid, (middle, left): Place, half: i32, along: bool, colour: u8) {
    g.fill_box((middle - half - 1, left), (2 * half + 3, 3), colour);
    if along {
        g.fill((middle - half, left + 1), (middle + half, left + 1), 0);
    } else {
        g.fill((middle, left), (middle, left + 2), 0);
    }
}

fn one_slit(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, light) = (s.colour(0), s.colour(1));
    let half = 2;
    let left = s.between(6, s.cols - 6);
    let lanes = if s.rows >= 15 { s.between(1, 2) } else { 1 };
    let lane = 2 * half + 4;
    let mut middle = s.between(half + 1, s.rows - half - 2 - (lanes - 1) * lane);
    for _ in 0..lanes {
        p.both(|g| {
            plate(g, (middle, left), half, true, glass);
            // A star: it swings along, across and both ways aslant.
            for way in [(1, 0), (0, 1), (1, 1), (1, -1)] {
                g.ray((middle, left - 4), way, -half..=half, light);
            }
        });
        let strokes = s.between(1, 3);
        for i in 0..strokes {
            let c = left + 4 + 2 * i;
            if c < s.cols {
                p.output.fill((middle - half, c), (middle + half, c), light);
            }
        }
        middle += lane;
    }
    Some(p)
}

fn crossed_slits(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, light) = (s.colour(0), s.colour(1));
    let half = if s.rows >= 15 { s.between(1, 2) } else { 1 };
    let left = s.between(4, s.cols - 6);
    let lane = 2 * half + 4;
    let first = s.between(half + 1, s.rows - lane - half - 2);
    let lets_first = s.coin();
    let (arriving, leaving) = (s.between(1, 2), s.between(1, 3));
    for (middle, lets) in [(first, lets_first), (first + lane, !lets_first)] {
        p.both(|g| {
            plate(g, (middle, left), half, lets, glass);
            for i in 0..arriving {
                let c = left - 2 - 2 * i;
                g.fill((middle - half, c), (middle + half, c), light);
            }
        });
        for i in 0..leaving {
            let c = left + 4 + 2 * i;
            if lets && c < s.cols {
                p.output.fill((middle - half, c), (middle + half, c), light);
            }
        }
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn behind_the_slit(look: &Look) -> Option<bool> {
    let light = look.one_added()?;
    Some(look.lying_or_upright(|look| {
        let plates = those(look.parts_before(), |p| {
            p.colour != light && p.is_frame() && p.wide() == 3 && !look.restless(p)
        });
        let strokes = look.new_parts();
        !strokes.is_empty()
            && strokes.iter().all(|stroke| {
                plates.iter().any(|plate| {
                    let [t, l, b, r] = plate.bounds;
                    let right = stroke.bounds[1] > r;
                    let mut before = if right { 0..l } else { r + 1..look.cols() };
                    stroke.is_run()
                        && stroke.wide() == 1
                        && (stroke.bounds[0], stroke.bounds[2]) == (t + 1, b - 1)
                        && before.any(|c| look.was(((t + b) / 2, c)) == light)
                })
            })
    }))
}
