//! Small studies made for tests, of tasks that Mary has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mary_contract::{DataError, DataSource, NoData, Registry, TaskSettings};
use mary_study::freeze::{Frozen, StudyTask, freeze};
use mary_study::lists::Lists;
use mary_study::question::NoneFits;
use mary_study::session::now;
use mary_study::settings::{Check, CheckKind, Consent, Language, Platform, PlatformKind, Rules};
use mary_study::store::{Refusal, Step, StoreThread, Submission, Submitted};
use mary_study::{Session, Settings, Study, View};

pub fn registry() -> Registry {
    mary_lab::families::registry()
}

/// Where the authors' released files lie.
pub struct Datasets(pub PathBuf);

impl DataSource for Datasets {
    fn folder(&self, dataset: &str) -> Result<PathBuf, DataError> {
        Ok(self.0.join(dataset))
    }

    fn hash(&self, _: &str) -> Result<String, DataError> {
        Ok(String::new())
    }
}

/// Items of a task, as `mary study new` draws them.
pub fn frozen(
    task: &str,
    items: usize,
    set: &[(&str, &str)],
    shots: Option<usize>,
    none_fits: bool,
) -> Frozen {
    drawn(task, items, set, shots, none_fits, &NoData)
}

/// The same, of tasks that read a dataset.
pub fn drawn(
    task: &str,
    items: usize,
    set: &[(&str, &str)],
    shots: Option<usize>,
    none_fits: bool,
    data: &dyn DataSource,
) -> Frozen {
    let registry = registry();
    let wanted = StudyTask {
        task: Arc::clone(registry.task(task).unwrap()),
        settings: TaskSettings {
            seed: 3,
            shots,
            params: set
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect(),
            ..TaskSettings::default()
        },
        limit: Some(items),
        none_fits: if none_fits {
            NoneFits::Instead
        } else {
            NoneFits::Never
        },
    };
    freeze(&[wanted], data, 3).unwrap()
}

/// Items whose answers may be flagged "none fits".
pub fn flagging(task: &str, items: usize, set: &[(&str, &str)]) -> Frozen {
    let mut frozen = frozen(task, items, set, None, true);
    for question in &mut frozen.questions {
        if let mary_study::question::AnswerForm::Choice { beside, .. } = &mut question.answer {
            *beside = true;
        }
    }
    frozen
}

pub fn settings(people: usize, per_person: usize) -> Settings {
    Settings {
        name: "trial-study".into(),
        title: "A study of words".into(),
        language: Language::En,
        people,
        per_person,
        lists: Lists::Latin,
        seed: 3,
        minutes: 30,
        consent: Consent {
            version: 2,
            text: "You agree to be asked.".into(),
        },
        instructions: "Answer as well as you can.".into(),
        pay: String::new(),
        platform: Platform {
            finished: "DONE42".into(),
            screened_out: "OUT42".into(),
            no_consent: "NO42".into(),
            ..Platform::default()
        },
        rules: Rules::default(),
        checks: Vec::new(),
    }
}

pub fn with_checks(mut settings: Settings) -> Settings {
    let check = |kind, after| Check {
        kind,
        question: "Choose the second.".into(),
        options: vec!["first".into(), "second".into()],
        answer: 2,
        after,
    };
    settings.checks = vec![
        check(CheckKind::Comprehension, 0),
        check(CheckKind::Attention, 2),
    ];
    settings.rules.attention_failures = 1;
    settings
}

pub fn prolific(mut settings: Settings) -> Settings {
    settings.platform.kind = PlatformKind::Prolific;
    settings.platform.return_to = "https://platform.example/complete?cc={code}".into();
    settings
}

/// A study of rhymes with four labelled examples.
pub fn study(folder: &Path, settings: &Settings) -> (Session, StoreThread) {
    let frozen = frozen("htest/rhyme", 2 * settings.per_person, &[], Some(4), false);
    Study::create(&folder.join("study"), settings, &frozen).unwrap();
    Session::open(&folder.join("study")).unwrap()
}

/// A place in a study.
pub fn joined(session: &Session) -> String {
    let (token, work) = session.joining(None, now());
    session.store.wait(work).unwrap().unwrap();
    token
}

pub fn look(session: &Session, token: &str) -> View {
    session
        .store
        .wait(session.looking(token, now()))
        .unwrap()
        .unwrap()
}

pub fn send(session: &Session, token: &str, sent: Submission) -> Result<Submitted, Refusal> {
    session
        .store
        .wait(session.submitting(token, sent, now()))
        .unwrap()
}

