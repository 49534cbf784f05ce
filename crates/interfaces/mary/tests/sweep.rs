//! `mary sweep` over real checkpoints with planted faults: each is reported, the rest is followed, and
//! a kill in the middle costs nothing that was done.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use mary_contract::ModelRef;
use serde_json::Value;

use crate::program::program;

const STEPS: [u64; 12] = [
    0, 16, 64, 128, 256, 512, 1000, 2000, 3000, 5000, 7000, 10000,
];

pub(crate) fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../run/mary-lab/assets/nano")
}

/// A checkpoint folder with these weights.
fn checkpoint(folder: &Path, weights: &[u8]) {
    std::fs::create_dir_all(folder).unwrap();
    for name in ["config.json", "tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(assets().join(name), folder.join(name)).unwrap();
    }
    std::fs::write(folder.join("model.safetensors"), weights).unwrap();
}

pub(crate) fn weights(step: u64) -> Vec<u8> {
    let model: ModelRef = format!("builtin/nano@step{step}").parse().unwrap();
    let root = tempfile::tempdir().unwrap();
    let folder = mary_lab::builtin::write_folder(&model, root.path()).unwrap();
    std::fs::read(folder.join("model.safetensors")).unwrap()
}

/// Weights of the same shapes and sizes that belong to no checkpoint of this training: every number is
/// somewhere else.
fn stranger() -> Vec<u8> {
    let mut bytes = weights(5000);
    let header = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize + 8;
    bytes[header..].rotate_left(2 * 4_321);
    bytes
}

/// The twelve real checkpoints, and three that are not what their names say.
fn family(root: &Path) -> PathBuf {
    let folder = root.join("nano");
    for step in STEPS {
        checkpoint(&folder.join(format!("step{step}")), &weights(step));
    }
    checkpoint(&folder.join("step192"), &weights(128));
    let cut = weights(3000);
    checkpoint(&folder.join("step4000"), &cut[..cut.len() / 2]);
    checkpoint(&folder.join("step6000"), &stranger());
    std::fs::copy(assets().join("recipe.json"), folder.join("recipe.json")).unwrap();
    folder
}

fn sweep(home: &Path, family: &Path) -> Command {
    let mut command = program(home);
    command.arg("sweep").arg(family).args([
        "--tasks",
        "psychometric/grammar-small",
        "--set",
        "n=10",
        "--threads",
        "1",
        "--quiet",
        "--json",
    ]);
    command
}

/// Without the report.
fn quick(home: &Path, family: &Path) -> Command {
    let mut command = sweep(home, family);
    command.arg("--no-report");
    command
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// How many checkpoints the sweeps below have done. A kill may leave a last line that has no end: not done.
pub(crate) fn done(home: &Path) -> usize {
    let Ok(runs) = std::fs::read_dir(home.join("runs")) else {
        return 0;
    };
    let logs = runs.flatten().map(|e| e.path().join("checkpoints.jsonl"));
    let lines =
        |path: PathBuf| std::fs::read_to_string(path).map_or(0, |t| t.matches('\n').count());
    logs.map(lines).sum()
}

/// (checkpoint, kind) of every fault.
fn faults(shown: &Value) -> Vec<(String, String)> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let step = |model: String| model.rsplit('/').next().unwrap().to_owned();
    let faults = shown["faults"].as_array().unwrap();
    faults
        .iter()
        .map(|f| (step(text(&f["model"])), text(&f["kind"])))
        .collect()
}

fn planted() -> Vec<(String, String)> {
    [
        ("step128", "identical"),
        ("step192", "identical"),
        ("step4000", "unreadable"),
        ("step6000", "another model"),
    ]
    .map(|(step, kind)| (step.to_owned(), kind.to_owned()))
    .to_vec()
}

