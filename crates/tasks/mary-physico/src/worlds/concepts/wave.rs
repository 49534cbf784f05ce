use super::*;

concept! {
    draws: shaken_rope, running_pulse, carried_on, hills_and_valleys;
    reads: shaken, hump_ran, repeated, hilly;
}

fn shaken_rope(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (rope, hand) = (s.colour(0), s.colour(1));
    let high = s.between(2, 3);
    let middle = s.between(high + 1, s.rows - high - 2);
    let start = s.between(0, 9);
    p.input.fill((middle, 1), (middle, s.cols), rope);
    let heights: Vec<i32> = (0..s.cols).map(|c| crest(c + start, high)).collect();
    curve(&mut p.output, middle, 0, &heights, rope);
    p.input.fill((middle - 1, 0), (middle + 1, 0), hand);
    let at = middle - heights.first()?;
    p.output.fill((0, 0), (s.rows, 0), 0);
    p.output.fill((at - 1, 0), (at + 1, 0), hand);
    Some(p)
}

fn running_pulse(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (rope, post) = (s.colour(0), s.colour(1));
    const HUMPS: [&[i32]; 3] = [&[0, 1, 2, 1, 0], &[0, 2, 3, 2, 0], &[0, 1, 2, 2, 1, 0]];
    let hump = s.choose(&HUMPS)?;
    let middle = s.between(4, s.rows - 2);
    let wide = hump.len() as i32;
    let from = s.between(1, 2);
    let to = s.between(from + wide, s.cols - 1 - wide);
    for (g, left) in [(&mut p.input, from), (&mut p.output, to)] {
        g.fill((middle, 0), (middle, s.cols), rope);
        g.fill((middle, left + 1), (middle, left + wide - 2), 0);
        curve(g, middle, left, hump, rope);
        g.fill((middle - 1, 0), (middle + 1, 0), post);
        g.fill((middle - 1, s.cols - 1), (middle + 1, s.cols - 1), post);
    }
    Some(p)
}

/// A slanting line up and down: the height at a place, from 0 to `high`.
fn tent(at: i32, high: i32) -> i32 {
    let k = at.rem_euclid(2 * high);
    k.min(2 * high - k)
}

fn carried_on(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let rope = s.colour(0);
    let high = s.between(2, 3);
    let lines = s.between(1, if s.rows > 2 * high + 4 { 2 } else { 1 });
    let mut top = s.between(0, 2);
    for _ in 0..lines {
        for c in 0..s.cols {
            let r = top + tent(c, high);
            p.output.set(r, c, rope);
            if c <= 2 * high {
                p.input.set(r, c, rope);
            }
        }
        top += high + s.between(3, 4);
        if top + high >= s.rows {
            break;
        }
    }
    Some(p)
}

