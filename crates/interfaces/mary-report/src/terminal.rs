//! The table a run ends with, for people and for machines.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Row};
use mary_contract::{ItemSource, RunSummary, SummaryRow, TaskRun};
use mary_platform::{given, grouped};
use serde::Serialize;

use crate::{
    escape, narrow,
    number::{CORRECTION, HOW_DECIDED, ScoreScale, VersusChance, count},
    subject::{self, Subject},
    summary,
};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableStyle {
    /// Colours; never the only bearer of a meaning.
    pub color: bool,
    /// Columns of the terminal; without it a table is as wide as it is.
    pub width: Option<usize>,
}

/// A run's results, grouped by family: one row per task, and one column per model when there are
/// several that fit the width (else one row per task and model).
pub fn table(run: &RunSummary, style: TableStyle) -> String {
    let runs = std::slice::from_ref(run);
    let subjects = subject::subjects(runs);
    let mut out = heading(run, &subjects);
    if run.rows.is_empty() {
        out += "\nNo sample has been judged yet.\n";
        return out;
    }
    let sheet = Sheet {
        run,
        subjects: &subjects,
        style,
    };
    let body = if subjects.len() > 1 {
        let wide = sheet.by_column();
        match style.width {
            Some(width) if width_of(&wide) > width => sheet.by_row(),
            _ => wide,
        }
    } else {
        sheet.by_row()
    };
    out.push('\n');
    out += &body;
    out += &footer(run, style);
    out
}

pub fn json(run: &RunSummary) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct SummaryLine<'a> {
        #[serde(flatten)]
        row: &'a SummaryRow,
        /// Where the items came from: fresh, published or a file.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<ItemSource>,
        scale: ScoreScale,
        versus_chance: VersusChance,
    }
    #[derive(Serialize)]
    struct Whole<'a> {
        run: &'a str,
        version: &'a str,
        seed: u64,
        trials: u32,
        complete: bool,
        /// How `p_holm` and `versus_chance` are corrected over the tasks of a model.
        correction: &'static str,
        rows: Vec<SummaryLine<'a>>,
    }
    let whole = Whole {
        run: &run.manifest.id,
        version: &run.manifest.version,
        seed: run.manifest.seed,
        trials: run.manifest.trials,
        complete: run.complete,
        correction: CORRECTION,
        rows: run
            .rows
            .iter()
            .map(|row| SummaryLine {
                row,
                source: run.manifest.task(&row.task).and_then(TaskRun::item_source),
                scale: ScoreScale::in_run(run, row),
                versus_chance: VersusChance::judge(row),
            })
            .collect(),
    };
    serde_json::to_string_pretty(&whole)
}

pub use crate::narrow::hanging;

/// Any table for a terminal, in the same dress; one whose words would have to be broken, row under row.
pub fn plain(table: &mary_contract::Table, style: TableStyle) -> String {
    if let Some(width) = style.width
        && let Some(stacked) = stacked(table, width.max(40))
    {
        return stacked;
    }
    let mut drawn = frame(style);
    drawn.set_header(table.head.iter().map(|h| head_cell(h)));
    for (index, row) in table.rows.iter().enumerate() {
        let published = table.published.contains(&index);
        let cells = row.iter().enumerate().map(|(column, text)| {
            let mut text = escape::terminal(&text.full());
            if published && column == 0 {
                text.push_str(" (published)");
            }
            let cell = Cell::new(text);
            if published {
                cell.add_attribute(Attribute::Dim)
            } else {
                cell
            }
        });
        drawn.add_row(cells.collect::<Vec<_>>());
    }
    for column in 0..table.head.len() {
        if crate::text::numeric_column(table, column) {
            align_right(&mut drawn, column);
        }
    }
    fit(&mut drawn, style);
    let mut out = format!("{}\n{}\n", escape::terminal(&table.title), trimmed(&drawn));
    if !table.caption.is_empty() {
        out += &wrap(&table.caption, style.width);
    }
    out
}

fn stacked(table: &mary_contract::Table, width: usize) -> Option<String> {
    let column = |n: usize| {
        let cells = table.rows.iter().filter_map(move |row| row.get(n));
        let cells = cells.map(|cell| cell.full().into_owned());
        table
            .head
            .get(n)
            .cloned()
            .into_iter()
            .chain(cells)
            .collect()
    };
    given(narrow::breaks_words(
        (0..table.head.len()).map(column),
        width,
    ))?;
    let rows = table.rows.iter().enumerate().map(|(index, row)| {
        let mut cells: Vec<String> = row.iter().map(|c| escape::terminal(&c.full())).collect();
        if let (true, Some(first)) = (table.published.contains(&index), cells.first_mut()) {
            first.push_str(" (published)");
        }
        cells
    });
    let rows: Vec<_> = rows.collect();
    let head: Vec<_> = table.head.iter().map(|h| escape::terminal(h)).collect();
    let mut out = String::new();
    if !table.title.is_empty() {
        out += &wrap(&table.title, Some(width));
    }
    out += &narrow::stacked(&head, &rows, width);
    if !table.caption.is_empty() {
        out += &wrap(&table.caption, Some(width));
    }
    Some(out)
}

