//! The site of many runs: what its pages say, and how they look in a real browser, opened from disk.

use std::path::Path;

use mary_contract::{ChanceTest, RunSummary, TaskCard};
use mary_report::atlas::Atlas;
use mary_report::html::{BuiltChapter, ReportOptions, report, shared_files};

use crate::chromium;
use crate::fixture;

/// A site of one made-up run of three models, with hostile answers among its samples; `change` makes it another.
fn written(folder: &Path, change: impl Fn(&mut RunSummary)) {
    let bench = fixture::usual();
    let mut runs = [bench.run.clone()];
    change(&mut runs[0]);
    let chapters: Vec<BuiltChapter> = fixture::exhibits::all(&bench)
        .into_iter()
        .map(|(id, title, exhibits)| BuiltChapter::new(id, title, exhibits))
        .collect();
    let about = "Hostile: <script>window.pwned=1</script> {body}";
    let cards = [TaskCard::new(
        "htest/rhyme",
        "Words that rhyme {body}<b>",
        about,
    )];
    let mut atlas = Atlas::new(&runs, &cards, &chapters);
    for sample in bench.samples() {
        atlas.add(0, &sample);
    }
    atlas.compare().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for (name, page) in atlas.pages(&["reports/one.html".to_owned()]) {
        write(&name, &page);
    }
    for (name, text) in shared_files().unwrap() {
        write(name, &text);
    }
    let options = ReportOptions {
        shared: Some("../"),
        ..ReportOptions::default()
    };
    let mut page = Vec::new();
    report(&runs, &chapters, &mut bench.tagged(), &options, &mut page).unwrap();
    write("reports/one.html", &String::from_utf8(page).unwrap());
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn pages_say_what_was_found_and_escape_what_others_wrote() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), |_| {});
    let first = read(folder.path(), "index.html");
    for words in [
        "What was found",
        "What was not found",
        "What the numbers cannot mean",
        "The first tier holds the best model",
        "href=\"data.json\"",
        "href=\"reports/one.html\"",
    ] {
        assert!(first.contains(words), "{words}:\n{first}");
    }
    let tasks: Vec<String> = std::fs::read_dir(folder.path().join("tasks"))
        .unwrap()
        .map(|e| std::fs::read_to_string(e.unwrap().path()).unwrap())
        .collect();
    assert!(tasks.len() > 2);
    for page in tasks.iter().chain([&first]) {
        assert!(
            !page.contains("<script"),
            "a page of the site has no script"
        );
        assert!(page.contains("default-src 'none'"), "nor allows one");
    }
    let rhyme = tasks
        .iter()
        .find(|page| page.contains("Words that rhyme"))
        .unwrap();
    // A place of the page's own form in somebody's title is text.
    assert_eq!(rhyme.matches("<main").count(), 1);
    assert!(
        rhyme.contains("Words that rhyme &#123;body}&lt;b&gt;"),
        "{rhyme}"
    );
    assert!(rhyme.contains("&lt;script&gt;window.pwned=1"), "{rhyme}");
    // Reports share the scripts: a small fraction of one that holds them.
    let report = read(folder.path(), "reports/one.html");
    assert!(report.contains("<script src=\"../plotly.js\"></script>"));
    assert!(!report.contains("Plotly.register"));
}

/// An untrained twin whose score is above chance by its own interval alone has no filled mark, and the words of the
/// first page do not count it.
#[test]
fn only_corrected_verdicts_are_told_as_found() {
    let told = |p_holm: f64| {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), |run| {
            for row in &mut run.rows {
                let test = |p_holm| ChanceTest {
                    p: 0.001,
                    p_floor: None,
                    p_holm,
                    tasks: 9,
                };
                row.chance_test = Some(test(p_holm));
            }
        });
        let page = read(folder.path(), "index.html");
        let found = page.split("What was not found").next().unwrap().to_owned();
        (
            found.matches("is above chance on 0 of").count(),
            page.matches("▲").count(),
        )
    };
    let (without, marks) = told(0.2);
    assert_eq!(
        (without, marks),
        (3, 1),
        "the mark stands in the rules alone"
    );
    let (without, marks) = told(0.01);
    assert!(without < 3 && marks > 1, "{without} {marks}");
}

/// The tasks counted as solved or not and those without a chance level are all tasks of the site.
#[test]
fn tasks_without_a_chance_level_are_named() {
    let told = |change: fn(&mut RunSummary)| {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), change);
        let page = read(folder.path(), "index.html");
        let judged = page.split(" tasks with a chance level").next().unwrap();
        let judged = judged.rsplit(' ').next().unwrap().parse().unwrap();
        let named = page.split("Without a chance level").nth(1).unwrap_or("");
        let named = named.split("</li>").next().unwrap().matches("<a href");
        assert!(page.contains("models on 6 tasks"), "{page}");
        (judged, named.count())
    };
    let (judged, named): (usize, usize) = told(|_| {});
    assert_eq!(judged + named, 6);
    let fewer = told(|run| {
        let known = run.rows.iter().find(|row| row.chance.is_some());
        let of = known.unwrap().task.clone();
        for row in run.rows.iter_mut().filter(|row| row.task == of) {
            row.chance = None;
        }
    });
    assert_eq!(fewer, (judged - 1, named + 1));
}

#[test]
fn the_site_is_read_from_disk_wide_and_narrow() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), |_| {});
    let task = std::fs::read_dir(folder.path().join("tasks"))
        .unwrap()
        .next();
    let task = task.unwrap().unwrap().path();
    for page in [folder.path().join("index.html"), task] {
        for (width, scheme) in [(1_300, "light"), (400, "dark")] {
            browser.scheme(scheme);
            browser.size(width, 900, width < 500);
            browser.open_file(&page);
            browser.until(
                "getComputedStyle(document.querySelector('.kicker')).fontStyle === 'italic'",
            );
            let wide = browser.eval("document.documentElement.scrollWidth");
            assert!(
                wide.as_f64().unwrap() <= f64::from(width) + 1.0,
                "{wide} in {width}"
            );
            assert_eq!(browser.axe(), [""; 0], "{} at {width} px", page.display());
        }
    }
    // axe-core asks for the style sheets itself, which the policy forbids: a browser without it hears no complaint.
    drop(browser);
    let mut browser = chromium::start().unwrap();
    browser.open_file(&folder.path().join("index.html"));
    browser.until("document.querySelector('#all-scores')");
    browser.open_file(&folder.path().join("reports/one.html"));
    browser.until("document.querySelector('#fig-profile .scatterlayer')");
    assert_eq!(browser.eval("window.pwned === undefined"), true);
    browser.quiet("file://");
}
