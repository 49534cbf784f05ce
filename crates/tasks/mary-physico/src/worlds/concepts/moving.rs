use super::*;

concept! {
    draws: one_body, all_alike, to_the_mark, changed_places;
    reads: moved, covered_the_mark, exchanged;
}

fn one_body(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let form = s.any_blob(5, 8);
    let (height, width) = extent(&form);
    let from = s.place((0, s.rows - height), (0, s.cols / 2 - width));
    let by = s.between(width + 1, s.cols - width - from.1);
    let to = (from.0, from.1 + by);
    p.input.stamp(&form, from, s.colour(0));
    p.output.stamp(&form, to, s.colour(0));
    rest(s, &mut p, 2);
    (p.output.count(s.colour(0)) == form.len()).then_some(p)
}

fn all_alike(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let by = s.between(3, 6);
    let mut bodies = 0;
    for _ in 0..s.between(6, 12) {
        let form = s.any_blob(2, 5);
        let (height, width) = extent(&form);
        let at = s.place((0, s.rows - height), (0, s.cols - width - by));
        let (from, to) = (shifted(&form, at), shifted(&form, (at.0, at.1 + by)));
        if p.input.roomy(&from) && p.output.roomy(&to) {
            p.input.paint(from, s.colour(0));
            p.output.paint(to, s.colour(0));
            bodies += 1;
        }
    }
    rest(s, &mut p, 2);
    (bodies >= 2).then_some(p)
}

/// Bodies that stay where they are, where both grids have room.
fn rest(s: &mut Setting, p: &mut Pair, many: usize) {
    for role in 1..=many {
        let form = s.any_blob(2, 5);
        for _ in 0..20 {
            let at = s.place((0, s.rows - 2), (0, s.cols - 2));
            let cells = shifted(&form, at);
            if p.input.roomy(&cells) && p.output.roomy(&cells) {
                let colour = s.colour(role);
                p.both(|g| g.paint(cells.iter().copied(), colour));
                break;
            }
        }
    }
}

fn to_the_mark(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (body, mark) = (s.colour(0), s.colour(1));
    let (tall, wide) = (s.between(2, 4), s.between(2, 4));
    let box_at = |at: Place| block(at, tall, wide);
    let from = s.place((0, s.rows - tall), (0, s.cols - wide));
    let to = s.place((0, s.rows - tall), (0, s.cols - wide));
    let far = (from.0 - to.0).abs() > tall + 1 || (from.1 - to.1).abs() > wide + 1;
    given(far && from.0 != to.0 && from.1 != to.1)?;
    p.input.paint(box_at(from), body);
    p.output.paint(box_at(to), body);
    for (dr, dc) in [(0, 0), (0, wide - 1), (tall - 1, 0), (tall - 1, wide - 1)] {
        p.input.set(to.0 + dr, to.1 + dc, mark);
    }
    Some(p)
}

fn changed_places(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (one, two) = (s.colour(0), s.colour(1));
    let size = s.between(4, 9) as usize;
    let (a, b) = (s.blob(size), s.blob(size));
    let (ha, wa) = extent(&a);
    let (hb, wb) = extent(&b);
    let (tall, wide) = (ha.max(hb), wa.max(wb));
    let x = s.place((0, s.rows - tall), (0, s.cols - wide));
    let y = s.place((0, s.rows - tall), (0, s.cols - wide));
    given((x.0 - y.0).abs() > tall || (x.1 - y.1).abs() > wide)?;
    p.input.stamp(&a, x, one);
    p.input.stamp(&b, y, two);
    p.output.stamp(&a, y, one);
    p.output.stamp(&b, x, two);
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn moved(look: &Look) -> bool {
    // All of one colour, shifted: bodies may come to lie where others of it lay.
    if let [colour] = *look.touched.as_slice() {
        let (was, is) = (look.input.places_of(colour), look.output.places_of(colour));
        let step = |(a, b): (&Place, &Place)| (b.0 - a.0, b.1 - a.1);
        let by: Vec<Place> = was.iter().zip(&is).map(step).collect();
        if by.iter().all(|b| Some(b) == by.first()) {
            return true;
        }
    }
    look.moves().is_some_and(|m| alike(&m))
}

fn covered_the_mark(look: &Look) -> Option<bool> {
    let mark = look.one_lost()?;
    let &body = look.touched.iter().find(|c| **c != mark)?;
    let one = look.one_move(body)?;
    Some(look.input.places_of(mark).iter().all(|&p| one.to.has(p)))
}

fn exchanged(look: &Look) -> Option<bool> {
    let [one, two] = *exactly(&look.touched)?;
    let (a, b) = (look.moves_of(&[one])?, look.moves_of(&[two])?);
    let ([a], [b]) = (exactly(&a)?, exactly(&b)?);
    let corner = |p: &Part| (p.bounds[0], p.bounds[1]);
    given(a.by == (-b.by.0, -b.by.1) && a.from.len() == b.from.len())?;
    Some(corner(a.to) == corner(b.from) && corner(b.to) == corner(a.from))
}
