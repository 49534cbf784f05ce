use super::*;

concept!(draws: widening_steps, race; reads: sped_up);

/// Offsets of a body at equal times, each step one longer, as far as they fit.
fn growing(first: i32, room: i32) -> Vec<i32> {
    let mut at = vec![0];
    let (mut place, mut step) = (0, first);
    while place + step < room {
        place += step;
        at.push(place);
        step += 1;
    }
    at
}

fn widening_steps(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let height = s.between(2, 4);
    let top = s.between(1, s.rows - height - 2);
    let (body, ghost, road) = (s.colour(0), s.colour(1), s.colour(2));
    p.both(|g| g.fill((top + height, 0), (top + height, g.cols() as i32), road));
    let first = s.between(1, 2);
    let start = s.between(0, 1);
    let at = growing(first, s.cols - start);
    for (i, dx) in at.iter().enumerate() {
        let c = start + dx;
        let colour = if i + 1 == at.len() { body } else { ghost };
        p.output.fill((top, c), (top + height - 1, c), colour);
    }
    p.input.fill((top, start), (top + height - 1, start), body);
    (at.len() >= 4).then_some(p)
}

fn race(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (one, two, line) = (s.colour(0), s.colour(1), s.colour(2));
    let tall = s.between(1, 2);
    let top = s.between(1, s.rows - 2 * tall - 5);
    let low = top + tall + s.between(2, 3);
    let at = growing(1, s.cols - 2);
    let start = 1;
    p.both(|g| {
        let cols = g.cols() as i32;
        g.fill((top + tall, 0), (top + tall, cols), line);
        g.fill((low + tall, 0), (low + tall, cols), line);
    });
    for (row, colour) in [(top, one), (low, two)] {
        p.input.fill((row, start), (row + tall - 1, start), colour);
    }
    for (i, dx) in at.iter().enumerate() {
        p.output.fill_box((top, start + dx), (tall, 1), one);
        let even = start + 2 * i as i32;
        p.output.fill((low, even), (low + tall - 1, even), two);
    }
    if s.coin() {
        // The slow one above as often as below.
        let upside = |g: &Grid| g.turned().turned().mirrored();
        return Some(p.map(upside));
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn sped_up(look: &Look) -> bool {
    look.changed.len() >= 3 && look.touched.len() <= 2 && look.lying_or_upright(stamped)
}

/// In every row where something changed, the stamps in it lie at equal distances or at distances that
/// grow by one, and in some row the latter.
fn stamped(look: &Look) -> bool {
    let mut rows: Vec<i32> = look.changed.iter().map(|p| p.0).collect();
    rows.dedup();
    let gaps = |row: i32| -> Vec<i32> {
        let at = those(0..look.cols(), |&c| {
            look.touched.contains(&look.is((row, c)))
        });
        at.windows(2).map(|w| w[1] - w[0]).collect()
    };
    let by = |g: &[i32], more: i32| g.windows(2).all(|w| w[1] == w[0] + more);
    let grows = |g: &[i32]| g.len() >= 3 && (by(g, 1) || by(g, -1));
    let all: Vec<Vec<i32>> = rows.iter().map(|&r| gaps(r)).collect();
    all.iter().any(|g| grows(g)) && all.iter().all(|g| grows(g) || (g.len() >= 2 && by(g, 0)))
}
