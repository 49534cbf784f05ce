use super::*;

concept! {
    draws: flat_mirror, two_mirrors, slanted_mirror, periscope;
    reads: reflected, thrown_aside, thrown_twice;
}

fn flat_mirror(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, light) = (s.colour(0), s.colour(1));
    let row = s.rows - s.between(1, 3);
    // Columns for each row: one is the half right angle, two is flatter.
    let run = s.between(1, 2);
    let hit = s.between(s.cols / 2 - 1, s.cols / 2 + 1);
    p.both(|g| g.fill((row, 0), (g.rows() as i32, g.cols() as i32), glass));
    let most = ((hit - 1).min(s.cols - 2 - hit) / run).min(row - 1);
    let far = s.between(3.min(most), most);
    for d in 0..=far * run {
        let r = row - 1 - d / run;
        p.input.set(r, hit - d, light);
        p.output.set(r, hit - d, light);
        p.output.set(r, hit + d, light);
    }
    (far * run >= 4 && far >= 3).then_some(p)
}

fn two_mirrors(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, light) = (s.colour(0), s.colour(1));
    let gap = s.between(4, 6);
    let top = s.between(0, s.rows - gap - 2);
    let bottom = top + gap + 1;
    p.both(|g| {
        g.fill((top, 0), (top, g.cols() as i32), glass);
        g.fill((bottom, 0), (bottom, g.cols() as i32), glass);
    });
    let mut r = top + s.between(1, gap);
    let mut down = if s.coin() { 1 } else { -1 };
    let known = s.between(2, 3);
    for c in 0..s.cols {
        if c < known {
            p.input.set(r, c, light);
        }
        p.output.set(r, c, light);
        if r + down <= top || r + down >= bottom {
            down = -down;
        }
        r += down;
    }
    Some(p)
}

fn slanted_mirror(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, ray) = (s.colour(0), s.colour(1));
    let long = s.between(4, 6);
    let (top, left) = s.place((2, s.rows - long - 2), (4, s.cols - long - 1));
    let many = s.between(1, 2);
    p.both(|g| {
        g.ray((top, left), (1, 1), 0..long, glass);
    });
    for i in 0..many {
        let k = long - 1 - 2 * i - s.between(0, 1);
        if k < 1 {
            break;
        }
        // From the left along a row to the mirror, then down along a column.
        p.both(|g| g.fill((top + k, 0), (top + k, left + k - 1), ray));
        let c = left + k - 1;
        p.output.fill((top + k + 1, c), (s.rows - 1, c), ray);
    }
    (p.output.count(ray) >= p.input.count(ray) + 4).then_some(p)
}

fn periscope(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, ray) = (s.colour(0), s.colour(1));
    let (top, bottom) = (s.between(1, 3), s.rows - 1 - s.between(1, 3));
    let col = s.between(4, s.cols - 5);
    p.both(|g| {
        g.ray((top, col + 1), (1, 1), -1..=1, glass);
        g.ray((bottom, col - 1), (1, 1), -1..=1, glass);
        // In from the left above, down the shaft, out to the right below.
        g.fill((top, 0), (top, col), ray);
    });
    p.output.fill((top, col), (bottom, col), ray);
    p.output.fill((bottom, col), (bottom, s.cols - 1), ray);
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn reflected(look: &Look) -> Option<bool> {
    let colour = look.one_added()?;
    given(look.had(colour) >= 2)?;
    // The ray as one row per column, or one column per row.
    Some(look.lying_or_upright(|look| {
        let mut path = look.output.places_of(colour);
        path.sort_unstable_by_key(|p| p.1);
        given(path.windows(2).all(|w| w[1].1 == w[0].1 + 1))?;
        let slants: Vec<i32> = path.windows(2).map(|w| w[1].0 - w[0].0).collect();
        let solid = |(r, c): Place| {
            let v = look.was((r, c));
            v != 0 && v != colour
        };
        let (first, last) = (path.first()?, path.last()?);
        Some(zigzags(&path, &slants, &solid) || two_slopes(look, &path, (*first, *last), &solid))
    }))
}

