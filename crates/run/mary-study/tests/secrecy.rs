//! Keys in any response, searched for. Everything that a participant's browser can be sent is gathered,
//! heads and bodies, pages, pictures, redirects and refusals, and searched; and the same study is served once
//! with its keys, once with other keys and once without any: the three must not differ in a byte.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use mary_contract::Target;
use mary_study::freeze::Frozen;
use mary_study::simulate::page::served;
use mary_study::{Session, Settings, Study};

use crate::attacks::{bytes, field, get, post, request};
use crate::fixture;

/// What a browser was sent: what was asked for, and the whole response.
type Gathered = Vec<(String, Vec<u8>)>;

/// Goes through a study as two people do who try everything there is: one finishes, one withdraws; strangers
/// look at every route. `answers` says which option is chosen in each trial.
fn everything(session: &Session, address: SocketAddr, trials: usize) -> Gathered {
    let mut seen: Gathered = Vec::new();
    let mut look = |what: &str, request: Vec<u8>| -> String {
        let response = bytes(address, &request);
        let text = String::from_utf8_lossy(&response).into_owned();
        seen.push((what.to_owned(), response));
        text
    };
    let form = |path: &str, body: &str| request("POST", path, "", body);
    let open = |path: &str| request("GET", path, "", "");
    let entry = format!("/s/{}", session.study.secrets.entry);
    for path in [
        "/",
        "/study.css",
        "/study.js",
        "/favicon.ico",
        "/admin",
        "/nowhere",
        "/keys.json",
        "/items.json",
        "/export/jspsych.csv",
        "/p/aaaaaaaaaaaaaaaaaaaaaaaaaa",
        "/s/wrong",
        "/p/x/picture/0/0",
        "/p/x/withdraw",
        "/robots.txt",
    ] {
        look(&format!("GET {path}"), open(path));
        for method in ["POST", "PUT", "HEAD", "OPTIONS", "TRACE"] {
            look(
                &format!("{method} {path}"),
                request(method, path, "", "a=b"),
            );
        }
    }
    let declined = look("the link", open(&entry));
    assert!(declined.contains("name=\"ticket\""));
    look("no consent", form(&entry, "agree=no"));
    look("a forged ticket", form(&entry, "agree=yes&ticket=x"));
    for leaves in [false, true] {
        let page = look("the link", open(&entry));
        let ticket = field(&page, "ticket").to_owned();
        let sent = form(&entry, &format!("agree=yes&ticket={ticket}"));
        let agreed = look("consent", sent);
        let place = agreed
            .lines()
            .find(|l| l.to_lowercase().starts_with("location:"))
            .unwrap();
        let own = place.split_once(' ').unwrap().1.trim().to_owned();
        let page = look("instructions", open(&own));
        let (step, key) = (field(&page, "step"), field(&page, "key"));
        look("begin", form(&own, &format!("step={step}&key={key}")));
        for trial in 0..trials {
            let page = look(&format!("trial {trial}"), open(&own));
            for number in 0..3 {
                look(
                    "a picture",
                    open(&format!("{own}/picture/{trial}/{number}")),
                );
            }
            // The next one is not to be had yet.
            look(
                "another's picture",
                open(&format!("{own}/picture/{}/0", trial + 1)),
            );
            let (step, key) = (
                field(&page, "step").to_owned(),
                field(&page, "key").to_owned(),
            );
            for wrong in ["", "answer=99", "answer=0&answer=1", "answer=%00"] {
                look(
                    "no answer",
                    form(&own, &format!("step={step}&key={key}&{wrong}")),
                );
            }
            look(
                "a late form",
                form(&own, &format!("step=trial-99&key={key}&answer=0")),
            );
            let foreign = "Sec-Fetch-Site: cross-site\r\n";
            let answer = format!(
                "step={step}&key={key}&answer={}&rt=900&elapsed=950",
                trial % 2
            );
            look("from elsewhere", request("POST", &own, foreign, &answer));
            look("an answer", form(&own, &answer));
            look("the same again", form(&own, &answer));
            if leaves {
                break;
            }
        }
        let page = look("after it", open(&own));
        assert!(leaves || page.contains("DONE42"), "{page}");
        let page = look("withdraw", open(&format!("{own}/withdraw")));
        look(
            "withdraw, forged",
            form(&format!("{own}/withdraw"), "key=x"),
        );
        if leaves {
            let key = field(&page, "key").to_owned();
            look(
                "withdrawn",
                form(&format!("{own}/withdraw"), &format!("key={key}")),
            );
            look("gone", open(&own));
        }
    }
    seen
}

