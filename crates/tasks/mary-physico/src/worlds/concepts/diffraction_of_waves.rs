use super::*;

concept!(draws: slit, edge; reads: spread_behind_a_gap, curled_around);

fn slit(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, water) = (s.colour(0), s.colour(1));
    let at = s.between(4, 5);
    let gap = s.between(3, s.rows - 4);
    p.both(|g| {
        for c in (0..at - 1).step_by(2) {
            g.fill((0, c), (g.rows() as i32, c), water);
        }
        g.fill((0, at), (g.rows() as i32, at), wall);
        g.set(gap, at, 0);
    });
    for radius in (2..s.cols - at).step_by(2) {
        let arcs = ring((gap, at), radius).into_iter().filter(|q| q.1 > at);
        p.output.paint(arcs, water);
    }
    Some(p)
}

fn edge(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, water) = (s.colour(0), s.colour(1));
    let at = s.between(4, 5);
    let end = s.between(4, s.rows - 6);
    p.both(|g| {
        for c in (0..at - 1).step_by(2) {
            g.fill((0, c), (g.rows() as i32, c), water);
        }
        g.fill((end, at), (g.rows() as i32, at), wall);
    });
    for d in (2..s.cols - at).step_by(2) {
        p.output.fill((0, at + d), (end - 1, at + d), water);
        let arcs = ring((end - 1, at), d).into_iter();
        p.output
            .paint(arcs.filter(|q| q.0 >= end - 1 && q.1 > at), water);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

/// Straight fronts: still upright runs of this colour left of a column.
fn fronts(look: &Look, colour: u8, before: i32) -> bool {
    let front = |p: &&Part| p.wide() == 1 && p.tall() == look.rows() && p.bounds[1] < before;
    look.before_of(colour).iter().all(front)
}

fn spread_behind_a_gap(look: &Look) -> Option<bool> {
    let water = look.one_added()?;
    given(look.had(water) >= 10)?;
    Some(look.some_way(|look| {
        // A wall from edge to edge with one gap.
        let gap = (1..look.cols() - 1).find_map(|c| {
            let wall = look.was((0, c)).max(look.was((look.rows() - 1, c)));
            let open = those(0..look.rows(), |&r| look.was((r, c)) != wall);
            match open.as_slice() {
                [r] if wall != 0 && wall != water => Some((*r, c)),
                _ => None,
            }
        });
        let Some((row, col)) = gap else { return false };
        let arcs = look.new_parts();
        let arc = |p: &Part| {
            // Farthest from the wall in front of the gap, the same above and below it.
            let tip = p.bounds[3];
            let twin = |q: &Place| {
                let other = (2 * row - q.0, q.1);
                !look.holds(other) || p.has(other)
            };
            p.bounds[1] > col && p.has((row, tip)) && p.cells.iter().all(twin) && p.tall() > 1
        };
        let clipped = |p: &Part| p.bounds[3] == look.cols() - 1 && p.bounds[1] > col && p.len() > 1;
        fronts(look, water, col)
            && arcs.iter().filter(|p| arc(p)).count() >= 2
            && arcs.iter().all(|p| arc(p) || clipped(p))
    }))
}

fn curled_around(look: &Look) -> Option<bool> {
    let water = look.one_added()?;
    given(look.had(water) >= 10)?;
    Some(look.some_way(|look| {
        exists(1..look.cols() - 1, |c| {
            let wall = look.was((0, c)).max(look.was((look.rows() - 1, c)));
            let built = |r: i32| look.was((r, c)) == wall;
            let ends = built(0) != built(look.rows() - 1);
            let breaks = (1..look.rows())
                .filter(|&r| built(r) != built(r - 1))
                .count();
            given(wall != 0 && wall != water && ends && breaks == 1)?;
            // In the open the same columns in every row; behind the wall, round its end.
            let columns = |r: i32| in_row(&look.changed, r);
            let first = if built(0) { look.rows() - 1 } else { 0 };
            let open = columns(first);
            let mut gap = (0..look.rows()).filter(|&r| !built(r));
            let end = gap
                .clone()
                .map(|r| (r - first).abs())
                .max()
                .map_or(first, |k| if first == 0 { k } else { first - k });
            let round = |q: &Place| {
                let (dr, dc) = (f64::from(q.0 - end), f64::from(q.1 - c));
                let far = dr.hypot(dc);
                open.iter().any(|x| (f64::from(x - c) - far).abs() <= 0.9)
                    || far > f64::from(look.cols() - 1 - c)
            };
            let shadow: Vec<&Place> = look.changed.iter().filter(|q| built(q.0)).collect();
            given(fronts(look, water, c) && open.len() >= 2 && open.iter().all(|x| *x > c + 1))?;
            given(gap.all(|r| columns(r) == open))?;
            Some(shadow.len() >= open.len() && shadow.iter().all(|q| q.1 > c && round(q)))
        })
    }))
}
