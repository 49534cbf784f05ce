//! Real weights against Hugging Face transformers on the same numbers: 200 sentences of our own.
//! Looks for the folder in `MARY_TEST_MODELS` (see `tools/make_test_models.py`).

use mary_testkit::Lacking;
use mary_testkit::lacking::test_model;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Instant;

use mary_contract::{
    Job, Layers, Model, ModelError, ModelSettings, Observe, Observed, Pool, Prompt, Reply, Score,
    Scored, Start, Ticket, Vector, WorkQueue,
};
use mary_local::LocalModel;
use mary_weights::Checkpoint;

struct List<Q, A>(VecDeque<Job<Q>>, Vec<(u64, A)>);

impl<Q, A> List<Q, A> {
    fn new(requests: Vec<Q>) -> Self {
        let jobs = requests.into_iter().zip(0..);
        Self(
            jobs.map(|(request, i)| Job {
                ticket: Ticket(i),
                request,
            })
            .collect(),
            vec![],
        )
    }
}

impl<Q, A> WorkQueue<Q, A> for List<Q, A> {
    fn next(&mut self) -> Option<Job<Q>> {
        self.0.pop_front()
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Reply<A>, ModelError>) -> ControlFlow<()> {
        self.1.push((ticket.0, answer.unwrap().answer));
        ControlFlow::Continue(())
    }
}

pub fn model(name: &str, what: Lacking) -> Option<LocalModel> {
    let path = test_model(name, what)?;
    let begin = Instant::now();
    let checkpoint = Checkpoint::open(&path).unwrap();
    let reference = format!("hf/{name}").parse().unwrap();
    let model = LocalModel::from_checkpoint(reference, checkpoint, &ModelSettings::default());
    eprintln!("{name}: open after {:.2} s", begin.elapsed().as_secs_f64());
    Some(model.unwrap())
}

fn golden() -> serde_json::Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden_real.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Largest and mean difference to the reference, in nats per token.
fn differences(model: &LocalModel) -> (f64, f64) {
    let golden = golden();
    let sentences: Vec<String> = serde_json::from_value(golden["sentences"].clone()).unwrap();
    let want: Vec<Vec<f64>> = serde_json::from_value(golden["smollm2"].clone()).unwrap();
    let ask = |s: &String| Score {
        prefix: Prompt::plain(""),
        continuations: vec![s.clone()],
        start: Start::Never,
        details: Default::default(),
    };
    let mut queue: List<Score, Scored> = List::new(sentences.iter().map(ask).collect());
    model.scorer().unwrap().score(&mut queue);
    let (mut worst, mut sum, mut count) = (0.0f64, 0.0, 0.0);
    assert_eq!(queue.1.len(), 200);
    for (i, scored) in queue.1 {
        let got = &scored.continuations[0].logprobs;
        let want = &want[i as usize];
        assert_eq!(got.len(), want.len(), "{}", sentences[i as usize]);
        for (a, b) in got.iter().zip(want) {
            let difference = (f64::from(*a) - b).abs();
            worst = worst.max(difference);
            sum += difference;
            count += 1.0;
        }
    }
    (worst, sum / count)
}

#[test]
fn a_real_safetensors_model_agrees_to_a_thousandth_of_a_nat() {
    let Some(model) = model("smollm2-135m-hf", Lacking::Extras) else {
        return;
    };
    let (worst, mean) = differences(&model);
    eprintln!("safetensors f32: largest {worst:.1e}, mean {mean:.1e} nats per token");
    assert!(worst <= 1e-3, "{worst:e}");
}

#[test]
fn a_real_gguf_file_agrees_with_its_dequantised_self() {
    let Some(model) = model("smollm2-135m.gguf", Lacking::Models) else {
        return;
    };
    let (worst, mean) = differences(&model);
    eprintln!("GGUF Q4_1: largest {worst:.1e}, mean {mean:.1e} nats per token");
    // Weights are unpacked exactly and activations stay in 32 bits, so the bound is that of f32.
    assert!(worst <= 1e-3, "{worst:e}");
}

#[test]
fn a_real_encoder_shows_the_same_states_in_every_layer() {
    let Some(model) = model("minilm", Lacking::Models) else {
        return;
    };
    let golden = golden();
    let want: Vec<Vector> = serde_json::from_value(golden["minilm_mean"].clone()).unwrap();
    let text = golden["sentences"][0].as_str().unwrap().to_owned();
    let request = Observe {
        picture: None,
        text,
        pools: vec![Pool::Mean],
        layers: Layers::All,
        with_scores: false,
    };
    let mut queue: List<Observe, Observed> = List::new(vec![request]);
    model.observer().unwrap().observe(&mut queue);
    let layers = &queue.1[0].1.pools[0].layers;
    assert_eq!(layers.len(), want.len());
    for (got, want) in layers.iter().zip(&want) {
        for (a, b) in got.vector.0.iter().zip(&want.0) {
            assert!(
                (a - b).abs() <= 1e-4 * (1.0 + b.abs()),
                "layer {}: {a} {b}",
                got.layer
            );
        }
    }
}

#[test]
fn a_plain_text_of_a_chat_model_begins_with_end_of_text_and_not_with_a_role() {
    let Some(model) = model("smollm2-135m.gguf", Lacking::Models) else {
        return;
    };
    let starts = model.card().starts.clone().unwrap();
    assert_eq!(starts.shown(&Start::Model), "nothing");
    assert_eq!(starts.shown(&Start::Text), "<|endoftext|> (id 0)");
    assert_eq!(
        starts.shown(&Start::Always),
        "<|im_start|> (id 1, a chat role)"
    );
    let key = |start: Start| {
        let ask = Score {
            prefix: Prompt::plain("The"),
            continuations: vec![" key".into()],
            start,
            details: Default::default(),
        };
        let mut queue: List<Score, Scored> = List::new(vec![ask]);
        model.scorer().unwrap().score(&mut queue);
        -queue.1[0].1.continuations[0].sum() / std::f64::consts::LN_2
    };
    let (auto, harness, none) = (key(Start::Text), key(Start::Always), key(Start::Never));
    // After the marker of a role " key" is thirteen bits less probable than at the beginning of a text.
    assert!((harness - 19.7).abs() < 0.1, "{harness}");
    assert!((none - 10.6).abs() < 0.1, "{none}");
    assert!((auto - 6.5).abs() < 0.1, "{auto}");
    let named = key(Start::Token("<|endoftext|>".into()));
    assert_eq!(named, auto);
}
