use super::*;

concept!(draws: round_drop, water_strider; reads: rounded, dented);

fn round_drop(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let water = s.colour(0);
    let middles: &[i32] = if s.cols >= 15 { &[-4, 4] } else { &[0] };
    let middles = if s.coin() { &middles[..1] } else { middles };
    for (i, &dc) in middles.iter().enumerate() {
        let alone = middles.len() == 1;
        let radius = if alone { s.between(2, 3) } else { 2 };
        let centre = match alone {
            true => s.place((5, s.rows - 6), (5, s.cols - 6)),
            false => (s.rows / 2 + s.between(-1, 1), s.cols / 2 + dc),
        };
        let drop = disc(centre, radius);
        // A ragged patch: grow arms from a small core, as many cells as the drop.
        let mut patch = vec![centre];
        while patch.len() < drop.len() {
            let (r, c) = s.choose(&patch)?;
            let (dr, dc) = s.choose(&[(0, 1), (1, 0), (0, -1), (-1, 0)])?;
            for k in 1..=3 {
                let next = (r + dr * k, c + dc * k);
                if patch.len() < drop.len()
                    && !patch.contains(&next)
                    && p.input.holds(next.0, next.1)
                {
                    patch.push(next);
                }
            }
        }
        let back = |q: &Place| (q.1 - s.cols / 2).signum() == -dc.signum();
        given(alone || !patch.iter().any(back))?;
        let colour = if i == 0 { water } else { s.colour(1) };
        given(p.input.clear(&patch) && p.output.clear(&drop))?;
        p.input.paint(patch, colour);
        p.output.paint(drop, colour);
    }
    (p.changed() >= 10).then_some(p)
}

fn water_strider(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (water, insect, skin) = (s.colour(0), s.colour(1), s.colour(2));
    let surface = s.rows - s.between(5, 6);
    p.both(|g| {
        g.fill((surface, 0), (surface, g.cols() as i32), skin);
        g.fill((surface + 1, 0), (g.rows() as i32, g.cols() as i32), water);
    });
    let half = s.between(4, (s.cols - 3) / 2);
    let mid = s.between(half + 1, s.cols - half - 2);
    let legs = s.between(3, 4);
    // A small body on long legs with knees that stand wide.
    let draw = |g: &mut Grid, foot: i32| {
        g.fill((foot - legs, mid - 1), (foot - legs, mid + 1), insect);
        for side in [-1, 1] {
            let knee = (foot - 2, mid + side * half);
            g.paint(line((foot - legs, mid + side), knee), insect);
            g.fill(knee, (foot, knee.1), insect);
        }
    };
    let above = s.between(legs, surface - 2);
    draw(&mut p.input, above);
    // The dent: one cell deep beside the foot, two under it.
    for side in [-1, 1] {
        let c = mid + side * half;
        p.output.fill((surface, c - 1), (surface, c + 1), 0);
        p.output.set(surface + 1, c, 0);
        p.output.set(surface + 1, c - 1, skin);
        p.output.set(surface + 1, c + 1, skin);
        p.output.set(surface + 2, c, skin);
    }
    draw(&mut p.output, surface + 1);
    (above < surface - 1).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn rounded(look: &Look) -> bool {
    let before = those(look.parts_before(), |p| look.restless(p));
    let after = those(look.parts_after(), |p| look.restless(p));
    let rounder = |p: &&Part| {
        let q = after.iter().find(|q| q.colour == p.colour)?;
        let (was, is) = (skin(&look.input, &p.cells), skin(&look.output, &q.cells));
        Some(q.len() == p.len() && q.len() >= 6 && 4 * is <= 3 * was)
    };
    !before.is_empty() && before.len() == after.len() && every(&before, rounder)
}

fn dented(look: &Look) -> bool {
    exists(&look.touched, |&insect| {
        let one = look.one_move(insect)?;
        let [_, _, foot, _] = one.to.bounds;
        let feet = in_row(&one.to.cells, foot);
        given(one.by.1 == 0 && one.by.0 > 0)?;
        Some(exists(&look.touched, |&skin| {
            skin != insect && dents_under(look, skin, &feet)
        }))
    })
}

/// Whether a line from edge to edge, one cell in every column before and after, was straight and
/// has gone down at the feet and beside them and nowhere else, without a gap.
fn dents_under(look: &Look, skin: u8, feet: &[i32]) -> bool {
    let rows = |after: bool| -> Option<Vec<i32>> {
        let grid = if after { &look.output } else { &look.input };
        let mut cells: Vec<(i32, i32)> = grid.places_of(skin).iter().map(|p| (p.1, p.0)).collect();
        cells.sort_unstable();
        let one_each = cells.iter().map(|c| c.0).eq(0..look.cols());
        one_each.then(|| cells.iter().map(|c| c.1).collect())
    };
    let (Some(was), Some(is)) = (rows(false), rows(true)) else {
        return false;
    };
    let level = was.first().copied().unwrap_or(0);
    let bent = |c: i32| feet.iter().any(|f| (f - c).abs() <= 1);
    was.iter().all(|r| *r == level)
        && is.windows(2).all(|w| (w[1] - w[0]).abs() <= 1)
        && (0..).zip(&is).all(|(c, r)| (*r > level) == bent(c))
        && every(feet, |&f| is.get(f as usize) == Some(&(level + 2)))
}
