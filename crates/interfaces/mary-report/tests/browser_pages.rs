//! The six main pages measured in a real browser, at 1300 and 400 px, by day and by night: nothing runs out
//! of the page, no labels lie on each other, plots keep their room, and a page of six tasks can be scrolled.

use crate::chromium::{self, Browser};
use crate::pages::{self, Page};

/// A page of six tasks is no longer than this at 1300 px.
const LONGEST: f64 = 8_000.0;

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

/// What runs out of the window or lies on its neighbour, figures aside.
const SPILLS: &str = r#"(() => {
  const faults = [], box = (e) => e.getBoundingClientRect();
  const said = (e) => `${e.tagName.toLowerCase()}.${e.className} "${(e.textContent || "").trim().slice(0, 40)}"`;
  const held = (e) => { for (let p = e.parentElement; p; p = p.parentElement) { const o = getComputedStyle(p).overflowX; if (o !== "visible") return true; } return false; };
  const seen = (e) => { const r = box(e); return r.width > 1 && r.height > 1 && r.right > 0 && getComputedStyle(e).visibility !== "hidden"; };
  if (document.documentElement.scrollWidth > innerWidth + 1) faults.push(`the page is ${document.documentElement.scrollWidth} px wide in a window of ${innerWidth}`);
  for (const e of document.body.querySelectorAll("*")) {
    if (e.closest("svg, .sr, .skip") || !seen(e) || held(e)) continue;
    if (box(e).right > innerWidth + 1) faults.push(`${said(e)} runs out of the window`);
  }
  const button = document.getElementById("theme"), kicker = document.querySelector(".kicker");
  if (kicker && box(kicker).bottom > box(button).top + 2 && box(kicker).top < box(button).bottom - 2) faults.push("the button lies on the first line");
  const groups = [".bar > *", ".filters > *", ".chips > *", ".models > *", ".trail > *", ".contents > ol > li", ".lines > li", ".story > section", ".runs tr > *", ".scores tr > *", "main > *", ".tools > *", ".pager > *"];
  for (const group of groups) {
    const all = [...document.querySelectorAll(group)].filter(seen);
    for (let i = 0; i + 1 < all.length; i++) {
      const a = all[i], b = all[i + 1];
      if (a.parentElement !== b.parentElement || getComputedStyle(a).position === "sticky" || getComputedStyle(b).position === "sticky" || getComputedStyle(a).float !== "none") continue;
      const x = Math.min(box(a).right, box(b).right) - Math.max(box(a).left, box(b).left), y = Math.min(box(a).bottom, box(b).bottom) - Math.max(box(a).top, box(b).top);
      if (x > 2 && y > 2) faults.push(`${said(a)} lies on ${said(b)}`);
    }
  }
  return faults.slice(0, 12);
})()"#;

fn faults(browser: &mut Browser, script: &str) -> Vec<String> {
    let found = browser.eval(script);
    let found = found.as_array().unwrap().iter();
    found.map(|f| f.as_str().unwrap().to_owned()).collect()
}

/// The faults of the page as it is shown; `width` and `scheme` say how.
fn measure(browser: &mut Browser, page: &Page, width: u32, scheme: &str) -> Vec<String> {
    let mut found = faults(browser, SPILLS);
    if page.report {
        found.extend(faults(browser, FAULTS));
        let height = browser
            .eval("document.documentElement.scrollHeight")
            .as_f64()
            .unwrap();
        eprintln!("{} at {width} px: {height} px long", page.name);
        if width > 1_000 && height > LONGEST {
            let parts = browser.text("[...document.querySelectorAll('.head, main > section, figure, .exhibit, .scores')].map((e) => (e.id || e.className) + ' ' + Math.round(e.getBoundingClientRect().height)).join(', ')");
            found.push(format!("the page is {height} px long: {parts}"));
        }
    }
    let button = browser.text("document.querySelector('#theme').textContent");
    let other = if scheme == "dark" { "light" } else { "dark" };
    if button != format!("Switch to {other}") {
        found.push(format!("the button says {button:?}"));
    }
    found
        .into_iter()
        .map(|fault| format!("{} at {width} px, {scheme}: {fault}", page.name))
        .collect()
}

#[test]
fn the_six_main_pages_keep_their_labels_apart_and_within_the_window() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for page in pages::six(folder.path()) {
        // Opened wide by day and narrow by night; the other time of day comes while it is looked at.
        for (width, first, then) in [(1_300, "light", "dark"), (400, "dark", "light")] {
            browser.scheme(first);
            pages::open(&mut browser, &page, width);
            found.extend(measure(&mut browser, &page, width, first));
            browser.turn(then);
            found.extend(measure(&mut browser, &page, width, then));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Twelve models that are no checkpoints, with names of eighty characters.
#[test]
fn twelve_long_names_make_no_long_page() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let page = pages::twelve_long(folder.path());
    browser.scheme("light");
    pages::open(&mut browser, &page, 1_300);
    let found = measure(&mut browser, &page, 1_300, "light");
    assert!(found.is_empty(), "{found:#?}");
}

/// The measuring itself can fail: a label on another and a line out of the window are found.
#[test]
fn what_spills_is_found() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let page = &pages::six(folder.path())[4];
    pages::open(&mut browser, page, 400);
    assert_eq!(faults(&mut browser, SPILLS), [""; 0]);
    browser.eval("(() => { const wide = document.createElement('p'); wide.className = 'wide'; wide.style.width = '900px'; wide.textContent = 'wide'; document.querySelector('main').append(wide); document.querySelectorAll('.lines > li')[1].style.marginTop = '-30px'; })()");
    let found = faults(&mut browser, SPILLS).join("; ");
    assert!(found.contains("runs out of the window"), "{found}");
    assert!(found.contains("lies on"), "{found}");
}
