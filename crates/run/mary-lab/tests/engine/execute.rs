//! What the engine promises, with a scripted model.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::AtomicBool;

use mary_contract::*;
use mary_lab::engine::EngineError;
use mary_lab::engine::execute::{Execution, Pace, Participants, execute};
use mary_lab::engine::select::{Survey, survey};
use mary_testkit::scripted::Scripted;

/// Asks whether a number is even; every third item asks a judge to read the answer.
struct Parity {
    items: usize,
    duplicate: bool,
}

static CARD: TaskCard = TaskCard {
    id: text("test/parity"),
    family: text("test"),
    version: 1,
    title: text("Parity"),
    about: text("Whether a number is even."),
    chance: Some(0.5),
    human: None,
    params: Param::list(&[]),
    dataset: None,
    citation: Citation::new("", ""),
    starter: None,
    content: None,
};

impl Task for Parity {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs {
            generate: true,
            judge: true,
            ..Needs::default()
        }
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let duplicate = self.duplicate;
        Ok(Box::new((0..self.items).map(move |n| {
            let prompt = Prompt::plain(format!("Is {n} even?"));
            let sampling = Sampling {
                temperature: 0.7,
                ..Sampling::greedy(5)
            };
            let ask = Ask::subject(Request::Generate(Generate::new(prompt, sampling)));
            let target = Target::Text(if n % 2 == 0 { "yes" } else { "no" }.into());
            let id = if duplicate && n > 0 {
                "same".to_owned()
            } else {
                n.to_string()
            };
            Ok(Item::new(id, target, vec![ask]).in_stratum((n % 2).to_string()))
        })))
    }

    fn follow_up(
        &self,
        _: &TaskSettings,
        item: &Item,
        answers: &[Reply],
    ) -> Result<Vec<Ask>, TaskError> {
        let wants_judge = item.id.parse::<usize>().is_ok_and(|n| n % 3 == 0);
        if answers.len() > 1 || !wants_judge {
            return Ok(vec![]);
        }
        let text = answers[0]
            .answer
            .as_generated()
            .map(|g| g.text.clone())
            .unwrap_or_default();
        let prompt = Prompt::plain(format!("Read: {text} for {}", item.id));
        Ok(vec![Ask::judge(Request::Generate(Generate {
            prompt,
            sampling: Sampling::greedy(1),
        }))])
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let text = answers[0].answer.as_generated().map(|g| g.text.as_str());
        let right = matches!((&item.target, text), (Target::Text(t), Some(a)) if t == a);
        Judgement::scored(f64::from(u8::from(right)))
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

#[derive(Default)]
struct Memory(HashMap<String, Reply>);

impl Cache for Memory {
    fn recall(&mut self, key: &Key) -> Result<Option<Reply>, StoreError> {
        Ok(self.0.get(key.as_str()).cloned())
    }

    fn keep(&mut self, key: &Key, reply: &Reply) -> Result<(), StoreError> {
        self.0.insert(key.as_str().to_owned(), reply.clone());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[derive(Default)]
struct Log {
    samples: Vec<Sample>,
    full_after: Option<usize>,
}

impl EventObserver for Log {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), StoreError> {
        if let Event::SampleFinished(sample) = event {
            if self.full_after.is_some_and(|n| self.samples.len() >= n) {
                let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
                return Err(StoreError::Io {
                    path: "samples.jsonl".into(),
                    source,
                });
            }
            self.samples.push((*sample).clone());
        }
        Ok(())
    }
}

struct Room {
    task: Parity,
    settings: TaskSettings,
    survey: Survey,
    finished: HashSet<(String, u32)>,
    stop: AtomicBool,
    trials: u32,
}

impl Room {
    fn new(items: usize) -> Self {
        let task = Parity {
            items,
            duplicate: false,
        };
        let settings = TaskSettings::default();
        let survey = survey(&task, &settings, &NoData, None).unwrap();
        let (finished, stop) = (HashSet::new(), AtomicBool::new(false));
        Self {
            task,
            settings,
            survey,
            finished,
            stop,
            trials: 1,
        }
    }

    fn run(
        &self,
        subject: &dyn Model,
        judge: &dyn Model,
        cache: &mut dyn Cache,
        log: &mut Log,
    ) -> Result<(), EngineError> {
        let pace = Pace {
            window: 7,
            in_flight: 21,
            bytes: 1 << 20,
            rounds: 4,
        };
        let execution = Execution {
            participants: Participants {
                subject,
                judge: Some(judge),
            },
            task: &self.task,
            settings: &self.settings,
            data: &NoData,
            survey: &self.survey,
            given: None,
            trials: self.trials,
            seed: 0,
            finished: &|item, trial| self.finished.contains(&(item.to_owned(), trial)),
            already: self.finished.len(),
            stop: &self.stop,
            pace,
        };
        execute(&execution, cache, log)
    }
}

fn even() -> Scripted {
    Scripted::new("even", |prompt| {
        let n: usize = prompt
            .trim_matches(|c: char| !c.is_ascii_digit())
            .parse()
            .unwrap_or(1);
        Ok(if n.is_multiple_of(2) { "yes" } else { "no" }.to_owned())
    })
    .window(5)
}

#[test]
fn every_item_and_trial_ends_once_with_its_follow_ups() {
    let mut room = Room::new(100);
    room.trials = 3;
    let (subject, judge) = (even(), Scripted::saying("fine"));
    let mut log = Log::default();
    room.run(&subject, &judge, &mut Memory::default(), &mut log)
        .unwrap();
    let ids: HashSet<_> = log.samples.iter().map(|s| s.id.clone()).collect();
    assert_eq!((log.samples.len(), ids.len()), (300, 300));
    assert_eq!(judge.asked(), 34 * 3);
    assert!(
        log.samples
            .iter()
            .all(|s| s.judgement.outcome == Outcome::Scored(1.0))
    );
    let exchanges = |id: &str| {
        log.samples
            .iter()
            .find(|s| s.id.item == id)
            .map(|s| s.exchanges.len())
    };
    assert_eq!((exchanges("3"), exchanges("4")), (Some(2), Some(1)));
}

#[test]
fn trials_are_drawn_from_seeds_of_their_own() {
    let mut room = Room::new(2);
    room.trials = 2;
    let mut log = Log::default();
    room.run(&even(), &even(), &mut Memory::default(), &mut log)
        .unwrap();
    let seeds: HashSet<_> = log
        .samples
        .iter()
        .filter_map(|s| match &s.exchanges[0].ask.request {
            Request::Generate(g) => g.sampling.seed,
            _ => None,
        })
        .collect();
    assert_eq!(seeds.len(), 4);
}

#[test]
fn what_was_answered_before_is_not_asked_again() {
    let room = Room::new(50);
    let mut cache = Memory::default();
    room.run(&even(), &even(), &mut cache, &mut Log::default())
        .unwrap();
    let (subject, judge) = (even(), even());
    let mut log = Log::default();
    room.run(&subject, &judge, &mut cache, &mut log).unwrap();
    assert_eq!(
        (subject.asked(), judge.asked(), log.samples.len()),
        (0, 0, 50)
    );
}

#[test]
fn finished_samples_are_left_alone() {
    let mut room = Room::new(10);
    room.finished = (0..4).map(|n| (n.to_string(), 0)).collect();
    let mut log = Log::default();
    room.run(&even(), &even(), &mut Memory::default(), &mut log)
        .unwrap();
    assert_eq!(log.samples.len(), 6);
}

#[test]
fn one_failed_item_never_stops_the_run() {
    let subject = Scripted::new("moody", |prompt| {
        if prompt.contains("Is 7 ") {
            Err(ModelError::new(ErrorKind::ContextTooLong, "too long"))
        } else {
            Ok("yes".into())
        }
    });
    let room = Room::new(20);
    let mut log = Log::default();
    room.run(&subject, &even(), &mut Memory::default(), &mut log)
        .unwrap();
    let failed: Vec<_> = log
        .samples
        .iter()
        .filter(|s| matches!(s.judgement.outcome, Outcome::Failed(_)))
        .collect();
    assert_eq!((log.samples.len(), failed.len()), (20, 1));
    assert_eq!(failed[0].id.item, "7");
}

#[test]
fn answers_that_wait_for_the_judge_are_in_the_log_of_an_interrupted_run() {
    let room = std::sync::Arc::new(Room::new(30));
    let stopped = std::sync::Arc::clone(&room);
    // The judge's first question is where somebody presses Ctrl-C.
    let judge = Scripted::new("judge", move |_| {
        stopped
            .stop
            .store(true, std::sync::atomic::Ordering::Relaxed);
        Ok("fine".to_owned())
    })
    .window(1);
    let (mut cache, mut log) = (Memory::default(), Log::default());
    let stop = room.run(&even(), &judge, &mut cache, &mut log);
    assert!(matches!(stop, Err(EngineError::Interrupted)));
    let unread = |s: &&Sample| matches!(&s.judgement.outcome, Outcome::Failed(f) if f.kind == ErrorKind::Interrupted);
    let waiting: Vec<&Sample> = log.samples.iter().filter(unread).collect();
    assert!(!waiting.is_empty());
    for sample in &waiting {
        let said = sample.exchanges[0].reply.as_ref().unwrap();
        let said = &said.answer.as_generated().unwrap().text;
        assert!(said == "yes" || said == "no");
    }
    // Going on asks the judge, and nothing again that was answered.
    let mut again = Room::new(30);
    again.finished = log
        .samples
        .iter()
        .filter(|s| !unread(s))
        .map(|s| (s.id.item.clone(), 0))
        .collect();
    let (subject, judge) = (even(), Scripted::saying("fine"));
    let mut rest = Log::default();
    again.run(&subject, &judge, &mut cache, &mut rest).unwrap();
    assert_eq!(rest.samples.len() + log.samples.len() - waiting.len(), 30);
    assert!(
        subject.asked() + log.samples.len() as u64 <= 30,
        "{}",
        subject.asked()
    );
}

#[test]
fn an_empty_purse_stops_the_run_and_keeps_what_was_answered() {
    let subject = Scripted::new("poor", |prompt| {
        if prompt.contains("Is 9") {
            Err(ModelError::new(ErrorKind::Budget, "no money left").hint("raise --budget"))
        } else {
            Ok("yes".into())
        }
    })
    .window(1);
    let room = Room::new(20);
    let mut cache = Memory::default();
    let mut log = Log::default();
    let error = room
        .run(&subject, &even(), &mut cache, &mut log)
        .unwrap_err();
    assert_eq!(error.to_string(), "no money left\nhint: raise --budget");
    assert!(!cache.0.is_empty());
    assert!(
        log.samples.iter().all(|s| s.id.item != "9"),
        "an unpaid item is not in the log"
    );
}

#[test]
fn a_full_disk_stops_the_run_with_a_hint_and_the_rest_follows_later() {
    let mut room = Room::new(20);
    let mut cache = Memory::default();
    let mut log = Log {
        full_after: Some(8),
        ..Log::default()
    };
    let error = room
        .run(&even(), &even(), &mut cache, &mut log)
        .unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    room.finished = log
        .samples
        .iter()
        .map(|s| (s.id.item.clone(), s.id.trial))
        .collect();
    log.full_after = None;
    room.run(&even(), &even(), &mut cache, &mut log).unwrap();
    let ids: HashSet<_> = log.samples.iter().map(|s| s.id.clone()).collect();
    assert_eq!((log.samples.len(), ids.len()), (20, 20));
}

#[test]
fn a_backend_that_forgets_a_question_is_found_out() {
    struct Broken(ModelCard);
    impl Model for Broken {
        fn card(&self) -> &ModelCard {
            &self.0
        }
        fn generator(&self) -> Option<&dyn Generator> {
            Some(self)
        }
    }
    impl Generator for Broken {
        // Takes a question and forgets it.
        fn generate(&self, queue: &mut dyn WorkQueue<Generate, Generated>) {
            while queue.next().is_some() {}
        }
    }
    let room = Room::new(5);
    let mut log = Log::default();
    let broken = Broken(even().card().clone());
    room.run(&broken, &even(), &mut Memory::default(), &mut log)
        .unwrap();
    assert_eq!(log.samples.len(), 5);
    for sample in &log.samples {
        let Outcome::Failed(failure) = &sample.judgement.outcome else {
            panic!()
        };
        assert_eq!(failure.kind, ErrorKind::Internal);
    }
}

#[test]
fn duplicates_and_empty_sets_are_refused_before_any_question() {
    let settings = TaskSettings::default();
    let twice = Parity {
        items: 5,
        duplicate: true,
    };
    let error = survey(&twice, &settings, &NoData, None).unwrap_err();
    assert!(
        error.to_string().contains("two items are called `same`"),
        "{error}"
    );
    let none = Parity {
        items: 0,
        duplicate: false,
    };
    let error = survey(&none, &settings, &NoData, None).unwrap_err();
    assert!(error.to_string().contains("the set is empty"), "{error}");
}

#[test]
fn a_limit_takes_the_same_stratified_items_every_time() {
    let settings = TaskSettings::default();
    let task = Parity {
        items: 100,
        duplicate: false,
    };
    let part = |limit| survey(&task, &settings, &NoData, Some(limit)).unwrap();
    let ten = part(Limit::Fraction(0.1));
    assert_eq!((ten.count, ten.available), (10, 100));
    assert_eq!(ten, part(Limit::Count(10)));
    let chosen = ten.chosen.unwrap();
    assert_eq!(chosen.iter().filter(|&&i| i % 2 == 0).count(), 5);
}
