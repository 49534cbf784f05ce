use super::*;

concept! {
    draws: falling, planet, throw, heap, towards_the_mass;
    reads: fell if several_went, drawn_to_the_middle, thrown, sank, went_to_the_bar;
}

fn falling(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - s.between(1, 2);
    let earth = s.colour(0);
    p.both(|g| g.fill((ground, 0), (g.rows() as i32, g.cols() as i32), earth));
    // Room on the ground beside them, for distractors: what hung in the air would fall too.
    let room = s.between(4, 6);
    let (first, end) = s.either((room, s.cols), (0, s.cols - room));
    let mut col = first + s.between(0, 1);
    let mut bodies = 0;
    while col < end - 1 {
        let form = s.any_blob(2, 6);
        let (height, width) = extent(&form);
        if col + width > end {
            break;
        }
        let floor = if s.between(0, 3) == 0 {
            let ledge = ground - s.between(2, 3);
            p.both(|g| g.fill((ledge, col), (ground, col + width - 1), earth));
            ledge
        } else {
            ground
        };
        let from = s.between(0, floor - height - 3);
        let colour = s.colour(1 + bodies % 3);
        p.input.stamp(&form, (from, col), colour);
        p.output.stamp(&form, (floor - height, col), colour);
        bodies += 1;
        col += width + s.between(1, 2);
    }
    (bodies >= 2).then_some(p)
}

fn planet(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let radius = s.between(1, 2);
    let (mr, mc) = s.place((5, s.rows - 6), (5, s.cols - 6));
    let (big, small) = (s.colour(0), s.colour(1));
    p.both(|g| g.paint(disc((mr, mc), radius), big));
    let mut stones = 0;
    let straight = [(-1, 0), (1, 0), (0, -1), (0, 1)];
    let aslant = [(1, 1), (-1, -1), (1, -1), (-1, 1)];
    let ways = s.shuffled([straight, aslant].concat());
    let many = s.between(5, 8) as usize;
    for (dr, dc) in ways.into_iter().take(many) {
        let near = (1..9).find(|k| p.output.at(mr + dr * k, mc + dc * k) != big)?;
        let far = s.between(near + 1, 9);
        let at: Place = (mr + dr * far, mc + dc * far);
        if p.input.clear(&[at]) {
            p.input.set(at.0, at.1, small);
            p.output.set(mr + dr * near, mc + dc * near, small);
            stones += 1;
        }
    }
    (stones >= 4).then_some(p)
}

fn throw(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - s.between(1, 2);
    let (earth, ball) = (s.colour(0), s.colour(1));
    let edge = s.between(2, 4);
    let top = s.between(2, 4);
    p.both(|g| {
        g.fill((ground, 0), (g.rows() as i32, g.cols() as i32), earth);
        g.fill((top, 0), (ground, edge - 1), earth);
        g.fill((top - 1, 0), (top - 1, edge - 1), ball);
    });
    let reach = s.between(5, s.cols - edge - 1);
    let drop = ground - top;
    let mut last = (top - 1, edge - 1);
    for dx in 1..=reach {
        let next = (top - 1 + drop * dx * dx / (reach * reach), edge - 1 + dx);
        p.output.paint(line(last, next).into_iter().skip(1), ball);
        last = next;
    }
    Some(p)
}

fn heap(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let mut moved = 0;
    let room = s.between(3, 5);
    let density = s.between(2, 5);
    for c in room..s.cols {
        let mut lies = s.rows;
        for r in (0..s.rows).rev() {
            if r < s.rows - 2 && s.between(0, density + 2) == 0 {
                lies -= 1;
                let grain = s.any_colour(0, 2);
                p.input.set(r, c, grain);
                p.output.set(lies, c, grain);
                moved += i32::from(lies != r);
            }
        }
    }
    (moved >= 5).then_some(p)
}

