use super::*;

concept!(draws: heated_rod, touching_blocks; reads: warmed_from_an_end, warm_at_the_contact);

fn heated_rod(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (cold, warm, hot, fire) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let thick = s.between(1, 2);
    let long = s.between(9, s.cols - 1);
    let left = s.between(0, s.cols - long);
    let row = s.between(1, s.rows - thick - 4);
    p.both(|g| {
        g.fill((row, left), (row + thick - 1, left + long - 1), cold);
        flame(g, row + thick + 2, left + 1, fire);
    });
    let a = s.between(3, long / 2 - 1);
    let b = s.between(a + 2, long - 3);
    p.output.fill_box((row, left), (thick, b + 1), warm);
    p.output.fill_box((row, left), (thick, a), hot);
    Some(p)
}

fn touching_blocks(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (hot, cold, warm) = (s.colour(0), s.colour(1), s.colour(2));
    let big = s.between(2, 4).min((s.rows - 3) / 2);
    let wide = s.between(3, (s.cols - 3) / 2);
    let deep = s.between(1, wide - 1).min(4);
    let top = s.between(0, s.rows - 2 * big - 2);
    let low = s.between(top + big + 2, s.rows - big);
    let (touch, apart) = if s.coin() { (top, low) } else { (low, top) };
    let left = s.between(0, s.cols - 2 * wide - 2);
    let (a, b) = if s.coin() { (hot, cold) } else { (cold, hot) };
    let contact = left + wide;
    p.both(|g| {
        g.fill_box((touch, left), (big, wide), a);
        g.fill_box((touch, contact), (big, wide), b);
        g.fill_box((apart, left), (big, wide), a);
        g.fill_box((apart, contact + 2), (big, wide), b);
    });
    p.output
        .fill_box((touch, contact - deep), (big, 2 * deep), warm);
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn warmed_from_an_end(look: &Look) -> Option<bool> {
    let cold = look.changed.first().map_or(0, |&p| look.was(p));
    let before = look.before_of(cold);
    let rod = before.iter().find(|p| look.restless(p))?;
    let long = rod.tall().max(rod.wide());
    given(rod.is_box() && long >= 6 && 2 * rod.tall().min(rod.wide()) <= long)?;
    // The colours along the rod, each the same across it.
    let lying = rod.wide() > rod.tall();
    let [t, l, b, r] = rod.bounds;
    let across = |i: i32| -> Option<u8> {
        let cells: Vec<Place> = if lying {
            (t..=b).map(|y| (y, l + i)).collect()
        } else {
            (l..=r).map(|x| (t + i, x)).collect()
        };
        let first = cells.first().map(|&p| look.is(p))?;
        cells.iter().all(|&p| look.is(p) == first).then_some(first)
    };
    let mut along: Vec<u8> = (0..long).map(across).collect::<Option<_>>()?;
    along.dedup();
    let inside = look.changed.iter().all(|p| rod.has(*p));
    let one_end = (along.first() == Some(&cold)) != (along.last() == Some(&cold));
    Some(inside && along.len() == 3 && one_end)
}

fn warm_at_the_contact(look: &Look) -> Option<bool> {
    let changed = those(look.parts_before(), |p| look.restless(p));
    let ([a, b], warm) = (exactly(&changed)?, look.one_fresh()?);
    let twin = |part: &Part| {
        let before = look.before_of(part.colour);
        before.iter().any(|q| q.alike(part) && !look.restless(q))
    };
    let half = |part: &Part| part.cells.iter().filter(|&&p| look.is(p) == warm).count();
    let spot = Part::new(warm, look.changed.clone());
    given(a.is_box() && a.alike(b) && a.touches(&b.cells) && spot.is_box() && half(a) == half(b))?;
    Some(half(a) < a.len() && twin(a) && twin(b))
}
