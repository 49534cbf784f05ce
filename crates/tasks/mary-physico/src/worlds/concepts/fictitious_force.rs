use super::*;

concept!(draws: starting_bus, carousel; reads: pressed_back if a_hollow_went, swung_outwards);

fn starting_bus(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - 1;
    let (road, bus, ball, lamp) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let (long, tall) = (s.between(6, 8), s.between(5, 7));
    p.both(|g| g.fill((ground, 0), (ground, g.cols() as i32), road));
    let floor = ground - 2;
    let top = floor - tall + 1;
    let draw = |g: &mut Grid, left: i32| {
        g.frame((top, left), (floor, left + long - 1), bus);
        g.set(ground - 1, left + 1, bus);
        g.set(ground - 1, left + long - 2, bus);
    };
    let left = s.between(0, 1);
    draw(&mut p.input, left);
    let middle = left + long / 2;
    p.input.fill((top + 1, middle), (top + 2, middle), lamp);
    p.input.set(floor - 1, middle, ball);
    p.input.set(floor - 1, middle - 1, ball);
    let to = s.cols - long;
    draw(&mut p.output, to);
    let middle = to + long / 2;
    p.output.set(top + 1, middle, lamp);
    p.output.set(top + 2, middle - 1, lamp);
    p.output.set(floor - 1, to + 1, ball);
    p.output.set(floor - 1, to + 2, ball);
    for r in [top + 1, top + 3] {
        p.output.fill((r, (to - 3).max(0)), (r, to - 2), road);
    }
    (to - left >= 3).then_some(p)
}

