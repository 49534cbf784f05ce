//! A task of one's own, run on the built-in model: whether verbs agree with their subjects.
//! `cargo run -p mary-lab --example own_task` prints what happens and what came of it.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, atomic::AtomicBool};

use mary_contract::*;
use mary_lab::builtin::Builtin;
use mary_lab::{Laboratory, RunSpec, TaskChoice};

struct Agreement(TaskCard);

impl Task for Agreement {
    fn card(&self) -> &TaskCard {
        &self.0
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let nouns = ["dog", "cat", "bird", "girl", "boy", "cow"];
        Ok(Box::new(nouns.into_iter().map(|noun| {
            let (good, bad) = (format!("The {noun} runs."), format!("The {noun} run."));
            let ask = Ask::subject(Request::Score(Score::new(
                Prompt::plain(""),
                vec![good.clone(), bad.clone()],
                Start::Model,
            )));
            Ok(Item::new(noun, Target::Pair { good, bad }, vec![ask]))
        })))
    }

    fn judge(&self, _: &TaskSettings, _: &Item, answers: &[Reply]) -> Judgement {
        let scored = answers.first().and_then(|a| a.answer.as_scored());
        match scored.map(|s| s.continuations.as_slice()) {
            Some([good, bad]) => Judgement::scored(f64::from(good.sum() > bad.sum())),
            _ => Judgement::failed(ErrorKind::Internal, "two continuations were asked for"),
        }
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        BTreeMap::from([("score".into(), "sum of log-probabilities".into())])
    }
}

/// Defines, runs and adds up.
pub fn run(folder: &std::path::Path) -> Result<RunSummary, Box<dyn Error>> {
    let about = "Whether the verb that agrees with its subject is the more probable one.";
    let card = TaskCard::new("mine/agreement", "Agreement", about);
    let mut tasks = Registry::new();
    tasks.add_task(Arc::new(Agreement(card)))?;
    let lab = Laboratory::new(folder)
        .tasks(tasks)
        .providers([Box::new(Builtin) as _]);
    let spec = RunSpec::new("builtin/nano".parse()?, [TaskChoice::new("mine/agreement")]);
    let mut events = |event: &Event<'_>| {
        if let Event::SampleFinished(sample) = event {
            eprintln!("{}: {:?}", sample.id.item, sample.judgement.outcome);
        }
        Ok(())
    };
    let mut run = lab.prepare(&spec)?.open()?;
    Ok(run.go(&mut events, &AtomicBool::new(false))?)
}

#[allow(dead_code, reason = "a test includes this file and calls `run`")]
fn main() -> Result<(), Box<dyn Error>> {
    for row in run(&std::env::temp_dir().join("mary-own-task"))?.rows {
        eprintln!("{} on {}: {:?}", row.model, row.task, row.score);
    }
    Ok(())
}
