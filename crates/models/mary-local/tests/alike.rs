//! A score is a matter of the text and the model alone, to the last bit: not of what else is asked, of the
//! place in the batch, of a shared beginning, of the size of a batch or of the number of threads. On this
//! rests that the shards of a run, joined, are the run of one process.

use mary_contract::{
    Details, Generate, Layers, Model, ModelSettings, Observe, Pool, Prompt, Sampling, Score, Scored,
};
use mary_local::LocalModel;
use mary_local::transformer::Batch;
use mary_testkit::Lacking;
use mary_testkit::lacking::test_model;
use mary_weights::Checkpoint;

use crate::parity::FAMILIES;
use crate::serving::{TestQueue, open_on, requests, score, serve};

/// Families whose layers carry a state: their blocks are not fetched.
pub const CARRYING: [&str; 13] = [
    "mamba",
    "falcon_mamba",
    "mamba2",
    "bamba",
    "granitemoehybrid",
    "qwen3_next",
    "qwen3_5",
    "qwen3_5_moe",
    "lfm2",
    // Their streams are averages over all blocks before.
    "gpt_bert_ltg",
    "gpt_bert_babylm",
    // An encoder reads what they answer.
    "../golden_pairs/t5",
    "../golden_pairs/umt5",
];

fn bits(all: &[Scored]) -> Vec<Vec<u32>> {
    all.iter()
        .flat_map(|s| &s.continuations)
        .map(|c| c.logprobs.iter().map(|x| x.to_bits()).collect())
        .collect()
}

/// Requests around `probe`, which stands at place `at` of them.
fn among(probe: &Score, others: &[Score], at: usize) -> Vec<Score> {
    let mut all = others.to_vec();
    all.insert(at, probe.clone());
    all
}

/// A text of each kind: short, long enough for several blocks of keys, behind a long prefix, many
/// continuations of one beginning.
fn probes() -> Vec<Score> {
    let words = ["cat", "dog", "river", "stone", "light", "bird"];
    let long: String = (0..50)
        .map(|i| format!("the {} ", words[i * i % 6]))
        .collect();
    vec![
        score("", &["the cat"]),
        score("", &[long.trim_end()]),
        score(&long, &["runs"]),
        score(
            "the old cat sleeps near the river",
            &[" and", " and the dog runs", " red"],
        ),
    ]
}

fn check(name: &str, models: &[(String, LocalModel)], probes: &[Score], others: &[Score]) {
    for (i, probe) in probes.iter().enumerate() {
        let mut wanted = None;
        for (how, model) in models {
            let mut asked = vec![vec![probe.clone()]];
            // At the beginning and at the end of many; alone with one other; beside itself.
            for at in [0, others.len()] {
                asked.push(among(probe, others, at));
            }
            asked.push(among(probe, &others[..1], 1));
            asked.push(vec![probe.clone(), probe.clone()]);
            for (j, requests) in asked.into_iter().enumerate() {
                let at = requests.iter().position(|r| r == probe).unwrap();
                let first: usize = requests[..at].iter().map(|r| r.continuations.len()).sum();
                let all = bits(&serve(model, requests));
                let found = all[first..first + probe.continuations.len()].to_vec();
                let wanted = wanted.get_or_insert_with(|| found.clone());
                assert!(
                    *wanted == found,
                    "{name}: text {i}, company {j}, {how}: {wanted:x?} and {found:x?}"
                );
            }
        }
    }
}

/// Threads, rows of a batch where limited, and settings of the model.
type Way<'a> = (usize, Option<usize>, &'a [(&'a str, &'a str)]);

#[test]
fn a_score_is_that_of_the_text_alone_to_the_last_bit() {
    let families = [
        "llama",
        "gpt_neox",
        "mistral",
        "gemma2",
        "falcon_rw",
        "qwen3",
        "cohere_heads",
        "mamba",
        "mamba2",
        "bamba",
        "qwen3_next",
        "lfm2",
        "gpt_oss",
        "deepseek_v3",
        "gpt_bert_ltg",
        "../golden_pairs/t5",
        "../golden_pairs/umt5",
    ];
    for name in families {
        // Tiles and vectors differ, as two processors do: each is held to itself.
        for multiplier in ["auto", "vectors"] {
            let mut models = vec![];
            let ways: [Way<'_>; 7] = [
                (1, None, &[]),
                (2, None, &[]),
                (2, Some(3), &[]),
                (1, None, &[("trie", "off")]),
                (2, None, &[("rows", "5")]),
                // Blocks that are fetched, all or but one, with the tree in one batch or in many.
                (2, None, &[("held", "0")]),
                (1, None, &[("held", "1"), ("rows", "5")]),
            ];
            for (threads, batch, args) in ways {
                if CARRYING.contains(&name) && args.iter().any(|(key, _)| *key == "held") {
                    continue;
                }
                let mut args = args.to_vec();
                args.push(("matmul", multiplier));
                let how = format!("{threads} threads, {args:?}, batch {batch:?}");
                models.push((how, open_on(threads, name, batch, &args)));
            }
            check(name, &models, &probes(), &requests());
        }
    }
}

