//! Our side of the benchmark: loads a model, does the work in a file, and prints one JSON line.
//!
//!     cargo run --release -p mary-local --example bench -- MODEL JOBS.json [--threads N] [--arg K=V]
//!
//! `JOBS.json` holds `{"kind": "score", "requests": [[prefix, [continuation, ...]], ...]}`,
//! `{"kind": "generate", "prompts": [...], "max_tokens": N}` or `{"kind": "matmul"}`.
//! `tools/bench_peers_local.py` writes such files and runs the peers beside it.

use std::collections::VecDeque;
use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use mary_contract::{
    Desk, Generate, Job, Model, ModelError, ModelSettings, Prompt, Reply, Sampling, Score, Start,
    Ticket, Usage,
};
use mary_local::LocalModel;
use mary_local::kernels::Backend;
use mary_local::kernels::Weights;
use mary_local::kernels::cpu::Cpu;
use mary_weights::Checkpoint;
use serde_json::{Value, json};

/// A desk over a list; adds up what was used and keeps the answers as JSON.
struct List<Q, A> {
    jobs: VecDeque<Job<Q>>,
    usage: Usage,
    answers: Vec<(u64, Value)>,
    read: fn(&A) -> Value,
}

impl<Q, A> List<Q, A> {
    fn new(requests: Vec<Q>, read: fn(&A) -> Value) -> Self {
        let jobs = requests.into_iter().zip(0..);
        let jobs = jobs
            .map(|(request, i)| Job {
                ticket: Ticket(i),
                request,
            })
            .collect();
        Self {
            jobs,
            usage: Usage::default(),
            answers: vec![],
            read,
        }
    }
}

impl<Q, A> Desk<Q, A> for List<Q, A> {
    fn next(&mut self) -> Option<Job<Q>> {
        self.jobs.pop_front()
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Reply<A>, ModelError>) -> ControlFlow<()> {
        let value = match answer {
            Ok(reply) => {
                self.usage += reply.meta.usage;
                (self.read)(&reply.answer)
            }
            Err(error) => json!({"error": error.message}),
        };
        self.answers.push((ticket.0, value));
        ControlFlow::Continue(())
    }
}

fn texts(value: &Value) -> Vec<String> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(path), Some(jobs)) = (words.next(), words.next()) else {
        return Err("usage: bench MODEL JOBS.json [--threads N] [--arg K=V]".into());
    };
    let mut settings = ModelSettings::default();
    while let Some(word) = words.next() {
        let value = words.next().ok_or("a flag needs a value")?;
        match (word.as_str(), value.split_once('=')) {
            ("--threads", _) => settings.threads = Some(value.parse()?),
            ("--arg", Some((k, v))) => {
                settings.args.insert(k.to_owned(), v.to_owned());
            }
            _ => return Err(format!("{word} {value} means nothing here").into()),
        }
    }
    let work: Value = serde_json::from_str(&std::fs::read_to_string(jobs)?)?;
    let begin = Instant::now();
    let checkpoint = Checkpoint::open(Path::new(&path))?;
    let model = LocalModel::from_checkpoint("hf/bench".parse()?, checkpoint, &settings)?;
    let load = begin.elapsed().as_secs_f64();
    let floor = matmul_rate(&model);
    let (begin, busy) = (Instant::now(), processor_seconds());
    let (usage, mut answers) = match work["kind"].as_str() {
        Some("score") => {
            let requests = work["requests"].as_array().ok_or("no requests")?;
            let requests = requests
                .iter()
                .map(|pair| {
                    let prefix = pair[0].as_str().unwrap_or_default();
                    Score {
                        prefix: Prompt::plain(prefix),
                        continuations: texts(&pair[1]),
                        // As the harness does: a start token only where nothing else stands first.
                        start: if prefix.is_empty() {
                            Start::Always
                        } else {
                            Start::Model
                        },
                    }
                })
                .collect();
            let mut desk = List::new(requests, |s: &mary_contract::Scored| {
                let sums = s
                    .continuations
                    .iter()
                    .map(mary_contract::ContinuationScore::sum);
                json!(sums.collect::<Vec<f64>>())
            });
            model
                .scorer()
                .ok_or("this model does not score")?
                .score(&mut desk);
            (desk.usage, desk.answers)
        }
        Some("generate") => {
            let most = work["max_tokens"].as_u64().unwrap_or(64) as u32;
            let ask = |text| Generate {
                prompt: Prompt::plain(text),
                sampling: Sampling::greedy(most),
            };
            let requests = texts(&work["prompts"]).into_iter().map(ask).collect();
            let mut desk = List::new(requests, |g: &mary_contract::Generated| json!(g.text));
            model
                .generator()
                .ok_or("this model does not write")?
                .generate(&mut desk);
            (desk.usage, desk.answers)
        }
        _ => (Usage::default(), vec![]),
    };
    let seconds = begin.elapsed().as_secs_f64();
    answers.sort_by_key(|(ticket, _)| *ticket);
    let architecture = model.architecture();
    let line = json!({
        "load_s": load,
        "seconds": seconds,
        "processor_s": processor_seconds() - busy,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "gflops": floor,
        "flops_per_token": 2 * (architecture.block_parameters() + architecture.head_parameters()),
        "answers": answers.into_iter().map(|(_, v)| v).collect::<Vec<_>>(),
    });
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

/// Processor time this process has taken, from Linux; 0 elsewhere.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in brackets: user and system ticks are the 12th and 13th fields.
    let fields = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let ticks = fields
        .skip(11)
        .take(2)
        .filter_map(|f| f.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Billions of operations a second in a product of the model's own shape: the floor that everything
/// else is measured against.
fn matmul_rate(model: &LocalModel) -> f64 {
    let (rows, inputs, outputs) = (
        1024,
        model.architecture().hidden,
        2 * model.architecture().intermediate,
    );
    let cpu = Cpu::new(model.options().multiplier);
    let numbers = |n: usize| -> Vec<f32> { (0..n).map(|i| (i as f32 * 0.37).sin()).collect() };
    let weights = Weights::Plain {
        data: numbers(outputs * inputs),
        outputs,
        inputs,
    };
    let layer = cpu.prepare(vec![weights], None);
    let (mut x, mut y) = (Default::default(), Default::default());
    cpu.upload(&numbers(rows * inputs), &mut x);
    let mut best = f64::INFINITY;
    model.install(|| {
        for _ in 0..8 {
            let begin = Instant::now();
            cpu.linear(&x, rows, &layer, &mut y, false);
            best = best.min(begin.elapsed().as_secs_f64());
        }
    });
    2.0 * (rows * inputs * outputs) as f64 / best / 1e9
}
