//! A task with a judge, and observers that stop a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mary_contract::*;

/// Asks whether a number is even, and a judge to read every answer.
pub struct Parity(TaskCard);

pub const ITEMS: usize = 8;

/// A registry with it.
pub fn registry() -> Registry {
    let card = TaskCard::new("test/parity", "Parity", "Whether a number is even.");
    let mut registry = Registry::new();
    registry.add_task(Arc::new(Parity(card))).unwrap();
    registry
}

fn generate(text: String) -> Request {
    Request::Generate(Generate::new(Prompt::chat(text), Sampling::greedy(5)))
}

impl Task for Parity {
    fn card(&self) -> &TaskCard {
        &self.0
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs {
            generate: true,
            judge: true,
            ..Needs::default()
        }
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        Ok(Box::new((0..ITEMS).map(|n| {
            let ask = Ask::subject(generate(format!("Is {n} even?")));
            let target = Target::Text(if n % 2 == 0 { "yes" } else { "no" }.into());
            Ok(Item::new(n.to_string(), target, vec![ask]))
        })))
    }

    fn follow_up(
        &self,
        _: &TaskSettings,
        item: &Item,
        answers: &[Reply],
    ) -> Result<Vec<Ask>, TaskError> {
        Ok(match answers {
            [_] => vec![Ask::judge(generate(format!(
                "Read the answer to {}.",
                item.id
            )))],
            _ => vec![],
        })
    }

    fn judge(&self, _: &TaskSettings, _: &Item, answers: &[Reply]) -> Judgement {
        Judgement::scored(f64::from(answers.len() == 2))
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// Sets the flag after this many samples.
pub struct StopAfter<'a> {
    pub samples: usize,
    pub flag: &'a AtomicBool,
}

impl EventObserver for StopAfter<'_> {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), StoreError> {
        if let Event::SampleFinished(_) = event {
            self.samples = self.samples.saturating_sub(1);
            if self.samples == 0 {
                self.flag.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
