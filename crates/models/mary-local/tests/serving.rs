//! A tiny model served over a queue: scores do not depend on batching or sharing, the conventions of
//! the contract hold, hidden states are pooled as asked, answers are reproducible.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;

use mary_contract::{
    ErrorKind, Finish, Generate, Job, Layers, Model, ModelError, ModelSettings, Observe, Pool,
    Prompt, Reply, Sampling, Score, Scored, Start, Ticket, WorkQueue,
};
use mary_local::{LocalModel, self_check};
use mary_weights::Checkpoint;

/// Hands out requests in order and keeps the answers.
pub struct TestQueue<Q, A> {
    waiting: VecDeque<Job<Q>>,
    answers: BTreeMap<u64, Result<Reply<A>, ModelError>>,
    stop_after: usize,
}

impl<Q, A> TestQueue<Q, A> {
    pub fn new(requests: Vec<Q>) -> Self {
        let jobs = requests.into_iter().zip(0..);
        let waiting = jobs
            .map(|(request, i)| Job {
                ticket: Ticket(i),
                request,
            })
            .collect();
        Self {
            waiting,
            answers: BTreeMap::new(),
            stop_after: usize::MAX,
        }
    }

    pub fn answers(self) -> Vec<Result<A, ModelError>> {
        assert!(self.waiting.is_empty(), "requests were left lying");
        self.answers
            .into_values()
            .map(|r| r.map(|r| r.answer))
            .collect()
    }
}

