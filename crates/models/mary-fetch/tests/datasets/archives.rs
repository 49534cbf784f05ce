//! Zip archives from strangers.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use mary_fetch::datasets::{Limits, UnpackError, unpack_tar_gz, unpack_zip};
use proptest::prelude::*;
use zip::write::SimpleFileOptions;

fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        out.start_file(*name, SimpleFileOptions::default()).unwrap();
        out.write_all(content).unwrap();
    }
    out.finish().unwrap().into_inner()
}

fn unpack(bytes: &[u8], into: &Path, limits: Limits) -> Result<usize, UnpackError> {
    let archive = into.join("archive");
    fs::write(&archive, bytes).unwrap();
    unpack_zip(&archive, &into.join("out"), limits, &|p| Some(p.to_owned()))
}

#[test]
fn plain_files_are_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = zip_of(&[("data/a.jsonl", b"{}"), ("b.txt", b"b")]);
    assert_eq!(unpack(&bytes, dir.path(), Limits::default()).unwrap(), 2);
    assert_eq!(
        fs::read(dir.path().join("out/data/a.jsonl")).unwrap(),
        b"{}"
    );
}

#[test]
fn names_that_lead_out_are_refused() {
    for name in ["../x", "/x", "a/../../x", "..\\x", "C:/x"] {
        let dir = tempfile::tempdir().unwrap();
        let error = unpack(&zip_of(&[(name, b"x")]), dir.path(), Limits::default()).unwrap_err();
        assert!(matches!(error, UnpackError::Escape(_)), "{name}: {error}");
        assert!(!dir.path().join("x").exists());
    }
}

#[test]
fn a_link_is_refused() {
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    out.add_symlink("link", "/etc/passwd", SimpleFileOptions::default())
        .unwrap();
    let bytes = out.finish().unwrap().into_inner();
    let dir = tempfile::tempdir().unwrap();
    let error = unpack(&bytes, dir.path(), Limits::default()).unwrap_err();
    assert!(matches!(error, UnpackError::NotAFile(_)), "{error}");
}

#[test]
fn a_bomb_is_stopped_in_time() {
    let zeros = vec![0; 5 << 20];
    let bytes = zip_of(&[("a", &zeros)]);
    assert!(bytes.len() < 50_000);
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        entries: 10,
        bytes: 1 << 20,
    };
    let error = unpack(&bytes, dir.path(), limits).unwrap_err();
    assert!(
        error.to_string().contains("more than 1048576 bytes"),
        "{error}"
    );
    let many: Vec<(String, &[u8])> = (0..11).map(|n| (format!("f{n}"), &b""[..])).collect();
    let many: Vec<_> = many.iter().map(|(n, c)| (n.as_str(), *c)).collect();
    let dir = tempfile::tempdir().unwrap();
    let error = unpack(&zip_of(&many), dir.path(), limits).unwrap_err();
    assert!(
        error.to_string().contains("more than 10 entries"),
        "{error}"
    );
}

#[test]
fn a_truncated_archive_is_named() {
    let bytes = zip_of(&[("a", b"some content that takes a few bytes")]);
    let dir = tempfile::tempdir().unwrap();
    let error = unpack(&bytes[..bytes.len() / 2], dir.path(), Limits::default()).unwrap_err();
    assert!(matches!(error, UnpackError::Damaged(_)), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn noise_is_never_unpacked_and_never_panics(
        noise in proptest::collection::vec(any::<u8>(), 0..400),
        at in 0usize..200,
        with in any::<u8>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        prop_assert!(unpack(&noise, dir.path(), Limits::default()).is_err());
        let archive = dir.path().join("archive");
        let tar = unpack_tar_gz(&archive, &dir.path().join("t"), Limits::default(), &|p| Some(p.to_owned()));
        prop_assert!(tar.is_err());
        // One byte changed: whatever comes of it stays inside.
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = zip_of(&[("data/a", b"abc"), ("b", b"def")]);
        let at = at % bytes.len();
        bytes[at] = with;
        let _ = unpack(&bytes, dir.path(), Limits::default());
        let outside = fs::read_dir(dir.path()).unwrap().count();
        prop_assert!(outside <= 2, "only `archive` and `out`");
    }
}

/// Zeros without end, a megabyte at a time.
fn zeros(mut out: impl std::io::Write, megabytes: usize) {
    let piece = vec![0; 1 << 20];
    for _ in 0..megabytes {
        out.write_all(&piece).unwrap();
    }
}

/// An archive far below the limit on its total is refused by how much larger than itself it unpacks.
#[test]
fn a_bomb_is_stopped_by_its_ratio() {
    const MEGABYTES: usize = 128;
    let dir = tempfile::tempdir().unwrap();
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    out.start_file("a", SimpleFileOptions::default()).unwrap();
    zeros(&mut out, MEGABYTES);
    let zipped = out.finish().unwrap().into_inner();
    let error = unpack(&zipped, dir.path(), Limits::default()).unwrap_err();
    assert!(matches!(error, UnpackError::TooLarge(_)), "{error}");

    let mut header = tar::Header::new_gnu();
    header.set_size((MEGABYTES << 20) as u64);
    header.set_mode(0o644);
    header.set_path("a").unwrap();
    header.set_cksum();
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    out.write_all(header.as_bytes()).unwrap();
    zeros(&mut out, MEGABYTES);
    zeros(&mut out, 1);
    let packed = out.finish().unwrap();
    let archive = dir.path().join("a.tar.gz");
    fs::write(&archive, &packed).unwrap();
    let into = dir.path().join("tar");
    let error = unpack_tar_gz(&archive, &into, Limits::default(), &|p| Some(p.to_owned()));
    let error = error.unwrap_err();
    assert!(matches!(error, UnpackError::TooLarge(_)), "{error}");
    assert!(!into.join("a").exists(), "nothing of it is left");
    for bytes in [zipped.len(), packed.len()] {
        assert!(bytes * 200 + (64 << 20) < MEGABYTES << 20, "{bytes} bytes");
    }
}
