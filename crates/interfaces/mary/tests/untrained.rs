//! What the laboratory says of models that know nothing: ten transformers with random weights, of
//! several sizes and two tokenizers, run over every task they can do. Each verdict "above chance" or
//! "below chance" is wrong; an honest 95 % rule makes at most one in twenty of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mary_contract::{
    Cache, DataError, DataSource, Event, EventObserver, ExecutionSettings, JudgeChoice, Key, Limit,
    Model, ModelRef, ModelSettings, PromptForm, Reply, RunManifest, RunSummary, StoreError,
    SummaryRow, Task, TaskRun, TaskSettings,
};
use mary_lab::engine::execute::{Execution, Pace, Participants, execute};
use mary_lab::engine::select::survey;
use mary_lab::engine::summarise::{Summariser, Verdict};
use mary_report::VersusChance;
use mary_train::net::{Layout, Shape};

/// Width, layers, heads, whether tokens are bytes, and the deviation of the weights.
const MODELS: [(usize, usize, usize, bool, f64); 10] = [
    (16, 1, 2, true, 0.02),
    (16, 3, 2, true, 0.2),
    (24, 2, 2, false, 0.02),
    (32, 3, 4, true, 0.02),
    (32, 2, 2, false, 0.15),
    (48, 2, 4, true, 0.1),
    (48, 4, 4, false, 0.02),
    (64, 1, 4, false, 0.1),
    (64, 3, 4, true, 0.02),
    (64, 4, 8, false, 0.05),
];

/// Longest prompt that is read; longer ones fail and are not counted.
const CONTEXT: usize = 4096;

/// Normal numbers from a seed, by Box and Muller.
struct Normals {
    bytes: blake3::OutputReader,
}

