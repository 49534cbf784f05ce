use super::*;

concept! {
    draws: one_colour_passes, through_the_glass, through_the_frame, overlapping_panes;
    reads: passed_the_plate, seen_through_glass, only_its_colour, third_colour;
}

fn one_colour_passes(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let plate = s.between(4, s.cols - 6);
    let pass = s.between(0, 2) as usize;
    let own = s.colour(pass);
    let mut row = s.between(1, 2);
    let mut i = s.between(0, 2) as usize;
    let mut seen = [0; 3];
    while row < s.rows - 1 {
        let colour = s.colour(i % 3);
        p.both(|g| g.fill((row, 0), (row, plate - 1), colour));
        if colour == own {
            p.output.fill((row, plate + 1), (row, s.cols), colour);
        }
        if let Some(n) = seen.get_mut(i % 3) {
            *n += 1;
        }
        i += 1;
        row += s.between(2, 3);
    }
    p.both(|g| g.fill((0, plate), (g.rows() as i32, plate), own));
    seen.iter().all(|&n| n > 0).then_some(p)
}

fn through_the_glass(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let glass = s.colour(0);
    let (tall, wide) = (s.between(7, s.rows - 2), s.between(7, s.cols - 4));
    let (top, left) = s.place((0, s.rows - tall), (0, s.cols - wide));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    p.both(|g| g.frame((top, left), (bottom, right), glass));
    let behind = |q: &Place| q.0 > top && q.0 < bottom && q.1 > left && q.1 < right;
    // Things of three colours by turns, behind the glass and beside it.
    let mut seen = [0; 3];
    let many = s.between(5, 12);
    let mut put = 0;
    for _ in 0..60 {
        let size = s.between(2, 5) as usize;
        // The first of each colour behind the glass, the others anywhere.
        let at = match put < 3 {
            true => s.place((top + 2, bottom - 2), (left + 2, right - 2)),
            false => s.place((0, s.rows - 2), (0, s.cols - 2)),
        };
        let form = shifted(&s.blob(size), at);
        if put >= many || !p.input.roomy(&form) {
            continue;
        }
        let inside = form.iter().all(behind);
        let kind = (put % 3) as usize;
        let colour = s.colour(kind);
        p.input.paint(form.clone(), colour);
        if !inside || colour == glass {
            p.output.paint(form, colour);
        }
        if inside && let Some(n) = seen.get_mut(kind) {
            *n += 1;
        }
        put += 1;
    }
    seen.iter().all(|&n| n > 0).then_some(p)
}

fn through_the_frame(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let frame = s.colour(0);
    let (tall, wide) = (s.between(6, 10), s.between(6, 10));
    let (top, left) = s.place((0, s.rows - tall), (0, s.cols - wide));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    p.both(|g| g.frame((top, left), (bottom, right), frame));
    let sparse = s.between(1, 4);
    for (r, c) in p.input.places() {
        let inside = r > top + 1 && r < bottom - 1 && c > left + 1 && c < right - 1;
        let outside = r < top - 1 || r > bottom + 1 || c < left - 1 || c > right + 1;
        if !(inside || outside) || s.between(0, sparse + if outside { 6 } else { 0 }) != 0 {
            continue;
        }
        let colour = s.any_colour(0, 2);
        p.input.set(r, c, colour);
        if outside || colour == frame {
            p.output.set(r, c, colour);
        }
    }
    let inner = |q: &&Place| q.0 > top && q.0 < bottom && q.1 > left && q.1 < right;
    let seen = p.output.places_of(frame).iter().filter(inner).count();
    (seen >= 2 && p.input.places_unlike(&p.output).len() >= 3).then_some(p)
}

