//! How a study stands: people by state, lists filled, answers, times. No answers, no keys, no ids.

use crate::folder::Study;
use crate::session::Participation;
use crate::store::PersonState;

/// States in the order of a table.
const STATES: [PersonState; 4] = [
    PersonState::Finished,
    PersonState::Running,
    PersonState::TimedOut,
    PersonState::ScreenedOut,
];

/// Name and value of everything worth knowing while a study goes on.
pub fn rows(study: &Study, people: &[Participation]) -> Vec<(String, String)> {
    let count = |state: PersonState| people.iter().filter(|p| p.person.state == state).count();
    let settings = &study.settings;
    let mut rows = vec![("places".to_owned(), settings.people.to_string())];
    for state in STATES {
        rows.push((state.name().to_owned(), count(state).to_string()));
    }
    let holding = count(PersonState::Finished) + count(PersonState::Running);
    let free = settings.people.saturating_sub(holding);
    rows.push(("free places".into(), free.to_string()));
    let answers: usize = people.iter().map(|p| p.answers.len()).sum();
    rows.push(("answers saved".into(), answers.to_string()));
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
    rows
}
