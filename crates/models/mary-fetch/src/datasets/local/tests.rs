//! A small server on loopback plays GitHub, well and badly.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use super::*;
use crate::datasets::catalogue::{Citation, FileCard, FolderCard, Upstream};
use crate::datasets::fault::Result;
use crate::datasets::verify::FileState;

#[derive(Clone)]
enum Answer {
    Body(Vec<u8>),
    /// Says the length of the whole, sends this much, hangs up. Once; then the whole, by ranges.
    Cut(Vec<u8>, usize),
    Status(u16),
    Redirect(&'static str),
}

struct Server {
    hosts: Hosts,
    seen: Arc<Mutex<Vec<String>>>,
}

fn serve(answers: Vec<(&'static str, Answer)>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let mut answers: HashMap<_, _> = answers.into_iter().collect();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut path, mut from) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
                    break;
                }
                if let Some(rest) = line.strip_prefix("GET ") {
                    path = rest.split(' ').next().unwrap().to_owned();
                }
                if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
                    from = range.trim().trim_end_matches('-').parse().unwrap();
                }
            }
            log.lock().unwrap().push(format!("{path} from {from}"));
            let head = |status: &str, extra: &str, len: usize| {
                format!(
                    "HTTP/1.1 {status}\r\nConnection: close\r\n{extra}Content-Length: {len}\r\n\r\n"
                )
            };
            let answer = answers
                .get(path.as_str())
                .cloned()
                .unwrap_or(Answer::Status(404));
            let bytes = match answer {
                Answer::Status(code) => head(&format!("{code} Said"), "", 0).into_bytes(),
                Answer::Redirect(to) => {
                    head("302 Found", &format!("Location: {to}\r\n"), 0).into_bytes()
                }
                Answer::Body(body) if from > 0 => {
                    let range = format!(
                        "Content-Range: bytes {from}-{}/{}\r\n",
                        body.len() - 1,
                        body.len()
                    );
                    [
                        head("206 Partial", &range, body.len() - from).as_bytes(),
                        &body[from..],
                    ]
                    .concat()
                }
                Answer::Body(body) => [head("200 OK", "", body.len()).as_bytes(), &body].concat(),
                Answer::Cut(body, at) => {
                    let key = *answers.get_key_value(path.as_str()).unwrap().0;
                    answers.insert(key, Answer::Body(body.clone()));
                    [head("200 OK", "", body.len()).as_bytes(), &body[..at]].concat()
                }
            };
            let _ = stream.write_all(&bytes);
        }
    });
    Server {
        hosts: Hosts {
            raw: base.clone(),
            archive: base,
        },
        seen,
    }
}

const PLAIN: &[u8] = b"one,two\n1,2\n";
const PLAIN_PATH: &str = "/o/r/c0ffee/sub%20dir/t.csv";

fn hash(bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    std::fs::write(&path, bytes).unwrap();
    digest::of_file(&path).unwrap().sha256
}

fn file(path: &str, bytes: &[u8], source: FileOrigin) -> FileCard {
    FileCard {
        path: path.into(),
        bytes: bytes.len() as u64,
        sha256: hash(bytes),
        source,
    }
}

fn card_of(files: Vec<FileCard>, folders: Vec<FolderCard>) -> &'static DatasetCard {
    Box::leak(Box::new(DatasetCard {
        id: "toy".into(),
        title: "Toy".into(),
        licence: "none".into(),
        homepage: "https://example.org".into(),
        citation: Citation {
            text: String::new(),
            link: String::new(),
        },
        files,
        folders,
        tasks: vec![],
        note: "a toy".into(),
    }))
}

fn raw_card() -> &'static DatasetCard {
    let source = FileOrigin::Raw(Upstream {
        repository: "o/r".into(),
        commit: "c0ffee".into(),
        path: "sub dir/t.csv".into(),
    });
    card_of(vec![file("t.csv", PLAIN, source)], vec![])
}

