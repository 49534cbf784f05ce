//! Shards of random specifications are disjoint, complete and balanced; shards of a real run, joined,
//! are the run; and a run can be divided anew without asking anything twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mary_contract::*;
use mary_lab::builtin::Builtin;
use mary_lab::{Laboratory, RunSpec, Shard, Silent, TaskChoice, deal};
use mary_store::{RunFolder, join_shards};

use crate::support::{self, StopAfter};

/// Numbers from a seed, for specifications.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

/// Items of any length, in groups that begin alike, from the settings' seed.
struct Drawn(TaskCard);

impl Task for Drawn {
    fn card(&self) -> &TaskCard {
        &self.0
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let mut dice = Dice(settings.seed ^ 77);
        let (count, groups) = (1 + dice.roll(400), 1 + dice.roll(40));
        let (prefix, length) = (dice.roll(3000), 1 + dice.roll(400));
        Ok(Box::new((0..count).map(move |n| {
            let group = dice.roll(groups);
            let mut text = format!("group {group}: ").repeat(1 + prefix as usize / 12);
            text.push_str(&"x".repeat(dice.roll(length) as usize));
            let ask = Ask::subject(Request::Score(Score::new(
                Prompt::plain(text),
                vec![" a".into(), format!(" b{n}")],
                Start::Model,
            )));
            Ok(Item::new(format!("i{n}"), Target::Text("a".into()), vec![ask]).in_stratum("all"))
        })))
    }

    fn judge(&self, _: &TaskSettings, _: &Item, _: &[Reply]) -> Judgement {
        Judgement::scored(1.0)
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

fn drawn() -> Registry {
    let mut registry = Registry::new();
    for name in ["test/one", "test/two", "test/three"] {
        let card = TaskCard::new(name, "Drawn", "Items of any length.");
        registry.add_task(Arc::new(Drawn(card))).unwrap();
    }
    registry
}

const STEPS: [u64; 6] = [0, 16, 64, 128, 256, 512];

fn specification(dice: &mut Dice) -> RunSpec {
    let models = 1 + dice.roll(4) as usize;
    let tasks = ["test/one", "test/two", "test/three"];
    let mut spec = RunSpec::new("builtin/nano@step0".parse().unwrap(), []);
    spec.subjects = STEPS[..models]
        .iter()
        .map(|step| format!("builtin/nano@step{step}").parse().unwrap())
        .collect();
    for task in &tasks[..1 + dice.roll(3) as usize] {
        let mut choice = TaskChoice::new(*task);
        choice.settings.seed = dice.roll(1 << 40);
        choice.limit = match dice.roll(3) {
            0 => Some(Limit::Count(1 + dice.roll(300) as usize)),
            1 => Some(Limit::Fraction(0.5)),
            _ => None,
        };
        spec.tasks.push(choice);
    }
    spec.trials = 1 + dice.roll(3) as u32;
    spec
}

#[test]
fn shards_of_random_specifications_are_disjoint_complete_and_balanced() {
    let lab = Laboratory::new("runs")
        .tasks(drawn())
        .providers([Box::new(Builtin) as Box<dyn Provider>]);
    let mut dice = Dice(26);
    let (mut fine, mut coarse) = (0, 0);
    for number in 0..200 {
        let spec = specification(&mut dice);
        let prepared = lab.prepare(&spec).unwrap();
        let layout = prepared.layout().unwrap();
        // Every number of shards, each with fifty of the specifications.
        for n in (1 + number % 4..=64).step_by(4) {
            let parts = layout.parts(n);
            assert_eq!(parts.len(), n);
            let mut seen = vec![0_u8; spec.subjects.len() * spec.tasks.len() * 400];
            let mut asked = 0;
            for part in &parts {
                for model in 0..spec.subjects.len() {
                    for task in 0..spec.tasks.len() {
                        for item in part.items(model, task) {
                            seen[(model * spec.tasks.len() + task) * 400 + item] += 1;
                            asked += 1;
                        }
                    }
                }
                // Within a tenth of the estimate, unless a single item is more than that.
                let off = (part.share * n as f64 - 1.0).abs();
                let item = layout.largest() * n as f64;
                if item <= 0.1 {
                    assert!(off <= 0.1 + 1e-9, "{spec:?} {n}: {off}");
                    fine += 1;
                } else {
                    assert!(off <= item.max(0.1) + 1e-9, "{spec:?} {n}: {off} {item}");
                    coarse += 1;
                }
            }
            assert!(seen.iter().all(|&times| times <= 1), "disjoint");
            let planned: usize = parts.iter().map(|p| p.planned).sum();
            assert_eq!(planned, asked * spec.trials as usize);
            assert_eq!(planned, prepared.planned(), "complete");
        }
        // The same specification, read back, is cut alike.
        let text = serde_json::to_string(&spec).unwrap();
        let again = lab.prepare(&serde_json::from_str(&text).unwrap()).unwrap();
        let items = |p: &mary_lab::Part| {
            (0..spec.tasks.len())
                .map(|t| p.items(0, t))
                .collect::<Vec<_>>()
        };
        let (a, b) = (prepared.parts(7).unwrap(), again.parts(7).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| items(a) == items(b)));
    }
    eprintln!("{fine} shards within a tenth, {coarse} with items larger than a tenth of a shard");
    assert!(fine > 12_500, "{fine} {coarse}");
}

#[test]
fn checkpoints_are_dealt_out_evenly() {
    let mut dice = Dice(5);
    for number in 0..200 {
        let costs: Vec<u64> = (0..1 + dice.roll(400))
            .map(|_| 1 + dice.roll(12_000))
            .collect();
        for n in (1 + number % 4..=64).step_by(4) {
            let hands = deal(&costs, n);
            let mut all: Vec<usize> = hands.concat();
            all.sort_unstable();
            assert_eq!(all, (0..costs.len()).collect::<Vec<_>>());
            let loads: Vec<u64> = hands
                .iter()
                .map(|h| h.iter().map(|&k| costs[k]).sum())
                .collect();
            let largest = costs.iter().max().unwrap();
            assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() <= *largest);
        }
    }
}

