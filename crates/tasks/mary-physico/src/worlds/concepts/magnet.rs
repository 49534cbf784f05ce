use super::*;

concept!(draws: iron_filings, unlike_poles; reads: flew_to_the_bar, drawn_together);

fn iron_filings(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (north, south, iron, wood) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let half = s.between(2, 4);
    let top = s.between(0, s.rows - 2 * half);
    let wide = s.between(1, 2);
    let left = s.between(0, 2);
    p.both(|g| {
        g.fill_box((top, left), (half, wide), north);
        g.fill_box((top + half, left), (half, wide), south);
    });
    let mut bits = 0;
    for r in top..top + 2 * half {
        let mut edge = left + wide;
        for _ in 0..s.between(0, 2) {
            let c = s.between(edge + 2, s.cols - 1);
            if c >= s.cols || !p.input.free(r, c) {
                continue;
            }
            if s.between(0, 3) == 0 {
                if (c..s.cols).all(|x| p.input.free(r, x)) && edge + 1 < c {
                    p.both(|g| g.set(r, c, wood));
                }
                break;
            }
            if ((edge + 1)..s.cols).all(|x| p.input.at(r, x) != wood) {
                p.input.set(r, c, iron);
                p.output.set(r, edge, iron);
                edge += 1;
                bits += 1;
            }
        }
    }
    (bits >= 3 && p.input.count(wood) >= 1 && p.input.count(iron) == p.output.count(iron))
        .then_some(p)
}

fn unlike_poles(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (north, south) = (s.colour(0), s.colour(1));
    let half = if s.cols >= 16 { s.between(2, 3) } else { 2 };
    let tall = s.between(1, 3);
    let top = s.between(0, s.rows - tall);
    let gap = 2 * s.between(2, (s.cols - 4 * half) / 2);
    let left = s.between(0, s.cols - 4 * half - gap);
    let ends = s.either((north, south), (south, north));
    for (g, left, gap) in [
        (&mut p.input, left, gap),
        (&mut p.output, left + gap / 2, 0),
    ] {
        bar(g, (top, left), half, tall, ends);
        bar(g, (top, left + 2 * half + gap), half, tall, ends);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn drawn_together(look: &Look) -> bool {
    look.same_counts
        && look.touched.len() == 2
        && look.lying_or_upright(|look| {
            let (was, is) = (|p| look.was(p), |p| look.is(p));
            let found = poles(look.bodies_after(), look.bodies_before(), (&is, &was));
            found.is_some_and(|[one, two, outer]| one != two && outer == two)
        })
}

fn flew_to_the_bar(look: &Look) -> Option<bool> {
    let [iron] = *exactly(&look.touched)?;
    Some(look.kept(iron, 2) && look.some_way(|l| flew_left(l, iron)))
}

fn flew_left(look: &Look, iron: u8) -> bool {
    let (was, is) = (look.input.places_of(iron), look.output.places_of(iron));
    let mut bar = Vec::new();
    let lie_on_it = (0..look.rows()).all(|r| {
        let (a, b) = (in_row(&was, r), in_row(&is, r));
        let Some(&first) = b.first() else {
            return a.is_empty();
        };
        bar.push((r, first - 1));
        a.len() == b.len()
            && look.stays((r, first - 1))
            && (first..).zip(&b).all(|(x, c)| *c == x)
            && a.iter().zip(&b).all(|(x, y)| x > y)
    });
    let two_coloured = || {
        look.parts_before().iter().any(|p| {
            p.is_box()
                && p.len() >= 2
                && bar.iter().any(|q| p.has(*q))
                && look.parts_before().iter().any(|q| {
                    let (down, across) = p.step_to(q);
                    q.colour != p.colour && q.alike(p) && across == 0 && down.abs() == p.tall()
                })
        })
    };
    lie_on_it && two_coloured()
}
