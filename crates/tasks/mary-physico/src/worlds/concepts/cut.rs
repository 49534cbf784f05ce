use super::*;

concept!(draws: knife, along_marks; reads: cut);

fn knife(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (blade, body, handle) = (s.colour(0), s.colour(1), s.colour(2));
    let long = s.between(5, s.cols - 5);
    let tall = s.between(3, 4);
    let top = s.rows - tall - s.between(0, 1);
    let left = s.between(2, s.cols - long - 2);
    let at = s.between(left + 2, left + long - 2);
    p.input.fill_box((top, left), (tall, long), body);
    let bottom = top + tall - 1;
    p.output.fill((top, left - 1), (bottom, at - 2), body);
    p.output.fill((top, at + 1), (bottom, left + long), body);
    for (g, tip) in [(&mut p.input, top - 2), (&mut p.output, top + tall - 1)] {
        g.fill((tip - 3, at), (tip, at), blade);
        g.fill((tip - 5, at), (tip - 4, at), handle);
    }
    // Between the parts stands the blade with a cell of air on its left.
    (top >= 6 && p.input.count(body) == p.output.count(body)).then_some(p)
}

fn along_marks(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (body, mark) = (s.colour(0), s.colour(1));
    let pieces = s.between(2, 3);
    let tall = s.between(2, 5);
    let row = s.between(1, s.rows - tall - 2);
    let lengths: Vec<i32> = (0..pieces).map(|_| s.between(2, 4)).collect();
    let whole: i32 = lengths.iter().sum();
    let room = whole + 2 * (pieces - 1);
    given(room <= s.cols)?;
    let left = s.between(0, s.cols - room);
    let mut c = left + pieces - 1;
    let mut out = left;
    for (i, &long) in lengths.iter().enumerate() {
        p.input.fill((row, c), (row + tall - 1, c + long - 1), body);
        p.output.fill_box((row, out), (tall, long), body);
        c += long;
        if i + 1 < lengths.len() {
            // Scissors' points above and below the place.
            p.input.set(row - 1, c, mark);
            p.input.set(row + tall, c, mark);
            p.output.set(row - 1, out + long, mark);
            p.output.set(row + tall, out + long, mark);
        }
        out += long + 2;
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn cut(look: &Look) -> bool {
    exists(&look.touched, |&colour| {
        given(look.kept(colour, 4))?;
        let (before, after) = (look.before_of(colour), look.after_of(colour));
        let solid = |p: &&&Part| p.is_box() && p.tall() > 1 && p.wide() > 1;
        // What cut it only went somewhere.
        let tools = those(look.touched.iter().copied(), |c| *c != colour);
        let straight = |all: Vec<Move<'_>>| all.iter().all(|m| m.by.0 * m.by.1 == 0);
        let went = tools.is_empty() || look.moves_of(&tools).is_some_and(straight);
        given(before.len() == 1 && went && after.len() >= 2 && before.iter().all(|p| solid(&p)))?;
        Some(after.iter().all(|p| solid(&p)))
    })
}
