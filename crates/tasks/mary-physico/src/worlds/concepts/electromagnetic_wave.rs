use super::*;

concept!(draws: two_fields, radio; reads: two_crossed_waves, received);

fn two_fields(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (rod, electric, magnetic, charge) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let middle = s.between(4, s.rows - 5);
    p.both(|g| {
        g.fill((middle - 4, 0), (middle + 4, 0), rod);
        g.set(middle, 0, charge);
    });
    let start = s.choose(&[0, 4])?;
    let wave: Vec<i32> = (0..s.cols - 1).map(|c| crest(c + start, 2)).collect();
    let other: Vec<i32> = wave.iter().map(|h| -h).collect();
    curve(&mut p.output, middle, 1, &other, magnetic);
    curve(&mut p.output, middle, 1, &wave, electric);
    Some(p)
}

fn radio(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (earth, mast, off, on) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let ground = s.rows - 1;
    let tall = s.between(5, s.rows - 5);
    let top = ground - tall;
    let far = s.cols - 2;
    let draw = |g: &mut Grid, col: i32| {
        g.fill((top, col), (ground - 1, col), mast);
        g.fill((ground - 1, col - 1), (ground - 1, col + 1), mast);
    };
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        draw(g, 1);
        draw(g, far);
        g.set(top - 1, 1, on);
    });
    p.input.fill((top - 1, far - 1), (top, far), off);
    for radius in (3..far - 2).step_by(3) {
        let arc = ring((top - 1, 1), radius).into_iter().filter(|q: &Place| {
            q.1 > 1 && (q.0 - top + 1).abs() <= radius * 2 / 3 && q.0 < ground - 1
        });
        p.output.paint(arc, on);
    }
    p.output.fill((top, far), (ground - 1, far), mast);
    p.output.fill((top - 1, far - 1), (top, far), on);
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn two_crossed_waves(look: &Look) -> Option<bool> {
    let [one, two] = *exactly(&look.fresh)?;
    Some(look.lying_or_upright(|look| {
        let [t, l, b, r] = bounds(&look.changed)?;
        let axis = t + b;
        let mirrored = |p: &Place| [one, two].contains(&look.is((axis - p.0, p.1)));
        let swapped = |p: &Place| look.is((axis - p.0, p.1)) != look.is(*p);
        let off_axis: Vec<&Place> = look.changed.iter().filter(|p| 2 * p.0 != axis).collect();
        let sides = |colour: u8| {
            let own = those(off_axis.iter(), |p| look.is(***p) == colour);
            own.iter().any(|p| 2 * p.0 < axis) && own.iter().any(|p| 2 * p.0 > axis)
        };
        let every = (l..=r).all(|c| look.changed.iter().any(|p| p.1 == c));
        given(axis % 2 == 0 && r - l >= 6 && b - t >= 2 && every)?;
        given(look.changed.iter().all(mirrored))?;
        given(10 * off_axis.iter().filter(|p| swapped(p)).count() >= 9 * off_axis.len())?;
        Some(sides(one) && sides(two))
    }))
}

fn received(look: &Look) -> Option<bool> {
    let off = look.one_lost()?;
    let lamp = look.input.places_of(off);
    let on = lamp.first().map_or(0, |&p| look.is(p));
    let sources = look.input.places_of(on);
    given(on != 0)?;
    let [source] = exactly(&sources)?;
    let lit = lamp.iter().filter(|&&p| look.is(p) == on).count();
    let air = those(look.came(on), |p| !lamp.contains(p));
    let mut arcs = Grid::new(look.output.rows(), look.output.cols());
    arcs.paint(air.iter().copied(), 1);
    let round = |cells: &Vec<Place>| {
        let far = cells.iter().map(|p| {
            let (dr, dc) = (f64::from(p.0 - source.0), f64::from(p.1 - source.1));
            dr.hypot(dc)
        });
        let (most, least) = far.fold((0.0f64, 99.0f64), |(a, b), x| (a.max(x), b.min(x)));
        most - least <= 1.6 && most >= 2.0 && cells.len() > 1
    };
    Some(2 * lit >= lamp.len() && air.len() >= 3 && arcs.parts(0).iter().all(round))
}
