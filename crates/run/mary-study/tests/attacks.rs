//! What a hostile participant or a stranger may try over HTTP: nothing gets in or out.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mary_contract::Target;
use mary_study::question::Answer;
use mary_study::simulate::page::served;
use mary_study::{Session, Study};

use crate::fixture;

pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Everything that comes back.
pub fn bytes(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    // A server that has seen enough may close before everything is sent.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// A request with a form.
pub fn request(method: &str, path: &str, more: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n{more}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn raw(address: SocketAddr, request: &[u8]) -> Got {
    let bytes = bytes(address, request);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    Got {
        status: head
            .split(' ')
            .nth(1)
            .and_then(|s| s.parse().ok())
            .unwrap_or(0),
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}

pub fn get(address: SocketAddr, path: &str) -> Got {
    raw(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes(),
    )
}

pub fn post(address: SocketAddr, path: &str, body: &str) -> Got {
    post_with(address, path, body, "")
}

fn post_with(address: SocketAddr, path: &str, body: &str, more: &str) -> Got {
    raw(address, &request("POST", path, more, body))
}

pub fn field<'p>(page: &'p str, name: &str) -> &'p str {
    let (_, rest) = page
        .split_once(&format!("name=\"{name}\" value=\""))
        .unwrap_or_else(|| panic!("no field {name} in {page}"));
    rest.split_once('"').unwrap().0
}

/// Agrees and returns the path of one's own page.
fn join(address: SocketAddr, session: &Session) -> String {
    let entry = format!("/s/{}", session.study.secrets.entry);
    let page = get(address, &entry);
    assert_eq!(page.status, 200);
    let ticket = field(&page.body, "ticket").to_owned();
    let got = post(address, &entry, &format!("agree=yes&ticket={ticket}"));
    assert_eq!(got.status, 303, "{}", got.body);
    let line = got
        .head
        .lines()
        .find(|l| l.starts_with("location:"))
        .unwrap();
    line.split_once(' ').unwrap().1.trim().to_owned()
}

/// To the first item.
fn begun(address: SocketAddr, session: &Session) -> (String, Got) {
    let own = join(address, session);
    let page = get(address, &own);
    let (step, key) = (field(&page.body, "step"), field(&page.body, "key"));
    assert_eq!(
        post(address, &own, &format!("step={step}&key={key}")).status,
        303
    );
    let page = get(address, &own);
    assert_eq!(page.status, 200);
    (own, page)
}

#[test]
fn nothing_gets_in_or_out() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(6, 3));
    let address = served(session.clone()).unwrap();
    let (one, page) = begun(address, &session);
    let (other, _) = begun(address, &session);
    let (step, key) = (
        field(&page.body, "step").to_owned(),
        field(&page.body, "key").to_owned(),
    );

    // Headers of every answer.
    for got in [&page, &get(address, "/nowhere"), &get(address, "/study.js")] {
        assert!(
            got.head
                .contains("content-security-policy: default-src 'none'"),
            "{}",
            got.head
        );
        assert!(got.head.contains("referrer-policy: same-origin"));
        assert!(got.head.contains("cache-control: no-store"));
        assert!(!got.head.contains("access-control-allow-origin"));
    }
    // Guessed tokens and entries.
    for path in [
        "/p/aaaaaaaaaaaaaaaaaaaaaaaaaa",
        "/p/1",
        "/s/guess",
        "/p/..%2f..%2fkeys.json",
        "/keys.json",
        "/study.sqlite",
        "/admin/../keys.json",
    ] {
        assert_eq!(get(address, path).status, 404, "{path}");
    }
    // A ticket of one's own making.
    let entry = format!("/s/{}", session.study.secrets.entry);
    for ticket in ["", "abc", "aaaaaaaaaaaaaaaaaaaaaaaaaa.0000"] {
        let got = post(address, &entry, &format!("agree=yes&ticket={ticket}"));
        assert_eq!(got.status, 400, "{ticket}");
    }
    // Another's trial: my step and key on their page, and theirs to me.
    assert_eq!(
        post(address, &other, &format!("step={step}&key={key}&answer=0")).status,
        409
    );
    // Steps out of order, forged lists and items.
    for body in [
        format!("step=trial-1&key={key}&answer=0"),
        format!("step=trial-2&key={key}&answer=0"),
        format!("step=finished&key={key}&answer=0"),
        format!("step={step}&key=00000000000000000000000000000000&answer=0"),
        "answer=0".to_owned(),
        format!("step={step}&key={key}0&answer=0&item=5&list=3&place=2&person=1"),
    ] {
        assert_eq!(post(address, &one, &body).status, 409, "{body}");
    }
    // Answers that are none.
    for value in ["7", "-1", "none", "time-out", "%3Cscript%3E", ""] {
        let got = post(
            address,
            &one,
            &format!("step={step}&key={key}&answer={value}"),
        );
        assert_eq!(got.status, 422, "{value}");
    }
    let got = post(
        address,
        &one,
        &format!("step={step}&key={key}&answer=0&answer=1"),
    );
    assert_eq!(got.status, 422, "two answers to one question");
    // From somebody else's page.
    let cross = "Sec-Fetch-Site: cross-site\r\n";
    let body = format!("step={step}&key={key}&answer=0");
    assert_eq!(post_with(address, &one, &body, cross).status, 403);
    // The same from a browser that does not send that header.
    for origin in ["https://evil.example", "http://x.evil.example", "null"] {
        let cross = format!("Origin: {origin}\r\n");
        assert_eq!(
            post_with(address, &one, &body, &cross).status,
            403,
            "{origin}"
        );
    }
    // Larger than any form.
    let large = format!("step={step}&key={key}&answer=0&x={}", "y".repeat(200_000));
    assert!([413, 0].contains(&post(address, &one, &large).status));
    // Other methods, other kinds of body.
    for method in ["PUT", "DELETE", "PATCH"] {
        let request = format!(
            "{method} {one} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(raw(address, request.as_bytes()).status, 405);
    }
    let json = format!(
        "POST {one} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    assert_eq!(raw(address, json.as_bytes()).status, 415);
    // Nothing of all that was saved.
    assert!(
        session
            .people()
            .unwrap()
            .iter()
            .all(|p| p.answers.is_empty())
    );

    // One answer, then the same post again and again with others: the first stands.
    assert_eq!(
        post_with(address, &one, &body, "Origin: http://x\r\n").status,
        303
    );
    for value in ["0", "1"] {
        let again = format!("step={step}&key={key}&answer={value}");
        assert_eq!(post(address, &one, &again).status, 303);
    }
    let people = session.people().unwrap();
    let mine: Vec<_> = people.iter().filter(|p| !p.answers.is_empty()).collect();
    assert_eq!(mine.len(), 1);
    assert_eq!(mine[0].answers.len(), 1);
    assert_eq!(mine[0].answers[0].answer, Answer::Choice(0));
    // Withdrawing needs the key of one's own page.
    assert_eq!(
        post(address, &format!("{other}/withdraw"), "key=x&sure=yes").status,
        404
    );
    assert_eq!(session.people().unwrap().len(), 2);

    // The admin page.
    assert_eq!(get(address, "/admin").status, 401);
    let admin = |password: &str| {
        use base64::Engine as _;
        let coded = base64::engine::general_purpose::STANDARD.encode(format!("me:{password}"));
        let request = format!(
            "GET /admin HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Basic {coded}\r\n\r\n"
        );
        raw(address, request.as_bytes())
    };
    assert_eq!(admin("wrong").status, 401);
    let seen = admin(&session.study.secrets.admin);
    assert_eq!(seen.status, 200);
    assert!(seen.body.contains("answers saved"));
}

/// Whatever a person gets to see from consent to the end holds no key: not an item's id (which may name the
/// answer), not the word "correct", not the settings of the task; and options stand in an order that does
/// not tell. A study of grids, whose item ids end in the right concept.
#[test]
fn no_response_holds_a_key() {
    let dir = tempfile::tempdir().unwrap();
    let frozen = fixture::frozen("physico/definition", 12, &[("set", "core")], None, true);
    let settings = fixture::settings(2, 12);
    Study::create(&dir.path().join("study"), &settings, &frozen).unwrap();
    let (session, _thread) = Session::open(&dir.path().join("study")).unwrap();
    let address = served(session.clone()).unwrap();
    let (own, mut page) = begun(address, &session);
    let mut everything = get(address, &format!("/s/{}", session.study.secrets.entry)).body;
    everything.push_str(&get(address, "/study.js").body);
    let keys = session.study.keys().unwrap();
    let mut at_first = 0;
    for trial in 0..12 {
        everything.push_str(&page.head);
        everything.push_str(&page.body);
        let item = session.study.design().list(0)[trial];
        let Target::Choice {
            options, correct, ..
        } = &keys.items[item].item.target
        else {
            panic!("a choice");
        };
        // The options in the order of the page.
        let shown: Vec<usize> = {
            let mut places: Vec<(usize, usize)> = options
                .iter()
                .enumerate()
                .map(|(at, text)| {
                    let part = format!("<span>{text}</span>");
                    (page.body.find(&part).unwrap(), at)
                })
                .collect();
            places.sort_unstable();
            places.into_iter().map(|(_, at)| at).collect()
        };
        assert_eq!(shown, session.study.order(0, item));
        at_first += usize::from(shown[0] == *correct);
        let (step, key) = (field(&page.body, "step"), field(&page.body, "key"));
        let sent = format!("step={step}&key={key}&answer=0");
        let got = post(address, &own, &sent);
        everything.push_str(&got.head);
        page = get(address, &own);
    }
    everything.push_str(&page.body);
    assert!(page.body.contains("DONE42"), "{}", page.body);
    assert!((0..=8).contains(&at_first), "{at_first}");
    for keyed in &keys.items {
        assert!(!everything.contains(&keyed.item.id), "{}", keyed.item.id);
    }
    for word in [
        "correct",
        "\"target\"",
        "physico",
        "OUT42",
        "NO42",
        &session.study.secrets.steps,
        &session.study.secrets.admin,
    ] {
        assert!(!everything.contains(word), "{word}");
    }
    // The server's memory holds none either: what it reads has no targets.
    let items = std::fs::read_to_string(dir.path().join("study/items.json")).unwrap();
    assert!(!items.contains("correct") && !items.contains("target"));
}

/// Script in free text is kept as it was written and shown to nobody as script.
#[test]
fn script_in_free_text_stays_text() {
    let dir = tempfile::tempdir().unwrap();
    let mut frozen = fixture::frozen("htest/rhyme", 3, &[], Some(2), false);
    for question in &mut frozen.questions {
        question.answer = mary_study::question::AnswerForm::Text;
        question.instruction = "<script>alert(1)</script> & \"quotes\"".into();
    }
    let settings = fixture::settings(1, 3);
    Study::create(&dir.path().join("study"), &settings, &frozen).unwrap();
    let (session, _thread) = Session::open(&dir.path().join("study")).unwrap();
    let address = served(session.clone()).unwrap();
    let (own, page) = begun(address, &session);
    assert!(!page.body.contains("<script>alert"));
    assert!(page.body.contains("&lt;script&gt;alert(1)"));
    let said = "=cmd()<script>fetch('//evil.example')</script>";
    let coded = said
        .replace('=', "%3D")
        .replace('<', "%3C")
        .replace('>', "%3E")
        .replace('\'', "%27");
    let (step, key) = (field(&page.body, "step"), field(&page.body, "key"));
    assert_eq!(
        post(
            address,
            &own,
            &format!("step={step}&key={key}&answer={coded}")
        )
        .status,
        303
    );
    let people = session.people().unwrap();
    assert_eq!(people[0].answers[0].answer, Answer::Text(said.into()));
    let too_long = "x".repeat(2_001);
    let page = get(address, &own);
    let (step, key) = (field(&page.body, "step"), field(&page.body, "key"));
    let sent = format!("step={step}&key={key}&answer={too_long}");
    assert_eq!(post(address, &own, &sent).status, 422);
}

/// Agrees as somebody who comes from an address, as a reverse proxy names it.
fn begin(address: SocketAddr, session: &Session, from: &str) -> Got {
    let entry = format!("/s/{}", session.study.secrets.entry);
    let ticket = field(&get(address, &entry).body, "ticket").to_owned();
    let more = format!("X-Forwarded-For: {from}\r\n");
    post_with(
        address,
        &entry,
        &format!("agree=yes&ticket={ticket}"),
        &more,
    )
}

fn location(got: &Got) -> String {
    let line = got.head.lines().find(|l| l.starts_with("location:"));
    line.unwrap().split_once(' ').unwrap().1.trim().to_owned()
}

/// One visitor gets some of the places, others still find theirs; whoever finishes or leaves is not counted any
/// more, and an author may let a class in.
#[test]
fn one_visitor_does_not_get_all_places() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(12, 2));
    let address = served(session.clone()).unwrap();
    let tried: Vec<Got> = (0..12)
        .map(|_| begin(address, &session, "9.9.9.9"))
        .collect();
    let inside: Vec<String> = tried
        .iter()
        .filter(|g| g.status == 303)
        .map(location)
        .collect();
    assert_eq!(inside.len(), session.study.settings.places_per_address());
    let turned = tried.iter().find(|g| g.status == 503).unwrap();
    assert!(turned.body.contains("from your network"), "{}", turned.body);
    for n in 0..12 - inside.len() {
        assert_eq!(begin(address, &session, &format!("8.8.8.{n}")).status, 303);
    }
    assert_eq!(session.people().unwrap().len(), 12);
    // One of them leaves: another from there may come.
    let page = get(address, &format!("{}/withdraw", inside[0]));
    let key = field(&page.body, "key").to_owned();
    let left = post(
        address,
        &format!("{}/withdraw", inside[0]),
        &format!("key={key}"),
    );
    assert_eq!(left.status, 200);
    assert_eq!(begin(address, &session, "9.9.9.9").status, 303);

    let mut settings = fixture::settings(12, 2);
    settings.rules.places_per_address = 12;
    let (class, _thread) = fixture::study(&dir.path().join("class"), &settings);
    let address = served(class.clone()).unwrap();
    for n in 0..12 {
        assert_eq!(begin(address, &class, "9.9.9.9").status, 303, "{n}");
    }
}

