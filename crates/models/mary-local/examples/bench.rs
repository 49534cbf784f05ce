//! Our side of the benchmark: loads a model, does the work in a file, and prints one JSON line.
//!
//!     cargo run --release -p mary-local --example bench -- MODEL JOBS.json [--threads N]
//!         [--device cuda:0] [--dtype bf16] [--batch-size N] [--arg K=V]
//!
//! `JOBS.json` holds `{"kind": "score", "requests": [[prefix, [continuation, ...]], ...]}`,
//! `{"kind": "generate", "prompts": [...], "max_tokens": N,
//! "temperature": T}`, `{"kind": "observe", "texts": [...]}`,
//! `{"kind": "raw", "sequences": [[id, ...], ...], "rows": N}`, `{"kind": "matmul"}`, or
//! `{"kind": "golden", "families": [...]}` (MODEL is then the folder of golden files). With
//! `"repeat": N` the work is done N times and the best time is given; with `"floor": false` the rate of
//! products is not measured.
//! `tools/bench_peers_local.py` and `tools/bench_peers_cuda.py` write such files and run the peers
//! beside it.

use std::collections::VecDeque;
use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use mary_contract::{
    Generate, Job, Layers, Model, ModelError, ModelSettings, Observe, Pool, Prompt, Reply,
    Sampling, Score, Start, Ticket, Usage, Vector, WorkQueue,
};
use mary_local::LocalModel;
use mary_local::config::Architecture;
use mary_local::kernels::Backend;
use mary_local::kernels::cpu::Cpu;
use mary_local::kernels::{Extent, WantedToken, Weights};
use mary_local::transformer::{Batch, Watch};
use mary_weights::Checkpoint;
use serde_json::{Value, json};

/// A queue over a list; adds up what was used and keeps the answers as JSON.
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

impl<Q, A> WorkQueue<Q, A> for List<Q, A> {
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
            ("--batch-size", _) => settings.batch_size = Some(value.parse()?),
            ("--device", _) => settings.device = Some(value),
            ("--dtype", _) => settings.dtype = Some(value),
            ("--arg", Some((k, v))) => {
                settings.args.insert(k.to_owned(), v.to_owned());
            }
            _ => return Err(format!("{word} {value} means nothing here").into()),
        }
    }
    let work: Value = serde_json::from_str(&std::fs::read_to_string(jobs)?)?;
    if work["kind"] == "golden" {
        return goldens(Path::new(&path), &work, &settings);
    }
    let begin = Instant::now();
    let checkpoint = Checkpoint::open(Path::new(&path))?;
    let model = LocalModel::from_checkpoint("hf/bench".parse()?, checkpoint, &settings)?;
    let load = begin.elapsed().as_secs_f64();
    let on_card = settings
        .device
        .as_deref()
        .is_some_and(|d| d.starts_with("cuda"));
    let (mut seconds, mut processor, mut done) = (f64::INFINITY, 0.0, None);
    for _ in 0..work["repeat"].as_u64().unwrap_or(1).max(1) {
        let (begin, busy) = (Instant::now(), processor_seconds());
        done = Some(perform(&model, &work)?);
        if begin.elapsed().as_secs_f64() < seconds {
            seconds = begin.elapsed().as_secs_f64();
            processor = processor_seconds() - busy;
        }
    }
    // Before the floor is measured, whose weights take memory too.
    let peak = peak_bytes();
    let floor = match on_card || work["floor"] == false {
        true => 0.0,
        false => matmul_rate(&model),
    };
    let (usage, mut answers) = done.unwrap_or_default();
    answers.sort_by_key(|(ticket, _)| *ticket);
    let architecture = model.architecture();
    let head = (architecture.vocab * architecture.embedding.width) as u64;
    let line = json!({
        "load_s": load,
        "seconds": seconds,
        "processor_s": processor,
        "device": model.card().conventions.get("device"),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "peak_bytes": peak,
        "gflops": floor,
        "flops_per_token": 2 * (block_parameters(architecture) + head),
        "answers": answers.into_iter().map(|(_, v)| v).collect::<Vec<_>>(),
    });
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

