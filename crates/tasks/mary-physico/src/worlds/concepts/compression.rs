use super::*;

concept! {
    draws: piston, sponge, closed_gaps, pressed_stripes;
    reads: crowded, holes_closed, closed_up, half_as_long;
}

fn piston(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, plate, gas) = (s.colour(0), s.colour(1), s.colour(2));
    let wide = s.between(4, 6);
    let left = s.between(1, s.cols - wide - 3);
    let right = left + wide + 1;
    let floor = s.rows - 1;
    let lip = s.between(1, 2);
    p.both(|g| vessel(g, lip, floor, (left, right), wall));
    let start = lip + 1;
    let small = s.between(3, 4);
    let end = floor - small - 1;
    let many = wide * small / 2;
    for (g, at) in [(&mut p.input, start), (&mut p.output, end)] {
        g.fill((at, left + 1), (at, right - 1), plate);
        g.fill((0, (left + right) / 2), (at - 1, (left + right) / 2), plate);
        let room = room((at + 1, left + 1), (floor - 1, right - 1));
        g.paint(s.shuffled(room).into_iter().take(many as usize), gas);
    }
    (end - start >= 3).then_some(p)
}

fn sponge(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (plate, foam, floor) = (s.colour(0), s.colour(1), s.colour(2));
    let half = s.between(2, 4);
    let wide = 2 * s.between(2, (s.cols - 3) / 2);
    let left = s.between(1, s.cols - wide - 1);
    let ground = s.rows - 1;
    let odd = s.between(0, 1);
    p.both(|g| g.fill((ground, 0), (ground, g.cols() as i32), floor));
    let top = ground - 2 * half;
    let mut pores = block((top, left), 2 * half, wide);
    pores.retain(|(r, c)| (r + c) % 2 == odd);
    p.input.paint(pores, foam);
    p.output.fill_box((ground - half, left), (half, wide), foam);
    for (g, row) in [(&mut p.input, top), (&mut p.output, ground - half)] {
        g.fill((row - 1, left - 1), (row - 1, left + wide), plate);
        let mid = left + wide / 2;
        g.fill((0, mid - 1), (row - 2, mid), plate);
    }
    Some(p)
}

fn closed_gaps(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let wall = s.colour(0);
    let (top, tall) = (s.between(1, 4), s.between(3, 7));
    let bottom = (top + tall - 1).min(s.rows - 2);
    p.both(|g| g.fill((top - 1, 0), (bottom + 1, 0), wall));
    let (mut at, mut lies, mut bars) = (1 + s.between(0, 1), 1, 0);
    loop {
        let wide = s.between(1, 2);
        if at + wide > s.cols - 1 {
            break;
        }
        let colour = s.colour(1 + bars % 3);
        p.input.fill((top, at), (bottom, at + wide - 1), colour);
        let tall = bottom - top + 1;
        p.output.fill_box((top, lies), (tall, wide), colour);
        lies += wide;
        at += wide + s.between(1, 3);
        bars += 1;
    }
    (bars >= 3 && lies + 3 <= at).then_some(p)
}

fn pressed_stripes(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let wall = s.colour(0);
    let (top, tall) = (s.between(1, 4), s.between(2, 6));
    let bottom = (top + tall - 1).min(s.rows - 2);
    let stripes = s.between(3, (s.cols - 3) / 2).min(6);
    let large = 4 * stripes + 2 < s.cols && s.coin();
    let wide = if large { 4 } else { 2 };
    p.both(|g| g.fill((top - 1, 0), (bottom + 1, 0), wall));
    for i in 0..stripes {
        let colour = s.colour(1 + i as usize % 2);
        let (from, to) = (1 + i * wide, 1 + i * wide / 2);
        p.input.fill((top, from), (bottom, from + wide - 1), colour);
        p.output
            .fill((top, to), (bottom, to + wide / 2 - 1), colour);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn crowded(look: &Look) -> bool {
    exists(&look.touched, |&colour| {
        given(look.kept(colour, 6))?;
        let (before, after) = (look.input.places_of(colour), look.output.places_of(colour));
        let (was, is) = (look.before_of(colour).len(), look.after_of(colour).len());
        // Fewer clumps, or a piston of another colour that came in.
        let plate = |c: &&u8| **c != colour && look.has(**c) > look.had(**c);
        let pushed = look.touched.len() == 2 && look.touched.iter().any(|c| plate(&c));
        let whole = |c: &&u8| **c == colour || look.has_parts(**c, 1, 1);
        given(3 * area(&after) <= 2 * area(&before) && 3 * after.len() as i32 >= area(&after))?;
        given((pushed || 2 * is <= was + 1) && look.touched.iter().all(|c| whole(&c)))?;
        Some(2 * skin(&look.input, &before) >= 3 * before.len() && was > 1)
    })
}

fn holes_closed(look: &Look) -> bool {
    exists(&look.touched, |&foam| {
        let after = look.after_of(foam);
        let [block] = exactly(&after)?;
        let loose = look.input.places_of(foam);
        let plate = |c: &&u8| **c == foam || look.has_parts(**c, 1, 1);
        given(look.kept(foam, 6) && look.touched.iter().all(|c| plate(&c)) && block.is_box())?;
        given(skin(&look.input, &loose) == 4 * loose.len())?;
        Some(area(&loose) == 2 * area(&block.cells))
    })
}

/// The bars of a row between the wall and what lies beyond: colours of the columns, from the wall on.
fn columns(grid: &Grid, (top, bottom): (i32, i32)) -> Option<Vec<u8>> {
    let column = |c: i32| {
        let first = grid.at(top, c);
        let same = (top..=bottom).all(|r| grid.at(r, c) == first);
        same.then_some(first)
    };
    (1..grid.cols() as i32).map(column).collect()
}

/// The rows that changed, with a wall at the left edge beside them.
fn before_a_wall(look: &Look) -> Option<(i32, i32)> {
    let top = look.changed.iter().map(|p| p.0).min()?;
    let bottom = look.changed.iter().map(|p| p.0).max()?;
    let wall = look.was((top, 0));
    let whole = (top - 1..=bottom + 1).all(|r| look.was((r, 0)) == wall && look.stays((r, 0)));
    (wall != 0 && whole).then_some((top, bottom))
}

fn closed_up(look: &Look) -> bool {
    look.some_way(|look| {
        let rows = before_a_wall(look)?;
        let (was, is) = (columns(&look.input, rows)?, columns(&look.output, rows)?);
        let bars = |all: &[u8]| all.iter().copied().filter(|c| *c != 0).collect::<Vec<u8>>();
        let gap =
            |all: &[u8]| all.windows(2).any(|w| w[0] == 0 && w[1] != 0) || all.first() == Some(&0);
        Some(bars(&was) == bars(&is) && bars(&is).len() >= 3 && gap(&was) && !gap(&is))
    })
}

fn half_as_long(look: &Look) -> bool {
    look.some_way(|look| {
        let rows = before_a_wall(look)?;
        let (was, is) = (columns(&look.input, rows)?, columns(&look.output, rows)?);
        let long = was.iter().take_while(|c| **c != 0).count();
        let halves: Vec<u8> = was.iter().copied().take(long).step_by(2).collect();
        given(long >= 6 && was.iter().skip(long).all(|c| *c == 0))?;
        given(is.iter().skip(long / 2).all(|c| *c == 0) && is.starts_with(&halves))?;
        Some(was.chunks(2).take(long / 2).all(|w| w.first() == w.last()))
    })
}
