//! Whoever withdraws is gone from every byte of the study's folder and of its exports: searched for by another
//! program, after a withdrawal over the page of a server in a process of its own, with a reader in the way, and
//! after kills. Answers are words that occur nowhere else.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mary_study::question::AnswerForm;
use mary_study::store::Step;
use mary_study::{Session, Study, export};

use crate::attacks::{field, get, post};
use crate::fixture;

const READ: &str = "MARY_STUDY_TEST_READ";
const SERVE: &str = "MARY_STUDY_TEST_FOLDER";

/// Not a test by itself: a process that reads the database and does not stop.
#[test]
fn reads_when_asked() {
    let Some(database) = std::env::var_os(READ) else {
        return;
    };
    let db = rusqlite::Connection::open(&database).unwrap();
    db.execute_batch("BEGIN").unwrap();
    let n: i64 = db
        .query_row("SELECT count(*) FROM answers", [], |row| row.get(0))
        .unwrap();
    let ready = PathBuf::from(&database).with_file_name("../reading");
    std::fs::write(ready, n.to_string()).unwrap();
    loop {
        std::thread::park();
    }
}

/// A process that ends with the test.
struct Process(Child);

impl Process {
    fn start(test: &str, variable: &str, value: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(variable, value)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    /// `kill -9`.
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits as long as it takes: a test that hangs says so by itself.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn served(folder: &Path) -> (Process, SocketAddr) {
    let written = folder.join("address");
    let _ = std::fs::remove_file(&written);
    let process = Process::start("crowd::serves_when_asked", SERVE, folder);
    let address = until(|| std::fs::read_to_string(&written).ok()?.parse().ok());
    (process, address)
}

/// The files below some folders that hold a word, found by another program: this one may hold locks.
fn found(folders: &[&Path], word: &str) -> Vec<String> {
    let output = Command::new("grep")
        .args(["-rlaF", "--", word])
        .args(folders)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Somebody who answers everything in words of their own.
struct Writer {
    own: String,
    words: Vec<String>,
}

fn marker(name: &str, n: usize) -> String {
    // Long, so that the rows of a few people fill many pages, which are then balanced and split.
    format!("{name}{n}{}", mary_study::random_token()).repeat(12)
}

fn answers(address: SocketAddr, entry: &str, name: &str) -> Writer {
    let ticket = field(&get(address, entry).body, "ticket").to_owned();
    let joined = post(address, entry, &format!("agree=yes&ticket={ticket}"));
    let line = joined.head.lines().find(|l| l.starts_with("location:"));
    let own = line.unwrap().split_once(' ').unwrap().1.trim().to_owned();
    let mut words = Vec::new();
    loop {
        let page = get(address, &own).body;
        if !page.contains("name=\"step\"") {
            assert!(page.contains("DONE42"), "{page}");
            return Writer { own, words };
        }
        let (step, key) = (field(&page, "step"), field(&page, "key"));
        let word = marker(name, words.len());
        let sent = format!("step={step}&key={key}&answer={word}");
        assert_eq!(post(address, &own, &sent).status, 303);
        if step.starts_with("trial") {
            words.push(word.get(..30).unwrap().to_owned());
        }
    }
}

/// A study of written answers, as a stranger's page would make it: everybody from this machine.
fn study(folder: &Path) -> String {
    let mut frozen = fixture::frozen("htest/rhyme", 6, &[], Some(2), false);
    for question in &mut frozen.questions {
        question.answer = AnswerForm::Text;
    }
    let mut settings = fixture::settings(12, 3);
    settings.rules.places_per_address = 12;
    let study = Study::create(folder, &settings, &frozen).unwrap();
    format!("/s/{}", study.secrets.entry)
}

/// Exports as the command does, in a session of its own.
fn exported(folder: &Path, to: &[&Path]) {
    let (session, thread) = Session::open(folder).unwrap();
    let results = session.judged(&fixture::registry()).unwrap();
    let people = session.people().unwrap();
    for out in to {
        export::write(&session, &results, &people, out).unwrap();
    }
    drop(session);
    thread.finish();
}

fn pseudonym(folder: &Path, word: &str) -> String {
    let rows = std::fs::read_to_string(folder.join("export/jspsych.csv")).unwrap();
    let row = rows.lines().find(|l| l.contains(word)).unwrap();
    row.split(',').next().unwrap().to_owned()
}

fn withdraw(address: SocketAddr, who: &Writer) -> String {
    let path = format!("{}/withdraw", who.own);
    let key = field(&get(address, &path).body, "key").to_owned();
    let said = post(address, &path, &format!("key={key}"));
    assert_eq!(said.status, 200);
    said.body
}

#[test]
fn whoever_withdraws_over_the_page_is_in_no_byte_of_any_file() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, out) = (dir.path().join("study"), dir.path().join("out"));
    let entry = study(&folder);
    let (server, address) = served(&folder);
    let people: Vec<Writer> = ["ann", "bob", "cid", "dot", "eve", "fay"]
        .map(|name| answers(address, &entry, name))
        .into();
    exported(&folder, &[&folder.join("export"), &out]);
    let both = [folder.as_path(), out.as_path()];
    let (gone, stays) = (&people[2], &people[4]);
    let name = pseudonym(&folder, &gone.words[0]);
    for word in gone.words.iter().chain([&name]) {
        let held = found(&both, word).join(" ");
        for file in ["study.sqlite", "jspsych.csv", "jspsych.json", "_data.csv"] {
            assert!(
                held.contains(file),
                "{word}: the search finds it in {file}: {held}"
            );
        }
    }
    let said = withdraw(address, gone);
    assert!(
        said.contains("Everything you answered was deleted"),
        "{said}"
    );
    let nothing = || {
        for word in gone.words.iter().chain([&name]) {
            assert_eq!(found(&both, word), [""; 0], "{word}");
        }
    };
    nothing();
    assert_eq!(get(address, &gone.own).status, 404);
    // A kill and another server bring nothing back, and lose nobody else.
    server.kill();
    nothing();
    let (_server, address) = served(&folder);
    assert_eq!(get(address, &stays.own).status, 200);
    nothing();
    for word in &stays.words {
        let held = found(&both, word).join(" ");
        for file in ["study.sqlite", "jspsych.csv", "jspsych.json", "_data.csv"] {
            assert!(held.contains(file), "{word} stays in {file}: {held}");
        }
    }
}

/// While another program reads the database its journal cannot be emptied: the page says so, a kill does not
/// forget it, and it is done once the reader has gone.
#[test]
fn what_a_reader_holds_is_called_pending_and_deleted_later() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("study");
    let entry = study(&folder);
    let (server, address) = served(&folder);
    let people: Vec<Writer> = ["ann", "bob", "cid"]
        .map(|name| answers(address, &entry, name))
        .into();
    let gone = &people[1];
    let reader = Process::start(
        "withdrawal::reads_when_asked",
        READ,
        &folder.join("study.sqlite"),
    );
    until(|| std::fs::read_to_string(dir.path().join("reading")).ok());
    let said = withdraw(address, gone);
    assert!(said.contains("still in files"), "{said}");
    assert!(
        !said.contains("Everything you answered was deleted"),
        "{said}"
    );
    let left = || -> usize {
        let words = gone.words.iter();
        words.map(|word| found(&[&folder], word).len()).sum()
    };
    assert!(left() > 0, "the reader is in the way");
    server.kill();
    let (_server, address) = served(&folder);
    assert!(left() > 0, "the reader is still in the way");
    // The server goes on, whoever reads.
    assert_eq!(get(address, &people[0].own).status, 200);
    reader.kill();
    until(|| (left() == 0).then_some(()));
    let (session, _thread) = Session::open(&folder).unwrap();
    until(|| (!session.deletion_pending().unwrap()).then_some(()));
    assert_eq!(session.people().unwrap().len(), 2);
}