impl<Q, A> WorkQueue<Q, A> for TestQueue<Q, A> {
    fn next(&mut self) -> Option<Job<Q>> {
        self.waiting.pop_front()
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Reply<A>, ModelError>) -> ControlFlow<()> {
        assert!(
            self.answers.insert(ticket.0, answer).is_none(),
            "{ticket:?} answered twice"
        );
        if self.answers.len() >= self.stop_after {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

pub fn open(name: &str, batch_size: Option<usize>, args: &[(&str, &str)]) -> LocalModel {
    open_on(2, name, batch_size, args)
}

/// The same on so many threads.
pub fn open_on(
    threads: usize,
    name: &str,
    batch_size: Option<usize>,
    args: &[(&str, &str)],
) -> LocalModel {
    open_over(None, (threads, name), batch_size, args)
}

pub fn open_over(
    device: Option<&str>,
    (threads, name): (usize, &str),
    batch_size: Option<usize>,
    args: &[(&str, &str)],
) -> LocalModel {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    let args = args
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    let settings = ModelSettings {
        batch_size,
        args,
        threads: Some(threads),
        device: device.map(str::to_owned),
        ..ModelSettings::default()
    };
    let checkpoint = Checkpoint::open(&folder).unwrap();
    let name = name.rsplit('/').next().unwrap();
    LocalModel::from_checkpoint(format!("hf/{name}").parse().unwrap(), checkpoint, &settings)
        .unwrap()
}

pub fn score(prefix: &str, continuations: &[&str]) -> Score {
    Score {
        prefix: Prompt::plain(prefix),
        continuations: continuations.iter().map(|c| (*c).to_owned()).collect(),
        start: Start::Model,
        details: Default::default(),
    }
}

/// Requests with long, short and no shared beginnings.
pub fn requests() -> Vec<Score> {
    let shots =
        "the old cat sleeps near the river and the young dog runs over the stone ".repeat(2);
    let mut all = vec![];
    for (i, noun) in ["cat", "dog", "bird", "child", "stone", "light"]
        .iter()
        .enumerate()
    {
        all.push(score(
            &format!("{shots}the {noun}"),
            &[" sleeps", " sings and falls", " is red"],
        ));
        all.push(score(
            "",
            &[
                &format!("the {noun} runs"),
                &format!("a small {noun} that reads is old"),
            ],
        ));
        all.push(score(
            ["one two", "three", "not"][i % 3],
            &[&format!(" {noun}")],
        ));
    }
    all
}

pub fn serve(model: &LocalModel, requests: Vec<Score>) -> Vec<Scored> {
    let mut queue = TestQueue::new(requests);
    model.scorer().unwrap().score(&mut queue);
    queue.answers().into_iter().map(Result::unwrap).collect()
}

fn worst(a: &[Scored], b: &[Scored]) -> f32 {
    let numbers = |all: &[Scored]| -> Vec<f32> {
        all.iter()
            .flat_map(|s| &s.continuations)
            .flat_map(|c| c.logprobs.clone())
            .collect()
    };
    let (a, b) = (numbers(a), numbers(b));
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(&b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

#[test]
fn batch_size_tree_and_chunks_change_no_score() {
    for name in ["llama", "gpt_neox", "mistral", "gemma2", "falcon_rw"] {
        let plain = serve(&open(name, Some(1), &[("trie", "off")]), requests());
        assert!(
            plain
                .iter()
                .all(|s| s.continuations.iter().all(|c| !c.logprobs.is_empty()))
        );
        for batch in [None, Some(1), Some(7), Some(64)] {
            for args in [
                &[][..],
                &[("trie", "off")],
                &[("rows", "5")],
                &[("matmul", "vectors")],
            ] {
                let other = serve(&open(name, batch, args), requests());
                let difference = worst(&plain, &other);
                assert!(
                    difference < 1e-4,
                    "{name} {batch:?} {args:?}: {difference:e}"
                );
            }
        }
    }
}

#[test]
fn the_self_check_passes_and_says_what_it_tolerates() {
    let model = open("llama", None, &[("selfcheck", "on")]);
    let check = self_check(&model, &["the cat sleeps", "the cat runs and falls"]).unwrap();
    assert!(check.tokens > 6 && check.worst <= check.tolerance);
}

#[test]
fn what_stands_first_decides_whether_the_first_token_is_scored() {
    let model = open("llama", None, &[]);
    let ask = |start| {
        let mut request = score("", &["the cat sleeps"]);
        request.start = start;
        serve(&model, vec![request])
            .remove(0)
            .continuations
            .remove(0)
    };
    let (by_model, always, never) = (ask(Start::Model), ask(Start::Always), ask(Start::Never));
    assert_eq!(by_model.tokens.len(), 3, "the tokenizer puts <s> first");
    assert_eq!(by_model, always);
    assert!(!always.first_unscored && never.first_unscored);
    assert_eq!(never.tokens.len(), 2);
}

#[test]
fn text_beyond_the_context_is_scored_through_windows() {
    let model = open("gpt2", None, &[]);
    let long = "the cat sleeps and the dog runs ".repeat(12);
    let scored = serve(&model, vec![score("", &[long.trim_end()])]).remove(0);
    let continuation = &scored.continuations[0];
    assert!(continuation.windowed);
    assert_eq!(continuation.tokens.len(), 84);
    assert_eq!(continuation.logprobs.len(), 84);
}

#[test]
fn stopping_the_queue_stops_the_model() {
    let model = open("llama", Some(1), &[]);
    let mut queue = TestQueue::new(requests());
    queue.stop_after = 2;
    model.scorer().unwrap().score(&mut queue);
    assert_eq!(queue.answers.len(), 2);
}

#[test]
fn hidden_states_are_pooled_over_the_tokens_asked_for() {
    let model = open("llama", None, &[]);
    let text = "the old cat sleeps".to_owned();
    let pools = vec![
        Pool::Span { start: 8, end: 11 },
        Pool::Mean,
        Pool::Last,
        Pool::First,
    ];
    let ask = |text: &str, pools: &[Pool], layers| Observe {
        picture: None,
        text: text.to_owned(),
        pools: pools.to_vec(),
        layers,
        with_scores: true,
    };
    let empty = Pool::Span { start: 3, end: 4 };
    let mut queue = TestQueue::new(vec![
        ask(&text, &pools, Layers::All),
        ask("the old cat", &[Pool::Last], Layers::These(vec![-1])),
        ask(&text, &[empty], Layers::Last),
    ]);
    model.observer().unwrap().observe(&mut queue);
    let answers = queue.answers();
    let first = answers[0].as_ref().unwrap();
    assert_eq!(
        first.pools.iter().map(|p| p.tokens).collect::<Vec<_>>(),
        [1, 4, 1, 1]
    );
    assert_eq!(first.pools[0].layers.len(), 3);
    // A decoder's state after `cat` does not know what follows.
    let (a, b) = (
        &first.pools[0].layers[2].vector.0,
        &answers[1].as_ref().unwrap().pools[0].layers[0].vector.0,
    );
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4));
    let scores = first.scores.as_ref().unwrap();
    let scored = serve(&model, vec![score("", &[&text])])
        .remove(0)
        .continuations
        .remove(0);
    assert_eq!(scores.tokens, scored.tokens);
    assert!(
        scores
            .logprobs
            .iter()
            .zip(&scored.logprobs)
            .all(|(a, b)| (a - b).abs() < 1e-4)
    );
    assert_eq!(answers[2].as_ref().unwrap_err().kind, ErrorKind::BadRequest);
}

#[test]
fn encoders_observe_and_do_nothing_else() {
    let model = open("bert", None, &[]);
    assert!(model.scorer().is_none() && model.generator().is_none());
    assert!(model.observer().is_some());
    assert!(!model.card().capabilities.score);
}

#[test]
fn answers_do_not_depend_on_who_else_is_asked() {
    let sampling = |temperature, seed| Sampling {
        temperature,
        top_p: Some(0.95),
        top_k: Some(20),
        max_tokens: 12,
        stop: vec![],
        seed: Some(seed),
    };
    let prompts: Vec<Generate> = (0..9)
        .map(|i| Generate {
            prompt: Prompt::plain(format!(
                "the old cat sleeps near the river and the young dog runs over the {}",
                ["stone", "river", "light"][i % 3]
            )),
            sampling: sampling(if i < 3 { 0.0 } else { 0.8 }, i as u64),
        })
        .collect();
    let run = |batch| {
        let mut queue = TestQueue::new(prompts.clone());
        open("llama", Some(batch), &[])
            .generator()
            .unwrap()
            .generate(&mut queue);
        queue
            .answers()
            .into_iter()
            .map(Result::unwrap)
            .collect::<Vec<_>>()
    };
    let alone = run(1);
    assert_eq!(alone, run(4));
    assert_eq!(alone, run(16));
    assert!(alone.iter().any(|a| !a.text.is_empty()));
}

/// More prompts than places, of very different lengths: whoever takes the place of a finished answer writes
/// what it would have written alone, and one too long for any place has its turn too.
#[test]
fn places_of_finished_answers_are_taken_by_others() {
    let prompts: Vec<Generate> = (0..23)
        .map(|i| Generate {
            prompt: Prompt::plain(format!(
                "the old cat sleeps near the river and the {}",
                "stone ".repeat(1 + i * 7 % 11)
            )),
            sampling: Sampling::greedy([3, 1, 17, 0, 9, 40][i % 6]),
        })
        .collect();
    let run = |batch| {
        let mut queue = TestQueue::new(prompts.clone());
        let model = open("llama", Some(batch), &[]);
        model.generator().unwrap().generate(&mut queue);
        let answers = queue.answers().into_iter().map(Result::unwrap);
        answers.collect::<Vec<_>>()
    };
    let alone = run(1);
    for batch in [2, 3, 8] {
        assert_eq!(alone, run(batch), "{batch} together");
    }
}

/// A server's queue: requests come a few at a time and join, some of those who asked have gone.
struct Joining {
    inner: TestQueue<Generate, mary_contract::Generated>,
    given: u64,
    gone: fn(u64) -> bool,
}

impl WorkQueue<Generate, mary_contract::Generated> for Joining {
    fn next(&mut self) -> Option<Job<Generate>> {
        self.given += 1;
        match self.given % 4 {
            0 => None,
            _ => self.inner.next(),
        }
    }

    fn answer(
        &mut self,
        ticket: Ticket,
        answer: Result<Reply<mary_contract::Generated>, ModelError>,
    ) -> ControlFlow<()> {
        self.inner.answer(ticket, answer)
    }

    fn joins(&self) -> bool {
        true
    }

    fn forgotten(&mut self, ticket: Ticket) -> bool {
        (self.gone)(ticket.0)
    }
}

#[test]
fn what_was_read_for_one_client_is_not_read_again_for_the_next() {
    let prompts: Vec<Generate> = (0..40)
        .map(|i| Generate {
            prompt: Prompt::plain(format!(
                "{} and the {}",
                ["the old cat sleeps near the river ", "a young dog "][i / 3 % 2].repeat(3),
                "stone ".repeat(1 + i * 7 % 11)
            )),
            sampling: Sampling::greedy([3, 1, 17, 0, 9, 40][i % 6]),
        })
        .collect();
    let model = open("llama", None, &[]);
    let mut alone = vec![];
    for prompt in &prompts {
        let mut queue = TestQueue::new(vec![prompt.clone()]);
        let other = open("llama", None, &[]);
        other.generator().unwrap().generate(&mut queue);
        alone.extend(
            queue
                .answers()
                .into_iter()
                .map(|answer| answer.unwrap().text),
        );
    }
    for (round, gone) in [|_| false, |ticket| ticket % 5 == 3, |_| false]
        .into_iter()
        .enumerate()
    {
        let mut queue = Joining {
            inner: TestQueue::new(prompts.clone()),
            given: 0,
            gone,
        };
        while !queue.inner.waiting.is_empty() {
            model.generator().unwrap().generate(&mut queue);
        }
        let (mut read, mut cached) = (0, 0);
        for (ticket, answer) in queue.inner.answers {
            match answer {
                Err(error) => assert!(gone(ticket), "{error}"),
                // One who has gone may still be answered, where the answer was a token away.
                Ok(reply) => {
                    assert_eq!(
                        reply.answer.text, alone[ticket as usize],
                        "{round}, {ticket}"
                    );
                    read += reply.meta.usage.prompt_tokens;
                    cached += reply.meta.usage.cached_tokens;
                }
            }
        }
        assert!(cached > read / 2, "{round}: {cached} of {read} tokens");
    }
}

#[test]
fn stop_strings_and_limits_end_an_answer() {
    let model = open("llama", None, &[]);
    let ask = |stop: Vec<String>, max_tokens| {
        let prompt = Prompt::plain("the cat");
        let sampling = Sampling {
            stop,
            ..Sampling::greedy(max_tokens)
        };
        let mut queue = TestQueue::new(vec![Generate { prompt, sampling }]);
        model.generator().unwrap().generate(&mut queue);
        queue.answers().remove(0).unwrap()
    };
    let free = ask(vec![], 8);
    let words: Vec<&str> = free.text.split_whitespace().collect();
    if words.len() > 2 {
        let cut = ask(vec![words[1].to_owned()], 8);
        assert_eq!(cut.finish, Finish::Stop);
        assert!(!cut.text.contains(words[1]));
    }
    assert_eq!(ask(vec![], 1).finish, Finish::Length);
}
