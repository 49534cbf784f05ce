//! One real run of every family with two models: its scores are the same number wherever they are shown
//! (terminal, JSON, report, figures, chapters, CSV, viewer), and no number of a subgroup stands without
//! its items and its interval.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mary_contract::Table;
use serde_json::Value;

/// Several tasks of every family, and the cell of its chapter that shows the whole of one of them.
const TASKS: &str = "htest/rhyme,htest/uppercase,physico/core-text,physico/definition,\
                     physico/perception-text,psychometric/grammar-small,psychometric/grammar,\
                     psychometric/numbers,psychometric/typicality-surprisal,\
                     psychometric/analogies-surprisal,embodied/sensoryvec,embodied/perceptualqa";
const CHAPTERS: [(&str, &str, &str); 7] = [
    ("htest/rhyme", "htest-table-6", "Words that rhyme"),
    (
        "htest/uppercase",
        "htest-table-6",
        "One capital letter in a sentence",
    ),
    ("physico/definition", "physico-table-1", "definition"),
    ("physico/perception-text", "physico-perception", "all"),
    (
        "psychometric/analogies-surprisal",
        "psychometric-analogies",
        "surprisal",
    ),
    ("embodied/sensoryvec", "embodied-table-4", "all sensory"),
    ("embodied/perceptualqa", "embodied-table-5", "all sensory"),
];
/// Tables of subgroups, and how many of their cells are measured at least.
const SUBGROUPS: [(&str, usize); 9] = [
    ("htest-table-6", 4),
    ("physico-table-3", 2),
    ("physico-table-10", 20),
    ("physico-parrot-gap-concepts", 30),
    ("physico-perception", 6),
    ("psychometric-grammar-phenomena", 8),
    ("embodied-table-4", 12),
    ("embodied-table-14", 8),
    ("embodied-form", 4),
];

struct Ran {
    home: tempfile::TempDir,
    folder: PathBuf,
    json: Value,
    terminal: String,
}

fn mary(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
    command
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "400")
        .env_remove("MARY_DATA_DIR")
        .env_remove("MARY_MODEL");
    command
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The run itself, once as JSON and once more (nothing is asked again) as a table.
fn ran() -> Ran {
    let home = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let mut command = mary(home.path());
        command.args([
            "run",
            "-m",
            "grown=builtin/nano",
            "-m",
            "young=builtin/nano@step64",
        ]);
        command.args([
            "-t",
            TASKS,
            "--limit",
            "24",
            "--set",
            "per_concept=1",
            "--quiet",
        ]);
        said(command.args(more))
    };
    let json = serde_json::from_str(&run(&["--json"])).unwrap();
    let terminal = run(&[]);
    let mut folders = std::fs::read_dir(home.path().join("runs")).unwrap();
    let folder = folders.next().unwrap().unwrap().path();
    Ran {
        folder,
        json,
        terminal,
        home,
    }
}

/// What is expected of a score: its value, and how it is written.
struct Score {
    value: f64,
    percent: bool,
}

impl Score {
    fn text(&self) -> String {
        let text = match self.percent {
            true => format!("{:.1}%", 100.0 * self.value),
            false => format!("{:.3}", self.value),
        };
        match text.contains(|c: char| matches!(c, '1'..='9')) {
            true => text,
            false => text.trim_start_matches('-').to_owned(),
        }
    }

    /// Whether a number somewhere is this one, to the digits it has there.
    fn is_shown_as(&self, text: &str) -> bool {
        let digits = text.split_once('.').map_or(0, |(_, d)| d.len());
        [1.0, 100.0]
            .iter()
            .any(|factor| text == format!("{:.digits$}", factor * self.value))
    }
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

/// By model (as it is called) and task.
fn expected(json: &Value) -> BTreeMap<(String, String), Score> {
    let label = |model: &str| match model {
        "builtin/nano" => "grown".to_owned(),
        _ => "young".to_owned(),
    };
    let rows = json["rows"].as_array().unwrap().iter();
    rows.map(|row| {
        let key = (
            label(row["model"].as_str().unwrap()),
            row["task"].as_str().unwrap().to_owned(),
        );
        let score = Score {
            value: row["score"]["value"].as_f64().unwrap(),
            percent: row["scale"] == "proportion",
        };
        (key, score)
    })
    .collect()
}

fn lines_of_csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let (mut lines, mut line, mut cell, mut quoted) =
        (Vec::new(), Vec::new(), String::new(), false);
    for c in text.chars() {
        match (c, quoted) {
            ('"', _) => quoted = !quoted,
            (',', false) => line.push(std::mem::take(&mut cell)),
            ('\n', false) => {
                line.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut line));
            }
            ('\r', false) => {}
            (c, _) => cell.push(c),
        }
    }
    let mut lines = lines.into_iter();
    let head = lines.next().unwrap();
    lines
        .map(|line| head.iter().cloned().zip(line).collect())
        .collect()
}

