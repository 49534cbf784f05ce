//! Inside models: what must hold whatever a model has learned (a text patched into itself, everything patched, the last layer
//! of a lens), that controls let nothing through in untrained models, and what is refused.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use mary_contract::{
    ContinuationScore, Job, Model, ModelError, ModelSettings, Prompt, Provider as _, Reply, Score,
    Scored, Start, Ticket, Vector, WorkQueue,
};
use mary_lab::builtin::Builtin;
use mary_lab::inside::Subject;
use mary_lab::inside::lens::{LensTexts, TunedLens, look};
use mary_lab::inside::pairs::Pairs;
use mary_lab::inside::patch::{PatchOptions, PatchSite, Patched, patch};
use mary_lab::inside::probe::{ProbeColumns, ProbeTexts, probe};
use mary_lab::inside::steer::{Directions, choices, learn, steer};

fn nano(untrained: Option<u64>) -> Box<dyn Model> {
    let mut settings = ModelSettings::default();
    let twin = untrained.map(|seed| ("untrained".to_owned(), seed.to_string()));
    settings.args.extend(twin);
    Builtin
        .open(&"builtin/nano".parse().unwrap(), &settings)
        .unwrap()
}

fn file(folder: &Path, name: &str, lines: &[String]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, lines.join("\n")).unwrap();
    path
}

const NOUNS: [[&str; 2]; 10] = [
    ["girl", "girls"],
    ["boy", "boys"],
    ["mother", "mothers"],
    ["dog", "dogs"],
    ["cat", "cats"],
    ["queen", "queens"],
    ["teacher", "teachers"],
    ["horse", "horses"],
    ["doctor", "doctors"],
    ["friend", "friends"],
];

/// Subjects of both numbers, with a distractor behind them.
fn pairs(folder: &Path) -> PathBuf {
    let mut lines =
        vec!["id,clean,corrupted,good,bad,subject,subject_corrupted,distractor".to_owned()];
    for (at, [one, many]) in NOUNS.iter().enumerate() {
        let other = NOUNS[(at + 3) % NOUNS.len()][at % 2];
        for (clean, wrong, good, bad) in [(one, many, "is", "are"), (many, one, "are", "is")] {
            lines.push(format!(
                "{clean},The {clean} near the {other},The {wrong} near the {other},{good},{bad},{clean},{wrong},{other}"
            ));
        }
    }
    file(folder, "pairs.csv", &lines)
}

fn patched(model: &dyn Model, path: &Path, options: &PatchOptions, regions: &[&str]) -> Patched {
    let regions: Vec<String> = regions.iter().map(|r| (*r).to_owned()).collect();
    let pairs = Pairs::open(path, &regions, " ").unwrap();
    let subject = Subject::new(model).unwrap();
    patch("nano", (&subject, None), &pairs, options, &mut |_| ()).unwrap()
}

#[test]
fn a_text_patched_into_itself_changes_nothing_and_everything_patched_is_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let model = nano(None);
    let own = [
        "clean,corrupted,good,bad",
        "The girls,The girls,are,is",
        "The dog,The dog,is,are",
    ];
    let own = file(folder.path(), "own.csv", &own.map(str::to_owned));
    for site in [
        PatchSite::Stream,
        PatchSite::Attention,
        PatchSite::FeedForward,
        PatchSite::Heads,
    ] {
        let options = PatchOptions {
            site,
            ..PatchOptions::default()
        };
        let found = patched(model.as_ref(), &own, &options, &[]);
        assert!(!found.shares && found.cells.iter().all(|c| !c.marked));
        for cell in &found.cells {
            assert_eq!(
                cell.effect.value, 0.0,
                "{site:?} {} {}",
                cell.layer, cell.place
            );
        }
    }
    // What the last layer has in the last place decides alone.
    let path = pairs(folder.path());
    for into_clean in [false, true] {
        let options = PatchOptions {
            into_clean,
            ..PatchOptions::default()
        };
        let found = patched(model.as_ref(), &path, &options, &["subject", "distractor"]);
        assert!(found.shares, "{:?}", found.difference);
        let layers = found.cells.iter().map(|c| c.layer).max().unwrap();
        let last = found
            .cells
            .iter()
            .find(|c| c.layer == layers && c.place == "distractor")
            .unwrap();
        assert!((last.effect.value - 1.0).abs() < 1e-4, "{:?}", last.effect);
        // Before the first block only the subject differs; regions of different lengths meet in their last tokens.
        let whole = found
            .cells
            .iter()
            .find(|c| c.layer == 0 && c.place == "subject")
            .unwrap();
        assert!(whole.effect.value > 0.7, "{:?}", whole.effect);
        let other = found
            .cells
            .iter()
            .find(|c| c.layer == 0 && c.place == "distractor")
            .unwrap();
        assert_eq!(other.effect.value, 0.0);
        assert!(whole.marked && last.marked && !other.marked);
        assert!(whole.controls["random direction"].value < 0.5);
    }
}

