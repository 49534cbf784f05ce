use super::*;

concept!(draws: ice_on_the_table, cubes_in_a_glass; reads: melted);

fn ice_on_the_table(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (table, ice, water, light) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let floor = s.rows - s.between(1, 2);
    let (tall, wide) = (s.between(3, 5), s.between(3, 4));
    let mid = s.between(s.cols / 2 - 1, s.cols / 2 + 1);
    let left = mid - wide / 2;
    let corner = if s.coin() { (1, 1) } else { (1, s.cols - 3) };
    p.both(|g| {
        g.fill((floor, 0), (g.rows() as i32, g.cols() as i32), table);
        sun(g, corner, light);
    });
    p.input.fill_box((floor - tall, left), (tall, wide), ice);
    puddle(&mut p.output, floor, mid, s.cols - 2, tall * wide, water);
    let whole = p.output.count(water) as i32 == tall * wide;
    (whole && floor - tall > 4).then_some(p)
}

fn cubes_in_a_glass(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, ice, water, fire) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let wide = s.between(5, s.cols - 4);
    let left = s.between(1, s.cols - wide - 3);
    let right = left + wide + 1;
    let floor = s.rows - 4;
    let top = s.between(0, 2);
    p.both(|g| {
        vessel(g, top, floor, (left, right), glass);
        flame(g, floor + 3, (left + right) / 2, fire);
    });
    // Cubes stand on one another, none higher than the rim.
    let mut c = left + 1;
    while c + 1 < right {
        let high = s.between(1, ((floor - top) / 2 - 1).max(1));
        let bases = (0..high).map(|k| floor - 1 - 2 * k);
        for base in bases.filter(|base| base - 1 > top) {
            p.input.fill((base - 1, c), (base, c + 1), ice);
        }
        c += 3;
    }
    let cells = p.input.count(ice) as i32;
    let poured = (0..cells).map(|i| (floor - 1 - i / wide, left + 1 + i % wide));
    p.output.paint(poured, water);
    let highest = p.input.places_of(ice).first().map_or(0, |q| floor - q.0);
    (cells >= 8 && cells % wide == 0 && cells / wide + 2 <= highest && floor - top > 5).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn melted(look: &Look) -> Option<bool> {
    given(!look.fresh.is_empty())?;
    let high = |cells: &[Place]| bounds(cells).map_or(0, |[t, _, b, _]| b - t + 1);
    Some(became(look).into_iter().any(|(ice, water)| {
        let (a, b) = (look.input.places_of(ice), look.output.places_of(water));
        a.len() >= 6 && a.len() == b.len() && high(&b) < high(&a)
    }))
}
