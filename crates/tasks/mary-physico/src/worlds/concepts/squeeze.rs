use super::*;

concept!(draws: soft_body, tube; reads: squeezed, pressed_out);

fn soft_body(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (jaw, body) = (s.colour(0), s.colour(1));
    let (wide, tall, thin, long) = s.choose(&[
        (6, 2, 2, 6),
        (4, 3, 2, 6),
        (6, 4, 4, 6),
        (6, 4, 3, 8),
        (8, 3, 4, 6),
        (6, 3, 2, 9),
        (8, 2, 2, 8),
        (8, 4, 4, 8),
    ])?;
    given(long < s.rows && wide + 4 <= s.cols)?;
    let mid = (s.between(long / 2, s.rows - (long + 1) / 2), s.cols / 2);
    let reach = s.between(0, 1);
    for (g, w, h) in [(&mut p.input, wide, tall), (&mut p.output, thin, long)] {
        let (top, left) = (mid.0 - h / 2, mid.1 - w / 2);
        g.fill((top, left), (top + h - 1, left + w - 1), body);
        let jt = mid.0 - tall / 2 - reach;
        let jb = mid.0 - tall / 2 + tall - 1 + reach;
        g.fill((jt, 0), (jb, left - 1), jaw);
        g.fill((jt, left + w), (jb, s.cols), jaw);
    }
    Some(p)
}

fn tube(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (skin, paste, jaw) = (s.colour(0), s.colour(1), s.colour(2));
    let long = s.between(5, 6);
    let pinch = s.between(1, ((s.cols - long - 2) / 2).min(3));
    let mid = s.between(4, s.rows - 5);
    let left = 0;
    let mouth = left + long;
    for (g, pressed) in [(&mut p.input, false), (&mut p.output, true)] {
        g.fill((mid - 1, left + 1), (mid + 1, mouth), paste);
        for c in left..=mouth {
            let flat = pressed && c > left && c <= left + pinch;
            let far = if flat { 1 } else { 2 };
            g.set(mid - far, c, skin);
            g.set(mid + far, c, skin);
        }
        g.fill((mid - 2, left), (mid + 2, left), skin);
        let apart = if pressed { 3 } else { 4 };
        let jaws = [mid - apart, mid + apart - 1];
        for row in jaws {
            g.fill_box((row, left + 1), (2, pinch), jaw);
        }
        if pressed {
            g.fill_box((mid, mouth + 1), (1, 2 * pinch), paste);
        }
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn squeezed(look: &Look) -> bool {
    exists(&look.touched, |&body| {
        let (from, to) = look.one_part(body)?;
        let jaw = look.touched.iter().find(|c| **c != body).copied();
        // Touched by the same colour on both of two opposite sides.
        let held = |part: &Part, colour: &dyn Fn(Place) -> u8, across: bool| {
            let [t, l, b, r] = part.bounds;
            let (y, x) = ((t + b) / 2, (l + r) / 2);
            let (beside, over) = ([(y, l - 1), (y, r + 1)], [(t - 1, x), (b + 1, x)]);
            let sides = if across { beside } else { over };
            sides.iter().all(|&p| Some(colour(p)) == jaw)
        };
        let (was, is) = (|p| look.was(p), |p| look.is(p));
        let thinner = |across: bool| {
            let (tall, wide) = (to.tall() - from.tall(), to.wide() - from.wide());
            let (less, more) = if across { (wide, tall) } else { (tall, wide) };
            less < 0 && more > 0 && held(from, &was, across) && held(to, &is, across)
        };
        let jaws = |parts: Vec<&Part>| parts.len() == 2 && parts.iter().all(|p| p.is_box());
        given(look.kept(body, 4) && from.is_box() && to.is_box())?;
        given(thinner(true) || thinner(false))?;
        Some(jaw.is_some_and(|c| jaws(look.before_of(c)) && jaws(look.after_of(c))))
    })
}

fn pressed_out(look: &Look) -> bool {
    exists(&look.touched, |&jaw| {
        let all = look.moves_of(&[jaw])?;
        let [a, b] = exactly(&all)?;
        let upright = a.by.0 != 0;
        let axis = usize::from(upright);
        let together = a.by == (-b.by.0, -b.by.1) && a.by.0 * a.by.1 == 0 && {
            let gap = |p: &Part, q: &Part| {
                let (m, n) = (p.middle(), q.middle());
                (m.0 - n.0).abs() + (m.1 - n.1).abs()
            };
            gap(a.to, b.to) < gap(a.from, b.from)
        };
        given(together)?;
        Some(exists(
            look.touched.iter().filter(|c| **c != jaw),
            |&paste| {
                let (from, to) = look.one_part(paste)?;
                let longer = |i: usize| {
                    let (f, t) = (from.bounds, to.bounds);
                    (t[i + 2] - t[i]) - (f[i + 2] - f[i])
                };
                let skin = look.touched.iter().find(|c| **c != jaw && **c != paste);
                given(look.kept(paste, 6) && from.is_box() && longer(axis) >= 2)?;
                Some(skin.is_some_and(|&c| look.has_parts(c, 1, 1)))
            },
        ))
    })
}
