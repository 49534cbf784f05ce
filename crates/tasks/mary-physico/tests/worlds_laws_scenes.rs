//! Laws of the scenes that were redrawn to be told without a title: forces as arrows, a carousel, equal
//! pendulums, an insect on the water, coloured glass, lamps of cars, wet cloth, frames of reference,
//! glowing. Checked from the cells alone, as in `worlds_laws`: role n of an aspect has colour n + 1.

use mary_physico::grid::{Grid, Pair, Place};

use crate::worlds_laws::{cols_of, high, low, pairs, rows_of};

fn cells(part: &[Place], of: fn(&Place) -> i32) -> (i32, i32) {
    let values: Vec<i32> = part.iter().map(of).collect();
    (low(&values), high(&values))
}

/// Parts of one colour, from left to right.
fn parts(grid: &Grid, colour: u8) -> Vec<Vec<Place>> {
    let mut found = grid.regions(|c| c == colour, true);
    found.sort_by_key(|p| cells(p, |q| q.1));
    found
}

/// Whether a place has the same colour before and after.
fn same(pair: &Pair, (r, c): Place) -> bool {
    pair.input.at(r, c) == pair.output.at(r, c)
}

#[test]
fn opposite_forces_leave_their_difference() {
    for pair in pairs("force-composition", "tug-of-war") {
        assert_eq!(pair.input.places_of(1), pair.output.places_of(1));
        for body in parts(&pair.input, 1) {
            let row = cells(&body, |p| p.0).0 + 1;
            let arm = |g: &Grid, colour: u8| {
                let on = |p: &&Place| p.0 == row;
                g.places_of(colour).iter().filter(on).count() as i32
            };
            let before = arm(&pair.input, 2) - arm(&pair.input, 3);
            let after = arm(&pair.output, 2) - arm(&pair.output, 3);
            assert_eq!(before, after, "{pair:?}");
            assert_eq!(
                arm(&pair.output, 2).min(arm(&pair.output, 3)),
                0,
                "{pair:?}"
            );
        }
    }
}

#[test]
fn seats_of_a_turning_carousel_hang_outwards_and_higher() {
    for pair in pairs("fictitious-force", "carousel") {
        // The roof shows that it turned: every stripe has the other colour.
        let roof = low(&rows_of(&pair.input, 2));
        let stripes: Vec<i32> = (0..pair.input.cols() as i32)
            .filter(|&c| pair.input.at(roof, c) != 0)
            .collect();
        assert!(stripes.iter().all(|&c| !same(&pair, (roof, c))), "{pair:?}");
        let middle = low(&stripes) + high(&stripes);
        let seats = |g: &Grid| -> Vec<(i32, i32)> {
            let of = |p: &Vec<Place>| (2 * p[0].1 - middle, p[0].0);
            parts(g, 4).iter().map(of).collect()
        };
        let (before, after) = (seats(&pair.input), seats(&pair.output));
        assert_eq!(before.len(), after.len(), "{pair:?}");
        for (a, b) in before.iter().zip(&after) {
            assert!(
                b.0.abs() > a.0.abs() && b.0.signum() == a.0.signum(),
                "{pair:?}"
            );
            assert!(b.1 < a.1, "{pair:?}");
        }
        // Both sides alike.
        for (one, other) in after.iter().zip(after.iter().rev()) {
            assert_eq!((one.0, one.1), (-other.0, other.1), "{pair:?}");
        }
    }
}

#[test]
fn only_pendulums_of_the_drivers_length_swing() {
    for pair in pairs("resonance", "same-pendulums") {
        let own = low(&rows_of(&pair.input, 4));
        assert_eq!(pair.input.places_of(4), pair.output.places_of(4));
        let (before, after) = (parts(&pair.input, 3), parts(&pair.output, 3));
        assert_eq!(before.len(), after.len());
        let mut swung = 0;
        for (a, b) in before.iter().zip(&after) {
            assert_eq!(a != b, a[0].0 == own, "{pair:?}");
            swung += usize::from(a != b);
        }
        assert!(swung >= 1 && swung < before.len(), "{pair:?}");
    }
}

