//! A manifest holds the whole specification and gives it back; manifests from before the judge's
//! choice was kept are read too.

use mary_contract::*;
use mary_lab::builtin::Builtin;
use mary_lab::{Execution, Laboratory, Opening, RunSpec, TaskChoice};

use crate::support::registry;

fn laboratory() -> Laboratory {
    Laboratory::new("runs")
        .tasks(registry())
        .providers([Box::new(Builtin) as Box<dyn Provider>])
}

fn nano(step: &str) -> ModelRef {
    format!("builtin/nano@step{step}").parse().unwrap()
}

/// No field has its default value.
fn spec() -> RunSpec {
    RunSpec {
        subjects: vec![nano("0"), nano("16")],
        judge: JudgeChoice::Model(nano("0")),
        tasks: vec![TaskChoice {
            limit: Some(Limit::Count(3)),
            settings: TaskSettings {
                seed: 4,
                shots: Some(2),
                ..TaskSettings::default()
            },
            ..TaskChoice::new("test/parity")
        }],
        trials: 2,
        seed: 3,
        opening: Opening {
            dtype: Some("f32".into()),
            base_url: Some("http://localhost:1".into()),
            args: [("rounding".to_owned(), "weights".to_owned())].into(),
        },
        execution: Execution {
            device: Some("cpu".into()),
            threads: Some(1),
            batch_size: Some(7),
            max_connections: Some(5),
            budget: Some(1.5),
            cache: false,
            batch: false,
            labels: Default::default(),
            // Its scale would have to be there.
            adaptive: None,
        },
    }
}

fn manifest(spec: &RunSpec) -> RunManifest {
    let lab = laboratory();
    lab.prepare(spec).unwrap().manifest().unwrap()
}

fn read(json: &serde_json::Value) -> RunManifest {
    serde_json::from_value(json.clone()).unwrap()
}

#[test]
fn what_a_run_was_begun_with_is_read_back_whole() {
    let spec = spec();
    let stored = serde_json::to_value(manifest(&spec)).unwrap();
    assert_eq!(RunSpec::of(&read(&stored)), spec);
    let text = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<RunSpec>(&text).unwrap(), spec);
    // A specification may be written by hand: what is misspelt is not passed over.
    let misspelt = text.replace("\"threads\"", "\"treads\"");
    let error = serde_json::from_str::<RunSpec>(&misspelt).unwrap_err();
    assert!(error.to_string().contains("treads"), "{error}");
}

#[test]
fn only_what_changes_answers_names_the_run() {
    let base = manifest(&spec()).id;
    let same = |change: &dyn Fn(&mut RunSpec)| {
        let mut other = spec();
        change(&mut other);
        manifest(&other).id == base
    };
    assert!(same(&|s| s.execution = Execution::default()));
    assert!(!same(&|s| s.judge = JudgeChoice::Subject));
    assert!(!same(&|s| s.judge = JudgeChoice::Model(nano("16"))));
    assert!(!same(&|s| s.judge = JudgeChoice::Model(nano("64"))));
    assert!(!same(&|s| s.seed = 4));
    assert!(!same(&|s| s.trials = 1));
    assert!(!same(&|s| s.opening.dtype = None));
    assert!(!same(&|s| s.tasks[0].limit = None));
    assert!(!same(&|s| s.subjects.reverse()));
}

#[test]
fn manifests_from_before_the_choice_was_kept_tell_it_by_their_command() {
    let mut stored = serde_json::to_value(manifest(&spec())).unwrap();
    let object = stored.as_object_mut().unwrap();
    object.remove("judge_choice");
    object.remove("execution");
    let mut choice = |command: serde_json::Value| {
        stored["command"] = command;
        let spec = RunSpec::of(&read(&stored));
        assert!(spec.execution.cache && !spec.execution.batch);
        spec.judge
    };
    let named = JudgeChoice::Model(nano("0"));
    assert_eq!(
        choice(["run", "--judge", "builtin/nano@step0"].into()),
        named
    );
    assert_eq!(
        choice(["run", "--judge", "self"].into()),
        JudgeChoice::Subject
    );
    assert_eq!(choice(["run", "--judge=self"].into()), JudgeChoice::Subject);
    assert_eq!(choice(serde_json::json!([])), named);
    stored["judge"] = serde_json::Value::Null;
    assert_eq!(RunSpec::of(&read(&stored)).judge, JudgeChoice::None);
}

#[test]
fn a_task_whose_prompts_cannot_fit_is_refused_before_anything_is_loaded() {
    let lab = Laboratory::new("runs")
        .tasks(mary_lab::families::registry())
        .providers([Box::new(Builtin) as Box<dyn Provider>]);
    let settings = ModelSettings::default();
    let mut small = Builtin.card(&nano("0"), &settings).unwrap();
    small.context_length = Some(256);
    let prompting = TaskChoice::new("psychometric/typicality-prompting");
    let spec = RunSpec::new(nano("0"), [prompting]);
    let refused = lab.prepare_known(&spec, vec![small.clone()]).err().unwrap();
    let refused = refused.to_string();
    assert!(refused.contains("tokens or more, and"), "{refused}");
    assert!(refused.contains("nothing was loaded or asked"), "{refused}");
    // Texts that are scored may be longer than a context: they are cut into windows.
    let surprisal = TaskChoice::new("psychometric/typicality-surprisal");
    let spec = RunSpec::new(nano("0"), [surprisal]);
    assert!(lab.prepare_known(&spec, vec![small]).is_ok());
}
