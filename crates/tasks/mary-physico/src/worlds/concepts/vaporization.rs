use super::*;

concept!(draws: boiling_pot, drying_puddle; reads: vaporized);

/// Vapour: so many single cells in a box, no two side by side.
fn vapour(s: &mut Setting, g: &mut Grid, from: Place, to: Place, cells: usize, colour: u8) -> bool {
    let odd = s.between(0, 1);
    let mut spots = room(from, to);
    spots.retain(|&(r, c)| (r + c) % 2 == odd && g.free(r, c));
    let enough = spots.len() >= cells;
    g.paint(s.shuffled(spots).into_iter().take(cells), colour);
    enough
}

fn boiling_pot(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (pot, water, steam, fire) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let wide = s.between(5, s.cols - 4);
    let left = s.between(1, s.cols - wide - 3);
    let right = left + wide + 1;
    let floor = s.rows - 4;
    let deep = s.between(3, 4);
    p.both(|g| {
        vessel(g, floor - deep - 1, floor, (left, right), pot);
        flame(g, floor + 3, (left + right) / 2, fire);
    });
    let lost = s.between(1, 2);
    for (g, deep) in [(&mut p.input, deep), (&mut p.output, deep - lost)] {
        g.fill_box((floor - deep, left + 1), (deep, wide), water);
    }
    let (cells, above) = ((lost * wide) as usize, (floor - deep - 1, right));
    vapour(s, &mut p.output, (0, left), above, cells, steam).then_some(p)
}

fn drying_puddle(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (table, water, steam, light) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let floor = s.rows - s.between(1, 2);
    let mid = s.cols / 2;
    let corner = if s.coin() { (1, 1) } else { (1, s.cols - 3) };
    p.both(|g| {
        g.fill((floor, 0), (g.rows() as i32, g.cols() as i32), table);
        sun(g, corner, light);
    });
    let wide = s.between(6, s.cols - 2);
    let cells = wide + s.between(2, wide - 3);
    let rest = s.between(3, cells / 2);
    puddle(&mut p.input, floor, mid, wide, cells, water);
    puddle(&mut p.output, floor, mid, wide / 2, rest, water);
    let (gone, above) = ((cells - rest) as usize, (floor - 4, s.cols - 3));
    let enough = vapour(s, &mut p.output, (4, 2), above, gone, steam);
    let whole = p.input.count(water) as i32 == cells && p.output.count(water) as i32 == rest;
    (enough && whole).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn vaporized(look: &Look) -> Option<bool> {
    given(!look.fresh.is_empty())?;
    Some(became(look).into_iter().any(|(water, steam)| {
        let cloud = look.output.places_of(steam);
        let rest = look.has(water);
        let surface = look.input.places_of(water).first().map_or(0, |p| p.0);
        rest > 0
            && cloud.iter().all(|p| p.0 < surface)
            && look.output.regions(|c| c == steam, false).len() == cloud.len()
    }))
}