struct Sheet<'a> {
    run: &'a RunSummary,
    subjects: &'a [Subject],
    style: TableStyle,
}

#[derive(Debug, Clone, Copy)]
struct RowColumns {
    remarks: bool,
    human: bool,
    source: bool,
    /// Columns of the terminal for the name of a model, at most.
    most: usize,
}

impl Sheet<'_> {
    fn rows_of(&self, task: &str) -> Vec<(&Subject, &SummaryRow)> {
        let run = std::slice::from_ref(self.run);
        let rows = self.subjects.iter();
        rows.filter_map(|who| Some((who, subject::row(run, who, task)?)))
            .collect()
    }

    fn source_of(&self, task: &str) -> String {
        escape::terminal(&subject::source(std::slice::from_ref(self.run), task))
    }

    /// The sources of all tasks in a line, where there is no room for a column.
    fn sources(&self) -> String {
        let tasks = self.run.manifest.tasks.iter().map(|task| task.id.as_str());
        let by_source = grouped(tasks.map(|task| (self.source_of(task), task)));
        let said: Vec<String> = match by_source.len() {
            1 => by_source.into_keys().collect(),
            _ => by_source
                .into_iter()
                .map(|(source, tasks)| format!("{source}: {}", tasks.join(", ")))
                .collect(),
        };
        let width = self.style.width.unwrap_or(usize::MAX);
        let line = escape::terminal(&format!("source of the items: {}", said.join("; ")));
        format!("\n{}", hanging("", 2, &line, width))
    }

    fn by_column(&self) -> String {
        let mut drawn = frame(self.style);
        let mut head = vec![head_cell("task"), head_cell("source")];
        head.extend(self.subjects.iter().map(|s| head_cell(&s.label)));
        head.extend(["chance", "human", "n"].map(head_cell));
        drawn.set_header(head);
        for (family, tasks) in subject::families(std::slice::from_ref(self.run)) {
            drawn.add_row(vec![head_cell(&family)]);
            for task in &tasks {
                let rows = self.rows_of(task);
                let Some((_, first)) = rows.first() else {
                    continue;
                };
                let scale = ScoreScale::in_run(self.run, first);
                let name = escape::terminal(subject::task_name(task));
                let mut cells = vec![
                    Cell::new(format!("  {name}")),
                    Cell::new(self.source_of(task)),
                ];
                for who in self.subjects {
                    let row = rows.iter().find(|(s, _)| *s == who).map(|(_, r)| *r);
                    cells.push(score_cell(row, scale));
                }
                cells.push(level_cell(first.chance, scale));
                cells.push(level_cell(first.human, scale));
                cells.push(Cell::new(span(rows.iter().map(|(_, r)| r.scored))));
                drawn.add_row(cells);
            }
        }
        for column in 2..self.subjects.len() + 5 {
            align_right(&mut drawn, column);
        }
        let mut out = trimmed(&drawn);
        out.push('\n');
        out += &self.notes();
        out
    }

    /// One row per task and model; remarks stand beside them, or below where they do not fit.
    fn by_row(&self) -> String {
        let mut columns = RowColumns {
            remarks: true,
            human: true,
            source: true,
            most: usize::MAX,
        };
        let beside = self.drawn_by_row(columns);
        let Some(width) = self.style.width else {
            return beside;
        };
        if width_of(&beside) <= width {
            return beside;
        }
        columns.remarks = false;
        let mut below = self.drawn_by_row(columns);
        // A column that nobody fills goes first, then one that can be said in a line.
        let people = self.run.rows.iter().any(|row| row.human.is_some());
        if width_of(&below) > width && !people {
            columns.human = false;
            below = self.drawn_by_row(columns);
        }
        if width_of(&below) > width {
            columns.source = false;
            below = self.drawn_by_row(columns);
        }
        let over = width_of(&below).saturating_sub(width);
        if over > 0 {
            let longest = self.subjects.iter().map(|s| s.label.chars().count());
            columns.most = longest.max().unwrap_or(0).saturating_sub(over).max(12);
            below = self.drawn_by_row(columns);
        }
        if !columns.source {
            below += &self.sources();
        }
        format!("{below}{}", self.notes())
    }

    fn drawn_by_row(&self, columns: RowColumns) -> String {
        let several = self.subjects.len() > 1;
        let mut drawn = frame(self.style);
        let mut head = vec![if several { "task / model" } else { "task" }];
        head.extend(columns.source.then_some("source"));
        head.extend(["score", "95% interval", "", "chance"]);
        head.extend(columns.human.then_some("human"));
        head.push("n");
        head.extend(columns.remarks.then_some(""));
        drawn.set_header(head.into_iter().map(head_cell));
        for (family, tasks) in subject::families(std::slice::from_ref(self.run)) {
            drawn.add_row(vec![head_cell(&family)]);
            for task in &tasks {
                let rows = self.rows_of(task);
                let name = escape::terminal(subject::task_name(task));
                let mut source = columns.source.then(|| self.source_of(task));
                if several && !rows.is_empty() {
                    let said = source.replace(String::new()).unwrap_or_default();
                    drawn.add_row(vec![Cell::new(format!("  {name}")), Cell::new(said)]);
                }
                for (who, row) in rows {
                    let name = if several {
                        let label = escape::terminal(&who.label);
                        format!("    {}", narrow::shortened(&label, columns.most))
                    } else {
                        format!("  {name}")
                    };
                    let mut cells = vec![Cell::new(name)];
                    let source = source.as_deref().filter(|_| columns.source);
                    cells.extend(source.map(Cell::new));
                    drawn.add_row(self.long_row(cells, row, columns));
                }
            }
        }
        let first = 1 + usize::from(columns.source);
        let right = [0, 1, 3, 4].into_iter().chain(columns.human.then_some(5));
        for column in right {
            align_right(&mut drawn, first + column);
        }
        let mut out = trimmed(&drawn);
        out.push('\n');
        out
    }

    fn long_row(&self, mut cells: Vec<Cell>, row: &SummaryRow, columns: RowColumns) -> Row {
        let scale = ScoreScale::in_run(self.run, row);
        let verdict = VersusChance::judge(row);
        let score = row.score.as_ref();
        cells.push(colored(
            Cell::new(score.map_or("–".into(), |s| scale.value(s.value))),
            verdict,
        ));
        cells.push(Cell::new(
            score.map_or(String::new(), |s| scale.interval(s)),
        ));
        cells.push(colored(Cell::new(verdict.mark()), verdict));
        cells.push(level_cell(row.chance, scale));
        cells.extend(columns.human.then(|| level_cell(row.human, scale)));
        cells.push(Cell::new(count(row.scored)));
        if columns.remarks {
            let text = escape::terminal(&summary::remarks(self.run, row).join(", "));
            cells.push(Cell::new(text).fg(Color::DarkYellow));
        }
        Row::from(cells)
    }

    fn notes(&self) -> String {
        let not_counted = self.under("Not counted as wrong:", summary::not_counted);
        let read = |row: &SummaryRow| summary::how_to_read(self.run, row);
        not_counted + &self.under("About the scores:", read)
    }

    fn under(&self, heading: &str, remarks: impl Fn(&SummaryRow) -> Vec<String>) -> String {
        let mut out = String::new();
        let labels = mary_contract::model_labels(&self.run.manifest.models);
        for row in &self.run.rows {
            let remarks = remarks(row);
            if !remarks.is_empty() {
                let who = labels.get(&row.model).unwrap_or(&row.model);
                let line = format!("{}, {who}: {}", row.task, remarks.join(", "));
                let width = self.style.width.unwrap_or(usize::MAX);
                out += &hanging("  ", 4, &escape::terminal(&line), width);
            }
        }
        match out.is_empty() {
            true => out,
            false => format!("\n{heading}\n{out}"),
        }
    }
}

