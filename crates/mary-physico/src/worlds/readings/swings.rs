//! Readings of what swings and keeps its energy: cradles, valleys, gauges, pendulums, forks.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::{Grid, Place};

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "energy-conservation",
        &["cradle"],
        "in a row of equal hanging balls, is the picture its own mirror image, another end ball raised?",
        swung_to_the_far_side,
    )
    .touching(2, 2).same_counts()
    .upright(),
    Reading::new(
        "energy-conservation",
        &["same-height"],
        "did a ball cross a valley to a place just as high?",
        just_as_high,
    )
    .touching(1, 1).same_counts()
    .upright(),
    Reading::new(
        "energy-conservation",
        &["gauge"],
        "did a body fall, and did one part of a bar of fixed length give as much to the other?",
        traded,
    )
    .may(a_box_turned)
    .touching(2, 3).keeping(1).movers(1)
    .upright(),
    Reading::new(
        "oscillation",
        &["pendulum"],
        "did a bob swing across to the same height, with its places between drawn lower in a new colour?",
        swung_across,
    )
    .touching(3, 3).fresh(1).keeping(1).movers(1)
    .upright(),
    Reading::new(
        "oscillation",
        &["pen-on-spring"],
        "did a weight go up or down, and a new line beside it go evenly up and down?",
        drew_a_zigzag,
    )
    .touching(2, 3).fresh(1).keeping(1).movers(1)
    .upright(),
    Reading::new(
        "resonance",
        &["tuning-forks"],
        "did the mark over one body appear over all bodies of its form and no others?",
        sounds_too,
    )
    .touching(1, 1).added()
    .upright(),
    Reading::new(
        "resonance",
        &["same-pendulums"],
        "did just those bobs swing out that hang as low as one that did already?",
        swings_too,
    )
    .may(single_bobs)
    .touching(2, 2)
    .upright(),
];

fn swung_to_the_far_side(look: &Look) -> bool {
    let [x, y] = *look.touched.as_slice() else {
        return false;
    };
    if !look.same_counts {
        return false;
    }
    [(x, y), (y, x)].into_iter().any(|(ball, thread)| {
        let cells = |g: &Grid| g.places_where(|c| c == x || c == y);
        let (a, b) = (cells(&look.input), cells(&look.output));
        let (Some(p), Some(q)) = (super::bounds(&a), super::bounds(&b)) else {
            return false;
        };
        // All hangs on something still above.
        let hooks: Vec<&Place> = a.iter().filter(|h| h.0 == p[0]).collect();
        let hangs = hooks.iter().all(|h| look.was(**h) == thread)
            && hooks.iter().any(|h| look.stays((h.0 - 1, h.1)));
        let axis = p[1] + q[3];
        p[3] + q[1] == axis
            && p[1] != q[1]
            && hangs
            && look.had(ball) >= 3
            && look.before_of(ball).iter().all(|b| b.len() <= 2)
            && a.iter()
                .all(|&(r, c)| look.is((r, axis - c)) == look.was((r, c)))
    })
}

fn just_as_high(look: &Look) -> bool {
    let [ball] = *look.touched.as_slice() else {
        return false;
    };
    if !look.kept(ball, 1) || look.changed.len() > 10 {
        return false;
    }
    let (gone, came) = (look.gone(ball), look.came(ball));
    // How far down from this row it is to the ground in a column.
    let deep = |r: i32, c: i32| {
        let ground = (r + 1..look.rows()).find(|&y| look.stays((y, c)));
        ground.map_or(99, |y| y - r)
    };
    let crossed = |(p, q): (&Place, &Place)| {
        let (a, b) = (p.1.min(q.1), p.1.max(q.1));
        let valley = (a + 1..b).map(|c| deep(p.0, c)).max().unwrap_or(0);
        p.0 == q.0
            && b - a >= 2
            && deep(p.0, a) == 1
            && deep(p.0, b) == 1
            && (2..99).contains(&valley)
    };
    let far = gone
        .first()
        .zip(came.first())
        .is_some_and(|(p, q)| (p.1 - q.1).abs() >= 4);
    let one_way = |(p, q): (&Place, &Place)| (q.1 - p.1).signum();
    let way = gone.iter().zip(&came).map(one_way).next();
    far && gone
        .iter()
        .zip(&came)
        .all(|x| crossed(x) && Some(one_way(x)) == way)
}