fn pull(card: &'static DatasetCard, server: &Server, cache: &Path) -> Result<Pulled> {
    LocalData::new(None, cache.to_owned())
        .with_hosts(server.hosts.clone())
        .pull_card(card, &mut |_| {})
}

/// A tar with these members, gzipped; links are given by an empty content and a target.
fn archive(members: &[(&str, &[u8], Option<&str>)]) -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(encoder);
    for (path, content, link) in members {
        let mut header = tar::Header::new_ustar();
        // Written by hand: the builder itself refuses what an attacker would not.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        if let Some(to) = link {
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_link_name(to).unwrap();
        }
        header.set_cksum();
        tar.append(&header, *content).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

const A: &[u8] = b"{\"train\":[]}";
const B: &[u8] = b"{\"test\":[]}";
const ARCHIVE_PATH: &str = "/o/r/tar.gz/c0ffee";

fn folder_card() -> &'static DatasetCard {
    let listing = format!("{}  data/a.json\n{}  data/b.json\n", hash(A), hash(B));
    card_of(
        vec![],
        vec![FolderCard {
            path: "data".into(),
            files: 2,
            bytes: (A.len() + B.len()) as u64,
            sha256: hash(listing.as_bytes()),
            repository: "o/r".into(),
            commit: "c0ffee".into(),
        }],
    )
}

#[test]
fn a_file_is_fetched_once_and_found_again() {
    let server = serve(vec![(PLAIN_PATH, Answer::Body(PLAIN.to_vec()))]);
    let dir = tempfile::tempdir().unwrap();
    let first = pull(raw_card(), &server, dir.path()).unwrap();
    assert!(!first.already);
    assert_eq!(std::fs::read(first.folder.join("t.csv")).unwrap(), PLAIN);
    assert!(pull(raw_card(), &server, dir.path()).unwrap().already);
    assert_eq!(server.seen.lock().unwrap().len(), 1);
    // A file damaged on disk is mended.
    std::fs::write(first.folder.join("t.csv"), "changed").unwrap();
    assert!(!pull(raw_card(), &server, dir.path()).unwrap().already);
    assert_eq!(std::fs::read(first.folder.join("t.csv")).unwrap(), PLAIN);
}

#[test]
fn a_broken_transfer_continues_where_it_stopped() {
    let server = serve(vec![(PLAIN_PATH, Answer::Cut(PLAIN.to_vec(), 5))]);
    let dir = tempfile::tempdir().unwrap();
    let pulled = pull(raw_card(), &server, dir.path()).unwrap();
    assert_eq!(std::fs::read(pulled.folder.join("t.csv")).unwrap(), PLAIN);
    let seen = server.seen.lock().unwrap();
    assert_eq!(
        *seen,
        [
            format!("{PLAIN_PATH} from 0"),
            format!("{PLAIN_PATH} from 5")
        ]
    );
}