fn heading(run: &RunSummary, subjects: &[Subject]) -> String {
    let m = &run.manifest;
    let who = match subjects {
        [only] => only.label.clone(),
        many => subject::counted_models(many.iter().map(|s| &s.model)),
    };
    let trials = if m.trials > 1 {
        format!(", {} trials", m.trials)
    } else {
        String::new()
    };
    let state = if run.complete {
        ""
    } else {
        " (incomplete: the same command continues it)"
    };
    escape::terminal(&format!(
        "{who}, {}{trials}, seed {}, run {}{state}",
        mary_platform::counted(m.tasks.len(), "task"),
        m.seed,
        m.id
    )) + "\n"
}

fn footer(run: &RunSummary, style: TableStyle) -> String {
    // Where the terminal's width is not known, lines are as long as they are.
    let width = style.width.unwrap_or(usize::MAX);
    let mut out = String::new();
    if let Some(legend) = VersusChance::legend(&run.rows) {
        out.push('\n');
        out += &hanging("", 0, &legend, width);
        out += &hanging("", 0, HOW_DECIDED, width);
    }
    let labels = mary_contract::model_labels(&run.manifest.models);
    let constant: Vec<String> = run
        .rows
        .iter()
        .filter_map(|row| {
            let warning = summary::constant_answer(row)?;
            let who = labels.get(&row.model).unwrap_or(&row.model);
            Some(format!("{}, {who}: {warning}", row.task))
        })
        .collect();
    if !constant.is_empty() {
        let warning = "warning: one option took more than 95 % of the answers; such a score says how often \
                       that option is right, not what the model can do";
        out.push('\n');
        out += &hanging("", 2, warning, width);
        for line in &constant {
            out += &hanging("  ", 4, &escape::terminal(line), width);
        }
    }
    for card in &run.manifest.models {
        for remark in &card.remarks {
            let full = card.model.to_string();
            let who = labels.get(&full).unwrap_or(&full);
            let line = escape::terminal(&format!("{who}: {remark}"));
            out += &hanging("", 2, &line, width);
        }
    }
    out
}

