//! A model that sees: its gradients beside PyTorch's on a tiny LLaVA, in 64 bits there, its growth, stopped
//! and resumed, and what the laboratory's reader computes with it. The golden file is made by
//! `tools/golden_gradients.py`; weights and pictures are made here and there from their names.

use crate::numbers::numbers;
use mary_contract::{Image, Model, ModelSettings, Part, Prompt};
use mary_generators::{Packing, Picture};
use mary_local::LocalModel;
use mary_local::transformer::Batch;
use mary_train::corpus::scenes::exam;
use mary_train::net::{
    Packed, Segment, VisionLanguageNet, VisionLanguageWorkspace, VisionPack, patches,
};
use mary_train::{GrowEvent, IMAGE, VisionSettings, VisionSize, grow_vision};
use mary_weights::Checkpoint;
use safetensors::SafeTensors;
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Largest error of a gradient, of the largest number in its tensor.
const TOLERANCE: f32 = 1e-5;

fn golden() -> (Vec<u8>, Value) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/gradients/llava.safetensors");
    let bytes = std::fs::read(path).expect("the golden file");
    let (_, header) = SafeTensors::read_metadata(&bytes).expect("a header");
    let text = header.metadata().as_ref().expect("metadata")["golden"].clone();
    (bytes, serde_json::from_str(&text).expect("settings"))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

/// Both texts packed into one sequence, each with its picture.
fn sight(tensors: &SafeTensors<'_>, config: &Value, net: &VisionLanguageNet) -> VisionPack {
    let view = tensors.tensor("tokens").expect("tokens");
    let words = view.data().chunks_exact(4);
    let tokens: Vec<u32> = words
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let image = config["image_token_index"].as_u64().expect("a token") as u32;
    let mut all = Packed::default();
    for text in tokens.chunks(view.shape()[1]).map(Packed::from_window) {
        all.segments.push(Segment {
            start: all.tokens.len(),
            length: text.tokens.len(),
        });
        all.tokens.extend(text.tokens);
        all.targets.extend(text.targets);
    }
    let shown = |i: &usize| all.tokens[*i] == image;
    VisionPack {
        places: (0..all.tokens.len()).filter(shown).collect(),
        patches: golden_patches(net.encoder.image, net.encoder.patch),
        packed: all,
    }
}

/// The patches of the two pictures, written out as a convolution reads them.
fn golden_patches(image: usize, patch: usize) -> Vec<f32> {
    let planes = numbers("pictures", &[2, 3, image, image], false);
    let side = image / patch;
    let mut out = Vec::new();
    for picture in 0..2 {
        for place in 0..side * side {
            for colour in 0..3 {
                for y in 0..patch {
                    for x in 0..patch {
                        let (row, column) = (place / side * patch + y, place % side * patch + x);
                        let at = ((picture * 3 + colour) * image + row) * image + column;
                        out.push(planes[at] * 4.0);
                    }
                }
            }
        }
    }
    out
}

