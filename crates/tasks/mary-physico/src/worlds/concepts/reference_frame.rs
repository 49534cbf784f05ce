use super::*;

concept! {
    draws: new_origin, seen_from_the_car, centred_view, turned_view;
    reads: axes_elsewhere, others_go_by, now_in_the_middle, turned_about;
}

fn scattered(s: &mut Setting, many: i32) -> Vec<Place> {
    let mut found: Vec<Place> = Vec::new();
    for _ in 0..40 {
        let at = s.place((3, s.rows - 2), (1, s.cols - 4));
        let apart = |p: &Place| (p.0 - at.0).abs() > 2 && (p.1 - at.1).abs() > 2;
        if found.iter().all(apart) {
            found.push(at);
        }
        if found.len() as i32 == many {
            break;
        }
    }
    found
}

fn axes(g: &mut Grid, at: Place, colour: u8) {
    g.fill((at.0, 0), (at.0, g.cols() as i32), colour);
    g.fill((0, at.1), (g.rows() as i32, at.1), colour);
    // Arrow heads at the ends that count upwards and to the right.
    let right = g.cols() as i32 - 2;
    for side in [-1, 1] {
        g.set(1, at.1 + side, colour);
        g.set(at.0 + side, right, colour);
    }
}

fn new_origin(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let bodies = scattered(s, 3);
    let (first, second) = (*bodies.first()?, *bodies.get(1)?);
    axes(&mut p.input, first, s.colour(0));
    axes(&mut p.output, second, s.colour(0));
    for (i, at) in bodies.iter().enumerate() {
        let colour = s.colour(1 + i);
        p.both(|g| g.paint(disc(*at, 1), colour));
    }
    Some(p)
}

fn seen_from_the_car(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (car, post, streak, road) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let long = s.between(2, 3);
    let lane = s.rows - s.between(1, 2);
    p.both(|g| g.fill((lane, 0), (lane, g.cols() as i32), road));
    // The car: a cabin on a body on two wheels, and streaks behind it while it drives.
    let at = s.between(long + 1, s.cols - 6);
    p.both(|g| {
        g.fill((lane - 4, at + 1), (lane - 4, at + 2), car);
        g.fill((lane - 3, at), (lane - 2, at + 4), car);
        g.set(lane - 1, at, car);
        g.set(lane - 1, at + 4, car);
    });
    for r in [lane - 3, lane - 1] {
        p.input.fill((r, at - 1 - long), (r, at - 2), streak);
    }
    // Posts beyond the road; seen from the car they go back, and their streaks lie ahead of them.
    let step = long + 3;
    let many = s.between(2, (s.cols - 1) / step);
    let foot = lane - 6;
    let tall = s.between(3, foot.min(5));
    let left = s.between(0, s.cols - 2 - long - (many - 1) * step);
    for i in 0..many {
        let c = left + i * step;
        p.both(|g| g.fill((foot - tall + 1, c), (foot, c), post));
        for r in [foot - tall + 1, foot] {
            p.output.fill((r, c + 2), (r, c + 1 + long), streak);
        }
    }
    (left + (many - 1) * step + 1 + long < s.cols && foot >= tall - 1).then_some(p)
}

fn centred_view(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (own, frame) = (s.colour(0), s.colour(1));
    let middle = (s.rows / 2, s.cols / 2);
    let by = (s.between(-3, 3), s.between(-3, 3));
    given(by.0.abs() + by.1.abs() >= 2)?;
    let at = (middle.0 - by.0, middle.1 - by.1);
    for (g, at) in [(&mut p.input, at), (&mut p.output, middle)] {
        g.set(at.0, at.1, own);
        g.paint(square_ring(at, 1), frame);
    }
    let mut bodies = 0;
    let many = s.between(3, 6);
    for _ in 0..40 {
        let form = s.any_blob(2, 4);
        let place = s.place((3, s.rows - 6), (3, s.cols - 6));
        let from = shifted(&form, place);
        let to = shifted(&form, (place.0 + by.0, place.1 + by.1));
        if bodies < many && p.input.roomy(&from) && p.output.roomy(&to) {
            let colour = s.colour(2 + bodies as usize % 2);
            p.input.paint(from, colour);
            p.output.paint(to, colour);
            bodies += 1;
        }
    }
    (bodies >= 3).then_some(p)
}