#[test]
fn the_skin_of_the_water_dents_and_stays_whole() {
    for pair in pairs("surface-tension", "water-strider") {
        let rows = |g: &Grid| -> Vec<i32> {
            let mut skin = g.places_of(3);
            skin.sort_unstable_by_key(|p| p.1);
            assert!(skin.iter().map(|p| p.1).eq(0..g.cols() as i32), "{pair:?}");
            skin.iter().map(|p| p.0).collect()
        };
        let (before, after) = (rows(&pair.input), rows(&pair.output));
        assert_eq!(low(&before), high(&before), "{pair:?}");
        assert!(
            after.windows(2).all(|w| (w[1] - w[0]).abs() <= 1),
            "{pair:?}"
        );
        // Lowest just under the feet, which do not go through it.
        let foot = high(&rows_of(&pair.output, 2));
        let feet: Vec<Place> = pair.output.places_of(2);
        for (r, c) in feet.into_iter().filter(|p| p.0 == foot) {
            assert_eq!(after[c as usize], r + 1, "{pair:?}");
        }
        assert_eq!(high(&after), foot + 1, "{pair:?}");
    }
}

#[test]
fn glass_hides_other_colours_behind_it_and_nothing_beside_it() {
    for pair in pairs("optical-filters", "through-the-glass") {
        let hidden: Vec<Place> = pair.input.places().filter(|&p| !same(&pair, p)).collect();
        assert!(hidden.iter().all(|&(r, c)| pair.output.at(r, c) == 0));
        assert!(hidden.iter().all(|&(r, c)| pair.input.at(r, c) != 1));
        // The pane is the largest part of its colour.
        let pane = parts(&pair.output, 1)
            .into_iter()
            .max_by_key(Vec::len)
            .unwrap();
        let ((top, bottom), (left, right)) = (cells(&pane, |p| p.0), cells(&pane, |p| p.1));
        let behind = |&(r, c): &Place| r > top && r < bottom && c > left && c < right;
        assert!(hidden.iter().all(behind), "{pair:?}");
        let mut left_over = pair.output.places().filter(behind);
        assert!(
            left_over.all(|(r, c)| [0, 1].contains(&pair.output.at(r, c))),
            "{pair:?}"
        );
    }
}

#[test]
fn lamps_of_cars_leave_pairs_of_streaks_and_what_stands_stays() {
    for pair in pairs("long-exposure", "light-trails") {
        assert!(
            pair.input
                .places()
                .all(|p| same(&pair, p) || pair.input.at(p.0, p.1) == 0)
        );
        for lane in [1, 2] {
            let lamps = pair.input.places_of(lane);
            if lamps.is_empty() {
                continue;
            }
            let [(r0, c0), (r1, c1)] = lamps[..] else {
                panic!("two lamps a car\n{pair:?}")
            };
            assert_eq!((r1, c1), (r0 + 2, c0), "{pair:?}");
            let streaks = pair.output.regions(|c| c == lane, true);
            let [one, two] = &streaks[..] else {
                panic!("two streaks a car\n{pair:?}")
            };
            assert_eq!(one.len(), two.len(), "{pair:?}");
            assert!(one.iter().all(|p| p.0 == r0) && two.iter().all(|p| p.0 == r1));
        }
        assert_eq!(pair.input.places_of(3), pair.output.places_of(3));
    }
}

#[test]
fn cloth_is_wet_where_it_reaches_the_water() {
    for pair in pairs("wetting", "soaking") {
        assert_eq!(pair.input.places_of(2), pair.output.places_of(2));
        let surface = low(&rows_of(&pair.input, 2));
        let mut fronts = Vec::new();
        for cloth in parts(&pair.input, 1) {
            let wet: Vec<&Place> = cloth.iter().filter(|p| !same(&pair, **p)).collect();
            let reaches = cells(&cloth, |p| p.0).1 >= surface;
            assert_eq!(reaches, !wet.is_empty(), "{pair:?}");
            fronts.extend(wet.iter().map(|p| p.0).min());
            assert!(wet.iter().all(|p| pair.output.at(p.0, p.1) == 3));
            let lowest_dry = cloth.iter().filter(|p| same(&pair, **p)).map(|p| p.0).max();
            if let (Some(dry), Some(wet)) = (lowest_dry, wet.iter().map(|p| p.0).min()) {
                assert!(dry < wet, "{pair:?}");
            }
        }
        assert!(
            fronts.windows(2).all(|w| w[0] == w[1]),
            "one height\n{pair:?}"
        );
    }
}

