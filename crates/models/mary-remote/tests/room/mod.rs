//! What the integration tests share: a queue, a working directory with a `.env`, and models opened
//! against the faulty server.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::LazyLock;

use mary_contract::{
    Generate, Generated, Job, Model, ModelError, ModelSettings, Prompt, Provider, Reply, Sampling,
    Ticket, WorkQueue,
};
use mary_remote::{Ledger, providers_with};
use mary_testkit::faulty_server::FaultyServer;

/// The key that must never be seen again.
pub const KEY: &str = "sk-mary-test-7Qz9pL2xW4vN8rT6";

/// A working directory of our own, whose `.env` holds the key.
pub static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join(".env"),
        format!("MARY_TEST_KEY=\"{KEY}\"\n"),
    )
    .unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    folder
});

/// A queue that counts.
pub struct TestQueue<Q, A> {
    pub waiting: VecDeque<Job<Q>>,
    pub answers: HashMap<Ticket, Vec<Result<Reply<A>, ModelError>>>,
    pub held: usize,
    pub most_held: usize,
    pub stop_after: Option<usize>,
    pub keep: bool,
    pub count: usize,
}

impl<Q, A> TestQueue<Q, A> {
    pub fn new(requests: impl IntoIterator<Item = Q>) -> Self {
        let waiting = requests
            .into_iter()
            .enumerate()
            .map(|(n, request)| Job {
                ticket: Ticket(n as u64),
                request,
            })
            .collect();
        Self {
            waiting,
            answers: HashMap::new(),
            held: 0,
            most_held: 0,
            stop_after: None,
            keep: true,
            count: 0,
        }
    }

    /// The only answer to a ticket.
    pub fn only(&self, ticket: u64) -> &Result<Reply<A>, ModelError> {
        let answers = &self.answers[&Ticket(ticket)];
        assert_eq!(answers.len(), 1, "ticket {ticket}");
        &answers[0]
    }
}

impl<Q, A> WorkQueue<Q, A> for TestQueue<Q, A> {
    fn next(&mut self) -> Option<Job<Q>> {
        let job = self.waiting.pop_front()?;
        self.held += 1;
        self.most_held = self.most_held.max(self.held);
        Some(job)
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Reply<A>, ModelError>) -> ControlFlow<()> {
        self.held -= 1;
        self.count += 1;
        let fatal = answer.as_ref().is_err_and(ModelError::is_fatal);
        if self.keep {
            self.answers.entry(ticket).or_default().push(answer);
        }
        if fatal || self.stop_after.is_some_and(|n| self.count >= n) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

pub fn settings(server: &FaultyServer, path: &str, args: &[(&str, &str)]) -> ModelSettings {
    LazyLock::force(&FOLDER);
    let mut settings = ModelSettings {
        base_url: Some(server.url(path)),
        ..ModelSettings::default()
    };
    settings
        .args
        .insert("key_env".into(), "MARY_TEST_KEY".into());
    for (name, value) in args {
        settings.args.insert((*name).into(), (*value).into());
    }
    settings
}

pub fn try_open(
    model: &str,
    settings: &ModelSettings,
    ledger: &Ledger,
) -> Result<Box<dyn Model>, ModelError> {
    LazyLock::force(&FOLDER);
    let model: mary_contract::ModelRef = model.parse().unwrap();
    let provider: Box<dyn Provider> = providers_with(ledger)
        .into_iter()
        .find(|p| p.name() == model.provider)
        .unwrap();
    provider.open(&model, settings)
}

pub fn open(model: &str, settings: &ModelSettings) -> Box<dyn Model> {
    try_open(model, settings, &Ledger::new()).unwrap()
}

pub fn ask(text: impl Into<String>) -> Generate {
    Generate::new(Prompt::chat(text.into()), Sampling::greedy(16))
}

pub fn generate(model: &dyn Model, requests: Vec<Generate>) -> TestQueue<Generate, Generated> {
    let mut queue = TestQueue::new(requests);
    model.generator().unwrap().generate(&mut queue);
    queue
}
