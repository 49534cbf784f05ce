use super::*;

concept!(draws: shadow, slide_projector; reads: shadowed, shown_on_a_screen);

fn shadow(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (ground, dark) = (s.colour(0), s.colour(1));
    let floor = s.rows - 2;
    let sun = s.colour(3);
    p.both(|g| {
        g.fill((floor, 0), (floor + 1, g.cols() as i32), ground);
        // The sun above everything.
        g.fill((0, 0), (0, g.cols() as i32), sun);
    });
    let mut col = s.between(1, 2);
    let mut bodies = 0;
    while col < s.cols - 3 {
        let form = s.any_blob(4, 8);
        let (tall, wide) = extent(&form);
        if col + wide >= s.cols || tall > floor - 4 {
            break;
        }
        let top = s.between(2, floor - tall - 2);
        let colour = s.colour(2);
        p.both(|g| g.stamp(&form, (top, col), colour));
        p.output.fill((floor, col), (floor, col + wide - 1), dark);
        bodies += 1;
        col += wide + s.between(2, 3);
    }
    (bodies >= 2).then_some(p)
}

fn slide_projector(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (lamp, light, screen) = (s.colour(0), s.colour(1), s.colour(2));
    // The slide is `k` cells high at half the way, so its picture is 2k high on the screen.
    let k = s.between(3, if s.rows >= 15 { 5 } else { 4 });
    let far = s.cols - 1;
    let near = (far - 1) / 2;
    let mid2 = s.rows - 1 + s.between(-1, 0);
    let top = (mid2 + 1 - 2 * k) / 2;
    let first = top + k / 2;
    p.both(|g| {
        g.fill((0, far), (g.rows() as i32, far), screen);
        g.fill((mid2 / 2, 0), ((mid2 + 1) / 2, 0), lamp);
    });
    let pattern: Vec<u8> = (0..k).map(|_| s.any_colour(3, 4)).collect();
    for (i, &colour) in (0..).zip(&pattern) {
        p.both(|g| g.set(first + i, near, colour));
        p.output.fill_box((top + 2 * i, far), (2, 1), colour);
    }
    let edges = [
        (mid2 / 2, first, top),
        ((mid2 + 1) / 2, first + k - 1, top + 2 * k - 1),
    ];
    for (a, b, c) in edges {
        p.output.paint(line((a, 1), (b, near - 1)), light);
        p.output.paint(line((b, near + 1), (c, far - 1)), light);
    }
    let mixed = pattern.iter().any(|c| Some(c) != pattern.first());
    (mixed && top >= 0 && top + 2 * k <= s.rows).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn shadowed(look: &Look) -> Option<bool> {
    let dark = look.one_fresh()?;
    given(look.only_recoloured)?;
    let &ground = look.touched.iter().find(|c| **c != dark)?;
    Some(look.some_way(|look| {
        let &(row, _) = look.changed.first()?;
        let sun = look.was((0, 0));
        let over = |c: i32| (1..row).any(|r| ![0, ground, sun].contains(&look.was((r, c))));
        given(sun != 0 && (0..look.cols()).all(|c| look.was((0, c)) == sun))?;
        given(look.changed.iter().all(|p| p.0 == row))?;
        given((0..look.cols()).all(|c| look.was((row, c)) == ground))?;
        Some((0..look.cols()).all(|c| (look.is((row, c)) == dark) == over(c)))
    }))
}

fn shown_on_a_screen(look: &Look) -> Option<bool> {
    let light = look.one_fresh()?;
    let rays = look.after_of(light);
    given(
        !look.came(light).iter().any(|&p| look.was(p) != 0)
            && rays.iter().all(|p| look.attached(p, &look.output)),
    )?;
    Some(look.lying_or_upright(|look| {
        let shown = those(look.changed.iter().copied(), |&p| look.is(p) != light);
        let (&(first, c), n) = (shown.first()?, shown.len());
        let screen = look.was((first, c));
        let straight = every((first..).zip(&shown), |(r, p)| {
            *p == (r, c) && look.was(*p) == screen
        });
        given(screen != 0 && n >= 4 && n % 2 == 0 && straight)?;
        // The slide: half as many cells in another column, the same colours.
        let half = n as i32 / 2;
        let slide = |r: i32, x: i32| {
            every(0..half, |i| {
                let pair = [first + 2 * i, first + 2 * i + 1].map(|r| look.is((r, c)));
                let slide = look.was((r + i, x));
                slide != 0 && pair == [slide; 2]
            })
        };
        let mut columns = (0..look.cols()).filter(|x| *x != c);
        Some(columns.any(|x| (0..=look.rows() - half).any(|r| slide(r, x))))
    }))
}
