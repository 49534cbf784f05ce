//! Runs small enough to read, for the tests of this crate.

use std::collections::BTreeMap;

use mary_contract::{
    Ask, Capabilities, Exchange, Generate, Generated, Item, Judgement, Key, ModelCard,
    ModelSettings, Prompt, Reply, Request, Response, RunManifest, Sample, SampleId, Sampling,
    Target, TaskRun, TaskSettings, UnscoredReason,
};

pub const MODEL: &str = "builtin/small";
pub const TASK: &str = "htest/rhyme";

pub fn manifest(id: &str) -> RunManifest {
    let mut card = ModelCard::new(MODEL.parse().unwrap(), Capabilities::default());
    card.fingerprint = "f00d".into();
    RunManifest {
        schema: 1,
        id: id.into(),
        created: "2026-01-02T03:04:05Z".into(),
        version: "0.1.0".into(),
        command: vec!["mary".into(), "run".into()],
        models: vec![card],
        model_settings: ModelSettings::default(),
        judge: None,
        judge_choice: Default::default(),
        execution: Default::default(),
        tasks: vec![TaskRun {
            id: TASK.into(),
            version: 1,
            content: None,
            settings: TaskSettings::default(),
            limit: None,
            conventions: BTreeMap::from([("ties".into(), "one half".into())]),
            dataset_hash: None,
            source: Some(mary_contract::ItemSource::Published),
            ..TaskRun::default()
        }],
        trials: 1,
        seed: 42,
    }
}

pub fn id(item: impl Into<String>) -> SampleId {
    SampleId::new(MODEL, TASK, item, 0)
}

pub fn key(text: &str) -> Key {
    serde_json::from_value(blake3::hash(text.as_bytes()).to_hex().to_string().into()).unwrap()
}

/// A sample with a question, an answer and a verdict that depend on `n`.
pub fn sample(n: usize) -> Sample {
    let name = format!("item-{n:05}");
    let request = Request::Generate(Generate {
        prompt: Prompt::plain(format!(
            "Does word {n} rhyme with the next?\nA) yes\nB) no\n"
        )),
        sampling: Sampling::greedy(4),
    });
    let target = Target::Choice {
        question: format!("Does word {n} rhyme with the next?"),
        options: vec!["yes".into(), "no".into()],
        correct: n % 2,
    };
    let answer = ["A", "B", "I cannot say"][n % 3];
    let judgement = match n % 3 {
        2 => Judgement::unscored(UnscoredReason::Unparsed),
        read => Judgement::scored(if read == n % 2 { 1.0 } else { 0.0 })
            .read_as(answer)
            .measured("strict", 0.1 + 0.2),
    };
    let mut item = Item::new(name.clone(), target, vec![])
        .tagged("label", if n.is_multiple_of(2) { "A" } else { "B" })
        .in_stratum("x");
    item.cluster = Some(format!("c{}", n % 7));
    Sample {
        id: id(name.clone()),
        item,
        exchanges: vec![Exchange {
            key: key(&name),
            ask: Ask::subject(request),
            reply: Ok(Reply::bare(Response::Generated(Generated::whole(
                answer.into(),
            )))),
        }],
        judgement,
    }
}