fn carousel(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (roof, stripe, chain, seat) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let ground = s.rows - 1;
    let half = s.between(2, (s.cols - 5) / 2);
    let out = s.between(2, 4);
    let mid = s.between(half + out, s.cols - 1 - half - out);
    let top = s.between(1, 2);
    let long = s.between(out + 2, ground - top - 4);
    // Chains keep their length: what goes out comes up.
    let deep = f64::from(long * long - out * out).sqrt().floor() as i32;
    let inner = (half >= 5 && s.coin()).then_some(half - 3);
    let hangs: Vec<i32> = [Some(half), inner].into_iter().flatten().collect();
    for (g, turned) in [(&mut p.input, 0), (&mut p.output, 1)] {
        for c in mid - half..=mid + half {
            let odd = (c - mid + half + turned) % 2 == 1;
            g.set(top, c, if odd { stripe } else { roof });
        }
        g.set(top - 1, mid, roof);
        g.fill((top + 1, mid), (ground, mid), roof);
        g.fill((ground, mid - 1), (ground, mid + 1), roof);
        for (at, side) in hangs.iter().flat_map(|&at| [(at, -1), (at, 1)]) {
            let from = (top + 1, mid + side * at);
            let down = if turned == 0 { long } else { deep };
            let to = (top + down, from.1 + turned * side * out);
            g.paint(line(from, to), chain);
            g.fill((to.0 + 1, to.1), (to.0 + 2, to.1), seat);
        }
    }
    let room = mid - half - out >= 0 && mid + half + out < s.cols;
    (room && top + long + 2 < ground).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn hollow(part: &Part) -> bool {
    part.len() as i32 + 4 <= part.tall() * part.wide()
}

fn a_hollow_went(look: &Look) -> bool {
    look.touched
        .iter()
        .any(|&bus| look.had(bus) >= 14 && look.one_move(bus).is_some_and(|m| hollow(m.from)))
}

fn pressed_back(look: &Look) -> bool {
    exists(&look.touched, |&bus| {
        given(look.had(bus) >= 14)?;
        let Move { from, to, by } = look.one_move(bus)?;
        given(by.0 == 0 && hollow(from))?;
        let inside = |part: &Part, cells: &[Place]| {
            let [t, l, b, r] = part.bounds;
            every(cells, |p| p.0 > t && p.0 < b && p.1 > l && p.1 < r)
        };
        let back = to.side(-by.1) + by.1.signum();
        let sum = |cells: &[Place]| cells.iter().map(|p| p.1).sum::<i32>();
        // How far what is inside went on beyond the body that holds it: none ahead, some back.
        let slid = |colour: u8| {
            let (a, b) = (look.input.places_of(colour), look.output.places_of(colour));
            let held = look.kept(colour, 1) && inside(from, &a) && inside(to, &b);
            held.then(|| (sum(&b) - sum(&a) - by.1 * a.len() as i32) * by.1.signum())
        };
        let slides: Vec<i32> = look.touched.iter().filter_map(|&c| slid(c)).collect();
        let held = |c: &&u8| slid(**c).is_some();
        let at_back = |c: u8| look.output.places_of(c).iter().any(|p| p.1 == back);
        let at_back = look.touched.iter().filter(held).any(|&c| at_back(c));
        // Outside only streaks appear.
        let streaks = |c: &&u8| {
            let new = those(look.new_parts(), |p| p.colour == **c);
            let streaked = || new.iter().all(|p| p.is_run() && p.len() == 2);
            **c == bus || held(c) || (look.gone(**c).is_empty() && streaked())
        };
        given(at_back && look.touched.iter().all(|c| streaks(&c)))?;
        Some(slides.iter().all(|s| *s <= 0) && slides.iter().any(|s| *s < 0))
    })
}

fn swung_outwards(look: &Look) -> Option<bool> {
    let (row, left, right) = striped_roof(look)?;
    let middle = left + right;
    let under = |p: &&Part| p.bounds[0] > row && look.restless(p);
    let side = |p: &Part| (p.middle().1 - middle).signum();
    let before = those(look.parts_before(), under);
    let after = those(look.parts_after(), under);
    // What hangs: chains from the roof and seats below them, as many on either side.
    let even = |parts: &[&Part]| {
        let on = |way: i32| parts.iter().filter(|p| side(p) == way).count();
        on(0) == 0 && on(1) == on(-1) && on(1) >= 2
    };
    let fixed = |p: &&&Part| p.bounds[0] == row + 1;
    let chains: Vec<&&Part> = after.iter().filter(fixed).collect();
    let straight = before.iter().filter(fixed).all(|p| p.wide() == 1);
    let slanted = chains.iter().all(|p| {
        let far = |c: &Place| (2 * c.1 - middle).abs();
        let inner = p.cells.iter().map(far).min();
        let top = p.cells.iter().filter(|c| c.0 == row + 1).map(far).min();
        let outer = p.cells.iter().map(far).max();
        inner == top && outer >= inner.map(|i| i + 4)
    });
    // Every seat has gone out and up.
    let seats = |parts: &[&Part]| -> Vec<(i32, i32)> {
        let seats = parts.iter().filter(|p| !fixed(p));
        let mut found: Vec<(i32, i32)> = seats.map(|p| (p.middle().1, p.bounds[0])).collect();
        found.sort_unstable();
        found
    };
    let (sat, sit) = (seats(&before), seats(&after));
    let out = |c: i32| (c - middle).abs();
    let lifted = every(sat.iter().zip(&sit), |(a, b)| {
        b.1 < a.1 && out(b.0) > out(a.0)
    });
    let explained = |p: &Place| p.0 == row || before.iter().chain(&after).any(|part| part.has(*p));
    given(even(&before) && even(&after) && sat.len() == sit.len() && sat.len() == chains.len())?;
    Some(straight && slanted && lifted && look.changed.iter().all(explained))
}

/// The row and the ends of a stretch in which two colours by turns have changed places.
fn striped_roof(look: &Look) -> Option<(i32, i32, i32)> {
    let row = look.changed.first()?.0;
    let cells = in_row(&look.changed, row);
    let (left, right) = (*cells.first()?, *cells.last()?);
    let whole = cells.len() as i32 == right - left + 1 && cells.len() >= 5;
    let by_turns = (left..right).all(|c| {
        let (was, next) = (look.was((row, c)), look.was((row, c + 1)));
        was != 0 && next != 0 && was != next && look.is((row, c)) == next
    });
    (whole && by_turns).then_some((row, left, right))
}
