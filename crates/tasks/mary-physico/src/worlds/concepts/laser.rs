use super::*;

concept!(draws: beam, drill, cross_hairs, diagonals; reads: beamed, drilled, crossed, slanted);

/// A pointer: a body of 3 × 2 with its tip to the right.
fn pointer(g: &mut Grid, at: Place, body: u8, tip: u8) {
    g.fill((at.0 - 1, at.1), (at.0 + 1, at.1 + 1), body);
    g.set(at.0, at.1 + 1, tip);
}

fn beam(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (body, light, wall) = (s.colour(0), s.colour(1), s.colour(2));
    let far = s.cols - 1;
    p.both(|g| g.fill((0, far), (g.rows() as i32, far), wall));
    let mut row = s.between(1, 3);
    while row < s.rows - 1 {
        let left = s.between(0, 4);
        p.both(|g| pointer(g, (row, left), body, light));
        p.output.fill((row, left + 2), (row, far - 1), light);
        row += s.between(4, 6);
    }
    Some(p)
}

fn drill(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (body, light, steel) = (s.colour(0), s.colour(1), s.colour(2));
    let row = s.between(2, s.rows - 3);
    let left = s.between(0, 1);
    let wide = s.between(2, 4);
    let at = s.between(left + 4, s.cols - wide - 2);
    let (top, bottom) = (s.between(0, row - 1), s.between(row + 1, s.rows - 1));
    p.both(|g| {
        pointer(g, (row, left), body, light);
        g.fill((top, at), (bottom, at + wide - 1), steel);
    });
    p.output.fill((row, left + 2), (row, s.cols), light);
    Some(p)
}

/// Points that are at least three rows and columns apart.
fn points(s: &mut Setting, many: i32) -> Vec<Place> {
    let mut found: Vec<Place> = Vec::new();
    for _ in 0..30 {
        let at = s.place((1, s.rows - 2), (1, s.cols - 2));
        let apart = |p: &Place| (p.0 - at.0).abs() >= 3 && (p.1 - at.1).abs() >= 3;
        if (found.len() as i32) < many && found.iter().all(apart) {
            found.push(at);
        }
    }
    found
}

fn cross_hairs(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let beam = s.colour(0);
    let many = s.between(1, 2);
    for (r, c) in points(s, many) {
        p.input.set(r, c, beam);
        p.output.fill((r, 0), (r, s.cols - 1), beam);
        p.output.fill((0, c), (s.rows - 1, c), beam);
    }
    Some(p)
}

fn diagonals(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let beam = s.colour(0);
    let many = s.between(1, 3);
    let way = if s.coin() { 1 } else { -1 };
    for (r, c) in points(s, many) {
        p.input.set(r, c, beam);
        p.output.ray((r, c), (1, way), -s.rows..s.rows, beam);
    }
    (p.output.count(beam) >= p.input.count(beam) + 6).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn beamed(look: &Look) -> bool {
    let beams = look.new_parts();
    !beams.is_empty()
        && beams.iter().all(|beam| {
            let Some((before, after)) = ends(beam) else {
                return false;
            };
            let starts = |p: Place| look.input.get(p.0, p.1) == Some(beam.colour);
            let stops = |p: Place| edge_or(&look.input, p, |v| v != 0 && v != beam.colour);
            beam.len() >= 3
                && ((starts(before) && stops(after)) || (starts(after) && stops(before)))
        })
}

/// The places before and after a straight run along a row or a column.
fn ends(run: &Part) -> Option<(Place, Place)> {
    let [t, l, b, r] = run.bounds;
    match (run.is_box(), t == b, l == r) {
        (true, true, false) => Some(((t, l - 1), (t, r + 1))),
        (true, false, true) => Some(((t - 1, l), (b + 1, l))),
        _ => None,
    }
}

fn drilled(look: &Look) -> Option<bool> {
    given(look.touched.len() == 2)?;
    let beams = look.new_parts();
    let [beam] = exactly(&beams)?;
    let (before, after) = ends(beam)?;
    let starts = |p: Place| look.input.get(p.0, p.1) == Some(beam.colour);
    let leaves = |p: Place| !look.holds(p);
    let burnt = those(beam.cells.iter().map(|&p| look.was(p)), |&c| c != 0);
    given(beam.len() == look.changed.len())?;
    given((starts(before) && leaves(after)) || (starts(after) && leaves(before)))?;
    Some(!burnt.is_empty() && burnt.iter().all(|c| Some(c) == burnt.first()))
}

/// The points of the only colour that grew, and whether it grew into just what is drawn from them.
fn grew_into(look: &Look, draw: impl Fn(&mut Grid, Place)) -> Option<bool> {
    let beam = look.one_added()?;
    let grown = |&(r, c): &Place| around(true).any(|(dr, dc)| look.is((r + dr, c + dc)) == beam);
    let single = |p: &Part| exactly(&p.cells).map(|[at]| *at);
    let points = those(look.before_of(beam).into_iter().filter_map(single), grown);
    let mut image = look.input.clone();
    for &at in &points {
        draw(&mut image, at);
    }
    Some(!points.is_empty() && look.changed.len() >= 6 && image == look.output)
}

fn crossed(look: &Look) -> bool {
    let colour = look.one_added().unwrap_or(0);
    grew_into(look, |g, (r, c)| {
        g.fill((r, 0), (r, g.cols() as i32 - 1), colour);
        g.fill((0, c), (g.rows() as i32 - 1, c), colour);
    })
    .yes()
}

fn slanted(look: &Look) -> bool {
    let colour = look.one_added().unwrap_or(0);
    [1, -1].into_iter().any(|way| {
        grew_into(look, |g, (r, c)| {
            for k in -20..=20 {
                g.set(r + k, c + way * k, colour);
            }
        })
        .yes()
    })
}
