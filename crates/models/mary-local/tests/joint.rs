//! CLIP and SigLIP beside Hugging Face transformers: the states of both towers, the vectors in the space
//! that texts and pictures share, and their cosines, relative error at most 1e-4. The golden files come
//! from `tools/golden_vision.py`.

use std::path::Path;

use mary_contract::{
    ErrorKind, Image, Layers, Model, ModelError, ModelSettings, Observe, Observed, Pool,
    PooledVectors, Vector,
};
use mary_local::LocalModel;
use mary_weights::Checkpoint;
use serde_json::Value;

use crate::parity::relative;
use crate::serving::TestQueue;
use crate::vision::{golden, json};

const POOLS: [Pool; 4] = [Pool::Mean, Pool::First, Pool::Last, Pool::Joint];

fn open_at(path: &Path, device: Option<&str>) -> Result<LocalModel, ModelError> {
    let settings = ModelSettings {
        threads: Some(2),
        device: device.map(str::to_owned),
        ..ModelSettings::default()
    };
    let checkpoint = Checkpoint::open(path)?;
    LocalModel::from_checkpoint("hf/joint".parse().unwrap(), checkpoint, &settings)
}

fn ask(text: &str, picture: Option<Vec<u8>>) -> Observe {
    Observe {
        text: text.to_owned(),
        picture: picture.map(|data| Image {
            media_type: "image/png".into(),
            data,
        }),
        pools: POOLS.to_vec(),
        layers: Layers::All,
        with_scores: false,
    }
}

fn observe(model: &LocalModel, requests: Vec<Observe>) -> Vec<Result<Observed, ModelError>> {
    let mut queue = TestQueue::new(requests);
    model.observer().unwrap().observe(&mut queue);
    queue.answers()
}

/// The mean of some rows of a golden state.
fn mean(state: &[f32], width: usize, rows: std::ops::Range<usize>) -> Vec<f32> {
    let n = rows.len() as f32;
    let mut out = vec![0.0; width];
    for row in rows {
        let row = &state[row * width..(row + 1) * width];
        out.iter_mut().zip(row).for_each(|(o, x)| *o += x / n);
    }
    out
}

/// What an observation has wrong: `rows` are those of the thing itself, of `all`.
fn hold(
    what: &str,
    case: &Value,
    found: &Observed,
    rows: std::ops::Range<usize>,
    all: usize,
) -> Vec<String> {
    let hidden: Vec<Vector> = serde_json::from_value(case["hidden"].clone()).unwrap();
    let joint: Vector = serde_json::from_value(case["joint"].clone()).unwrap();
    let mut wrong = vec![];
    let last = rows.end - 1..rows.end;
    for ((pool, rows), name) in found.pools.iter().zip([rows, 0..1, last]).zip(POOLS) {
        assert_eq!(pool.layers.len(), hidden.len(), "{what}");
        for (layer, state) in pool.layers.iter().zip(&hidden) {
            let width = state.0.len() / all;
            let error = relative(&layer.vector.0, &mean(&state.0, width, rows.clone()));
            if error.is_nan() || error > 1e-4 {
                wrong.push(format!(
                    "{what}: {name:?}, layer {}: {error:.2e}",
                    layer.layer
                ));
            }
        }
    }
    let [.., PooledVectors { layers, .. }] = found.pools.as_slice() else {
        panic!("{what}: no pools");
    };
    assert_eq!(layers.len(), 1, "{what}: one joint vector");
    let error = relative(&layers[0].vector.0, &joint.0);
    if error.is_nan() || error > 1e-4 {
        wrong.push(format!("{what}: joint: {error:.2e}"));
    }
    wrong
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(x, y)| f64::from(x * y)).sum() };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn compare(name: &str, path: &Path, device: Option<&str>) -> Result<Vec<String>, ModelError> {
    let model = open_at(path, device)?;
    assert!(model.card().capabilities.images && !model.card().capabilities.generate);
    let told = json(golden(name).join("golden.json"));
    let (texts, pictures) = (
        told["texts"].as_array().unwrap(),
        told["pictures"].as_array().unwrap(),
    );
    let read = |case: &Value| std::fs::read(golden(name).join(case["file"].as_str().unwrap()));
    let mut requests: Vec<Observe> = vec![];
    for case in texts {
        requests.push(ask(case["text"].as_str().unwrap(), None));
    }
    for case in pictures {
        // Between texts, and with a name of its own that is not read.
        requests.insert(1, ask("a name", Some(read(case).unwrap())));
    }
    let mut found = observe(&model, requests).into_iter();
    let mut next = || found.next().unwrap();
    let mut own = vec![next()?];
    let mut seen = [next()?, next()?];
    seen.reverse();
    own.extend([next()?, next()?]);
    let mut wrong = vec![];
    for (case, observed) in texts.iter().zip(&own) {
        let words = case["text"].as_str().unwrap();
        let count = words.split(' ').count();
        let all = case["ids"].as_array().unwrap().len();
        wrong.extend(hold(words, case, observed, 1..count + 1, all));
    }
    let class = usize::from(name == "clip");
    for (case, observed) in pictures.iter().zip(&seen) {
        let what = format!("{name} {}", case["file"]);
        wrong.extend(hold(&what, case, observed, class..16 + class, 16 + class));
    }
    let vector = |o: &Observed| o.pools[3].layers[0].vector.0.clone();
    for (text, row) in own.iter().zip(told["cosines"].as_array().unwrap()) {
        for (picture, golden) in seen.iter().zip(row.as_array().unwrap()) {
            let apart = cosine(&vector(text), &vector(picture)) - golden.as_f64().unwrap();
            if apart.is_nan() || apart.abs() >= 1e-4 {
                wrong.push(format!("{name}: a cosine is {apart:.2e} off"));
            }
        }
    }
    Ok(wrong)
}

