//! What must be true of every world: all concepts, a thousand instances each, no pair that fits two
//! options, and surface features that say little.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use mary_generators::stream;
use mary_physico::grid::Pair;
use mary_physico::worlds::{
    Concept, LONGEST_SIDE, Level, SHORTEST_SIDE, Split, concept, concepts, instance,
};

/// The levels in which a concept is asked.
fn levels(concept: &Concept) -> &'static [Level] {
    match (concept.set, concept.associative) {
        (Split::Associative, _) => &[Level::Associative],
        (_, true) => &[Level::Core, Level::Associative],
        (_, false) => &[Level::Core],
    }
}

#[test]
fn all_67_concepts_have_two_aspects_with_a_rule() {
    let of = |set| concepts().iter().filter(|c| c.set == set).count();
    assert_eq!(
        (
            of(Split::CoreDev),
            of(Split::CoreTest),
            of(Split::Associative)
        ),
        (25, 27, 15)
    );
    assert_eq!(concepts().iter().filter(|c| c.associative).count(), 29);
    let ids: HashSet<_> = concepts().iter().map(|c| c.id).collect();
    assert_eq!(ids.len(), 67);
    for c in concepts() {
        assert_eq!(c.id, c.name.to_lowercase().replace(' ', "-"));
        assert!(c.aspects.len() >= 2, "{}", c.id);
        let names: HashSet<_> = c.aspects.iter().map(|a| a.id).collect();
        assert_eq!(names.len(), c.aspects.len(), "{}", c.id);
        for a in &c.aspects {
            assert!(
                a.rule.ends_with('.') && a.rule.len() > 30,
                "{}/{}",
                c.id,
                a.id
            );
            assert!(!a.rule.trim_end_matches('.').contains(". "), "{}", a.rule);
        }
    }
}

#[test]
fn the_names_are_the_papers() {
    let Some(root) = mary_testkit::lacking::datasets("physico") else {
        return;
    };
    let text =
        std::fs::read_to_string(root.join("physico/concept_counts_from_paper.json")).unwrap();
    for c in concepts() {
        assert!(text.contains(&format!("\"{}\"", c.name)), "{}", c.name);
    }
}

#[test]
fn the_table_of_confusables_is_sound_and_leaves_enough_options() {
    let all: Vec<(&str, &str, &str)> = concepts()
        .iter()
        .flat_map(|c| c.confusable.iter().map(|(other, why)| (c.id, *other, *why)))
        .collect();
    for &(a, b, why) in &all {
        let Some(other) = concept(b) else {
            panic!("{a}: {b} is no concept");
        };
        assert_ne!(a, b);
        assert!(why.len() >= 8, "{why}");
        let own = concept(a).unwrap();
        assert_eq!(own.confusable_with(other), other.confusable_with(own));
    }
    let pairs: HashSet<_> = all
        .iter()
        .map(|(a, b, _)| if a < b { (a, b) } else { (b, a) })
        .collect();
    assert_eq!(pairs.len(), all.len(), "a pair is in twice");
    for c in concepts() {
        let safe = concepts()
            .iter()
            .filter(|o| o.id != c.id && c.confusable_with(o).is_none())
            .count();
        assert!(safe >= 20, "{} has only {safe} safe wrong options", c.id);
    }
}

/// What a thousand instances of one concept showed.
struct Made {
    id: &'static str,
    pairs: Vec<Pair>,
}

fn thousand(concept: &'static Concept) -> Made {
    let levels = levels(concept);
    let mut seen = HashSet::new();
    let mut pairs = Vec::with_capacity(3000);
    for i in 0..1000u64 {
        let mut rng = stream(i, &format!("worlds/{}", concept.id));
        let made = instance(concept, &mut rng, levels[i as usize % levels.len()])
            .unwrap_or_else(|| panic!("{} could not be drawn, seed {i}", concept.id));
        let [a, b, c] = &made.pairs;
        assert!(a != b && b != c && a != c, "{}: pairs repeat", concept.id);
        for pair in &made.pairs {
            assert_ne!(pair.input, pair.output, "{}/{}", concept.id, made.aspect);
            for grid in [&pair.input, &pair.output] {
                for side in [grid.rows() as i32, grid.cols() as i32] {
                    assert!((SHORTEST_SIDE..=LONGEST_SIDE).contains(&side));
                }
            }
            assert_eq!(pair.input.rows(), pair.output.rows());
            assert_eq!(pair.input.cols(), pair.output.cols());
        }
        assert!(
            seen.insert(made.pairs.clone()),
            "{}: an instance repeats",
            concept.id
        );
        pairs.extend(made.pairs);
    }
    Made {
        id: concept.id,
        pairs,
    }
}