/// A command that meets a reader says so and notes it; the next one finishes it. Marks on paper go too.
#[test]
fn a_command_finishes_what_another_could_not() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("study");
    study(&folder);
    let marks = dir.path().join("marks.csv");
    let row = |sheet: usize| -> String {
        let words = (1..=3).map(|n| format!("{sheet};{n};word{sheet}x{n};2\n"));
        words.collect()
    };
    let text = format!("sep=;\r\nsheet;question;mark;seconds\n{}{}", row(1), row(2));
    std::fs::write(&marks, text).unwrap();
    let (session, thread) = Session::open(&folder).unwrap();
    mary_study::paper::read(&session, &marks).unwrap();
    let people = session.people().unwrap();
    let name = people[0].person.pseudonym.clone();
    let reader = Process::start(
        "withdrawal::reads_when_asked",
        READ,
        &folder.join("study.sqlite"),
    );
    until(|| std::fs::read_to_string(dir.path().join("reading")).ok());
    let deletion = session.withdraw(&name, None).unwrap().unwrap();
    assert!(!deletion.complete());
    assert!(
        deletion.waiting[0].contains("another program is reading"),
        "{deletion:?}"
    );
    assert_eq!(found(&[&marks], "word1x"), [""; 0]);
    assert_eq!(found(&[&marks], "word2x").len(), 1);
    assert!(!found(&[&folder], "word1x").is_empty());
    drop(session);
    thread.finish();
    reader.kill();
    let (session, _thread) = Session::open(&folder).unwrap();
    assert!(session.deletion_pending().unwrap());
    assert!(session.finish_deletions(None).unwrap().complete());
    assert!(!session.deletion_pending().unwrap());
    assert_eq!(found(&[&folder], "word1x"), [""; 0]);
    assert!(!found(&[&folder], "word2x").is_empty());
}

/// What is not ours is named, not touched: a copy of an export under another name.
#[test]
fn a_file_that_mary_did_not_write_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("study");
    study(&folder);
    let (session, _thread) = Session::open(&folder).unwrap();
    let token = fixture::joined(&session);
    let name = fixture::look(&session, &token).person.pseudonym;
    std::fs::write(folder.join("notes.txt"), format!("{name} was quick")).unwrap();
    let deletion = session.withdraw(&name, None).unwrap().unwrap();
    assert!(deletion.complete());
    assert!(deletion.notes[0].contains("notes.txt"), "{deletion:?}");
}

