//! Tuning as a user does it: on a model grown here, with adapters saved, loaded and merged.

use mary_train::net::{AdapterLayout, Given, Net, Packed, Parameters, Shape, Workspace};
use mary_train::{GrowSettings, Size, Storage, TuneEvent, TuneSettings, grow, merge, tune};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The adapter that a tuning wrote, from its files in PEFT's layout.
fn adapter(settings: &TuneSettings, net: &Net) -> (AdapterLayout, Vec<f32>) {
    let text = std::fs::read_to_string(settings.out.join("adapter_config.json")).expect("read");
    let config: serde_json::Value = serde_json::from_str(&text).expect("json");
    let rank = config["r"].as_u64().expect("a rank") as usize;
    let alpha = config["lora_alpha"].as_f64().expect("a strength") as f32;
    let targets: Vec<String> =
        serde_json::from_value(config["target_modules"].clone()).expect("targets");
    let table = AdapterLayout::new(&net.layout, rank, alpha, 0.0, &targets).expect("a table");
    let bytes = std::fs::read(settings.out.join("adapter_model.safetensors")).expect("read");
    let tensors = safetensors::SafeTensors::deserialize(&bytes).expect("tensors");
    assert_eq!(tensors.len(), table.tensors().len());
    let mut values = vec![0.0; table.total];
    for (name, dims, place) in table.tensors() {
        let name = format!("base_model.model.{name}");
        let view = tensors.tensor(&name).expect(&name);
        assert_eq!(view.shape(), dims, "{name}");
        for (to, from) in values[place].iter_mut().zip(view.data().chunks_exact(4)) {
            *to = f32::from_le_bytes([from[0], from[1], from[2], from[3]]);
        }
    }
    (table, values)
}

/// A tokenizer made once; growing uses the one it finds in the folder.
pub fn with_tokenizer(out: &Path) {
    static TOKENIZER: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let text = TOKENIZER.get_or_init(|| {
        let corpus = mary_train::corpus::Corpus::new(1);
        let texts = (0..1500).map(move |i| corpus.document(i));
        let tokenizer = mary_train::tokenizer::train(texts, 300).expect("trains");
        mary_train::tokenizer::to_json(&tokenizer).expect("json")
    });
    std::fs::create_dir_all(out).expect("a folder");
    std::fs::write(out.join("tokenizer.json"), text).expect("written");
}

fn grown(folder: &Path) -> PathBuf {
    let size = Size {
        width: 32,
        layers: 2,
        heads: 2,
        context: 64,
        vocabulary: 300,
    };
    let mut settings = GrowSettings::new(folder.join("grown"), size, 200);
    settings.course.batch = 4;
    settings.course.threads = 2;
    settings.course.storage = Storage::F32;
    settings.course.optimizer.rate = 1e-2;
    settings.course.probe = false;
    with_tokenizer(&settings.course.out);
    grow(&settings, &mut |_| ControlFlow::Continue(())).expect("grows");
    folder.join("grown/step200")
}

/// Animals are A, things are B: something a small model can learn.
fn tuning_set(path: &Path) {
    let mut lines = String::new();
    for round in 0..8 {
        for (word, label) in [
            ("dog", "A"),
            ("ball", "B"),
            ("cat", "A"),
            ("cup", "B"),
            ("cow", "A"),
            ("key", "B"),
            ("fox", "A"),
            ("hat", "B"),
        ] {
            let line = serde_json::json!({"messages": [
                {"role": "user", "content": format!("Input: \"{word}\" Label:")},
                {"role": "assistant", "content": label},
            ], "round": round});
            lines.push_str(&format!("{line}\n"));
        }
    }
    std::fs::write(path, lines).expect("written");
}

fn open(path: &Path) -> (Net, Vec<f32>) {
    let checkpoint = mary_weights::Checkpoint::open(path).expect("opens");
    let holds = |name: &str| checkpoint.info(name).is_some();
    let net = Net::open(checkpoint.config(), &holds).expect("a net");
    let base = net
        .layout
        .entries
        .iter()
        .flat_map(|e| checkpoint.read_f32(&e.name).expect("a tensor"))
        .collect();
    (net, base)
}