#[test]
fn token_by_token_the_embedding_of_what_differs_is_everything() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        "clean,corrupted,good,bad",
        "The men near the dog,The man near the dog,are,is",
        "The woman near the dog,The women near the dog,is,are",
        "The child near the boy,The children near the boy,is,are",
    ];
    let path = file(folder.path(), "pairs.csv", &lines.map(str::to_owned));
    let found = patched(nano(None).as_ref(), &path, &PatchOptions::default(), &[]);
    assert!(found.shares, "{:?}", found.difference);
    let first: Vec<_> = found.cells.iter().filter(|c| c.layer == 0).collect();
    let [lead, subject, rest @ ..] = first.as_slice() else {
        panic!()
    };
    assert_eq!(
        (lead.place.as_str(), subject.place.as_str()),
        ("-5 The", "-4 men …")
    );
    assert!(
        (subject.effect.value - 1.0).abs() < 1e-4,
        "{:?}",
        subject.effect
    );
    assert!(rest.iter().chain([lead]).all(|c| c.effect.value == 0.0));
}

#[test]
fn ten_untrained_models_have_next_to_no_marks() {
    let folder = tempfile::tempdir().unwrap();
    let path = pairs(folder.path());
    let (mut marked, mut cells) = (0, 0);
    for seed in 1..=10 {
        let found = patched(
            nano(Some(seed)).as_ref(),
            &path,
            &PatchOptions::default(),
            &["subject", "distractor"],
        );
        marked += found.cells.iter().filter(|c| c.marked).count();
        cells += found.cells.len();
    }
    println!("{marked} of {cells} cells of ten untrained models are marked");
    assert!(marked * 20 <= cells, "{marked} of {cells}");
}