/// Weights inside the blocks: what every token is multiplied with.
fn block_parameters(of: &Architecture) -> u64 {
    let up = if of.mlp.gated { 3 } else { 2 };
    let attention = of.hidden * (2 * of.q_width() + 2 * of.kv_width());
    let attending = of.attending(of.layers);
    let carrying = of
        .recurrence
        .map_or(0, |r| of.hidden * (r.projected() + r.inner));
    let across = if of.source.is_some() { 2 } else { 1 };
    let mixers = attending * attention * across + (of.layers - attending) * carrying;
    let sparse = of.kinds.iter().filter(|k| k.sparse).count();
    let dense = of.layers - sparse.min(of.layers);
    let taken = of.experts.map_or(0, |e| {
        e.count + 3 * (e.chosen * e.intermediate + e.shared.unwrap_or(0))
    });
    let mlps = match of.names.down {
        "" => 0,
        _ => dense * up * of.intermediate + sparse * taken,
    };
    (mixers + of.hidden * mlps) as u64
}

type Done = (Usage, Vec<(u64, Value)>);

/// Does the work once.
fn perform(model: &LocalModel, work: &Value) -> Result<Done, Box<dyn Error>> {
    Ok(match work["kind"].as_str() {
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
                        details: Default::default(),
                    }
                })
                .collect();
            let mut queue = List::new(requests, |s: &mary_contract::Scored| {
                let sums = s
                    .continuations
                    .iter()
                    .map(mary_contract::ContinuationScore::sum);
                json!(sums.collect::<Vec<f64>>())
            });
            model
                .scorer()
                .ok_or("this model does not score")?
                .score(&mut queue);
            (queue.usage, queue.answers)
        }
        Some("generate") => {
            let most = work["max_tokens"].as_u64().unwrap_or(64) as u32;
            let temperature = work["temperature"].as_f64().unwrap_or(0.0);
            let mut seed = 0;
            let ask = |text| {
                seed += 1;
                Generate {
                    prompt: Prompt::plain(text),
                    sampling: Sampling {
                        temperature,
                        seed: Some(seed),
                        ..Sampling::greedy(most)
                    },
                }
            };
            let requests = texts(&work["prompts"]).into_iter().map(ask).collect();
            let mut queue = List::new(requests, |g: &mary_contract::Generated| json!(g.text));
            model
                .generator()
                .ok_or("this model does not write")?
                .generate(&mut queue);
            (queue.usage, queue.answers)
        }
        Some("observe") => {
            let ask = |text| Observe {
                picture: None,
                text,
                pools: vec![Pool::Mean, Pool::Last],
                layers: Layers::All,
                with_scores: true,
            };
            let requests = texts(&work["texts"]).into_iter().map(ask).collect();
            let mut queue = List::new(requests, |o: &mary_contract::Observed| {
                let layers = o.pools.iter().flat_map(|p| &p.layers);
                let sizes = layers.map(|l| {
                    let squares = l.vector.0.iter().map(|x| f64::from(*x) * f64::from(*x));
                    squares.sum::<f64>().sqrt()
                });
                json!(sizes.collect::<Vec<f64>>())
            });
            model
                .observer()
                .ok_or("this model shows nothing")?
                .observe(&mut queue);
            (queue.usage, queue.answers)
        }
        Some("raw") => raw(model, work)?,
        _ => Done::default(),
    })
}

