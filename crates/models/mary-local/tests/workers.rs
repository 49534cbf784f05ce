//! One model on several devices: the same scores as on one, every request answered once, questions
//! that answers bring are served too, and stopping stops all workers.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;

use mary_contract::{
    ErrorKind, Job, Model, ModelError, ModelSettings, Prompt, Provider, Reply, Score, Scored,
    Start, Ticket, WorkQueue,
};
use mary_local::provider::HF;

/// Asks `first` at once; each answer brings one more question until `all` are asked.
struct Asking {
    ready: VecDeque<Job<Score>>,
    later: VecDeque<Job<Score>>,
    answers: BTreeMap<u64, f64>,
    stop_after: usize,
}

impl Asking {
    fn new(first: usize, all: usize) -> Self {
        let words = ["cat", "dog", "bird", "child", "stone", "light", "river"];
        let job = |i: usize| Job {
            ticket: Ticket(i as u64),
            request: Score {
                prefix: Prompt::plain(format!("the {} sees {i}", words[i % words.len()])),
                continuations: vec![format!(" the {}", words[i / 7 % words.len()])],
                start: Start::Model,
                details: Default::default(),
            },
        };
        let mut ready: VecDeque<_> = (0..all).map(job).collect();
        let later = ready.split_off(first);
        Self {
            ready,
            later,
            answers: BTreeMap::new(),
            stop_after: usize::MAX,
        }
    }
}

impl WorkQueue<Score, Scored> for Asking {
    fn next(&mut self) -> Option<Job<Score>> {
        self.ready.pop_front()
    }

    fn answer(
        &mut self,
        ticket: Ticket,
        answer: Result<Reply<Scored>, ModelError>,
    ) -> ControlFlow<()> {
        let scored = answer.expect("a score").answer;
        let sum = scored.continuations[0].logprobs.iter().copied();
        let before = self.answers.insert(ticket.0, sum.map(f64::from).sum());
        assert!(before.is_none(), "{ticket:?} answered twice");
        self.ready.extend(self.later.pop_front());
        if self.answers.len() >= self.stop_after {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

fn settings(device: &str) -> ModelSettings {
    ModelSettings {
        device: Some(device.to_owned()),
        threads: Some(1),
        ..ModelSettings::default()
    }
}

fn open(device: &str) -> Box<dyn Model> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/gpt_neox");
    let model = format!("hf/{}", folder.display()).parse().unwrap();
    HF.open(&model, &settings(device)).unwrap()
}

#[test]
fn two_workers_give_the_scores_of_one() {
    for (first, all) in [(600, 600), (3, 200), (1, 1), (0, 0)] {
        let answers = |device: &str| {
            let mut queue = Asking::new(first, all);
            open(device).scorer().unwrap().score(&mut queue);
            assert!(queue.ready.is_empty(), "requests were left lying");
            queue.answers
        };
        // Three copies, one of them divided.
        let (one, two) = (answers("cpu"), answers("cpu,cpu+cpu,cpu"));
        assert_eq!((one.len(), two.len()), (all, all));
        for (ticket, score) in &one {
            let other = two[ticket];
            assert!((score - other).abs() < 1e-4, "{ticket}: {score} {other}");
        }
    }
}

#[test]
fn stopping_the_queue_stops_all_workers() {
    let mut queue = Asking::new(2000, 2000);
    queue.stop_after = 40;
    open("cpu,cpu").scorer().unwrap().score(&mut queue);
    assert_eq!(queue.answers.len(), 40);
}

#[test]
fn the_card_names_every_device_and_cards_do_not_mix_with_the_processor() {
    let model = open("cpu, cpu");
    let device = &model.card().conventions["device"];
    assert_eq!(device.matches("cpu").count(), 2, "{device}");
    assert_eq!(model.card().fingerprint, open("cpu").card().fingerprint);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/gpt_neox");
    let model = format!("hf/{}", folder.display()).parse().unwrap();
    let error = HF.card(&model, &settings("cpu,cuda:0")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadRequest, "{error}");
}
