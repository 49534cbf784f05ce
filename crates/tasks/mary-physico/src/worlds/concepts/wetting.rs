use super::*;

concept!(draws: soaking, spreading; reads: soaked, became_a_film);

fn soaking(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (cloth, water, wet, basin) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let (ground, right) = (s.rows - 1, s.cols - 1);
    let surface = ground - s.between(2, 3);
    p.both(|g| {
        vessel(g, surface - 1, ground, (0, right), basin);
        g.fill((surface, 1), (ground - 1, right - 1), water);
        g.fill((0, 1), (0, right - 1), basin);
    });
    let many = s.between(2, (s.cols - 2) / 4);
    let wide = s.between(2, (s.cols - 1) / many - 2);
    let dips = s.between(1, many - 1);
    let order = s.shuffled((0..many).collect::<Vec<_>>());
    let up = s.between(2, surface - 4);
    for (i, slot) in order.into_iter().enumerate() {
        let left = 2 + slot * (wide + 2);
        let reaches = (i as i32) < dips;
        let low = surface - if reaches { 0 } else { s.between(2, 4) };
        p.both(|g| g.fill((1, left), (low, left + wide - 1), cloth));
        if reaches {
            p.output.fill((low - up, left), (low, left + wide - 1), wet);
        }
    }
    (2 + many * (wide + 2) - 2 < right && surface - 4 > 1).then_some(p)
}

fn spreading(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (plate, water, wax) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - s.between(1, 3);
    let mid = s.cols / 2;
    p.both(|g| {
        g.fill((floor, 0), (g.rows() as i32, mid - 1), plate);
        g.fill((floor, mid), (g.rows() as i32, g.cols() as i32), wax);
    });
    let one = mid / 2;
    let other = mid + (s.cols - mid) / 2;
    let ball = [
        (0, 0),
        (0, 1),
        (1, -1),
        (1, 0),
        (1, 1),
        (1, 2),
        (2, 0),
        (2, 1),
    ];
    let ball: Vec<Place> = s.either(ball.to_vec(), vec![(0, 0), (0, 1), (1, 0), (1, 1)]);
    let tall = ball.iter().map(|q| q.0).max()? + 1;
    let up = s.between(1, floor - tall - 3);
    for c in [one, other] {
        p.input.paint(shifted(&ball, (up, c)), water);
    }
    p.output.paint(shifted(&ball, (floor - tall, other)), water);
    // A film: one row as far as it goes, a second in its middle.
    let wide = (ball.len() as i32).min(mid);
    let left = (one - wide / 2).clamp(0, mid - wide);
    p.output.fill_box((floor - 1, left), (1, wide), water);
    let over = ball.len() as i32 - wide;
    if over > 0 {
        let from = left + (wide - over) / 2;
        p.output.fill_box((floor - 2, from), (1, over), water);
    }
    (p.input.count(water) == p.output.count(water)).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn soaked(look: &Look) -> Option<bool> {
    let wet = look.one_fresh()?;
    given(look.only_recoloured && look.touched.len() == 2)?;
    let &cloth = look.touched.iter().find(|c| **c != wet)?;
    given(look.has(cloth) > 0 && look.changed.len() >= 4)?;
    let near = look.still_beside(&look.changed);
    Some(near.iter().filter(|c| **c != cloth).any(|&water| {
        let sources = look.input.places_of(water);
        let front = look.changed.first().map_or(0, |p| p.0);
        // Whether each part touches the liquid, and whether it is as wet as it should be.
        let judged = |part: &Part| {
            let changed = |p: &&Place| look.was(**p) != look.is(**p);
            let (wet, dry): (Vec<&Place>, Vec<&Place>) = part.cells.iter().partition(changed);
            let soaked =
                !dry.is_empty() && dry.iter().all(|p| p.0 < front) && part.bounds[2] - front >= 2;
            let touches = part.touches(&sources);
            (touches, if touches { soaked } else { wet.is_empty() })
        };
        let both: Vec<(bool, bool)> = look.before_of(cloth).into_iter().map(judged).collect();
        both.iter().all(|(_, fits)| *fits)
            && both.iter().any(|(touches, _)| *touches)
            && both.iter().any(|(touches, _)| !touches)
    }))
}

fn became_a_film(look: &Look) -> Option<bool> {
    let [water] = *exactly(&look.touched)?;
    let (before, after) = (look.before_of(water), look.after_of(water));
    let ([a, b], [c, d]) = (exactly(&before)?, exactly(&after)?);
    let under = |part: &Part| look.is((part.bounds[2] + 1, part.bounds[1]));
    given(a.alike(b))?;
    Some([(c, d), (d, c)].into_iter().any(|(ball, film)| {
        ball.alike(a)
            && film.len() == a.len()
            && film.tall() < a.tall()
            && film.wide() > a.wide()
            && [ball, film].iter().all(|p| rests(look, p))
            && ball.bounds[2] > a.bounds[2]
            && under(film) != look.is((ball.bounds[2] + 1, ball.bounds[3] - 1))
    }))
}
