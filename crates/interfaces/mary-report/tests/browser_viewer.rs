//! The viewer in a real browser, over a run that is still going on.

use crate::chromium;
use crate::fixture;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, atomic::Ordering};

use crate::pages::served;
use fixture::log::MemoryLog;
use mary_contract::{Finish, Generated, Reply, Response};

/// A bare request, so that the host can be lied about.
fn ask(bound: SocketAddr, host: &str, line: &str) -> String {
    let mut stream = TcpStream::connect(bound).unwrap();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut out = Vec::new();
    stream.read_to_end(&mut out).unwrap();
    String::from_utf8_lossy(&out).into_owned()
}

/// The body of an answer that came in chunks, without the sizes between them.
fn unchunked(answer: &str) -> String {
    let mut rest = answer.split_once("\r\n\r\n").unwrap().1;
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    body
}

#[test]
fn only_local_names_are_answered_and_every_answer_is_fenced() {
    let log = Arc::new(MemoryLog::new(&fixture::bench(&["builtin/tiny"], 5)));
    let bound = served(&log);
    let local = format!("127.0.0.1:{}", bound.port());
    let page = ask(bound, &local, "GET /");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let lower = page.to_lowercase();
    assert!(lower.contains("content-security-policy: default-src 'none'"));
    assert!(lower.contains("x-content-type-options: nosniff"));
    assert!(ask(bound, "rebound.example", "GET /").starts_with("HTTP/1.1 403"));
    assert!(ask(bound, &local, "POST /").starts_with("HTTP/1.1 405"));
    let missing = ask(bound, &local, "GET /run/%3Cscript%3Ealert(1)%3C/samples");
    assert!(missing.starts_with("HTTP/1.1 404"), "{missing}");
    let missing = ask(bound, &local, "GET /run/%3Cscript%3E");
    assert!(
        missing.contains("&lt;script&gt;") && !missing.contains("`<script>"),
        "{missing}"
    );
    let odd = ask(
        bound,
        &local,
        "GET /run/b3f1c2d4e5/samples?page=99999999999999&outcome=nonsense",
    );
    assert!(odd.starts_with("HTTP/1.1 200"), "{odd}");
}

/// An answer of eight million characters, every other one invisible: eighty times as much as a page.
#[test]
fn a_very_large_answer_is_cut_on_the_page_and_streamed_whole_as_text() {
    const PAIRS: usize = 4 << 20;
    let mut log = MemoryLog::new(&fixture::bench(&["builtin/tiny"], 2));
    let sample = &mut log.samples[0];
    let large = "a\u{0}".repeat(PAIRS);
    sample.exchanges[0].reply = Ok(Reply::bare(Response::Generated(Generated {
        text: large.clone(),
        finish: Finish::Stop,
        reasoning: Some("<b>why</b>".into()),
    })));
    let id = sample.id.clone();
    let bound = served(&Arc::new(log));
    let encode = |text: &str| text.replace('/', "%2F");
    let query = format!(
        "model={}&task={}&item={}&trial={}",
        encode(&id.model),
        encode(&id.task),
        id.item,
        id.trial
    );
    let local = format!("127.0.0.1:{}", bound.port());
    let page = ask(
        bound,
        &local,
        &format!("GET /run/b3f1c2d4e5/sample?{query}"),
    );
    assert!(page.starts_with("HTTP/1.1 200"), "{}", &page[..200]);
    assert!(page.contains("transfer-encoding: chunked"));
    assert!(page.contains("content-security-policy"));
    let left = 2 * PAIRS - (1 << 20);
    assert!(page.contains(&format!("{} more characters", grouped(left))));
    assert!(page.contains(&format!("href=\"/run/b3f1c2d4e5/text?{}", &query[..20])));
    assert_eq!(unchunked(&page).matches("U+0000</span>").count(), 1 << 19);
    assert!(
        page.trim_end().ends_with("</html>\r\n0"),
        "whole to the end"
    );
    let text = ask(bound, &local, &format!("GET /run/b3f1c2d4e5/text?{query}"));
    assert!(text.contains("content-type: text/plain; charset=utf-8"));
    assert!(text.contains("x-content-type-options: nosniff"));
    assert!(text.contains("<b>why</b>"), "plain text is not escaped");
    // Chunk sizes stand between the pieces, and hold no `a` before a NUL.
    assert_eq!(text.matches('\0').count(), PAIRS);
    let missing = ask(
        bound,
        &local,
        "GET /run/b3f1c2d4e5/text?model=x&task=y&item=z",
    );
    assert!(missing.starts_with("HTTP/1.1 404"), "{missing}");
}

