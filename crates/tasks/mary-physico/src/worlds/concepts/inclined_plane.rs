use super::*;

concept!(draws: rolling_down, pushing_up; reads: went_along_a_slope);

/// The top row of a slope at each column: it rises by one every `step` columns, from `foot` to the
/// left.
fn slope(g: &mut Grid, ground: i32, foot: i32, high: i32, step: i32, colour: u8) {
    for c in 0..foot {
        let h = ((foot - c + step - 1) / step).min(high);
        g.fill((ground - h, c), (ground - 1, c), colour);
    }
}

fn top_at(ground: i32, foot: i32, high: i32, step: i32, c: i32) -> i32 {
    ground - ((foot - c + step - 1).max(0) / step).min(high) - 1
}

fn rolling_down(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - 1;
    let (earth, ramp, ball) = (s.colour(0), s.colour(1), s.colour(2));
    let step = s.between(1, 2);
    let foot = s.between(7, s.cols - 3);
    let high = (foot / step).min(s.rows - 4);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        slope(g, ground, foot, high, step, ramp);
    });
    let from = s.between((foot - high * step).max(0), foot / 3);
    let to = s.between(foot, (foot + 1).min(s.cols - 1));
    // More balls behind the first.
    let more = s.between(1, 7);
    for i in 0..=more {
        let c = from + i * step;
        p.input.set(top_at(ground, foot, high, step, c), c, ball);
        p.output.set(ground - 1, to + i, ball);
    }
    (high >= 4 && to + more < s.cols && from + more * step < foot).then_some(p)
}

fn pushing_up(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - 1;
    let (earth, ramp, load, hand) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let step = s.between(1, 2);
    let high = s.between(3, 4);
    let flat = s.between(2, 4);
    let foot = flat + high * step;
    given(foot + 3 <= s.cols)?;
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        slope(g, ground, foot, high, step, ramp);
    });
    let big = s.between(1, 3).min(flat);
    let from = foot;
    p.input.fill_box((ground - big, from), (big, big), load);
    p.input.fill_box((ground - 2, from + big), (2, 1), hand);
    let row = ground - high - 1;
    let at = flat - big;
    p.output.fill_box((row - big + 1, at), (big, big), load);
    p.output.fill((row - 1, at + big), (row, at + big), hand);
    (from + big < s.cols).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

/// The highest cell of a colour in each column, as far as it goes down to the lowest row it has.
fn staircase(look: &Look, ramp: u8) -> Option<(Vec<(i32, i32)>, i32)> {
    let parts = look.before_of(ramp);
    let part = parts.iter().max_by_key(|p| p.len())?;
    let [_, l, b, r] = part.bounds;
    let mut tops = Vec::new();
    for c in l..=r {
        let rows = in_column(&part.cells, c);
        let top = *rows.first()?;
        given(rows.len() as i32 == b - top + 1)?;
        tops.push((c, top));
    }
    let falls = tops.windows(2).all(|w| [0, 1].contains(&(w[1].1 - w[0].1)));
    let climbs = tops.windows(2).all(|w| [0, 1].contains(&(w[0].1 - w[1].1)));
    let rows = distinct(tops.iter().map(|t| t.1));
    (rows.len() >= 3 && (falls || climbs)).then_some((tops, b))
}

fn went_along_a_slope(look: &Look) -> bool {
    let mut still = those(1..10, |c| look.had(*c) >= 8 && !look.touched.contains(c));
    still.retain(|&c| staircase(look, c).is_some());
    exists(&still, |&ramp| {
        let (tops, foot) = staircase(look, ramp)?;
        let body = |c: &&u8| look.kept(**c, 1) && look.had(**c) <= 6;
        Some(look.touched.iter().filter(body).any(|&load| {
            let (a, b) = (look.input.places_of(load), look.output.places_of(load));
            let lowest = |cells: &[Place]| cells.iter().map(|p| p.0).max().unwrap_or(0);
            let on_slope = |cells: &[Place]| {
                let rests = |p: &Place| tops.contains(&(p.1, p.0 + 1));
                every(cells, |p| cells.contains(&(p.0 + 1, p.1)) || rests(p))
            };
            let at_foot = |cells: &[Place]| {
                lowest(cells) == foot && cells.iter().all(|p| tops.iter().all(|t| t.0 != p.1))
            };
            let top = |cells: &[Place]| cells.first().map_or(0, |p| p.0);
            let far = (top(&a) - top(&b)).abs() >= 2;
            // What goes with it goes the same way.
            let together = look.touched.len() == 1 || look.moves().is_some_and(|m| alike(&m));
            far && together && ((on_slope(&a) && at_foot(&b)) || (at_foot(&a) && on_slope(&b)))
        }))
    })
}
