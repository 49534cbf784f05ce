use super::*;

concept!(draws: halo, radiance; reads: haloed, radiated);

fn halo(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (source, light, dark, faint) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let mut put = [0, 0];
    let many = s.between(3, 9);
    for _ in 0..60 {
        let at = s.place((2, s.rows - 3), (2, s.cols - 3));
        let near: Vec<Place> = (0..=3).flat_map(|far| square_ring(at, far)).collect();
        if !near.iter().all(|&(r, c)| p.output.at(r, c) == 0) || put[0] + put[1] >= many {
            continue;
        }
        let shines = put[0] <= put[1];
        if shines {
            p.output.paint(square_ring(at, 1), light);
            let spots = square_ring(at, 2).into_iter();
            p.output
                .paint(spots.filter(|q| (q.0 - at.0 + q.1 - at.1) % 2 == 0), faint);
        }
        let colour = if shines { source } else { dark };
        p.both(|g| g.set(at.0, at.1, colour));
        put[usize::from(!shines)] += 1;
    }
    (put[0] >= 1 && put[1] >= 1).then_some(p)
}

fn radiance(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (source, light) = (s.colour(0), s.colour(1));
    let far = s.between(4, (s.rows.min(s.cols) - 1) / 2);
    let at = s.place((far, s.rows - far - 1), (far, s.cols - far - 1));
    p.both(|g| g.fill((at.0 - 1, at.1 - 1), (at.0 + 1, at.1 + 1), source));
    for (dr, dc) in around(true) {
        let long = if dr * dc == 0 { far } else { far - 1 };
        p.output.ray(at, (dr, dc), 3..=long, light);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn haloed(look: &Look) -> bool {
    look.either_way(|light, faint| {
        let ring = |(r, c): Place, far: i32, colour: u8| {
            let square = (-far..=far).flat_map(|dr| (-far..=far).map(move |dc| (dr, dc)));
            let rim = square.filter(|(dr, dc)| dr.abs().max(dc.abs()) == far);
            let lit = rim.filter(|(dr, dc)| look.is((r + dr, c + dc)) == colour);
            lit.count() == 8
        };
        let glows = |q: &Place| ring(*q, 1, light) && ring(*q, 2, faint);
        (1u8..10).any(|source| {
            let points = look.before_of(source);
            !points.is_empty()
                && every(&points, |p| p.len() == 1 && p.cells.iter().all(glows))
                && look.changed.len() == 16 * points.len()
        })
    })
}

fn radiated(look: &Look) -> Option<bool> {
    let light = look.one_added()?;
    given(look.had(light) == 0 && look.new_parts().len() >= 4)?;
    // A quarter turn about the middle of a still body keeps them.
    let square = |p: &&Part| p.is_box() && p.tall() == p.wide();
    Some(look.parts_before().iter().filter(square).any(|source| {
        let (y, x) = source.middle();
        let turned = |&(r, c): &Place| {
            let (dr, dc) = (2 * r - y, 2 * c - x);
            let to = ((y + dc) / 2, (x - dr) / 2);
            !look.holds(to) || look.is(to) == light
        };
        // In line with the source, straight or at half a right angle.
        let in_line = |&(r, c): &Place| {
            let (dr, dc) = ((2 * r - y).abs(), (2 * c - x).abs());
            dr.min(dc) <= 1 || dr == dc
        };
        [4, 8].contains(&new_directions(look, (y, x)))
            && look.changed.iter().all(|p| in_line(p) && turned(p))
    }))
}

/// In how many of eight directions from a point, given twice, cells came.
fn new_directions(look: &Look, middle: Place) -> usize {
    // Nearly along an axis counts as along it.
    let flat = |a: i32, b: i32| if 2 * a.abs() < b.abs() { 0 } else { a.signum() };
    let directions = look.changed.iter().map(|&(r, c)| {
        let (dr, dc) = (2 * r - middle.0, 2 * c - middle.1);
        (flat(dr, dc), flat(dc, dr))
    });
    distinct(directions).len()
}