/// The row of `--json` of a model, by its label, on a task.
fn row_of<'a>(json: &'a Value, model: &str, task: &str) -> &'a Value {
    let full = if model == "grown" {
        "builtin/nano"
    } else {
        "builtin/nano@step64"
    };
    let rows = json["rows"].as_array().unwrap();
    rows.iter()
        .find(|r| r["model"] == full && r["task"] == task)
        .unwrap()
}

/// What stands for the verdict of a row.
fn mark(row: &Value) -> &'static str {
    match row["versus_chance"].as_str().unwrap() {
        "above" => "▲",
        "above_uncorrected" => "△",
        "not_distinguished" => "≈",
        "at_floor" => "◇",
        "below_uncorrected" => "▽",
        "below" => "▼",
        _ => "",
    }
}

/// The terminal's table: one line a task, a column a model, each `50.0% [38.1, 63.6] ≈`.
fn on_the_terminal(ran: &Ran, wrong: &mut Vec<String>) {
    for ((model, task), score) in expected(&ran.json) {
        let name = task.split_once('/').unwrap().1;
        let line = ran
            .terminal
            .lines()
            .find(|l| l.split_whitespace().next() == Some(name));
        let words: Vec<&str> = line.unwrap().split_whitespace().collect();
        let values = words
            .windows(2)
            .filter(|pair| pair[1].starts_with('['))
            .map(|pair| pair[0]);
        let shown: Vec<&str> = values.collect();
        let place = usize::from(model == "young");
        // Behind each interval stands its mark, where there is a chance level.
        let marks = words
            .windows(2)
            .filter(|pair| pair[0].ends_with(']'))
            .map(|pair| pair[1]);
        let row = row_of(&ran.json, &model, &task);
        let mark = mark(row);
        if !mark.is_empty() && marks.clone().nth(place) != Some(mark) {
            wrong.push(format!(
                "terminal: {model} on {task}: not {mark}: {words:?}"
            ));
        }
        // The interval alone decides open marks, the corrected p filled ones.
        if let (Some(low), Some(chance)) = (row["score"]["low"].as_f64(), row["chance"].as_f64()) {
            let outside = low > chance || row["score"]["high"].as_f64().unwrap() < chance;
            let test = &row["chance_test"];
            let (p, holm) = (
                test["p"].as_f64().unwrap(),
                test["p_holm"].as_f64().unwrap(),
            );
            if outside != (p < 0.05) || holm < p || "▲▼".contains(mark) != (holm < 0.05) {
                wrong.push(format!("{model} on {task}: {mark} beside {test}"));
            }
        }
        if shown.get(place) != Some(&score.text().as_str()) {
            wrong.push(format!(
                "terminal: {model} on {task}: {shown:?}, not {}",
                score.text()
            ));
        }
    }
}

