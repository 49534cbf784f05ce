//! Any table as Markdown, LaTeX or CSV, and the data of any figure as a table.

use mary_contract::{Cell, Figure, FigureKind, NumberColumns, Scale, Table};

use crate::escape;

/// The mark published rows carry in text, where no colour tells.
const PUBLISHED: &str = "(published)";

/// The rows as text. Measured values stand with what they rest on, except where columns of their own
/// hold that (`alone`).
fn cells(table: &Table, alone: bool) -> impl Iterator<Item = Vec<String>> + '_ {
    table.rows.iter().enumerate().map(move |(index, row)| {
        let text = |c: &Cell| match alone {
            true => escape::terminal(c),
            false => escape::terminal(&c.full()),
        };
        let mut row: Vec<String> = row.iter().map(text).collect();
        row.resize(table.head.len().max(row.len()), String::new());
        if table.published.contains(&index)
            && let Some(first) = row.first_mut()
            && !first.contains("published")
        {
            *first = format!("{first} {PUBLISHED}");
        }
        row
    })
}

/// A table in GitHub's Markdown, its caption below.
pub fn markdown(table: &Table) -> String {
    let escape = |cell: &str| {
        cell.replace('\\', "\\\\")
            .replace('|', "\\|")
            .replace('<', "&lt;")
    };
    let line = |row: &[String]| {
        let row: Vec<_> = row.iter().map(|c| escape(c)).collect();
        format!("| {} |\n", row.join(" | "))
    };
    let mut out = format!("**{}**\n\n", escape(&escape::terminal(&table.title)));
    let head: Vec<_> = table.head.iter().map(|c| escape::terminal(c)).collect();
    out += &line(&head);
    let rules: Vec<_> = (0..head.len())
        .map(|c| {
            if numeric_column(table, c) {
                "---:"
            } else {
                "---"
            }
        })
        .collect();
    out += &format!("| {} |\n", rules.join(" | "));
    for row in cells(table, false) {
        out += &line(&row);
    }
    if !table.caption.is_empty() {
        out += &format!("\n{}\n", escape(&escape::terminal(&table.caption)));
    }
    out
}

/// A table for a paper, with the `booktabs` package.
pub fn latex(table: &Table) -> String {
    let columns: String = (0..table.head.len())
        .map(|c| if numeric_column(table, c) { 'r' } else { 'l' })
        .collect();
    let line = |row: &[String]| {
        let row: Vec<_> = row.iter().map(|c| latex_text(c)).collect();
        format!("    {} \\\\\n", row.join(" & "))
    };
    let mut out = String::from("\\begin{table}[t]\n  \\centering\n");
    out += &format!("  \\begin{{tabular}}{{{columns}}}\n    \\toprule\n");
    out += &line(&table.head);
    out += "    \\midrule\n";
    for row in cells(table, false) {
        out += &line(&row);
    }
    out += "    \\bottomrule\n  \\end{tabular}\n";
    let caption = if table.caption.is_empty() {
        latex_text(&table.title)
    } else {
        format!(
            "{}. {}",
            latex_text(&table.title),
            latex_prose(&table.caption)
        )
    };
    let label: String = table
        .id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    out += &format!("  \\caption{{{caption}}}\n  \\label{{tab:{label}}}\n\\end{{table}}\n");
    out
}

/// A table as comma-separated values (RFC 4180). A cell that a spreadsheet would run as a formula
/// gets an apostrophe in front. What measured values rest on stands in columns behind all others
/// (`rhyme n`, `rhyme low`, `rhyme high`), so that every cell is one number.
pub fn csv(table: &Table) -> String {
    let measured: Vec<usize> = (0..table.head.len())
        .filter(|&c| {
            let mut column = table.rows.iter().filter_map(|row| row.get(c));
            column.any(|cell| cell.basis().is_some())
        })
        .collect();
    let mut head = table.head.clone();
    for name in measured.iter().filter_map(|&c| table.head.get(c)) {
        head.extend(["n", "low", "high"].map(|part| format!("{name} {part}")));
    }
    let mut out = csv_line(&head);
    for (mut line, row) in cells(table, true).zip(&table.rows) {
        for &column in &measured {
            let basis = row.get(column).and_then(Cell::basis);
            let (low, high) = basis.and_then(|b| b.bounds.clone()).unwrap_or_default();
            line.extend([
                basis.map_or_else(String::new, |b| b.n.to_string()),
                low,
                high,
            ]);
        }
        out += &csv_line(&line);
    }
    out
}

