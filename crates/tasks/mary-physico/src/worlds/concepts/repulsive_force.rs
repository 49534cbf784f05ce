use super::*;

concept!(draws: like_poles, two_threads; reads: driven_apart, threads_spread);

fn like_poles(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (north, south) = (s.colour(0), s.colour(1));
    let half = if s.cols >= 16 { s.between(2, 3) } else { 2 };
    let tall = s.between(1, 2);
    let mid = s.cols / 2;
    let apart = s.between(2, mid - 2 * half);
    given(apart >= 2)?;
    let top = s.between(0, s.rows / 2 - tall - 1);
    let low = s.between(s.rows / 2 + 1, s.rows - tall);
    let (repel, hold) = if s.coin() { (top, low) } else { (low, top) };
    for (g, by) in [(&mut p.input, 0), (&mut p.output, apart)] {
        bar(g, (repel, mid - 2 * half - by), half, tall, (south, north));
        bar(g, (repel, mid + by), half, tall, (north, south));
    }
    p.both(|g| {
        bar(g, (hold, mid - 2 * half), half, tall, (south, north));
        bar(g, (hold, mid), half, tall, (south, north));
    });
    (mid + apart + 2 * half <= s.cols).then_some(p)
}

fn two_threads(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (beam, thread, ball) = (s.colour(0), s.colour(1), s.colour(2));
    let top = s.between(0, 2);
    let long = s.between(5, s.rows - top - 4);
    let left = s.between(4, s.cols - 7);
    let right = left + 2;
    let lean = s.between(3, 4).min(left - 1).min(s.cols - 2 - right);
    p.both(|g| g.fill((top, left - 2), (top, right + 2), beam));
    let big = |g: &mut Grid, at: Place, out: i32| {
        let (c0, c1) = (at.1.min(at.1 + out), at.1.max(at.1 + out));
        g.fill((at.0, c0), (at.0 + 1, c1), ball);
    };
    for (g, spread) in [(&mut p.input, 0), (&mut p.output, lean)] {
        g.paint(line((top + 1, left), (top + long, left - spread)), thread);
        g.paint(line((top + 1, right), (top + long, right + spread)), thread);
        big(g, (top + long + 1, left - spread), -1);
        big(g, (top + long + 1, right + spread), 1);
    }
    (lean >= 3).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn driven_apart(look: &Look) -> bool {
    look.same_counts
        && look.touched.len() == 2
        && look.lying_or_upright(|look| {
            let (was, is) = (|p| look.was(p), |p| look.is(p));
            let found = poles(look.bodies_before(), look.bodies_after(), (&was, &is));
            found.is_some_and(|[one, two, outer]| one == two && outer != one)
        })
}

fn threads_spread(look: &Look) -> bool {
    look.either_way(|ball, thread| {
        let all = look.moves_of(&[ball])?;
        let [a, b] = exactly(&all)?;
        let [l, r] = ordered([a, b], |m| m.from.bounds[1]);
        let (was, is) = (look.input.places_of(thread), look.output.places_of(thread));
        let top = was.first().map_or(0, |p| p.0);
        let hooks = |cells: &[Place]| in_row(cells, top);
        given(l.by.0 == 0 && r.by.0 == 0 && l.by.1 < 0 && r.by.1 == -l.by.1)?;
        given(l.from.bounds[0] == r.from.bounds[0] && l.from.alike(r.from))?;
        given(hooks(&was) == hooks(&is) && hooks(&was).len() == 2 && look.has_parts(thread, 2, 2))?;
        Some(every(&[l, r], |m| {
            m.from.touches(&was) && m.to.touches(&is)
        }))
    })
}
