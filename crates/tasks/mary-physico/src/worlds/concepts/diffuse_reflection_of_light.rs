use super::*;

concept!(draws: rough_ground, fan; reads: scattered);

/// A rough floor: every column one or two cells high, no long flat stretch. Its rows.
fn rough(s: &mut Setting, p: &mut Pair, ground: u8) -> Vec<i32> {
    let (base, odd) = (s.rows - 2, s.between(0, 1));
    let cols = s.cols;
    let mut high = |c: i32| i32::from((c + odd) % 2 == 0) + i32::from(s.between(0, 4) == 0);
    let floor: Vec<i32> = (0..cols).map(|c| base - high(c)).collect();
    for (c, &r) in (0..).zip(&floor) {
        p.both(|g| g.fill((r, c), (g.rows() as i32, c), ground));
    }
    floor
}

fn rough_ground(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (ground, light, back) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = rough(s, &mut p, ground);
    // Slopes of the rays thrown back, each another one.
    let ways: Vec<Place> = s.shuffled(vec![
        (-4, -3),
        (-4, 2),
        (-3, 3),
        (-4, -1),
        (-3, -3),
        (-4, 3),
    ]);
    let step = s.between(5, 6);
    let mut c = s.between(1, 3);
    let mut rays = 0;
    while c < s.cols {
        let hit = floor.get(c as usize)? - 1;
        let (dr, dc) = *ways.get(rays % ways.len())?;
        let start = (hit - 1, c + dc.signum());
        let ray = line(start, (start.0 + dr, start.1 + dc));
        p.output.paint_free(ray, back);
        p.both(|g| g.fill((0, c), (hit, c), light));
        rays += 1;
        c += step;
    }
    (rays >= 2 && p.output.count(back) >= 3 * rays).then_some(p)
}

fn fan(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (ground, light, back) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = rough(s, &mut p, ground);
    let mid = s.between(s.cols / 2 - 1, s.cols / 2 + 1);
    let hit = (floor.get(mid as usize)? - 1, mid);
    let far = s.between(5, 7).min(hit.0 - 1);
    let ways = [
        (-far, far),
        (-far, far / 3),
        (-far, -far / 3),
        (-far / 3, far),
        (-far / 3, -far),
    ];
    for (dr, dc) in ways {
        let clear = |q: &Place| p.input.get(q.0, q.1).is_none_or(|v| v != ground);
        let ray = line(hit, (hit.0 + dr, hit.1 + dc)).into_iter().skip(2);
        p.output.paint(ray.take_while(clear), back);
    }
    let into = line(hit, (hit.0 - far, hit.1 - far));
    p.both(|g| g.paint(into.iter().copied(), light));
    (far >= 5).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn scattered(look: &Look) -> Option<bool> {
    let back = look.one_added()?;
    given(look.had(back) == 0)?;
    // The ground: coloured from its rough top down to the lower edge in every column.
    let bottom = look.rows() - 1;
    let ground = look.was((bottom, 0));
    let top = |c: i32| {
        let from = (0..=bottom).rev().find(|&r| look.was((r, c)) != ground);
        from.map_or(0, |r| r + 1)
    };
    let tops: Vec<i32> = (0..look.cols()).map(top).collect();
    let rough = tops.windows(2).filter(|w| w[0] != w[1]).count();
    given(ground != 0 && 3 * rough >= tops.len() && tops.iter().all(|&t| t <= bottom))?;
    let above = tops.iter().zip(0..).map(|(&t, c)| (t - 1, c));
    let hits = those(above, |&p| look.stays(p) && look.was(p) != ground);
    let near = |p: &Place, q: &Place| (p.0 - q.0).abs().max((p.1 - q.1).abs()) <= 2;
    let leaves = |p: &Place| look.changed.iter().any(|q| near(p, q));
    // A ray thrown out of sight leaves nothing.
    let left = hits.iter().filter(|p| leaves(p)).count();
    let starts = |part: &Part| part.cells.iter().any(|p| hits.iter().any(|q| near(q, p)));
    let thrown = |part: &Part| starts(part) || look.attached(part, &look.output);
    Some(left >= 1 && 2 * left >= hits.len() && look.new_parts().iter().all(thrown))
}