impl Normals {
    fn new(seed: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"untrained");
        hasher.update(&seed.to_le_bytes());
        Self {
            bytes: hasher.finalize_xof(),
        }
    }

    fn uniform(&mut self) -> f64 {
        let mut eight = [0u8; 8];
        self.bytes.fill(&mut eight);
        ((u64::from_le_bytes(eight) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

/// The built-in model's tokenizer, or the same with nothing but bytes.
fn tokenizer(bytes_only: bool) -> (String, usize) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../run/mary-lab/assets/nano/tokenizer.json");
    let text = std::fs::read_to_string(path).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    if bytes_only {
        let vocabulary = json["model"]["vocab"].as_object().unwrap().clone();
        let kept: serde_json::Map<String, serde_json::Value> = vocabulary
            .into_iter()
            .filter(|(token, _)| token.chars().count() == 1 || token.starts_with("<|"))
            .enumerate()
            .map(|(id, (token, _))| (token, id.into()))
            .collect();
        json["added_tokens"][0]["id"] = kept["<|endoftext|>"].clone();
        json["model"]["vocab"] = kept.into();
        json["model"]["merges"] = serde_json::json!([]);
    }
    let size = json["model"]["vocab"].as_object().unwrap().len();
    (json.to_string(), size)
}

/// A model folder with random weights.
fn write(folder: &Path, number: usize) -> PathBuf {
    let (width, layers, heads, bytes_only, deviation) = MODELS[number];
    let (tokenizer, vocabulary) = tokenizer(bytes_only);
    let shape = Shape::neox(vocabulary, width, layers, heads, CONTEXT);
    let folder = folder.join(format!("untrained-{number}"));
    write_weights(&folder, &shape, &tokenizer, deviation, number as u64);
    folder
}

fn write_weights(folder: &Path, shape: &Shape, tokenizer: &str, deviation: f64, seed: u64) {
    let layout = Layout::new(shape).unwrap();
    let mut normals = Normals::new(seed);
    let (mut header, mut data) = (serde_json::Map::new(), Vec::<u8>::new());
    for entry in &layout.entries {
        let begin = data.len();
        for _ in entry.place.clone() {
            let value = match (entry.dims.len(), entry.name.ends_with("norm.weight")) {
                (2, _) => normals.next() * deviation,
                (_, true) => 1.0,
                _ => 0.0,
            };
            data.extend((value as f32).to_le_bytes());
        }
        let place = serde_json::json!({
            "dtype": "F32", "shape": entry.dims, "data_offsets": [begin, data.len()],
        });
        header.insert(entry.name.clone(), place);
    }
    let header = serde_json::Value::from(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("model.safetensors"), file).unwrap();
    std::fs::write(folder.join("tokenizer.json"), tokenizer).unwrap();
    std::fs::write(
        folder.join("tokenizer_config.json"),
        mary_train::tokenizer::config(CONTEXT),
    )
    .unwrap();
    std::fs::write(
        folder.join("config.json"),
        shape.to_config("float32", 0).to_string(),
    )
    .unwrap();
}

fn open(folder: &Path) -> Box<dyn Model> {
    let model = ModelRef {
        provider: "hf".into(),
        name: folder.display().to_string(),
        revision: None,
    };
    let settings = ModelSettings {
        threads: Some(1),
        ..ModelSettings::default()
    };
    let open = || mary_weights::Checkpoint::open(folder);
    mary_local::provider::open(&model, &open, &settings).unwrap()
}

struct NoCache;

impl Cache for NoCache {
    fn recall(&mut self, _: &Key) -> Result<Option<Reply>, StoreError> {
        Ok(None)
    }
    fn keep(&mut self, _: &Key, _: &Reply) -> Result<(), StoreError> {
        Ok(())
    }
    fn flush(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

struct Tally(Summariser);

impl EventObserver for Tally {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), StoreError> {
        if let Event::SampleFinished(sample) = event {
            self.0.add(Verdict::from(*sample));
        }
        Ok(())
    }
}

/// The datasets beside the checkout, or none.
struct Datasets(Option<PathBuf>);

impl DataSource for Datasets {
    fn folder(&self, dataset: &str) -> Result<PathBuf, DataError> {
        let folder = self.0.as_ref().map(|root| root.join(dataset));
        folder.filter(|f| f.exists()).ok_or(DataError::Missing {
            id: dataset.to_owned(),
            hint: String::new(),
        })
    }

    fn hash(&self, _: &str) -> Result<String, DataError> {
        Ok(String::new())
    }
}

/// One model on one task, or nothing where the task cannot be run with this model and these data.
fn run(
    model: &dyn Model,
    task: &Arc<dyn Task>,
    settings: &TaskSettings,
    data: &Datasets,
    items: usize,
) -> Option<SummaryRow> {
    let needs = task.needs(settings);
    let missing = needs.missing(&model.card().capabilities, PromptForm::Plain);
    if needs.judge || !missing.is_empty() {
        return None;
    }
    let survey = survey(task.as_ref(), settings, data, Some(Limit::Count(items))).ok()?;
    let stop = AtomicBool::new(false);
    let execution = Execution {
        participants: Participants {
            subject: model,
            judge: None,
        },
        task: task.as_ref(),
        settings,
        data,
        survey: &survey,
        given: None,
        trials: 1,
        seed: 1,
        finished: &|_, _| false,
        already: 0,
        stop: &stop,
        pace: Pace::default(),
    };
    let mut tally = Tally(Summariser::default());
    execute(&execution, &mut NoCache, &mut tally).ok()?;
    let manifest = RunManifest {
        schema: 1,
        id: String::new(),
        created: String::new(),
        version: String::new(),
        command: vec![],
        models: vec![model.card().clone()],
        model_settings: ModelSettings::default(),
        judge: None,
        judge_choice: JudgeChoice::None,
        tasks: vec![TaskRun {
            id: task.card().id.to_string(),
            version: task.card().version,
            settings: settings.clone(),
            conventions: task.conventions(settings),
            scoring: Some(task.scoring(settings)),
            ..TaskRun::default()
        }],
        trials: 1,
        seed: 1,
        execution: ExecutionSettings::default(),
    };
    let summary: RunSummary =
        tally
            .0
            .finish(manifest, survey.count, &[Arc::clone(task)], |_, _| vec![]);
    summary.rows.into_iter().next()
}

/// What is asked: every task as a user meets it, with settings that keep answers short.
fn settings(task: &str, seed: u64) -> TaskSettings {
    let mut params = BTreeMap::new();
    if task.ends_with("typicality-prompting") {
        params.insert("runs".to_owned(), "1".to_owned());
    }
    TaskSettings {
        seed,
        // Four shots show the form as well as fifty do, and cost a tenth.
        shots: task.starts_with("htest/").then_some(4),
        params,
        ..TaskSettings::default()
    }
}

/// Wrong verdicts and all verdicts, with what was found printed line by line.
fn count(
    models: &[usize],
    data: &Datasets,
    items: &dyn Fn(usize, &str) -> usize,
) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let (mut wrong, mut all) = (0, 0);
    let registry = mary_lab::families::registry();
    for &number in models {
        let model = open(&write(folder.path(), number));
        for task in registry.tasks() {
            let id = &*task.card().id;
            let wanted = items(number, id);
            if wanted == 0 {
                continue;
            }
            let begun = std::time::Instant::now();
            let settings = settings(id, 1 + number as u64);
            let Some(row) = run(model.as_ref(), task, &settings, data, wanted) else {
                continue;
            };
            let verdict = VersusChance::judge(&row);
            let score = row.score.as_ref();
            let narrow = row.measure(mary_contract::FAMILIES_FIXED);
            eprintln!(
                "{number} {id:36} {:>5} scored  {:?} {}  narrow {:?}  floor {:?}  {:.2} s",
                row.scored,
                score.map(|s| (round(s.low), round(s.value), round(s.high))),
                verdict.words(),
                narrow.map(|s| (round(s.low), round(s.high))),
                row.measure(mary_contract::FLOOR).map(|f| round(f.value)),
                begun.elapsed().as_secs_f64(),
            );
            match verdict {
                VersusChance::Unknown => {}
                VersusChance::NotDistinguished | VersusChance::AtFloor => all += 1,
                VersusChance::Above
                | VersusChance::AboveUncorrected
                | VersusChance::BelowUncorrected
                | VersusChance::Below => {
                    all += 1;
                    wrong += 1;
                }
            }
        }
    }
    (wrong, all)
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Everything that needs no download, few items each. Fixed seeds: the count is the same every time.
#[test]
fn untrained_models_are_rarely_told_from_chance() {
    let items = |model: usize, task: &str| match task {
        // Written at length and never complete, or without a chance level: no verdict.
        "physico/describe" | "psychometric/typicality-prompting" | "psychometric/numbers" => 0,
        "physico/definition" => 4 * usize::from(model < 5),
        // Grids as bytes are prompts of thousands of tokens: the smallest model is enough here, the
        // large test below asks all.
        t if t.starts_with("physico/") => 4 * usize::from(model == 0),
        t if t.starts_with("htest/") => 12,
        t if t.starts_with("embodied/fresh") => 60,
        "psychometric/matrices" => 48,
        _ => 100,
    };
    let all: Vec<usize> = (0..MODELS.len()).collect();
    let (wrong, verdicts) = count(&all, &Datasets(None), &items);
    eprintln!("{wrong} of {verdicts} verdicts against chance are wrong");
    assert!(verdicts >= 150, "only {verdicts} verdicts");
    assert!(
        wrong * 20 <= verdicts,
        "{wrong} of {verdicts} verdicts say that a model with random weights differs from chance"
    );
}

/// More items, and the published sets where they are: `MARY_DATA_DIR` or `shared/datasets` beside the
/// checkout. Some minutes.
#[test]
#[ignore = "takes minutes: cargo test -p mary -- --ignored untrained"]
fn untrained_models_on_more_items_and_published_sets() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/datasets");
    let root = std::env::var_os("MARY_DATA_DIR").map_or(beside, PathBuf::from);
    let items = |_: usize, task: &str| match task {
        t if t.starts_with("physico/") => 24,
        t if t.starts_with("htest/") => 100,
        "psychometric/typicality-prompting" => 1,
        "psychometric/blimp" => 670,
        _ => 400,
    };
    let all: Vec<usize> = (0..MODELS.len()).collect();
    let (wrong, verdicts) = count(&all, &Datasets(root.exists().then_some(root)), &items);
    eprintln!("{wrong} of {verdicts} verdicts against chance are wrong");
    assert!(
        wrong * 20 <= verdicts,
        "{wrong} of {verdicts} verdicts are wrong"
    );
}

/// What one model is asked of H-TEST: shots, and how they are drawn.
fn htest_settings(k: usize, seed: u64, drawn: &[(&str, &str)]) -> TaskSettings {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    TaskSettings {
        seed,
        shots: Some(k),
        params: drawn.iter().map(own).collect(),
        ..TaskSettings::default()
    }
}

/// Verdicts (corrected over a model's ten tasks) and single intervals that leave chance out, of all.
#[derive(Debug, Clone, Copy, Default)]
struct Wrong {
    verdicts: usize,
    intervals: usize,
    of: usize,
}

impl Wrong {
    /// The ten A/B tasks with one model.
    fn add(&mut self, model: &dyn Model, items: usize, settings: &TaskSettings) {
        let registry = mary_lab::families::registry();
        let ab = |task: &&Arc<dyn Task>| {
            let id = &*task.card().id;
            // The direct questions and letter geometry have no shots to draw.
            id.starts_with("htest/") && task.card().param("shot_sets").is_some()
        };
        let mut rows: Vec<SummaryRow> = Vec::new();
        for task in registry.tasks().iter().filter(ab) {
            rows.extend(run(model, task, settings, &Datasets(None), items));
        }
        mary_lab::engine::summarise::test_against_chance(&mut rows);
        for row in &rows {
            let (verdict, interval) = match VersusChance::judge(row) {
                VersusChance::Unknown => continue,
                VersusChance::NotDistinguished | VersusChance::AtFloor => (false, false),
                VersusChance::AboveUncorrected | VersusChance::BelowUncorrected => (false, true),
                VersusChance::Above | VersusChance::Below => (true, true),
            };
            self.verdicts += usize::from(verdict);
            self.intervals += usize::from(interval);
            self.of += 1;
        }
    }
}

/// H-TEST by the scale of the weights, the family of models and the number of shots, drawn as by default
/// and as one list with fixed labels.
#[test]
#[ignore = "takes long: cargo test -p mary -- --ignored the_table_of_untrained --nocapture"]
fn the_table_of_untrained_models_on_htest() {
    use mary_train::net::{Activation, Family};
    let wanted = |name: &str, all: &[f64]| -> Vec<f64> {
        let set = std::env::var(name).ok();
        let read = |text: String| text.split(',').map(|n| n.parse().unwrap()).collect();
        set.map_or(all.to_vec(), read)
    };
    let designs: Vec<Vec<(&str, &str)>> = match std::env::var("UNTRAINED_DESIGNS") {
        Ok(_) => vec![
            vec![("shot_sets", "1"), ("labels", "fixed")],
            vec![("labels", "fixed")],
            vec![("shot_sets", "1")],
            vec![("shot_sets", "5")],
            vec![],
        ],
        Err(_) => vec![vec![("shot_sets", "1"), ("labels", "fixed")], vec![]],
    };
    let folder = tempfile::tempdir().unwrap();
    let (tokenizer, vocabulary) = tokenizer(false);
    for deviation in wanted("UNTRAINED_DEVIATIONS", &[0.02, 0.05, 0.1, 0.2, 0.3]) {
        for family in [Family::NeoX, Family::Llama] {
            for k in wanted("UNTRAINED_SHOTS", &[4.0, 14.0, 50.0]) {
                let mut wrong = vec![Wrong::default(); designs.len()];
                for seed in wanted("UNTRAINED_SEEDS", &[0.0, 1.0, 2.0, 3.0]) {
                    let (width, layers) = if (seed as u64).is_multiple_of(2) {
                        (32, 2)
                    } else {
                        (24, 3)
                    };
                    let mut shape = Shape::neox(vocabulary, width, layers, 2, CONTEXT);
                    if family == Family::Llama {
                        shape.family = family;
                        shape.rotary = shape.head_width;
                        shape.parallel_residual = false;
                        shape.activation = Activation::GatedSilu;
                    }
                    let number = 1000 + seed as u64;
                    let at = folder.path().join(format!("{family:?}-{deviation}-{seed}"));
                    write_weights(&at, &shape, &tokenizer, deviation, number);
                    let model = open(&at);
                    for (design, wrong) in designs.iter().zip(&mut wrong) {
                        let settings = htest_settings(k as usize, 1 + number, design);
                        wrong.add(model.as_ref(), 200, &settings);
                    }
                }
                let cells: Vec<String> = wrong
                    .iter()
                    .map(|w| format!("{} ({}) of {}", w.verdicts, w.intervals, w.of))
                    .collect();
                println!("| {deviation} | {family:?} | {k} | {} |", cells.join(" | "));
            }
        }
    }
}
