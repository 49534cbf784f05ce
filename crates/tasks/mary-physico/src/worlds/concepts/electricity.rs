use super::*;

concept!(draws: circuit, lightning; reads: closed_and_live, flashed);

fn circuit(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wire, plus, minus, live) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let (tall, wide) = (s.between(7, s.rows - 3), s.between(8, s.cols - 3));
    let (top, left) = s.place((1, s.rows - tall - 1), (1, s.cols - wide - 1));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    let cell = s.between(top + 2, bottom - 4);
    let gap = s.between(left + 2, right - 3);
    let bulb = s.between(left + 3, right - 3);
    for (g, closed) in [(&mut p.input, false), (&mut p.output, true)] {
        let colour = if closed { live } else { wire };
        g.frame((top, left), (bottom, right), colour);
        g.fill((cell, left), (cell + 1, left), plus);
        g.fill((cell + 2, left), (cell + 3, left), minus);
        g.fill((bottom - 1, bulb - 1), (bottom + 1, bulb + 1), colour);
        if !closed {
            // The switch stands open: a lever lifted off the gap.
            g.fill((top, gap), (top, gap + 1), 0);
            g.set(top - 1, gap, wire);
        }
    }
    (cell + 3 < bottom).then_some(p)
}

fn lightning(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (earth, cloud, tower, flash) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let ground = s.rows - 1;
    let left = s.between(1, 3);
    let right = s.cols - 1 - s.between(1, 3);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        g.fill((0, left), (1, right), cloud);
        g.fill((0, left - 1), (0, right + 1), cloud);
        g.fill((2, left + 2), (2, right - 2), cloud);
    });
    let highest = s.between(3, 4);
    let spots = s.shuffled((1..s.cols / 3).map(|k| 3 * k).collect::<Vec<_>>());
    let aim = (ground - highest - 1, *spots.first()?);
    for (i, &c) in spots.iter().take(3).enumerate() {
        let tall = if i == 0 {
            highest
        } else {
            s.between(1, highest - 2)
        };
        p.both(|g| g.fill((ground - tall, c), (ground - 1, c), tower));
    }
    // Jagged: from the tower up, a step aside every second row, never further off than the cloud.
    let mut c = aim.1;
    let mut side = if s.coin() { 1 } else { -1 };
    for r in (3..=aim.0).rev() {
        p.output.set(r, c, flash);
        if (aim.0 - r) % 2 == 1 {
            let wanted = if c <= left + 2 {
                1
            } else if c >= right - 2 {
                -1
            } else {
                side
            };
            p.output.set(r, c + wanted, flash);
            c += wanted;
            side = if s.between(0, 2) == 0 { side } else { -side };
        }
    }
    (aim.0 >= 6 && c >= left + 2 && c <= right - 2).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn closed_and_live(look: &Look) -> Option<bool> {
    let (live, wire) = (look.one_fresh()?, look.one_lost()?);
    let closed = those(look.came(live), |&p| look.was(p) == 0);
    let lifted = those(look.gone(wire), |&p| look.is(p) == 0);
    given((1..=4).contains(&closed.len()) && lifted.len() <= 4)?;
    // Shut off from the edge by anything coloured.
    let shut = |grid: &Grid| {
        let mut mask = Grid::new(grid.rows(), grid.cols());
        mask.paint(grid.places_where(|c| c != 0), 1);
        let out = outside(&mask, 1);
        let empty = mask.places_of(0).into_iter();
        empty.filter(|&(r, c)| out.at(r, c) == 0).count()
    };
    let switch = [closed, lifted].concat();
    Some(connected(&switch) && shut(&look.output) > shut(&look.input) + 4)
}

fn flashed(look: &Look) -> Option<bool> {
    let flash = look.one_added()?;
    given(look.had(flash) == 0)?;
    let after = look.after_of(flash);
    let [bolt] = exactly(&after)?;
    let [t, _, b, _] = bolt.bounds;
    let from_above = exists(&bolt.cells, |&(r, c)| r == t && look.stays((t - 1, c)));
    let thin = (t..=b).all(|r| bolt.cells.iter().filter(|p| p.0 == r).count() <= 2);
    let &(r, c) = bolt.cells.iter().find(|p| p.0 == b)?;
    let towers = those(look.before_of(look.was((r + 1, c))), |p| p.wide() == 1);
    let tallest = towers.iter().map(|p| p.tall()).max();
    let hit = towers.iter().find(|p| p.has((b + 1, c)));
    given(from_above && thin && bolt.tall() >= 3 && bolt.wide() >= 2 && towers.len() >= 2)?;
    Some(hit.is_some_and(|p| Some(p.tall()) == tallest && p.bounds[0] == b + 1))
}