#[test]
fn another_frame_moves_no_body() {
    for pair in pairs("reference-frame", "new-origin") {
        for body in [2, 3, 4] {
            assert_eq!(
                pair.input.places_of(body),
                pair.output.places_of(body),
                "{pair:?}"
            );
        }
        // The axes are as long as before and cross at another body.
        let cross = |g: &Grid| -> Place {
            let (rows, cols) = (rows_of(g, 1), cols_of(g, 1));
            let most = |v: &[i32]| {
                let count = |k: i32| v.iter().filter(|x| **x == k).count();
                (0..20).max_by_key(|k| count(*k)).unwrap()
            };
            (most(&rows), most(&cols))
        };
        let (a, b) = (cross(&pair.input), cross(&pair.output));
        assert!(a.0 != b.0 && a.1 != b.1, "{pair:?}");
        for at in [a, b] {
            assert!([2, 3].contains(&pair.output.at(at.0, at.1)), "{pair:?}");
        }
    }
    for pair in pairs("reference-frame", "seen-from-the-car") {
        for body in [1, 2, 4] {
            assert_eq!(
                pair.input.places_of(body),
                pair.output.places_of(body),
                "{pair:?}"
            );
        }
        let (driven, passed) = (parts(&pair.input, 3), parts(&pair.output, 3));
        let posts = parts(&pair.input, 2);
        assert_eq!(
            (driven.len(), passed.len()),
            (2, 2 * posts.len()),
            "{pair:?}"
        );
        // The same speed for all, and the other way: behind the car, ahead of the posts.
        let long = driven[0].len();
        assert!(
            driven.iter().chain(&passed).all(|s| s.len() == long),
            "{pair:?}"
        );
        let car = cols_of(&pair.input, 1);
        assert!(
            driven.iter().all(|s| cells(s, |p| p.1).1 < low(&car)),
            "{pair:?}"
        );
        for streak in &passed {
            let from = cells(streak, |p| p.1).0;
            assert!(posts.iter().any(|p| p[0].1 == from - 2), "{pair:?}");
        }
    }
}

#[test]
fn light_goes_out_alike_to_all_sides() {
    for (aspect, light) in [("halo", [2, 4]), ("radiance", [2, 2])] {
        for pair in pairs("lumination", aspect) {
            assert!(
                pair.input
                    .places()
                    .all(|p| same(&pair, p) || pair.input.at(p.0, p.1) == 0)
            );
            for source in parts(&pair.input, 1) {
                let ((t, b), (l, r)) = (cells(&source, |p| p.0), cells(&source, |p| p.1));
                let reach = if aspect == "halo" { 2 } else { 20 };
                for colour in light {
                    for (y, x) in pair.output.places_of(colour) {
                        let (dr, dc) = (2 * y - t - b, 2 * x - l - r);
                        if dr.abs().max(dc.abs()) > 2 * reach {
                            continue;
                        }
                        // A quarter turn about the source.
                        let to = ((t + b + dc) / 2, (l + r - dr) / 2);
                        assert_eq!(pair.output.at(to.0, to.1), colour, "{aspect}\n{pair:?}");
                    }
                }
            }
            let dark = if aspect == "halo" { 3 } else { 0 };
            for (r, c) in pair.input.places_of(dark).into_iter().filter(|_| dark != 0) {
                let lit = (-1..=1)
                    .any(|dr| (-1..=1).any(|dc| light.contains(&pair.output.at(r + dr, c + dc))));
                assert!(!lit, "{pair:?}");
            }
        }
    }
}