/// Steps of one up or down that turn only at bodies.
fn zigzags(path: &[Place], slants: &[i32], solid: &dyn Fn(Place) -> bool) -> bool {
    let turns = those(1..slants.len(), |&i| slants[i] != slants[i - 1]);
    !turns.is_empty()
        && slants.iter().all(|s| s.abs() == 1)
        && every(&turns, |&i| solid((path[i].0 + slants[i - 1], path[i].1)))
}

/// One way down to a body and the same way up again, however flat.
fn two_slopes(
    look: &Look,
    path: &[Place],
    (first, last): (Place, Place),
    solid: &dyn Fn(Place) -> bool,
) -> bool {
    let rows = path.iter().map(|p| p.0);
    let turns = [(rows.clone().max(), 1), (rows.min(), -1)];
    exists(turns, |(turn, way)| {
        let turn = turn?;
        let at = in_row(path, turn);
        let (a, b) = (at.first()?, at.last()?);
        let mirrored = path.iter().all(|p| {
            let twin = (p.0, a + b - p.1);
            !look.holds(twin) || path.contains(&twin) || twin.1 < first.1 || twin.1 > last.1
        });
        let falls =
            |w: &[Place]| (w[1].0 - w[0].0) * way * (if w[1].1 <= *b { 1 } else { -1 }) >= 0;
        let monotone = path.windows(2).all(falls);
        given(mirrored && monotone && at.iter().all(|&c| solid((turn + way, c))))?;
        Some((turn - first.0).abs() >= 2 && (turn - last.0).abs() >= 2)
    })
}

/// Whether a cell lies in a slanting line of one colour that stays.
fn slanting(look: &Look, (r, c): Place) -> bool {
    let glass = look.was((r, c));
    look.stays((r, c))
        && exists([(1, 1), (-1, -1), (1, -1), (-1, 1)], |(dr, dc)| {
            let next = (r + dr, c + dc);
            look.stays(next) && look.was(next) == glass
        })
}

fn thrown_aside(look: &Look) -> Option<bool> {
    let ray = look.one_added()?;
    Some(look.some_way(|look| {
        [false, true].into_iter().any(|mirrored| {
            let flip = |(r, c): Place| (r, if mirrored { look.cols() - 1 - c } else { c });
            let mut image = look.input.clone();
            let mut rays = 0;
            for r in 0..look.rows() {
                let long = (0..look.cols()).take_while(|&c| look.was(flip((r, c))) == ray);
                let end = long.count() as i32;
                if end < 2 || !slanting(look, flip((r, end))) {
                    continue;
                }
                rays += 1;
                image.paint((r + 1..look.rows()).map(|down| flip((down, end - 1))), ray);
            }
            rays > 0 && look.changed.len() >= 4 && image == look.output
        })
    }))
}

fn thrown_twice(look: &Look) -> Option<bool> {
    let ray = look.one_added()?;
    Some(look.some_way(|look| {
        exists([false, true], |mirrored| {
            let flip = |(r, c): Place| (r, if mirrored { look.cols() - 1 - c } else { c });
            // A row from the left edge, a column down, a row to the right edge.
            let (was, is) = (|p| look.was(flip(p)) == ray, |p| look.is(flip(p)) == ray);
            let top = (0..look.rows()).find(|&r| was((r, 0)) && was((r, 2)))?;
            let col = (0..look.cols()).rev().find(|&c| is((top, c)))?;
            let bottom = (top..look.rows()).rev().find(|&r| is((r, col)))?;
            let mut image = look.input.clone();
            image.paint((top..=bottom).map(|r| flip((r, col))), ray);
            image.paint((col..look.cols()).map(|c| flip((bottom, c))), ray);
            given(bottom >= top + 3 && image == look.output)?;
            Some(slanting(look, flip((top, col + 1))) && slanting(look, flip((bottom, col - 1))))
        })
    }))
}
