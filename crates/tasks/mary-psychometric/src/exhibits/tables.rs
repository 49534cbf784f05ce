//! Tables 3, 4, 6 and 7, and tables of our own in their manner; Table 5 and Tables 8 to 10 are beside.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::{Cell, Table};
use mary_platform::{distinct, given};

use super::{Column, DECLARED, TaskResult, cell, left_out_of, printed, told_apart};
use crate::published::published;
use crate::typicality::FIRST_UNSCORED;

pub(super) fn tables(all: &[TaskResult<'_>]) -> Vec<Table> {
    let tables = [
        overview(all),
        numbers(all),
        super::nulls::table(all),
        super::fields::table(all),
        prompted_categories(all),
        super::prompting::table(all),
        typicality(all),
        categories(all),
        matrices(all),
        analogies(all),
    ];
    tables.into_iter().flatten().collect()
}

fn models<'a>(of: impl Iterator<Item = TaskResult<'a>>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    of.map(|f| f.model()).filter(|m| seen.insert(*m)).collect()
}

fn shots(found: &TaskResult<'_>) -> usize {
    found.settings.shots.unwrap_or(0)
}

/// Table 3: all abilities.
fn overview(all: &[TaskResult<'_>]) -> Option<Table> {
    let column = |task: &'static str| {
        // Zero-shot is a column of its own; results with shots are no part of it.
        let fits = move |f: &&TaskResult<'_>| {
            f.task() == task && (task != "typicality-surprisal" || shots(f) == 0)
        };
        Column::of_one_question(all.iter().filter(fits).copied())
    };
    let parts = [
        "numbers",
        "blimp",
        "typicality-vectors",
        "typicality-surprisal",
        "matrices",
    ];
    let shown = models(all.iter().filter(|f| parts.contains(&f.task())).copied());
    let [c_numbers, c_blimp, c_latent, c_zero, c_matrices] = parts.map(column);
    let columns = [&c_numbers, &c_blimp, &c_latent, &c_zero, &c_matrices];
    let rows = shown.iter().map(|model| {
        let [numbers, blimp, latent, zero, matrices] = columns.map(|c| c.model(model));
        let value = |f: Option<TaskResult<'_>>, name: &str| cell(f.and_then(|f| f.measure(name)));
        let typical = [latent, zero].into_iter().flatten();
        let norms = typical.map(|f| format!("typicality: {}", f.set("norms", "world")));
        let mut norms: Vec<String> = norms.collect();
        norms.dedup();
        norms.extend(matrices.map(|f| format!("matrices: {}", f.set("matrices", "fresh"))));
        vec![
            (*model).into(),
            value(numbers, "distance"),
            value(numbers, "ratio"),
            value(blimp, "score"),
            value(latent, "score"),
            value(zero, "score"),
            value(matrices, "score"),
            norms.join(", ").into(),
        ]
    });
    let paper = published().table_3.iter().map(|row| {
        let mut cells = vec![row.model.clone()];
        cells.extend(printed(row, &["distance", "ratio", "blimp"]));
        cells.extend(printed(row, &["latent", "zero_shot", "matrices"]));
        // Models behind an API show no vectors: the paper puts prompting there, with a star.
        if let (Some(prompting), Some(latent)) = (row.values.get("prompting"), cells.get_mut(4)) {
            *latent = format!("{prompting:.3}*");
        }
        cells.push("typicality: castro, matrices: RAVEN's panels".into());
        cells
    });
    DECLARED
        .table("psychometric-table-3")
        .saying("left_out", left_out_of(&columns))
        .with_rows(rows)
        .beside(paper)
}