fn laboratory(runs: &std::path::Path) -> Laboratory {
    Laboratory::new(runs)
        .tasks(support::registry())
        .providers([Box::new(Builtin) as Box<dyn Provider>])
}

fn parity() -> RunSpec {
    let mut spec = RunSpec::new(
        "builtin/nano@step0".parse().unwrap(),
        [TaskChoice::new("test/parity")],
    );
    spec.subjects.push("builtin/nano@step16".parse().unwrap());
    spec.judge = JudgeChoice::Subject;
    spec.trials = 2;
    spec
}

/// What was asked and answered, in the order of ids; how long it took is no part of it.
fn samples(folder: &RunFolder) -> Vec<serde_json::Value> {
    let mut all: Vec<Sample> = folder.samples().unwrap().map(Result::unwrap).collect();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    let mut all: Vec<serde_json::Value> = all
        .iter()
        .map(|s| serde_json::to_value(s).unwrap())
        .collect();
    for sample in &mut all {
        for exchange in sample["exchanges"].as_array_mut().unwrap() {
            if let Some(meta) = exchange["reply"]["Ok"].get_mut("meta") {
                meta["latency_ms"] = 0.into();
            }
        }
    }
    all
}

fn numbers(summary: &RunSummary) -> serde_json::Value {
    let mut value = serde_json::to_value(summary).unwrap();
    let manifest = value["manifest"].as_object_mut().unwrap();
    manifest.remove("created");
    value
}

#[test]
fn joined_shards_are_the_run() {
    let (one, many) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let go = AtomicBool::new(false);
    let lab = laboratory(one.path());
    let mut whole = lab.prepare(&parity()).unwrap().open().unwrap();
    let expected = whole.go(&mut Silent, &go).unwrap();
    let lab = laboratory(many.path());
    // The second of three is stopped in its middle, the third never begun.
    let flag = AtomicBool::new(false);
    let mut stop = StopAfter {
        samples: 3,
        flag: &flag,
    };
    let shard = |index, of| Shard::new(index, of).unwrap();
    let open = |s: Shard| lab.prepare(&parity()).unwrap().open_shard(s, None).unwrap();
    open(shard(0, 3)).go(&mut Silent, &go).unwrap();
    let second = open(shard(1, 3)).go(&mut stop, &flag);
    assert!(second.unwrap_err().is_interrupt());
    let run = many.path().join(&expected.manifest.id);
    assert!(run.join("shards/001-of-003/shard.json").exists());
    let partial = join_shards(&run).unwrap();
    assert!(partial.samples < expected.rows.iter().map(|r| r.samples).sum());
    // Divided anew into five, nothing that was answered is asked again.
    for index in 0..5 {
        let mut part = open(shard(index, 5));
        part.go(&mut Silent, &go).unwrap();
    }
    let first = join_shards(&run).unwrap();
    let bytes = std::fs::read(run.join("samples.jsonl")).unwrap();
    let again = join_shards(&run).unwrap();
    assert_eq!(first.samples, again.samples);
    assert_eq!(
        bytes,
        std::fs::read(run.join("samples.jsonl")).unwrap(),
        "repeated"
    );
    let mut joined = RunFolder::resume(&run).unwrap();
    assert_eq!(samples(&joined), samples(whole.folder()));
    let summary = mary_lab::summarise(lab.registry(), &joined, first.samples).unwrap();
    joined.write_summary(&summary).unwrap();
    assert_eq!(numbers(&summary), numbers(&expected));
}
