use super::*;

concept!(draws: rough_and_smooth, worn_and_hot; reads: slid_unequally, wore_down);

fn rough_and_smooth(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (floor, grit, block, wall) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let big = s.between(2, 3);
    let first = big + s.between(0, s.rows - 2 * big - 5) + 1;
    let second = s.between(first + big + 2, s.rows - 1);
    let (smooth, rough) = s.either((first, second), (second, first));
    p.both(|g| {
        let cols = g.cols() as i32;
        for row in [smooth, rough] {
            g.fill((row, 0), (row, cols), floor);
            g.fill((row - big, cols - 1), (row, cols - 1), wall);
        }
        // Grit stands up between the grains of the floor.
        for c in (big + 1..cols - 1).step_by(2) {
            g.set(rough, c, grit);
        }
    });
    let stopped = s.between(2, 4);
    for (g, far) in [(&mut p.input, false), (&mut p.output, true)] {
        for (row, to) in [(smooth, s.cols - 1 - big), (rough, stopped)] {
            let left = if far { to } else { 0 };
            g.fill((row - big, left), (row - 1, left + big - 1), block);
        }
    }
    Some(p)
}

fn worn_and_hot(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (floor, block, hot) = (s.colour(0), s.colour(1), s.colour(2));
    let (wide, tall) = (s.between(2, 4), s.between(2, 5));
    let thick = s.between(2, 3);
    let row = s.rows - thick;
    let left = s.between(0, 2);
    let to = s.between(left + wide + 1, s.cols - wide);
    p.both(|g| {
        g.fill((row, 0), (g.rows() as i32, g.cols() as i32), floor);
        for c in (0..g.cols() as i32).step_by(2) {
            g.set(row - 1, c, floor);
        }
    });
    p.input
        .fill_box((row - 1 - tall, left), (tall, wide), block);
    p.output.fill_box((row - 1 - tall, to), (tall, wide), block);
    for c in left..to {
        p.output.set(row - 1, c, 0);
        p.output.set(row, c, hot);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn slid_unequally(look: &Look) -> Option<bool> {
    let all = look.moves()?;
    let [a, b] = exactly(&all)?;
    given(a.by.0 == 0 && b.by.0 == 0 && a.by.1 * b.by.1 > 0 && a.by.1 != b.by.1)?;
    let [slow, fast] = ordered([a, b], |m| m.by.1.abs());
    let floor = |part: &Part| {
        let row = part.bounds[2] + 1;
        distinct((0..look.cols()).map(|c| look.was((row, c))))
    };
    let front = fast.to.beyond(fast.by.1);
    let (rough, smooth) = (floor(slow.from), floor(fast.from));
    given(a.from.alike(b.from) && a.from.is_box() && look.stays((fast.to.bounds[2], front)))?;
    Some(rough.len() > smooth.len() && !rough.contains(&0) && !smooth.contains(&0))
}

fn wore_down(look: &Look) -> Option<bool> {
    let hot = look.one_fresh()?;
    Some(look.another(hot, |block| {
        let one = look.one_move(block)?;
        let bumps = one.from.bounds[2] + 1;
        let warm = look.came(hot);
        let worn = those(look.changed.iter().copied(), |&p| {
            look.is(p) == 0 && look.was(p) != block
        });
        let rest =
            |&p: &Place| one.from.has(p) || one.to.has(p) || warm.contains(&p) || worn.contains(&p);
        given(one.by.0 == 0 && one.from.is_box() && warm.len() as i32 == one.by.1.abs())?;
        given(warm.iter().all(|p| p.0 == bumps + 1 && look.was(*p) != 0) && worn.len() >= 2)?;
        given(every(&worn, |p| {
            p.0 == bumps && warm.contains(&(p.0 + 1, p.1))
        }))?;
        Some(look.changed.iter().all(rest))
    }))
}
