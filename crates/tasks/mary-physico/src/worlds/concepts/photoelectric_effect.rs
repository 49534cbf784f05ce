use super::*;

concept!(draws: knocked_out, threshold; reads: left_for_strokes, one_drove_out);

fn knocked_out(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (metal, electron, light) = (s.colour(0), s.colour(1), s.colour(2));
    let top = s.rows - s.between(3, 4);
    p.both(|g| g.fill((top, 0), (g.rows() as i32, g.cols() as i32), metal));
    let mut c = s.between(1, 2);
    let mut hits = 0;
    while c < s.cols - 2 {
        let hit = s.between(0, 3) > 0;
        p.both(|g| g.set(top, c, electron));
        if hit && c >= 3 {
            // A quantum: a short slanted stroke on its way to the electron.
            let up = s.between(2, top - 4);
            let quantum: Vec<Place> = (0..3).map(|i| (top - up - i, c - up - i)).collect();
            let whole = quantum.iter().all(|q| p.input.free(q.0, q.1));
            if whole {
                p.input.paint(quantum, light);
                let out = s.between(3, top - 1);
                p.output.set(top, c, 0);
                p.output.set(top - out, c + 1, electron);
                p.output.set(top - out + 1, c + 1, 0);
                hits += 1;
            }
        }
        c += s.between(2, 3);
    }
    (hits >= 2 && p.input.count(electron) == p.output.count(electron)).then_some(p)
}

fn threshold(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (metal, electron, short, long) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let half = s.rows / 2;
    let plate = s.between(6, s.cols - 5);
    let short_top = s.coin();
    for (from, to, strong) in [(0, half - 1, short_top), (half + 1, s.rows - 1, !short_top)] {
        let mid = (from + to) / 2;
        let colour = if strong { short } else { long };
        let period = if strong { 2 } else { 4 };
        let electrons = [mid - 1, mid, mid + 1];
        for (g, lit) in [(&mut p.input, false), (&mut p.output, true)] {
            g.fill((from, plate), (to, plate + 1), metal);
            // The wave: a square zigzag of short or long steps, before and on the plate.
            let end = if lit { plate - 1 } else { 2 };
            for c in 0..=end {
                let up = (c / (period / 2)) % 2;
                g.set(mid - up, c, colour);
            }
            for (i, &r) in electrons.iter().enumerate() {
                if lit && strong {
                    g.set(r + (i as i32 - 1), plate + 3 + i as i32 % 2, electron);
                } else {
                    g.set(r, plate + 1, electron);
                }
            }
        }
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn left_for_strokes(look: &Look) -> Option<bool> {
    let light = look.one_lost()?;
    let &electron = look.touched.iter().find(|c| **c != light)?;
    let quanta = look.had(light);
    let left = look.gone(electron);
    let slanted = every(&look.before_of(light), |p| p.tall() > 1 && p.wide() > 1);
    given(look.kept(electron, 2) && quanta.is_multiple_of(3) && quanta >= 3)?;
    given(left.len() == quanta / 3 && slanted)?;
    Some(every(&look.gone(light), |&p| {
        look.is(p) == 0 || look.is(p) == electron
    }))
}

fn one_drove_out(look: &Look) -> bool {
    let lights = those(look.touched.iter().copied(), |&c| {
        let stays = look.gone(c).is_empty() && look.had(c) >= 2;
        stays && look.came(c).iter().all(|&p| look.was(p) == 0)
    });
    let mut others = look.touched.iter().filter(|c| !lights.contains(c));
    others.any(|&electron| {
        let (came, left) = (look.came(electron), look.gone(electron));
        let plate = left.first().map_or(0, |&p| look.is(p));
        let stay = look.had(electron) - left.len();
        look.kept(electron, 4)
            && left.len() >= 2
            && stay >= 2
            && plate != 0
            && left.iter().all(|&p| look.is(p) == plate)
            && came.iter().all(|&p| look.was(p) == 0)
            && lights.len() == 2
            && lights.iter().all(|&c| look.has_parts(c, 1, 1))
    })
}