fn overlapping_panes(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (one, two, both) = (s.colour(0), s.colour(1), s.colour(2));
    let (tall, wide) = (s.between(4, 9), s.between(4, 9));
    let (h, w) = (s.between(4, 9), s.between(4, 9));
    let a = s.place((0, s.rows - tall), (0, s.cols - wide));
    let b = s.place((0, s.rows - h), (0, s.cols - w));
    let (top, left) = (a.0.max(b.0), a.1.max(b.1));
    let (bottom, right) = ((a.0 + tall).min(b.0 + h) - 1, (a.1 + wide).min(b.1 + w) - 1);
    given(bottom > top && right > left)?;
    p.both(|g| {
        g.fill(a, (a.0 + tall - 1, a.1 + wide - 1), one);
        g.fill(b, (b.0 + h - 1, b.1 + w - 1), two);
    });
    p.output.fill((top, left), (bottom, right), both);
    let left_of = |c: u8| p.output.count(c) >= 6;
    (left_of(one) && left_of(two)).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn passed_the_plate(look: &Look) -> Option<bool> {
    let own = look.one_added()?;
    given(look.had(own) >= 10)?;
    Some(look.lying_or_upright(|look| {
        let plate = (0..look.cols()).find(|&c| (0..look.rows()).all(|r| look.was((r, c)) == own));
        let Some(at) = plate else { return false };
        [-1, 1].into_iter().any(|side| {
            let from = |r: i32| look.was((r, at + side));
            let to = |r: i32| look.is((r, at - side));
            let kinds = distinct((0..look.rows()).map(from).filter(|&k| k != 0));
            let passes = (0..look.rows())
                .all(|r| (from(r) == own) == (to(r) == own) && (to(r) == own || to(r) == 0));
            let in_lane = |p: &Place| from(p.0) == own && (p.1 - at) * side < 0;
            kinds.len() >= 2 && passes && look.changed.iter().all(in_lane)
        })
    }))
}

fn seen_through_glass(look: &Look) -> Option<bool> {
    let dark = look.changed.iter().all(|&p| look.is(p) == 0);
    given(dark)?;
    Some(
        (1u8..10)
            .filter(|g| !look.touched.contains(g) && look.had(*g) >= 12)
            .any(|glass| framed(&look.output, glass, &look.changed).yes()),
    )
}

/// Whether some frame of this colour holds all these cells and nothing inside it but its own colour.
fn framed(grid: &Grid, glass: u8, cells: &[Place]) -> Option<bool> {
    let [t, l, b, r] = bounds(cells)?;
    let (rows, cols) = (grid.rows() as i32, grid.cols() as i32);
    let row = |y: i32, x0: i32, x1: i32| (x0..=x1).all(|x| grid.at(y, x) == glass);
    let col = |x: i32, y0: i32, y1: i32| (y0..=y1).all(|y| grid.at(y, x) == glass);
    let own = |y: i32, x: i32| [0, glass].contains(&grid.at(y, x));
    // Outwards from the cells to the nearest full line on each side.
    Some((0..l).rev().any(|x0| {
        exists(r + 1..cols, |x1| {
            let over = (0..t).rev().find(|&y| row(y, x0, x1));
            let under = (b + 1..rows).find(|&y| row(y, x0, x1));
            let (y0, y1) = (over?, under?);
            given(col(x0, y0, y1) && col(x1, y0, y1))?;
            Some((y0 + 1..y1).all(|y| (x0 + 1..x1).all(|x| own(y, x))))
        })
    }))
}

fn only_its_colour(look: &Look) -> Option<bool> {
    given(look.changed.iter().all(|&p| look.is(p) == 0))?;
    let frame = |p: &&Part| p.is_frame() && !look.restless(p);
    Some(look.parts_before().iter().filter(frame).any(|frame| {
        let [t, l, b, r] = frame.bounds;
        let inside = |p: &Place| p.0 > t && p.0 < b && p.1 > l && p.1 < r;
        let within = those(look.input.places_where(|c| c != 0), inside);
        let kept = those(look.output.places_of(frame.colour), inside);
        kept.len() >= 2
            && every(&look.changed, |p| inside(p) && look.was(*p) != frame.colour)
            && every(&within, |&p| {
                (look.is(p) != 0) == (look.was(p) == frame.colour)
            })
    }))
}

fn third_colour(look: &Look) -> Option<bool> {
    let [t, l, b, r] = bounds(&look.changed)?;
    let fresh = look.one_fresh()?;
    let &over = look.touched.iter().find(|c| **c != fresh)?;
    let shared = ((b - t + 1) * (r - l + 1)) as usize;
    given(shared == look.changed.len() && shared >= 4)?;
    // The pane on top is a whole rectangle; the one below is one together with what is shared.
    Some(look.before_of(over).iter().any(|top| {
        top.is_box()
            && top.touches(&look.changed)
            && look.parts_before().iter().any(|under| {
                let mut cells = under.cells.clone();
                cells.extend(look.changed.iter().copied());
                under.colour != over && under.len() >= 6 && area(&cells) as usize == cells.len()
            })
    }))
}
