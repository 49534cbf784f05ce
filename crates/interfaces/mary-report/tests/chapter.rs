//! A chapter that no report of ours has, as a contributor would add it: one function, and one line in the list
//! of whoever writes the report.

use mary_contract::{Cell, Exhibits, Table};
use mary_report::html::{self, Chapter, ReportOptions};
use mary_stats::StatsError;

use crate::fixture;

/// How many samples each model was asked.
fn effort() -> Chapter<'static, StatsError> {
    Chapter::new("effort", "Effort & patience", |runs| {
        let rows = runs.iter().flat_map(|run| &run.rows);
        let rows = rows.map(|row| vec![row.model.clone().into(), Cell::count(row.samples)]);
        let table = Table {
            id: "effort-samples".into(),
            title: "Samples by model".into(),
            head: ["model", "samples"].map(String::from).to_vec(),
            ..Table::default()
        };
        let table = table.with_rows(rows).if_measured();
        Ok(table.map(|table| Exhibits::default().with_tables([Some(table)]).into()))
    })
}

#[test]
fn a_chapter_is_one_function_and_one_line() {
    let bench = fixture::bench(&["hf/lab/a", "hf/lab/b"], 12);
    // What an earlier chapter shows does not stand twice.
    let chapters = [effort(), effort()];
    let runs = [bench.run.clone()];
    let built = html::build(&chapters, &runs).unwrap();
    assert_eq!(built[0].contents.exhibits.tables.len(), 1);
    assert!(built[1].contents.exhibits.tables.is_empty());
    // Models are called by their labels there, as everywhere on a page.
    let names = &built[0].contents.exhibits.tables[0].rows;
    assert!(names.iter().all(|row| !row[0].contains("hf/")), "{names:?}");
    let mut page = Vec::new();
    let options = ReportOptions::default();
    html::report(&runs, &built[..1], &mut bench.tagged(), &options, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("<a href=\"#family-effort\">Effort &amp; patience</a>"));
    assert!(page.contains("id=\"tab-effort-samples\""));
    assert_eq!(html::build(&chapters, &[]).unwrap(), []);
}
