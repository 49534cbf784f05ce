use super::*;

concept!(draws: barometer, crushed_can; reads: rose_in_a_tube, pushed_in);

fn barometer(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, liquid, air) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - 1;
    let wide = s.between(9, (s.cols - 2).min(s.rows - 1));
    let left = s.between(0, s.cols - wide);
    let right = left + wide - 1;
    let mid = (left + right) / 2;
    let deep = s.between(4, 5);
    let rim = floor - deep - 1;
    p.both(|g| {
        vessel(g, rim, floor, (left, right), glass);
        walls(g, (0, floor - 2), (mid - 1, mid + 1), glass);
        g.set(0, mid, glass);
    });
    // The dish without the tube's walls; what leaves it stands in the tube.
    let open = wide - 5;
    let level = floor - deep + 1;
    let deep = 2 * open < level - 1;
    let sunk = if deep { s.between(1, 2) } else { 1 };
    let up = sunk * open;
    for (g, down, high) in [(&mut p.input, 0, 0), (&mut p.output, sunk, up)] {
        let top = level + down;
        for c in left + 1..right {
            let from = if c == mid { level - high } else { top };
            g.paint_free((from..floor).map(|r| (r, c)), liquid);
        }
        // Air over the dish, never in the tube: it comes down with the surface.
        for c in (left..=right).filter(|c| (c - mid).abs() > 1) {
            let rows = (0.max(top - 3)..top).filter(|r| (r + c) % 2 == 0);
            g.paint_free(rows.map(|r| (r, c)), air);
        }
    }
    (level - up > 1).then_some(p)
}

fn crushed_can(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (tin, air) = (s.colour(0), s.colour(1));
    let tall = s.between(7, s.rows - 5);
    let wide = s.between(7, s.cols - 5);
    let (top, left) = s.place((2, s.rows - tall - 2), (2, s.cols - wide - 2));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    let deep = if tall.min(wide) >= 9 { 2 } else { 1 };
    let speckle = |g: &mut Grid| {
        for (r, c) in g.places() {
            let within = |by: i32| {
                (top - by..=bottom + by).contains(&r) && (left - by..=right + by).contains(&c)
            };
            if (r + c) % 2 == 0 && g.free(r, c) && !within(1) && within(3) {
                g.set(r, c, air);
            }
        }
    };
    p.input.frame((top, left), (bottom, right), tin);
    speckle(&mut p.input);
    let g = &mut p.output;
    g.frame((top, left), (bottom, right), tin);
    // Every side is pushed in between its ends.
    let (c0, c1) = (left + 2, right - 2);
    let (r0, r1) = (top + 2, bottom - 2);
    for d in 0..=deep {
        for (row, inner) in [(top, 1), (bottom, -1)] {
            g.fill((row, c0), (row, c1), if d == deep { 0 } else { tin });
            g.fill((row + inner * d, c0), (row + inner * d, c1), 0);
        }
        for (col, inner) in [(left, 1), (right, -1)] {
            g.fill((r0, col + inner * d), (r1, col + inner * d), 0);
        }
    }
    for d in 0..=deep {
        for (row, inner) in [(top, 1), (bottom, -1)] {
            g.set(row + inner * d, c0 - 1 + d.min(1), tin);
            g.set(row + inner * d, c1 + 1 - d.min(1), tin);
        }
        for (col, inner) in [(left, 1), (right, -1)] {
            g.set(r0 - 1 + d.min(1), col + inner * d, tin);
            g.set(r1 + 1 - d.min(1), col + inner * d, tin);
        }
    }
    g.fill((top + deep, c0), (top + deep, c1), tin);
    g.fill((bottom - deep, c0), (bottom - deep, c1), tin);
    g.fill((r0, left + deep), (r1, left + deep), tin);
    g.fill((r0, right - deep), (r1, right - deep), tin);
    speckle(g);
    // The air that rushed into the dents.
    for c in (c0 + 1..c1).step_by(2) {
        g.set(top + deep - 1, c, air);
        g.set(bottom - deep + 1, c, air);
    }
    for r in (r0 + 1..r1).step_by(2) {
        g.set(r, left + deep - 1, air);
        g.set(r, right - deep + 1, air);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn rose_in_a_tube(look: &Look) -> bool {
    exists(&look.touched, |&liquid| {
        given(look.kept(liquid, 8))?;
        let (came, gone) = (look.came(liquid), look.gone(liquid));
        let &(top, col) = came.first()?;
        let in_tube = came.iter().enumerate().all(|(i, &(r, c))| {
            let glass = look.was((r, c - 1));
            c == col
                && r == top + i as i32
                && look.stays((r, c - 1))
                && look.was((r, c + 1)) == glass
                && look.stays((r, c + 1))
        });
        let lid = (0..top).rev().find(|&r| look.is((r, col)) != 0);
        let shut = lid.is_some_and(|r| look.stays((r, col)) && look.is((r, col)) != liquid);
        let fell = |side: i32| gone.iter().any(|p| (p.1 - col).signum() == side);
        // The air over the dish comes down with it, and nothing changes elsewhere.
        let [_, left, _, right] = bounds(&gone).unwrap_or_default();
        let over_the_dish = every(&look.changed, |p| p.1 >= left - 1 && p.1 <= right + 1);
        given(over_the_dish && came.len() >= 3 && in_tube && shut && fell(-1) && fell(1))?;
        Some(gone.iter().all(|&(r, c)| c != col && r > top))
    })
}

fn pushed_in(look: &Look) -> bool {
    exists(&look.touched, |&tin| {
        let (can, bent) = look.one_part(tin)?;
        given(can.is_frame() && can.bounds == bent.bounds)?;
        let [t, l, b, r] = can.bounds;
        let corners = [(t, l), (t, r), (b, l), (b, r)];
        let (y, x) = ((t + b) / 2, (l + r) / 2);
        let sides: [(Place, Place); 4] = [
            ((t, x), (1, 0)),
            ((b, x), (-1, 0)),
            ((y, l), (0, 1)),
            ((y, r), (0, -1)),
        ];
        let deep = |(at, inward): (Place, Place)| {
            (0..4).find(|k| look.is((at.0 + inward.0 * k, at.1 + inward.1 * k)) == tin)
        };
        let depths = sides.map(deep);
        let air = |p: &Place| look.is(*p) == tin || (p.0 >= t && p.0 <= b && p.1 >= l && p.1 <= r);
        given(look.changed.iter().all(air) && corners.iter().all(|&p| look.stays(p)))?;
        Some(depths.iter().all(|d| d.is_some_and(|d| d > 0)))
    })
}
