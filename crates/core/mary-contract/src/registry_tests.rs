//! Tests of the registry: what is refused, and how the tasks of a run are found again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::{
    Citation, DataSource, Item, Items, Judgement, Needs, Param, Reply, Task, TaskCard, TaskError,
    TaskSettings, text,
};

/// A task that owns its card, as one from a file does.
struct Own(TaskCard);

impl Task for Own {
    fn card(&self) -> &TaskCard {
        &self.0
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::default()
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        Ok(Box::new(std::iter::empty()))
    }

    fn judge(&self, _: &TaskSettings, _: &Item, _: &[Reply]) -> Judgement {
        Judgement::scored(1.0)
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

fn task(id: &str, version: u32, content: Option<&str>) -> Arc<dyn Task> {
    let family = id.split('/').next().unwrap_or_default().to_owned();
    Arc::new(Own(TaskCard {
        id: id.to_owned().into(),
        family: family.into(),
        version,
        title: text("Own"),
        about: text(""),
        chance: None,
        human: None,
        params: vec![Param::new("n", "3", "a number", "How many.")].into(),
        dataset: None,
        citation: Citation::new("", ""),
        starter: None,
        content: content.map(|c| c.to_owned().into()),
    }))
}

fn run(id: &str, version: u32, content: Option<&str>) -> TaskRun {
    TaskRun {
        id: id.to_owned(),
        version,
        content: content.map(str::to_owned),
        ..TaskRun::default()
    }
}

fn registry(tasks: Vec<Arc<dyn Task>>) -> Registry {
    let mut registry = Registry::new();
    for task in tasks {
        registry.add_task(task).unwrap();
    }
    registry
}

#[test]
fn ids_are_unique_and_begin_with_their_family() {
    let mut registry = registry(vec![task("own/a", 1, None)]);
    let twice = registry.add_task(task("own/a", 2, None));
    assert_eq!(twice, Err(RegistryError::Twice("own/a".into())));
    for id in ["own", "own/", "/a"] {
        let added = registry.add_task(task(id, 1, None));
        assert!(matches!(added, Err(RegistryError::Misnamed { .. })), "{id}");
    }
    assert_eq!(registry.tasks_of("own").count(), 1);
}

#[test]
fn a_built_in_task_is_found_by_id_and_version() {
    let registry = registry(vec![task("own/a", 2, None)]);
    assert!(registry.recall(&run("own/a", 2, None)).is_ok());
    // Another version cannot be gone on with, but its answers can be judged again.
    assert!(matches!(
        registry.recall(&run("own/a", 1, None)),
        Err(RegistryError::Version { was: 1, now: 2, .. })
    ));
    assert!(registry.judge_of(&run("own/a", 1, None)).is_ok());
    assert!(matches!(
        registry.recall(&run("own/b", 1, None)),
        Err(RegistryError::Unknown(_))
    ));
}

#[test]
fn a_task_of_ones_own_is_found_by_content_and_said_to_have_changed() {
    let registry = registry(vec![
        task("own/a", 1, Some("c1")),
        task("own/b", 1, Some("c2")),
    ]);
    assert!(registry.recall(&run("own/a", 1, Some("c1"))).is_ok());
    let changed = registry.recall(&run("own/a", 1, Some("c0"))).err().unwrap();
    assert!(matches!(changed, RegistryError::Changed { .. }));
    let said = changed.to_string();
    for part in ["own/a", "changed", "c0", "c1", "hint:"] {
        assert!(said.contains(part), "{said}");
    }
    // A built-in task of a run is not the file of the same name, nor the other way round.
    assert!(matches!(
        registry.judge_of(&run("own/a", 1, None)),
        Err(RegistryError::Changed { .. })
    ));
    assert!(matches!(
        registry.judge_of(&run("own/c", 1, Some("c2"))),
        Err(RegistryError::Renamed { .. })
    ));
    assert!(matches!(
        registry.judge_of(&run("own/c", 1, Some("c9"))),
        Err(RegistryError::Missing { .. })
    ));
}

#[test]
fn pointers_hand_every_method_on() {
    struct Loud;
    impl Task for Loud {
        fn card(&self) -> &TaskCard {
            static CARD: TaskCard = TaskCard {
                id: text("own/loud"),
                family: text("own"),
                version: 1,
                title: text("Loud"),
                about: text(""),
                chance: None,
                human: None,
                params: Param::list(&[]),
                dataset: None,
                citation: Citation::new("", ""),
                starter: None,
                content: None,
            };
            &CARD
        }

        fn needs(&self, _: &TaskSettings) -> Needs {
            Needs::default()
        }

        fn human(&self, _: &TaskSettings) -> Option<crate::Reference> {
            Some(crate::Reference::new(0.9, "here"))
        }

        fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
            Ok(Box::new(std::iter::empty()))
        }

        fn follow_up(
            &self,
            _: &TaskSettings,
            _: &Item,
            _: &[Reply],
        ) -> Result<Vec<crate::Ask>, TaskError> {
            Err(TaskError::Generator("asked".into()))
        }

        fn judge(&self, _: &TaskSettings, _: &Item, _: &[Reply]) -> Judgement {
            Judgement::scored(1.0)
        }

        fn overall(
            &self,
            _: &TaskSettings,
            _: &mut dyn Iterator<Item = crate::Sample>,
        ) -> Vec<crate::Measure> {
            vec![crate::Measure {
                name: "own".into(),
                estimate: crate::Estimate {
                    value: 1.0,
                    low: 1.0,
                    high: 1.0,
                    n: 1,
                    method: "none".into(),
                },
            }]
        }

        fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
            [("ties".to_owned(), "one half".to_owned())].into()
        }
    }

    static LOUD: Loud = Loud;
    let settings = TaskSettings::default();
    let listed = crate::built_in(&[&LOUD]);
    let task: &dyn Task = &listed[0];
    assert_eq!(task.human(&settings).unwrap().value, 0.9);
    assert_eq!(task.overall(&settings, &mut std::iter::empty()).len(), 1);
    assert_eq!(task.conventions(&settings).len(), 1);
    let item = Item {
        id: String::new(),
        stratum: String::new(),
        cluster: None,
        tags: BTreeMap::new(),
        target: crate::Target::Text(String::new()),
        asks: vec![],
    };
    assert!(task.follow_up(&settings, &item, &[]).is_err());
}
