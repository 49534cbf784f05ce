use super::*;

concept!(draws: rods, thermometers; reads: longer_and_shorter);

fn rods(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (rod, fire, ice, wall) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let by = s.between(2, 4);
    let long = s.between(by + 3, s.cols - by - 2);
    let first = s.between(0, s.rows - 11);
    let second = first + 6;
    let (hot, cold) = s.either((first, second), (second, first));
    p.both(|g| {
        g.fill((0, 0), (g.rows() as i32, 0), wall);
        flame(g, hot + 4, 3, fire);
        g.fill((cold + 2, 2), (cold + 3, 4), ice);
    });
    for (g, change) in [(&mut p.input, 0), (&mut p.output, by)] {
        g.fill((hot, 1), (hot + 1, long + change), rod);
        g.fill((cold, 1), (cold + 1, long - change), rod);
    }
    (second + 4 < s.rows && first + 4 < second).then_some(p)
}

fn thermometers(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, liquid, fire, ice) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let floor = s.rows - s.between(4, 5);
    let top = s.between(0, 1);
    let (first, second) = (2 + s.between(0, 1), s.cols - 3 - s.between(0, 1));
    let (hot, cold) = s.either((first, second), (second, first));
    let room = floor - top - 2;
    let by = s.between(2.max((room - 1) / 3), (room - 1) / 2);
    let level = s.between(by + 1, room - by);
    p.both(|g| {
        flame(g, floor + 3, hot, fire);
        g.fill((floor + 1, cold - 1), (floor + 3, cold + 1), ice);
        for c in [hot, cold] {
            walls(g, (top, floor), (c - 1, c + 1), glass);
            g.set(top, c, glass);
            g.fill((floor - 1, c - 1), (floor, c + 1), liquid);
        }
    });
    for (g, change) in [(&mut p.input, 0), (&mut p.output, by)] {
        g.fill((floor - level - change, hot), (floor, hot), liquid);
        g.fill((floor - level + change, cold), (floor, cold), liquid);
    }
    (room >= 6 && floor + 3 < s.rows).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn longer_and_shorter(look: &Look) -> Option<bool> {
    let [colour] = *exactly(&look.touched)?;
    given(look.kept(colour, 6))?;
    let (before, after) = (look.before_of(colour), look.after_of(colour));
    let ([a, b], [c, d]) = (exactly(&before)?, exactly(&after)?);
    let within = |small: &Part, large: &Part| {
        small.len() < large.len() && small.cells.iter().all(|p| large.has(*p))
    };
    // Only one end of the bounds differs.
    let one_end = |p: &Part, q: &Part| (0..4).filter(|&i| p.bounds[i] != q.bounds[i]).count() == 1;
    let ways = [(a, c, b, d), (a, d, b, c), (b, c, a, d), (b, d, a, c)];
    Some(exists(ways, |(short, grown, long, shrunk)| {
        within(short, grown)
            && within(shrunk, long)
            && one_end(short, grown)
            && one_end(long, shrunk)
            && grown.len() - short.len() == long.len() - shrunk.len()
    }))
}
