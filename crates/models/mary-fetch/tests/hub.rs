//! The hub's client against a hub that breaks in planned ways.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mary_fetch::hub::{Entry, Hub, HubError, Patience, Repository};
use mary_testkit::hub_server::{HubFault, HubRepository, HubServer};

/// Weights that are not the same from byte to byte.
fn weights(seed: u8, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|i| ((i as u64 * 2_654_435_761) >> 7) as u8 ^ seed)
        .collect()
}

fn small() -> HubRepository {
    let (one, two) = (weights(1, 300_000), weights(2, 300_000));
    HubRepository::new("me/small")
        .branch(
            "main",
            &[
                ("config.json", &b"{}"[..]),
                ("tokenizer.json", &b"{\"t\": 1}"[..]),
                ("model.safetensors", &one),
            ],
        )
        .tag(
            "step2",
            &[
                ("config.json", &b"{}"[..]),
                ("tokenizer.json", &b"{\"t\": 1}"[..]),
                ("model.safetensors", &two),
            ],
        )
}

struct Scene {
    server: HubServer,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let server = HubServer::start().unwrap();
        server.put(small());
        Self {
            server,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn hub(&self) -> Hub {
        let patience = Patience {
            attempts: 4,
            first: Duration::from_millis(1),
            longest: Duration::from_millis(5),
            asked: Duration::from_secs(1),
        };
        Hub::at(&self.server.endpoint(), self.folder.path().to_owned()).with_patience(patience)
    }

    fn blobs(&self) -> Vec<PathBuf> {
        let folder = self.folder.path().join("models--me--small/blobs");
        let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
            .map(|d| d.flatten().map(|e| e.path()).collect())
            .unwrap_or_default();
        all.sort();
        all
    }
}

fn at(revision: &str) -> Repository {
    Repository {
        id: "me/small".into(),
        revision: Some(revision.into()),
    }
}

fn everything(hub: &Hub, repository: &Repository) -> Result<PathBuf, HubError> {
    let listing = hub.list(repository)?;
    let all: Vec<&Entry> = listing.files.iter().collect();
    hub.snapshot(repository, &listing, &all)
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn a_snapshot_lies_as_the_hubs_own_library_lays_it_and_is_fetched_once() {
    let scene = Scene::new();
    let folder = everything(&scene.hub(), &at("main")).unwrap();
    assert_eq!(read(&folder, "model.safetensors"), weights(1, 300_000));
    assert_eq!(read(&folder, "tokenizer.json"), b"{\"t\": 1}");
    let root = scene.folder.path().join("models--me--small");
    let commit = std::fs::read_to_string(root.join("refs/main")).unwrap();
    assert_eq!(folder, root.join("snapshots").join(&commit));
    let link = std::fs::read_link(folder.join("model.safetensors")).unwrap();
    assert!(link.starts_with("../../blobs"), "{}", link.display());
    assert_eq!(link.file_name().unwrap().len(), 64);
    // What another revision shares is not sent again, and what is there is not even asked for.
    everything(&scene.hub(), &at("step2")).unwrap();
    assert_eq!(scene.blobs().len(), 4);
    assert_eq!(scene.server.stored_bytes_sent(), 600_000);
    let before = scene.server.requests().len();
    everything(&scene.hub(), &at("main")).unwrap();
    assert_eq!(
        scene.server.requests().len(),
        before + 1,
        "the listing alone"
    );
    let hub = scene.hub().offline();
    assert_eq!(hub.cache.found(&at("main")), Some(folder));
    assert!(hub.file(&at("main"), "config.json").is_ok());
    assert!(matches!(
        hub.file(&at("main"), "other.json"),
        Err(HubError::Offline { .. })
    ));
    assert_eq!(scene.server.requests().len(), before + 1);
}

#[test]
fn the_token_is_for_the_hub_and_not_for_its_storage() {
    let scene = Scene::new();
    scene.server.put(small().gated("hf_secret"));
    let refused = scene.hub().file(&at("main"), "model.safetensors");
    assert!(
        matches!(refused, Err(HubError::Gated { .. })),
        "{refused:?}"
    );
    let wrong = scene.hub().with_token("hf_other");
    assert!(matches!(
        wrong.file(&at("main"), "config.json"),
        Err(HubError::Gated { .. })
    ));
    let hub = scene.hub().with_token("hf_secret");
    everything(&hub, &at("main")).unwrap();
    let requests = scene.server.requests();
    assert!(requests.iter().any(|r| r.storage));
    for request in &requests {
        if request.storage {
            assert_eq!(request.token, None, "{request:?}");
        }
    }
    assert!(!format!("{hub:?}").contains("secret"));
}

#[test]
fn a_download_goes_on_where_it_broke_off() {
    let scene = Scene::new();
    scene.server.plan("/store/", HubFault::CutAfter(100_000), 2);
    scene.server.plan("/store/", HubFault::Hangup, 1);
    scene.server.plan("/store/", HubFault::Expired, 1);
    let folder = everything(&scene.hub(), &at("main")).unwrap();
    assert_eq!(read(&folder, "model.safetensors"), weights(1, 300_000));
    assert_eq!(scene.server.stored_bytes_sent(), 300_000, "nothing twice");
    let asked: Vec<_> = scene
        .server
        .requests()
        .iter()
        .filter(|r| r.storage)
        .map(|r| r.from)
        .collect();
    let (hundred, two) = (Some(100_000), Some(200_000));
    assert_eq!(asked, [None, hundred, two, two, two]);
}

#[test]
fn a_part_that_another_process_left_is_continued_and_checked() {
    let scene = Scene::new();
    let good = weights(1, 300_000);
    everything(&scene.hub(), &at("main")).unwrap();
    let blob = scene
        .blobs()
        .into_iter()
        .find(|b| std::fs::metadata(b).unwrap().len() == 300_000)
        .unwrap();
    let part = blob.with_extension("incomplete");
    std::fs::remove_file(&blob).unwrap();
    std::fs::write(&part, &good[..250_000]).unwrap();
    let folder = everything(&scene.hub(), &at("main")).unwrap();
    assert_eq!(read(&folder, "model.safetensors"), good);
    assert_eq!(scene.server.stored_bytes_sent(), 350_000);
    // A part with other content costs itself; so does a server that knows no ranges.
    std::fs::remove_file(&blob).unwrap();
    std::fs::write(&part, vec![0; 250_000]).unwrap();
    let folder = everything(&scene.hub(), &at("main")).unwrap();
    assert_eq!(read(&folder, "model.safetensors"), good);
    std::fs::remove_file(&blob).unwrap();
    std::fs::write(&part, &good[..10]).unwrap();
    scene.server.plan("/store/", HubFault::WholeInstead, 1);
    let folder = everything(&scene.hub(), &at("main")).unwrap();
    assert_eq!(read(&folder, "model.safetensors"), good);
    // A part that is too long is no part.
    std::fs::remove_file(&blob).unwrap();
    std::fs::write(&part, vec![0; 300_001]).unwrap();
    let folder = everything(&scene.hub(), &at("main")).unwrap();
    assert_eq!(read(&folder, "model.safetensors"), good);
}

#[test]
fn a_wrong_content_is_fetched_again_once_and_then_refused() {
    let scene = Scene::new();
    scene.server.plan("/store/", HubFault::WrongByte, 1);
    everything(&scene.hub(), &at("main")).unwrap();
    scene.server.plan("/store/", HubFault::WrongByte, 2);
    let refused = everything(&scene.hub(), &at("step2")).unwrap_err();
    assert!(
        matches!(refused, HubError::WrongContent { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("model.safetensors"));
    assert_eq!(scene.blobs().len(), 3, "nothing of it stays");
    // Small files are held to git's hash.
    scene.server.calm();
    let scene = Scene::new();
    scene.server.plan("resolve-cache", HubFault::WrongByte, 2);
    let refused = scene.hub().file(&at("main"), "config.json").unwrap_err();
    assert!(
        matches!(refused, HubError::WrongContent { .. }),
        "{refused}"
    );
}

#[test]
fn a_busy_hub_is_waited_for_as_long_as_it_asks() {
    let scene = Scene::new();
    scene.server.plan("", HubFault::TooMany(0), 6);
    scene.server.plan("/resolve/", HubFault::TooMany(1), 1);
    scene.server.plan("/store/", HubFault::Unavailable, 2);
    everything(&scene.hub(), &at("main")).unwrap();
    scene.server.plan("", HubFault::TooMany(0), 100);
    let refused = everything(&scene.hub(), &at("step2")).unwrap_err();
    assert!(matches!(refused, HubError::Busy { .. }), "{refused}");
    scene.server.calm();
    scene.server.plan("", HubFault::Unavailable, 100);
    let refused = everything(&scene.hub(), &at("step2")).unwrap_err();
    assert!(matches!(refused, HubError::Unreachable { .. }), "{refused}");
}

/// A year is not waited for, and not in silence: it is an error that says so, and the file that was begun
/// stays.
#[test]
fn a_hub_that_asks_for_a_year_is_left_at_once() {
    let scene = Scene::new();
    scene.server.plan("/store/", HubFault::CutAfter(1000), 1);
    let year = HubFault::TooMany(365 * 24 * 3600);
    scene.server.plan("/store/", year, 100);
    let refused = everything(&scene.hub(), &at("main")).unwrap_err();
    assert!(
        matches!(refused, HubError::Busy { asked: Some(_), .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("wait 365 days"), "{refused}");
    assert!(refused.hint().unwrap().contains("where it stopped"));
    scene.server.calm();
    everything(&scene.hub(), &at("main")).unwrap();
    let requests = scene.server.requests();
    assert!(
        requests.iter().any(|r| r.from == Some(1000)),
        "{requests:?}"
    );
}

/// What comes behind the size that the hub told is neither read nor kept.
#[test]
fn a_file_is_not_longer_than_the_hub_says() {
    let scene = Scene::new();
    for part in ["/store/", "resolve-cache"] {
        scene.server.plan(part, HubFault::Longer(8 << 20), 2);
        let refused = everything(&scene.hub(), &at("main")).unwrap_err();
        let HubError::WrongContent { found, .. } = &refused else {
            panic!("{refused}");
        };
        // The whole of it would have been counted.
        assert_eq!(found, "more", "{refused}");
        let left = scene.blobs();
        assert!(
            left.iter().all(|p| p.extension().is_none()),
            "nothing of it stays: {left:?}"
        );
        scene.server.calm();
    }
    // Once is bad luck.
    scene.server.plan("/store/", HubFault::Longer(1), 1);
    everything(&scene.hub(), &at("main")).unwrap();
}

#[test]
fn what_is_not_there_is_told_apart() {
    let scene = Scene::new();
    let hub = scene.hub();
    let other = Repository {
        id: "me/other".into(),
        revision: None,
    };
    for refused in [
        hub.list(&other).unwrap_err(),
        hub.names("me/other").unwrap_err(),
        hub.file(&other, "config.json").unwrap_err(),
        scene.hub().with_token("t").list(&other).unwrap_err(),
    ] {
        let known = matches!(refused, HubError::NoRepository { .. });
        assert!(known, "{refused}");
    }
    assert!(matches!(
        hub.list(&at("step3")),
        Err(HubError::NoRevision { revision, .. }) if revision == "step3"
    ));
    assert!(matches!(
        hub.file(&at("main"), "no.json"),
        Err(HubError::NoFile { path, .. }) if path == "no.json"
    ));
    for hostile in ["../../etc/passwd", "/etc/passwd", "a/../../b"] {
        let refused = hub.file(&at("main"), hostile);
        assert!(
            matches!(refused, Err(HubError::Strange { .. })),
            "{refused:?}"
        );
    }
    let endpoint = scene.server.endpoint();
    drop(scene);
    let folder = tempfile::tempdir().unwrap();
    let gone = Hub::at(&endpoint, folder.path().to_owned());
    let refused = gone.list(&at("main")).unwrap_err();
    assert!(matches!(refused, HubError::Unreachable { .. }), "{refused}");
    assert!(refused.hint().unwrap().contains("without a network"));
}

#[test]
fn branches_and_tags_are_listed_by_the_hub() {
    let scene = Scene::new();
    let names = scene.hub().names("me/small").unwrap();
    assert_eq!(names.branches, ["main"]);
    assert_eq!(names.tags, ["step2"]);
}

#[test]
fn downloads_are_watched() {
    use std::sync::{Arc, Mutex};
    let scene = Scene::new();
    type Seen = Vec<(String, u64, Option<u64>)>;
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let book = Arc::clone(&seen);
    mary_fetch::hub::watch(move |p| {
        if p.file == "model.safetensors" {
            book.lock()
                .unwrap()
                .push((p.id.to_owned(), p.done, p.total));
        }
    });
    everything(&scene.hub(), &at("main")).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.contains(&("me/small".into(), 0, Some(300_000))));
    assert!(seen.contains(&("me/small".into(), 300_000, Some(300_000))));
}

/// Writing to `/dev/full` fails as a full disk does.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_called_one_and_leaves_nothing_behind() {
    let scene = Scene::new();
    let hub = scene.hub();
    everything(&hub, &at("main")).unwrap();
    let blob = scene
        .blobs()
        .into_iter()
        .find(|b| std::fs::metadata(b).unwrap().len() == 300_000)
        .unwrap();
    std::fs::remove_file(&blob).unwrap();
    let part = blob.with_extension("incomplete");
    std::os::unix::fs::symlink("/dev/full", &part).unwrap();
    let refused = everything(&hub, &at("main")).unwrap_err();
    assert!(
        matches!(&refused, HubError::Io { source, .. }
        if source.kind() == std::io::ErrorKind::StorageFull),
        "{refused}"
    );
    assert!(refused.hint().unwrap().contains("the disk is full"));
    assert!(!blob.exists());
    std::fs::remove_file(&part).unwrap();
    everything(&hub, &at("main")).unwrap();
}
