use super::*;

concept!(draws: tuning_forks, same_pendulums; reads: sounds_too, swings_too if single_bobs);

fn tuning_forks(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (table, fork, sound) = (s.colour(0), s.colour(1), s.colour(2));
    let ground = s.rows - 1;
    let many = s.cols / 4;
    let own = s.between(3, 6).min(s.rows - 6);
    p.both(|g| g.fill((ground, 0), (ground, g.cols() as i32), table));
    let order = s.shuffled((0..many).collect::<Vec<_>>());
    let struck = *order.first()?;
    let twins = s.between(1, (many - 2).max(1));
    let left = s.between(0, s.cols - 4 * many);
    for (i, &slot) in order.iter().enumerate() {
        let same = i as i32 <= twins;
        let others = [own - 1, own + 1, own - 2, own + 2];
        let tall = if same { own } else { s.choose(&others)? };
        given(tall >= 2 && tall <= s.rows - 5)?;
        let c = left + 4 * slot;
        let top = ground - 1 - tall;
        p.both(|g| {
            vessel(g, top, ground - 2, (c, c + 2), fork);
            g.set(ground - 1, c + 1, fork);
        });
        // Sound: waves that leave the tips.
        let rings = shifted(&[(2, 1), (1, 0), (1, 2), (0, 1)], (top - 3, c));
        if slot == struck {
            p.input.paint(rings.iter().copied(), sound);
        }
        if same {
            p.output.paint(rings, sound);
        }
    }
    (many > twins + 1 && own <= s.rows - 6).then_some(p)
}

fn same_pendulums(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (beam, thread, ball, driver) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    // A thread of the last one, swung out, still ends inside.
    let many = s.cols / 4;
    let own = s.between(5, s.rows - 4);
    p.both(|g| g.fill((0, 0), (0, g.cols() as i32), beam));
    let order = s.shuffled((0..many).collect::<Vec<_>>());
    let struck = *order.first()?;
    let twins = s.between(1, (many - 2).max(1));
    for (i, &slot) in order.iter().enumerate() {
        let same = i as i32 <= twins;
        let others = [own - 2, own + 2, own - 3, own + 3];
        let long = if same { own } else { s.choose(&others)? };
        given(long >= 3 && long <= s.rows - 3)?;
        let c = 1 + 4 * slot;
        for (g, swings) in [(&mut p.input, slot == struck), (&mut p.output, same)] {
            let end = (long, if swings { c + 2 } else { c });
            g.paint(line((1, c), (end.0 - 1, end.1)), thread);
            let bob = if slot == struck { driver } else { ball };
            g.fill(end, (end.0 + 1, end.1), bob);
        }
    }
    (many > twins + 1).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

/// The nearest still part under a part, in its middle column or beside it.
fn under<'a>(look: &'a Look, part: &Part) -> Option<&'a Part> {
    let [_, l, b, r] = part.bounds;
    let mut near = (b + 1..=b + 2).flat_map(|y| (l..=r).map(move |x| (y, x)));
    let (row, col) = near.find(|&p| look.stays(p) && look.was(p) != part.colour)?;
    look.parts_before().iter().find(|p| p.has((row, col)))
}

fn sounds_too(look: &Look) -> Option<bool> {
    let sound = look.one_added()?;
    let before = look.before_of(sound);
    let [mark] = exactly(&before)?;
    let marks = look.after_of(sound);
    let struck = under(look, mark)?;
    let forks: Vec<&Part> = look.before_of(struck.colour);
    let beneath: Vec<Option<&Part>> = marks.iter().map(|m| under(look, m)).collect();
    let twins = forks.iter().filter(|f| f.alike(struck)).count();
    given(marks.len() >= 2 && marks.iter().all(|m| m.alike(mark)))?;
    given(beneath.iter().flatten().count() == marks.len())?;
    given(every(beneath.iter().flatten(), |f| {
        f.colour == struck.colour && f.alike(struck)
    }))?;
    Some(twins == marks.len() && forks.len() > twins)
}

fn single_bobs(look: &Look) -> bool {
    look.touched.iter().any(|&ball| {
        let bobs = |parts: Vec<&Part>| parts.iter().all(|p| p.len() == 2 && p.is_run());
        bobs(look.before_of(ball)) && bobs(look.after_of(ball))
    })
}

fn swings_too(look: &Look) -> Option<bool> {
    given(look.touched.len() == 2 && (look.same_counts || look.changed.len() >= 4))?;
    Some(exists(&look.touched, |&ball| {
        let (came, gone) = (look.came(ball), look.gone(ball));
        let &(low, _) = gone.first()?;
        // All by the same step to one side; one may have swung out of sight.
        let to = |k: i32| those(gone.iter().map(|p| (p.0, p.1 + k)), |&p| look.holds(p));
        let stepped = (-3..=3).any(|k| k != 0 && to(k) == came);
        let others = those(look.before_of(ball), |p| !look.restless(p));
        // One whose thread is slanted as theirs are now, and was before: the one that swung first.
        let &thread = look.touched.iter().find(|c| **c != ball)?;
        let threads = look.after_of(thread);
        let slanted = |p: &&Part| p.wide() > 1;
        let swung = those(threads.iter(), |p| slanted(p) && look.restless(p));
        let hung = |parts: Vec<&Part>| {
            let top = parts.iter().map(|p| p.bounds[0]).min();
            parts.iter().all(|p| Some(p.bounds[0]) == top)
        };
        let as_slanted = |d: &Part, s: &Part| {
            let by = d.step_to(s);
            let at = |p: &Place| (p.0 + by.0, p.1 + by.1);
            d.cells.iter().all(|p| !look.holds(at(p)) || s.has(at(p)))
        };
        let still = threads.iter().filter(|p| slanted(p) && !look.restless(p));
        let driver = exists(still, |d| swung.iter().all(|s| as_slanted(d, s)));
        given(stepped && hung(look.before_of(thread)) && hung(look.after_of(thread)))?;
        given(gone.iter().all(|p| p.0 - low <= 1))?;
        given(every(&look.before_of(ball), |p| p.tall() == 2 && p.wide() == 1) && driver)?;
        Some(others.iter().all(|p| p.bounds[0] != low))
    }))
}