#[test]
fn a_model_that_sees_has_the_gradients_that_pytorch_has() {
    let (bytes, settings) = golden();
    let tensors = SafeTensors::deserialize(&bytes).expect("tensors");
    let net = VisionLanguageNet::open(&settings["config"]).expect("a net");
    let sight = sight(&tensors, &settings["config"], &net);
    assert_eq!(sight.places.len(), 2 * net.encoder.rows());
    let base: Vec<f32> = net
        .entries
        .iter()
        .flat_map(|e| numbers(&e.name, &e.dims, false))
        .collect();
    let (mut turned, mut ws) = (Vec::new(), VisionLanguageWorkspace::default());
    net.transposed(&base, &mut turned);
    let mut gradient = vec![0.0; net.total];
    let weight = sight.packed.weight();
    let scale = (1.0 / weight) as f32;
    let loss = net
        .loss_and_gradient((&base, &turned), &sight, scale, &mut gradient, &mut ws)
        .expect("runs");
    let want = settings["loss"].as_f64().expect("a loss");
    let off = (loss / weight - want).abs() / want;
    assert!(off < 1e-6, "the loss is off by {off:.1e}");
    let largest = |values: &[f32]| values.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    let of = |name: &str| tensors.tensor(name).ok().map(|view| floats(view.data()));
    let most = net.entries.iter().filter_map(|e| of(&e.name));
    let most = most.map(|values| largest(&values)).fold(0.0, f32::max);
    let mut compared = 0;
    for entry in &net.entries {
        let got = &gradient[entry.place.clone()];
        let Some(want) = of(&entry.name) else {
            assert!(entry.name.contains("post_layernorm"), "{}", entry.name);
            assert_eq!(largest(got), 0.0, "{} is not learned", entry.name);
            continue;
        };
        // The bias of keys has a gradient of zero: what is there is rounding, of the whole gradient's size.
        let size = largest(&want);
        let size = if size < 1e-6 * most { most } else { size };
        let pairs = got.iter().zip(&want);
        let off = pairs.fold(0.0f32, |m, (a, b)| m.max((a - b).abs())) / size;
        assert!(off <= TOLERANCE, "{} is off by {off:.1e}", entry.name);
        compared += 1;
    }
    assert_eq!(
        compared + 1,
        tensors.names().len(),
        "every tensor is learned"
    );
}

/// A model so small that it is grown in a second.
fn tiny(out: &Path) -> VisionSettings {
    let size = VisionSize {
        image: 24,
        patch: 8,
        width: 32,
        tower_layers: 1,
        layers: 1,
        heads: 2,
        context: 192,
        vocabulary: 320,
    };
    let mut settings = VisionSettings::new(out.to_owned(), size, 20);
    settings.course.batch = 6;
    settings.course.slots = 3;
    settings.course.threads = 1;
    settings.course.save_every = 4;
    settings.course.probe = false;
    settings
}

fn run(settings: &VisionSettings, stop_at: Option<u64>) -> Vec<f64> {
    let mut on_event = |event: GrowEvent| match event {
        GrowEvent::Step { step, .. } if Some(step) == stop_at => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    grow_vision(settings, &mut on_event).expect("grows").losses
}

fn file(out: &Path, name: &str) -> Vec<u8> {
    std::fs::read(out.join(name)).expect(name)
}

#[test]
fn a_stopped_growth_of_eyes_goes_on_bit_for_bit_on_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let losses = run(&tiny(&whole), None);
    assert_eq!(losses.len(), 20);
    // Lists of shapes are long and new in each picture: single steps scatter.
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    assert!(
        mean(&losses[15..]) < mean(&losses[..5]) - 0.4,
        "the loss falls: {losses:?}"
    );
    let mut pieces = run(&tiny(&parts), Some(5));
    let mut threaded = tiny(&parts);
    threaded.course.threads = 3;
    pieces.extend(run(&threaded, Some(14)));
    pieces.extend(run(&tiny(&parts), None));
    assert_eq!(pieces, losses);
    for name in [
        "losses.jsonl",
        "step16/model.safetensors",
        "step20/model.safetensors",
    ] {
        assert_eq!(file(&whole, name), file(&parts, name), "{name}");
    }
    let mut other = tiny(&parts);
    other.course.seed = 2;
    let error = grow_vision(&other, &mut |_| ControlFlow::Continue(()));
    let error = error.expect_err("another recipe").to_string();
    assert!(error.contains("another recipe"), "{error}");
}

/// A killed process saves nothing at its end: what it resumes from is the last saved state, and the steps
/// behind it are done again.
#[test]
fn a_killed_growth_of_eyes_repeats_what_was_not_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let losses = run(&tiny(&whole), None);
    run(&tiny(&killed), Some(8));
    let saved = file(&killed, "state.safetensors");
    run(&tiny(&killed), Some(11));
    std::fs::write(killed.join("state.safetensors"), saved).expect("the state at step 8");
    let rest = run(&tiny(&killed), None);
    assert_eq!(rest, losses[8..]);
    for name in ["losses.jsonl", "step20/model.safetensors"] {
        assert_eq!(file(&whole, name), file(&killed, name), "{name}");
    }
}