#[test]
fn the_last_layer_of_a_lens_is_the_output_and_an_empty_tuned_lens_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        "text,good,bad",
        "The girls,are,is",
        "The dog near the boys,is,are",
    ];
    let path = file(folder.path(), "texts.csv", &lines.map(str::to_owned));
    let model = nano(None);
    let subject = Subject::new(model.as_ref()).unwrap();
    let columns = ["good".to_owned(), "bad".to_owned()];
    let texts = LensTexts::open(&path, "text", (&[], &columns), " ").unwrap();
    let seen = look("nano", &subject, &texts, None).unwrap();
    let asked = choices(&path, " ", None).unwrap();
    // Nothing added is the model as it is.
    let nothing: Directions = [(1, Vector(vec![0.0; width(&subject)]))].into();
    let still = steer("nano", &subject, &asked, &nothing, (&[1.0], 20, 0)).unwrap();
    assert_eq!(still.effects[0].effect.value, 0.0);
    assert!(!still.effects[0].marked);
    let of = |id: &str, word: &str| {
        let mut found = seen.texts.iter().filter(|g| g.id == id && g.word == word);
        found.next_back().unwrap().clone()
    };
    let model_scores = scores(model.as_ref(), "The girls", &[" are", " is"]);
    for (word, score) in columns.iter().zip(&model_scores) {
        let found = of("2", word);
        assert_eq!(found.layer, subject.layers);
        assert!(
            (found.logprob - score).abs() < 1e-5,
            "{word}: {} {score}",
            found.logprob
        );
    }
    assert!(of("2", "good").rank < of("2", "bad").rank);
    // A lens whose maps are all zeros adds nothing to the stream.
    let path = lens_file(folder.path(), subject.layers, width(&subject));
    let lens = TunedLens::open(&path, subject.layers).unwrap();
    let tuned = look("nano", &subject, &texts, Some(&lens)).unwrap();
    for (a, b) in tuned.texts.iter().zip(&seen.texts) {
        assert!((a.logprob - b.logprob).abs() < 1e-5, "{a:?} {b:?}");
    }
    let wrong = lens_file(folder.path(), subject.layers, 3);
    let lens = TunedLens::open(&wrong, subject.layers).unwrap();
    let error = look("nano", &subject, &texts, Some(&lens))
        .unwrap_err()
        .to_string();
    assert!(error.contains("vectors of 3 numbers"), "{error}");
    assert!(TunedLens::open(&wrong, subject.layers + 1).is_err());
}