fn frame(style: TableStyle) -> comfy_table::Table {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(
        comfy_table::TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')),
    );
    drawn.set_content_arrangement(ContentArrangement::Disabled);
    drawn.force_no_tty();
    if style.color {
        drawn.enforce_styling();
    }
    drawn
}

fn fit(drawn: &mut comfy_table::Table, style: TableStyle) {
    if let Some(width) = style.width
        && width_of(&drawn.to_string()) > width
    {
        drawn.set_content_arrangement(ContentArrangement::Dynamic);
        drawn.set_width(u16::try_from(width.max(40)).unwrap_or(u16::MAX));
    }
}

fn align_right(drawn: &mut comfy_table::Table, column: usize) {
    if let Some(column) = drawn.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

fn head_cell(text: &str) -> Cell {
    Cell::new(escape::terminal(text)).add_attribute(Attribute::Bold)
}

fn level_cell(level: Option<f64>, scale: ScoreScale) -> Cell {
    Cell::new(level.map_or("–".into(), |v| scale.value(v))).add_attribute(Attribute::Dim)
}

fn score_cell(row: Option<&SummaryRow>, scale: ScoreScale) -> Cell {
    let Some(row) = row else {
        return Cell::new("–");
    };
    let Some(score) = &row.score else {
        return Cell::new("nothing scored");
    };
    let verdict = VersusChance::judge(row);
    let mark = match verdict {
        VersusChance::Unknown => " ",
        other => other.mark(),
    };
    let text = format!(
        "{} {} {mark}",
        scale.value(score.value),
        scale.interval(score)
    );
    colored(Cell::new(text), verdict)
}

fn colored(cell: Cell, verdict: VersusChance) -> Cell {
    // Blue and yellow: told apart by every common kind of colour vision.
    match verdict {
        VersusChance::Above | VersusChance::AboveUncorrected => cell.fg(Color::Blue),
        VersusChance::Below | VersusChance::BelowUncorrected => cell.fg(Color::DarkYellow),
        _ => cell,
    }
}

fn span(counts: impl Iterator<Item = usize>) -> String {
    let (low, high) = counts.fold((usize::MAX, 0), |(l, h), n| (l.min(n), h.max(n)));
    if low == high {
        count(low)
    } else {
        format!("{}–{}", count(low), count(high))
    }
}

fn trimmed(drawn: &comfy_table::Table) -> String {
    let lines: Vec<_> = drawn.lines().map(|l| l.trim_end().to_owned()).collect();
    lines.join("\n")
}

/// Columns a text takes on a terminal, escape sequences left out.
fn width_of(text: &str) -> usize {
    use unicode_width::UnicodeWidthStr as _;
    text.lines()
        .map(|line| {
            let mut bare = String::new();
            let mut inside = false;
            for c in line.chars() {
                match (inside, c) {
                    (false, '\u{1b}') => inside = true,
                    (true, 'm') => inside = false,
                    (true, _) => {}
                    (false, c) => bare.push(c),
                }
            }
            bare.trim_end().width()
        })
        .max()
        .unwrap_or(0)
}

fn wrap(text: &str, width: Option<usize>) -> String {
    hanging("", 0, &escape::terminal(text), width.unwrap_or(100).max(20))
}