/// The report: table of scores, dots of the profile, and the written summary.
fn in_the_report(page: &str, ran: &Ran, wrong: &mut Vec<String>) {
    let data = page.split("id=\"data\">").nth(1).unwrap();
    let data: Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    let mut dots: BTreeMap<String, f64> = BTreeMap::new();
    for figure in ["profile", "profile-plain"] {
        for trace in data["figures"][figure]["traces"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let places = trace["customdata"].as_array().into_iter().flatten();
            for (place, x) in places.zip(trace["x"].as_array().unwrap()) {
                dots.insert(place.as_str().unwrap().to_owned(), x.as_f64().unwrap());
            }
        }
    }
    for ((model, task), score) in expected(&ran.json) {
        let place = format!("{model}|{task}");
        let cell = page.split(&format!("data-samples=\"{place}\">")).nth(1);
        let shown = cell.and_then(|c| c.split('<').next()).unwrap_or("nothing");
        if shown != score.text() {
            wrong.push(format!("report: {place}: {shown}, not {}", score.text()));
        }
        let mark = mark(row_of(&ran.json, &model, &task));
        let cell = cell
            .and_then(|c| c.split("</td>").next())
            .unwrap_or_default();
        if !mark.is_empty() && !cell.contains(&format!(">{mark}</span>")) {
            wrong.push(format!("report: {place}: not {mark}: {cell}"));
        }
        let factor = if score.percent { 100.0 } else { 1.0 };
        let dot = dots.get(&place).copied().unwrap_or(f64::NAN);
        if !near(dot, factor * score.value) {
            wrong.push(format!("profile: {place}: {dot}, not {}", score.text()));
        }
    }
    // "grown is above chance on 2 of 11 tasks; strongest: rhyme, 75.0% [..] where chance is 50.0%; …"
    let summaries: Vec<&str> = page.split("<p class=\"headline\">").skip(1).collect();
    assert_eq!(summaries.len(), 2);
    for text in summaries {
        let text = text.split("</p>").next().unwrap();
        let model = text.split(' ').next().unwrap().to_owned();
        let rows = ran.json["rows"].as_array().unwrap().iter();
        let full = if model == "grown" {
            "builtin/nano"
        } else {
            "builtin/nano@step64"
        };
        let above = rows
            .filter(|r| r["model"] == full && r["versus_chance"] == "above")
            .count();
        if !text.contains(&format!("above chance on {above} of ")) {
            wrong.push(format!("summary: not {above} above chance: {text}"));
        }
        if let Some(strongest) = text.split("strongest: ").nth(1) {
            let (name, rest) = strongest.split_once(", ").unwrap();
            let shown = rest.split(' ').next().unwrap();
            let of = expected(&ran.json);
            let mut same = of.iter().filter(|((m, t), _)| {
                *m == model && t.split_once('/').is_some_and(|(_, n)| n == name)
            });
            if same.all(|(_, score)| score.text() != shown) {
                wrong.push(format!("summary: {text}"));
            }
        }
    }
}

/// Tables in files: the results, and the chapters of the families.
fn in_the_tables(folder: &Path, ran: &Ran, wrong: &mut Vec<String>) {
    let read = |id: &str| {
        let text = std::fs::read_to_string(folder.join(format!("{id}.csv"))).unwrap();
        lines_of_csv(&text)
    };
    let expected = expected(&ran.json);
    for row in read("results") {
        let score = &expected[&(row["model"].clone(), row["task"].clone())];
        if row["score"] != score.text() {
            wrong.push(format!("results.csv: {row:?}, not {}", score.text()));
        }
    }
    for (task, id, column) in CHAPTERS {
        for model in ["grown", "young"] {
            let score = &expected[&(model.to_owned(), task.to_owned())];
            let rows = read(id);
            let row = rows.iter().find(|r| r["model"] == model).unwrap();
            if !score.is_shown_as(&row[column]) {
                wrong.push(format!(
                    "{id}: {model}: {}, not {}",
                    row[column],
                    score.text()
                ));
            }
            let n: usize = row[&format!("{column} n")].parse().unwrap();
            assert!(
                n > 0 && !row[&format!("{column} low")].is_empty(),
                "{row:?}"
            );
        }
    }
}

/// The mean over the exported samples.
fn in_the_export(text: &str, ran: &Ran, wrong: &mut Vec<String>) {
    let mut sums: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
    for row in lines_of_csv(text) {
        let (Some(model), Some(task)) = (row.get("model"), row.get("task")) else {
            continue;
        };
        if let Some(score) = row.get("score").and_then(|s| s.parse::<f64>().ok()) {
            let model = if model == "builtin/nano" {
                "grown"
            } else {
                "young"
            };
            let sum = sums.entry((model.to_owned(), task.clone())).or_default();
            sum.0 += score;
            sum.1 += 1.0;
        }
    }
    for (key, score) in expected(&ran.json) {
        let (sum, n) = sums.get(&key).copied().unwrap_or_default();
        if !near(sum / n, score.value) {
            wrong.push(format!(
                "export: {key:?}: {}, not {}",
                sum / n,
                score.text()
            ));
        }
    }
}