/// Table 4: numbers.
fn numbers(all: &[TaskResult<'_>]) -> Option<Table> {
    let names = "distance ratio size mds_stress mds_correlation range max";
    let names: Vec<&str> = names.split(' ').collect();
    let of: Vec<_> = all.iter().filter(|f| f.task() == "numbers").collect();
    let rows = of.iter().zip(told_apart(&of)).map(|(f, variant)| {
        let sign = |name: &str| match f.measure(name).map(|e| e.value) {
            Some(v) if v > 0.0 => "+",
            Some(v) if v < 0.0 => "−",
            _ => "·",
        };
        let mut cells = vec![Cell::from(f.model())];
        cells.extend(names.iter().map(|n| cell(f.measure(n))));
        let signs = ["distance_slope", "ratio_drop", "size_slope"].map(sign);
        cells.push(signs.join(" ").into());
        let (range, pairs) = (f.set("range", "1-9"), f.set("pairs", "averaged"));
        let pooling = f.set("pooling", "mean");
        let how = format!("{range}, pairs {pairs}, {pooling}{variant}");
        cells.push(how.into());
        cells
    });
    let paper = published().table_4.iter().map(|row| {
        let mut cells = vec![row.model.clone()];
        cells.extend(printed(row, &names));
        cells.extend(["–".to_owned(), "1-9".to_owned()]);
        cells
    });
    let table = DECLARED.table("psychometric-table-4").with_rows(rows);
    table.beside(paper)
}

/// Table 6: typicality by prompting, by category.
fn prompted_categories(all: &[TaskResult<'_>]) -> Option<Table> {
    let of: Vec<_> = all.iter().filter(|f| f.is_ranking()).collect();
    given(!of.is_empty())?;
    let theirs = ["GPT 3.5", "GPT 4", "Gemini"];
    let measures = of.iter().flat_map(|f| f.measures("category:"));
    let mut names: BTreeSet<&str> = measures.map(|(name, _)| name).collect();
    names.retain(|name| !name.contains('.'));
    names.extend(published().table_6.iter().map(|c| c.category.as_str()));
    names.remove("Average");
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for name in names.iter().copied().chain(["Average"]) {
        let printed = published().table_6.iter().find(|c| c.category == name);
        let mut cells = vec![Cell::from(name)];
        cells.extend(of.iter().map(|f| match name {
            "Average" => cell(f.measure("mean_of_categories")).over("categories"),
            _ => cell(f.measure(&format!("category:{name}"))),
        }));
        cells.extend(theirs.iter().map(|m| {
            let value = printed.and_then(|c| c.models.get(*m));
            value.map(|v| Cell::printed(format!("{v:.3}"))).into()
        }));
        rows.push(cells);
    }
    let ours = of.iter().zip(told_apart(&of)).map(|(f, variant)| {
        let discarded: usize = f.row.unscored.values().sum();
        format!(
            "{} ({} norms; {discarded} of {} rankings discarded){variant}",
            f.model(),
            f.set("norms", "world"),
            f.row.samples
        )
    });
    let heads = ours.chain(theirs.iter().map(|m| format!("{m} (published)")));
    let table = DECLARED.table("psychometric-table-6");
    Some(table.with_heads("models", heads).with_rows(rows))
}

/// Table 7: typicality by three methods.
fn typicality(all: &[TaskResult<'_>]) -> Option<Table> {
    let columns = "latent zero_shot one_shot two_shot three_shot prompting";
    let columns: Vec<&str> = columns.split(' ').collect();
    let place = |f: &TaskResult<'_>| match f.task() {
        "typicality-vectors" => Some(0),
        "typicality-surprisal" => (shots(f) < 4).then(|| 1 + shots(f)),
        "typicality-prompting" => Some(5),
        _ => None,
    };
    let shown: Vec<TaskResult<'_>> = all.iter().filter(|f| place(f).is_some()).copied().collect();
    let order = distinct(shown.iter().map(|f| (f.model(), f.set("norms", "world"))));
    // One question for each column and norms: norms have rows of their own.
    let norms: BTreeSet<&str> = order.iter().map(|(_, norms)| *norms).collect();
    let mut by_norms: BTreeMap<&str, Vec<Column<'_>>> = BTreeMap::new();
    for norms in norms {
        let column = |at: usize| {
            let fits =
                |f: &&TaskResult<'_>| place(f) == Some(at) && f.set("norms", "world") == norms;
            Column::of_one_question(shown.iter().filter(fits).copied())
        };
        by_norms.insert(norms, (0..columns.len()).map(column).collect());
    }
    let rows = order.iter().filter_map(|(model, norms)| {
        let columns = by_norms.get(norms)?;
        let mut found = columns.iter().filter_map(|column| column.model(model));
        let of = match found.any(|f| f.measure(FIRST_UNSCORED).is_some()) {
            true => format!("{norms}; first word not scored"),
            false => (*norms).to_owned(),
        };
        let mut cells = vec![Cell::from(*model), of.into()];
        cells.extend(columns.iter().map(|column| {
            let found = column.model(model);
            cell(found.and_then(|f| f.measure("score")))
        }));
        Some(cells)
    });
    let left_out = left_out_of(&by_norms.values().flatten().collect::<Vec<_>>());
    let paper = published().table_7.iter().map(|row| {
        let mut cells = vec![row.model.clone(), "castro".to_owned()];
        cells.extend(printed(row, &columns));
        cells
    });
    DECLARED
        .table("psychometric-table-7")
        .saying("left_out", left_out)
        .with_rows(rows)
        .beside(paper)
}

fn categories(all: &[TaskResult<'_>]) -> Option<Table> {
    let shown = |f: &&TaskResult<'_>| {
        matches!(f.task(), "typicality-vectors" | "typicality-surprisal")
            && !f.measures("category:").is_empty()
    };
    let of: Vec<_> = all.iter().filter(shown).collect();
    let measures = of.iter().flat_map(|f| f.measures("category:"));
    let names: BTreeSet<&str> = measures.map(|(name, _)| name).collect();
    let heads = of.iter().map(|f| {
        let how = f.task().trim_start_matches("typicality-");
        let shots = match (f.task(), shots(f)) {
            ("typicality-surprisal", k) => format!(", {k} shots"),
            _ => String::new(),
        };
        format!("{} ({how}{shots}, {})", f.model(), f.set("norms", "world"))
    });
    let rows = names.iter().map(|name| {
        let measure = format!("category:{name}");
        let values = of.iter().map(|f| cell(f.measure(&measure)));
        [Cell::from(*name)].into_iter().chain(values).collect()
    });
    DECLARED
        .table("psychometric-typicality-categories")
        .with_heads("models", heads)
        .with_rows(rows)
        .if_measured()
}

/// Raven's matrices under both conventions, and what the candidates alone give away.
fn matrices(all: &[TaskResult<'_>]) -> Option<Table> {
    let tasks = ["matrices", "digit-matrices", "letter-strings"];
    let of: Vec<&TaskResult<'_>> = all.iter().filter(|f| tasks.contains(&f.task())).collect();
    let rows = of.iter().zip(told_apart(&of)).map(|(f, variant)| {
        let written = f.set("mode", "score") == "generate";
        let how = match f.task() {
            "matrices" => {
                let (which, layout) = (f.set("matrices", "fresh"), f.set("layout", "paper"));
                format!(
                    "{which}, instruction {}, {layout}",
                    f.set("instruction", "1")
                )
            }
            "digit-matrices" => f.set("source", "fresh").to_owned(),
            _ => format!("{} generalisations", f.set("generalisations", "0")),
        };
        let measured = |name: &str| cell(f.measure(name));
        vec![
            f.model().into(),
            f.task().into(),
            format!("{how}{variant}").into(),
            written.then(|| measured("accuracy")).into(),
            measured("sum_logprob"),
            measured("mean_logprob"),
            cell(f.measure("context_blind")),
            f.row.chance.map(|c| Cell::figure(format!("{c:.3}"))).into(),
        ]
    });
    DECLARED.rows("psychometric-fluid-reasoning", rows)
}

fn analogies(all: &[TaskResult<'_>]) -> Option<Table> {
    let ours = |f: &TaskResult<'_>| f.task().starts_with("analogies-");
    let of = || all.iter().copied().filter(ours);
    let [vectors, surprisal, prompting] = ["vectors", "surprisal", "prompting"].map(|how| {
        let fits = |f: &TaskResult<'_>| f.task().ends_with(how);
        Column::of_one_question(of().filter(fits))
    });
    let shown = models(of());
    let rows = shown.iter().map(|model| {
        let value =
            |column: &Column<'_>, name| cell(column.model(model).and_then(|f| f.measure(name)));
        vec![
            (*model).into(),
            value(&vectors, "cos_add"),
            value(&vectors, "cos_mul"),
            value(&vectors, "concat_cos"),
            value(&surprisal, "sum_logprob"),
            value(&prompting, "accuracy"),
        ]
    });
    DECLARED
        .table("psychometric-analogies")
        .saying("left_out", left_out_of(&[&vectors, &surprisal, &prompting]))
        .with_rows(rows)
        .if_measured()
}
