//! Packs the wheel, installs it into a folder of its own and runs pytest and mypy on it. The interpreter is the
//! one `MARY_PYTEST_PYTHON` names, with pytest, mypy, numpy, pyarrow, pandas and polars
//! (`tools/make_peers.sh`).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mary_testkit::lacking::{Lacking, skip};

/// The interpreter, where there is one with all that the suite needs.
fn interpreter() -> Option<PathBuf> {
    let named = std::env::var_os("MARY_PYTEST_PYTHON").map(PathBuf::from);
    let Some(python) = named.filter(|p| p.exists()) else {
        skip(Lacking::Peers, "MARY_PYTEST_PYTHON names no interpreter");
        return None;
    };
    let needed = "import mypy, numpy, pandas, polars, pyarrow, pytest";
    let there = Command::new(&python).args(["-c", needed]).output().unwrap();
    if !there.status.success() {
        skip(
            Lacking::Peers,
            "MARY_PYTEST_PYTHON lacks a package of the suite",
        );
        return None;
    }
    Some(python)
}

/// The library that Cargo built for this test, beside its program.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let name = format!(
        "{}_mary{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let mut places = program.ancestors().skip(1).take(2).map(|f| f.join(&name));
    places.find(|p| p.is_file()).expect("the library is built")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .canonicalize()
        .unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_installed_wheel_passes_its_suite() {
    let Some(python) = interpreter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let packed = Command::new(&python)
        .arg(root().join("tools/pack_wheel.py"))
        .args([&library(), folder.path()])
        .output()
        .unwrap();
    assert!(packed.status.success(), "{}", said(&packed));
    let wheel = String::from_utf8(packed.stdout).unwrap();
    let installed = folder.path().join("installed");
    let pip = Command::new(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--no-compile",
        ])
        .args(["--disable-pip-version-check", "--target"])
        .arg(&installed)
        .arg(wheel.trim())
        .output()
        .unwrap();
    assert!(pip.status.success(), "{}", said(&pip));
    let suite = Command::new(&python)
        .args(["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"])
        .arg(root().join("crates/interfaces/mary-python/tests/python"))
        .current_dir(folder.path())
        .env("PYTHONPATH", &installed)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(suite.status.success(), "{}", said(&suite));
    eprintln!("{}", said(&suite));
}

#[test]
fn the_package_is_typed() {
    let Some(python) = interpreter() else { return };
    let cache = tempfile::tempdir().unwrap();
    let package = root().join("crates/interfaces/mary-python");
    let checked = Command::new(&python)
        .args(["-m", "mypy", "--cache-dir"])
        .arg(cache.path())
        .args(["--config-file", "pyproject.toml", "python/mary"])
        .current_dir(&package)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", said(&checked));
}
