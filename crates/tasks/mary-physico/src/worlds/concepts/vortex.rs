use super::*;

concept! {
    draws: spiral, wound_arms, pinwheel, dragged_rings;
    reads: spiralled, wound_up, bent_round, carried_round;
}

fn spiral(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (drain, stream) = (s.colour(0), s.colour(1));
    let (mr, mc) = (s.rows / 2 + s.between(-1, 0), s.cols / 2 + s.between(-1, 0));
    // A square spiral outwards, its arms two cells apart.
    let mut at = (mr, mc);
    let mut path = Vec::new();
    let ways = [(0, 1), (1, 0), (0, -1), (-1, 0)];
    let mut long = 2;
    let turns = s.between(6, 14) as usize;
    'out: for turn in 0..turns {
        let (dr, dc) = ways[turn % 4];
        for _ in 0..long {
            at = (at.0 + dr, at.1 + dc);
            if !p.input.holds(at.0, at.1) {
                break 'out;
            }
            path.push(at);
        }
        if turn % 2 == 1 {
            long += 2;
        }
    }
    // Before: only the outermost bit of the stream and the drain.
    let start = path.len() - s.between(3, 5) as usize;
    p.input.paint(path.iter().skip(start).copied(), stream);
    p.output.paint(path, stream);
    p.both(|g| g.set(mr, mc, drain));
    Some(p)
}

/// The cells of a square ring in their order, clockwise from the east.
fn square_walk(radius: i32) -> Vec<Place> {
    let mut walk = Vec::new();
    walk.extend((0..radius).map(|i| (i, radius)));
    walk.extend((-radius..radius).rev().map(|i| (radius, i + 1)));
    walk.extend((-radius..radius).rev().map(|i| (i + 1, -radius)));
    walk.extend((-radius..radius).map(|i| (-radius, i)));
    walk.extend((-radius..0).map(|i| (i, radius)));
    walk
}

fn wound_arms(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (eye, one, two) = (s.colour(0), s.colour(1), s.colour(2));
    let radius = s.between(4, (s.rows.min(s.cols) - 1) / 2);
    let centre = s.place((radius, s.rows - 1 - radius), (radius, s.cols - 1 - radius));
    // Quarter turns by which the eye is ahead of the rim.
    let wind = s.between(3, 4);
    for k in 1..=radius {
        let walk = square_walk(k);
        let round = walk.len() as i32;
        let ahead = |ring: i32| 2 * k * (radius - ring) * wind / radius;
        for (arm, colour) in [(0, one), (1, two)] {
            let straight = arm * 4 * k;
            let put = |g: &mut Grid, i: i32| {
                if let Some(&(dr, dc)) = walk.get(i.rem_euclid(round) as usize) {
                    g.set(centre.0 + dr, centre.1 + dc, colour);
                }
            };
            put(&mut p.input, straight);
            for i in ahead((k + 1).min(radius))..=ahead(k) {
                put(&mut p.output, straight + i);
            }
        }
    }
    p.both(|g| g.set(centre.0, centre.1, eye));
    Some(p)
}

fn pinwheel(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (hub, arm) = (s.colour(0), s.colour(1));
    let most = (s.rows.min(s.cols) - 1) / 2;
    let long = s.between(3, most);
    let bend = s.between(2, long);
    let way = if s.coin() { 1 } else { -1 };
    let (mr, mc) = s.place((long, s.rows - 1 - long), (long, s.cols - 1 - long));
    p.both(|g| g.set(mr, mc, hub));
    for (dr, dc) in [(-1, 0), (0, 1), (1, 0), (0, -1)] {
        p.both(|g| g.ray((mr, mc), (dr, dc), 1..=long, arm));
        // Clockwise or the other way round.
        let end = (mr + dr * long, mc + dc * long);
        p.output.ray(end, (way * dc, -way * dr), 1..=bend, arm);
    }
    Some(p)
}

