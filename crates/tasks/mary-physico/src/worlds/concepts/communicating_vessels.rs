use super::*;

concept!(draws: open_below, valve; reads: levelled);

/// Widths of vessels, a common level, and unequal levels with the same amount of liquid.
fn levels(s: &mut Setting, widths: &[i32], most: i32) -> Option<(Vec<i32>, i32)> {
    (0..12).find_map(|_| some_levels(s, widths, most))
}

fn some_levels(s: &mut Setting, widths: &[i32], most: i32) -> Option<(Vec<i32>, i32)> {
    let total: i32 = widths.iter().sum();
    let even = s.between(2, most - 2);
    let mut at: Vec<i32> = Vec::new();
    let mut left = even * total;
    for (i, &w) in widths.iter().enumerate() {
        let last = i + 1 == widths.len();
        let level = if last { left / w } else { s.between(0, most) };
        given(level * w <= left && !(last && level * w != left) && level <= most)?;
        left -= level * w;
        at.push(level);
    }
    let spread = at.iter().max()? - at.iter().min()?;
    (spread >= 3).then_some((at, even))
}

fn open_below(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, water) = (s.colour(0), s.colour(1));
    let many = if s.cols >= 14 { s.between(2, 3) } else { 2 };
    let widths: Vec<i32> = (0..many).map(|_| s.between(1, 4)).collect();
    let whole: i32 = widths.iter().sum::<i32>() + many + 1;
    given(whole <= s.cols)?;
    let left = s.between(0, s.cols - whole);
    let top = s.between(1, 3);
    let floor = s.rows - 1;
    let (at, even) = levels(s, &widths, floor - 2 - top)?;
    p.both(|g| {
        g.fill((floor, left), (floor, left + whole - 1), wall);
        g.fill((floor - 1, left + 1), (floor - 1, left + whole - 2), water);
    });
    let mut c = left;
    for (i, &w) in widths.iter().enumerate() {
        let base = if i == 0 { floor } else { floor - 2 };
        p.both(|g| g.fill((top, c), (base, c), wall));
        for (g, level) in [(&mut p.input, at[i]), (&mut p.output, even)] {
            if level > 0 {
                g.fill((floor - 1 - level, c + 1), (floor - 2, c + w), water);
            }
        }
        c += w + 1;
    }
    p.both(|g| g.fill((top, c), (floor, c), wall));
    Some(p)
}

fn valve(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, water, gate) = (s.colour(0), s.colour(1), s.colour(2));
    let widths = [s.between(2, 4), s.between(2, 4)];
    let pipe = 3;
    let whole = widths[0] + widths[1] + 4 + pipe;
    given(whole <= s.cols)?;
    let left = s.between(0, s.cols - whole);
    let top = s.between(1, 3);
    let floor = s.rows - 1;
    let (at, even) = levels(s, &widths, floor - 2 - top)?;
    let starts = [left, left + widths[0] + 2 + pipe];
    for i in 0..2 {
        let (a, b) = (starts[i], starts[i] + widths[i] + 1);
        p.both(|g| {
            vessel(g, top, floor, (a, b), wall);
            g.fill((floor - 1, a + 1), (floor - 1, b - 1), water);
        });
        for (g, level) in [(&mut p.input, at[i]), (&mut p.output, even)] {
            if level > 0 {
                g.fill((floor - 1 - level, a + 1), (floor - 2, b - 1), water);
            }
        }
    }
    // The pipe between them; the valve in its middle opens.
    let (a, b) = (starts[0] + widths[0] + 1, starts[1]);
    let tube = s.colour(3);
    p.both(|g| g.fill((floor - 1, a), (floor - 1, b), tube));
    let mid = (a + b) / 2;
    p.input.fill((floor - 2, mid), (floor, mid), gate);
    p.output.fill((floor - 4, mid), (floor - 2, mid), gate);
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

/// Whether every cell of a liquid is held: something lies under it and on both its sides.
fn held(grid: &Grid, liquid: &[Place]) -> bool {
    let held = |p: Place| edge_or(grid, p, |v| v != 0);
    every(liquid, |&(r, c)| {
        held((r + 1, c)) && held((r, c - 1)) && held((r, c + 1))
    })
}

/// The open surfaces of a liquid: rows of runs of cells with nothing above them.
fn surfaces(grid: &Grid, liquid: &[Place], colour: u8) -> Vec<i32> {
    let open = |r: i32, c: i32| grid.at(r, c) == colour && grid.at(r - 1, c) == 0;
    let start = |&&(r, c): &&Place| open(r, c) && !open(r, c - 1);
    liquid.iter().filter(start).map(|p| p.0).collect()
}

fn levelled(look: &Look) -> bool {
    exists(&look.touched, |&colour| {
        given(look.kept(colour, 4))?;
        let (before, after) = (look.input.places_of(colour), look.output.places_of(colour));
        given(held(&look.input, &before) && held(&look.output, &after))?;
        let level = |t: &[i32]| t.iter().all(|r| Some(r) == t.first());
        let was = surfaces(&look.input, &before, colour);
        let is = surfaces(&look.output, &after, colour);
        // A valve that opened, and what it uncovers.
        let valve = |c: &&u8| {
            let went = look.moves_of(&[**c]).is_some_and(|all| all.len() == 1);
            **c == colour || went || look.came(**c).len() + look.gone(**c).len() == 1
        };
        given(is.len() >= 2 && level(&is) && !level(&was))?;
        Some(look.touched.iter().all(|c| valve(&c)))
    })
}
