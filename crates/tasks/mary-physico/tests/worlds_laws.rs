//! The laws that the worlds must keep, checked from the cells alone: nothing is lost in falling,
//! flowing and pushing, mirrors are symmetric, joined vessels stand level, rays leave as they came.
//!
//! Pairs are drawn with a plain palette, so that role n of an aspect has colour n + 1.

use mary_generators::stream;
use mary_physico::grid::{Grid, Pair, Place};
use mary_physico::worlds::{Support, concept, plain_pair};

const PALETTE: [u8; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/// Sixty pairs of one aspect, without distractors.
pub(crate) fn pairs(id: &str, aspect: &str) -> Vec<Pair> {
    let concept = concept(id).unwrap_or_else(|| panic!("no concept {id}"));
    let aspect = concept
        .aspects
        .iter()
        .find(|a| a.id == aspect)
        .unwrap_or_else(|| panic!("no aspect {aspect} of {id}"));
    let mut rng = stream(11, &format!("laws/{id}/{}", aspect.id));
    (0..60)
        .map(|_| plain_pair(concept, aspect, &mut rng, PALETTE).unwrap())
        .collect()
}

pub(crate) fn rows_of(grid: &Grid, colour: u8) -> Vec<i32> {
    grid.places_of(colour).iter().map(|p| p.0).collect()
}

pub(crate) fn cols_of(grid: &Grid, colour: u8) -> Vec<i32> {
    grid.places_of(colour).iter().map(|p| p.1).collect()
}

pub(crate) fn low(values: &[i32]) -> i32 {
    *values.iter().min().unwrap()
}

pub(crate) fn high(values: &[i32]) -> i32 {
    *values.iter().max().unwrap()
}

/// What is kept: the cells of the first colours before are as many as those of the second after.
#[test]
fn nothing_is_lost_in_falling_flowing_and_pushing() {
    let laws: &[(&str, &str, &[u8], &[u8])] = &[
        ("gravity", "falling", &[2, 3, 4], &[2, 3, 4]),
        ("gravity", "planet", &[1, 2], &[1, 2]),
        ("move", "one-body", &[1], &[1]),
        ("move", "all-alike", &[1], &[1]),
        ("communicating-vessels", "open-below", &[2], &[2]),
        ("communicating-vessels", "valve", &[2], &[2]),
        ("siphon", "from-high-to-low", &[2], &[2]),
        ("siphon", "over-the-wall", &[2], &[2]),
        ("atmospheric-pressure", "barometer", &[2], &[2]),
        ("buoyancy", "cork-and-stone", &[1], &[1]),
        ("buoyancy", "cork-and-stone", &[2, 3], &[2, 3]),
        ("melting", "ice-on-the-table", &[2], &[3]),
        ("melting", "cubes-in-a-glass", &[2], &[3]),
        ("vaporization", "boiling-pot", &[2], &[2, 3]),
        ("vaporization", "drying-puddle", &[2], &[2, 3]),
        ("splashing", "crown", &[1], &[1]),
        ("splashing", "stone", &[1], &[1]),
        ("splashing", "stone", &[2], &[2]),
        ("surface-tension", "round-drop", &[1, 2], &[1, 2]),
        ("wetting", "spreading", &[2], &[2]),
        ("wetting", "soaking", &[1], &[1, 3]),
        ("diffusion", "ink-drop", &[2], &[2]),
        ("diffusion", "no-more-wall", &[2], &[2]),
        ("diffusion", "no-more-wall", &[3], &[3]),
        ("brownian-motion", "drunken-path", &[3], &[3]),
        ("brownian-motion", "many-paths", &[1], &[1]),
        ("compression", "piston", &[3], &[3]),
        ("compression", "sponge", &[2], &[2]),
        ("squeeze", "soft-body", &[2], &[2]),
        ("squeeze", "tube", &[2], &[2]),
        ("expansion", "balloon", &[2], &[2]),
        ("cut", "knife", &[2], &[2]),
        ("cut", "along-marks", &[1], &[1]),
        ("magnet", "iron-filings", &[3], &[3]),
        ("magnet", "iron-filings", &[4], &[4]),
        ("magnet", "unlike-poles", &[1, 2], &[1, 2]),
        ("repulsive-force", "like-poles", &[1], &[1]),
        ("explosion", "fragments", &[1], &[1]),
        ("nuclear-fission", "split-nucleus", &[1], &[1]),
        ("nuclear-fission", "split-nucleus", &[2], &[2]),
        ("nuclear-fission", "chain-reaction", &[1], &[1]),
        ("nuclear-fusion", "two-become-one", &[1], &[1]),
        ("nuclear-fusion", "two-become-one", &[2], &[2]),
        ("nuclear-fusion", "in-a-star", &[1], &[1]),
        ("elastic-force", "spring", &[3], &[3]),
        ("elastic-force", "trampoline", &[3], &[3]),
        ("inclined-plane", "pushing-up", &[3], &[3]),
        ("inclined-plane", "rolling-down", &[3], &[3]),
        ("lifting", "crane", &[4], &[4]),
        ("lifting", "jack", &[4], &[4]),
        ("lever", "seesaw", &[4], &[4]),
        ("inertia", "sudden-stop", &[3, 4], &[3, 4]),
        ("inertia", "coin-and-card", &[3, 4], &[3, 4]),
        ("photoelectric-effect", "knocked-out", &[2], &[2]),
        ("photoelectric-effect", "threshold", &[2], &[2]),
        ("energy-conservation", "cradle", &[3], &[3]),
        ("energy-conservation", "same-height", &[2], &[2]),
        ("friction", "worn-and-hot", &[2], &[2]),
        ("doppler-effect", "siren", &[1], &[1]),
        ("rotation", "quarter-turn", &[1, 2, 3], &[1, 2, 3]),
        ("chemical-bond", "shared-electrons", &[3], &[3]),
        ("chemical-bond", "molecules", &[1, 2], &[1, 2]),
        ("gravity", "heap", &[1, 2, 3], &[1, 2, 3]),
        ("gravity", "towards-the-mass", &[1, 2, 3, 4], &[1, 2, 3, 4]),
        ("move", "to-the-mark", &[1], &[1]),
        ("move", "changed-places", &[1, 2], &[1, 2]),
        (
            "reference-frame",
            "centred-view",
            &[1, 2, 3, 4],
            &[1, 2, 3, 4],
        ),
        (
            "reference-frame",
            "turned-view",
            &[1, 2, 3, 4],
            &[1, 2, 3, 4],
        ),
        ("compression", "closed-gaps", &[2, 3, 4], &[2, 3, 4]),
        ("expansion", "wider-lattice", &[1], &[1]),
        ("diffusion", "mixed-halves", &[1], &[1]),
        ("diffusion", "mixed-halves", &[2], &[2]),
        ("diffusion", "out-of-the-corner", &[2], &[2]),
        ("vortex", "dragged-rings", &[2], &[2]),
        ("nuclear-fission", "torn-apart", &[1], &[1]),
        ("relativity", "bent-space", &[1], &[1]),
    ];
    for (id, aspect, before, after) in laws {
        for pair in pairs(id, aspect) {
            let count =
                |g: &Grid, colours: &[u8]| -> usize { colours.iter().map(|&c| g.count(c)).sum() };
            assert_eq!(
                count(&pair.input, before),
                count(&pair.output, after),
                "{id}/{aspect}: {before:?} before, {after:?} after\n{pair:?}"
            );
        }
    }
}

#[test]
fn what_falls_stays_in_its_column_and_comes_to_rest() {
    for pair in pairs("gravity", "falling") {
        for c in 0..pair.input.cols() as i32 {
            let column = |g: &Grid| {
                let mut cells: Vec<u8> = (0..g.rows() as i32).map(|r| g.at(r, c)).collect();
                cells.sort_unstable();
                cells
            };
            assert_eq!(column(&pair.input), column(&pair.output));
        }
        for part in pair.output.parts(0) {
            let rests = part
                .iter()
                .any(|&(r, c)| pair.output.get(r + 1, c) != Some(0));
            assert!(rests, "{pair:?}");
        }
    }
}

#[test]
fn joined_vessels_stand_level() {
    for aspect in ["open-below", "valve"] {
        for pair in pairs("communicating-vessels", aspect) {
            // Open surfaces: liquid with nothing above it.
            let surface = |g: &Grid| -> Vec<i32> {
                g.places_of(2)
                    .into_iter()
                    .filter(|&(r, c)| g.at(r - 1, c) == 0)
                    .map(|p| p.0)
                    .collect()
            };
            let after = surface(&pair.output);
            assert_eq!(low(&after), high(&after), "{aspect}\n{pair:?}");
            let before = surface(&pair.input);
            assert!(high(&before) - low(&before) >= 3, "{aspect}\n{pair:?}");
        }
    }
}

#[test]
fn mirrors_are_symmetric() {
    for pair in pairs("mirror", "behind-the-glass") {
        let glass = *cols_of(&pair.input, 1).first().unwrap();
        for (r, c) in pair.output.places() {
            let image = 2 * glass - c;
            if pair.output.holds(r, image) {
                assert_eq!(pair.output.at(r, c), pair.output.at(r, image), "{pair:?}");
            }
            if pair.input.at(r, c) != 0 {
                assert_eq!(pair.input.at(r, c), pair.output.at(r, c));
            }
        }
    }
    for pair in pairs("light-imaging", "pinhole") {
        // The image is the thing turned by a half about the hole.
        let wall = *cols_of(&pair.input, 1).first().unwrap();
        let hole = (0..pair.input.rows() as i32)
            .find(|&r| pair.input.at(r, wall) == 0)
            .unwrap();
        for colour in [2, 3] {
            for (r, c) in pair.input.places_of(colour) {
                assert_eq!(pair.output.at(2 * hole - r, 2 * wall - c), colour);
            }
        }
    }
}

/// Slopes of a path given as one row for each column.
fn slopes(path: &[Place]) -> Vec<i32> {
    path.windows(2).map(|w| w[1].0 - w[0].0).collect()
}

#[test]
fn rays_leave_a_mirror_as_they_came() {
    for pair in pairs("reflection", "flat-mirror") {
        let ray = pair.output.places_of(2);
        let glass = low(&rows_of(&pair.output, 1));
        let near: Vec<i32> = ray
            .iter()
            .filter(|p| p.0 == glass - 1)
            .map(|p| p.1)
            .collect();
        // Twice the place of the normal, so that it may lie between two columns.
        let twice = low(&near) + high(&near);
        for (r, c) in &ray {
            assert!(ray.contains(&(*r, twice - c)), "unequal angles\n{pair:?}");
        }
        let came = pair.input.places_of(2);
        assert!(came.iter().all(|p| 2 * p.1 <= twice) || came.iter().all(|p| 2 * p.1 >= twice));
    }
    for pair in pairs("reflection", "two-mirrors") {
        let mut path = pair.output.places_of(2);
        path.sort_unstable_by_key(|p| p.1);
        let steps = slopes(&path);
        assert!(steps.iter().all(|s| s.abs() == 1), "{pair:?}");
        for (i, w) in steps.windows(2).enumerate() {
            if w[0] != w[1] {
                let (r, c) = path[i + 1];
                assert_eq!(
                    pair.output.at(r + w[0], c),
                    1,
                    "turned in mid-air\n{pair:?}"
                );
            }
        }
    }
}

#[test]
fn rays_go_on_more_steeply_in_the_dense_medium() {
    for pair in pairs("refraction", "bent-ray") {
        let medium = rows_of(&pair.input, 1);
        let ray = pair.output.places_of(2);
        let per_row = |inside: bool| {
            let cells: Vec<&Place> = ray
                .iter()
                .filter(|p| (low(&medium)..=high(&medium)).contains(&p.0) == inside)
                .filter(|p| inside || p.0 < low(&medium))
                .collect();
            let cols: Vec<i32> = cells.iter().map(|p| p.1).collect();
            f64::from(high(&cols) - low(&cols)) / (cells.len() as f64 - 1.0)
        };
        assert!((per_row(false) - 1.0).abs() < 1e-9, "{pair:?}");
        assert!(per_row(true) < 0.6, "{pair:?}");
    }
}

#[test]
fn a_stick_looks_flatter_under_water_than_above_it() {
    for pair in pairs("refraction", "bent-stick") {
        let dry = pair.input.places_of(3);
        let wet: Vec<Place> = pair
            .output
            .places_of(3)
            .into_iter()
            .filter(|p| !dry.contains(p))
            .collect();
        let surface = low(&rows_of(&pair.input, 2));
        assert!(wet.iter().all(|p| p.0 >= surface), "{pair:?}");
        assert!(dry.iter().all(|p| p.0 < surface), "{pair:?}");
        // One column a row above, two below: seen from the air, what is under water is lifted.
        let rows: std::collections::BTreeSet<(i32, i32)> = dry.iter().map(|p| (p.0, p.1)).collect();
        let sticks = dry.iter().filter(|p| p.0 == surface - 1).count();
        assert_eq!(rows.len() % sticks, 0, "{pair:?}");
        let deep = rows_of(&pair.output, 3)
            .into_iter()
            .filter(|r| *r >= surface);
        let deep: std::collections::BTreeSet<i32> = deep.collect();
        assert_eq!(wet.len(), 2 * deep.len() * sticks, "{pair:?}");
    }
}

#[test]
fn nothing_stays_in_mid_air_beside_gravity() {
    use mary_physico::instances::{Level, planned};
    for (level, seed) in [(Level::Core, 3), (Level::Core, 4), (Level::Associative, 3)] {
        for p in planned(level, seed, 6).unwrap() {
            let aspect = p.aspect().unwrap();
            if p.concept().id != "gravity" || aspect.support == Support::None {
                continue;
            }
            let made = p.draw().unwrap();
            for pair in &made.pairs {
                let ground = pair.background();
                for part in pair.output.parts(ground) {
                    let own = |r: i32, c: i32| part.contains(&(r, c));
                    let still = part
                        .iter()
                        .all(|&(r, c)| pair.input.at(r, c) == pair.output.at(r, c));
                    let beside: &[Place] = match aspect.support {
                        Support::Below => &[(1, 0)],
                        _ => &[(1, 0), (-1, 0), (0, 1), (0, -1)],
                    };
                    let held = part.iter().any(|&(r, c)| {
                        beside.iter().any(|&(dr, dc)| {
                            let (r, c) = (r + dr, c + dc);
                            !own(r, c) && pair.output.get(r, c) != Some(ground)
                        })
                    });
                    let planet = aspect.support == Support::Beside && part.len() >= 5;
                    assert!(
                        !still || held || planet,
                        "{}\n{}\n\n{}",
                        made.id,
                        pair.input,
                        pair.output
                    );
                }
            }
        }
    }
}

#[test]
fn levers_and_pulleys_trade_way_for_force() {
    for pair in pairs("lever", "seesaw") {
        let loads = |g: &Grid| {
            let mut parts = g.regions(|c| c == 4, true);
            parts.sort_by_key(|p| p[0].1);
            parts
        };
        let (before, after) = (loads(&pair.input), loads(&pair.output));
        let down = |i: usize| after[i].last().unwrap().0 - before[i].last().unwrap().0;
        assert_eq!(down(0), -down(1), "{pair:?}");
        let heavy = usize::from(before[1].len() > before[0].len());
        assert!(down(heavy) > 0, "{pair:?}");
    }
    for pair in pairs("lever", "crowbar") {
        let moved =
            |colour: u8| low(&rows_of(&pair.output, colour)) - low(&rows_of(&pair.input, colour));
        let (load, hand) = (moved(4), moved(5));
        assert!(
            load < 0 && hand > 0 && hand % -load == 0 && hand >= -2 * load,
            "{pair:?}"
        );
    }
    for pair in pairs("pulley", "one-wheel") {
        assert_eq!(pair.input.count(3), pair.output.count(3), "rope\n{pair:?}");
        let moved =
            |colour: u8| high(&rows_of(&pair.output, colour)) - high(&rows_of(&pair.input, colour));
        assert_eq!(moved(4), -moved(5));
        assert!(moved(5) > 0);
    }
    for pair in pairs("pulley", "two-wheels") {
        let moved =
            |colour: u8| high(&rows_of(&pair.output, colour)) - high(&rows_of(&pair.input, colour));
        assert_eq!(moved(5), -2 * moved(4), "{pair:?}");
        assert_eq!(pair.input.count(3), pair.output.count(3), "rope\n{pair:?}");
    }
}

#[test]
fn energy_is_kept() {
    for pair in pairs("energy-conservation", "same-height") {
        assert_eq!(rows_of(&pair.input, 2), rows_of(&pair.output, 2));
        assert_ne!(cols_of(&pair.input, 2), cols_of(&pair.output, 2));
        for g in [&pair.input, &pair.output] {
            let (r, c) = g.places_of(2)[0];
            assert_eq!(g.at(r + 1, c), 1, "the ball lies on the slope\n{pair:?}");
        }
    }
    for pair in pairs("energy-conservation", "cradle") {
        let raised = |g: &Grid| rows_of(g, 3).into_iter().min().unwrap();
        assert_eq!(raised(&pair.input), raised(&pair.output));
    }
    for pair in pairs("energy-conservation", "bouncing") {
        // Up to the same height every time, and down to the ground in between.
        let path = pair.output.places_of(2);
        let (top, bottom) = (
            low(&rows_of(&pair.output, 2)),
            high(&rows_of(&pair.output, 2)),
        );
        let ground = low(&rows_of(&pair.output, 1));
        assert_eq!(
            (top, bottom),
            (low(&rows_of(&pair.input, 2)), ground - 1),
            "{pair:?}"
        );
        let mut by_col = path.clone();
        by_col.sort_unstable_by_key(|p| p.1);
        for w in by_col.windows(3).filter(|w| w[0].0 == w[2].0) {
            assert!(
                [top, bottom].contains(&w[1].0),
                "turned in mid-air\n{pair:?}"
            );
        }
        assert_eq!(by_col.last().unwrap().0, top, "{pair:?}");
    }
}

#[test]
fn heat_and_wear_lie_where_things_touch() {
    for pair in pairs("friction", "worn-and-hot") {
        let hot = cols_of(&pair.output, 3);
        let way = low(&cols_of(&pair.output, 2)) - low(&cols_of(&pair.input, 2));
        assert_eq!(hot.len() as i32, way.abs(), "{pair:?}");
        let bumps = low(&rows_of(&pair.input, 1));
        assert!(
            hot.iter().all(|&c| pair.output.at(bumps, c) == 0),
            "{pair:?}"
        );
    }
    for pair in pairs("heat-conduction", "touching-blocks") {
        let lost = |c: u8| pair.input.count(c) - pair.output.count(c);
        assert_eq!(lost(1), lost(2), "as much from each side\n{pair:?}");
        assert_eq!(lost(1) + lost(2), pair.output.count(3), "{pair:?}");
        assert!(
            pair.output.count(1) > lost(1),
            "far ends keep their heat\n{pair:?}"
        );
    }
}

#[test]
fn light_passes_along_a_slit_and_not_across_it() {
    for aspect in ["one-slit", "crossed-slits"] {
        for pair in pairs("polarization-of-light", aspect) {
            for stroke in pair.output.regions(|c| c == 2, true) {
                let new = stroke.iter().all(|&(r, c)| pair.input.at(r, c) != 2);
                let cols: Vec<i32> = stroke.iter().map(|p| p.1).collect();
                let rows: Vec<i32> = stroke.iter().map(|p| p.0).collect();
                if !new {
                    continue;
                }
                assert_eq!(low(&cols), high(&cols), "{aspect}\n{pair:?}");
                // The plate before it has its slit along the stroke, as long as the stroke is.
                let (top, bottom) = (low(&rows), high(&rows));
                let slit = (0..low(&cols)).any(|c| {
                    let open = |r: i32| pair.input.at(r, c) == 0 && pair.input.at(r, c - 1) == 1;
                    (top..=bottom).all(open)
                        && pair.input.at(top - 1, c) == 1
                        && pair.input.at(bottom + 1, c) == 1
                });
                assert!(slit, "{aspect}\n{pair:?}");
            }
        }
    }
}

#[test]
fn what_is_bound_pumped_out_or_bent_obeys_its_law() {
    for pair in pairs("chemical-bond", "molecules") {
        // Two strokes for each big atom, of one length.
        let atoms = pair.input.count(1) / 9;
        assert_eq!(pair.output.count(3) % (2 * atoms), 0, "{pair:?}");
    }
    for pair in pairs("vacuum", "bell-jar") {
        let (rows, cols) = (rows_of(&pair.input, 1), cols_of(&pair.input, 1));
        let inside = |&(r, c): &Place| {
            r > low(&rows) && r < high(&rows) && c > low(&cols) && c < high(&cols)
        };
        let air = |g: &Grid| {
            g.places_of(2)
                .into_iter()
                .partition::<Vec<Place>, _>(inside)
        };
        let ((before, around), (after, still)) = (air(&pair.input), air(&pair.output));
        assert!(before.len() >= 4 && after.is_empty(), "{pair:?}");
        assert_eq!(around, still, "{pair:?}");
        assert!(pair.output.count(3) > pair.input.count(3), "{pair:?}");
    }
    for pair in pairs("relativity", "bent-space") {
        let star = cols_of(&pair.output, 2);
        let middle = (low(&star) + high(&star)) / 2;
        let dip = |c: i32| {
            let row = |g: &Grid| g.places_of(1).into_iter().find(|p| p.1 == c).unwrap().0;
            row(&pair.output) - row(&pair.input)
        };
        for c in 1..pair.input.cols() as i32 {
            let nearer = (c - middle).abs() <= (c - 1 - middle).abs();
            assert!(
                if nearer {
                    dip(c) >= dip(c - 1)
                } else {
                    dip(c) <= dip(c - 1)
                },
                "{pair:?}"
            );
        }
    }
    for pair in pairs("doppler-effect", "siren") {
        let row = high(&rows_of(&pair.output, 1)) - 1;
        let car = cols_of(&pair.output, 1);
        let mut fronts: Vec<i32> = pair
            .output
            .places_of(2)
            .into_iter()
            .filter(|p| p.0 == row)
            .map(|p| p.1)
            .collect();
        fronts.sort_unstable();
        let gaps = |of: Vec<i32>| of.windows(2).map(|w| w[1] - w[0]).max();
        let (behind, ahead): (Vec<i32>, Vec<i32>) =
            fronts.into_iter().partition(|c| *c < low(&car));
        if let (Some(a), Some(b)) = (gaps(ahead), gaps(behind)) {
            assert!(a < b, "{pair:?}");
        }
    }
}

#[test]
fn steps_grow_by_one_when_speeding_up() {
    for pair in pairs("acceleration", "widening-steps") {
        let mut cols: Vec<i32> = pair
            .output
            .places()
            .filter(|&(r, c)| [1, 2].contains(&pair.output.at(r, c)))
            .map(|p| p.1)
            .collect();
        cols.sort_unstable();
        cols.dedup();
        let gaps: Vec<i32> = cols.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(
            gaps.len() >= 3 && gaps.windows(2).all(|w| w[1] == w[0] + 1),
            "{pair:?}"
        );
    }
}

#[test]
fn the_fast_rocket_is_half_as_long() {
    for pair in pairs("relativity", "shorter") {
        let long = |g: &Grid| {
            let mut lengths: Vec<i32> = g
                .regions(|c| c == 1, true)
                .iter()
                .map(|p| {
                    let cols: Vec<i32> = p.iter().map(|q| q.1).collect();
                    high(&cols) - low(&cols) + 1
                })
                .collect();
            lengths.sort_unstable();
            lengths
        };
        let (before, after) = (long(&pair.input), long(&pair.output));
        assert_eq!(before[0], before[1]);
        assert_eq!(after, [before[0] / 2, before[0]]);
    }
}

#[test]
fn repelled_bars_go_equally_far_and_drawn_bars_meet() {
    for pair in pairs("magnet", "unlike-poles") {
        let cells = |g: &Grid| -> Vec<i32> {
            let mut cols: Vec<i32> = cols_of(g, 1);
            cols.extend(cols_of(g, 2));
            cols.sort_unstable();
            cols.dedup();
            cols
        };
        let after = cells(&pair.output);
        assert!(
            after.windows(2).all(|w| w[1] == w[0] + 1),
            "a gap is left\n{pair:?}"
        );
        let before = cells(&pair.input);
        assert_eq!(
            low(&before) + high(&before),
            low(&after) + high(&after),
            "{pair:?}"
        );
    }
}