fn all() -> Vec<Made> {
    let queue = Mutex::new(concepts().iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(c) = next else { break };
                    let made = thousand(c);
                    done.lock().unwrap().push(made);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

#[test]
fn a_thousand_instances_of_every_concept() {
    let made = all();
    assert_eq!(made.len(), 67);
    // No pair belongs to two concepts.
    let mut owner: HashMap<&Pair, &str> = HashMap::new();
    let mut repeats = 0;
    for m in &made {
        for pair in &m.pairs {
            match owner.insert(pair, m.id) {
                Some(other) if other != m.id => panic!("{other} and {} share a pair", m.id),
                Some(_) => repeats += 1,
                None => {}
            }
        }
    }
    let total: usize = made.iter().map(|m| m.pairs.len()).sum();
    eprintln!("{total} pairs, {repeats} seen twice within a concept");
    assert!(repeats * 500 < total, "{repeats} of {total} pairs repeat");
    sizes_tell_nothing(&made);
    colours_tell_nothing(&made);
}

/// The mean side is the same for every concept, because sizes are drawn before anything else.
fn sizes_tell_nothing(made: &[Made]) {
    for m in made {
        let sum: usize = m
            .pairs
            .iter()
            .map(|p| p.input.rows() + p.input.cols())
            .sum();
        let mean = sum as f64 / (2 * m.pairs.len()) as f64;
        // Standard error of a uniform mean over 6,000 sides: 2 / sqrt(6000) = 0.026.
        assert!((mean - 15.0).abs() < 0.13, "{}: mean side {mean}", m.id);
    }
}

/// Every colour other than black is as frequent as any other in every concept.
fn colours_tell_nothing(made: &[Made]) {
    for m in made {
        let mut with = [0usize; 10];
        for pair in &m.pairs {
            for (colour, n) in with.iter_mut().enumerate().skip(1) {
                if pair.input.count(colour as u8) + pair.output.count(colour as u8) > 0 {
                    *n += 1;
                }
            }
        }
        let mean = with.iter().sum::<usize>() as f64 / 9.0;
        for (colour, &n) in with.iter().enumerate().skip(1) {
            // Colours are drawn per instance: 1,000 draws of about one half, 5 standard errors.
            let apart = (n as f64 - mean).abs() / m.pairs.len() as f64;
            assert!(apart < 0.08, "{}: colour {colour} off by {apart}", m.id);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_instance() {
    for c in concepts() {
        let draw = |seed| instance(c, &mut stream(seed, "same"), Level::Core);
        assert_eq!(draw(5), draw(5), "{}", c.id);
        assert_ne!(draw(5), draw(6), "{}", c.id);
    }
}

/// The mean number of colours that a concept's pairs show.
fn colours(concept: &'static Concept, level: Level) -> f64 {
    let mut sum = 0;
    for seed in 0..30 {
        let made = instance(concept, &mut stream(seed, "distractors"), level).unwrap();
        for pair in &made.pairs {
            let shown = |c: &u8| pair.input.count(*c) + pair.output.count(*c) > 0;
            sum += (0..10).filter(shown).count();
        }
    }
    f64::from(u32::try_from(sum).unwrap()) / 90.0
}

#[test]
fn distractors_even_out_how_many_colours_a_pair_shows() {
    for (level, expected) in [(Level::Core, 4.7), (Level::Associative, 6.4)] {
        for c in concepts() {
            let mean = colours(c, level);
            assert!(
                (mean - expected).abs() < 1.2,
                "{} in {level:?}: {mean}",
                c.id
            );
        }
    }
}