fn logits(net: &Net, base: &[f32], adapter: Option<(&AdapterLayout, &[f32])>) -> Vec<f32> {
    let packed = Packed::from_window(&[0, 40, 41, 42, 290, 291, 7, 8, 9]);
    let adapter = adapter.map(|(table, values)| (table, values, None));
    let p = Parameters {
        base,
        stored: None,
        transposed: None,
        frozen: None,
        adapter,
    };
    net.logits_given(&p, &packed, Given::default(), &mut Workspace::default())
        .expect("runs")
}

fn settings(folder: &Path, model: &Path) -> TuneSettings {
    let data = folder.join("set.jsonl");
    tuning_set(&data);
    let mut settings = TuneSettings::new(model.to_owned(), data, folder.join("adapter"));
    settings.recipe.targets = ["query_key_value", "dense_h_to_4h", "dense_4h_to_h"]
        .map(str::to_owned)
        .to_vec();
    settings.recipe.epochs = 30;
    settings.recipe.batch = 8;
    settings.recipe.optimizer.rate = 1e-2;
    settings.recipe.held_out = 0.25;
    settings.threads = 2;
    settings
}

#[test]
fn rank_zero_and_zero_weights_leave_logits_unchanged() {
    let net = Net::new(Shape::neox(300, 32, 2, 2, 64)).expect("a net");
    let base: Vec<f32> = (0..net.layout.total)
        .map(|i| (i as f32 * 0.7).sin() * 0.2)
        .collect();
    let plain = logits(&net, &base, None);
    let targets = ["query_key_value".to_owned(), "dense".to_owned()];
    let none = AdapterLayout::new(&net.layout, 0, 8.0, 0.0, &targets).expect("rank 0");
    assert_eq!(none.total, 0);
    assert_eq!(logits(&net, &base, Some((&none, &[]))), plain);
    let some = AdapterLayout::new(&net.layout, 4, 8.0, 0.0, &targets).expect("rank 4");
    assert_eq!(
        logits(&net, &base, Some((&some, &vec![0.0; some.total]))),
        plain
    );
    assert_eq!(
        logits(&net, &base, Some((&some, &some.initial(3)))),
        plain,
        "new adapters change nothing"
    );
}

#[test]
fn tuning_learns_and_the_merged_model_agrees_with_the_adapter() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = grown(folder.path());
    let settings = settings(folder.path(), &model);
    let mut steps = 0;
    let report = tune(&settings, &mut |event| {
        if let TuneEvent::Step { .. } = event {
            steps += 1;
        }
        ControlFlow::Continue(())
    })
    .expect("tunes");
    assert_eq!((steps, report.losses.len()), (6 * 30, 6 * 30));
    assert_eq!((report.before.len(), report.after.len()), (16, 16));
    // What was learned from is asked again, and the learning curve ends with it.
    let exact = report.learned.iter().filter(|s| s.greedy).count();
    assert!(
        exact * 4 >= report.learned.len() * 3,
        "{:?}",
        report.learned
    );
    let curve = mary_train::learning(&settings.out)
        .expect("read")
        .expect("a curve");
    let share = exact as f64 / report.learned.len() as f64;
    assert_eq!(
        curve.last().and_then(|s| s.learned_exact),
        Some((share, report.learned.len()))
    );
    let mean = |scores: &[mary_train::AnswerScore]| {
        scores.iter().map(|s| s.log_probability).sum::<f64>() / scores.len() as f64
    };
    assert!(
        mean(&report.after) > mean(&report.before) + 1.0,
        "{} {}",
        mean(&report.before),
        mean(&report.after)
    );
    assert!(
        report.after.iter().filter(|s| s.greedy).count() >= 12,
        "{:?}",
        report.after
    );

    let (net, base) = open(&model);
    let (table, values) = adapter(&settings, &net);
    let with = logits(&net, &base, Some((&table, &values)));
    assert_ne!(
        with,
        logits(&net, &base, None),
        "the adapter does something"
    );
    let merged = folder.path().join("merged");
    merge(&model, &settings.out, &merged, Storage::F32).expect("merges");
    let (net, base) = open(&merged);
    let once = logits(&net, &base, None);
    let largest = with
        .iter()
        .zip(&once)
        .fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
    assert!(largest < 1e-3, "merged and unmerged differ by {largest}");
}

