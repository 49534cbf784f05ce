//! A concept is two files and one line: here one is added, as the files would hold it, and everything
//! that the others go through is done with it without touching any other place.

use std::sync::LazyLock;

use mary_generators::stream;

use super::concepts::{ConceptCode, ConceptFunctions, ReadingFunctions};
use super::readings::{Look, elsewhere};
use super::{Concept, Level, Setting, concept, concepts, instance};
use crate::grid::{Pair, Place};
use crate::likeness::{Counts, Showing, apart};
use crate::masking::{PHENOMENON, masked, names_in};
use crate::matching;

/// What would be the file `concepts/condensation.json`.
const DATA: &str = r#"{
  "id": "condensation",
  "name": "condensation",
  "set": "core_test",
  "associative": false,
  "aspects": [
    {"id": "dew", "rule": "All specks of vapour over a cold plate have become drops of another colour that hang on it.", "turn": "upright"}
  ],
  "readings": [
    {"id": "hangs-below", "aspects": ["dew"], "asks": "did all loose specks vanish, and as many of a new colour hang below a still plate?", "turn": "upright", "first": {"touched": [2, 2], "fresh": 1, "lost": 1}}
  ],
  "names": ["condens*"],
  "giveaways": ["dew*"],
  "definitions": [
    "[PHENOMENON] turns vapour into drops on what is cold.",
    "A cold bottle gets wet in warm air by [PHENOMENON]."
  ],
  "confusable": [
    ["vaporization", "the same change the other way round"],
    ["melting", "a change of state by heat"],
    ["wetting", "drops on a body show both"]
  ]
}"#;

/// What `concept!` makes in the file `concepts/condensation.rs`.
static FUNCTIONS: ConceptFunctions = ConceptFunctions {
    draws: &[("dew", dew)],
    reads: &[ReadingFunctions {
        name: "hangs_below",
        fits: hangs_below,
        may: None,
    }],
};

static CONDENSATION: LazyLock<Concept> = LazyLock::new(|| {
    let (data, functions) = (DATA, &FUNCTIONS);
    ConceptCode { data, functions }.concept().unwrap()
});

fn dew(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (plate, vapour, drop) = (s.colour(0), s.colour(1), s.colour(2));
    let row = s.between(1, 3);
    p.both(|g| g.fill((row, 1), (row, g.cols() as i32 - 2), plate));
    let many = s.between(4, s.cols - 4) as usize;
    let air: Vec<Place> = (row + 3..s.rows)
        .flat_map(|r| (0..s.cols).map(move |c| (r, c)))
        .collect();
    p.input
        .paint(s.shuffled(air).into_iter().take(many), vapour);
    let under: Vec<Place> = (2..s.cols - 2).map(|c| (row + 1, c)).collect();
    p.output
        .paint(s.shuffled(under).into_iter().take(many), drop);
    Some(p)
}

fn hangs_below(look: &Look) -> bool {
    let (Some(drop), Some(vapour)) = (look.one_fresh(), look.one_lost()) else {
        return false;
    };
    look.had(vapour) == look.has(drop)
        && look
            .after_of(drop)
            .iter()
            .all(|p| p.tall() == 1 && p.cells.iter().all(|&(r, c)| look.stays((r - 1, c))))
}

#[test]
fn an_added_concept_is_drawn_read_and_said_like_the_others() {
    let mut known = 0;
    for seed in 0..40 {
        let made = instance(&CONDENSATION, &mut stream(seed, "added"), Level::Core).unwrap();
        for pair in &made.pairs {
            let look = Look::new(pair);
            known += usize::from(CONDENSATION.readings.iter().any(|r| r.fits(&look)));
            assert_eq!(elsewhere(&CONDENSATION, pair), None);
        }
    }
    assert!(known >= 114, "{known} of 120");
    for definition in &CONDENSATION.definitions {
        assert!(definition.contains(PHENOMENON) && names_in(&CONDENSATION, definition).is_empty());
    }
    let text = masked(&CONDENSATION, "Condensation makes dew.").text;
    assert_eq!(text, "[PHENOMENON] makes [MASK].");
}

#[test]
fn an_added_concept_shares_a_block_with_three_others() {
    assert!(!apart(&CONDENSATION, concept("melting").unwrap()));
    let others = ["gravity", "lever", "cut"].map(|id| concept(id).unwrap());
    let block: Vec<Showing> = [&*CONDENSATION, others[0], others[1], others[2]]
        .map(|concept| Showing {
            concept,
            turn: 0,
            aspect: 0,
        })
        .to_vec();
    assert!(others.iter().all(|o| apart(&CONDENSATION, o)));
    let drawn = matching::block(&block, Level::Core, &mut stream(1, "added")).unwrap();
    assert_eq!(drawn.iter().map(Vec::len).collect::<Vec<_>>(), [3; 4]);
    for (j, first) in drawn[0].iter().enumerate() {
        for other in &drawn[1..] {
            let sizes = |p: &Pair| (p.input.rows(), p.input.cols());
            assert_eq!(sizes(&other[j]), sizes(first));
            let colours = |p: &Pair| Counts::from_pair(p).colours;
            assert!(colours(&other[j]).abs_diff(colours(first)) <= 1);
        }
    }
    for pairs in &drawn[1..] {
        for pair in pairs {
            let look = Look::new(pair);
            assert!(!CONDENSATION.readings.iter().any(|r| r.fits(&look)));
        }
    }
}

/// Nothing outside a concept's own file and the list knows it by name, so that a file and a line do.
#[test]
fn concepts_are_named_in_their_own_files_only() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
    let shared = [
        "worlds/mod.rs",
        "worlds/setting.rs",
        "worlds/distractors.rs",
        "worlds/objects.rs",
        "worlds/draw.rs",
        "worlds/readings.rs",
        "worlds/readings/look.rs",
        "worlds/readings/part.rs",
        "worlds/readings/shared.rs",
        "worlds/scenery.rs",
        "choice_task.rs",
        "likeness.rs",
        "matching.rs",
        "surface.rs",
        "perception.rs",
        "picture.rs",
        "prompt.rs",
        "judging.rs",
        "low_level.rs",
        "describe.rs",
        "photo.rs",
    ];
    for file in shared {
        let text = std::fs::read_to_string(format!("{here}{file}")).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for c in concepts() {
            assert!(
                !code.contains(&format!("\"{}\"", c.id)),
                "{file} names {}",
                c.id
            );
        }
    }
    for c in concepts() {
        // `move` is a word of the language.
        let name = c.id.replace('-', "_").replace("move", "moving");
        let file = format!("{here}worlds/concepts/{name}.json");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(text.contains(&format!("\"id\": \"{}\"", c.id)), "{file}");
        assert!(
            std::fs::exists(file.replace(".json", ".rs")).unwrap(),
            "{file}"
        );
    }
}
