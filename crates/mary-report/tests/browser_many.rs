//! Reports of 1, 2, 12 and 40 models with long names, measured in a real browser: nothing runs out of the
//! page, no labels lie on each other, plots keep their room, and a page of six tasks can be scrolled.

use std::path::PathBuf;

use mary_report::html::{Chapter, ReportOptions, report};

use crate::chromium::{self, Browser};
use crate::fixture;

fn written(folder: &tempfile::TempDir, models: &[String]) -> PathBuf {
    let names: Vec<&str> = models.iter().map(String::as_str).collect();
    let bench = fixture::bench(&names, 6);
    let chapters: Vec<Chapter> = fixture::exhibits::all(&bench)
        .into_iter()
        .map(|(id, title, exhibits)| Chapter {
            id,
            title,
            exhibits: exhibits.renamed(&mary_contract::model_labels(&bench.run.manifest.models)),
        })
        .collect();
    let path = folder.path().join(format!("report-{}.html", models.len()));
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

/// What is wrong with the figures that are drawn: labels on labels, plots without room, legends over data.
const FAULTS: &str = r#"(() => {
  const faults = [], box = (e) => e.getBoundingClientRect();
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  for (const figure of document.querySelectorAll("figure[data-drawn]")) {
    const canvas = figure.querySelector(".canvas"), id = figure.dataset.figure;
    if (!canvas.clientWidth) continue;
    for (const axis of [".ytick text", ".xtick text"]) {
      const ticks = [...canvas.querySelectorAll(axis)];
      // Turned labels are compared by the places they begin at.
      const turned = ticks.some((t) => /rotate\((?!0[,)])/.test(t.getAttribute("transform") || ""));
      if (turned) {
        const at = ticks.map((t) => box(t).left).sort((a, b) => a - b);
        if (at.some((x, i) => i && x - at[i - 1] < 6)) faults.push(`${id}: turned labels of ${axis} are squeezed`);
      } else for (let i = 0; i < ticks.length; i++) for (let j = i + 1; j < ticks.length; j++)
        if (meet(box(ticks[i]), box(ticks[j]))) faults.push(`${id}: ${axis} "${ticks[i].textContent}" lies on "${ticks[j].textContent}"`);
    }
    const plot = canvas.querySelector(".plotly .bglayer rect, .cartesianlayer .plot, .cartesianlayer");
    if (plot && box(plot).width < .4 * canvas.clientWidth) faults.push(`${id}: the plot has ${Math.round(box(plot).width)} of ${canvas.clientWidth} px`);
    const legend = canvas.querySelector(".legend .bg"), area = canvas.querySelector(".gridlayer, .draglayer .nsewdrag");
    const drag = canvas.querySelector(".nsewdrag");
    if (legend && drag && meet(box(legend), box(drag))) faults.push(`${id}: the legend lies on the data`);
  }
  return faults.slice(0, 12);
})()"#;

fn measure(
    browser: &mut Browser,
    path: &std::path::Path,
    models: usize,
    width: u32,
) -> Vec<String> {
    browser.size(width, 900, width < 500);
    browser.open_file(path);
    browser.eval("window.maryReport.drawAll()");
    browser.until("document.querySelectorAll('figure[data-drawn]').length === document.querySelectorAll('figure[data-figure]').length");
    let mut faults: Vec<String> = browser
        .eval(FAULTS)
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f.as_str().unwrap().to_owned())
        .collect();
    if browser.eval("document.documentElement.scrollWidth <= innerWidth + 1") != true {
        faults.push("the page is wider than the window".into());
    }
    let height = browser
        .eval("document.documentElement.scrollHeight")
        .as_f64()
        .unwrap();
    // Twelve names of eighty characters stand in every figure and table once.
    let longest = if models <= 2 { 8_000.0 } else { 10_000.0 };
    if width > 1_000 && models <= 12 && height > longest {
        faults.push(format!("the page is {height} px long"));
    }
    if std::env::var_os("MARY_PICTURES").is_some() {
        browser.picture(&format!("many-{models}-{width}"), true);
    }
    faults
        .into_iter()
        .map(|fault| format!("{models} models at {width} px: {fault}"))
        .collect()
}

#[test]
fn long_names_and_many_models_leave_room_for_the_data() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    browser.scheme("light");
    let mut faults = Vec::new();
    for count in [1, 2, 12, 40] {
        let path = written(&folder, &long_names(count));
        for width in [1_300, 400] {
            faults.extend(measure(&mut browser, &path, count, width));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
