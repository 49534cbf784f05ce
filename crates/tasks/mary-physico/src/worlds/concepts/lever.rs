use super::*;

concept!(draws: seesaw, crowbar; reads: tipped if two_loads);

/// A plank through a pivot: the two halves drawn from the middle, so that both bend alike.
fn plank(g: &mut Grid, pivot: Place, ends: (Place, Place), colour: u8) {
    g.paint(line(pivot, ends.0), colour);
    g.paint(line(pivot, ends.1), colour);
}

fn seesaw(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - 1;
    let (earth, post, wood, load) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let arm = s.between(4, (s.cols - 3) / 2);
    let mid = s.between(arm, s.cols - 1 - arm);
    let high = 3;
    let pivot = (ground - high, mid);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        foot(g, (pivot.0 + 1, mid), ground, post);
    });
    let heavy = s.between(3, 6);
    let light = s.between(1, heavy - 2);
    let (left, right) = s.either((heavy, light), (light, heavy));
    let tilt = 2;
    let dip = if left > right { tilt } else { -tilt };
    for (g, t) in [(&mut p.input, 0), (&mut p.output, dip)] {
        let ends = ((pivot.0 + t, mid - arm), (pivot.0 - t, mid + arm));
        plank(g, pivot, ends, wood);
        g.fill((ends.0.0 - left, ends.0.1), (ends.0.0 - 1, ends.0.1), load);
        g.fill((ends.1.0 - right, ends.1.1), (ends.1.0 - 1, ends.1.1), load);
    }
    Some(p)
}

fn crowbar(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - 1;
    let (earth, wood, load, hand) = (s.colour(0), s.colour(2), s.colour(3), s.colour(4));
    let ratio = s.between(2, 3);
    let short = 2;
    let long = short * ratio;
    let lift = 1;
    let wide = s.between(2, 3);
    let mid = s.between(short + wide, s.cols - 2 - long);
    let pivot = (ground - 1 - ratio * lift, mid);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
        foot(g, (pivot.0 + 1, mid), ground, earth);
    });
    let big = s.between(2, 4);
    for (g, t) in [(&mut p.input, lift), (&mut p.output, -lift)] {
        let ends = (
            (pivot.0 + t, mid - short),
            (pivot.0 - t * ratio, mid + long),
        );
        plank(g, pivot, ends, wood);
        let base = ends.0.0 - 1;
        g.fill_box((base - big + 1, mid - short - wide + 1), (big, wide), load);
        g.fill((ends.1.0 - 2, ends.1.1), (ends.1.0 - 1, ends.1.1), hand);
    }
    (pivot.0 - ratio >= 3).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn two_loads(look: &Look) -> bool {
    apart(&look.touched).any(|(_, loads)| look.moves_of(&loads).is_some_and(|m| m.len() == 2))
}

fn tipped(look: &Look) -> bool {
    exists(apart(&look.touched), |(wood, loads)| {
        let all = look.moves_of(&loads)?;
        let [x, y] = exactly(&all)?;
        let [l, r] = ordered([x, y], |m| m.from.bounds[1]);
        let (before, after) = look.one_part(wood)?;
        let [_, left, _, right] = before.bounds;
        let lie_on = |m: &Move<'_>| {
            let on = |part: &Part, plank: &Part| {
                let [_, a, b, c] = part.bounds;
                (a..=c).any(|x| plank.has((b + 1, x)))
            };
            on(m.from, before) && on(m.to, after)
        };
        let point = |c: i32| {
            let rows = in_column(&before.cells, c);
            exists(rows, |r| after.has((r, c)) && look.stays((r + 1, c)))
        };
        let arms = (left + 1..right)
            .any(|p| point(p) && (p - left) * r.by.0.abs() == (right - p) * l.by.0.abs());
        given(l.by.1 == 0 && r.by.1 == 0 && l.by.0 * r.by.0 < 0)?;
        given((after.bounds[1], after.bounds[3]) == (left, right) && right - left >= 4)?;
        Some(lie_on(l) && lie_on(r) && arms)
    })
}
