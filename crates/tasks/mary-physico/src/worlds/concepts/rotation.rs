use super::*;

concept!(draws: quarter_turn, hand_of_a_clock; reads: turned, turned_inside);

fn quarter_turn(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let mut put = 0;
    for _ in 0..12 {
        let form = s.any_blob(6, 9);
        let turned = quarter(&form);
        let (tall, wide) = extent(&form);
        let side = tall.max(wide);
        if side > 5 || turned == form || mirrored(&form) {
            continue;
        }
        let at = s.place((0, s.rows - side), (0, s.cols - side));
        let around = block(at, side, side);
        if put >= 2 || !p.input.roomy(&around) || !p.output.roomy(&around) {
            continue;
        }
        // One cell is marked, so that the turn can be followed.
        let mark = *form.first()?;
        let bottom = form.iter().map(|q| q.0).max()?;
        let to = (mark.1, bottom - mark.0);
        p.input.stamp(&form, at, s.colour(2 * put));
        p.output.stamp(&turned, at, s.colour(2 * put));
        p.input.set(at.0 + mark.0, at.1 + mark.1, s.colour(1));
        p.output.set(at.0 + to.0, at.1 + to.1, s.colour(1));
        put += 1;
    }
    (put >= 1).then_some(p)
}

/// Whether a form equals one of its mirror images, where a turn could pass for a flip.
fn mirrored(form: &[Place]) -> bool {
    let (tall, wide) = extent(form);
    let flips: [&dyn Fn(&Place) -> Place; 3] = [
        &|q| (q.0, wide - 1 - q.1),
        &|q| (tall - 1 - q.0, q.1),
        &|q| (q.1, q.0),
    ];
    flips.iter().any(|flip| {
        let mut image: Vec<Place> = form.iter().map(flip).collect();
        image.sort_unstable();
        image == form
    })
}

fn hand_of_a_clock(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (dial, hand, pin, dot) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let most = (s.rows.min(s.cols) - 1) / 2;
    let radius = s.between(4, most);
    let centre = s.place((radius, s.rows - 1 - radius), (radius, s.cols - 1 - radius));
    // Eighths of a turn, clockwise from above.
    let step = |k: usize| [0, 1, 1, 1, 0, -1, -1, -1][k % 8];
    let way = |k: usize| -> Place { (step(k + 6), step(k)) };
    let start = s.between(0, 7) as usize;
    let put = |g: &mut Grid, from: usize| {
        g.paint(ring(centre, radius), dial);
        for (k, long, colour) in [(0, radius - 1, hand), (3, (radius - 1) / 2, dot)] {
            let (dr, dc) = way(from + k);
            let aslant = (long * 5 + 3) / 7;
            let long = if dr * dc == 0 { long } else { aslant };
            g.ray(centre, (dr, dc), 0..=long, colour);
        }
        g.set(centre.0, centre.1, pin);
    };
    put(&mut p.input, start);
    put(&mut p.output, start + 2);
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn turned(look: &Look) -> Option<bool> {
    given(look.same_counts)?;
    let forms = |bodies: &[Part], grid: &Grid| -> Vec<Vec<(Place, u8)>> {
        let form = |p: &Part| {
            let [t, l, ..] = p.bounds;
            let cell = |&(r, c): &Place| ((r - t, c - l), grid.at(r, c));
            p.cells.iter().map(cell).collect()
        };
        bodies.iter().map(form).collect()
    };
    let before = forms(look.bodies_before(), &look.input);
    let mut after = forms(look.bodies_after(), &look.output);
    given(!before.is_empty() && before.len() == after.len())?;
    Some(before.into_iter().all(|form| {
        if form.len() < 4 {
            return false;
        }
        let mut image = form.clone();
        for _ in 0..3 {
            let bottom = image.iter().map(|x| x.0.0).max().unwrap_or(0);
            for x in &mut image {
                x.0 = (x.0.1, bottom - x.0.0);
            }
            image.sort_unstable();
            if image != form
                && let Some(i) = after.iter().position(|a| *a == image)
            {
                after.remove(i);
                return true;
            }
        }
        false
    }))
}

fn turned_inside(look: &Look) -> Option<bool> {
    // A still ring with equal sides around all that changed.
    let [t, l, b, r] = bounds(&look.changed)?;
    let ring = |p: &&Part| {
        let [pt, pl, pb, pr] = p.bounds;
        p.tall() == p.wide() && pt < t && pl < l && pb > b && pr > r && !look.restless(p)
    };
    Some(look.parts_before().iter().filter(ring).any(|ring| {
        let (y, x) = ring.middle();
        let inside = |&&(r, c): &&Place| {
            let [pt, pl, pb, pr] = ring.bounds;
            r > pt && r < pb && c > pl && c < pr && !ring.has((r, c))
        };
        let things = look.input.places_where(|c| c != 0);
        let quarter = |way: i32| {
            every(things.iter().filter(inside), |&(r, c)| {
                let (dr, dc) = (2 * r - y, 2 * c - x);
                let to = ((y + way * dc) / 2, (x - way * dr) / 2);
                look.is(to) == look.was((r, c))
            })
        };
        quarter(1) || quarter(-1)
    }))
}
