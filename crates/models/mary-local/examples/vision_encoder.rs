//! Times a model that sees: pictures with one question each, and many questions about one picture. Run by
//! `tools/bench_vision.py` beside transformers.
//!
//!     cargo run -p mary-local --example vision_encoder -- FOLDER THREADS PICTURE.png …

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Instant;

use mary_contract::{
    Image, Job, Model, ModelError, ModelSettings, Part, Prompt, PromptForm, Reply, Score, Scored,
    Speaker, Start, Ticket, Turn, WorkQueue,
};
use mary_local::LocalModel;
use mary_weights::Checkpoint;

struct Line {
    waiting: VecDeque<Job<Score>>,
    answers: Vec<(u64, f32)>,
    failed: Option<ModelError>,
}

impl WorkQueue<Score, Scored> for Line {
    fn next(&mut self) -> Option<Job<Score>> {
        self.waiting.pop_front()
    }

    fn answer(
        &mut self,
        ticket: Ticket,
        answer: Result<Reply<Scored>, ModelError>,
    ) -> ControlFlow<()> {
        match answer {
            Ok(reply) => {
                let all = reply.answer.continuations.iter().flat_map(|c| &c.logprobs);
                self.answers.push((ticket.0, all.sum()));
            }
            Err(error) => self.failed = Some(error),
        }
        ControlFlow::Continue(())
    }
}

fn ask(picture: &[u8], question: &str) -> Score {
    let image = Part::Image(Image {
        media_type: "image/png".to_owned(),
        data: picture.to_vec(),
    });
    Score {
        prefix: Prompt {
            form: PromptForm::Plain,
            system: None,
            turns: vec![Turn {
                speaker: Speaker::User,
                parts: vec![image, Part::Text(format!(" {question}"))],
            }],
        },
        continuations: vec![" red stone".to_owned()],
        start: Start::Model,
        details: Default::default(),
    }
}

/// Seconds of processor time that this process has used, all threads together; what Linux tells in
/// hundredths. A busy machine stretches the clock and leaves this nearly as it is.
fn processor() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program is in brackets and may hold anything.
    let mut fields = told.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / 100.0)
}

/// Seconds by the clock and of processor time.
struct Took {
    clock: f64,
    processor: f64,
}

fn run(
    model: &LocalModel,
    requests: Vec<Score>,
) -> Result<(Took, Vec<f32>), Box<dyn std::error::Error>> {
    let jobs = requests.into_iter().zip(0..);
    let mut line = Line {
        waiting: jobs
            .map(|(request, i)| Job {
                ticket: Ticket(i),
                request,
            })
            .collect(),
        answers: vec![],
        failed: None,
    };
    let (start, before) = (Instant::now(), processor());
    if let Some(scorer) = model.scorer() {
        scorer.score(&mut line);
    }
    let took = Took {
        clock: start.elapsed().as_secs_f64(),
        processor: processor().unwrap_or(0.0) - before.unwrap_or(0.0),
    };
    if let Some(error) = line.failed {
        return Err(error.to_string().into());
    }
    line.answers.sort_by_key(|(ticket, _)| *ticket);
    Ok((took, line.answers.into_iter().map(|(_, x)| x).collect()))
}

#[allow(
    clippy::print_stdout,
    reason = "a program that prints what it measured"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, threads, pictures @ ..] = args.as_slice() else {
        return Err("expected FOLDER THREADS PICTURE.png …".into());
    };
    let settings = ModelSettings {
        threads: Some(threads.parse()?),
        ..ModelSettings::default()
    };
    let checkpoint = Checkpoint::open(folder.as_ref())?;
    let model = LocalModel::from_checkpoint("hf/bench".parse()?, checkpoint, &settings)?;
    let files: Result<Vec<Vec<u8>>, _> = pictures.iter().map(std::fs::read).collect();
    let files = files?;
    let (last, rest) = files.split_last().ok_or("no pictures")?;
    let words = ["old", "young", "small", "great", "red", "blue"];
    let question = |i: usize| {
        let word = |n: usize| words[n % words.len()];
        format!(
            "the {} cat sleeps under the {} and {}",
            word(i),
            word(i / 6),
            word(i / 2)
        )
    };
    let each = rest.iter().map(|file| ask(file, &question(0))).collect();
    let (many, scores) = run(&model, each)?;
    let about = (0..20).map(|i| ask(last, &question(i))).collect();
    let (twenty, answers) = run(&model, about)?;
    println!(
        "{}",
        serde_json::json!({
            "pictures": rest.len(), "seconds": many.clock, "processor": many.processor, "scores": scores,
            "questions": 20, "question_seconds": twenty.clock, "question_processor": twenty.processor,
            "answers": answers,
        })
    );
    Ok(())
}
