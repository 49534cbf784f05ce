use super::*;

concept!(draws: crane, jack; reads: lifted if all_alike);

fn crane(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - 1;
    let (earth, iron, rope, load) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let mast = s.between(0, 2);
    let top = s.between(0, 1);
    let hook = s.between(mast + 5, s.cols - 3);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        g.fill((top, mast), (ground - 1, mast), iron);
        g.fill((top, mast), (top, hook + 1), iron);
        g.paint(line((top + 3, mast), (top, mast + 3)), iron);
    });
    let (wide, tall) = (s.between(1, 2), s.between(2, 3));
    let up = s.between(3, ground - tall - top - 2);
    for (g, base) in [(&mut p.input, ground - 1), (&mut p.output, ground - 1 - up)] {
        g.fill((top + 1, hook), (base - tall, hook), rope);
        let from = (base - tall + 1, hook - wide);
        g.fill(from, (base, (hook + wide).min(s.cols - 1)), load);
    }
    Some(p)
}

fn jack(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - 1;
    let (earth, iron, plate, load) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let half = s.between(2, 3);
    let mid = s.between(half + 1, s.cols - half - 2);
    let (tall, wide) = (s.between(2, 3), s.between(1, half));
    let up = s.between(3, s.rows - 4 - tall);
    p.both(|g| g.fill((ground, 0), (ground, g.cols() as i32), earth));
    for (g, high) in [(&mut p.input, 1), (&mut p.output, 1 + up)] {
        let row = ground - high - 1;
        g.fill((row, mid), (ground - 1, mid), iron);
        g.fill((ground - 1, mid - 1), (ground - 1, mid + 1), iron);
        g.fill((row, mid - half), (row, mid + half), plate);
        g.fill((row - tall, mid - wide), (row - 1, mid + wide - 1), load);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn all_alike(look: &Look) -> bool {
    apart(&look.touched).any(|(line, _)| {
        look.has(line) != look.had(line) && look.moves_but(&[line]).is_some_and(|m| alike(&m))
    })
}

fn lifted(look: &Look) -> bool {
    exists(apart(&look.touched), |(line, _)| {
        let grew = look.has(line) as i32 - look.had(line) as i32;
        given(grew != 0)?;
        let all = look.moves_but(&[line])?;
        let up = -all.first().map_or(0, |m| m.by.0);
        let mut cells = look.came(line);
        cells.extend(look.gone(line));
        let one_column = every(&cells, |p| Some(p.1) == cells.first().map(|q| q.1));
        let held = |over: bool| {
            all.iter().any(|m| {
                beside(m.from, over, |p| look.was(p) == line)
                    && beside(m.to, over, |p| look.is(p) == line)
            })
        };
        given(up > 1 && all.iter().all(|m| m.by == (-up, 0)) && one_column)?;
        Some((grew == -up && held(true)) || (grew == up && held(false)))
    })
}