/// The numbers of a checkpoint in the order of the net.
fn weights(folder: &Path, net: &VisionLanguageNet) -> Vec<f32> {
    let bytes = file(folder, "model.safetensors");
    let tensors = SafeTensors::deserialize(&bytes).expect("tensors");
    assert_eq!(tensors.names().len(), net.entries.len());
    let of = |name: &str| floats(tensors.tensor(name).expect(name).data());
    net.entries.iter().flat_map(|e| of(&e.name)).collect()
}

/// The same question of the same picture: here by what was trained, there by the laboratory's reader.
#[test]
fn the_reader_opens_what_was_grown_and_computes_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = tiny(folder.path());
    run(&settings, None);
    let step = folder.path().join("step20");
    let config: Value = serde_json::from_slice(&file(&step, "config.json")).expect("json");
    let net = VisionLanguageNet::open(&config).expect("a net");
    let base = weights(&step, &net);
    let mut turned = Vec::new();
    net.transposed(&base, &mut turned);
    let checkpoint = Checkpoint::open(&step).expect("a checkpoint");
    let reference = "hf/grown".parse().expect("a name");
    let model = LocalModel::from_checkpoint(reference, checkpoint, &ModelSettings::default());
    let model = model.expect("the reader opens it");
    assert!(model.card().capabilities.images, "it sees");
    let tokenizer = mary_train::tokenizer::load(&step.join("tokenizer.json")).expect("read");
    let image = tokenizer.token_to_id(IMAGE).expect("a token");
    for posed in exam(3, 5).iter().step_by(7) {
        let rgb = posed.scene.rgb(24);
        let text = format!("{} {}", posed.question.prompt(), posed.question.right());
        // Trained: the picture's patches in the places of its tokens.
        let mut tokens = vec![image; net.encoder.rows()];
        tokens.extend(mary_train::tokenizer::encode(&tokenizer, &text).expect("encodes"));
        let mut sight = VisionPack {
            places: (0..net.encoder.rows()).collect(),
            ..VisionPack::default()
        };
        patches(&rgb, 24, 8, &mut sight.patches);
        sight.packed.tokens = tokens.clone();
        sight.packed.targets = vec![(0, 0.0); tokens.len()];
        sight.packed.segments = vec![Segment {
            start: 0,
            length: tokens.len(),
        }];
        let mut ws = VisionLanguageWorkspace::default();
        let ours = net.logits((&base, &turned), &sight, &mut ws).expect("runs");
        // Read: a PNG and a text.
        let picture = Picture::from_fn(24, 24, |x, y| {
            let at = (y as usize * 24 + x as usize) * 3;
            [rgb[at], rgb[at + 1], rgb[at + 2]]
        });
        let image = Image {
            media_type: "image/png".into(),
            data: picture.png(Packing::Flat).expect("a PNG"),
        };
        let mut prompt = Prompt::plain(text);
        prompt.turns[0].parts.insert(0, Part::Image(image));
        let (read, shown) = model.read(&prompt).expect("read");
        assert_eq!(read.len(), tokens.len());
        assert_eq!(read[net.encoder.rows()..], tokens[net.encoder.rows()..]);
        let mut session = model.session(read.len()).expect("a session");
        session.show(shown.clone());
        let mut batch = Batch::default();
        batch.push(&read, &[], 0);
        if shown.turns() {
            batch.turns = shown.places(&read).iter().map(|p| p.at).collect();
        }
        session.forward(&batch, None).expect("runs");
        let rows: Vec<usize> = (0..read.len()).collect();
        let theirs = session.logits(&rows).expect("logits");
        assert_eq!(ours.len(), theirs.len());
        let largest = ours.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        let pairs = ours.iter().zip(&theirs);
        let off = pairs.fold(0.0f32, |m, (a, b)| m.max((a - b).abs())) / largest;
        assert!(off < 1e-5, "{}: off by {off:.1e}", posed.question.text);
    }
}