/// Scores sequences of token numbers that share nothing, batches of so many rows.
fn raw(model: &LocalModel, work: &Value) -> Result<Done, Box<dyn Error>> {
    let sequences: Vec<Vec<u32>> = serde_json::from_value(work["sequences"].clone())?;
    let rows = work["rows"].as_u64().unwrap_or(10_240) as usize;
    let mut session = model.session(rows)?;
    let mut usage = Usage::default();
    let (mut rest, mut under_way, mut total) = (sequences.as_slice(), 0, 0.0f64);
    while !rest.is_empty() {
        let (mut batch, mut head, mut wanted, mut taken) = (Batch::default(), vec![], vec![], 0);
        for sequence in rest {
            if taken > 0 && batch.len() + sequence.len() > rows {
                break;
            }
            let first = batch.len();
            batch.push(sequence, &[], first);
            for (i, &token) in sequence.iter().enumerate().skip(1) {
                wanted.push(WantedToken {
                    row: head.len() as u32,
                    token,
                });
                head.push(first + i - 1);
            }
            taken += 1;
        }
        rest = &rest[taken..];
        usage.prompt_tokens += batch.len() as u64;
        model.install(|| {
            session.forward(&batch, None)?;
            session.ask(&head, &wanted)
        })?;
        under_way += 1;
        if under_way > 2 {
            total += session
                .collect()?
                .iter()
                .map(|&x| f64::from(x))
                .sum::<f64>();
            under_way -= 1;
        }
    }
    for _ in 0..under_way {
        total += session
            .collect()?
            .iter()
            .map(|&x| f64::from(x))
            .sum::<f64>();
    }
    Ok((usage, vec![(0, json!(total))]))
}

/// Relative errors of hidden states and logits against the golden files, family by family.
fn goldens(folder: &Path, work: &Value, settings: &ModelSettings) -> Result<(), Box<dyn Error>> {
    let mut lines = serde_json::Map::new();
    for name in texts(&work["families"]) {
        let place = folder.join(&name);
        let golden: Value =
            serde_json::from_str(&std::fs::read_to_string(place.join("golden.json"))?)?;
        let ids: Vec<u32> = serde_json::from_value(golden["ids"].clone())?;
        let hidden: Vec<Vector> = serde_json::from_value(golden["hidden"].clone())?;
        let logits: Option<Vector> = serde_json::from_value(golden["logits"].clone())?;
        let checkpoint = Checkpoint::open(&place)?;
        let model = LocalModel::from_checkpoint("hf/golden".parse()?, checkpoint, settings)?;
        let mut session = model.session(ids.len())?;
        let mut batch = Batch::default();
        batch.push(&ids, &[], 0);
        let mut worst = 0.0f64;
        let mut note = |error: f64| {
            worst = if error.is_nan() {
                f64::INFINITY
            } else {
                worst.max(error)
            }
        };
        let mut visit = |layer: usize, states: &[f32]| {
            note(
                hidden
                    .get(layer)
                    .map_or(f64::NAN, |want| relative(states, &want.0)),
            );
        };
        session.forward(&batch, Some(Watch::Rows(&mut visit)))?;
        let mut of_logits = None;
        if let Some(want) = logits {
            let rows: Vec<usize> = (0..ids.len()).collect();
            of_logits = Some(relative(&session.logits(&rows)?, &want.0));
        }
        lines.insert(name, json!({"hidden": worst, "logits": of_logits}));
    }
    writeln!(std::io::stdout(), "{}", Value::Object(lines))?;
    Ok(())
}

/// ‖a - b‖ / ‖b‖.
fn relative(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return f64::NAN;
    }
    let square = |x: f64| x * x;
    let difference: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(a - b))).sum();
    let size: f64 = b.iter().map(|b| square(f64::from(*b))).sum();
    (difference / size.max(1e-30)).sqrt()
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

/// The most memory this process has held, from Linux; 0 elsewhere.
fn peak_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
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
            cpu.linear(&x, Extent::reading(rows), &layer, &mut y, false);
            best = best.min(begin.elapsed().as_secs_f64());
        }
    });
    2.0 * (rows * inputs * outputs) as f64 / best / 1e9
}
