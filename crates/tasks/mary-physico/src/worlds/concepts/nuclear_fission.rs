use std::collections::BTreeMap;

use super::*;

concept! {
    draws: split_nucleus, chain_reaction, torn_apart, avalanche;
    reads: split, all_split, halves_and_more, doubling;
}

fn split_nucleus(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (proton, neutron) = (s.colour(0), s.colour(1));
    let (mr, mc) = s.place((5, s.rows - 6), (6, s.cols - 6));
    // The disc of 21 cells: two halves of 9 and the free neutrons; or 9 cells and halves of 4.
    let (whole, side) = s.either((disc((mr, mc), 2), 3), (block((mr - 1, mc - 1), 3, 3), 2));
    for &(r, c) in &whole {
        let even = (r + c - mr - mc).rem_euclid(2) == 0;
        let is_proton = even == (side == 3);
        p.input.set(r, c, if is_proton { proton } else { neutron });
    }
    p.input.set(mr, s.between(0, mc - 4), neutron);
    let shift = s.between(3, (mr - 1).min(s.rows - 2 - mr).min(4));
    let halves = [(mr - shift, mc), (mr + shift, mc)];
    let mut left = [p.input.count(proton) as i32, p.input.count(neutron) as i32];
    for (k, at) in halves.iter().enumerate() {
        let cells = block((at.0 - 1, at.1 - 1), side, side);
        for (i, (r, c)) in cells.into_iter().enumerate() {
            let is_proton = (i + k) % 2 == 0 && left[0] > 0;
            p.output.set(r, c, if is_proton { proton } else { neutron });
            left[usize::from(!is_proton)] -= 1;
        }
    }
    // What is left flies off.
    let beside = |way: i32| [(mr, 3), (mr - 1, 5), (mr + 1, 5)].map(|(r, k)| (r, mc + way * k));
    let mut spots = [beside(1), beside(-1)].concat();
    spots.retain(|q| p.output.roomy(&[*q]) && p.output.holds(q.0, q.1));
    let spare: i32 = left[1];
    spots.truncate(spare.max(0) as usize);
    p.output.paint(spots, neutron);
    let same = |c: u8| p.input.count(c) == p.output.count(c);
    (left[0] == 0 && (2..=4).contains(&spare) && same(proton) && same(neutron)).then_some(p)
}

fn chain_reaction(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (core, neutron) = (s.colour(0), s.colour(1));
    let many = s.between(2, (s.cols - 2) / 5);
    let row = s.between(4, s.rows - 6);
    p.input.set(row, 0, neutron);
    for k in 0..many {
        let left = 2 + 5 * k;
        p.input.paint(block((row - 1, left), 4, 2), core);
        let out = s.between(1, 2).min(row - 2).min(s.rows - 4 - row);
        p.output.paint(block((row - 1 - out, left), 2, 2), core);
        p.output.paint(block((row + 1 + out, left), 2, 2), core);
        // Each splitting sends on two or three neutrons.
        p.output
            .fill_box((row - 1, left + 3), (s.between(2, 3), 1), neutron);
    }
    Some(p)
}

fn torn_apart(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (nucleus, neutron) = (s.colour(0), s.colour(1));
    let (tall, half) = (s.between(2, 5), s.between(2, 3));
    let apart = s.between(2, 4);
    let wide = 2 * half;
    given(wide + 2 * apart + 2 <= s.cols && tall + 6 <= s.rows)?;
    let left = s.between(apart, s.cols - wide - apart);
    let top = s.between(3, s.rows - tall - 3);
    let bottom = top + tall - 1;
    p.input.fill_box((top, left), (tall, wide), nucleus);
    p.input.set(top - 1, left + half - s.between(0, 1), neutron);
    for c in [left - apart, left + half + apart] {
        p.output.fill_box((top, c), (tall, half), nucleus);
    }
    for r in [top - 2, bottom + 2] {
        p.output.set(r, left + half - apart, neutron);
        p.output.set(r, left + half + apart - 1, neutron);
    }
    if s.coin() {
        let c = left + half - s.between(0, 1);
        p.output.set((top + bottom) / 2, c, neutron);
    }
    Some(p)
}