#[test]
fn both_towers_and_their_cosine_are_what_transformers_computes() {
    for name in ["clip", "siglip"] {
        let wrong = compare(name, &golden(name), None).unwrap();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}

/// Newer files of CLIP name the end token by its number, and give the same vectors.
#[test]
fn an_end_token_that_is_named_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for file in [
        "model.safetensors",
        "tokenizer.json",
        "preprocessor_config.json",
    ] {
        std::fs::copy(golden("clip").join(file), folder.path().join(file)).unwrap();
    }
    let mut config = json(golden("clip").join("config.json"));
    let tokenizer = json(golden("clip").join("tokenizer.json"));
    config["text_config"]["eos_token_id"] = tokenizer["model"]["vocab"]["</s>"].clone();
    std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    let wrong = compare("clip", folder.path(), None).unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_broken_picture_a_span_and_a_model_of_one_tower_are_told() {
    let model = open_at(&golden("clip"), None).unwrap();
    let picture = std::fs::read(golden("clip").join("one.png")).unwrap();
    let mut span = ask("", Some(picture.clone()));
    span.pools = vec![Pool::Span { start: 0, end: 3 }];
    let requests = vec![
        ask("", Some(picture[..60].to_vec())),
        span,
        ask("", Some(picture.clone())),
    ];
    let found = observe(&model, requests);
    let message = |r: &Result<Observed, ModelError>| r.as_ref().unwrap_err().message.clone();
    assert!(message(&found[0]).contains("not a sound PNG"));
    assert!(message(&found[1]).contains("no spans"));
    assert!(found[2].is_ok());
    let other = crate::serving::open("llama", None, &[]);
    let found = observe(&other, vec![ask("the cat", None), ask("", Some(picture))]);
    assert!(message(&found[0]).contains("texts and pictures share"));
    assert!(message(&found[1]).contains("texts only"));
    assert_eq!(found[1].as_ref().unwrap_err().kind, ErrorKind::BadRequest);
    // Without a processor there are texts and no pictures, and the card says so.
    let folder = tempfile::tempdir().unwrap();
    for file in ["model.safetensors", "tokenizer.json", "config.json"] {
        std::fs::copy(golden("siglip").join(file), folder.path().join(file)).unwrap();
    }
    let blind = open_at(folder.path(), None).unwrap();
    assert!(!blind.card().capabilities.images);
    assert!(observe(&blind, vec![ask("the cat", None)])[0].is_ok());
}

/// The same on a GPU.
#[cfg(feature = "cuda")]
#[test]
fn both_towers_compute_the_same_on_a_gpu() {
    use mary_testkit::{Lacking, skip};
    for name in ["clip", "siglip"] {
        match compare(name, &golden(name), Some("cuda:0")) {
            Err(e) if e.kind == ErrorKind::BadRequest => return skip(Lacking::Gpu, &e.to_string()),
            Err(e) => panic!("{e}"),
            Ok(wrong) => assert!(wrong.is_empty(), "\n{}", wrong.join("\n")),
        }
    }
}
