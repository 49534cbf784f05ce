use super::*;

concept!(draws: drunken_path, many_paths; reads: staggered, all_staggered);

fn specks(s: &mut Setting, g: &mut Grid, many: i32, colour: u8) {
    let mut put = 0;
    for _ in 0..400 {
        let (r, c) = s.place((0, s.rows - 1), (0, s.cols - 1));
        if put < many && g.roomy(&[(r, c)]) {
            g.set(r, c, colour);
            put += 1;
        }
    }
}

/// A walk with a new random direction at every turn: the places stepped on.
fn walk(s: &mut Setting, start: Place, turns: i32, stride: (i32, i32)) -> Vec<Place> {
    let straight = [(0, 1), (1, 0), (0, -1), (-1, 0)];
    let aslant = [(1, 1), (1, -1), (-1, 1), (-1, -1)];
    let ways = [straight, aslant].concat();
    let mut at = start;
    let mut walked = vec![at];
    let mut before = (0, 0);
    for _ in 0..turns {
        let Some((dr, dc)) = s.choose(&ways) else {
            break;
        };
        // Never the same direction again nor straight back.
        if (dr, dc) == before || (dr, dc) == (-before.0, -before.1) {
            continue;
        }
        for _ in 0..s.between(stride.0, stride.1) {
            let next = (at.0 + dr, at.1 + dc);
            if next.0 < 0 || next.1 < 0 || next.0 > s.rows - 2 || next.1 > s.cols - 2 {
                break;
            }
            at = next;
            walked.push(at);
        }
        before = (dr, dc);
    }
    walked
}

fn drunken_path(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (grain, path, small) = (s.colour(0), s.colour(1), s.colour(2));
    let start = s.place((3, s.rows - 5), (3, s.cols - 5));
    let body = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let turns = s.between(7, 10);
    let walked = walk(s, start, turns, (2, 3));
    let at = *walked.last()?;
    p.input.paint(shifted(&body, start), grain);
    p.output.paint(walked, path);
    p.output.paint(shifted(&body, at), grain);
    let many = s.between(7, 10);
    specks(s, &mut p.input, many, small);
    specks(s, &mut p.output, many, small);
    let same = p.input.count(small) == p.output.count(small);
    let gone = (at.0 - start.0).abs().max((at.1 - start.1).abs());
    (same && gone >= 3 && p.output.count(path) >= 7).then_some(p)
}

fn many_paths(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (grain, path) = (s.colour(0), s.colour(1));
    let many = s.between(3, 5);
    let mut put = 0;
    for _ in 0..60 {
        let start = s.place((1, s.rows - 3), (1, s.cols - 3));
        let turns = s.between(5, 7);
        let walked = walk(s, start, turns, (1, 2));
        let end = *walked.last()?;
        let bent = walked.len() >= 6 && end != start;
        if put < many && bent && p.output.roomy(&walked) && p.input.roomy(&[start]) {
            p.input.set(start.0, start.1, grain);
            p.output.paint(walked, path);
            p.output.set(end.0, end.1, grain);
            put += 1;
        }
    }
    (put == many).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn straight(cells: &[Place]) -> bool {
    let (a, b) = (cells.first(), cells.last());
    let on = |p: &Place, (a, b): (&Place, &Place)| {
        (p.0 - a.0) * (b.1 - a.1) == (p.1 - a.1) * (b.0 - a.0)
    };
    a.zip(b).is_none_or(|ends| every(cells, |p| on(p, ends)))
}

fn staggered(look: &Look) -> Option<bool> {
    let path = look.one_fresh()?;
    given(look.has(path) >= 5)?;
    let way = look.output.places_of(path);
    Some(look.another(path, |grain| {
        let one = look.one_move(grain)?;
        let mut whole = way.clone();
        whole.extend(&one.to.cells);
        let others = look.touched.iter().filter(|c| **c != path && **c != grain);
        let singles = |c: u8| {
            look.kept(c, 3)
                && look.before_of(c).iter().all(|p| p.len() == 1)
                && look.after_of(c).iter().all(|p| p.len() == 1)
        };
        given(one.from.len() > 1 && connected(&whole))?;
        given(one.from.cells.iter().any(|p| whole.contains(p)) && !straight(&way))?;
        Some(others.copied().all(singles))
    }))
}

fn all_staggered(look: &Look) -> Option<bool> {
    let path = look.one_fresh()?;
    let [a, b] = *exactly(&look.touched)?;
    let grain = if a == path { b } else { a };
    let starts = look.input.places_of(grain);
    let ways = look.bodies_after();
    given(look.kept(grain, 2) && ways.len() == starts.len())?;
    let mut steps = Vec::new();
    let each = ways.iter().all(|way| {
        let ends = those(way.cells.iter().copied(), |&p| look.is(p) == grain);
        let from: Vec<&Place> = starts.iter().filter(|p| way.has(**p)).collect();
        if let ([end], [start]) = (ends.as_slice(), from.as_slice()) {
            steps.push((end.0 - start.0, end.1 - start.1));
            return every(&way.cells, |&p| [path, grain].contains(&look.is(p)));
        }
        false
    });
    let crooked = ways.iter().filter(|w| !straight(&w.cells)).count();
    Some(each && 2 * crooked > ways.len() && steps.iter().any(|s| Some(s) != steps.first()))
}
