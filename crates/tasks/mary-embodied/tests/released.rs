//! The authors' released answers through our import and judge must give their printed tables. Runs
//! when the datasets are there (`MARY_DATA_DIR`, or `shared/datasets` beside the checkout).

use std::collections::BTreeMap;
use std::path::PathBuf;

use mary_contract::{
    DataError, DataSource, Outcome, ReleasedRun, Sample, Task as _, TaskRun, TaskSettings,
    UnscoredReason,
};
use mary_embodied::perceptualqa::PERCEPTUAL_QA;
use mary_embodied::published::{PublishedRow, published};
use mary_embodied::{Confounds, Norms, PEOPLE, Subtask, released_runs, tuning_set};

pub(crate) struct Datasets(PathBuf);

impl DataSource for Datasets {
    fn folder(&self, dataset: &str) -> Result<PathBuf, DataError> {
        Ok(self.0.join(dataset))
    }

    fn hash(&self, _: &str) -> Result<String, DataError> {
        Ok(String::new())
    }
}

/// The datasets, when this one is there.
pub(crate) fn datasets(dataset: &str) -> Option<Datasets> {
    mary_testkit::lacking::datasets(dataset).map(Datasets)
}

fn runs(data: &Datasets, path: &str) -> Vec<ReleasedRun> {
    let path = data.0.join("embodied").join(path);
    released_runs(&path, data).unwrap().unwrap()
}

fn outputs(data: &Datasets) -> Vec<ReleasedRun> {
    runs(data, "PerceptualQA/predictions.tar.gz")
}

fn people(data: &Datasets) -> ReleasedRun {
    let folder = "PerceptualQA/human_questions1400_with_answer1_sampled350";
    runs(data, folder).pop().unwrap()
}

/// In per cent, over the samples that have the measure.
fn mean(samples: &[Sample], measure: &str) -> f64 {
    let values: Vec<f64> = samples
        .iter()
        .filter_map(|s| s.judgement.measures.get(measure).copied())
        .collect();
    100.0 * values.iter().sum::<f64>() / values.len() as f64
}

/// Columns that differ from the printed row by more than a hundredth.
fn differences(samples: &[Sample], row: &PublishedRow) -> Vec<String> {
    let columns = published().columns.iter().zip(&row.accuracy);
    columns
        .filter_map(|(column, printed)| {
            let measure = match column.as_str() {
                "all" => "exact".to_owned(),
                part => format!("exact[{part}]"),
            };
            let ours = mean(samples, &measure);
            // The half of a hundredth that printing rounds away is on top.
            ((ours - printed).abs() > 0.01 + 1e-9).then(|| {
                format!(
                    "{} {column}: printed {printed:.2}, ours {ours:.4}",
                    row.model
                )
            })
        })
        .collect()
}

#[test]
fn every_model_reproduces_its_row_of_table_14_and_table_12() {
    let Some(data) = datasets("embodied") else {
        return;
    };
    let runs = outputs(&data);
    let tables = [
        ("en", &published().table_14),
        ("zh", &published().table_12_chinese),
    ];
    let mut found = 0;
    for (language, table) in tables {
        for row in table.iter().filter(|r| r.released != "people") {
            let name = format!("published/{}", row.released);
            let run = runs
                .iter()
                .find(|r| r.model == name && r.settings.params["language"] == language)
                .unwrap_or_else(|| panic!("{name} in {language}"));
            assert_eq!(run.samples.len(), 2800, "{name}");
            let off = differences(&run.samples, row);
            assert!(off.is_empty(), "{off:#?}");
            let unread = run
                .samples
                .iter()
                .filter(|s| s.judgement.outcome == Outcome::Unscored(UnscoredReason::Unparsed))
                .count();
            eprintln!(
                "{name} {language}: exact {:.2} (printed {:.2}), robust with unread wrong {:.2}, unread {unread}",
                mean(&run.samples, "exact"),
                row.accuracy[0],
                mean(&run.samples, "accuracy"),
            );
            if (row.released.as_str(), language) == ("Qwen2-7B-Instruct", "en") {
                // docs/embodied.md: unread answers left out, which is the score, and counted as wrong.
                let scores = run
                    .samples
                    .iter()
                    .filter_map(|s| match s.judgement.outcome {
                        Outcome::Scored(score) => Some(score),
                        _ => None,
                    });
                let scores: Vec<f64> = scores.collect();
                let score = 100.0 * scores.iter().sum::<f64>() / scores.len() as f64;
                assert_eq!(format!("{score:.2}"), "50.77");
                assert_eq!(format!("{:.2}", mean(&run.samples, "accuracy")), "50.68");
            }
            found += 1;
        }
    }
    assert_eq!(found, 24 + 3);
    assert_eq!(runs.len(), found, "nothing released is left out");
}

