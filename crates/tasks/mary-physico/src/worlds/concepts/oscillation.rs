use super::*;

concept!(draws: pendulum, pen_on_spring; reads: swung_across, drew_a_zigzag);

fn pendulum(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (beam, thread, ball, ghost) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let long = s.between(6, s.rows - 4);
    let lean = s.between(4, 6).min((s.cols - 3) / 2).min(long - 1);
    let mid = s.between(lean + 1, s.cols - lean - 2);
    let top = s.between(0, s.rows - long - 3);
    p.both(|g| g.fill((top, mid - 2), (top, mid + 2), beam));
    // The lower the bob, the nearer to the middle.
    let stops = [(-lean, 2), (-lean / 2, 1), (0, 0), (lean / 2, 1), (lean, 2)];
    let at = |(dc, up): (i32, i32)| (top + long - up, mid + dc);
    let bob = |g: &mut Grid, at: Place, colour: u8| g.fill(at, (at.0 + 1, at.1), colour);
    p.input.paint(line((top + 1, mid), at(stops[0])), thread);
    bob(&mut p.input, at(stops[0]), ball);
    for stop in stops {
        bob(&mut p.output, at(stop), ghost);
    }
    p.output.paint(line((top + 1, mid), at(stops[4])), thread);
    bob(&mut p.output, at(stops[4]), ball);
    Some(p)
}

fn pen_on_spring(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (beam, coil, ball, trace) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let swing = s.between(2, 3);
    let long = s.between(3, s.rows - 2 * swing - 4);
    let middle = 1 + long + swing;
    p.both(|g| g.fill((0, 0), (0, 3), beam));
    let hang = |g: &mut Grid, row: i32| {
        for r in 1..row - 1 {
            g.set(r, 1 + r % 2, coil);
        }
        g.fill((row - 1, 1), (row, 2), ball);
    };
    hang(&mut p.input, middle - swing);
    let start = 4;
    let wave = |i: i32| {
        let phase = i % (4 * swing);
        (phase - swing).min(3 * swing - phase)
    };
    let end = s.between((start + 4 * swing).min(s.cols), s.cols);
    for c in start..end {
        p.output.set(middle + wave(c - start), c, trace);
    }
    hang(&mut p.output, middle + wave(end - start).max(1));
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn swung_across(look: &Look) -> Option<bool> {
    let ghost = look.one_fresh()?;
    let ghosts = look.after_of(ghost);
    Some(look.another(ghost, |ball| {
        let bob = look.one_move(ball)?;
        let [l, r] = ordered([bob.from.bounds[1], bob.to.bounds[1]], |c| *c);
        let between = |g: &&Part| {
            let [top, left, ..] = g.bounds;
            g.alike(bob.from) && (l..=r).contains(&left) && top >= bob.from.bounds[0]
        };
        let lower = ghosts.iter().any(|g| g.bounds[0] > bob.from.bounds[0]);
        let thread = look.touched.iter().find(|c| **c != ghost && **c != ball);
        given(thread.is_some_and(|&c| look.has_parts(c, 1, 1)) && bob.by.0 == 0 && r - l >= 4)?;
        Some(ghosts.len() >= 3 && ghosts.iter().all(between) && lower)
    }))
}

fn drew_a_zigzag(look: &Look) -> Option<bool> {
    let trace = look.one_fresh()?;
    let mut line = look.output.places_of(trace);
    line.sort_unstable_by_key(|p| p.1);
    let even = line.windows(2).all(|w| w[1].1 == w[0].1 + 1);
    let steps: Vec<i32> = line.windows(2).map(|w| w[1].0 - w[0].0).collect();
    let rows = line.iter().map(|p| p.0);
    let (top, low) = (rows.clone().min()?, rows.max()?);
    let turns = those(1..steps.len(), |&i| steps[i] != steps[i - 1]);
    let at_ends = every(&turns, |&i| Some([top, low].contains(&line.get(i)?.0)));
    let bobbed = |ball: u8| Some(look.one_move(ball)?.by.1 == 0);
    given(line.len() >= 6 && even && steps.iter().all(|s| s.abs() == 1) && !turns.is_empty())?;
    given(at_ends && look.another(trace, bobbed))?;
    Some(every(&look.touched, |&c| {
        look.after_of(c).len() == 1 && look.before_of(c).len() <= 1
    }))
}