/// A study that an earlier version served may hold what was deleted then: it is erased once, when it is opened.
#[test]
fn a_study_of_an_earlier_version_is_erased_once() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("study");
    study(&folder);
    let marks = dir.path().join("marks.csv");
    std::fs::write(
        &marks,
        "sheet,question,mark\n1,1,oldword1\n1,2,oldword2\n1,3,oldword3\n",
    )
    .unwrap();
    let (session, thread) = Session::open(&folder).unwrap();
    mary_study::paper::read(&session, &marks).unwrap();
    drop(session);
    thread.finish();
    // As the earlier version left it: no note of anything, a journal that was never emptied.
    let old = Process::start(
        "withdrawal::deletes_as_before",
        READ,
        &folder.join("study.sqlite"),
    );
    until(|| std::fs::read_to_string(dir.path().join("reading")).ok());
    old.kill();
    assert!(!found(&[&folder], "oldword1").is_empty());
    let (session, _thread) = Session::open(&folder).unwrap();
    assert!(session.deletion_pending().unwrap());
    assert!(session.finish_deletions(None).unwrap().complete());
    assert_eq!(found(&[&folder], "oldword1"), [""; 0]);
}

/// Not a test by itself: deletes as the version before did, and leaves its journal.
#[test]
fn deletes_as_before() {
    let Some(database) = std::env::var_os(READ) else {
        return;
    };
    let db = rusqlite::Connection::open(&database).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; UPDATE answers SET views = views + 1; \
         DELETE FROM people; DROP TABLE copies; ALTER TABLE state DROP COLUMN erase; PRAGMA user_version = 1",
    )
    .unwrap();
    std::fs::write(PathBuf::from(&database).with_file_name("../reading"), "x").unwrap();
    loop {
        std::thread::park();
    }
}

/// Nobody else reads a study: neither a new one nor one that an earlier version made.
#[cfg(unix)]
#[test]
fn only_its_owner_reads_a_study() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("study");
    study(&folder);
    let (session, thread) = Session::open(&folder).unwrap();
    fixture::joined(&session);
    let out = dir.path().join("out");
    exported(&folder, &[&folder.join("export"), &out]);
    let modes = |wanted: bool| {
        let mut open = Vec::new();
        let mut folders = vec![folder.clone()];
        while let Some(next) = folders.pop() {
            let mode = std::fs::metadata(&next).unwrap().permissions().mode();
            if (mode & 0o077 != 0) == wanted {
                open.push(next.clone());
            }
            if next.is_dir() {
                folders.extend(std::fs::read_dir(&next).unwrap().map(|e| e.unwrap().path()));
            }
        }
        open
    };
    // The export below the folder is behind its door; files of one elsewhere are closed themselves.
    let (session_2, thread_2) = Session::open(&folder).unwrap();
    assert_eq!(modes(true), Vec::<PathBuf>::new());
    assert!(folder.join("study.sqlite-wal").exists());
    let table = std::fs::metadata(out.join("jspsych.csv")).unwrap();
    assert_eq!(table.permissions().mode() & 0o077, 0);
    drop((session, session_2));
    thread.finish();
    thread_2.finish();
    // As an earlier version left it.
    for path in modes(false) {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    assert!(!modes(true).is_empty());
    let (session, _thread) = Session::open(&folder).unwrap();
    fixture::joined(&session);
    assert_eq!(modes(true), Vec::<PathBuf>::new());
}

/// Of two who finished, the rules exclude one, and the other withdraws: the run is still this study's own, though it
/// holds nobody who is left, and must go.
#[test]
fn whoever_withdraws_is_out_of_a_run_where_only_excluded_people_are_left() {
    let dir = tempfile::tempdir().unwrap();
    let settings = fixture::with_checks(fixture::settings(2, 4));
    let (session, _thread) = fixture::study(dir.path(), &settings);
    let mut names = Vec::new();
    for check in ["1", "0"] {
        let token = fixture::joined(&session);
        loop {
            let view = fixture::look(&session, &token);
            let answer = match view.step {
                Step::Finished => break names.push(view.person.pseudonym),
                Step::Check { number: 0, .. } => "1",
                Step::Check { .. } => check,
                _ => "0",
            };
            fixture::send(&session, &token, fixture::filled(&view, answer)).unwrap();
        }
    }
    let (registry, runs) = (fixture::registry(), dir.path().join("runs"));
    let (run, _, found) = session.close(&registry, &runs).unwrap().unwrap();
    assert_eq!((found.finished, found.excluded), (2, 1));
    assert_eq!(self::found(&[&run], &names[0]).len(), 1);
    let gone = session.withdraw(&names[0], Some(&registry)).unwrap();
    assert!(gone.unwrap().complete());
    assert!(!run.exists());
    assert_eq!(self::found(&[dir.path()], &names[0]), [""; 0]);
}
