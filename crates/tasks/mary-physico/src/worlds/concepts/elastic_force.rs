use super::*;

concept!(draws: spring, trampoline; reads: sprang, thrown_up);

/// A coil three rows high: upright strokes, joined by turns above and below that are `open` cells
/// wide.
fn coil(at: Place, strokes: i32, open: i32) -> Vec<Place> {
    let mut cells = Vec::new();
    for i in 0..strokes {
        let c = at.1 + i * (open + 1);
        cells.extend((0..3).map(|r| (at.0 + r, c)));
        if i + 1 < strokes {
            let row = at.0 + if i % 2 == 0 { 0 } else { 2 };
            cells.extend((1..=open).map(|k| (row, c + k)));
        }
    }
    cells
}

fn spring(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, wire, block) = (s.colour(0), s.colour(1), s.colour(2));
    let strokes = s.between(3, 5);
    let long = |open: i32| strokes + (strokes - 1) * open;
    let big = s.between(2, 3);
    given(1 + long(2) + big <= s.cols)?;
    let wide = 1 + long(3) + big <= s.cols && s.coin();
    let open = if wide { 3 } else { 2 };
    let top = s.between(1, s.rows - 4);
    p.both(|g| g.fill((0, 0), (g.rows() as i32, 0), wall));
    for (g, open) in [(&mut p.input, 1), (&mut p.output, open)] {
        g.paint(coil((top, 1), strokes, open), wire);
        let end = 1 + long(open);
        g.fill((top, end), (top + 2, end + big - 1), block);
    }
    Some(p)
}

fn trampoline(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - 1;
    let (post, sheet, ball) = (s.colour(0), s.colour(1), s.colour(2));
    let deep = s.between(3, 4);
    let level = ground - deep - 1;
    let half = s.between(deep, (s.cols - 3) / 2);
    let mid = s.between(half + 1, s.cols - half - 2);
    p.both(|g| walls(g, (level, ground), (mid - half - 1, mid + half + 1), post));
    let ends = [(level, mid - half), (level, mid + half)];
    for end in ends {
        p.input.paint(line(end, (level + deep, mid)), sheet);
    }
    p.input.fill_box((level + deep - 2, mid), (2, 1), ball);
    p.output.fill(ends[0], ends[1], sheet);
    let up = s.between(0, level - 5);
    p.output.fill((up, mid), (up + 1, mid), ball);
    (level >= 5).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn sprang(look: &Look) -> bool {
    look.touched.len() == 2 && look.lying_or_upright(pushed_sideways)
}

fn pushed_sideways(look: &Look) -> bool {
    look.either_way(|block, wire| {
        given(look.kept(block, 2) && look.has(wire) > look.had(wire))?;
        let (short, long) = look.one_part(wire)?;
        let one = look.one_move(block)?;
        let by = one.by.1;
        let [t, l, b, r] = short.bounds;
        let (grown, meets) = if by > 0 {
            ([t, l, b, r + by], r + 1 == one.from.bounds[1])
        } else {
            ([t, l + by, b, r], l - 1 == one.from.bounds[3])
        };
        given(one.by.0 == 0 && by != 0 && one.from.is_box() && long.bounds == grown && meets)?;
        Some(!short.is_box() && !long.is_box())
    })
}

fn thrown_up(look: &Look) -> bool {
    look.either_way(|ball, sheet| {
        let (sag, flat) = look.one_part(sheet)?;
        let one = look.one_move(ball)?;
        let [top, l, _, r] = sag.bounds;
        given(one.by.1 == 0 && one.by.0 < 0 && flat.tall() == 1)?;
        given(flat.bounds == [top, l, top, r] && sag.tall() >= 3)?;
        given([(top, l), (top, r)].iter().all(|p| sag.has(*p)) && one.from.bounds[2] > top)?;
        Some(one.to.bounds[2] < top)
    })
}