/// Whether what changed from one colour to another, neither black, is a box.
fn a_box_turned(look: &Look) -> bool {
    let both = |p: &&Place| look.was(**p) != 0 && look.is(**p) != 0;
    let cells: Vec<Place> = look.changed.iter().filter(both).copied().collect();
    !cells.is_empty() && Part::new(0, cells).is_box()
}

fn traded(look: &Look) -> bool {
    if !(2..=3).contains(&look.touched.len()) {
        return false;
    }
    look.touched.iter().any(|&ball| {
        let Some(all) = look.moves_of(&[ball]) else {
            return false;
        };
        let [one] = all.as_slice() else {
            return false;
        };
        let bar: Vec<Place> = look
            .changed
            .iter()
            .copied()
            .filter(|p| !one.from.has(*p) && !one.to.has(*p))
            .collect();
        let Some(&first) = bar.first() else {
            return false;
        };
        let (height, motion) = (look.was(first), look.is(first));
        let piece = Part::new(motion, bar.clone());
        one.by.1 == 0
            && one.by.0 > 0
            && height != 0
            && motion != 0
            && bar
                .iter()
                .all(|&p| look.was(p) == height && look.is(p) == motion)
            && piece.is_box()
            && (one.by.0..=one.by.0 + 1).contains(&piece.tall())
    })
}

fn swung_across(look: &Look) -> bool {
    let Some(ghost) = look.one_fresh() else {
        return false;
    };
    if look.touched.len() != 3 {
        return false;
    }
    let ghosts = look.after_of(ghost);
    look.touched.iter().filter(|c| **c != ghost).any(|&ball| {
        let Some(all) = look.moves_of(&[ball]) else {
            return false;
        };
        let [bob] = all.as_slice() else {
            return false;
        };
        let (l, r) = (
            bob.from.bounds[1].min(bob.to.bounds[1]),
            bob.from.bounds[1].max(bob.to.bounds[1]),
        );
        let between = |g: &&Part| {
            g.alike(bob.from)
                && g.bounds[1] >= l
                && g.bounds[1] <= r
                && g.bounds[0] >= bob.from.bounds[0]
        };
        let lower = ghosts.iter().any(|g| g.bounds[0] > bob.from.bounds[0]);
        let thread = look.touched.iter().find(|c| **c != ghost && **c != ball);
        thread.is_some_and(|&c| look.has_parts(c, 1, 1))
            && bob.by.0 == 0
            && r - l >= 4
            && ghosts.len() >= 3
            && ghosts.iter().all(between)
            && lower
    })
}

fn drew_a_zigzag(look: &Look) -> bool {
    let Some(trace) = look.one_fresh() else {
        return false;
    };
    if look.touched.len() > 3 {
        return false;
    }
    let mut line = look.output.places_of(trace);
    line.sort_unstable_by_key(|p| p.1);
    let even = line.windows(2).all(|w| w[1].1 == w[0].1 + 1);
    let steps: Vec<i32> = line.windows(2).map(|w| w[1].0 - w[0].0).collect();
    let rows = line.iter().map(|p| p.0);
    let (Some(top), Some(low)) = (rows.clone().min(), rows.max()) else {
        return false;
    };
    let turns: Vec<usize> = (1..steps.len())
        .filter(|&i| steps[i] != steps[i - 1])
        .collect();
    let at_ends = turns
        .iter()
        .all(|&i| line.get(i).is_some_and(|p| p.0 == top || p.0 == low));
    let bobbed = |ball: &&u8| {
        look.moves_of(&[**ball])
            .is_some_and(|m| m.len() == 1 && m.iter().all(|m| m.by.1 == 0))
    };
    line.len() >= 6
        && even
        && steps.iter().all(|s| s.abs() == 1)
        && !turns.is_empty()
        && at_ends
        && look
            .touched
            .iter()
            .filter(|c| **c != trace)
            .any(|c| bobbed(&c))
        && look
            .touched
            .iter()
            .all(|&c| look.after_of(c).len() == 1 && look.before_of(c).len() <= 1)
}