/// Guessed tokens and forged tickets without number: whoever takes part goes on, also after the server was started
/// again, and newcomers get in.
#[test]
fn guesses_lock_nobody_out() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(20, 2));
    let first = served(session.clone()).unwrap();
    let before = location(&begin(first, &session, "7.7.7.7"));
    let address = served(session.clone()).unwrap();
    let entry = format!("/s/{}", session.study.secrets.entry);
    let (flooded, over) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (flooded, over, entry) = (&flooded, &over, &entry);
            scope.spawn(move || {
                for n in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    if get(address, &format!("/p/{thread}{n:025}")).status == 429 {
                        flooded.store(true, Ordering::Relaxed);
                    }
                    let forged = "agree=yes&ticket=aaaaaaaaaaaaaaaaaaaaaaaaaa.0000";
                    post_with(address, entry, forged, "X-Forwarded-For: 6.6.6.6\r\n");
                }
            });
        }
        // Ends the others however this ends.
        let ended = Ended(&over);
        while !flooded.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
        for _ in 0..10 {
            assert_eq!(get(address, &before).status, 200, "who took part before");
        }
        for n in 0..13 {
            let joined = begin(address, &session, &format!("5.5.5.{n}"));
            assert_eq!(joined.status, 303, "newcomer {n}: {}", joined.body);
            assert_eq!(get(address, &location(&joined)).status, 200, "newcomer {n}");
        }
        drop(ended);
    });
}