fn turned_view(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let observer = s.colour(0);
    let half = (s.rows.min(s.cols) - 1) / 2;
    let middle = (s.rows / 2, s.cols / 2);
    p.both(|g| g.set(middle.0, middle.1, observer));
    let mut bodies = 0;
    let many = s.between(3, 6);
    for _ in 0..50 {
        let form = s.any_blob(1, 4);
        let offsets = shifted(&form, s.place((-half, half), (-half, half)));
        let inside = offsets.iter().all(|o| o.0.abs() < half && o.1.abs() < half);
        let turned: Vec<Place> = offsets.iter().map(|o| (o.1, -o.0)).collect();
        let (from, to) = (shifted(&offsets, middle), shifted(&turned, middle));
        if bodies < many && inside && p.input.roomy(&from) && p.output.roomy(&to) {
            let colour = s.colour(1 + bodies as usize % 3);
            p.input.paint(from, colour);
            p.output.paint(to, colour);
            bodies += 1;
        }
    }
    (bodies >= 3).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

/// Where two lines of this colour, from edge to edge, cross: bodies may lie over them.
fn crossing(grid: &Grid, axis: u8) -> Option<Place> {
    let cells = grid.places_of(axis);
    let (rows, cols) = (grid.rows() as i32, grid.cols() as i32);
    let fullest = |n: i32, of: &dyn Fn(&Place) -> i32| {
        (0..n).max_by_key(|k| cells.iter().filter(|p| of(p) == *k).count())
    };
    let (r, c) = (fullest(rows, &|p| p.0)?, fullest(cols, &|p| p.1)?);
    // The barbs of arrow heads lie beside an axis, one cell from its end.
    let barb = |p: &&Place| {
        ((p.0 - r).abs() == 1 && [1, cols - 2].contains(&p.1))
            || ((p.1 - c).abs() == 1 && [1, rows - 2].contains(&p.0))
    };
    let (on, off): (Vec<&Place>, Vec<&Place>) = cells.iter().partition(|p| p.0 == r || p.1 == c);
    let lines = (2..=4).contains(&off.len()) && off.iter().all(barb) && !on.is_empty();
    let whole = (0..cols).all(|x| grid.at(r, x) != 0) && (0..rows).all(|y| grid.at(y, c) != 0);
    (lines && whole && cells.len() as i32 * 2 > rows + cols).then_some((r, c))
}

fn axes_elsewhere(look: &Look) -> Option<bool> {
    let [axis] = *exactly(&look.touched)?;
    let (a, b) = (crossing(&look.input, axis)?, crossing(&look.output, axis)?);
    Some(a.0 != b.0 && a.1 != b.1 && look.is(b) != axis && look.was(b) == look.is(b))
}

fn others_go_by(look: &Look) -> Option<bool> {
    let [streak] = *exactly(&look.touched)?;
    Some(look.lying_or_upright(|look| {
        let run = |p: &&Part| p.is_run() && p.tall() == 1 && p.len() >= 2;
        let runs = |parts: Vec<&Part>| parts.iter().all(run);
        // The colours beside the streaks on the one hand and on the other.
        let beside = |cells: &[Place], way: i32| -> Vec<u8> {
            let near = |&(r, c): &Place| [look.was((r, c + way)), look.was((r, c + 2 * way))];
            let colours = cells.iter().flat_map(near);
            distinct(colours.filter(|&x| x != 0 && x != streak))
        };
        let (gone, came) = (look.gone(streak), look.came(streak));
        let fits = |way: i32| {
            let (driver, passed) = (beside(&gone, way), beside(&came, -way));
            let ([driver], [passed]) = (driver.as_slice(), passed.as_slice()) else {
                return false;
            };
            // Every body of that colour has its streaks now.
            let posts = look.before_of(*passed);
            let beside = |&(r, c): &Place| (1..=2).any(|k| came.contains(&(r, c + k * way)));
            let streaked = |p: &&Part| p.cells.iter().any(beside);
            driver != passed
                && look.before_of(*driver).len() == 1
                && posts.len() >= 2
                && posts.iter().all(streaked)
        };
        gone.len() >= 3
            && came.len() >= 4
            && runs(look.before_of(streak))
            && runs(look.after_of(streak))
            && (fits(1) || fits(-1))
    }))
}

fn now_in_the_middle(look: &Look) -> Option<bool> {
    let middle = (look.rows() / 2, look.cols() / 2);
    let own = look.is(middle);
    let framed = |grid: &Grid, (r, c): Place| {
        let rim = distinct(around(true).map(|(dr, dc)| grid.at(r + dr, c + dc)));
        rim.len() == 1 && rim != [0]
    };
    given(own != 0 && framed(&look.output, middle))?;
    let gone = those(look.parts_before(), |p| look.restless(p));
    Some(look.input.places_of(own).iter().any(|&at| {
        let by = (middle.0 - at.0, middle.1 - at.1);
        let mut cells = gone.iter().flat_map(|p| &p.cells);
        by != (0, 0)
            && framed(&look.input, at)
            && gone.len() >= 4
            && cells.all(|&(r, c)| look.is((r + by.0, c + by.1)) == look.was((r, c)))
    }))
}

fn turned_about(look: &Look) -> bool {
    let middle = (look.rows() / 2, look.cols() / 2);
    let gone = look.input.places_where(|c| c != 0);
    let turned = |way: i32| {
        every(
            gone.iter().filter(|&&p| look.was(p) != look.is(p)),
            |&(r, c)| {
                let (dr, dc) = (r - middle.0, c - middle.1);
                look.is((middle.0 + way * dc, middle.1 - way * dr)) == look.was((r, c))
            },
        )
    };
    let alone =
        around(true).all(|(dr, dc)| look.is((middle.0 + dr, middle.1 + dc)) != look.is(middle));
    let went = those(look.parts_before(), |p| look.restless(p));
    look.stays(middle) && alone && went.len() >= 3 && (turned(1) || turned(-1))
}
