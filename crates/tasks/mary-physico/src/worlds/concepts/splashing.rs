use super::*;

concept!(draws: crown, stone; reads: splashed);

/// Places of droplets thrown up on both sides of a column, nearest first.
fn spray(surface: i32, mid: i32) -> Vec<Place> {
    let (up, out) = ([1, 2, 1, 3, 4, 3, 5, 2], [2, 3, 4, 2, 4, 5, 3, 5]);
    let steps = up.into_iter().zip(out);
    let drops = steps.flat_map(|(up, out)| [mid - out, mid + out].map(|c| (surface - up, c)));
    drops.collect()
}

fn crown(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let water = s.colour(0);
    let surface = s.rows - s.between(4, 5);
    let mid = s.between(5, s.cols - 6);
    p.both(|g| g.fill((surface, 0), (g.rows() as i32, g.cols() as i32), water));
    const DROPS: [&[Place]; 3] = [
        &[(0, 0), (0, 1), (1, 0), (1, 1)],
        &[(0, 0), (1, -1), (1, 0), (1, 1), (2, 0)],
        &[
            (0, 0),
            (1, -1),
            (1, 0),
            (1, 1),
            (2, -1),
            (2, 0),
            (2, 1),
            (3, 0),
        ],
    ];
    const PITS: [&[Place]; 4] = [
        &[(0, 0)],
        &[(0, -1), (0, 0), (0, 1)],
        &[(0, -1), (0, 0), (0, 1), (1, 0)],
        &[(0, -1), (0, 0), (0, 1), (1, -1), (1, 0), (1, 1)],
    ];
    let drop = s.choose(&DROPS)?;
    let top = s.between(0, 1);
    p.input.paint(shifted(drop, (top, mid)), water);
    let pit = shifted(s.choose(&PITS)?, (surface, mid));
    p.output.paint(pit.iter().copied(), 0);
    let flying = spray(surface, mid).into_iter().take(drop.len() + pit.len());
    p.output.paint(flying, water);
    (p.input.count(water) == p.output.count(water) && surface - top > 5).then_some(p)
}

fn stone(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (water, rock) = (s.colour(0), s.colour(1));
    let surface = s.rows - s.between(5, 6);
    let mid = s.between(5, s.cols - 6);
    p.both(|g| g.fill((surface, 0), (g.rows() as i32, g.cols() as i32), water));
    let (tall, wide) = (s.between(1, 3), s.between(2, 3));
    let top = s.between(0, 1);
    let left = mid - wide / 2;
    p.input.fill_box((top, left), (tall, wide), rock);
    let under = surface + s.between(1, 2);
    p.output.fill_box((under, left), (tall, wide), rock);
    p.output
        .fill_box((surface, left), (under - surface, wide), water);
    let flying = spray(surface, mid).into_iter().take((tall * wide) as usize);
    p.output.paint(flying, water);
    (p.input.count(water) == p.output.count(water)).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn splashed(look: &Look) -> bool {
    exists(&look.touched, |&water| {
        given(look.kept(water, 20))?;
        let top = surface(look, water)?;
        let up = those(look.output.places_of(water), |p| p.0 < top);
        // What fell: a body that is under water now, or a drop of the liquid itself.
        let body = look.touched.iter().find(|c| **c != water);
        let struck: Vec<Place> = match body {
            Some(&c) => {
                let by = look.one_move(c)?.by;
                given(by.0 > 0 && by.1 == 0)?;
                look.output.places_of(c)
            }
            None => look.gone(water),
        };
        // Before it struck, nothing of the liquid was above but the drop.
        let above = those(look.input.places_of(water), |p| p.0 < top);
        given(above.is_empty() == body.is_some() && connected(&above))?;
        let pit: Vec<Place> = struck.iter().copied().filter(|p| p.0 >= top).collect();
        let [_, l, _, r] = bounds(&pit)?;
        let m = (l + r) / 2;
        let wet = |p: Place| p.0 < top && look.is(p) == water;
        let clumped = exists(&up, |&(r, c)| {
            wet((r, c + 1)) && wet((r + 1, c)) && wet((r + 1, c + 1))
        });
        let sides = |ok: &dyn Fn(i32) -> bool| up.iter().any(|p| ok(p.1));
        given(up.len() >= 2 && !clumped && r - l < 5)?;
        given(every(&up, |p| p.1 <= l.min(m - 1) || p.1 >= r.max(m + 1)) && sides(&|c| c < m))?;
        Some(sides(&|c| c > m) && up.iter().all(|&p| look.was(p) != water || body.is_none()))
    })
}
