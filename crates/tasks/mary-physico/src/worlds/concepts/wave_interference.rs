use std::collections::BTreeSet;

use super::*;

concept! {
    draws: two_sources, meeting_pulses, crossing_trains, beats;
    reads: rings_crossed, humps_met, added_at_crossings, where_both_are;
}

fn two_sources(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (one, two, both) = (s.colour(0), s.colour(1), s.colour(2));
    let (lower, apart) = (s.between(2, 4), s.between(3, 5));
    let row = s.between(3, s.rows - lower - 4);
    let left = s.between(2, s.cols - apart - 3);
    let radii = s.choose(&[&[2, 5][..], &[2, 4], &[3, 5], &[4], &[3]])?;
    let sources = [((row, left), one), ((row + lower, left + apart), two)];
    let mut hits = s.canvas();
    for (at, colour) in sources {
        p.input
            .paint(around(false).map(|(dr, dc)| (at.0 + dr, at.1 + dc)), colour);
        for &radius in radii {
            for (r, c) in square_ring(at, radius) {
                let seen = hits.at(r, c) | if colour == one { 1 } else { 2 };
                hits.set(r, c, seen);
                p.output.set(r, c, if seen == 3 { both } else { colour });
            }
        }
    }
    for (at, colour) in sources {
        p.both(|g| g.set(at.0, at.1, colour));
    }
    (p.output.count(both) >= 2 * radii.len()).then_some(p)
}

fn meeting_pulses(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let rope = s.colour(0);
    let form = [0, 1, 2, 1, 0];
    let sum_up = s.coin();
    let sign = if sum_up { 1 } else { -1 };
    let middle = match sum_up {
        true => s.between(5, s.rows - 2),
        false => s.between(3, s.rows - 4),
    };
    let wide = form.len() as i32;
    let mut before = vec![0; s.cols as usize];
    let mut after = before.clone();
    let centre = s.between(4, s.cols - wide - 4);
    for (i, h) in form.iter().enumerate() {
        let i = i as i32;
        *before.get_mut((i) as usize)? += h;
        *before.get_mut((s.cols - wide + i) as usize)? += sign * h;
        *after.get_mut((centre + i) as usize)? += h + sign * h;
    }
    curve(&mut p.input, middle, 0, &before, rope);
    curve(&mut p.output, middle, 0, &after, rope);
    // Two small marks below show which way the humps run.
    let mark = s.colour(1);
    for (from, to) in [(2, centre + 1), (s.cols - 3, centre + 3)] {
        p.input.set(middle + 3, from, mark);
        p.output.set(middle + 3, to, mark);
    }
    (middle + 3 < s.rows).then_some(p)
}

fn crossing_trains(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (one, two, strong) = (s.colour(0), s.colour(1), s.colour(2));
    let (dr, dc) = (s.between(2, 4), s.between(2, 4));
    let (r0, c0) = (s.between(0, dr - 1), s.between(0, dc - 1));
    let rows: Vec<i32> = (r0..s.rows).step_by(dr as usize).collect();
    let cols: Vec<i32> = (c0..s.cols).step_by(dc as usize).collect();
    let first = s.between(0, 2) as usize;
    let many = s.between(2, 5) as usize;
    let cols: Vec<i32> = cols.into_iter().skip(first).take(many).collect();
    let many = s.between(2, 5) as usize;
    let rows: Vec<i32> = rows.into_iter().take(many).collect();
    for &c in &cols {
        p.both(|g| g.fill((0, c), (g.rows() as i32 - 1, c), one));
    }
    for &r in &rows {
        for c in 0..s.cols {
            if !cols.contains(&c) {
                p.both(|g| g.set(r, c, two));
            } else {
                p.output.set(r, c, strong);
            }
        }
    }
    (rows.len() >= 2 && cols.len() >= 2).then_some(p)
}