#[test]
fn the_same_seed_gives_the_same_adapter_on_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = grown(folder.path());
    let mut settings = settings(folder.path(), &model);
    settings.recipe.epochs = 1;
    settings.recipe.dropout = 0.2;
    let mut once = |threads: usize, name: &str| {
        settings.threads = threads;
        settings.out = folder.path().join(name);
        let report = tune(&settings, &mut |_| ControlFlow::Continue(())).expect("tunes");
        let weights =
            std::fs::read(settings.out.join("adapter_model.safetensors")).expect("weights");
        (report.losses, weights)
    };
    assert_eq!(once(1, "one"), once(3, "three"));
}

/// Stopped, killed and gone on with: the same adapter to the last bit, on 32 bits and on a base that stays
/// in 16.
#[test]
fn a_tuning_that_was_stopped_goes_on_bit_for_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = grown(folder.path());
    let mut settings = settings(folder.path(), &model);
    settings.recipe.epochs = 2;
    settings.recipe.dropout = 0.2;
    settings.save_every = 4;
    settings.recipe.evaluate_every = Some(3);
    let weights = |settings: &TuneSettings| {
        std::fs::read(settings.out.join("adapter_model.safetensors")).expect("weights")
    };
    tune(&settings, &mut |_| ControlFlow::Continue(())).expect("tunes");
    let narrow = folder.path().join("narrow");
    merge(&model, &settings.out, &narrow, Storage::Bf16).expect("merges");
    for (name, base) in [("wide", model), ("narrow", narrow)] {
        settings.model = base;
        settings.out = folder.path().join(format!("{name}-whole"));
        let mut device = String::new();
        let whole = tune(&settings, &mut |event| {
            if let TuneEvent::Started { device: on, .. } = event {
                device = on;
            }
            ControlFlow::Continue(())
        })
        .expect("tunes");
        assert_eq!(device.contains("BF16"), name == "narrow", "{device}");
        assert_eq!(whole.losses.len(), 12);
        assert_eq!(
            whole.curve.iter().map(|e| e.step).collect::<Vec<_>>(),
            [3, 6, 9, 12]
        );
        let wanted = weights(&settings);
        settings.out = folder.path().join(format!("{name}-parts"));
        let state = settings.out.join("state.safetensors");
        let mut saved = Vec::new();
        let stopped = tune(&settings, &mut |event| match event {
            TuneEvent::Step { step: 6, .. } => {
                saved = std::fs::read(&state).expect("a state");
                ControlFlow::Continue(())
            }
            TuneEvent::Step { step: 7, .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
        .expect("tunes");
        assert!(!stopped.finished && stopped.losses.len() == 7);
        // As a kill at step 6 leaves it: the state of step 4, and no adapter.
        std::fs::write(&state, &saved).expect("written");
        let on = tune(&settings, &mut |_| ControlFlow::Continue(())).expect("goes on");
        assert_eq!(on.losses, whole.losses);
        assert_eq!((on.before, on.after), (whole.before, whole.after));
        assert_eq!(on.curve, whole.curve);
        assert_eq!(weights(&settings), wanted);
        assert!(!state.exists(), "a finished tuning needs no state");
    }
}

#[test]
fn learning_stops_early_and_keeps_the_best_adapter() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = grown(folder.path());
    let mut settings = settings(folder.path(), &model);
    settings.recipe.epochs = 30;
    settings.recipe.optimizer.rate = 0.3;
    settings.recipe.evaluate_every = Some(2);
    settings.recipe.patience = Some(2);
    let report = tune(&settings, &mut |_| ControlFlow::Continue(())).expect("tunes");
    assert!(report.finished);
    assert!(
        report.losses.len() < 6 * 30,
        "a rate of 0.3 cannot go on getting better"
    );
    let best = report.best_step.expect("stopped early");
    let lowest = report
        .curve
        .iter()
        .find(|e| e.step == best)
        .expect("evaluated");
    assert!(report.curve.iter().all(|e| e.loss >= lowest.loss));
    assert_eq!(report.curve.iter().filter(|e| e.step > best).count(), 2);
    let tokens: usize = report.after.iter().map(|s| s.tokens).sum();
    let loss = -report.after.iter().map(|s| s.log_probability).sum::<f64>() / tokens as f64;
    assert!(
        (loss - lowest.loss).abs() < 1e-12,
        "the adapter is the best one"
    );
    let curve = mary_train::learning(&settings.out)
        .expect("read")
        .expect("a log");
    assert_eq!(
        curve.len(),
        report.losses.len() + 1,
        "step 0 is before tuning"
    );
    assert_eq!((curve[0].loss, curve[0].held_out), (None, Some(16)));
    assert_eq!(curve[1].loss, Some(report.losses[0]));
    let scored = curve.iter().filter(|s| s.held_out_loss.is_some()).count();
    assert_eq!(scored, report.curve.len() + 1);
    let text = std::fs::read_to_string(settings.out.join(mary_train::PROVENANCE)).expect("a file");
    let made: mary_train::Provenance = serde_json::from_str(&text).expect("provenance");
    let ending = made.ending.expect("an ending");
    assert_eq!(ending.end, mary_train::End::Early);
    assert_eq!(
        (ending.steps, ending.of),
        (report.losses.len() as u64, 6 * 30)
    );
    assert_eq!(ending.kept, best);
}

/// The list of instructions that LLaMA-Factory takes teaches the same as the chat it says.
#[test]
fn instructions_teach_the_same_as_a_chat() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = grown(folder.path());
    let mut settings = settings(folder.path(), &model);
    settings.recipe.epochs = 1;
    let chat = tune(&settings, &mut |_| ControlFlow::Continue(())).expect("tunes");
    let text = std::fs::read_to_string(&settings.data).expect("the set");
    let records: Vec<serde_json::Value> = text
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("json");
            serde_json::json!({"instruction": line["messages"][0]["content"], "input": "",
                "output": line["messages"][1]["content"]})
        })
        .collect();
    settings.data = folder.path().join("set.json");
    settings.out = folder.path().join("instructed");
    std::fs::write(
        &settings.data,
        serde_json::to_string(&records).expect("json"),
    )
    .expect("written");
    let list = tune(&settings, &mut |_| ControlFlow::Continue(())).expect("tunes");
    assert_eq!(list.losses, chat.losses);
}