#[test]
fn seventeen_answers_of_one_model_were_lost_to_an_index_in_words() {
    let Some(data) = datasets("embodied") else {
        return;
    };
    let runs = outputs(&data);
    let mistral = runs
        .iter()
        .find(|r| r.model == "published/Mistral-7B-Instruct-v0.2")
        .unwrap();
    // Read by us and right, but wrong for the paper.
    let lost = mistral
        .samples
        .iter()
        .filter(|s| s.judgement.measures["accuracy"] > s.judgement.measures["exact"])
        .count();
    assert_eq!(lost, 3);
}

#[test]
fn people_give_86_and_their_kappa() {
    let Some(data) = datasets("embodied") else {
        return;
    };
    let run = people(&data);
    assert_eq!(
        (run.model.as_str(), run.trials, run.samples.len()),
        (PEOPLE, 2, 700)
    );
    let row = published().people().unwrap();
    assert_eq!(differences(&run.samples, row), Vec::<String>::new());
    assert!((mean(&run.samples, "exact") - 86.0).abs() < 1e-9);
    let measures = PERCEPTUAL_QA.overall(&run.settings, &mut run.samples.into_iter());
    let kappa = measures.iter().find(|m| m.name == "answers_kappa").unwrap();
    assert!((kappa.estimate.value - 0.693_44).abs() < 1e-5, "{kappa:?}");
    eprintln!("people: 86.00, kappa {:.4}", kappa.estimate.value);
}

#[test]
fn stored_cosines_give_table_4() {
    let Some(data) = datasets("embodied") else {
        return;
    };
    let runs = runs(&data, "SensoryVec/SensoryVec_Dataset_with_Predictions.csv");
    assert_eq!(runs.len(), 16);
    for row in &published().table_4 {
        let run = runs
            .iter()
            .find(|r| r.model == format!("published/{}", row.released))
            .unwrap();
        let share = |wanted: Option<&str>| {
            let scores: Vec<f64> = run
                .samples
                .iter()
                .filter(|s| wanted.is_none_or(|w| s.item.tags["modality"] == w))
                .filter_map(|s| match s.judgement.outcome {
                    Outcome::Scored(score) => Some(score),
                    _ => None,
                })
                .collect();
            100.0 * scores.iter().sum::<f64>() / scores.len() as f64
        };
        let ours = [
            share(None),
            share(Some("visual")),
            share(Some("non-visual")),
        ];
        for (ours, printed) in ours.iter().zip(&row.accuracy) {
            assert!(
                (ours - printed).abs() < 0.0051,
                "{}: {ours} {printed}",
                row.model
            );
        }
        let left_out = run
            .samples
            .iter()
            .filter(|s| !matches!(s.judgement.outcome, Outcome::Scored(_)));
        let expected = match row.model.as_str() {
            "Word2Vec" => 6,
            "GloVe" => 21,
            _ => 0,
        };
        assert_eq!(left_out.count(), expected, "{}", row.model);
    }
}

#[test]
fn visual_triples_are_told_apart_by_attribute() {
    let Some(data) = datasets("embodied") else {
        return;
    };
    let runs = runs(&data, "SensoryVec/SensoryVec_Dataset_with_Predictions.csv");
    let mut shares: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in &runs {
        let mut scores: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for sample in &run.samples {
            let attribute = sample.item.tags.get("attribute");
            let visual = sample.item.tags["sense"] == "visual";
            assert_eq!(attribute.is_some(), visual, "{}", sample.item.id);
            if let (Some(attribute), Outcome::Scored(score)) =
                (attribute, &sample.judgement.outcome)
            {
                scores.entry(attribute).or_default().push(*score);
            }
        }
        for (attribute, scores) in scores {
            let share = 100.0 * scores.iter().sum::<f64>() / scores.len() as f64;
            shares.entry(attribute.to_owned()).or_default().push(share);
        }
    }
    let mean = |name: &str| shares[name].iter().sum::<f64>() / runs.len() as f64;
    // The paper's finding on shape holds under our labels; on colour it does not.
    for (name, expected) in [
        ("shape", 39.8),
        ("space", 47.7),
        ("other", 63.3),
        ("colour", 63.6),
        ("size", 68.8),
    ] {
        assert!(
            (mean(name) - expected).abs() < 0.05,
            "{name}: {}",
            mean(name)
        );
    }
}

