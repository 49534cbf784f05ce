use super::*;

concept!(draws: shared_electrons, molecules; reads: shared, bound_two_each);

fn shared_electrons(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (shell, core, electron) = (s.colour(0), s.colour(1), s.colour(2));
    let radius = 2;
    let row = s.between(radius, s.rows - 1 - radius);
    let apart = s.between(7, s.cols - 1 - 2 * radius);
    let left = s.between(radius, s.cols - 1 - radius - apart);
    let near = left + (apart - 2 * radius) / 2;
    let atom = |g: &mut Grid, c: i32| {
        g.paint(ring((row, c), radius), shell);
        g.set(row, c, core);
    };
    atom(&mut p.input, left);
    atom(&mut p.input, left + apart);
    // Each brings one electron on the side where the other is.
    p.input.set(row, left + radius, electron);
    p.input.set(row, left + apart - radius, electron);
    atom(&mut p.output, near);
    atom(&mut p.output, near + 2 * radius);
    p.output.fill_box((row - 1, near + radius), (3, 1), shell);
    p.output.set(row - 1, near + radius, electron);
    p.output.set(row + 1, near + radius, electron);
    Some(p)
}

fn molecules(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (big, small, bond) = (s.colour(0), s.colour(1), s.colour(2));
    let long = s.between(1, 2);
    let reach = 2 + long;
    let many = s.between(1, 4);
    let mut made = 0;
    for _ in 0..60 {
        let at = s.place((1, s.rows - 2), (1, s.cols - 2));
        let ways = s.shuffled(vec![(-1, 0), (1, 0), (0, -1), (0, 1)]);
        let ways: Vec<Place> = ways.into_iter().take(2).collect();
        let mut cells = disc(at, 1);
        for (dr, dc) in &ways {
            cells.extend((2..=reach).map(|k| (at.0 + dr * k, at.1 + dc * k)));
        }
        if made == many || !p.output.roomy(&cells) || !p.input.roomy(&cells) {
            continue;
        }
        p.both(|g| g.paint(disc(at, 1), big));
        for (dr, dc) in ways {
            p.both(|g| g.ray(at, (dr, dc), [reach], small));
            p.output.ray(at, (dr, dc), 2..reach, bond);
        }
        made += 1;
    }
    // Small atoms that find no partner.
    for _ in 0..s.between(1, 3) {
        let at = s.place((0, s.rows - 1), (0, s.cols - 1));
        if p.output.roomy(&disc(at, 1)) && p.input.roomy(&[at]) {
            p.both(|g| g.set(at.0, at.1, small));
        }
    }
    (made >= 1 && p.output.count(bond) >= 2).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn shared(look: &Look) -> Option<bool> {
    given(!look.bodies_after().is_empty())?;
    Some(look.lying_or_upright(|look| {
        exists(&look.touched, |&core| {
            let (a, b) = (look.input.places_of(core), look.output.places_of(core));
            let ([a, c], [b, d]) = (exactly(&a)?, exactly(&b)?);
            let nearer = a.0 == c.0
                && b.0 == d.0
                && a.0 == b.0
                && c.1 - a.1 > d.1 - b.1
                && d.1 > b.1
                && a.1 < b.1
                && (d.1 + b.1) % 2 == 0;
            let middle = (b.1 + d.1) / 2;
            let electron = |colour: &u8| {
                let was = look.input.places_of(*colour);
                let is = look.output.places_of(*colour);
                *colour != core
                    && was.len() == 2
                    && is.len() == 2
                    && is.iter().all(|p| p.1 == middle)
                    && was.iter().all(|p| p.1 > a.1 && p.1 < c.1)
            };
            let shell = |c: &&u8| {
                **c == core
                    || electron(c)
                    || (look.before_of(**c).len() == 2 && look.after_of(**c).len() <= 3)
            };
            given(nearer && look.touched.iter().any(electron))?;
            Some(look.touched.iter().all(|c| shell(&c)))
        })
    }))
}

fn bound_two_each(look: &Look) -> Option<bool> {
    let strokes = look.new_parts();
    let mut hands: Vec<Place> = Vec::new();
    for stroke in &strokes {
        let touched = those(look.parts_before(), |p| touches_by_side(p, &stroke.cells));
        let ends =
            |wanted: &dyn Fn(usize) -> bool| touched.iter().filter(|p| wanted(p.len())).count();
        given(stroke.is_run() && touched.len() == 2)?;
        given(ends(&|n| n == 1) == 1 && ends(&|n| n == 9) == 1)?;
        hands.extend(touched.iter().filter(|p| p.len() == 9).map(|p| p.middle()));
    }
    hands.sort_unstable();
    Some(strokes.len() >= 2 && hands.chunk_by(|a, b| a == b).all(|same| same.len() == 2))
}

fn touches_by_side(part: &Part, cells: &[Place]) -> bool {
    let beside = |&(r, c): &Place| around(false).any(|(dr, dc)| part.has((r + dr, c + dc)));
    cells.iter().any(beside)
}