#[test]
fn an_adapter_is_saved_under_pefts_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = grown(folder.path());
    let mut settings = settings(folder.path(), &model);
    settings.recipe.epochs = 1;
    settings.recipe.rank = 2;
    settings.recipe.targets = vec!["query_key_value".to_owned()];
    tune(&settings, &mut |_| ControlFlow::Continue(())).expect("tunes");
    let bytes = std::fs::read(settings.out.join("adapter_model.safetensors")).expect("weights");
    let tensors = safetensors::SafeTensors::deserialize(&bytes).expect("tensors");
    let mut names: Vec<String> = tensors
        .tensors()
        .into_iter()
        .map(|(name, view)| format!("{name} {:?}", view.shape()))
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "base_model.model.gpt_neox.layers.0.attention.query_key_value.lora_A.weight [2, 32]",
            "base_model.model.gpt_neox.layers.0.attention.query_key_value.lora_B.weight [96, 2]",
            "base_model.model.gpt_neox.layers.1.attention.query_key_value.lora_A.weight [2, 32]",
            "base_model.model.gpt_neox.layers.1.attention.query_key_value.lora_B.weight [96, 2]",
        ]
    );
    let config: serde_json::Value = serde_json::from_slice(
        &std::fs::read(settings.out.join("adapter_config.json")).expect("config"),
    )
    .expect("json");
    assert_eq!(
        (&config["peft_type"], &config["r"]),
        (&"LORA".into(), &2.into())
    );
}

#[test]
fn mistakes_are_named_before_training() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = grown(folder.path());
    let good = settings(folder.path(), &model);
    let refuse = |settings: &TuneSettings| {
        tune(settings, &mut |_| ControlFlow::Continue(()))
            .expect_err("refused")
            .to_string()
    };
    let mut bad = good.clone();
    bad.recipe.targets = vec!["q_proj".to_owned()];
    let error = refuse(&bad);
    assert!(
        error.contains("q_proj") && error.contains("query_key_value"),
        "{error}"
    );
    let mut bad = good.clone();
    bad.data = folder.path().join("bad.jsonl");
    std::fs::write(
        &bad.data,
        "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n",
    )
    .expect("written");
    assert!(refuse(&bad).contains("line 1"), "{}", refuse(&bad));
    std::fs::write(&bad.data, "\n{\"prompt\": 1}\n").expect("written");
    assert!(refuse(&bad).contains("line 2"), "{}", refuse(&bad));
    let mut bad = good.clone();
    bad.memory_limit = Some(1_000_000);
    assert!(refuse(&bad).contains("memory"), "{}", refuse(&bad));
    let mut bad = good;
    bad.recipe.rank = 0;
    assert!(refuse(&bad).contains("rank"), "{}", refuse(&bad));
}