fn towards_the_mass(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let mass = s.colour(0);
    let thick = s.between(1, 2);
    let top = s.rows - thick;
    p.both(|g| g.fill((top, 0), (g.rows() as i32, g.cols() as i32), mass));
    let mut heights = vec![top; s.cols as usize];
    let mut bodies = 0;
    let many = s.between(3, 6);
    let room = s.between(3, 5);
    for _ in 0..40 {
        let (tall, wide) = (s.between(1, 3), s.between(1, 3));
        let (r, c) = s.place((0, top - tall - 2), (room, s.cols - wide));
        let cells = block((r, c), tall, wide);
        let under = heights.get(c as usize..(c + wide) as usize);
        let under = under.and_then(|h| h.iter().min().copied());
        let Some(under) = under.filter(|u| *u > r + tall + 1 && *u >= tall + 2) else {
            continue;
        };
        let lands = block((under - tall, c), tall, wide);
        let colour = s.colour(1 + bodies as usize % 3);
        let alike =
            |&(y, x): &Place| around(true).any(|(dr, dc)| p.output.at(y + dr, x + dc) == colour);
        let free = p.input.roomy(&cells) && p.input.clear(&lands);
        if bodies == many || !free || lands.iter().any(alike) {
            continue;
        }
        p.input.paint(cells, colour);
        p.output.paint(lands, colour);
        for h in heights.iter_mut().skip(c as usize).take(wide as usize) {
            *h = under - tall;
        }
        bodies += 1;
    }
    (bodies >= 3).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn several_went(look: &Look) -> bool {
    look.moves().is_some_and(|all| all.len() >= 2)
}

fn fell(look: &Look) -> bool {
    look.same_counts && fell_to_rest(look, 2)
}

/// Whether all that went, so many at least, fell and lies on something now.
fn fell_to_rest(look: &Look, least: usize) -> bool {
    look.moves().is_some_and(|all| {
        all.len() >= least && every(&all, |m| m.by.0 > 0 && m.by.1 == 0 && rests(look, m.to))
    })
}

fn drawn_to_the_middle(look: &Look) -> Option<bool> {
    let [stone] = *exactly(&look.touched)?;
    given(look.kept(stone, 3))?;
    let ways = |cells: Vec<Place>, middle: Place| -> Option<Vec<(Place, i32)>> {
        let mut found = Vec::new();
        for (r, c) in cells {
            let (dr, dc) = (r - middle.0, c - middle.1);
            let far = dr.abs().max(dc.abs());
            given(dr * dc == 0 || dr.abs() == dc.abs())?;
            found.push(((dr.signum(), dc.signum()), far));
        }
        found.sort_unstable();
        Some(found)
    };
    let big = |p: &&Part| p.colour != stone && p.len() >= 5 && !look.restless(p);
    Some(exists(look.parts_before().iter().filter(big), |planet| {
        let (r, c) = planet.middle();
        given(r % 2 == 0 && c % 2 == 0)?;
        let middle = (r / 2, c / 2);
        let now = look.output.places_of(stone);
        let lie_on_it = now.iter().all(|&p| planet.touches(&[p]));
        let was = ways(look.input.places_of(stone), middle)?;
        let is = ways(now, middle)?;
        Some(lie_on_it && was.iter().zip(&is).all(|(a, b)| a.0 == b.0 && a.1 > b.1))
    }))
}

fn thrown(look: &Look) -> Option<bool> {
    let ball = look.one_added()?;
    let before = look.before_of(ball);
    let [trail] = exactly(&before)?;
    given(trail.tall() == 1 && look.after_of(ball).len() == 1)?;
    let [row, left, _, right] = trail.bounds;
    Some(exists([(left, -1), (right, 1)], |(edge, way)| {
        given(look.changed.iter().all(|p| (p.1 - edge) * way >= 1))?;
        // The lowest row that the curve reaches in each column.
        let lowest = |k: i32| in_column(&look.changed, edge + way * k).last().copied();
        let low: Vec<i32> = [row].into_iter().chain((1..).map_while(lowest)).collect();
        let last = *low.last()?;
        let drops: Vec<i32> = low.windows(2).map(|w| w[1] - w[0]).collect();
        let n = drops.len();
        given(n >= 4 && drops.iter().all(|&d| d >= 0))?;
        let first: i32 = drops.iter().take(n / 2).sum();
        let second: i32 = drops.iter().skip(n - n / 2).sum();
        let ends_on = (last + 1, edge + way * n as i32);
        given(second > first && drops.windows(2).take(n - 2).all(|w| w[1] >= w[0] - 1))?;
        Some(last - row >= 4 && edge_or(&look.output, ends_on, |v| v != 0))
    }))
}

fn sank(look: &Look) -> Option<bool> {
    let column = |grid: &Grid, c: i32| those((0..look.rows()).map(|r| grid.at(r, c)), |v| *v != 0);
    let mut columns = 0;
    for c in 0..look.cols() {
        let is: Vec<u8> = (0..look.rows()).map(|r| look.is((r, c))).collect();
        given(column(&look.input, c) == column(&look.output, c))?;
        if look.changed.iter().any(|p| p.1 == c) {
            columns += 1;
            // No gap below a grain.
            given(!is.windows(2).any(|w| w[0] != 0 && w[1] == 0))?;
        }
    }
    Some(columns >= 3)
}

fn went_to_the_bar(look: &Look) -> bool {
    let bottom = look.rows() - 1;
    let bar = look.was((bottom, 0));
    let whole = (0..look.cols()).all(|c| look.was((bottom, c)) == bar && look.stays((bottom, c)));
    bar != 0 && whole && fell_to_rest(look, 3)
}
