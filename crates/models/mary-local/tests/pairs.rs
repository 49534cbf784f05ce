//! Encoder-decoders against Hugging Face transformers: the encoder's states, what the decoder makes of a target given
//! its source, what it writes. The golden files come from `tools/golden_pairs.py`.

use std::path::PathBuf;
use std::sync::Arc;

use mary_contract::{
    Details, ErrorKind, Generate, Layers, Model, ModelSettings, Observe, Pool, Prompt, Sampling,
    Score, Tokens, Vector,
};
use mary_local::LocalModel;
use mary_local::transformer::Batch;
use mary_weights::Checkpoint;
use serde_json::Value;

use crate::parity::{log_probs, relative};
use crate::serving::{TestQueue, open, score, serve};

const TEXT: &str =
    "the old cat sleeps under the red stone and the young bird that sings is not near";
const ANSWER: &str = "the bird sleeps near the stone and sings";

fn folder(name: &str) -> PathBuf {
    crate::parity::golden("../golden_pairs").join(name)
}

fn golden(name: &str) -> Value {
    let text = std::fs::read_to_string(folder(name).join("golden.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn pair(name: &str, args: &[(&str, &str)]) -> LocalModel {
    open(&format!("../golden_pairs/{name}"), None, args)
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

fn vector(value: &Value) -> Vector {
    serde_json::from_value(value.clone()).unwrap()
}

fn states(model: &LocalModel, tokens: usize) -> Vec<Vec<f32>> {
    let mut queue = TestQueue::new(vec![Observe {
        picture: None,
        text: TEXT.to_owned(),
        pools: (0..tokens).map(Pool::Token).collect(),
        layers: Layers::All,
        with_scores: true,
    }]);
    model.observer().unwrap().observe(&mut queue);
    let answer = queue.answers().pop().unwrap().unwrap();
    assert!(answer.scores.is_none(), "an encoder predicts nothing");
    let layers = answer.pools[0].layers.len();
    let layer = |at: usize| {
        let rows = answer
            .pools
            .iter()
            .flat_map(|p| p.layers[at].vector.0.clone());
        rows.collect()
    };
    (0..layers).map(layer).collect()
}

/// Logits of the golden target given its source, and how far they are from transformers'.
pub fn predicted(name: &str, model: &LocalModel) -> (Vec<f32>, f64) {
    let golden = golden(name);
    let mut target = ids(&golden["target"]);
    let (start, shown) = model.read(&Prompt::plain(TEXT)).unwrap();
    target[0] = start[0];
    let mut batch = Batch::default();
    batch.push(&target, &[], 0);
    let mut session = model.session(target.len()).unwrap();
    session.show(Arc::clone(&shown));
    session.forward(&batch, None).unwrap();
    let rows: Vec<usize> = (0..target.len()).collect();
    let found = session.logits(&rows).unwrap();
    let error = relative(&found, &vector(&golden["logits"]).0);
    (found, error)
}

/// What the model writes, and what transformers wrote.
pub fn written(name: &str, model: &LocalModel) -> [String; 2] {
    let wanted = ids(&golden(name)["written"]);
    [
        write(model, &[TEXT]).remove(0),
        model.decode(&wanted).unwrap(),
    ]
}

#[test]
fn encoder_and_decoder_compute_what_transformers_computes() {
    for name in ["t5", "t5_gated", "mt5", "umt5", "t5_encoder"] {
        for matmul in ["auto", "vectors"] {
            let (golden, model) = (golden(name), pair(name, &[("matmul", matmul)]));
            let source = ids(&golden["source"]);
            let hidden = golden["hidden"].as_array().unwrap();
            let hidden: Vec<Vector> = hidden.iter().map(vector).collect();
            // The last token is the end that the tokenizer adds, which no pool holds.
            let found = states(&model, source.len() - 1);
            assert_eq!(found.len(), hidden.len(), "{name}");
            assert_eq!(model.card().layers, Some(hidden.len() - 1), "{name}");
            for (layer, (found, wanted)) in found.iter().zip(&hidden).enumerate() {
                let error = relative(found, &wanted.0[..found.len()]);
                assert!(error < 1e-4, "{name}, {matmul}, layer {layer}: {error:.2e}");
            }
            if name == "t5_encoder" {
                assert!(model.scorer().is_none() && model.generator().is_none());
                continue;
            }
            let (answer, logits) = (ids(&golden["target"]), vector(&golden["logits"]));
            let (found, error) = predicted(name, &model);
            assert!(error < 1e-4, "{name}, {matmul}: {error:.2e}");
            assert!(log_probs(&found, &logits.0, &answer) < 1e-4, "{name}");
            // What is scored through the queue, as text and as ids, are the same numbers.
            let as_text = serve(&model, vec![score(TEXT, &[ANSWER])]);
            let spell = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            let mut as_ids = score(&spell(&source), &[&spell(&answer[1..])]);
            as_ids.details.as_ids = true;
            let as_ids = serve(&model, vec![as_ids]);
            let got = &as_text[0].continuations[0].logprobs;
            assert_eq!(*got, as_ids[0].continuations[0].logprobs, "{name}");
            let width = logits.0.len() / answer.len();
            let wanted: Vec<f32> = logits
                .0
                .chunks_exact(width)
                .zip(&answer[1..])
                .map(|(row, &id)| {
                    let most = row.iter().copied().fold(f32::MIN, f32::max);
                    let sum: f32 = row.iter().map(|x| (x - most).exp()).sum();
                    row[id as usize] - most - sum.ln()
                })
                .collect();
            assert!(relative(got, &wanted) < 1e-4, "{name}: {got:?} {wanted:?}");
        }
    }
}

fn write(model: &LocalModel, prompts: &[&str]) -> Vec<String> {
    let requests = prompts.iter().map(|text| Generate {
        prompt: Prompt::plain(*text),
        sampling: Sampling::greedy(12),
    });
    let mut queue = TestQueue::new(requests.collect());
    model.generator().unwrap().generate(&mut queue);
    let answers = queue.answers().into_iter().map(Result::unwrap);
    answers.map(|a| a.text).collect()
}

#[test]
fn answers_are_those_of_transformers_alone_and_in_company() {
    for name in ["t5", "t5_gated", "mt5", "umt5"] {
        let model = pair(name, &[]);
        let wanted = ids(&golden(name)["written"]);
        let wanted = model.decode(&wanted).unwrap();
        assert_eq!(write(&model, &[TEXT]), [wanted.as_str()], "{name}");
        let prompts = ["the cat", TEXT, "a dog runs", TEXT, "", "one two three"];
        let together = write(&model, &prompts);
        assert_eq!((&together[1], &together[3]), (&wanted, &wanted), "{name}");
        for (prompt, answer) in prompts.iter().zip(&together) {
            assert_eq!(write(&model, &[prompt]), [answer.as_str()], "{name}");
        }
    }
}

/// The likeliest token after the start is the one that is written, and its probability the one that is scored.
#[test]
fn the_likeliest_tokens_are_those_of_the_target() {
    let model = pair("t5_gated", &[]);
    let written = ids(&golden("t5_gated")["written"]);
    let mut asked = score(TEXT, &[""]);
    asked.details = Details {
        top: 3,
        ..Details::default()
    };
    let told = serve(&model, vec![asked]);
    let (piece, logprob) = told[0].continuations[0].details.as_ref().unwrap().top[0].clone();
    assert_eq!(piece, model.piece(written[0]));
    let mut first = score(&model.prompt_ids(TEXT), &[&written[0].to_string()]);
    first.details.as_ids = true;
    let scored = serve(&model, vec![first]);
    let found = scored[0].continuations[0].logprobs[0];
    assert!((found - logprob).abs() < 1e-5, "{found} {logprob}");
}

trait Spelled {
    fn prompt_ids(&self, text: &str) -> String;
}

impl Spelled for LocalModel {
    fn prompt_ids(&self, text: &str) -> String {
        let ids = self
            .checkpoint()
            .tokenizer()
            .encode(text, true)
            .unwrap()
            .ids;
        ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn the_source_decides_and_conventions_are_stated() {
    let model = pair("t5", &[]);
    let of =
        |prefix: &str| serve(&model, vec![score(prefix, &[ANSWER])])[0].continuations[0].clone();
    let (bare, cat, dog) = (of(""), of("the cat"), of("the dog"));
    assert_ne!(cat.logprobs, dog.logprobs);
    assert_ne!(cat.logprobs, bare.logprobs);
    assert!(!bare.first_unscored && !bare.boundary_merged);
    assert_eq!(bare.logprobs.len(), 8);
    let card = model.card();
    assert!(
        card.conventions["scoring"].contains("given the prefix"),
        "{card:?}"
    );
    assert!(card.conventions["start"].contains("<pad>"), "{card:?}");
    assert!(!card.capabilities.intervene && model.intervener().is_none());
}

fn refusal(args: &[(&str, &str)]) -> String {
    let settings = ModelSettings {
        args: args
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        ..ModelSettings::default()
    };
    let checkpoint = Checkpoint::open(&folder("t5")).unwrap();
    let model = LocalModel::from_checkpoint("hf/t5".parse().unwrap(), checkpoint, &settings);
    model.err().expect("refused").message
}

#[test]
fn what_it_cannot_do_is_refused_by_name() {
    assert!(refusal(&[("held", "1")]).contains("an encoder beside its decoder"));
    let model = pair("t5", &[]);
    let long = "the ".repeat(8200);
    let mut queue = TestQueue::new(vec![
        score(&long, &["cat"]),
        score("the", &[&long]),
        score("the", &["cat"]),
    ]);
    model.scorer().unwrap().score(&mut queue);
    let answers = queue.answers();
    for (answer, what) in answers
        .iter()
        .zip(["the prefix has 8201", "the continuation has 8200"])
    {
        let error = answer.as_ref().unwrap_err();
        assert_eq!(error.kind, ErrorKind::ContextTooLong);
        assert!(error.message.contains(what), "{error}");
    }
    assert!(answers[2].is_ok());
    let none = Score {
        details: Details {
            as_ids: true,
            ..Details::default()
        },
        ..score("", &["4"])
    };
    let mut queue = TestQueue::new(vec![none]);
    model.scorer().unwrap().score(&mut queue);
    let error = queue.answers().pop().unwrap().unwrap_err();
    assert!(error.message.contains("no token to read"), "{error}");
}

/// A tensor that is not there is named before weights are read.
#[test]
fn a_decoder_without_its_layers_is_refused() {
    let copy = tempfile::tempdir().unwrap();
    for file in ["model.safetensors", "tokenizer.json"] {
        std::fs::copy(folder("umt5").join(file), copy.path().join(file)).unwrap();
    }
    let text = std::fs::read_to_string(folder("umt5").join("config.json")).unwrap();
    for (field, value, said) in [
        ("num_decoder_layers", 4, "decoder.block.3"),
        ("num_layers", 3, "encoder.block.2"),
        ("d_kv", 11, "config.json asks for [44, 32]"),
        ("relative_attention_num_buckets", 10, "[10, 4]"),
    ] {
        let mut config: Value = serde_json::from_str(&text).unwrap();
        config[field] = value.into();
        std::fs::write(copy.path().join("config.json"), config.to_string()).unwrap();
        let checkpoint = Checkpoint::open(copy.path()).unwrap();
        let model = "hf/wrong".parse().unwrap();
        let error = LocalModel::from_checkpoint(model, checkpoint, &ModelSettings::default());
        let error = error.err().expect("refused");
        assert!(error.message.contains(said), "{field}: {error}");
    }
}