fn hills_and_valleys(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let pillar = s.colour(0);
    let swing = s.between(2, 4);
    let mean = s.between(swing + 2, s.rows - swing - 1);
    let step = s.between(1, 2);
    let long = 2 * s.between(1, if step == 1 { 2 } else { 1 });
    for (i, c) in (0..s.cols).step_by(step as usize).enumerate() {
        let turn = (i as i32).rem_euclid(2 * long);
        let height = match turn {
            t if t < long => mean + (t.min(long - t) * 2 * swing / long),
            t => mean - ((t - long).min(2 * long - t) * 2 * swing / long),
        };
        let bottom = s.rows - 1;
        p.input.fill((s.rows - mean, c), (bottom, c), pillar);
        p.output.fill((s.rows - height, c), (bottom, c), pillar);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn shaken(look: &Look) -> bool {
    look.lying_or_upright(|look| {
        exists(&look.touched, |&rope| {
            let before = look.before_of(rope);
            let [line] = exactly(&before)?;
            given(line.tall() == 1 && line.wide() >= 8)?;
            let (_, columns) = profile(&look.output, rope)?;
            let rest = line.bounds[0];
            let off = columns.iter().map(|&(a, b)| (a - rest, b - rest));
            let heights = off.map(|(a, b)| if a.abs() > b.abs() { a } else { b });
            let heights: Vec<i32> = heights.collect();
            let turns = |signs: Vec<i32>| {
                let mut signs = those(signs, |s| *s != 0);
                signs.dedup();
                signs.len()
            };
            let sides = turns(heights.iter().map(|h| h.signum()).collect());
            let ways = turns(heights.windows(2).map(|w| (w[1] - w[0]).signum()).collect());
            let others = look.touched.iter().filter(|c| **c != rope);
            let hand = |c: &u8| look.kept(*c, 1) && look.had(*c) <= 4 && look.has_parts(*c, 1, 1);
            given(sides >= 2 && ways >= 3 && columns.len() + 2 >= line.len())?;
            Some(every(others, hand))
        })
    })
}

fn hump_ran(look: &Look) -> Option<bool> {
    let [rope] = *exactly(&look.touched)?;
    Some(look.lying_or_upright(|look| {
        let (l, was) = profile(&look.input, rope)?;
        let (m, is) = profile(&look.output, rope)?;
        let ((a, before), (b, after)) = (heights(&was), heights(&is));
        let (p, q) = (humps(&before), humps(&after));
        let ([(from, x)], [(to, y)]) = (exactly(&p)?, exactly(&q)?);
        // At the far end the hump may already run into what holds the line.
        let same = x == y || (x.starts_with(y) && x.len() == y.len() + 1);
        let whole = l == m && was.len() == is.len() && a == b;
        Some(whole && from != to && same && x.len() >= 3)
    }))
}

fn repeated(look: &Look) -> Option<bool> {
    let rope = look.one_added()?;
    Some(look.some_way(|look| {
        let parts = those(look.after_of(rope), |p| look.restless(p));
        let again = |part: &&Part| {
            let row = |c: i32| exactly(&in_column(&part.cells, c)).map(|[r]| *r);
            let rows: Vec<i32> = (0..look.cols()).map(row).collect::<Option<_>>()?;
            let places = rows.iter().zip(0..);
            let there = places.take_while(|&(&r, c)| look.was((r, c)) == rope);
            let period = there.count().saturating_sub(1);
            let turns = rows.windows(3).filter(|w| w[0] == w[2]).count();
            given(rows.windows(2).all(|w| (w[1] - w[0]).abs() == 1) && turns >= 3 && period >= 4)?;
            Some(
                rows.iter()
                    .zip(rows.iter().skip(period))
                    .all(|(a, b)| a == b),
            )
        };
        !parts.is_empty() && every(&parts, again)
    }))
}

fn hilly(look: &Look) -> Option<bool> {
    let [pillar] = *exactly(&look.touched)?;
    let bottom = look.rows() - 1;
    let heights = |grid: &Grid| -> Vec<i32> {
        let high = |c: i32| {
            let rows = (0..=bottom).rev();
            rows.take_while(|&r| grid.at(r, c) == pillar).count()
        };
        let heights = (0..look.cols()).map(|c| high(c) as i32);
        heights.filter(|h| *h > 0).collect()
    };
    let (was, is) = (heights(&look.input), heights(&look.output));
    let &mean = was.first()?;
    let up = is.iter().filter(|h| **h > mean).count();
    let down = is.iter().filter(|h| **h < mean).count();
    given(was.len() >= 6 && was.len() == is.len() && was.iter().all(|h| *h == mean) && mean >= 2)?;
    given(up >= 2 && down >= 1 && every(&look.changed, |p| look.was((bottom, p.1)) == pillar))?;
    given(look.has(pillar) as i32 == is.iter().sum::<i32>() + loose(look, pillar))?;
    Some(is.windows(2).all(|w| (w[0] - w[1]).abs() <= 4))
}

/// Cells of a colour that do not stand on the edge.
fn loose(look: &Look, colour: u8) -> i32 {
    let bottom = look.rows() - 1;
    let apart = |p: &&&Part| p.bounds[2] != bottom;
    let parts = look.before_of(colour);
    parts.iter().filter(apart).map(|p| p.len() as i32).sum()
}