fn dragged_rings(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (hub, water) = (s.colour(0), s.colour(1));
    let most = (s.rows.min(s.cols) - 1) / 2;
    let rings = if most >= 6 { s.between(2, 3) } else { 2 };
    let wider = rings == 2 && most >= 7;
    let step = if wider { s.between(2, 3) } else { 2 };
    let reach = rings * step;
    given(reach <= most)?;
    let (mr, mc) = s.place((reach, s.rows - 1 - reach), (reach, s.cols - 1 - reach));
    let wide = s.between(0, 1);
    let sides = [(0, 1), (1, 0), (0, -1), (-1, 0)];
    p.both(|g| g.set(mr, mc, hub));
    for i in 1..=rings {
        let radius = i * step;
        let turned = (rings + 1 - i) as usize;
        for (g, side) in [(&mut p.input, 0), (&mut p.output, turned)] {
            g.paint(square_ring((mr, mc), radius), water);
            let (dr, dc) = sides[side % 4];
            let gap = (mr + dr * radius, mc + dc * radius);
            g.ray(gap, (dc, dr), -wide..=wide, 0);
        }
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn spiralled(look: &Look) -> Option<bool> {
    let stream = look.one_added()?;
    given(look.had(stream) >= 2)?;
    let cells = look.output.places_of(stream);
    let links = |p: &Place| {
        let beside = around(false).map(|(dr, dc)| (p.0 + dr, p.1 + dc));
        those(beside, |q| look.is(*q) == stream)
    };
    let tips = those(cells.iter().copied(), |p| links(p).len() == 1);
    let [start, _] = *exactly(&tips)?;
    let (mut at, mut before) = (start, start);
    let (mut walked, mut way, mut turns) = (1, None, Vec::new());
    while let Some(next) = links(&at).into_iter().find(|q| *q != before) {
        let step = (next.0 - at.0, next.1 - at.1);
        if let Some((r, c)) = way
            && (r, c) != step
        {
            turns.push(r * step.1 - c * step.0);
        }
        way = Some(step);
        before = at;
        at = next;
        walked += 1;
        given(walked <= cells.len())?;
    }
    let one_way = turns.iter().all(|t| Some(t) == turns.first());
    Some(walked == cells.len() && turns.len() >= 4 && one_way)
}

fn wound_up(look: &Look) -> Option<bool> {
    let [one, two] = *exactly(&look.touched)?;
    let (ones, twos) = (look.before_of(one), look.before_of(two));
    let ([a], [b]) = (exactly(&ones)?, exactly(&twos)?);
    given(a.is_run() && b.is_run() && a.len() == b.len() && a.len() >= 3)?;
    let (m, n) = (a.middle(), b.middle());
    let (y, x) = ((m.0 + n.0) / 4, (m.1 + n.1) / 4);
    let opposite = (m.0 + n.0) % 4 == 0 && (m.1 + n.1) % 4 == 0 && look.stays((y, x));
    let arms = look.output.places_of(one);
    let twin = |p: &Place| look.is((2 * y - p.0, 2 * x - p.1)) == two;
    let ring = |k: i32| exists(&arms, |p| (p.0 - y).abs().max((p.1 - x).abs()) == k);
    let long = a.len() as i32;
    // Wound at least half round: the arm has cells on the far side of the point.
    let start = (m.0 - 2 * y, m.1 - 2 * x);
    let beyond = exists(&arms, |p| (p.0 - y) * start.0 + (p.1 - x) * start.1 < 0);
    given(opposite && look.has(one) == look.has(two) && look.has(one) > a.len())?;
    Some(arms.iter().all(twin) && (1..=long).all(ring) && beyond)
}

fn bent_round(look: &Look) -> Option<bool> {
    let arm = look.one_added()?;
    let sides = [(-1, 0), (0, 1), (1, 0), (0, -1)];
    let hubs = look.input.places_where(|c| c != 0 && c != arm);
    Some(exists(hubs, |(mr, mc)| {
        let armed = |k: &i32| {
            every(sides, |(dr, dc)| {
                look.was((mr + dr * k, mc + dc * k)) == arm
            })
        };
        let long = (1..).take_while(armed).count() as i32;
        given(long >= 3)?;
        let bent = |way: i32, bend: i32| {
            let mut image = look.input.clone();
            for (dr, dc) in sides {
                let (r, c) = (mr + dr * long, mc + dc * long);
                let arc = (1..=bend).map(|k| (r + way * dc * k, c - way * dr * k));
                image.paint(arc, arm);
            }
            image == look.output
        };
        Some((2..=long).any(|bend| bent(1, bend) || bent(-1, bend)))
    }))
}

fn carried_round(look: &Look) -> Option<bool> {
    let [water] = *exactly(&look.touched)?;
    let sides = [(0, 1), (1, 0), (0, -1), (-1, 0)];
    let hubs = look.input.places_where(|c| c != 0 && c != water);
    Some(exists(hubs, |(mr, mc)| {
        let gap = |grid: &Grid, radius: i32| {
            let at = |i: usize| (mr + sides[i].0 * radius, mc + sides[i].1 * radius);
            let open = those(0..4, |&i| grid.at(at(i).0, at(i).1) != water);
            exactly(&open).map(|[one]| *one)
        };
        let ring = |k: i32| Some((gap(&look.input, k)?, gap(&look.output, k)?));
        let rings: Vec<(usize, usize)> = (1..9).filter_map(ring).collect();
        let turns: Vec<usize> = rings.iter().map(|(a, b)| (b + 4 - a) % 4).collect();
        let start = every(&rings, |r| Some(r.0) == rings.first().map(|f| f.0));
        let n = turns.len();
        let further = |way: usize| (0..n).all(|i| turns[i] == (way * (n - i)) % 4);
        n >= 2 && start && (further(1) || further(3))
    }))
}