#[test]
fn who_asks_for_no_distribution_does_not_notice_that_others_do() {
    let model = open_on(2, "llama", None, &[]);
    let probe = score("", &["the old cat sleeps near the river"]);
    let mut other = score("", &["the old cat sleeps"]);
    other.details = Details {
        entropy: true,
        rank: true,
        ..Details::default()
    };
    let alone = bits(&serve(&model, vec![probe.clone()]));
    let among = bits(&serve(&model, vec![other, probe]));
    assert_eq!(alone, among[1..]);
}

#[test]
fn a_hidden_state_is_that_of_the_text_alone_to_the_last_bit() {
    for name in [
        "llama",
        "bert",
        "gpt_neox",
        "mamba",
        "mamba2",
        "bamba",
        "qwen3_5",
        "gpt_bert_ltg",
        "../golden_pairs/t5",
    ] {
        let ask = |text: &str| Observe {
            picture: None,
            text: text.to_owned(),
            pools: vec![Pool::Mean, Pool::Last],
            layers: Layers::All,
            with_scores: name != "bert",
        };
        let observe = |threads: usize, texts: &[&str]| {
            let model = open_on(threads, name, None, &[]);
            let mut queue = TestQueue::new(texts.iter().map(|t| ask(t)).collect());
            model.observer().unwrap().observe(&mut queue);
            let answers = queue.answers().into_iter().map(Result::unwrap);
            answers
                .map(|a| {
                    let vectors = a.pools.iter().flat_map(|p| &p.layers);
                    vectors
                        .flat_map(|l| l.vector.0.iter().map(|x| x.to_bits()))
                        .collect()
                })
                .collect::<Vec<Vec<u32>>>()
        };
        let (text, long) = (
            "the old cat",
            "the young dog runs over the stone ".repeat(3),
        );
        let alone = observe(1, &[text]);
        for threads in [1, 2] {
            for company in [
                &[text][..],
                &[text, &long],
                &[&long, text],
                &["a", &long, text],
            ] {
                let at = company.iter().position(|t| *t == text).unwrap();
                assert!(
                    observe(threads, company)[at] == alone[0],
                    "{name}: {threads} threads, {company:?}"
                );
            }
        }
    }
}

/// Quantised weights have two ways of being multiplied, so they are tried on a real file.
#[test]
fn a_score_of_quantised_weights_is_that_of_the_text_alone() {
    let Some(path) = test_model("smollm2-135m.gguf", Lacking::Models) else {
        return;
    };
    let open = |threads: usize| {
        let settings = ModelSettings {
            threads: Some(threads),
            ..ModelSettings::default()
        };
        let checkpoint = Checkpoint::open(&path).unwrap();
        let reference = "hf/smollm2".parse().unwrap();
        LocalModel::from_checkpoint(reference, checkpoint, &settings).unwrap()
    };
    let models = [
        ("one thread".to_owned(), open(1)),
        ("two threads".to_owned(), open(2)),
    ];
    let probes = [
        score("", &["The cat"]),
        score(
            "The old cat sleeps near the river",
            &[" and", " and the dog runs"],
        ),
    ];
    check("smollm2", &models, &probes, &requests()[..5]);
}

/// Prompts whose answers end at different times, so that the number of rows changes while one is written.
#[test]
fn an_answer_is_that_of_the_prompt_alone() {
    let families = "llama mamba bamba qwen3_5_moe lfm2 ../golden_pairs/t5_gated".split(' ');
    let both = |name| ["auto", "vectors"].map(|multiplier| (name, multiplier));
    for (name, multiplier) in families.flat_map(both) {
        let model = |batch| open_on(2, name, Some(batch), &[("matmul", multiplier)]);
        let prompts: Vec<Generate> = (0..14)
            .map(|i| Generate {
                prompt: Prompt::plain(format!("the old {} sleeps", ["cat", "dog"][i % 2])),
                sampling: Sampling {
                    temperature: 0.9,
                    max_tokens: 3 + i as u32,
                    seed: Some(i as u64),
                    ..Sampling::greedy(8)
                },
            })
            .collect();
        let write = |batch| {
            let mut queue = TestQueue::new(prompts.clone());
            model(batch).generator().unwrap().generate(&mut queue);
            let answers = queue.answers().into_iter().map(Result::unwrap);
            answers.map(|a| a.text).collect::<Vec<_>>()
        };
        let alone = write(1);
        assert_eq!(alone, write(14));
        assert_eq!(alone, write(5));
    }
}