/// A number with commas.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[test]
fn a_run_is_looked_through_while_it_goes_on() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let log = Arc::new(MemoryLog::new(&fixture::usual()));
    log.written.store(700, Ordering::SeqCst);
    let home = format!("http://{}", served(&log));
    browser.scheme("light");

    browser.open(&home);
    let listed = browser.text("document.querySelector('main').innerText");
    assert!(
        listed.contains("b3f1c2d4e5") && listed.contains("700") && listed.contains("k=4"),
        "{listed}"
    );
    browser.eval("document.querySelector('tbody a').click()");
    browser.until("document.querySelector('.outcomes')");
    browser.eval("[...document.querySelectorAll('.outcomes a')].find(a => a.textContent.includes('wrong')).click()");
    browser.until("location.search === '?outcome=wrong' && document.querySelector('.lines li')");
    let classes =
        "[...document.querySelectorAll('.lines .badge')].every(b => b.textContent === 'wrong')";
    assert_eq!(browser.eval(classes), true);

    // More samples are written; the list follows by itself.
    let before = browser.text("document.querySelector('#count').textContent");
    log.written.store(1080, Ordering::SeqCst);
    browser.until(&format!(
        "document.querySelector('#count').textContent !== {before:?}"
    ));
    browser.until("document.querySelector('#live').textContent.startsWith('complete')");

    browser.open(&format!("{home}/run/b3f1c2d4e5/samples"));
    let count = browser.text("document.querySelector('#count').textContent");
    assert!(count.starts_with("1,080 samples"), "{count}");
    assert_eq!(
        browser.eval("document.querySelectorAll('.lines li').length"),
        50
    );
    browser.eval("document.querySelector('a[rel=next]').click()");
    browser.until("location.search.includes('page=2') && document.readyState === 'complete'");
    assert!(
        browser
            .text("document.querySelector('.pager').innerText")
            .contains("page 2 of 22")
    );
    browser.picture("viewer-list", false);
    let findings = browser.axe();
    assert!(findings.is_empty(), "{findings:#?}");

    hostile_text_is_found_and_shown_as_text(&mut browser, &home);
    flipped_items_stand_side_by_side(&mut browser, &home);
    samples_are_read_one_after_the_other(&mut browser, &home);
    browser.quiet(&home);
}

/// From a list by margin to a sample and on to the next, without leaving the list.
fn samples_are_read_one_after_the_other(browser: &mut chromium::Browser, home: &str) {
    browser.open(&format!(
        "{home}/run/b3f1c2d4e5/samples?task=psychometric%2Fminimal-pairs&outcome=wrong&order=margin-low"
    ));
    let margins = browser.eval("[...document.querySelectorAll('.lines .who')].map((w) => +w.textContent.match(/margin (-?[\\d.]+)/)[1])");
    let margins: Vec<f64> = margins
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m.as_f64().unwrap())
        .collect();
    assert!(margins.len() > 20 && margins.is_sorted(), "{margins:?}");
    assert!(
        margins.iter().all(|m| *m <= 0.0),
        "wrong, and preferred: {margins:?}"
    );
    let second = browser.text("document.querySelectorAll('.lines a')[1].textContent");
    browser.eval("document.querySelector('.lines a').click()");
    browser.until("document.querySelector('.story')");
    let place = "document.querySelector('.pager span:not(.none)').textContent";
    assert!(
        browser.text(place).starts_with("1 of "),
        "{}",
        browser.text(place)
    );
    assert_eq!(
        browser.eval("document.querySelector('a[rel=prev]')"),
        serde_json::Value::Null
    );
    browser.eval("document.querySelector('a[rel=next]').click()");
    browser.until(&format!(
        "document.querySelector('.pager') && {place}.startsWith('2 of ')"
    ));
    let question = browser.text("document.querySelector('.options').innerText");
    assert!(
        second.contains(
            question
                .lines()
                .next()
                .unwrap()
                .trim_end_matches("this one")
                .trim()
        ),
        "{second} | {question}"
    );
    // Setting a model beside it keeps the list; the trail leads back to its page.
    browser.eval("(() => { const s = document.querySelector('[name=other]'); s.value = 'remote/large'; s.form.requestSubmit(); })()");
    browser.until("document.querySelectorAll('.story section').length === 3");
    assert!(browser.text(place).starts_with("2 of "));
    let trail = browser
        .text("[...document.querySelectorAll('.trail a')].map((a) => a.textContent).join(' / ')");
    assert!(
        trail.starts_with("Runs / 6 tasks of 4 families on 3 models / Samples / ")
            && trail.ends_with(", psychometric/minimal-pairs"),
        "{trail}"
    );
    browser.eval("document.querySelectorAll('.trail a')[2].click()");
    browser.until("location.search.includes('order=margin-low')");
}

