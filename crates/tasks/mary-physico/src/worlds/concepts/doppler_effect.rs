use super::*;

concept!(draws: moving_source, siren; reads: crowded_ahead);

fn moving_source(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (source, sound) = (s.colour(0), s.colour(1));
    let large = s.rows.min(s.cols) >= 15 && s.coin();
    let most = if large { 7 } else { 5 };
    let centre = s.place((most, s.rows - 1 - most), (most, s.cols - 1 - most));
    let shift = |radius: i32| (most - radius) / 2;
    for radius in (1..=most).step_by(2) {
        p.input.paint(square_ring(centre, radius), sound);
        let moved = (centre.0, centre.1 + shift(radius));
        p.output.paint(square_ring(moved, radius), sound);
    }
    p.input.set(centre.0, centre.1, source);
    p.output.set(centre.0, centre.1 + shift(1), source);
    Some(p)
}

fn siren(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (car, sound, road) = (s.colour(0), s.colour(1), s.colour(2));
    let tall = s.between(2, 3);
    let row = s.between(tall + 1, s.rows - 4);
    let mid = s.cols / 2;
    p.both(|g| g.fill((row + 3, 0), (row + 3, g.cols() as i32), road));
    let draw = |g: &mut Grid, at: i32| {
        // A body on two wheels with a light on its roof.
        g.fill((row, at - 1), (row + 1, at + 1), car);
        g.set(row + 2, at - 1, car);
        g.set(row + 2, at + 1, car);
        g.set(row - 1, at, car);
    };
    draw(&mut p.input, mid - 1);
    draw(&mut p.output, mid + 1);
    // An arc that bulges away from the car.
    let arc = |g: &mut Grid, c: i32, way: i32| {
        for k in -tall..=2 {
            let bent = i32::from(k == -tall || k == 2);
            g.set(row + k, c - way * bent, sound);
        }
    };
    for (g, ahead, behind, steps) in [
        (&mut p.input, mid + 3, mid - 4, (3, 3)),
        (&mut p.output, mid + 5, mid - 3, (2, 4)),
    ] {
        (ahead..s.cols).step_by(steps.0).for_each(|c| arc(g, c, 1));
        let rest = (0..behind).rev().step_by(steps.1);
        rest.for_each(|c| arc(g, c, -1));
    }
    (s.cols >= 13).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn crowded_ahead(look: &Look) -> Option<bool> {
    let [x, y] = *exactly(&look.touched)?;
    Some(look.lying_or_upright(|look| {
        exists([(x, y), (y, x)], |(source, sound)| {
            let one = look.one_move(source)?;
            given(one.by.0 == 0 && look.had(sound) >= 4)?;
            let row = one.from.bounds[2];
            let way = one.by.1.signum();
            let ahead = |part: &Part, was: bool| gaps(look, (sound, was), part, (row, way));
            let behind = |part: &Part, was: bool| gaps(look, (sound, was), part, (row, -way));
            let (a, b) = (ahead(one.to, false), behind(one.to, false));
            let (c, d) = (ahead(one.from, true), behind(one.from, true));
            let even = |g: &[i32]| Some(g.iter().max()? - g.iter().min()? <= 1);
            let mean = |g: &[i32]| g.iter().sum::<i32>() as f64 / g.len().max(1) as f64;
            let all_before = [c, d].concat();
            let crosses =
                |parts: Vec<&Part>| every(&parts, |p| p.bounds[0] <= row && row <= p.bounds[2]);
            given(!a.is_empty() && crosses(look.before_of(sound)))?;
            given(crosses(look.after_of(sound)) && !b.is_empty() && even(&all_before).yes())?;
            Some(a.iter().max() <= b.iter().min() && mean(&a) < mean(&b))
        })
    }))
}

/// The distances between fronts of a colour along a row, going one way from the edge of a part.
fn gaps(look: &Look, (colour, was): (u8, bool), from: &Part, (row, way): (i32, i32)) -> Vec<i32> {
    let edge = from.side(way);
    let grid = if was { &look.input } else { &look.output };
    let mut fronts = those((1..look.cols()).map(|k| edge + way * k), |&c| {
        grid.at(row, c) == colour
    });
    fronts.insert(0, edge);
    fronts.windows(2).map(|w| (w[1] - w[0]).abs()).collect()
}