/// The viewer's page of the run, and its list of runs.
fn in_the_viewer(ran: &Ran, wrong: &mut Vec<String>) {
    let mut viewer = mary(ran.home.path())
        .args(["view", "--port", "0"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut told = std::io::BufReader::new(viewer.stderr.take().unwrap());
    told.read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap();
    let address = address.split_whitespace().next().unwrap().to_owned();
    let address = address.trim_end_matches('/');
    let get = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut page = Vec::new();
        stream.read_to_end(&mut page).unwrap();
        String::from_utf8_lossy(&page).into_owned()
    };
    let list = get("/");
    let rows = ran.json["rows"].as_array().unwrap();
    let count = |verdict: &str| {
        rows.iter()
            .filter(|r| r["versus_chance"] == verdict)
            .count()
    };
    let known = rows.len() - count("unknown");
    let words = format!("{} of {known} above chance", count("above"));
    if !list.contains(&words) {
        wrong.push(format!("viewer's list does not say {words}"));
    }
    let link = list.split("href=\"/run/").nth(1).unwrap();
    let page = get(&format!(
        "/run/{}",
        link.split(['"', '/', '?']).next().unwrap()
    ));
    viewer.kill().unwrap();
    viewer.wait().unwrap();
    for ((model, task), score) in expected(&ran.json) {
        let mut rows = page
            .split("<tr>")
            .skip(1)
            .map(|r| r.split("</tr>").next().unwrap());
        let row = rows
            .find(|r| r.contains(&format!(">{task}</a>")) && r.contains(&format!(">{model}</td>")));
        let shown = row
            .and_then(|r| r.split("<strong>").nth(1))
            .and_then(|r| r.split('<').next());
        let mark = mark(row_of(&ran.json, &model, &task));
        if !row.is_some_and(|r| r.contains(mark)) {
            wrong.push(format!("viewer: {model} on {task}: not {mark}"));
        }
        if shown != Some(score.text().as_str()) {
            wrong.push(format!(
                "viewer: {model} on {task}: {shown:?}, not {}",
                score.text()
            ));
        }
    }
}

/// Every number says what it is, and those of subgroups are there with items and interval.
fn subgroups(tables: &[Table], wrong: &mut Vec<String>) {
    for table in tables {
        for (head, text) in table.bare() {
            wrong.push(format!("{}: {head}: {text} stands alone", table.id));
        }
    }
    for (id, least) in SUBGROUPS {
        let Some(table) = tables.iter().find(|t| t.id == id) else {
            wrong.push(format!("there is no {id}"));
            continue;
        };
        let own = (0..table.rows.len()).filter(|n| !table.published.contains(n));
        let cells: Vec<_> = own.flat_map(|n| &table.rows[n]).collect();
        let based = cells.iter().filter_map(|c| c.basis());
        let sound = based
            .filter(|b| b.n > 0 && (b.bounds.is_some() || b.n < 5))
            .count();
        if sound < least {
            wrong.push(format!(
                "{id}: {sound} cells with items and interval of {least}"
            ));
        }
    }
}

#[test]
fn a_score_is_one_number_everywhere_and_no_subgroup_stands_without_its_interval() {
    let ran = ran();
    let mut wrong = Vec::new();
    on_the_terminal(&ran, &mut wrong);
    let name = ran.folder.file_name().unwrap().to_str().unwrap();
    said(mary(ran.home.path()).args(["report", name, "--out", "r.html", "--tables", "tables"]));
    let page = std::fs::read_to_string(ran.home.path().join("r.html")).unwrap();
    in_the_report(&page, &ran, &mut wrong);
    in_the_tables(&ran.home.path().join("tables"), &ran, &mut wrong);
    let out = said(mary(ran.home.path()).args(["export", name, "--to", "csv", "--out", "csv"]));
    let csv = ran.home.path().join(out.lines().last().unwrap());
    in_the_export(&std::fs::read_to_string(csv).unwrap(), &ran, &mut wrong);
    in_the_viewer(&ran, &mut wrong);
    let registry = mary_lab::families::registry();
    let shown =
        mary::library::exhibits(&registry, std::slice::from_ref(&ran.folder), false).unwrap();
    subgroups(&shown.tables, &mut wrong);
    // What was measured has its second line on the page.
    let measured = shown.tables.iter().flat_map(|t| t.rows.iter().flatten());
    let measured = measured.filter(|c| c.basis().is_some()).count();
    let exhibits = page.split("class=\"exhibit\"").skip(1);
    let drawn: usize = exhibits
        .map(|e| {
            e.split("</table>")
                .next()
                .unwrap()
                .matches("class=\"ci\"")
                .count()
        })
        .sum();
    assert_eq!(drawn, measured, "cells with a second line");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
