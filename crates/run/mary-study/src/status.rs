//! How a study stands: people by state, lists filled, answers, times. No answers, no keys, no ids.

use mary_platform::counted;

use crate::folder::Study;
use crate::session::Participation;
use crate::store::{Admission, PersonState};

const STATES: [PersonState; 4] = [
    PersonState::Finished,
    PersonState::Running,
    PersonState::TimedOut,
    PersonState::ScreenedOut,
];

/// Name and value of everything worth knowing while a study goes on and once it is closed.
pub fn rows(
    study: &Study,
    people: &[Participation],
    admission: Admission,
) -> Vec<(String, String)> {
    let count = |state: PersonState| people.iter().filter(|p| p.person.state == state).count();
    let closed = admission == Admission::Closed;
    let settings = &study.settings;
    let mut rows = vec![("places".to_owned(), settings.people.to_string())];
    for state in STATES {
        // Nobody goes on in a closed study.
        let stopped = closed && state == PersonState::Running;
        let shown = if stopped { 0 } else { count(state) };
        rows.push((state.name().to_owned(), shown.to_string()));
    }
    if closed {
        let stopped = count(PersonState::Running);
        rows.push(("stopped by closing".into(), stopped.to_string()));
    }
    let holding = count(PersonState::Finished) + count(PersonState::Running);
    let free = settings.people.saturating_sub(holding);
    rows.push(("free places".into(), free.to_string()));
    let answers: usize = people.iter().map(|p| p.answers.len()).sum();
    rows.push(("answers saved".into(), answers.to_string()));
    let unfinished = Unfinished::among(people);
    rows.push((
        "answers of unfinished people".into(),
        unfinished.answers.to_string(),
    ));
    let limit = settings.rules.attention_failures;
    let excluded = people
        .iter()
        .filter(|p| p.person.state == PersonState::Finished && limit > 0 && p.failures >= limit)
        .count();
    rows.push((
        "excluded by the attention rule".into(),
        excluded.to_string(),
    ));
    let mut minutes: Vec<f64> = people
        .iter()
        .filter_map(|p| Some((p.person.ended? - p.person.began) as f64 / 60_000.0))
        .collect();
    minutes.sort_by(f64::total_cmp);
    if !minutes.is_empty() {
        let median = mary_stats::bootstrap::quantile_sorted(&minutes, 0.5);
        rows.push(("minutes to finish (median)".into(), format!("{median:.1}")));
    }
    let open = admission == Admission::Open;
    rows.push(("new people are admitted".into(), open.to_string()));
    rows.push(("closed".into(), closed.to_string()));
    rows
}

/// People who agreed to take part and did not answer everything: results use nothing of theirs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unfinished {
    pub people: usize,
    pub answers: usize,
}

impl Unfinished {
    pub fn among(people: &[Participation]) -> Self {
        let theirs = people
            .iter()
            .filter(|p| p.person.state != PersonState::Finished);
        theirs.fold(Self::default(), |all, one| Self {
            people: all.people + 1,
            answers: all.answers + one.answers.len(),
        })
    }

    pub fn is_empty(self) -> bool {
        self.people == 0
    }
}

impl std::fmt::Display for Unfinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let used = if self.answers == 1 { "is" } else { "are" };
        write!(
            f,
            "{} did not finish; {} {used} not used",
            counted(self.people, "person"),
            counted(self.answers, "answer")
        )
    }
}
