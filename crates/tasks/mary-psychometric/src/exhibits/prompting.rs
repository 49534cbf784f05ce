//! Tables 8 to 10: typicality by prompting, one line a category, with what fifty runs of it vary by.

use mary_contract::{Cell, Table};

use super::{DECLARED, TaskResult, cell, figure};
use crate::published::published;

pub(super) fn table(all: &[TaskResult<'_>]) -> Option<Table> {
    let of: Vec<_> = all.iter().filter(|f| f.is_ranking()).collect();
    if of.is_empty() {
        return None;
    }
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for f in of {
        let norms = f.set("norms", "world");
        for (name, mean) in f.measures("category:") {
            if name.contains('.') {
                continue;
            }
            let spread = |what: &str| figure(f.measure(&format!("category:{name}.{what}")));
            rows.push(vec![
                f.model().into(),
                norms.into(),
                name.into(),
                cell(Some(mean)),
                spread("min"),
                spread("max"),
                spread("sd"),
                Cell::count(mean.n),
            ]);
        }
    }
    let printed = published().tables_8_to_10.iter().map(|row| {
        let number = |v: f64| format!("{v:.3}");
        vec![
            row.model.clone(),
            "castro".to_owned(),
            row.category.clone(),
            number(row.mean),
            number(row.min),
            number(row.max),
            number(row.sd),
            "50".to_owned(),
        ]
    });
    let table = DECLARED.table("psychometric-tables-8-to-10");
    Some(
        table
            .with_rows(rows)
            .with_published(Cell::printed_rows(printed)),
    )
}