#[test]
fn planted_faults_are_reported_and_the_rest_is_followed() {
    let home = tempfile::tempdir().unwrap();
    let family = family(home.path());
    let output = sweep(home.path(), &family).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let shown = json(&output);
    assert_eq!(faults(&shown), planted());
    assert_eq!(shown["checkpoints"].as_array().unwrap().len(), 15);

    // The curve rises, on tokens from the recipe, and its window is claimed from ten sound points.
    let windows = shown["windows"].as_array().unwrap();
    let onsets = windows
        .iter()
        .find(|t| t["id"] == "psychometric-onsets")
        .unwrap();
    let row = &onsets["rows"][0];
    assert_eq!(row[0], "grammar (small world)");
    assert_eq!(row[2], "10");
    assert!(row[3].as_str().unwrap().starts_with("yes"), "{row}");
    let score = |step: &str| -> f64 {
        let rows = shown["checkpoints"].as_array().unwrap();
        let row = rows.iter().find(|r| r["checkpoint"] == step).unwrap();
        row["grammar-small"].as_str().unwrap().parse().unwrap()
    };
    assert!(score("step10000") > 0.9 && score("step0") < 0.7);
    assert_eq!(shown["checkpoints"][1]["tokens"], "131 k");

    // Every checkpoint that could be read is an ordinary run, and the report holds the figures.
    let folder = PathBuf::from(shown["folder"].as_str().unwrap());
    assert_eq!(std::fs::read_dir(folder.join("runs")).unwrap().count(), 14);
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("Development: grammar (small world)") && page.contains("another model"));
    let one = std::fs::read_dir(folder.join("runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert!(
        program(home.path())
            .arg("report")
            .arg(one)
            .output()
            .unwrap()
            .status
            .success()
    );

    // Nothing is left to do, and nothing is done again.
    let again = sweep(home.path(), &family).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("15 checkpoints, 1 to do"));
    assert_eq!(json(&again)["checkpoints"], shown["checkpoints"]);
}

#[test]
fn a_kill_in_the_middle_is_resumed() {
    let (calm, wild) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let family = family(calm.path());
    let whole = json(&quick(calm.path(), &family).output().unwrap());

    let done = || done(wild.path());
    for target in [2, 5, 9] {
        let mut command = quick(wild.path(), &family);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while done() < target && start.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            (target..15).contains(&done()),
            "killed too late: {} done",
            done()
        );
    }
    let before = done();
    let output = quick(wild.path(), &family).output().unwrap();
    let left = 15 - before + usize::from(before > 10); // what is unreadable is tried again
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains(&format!("15 checkpoints, {left} to do")),
        "{said}"
    );
    let resumed = json(&output);
    assert_eq!(faults(&resumed), planted());
    for part in ["checkpoints", "windows"] {
        assert_eq!(resumed[part], whole[part]);
    }
    // No sample stands in a log twice.
    let folder = PathBuf::from(resumed["folder"].as_str().unwrap());
    for run in std::fs::read_dir(folder.join("runs")).unwrap() {
        let log = std::fs::read_to_string(run.unwrap().path().join("samples.jsonl")).unwrap();
        let mut ids: Vec<String> = log
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap()["id"]["item"].to_string())
            .collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }
}

