//! Takes the pictures of the six main pages for the documentation:
//! `cargo run -p mary-report --example pictures -- FOLDER [NAME=ADDRESS …]`.
//!
//! The pages are those that the browser tests measure; an address (`first-run=file:///…/report.html`,
//! `viewer-list=http://127.0.0.1:…/run/…/samples`) puts a page of a real run in the place of a made-up one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/chromium/mod.rs"]
mod chromium;
#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/fixture/mod.rs"]
mod fixture;
#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/pages/mod.rs"]
mod pages;

use std::path::PathBuf;

/// How much of a page is shown.
const HEIGHT: u32 = 1_500;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(
        arguments
            .next()
            .unwrap_or_else(|| "docs/pictures/pages".into()),
    );
    let real: Vec<(String, String)> = arguments
        .map(|pair| {
            let (name, address) = pair.split_once('=').expect("NAME=ADDRESS");
            (name.to_owned(), address.to_owned())
        })
        .collect();
    std::fs::create_dir_all(&folder).unwrap();
    let made = tempfile::tempdir().unwrap();
    let mut browser = chromium::start().expect("a browser");
    let mut bytes = 0;
    for mut page in pages::six(made.path()) {
        if let Some((_, address)) = real.iter().find(|(name, _)| name == page.name) {
            page.address.clone_from(address);
        }
        for width in [1_300, 400] {
            for scheme in ["light", "dark"] {
                browser.scheme(scheme);
                pages::open(&mut browser, &page, width);
                let picture = browser.web_picture(width, HEIGHT);
                bytes += picture.len();
                let file = folder.join(format!("{}-{width}-{scheme}.webp", page.name));
                std::fs::write(&file, picture).unwrap();
                println!("{}", file.display());
            }
        }
    }
    println!("{bytes} bytes");
}