#[test]
fn a_lens_that_its_package_saved_predicts_what_the_package_predicts() {
    let (folder, crates) = (
        tempfile::tempdir().unwrap(),
        Path::new(env!("CARGO_MANIFEST_DIR")),
    );
    let saved = crates.join("tests/tuned_lens");
    let golden = std::fs::read(saved.join("golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_slice(&golden).unwrap();
    let tiny = crates.join("../../models/mary-local/tests/golden/gpt2");
    let tiny = format!("hf/{}", tiny.canonicalize().unwrap().display());
    let model = mary_local::provider::HF
        .open(&tiny.parse().unwrap(), &ModelSettings::default())
        .unwrap();
    let subject = Subject::new(model.as_ref()).unwrap();
    let text = golden["text"].as_str().unwrap().to_owned();
    let path = file(folder.path(), "text.txt", &[text]);
    let words: Vec<String> = serde_json::from_value(golden["words"].clone()).unwrap();
    let texts = LensTexts::open(&path, "text", (&words, &[]), " ").unwrap();
    let layers: Vec<Vec<f64>> = serde_json::from_value(golden["layers"].clone()).unwrap();
    for path in [saved.join("params.pt"), saved] {
        let lens = TunedLens::open(&path, subject.layers).unwrap();
        let seen = look("tiny", &subject, &texts, Some(&lens)).unwrap();
        assert_eq!(seen.texts.len(), layers.len() * words.len());
        for glimpse in &seen.texts {
            let word = words.iter().position(|w| *w == glimpse.word).unwrap();
            let theirs = layers[glimpse.layer][word];
            assert!(
                (glimpse.logprob - theirs).abs() < 1e-4,
                "{glimpse:?} {theirs}"
            );
        }
        // Without its maps the lens sees something else.
        let plain = look("tiny", &subject, &texts, None).unwrap();
        assert!((plain.texts[0].logprob - layers[0][0]).abs() > 0.01);
    }
}

fn width(subject: &Subject<'_>) -> usize {
    let texts = [vec!["the dog".to_owned()], vec!["the dogs".to_owned()]];
    learn(subject, &texts, &[1]).unwrap()[&1].0.len()
}

/// A queue of one request.
struct One(Option<Score>, Vec<f64>);

impl WorkQueue<Score, Scored> for One {
    fn next(&mut self) -> Option<Job<Score>> {
        let request = self.0.take()?;
        Some(Job {
            ticket: Ticket(0),
            request,
        })
    }

    fn answer(&mut self, _: Ticket, answer: Result<Reply<Scored>, ModelError>) -> ControlFlow<()> {
        let scored = answer.unwrap().answer;
        self.1 = scored
            .continuations
            .iter()
            .map(ContinuationScore::sum)
            .collect();
        ControlFlow::Continue(())
    }
}

fn scores(model: &dyn Model, prefix: &str, words: &[&str]) -> Vec<f64> {
    let score = Score::new(
        Prompt::plain(prefix),
        words.iter().map(|w| (*w).to_owned()).collect(),
        Start::Text,
    );
    let mut queue = One(Some(score), Vec::new());
    model.scorer().unwrap().score(&mut queue);
    queue.1
}

fn lens_file(folder: &Path, layers: usize, width: usize) -> PathBuf {
    let mut header = serde_json::Map::new();
    let mut offset = 0;
    for layer in 0..layers {
        for (part, numbers, shape) in [
            ("weight", width * width, vec![width, width]),
            ("bias", width, vec![width]),
        ] {
            let about = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + 4 * numbers]});
            header.insert(format!("{layer}.{part}"), about);
            offset += 4 * numbers;
        }
    }
    let header = serde_json::to_vec(&header).unwrap();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.resize(bytes.len() + offset, 0);
    let path = folder.join(format!("lens-{width}.safetensors"));
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_direction_of_number_moves_verbs_and_random_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let (mut texts, mut sides) = (vec!["text,good,bad".to_owned()], [vec![], vec![]]);
    for (at, [one, many]) in NOUNS.iter().enumerate() {
        match at < 5 {
            true => texts.push(format!("The {one},are,is")),
            false => {
                sides[0].push(format!("The {many}"));
                sides[1].push(format!("The {one}"));
            }
        }
    }
    let path = file(folder.path(), "texts.csv", &texts);
    let model = nano(None);
    let subject = Subject::new(model.as_ref()).unwrap();
    let texts = choices(&path, " ", None).unwrap();
    let directions = learn(&subject, &sides, &[3]).unwrap();
    let found = steer("nano", &subject, &texts, &directions, (&[1.0, -1.0], 20, 0)).unwrap();
    let [more, less] = found.effects.as_slice() else {
        panic!()
    };
    assert!(
        more.effect.value > 0.0 && less.effect.value < more.effect.value,
        "{found:?}"
    );
    assert!(more.marked, "{more:?}");
    for (layers, random, why) in [(vec![99], 20, "no layer 99"), (vec![1], 3, "too few")] {
        let learned = learn(&subject, &sides, &layers);
        let tried = learned.and_then(|d| steer("nano", &subject, &texts, &d, (&[1.0], random, 0)));
        assert!(tried.unwrap_err().to_string().contains(why), "{why}");
    }
    let narrow: Directions = [(1, Vector(vec![1.0; 3]))].into();
    let error = steer("nano", &subject, &texts, &narrow, (&[1.0], 20, 0)).unwrap_err();
    assert!(error.to_string().contains("not 3"), "{error}");
}

/// The direction is made of other numbers than those that are compared, and speaks for whose number it is added to.
#[test]
fn a_direction_of_magnitude_speaks_for_the_owner_of_the_number_that_it_is_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = vec!["text,good,bad,first,second".to_owned()];
    let names = ["Anna", "Tom", "Lucy", "Ben", "Nora", "Sam", "Emma", "Paul"];
    let numbers = ["four", "five", "six", "seven"];
    for (at, one) in names.iter().enumerate() {
        for step in 1..4 {
            let (other, first) = (names[(at + step) % 8], numbers[at % 4]);
            let second = numbers[(at + step) % 4];
            let text = format!("{one} has {first} apples. {other} has {second} apples.");
            lines.push(format!("{text},{one},{other},{first},{second}"));
        }
    }
    let path = file(folder.path(), "texts.csv", &lines);
    let side = |numbers: [&str; 3]| numbers.map(|n| format!("Rose has {n}")).to_vec();
    let sides = [
        side(["eight", "nine", "ten"]),
        side(["one", "two", "three"]),
    ];
    let model = nano(None);
    let subject = Subject::new(model.as_ref()).unwrap();
    let directions = learn(&subject, &sides, &[0]).unwrap();
    let moved = |region: &str| {
        let texts = choices(&path, " ", Some(region)).unwrap();
        let steered = steer("nano", &subject, &texts, &directions, (&[1.0], 20, 0)).unwrap();
        steered.effects[0].effect
    };
    assert!(moved("first").low > 0.0, "{:?}", moved("first"));
    assert!(moved("second").high < 0.0, "{:?}", moved("second"));
}

