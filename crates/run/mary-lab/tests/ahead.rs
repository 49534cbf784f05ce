//! One load-ahead: the next model is opened while the present one is asked, and one that had no room
//! is opened again when the other is gone.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mary_contract::*;
use mary_lab::{Laboratory, RunSpec, Silent, TaskChoice};
use mary_testkit::scripted::Scripted;

use crate::support::{ITEMS, registry};

/// Serves `b`, `c` … beside each other; `a` answers only once the next one is being opened.
struct Patient {
    opened: Arc<Mutex<Vec<String>>>,
    begun: Sender<()>,
    awaited: Arc<Mutex<Receiver<()>>>,
    /// This one has no room the first time.
    cramped: &'static str,
}

impl Provider for Patient {
    fn name(&self) -> &'static str {
        "patient"
    }

    fn about(&self) -> &'static str {
        "waits for the next"
    }

    fn card(&self, model: &ModelRef, _: &ModelSettings) -> Result<ModelCard, ModelError> {
        let mut card = Scripted::saying("").card().clone();
        card.model = model.clone();
        card.fingerprint = model.to_string();
        Ok(card)
    }

    fn fits_beside(&self, _: &ModelRef, _: &ModelSettings) -> bool {
        true
    }

    fn open(
        &self,
        model: &ModelRef,
        settings: &ModelSettings,
    ) -> Result<Box<dyn Model>, ModelError> {
        let mut opened = self.opened.lock().unwrap();
        let before = opened.iter().filter(|name| **name == model.name).count();
        opened.push(model.name.clone());
        drop(opened);
        if model.name != "a" {
            let _ = self.begun.send(());
        }
        if model.name == self.cramped && before == 0 {
            return Err(ModelError::new(ErrorKind::OutOfMemory, "no room"));
        }
        let awaited = Arc::clone(&self.awaited);
        let first = Mutex::new(model.name == "a");
        let inner = Scripted::new(&model.name, move |_| {
            if std::mem::take(&mut *first.lock().unwrap()) {
                let next = awaited
                    .lock()
                    .unwrap()
                    .recv_timeout(Duration::from_secs(300));
                assert!(next.is_ok(), "nothing was opened while the first was asked");
            }
            Ok("yes".to_owned())
        });
        let card = self.card(model, settings)?;
        Ok(Box::new(Named { inner, card }))
    }
}

struct Named {
    inner: Scripted,
    card: ModelCard,
}

impl Model for Named {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn generator(&self) -> Option<&dyn Generator> {
        self.inner.generator()
    }
}

/// Runs `a`, `b` and `c`; which were opened, in order.
fn opened(root: &Path, cramped: &'static str) -> Vec<String> {
    let (begun, awaited) = channel();
    let opened = Arc::new(Mutex::new(Vec::new()));
    let provider = Patient {
        opened: Arc::clone(&opened),
        begun,
        awaited: Arc::new(Mutex::new(awaited)),
        cramped,
    };
    let lab = Laboratory::new(root)
        .tasks(registry())
        .providers([Box::new(provider) as Box<dyn Provider>]);
    let mut spec = RunSpec::new(
        "patient/a".parse().unwrap(),
        [TaskChoice::new("test/parity")],
    );
    spec.judge = JudgeChoice::Subject;
    for name in ["patient/b", "patient/c"] {
        spec.subjects.push(name.parse().unwrap());
    }
    let mut run = lab.prepare(&spec).unwrap().open().unwrap();
    let summary = run.go(&mut Silent, &AtomicBool::new(false)).unwrap();
    assert!(summary.complete && summary.rows.iter().all(|r| r.samples == ITEMS));
    let opened = opened.lock().unwrap();
    opened.clone()
}

#[test]
fn the_next_model_is_opened_while_the_present_one_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(opened(folder.path(), ""), ["a", "b", "c"]);
}

#[test]
fn a_model_without_room_beside_the_other_is_opened_when_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(opened(folder.path(), "b"), ["a", "b", "b", "c"]);
}
