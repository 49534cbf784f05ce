use super::*;

concept!(draws: behind_the_glass, four_quarters; reads: mirrored);

/// A form without mirror symmetry, so that its image differs from it.
fn lopsided(s: &mut Setting, cells: usize) -> Option<Vec<Place>> {
    let form = s.blob(cells);
    let (tall, wide) = extent(&form);
    let flip = |by: &dyn Fn(&Place) -> Place| {
        let mut f: Vec<Place> = form.iter().map(by).collect();
        f.sort_unstable();
        f
    };
    let same = flip(&|q| (q.0, wide - 1 - q.1)) == form || flip(&|q| (tall - 1 - q.0, q.1)) == form;
    (!same && tall <= 5 && wide <= 5).then_some(form)
}

fn behind_the_glass(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let glass = s.colour(0);
    let mid = s.cols / 2;
    p.both(|g| g.fill((0, mid), (g.rows() as i32, mid), glass));
    let mut put = 0;
    for role in 1..=s.between(1, 3) as usize {
        let size = s.between(4, 8) as usize;
        let form = lopsided(s, size)?;
        let (tall, wide) = extent(&form);
        let at = s.place((0, s.rows - tall), (1, mid - wide));
        let cells = shifted(&form, at);
        let image: Vec<Place> = cells.iter().map(|q| (q.0, 2 * mid - q.1)).collect();
        if cells.iter().chain(&image).all(|q| p.output.free(q.0, q.1)) {
            let colour = s.colour(role);
            p.both(|g| g.paint(cells.iter().copied(), colour));
            p.output.paint(image, colour);
            put += 1;
        }
    }
    (put > 0).then_some(p)
}

fn four_quarters(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (mr, mc) = (s.rows / 2 - (1 - s.rows % 2), s.cols / 2 - (1 - s.cols % 2));
    let glass = s.colour(0);
    p.both(|g| {
        g.fill((mr, 0), (mr, 2 * mc), glass);
        g.fill((0, mc), (2 * mr, mc), glass);
    });
    let size = s.between(5, 12) as usize;
    let form = lopsided(s, size)?;
    let (tall, wide) = extent(&form);
    let at = s.place((0, mr - tall), (0, mc - wide));
    for (i, (r, c)) in shifted(&form, at).into_iter().enumerate() {
        let colour = s.colour(1 + usize::from(i % 4 == 0));
        p.both(|g| g.set(r, c, colour));
        p.output.set(r, 2 * mc - c, colour);
        p.output.set(2 * mr - r, c, colour);
        p.output.set(2 * mr - r, 2 * mc - c, colour);
    }
    (tall <= mr && wide <= mc).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

/// Whether the cells that are not empty are symmetric about some line along an axis.
fn symmetric(grid: &Grid) -> Option<bool> {
    let cells = grid.places_where(|c| c != 0);
    let [top, left, bottom, right] = bounds(&cells)?;
    let across = |&(r, c): &Place| grid.at(r, left + right - c) == grid.at(r, c);
    let down = |&(r, c): &Place| grid.at(top + bottom - r, c) == grid.at(r, c);
    Some(cells.iter().all(across) || cells.iter().all(down))
}

fn mirrored(look: &Look) -> bool {
    look.only_added
        && look.changed.len() >= 4
        && (symmetric(&look.output).yes() && !symmetric(&look.input).yes()
            || look.lying_or_upright(in_the_glass))
}

/// A still line of one colour from edge to edge, and all that is new is the mirror image, across it,
/// of what was there.
fn in_the_glass(look: &Look) -> bool {
    let glass = (1..look.cols() - 1).find(|&c| {
        let colour = look.was((0, c));
        colour != 0 && (0..look.rows()).all(|r| look.was((r, c)) == colour)
    });
    let Some(c) = glass else { return false };
    let twin = |p: &Place| look.was((p.0, 2 * c - p.1));
    look.changed.iter().all(|p| twin(p) == look.is(*p)) && {
        // Whole things, not bits of them.
        let beyond = |p: &Place| look.is((p.0, 2 * c - p.1)) == look.was(*p);
        let shown = |part: &Part| {
            let n = part.cells.iter().filter(|p| beyond(p)).count();
            n == 0 || n == part.len()
        };
        look.parts_before().iter().all(shown)
    }
}
