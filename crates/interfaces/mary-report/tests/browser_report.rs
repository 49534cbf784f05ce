//! The report in a real browser, opened from disk.

use crate::chromium;
use crate::fixture;

use std::path::PathBuf;

use chromium::Browser;
use mary_report::html::{BuiltChapter, ReportOptions, report};

fn written(folder: &tempfile::TempDir) -> PathBuf {
    let bench = fixture::usual();
    let chapters: Vec<BuiltChapter> = fixture::exhibits::all(&bench)
        .into_iter()
        .map(|(id, title, exhibits)| BuiltChapter::new(id, title, exhibits))
        .collect();
    let path = folder.path().join("report.html");
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

/// Where a bar of a figure is in the window.
fn bar(browser: &mut Browser, figure: &str, nth: usize) -> (f64, f64) {
    browser.middle(&format!("#fig-{figure} .canvas"));
    browser.until(&format!(
        "document.querySelector('#fig-{figure} .barlayer .point path')"
    ));
    let script = format!(
        "(() => {{ const r = document.querySelectorAll('#fig-{figure} .barlayer .point path')[{nth}].getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height * .6]; }})()"
    );
    let at = browser.eval(&script);
    (at[0].as_f64().unwrap(), at[1].as_f64().unwrap())
}

#[test]
fn a_report_is_read_from_disk_from_the_first_plot_to_the_last_prompt() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = written(&folder);
    browser.scheme("light");
    browser.open_file(&path);
    browser.until("document.querySelector('#fig-profile .scatterlayer')");

    hovering_and_filtering_a_plot(&mut browser);
    following_a_bar_to_its_prompt(&mut browser);
    paging_and_searching_samples(&mut browser);
    hostile_answers_are_text(&mut browser);
    downloads_and_copies(&mut browser);
    browser.quiet("file://");
}

fn hovering_and_filtering_a_plot(browser: &mut Browser) {
    let (x, y) = bar(browser, "htest-figure-3", 0);
    browser.hover(x, y);
    browser.until("document.querySelector('#fig-htest-figure-3 .hoverlayer .hovertext')");
    let told =
        browser.text("document.querySelector('#fig-htest-figure-3 .hoverlayer').textContent");
    assert!(told.contains("click: the samples"), "{told}");

    let height = "document.querySelector('#fig-profile .canvas').clientHeight";
    let shown = "document.querySelector('#fig-profile .canvas').data.filter(t => t.meta.kind === 'dot' && t.visible === true).length";
    let before = browser.eval(height).as_f64().unwrap();
    assert_eq!(browser.eval(shown), 3);
    browser.eval("(() => { const s = document.querySelector('[data-family]'); s.value = 'htest'; s.dispatchEvent(new Event('change', {bubbles: true})); })()");
    browser.until(&format!("{height} < {before}"));
    browser.eval("document.querySelector('[data-subject=\"1\"]').click()");
    browser.until(&format!("{shown} === 2"));
}

fn following_a_bar_to_its_prompt(browser: &mut Browser) {
    // On a busy machine a figure above is still being drawn, and the bar moves away under the mouse.
    let mut click = || {
        let (x, y) = bar(browser, "htest-figure-3", 1);
        browser.click(x, y);
        let wait = "new Promise(r => setTimeout(() => r(!!document.querySelector('#f-tag button')), 2000))";
        browser.eval(wait) == true
    };
    assert!((0..10).any(|_| click()), "a bar leads to its samples");
    assert_eq!(
        browser.text("document.querySelector('#f-model').value"),
        "tiny"
    );
    assert_eq!(
        browser.text("document.querySelector('#f-task').value"),
        "htest/end-punctuation"
    );
    assert_eq!(browser.text("document.activeElement.id"), "samples-h");
    let tag = browser.text("document.querySelector('#f-tag button').textContent");
    let value = tag
        .trim_end_matches(" ×")
        .split_once('=')
        .unwrap()
        .1
        .to_owned();
    // By keyboard: the first sample opens and shows its prompt and its answer.
    browser.eval("document.querySelector('#sample-list summary').focus()");
    browser.press("Enter");
    browser.until("document.querySelector('#sample-list details[open] .story')");
    let story = browser.text("document.querySelector('#sample-list .story').innerText");
    assert!(
        story.contains("Read both lines and answer with A or B."),
        "{story}"
    );
    assert!(story.contains(&format!("ends with a {value}")), "{story}");
}

fn paging_and_searching_samples(browser: &mut Browser) {
    browser.eval("window.maryReport.follow('|')");
    let count = browser.text("document.querySelector('#sample-count').textContent");
    assert!(count.starts_with("1,080 samples of 1,080"), "{count}");
    assert_eq!(
        browser.eval("document.querySelectorAll('#sample-list details').length"),
        6
    );
    let first = browser.text("document.querySelector('#sample-list .who').textContent");
    let (x, y) = browser.middle("#next");
    browser.click(x, y);
    browser.until("document.querySelector('#page').textContent.startsWith('page 2')");
    assert_ne!(
        browser.text("document.querySelector('#sample-list .who').textContent"),
        first
    );
    browser.eval("document.querySelector('#f-outcome input[value=\"1\"]').click()");
    browser.until("[...document.querySelectorAll('#sample-list summary .badge')].every(b => b.textContent === 'unparsed')");
    browser.eval("(() => { document.querySelector('#f-outcome input[value=\"1\"]').click(); const s = document.querySelector('#f-text'); s.value = 'WINDOW.PWNED'; s.dispatchEvent(new Event('input', {bubbles: true})); })()");
    browser.until("document.querySelectorAll('#sample-list details').length === 1");
}