/// What works without a script: every list, order and filter is an address.
#[test]
fn runs_are_listed_ordered_and_lead_to_their_reports() {
    let mut log = MemoryLog::new(&fixture::bench(&["builtin/tiny", "remote/large"], 5));
    log.report = Some(b"<!doctype html><title>r</title><script>fetch('/')</script>".to_vec());
    let bound = served(&Arc::new(log));
    let local = format!("127.0.0.1:{}", bound.port());
    let get = |path: &str| ask(bound, &local, &format!("GET {path}"));
    let list = get("/?by=samples&turned=1&q=RHYME");
    assert!(list.contains("1 of 1 run."), "{list}");
    assert!(list.contains("aria-sort=\"ascending\""), "{list}");
    assert!(
        list.contains("6 tasks of 4 families on tiny and large"),
        "{list}"
    );
    assert!(
        list.contains("limit=60") && list.contains("1.2 MB"),
        "{list}"
    );
    assert!(list.contains("above chance"), "{list}");
    assert!(list.contains("href=\"/run/b3f1c2d4e5/report\""), "{list}");
    assert!(get("/?q=nothing-of-the-kind").contains("0 of 1 run."));
    // Whatever lies in the folder as a report: its scripts belong to no origin and reach nothing.
    let report = get("/run/b3f1c2d4e5/report").to_lowercase();
    assert!(
        report.contains(
            "content-security-policy: sandbox allow-scripts allow-downloads; default-src 'none';"
        ),
        "{report}"
    );
    assert!(
        !report.contains("allow-same-origin") && !report.contains("connect-src"),
        "{report}"
    );
    assert_eq!(report.matches("content-security-policy:").count(), 1);
    let none = served(&Arc::new(MemoryLog::new(&fixture::bench(
        &["builtin/tiny"],
        2,
    ))));
    let none = ask(none, &local, "GET /run/b3f1c2d4e5/report");
    assert!(
        none.starts_with("HTTP/1.1 404") && none.contains("<code>mary report</code>"),
        "{none}"
    );

    let disagreed =
        get("/run/b3f1c2d4e5/samples?disagreed=1&order=margin-near&from=-1000&to=nonsense");
    assert!(disagreed.starts_with("HTTP/1.1 200"), "{disagreed}");
    let sample = get(
        "/run/b3f1c2d4e5/sample?model=builtin%2Ftiny&task=htest%2Frhyme&item=htest-rhyme-00001&in=order%3D%25ZZ%26q%3D",
    );
    assert!(
        sample.contains("Next sample") && sample.contains("Previous sample"),
        "{sample}"
    );
    assert!(
        sample.contains("<span class=\"letter\">A</span>") && sample.contains("the right one"),
        "{sample}"
    );
    assert!(
        !sample.contains("Notes of the judge") && !sample.contains("nobody"),
        "{sample}"
    );
}

fn hostile_text_is_found_and_shown_as_text(browser: &mut chromium::Browser, home: &str) {
    browser.open(&format!("{home}/run/b3f1c2d4e5/samples?q=Window.PWNED"));
    assert_eq!(
        browser.eval("document.querySelectorAll('.lines li').length"),
        1
    );
    browser.eval("document.querySelector('.lines a').click()");
    browser.until("document.querySelector('.story')");
    let said = browser.text("[...document.querySelectorAll('.said')].pop().textContent");
    assert!(
        said.contains("<script>window.pwned=1</script>") && said.contains("U+202E"),
        "{said}"
    );
    assert_eq!(browser.text("typeof window.pwned"), "undefined");
    assert_eq!(
        browser.eval("document.querySelectorAll('main script, main img').length"),
        0
    );
    // One line of a million characters, whole and without breaking the page.
    browser.open(&format!(
        "{home}/run/b3f1c2d4e5/sample?model=hf%2Flab%2Fmedium-135m%40main&task=htest%2Fend-punctuation&item=htest-end-punctuation-00004"
    ));
    assert_eq!(
        browser.eval("[...document.querySelectorAll('.said')].pop().textContent.length"),
        1_000_000
    );
    assert_eq!(
        browser.eval("document.documentElement.scrollWidth <= innerWidth"),
        true
    );
}

fn flipped_items_stand_side_by_side(browser: &mut chromium::Browser, home: &str) {
    let (a, b) = ("builtin%2Ftiny", "remote%2Flarge");
    browser.open(&format!(
        "{home}/run/b3f1c2d4e5/samples?a={a}&b={b}&task=psychometric%2Fminimal-pairs"
    ));
    browser.until("document.querySelectorAll('.lines li').length > 3");
    browser.eval("document.querySelector('.lines a').click()");
    browser.until("document.querySelectorAll('.story section').length === 3");
    let verdicts = browser.eval(
        "[...document.querySelectorAll('.verdict .badge')].map(b => b.textContent).sort().join()",
    );
    assert_eq!(verdicts, "right,wrong");
    assert_eq!(
        browser.eval("document.querySelectorAll('.tokens ruby').length"),
        32
    );
    let findings = browser.axe();
    assert!(findings.is_empty(), "{findings:#?}");
    browser.picture("viewer-side-by-side", false);
    browser.open(&format!("{home}/run/b3f1c2d4e5/sample?model={b}&task=physico%2Fgrid-choice&item=physico-grid-choice-00002"));
    assert_eq!(
        browser.eval("document.querySelector('img.shown').naturalWidth"),
        60
    );
    browser.scheme("dark");
    let findings = browser.axe();
    assert!(findings.is_empty(), "dark: {findings:#?}");
    browser.picture("viewer-picture", false);
    browser.open(&format!("{home}/run/b3f1c2d4e5"));
    let findings = browser.axe();
    assert!(findings.is_empty(), "run: {findings:#?}");
    // The check itself can fail: a picture without words is found.
    browser.eval("document.querySelector('main').append(new Image(10, 10))");
    assert!(browser.axe().iter().any(|f| f.starts_with("image-alt")));
}
