//! Models that see, beside Hugging Face transformers: the ids of a prompt with its pictures, all hidden
//! states and the log-probabilities, relative error at most 1e-4. The golden files come from
//! `tools/golden_vision.py`.

use std::path::{Path, PathBuf};

use mary_contract::{
    ErrorKind, Generate, Image, Model, ModelSettings, Part, Prompt, PromptForm, Sampling, Score,
    Scored, Speaker, Start, Turn, Vector,
};
use mary_local::LocalModel;
use mary_local::transformer::{Batch, Watch};
use mary_local::vision::FIRST_SHOWN;
use mary_weights::Checkpoint;
use serde_json::Value;

use crate::parity::{log_probs, relative};
use crate::serving::TestQueue;

/// Models with a vision encoder and a language model.
const SPEAKING: &[&str] = &[
    "llava",
    "llava_next",
    "idefics3",
    "smolvlm",
    "qwen2_vl",
    "qwen2_5_vl",
    "gemma3",
];

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden_vision")
        .join(name)
}

pub fn json(path: PathBuf) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn open(name: &str, args: &[(&str, &str)]) -> LocalModel {
    open_on(name, args, None)
}

fn open_on(name: &str, args: &[(&str, &str)], device: Option<&str>) -> LocalModel {
    let args = args.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let settings = ModelSettings {
        args: args.collect(),
        threads: Some(2),
        device: device.map(str::to_owned),
        ..ModelSettings::default()
    };
    let checkpoint = Checkpoint::open(&golden(name)).unwrap();
    let reference = format!("hf/{name}").parse().unwrap();
    LocalModel::from_checkpoint(reference, checkpoint, &settings)
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn image(name: &str, file: &str) -> Part {
    Part::Image(Image {
        media_type: "image/png".to_owned(),
        data: std::fs::read(golden(name).join(file)).unwrap(),
    })
}

/// A plain prompt from a text in which every picture is one word.
pub fn prompt(name: &str, text: &str, pictures: &[&str]) -> Prompt {
    let mut parts = vec![];
    let mut pictures = pictures.iter();
    for (i, words) in text.split("PICTURE").enumerate() {
        if i > 0 {
            parts.push(image(name, pictures.next().unwrap()));
        }
        if !words.is_empty() {
            parts.push(Part::Text(words.to_owned()));
        }
    }
    Prompt {
        form: PromptForm::Plain,
        system: None,
        turns: vec![Turn {
            speaker: Speaker::User,
            parts,
        }],
    }
}

fn hold(name: &str, device: Option<&str>) -> Vec<String> {
    hold_model(name, &open_on(name, &[], device), true)
}

/// What a model has wrong beside the golden numbers of this name. Where its tokenizer cannot spell the
/// words, they are given as ids, and only the pictures are read.
pub fn hold_model(name: &str, model: &LocalModel, spells: bool) -> Vec<String> {
    let told = json(golden(name).join("golden.json"));
    let config = json(golden(name).join("config.json"));
    let token = ["image_token_index", "image_token_id"]
        .iter()
        .find_map(|key| config.get(key)?.as_u64());
    let token = token.unwrap() as u32;
    let mut wrong = vec![];
    for (number, case) in told["cases"].as_array().unwrap().iter().enumerate() {
        let pictures: Vec<&str> = case["pictures"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p.as_str().unwrap())
            .collect();
        let ids: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
        let text = match spells {
            true => case["text"].as_str().unwrap().to_owned(),
            false => "PICTURE".repeat(pictures.len()),
        };
        let (mut tokens, shown) = model.read(&prompt(name, &text, &pictures)).unwrap();
        if !spells {
            let rows: Vec<u32> = tokens.into_iter().filter(|t| *t >= FIRST_SHOWN).collect();
            let mut rows = rows.into_iter();
            let places = ids.iter().map(|id| match *id == token {
                true => rows.next().unwrap_or(token),
                false => *id,
            });
            tokens = places.collect();
            assert_eq!(rows.next(), None, "{name} {number}: rows without a place");
        }
        let word = |t: &u32| if *t < FIRST_SHOWN { *t } else { token };
        let got: Vec<u32> = tokens.iter().map(word).collect();
        if got != ids {
            wrong.push(format!("{name} {number}: ids {got:?}, not {ids:?}"));
            continue;
        }
        let hidden: Vec<Vector> = serde_json::from_value(case["hidden"].clone()).unwrap();
        let logits: Vector = serde_json::from_value(case["logits"].clone()).unwrap();
        let mut session = model.session(tokens.len()).unwrap();
        session.show(shown.clone());
        let mut batch = Batch::default();
        batch.push(&tokens, &[], 0);
        if shown.turns() {
            batch.turns = shown.places(&tokens).iter().map(|p| p.at).collect();
        }
        let mut visit = |layer: usize, states: &[f32]| {
            let error = relative(states, &hidden[layer].0);
            if error.is_nan() || error > 1e-4 {
                wrong.push(format!("{name} {number}: layer {layer}: {error:.2e}"));
            }
        };
        let watch = Some(Watch::Rows(&mut visit));
        session.forward(&batch, watch).unwrap();
        let rows: Vec<usize> = (0..tokens.len()).collect();
        let got = session.logits(&rows).unwrap();
        for (what, error) in [
            ("logits", relative(&got, &logits.0)),
            ("log-probabilities", log_probs(&got, &logits.0, &ids)),
        ] {
            if error.is_nan() || error > 1e-4 {
                wrong.push(format!("{name} {number}: {what}: {error:.2e}"));
            }
        }
    }
    wrong
}

#[test]
fn every_vision_encoder_computes_what_transformers_computes() {
    let wrong: Vec<String> = SPEAKING.iter().flat_map(|name| hold(name, None)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The same on a GPU.
#[cfg(feature = "cuda")]
#[test]
fn every_vision_encoder_computes_the_same_on_a_gpu() {
    use mary_testkit::{Lacking, skip};
    let settings = ModelSettings {
        device: Some("cuda:0".to_owned()),
        ..ModelSettings::default()
    };
    let checkpoint = Checkpoint::open(&golden("llava")).unwrap();
    let reference = "hf/llava".parse().unwrap();
    match LocalModel::from_checkpoint(reference, checkpoint, &settings) {
        Err(e) if e.kind == ErrorKind::BadRequest => return skip(Lacking::Gpu, &e.to_string()),
        Err(e) => panic!("{e}"),
        Ok(_) => {}
    }
    let wrong: Vec<String> = SPEAKING
        .iter()
        .flat_map(|name| hold(name, Some("cuda:0")))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn score(
    model: &LocalModel,
    requests: Vec<Score>,
) -> Vec<Result<Scored, mary_contract::ModelError>> {
    let mut queue = TestQueue::new(requests);
    model.scorer().unwrap().score(&mut queue);
    queue.answers()
}

fn asked(prefix: Prompt, continuations: &[&str]) -> Score {
    Score {
        prefix,
        continuations: continuations.iter().map(|c| (*c).to_owned()).collect(),
        start: Start::Model,
        details: Default::default(),
    }
}

/// Questions about the same and about other pictures, with and without the tree.
#[test]
fn scores_with_pictures_do_not_depend_on_sharing() {
    for name in SPEAKING {
        let one = prompt(name, "PICTURE the old", &["one.png"]);
        let two = prompt(name, "PICTURE the old", &["two.png"]);
        let longer = prompt(name, "PICTURE the old cat", &["one.png"]);
        let none = prompt(name, "the old", &[]);
        let both = prompt(name, "PICTURE the old PICTURE", &["one.png", "two.png"]);
        let all = || {
            [&one, &two, &longer, &none, &both]
                .map(|p| asked(p.clone(), &[" cat sleeps", " stone", " cat"]))
                .to_vec()
        };
        let numbers = |args: &[(&str, &str)]| -> Vec<Vec<f32>> {
            score(&open(name, args), all())
                .into_iter()
                .map(|r| r.unwrap_or_else(|e| panic!("{name}: {e}")))
                .map(|r| {
                    r.continuations
                        .into_iter()
                        .flat_map(|c| c.logprobs)
                        .collect()
                })
                .collect()
        };
        let shared = numbers(&[]);
        for args in [&[("trie", "off")][..], &[("rows", "7")]] {
            for (a, b) in shared.iter().zip(numbers(args)) {
                let error = relative(&b, a);
                assert!(error < 1e-5, "{name} {args:?}: {error:.2e}");
            }
        }
        assert!(
            relative(&shared[0], &shared[1]) > 1e-3,
            "{name}: pictures matter"
        );
        assert!(
            relative(&shared[0], &shared[3]) > 1e-3,
            "{name}: a picture matters"
        );
    }
}

/// A picture that many questions share is computed once: the tree holds its rows once.
#[test]
fn a_shared_picture_stands_in_the_tree_once() {
    use mary_local::trie::{Sequence, Trie};
    let model = open("llava", &[]);
    let words = ["the old", "the old cat", "a red stone", "the river"];
    let mut sequences = vec![];
    let mut pictures = 0;
    for text in words {
        let prompt = prompt("llava", &format!("PICTURE {text}"), &["one.png"]);
        let (tokens, shown) = model.read(&prompt).unwrap();
        pictures = shown.rows();
        sequences.push(Sequence {
            scored_from: tokens.len() - 1,
            tokens,
        });
    }
    assert_eq!(pictures, 16);
    let trie = Trie::new(&sequences, true);
    let words: usize = sequences
        .iter()
        .map(|s| s.tokens.len() - pictures - 1)
        .sum();
    assert!(trie.len() <= pictures + 1 + words, "{} nodes", trie.len());
}

#[test]
fn answers_with_pictures_follow_the_scores() {
    let mut compared = 0;
    for name in SPEAKING {
        let model = open(name, &[]);
        let shown = prompt(name, "PICTURE the old cat", &["one.png"]);
        let ask = |p: &Prompt| Generate {
            prompt: p.clone(),
            sampling: Sampling::greedy(3),
        };
        let other = prompt(name, "PICTURE the old stone", &["one.png"]);
        let mut queue = TestQueue::new(vec![ask(&shown), ask(&other)]);
        model.generator().unwrap().generate(&mut queue);
        let together = queue.answers();
        let mut queue = TestQueue::new(vec![ask(&shown)]);
        model.generator().unwrap().generate(&mut queue);
        let alone = queue.answers();
        let text = |r: &Result<mary_contract::Generated, _>| r.as_ref().unwrap().text.clone();
        assert_eq!(text(&together[0]), text(&alone[0]), "{name}");
        // Special tokens are not written out; any other first token is the likeliest continuation.
        let mut queue = TestQueue::new(vec![Generate {
            prompt: shown.clone(),
            sampling: Sampling::greedy(1),
        }]);
        model.generator().unwrap().generate(&mut queue);
        let first = text(&queue.answers()[0]);
        let first = first.trim();
        if first.is_empty() {
            continue;
        }
        compared += 1;
        let mut words: Vec<String> = ["cat", "stone", "river", "and", "the", "light", "two"]
            .map(|w| format!(" {w}"))
            .to_vec();
        words.push(format!(" {first}"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let scored = score(&model, vec![asked(shown, &words)]).remove(0).unwrap();
        let sums: Vec<f32> = scored.continuations.iter().map(|c| c.logprobs[0]).collect();
        let most = sums.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert!(
            sums[sums.len() - 1] >= most - 1e-5,
            "{name}: {first} {sums:?}"
        );
    }
    assert!(compared > 1, "{compared}");
}

#[test]
fn cards_say_who_sees_and_a_model_without_an_encoder_refuses_pictures() {
    assert!(open("llava", &[]).card().capabilities.images);
    let blind = crate::serving::open("llama", None, &[]);
    assert!(!blind.card().capabilities.images);
    let shown = prompt("llava", "PICTURE the old", &["one.png"]);
    let error = score(&blind, vec![asked(shown, &[" cat"])])
        .remove(0)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadRequest);
    assert!(error.message.contains("text only"), "{error}");
}

/// A broken picture spoils its own request and no other.
#[test]
fn a_broken_picture_is_told_and_the_rest_answered() {
    let model = open("llava", &[]);
    let good = prompt("llava", "PICTURE the old", &["one.png"]);
    let mut bad = good.clone();
    for part in &mut bad.turns[0].parts {
        if let Part::Image(image) = part {
            image.data.truncate(60);
        }
    }
    let forged = prompt("llava", "PICTURE the <image> old", &["one.png"]);
    let mut answers = score(
        &model,
        vec![
            asked(bad, &[" cat"]),
            asked(good, &[" cat"]),
            asked(forged, &[" cat"]),
        ],
    );
    assert!(
        answers
            .pop()
            .unwrap()
            .unwrap_err()
            .message
            .contains("2 places")
    );
    assert!(answers.pop().unwrap().is_ok());
    let error = answers.pop().unwrap().unwrap_err();
    assert!(error.message.contains("not a sound PNG"), "{error}");
    assert_eq!(error.kind, ErrorKind::BadRequest);
}