/// The form of a step, filled in.
pub fn filled(view: &View, value: &str) -> Submission {
    Submission {
        step: view.step.id(),
        key: view.key.clone(),
        values: vec![value.to_owned()],
        rt: Some(1_500.0),
        ..Submission::default()
    }
}

/// Goes on until a step fits.
pub fn until(session: &Session, token: &str, stop: impl Fn(&Step) -> bool) -> View {
    loop {
        let view = look(session, token);
        if stop(&view.step) {
            return view;
        }
        assert!(
            !matches!(
                view.step,
                Step::Finished | Step::ScreenedOut | Step::TimedOut | Step::Closed { .. }
            ),
            "{:?}",
            view.step
        );
        let value = if matches!(view.step, Step::Check { .. }) {
            "1"
        } else {
            "0"
        };
        assert_eq!(
            send(session, token, filled(&view, value)),
            Ok(Submitted::Saved)
        );
    }
}

/// Six questions on grids as pictures, with "none fits": drawn once, since drawing takes long.
pub fn pictures() -> &'static Frozen {
    static DRAWN: std::sync::OnceLock<Frozen> = std::sync::OnceLock::new();
    DRAWN.get_or_init(|| {
        frozen(
            "physico/core-visual",
            6,
            &[("per_concept", "1")],
            None,
            true,
        )
    })
}

/// What a run of two trials says of itself.
pub fn manifest(
    id: &str,
    task: &dyn mary_contract::Task,
    settings: TaskSettings,
    models: &[&str],
) -> mary_contract::RunManifest {
    use mary_contract::{Capabilities, ModelCard, RunManifest, TaskRun};
    let card = |m: &&str| ModelCard::new(m.parse().unwrap(), Capabilities::default());
    RunManifest {
        schema: mary_store::SCHEMA,
        id: id.into(),
        created: "2026-01-01T00:00:00Z".into(),
        version: "test".into(),
        command: vec![],
        models: models.iter().map(card).collect(),
        model_settings: Default::default(),
        judge: None,
        judge_choice: Default::default(),
        tasks: vec![TaskRun::of(task, settings)],
        trials: 2,
        seed: 3,
        execution: Default::default(),
    }
}

/// A run in which two models described concepts in words of this test, and the form that the family writes
/// of it. The second model says the same of every concept twice.
pub fn described(root: &Path) -> (mary_store::RunFolder, mary_study::forms::Form) {
    described_as(root, "form")
}

/// The same with another of the family's forms.
pub fn described_as(root: &Path, form: &str) -> (mary_store::RunFolder, mary_study::forms::Form) {
    use mary_contract::{Exchange, Generated, Judgement, Key, Reply, Response, Sample, SampleId};
    let registry = registry();
    let task = registry.task("physico/describe").unwrap();
    let settings = TaskSettings {
        seed: 3,
        params: [("per_concept".to_owned(), "1".to_owned())].into(),
        ..TaskSettings::default()
    };
    let items: Vec<_> = task.items(&settings, &NoData).unwrap().take(3).collect();
    let items: Vec<_> = items.into_iter().map(Result::unwrap).collect();
    let models = ["maker/first", "maker/second"];
    let manifest = manifest("described", task.as_ref(), settings, &models);
    let mut folder = mary_store::RunFolder::create_or_open(root, &manifest).unwrap();
    let mut samples = Vec::new();
    for model in models {
        for item in &items {
            for trial in 0..2 {
                let own = if model.ends_with("first") { trial } else { 7 };
                let text = format!(
                    "A thing that {} does, as in example {own}.",
                    item.tags["concept"]
                );
                let mut item = item.clone();
                let ask = item.asks.remove(0);
                let reply = Reply::bare(Response::Generated(Generated::whole(text)));
                let sample = Sample {
                    id: SampleId::new(model, "physico/describe", item.id.clone(), trial),
                    exchanges: vec![Exchange {
                        key: Key::of(model, task.card(), trial, &ask.request).unwrap(),
                        ask,
                        reply: Ok(reply),
                    }],
                    judgement: Judgement::scored(1.0),
                    item,
                };
                folder.append(&sample).unwrap();
                samples.push(sample);
            }
        }
    }
    folder.flush().unwrap();
    let family = registry.family("physico").unwrap();
    let made = family.act(form, &Default::default(), samples).unwrap();
    let form = mary_study::forms::Form::from(&made.form.unwrap().1);
    (folder, form)
}

/// That form as items of a study.
pub fn described_frozen(root: &Path, form: &mary_study::forms::Form) -> Frozen {
    let source = mary_study::forms::FormOrigin {
        run: "described".into(),
        path: root.join("described").to_string_lossy().into_owned(),
        task: "physico/describe".into(),
    };
    mary_study::forms::frozen(form, &source, Language::En, None, 3).unwrap()
}