fn beats(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (one, two, sum) = (s.colour(0), s.colour(1), s.colour(2));
    let (a, b) = (s.between(1, 3), s.between(2, 4));
    given(a != b)?;
    let tall = s.between(1, 3);
    let top = s.between(0, s.rows - 3 * tall - 3);
    let shift = s.between(0, 1);
    for c in shift..s.cols {
        let (x, y) = ((c - shift) % a == 0, (c - shift) % b == 0);
        for (on, colour, row) in [(x, one, top), (y, two, top + tall + 1)] {
            if on {
                p.both(|g| g.fill((row, c), (row + tall - 1, c), colour));
            }
        }
        if x && y {
            let row = top + 2 * tall + 2;
            p.output.fill((row, c), (row + tall - 1, c), sum);
        }
    }
    (p.output.count(sum) as i32 >= 3 * tall).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn rings_crossed(look: &Look) -> Option<bool> {
    let both = look.one_fresh()?;
    let kinds = those(look.touched.iter().copied(), |c| *c != both);
    let [one, two] = *exactly(&kinds)?;
    // Where the cells of one colour have their middle before, and how far they are from it after.
    let source = |colour: u8| {
        let cells = look.input.places_of(colour);
        let [t, l, b, r] = bounds(&cells)?;
        ((t + b) % 2 == 0 && (l + r) % 2 == 0 && cells.len() <= 9)
            .then_some(((t + b) / 2, (l + r) / 2))
    };
    let (p, q) = (source(one)?, source(two)?);
    let far = |a: Place, b: Place| (a.0 - b.0).abs().max((a.1 - b.1).abs());
    let radii = |colour: u8, middle: Place| {
        let cells = look.output.places_of(colour);
        distinct(those(cells.iter().map(|&c| far(c, middle)), |&k| k > 0))
    };
    let (a, b) = (radii(one, p), radii(two, q));
    // Both have rings of the same one or two sizes.
    let mut fewest = distinct(a.iter().chain(&b).copied());
    fewest.truncate(2);
    let crossings = look.output.places_of(both);
    given(crossings.len() >= 2 && !a.is_empty() && !b.is_empty())?;
    given(a.iter().chain(&b).all(|k| fewest.contains(k)))?;
    Some(
        crossings
            .iter()
            .all(|&c| a.contains(&far(c, p)) && b.contains(&far(c, q))),
    )
}

fn humps_met(look: &Look) -> bool {
    let long = |c: &u8| look.had(*c) >= 10 && look.has(*c) >= 10;
    look.touched.iter().any(long) && look.lying_or_upright(met_along_a_row)
}

fn met_along_a_row(look: &Look) -> bool {
    exists(&look.touched, |&rope| {
        given(look.had(rope) >= 10)?;
        let (l, was) = profile(&look.input, rope)?;
        let (m, is) = profile(&look.output, rope)?;
        let ((a, before), (b, after)) = (heights(&was), heights(&is));
        let (p, q) = (humps(&before), humps(&after));
        let [(_, one), (_, two)] = exactly(&p)?;
        let peak = |h: &[i32]| h.iter().copied().max_by_key(|x| x.abs()).unwrap_or(0);
        let sum = peak(one) + peak(two);
        let added = match q.as_slice() {
            [] => sum == 0,
            [(_, hump)] => sum != 0 && peak(hump) == sum,
            _ => false,
        };
        // Marks may go along.
        let marks = |c: &&u8| {
            let along = look.moves_of(&[**c]);
            **c == rope || along.is_some_and(|all| all.iter().all(|m| m.by.0 == 0))
        };
        let along = look.touched.iter().all(|c| marks(&c));
        Some(l == m && a == b && one.len() == two.len() && added && along)
    })
}

fn added_at_crossings(look: &Look) -> bool {
    let rows: BTreeSet<i32> = look.changed.iter().map(|p| p.0).collect();
    let cols: BTreeSet<i32> = look.changed.iter().map(|p| p.1).collect();
    let lattice = rows.len() * cols.len() == look.changed.len();
    let apart = |all: &BTreeSet<i32>| {
        let all: Vec<i32> = all.iter().copied().collect();
        let steps: Vec<i32> = all.windows(2).map(|w| w[1] - w[0]).collect();
        all.len() >= 2 && steps.iter().all(|s| *s >= 2 && Some(s) == steps.first())
    };
    let whole_rows = every(&rows, |&r| (0..look.cols()).all(|c| look.was((r, c)) != 0));
    let whole_cols = every(&cols, |&c| (0..look.rows()).all(|r| look.was((r, c)) != 0));
    lattice && apart(&rows) && apart(&cols) && whole_rows && whole_cols
}

fn where_both_are(look: &Look) -> bool {
    look.some_way(|look| {
        let [t, _, b, _] = bounds(&look.changed)?;
        let tall = b - t + 1;
        let (upper, middle) = (t - 2 * tall - 2, t - tall - 1);
        let filled = |row: i32, c: i32| {
            let first = look.was((row, c));
            (row..row + tall).all(|r| look.was((r, c)) == first) && first != 0
        };
        let cols: BTreeSet<i32> = look.changed.iter().map(|p| p.1).collect();
        let marks = |row: i32| (0..look.cols()).filter(|&c| filled(row, c)).count();
        let both = |c: i32| filled(upper, c) && filled(middle, c);
        given(upper >= 0 && cols.len() >= 3 && cols.len() * tall as usize == look.changed.len())?;
        given((0..look.cols()).all(|c| both(c) == cols.contains(&c)))?;
        Some(marks(upper) + marks(middle) > 2 * cols.len())
    })
}
