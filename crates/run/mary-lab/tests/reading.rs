//! Reading: the results that de Varda, Marelli and Amenta published, from their own surprisals, cell by cell; and how rows become
//! sentences.

use std::collections::BTreeMap;
use std::path::Path;

use mary_lab::texts::reading::{Analysis, Folds, Reading, ReadingOptions, Settings, analyse};
use mary_stats::held_out::HeldOutVariance;

type Published = BTreeMap<(String, String), BTreeMap<String, f64>>;

/// Cells by measure and predictor; of those printed twice, the second ones apart.
fn published(path: &Path) -> (Published, Published) {
    let mut found = (Published::new(), Published::new());
    let mut reader = csv::Reader::from_path(path).unwrap();
    let head = reader.headers().unwrap().clone();
    for row in reader.records() {
        let row = row.unwrap();
        let cells = head.iter().zip(&row);
        let numbers = cells.filter_map(|(name, cell)| Some((name.to_owned(), cell.parse().ok()?)));
        let key = (row[1].to_owned(), row[2].to_owned());
        let numbers: BTreeMap<String, f64> = numbers.collect();
        match found.0.contains_key(&key) {
            false => found.0.insert(key, numbers),
            true => found.1.insert(key, numbers),
        };
    }
    found
}

/// What each predictor adds to each measure, cell by cell. Rows stand by sentence and place where `sorted`, as the authors had them for
/// spill-over.
fn each_cell(
    folder: &Path,
    cells: &Published,
    (settings, sorted): (&Settings, bool),
    check: impl Fn(&Analysis, &(String, String), &BTreeMap<String, f64>),
) {
    let mut reader = csv::Reader::from_path(folder.join("ucl_all_measures.csv")).unwrap();
    let head = reader.headers().unwrap().clone();
    let mut rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let column = |name: &str| head.iter().position(|h| h == name).unwrap();
    let (sentence, place) = (column("sent_id"), column("context_length"));
    if sorted {
        let number = |text: &str| text.parse::<u32>().unwrap();
        rows.sort_by_key(|row| (number(&row[sentence]), number(&row[place])));
    }
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("d.csv");
    let mut writer = csv::Writer::from_path(&path).unwrap();
    writer.write_record(&head).unwrap();
    rows.iter()
        .for_each(|row| writer.write_record(row).unwrap());
    writer.flush().unwrap();
    let called = |predictor: &str| predictor.replace("GPTNeo_large", "GPTNeo_2.7B");
    for same in cells
        .iter()
        .collect::<Vec<_>>()
        .chunk_by(|a, b| a.0.0 == b.0.0)
    {
        let options = ReadingOptions {
            measure: same[0].0.0.clone(),
            sentence: "sent_id".into(),
            position: Some("context_length".into()),
            text: Some("sentence".into()),
            predictors: same.iter().map(|(key, _)| called(&key.1)).collect(),
            frequency: Some("Subtlex_log10".into()),
            length: Some("length".into()),
            ..ReadingOptions::default()
        };
        let reading = Reading::open(&path, &options, None).unwrap();
        assert_eq!(reading.sentences.len(), 205);
        for (predictor, (key, cell)) in reading.given().into_iter().zip(same) {
            check(
                &analyse(&reading, &[predictor], settings).unwrap(),
                key,
                cell,
            );
        }
    }
}

#[track_caller]
fn near(found: f64, printed: f64, what: &str) {
    let off = (found - printed).abs() / printed.abs().max(1e-3);
    assert!(off < 1e-6, "{what}: {found} instead of {printed}");
}

/// Their folds are five stretches of rows; their density has the variance of the held-out residuals, and `ll_sd` is a standard
/// error over folds.
fn theirs(lags: Vec<usize>, by_line: bool) -> Settings {
    Settings {
        lags,
        folds: Folds::Rows(5),
        variance: HeldOutVariance::HeldOut,
        letters_only: true,
        by_line,
    }
}