/// Says that it is over when it goes.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// On the page of consent nothing is chosen beforehand.
#[test]
fn consent_has_no_default() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(2, 2));
    let address = served(session.clone()).unwrap();
    let page = get(address, &format!("/s/{}", session.study.secrets.entry)).body;
    assert_eq!(page.matches("<button").count(), 2);
    // The script gives the focus to a button or link of these classes.
    assert!(
        !page.contains("class=\"first\"") && !page.contains("autofocus"),
        "{page}"
    );
    let (own, _) = begun(address, &session);
    let sure = get(address, &format!("{own}/withdraw")).body;
    assert!(!sure.contains("class=\"first\""), "{sure}");
}

/// Beginnings are limited; how guesses are is a test of the limits themselves.
#[test]
fn beginnings_are_limited() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = fixture::settings(50, 2);
    settings.rules.joins_per_minute = 1;
    let (session, _thread) = fixture::study(dir.path(), &settings);
    let address = served(session.clone()).unwrap();
    let entry = format!("/s/{}", session.study.secrets.entry);
    let statuses: Vec<u16> = (0..5)
        .map(|_| {
            let page = get(address, &entry);
            let ticket = field(&page.body, "ticket").to_owned();
            post(address, &entry, &format!("agree=yes&ticket={ticket}")).status
        })
        .collect();
    assert_eq!(statuses[0], 303);
    // Only a machine on which each of these takes a minute would let all in.
    assert!(statuses.contains(&429), "{statuses:?}");
}
