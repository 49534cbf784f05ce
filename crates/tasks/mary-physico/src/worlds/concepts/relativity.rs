use super::*;

concept!(draws: shorter, bent_space; reads: shorter_along, bent_towards_it);

fn shorter(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (hull, window, speed) = (s.colour(0), s.colour(1), s.colour(2));
    let long = 2 * s.between(3, 4);
    let tall = 3;
    let top = s.between(1, s.rows - 2 * tall - 5);
    let low = s.between(top + tall + 3, s.rows - tall - 1);
    let draw = |g: &mut Grid, row: i32, left: i32, long: i32| {
        g.fill((row, left), (row + tall - 1, left + long - 2), hull);
        // The nose, and the fins that stand out at the tail.
        g.set(row + tall / 2, left + long - 1, hull);
        g.set(row - 1, left, hull);
        g.set(row + tall, left, hull);
        let inset = (long / 4).max(1);
        g.fill_box((row + 1, left + inset), (1, long - 2 * inset), window);
    };
    let left = s.between(0, 1);
    let (rest, fly) = if s.coin() { (top, low) } else { (low, top) };
    draw(&mut p.input, top, left, long);
    draw(&mut p.input, low, left, long);
    draw(&mut p.output, rest, left, long);
    let to = s.cols - long / 2 - s.between(0, 1);
    draw(&mut p.output, fly, to, long / 2);
    for r in [fly, fly + 2] {
        p.output.fill((r, to - 5), (r, to - 2), speed);
    }
    Some(p)
}

fn bent_space(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (space, star) = (s.colour(0), s.colour(1));
    let deep = s.between(2, 4);
    let lines = s.between(2, 3);
    let middle = s.between(4, s.cols - 5);
    let top = s.between(3, (s.rows - deep - 3 * lines + 2).max(3));
    for i in 0..lines {
        let row = top + 3 * i;
        for c in 0..s.cols {
            p.input.set(row, c, space);
            let dip = (deep - i - (c - middle).abs() / 2).max(0);
            p.output.set(row + dip, c, space);
        }
    }
    let low = top + deep;
    p.output.fill_box((low - 3, middle - 1), (3, 3), star);
    for (r, c) in [(low - 3, middle - 1), (low - 3, middle + 1)] {
        p.output.set(r, c, 0);
    }
    let whole = (0..s.cols)
        .all(|c| (0..s.rows).filter(|&r| p.output.at(r, c) == space).count() as i32 == lines);
    (whole && top + 3 * (lines - 1) + deep < s.rows).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn colours(grid: &Grid, part: &Part) -> u16 {
    let cells = part.cells.iter();
    cells.fold(0, |set, &(r, c)| set | 1 << grid.at(r, c))
}

/// Whether a body fills its bounds but for what a nose and two fins leave empty.
fn pointed(part: &Part) -> bool {
    let (tall, wide) = (part.tall(), part.wide());
    let hull = part.len() as i32;
    // A rocket of five by n, or of n by five where it is turned.
    let of = |long: i32| hull == 3 * (long - 1) + 3;
    (tall == 5 && of(wide)) || (wide == 5 && of(tall))
}

fn shorter_along(look: &Look) -> Option<bool> {
    let speed = look.one_fresh()?;
    let [ship] = exactly(look.bodies_before())?;
    let after = those(look.bodies_after().iter(), |b| {
        b.cells.iter().all(|&p| look.is(p) != speed)
    });
    let [short] = exactly(&after)?;
    let size = |p: &Part| (p.tall(), p.wide());
    let (tall, wide) = size(short);
    let (down, across) = ship.step_to(short);
    let halved = ((tall, 2 * wide) == size(ship) && down == 0)
        || ((2 * tall, wide) == size(ship) && across == 0);
    let hull = look.before_of(look.was(*ship.cells.first()?));
    let mut hull = hull.iter();
    let twin = hull.any(|p| !look.restless(p) && size(p) == size(ship));
    let streak = |p: &&Part| p.is_run() && p.len() >= 2;
    given(halved && look.after_of(speed).iter().all(streak) && pointed(ship) && pointed(short))?;
    Some(ship.len() >= 8 && colours(&look.input, ship) == colours(&look.output, short) && twin)
}

fn bent_towards_it(look: &Look) -> Option<bool> {
    let star = look.one_fresh()?;
    let stars = look.after_of(star);
    let [body] = exactly(&stars)?;
    let &space = look.touched.iter().find(|c| **c != star)?;
    let middle = body.middle().1 / 2;
    let rows = |grid: &Grid| -> Vec<Vec<i32>> {
        let column = |c: i32| those(0..look.rows(), |&r| grid.at(r, c) == space);
        (0..look.cols()).map(column).collect()
    };
    let (was, is) = (rows(&look.input), rows(&look.output));
    let straight =
        was.windows(2).all(|w| w[0] == w[1]) && was.first().is_some_and(|w| !w.is_empty());
    let upper: Vec<i32> = is.iter().filter_map(|r| r.first().copied()).collect();
    let falls = every((0..).zip(upper.windows(2)), |(c, w)| {
        (w[1] - w[0]) * if c < middle { 1 } else { -1 } >= 0
    });
    let sank =
        |(a, b): (&Vec<i32>, &Vec<i32>)| a.len() == b.len() && a.iter().zip(b).all(|(x, y)| y >= x);
    given(straight && was.iter().zip(&is).all(sank) && falls && upper.len() == is.len())?;
    let deepest = *upper.get(middle as usize)?;
    Some(deepest >= upper.first()? + 2 && deepest == body.bounds[2] + 1)
}
