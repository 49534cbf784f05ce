//! Upstream's files read as they are. Skipped where they are not on this machine.

use std::path::PathBuf;

use mary_contract::{DataError, DataSource, Request, Task, TaskSettings};
use mary_psychometric::matrices::{
    DIGIT_MATRICES, IRAVEN, Matrices, RAVEN, context_blind, problems, upstream_digits,
};
use mary_psychometric::typicality::{Surprisal, norms};

use super::solver;

struct Folder(PathBuf);

impl DataSource for Folder {
    fn folder(&self, dataset: &str) -> Result<PathBuf, DataError> {
        Ok(self.0.join(dataset))
    }

    fn hash(&self, _: &str) -> Result<String, DataError> {
        Ok(String::new())
    }
}

fn released(dataset: &str) -> Option<Folder> {
    mary_testkit::lacking::datasets(dataset).map(Folder)
}

/// Upstream's rules are richer than ours in one point only: its arithmetic on size and colour is the
/// same as ours on what is shown.
fn shown(attribute: usize, level: i32) -> i32 {
    level + [2, 1, 0][attribute]
}

#[test]
fn ravens_answers_leak_and_i_ravens_do_not() {
    let Some(data) = released("raven") else {
        return;
    };
    for (file, expected) in [(RAVEN, 1.0), (IRAVEN, 0.125)] {
        let set = problems(&data, file).unwrap();
        assert_eq!(set.len(), 500);
        let blind = set.iter().map(context_blind).sum::<f64>() / 500.0;
        eprintln!("{file}: context-blind majority {blind:.3}");
        assert!((blind - expected).abs() < 1e-12, "{file}: {blind}");
        let found: Vec<Vec<usize>> = set
            .iter()
            .map(|m| solver::answers(&m.context, &m.candidates, shown))
            .collect();
        let solved = found.iter().zip(&set).filter(|(f, m)| **f == [m.correct]);
        let right = found
            .iter()
            .zip(&set)
            .filter(|(f, m)| f.contains(&m.correct));
        let (solved, right) = (solved.count(), right.count());
        eprintln!(
            "{file}: by our rules {solved} of 500 have the right answer alone, {} have it beside another",
            right - solved
        );
        assert!(solved >= 490, "{solved}");
    }
}

#[test]
fn webbs_digit_matrices_are_read() {
    let Some(data) = released("webb-digit-matrices") else {
        return;
    };
    let all = upstream_digits(&data).unwrap();
    assert_eq!(all.len(), 3016);
    assert!(all.iter().all(|p| p.candidates.len() == 8));
    let settings = TaskSettings {
        params: [("source".to_owned(), "published".to_owned())].into(),
        ..TaskSettings::default()
    };
    let first = DIGIT_MATRICES
        .items(&settings, &data)
        .unwrap()
        .find(|i| i.as_ref().is_ok_and(|i| i.id == "row_constant/000"))
        .unwrap()
        .unwrap();
    let Request::Score(asked) = &first.asks[0].request else {
        panic!("scores")
    };
    assert_eq!(asked.prefix.text(), "[6] [6] [6]\n[1] [1] [1]\n[3] [3]");
    assert_eq!(asked.continuations[3], " [3]");
}

