//! The six main pages, made from the bench session: the first run, two models with long names, twelve
//! checkpoints, forty models, the viewer's list, and a sample. The browser tests measure them, and
//! `examples/pictures.rs` takes the pictures of the documentation.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use mary_report::html::{BuiltChapter, ReportOptions, report};
use mary_report::viewer::{IndexedSource, serve};

use crate::chromium::Browser;
use crate::fixture::{self, log::MemoryLog, log::Shared};

/// Items of each task: enough for intervals, few enough for a quick test.
const ITEMS: usize = 12;

/// A page to look at.
pub struct Page {
    pub name: &'static str,
    pub address: String,
    /// Whether it is a report, with figures to be drawn.
    pub report: bool,
}

fn long_names(count: usize) -> Vec<String> {
    (0..count)
        .map(|i| {
            format!(
                "hf/a-laboratory-with-a-long-name/a-language-model-of-{}-billion-weights-instruct-v0.{i}@main",
                i + 1
            )
        })
        .collect()
}

fn checkpoints(count: u32) -> Vec<String> {
    (0..count)
        .map(|i| format!("builtin/nano@step{}", 64 * i * i))
        .collect()
}

/// The report of these models, written into a folder.
pub fn written(folder: &Path, name: &str, models: &[String]) -> PathBuf {
    let names: Vec<&str> = models.iter().map(String::as_str).collect();
    let bench = fixture::bench(&names, ITEMS);
    let chapters: Vec<BuiltChapter> = fixture::exhibits::all(&bench)
        .into_iter()
        .map(|(id, title, exhibits)| {
            BuiltChapter::new(
                id,
                title,
                exhibits.renamed(&mary_contract::model_labels(&bench.run.manifest.models)),
            )
        })
        .collect();
    let path = folder.join(format!("{name}.html"));
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let runs = [bench.run.clone()];
    report(
        &runs,
        &chapters,
        &mut bench.tagged(),
        &ReportOptions::default(),
        &mut file,
    )
    .unwrap();
    path
}

/// A viewer over a log, on a free port.
pub fn served(log: &Arc<MemoryLog>) -> SocketAddr {
    let source = Arc::new(IndexedSource::new(Shared(Arc::clone(log))));
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        serve(source, "127.0.0.1:0".parse().unwrap(), &mut |bound| {
            tell.send(bound).unwrap()
        })
        .unwrap();
    });
    told.recv().unwrap()
}

/// All six, their reports in a folder.
pub fn six(folder: &Path) -> Vec<Page> {
    let reports = [
        ("first-run", vec!["builtin/nano".to_owned()]),
        ("long-names", long_names(2)),
        ("checkpoints", checkpoints(12)),
        ("forty-models", long_names(40)),
    ];
    let mut pages: Vec<Page> = reports
        .into_iter()
        .map(|(name, models)| Page {
            name,
            address: format!("file://{}", written(folder, name, &models).display()),
            report: true,
        })
        .collect();
    let bound = served(&Arc::new(MemoryLog::new(&fixture::usual())));
    let run = format!("http://{bound}/run/b3f1c2d4e5");
    for (name, rest) in [
        ("viewer-list", "samples?order=margin-near"),
        (
            "viewer-sample",
            "sample?model=builtin%2Ftiny&task=psychometric%2Fminimal-pairs&item=psychometric-minimal-pairs-00002&other=remote%2Flarge",
        ),
    ] {
        pages.push(Page {
            name,
            address: format!("{run}/{rest}"),
            report: false,
        });
    }
    pages
}

/// Twelve models with long names.
pub fn twelve_long(folder: &Path) -> Page {
    let path = written(folder, "twelve", &long_names(12));
    Page {
        name: "twelve long names",
        address: format!("file://{}", path.display()),
        report: true,
    }
}

/// Opens a page at a width, with everything drawn.
pub fn open(browser: &mut Browser, page: &Page, width: u32) {
    // Not as a phone: one that is too wide would be zoomed out, and the window be as wide as the page.
    browser.size(width, 900, false);
    browser.open(&page.address);
    if page.report {
        browser.eval("window.maryReport.drawAll()");
        browser.until("document.querySelectorAll('figure[data-drawn]').length === document.querySelectorAll('figure[data-figure]').length");
    }
}