#[test]
fn wrong_content_is_refused_with_both_hashes() {
    let wrong = b"two,one\n2,1\n".to_vec();
    let server = serve(vec![(PLAIN_PATH, Answer::Body(wrong.clone()))]);
    let dir = tempfile::tempdir().unwrap();
    let error = pull(raw_card(), &server, dir.path()).unwrap_err();
    assert!(matches!(error, PullError::WrongContent { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains(&hash(PLAIN)) && text.contains(&hash(&wrong)),
        "{text}"
    );
    assert!(
        !dir.path().join("toy").exists(),
        "nothing wrong is put in place"
    );
}

#[test]
fn an_endless_body_is_cut_off() {
    let server = serve(vec![(PLAIN_PATH, Answer::Body(vec![b'x'; 1 << 20]))]);
    let dir = tempfile::tempdir().unwrap();
    let error = pull(raw_card(), &server, dir.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("at most 12 bytes"), "{error}");
}

#[test]
fn a_missing_file_says_what_to_do() {
    let server = serve(vec![]);
    let dir = tempfile::tempdir().unwrap();
    let error = pull(raw_card(), &server, dir.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("the server answered 404"), "{error}");
    assert!(error.contains("--data-dir DIR"), "{error}");
    assert_eq!(
        server.seen.lock().unwrap().len(),
        1,
        "asking again would not help"
    );
}

#[test]
fn a_passing_trouble_of_the_server_is_waited_out_and_then_named() {
    let server = serve(vec![(PLAIN_PATH, Answer::Status(503))]);
    let dir = tempfile::tempdir().unwrap();
    let error = pull(raw_card(), &server, dir.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("the server answered 503"), "{error}");
    assert_eq!(server.seen.lock().unwrap().len(), 3);
}

#[test]
fn a_redirect_is_followed() {
    let server = serve(vec![
        (PLAIN_PATH, Answer::Redirect("/elsewhere")),
        ("/elsewhere", Answer::Body(PLAIN.to_vec())),
    ]);
    let dir = tempfile::tempdir().unwrap();
    pull(raw_card(), &server, dir.path()).unwrap();
}

#[test]
fn without_network_the_message_is_a_recipe() {
    // A port that nobody listens on: bound, learned, released.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let hosts = Hosts {
        raw: format!("http://{port}"),
        archive: format!("http://{port}"),
    };
    let server = Server {
        hosts,
        seen: Arc::default(),
    };
    let dir = tempfile::tempdir().unwrap();
    let error = pull(raw_card(), &server, dir.path()).unwrap_err();
    assert!(matches!(error, PullError::Unreachable { .. }), "{error:?}");
    let text = error.to_string().replace(&port.to_string(), "HOST");
    assert!(text.contains("MARY_DATA_DIR=DIR"), "{text}");
    assert!(
        text.contains("DIR/toy/t.csv from http://HOST/o/r/c0ffee/sub%20dir/t.csv"),
        "{text}"
    );
}

#[test]
fn a_gzipped_file_is_checked_by_what_it_holds() {
    let source = FileOrigin::Gzipped(Upstream {
        repository: "o/r".into(),
        commit: "c0ffee".into(),
        path: "sub dir/t.csv".into(),
    });
    let card = card_of(vec![file("t.csv.gz", PLAIN, source)], vec![]);
    let server = serve(vec![(PLAIN_PATH, Answer::Body(PLAIN.to_vec()))]);
    let dir = tempfile::tempdir().unwrap();
    let pulled = pull(card, &server, dir.path()).unwrap();
    let packed = std::fs::File::open(pulled.folder.join("t.csv.gz")).unwrap();
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut plain)
        .unwrap();
    assert_eq!(plain, PLAIN);
    assert!(pull(card, &server, dir.path()).unwrap().already);
}

#[test]
fn a_folder_of_many_files_comes_as_one_archive() {
    let good = archive(&[
        ("r-c0ffee/README.md", b"hello", None),
        ("r-c0ffee/data/a.json", A, None),
        ("r-c0ffee/data/b.json", B, None),
        ("r-c0ffee/data-other/c.json", B, None),
    ]);
    let server = serve(vec![(ARCHIVE_PATH, Answer::Body(good.clone()))]);
    let dir = tempfile::tempdir().unwrap();
    let pulled = pull(folder_card(), &server, dir.path()).unwrap();
    assert_eq!(std::fs::read(pulled.folder.join("data/b.json")).unwrap(), B);
    let there: Vec<_> = std::fs::read_dir(&pulled.folder).unwrap().collect();
    assert_eq!(there.len(), 1, "only what is wanted: {there:?}");

    let dir = tempfile::tempdir().unwrap();
    let cut = good[..good.len() - 12].to_vec();
    let server = serve(vec![(ARCHIVE_PATH, Answer::Body(cut))]);
    let error = pull(folder_card(), &server, dir.path()).unwrap_err();
    assert!(matches!(error, PullError::Archive { .. }), "{error:?}");
    assert!(
        error.to_string().contains("damaged or incomplete"),
        "{error}"
    );
    assert!(!dir.path().join("toy").exists());

    let dir = tempfile::tempdir().unwrap();
    let server = serve(vec![(
        ARCHIVE_PATH,
        Answer::Body(archive(&[("r-c0ffee/data/a.json", A, None)])),
    )]);
    let error = pull(folder_card(), &server, dir.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("expected 2 files") && error.contains("found 1 files"),
        "{error}"
    );
}