#[test]
fn the_questions_give_table_13() {
    let (Some(data), Some(_), Some(_)) = (
        datasets("embodied"),
        datasets("norms"),
        datasets("wordfreq"),
    ) else {
        return;
    };
    let norms = Norms::load(&data).unwrap();
    let mut confounds = Confounds::default();
    let runs = outputs(&data);
    let claude = runs.iter().find(|r| r.model.contains("claude")).unwrap();
    let run = TaskRun::of(&claude.task, claude.settings.clone());
    for sample in &claude.samples {
        confounds.add(&run, sample, &norms);
    }
    let tables = confounds.tables();
    let ids: Vec<&str> = tables.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "embodied-table-13",
            "embodied-confounds",
            "embodied-regression-published-claude-3-5-sonnet-20241022",
            "embodied-table-10"
        ]
    );
    // Table 10, as printed.
    let places: Vec<&[mary_contract::Cell]> = tables[3].rows.iter().map(|row| &row[1..]).collect();
    assert_eq!(
        places,
        [["338", "371", "325", "366"], ["323", "353", "357", "367"]]
    );
    let number = |cell: &str| -> f64 { cell.split(' ').next().unwrap().parse().unwrap() };
    for (row, printed) in tables[0].rows.iter().zip(&published().table_13) {
        assert_eq!(row[0], *printed.subtask);
        let pairs = [
            (2, printed.length),
            (3, printed.frequency),
            (4, printed.acquisition),
        ];
        for (column, [mean, _]) in pairs {
            let ours = number(&row[column]);
            assert!(
                (ours - mean).abs() < 0.0151,
                "{}: {ours}, printed {mean}",
                row[0]
            );
        }
    }
    for table in &tables {
        eprintln!("{}", table.title);
        for row in &table.rows {
            let cells: Vec<_> = row.iter().map(|c| c.full()).collect();
            eprintln!("  {}", cells.join(" | "));
        }
    }
}

#[test]
fn released_questions_are_split_by_subtask_and_no_twin_crosses() {
    let Some(data) = datasets("embodied") else {
        return;
    };
    for language in ["en", "zh"] {
        let set = |split: &str| -> Vec<String> {
            let settings = TaskSettings {
                seed: 11,
                params: [
                    ("source", "upstream"),
                    ("language", language),
                    ("split", split),
                ]
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .into(),
                ..TaskSettings::default()
            };
            let set = tuning_set(&settings, &data).unwrap();
            set.iter().map(ToString::to_string).collect()
        };
        let (train, test) = (set("train"), set("test"));
        assert_eq!((train.len(), test.len()), (1120, 280), "{language}");
        assert!(test.iter().all(|line| !train.contains(line)));
    }
}

#[test]
fn chinese_questions_are_asked_in_chinese() {
    let Some(data) = datasets("embodied") else {
        return;
    };
    let settings = TaskSettings {
        params: [
            ("source", "upstream"),
            ("language", "zh"),
            ("mode", "generate"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into(),
        ..TaskSettings::default()
    };
    let mut by_subtask: BTreeMap<String, usize> = BTreeMap::new();
    for item in PERCEPTUAL_QA.items(&settings, &data).unwrap() {
        let item = item.unwrap();
        *by_subtask.entry(item.tags["subtask"].clone()).or_default() += 1;
        let mary_contract::Request::Generate(generate) = &item.asks[0].request else {
            panic!("words are asked for")
        };
        assert!(generate.prompt.text().contains("###问题："));
    }
    assert_eq!(by_subtask.len(), Subtask::ALL.len());
    assert_eq!(by_subtask["V-S"], 400);
    assert_eq!(by_subtask["O"], 200);
}
