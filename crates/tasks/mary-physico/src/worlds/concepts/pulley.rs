use super::*;

concept!(draws: one_wheel, two_wheels; reads: went_over_a_wheel if hand_and_load);

/// A wheel of 3 × 3 with an open middle.
fn wheel(g: &mut Grid, centre: Place, colour: u8) {
    g.paint(square_ring(centre, 1), colour);
}

fn one_wheel(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (beam, rope, load, hand) = (s.colour(0), s.colour(2), s.colour(3), s.colour(4));
    let mid = s.between(4, s.cols - 5);
    let centre = (3, mid);
    p.both(|g| {
        g.fill((0, 0), (0, g.cols() as i32), beam);
        g.set(1, mid, beam);
        wheel(g, centre, beam);
    });
    let room = s.rows - 8;
    let down = s.between(2, room.min(6));
    let (short, long) = (s.between(1, room - down + 1), s.between(1, 2));
    let low = short + down;
    for (g, load_rope, hand_rope) in [
        (&mut p.input, low, long),
        (&mut p.output, short, long + down),
    ] {
        g.fill((5, mid - 1), (4 + load_rope, mid - 1), rope);
        g.fill((5, mid + 1), (4 + hand_rope, mid + 1), rope);
        g.fill((5 + load_rope, mid - 2), (6 + load_rope, mid - 1), load);
        g.set(5 + hand_rope, mid + 1, hand);
    }
    (6 + low < s.rows && 5 + long + down < s.rows).then_some(p)
}

fn two_wheels(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (beam, rope, load, hand) = (s.colour(0), s.colour(2), s.colour(3), s.colour(4));
    let left = s.between(1, s.cols - 7);
    let up = s.between(1, (s.rows - 9).clamp(1, 3));
    let start = s.between(6 + up, s.rows - 4);
    p.both(|g| {
        g.fill((0, 0), (0, g.cols() as i32), beam);
        wheel(g, (2, left + 3), beam);
    });
    let free = s.between(1, 2);
    for (g, at, end) in [
        (&mut p.input, start, 4 + free),
        (&mut p.output, start - up, 4 + free + 2 * up),
    ] {
        g.fill((1, left), (at - 2, left), rope);
        g.fill((4, left + 2), (at - 2, left + 2), rope);
        g.fill((4, left + 4), (end - 1, left + 4), rope);
        wheel(g, (at, left + 1), beam);
        g.fill((at + 2, left), (at + 3, left + 2), load);
        g.set(end, left + 4, hand);
    }
    (start + 3 < s.rows && 4 + free + 2 * up < s.rows).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn hand_and_load(look: &Look) -> bool {
    exists(apart(&look.touched), |(rope, _)| {
        Some((2..=4).contains(&look.moves_but(&[rope])?.len()))
    })
}

fn went_over_a_wheel(look: &Look) -> bool {
    exists(apart(&look.touched), |(rope, _)| {
        // Strands that only went up or down whole are no rope.
        let whole = |all: Vec<Move<'_>>| all.iter().all(|m| m.by.1 == 0);
        given(!look.moves_of(&[rope]).is_some_and(whole))?;
        let all = look.moves_but(&[rope])?;
        let (downs, ups): (Vec<&Move<'_>>, Vec<&Move<'_>>) = all.iter().partition(|m| m.by.0 > 0);
        let ([hand], load) = (exactly(&downs)?, ups.first()?);
        let hangs = |m: &Move<'_>| {
            beside(m.from, true, |p| look.was(p) == rope)
                && beside(m.to, true, |p| look.is(p) == rope)
        };
        let upright = |parts: Vec<&Part>, grid: &Grid| {
            every(&parts, |p| p.wide() == 1 && look.attached(p, grid))
        };
        let up = -load.by.0;
        given(all.iter().all(|m| m.by.1 == 0) && up > 0 && ups.iter().all(|m| m.by.0 == -up))?;
        given((hand.by.0 == up || hand.by.0 == 2 * up) && hangs(hand))?;
        given(ups.iter().any(|m| hangs(m)) && upright(look.before_of(rope), &look.input))?;
        Some(upright(look.after_of(rope), &look.output))
    })
}