/// The data behind a figure, one row per point.
pub fn figure_table(figure: &Figure) -> Table {
    let heat = figure.kind == FigureKind::Heatmap;
    let by_label = heat || figure.kind == FigureKind::Box || figure.x.scale == Scale::Category;
    let points = || figure.series.iter().flat_map(|s| &s.points);
    let bounds = points().any(|p| p.low.is_some() || p.high.is_some());
    let labels = by_label || points().any(|p| !p.label.is_empty());
    let places = !by_label;
    let mut head = vec![if heat {
        title_or(&figure.y.title, "row")
    } else {
        "series".into()
    }];
    if labels {
        head.push(title_or(&figure.x.title, "label"));
    }
    if places {
        head.push(if labels {
            "x".into()
        } else {
            title_or(&figure.x.title, "x")
        });
    }
    head.push(if heat {
        "value".into()
    } else {
        title_or(&figure.y.title, "y")
    });
    if bounds {
        head.extend(["low".into(), "high".into()]);
    }
    let mut rows = Vec::new();
    let mut published = Vec::new();
    for series in &figure.series {
        for point in &series.points {
            if series.published {
                published.push(rows.len());
            }
            let mut row = vec![series.name.clone()];
            if labels {
                row.push(point.label.clone());
            }
            if places {
                row.push(number(point.x));
            }
            row.push(number(point.y));
            if bounds {
                row.push(point.low.map(number).unwrap_or_default());
                row.push(point.high.map(number).unwrap_or_default());
            }
            rows.push(row);
        }
    }
    for range in &figure.ranges {
        for (edge, x) in [("from", range.from), ("to", range.to)] {
            if range.published {
                published.push(rows.len());
            }
            let mut row = vec![range.name.clone()];
            if labels {
                row.push(edge.to_owned());
            }
            if places {
                row.push(number(x));
            }
            row.resize(head.len(), String::new());
            rows.push(row);
        }
    }
    for reference in &figure.references {
        let mut row = vec![String::new(); head.len()];
        if let Some(first) = row.first_mut() {
            first.clone_from(&reference.name);
        }
        let value = head.len() - 1 - if bounds { 2 } else { 0 };
        if let Some(cell) = row.get_mut(value) {
            *cell = number(reference.y);
        }
        rows.push(row);
    }
    Table {
        id: format!("{}-data", figure.id),
        title: format!("Data of “{}”", figure.title),
        caption: String::new(),
        head,
        // Bounds have columns of their own here.
        rows: Cell::figures(rows),
        published,
        numbers: NumberColumns::From(if labels { 2 } else { 1 }),
    }
}

fn title_or(title: &str, other: &str) -> String {
    if title.is_empty() {
        other.to_owned()
    } else {
        title.to_owned()
    }
}

/// A number as short as it reads back to six digits.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether a column holds numbers: as its maker says, or else whether every filled cell begins like one.
pub(crate) fn numeric_column(table: &Table, column: usize) -> bool {
    if let Some(said) = table.numbers.holds(column) {
        return said;
    }
    let mut filled = table
        .rows
        .iter()
        .filter_map(|r| r.get(column))
        .map(|c| c.trim())
        .filter(|c| !c.is_empty() && *c != "–" && *c != "—")
        .peekable();
    filled.peek().is_some()
        && filled.all(|c| {
            let c = c.trim_start_matches(['-', '−', '+', '[', '<', '.', ' ', '±']);
            c.starts_with(|d: char| d.is_ascii_digit()) && !c.contains(|l: char| l.is_alphabetic())
        })
}

fn csv_line(row: &[String]) -> String {
    let cells: Vec<_> = row.iter().map(|c| csv_cell(c)).collect();
    format!("{}\r\n", cells.join(","))
}

fn csv_cell(cell: &str) -> String {
    let cell = mary_platform::for_spreadsheet(cell).into_owned();
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}