fn folds_are_equal(found: &Analysis, cell: &BTreeMap<String, f64>, what: &str) {
    let by_fold = |rows: &[f64]| -> Vec<f64> {
        let mut sums = vec![0.0; 5];
        rows.iter()
            .zip(&found.folds)
            .for_each(|(x, fold)| sums[*fold] += x);
        sums
    };
    let (with, without) = (
        by_fold(&found.added[0].held_out),
        by_fold(&found.baseline_rows),
    );
    let mean = |x: &[f64]| x.iter().sum::<f64>() / 5.0;
    near(mean(&with), cell["ll_cv_model"], what);
    near(mean(&without), cell["ll_cv_baseline"], what);
    let gains: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
    let gain = mean(&gains);
    assert!((gain - cell["D_ll_cv"]).abs() < 1e-6, "{what}");
    let spread = gains.iter().map(|g| (g - gain).powi(2)).sum::<f64>() / 5.0;
    near((spread / 5.0).sqrt(), cell["ll_sd"], what);
}

#[test]
fn the_published_linear_models_and_cross_validation_come_out_cell_by_cell() {
    let Some(root) = mary_testkit::lacking::datasets("reading") else {
        return;
    };
    let folder = root.join("reading");
    let (linear, _) = published(&folder.join("published_results_linear.csv"));
    let (crossed, _) = published(&folder.join("published_results_crossval.csv"));
    assert_eq!((linear.len(), crossed.len()), (165, 165));
    each_cell(
        &folder,
        &linear,
        (&theirs(vec![0], true), false),
        |found, key, cell| {
            let (added, what) = (&found.added[0], format!("{key:?}"));
            let slope = &added.slopes[0];
            near(slope.value, cell["b"], &what);
            near(slope.value / slope.error, cell["t"], &what);
            near(slope.p, cell["p"], &what);
            near(added.log_likelihood, cell["llik"], &what);
            near(found.log_likelihood, cell["llik_baseline"], &what);
            folds_are_equal(found, &crossed[key], &what);
        },
    );
}

#[test]
fn the_published_spill_over_comes_out_cell_by_cell() {
    let Some(root) = mary_testkit::lacking::datasets("reading") else {
        return;
    };
    let folder = root.join("reading");
    let (cells, others) = published(&folder.join("published_spillover_results.csv"));
    // A measure is explained by the word before it alone. The fifteen cells printed a second time are of two words before, on rows that
    // nothing released names.
    assert_eq!((cells.len(), others.len()), (165, 15));
    let settings = theirs(vec![1], true);
    each_cell(&folder, &cells, (&settings, true), |found, key, cell| {
        folds_are_equal(found, cell, &format!("{key:?}"));
    });
}

fn reading(rows: &str, options: ReadingOptions) -> Reading {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.csv");
    std::fs::write(&path, rows).unwrap();
    let options = ReadingOptions {
        measure: "rt".into(),
        position: Some("at".into()),
        ..options
    };
    Reading::open(&path, &options, None).unwrap()
}

#[test]
fn rows_become_sentences_and_strangers_are_told() {
    let rows = "sentence,at,word,rt,who\n1,2,cat,300,a\n1,1,The,200,a\n1,1,The,NA,b\n1,2,cat,9000,b\n2,1,Dogs,250,a\n2,2,bark.,260,a\n";
    let found = reading(
        rows,
        ReadingOptions {
            person: Some("who".into()),
            between: Some((100.0, 3000.0)),
            ..ReadingOptions::default()
        },
    );
    let texts: Vec<&str> = found.sentences.iter().map(|s| s.text.as_str()).collect();
    assert_eq!(texts, ["The cat", "Dogs bark."]);
    assert_eq!(found.words[1].trials, [(0, 300.0)]);
    assert_eq!(found.words[3].length, 4.0);
    assert!(
        found.notes[0].starts_with("1 measures below 100"),
        "{:?}",
        found.notes
    );
    // Written without blanks.
    let rows = "sentence,at,word,rt\n1,1,我,300\n1,2,喜欢,320\n";
    let joint = String::new();
    let found = reading(
        rows,
        ReadingOptions {
            joint,
            ..ReadingOptions::default()
        },
    );
    assert_eq!(found.sentences[0].text, "我喜欢");
    found.check().unwrap();
    // The text has other words than the rows: told with the line, and left out.
    let rows = "sentence,at,word,rt,whole\n1,1,cat,300,The cat sat\n1,2,mat,310,The cat sat\n";
    let text = Some("whole".into());
    let found = reading(
        rows,
        ReadingOptions {
            text,
            ..ReadingOptions::default()
        },
    );
    assert!(found.notes[0].contains("1 of 2 rows") && found.notes[0].contains("line 3"));
    assert_eq!(
        (found.words[0].measure, found.words[1].measure),
        (Some(300.0), None)
    );
}
