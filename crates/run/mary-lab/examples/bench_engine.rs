//! How much the bench itself costs: 200,000 items through plan, cache, execution, judging, log and
//! summary, with a scripted model whose own time is measured apart.
//!
//! `cargo run --release -p mary-lab --example bench_engine -- [ITEMS]`

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use mary_contract::*;
use mary_lab::engine::execute::{Execution, Pace, Participants, execute};
use mary_lab::engine::select::survey;
use mary_lab::engine::summarise::{Summariser, Verdict};
use mary_store::{Recorder, ResponseCache, RunFolder};
use mary_testkit::scripted::Scripted;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Sums(usize);

static CARD: TaskCard = TaskCard {
    id: text("bench/sums"),
    family: text("bench"),
    version: 1,
    title: text("Sums"),
    about: text(""),
    chance: Some(0.5),
    human: None,
    params: Param::list(&[]),
    dataset: None,
    citation: Citation::new("", ""),
    starter: None,
    content: None,
};

impl Task for Sums {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::GENERATE
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        Ok(Box::new((0..self.0).map(|n| {
            let prompt = Prompt::plain(format!(
                "Some shots that all questions share.\nIs the sum {} + {} even? Answer yes or no:",
                n,
                n / 3
            ));
            let request = Generate::new(prompt, Sampling::greedy(4));
            let target = Target::Choice {
                question: format!("{n}"),
                options: vec!["yes".into(), "no".into()],
                correct: (n + n / 3) % 2,
            };
            Ok(Item::new(
                format!("{n:06}"),
                target,
                vec![Ask::subject(Request::Generate(request))],
            )
            .tagged("third", (n % 3).to_string()))
        })))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let text = answers
            .first()
            .and_then(|r| r.answer.as_generated())
            .map(|g| g.text.as_str());
        let Some((options, correct)) = item.target.choice() else {
            return Judgement::unscored(UnscoredReason::Unparsed);
        };
        Judgement::scored(f64::from(u8::from(
            options.get(correct).map(String::as_str) == text,
        )))
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

fn main() {
    let items: usize = std::env::args()
        .nth(1)
        .map_or(200_000, |n| n.parse().unwrap());
    let home = tempfile::tempdir().unwrap();
    let inside: &'static AtomicU64 = Box::leak(Box::default());
    let model = Scripted::new("bench", move |prompt| {
        let start = Instant::now();
        let answer = if prompt.len() % 2 == 0 { "yes" } else { "no" }.to_owned();
        inside.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(answer)
    })
    .window(512);
    let task = Sums(items);
    let settings = TaskSettings::default();
    let manifest = RunManifest {
        schema: mary_store::SCHEMA,
        id: "bench".into(),
        created: String::new(),
        version: String::new(),
        command: vec![],
        models: vec![model.card().clone()],
        model_settings: ModelSettings::default(),
        judge: None,
        judge_choice: Default::default(),
        execution: Default::default(),
        tasks: vec![],
        trials: 1,
        seed: 0,
    };
    let start = Instant::now();
    let survey = survey(&task, &settings, &NoData, None).unwrap();
    let mut folder = RunFolder::create_or_open(home.path(), &manifest).unwrap();
    let mut cache = ResponseCache::open(&home.path().join("answers.sqlite")).unwrap();
    let execution = Execution {
        participants: Participants {
            subject: &model,
            judge: None,
        },
        task: &task,
        settings: &settings,
        data: &NoData,
        survey: &survey,
        given: None,
        trials: 1,
        seed: 0,
        finished: &|_, _| false,
        already: 0,
        stop: &AtomicBool::new(false),
        pace: Pace::default(),
    };
    execute(&execution, &mut cache, &mut Recorder::new(&mut folder)).unwrap();
    folder.flush().unwrap();
    let executed = start.elapsed();
    let mut summariser = Summariser::default();
    for verdict in folder.verdicts().unwrap() {
        let verdict = verdict.unwrap();
        summariser.add(Verdict {
            id: &verdict.id,
            cluster: verdict.item.cluster.as_deref(),
            tags: &verdict.item.tags,
            judgement: &verdict.judgement,
            usage: verdict.usage,
        });
    }
    let summary = summariser.finish(
        manifest,
        items,
        &[std::sync::Arc::new(task) as _],
        |_, _| vec![],
    );
    let total = start.elapsed();
    assert!(summary.complete);
    let model_time = inside.load(Ordering::Relaxed) as f64 / 1e9;
    let rate = items as f64 / (total.as_secs_f64() - model_time);
    println!("items                 {items}");
    println!("asked, kept, logged   {:.2} s", executed.as_secs_f64());
    println!("with the summary      {:.2} s", total.as_secs_f64());
    println!("inside the model      {model_time:.3} s");
    println!("the bench itself      {rate:.0} items/s");
    println!("peak resident memory  {} MB", peak_memory().unwrap_or(0));
}

/// High-water mark of resident memory, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}
