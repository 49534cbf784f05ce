use super::*;

concept!(draws: sudden_stop, coin_and_card; reads: flew_on, stayed_behind);

fn sudden_stop(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - s.between(1, 2);
    let (earth, wall, cart, load) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let stop = s.cols / 2 + s.between(0, 2);
    let high = s.between(2, 3);
    let long = s.between(3, 4);
    p.both(|g| {
        g.fill((ground, 0), (g.rows() as i32, g.cols() as i32), earth);
        g.fill((ground - high, stop), (ground - 1, stop), wall);
    });
    let top = ground - 1 - high;
    let wide = s.between(1, 2);
    let draw = |g: &mut Grid, left: i32, load_at: i32| {
        g.fill((top + 1, left), (ground - 2, left + long - 1), cart);
        g.set(ground - 1, left, wall);
        g.set(ground - 1, left + long - 1, wall);
        g.fill((top - 1, load_at), (top, load_at + wide - 1), load);
    };
    let left = s.between(0, (stop - long - 2).min(2));
    draw(&mut p.input, left, left + 1);
    let beyond = s.between(stop + 2, s.cols - wide);
    draw(&mut p.output, stop - long, beyond);
    (left + long < stop - 1).then_some(p)
}

fn coin_and_card(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.rows - 1;
    let (table, glass, card, coin) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let wide = s.between(2, 3);
    let tall = s.between(4, s.rows - 6);
    let left = s.between(1, 2);
    let right = left + wide + 1;
    let top = ground - tall;
    p.both(|g| {
        g.fill((ground, 0), (ground, g.cols() as i32), table);
        vessel(g, top, ground - 1, (left, right), glass);
    });
    let long = right - left + 3;
    let away = s.cols - long;
    for (g, at, low) in [
        (&mut p.input, left - 1, top - 3),
        (&mut p.output, away, ground - 3),
    ] {
        g.fill_box((top - 1, at), (1, long), card);
        g.fill_box((low, left + 1), (2, wide), coin);
    }
    (away > right).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn flew_on(look: &Look) -> bool {
    let t = look.touched.iter();
    let pairs = t.flat_map(|&a| look.touched.iter().map(move |&b| (a, b)));
    exists(pairs.filter(|(a, b)| a != b), |(cart, load)| {
        let (cart, load) = (look.one_move(cart)?, look.one_move(load)?);
        let way = cart.by.1.signum();
        let front = cart.to.beyond(way);
        let stopped = (cart.to.bounds[0]..=cart.to.bounds[2]).any(|r| look.stays((r, front)));
        let lay_on = load.from.bounds[2] + 1 == cart.from.bounds[0]
            && load.from.bounds[1] >= cart.from.bounds[1]
            && load.from.bounds[3] <= cart.from.bounds[3];
        let beyond = (load.to.side(-way) - front) * way > 0;
        // Its wheels, if it has any, go along right under it.
        let wheels = look.changed.iter().all(|p| {
            let part = |c: u8| c == 0 || c == cart.from.colour || c == load.from.colour;
            (part(look.was(*p)) && part(look.is(*p))) || p.0 == cart.from.bounds[2] + 1
        });
        given(wheels && cart.by.0 == 0 && load.by.0 == 0 && way != 0 && stopped && lay_on)?;
        Some(beyond)
    })
}

fn stayed_behind(look: &Look) -> Option<bool> {
    let all = look.moves()?;
    let [a, b] = exactly(&all)?;
    Some([(a, b), (b, a)].into_iter().any(|(card, coin)| {
        let [_, l, bottom, r] = coin.from.bounds;
        let [_, nl, nb, nr] = coin.to.bounds;
        let lay_on = bottom + 1 == card.from.bounds[0]
            && l >= card.from.bounds[1]
            && r <= card.from.bounds[3];
        card.by.0 == 0
            && card.from.tall() == 1
            && coin.by.1 == 0
            && coin.by.0 > 1
            && lay_on
            && card.to.bounds[0] == card.from.bounds[0]
            && [(nb, nl - 1), (nb, nr + 1), (nb + 1, nl)]
                .iter()
                .all(|&p| look.stays(p))
    }))
}
