use super::*;

concept!(draws: pinhole, lens; reads: through_the_hole, through_the_lens);

/// A tall thing whose top and bottom differ: an arrow, a tree, a key.
fn thing(s: &mut Setting) -> Vec<(Place, usize)> {
    let tall = s.between(4, 7);
    let head: &[Place] = match s.between(0, 2) {
        0 => &[(0, 1), (1, 0), (1, 1), (1, 2)],
        1 => &[(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)],
        _ => &[(0, 0), (0, 1), (0, 2), (1, 1)],
    };
    let mut cells: Vec<(Place, usize)> = head.iter().map(|&q| (q, 1)).collect();
    cells.extend((2..tall).map(|r| ((r, 1), 2)));
    cells
}

fn pinhole(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let cells = thing(s);
    let tall = cells.iter().map(|(q, _)| q.0).max()? + 1;
    let mid = s.between(tall, s.rows - tall - 1);
    let wall_at = s.cols / 2;
    let wall = s.colour(0);
    p.both(|g| {
        g.fill((0, wall_at), (g.rows() as i32, wall_at), wall);
        g.set(mid, wall_at, 0);
    });
    let away = s.between(1, wall_at - 4);
    // The thing stands above or below the axis, its image the other way round.
    let top = mid - tall + s.between(1, tall - 1);
    for &((r, c), role) in &cells {
        let at = (top + r, wall_at - away - 3 + c);
        let colour = s.colour(role);
        p.both(|g| g.set(at.0, at.1, colour));
        p.output.set(2 * mid - at.0, 2 * wall_at - at.1, colour);
    }
    let whole = p.output.count(s.colour(1)) == 2 * p.input.count(s.colour(1));
    let tail = p.output.count(s.colour(2)) == 2 * p.input.count(s.colour(2));
    (whole && tail).then_some(p)
}

fn lens(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, ray) = (s.colour(0), s.colour(3));
    let at = s.cols / 2 + s.between(-1, 0);
    let mid = s.between(5, s.rows - 6);
    p.both(|g| {
        g.fill((mid - 4, at), (mid + 4, at), glass);
        g.fill((mid - 2, at - 1), (mid + 2, at + 1), glass);
    });
    let (big, small) = (4, 2);
    let left = s.between(0, 1);
    let right = s.cols - 1 - s.between(0, 1);
    let draw = |g: &mut Grid, col: i32, size: i32, up: i32| {
        for i in 1..=size {
            let role = if 2 * i > size { 1 } else { 2 };
            let row = mid - up * i;
            g.set(row, col, s.colour(role));
        }
        let tip = mid - up * size;
        g.set(tip + up, col - 1, s.colour(1));
        g.set(tip + up, col + 1, s.colour(1));
    };
    let (from, to) = (left + 1, right - 1);
    draw(&mut p.input, from, big, 1);
    // A ray straight on to the lens and down through the image's tip, and one through the middle.
    let mut out = p.input.clone();
    out.paint(line((mid - big, from + 2), (mid - big, at - 1)), ray);
    out.paint(line((mid - big, at + 1), (mid + small, to - 1)), ray);
    // Through the middle of the lens it goes straight on.
    out.paint_free(line((mid - big, from + 2), (mid + small, to - 1)), ray);
    draw(&mut out, from, big, 1);
    draw(&mut out, to, small, -1);
    p.output = out;
    (to - at >= 4 && at - from >= 4).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

/// A still line of one colour from edge to edge, upright, with one cell missing: the hole.
fn hole(look: &Look) -> Option<(Place, u8)> {
    (0..look.cols()).find_map(|c| {
        let wall = look.was((0, c)).max(look.was((1, c)));
        let gaps = those(0..look.rows(), |&r| look.was((r, c)) != wall);
        match gaps.as_slice() {
            [r] if wall != 0 && look.was((*r, c)) == 0 => Some(((*r, c), wall)),
            _ => None,
        }
    })
}

fn through_the_hole(look: &Look) -> bool {
    look.only_added
        && look.changed.len() >= 4
        && look.fresh.is_empty()
        && look.lying_or_upright(|look| {
            let ((r, c), _) = hole(look)?;
            let image = |p: &Place| (2 * r - p.0, 2 * c - p.1);
            let side = look.changed.first().map_or(0, |p| (p.1 - c).signum());
            let from: Vec<Place> = look.changed.iter().map(image).collect();
            let whole = |part: &Part| {
                let some = part.cells.iter().any(|p| from.contains(p));
                !some || part.cells.iter().all(|p| from.contains(p))
            };
            given(side != 0)?;
            given(every(&look.changed, |p| {
                (p.1 - c).signum() == side && look.was(image(p)) == look.is(*p)
            }))?;
            Some(look.parts_before().iter().all(whole))
        })
}

fn through_the_lens(look: &Look) -> Option<bool> {
    let ray = look.one_fresh()?;
    given(look.only_added)?;
    Some(look.lying_or_upright(|look| {
        let kinds: Vec<u8> = look.touched.iter().copied().filter(|c| *c != ray).collect();
        let [x, y] = *exactly(&kinds)?;
        let rows = |cells: &[Place]| -> Option<(i32, i32)> {
            let [t, _, b, _] = bounds(cells)?;
            Some((t, b))
        };
        let thing = [look.input.places_of(x), look.input.places_of(y)];
        let image = [look.came(x), look.came(y)];
        let size = |cells: &[Vec<Place>; 2]| cells.iter().map(Vec::len).sum::<usize>();
        let order = |cells: &[Vec<Place>; 2]| -> Option<i32> {
            let (a, b) = (rows(&cells[0])?, rows(&cells[1])?);
            Some(((a.0 + a.1) - (b.0 + b.1)).signum())
        };
        let (a, b) = (order(&thing)?, order(&image)?);
        let all = |cells: &[Vec<Place>; 2]| bounds(&cells.concat());
        let (p, q) = (all(&thing)?, all(&image)?);
        // Something still stands between thing and image.
        let (l, r) = if p[3] < q[1] {
            (p[3], q[1])
        } else {
            (q[3], p[1])
        };
        let lens = (l + 1..r).any(|c| (0..look.rows()).any(|r| look.stays((r, c))));
        let rays = look.after_of(ray);
        given(a * b == -1 && size(&image) < size(&thing) && connected(&image.concat()))?;
        given(every(&rays, |p| p.len() > 1 || look.attached(p, &look.output)) && r - l > 2)?;
        Some(lens)
    }))
}
