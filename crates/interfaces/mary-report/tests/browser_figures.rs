//! Figures and tables as they are drawn: colours that tell names apart by day and by night, forms beside
//! them, and a word where a table goes on beyond the window.

use crate::chromium::{self, Browser};
use crate::fixture;

use mary_contract::{
    Axis, Exhibits, Figure, FigureKind, Point, Request, Sample, Scale, Series, Target,
};
use mary_report::html::{BuiltChapter, ReportOptions, report};
use serde_json::Value;

fn axis(scale: Scale) -> Axis {
    Axis {
        title: "axis".into(),
        scale,
        range: None,
    }
}

fn figure(id: &str, kind: FigureKind, series: Vec<Series>) -> Figure {
    let x = match kind {
        FigureKind::Box => Scale::Category,
        _ => Scale::Linear,
    };
    Figure {
        id: id.into(),
        title: id.into(),
        caption: "What is to be seen.".into(),
        kind,
        x: axis(x),
        y: axis(Scale::Linear),
        series,
        references: vec![],
        ranges: vec![],
    }
}

/// Curves of abilities over checkpoints, and the models of one series as points.
fn exhibits(models: &[&str]) -> Exhibits {
    let curve = |name: &str, height: f64| Series {
        name: name.into(),
        published: false,
        points: (0..4)
            .map(|k| Point {
                x: f64::from(k),
                y: height + 0.1 * f64::from(k),
                ..Point::default()
            })
            .collect(),
    };
    let dot = |model: &&str| Point {
        label: "sight".into(),
        y: 0.5,
        samples: Some(format!("{model}|embodied/posture|")),
        ..Point::default()
    };
    let together = Series {
        name: "models".into(),
        published: false,
        points: models.iter().map(dot).collect(),
    };
    let curves = ["grammar", "numbers", "rhyme"].map(|name| curve(name, 0.1));
    Exhibits {
        figures: vec![
            figure("curves", FigureKind::Line, curves.to_vec()),
            figure("again", FigureKind::Line, vec![curve("rhyme", 0.2)]),
            figure("boxes", FigureKind::Box, vec![together]),
        ],
        ..Exhibits::default()
    }
}

fn open(browser: &mut Browser, models: &[&str], width: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let bench = fixture::bench(models, 12);
    let chapters = [BuiltChapter::new("htest", "H-TEST", exhibits(models))];
    let path = folder.path().join("report.html");
    let mut file = std::fs::File::create(&path).unwrap();
    let options = ReportOptions::default();
    let runs = [bench.run.clone()];
    report(&runs, &chapters, &mut bench.tagged(), &options, &mut file).unwrap();
    browser.size(width, 900, false);
    browser.open_file(&path);
    browser.eval("for (const d of document.querySelectorAll('details.more')) d.open = true");
    browser.eval("window.maryReport.drawAll()");
    folder
}

/// The colours and forms of the traces of a figure that stand for something, by name.
fn dresses(browser: &mut Browser, figure: &str) -> Vec<(String, String, String)> {
    let script = format!(
        "document.querySelector('#fig-{figure} .canvas').data.filter((t) => ['line', 'strip', 'dot'].includes(t.meta.kind))\
         .map((t) => [t.name, t.marker.color, t.marker.symbol])"
    );
    let found = browser.eval(&script);
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let all = found.as_array().unwrap().iter();
    all.map(|t| (text(&t[0]), text(&t[1]), text(&t[2])))
        .collect()
}

