//! A made-up hub for trying long sweeps: serves the repositories of a folder (`OWNER/NAME/REVISION/files`), with
//! a fault every other second, until its input ends.
//!
//! ```text
//! cargo run -p mary-testkit --example hub -- FOLDER [FAULTS]
//! ```
//!
//! The first line it prints is the address for `HF_ENDPOINT`. `FAULTS` is how many faults there are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use mary_testkit::hub_server::{HubFault, HubRepository, HubServer};

fn inside(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let named = |e: std::fs::DirEntry| (e.file_name().to_string_lossy().into_owned(), e.path());
    let mut all: Vec<(String, PathBuf)> = entries.map(named).collect();
    all.sort();
    all
}

fn main() {
    let mut words = std::env::args().skip(1);
    let folder = PathBuf::from(words.next().expect("a folder of repositories"));
    let faults: u32 = words
        .next()
        .map_or(0, |n| n.parse().expect("a number of faults"));
    let server = HubServer::start().unwrap();
    for (owner, path) in inside(&folder) {
        for (name, path) in inside(&path) {
            let mut repository = HubRepository::new(&format!("{owner}/{name}"));
            for (revision, path) in inside(&path) {
                let files: Vec<(String, Vec<u8>)> = inside(&path)
                    .into_iter()
                    .map(|(name, path)| (name, std::fs::read(path).unwrap()))
                    .collect();
                let files: Vec<(&str, &[u8])> = files
                    .iter()
                    .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
                    .collect();
                repository = repository.branch(&revision, &files);
            }
            server.put(repository);
        }
    }
    println!("{}", server.endpoint());
    let ended = std::thread::spawn(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    // One after the other: so many at once would be a hub that is not there.
    let kinds = [
        ("/store/", HubFault::CutAfter(20_000)),
        ("/resolve/", HubFault::Unavailable),
        ("/resolve/", HubFault::TooMany(0)),
        ("/store/", HubFault::Hangup),
        ("/store/", HubFault::WrongByte),
    ];
    let mut planned = kinds.iter().cycle().take(faults as usize);
    while !ended.is_finished() {
        std::thread::sleep(std::time::Duration::from_secs(2));
        if let Some((part, fault)) = planned.next() {
            server.plan(part, *fault, 1);
        }
    }
    println!(
        "{} requests, {} bytes of weights sent",
        server.requests().len(),
        server.stored_bytes_sent()
    );
}