#[test]
fn an_archive_that_leads_out_of_its_folder_is_refused() {
    type Member<'a> = (&'a str, &'a [u8], Option<&'a str>);
    let hostile: [&[Member<'_>]; 4] = [
        &[("r/data/../../../x.json", A, None)],
        &[("/etc/x.json", A, None)],
        &[("r/data/a.json", b"", Some("/etc/passwd"))],
        &[("r\\..\\x.json", A, None)],
    ];
    for members in hostile {
        let server = serve(vec![(ARCHIVE_PATH, Answer::Body(archive(members)))]);
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("a/b");
        let error = pull(folder_card(), &server, &cache)
            .unwrap_err()
            .to_string();
        assert!(error.contains("the archive is hostile"), "{error}");
        assert!(!dir.path().join("x.json").exists());
        assert!(!dir.path().join("a/x.json").exists());
    }
}

#[test]
fn what_is_published_nowhere_is_said() {
    let card = card_of(
        vec![
            file("t.csv", PLAIN, raw_card().files[0].source.clone()),
            file("made.json", A, FileOrigin::Derived),
        ],
        vec![],
    );
    let server = serve(vec![(PLAIN_PATH, Answer::Body(PLAIN.to_vec()))]);
    let dir = tempfile::tempdir().unwrap();
    let pulled = pull(card, &server, dir.path()).unwrap();
    assert_eq!(pulled.absent, ["made.json"]);
    assert!(pull(card, &server, dir.path()).unwrap().already);
    let data = LocalData::new(None, dir.path().to_owned());
    let error = data.pull("physico", &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("yours to provide"), "{error}");
    let error = data.pull("blmp", &mut |_| {}).unwrap_err().to_string();
    assert!(
        error.contains("there is no dataset `blmp`; there are: htest, blimp"),
        "{error}"
    );
}

#[test]
fn an_unwritable_cache_is_named() {
    let server = serve(vec![(PLAIN_PATH, Answer::Body(PLAIN.to_vec()))]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    let error = pull(raw_card(), &server, &file).unwrap_err();
    assert!(matches!(error, PullError::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("a-file"), "{error}");
}

#[test]
fn a_missing_dataset_and_a_damaged_one_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let data = LocalData::new(Some(dir.path().to_owned()), dir.path().join("cache"));
    let error = data.folder("blimp").unwrap_err().to_string();
    assert!(error.contains("`mary data pull blimp`"), "{error}");
    std::fs::create_dir(dir.path().join("blimp")).unwrap();
    std::fs::write(dir.path().join("blimp/BLiMP.zip"), "short").unwrap();
    let report = data.verify("blimp").unwrap();
    assert!(!report.is_good());
    assert!(matches!(report.files[0].state, FileState::Different { .. }));
    assert_eq!(report.files[1].state, FileState::Missing);
    let error = data.hash("blimp").unwrap_err().to_string();
    assert!(error.contains("human_validation_summary.csv"), "{error}");
    assert!(error.contains("mary data verify blimp"), "{error}");
}

#[test]
fn the_hash_follows_the_content() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("physico");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("meta_data0.json"), "{}").unwrap();
    let data = LocalData::new(Some(dir.path().to_owned()), dir.path().join("cache"));
    let before = data.hash("physico").unwrap();
    assert!(before.starts_with("sha256:"));
    assert_eq!(data.hash("physico").unwrap(), before);
    std::fs::write(folder.join("meta_data0.json"), "{ }").unwrap();
    assert_ne!(data.hash("physico").unwrap(), before);
}
