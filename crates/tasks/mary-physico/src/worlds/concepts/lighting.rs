use super::*;

concept!(draws: lamp, candle; reads: lit_the_floor, lit_all_it_sees);

fn lamp(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (floor, shade, off, on) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let ground = s.rows - 1;
    let mid = s.between(4, s.cols - 5);
    let hang = s.between(1, s.rows - 8);
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), floor);
        g.fill((0, mid), (hang, mid), shade);
        g.fill((hang, mid - 1), (hang, mid + 1), shade);
        g.set(hang + 1, mid - 2, shade);
        g.set(hang + 1, mid + 2, shade);
    });
    p.input.fill((hang + 1, mid - 1), (hang + 1, mid + 1), off);
    p.output.fill((hang + 1, mid - 1), (hang + 1, mid + 1), on);
    for r in hang + 2..ground {
        let half = 2 + (r - hang - 2) / 2;
        p.output.fill((r, mid - half), (r, mid + half), on);
    }
    Some(p)
}

/// Whether nothing stands on the straight way between two places.
fn sees(g: &Grid, from: Place, to: Place, wall: u8) -> bool {
    line(from, to).into_iter().all(|(r, c)| g.at(r, c) != wall)
}

fn candle(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wick, post, light) = (s.colour(0), s.colour(1), s.colour(2));
    let at = s.place((4, s.rows - 5), (4, s.cols - 5));
    for _ in 0..s.between(2, 4) {
        let q = s.place((at.0 - 3, at.0 + 3), (at.1 - 3, at.1 + 3));
        let away = (q.0 - at.0).abs().max((q.1 - at.1).abs());
        if away >= 2 {
            let end = s.either((q.0 + 1, q.1), (q.0, q.1 + 1));
            p.both(|g| g.fill(q, end, post));
        }
    }
    given(p.input.count(post) >= 4 && p.input.at(at.0, at.1) != post)?;
    let reach = s.between(3, 7);
    for (r, c) in disc(at, reach) {
        if p.output.free(r, c) && sees(&p.output, at, (r, c), post) {
            p.output.set(r, c, light);
        }
    }
    p.both(|g| g.set(at.0, at.1, wick));
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn lit_the_floor(look: &Look) -> Option<bool> {
    let (on, off) = (look.one_fresh()?, look.one_lost()?);
    given(!look.gone(off).iter().any(|&p| look.is(p) != on))?;
    let after = look.after_of(on);
    let [light] = exactly(&after)?;
    let lamp = look.input.places_of(off);
    let [top, ..] = light.bounds;
    let row = |r: i32| in_row(&light.cells, r);
    let rows: Vec<Vec<i32>> = (top..=light.bounds[2]).map(row).collect();
    let whole = every(&rows, |r| {
        Some((r.last()? - r.first()? + 1) as usize == r.len())
    });
    let widens = rows.windows(2).all(|w| w[0].len() <= w[1].len());
    let floor = (light.bounds[2] + 1, light.middle().1 / 2);
    given(whole && widens && rows.len() >= 4)?;
    given(rows.first().map(Vec::len) < rows.last().map(Vec::len))?;
    Some(lamp.iter().all(|p| p.0 <= top + 1) && look.stays(floor))
}

/// The places between two, as near to the straight line as cells are.
fn between(from: Place, to: Place) -> impl Iterator<Item = Place> {
    let (dr, dc) = (to.0 - from.0, to.1 - from.1);
    let n = 2 * dr.abs().max(dc.abs());
    (1..n).map(move |i| {
        let part = |d: i32| (f64::from(d * i) / f64::from(n)).round() as i32;
        (from.0 + part(dr), from.1 + part(dc))
    })
}

fn lit_all_it_sees(look: &Look) -> Option<bool> {
    let light = look.one_added()?;
    given(look.had(light) == 0)?;
    let wicks = look.parts_before().iter().filter(|p| p.len() == 1);
    Some(wicks.flat_map(|p| p.cells.first().copied()).any(|wick| {
        let away = |p: Place| {
            let (dr, dc) = (p.0 - wick.0, p.1 - wick.1);
            dr * dr + dc * dc
        };
        let beside = [(0, 1), (1, 0), (0, -1), (-1, 0)].iter().all(|d| {
            let at = (wick.0 + d.0, wick.1 + d.1);
            look.is(at) == light || look.stays(at)
        });
        let reach = look.changed.iter().map(|&p| away(p)).max().unwrap_or(0);
        let hidden = |p: Place| between(wick, p).any(|q| q != wick && look.stays(q));
        let inner = |p: Place| {
            let n = f64::from(away(p)).sqrt() + 1.2;
            n * n <= f64::from(reach)
        };
        let dark = |p: Place| look.is(p) == 0 && inner(p);
        let shadows: Vec<Place> = look.output.places().filter(|&p| dark(p)).collect();
        let seen_dark = shadows.iter().filter(|&&p| !hidden(p)).count();
        let unseen_lit = look.changed.iter().filter(|&&p| hidden(p)).count();
        beside && 10 * seen_dark <= look.changed.len() && 8 * unseen_lit <= look.changed.len()
    }))
}
