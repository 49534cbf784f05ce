use super::*;

concept!(draws: from_high_to_low, over_the_wall; reads: siphoned);

/// Liquid in a vessel's cells that are still free, from the floor up to so many cells.
fn pour(g: &mut Grid, floor: i32, cols: (i32, i32), mut cells: i32, colour: u8) {
    for r in (0..floor).rev() {
        for c in cols.0 + 1..cols.1 {
            if cells > 0 && g.free(r, c) {
                g.set(r, c, colour);
                cells -= 1;
            }
        }
    }
}

fn from_high_to_low(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, water, tube, stand) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let bottom = s.rows - 1;
    let wide = s.between(4, (s.cols - 4) / 2);
    let upper = (0, wide);
    let lower = (s.cols - 1 - wide, s.cols - 1);
    let floor = s.rows / 2 + s.between(0, 1);
    let deep = floor - 3;
    p.both(|g| {
        vessel(g, 3, floor, upper, glass);
        g.fill((floor + 1, 1), (bottom, wide - 1), stand);
        vessel(g, bottom - deep - 1, bottom, lower, glass);
        g.fill((1, wide - 1), (floor - 1, wide - 1), tube);
        g.fill((1, wide - 1), (1, lower.0 + 1), tube);
        g.fill((1, lower.0 + 1), (bottom - 1, lower.0 + 1), tube);
    });
    // The tube takes one column of each vessel.
    let inner = wide - 2;
    let full = inner * s.between(2, deep);
    pour(&mut p.input, floor, upper, full, water);
    pour(&mut p.output, bottom, lower, full, water);
    let same = p.input.count(water) == p.output.count(water);
    (same && deep >= 2 && lower.0 > wide + 1).then_some(p)
}

fn over_the_wall(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, water, tube) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - 1;
    let mid = s.cols / 2 + s.between(-1, 0);
    let (left, right) = ((0, mid), (mid, s.cols - 1));
    let top = s.between(3, 4);
    let high = s.between(2, 3);
    p.both(|g| {
        vessel(g, top, floor, (0, s.cols - 1), glass);
        g.fill((top, mid), (floor - 1, mid), glass);
        // The far chamber lies deeper: the near one stands on a step.
        g.fill((floor - high, 1), (floor - 1, mid - 1), glass);
        g.fill((1, mid - 2), (floor - high - 2, mid - 2), tube);
        g.fill((1, mid - 2), (1, mid + 2), tube);
        g.fill((1, mid + 2), (floor - 2, mid + 2), tube);
    });
    let base = floor - high;
    // Below the tube's mouth two rows stay behind; above it the tube takes a column.
    let remain = mid - 1;
    let above = (mid - 2) * s.between(2, base - top - 2);
    pour(&mut p.input, base, left, remain + above, water);
    pour(&mut p.output, base, left, remain, water);
    pour(&mut p.output, floor, right, above, water);
    let same = p.input.count(water) == p.output.count(water);
    let below_rim = (0..top + 1).all(|r| (0..s.cols).all(|c| p.output.at(r, c) != water));
    (same && below_rim).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

/// Still parts that go up, across and down again: first and last column of the run at their top.
fn bent_tubes(look: &Look) -> impl Iterator<Item = (&Part, i32, i32)> {
    look.parts_before().iter().filter_map(|p| {
        let [t, l, _, r] = p.bounds;
        let run = (l..=r).all(|c| p.has((t, c)));
        let legs = (1..=3).all(|k| p.has((t + k, l)) && p.has((t + k, r)));
        let open = (l + 1..r).all(|c| !p.has((t + 1, c)));
        (r - l >= 3 && run && legs && open && !look.restless(p)).then_some((p, l, r))
    })
}

fn siphoned(look: &Look) -> Option<bool> {
    let [water] = *exactly(&look.touched)?;
    given(look.kept(water, 4))?;
    let (came, gone) = (look.came(water), look.gone(water));
    let low =
        |cells: &[Place]| cells.iter().map(|p| p.0).sum::<i32>() * 100 / cells.len().max(1) as i32;
    Some(exists(bent_tubes(look), |(tube, l, r)| {
        let middle = (l + r) / 2;
        let side = |cells: &[Place]| -> Option<i32> {
            let first = cells.first().map(|p| (p.1 > middle) as i32)?;
            every(cells, |p| (p.1 > middle) as i32 == first).then_some(first)
        };
        let (a, b) = (side(&gone)?, side(&came)?);
        given(a != b && low(&came) > low(&gone))?;
        given(came.iter().chain(&gone).all(|p| p.0 > tube.bounds[0]) && tube.touches(&gone))?;
        Some(tube.touches(&came))
    }))
}
