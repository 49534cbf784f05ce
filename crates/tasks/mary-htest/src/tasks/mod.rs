//! The A/B tasks, one file each: the card, the rule, how its twins are drawn, and which baselines of
//! an audit are the rule itself.
//!
//! A new task is its file and one line in the list below. Nothing else counts the tasks: the paper's
//! averages are over the paper's ten, and a task beside them has a column of its own.

use mary_contract::Task;

use super::ab_task::AbTask;
use super::direct::{DESCRIBE_LETTER, FOLD_LETTER};
use super::geometry::LETTER_GEOMETRY;
use super::rule_naming::NAME_THE_RULE;

/// A task of the paper's whose file has the function `draw`: its name, ours and that of the released files, what two
/// texts share that count as the same item, and the baselines that are its rule.
macro_rules! paper_task {
    ($name:literal as $upstream:literal, $key:expr, [$($baseline:literal),+]) => {
        pub static TASK: crate::ab_task::AbTask = crate::ab_task::AbTask {
            card: std::sync::LazyLock::new(|| crate::ab_task::card(concat!("htest/", $name))),
            rule: crate::dataset::Rule { name: $name, draw, key: $key },
            upstream: Some($upstream),
            rule_baselines: &[$($baseline),+],
        };
    };
}

/// Declares the modules and both lists from one line a task. Rustfmt does not follow `mod` into a
/// macro: format these files by name, `rustfmt --edition 2024 crates/tasks/mary-htest/src/tasks/*.rs`.
macro_rules! tasks {
    ($($task:ident,)+) => {
        $(mod $task;)+

        /// Every A/B task; the paper's ten in the order of its tables.
        pub static AB_TASKS: &[&AbTask] = &[$(&$task::TASK),+];

        /// Every task of the family.
        pub static TASKS: &[&dyn Task] =
            &[$(&$task::TASK,)+ &LETTER_GEOMETRY, &NAME_THE_RULE, &DESCRIBE_LETTER, &FOLD_LETTER];
    };
}

/// Tasks whose results are no accuracies of the paper's Table 6.
pub static OTHER_TASKS: &[&dyn Task] = &[&NAME_THE_RULE, &DESCRIBE_LETTER, &FOLD_LETTER];

tasks! {
    uppercase,
    start_vowel,
    end_punctuation,
    palindrome,
    end_ly,
    spelled_math,
    spelled_number,
    rhyme,
    repeated_word,
    hyphenated_word,
}

/// The task of an id (`htest/rhyme` or `rhyme`).
pub fn ab_task(id: &str) -> Option<&'static AbTask> {
    let name = id.strip_prefix("htest/").unwrap_or(id);
    let mut all = AB_TASKS.iter().copied();
    all.find(|t| t.card.id.strip_prefix("htest/") == Some(name))
}

/// The baselines of an audit that are the rule of this task (see [`AbTask::rule_baselines`]).
pub fn rule_baselines(task: &str) -> &'static [&'static str] {
    let found = AB_TASKS.iter().find(|t| t.card.id == task);
    found.map_or(&[], |t| t.rule_baselines)
}
