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
    out.extend(cells(table, false).map(|row| line(&row)));
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
    out.extend(cells(table, false).map(|row| line(&row)));
    out += "    \\bottomrule\n  \\end{tabular}\n";
    let mut caption = latex_text(&table.title);
    if !table.caption.is_empty() {
        let code = |code: &str| format!("\\texttt{{{}}}", latex_text(code));
        caption += &format!(". {}", escape::with_code(&table.caption, latex_text, code));
    }
    let label = table.id.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
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

pub fn figure_table(figure: &Figure) -> Table {
    let heat = figure.kind == FigureKind::Heatmap;
    let by_label = heat || figure.kind == FigureKind::Box || figure.x.scale == Scale::Category;
    let points = || figure.series.iter().flat_map(|s| &s.points);
    let bounds = points().any(|p| p.low.is_some() || p.high.is_some());
    let labels = by_label || points().any(|p| !p.label.is_empty());
    let places = !by_label;
    let kept = [true, labels, places, true, bounds, bounds];
    let line = |cells: [String; 6]| -> Vec<String> {
        let cells = cells.into_iter().zip(kept);
        cells
            .filter_map(|(cell, kept)| kept.then_some(cell))
            .collect()
    };
    let (x, y) = (&figure.x.title, &figure.y.title);
    let (name, value) = match heat {
        true => (title_or(y, "row"), "value".to_owned()),
        false => ("series".to_owned(), title_or(y, "y")),
    };
    let place = title_or(if labels { "" } else { x }, "x");
    let label = title_or(x, "label");
    let head = line([name, label, place, value, "low".into(), "high".into()]);
    let none = String::new;
    let mut rows = Vec::new();
    let mut published = Vec::new();
    for series in &figure.series {
        for p in &series.points {
            if series.published {
                published.push(rows.len());
            }
            let [low, high] = [p.low, p.high].map(|v| v.map(number).unwrap_or_default());
            let (name, label) = (series.name.clone(), p.label.clone());
            rows.push(line([name, label, number(p.x), number(p.y), low, high]));
        }
    }
    for range in &figure.ranges {
        for (edge, x) in [("from", range.from), ("to", range.to)] {
            if range.published {
                published.push(rows.len());
            }
            let (name, edge) = (range.name.clone(), edge.to_owned());
            rows.push(line([name, edge, number(x), none(), none(), none()]));
        }
    }
    for reference in &figure.references {
        let (name, y) = (reference.name.clone(), number(reference.y));
        rows.push(line([name, none(), none(), y, none(), none()]));
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
    let text = if title.is_empty() { other } else { title };
    text.to_owned()
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
    let cell = |cell: &String| {
        let cell = mary_platform::for_spreadsheet(cell);
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.into_owned()
        }
    };
    format!("{}\r\n", row.iter().map(cell).collect::<Vec<_>>().join(","))
}

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