/// How far two colours are apart for an eye: the Euclidean distance in CIE L*a*b*, in which about 2 can just
/// be told from each other side by side.
fn distance(a: &str, b: &str) -> f64 {
    let lab = |hex: &str| {
        let part = |k: usize| f64::from(u8::from_str_radix(&hex[k..k + 2], 16).unwrap()) / 255.0;
        let linear = |v: f64| {
            if v <= 0.040_45 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        };
        let [r, g, b] = [1, 3, 5].map(|k| linear(part(k)));
        let xyz = [
            (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
            0.2126 * r + 0.7152 * g + 0.0722 * b,
            (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
        ];
        let [x, y, z] = xyz.map(|v| {
            if v > 0.008_856 {
                v.cbrt()
            } else {
                7.787 * v + 16.0 / 116.0
            }
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    };
    let (a, b) = (lab(a), lab(b));
    a.iter()
        .zip(b)
        .map(|(x, y)| (x - y).powi(2))
        .sum::<f64>()
        .sqrt()
}

#[test]
fn names_in_a_figure_are_told_apart_by_colour_and_form() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let steps: Vec<String> = (0..12)
        .map(|k| format!("builtin/nano@step{}", 64 * k))
        .collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let three = ["builtin/tiny", "local/medium", "remote/large"];
    for models in [&steps[..], &three[..]] {
        browser.scheme("light");
        let _folder = open(&mut browser, models, 1_300);
        for scheme in ["light", "dark"] {
            browser.turn(scheme);
            let mut drawn = vec![dresses(&mut browser, "curves")];
            if models.len() == 3 {
                drawn.push(dresses(&mut browser, "boxes"));
            }
            for figure in &drawn {
                assert_eq!(figure.len(), 3, "{figure:?}");
                for (k, (name, color, form)) in figure.iter().enumerate() {
                    for (other, another, shape) in &figure[..k] {
                        let apart = distance(color, another);
                        assert!(
                            apart > 25.0,
                            "{scheme}: {name} {color}, {other} {another}: {apart}"
                        );
                        assert_ne!(form, shape, "{scheme}: {name}, {other}");
                    }
                }
            }
            // The same name has the same colour in the next figure, and a model that of the profile.
            assert_eq!(dresses(&mut browser, "again")[0], drawn[0][2]);
            if let Some(boxes) = drawn.get(1) {
                assert_eq!(&dresses(&mut browser, "profile"), boxes);
            }
        }
    }
    browser.quiet("file://");
}

#[test]
fn a_table_beyond_the_window_says_that_it_goes_on() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let three = ["builtin/tiny", "local/medium", "remote/large"];
    let note = "(() => { const n = document.querySelector('.scroll:has(.scores) + .goes-on'); return n.getBoundingClientRect().height > 0; })()";
    browser.scheme("light");
    let folder = open(&mut browser, &three, 400);
    for scheme in ["light", "dark"] {
        browser.turn(scheme);
        browser.until(note);
        browser.eval("document.querySelector('.scroll:has(.scores)').scrollLeft = 5000");
        browser.until(&format!("!{note}"));
        browser.eval("document.querySelector('.scroll:has(.scores)').scrollLeft = 0");
        browser.until(note);
    }
    drop(folder);
    let _folder = open(&mut browser, &three[..1], 1_300);
    browser.until(&format!("!{note}"));
    browser.quiet("file://");
}

#[test]
fn every_score_names_the_source_of_its_items() {
    let bench = fixture::bench(&["builtin/tiny"], 12);
    let mut run = bench.run.clone();
    run.manifest.tasks[0].source = Some(mary_contract::ItemSource::Published);
    // Runs of earlier programs say so in their settings, if at all.
    run.manifest.tasks[1].source = None;
    run.manifest.tasks[5].source = None;
    run.manifest.tasks[1].settings.params = [("source".to_owned(), "own".to_owned())].into();
    let mut page = Vec::new();
    let options = ReportOptions::default();
    report(&[run], &[], &mut bench.tagged(), &options, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    for (task, source) in [
        ("end-punctuation", "published"),
        ("rhyme", "fresh"),
        ("posture", "–"),
    ] {
        let row = format!("<th scope=\"row\">{task}</th><td class=\"source\">{source}</td>");
        assert!(page.contains(&row), "{row}");
    }
}

/// A number beside `ln p` that belongs to no name is no answer.
#[test]
fn log_probabilities_stand_beside_what_they_are_of() {
    let bench = fixture::bench(&["builtin/tiny"], 12);
    let pair = |s: &Sample| s.id.task == "psychometric/minimal-pairs";
    let mut letters = bench.samples().find(pair).unwrap();
    let long = letters.clone();
    let Request::Score(asked) = &mut letters.exchanges[0].ask.request else {
        panic!("a pair is scored")
    };
    asked.continuations = vec![" A".into(), " B".into()];
    letters.id.item = "letters".into();
    letters.item.target = Target::Choice {
        question: "What is shown?".into(),
        options: vec!["gravity".into(), "a wave".into()],
        correct: 0,
    };
    let mut page = Vec::new();
    let samples = [letters, long].map(|sample| (bench.run.manifest.id.clone(), sample));
    let options = ReportOptions::default();
    let runs = [bench.run.clone()];
    report(&runs, &[], &mut samples.into_iter(), &options, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let rows = data["samples"]["rows"].as_array().unwrap();
    let row = |letters: bool| {
        let mut found = rows.iter().filter(|r| (r["i"] == "letters") == letters);
        found.next().unwrap()
    };
    let line = row(true)["a"].as_str().unwrap();
    assert!(
        line.starts_with("ln p: A -") && line.contains(" / B -"),
        "{line}"
    );
    let story = row(true)["h"].as_str().unwrap();
    for (letter, option) in [("A", "gravity"), ("B", "a wave")] {
        let said =
            format!("<span class=\"letter\">{letter}</span> <bdi class=\"text\">{option}</bdi>");
        assert!(story.contains(&said), "{story}");
    }
    // A sentence goes by the letter under which the story lists it.
    let line = row(false)["a"].as_str().unwrap();
    assert!(
        line.starts_with("ln p: A -") && line.contains(" / B -"),
        "{line}"
    );
}
