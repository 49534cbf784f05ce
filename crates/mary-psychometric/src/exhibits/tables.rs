//! Tables 3 to 7, and tables of our own in their manner.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::Table;

use super::{Found, cell, wide_cell};
use crate::published::{PublishedRow, published};

/// All tables that the results can fill.
pub(super) fn tables(all: &[Found<'_>]) -> Vec<Table> {
    [
        overview(all),
        numbers(all),
        grammar(all),
        prompted_categories(all),
        typicality(all),
        categories(all),
        matrices(all),
        analogies(all),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// Models in the order in which they were run.
fn models<'a>(of: impl Iterator<Item = Found<'a>>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    of.map(|f| f.model()).filter(|m| seen.insert(*m)).collect()
}

fn with_published(
    mut rows: Vec<Vec<String>>,
    published: &[PublishedRow],
    line: impl Fn(&PublishedRow) -> Vec<String>,
) -> (Vec<Vec<String>>, Vec<usize>) {
    let measured = rows.len();
    rows.extend(published.iter().map(line));
    let marked = (measured..rows.len()).collect();
    (rows, marked)
}

fn printed(row: &PublishedRow, names: &[&str]) -> Vec<String> {
    names
        .iter()
        .map(|n| {
            row.values
                .get(*n)
                .map_or_else(|| "–".to_owned(), |v| format!("{v:.3}"))
        })
        .collect()
}

fn shots(found: &Found<'_>) -> usize {
    found.settings.shots.unwrap_or(0)
}

/// Table 3: all abilities.
fn overview(all: &[Found<'_>]) -> Option<Table> {
    let pick = |model: &str, task: &str, fits: &dyn Fn(&Found<'_>) -> bool| {
        all.iter()
            .find(|f| f.model() == model && f.task() == task && fits(f))
            .copied()
    };
    let any = |_: &Found<'_>| true;
    let parts = [
        "numbers",
        "blimp",
        "typicality-vectors",
        "typicality-surprisal",
        "matrices",
    ];
    let shown = models(all.iter().filter(|f| parts.contains(&f.task())).copied());
    if shown.is_empty() {
        return None;
    }
    let rows = shown
        .iter()
        .map(|model| {
            let numbers = pick(model, "numbers", &any);
            let blimp = pick(model, "blimp", &any);
            let latent = pick(model, "typicality-vectors", &any);
            let zero = pick(model, "typicality-surprisal", &|f| shots(f) == 0);
            let matrices = pick(model, "matrices", &any);
            let value = |f: Option<Found<'_>>, name: &str| cell(f.and_then(|f| f.measure(name)));
            let mut norms: Vec<String> = [latent, zero]
                .iter()
                .flatten()
                .map(|f| format!("typicality: {}", f.set("norms", "world")))
                .collect();
            norms.dedup();
            norms.extend(matrices.map(|f| format!("matrices: {}", f.set("matrices", "fresh"))));
            vec![
                (*model).to_owned(),
                value(numbers, "distance"),
                value(numbers, "ratio"),
                value(blimp, "score"),
                value(latent, "score"),
                value(zero, "score"),
                value(matrices, "score"),
                norms.join(", "),
            ]
        })
        .collect();
    let columns = [
        "distance",
        "ratio",
        "blimp",
        "latent",
        "zero_shot",
        "matrices",
    ];
    let (rows, marked) = with_published(rows, &published().table_3, |row| {
        let mut cells = vec![row.model.clone()];
        cells.extend(printed(row, &columns));
        cells.push("typicality: castro, matrices: RAVEN's panels".into());
        cells
    });
    Some(Table {
        id: "psychometric-table-3".into(),
        title: "Psychometric abilities".into(),
        caption: "R² of the distance and ratio effects (mean over formats and layers), accuracy on \
                  BLiMP, Spearman's correlation with typicality by vectors and by zero-shot surprisal, \
                  accuracy on Raven's matrices (chance 0.125). The form of Shah et al. 2024, Table 3; its \
                  printed results stand below ours. Norms and matrices differ from theirs where the last \
                  column says so."
            .into(),
        head: heads(&[
            "model",
            "distance effect",
            "ratio effect",
            "BLiMP",
            "typicality, vectors",
            "typicality, zero-shot",
            "matrices",
            "from",
        ]),
        rows,
        published: marked,
    })
}

/// Table 4: numbers.
fn numbers(all: &[Found<'_>]) -> Option<Table> {
    let names = [
        "distance",
        "ratio",
        "size",
        "mds_stress",
        "mds_correlation",
        "range",
        "max",
    ];
    let of: Vec<_> = all.iter().filter(|f| f.task() == "numbers").collect();
    if of.is_empty() {
        return None;
    }
    let rows = of
        .iter()
        .map(|f| {
            let sign = |name: &str| match f.measure(name).map(|e| e.value) {
                Some(v) if v > 0.0 => "+",
                Some(v) if v < 0.0 => "−",
                _ => "·",
            };
            let mut cells = vec![f.model().to_owned()];
            cells.extend(names.iter().map(|n| cell(f.measure(n))));
            cells.push(format!(
                "{} {} {}",
                sign("distance_slope"),
                sign("ratio_drop"),
                sign("size_slope")
            ));
            cells.push(format!(
                "{}, pairs {}, {}",
                f.set("range", "1-9"),
                f.set("pairs", "averaged"),
                f.set("pooling", "mean")
            ));
            cells
        })
        .collect();
    let (rows, marked) = with_published(rows, &published().table_4, |row| {
        let mut cells = vec![row.model.clone()];
        cells.extend(printed(row, &names));
        cells.extend(["–".to_owned(), "1-9".to_owned()]);
        cells
    });
    Some(Table {
        id: "psychometric-table-4".into(),
        title: "Numbers: the mental number line".into(),
        caption: "R² of the distance, ratio and size effects, stress and absolute correlation with the \
                  logarithm of the numbers on one line, range and maximum of similarity; mean over \
                  formats and layers. The form of Shah et al. 2024, Table 4. R² does not say in which \
                  direction: the column of signs does (people: − for distance, + for ratio and size)."
            .into(),
        head: heads(&[
            "model",
            "distance",
            "ratio",
            "size",
            "MDS stress",
            "MDS correlation",
            "range",
            "maximum",
            "signs (d r s)",
            "how",
        ]),
        rows,
        published: marked,
    })
}

/// Table 5: BLiMP by field.
fn grammar(all: &[Found<'_>]) -> Option<Table> {
    let of: Vec<_> = all.iter().filter(|f| f.task() == "blimp").collect();
    if of.is_empty() {
        return None;
    }
    let fields = ["syntax", "semantics", "morphology"];
    let rows = of
        .iter()
        .map(|f| {
            let by = f.row.breakdowns.iter().find(|b| b.tag == "field");
            let mut cells = vec![f.model().to_owned(), cell(f.measure("score"))];
            cells.extend(
                fields
                    .iter()
                    .map(|field| cell(by.and_then(|b| b.values.get(*field)))),
            );
            cells
        })
        .collect();
    let columns = ["blimp", "syntax", "semantics", "morphology"];
    let (rows, marked) = with_published(rows, &published().table_5, |row| {
        let mut cells = vec![row.model.clone()];
        cells.extend(printed(row, &columns));
        cells
    });
    Some(Table {
        id: "psychometric-table-5".into(),
        title: "BLiMP by field".into(),
        caption: "Accuracy by field of linguistics, ties one half. The form of Shah et al. 2024, Table 5. \
                  Sets that BLiMP files under both syntax and semantics count for neither here."
            .into(),
        head: heads(&["model", "BLiMP", "syntax", "semantics", "morphology"]),
        rows,
        published: marked,
    })
}

/// Table 6: typicality by prompting, by category.
fn prompted_categories(all: &[Found<'_>]) -> Option<Table> {
    let of: Vec<_> = all
        .iter()
        .filter(|f| f.task() == "typicality-prompting" && f.row.score.is_some())
        .collect();
    if of.is_empty() {
        return None;
    }
    let theirs = ["GPT 3.5", "GPT 4", "Gemini"];
    let mut names: BTreeSet<&str> = of
        .iter()
        .flat_map(|f| f.measures("category:"))
        .map(|(name, _)| name)
        .filter(|name| !name.contains('.'))
        .collect();
    names.extend(published().table_6.iter().map(|c| c.category.as_str()));
    names.remove("Average");
    let mut rows: Vec<Vec<String>> = Vec::new();
    for name in names.iter().copied().chain(["Average"]) {
        let printed = published().table_6.iter().find(|c| c.category == name);
        let mut cells = vec![name.to_owned()];
        cells.extend(of.iter().map(|f| match name {
            "Average" => cell(f.measure("mean_of_categories")),
            _ => cell(f.measure(&format!("category:{name}"))),
        }));
        cells.extend(theirs.iter().map(|m| {
            printed
                .and_then(|c| c.models.get(*m))
                .map_or_else(|| "–".to_owned(), |v| format!("{v:.3}"))
        }));
        rows.push(cells);
    }
    let mut head = heads(&["category"]);
    head.extend(of.iter().map(|f| {
        let discarded: usize = f.row.unscored.values().sum();
        format!(
            "{} ({} norms; {discarded} of {} rankings discarded)",
            f.model(),
            f.set("norms", "world"),
            f.row.samples
        )
    }));
    head.extend(theirs.iter().map(|m| format!("{m} (published)")));
    Some(Table {
        id: "psychometric-table-6".into(),
        title: "Typicality by prompting, by category".into(),
        caption: "Spearman's correlation with typicality, mean over complete rankings. The form of Shah et \
                  al. 2024, Table 6; its values rest on the norms of Castro et al. 2021."
            .into(),
        head,
        rows,
        published: vec![],
    })
}

/// Table 7: typicality by three methods.
fn typicality(all: &[Found<'_>]) -> Option<Table> {
    type Key<'a> = (&'a str, &'a str);
    let mut rows: BTreeMap<Key<'_>, BTreeMap<String, String>> = BTreeMap::new();
    let mut order: Vec<Key<'_>> = Vec::new();
    for f in all.iter().filter(|f| f.task().starts_with("typicality-")) {
        let key = (f.model(), f.set("norms", "world"));
        let column = match f.task() {
            "typicality-vectors" => "latent".to_owned(),
            "typicality-prompting" => "prompting".to_owned(),
            _ => ["zero_shot", "one_shot", "two_shot", "three_shot"]
                .get(shots(f))
                .map(|s| (*s).to_owned())?,
        };
        if !rows.contains_key(&key) {
            order.push(key);
        }
        rows.entry(key)
            .or_default()
            .insert(column, wide_cell(f.measure("score")));
    }
    if rows.is_empty() {
        return None;
    }
    let columns = [
        "latent",
        "zero_shot",
        "one_shot",
        "two_shot",
        "three_shot",
        "prompting",
    ];
    let lines = order
        .iter()
        .filter_map(|key| {
            let row = rows.get(key)?;
            let mut cells = vec![key.0.to_owned(), key.1.to_owned()];
            cells.extend(
                columns
                    .iter()
                    .map(|c| row.get(*c).cloned().unwrap_or_else(|| "–".into())),
            );
            Some(cells)
        })
        .collect();
    let (rows, marked) = with_published(lines, &published().table_7, |row| {
        let mut cells = vec![row.model.clone(), "castro".to_owned()];
        cells.extend(printed(row, &columns));
        cells
    });
    Some(Table {
        id: "psychometric-table-7".into(),
        title: "Typicality by three methods".into(),
        caption: "Spearman's correlation with typicality, mean over categories with its 95 % interval. The \
                  form of Shah et al. 2024, Table 7. `world` is no judgement of people: it is how often \
                  the built-in model's corpus mentions each member."
            .into(),
        head: heads(&[
            "model",
            "norms",
            "vectors",
            "zero-shot",
            "one-shot",
            "two-shot",
            "three-shot",
            "prompting",
        ]),
        rows,
        published: marked,
    })
}

/// Every category with its own interval.
fn categories(all: &[Found<'_>]) -> Option<Table> {
    let of: Vec<_> = all
        .iter()
        .filter(|f| {
            matches!(f.task(), "typicality-vectors" | "typicality-surprisal")
                && !f.measures("category:").is_empty()
        })
        .collect();
    let names: BTreeSet<&str> = of
        .iter()
        .flat_map(|f| f.measures("category:"))
        .map(|(name, _)| name)
        .collect();
    if names.is_empty() {
        return None;
    }
    let mut head = heads(&["category"]);
    head.extend(of.iter().map(|f| {
        let how = f.task().trim_start_matches("typicality-");
        let shots = match (f.task(), shots(f)) {
            ("typicality-surprisal", k) => format!(", {k} shots"),
            _ => String::new(),
        };
        format!("{} ({how}{shots}, {})", f.model(), f.set("norms", "world"))
    }));
    let rows = names
        .iter()
        .map(|name| {
            let mut cells = vec![(*name).to_owned()];
            cells.extend(
                of.iter()
                    .map(|f| wide_cell(f.measure(&format!("category:{name}")))),
            );
            cells
        })
        .collect();
    Some(Table {
        id: "psychometric-typicality-categories".into(),
        title: "Typicality by category".into(),
        caption:
            "Spearman's correlation within each category, with its 95 % interval (Fisher's z with \
                  Bonett and Wright's correction)."
                .into(),
        head,
        rows,
        published: vec![],
    })
}

/// Raven's matrices under both conventions, and what the candidates alone give away.
fn matrices(all: &[Found<'_>]) -> Option<Table> {
    let rows: Vec<Vec<String>> = all
        .iter()
        .filter(|f| matches!(f.task(), "matrices" | "digit-matrices" | "letter-strings"))
        .map(|f| {
            let written = f.set("mode", "score") == "generate";
            let how = match f.task() {
                "matrices" => format!(
                    "{}, instruction {}, {}",
                    f.set("matrices", "fresh"),
                    f.set("instruction", "1"),
                    f.set("layout", "paper")
                ),
                "digit-matrices" => f.set("source", "fresh").to_owned(),
                _ => format!("{} generalisations", f.set("generalisations", "0")),
            };
            let measured = |name: &str| wide_cell(f.measure(name));
            vec![
                f.model().to_owned(),
                f.task().to_owned(),
                how,
                if written {
                    measured("accuracy")
                } else {
                    "–".into()
                },
                measured("sum_logprob"),
                measured("mean_logprob"),
                cell(f.measure("context_blind")),
                f.row
                    .chance
                    .map_or_else(|| "–".to_owned(), |c| format!("{c:.3}")),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: "psychometric-fluid-reasoning".into(),
        title: "Fluid reasoning".into(),
        caption: "Accuracy when candidates are compared by the log-probability of the whole sequence (the \
                  paper's way) and by the mean per token of the candidate (lm-raven's), or when the model \
                  writes its answer. `candidates alone`: what is reached without looking at the matrix, \
                  by taking the candidate that shares most with the others."
            .into(),
        head: heads(&[
            "model",
            "task",
            "items",
            "written",
            "sum",
            "mean",
            "candidates alone",
            "chance",
        ]),
        rows,
        published: vec![],
    })
}

/// Analogies by three formulas, surprisal and prompting.
fn analogies(all: &[Found<'_>]) -> Option<Table> {
    let of = || {
        all.iter()
            .filter(|f| f.task().starts_with("analogies-"))
            .copied()
    };
    let rows: Vec<Vec<String>> = models(of())
        .iter()
        .map(|model| {
            let value = |task: &str, name: &str| {
                let found = of().find(|f| f.model() == *model && f.task() == task);
                wide_cell(found.and_then(|f| f.measure(name)))
            };
            vec![
                (*model).to_owned(),
                value("analogies-vectors", "cos_add"),
                value("analogies-vectors", "cos_mul"),
                value("analogies-vectors", "concat_cos"),
                value("analogies-surprisal", "sum_logprob"),
                value("analogies-prompting", "accuracy"),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: "psychometric-analogies".into(),
        title: "Analogies".into(),
        caption: "Accuracy on A : B :: C : D with five choices (chance 0.200), by three formulas on \
                  vectors, by surprisal and by prompting: Shah et al. 2024, Appendix B.4.1, which prints no \
                  values."
            .into(),
        head: heads(&[
            "model",
            "3-cos-add",
            "3-cos-mul",
            "concat-cos",
            "surprisal",
            "prompting",
        ]),
        rows,
        published: vec![],
    })
}