/// Prose in which backticks mean code.
fn latex_prose(text: &str) -> String {
    let code = |code: &str| format!("\\texttt{{{}}}", latex_text(code));
    escape::with_code(text, latex_text, code)
}

/// What LaTeX reads otherwise, or not at all, and how it is written there.
const LATEX: [(char, &str); 19] = [
    ('\\', "\\textbackslash{}"),
    ('~', "\\textasciitilde{}"),
    ('^', "\\textasciicircum{}"),
    ('<', "\\textless{}"),
    ('>', "\\textgreater{}"),
    ('▲', "$\\blacktriangle$"),
    ('▼', "$\\blacktriangledown$"),
    ('△', "$\\triangle$"),
    ('▽', "$\\triangledown$"),
    ('◇', "$\\Diamond$"),
    ('≈', "$\\approx$"),
    ('−', "$-$"),
    ('±', "$\\pm$"),
    ('×', "$\\times$"),
    ('–', "--"),
    ('—', "---"),
    ('“', "``"),
    ('”', "''"),
    ('\n', " "),
];

fn latex_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match LATEX.iter().find(|(plain, _)| *plain == c) {
            Some((_, written)) => out.push_str(written),
            None if c == '\t' => out.push(' '),
            None if escape::is_invisible(c) => {}
            None => {
                out.extend("&%$#_{}".contains(c).then_some('\\'));
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_contract::{Axis, Point, ReferenceLine, Series};

    fn table() -> Table {
        Table {
            id: "t_1".into(),
            title: "Scores & more".into(),
            caption: "50 % is chance.".into(),
            head: vec!["model".into(), "score".into()],
            rows: vec![
                vec!["a|b".into(), "62.5%".into()],
                vec!["=SUM(A1)".into(), "-3.0".into()],
                vec!["say \"hi\", all".into(), "–".into()],
            ],
            published: vec![1],
            numbers: NumberColumns::Unsaid,
        }
    }

    #[test]
    fn markdown_keeps_columns_whatever_a_cell_holds() {
        insta::assert_snapshot!(markdown(&table()), @r#"
        **Scores & more**

        | model | score |
        | --- | ---: |
        | a\|b | 62.5% |
        | =SUM(A1) (published) | -3.0 |
        | say "hi", all | – |

        50 % is chance.
        "#);
    }

    #[test]
    fn latex_compiles_with_booktabs() {
        insta::assert_snapshot!(latex(&table()), @r#"
        \begin{table}[t]
          \centering
          \begin{tabular}{lr}
            \toprule
            model & score \\
            \midrule
            a|b & 62.5\% \\
            =SUM(A1) (published) & -3.0 \\
            say "hi", all & -- \\
            \bottomrule
          \end{tabular}
          \caption{Scores \& more. 50 \% is chance.}
          \label{tab:t-1}
        \end{table}
        "#);
    }

    #[test]
    fn csv_quotes_and_disarms_formulas() {
        assert_eq!(
            csv(&table()),
            "model,score\r\na|b,62.5%\r\n'=SUM(A1) (published),-3.0\r\n\"say \"\"hi\"\", all\",–\r\n"
        );
    }

    #[test]
    fn the_data_of_a_figure_is_all_there() {
        let figure = Figure {
            id: "f".into(),
            title: "F".into(),
            caption: String::new(),
            kind: FigureKind::Bar,
            x: Axis {
                title: "task".into(),
                scale: Scale::Category,
                range: None,
            },
            y: Axis {
                title: "accuracy".into(),
                scale: Scale::Linear,
                range: None,
            },
            series: vec![Series {
                name: "m".into(),
                published: true,
                points: vec![Point {
                    label: "letters".into(),
                    y: 0.5,
                    low: Some(0.25),
                    ..Point::default()
                }],
            }],
            references: vec![ReferenceLine {
                name: "chance".into(),
                y: 0.5,
            }],
            ranges: vec![],
        };
        assert_eq!(
            csv(&figure_table(&figure)),
            "series,task,accuracy,low,high\r\nm (published),letters,0.5,0.25,\r\nchance,,0.5,,\r\n"
        );
    }
}