/// What differs between any two servings: tokens, tickets, keys of steps, pseudonyms, ports, dates.
fn without_chance(gathered: &Gathered) -> Vec<(String, String)> {
    let plain = |text: &str| {
        let mut out = String::new();
        let mut word = String::new();
        let flush = |out: &mut String, word: &mut String| {
            // Tokens and keys are this long; a long word of ours is the same on both sides.
            let random = word.len() >= 20;
            out.push_str(if random || word.starts_with("p-") {
                "*"
            } else {
                word
            });
            word.clear();
        };
        for c in text.chars() {
            if c.is_ascii_alphanumeric()
                || c == '-' && word == "p"
                || word.starts_with("p-") && c.is_ascii_alphanumeric()
            {
                word.push(c);
            } else {
                flush(&mut out, &mut word);
                out.push(c);
            }
        }
        flush(&mut out, &mut word);
        out
    };
    gathered
        .iter()
        .map(|(what, response)| {
            let text = String::from_utf8_lossy(response);
            let kept = text
                .lines()
                .filter(|l| !l.to_lowercase().starts_with("date:"));
            (what.clone(), plain(&kept.collect::<Vec<_>>().join("\n")))
        })
        .collect()
}

fn served_at(folder: &Path) -> (Session, SocketAddr) {
    let (session, thread) = Session::open(folder).unwrap();
    // The store lives as long as the program.
    std::mem::forget(thread);
    let address = served(session.clone()).unwrap();
    (session, address)
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Serves a study with its keys, with the keys of other items, and with none.
fn cannot_be_told(
    dir: &Path,
    name: &str,
    settings: &Settings,
    frozen: &Frozen,
) -> (Session, Gathered) {
    let folder = dir.join(name);
    Study::create(&folder, settings, frozen).unwrap();
    let (turned, none) = (
        dir.join(format!("{name}-turned")),
        dir.join(format!("{name}-none")),
    );
    copied(&folder, &turned);
    copied(&folder, &none);
    std::fs::remove_file(none.join("keys.json")).unwrap();
    let mut keys = Study::open(&folder).unwrap().keys().unwrap();
    keys.items.rotate_left(1);
    for key in &mut keys.items {
        if let Target::Choice {
            options, correct, ..
        } = &mut key.item.target
        {
            *correct = (*correct + 1) % options.len();
        }
    }
    std::fs::write(turned.join("keys.json"), serde_json::to_vec(&keys).unwrap()).unwrap();
    let trials = settings.per_person;
    let mut plain = Vec::new();
    let mut first = None;
    for folder in [folder, turned, none] {
        let (session, address) = served_at(&folder);
        let gathered = everything(&session, address, trials);
        plain.push(without_chance(&gathered));
        first.get_or_insert((session, gathered));
    }
    for other in &plain[1..] {
        for (one, two) in plain[0].iter().zip(other) {
            assert_eq!(one, two, "{name}: a response depends on the keys");
        }
        assert_eq!(plain[0].len(), other.len());
    }
    first.unwrap()
}

/// Nothing that only the keys hold is in any response.
fn holds_nothing(session: &Session, gathered: &Gathered, more: &[&str]) {
    let keys = session.study.keys().unwrap();
    let mut secret: Vec<String> = keys.items.iter().map(|k| k.item.id.clone()).collect();
    secret.extend(keys.tasks.iter().map(|t| t.id.clone()));
    let secrets = &session.study.secrets;
    secret.extend([secrets.admin.clone(), secrets.steps.clone()]);
    secret.extend(["correct", "\"target\"", "stratum", "OUT42"].map(String::from));
    secret.extend(more.iter().map(|s| (*s).to_owned()));
    for (what, response) in gathered {
        // Bytes, not text: pictures too.
        for word in &secret {
            let found = response.windows(word.len()).any(|w| w == word.as_bytes());
            assert!(!found, "{what} holds `{word}`");
        }
        // A completion code only at the end of a study, and the one for no consent only there.
        let has = |code: &str| response.windows(code.len()).any(|w| w == code.as_bytes());
        assert!(!has("DONE42") || what == "after it", "{what}");
        assert!(!has("NO42") || what == "no consent", "{what}");
    }
}

#[test]
fn no_response_of_any_route_holds_a_key_or_depends_on_one() {
    let dir = tempfile::tempdir().unwrap();
    let settings = fixture::settings(2, 6);
    // Ids end in the right concept; pictures; labels to be found.
    let words = fixture::frozen("physico/definition", 6, &[("set", "core")], None, true);
    let rules = fixture::frozen("htest/rhyme", 6, &[], Some(4), false);
    let studies = [
        ("words", &words),
        ("pictures", fixture::pictures()),
        ("rules", &rules),
    ];
    for (name, frozen) in studies {
        let (session, gathered) = cannot_be_told(dir.path(), name, &settings, frozen);
        holds_nothing(&session, &gathered, &[]);
        let kinds: std::collections::BTreeSet<u16> =
            gathered.iter().map(|(_, r)| status(r)).collect();
        for expected in [200, 204, 303, 400, 401, 403, 404, 405, 409, 422] {
            assert!(kinds.contains(&expected), "{name}: {expected} of {kinds:?}");
        }
    }
}

/// Judges of what models wrote are blind: no response names a model, or says which run it was.
#[test]
fn no_response_names_the_model_that_is_judged() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let (_run, form) = fixture::described(&runs);
    let frozen = fixture::described_frozen(&runs, &form);
    let settings = fixture::settings(2, 9);
    let (session, gathered) = cannot_be_told(dir.path(), "judged", &settings, &frozen);
    holds_nothing(&session, &gathered, &["maker/", "described", "physico"]);
}

