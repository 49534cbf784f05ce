use super::*;

concept!(draws: parallelogram, tug_of_war; reads: diagonal, difference);

fn parallelogram(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (body, one, two, sum) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let (across, up) = (s.between(4, s.cols - 3), s.between(4, s.rows - 3));
    let at = s.place((up, s.rows - 2), (1, s.cols - 2 - across));
    let lean = s.between(0, 2).min(s.cols - 2 - across - at.1);
    let a = (at.0, at.1 + across);
    let b = (at.0 - up, at.1 + lean);
    let corner = (at.0 - up, at.1 + across + lean);
    p.both(|g| {
        g.paint(line(at, a), one);
        g.paint(line(at, b), two);
        g.set(at.0, at.1, body);
    });
    for (from, to) in [(a, corner), (b, corner)] {
        let dashes = line(from, to).into_iter().step_by(2);
        p.output.paint(dashes.skip(1), body);
    }
    p.output.paint(line(at, corner).into_iter().skip(1), sum);
    p.output.set(at.0, at.1, body);
    Some(p)
}

/// An arrow that leaves a body sideways: a shaft and a head with two barbs.
fn arrow(g: &mut Grid, (row, from): (i32, i32), way: i32, long: i32, colour: u8) {
    let tip = from + way * (long - 1);
    g.fill((row, from), (row, tip), colour);
    for barb in [row - 1, row + 1] {
        g.set(barb, tip - way, colour);
    }
}

fn tug_of_war(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (body, one, two) = (s.colour(0), s.colour(1), s.colour(2));
    let lanes = s.between(1, 3);
    for lane in 0..lanes {
        let row = if lanes == 1 {
            s.between(3, s.rows - 4)
        } else {
            2 + lane * (s.rows / lanes) + if lanes == 2 { s.between(0, 1) } else { 0 }
        };
        let mid = s.cols / 2 + s.between(-1, 0);
        let lengths: Vec<(i32, i32)> = (2..mid)
            .flat_map(|left| (2..s.cols - mid - 1).map(move |right| (left, right)))
            .filter(|(left, right)| (left - right).abs() >= 2)
            .collect();
        let (left, right) = s.choose(&lengths)?;
        p.both(|g| g.fill((row - 1, mid - 1), (row + 1, mid + 1), body));
        arrow(&mut p.input, (row, mid - 2), -1, left, one);
        arrow(&mut p.input, (row, mid + 2), 1, right, two);
        if left > right {
            arrow(&mut p.output, (row, mid - 2), -1, left - right, one);
        } else {
            arrow(&mut p.output, (row, mid + 2), 1, right - left, two);
        }
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

/// The end of a line of this colour that begins next to a point.
fn end_of(look: &Look, colour: u8, from: Place) -> Option<Place> {
    let cells = look.input.places_of(colour);
    let far = |p: &&Place| (p.0 - from.0).abs().max((p.1 - from.1).abs());
    let near = cells.iter().any(|p| far(&p) == 1);
    let end = cells.iter().max_by_key(far)?;
    // A thin line has as many cells as its end is away.
    (near && far(&end) as usize == cells.len()).then_some(*end)
}

fn diagonal(look: &Look) -> Option<bool> {
    let sum = look.one_fresh()?;
    given(look.has(sum) >= 3)?;
    // The body grows dashes of its own colour along the far sides.
    let grown = |c: &u8| look.had(*c) == 1 && look.has(*c) > 1;
    Some(exists(look.touched.iter().copied().filter(grown), |body| {
        let &at = look.input.places_of(body).first()?;
        let lines = (1..10).filter(|&c| c != body && look.had(c) >= 2);
        let ends: Vec<Place> = lines.filter_map(|c| end_of(look, c, at)).collect();
        let [a, b] = exactly(&ends)?;
        let corner = (a.0 + b.0 - at.0, a.1 + b.1 - at.1);
        let line = look.output.places_of(sum);
        let far = |p: &Place| (p.0 - at.0).abs().max((p.1 - at.1).abs());
        // The dashes lie along the two far sides.
        let along = |p: &Place, from: &Place| {
            let u = (corner.0 - from.0, corner.1 - from.1);
            let v = (p.0 - from.0, p.1 - from.1);
            (u.0 * v.1 - u.1 * v.0).abs() <= u.0.abs().max(u.1.abs())
        };
        let dashes = look.came(body);
        given(look.is(corner) == sum && dashes.iter().all(|p| along(p, a) || along(p, b)))?;
        given(line.iter().all(|p| far(p) <= far(&corner)) && line.iter().any(|p| far(p) == 1))?;
        Some(line.len() as i32 == far(&corner))
    }))
}

/// The arrow that leaves a body sideways at a place: its colour and its cells.
fn arrow_from(grid: &Grid, (row, from): Place, way: i32) -> Option<(u8, Vec<Place>)> {
    let colour = grid.at(row, from);
    let shaft = |i: &i32| colour != 0 && grid.at(row, from + way * i) == colour;
    let long = (0..20).take_while(shaft).count() as i32;
    let barbs = [row - 1, row + 1].map(|r| (r, from + way * (long - 2)));
    let headed = barbs.iter().all(|&(r, c)| grid.at(r, c) == colour);
    // Beside the shaft there is nothing but the barbs.
    let blank = |r: i32, i: i32| i == long - 2 || grid.at(r, from + way * i) != colour;
    let thin = [row - 1, row + 1]
        .iter()
        .all(|&r| (0..long).all(|i| blank(r, i)));
    (long >= 2 && headed && thin).then(|| {
        let mut cells: Vec<Place> = (0..long).map(|i| (row, from + way * i)).collect();
        cells.extend(barbs);
        (colour, cells)
    })
}

fn difference(look: &Look) -> bool {
    look.lying_or_upright(|look| {
        let body = |p: &&Part| p.is_box() && p.tall() == 3 && p.wide() == 3 && !look.restless(p);
        let bodies = look.parts_before().iter().filter(body);
        let explained = bodies.filter_map(|b| subtracted(look, b));
        let explained: Vec<Place> = explained.flatten().collect();
        !explained.is_empty() && look.changed.iter().all(|p| explained.contains(p))
    })
}

/// The cells of the arrows at a body, if the longer of two opposite ones has lost the shorter's
/// length and the shorter is gone.
fn subtracted(look: &Look, body: &Part) -> Option<Vec<Place>> {
    let [t, l, _, r] = body.bounds;
    let (left, right) = ((t + 1, l - 1), (t + 1, r + 1));
    let (one, first) = arrow_from(&look.input, left, -1)?;
    let (two, second) = arrow_from(&look.input, right, 1)?;
    let (colour, longer, shorter, (from, way), empty) = if first.len() > second.len() {
        (one, &first, &second, (left, -1), right)
    } else {
        (two, &second, &first, (right, 1), left)
    };
    let (kept, sum) = arrow_from(&look.output, from, way)?;
    // A head of two barbs is in all three lengths.
    let difference = sum.len() - 2 == longer.len() - shorter.len();
    (one != two && kept == colour && difference && look.is(empty) == 0)
        .then(|| [first, second, sum].concat())
}