/// The nearest still part under a part, in its middle column or beside it.
fn under<'a>(look: &'a Look, part: &Part) -> Option<&'a Part> {
    let [_, l, b, r] = part.bounds;
    let (row, col) = (b + 1..=b + 2)
        .flat_map(|y| (l..=r).map(move |x| (y, x)))
        .find(|&p| look.stays(p) && look.was(p) != part.colour)?;
    look.parts_before().iter().find(|p| p.has((row, col)))
}

fn sounds_too(look: &Look) -> bool {
    let Some(sound) = look.one_added() else {
        return false;
    };
    let before = look.before_of(sound);
    let [mark] = before.as_slice() else {
        return false;
    };
    let marks = look.after_of(sound);
    let Some(struck) = under(look, mark) else {
        return false;
    };
    let forks: Vec<&Part> = look.before_of(struck.colour);
    let beneath: Vec<Option<&Part>> = marks.iter().map(|m| under(look, m)).collect();
    let twins = forks.iter().filter(|f| f.alike(struck)).count();
    marks.len() >= 2
        && marks.iter().all(|m| m.alike(mark))
        && beneath
            .iter()
            .all(|f| f.is_some_and(|f| f.colour == struck.colour && f.alike(struck)))
        && twins == marks.len()
        && forks.len() > twins
}

fn single_bobs(look: &Look) -> bool {
    look.touched.iter().any(|&ball| {
        let single = |parts: Vec<&Part>| parts.iter().all(|p| p.len() == 1);
        single(look.before_of(ball)) && single(look.after_of(ball))
    })
}

fn swings_too(look: &Look) -> bool {
    if look.touched.len() != 2 || !look.same_counts && look.changed.len() < 4 {
        return false;
    }
    look.touched.iter().any(|&ball| {
        let (came, gone) = (look.came(ball), look.gone(ball));
        let Some(&(low, _)) = gone.first() else {
            return false;
        };
        // All by the same step to one side; one may have swung out of sight.
        let stepped = (-3i32..=3).filter(|k| *k != 0).any(|k| {
            let to: Vec<Place> = gone.iter().map(|p| (p.0, p.1 + k)).collect();
            let seen: Vec<Place> = to.into_iter().filter(|p| look.holds(*p)).collect();
            seen == came
        });
        let others: Vec<&Part> = look
            .before_of(ball)
            .into_iter()
            .filter(|p| !look.restless(p))
            .collect();
        // One whose thread is slanted as theirs are now, and was before: the one that swung first.
        let Some(&thread) = look.touched.iter().find(|c| **c != ball) else {
            return false;
        };
        let threads = look.after_of(thread);
        let slanted = |p: &&Part| p.wide() > 1;
        let swung: Vec<&&Part> = threads
            .iter()
            .filter(|p| slanted(p) && look.restless(p))
            .collect();
        let hung = |parts: Vec<&Part>| {
            let top = parts.iter().map(|p| p.bounds[0]).min();
            parts.iter().all(|p| Some(p.bounds[0]) == top)
        };
        let driver = threads
            .iter()
            .filter(|p| slanted(p) && !look.restless(p))
            .any(|d| {
                swung.iter().all(|s| {
                    let by = d.step_to(s);
                    d.cells.iter().all(|p| {
                        let at = (p.0 + by.0, p.1 + by.1);
                        !look.holds(at) || s.has(at)
                    })
                })
            });
        stepped
            && hung(look.before_of(thread))
            && hung(look.after_of(thread))
            && gone.iter().all(|p| p.0 == low)
            && look.before_of(ball).iter().all(|p| p.len() == 1)
            && driver
            && others.iter().all(|p| p.bounds[0] != low)
    })
}