#[test]
fn a_probe_finds_number_and_the_choice_rests_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = vec!["text,label,noun,good,bad".to_owned()];
    for [one, many] in NOUNS {
        for lead in ["The", "This is about the"] {
            lines.push(format!("{lead} {one},singular,{one},is,are"));
            lines.push(format!("{lead} {many},plural,{one},are,is"));
        }
    }
    let path = file(folder.path(), "labels.csv", &lines);
    let columns = ProbeColumns {
        text: "text".into(),
        label: "label".into(),
        group: Some("noun".into()),
        ..ProbeColumns::default()
    };
    let texts = ProbeTexts::open(&path, &columns, " ").unwrap();
    let (model, twin) = (nano(None), nano(Some(1)));
    let subjects = (
        &Subject::new(model.as_ref()).unwrap(),
        Some(&Subject::new(twin.as_ref()).unwrap()),
    );
    let found = probe("nano", subjects, &texts, (20, 0)).unwrap();
    assert!(
        found
            .layers
            .iter()
            .any(|l| l.marked && l.accuracy.value > 0.8),
        "{:#?}",
        found.layers
    );
    assert!(
        found
            .layers
            .iter()
            .all(|l| l.untrained.is_some_and(|u| u.value < 0.9))
    );
    // Without what the probe reads the right verb loses, beyond what random directions take away.
    assert!(
        found
            .amnesic
            .iter()
            .any(|e| e.marked && e.effect.value < 0.0),
        "{:#?}",
        found.amnesic
    );
    let one = file(
        folder.path(),
        "one.csv",
        &["text,label".to_owned(), "a,b".to_owned()],
    );
    let error = ProbeTexts::open(
        &one,
        &ProbeColumns {
            group: None,
            ..columns
        },
        " ",
    )
    .err()
    .unwrap();
    assert!(
        error.to_string().contains("a probe tells two apart"),
        "{error}"
    );
}

#[test]
fn texts_that_do_not_align_and_places_that_are_not_there_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = nano(None);
    let subject = Subject::new(model.as_ref()).unwrap();
    let lines = [
        "clean,corrupted,good,bad",
        "The men,The big man,are,is",
        "The man,The men,is,are",
    ];
    let path = file(folder.path(), "uneven.csv", &lines.map(str::to_owned));
    let pairs = Pairs::open(&path, &[], " ").unwrap();
    let error = patch(
        "nano",
        (&subject, None),
        &pairs,
        &PatchOptions::default(),
        &mut |_| (),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("line 2") && error.contains("--regions"),
        "{error}"
    );
    let error = Pairs::open(&path, &["noun".to_owned()], " ")
        .unwrap_err()
        .to_string();
    assert!(error.contains("no column `noun`"), "{error}");
    let options = PatchOptions {
        site: PatchSite::Heads,
        at: Some("verb".into()),
        ..PatchOptions::default()
    };
    let even = [
        "clean,corrupted,good,bad",
        "The men,The man,are,is",
        "The woman,The women,is,are",
    ];
    let path = file(folder.path(), "even.csv", &even.map(str::to_owned));
    let pairs = Pairs::open(&path, &[], " ").unwrap();
    let error = patch("nano", (&subject, None), &pairs, &options, &mut |_| ())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no place `verb`") && error.contains("-1"),
        "{error}"
    );
}
