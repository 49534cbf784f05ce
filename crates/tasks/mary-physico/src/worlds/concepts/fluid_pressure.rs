use super::*;

concept!(draws: jets, pushed_pistons; reads: sprang_out, pushed_out);

fn jets(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, water, plug, earth) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let ground = s.rows - 1;
    let wide = s.between(2, 3);
    let right = wide + 1;
    let floor = ground - s.between(4, 5);
    let top = s.between(0, 1);
    p.both(|g| {
        vessel(g, top, floor, (0, right), wall);
        g.fill((top + 1, 1), (floor - 1, right - 1), water);
        g.fill((floor + 1, 1), (ground - 1, 1), wall);
        g.fill((floor + 1, right - 1), (ground - 1, right - 1), wall);
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
    });
    let deepest = floor - 1 - top;
    let holes = [2, (deepest + 3) / 2, deepest];
    let room = s.cols - right - 1;
    for (i, d) in holes.iter().enumerate() {
        let row = top + d;
        p.input.set(row, right, plug);
        p.output.set(row, right, water);
        let reach = room * (i as i32 + 1) / 3;
        let drop = ground - 1 - row;
        let mut last = (row, right);
        for dx in 1..=reach {
            let next = (row + drop * dx * dx / (reach * reach), right + dx);
            p.output.paint(line(last, next), water);
            last = next;
        }
    }
    (deepest >= 5).then_some(p)
}

fn pushed_pistons(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, water, slug) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - 1;
    let wide = s.between(2, 3);
    let right = wide + 1;
    let top = s.between(0, 1);
    let surface = top + 1;
    p.both(|g| {
        vessel(g, top, floor, (0, right), wall);
        g.fill((surface, 1), (floor - 1, right - 1), water);
    });
    let room = s.cols - right - 4;
    let mut row = surface + s.between(1, 2);
    let mut gauges = 0;
    while row < floor {
        let out = ((row - surface) * room / (floor - 1 - surface)).max(1);
        // A horizontal tube; its lips are the wall's colour.
        p.both(|g| g.set(row, right, water));
        p.input.fill((row, right + 1), (row, right + 2), slug);
        p.output.fill((row, right + 1), (row, right + out), water);
        p.output.fill_box((row, right + out + 1), (1, 2), slug);
        gauges += 1;
        row += s.between(2, 3);
    }
    (gauges >= 3).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn sprang_out(look: &Look) -> Option<bool> {
    let plug = look.one_lost()?;
    given((2..=3).contains(&look.touched.len()))?;
    let holes = look.input.places_of(plug);
    let water = holes.first().map_or(0, |&p| look.is(p));
    let (first, last) = (holes.first()?, holes.last()?);
    let col = first.1;
    given(holes.len() >= 2 && look.gone(water).is_empty() && look.had(water) >= 4)?;
    given(holes.iter().all(|p| p.1 == col))?;
    given(look.changed.iter().all(|&p| look.is(p) == water))?;
    let outside = those(look.changed.iter().copied(), |p| p.1 != col);
    let way = outside.first().map_or(0, |p| (p.1 - col).signum());
    // How far a jet goes straight out before it begins to drop.
    let level = |row: i32| {
        let wet = |k: &i32| look.is((row, col + way * k)) == water;
        (1..20).take_while(wet).count()
    };
    given(outside.len() >= 4 && look.has_parts(water, 1, 1))?;
    Some(outside.iter().all(|p| (p.1 - col) * way > 0) && level(last.0) > level(first.0))
}

fn pushed_out(look: &Look) -> bool {
    exists(&look.touched, |&slug| {
        let &water = look.touched.iter().find(|c| **c != slug)?;
        given(look.kept(slug, 3) && look.has(water) > look.had(water))?;
        let mut all = look.moves_of(&[slug])?;
        all.sort_by_key(|m| m.from.bounds[0]);
        let far: Vec<i32> = all.iter().map(|m| m.by.1.abs()).collect();
        let start = all.first().map(|m| m.from.bounds[1]);
        given(all.len() >= 2 && every(&all, |m| m.by.0 == 0 && Some(m.from.bounds[1]) == start))?;
        given(far.windows(2).all(|w| w[0] <= w[1]) && far.first() < far.last())?;
        Some(look.gone(water).is_empty() && look.has_parts(water, 1, 1))
    })
}