fn avalanche(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (particle, path) = (s.colour(0), s.colour(1));
    let levels = if s.cols >= 15 { s.between(2, 3) } else { 2 };
    let reach = 1 << (levels - 1);
    let down = s.between(2, ((s.rows - 2) / levels).min(4));
    let wide = 2 * ((1 << levels) - 1) + 1;
    given(wide <= s.cols && levels * down + 2 <= s.rows)?;
    let middle = s.between(wide / 2, s.cols - 1 - wide / 2);
    let top = s.between(0, s.rows - 2 - levels * down);
    p.both(|g| g.set(top, middle, particle));
    let mut row = top;
    let mut at = vec![middle];
    let mut step = reach;
    for _ in 0..levels {
        let mut next = Vec::new();
        for &c in &at {
            p.output
                .fill((row + 1, c - step), (row + 1, c + step), path);
            for side in [c - step, c + step] {
                p.output.fill((row + 1, side), (row + down - 1, side), path);
                p.output.set(row + down, side, particle);
                next.push(side);
            }
        }
        at = next;
        row += down;
        step /= 2;
    }
    // The first particle hits a body that was there before.
    p.both(|g| g.set(top, middle, particle));
    p.input.set(top + 1, middle, path);
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn split(look: &Look) -> Option<bool> {
    let (before, after) = (sizes(look.bodies_before()), sizes(look.bodies_after()));
    let ([whole, 1], [a, b, rest @ ..]) = (before.as_slice(), after.as_slice()) else {
        return None;
    };
    let halves = those(look.bodies_after().iter(), |p| p.len() == *a);
    given(a == b && *a >= 4 && 2 * a < *whole && rest.len() >= 2 && rest.iter().all(|n| *n == 1))?;
    Some(matches!(halves.as_slice(), [x, y] if x.alike(y)))
}

fn all_split(look: &Look) -> bool {
    look.either_way(|core, neutron| {
        let (whole, halves) = (look.before_of(core), look.after_of(core));
        let first = whole.first()?;
        // Set free beside one of the blocks.
        let near = |n: &Part, w: &Part| {
            let gap = |a: usize| (n.bounds[a] - w.bounds[a + 2]).max(w.bounds[a] - n.bounds[a + 2]);
            gap(0) <= 2 && gap(1) <= 2
        };
        given(look.kept(core, 8) && look.had(neutron) == 1 && look.has(neutron) > whole.len())?;
        given(whole.len() >= 2 && halves.len() == 2 * whole.len())?;
        given(whole.iter().all(|p| p.is_box() && p.alike(first)))?;
        given(every(&halves, |p| p.is_box() && 2 * p.len() == first.len()))?;
        Some(every(&look.after_of(neutron), |n| {
            whole.iter().any(|w| near(n, w))
        }))
    })
}

fn halves_and_more(look: &Look) -> bool {
    look.either_way(|nucleus, neutron| {
        let was = those(look.before_of(nucleus), |p| look.restless(p));
        let is = those(look.after_of(nucleus), |p| look.restless(p));
        let ([whole], [a, b]) = (exactly(&was)?, exactly(&is)?);
        let before = those(look.before_of(neutron), |p| look.restless(p));
        let after = those(look.after_of(neutron), |p| look.restless(p));
        given(look.kept(nucleus, 8) && whole.is_box() && a.is_box() && b.is_box())?;
        given(a.len() == b.len() && 2 * a.len() == whole.len() && before.len() == 1)?;
        Some(after.len() >= 4 && before.iter().chain(&after).all(|c| c.len() == 1))
    })
}

fn doubling(look: &Look) -> bool {
    look.either_way(|particle, path| {
        let mut rows: BTreeMap<i32, usize> = BTreeMap::new();
        for p in look.after_of(particle).iter().filter(|p| look.restless(p)) {
            *rows.entry(p.bounds[0]).or_default() += 1;
            given(p.len() == 1)?;
        }
        let counts: Vec<usize> = rows.values().copied().collect();
        let starts: Vec<i32> = rows.keys().copied().collect();
        let gaps: Vec<i32> = starts.windows(2).map(|w| w[1] - w[0]).collect();
        let particles = look.output.places_of(particle);
        let forks = those(look.after_of(path), |p| look.restless(p));
        // Every fork hangs on one particle and ends in two.
        given(counts.len() >= 2 && counts.iter().enumerate().all(|(i, n)| *n == 2 << i))?;
        given(gaps.iter().all(|g| Some(g) == gaps.first()))?;
        given(forks.len() + 1 == 1 << counts.len())?;
        Some(every(&forks, |f| {
            those(&particles, |&&p| f.touches(&[p])).len() == 3
        }))
    })
}