fn status(response: &[u8]) -> u16 {
    let text = String::from_utf8_lossy(&response[..response.len().min(16)]).into_owned();
    text.split(' ')
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(0)
}

/// The end of a place, of a study and of its room: pages that only come later.
#[test]
fn pages_of_the_end_hold_no_key_either() {
    let dir = tempfile::tempdir().unwrap();
    let frozen = fixture::frozen("physico/definition", 4, &[("set", "core")], None, true);
    let mut settings = fixture::with_checks(fixture::settings(1, 4));
    settings.rules.joins_per_minute = 4;
    Study::create(&dir.path().join("study"), &settings, &frozen).unwrap();
    let (session, address) = served_at(&dir.path().join("study"));
    let mut gathered: Gathered = Vec::new();
    let entry = format!("/s/{}", session.study.secrets.entry);
    let joined = || {
        let ticket = field(&get(address, &entry).body, "ticket").to_owned();
        post(address, &entry, &format!("agree=yes&ticket={ticket}"))
    };
    let agreed = joined();
    let own = agreed
        .head
        .lines()
        .find(|l| l.starts_with("location:"))
        .unwrap();
    let own = own.split_once(' ').unwrap().1.trim().to_owned();
    let mut keep = |what: &str, response: Vec<u8>| gathered.push((what.to_owned(), response));
    keep(
        "full",
        format!("{}{}", joined().head, joined().body).into_bytes(),
    );
    // The comprehension check: its page does not mark the right option, and a wrong answer is not corrected.
    for _ in 0..3 {
        let page = get(address, &own);
        keep("check", page.body.clone().into_bytes());
        if !page.body.contains("name=\"step\"") {
            break;
        }
        let (step, key) = (field(&page.body, "step"), field(&page.body, "key"));
        let sent = post(address, &own, &format!("step={step}&key={key}&answer=0"));
        keep(
            "answered",
            format!("{}{}", sent.head, sent.body).into_bytes(),
        );
    }
    let screened = get(address, &own);
    assert!(screened.body.contains("OUT42"), "{}", screened.body);
    assert!(!screened.body.contains("DONE42"));
    let busy: Vec<u16> = (0..6).map(|_| joined().status).collect();
    assert!(busy.contains(&429), "{busy:?}");
    keep("too many", joined().body.into_bytes());
    let _ = session.close(&fixture::registry(), &dir.path().join("runs"));
    keep("closed", get(address, &entry).body.into_bytes());
    keep("closed", get(address, &own).body.into_bytes());
    let keys = session.study.keys().unwrap();
    for (what, response) in &gathered {
        let text = String::from_utf8_lossy(response);
        for key in &keys.items {
            assert!(!text.contains(&key.item.id), "{what}");
        }
        assert!(
            !text.contains("correct") && !text.contains("DONE42"),
            "{what}: {text}"
        );
    }
}

/// Where the label is the stratum, items of both kinds take turns in the drawn order: the order in which they
/// are shown must not.
#[test]
fn the_order_of_items_does_not_tell_the_label() {
    let dir = tempfile::tempdir().unwrap();
    let frozen = fixture::frozen(
        "htest/uppercase",
        40,
        &[("labels", "fixed")],
        Some(2),
        false,
    );
    let mut settings = fixture::settings(4, 20);
    let mut told = BTreeMap::new();
    for seed in 0..20 {
        settings.seed = seed;
        let folder = dir.path().join(seed.to_string());
        let study = Study::create(&folder, &settings, &frozen).unwrap();
        let keys = study.keys().unwrap();
        let labels: Vec<usize> = study
            .design()
            .list(0)
            .iter()
            .map(|item| match &keys.items[*item].item.target {
                Target::Choice { correct, .. } => *correct,
                _ => panic!("a choice"),
            })
            .collect();
        assert_eq!(
            labels.iter().sum::<usize>(),
            10,
            "as many of each: {labels:?}"
        );
        // Guessers who go by the last answer, by the one before it, or by the position.
        let guess = |hit: &dyn Fn(usize) -> bool| (2..20).filter(|at| hit(*at)).count();
        *told.entry("last").or_insert(0) += guess(&|at| labels[at] != labels[at - 1]);
        *told.entry("before").or_insert(0) += guess(&|at| labels[at] == labels[at - 2]);
        *told.entry("position").or_insert(0) += guess(&|at| labels[at] == at % 2);
    }
    // 360 guesses each: half right, and 19 of 38 at most a little more for who counts what is left.
    for (by, right) in told {
        assert!((144..=226).contains(&right), "by {by}: {right} of 360");
    }
}