#[test]
fn several_sizes_are_swept_together() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("other");
    for step in [0, 16, 512] {
        checkpoint(&folder.join(format!("step{step}")), &weights(step));
    }
    let output = program(home.path())
        .args(["sweep", "builtin/nano"])
        .arg(&folder)
        .args([
            "--revisions",
            "0,16,512",
            "--tasks",
            "psychometric/grammar-small",
            "--set",
            "n=4",
        ])
        .args(["--threads", "1", "--quiet", "--json", "--no-report"])
        .output()
        .unwrap();
    let shown = json(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let sizes: Vec<&str> = shown["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["model"].as_str().unwrap())
        .collect();
    assert_eq!(sizes[..3], ["builtin/nano"; 3]);
    assert!(sizes[3..].iter().all(|s| s.ends_with("/other")));
    // Without a recipe the second size is followed over steps.
    assert_eq!(shown["checkpoints"][5]["tokens"], "");
}

/// A hub cache as the hub's client lays it out, and no network.
#[cfg(unix)]
#[test]
fn a_hub_model_is_swept_from_the_hubs_cache() {
    let home = tempfile::tempdir().unwrap();
    let model = home.path().join("hf/hub/models--me--nano");
    for (place, step) in [0u64, 16, 512].into_iter().enumerate() {
        let commit = format!("{place}").repeat(40);
        checkpoint(&model.join("snapshots").join(&commit), &weights(step));
        std::fs::create_dir_all(model.join("refs")).unwrap();
        std::fs::write(model.join(format!("refs/step{step}")), commit).unwrap();
    }
    let output = program(home.path())
        .env("HF_HOME", home.path().join("hf"))
        .env("HF_HUB_OFFLINE", "1")
        .args([
            "sweep",
            "hf/me/nano",
            "--revisions",
            "step0,step16,step512,step999",
        ])
        .args([
            "--tasks",
            "psychometric/grammar-small",
            "--set",
            "n=4",
            "--tokens-per-step",
            "8192",
        ])
        .args([
            "--disk-limit",
            "1MB",
            "--threads",
            "1",
            "--quiet",
            "--json",
            "--no-report",
        ])
        .output()
        .unwrap();
    let shown = json(&output);
    assert_eq!(
        faults(&shown)
            .iter()
            .map(|(_, kind)| kind.as_str())
            .collect::<Vec<_>>(),
        ["unreadable"],
        "{shown}"
    );
    assert_eq!(shown["checkpoints"][2]["tokens"], "4.19 M");
    // What was there before the sweep is not the sweep's to remove.
    assert_eq!(
        std::fs::read_dir(model.join("snapshots")).unwrap().count(),
        3
    );
}

/// A sweep's folder is something to be shown, compared, exported and looked through; before, no command but
/// `sweep` itself knew it.
#[test]
fn a_sweep_is_reported_compared_exported_and_named_by_its_checkpoints() {
    let home = tempfile::tempdir().unwrap();
    let family = family(home.path());
    assert!(
        quick(home.path(), &family)
            .output()
            .unwrap()
            .status
            .code()
            .is_some()
    );
    let runs = home.path().join("runs");
    let sweeps = std::fs::read_dir(&runs).unwrap().flatten();
    let folder = sweeps
        .map(|e| e.path())
        .find(|p| p.join("sweep.json").is_file())
        .unwrap();
    let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let mary = |args: &[&str]| program(home.path()).args(args).output().unwrap();
    let told = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();

    let tables = home.path().join("tables");
    let shown = mary(&["report", &name, "--tables", tables.to_str().unwrap()]);
    assert!(shown.status.success(), "{}", told(&shown));
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("The sweep") && page.contains("another model"));
    let listed = std::fs::read_to_string(tables.join("sweep-checkpoints.csv")).unwrap();
    assert_eq!(listed.lines().count(), 16, "{listed}");

    // One size alone: its first and its last sound checkpoint.
    let compared = mary(&["compare", &name, "--json"]);
    assert!(compared.status.success(), "{}", told(&compared));
    let pairs = json(&compared)["comparisons"].to_string();
    assert!(
        pairs.contains("step0 (") && pairs.contains("step10000 ("),
        "{pairs}"
    );
    let (early, late) = (format!("{name}@64"), format!("{name}@step5000"));
    let compared = mary(&["compare", &early, &late, "--json"]);
    assert!(
        json(&compared)["comparisons"]
            .to_string()
            .contains("step64 (")
    );
    // What is not what its name says is not there to be compared.
    let faulty = mary(&["compare", &early, &format!("{name}@step6000")]);
    assert_eq!(faulty.status.code(), Some(4), "{}", told(&faulty));
    assert!(told(&faulty).contains("no sound checkpoint `step6000`"));

    let exported = mary(&["export", &name, "--to", "csv"]);
    assert!(exported.status.success(), "{}", told(&exported));
    let files = std::fs::read_dir(folder.join("export")).unwrap().count();
    assert_eq!(files, 12, "eleven sound checkpoints and their list");
    let list = std::fs::read_to_string(folder.join("export/checkpoints.csv")).unwrap();
    assert!(list.contains("step512,512,4194304,"), "{list}");

    let one = mary(&["rescore", &name]);
    assert_eq!(one.status.code(), Some(2), "{}", told(&one));
    assert!(
        told(&one).contains("is a sweep with 11 sound checkpoints"),
        "{}",
        told(&one)
    );
}