/// A model whose blocks have no room answers as one that holds them, whatever is asked of it.
#[test]
fn blocks_that_are_fetched_give_the_same_bits_in_every_family() {
    for name in FAMILIES.iter().filter(|name| !CARRYING.contains(name)) {
        let ask = |held: &[(&str, &str)]| answers(&open_on(2, name, None, held));
        let whole = ask(&[]);
        assert!(!whole.is_empty());
        assert_eq!(whole, ask(&[("held", "0"), ("rows", "7")]), "{name}");
        assert_eq!(whole, ask(&[("held", "1")]), "{name}");
    }
}

/// What a model says of scores, states and answers, to the last bit.
pub fn answers(model: &LocalModel) -> Vec<String> {
    let mut seen: Vec<String> = vec![];
    if model.card().capabilities.score {
        seen.push(format!("{:x?}", bits(&serve(model, requests()))));
    }
    if let Some(observer) = model.observer() {
        let mut queue = TestQueue::new(vec![Observe {
            picture: None,
            text: "the young dog runs over the stone".to_owned(),
            pools: vec![Pool::Mean],
            layers: Layers::All,
            with_scores: false,
        }]);
        observer.observe(&mut queue);
        seen.push(format!("{:?}", queue.answers()));
    }
    if let Some(generator) = model.generator() {
        let mut queue = TestQueue::new(vec![Generate {
            prompt: Prompt::plain("the old cat"),
            sampling: Sampling::greedy(4),
        }]);
        generator.generate(&mut queue);
        let answer = queue.answers().pop().unwrap().map(|a| a.text);
        seen.push(format!("{answer:?}"));
    }
    seen
}

/// What such models cannot do is refused by name before weights are read, and a step of writing is one of reading.
#[test]
fn a_model_that_carries_a_state_says_what_it_cannot_do() {
    for name in &CARRYING[..5] {
        let settings = |key: &str, value: &str| ModelSettings {
            args: [(key.to_owned(), value.to_owned())].into(),
            ..ModelSettings::default()
        };
        let open = |settings: &ModelSettings| {
            let checkpoint = Checkpoint::open(&crate::parity::golden(name)).unwrap();
            LocalModel::from_checkpoint("hf/carrying".parse().unwrap(), checkpoint, settings)
        };
        let error = open(&settings("held", "1")).err().expect("refused");
        assert!(error.message.contains("carry a state"), "{error}");
        let model = open(&settings("trie", "on")).unwrap();
        assert!(!model.card().capabilities.intervene && model.intervener().is_none());
        // From the state of its beginning, a text goes on as if it had been read at once.
        let ids: Vec<u32> = (3..15).chain([4, 9, 9]).collect();
        let last = |parts: &[usize], writing: bool| {
            let mut session = model.session(ids.len()).unwrap();
            let mut first = 0;
            for &end in parts {
                let mut batch = Batch {
                    writing: writing && end - first == 1,
                    ..Batch::default()
                };
                let past: &[(usize, usize)] = if first == 0 { &[] } else { &[(0, first)] };
                batch.push(&ids[first..end], past, first);
                batch.needed = vec![end - 1];
                session.forward(&batch, None).unwrap();
                first = end;
            }
            let rows = parts[parts.len() - 1] - parts.iter().rev().nth(1).copied().unwrap_or(0);
            session.logits(&[rows - 1]).unwrap()
        };
        let whole = last(&[ids.len()], false);
        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(
            bits(&whole),
            bits(&last(&[1, 6, 7, ids.len()], false)),
            "{name}"
        );
        let one_by_one: Vec<usize> = (1..=ids.len()).collect();
        let written = last(&one_by_one, true);
        assert!(crate::parity::relative(&written, &whole) < 1e-5, "{name}");
        // A state that was not asked for is not there, and says so.
        let mut session = model.session(ids.len()).unwrap();
        let mut batch = Batch::default();
        batch.push(&ids[..5], &[], 0);
        session.forward(&batch, None).unwrap();
        batch = Batch::default();
        batch.push(&ids[5..], &[(0, 5)], 5);
        session.forward(&batch, None).unwrap();
        assert!(session.logits(&[0]).unwrap().iter().any(|x| x.is_nan()));
    }
}

/// GPT-BERT predicts a masked token from the place before it, as its makers do.
#[test]
fn a_masked_token_of_gpt_bert_is_read_one_place_before() {
    let path = crate::parity::golden("gpt_bert_babylm");
    let text = std::fs::read_to_string(path.join("golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    let wanted: Vec<f32> = serde_json::from_value(golden["masked"].clone()).unwrap();
    let model = open_on(2, "gpt_bert_babylm", None, &[("masked", "original")]);
    let whole = "the old cat sleeps under the red stone and the young bird that sings is not near";
    let scored = serve(&model, vec![score("", &[whole])]);
    let found = &scored[0].continuations[0].logprobs;
    assert!(
        crate::parity::relative(found, &wanted) < 1e-5,
        "{found:?} {wanted:?}"
    );
}