#[test]
fn roschs_norms_are_read_and_agree_with_upstreams_results() {
    let Some(data) = released("rosch-typicality") else {
        return;
    };
    let categories = norms::rosch(&data).unwrap();
    let sizes: usize = categories.iter().map(|c| c.members.len()).sum();
    assert_eq!((categories.len(), sizes), (10, 565));
    // Upstream's log-probabilities of Pythia 70M, correlated with Rosch's ratings by our own means.
    let folder = data.folder("rosch-typicality").unwrap();
    let read = |path: &str| csv::Reader::from_path(folder.join(path)).unwrap();
    let order: Vec<(String, String)> = read("data/rosch1975/rosch1975_alternate.csv")
        .records()
        .map(|r| {
            let r = r.unwrap();
            (r[2].to_owned(), r[3].to_owned())
        })
        .collect();
    let scores: Vec<f64> = read("data/results/new-results/EleutherAI_pythia-70m-deduped.csv")
        .records()
        .map(|r| r.unwrap()[1].parse().unwrap())
        .collect();
    assert_eq!(order.len(), scores.len());
    let rho: Vec<f64> = categories
        .iter()
        .map(|category| {
            let (x, y): (Vec<f64>, Vec<f64>) = category
                .members
                .iter()
                .filter_map(|m| {
                    let at = order
                        .iter()
                        .position(|(item, c)| *item == m.name && *c == category.name)?;
                    Some((m.typicality, scores[at]))
                })
                .unzip();
            assert!(x.len() + 3 >= category.members.len(), "{}", category.name);
            mary_stats::correlation::spearman_rho(&x, &y).unwrap()
        })
        .collect();
    let mean = rho.iter().sum::<f64>() / rho.len() as f64;
    eprintln!("Pythia 70M on Rosch's ratings, from upstream's log-probabilities: {mean:.3}");
    // .260 with ranks instead of ratings (which have ties).
    assert!((mean - 0.260).abs() < 0.01, "{mean}");
}

#[test]
fn roschs_norms_make_sentences() {
    let Some(data) = released("rosch-typicality") else {
        return;
    };
    let settings = TaskSettings {
        params: [("norms".to_owned(), "rosch".to_owned())].into(),
        shots: Some(1),
        ..TaskSettings::default()
    };
    let items: Vec<_> = Surprisal
        .items(&settings, &data)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(items.len(), 10);
}

/// The eight prompts of every item, sorted within it: candidates stand in an order of ours.
fn lm_raven_prompts(data: &dyn DataSource, set: &str) -> Vec<(String, Vec<String>)> {
    let set = [("matrices", set), ("layout", "lm-raven")];
    let settings = TaskSettings {
        params: set.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        ..TaskSettings::default()
    };
    let items = Matrices.items(&settings, data).unwrap();
    let prompts = items.map(|item| {
        let item = item.unwrap();
        let Request::Score(asked) = &item.asks[0].request else {
            panic!("scores")
        };
        let prefix = asked.prefix.text();
        let whole = asked.continuations.iter().map(|c| format!("{prefix}{c}"));
        let mut whole: Vec<String> = whole.collect();
        whole.sort();
        (item.id, whole)
    });
    prompts.collect()
}

fn golden() -> serde_json::Value {
    serde_json::from_str(include_str!("../golden/lm_raven.json")).unwrap()
}

#[test]
fn the_lm_raven_layout_is_what_its_own_program_writes() {
    let golden = golden();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("raven")).unwrap();
    let file = folder.path().join("raven").join(IRAVEN);
    std::fs::write(file, golden["own"].to_string()).unwrap();
    let ours = lm_raven_prompts(&Folder(folder.path().to_owned()), "iraven");
    assert_eq!(ours.len(), 3);
    for (id, prompts) in ours {
        let theirs = golden["prompts"][&id].as_array().unwrap();
        let mut theirs: Vec<&str> = theirs.iter().filter_map(|p| p.as_str()).collect();
        theirs.sort_unstable();
        assert_eq!(prompts, theirs, "{id}");
    }
}

#[test]
fn all_released_prompts_are_lm_ravens_byte_for_byte() {
    let Some(data) = released("raven") else {
        return;
    };
    for (set, file) in [("raven", RAVEN), ("iraven", IRAVEN)] {
        let mut problems = lm_raven_prompts(&data, set);
        problems.sort();
        assert_eq!(problems.len(), 500);
        let joined: Vec<String> = problems.into_iter().map(|(_, p)| p.join("\n")).collect();
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in joined.join("\n").bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        assert_eq!(golden()["released"][file], format!("{hash:016x}"), "{file}");
    }
}