fn hostile_answers_are_text(browser: &mut Browser) {
    browser.eval("document.querySelector('#sample-list summary').click()");
    browser.until("document.querySelector('#sample-list .story')");
    let said = browser
        .text("[...document.querySelectorAll('#sample-list .story .said')].pop().textContent");
    assert!(said.contains("<script>window.pwned=1</script>"), "{said}");
    assert!(
        said.contains("U+202E") && !said.contains('\u{202e}'),
        "{said}"
    );
    assert_eq!(
        browser.eval(
            "document.querySelectorAll('#sample-list script, #sample-list img[src=x]').length"
        ),
        0
    );
    assert_eq!(browser.text("typeof window.pwned"), "undefined");
    // The answer of a million characters is cut, and says so.
    browser.eval("(() => { const s = document.querySelector('#f-text'); s.value = 'more characters are left out'; s.dispatchEvent(new Event('input', {bubbles: true})); })()");
    browser.until("document.querySelectorAll('#sample-list details').length === 1 && !document.querySelector('#sample-list .story')");
    browser.eval("document.querySelector('#sample-list summary').click()");
    browser.until("document.querySelector('#sample-list .cut')");
    let cut = browser.text("document.querySelector('#sample-list .cut').textContent");
    assert!(cut.contains("994,000 more characters"), "{cut}");
    assert_eq!(
        browser.eval("document.documentElement.scrollWidth <= innerWidth"),
        true
    );
}

fn downloads_and_copies(browser: &mut Browser) {
    browser.middle("#fig-psychometric-figure-2");
    browser.until("document.querySelector('#fig-psychometric-figure-2 .scatterlayer')");
    for kind in ["svg", "png", "csv"] {
        browser.eval(&format!(
            "document.querySelector('#fig-psychometric-figure-2 [data-do={kind}]').click()"
        ));
        browser.until(&format!(
            "document.documentElement.dataset.saved === 'psychometric-figure-2.{kind}'"
        ));
    }
    browser
        .eval("document.querySelector('[data-table=\"htest-table-6\"] [data-copy=latex]').click()");
    browser.until("document.querySelector('[data-table=\"htest-table-6\"] [role=status]').textContent === 'copied'");
    // Every figure has its data as a table, and the table leads to samples too.
    browser.eval("document.querySelector('#fig-htest-figure-3 .fallback summary').click()");
    browser
        .until("document.querySelectorAll('#fig-htest-figure-3 .fallback tbody tr').length > 15");
    let table = browser.text("document.querySelector('#fig-htest-figure-3 .fallback').textContent");
    assert!(table.contains("Model P (published)"), "{table}");
    browser.eval("document.querySelector('#fig-htest-figure-3 .fallback button').click()");
    browser.until("document.activeElement.id === 'samples-h'");
}

#[test]
fn a_report_reads_well_by_day_and_night_on_a_phone_and_without_eyes() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = written(&folder);
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        browser.open_file(&path);
        browser.eval("window.maryReport.drawAll()");
        browser.until("document.querySelectorAll('figure[data-drawn]').length === document.querySelectorAll('figure[data-figure]').length");
        browser.eval("document.querySelector('#sample-list summary').click()");
        browser.until("document.querySelector('#sample-list .story')");
        let findings = browser.axe();
        assert!(findings.is_empty(), "{scheme}: {findings:#?}");
        browser.eval("scrollTo(0, 0)");
        browser.picture(&format!("report-{scheme}"), false);
        browser
            .eval("document.querySelector('#family-htest').scrollIntoView({behavior: 'instant'})");
        browser.picture(&format!("report-{scheme}-figure"), false);
        browser.eval("document.querySelector('#samples').scrollIntoView({behavior: 'instant'})");
        browser.picture(&format!("report-{scheme}-samples"), false);
    }
    // Printed, it is a document of its own: plots by daylight, no buttons.
    let printed = browser.call(
        "Page.printToPDF",
        serde_json::json!({"printBackground": true}),
    );
    assert!(printed["data"].as_str().unwrap().len() > 50_000);
    // The toggle turns night into day.
    browser.eval("document.querySelector('#theme').click()");
    assert_eq!(
        browser.text("getComputedStyle(document.documentElement).colorScheme"),
        "light"
    );

    browser.scheme("light");
    browser.size(390, 844, true);
    browser.open_file(&path);
    browser.eval("window.maryReport.drawAll()");
    assert_eq!(
        browser.eval("document.documentElement.scrollWidth <= innerWidth + 1"),
        true,
        "a phone must not scroll sideways"
    );
    let findings = browser.axe();
    assert!(findings.is_empty(), "phone: {findings:#?}");
    browser.picture("report-phone", false);
    browser.quiet("file://");
}
