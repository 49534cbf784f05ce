//! Shards on real engines. A Slurm of its own on this machine runs a sweep and a run as arrays while
//! shards are killed, told to stop, requeued, lose their node and reach their time limit; after a second
//! `mary submit` the joined summary is that of one process, to the last bit. HyperQueue runs the same array, and the manifest for
//! Kubernetes passes a validator with the published schemas. Without engines: shards side by side on
//! this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use mary_testkit::{Lacking, skip};
use serde_json::Value;

/// No machine is so busy that this passes before something happens that will happen.
const PATIENCE: Duration = Duration::from_secs(600);

fn mary(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
    command
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env("TMPDIR", home.join("node"))
        .env_remove("MARY_DATA_DIR")
        .env_remove("MARY_MODEL");
    std::fs::create_dir_all(home.join("node")).unwrap();
    command
}

fn done(command: &mut Command) -> Output {
    ended(command, &[0])
}

/// A sweep may say that a checkpoint is off the trend, which is exit code 1.
fn swept(command: &mut Command) -> Output {
    ended(command, &[0, 1])
}

fn ended(command: &mut Command, codes: &[i32]) -> Output {
    let output = command.output().unwrap();
    assert!(
        output
            .status
            .code()
            .is_some_and(|code| codes.contains(&code)),
        "{command:?}\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Three models on two tasks.
fn run_words(n: usize) -> Vec<String> {
    let text = format!(
        "run -m builtin/nano@step0 -m builtin/nano@step512 -m builtin/nano@step5000 \
         -t psychometric/grammar-small,psychometric/grammar --set n={n} --threads 1"
    );
    text.split_whitespace().map(String::from).collect()
}

fn sweep_words(n: usize) -> Vec<String> {
    let text = format!(
        "sweep builtin/nano --revisions step0,step16,step128,step512,step2000,step5000 \
         -t psychometric/grammar-small --set n={n} --threads 1"
    );
    text.split_whitespace().map(String::from).collect()
}

fn only(home: &Path, begins: &str) -> PathBuf {
    let runs = std::fs::read_dir(home.join("runs")).unwrap();
    let mut found: Vec<PathBuf> = runs
        .map(|e| e.unwrap().path())
        .filter(|p| p.file_name().unwrap().to_string_lossy().starts_with(begins))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// What a summary says, but for when and how the run was started.
fn numbers(run: &Path) -> Value {
    let text = std::fs::read(run.join("summary.json")).unwrap();
    let mut summary: Value = serde_json::from_slice(&text).unwrap();
    for name in ["created", "command"] {
        summary["manifest"].as_object_mut().unwrap().remove(name);
    }
    summary
}

/// Summaries of all checkpoints of a sweep, by their folders' names.
fn sweep_numbers(sweep: &Path) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = std::fs::read_dir(sweep.join("runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .map(|p| {
            (
                p.file_name().unwrap().to_string_lossy().into_owned(),
                numbers(&p),
            )
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The run and the sweep by one process each.
fn alone(home: &Path, n: usize) -> (Value, Vec<(String, Value)>) {
    done(
        mary(home)
            .args(run_words(n))
            .args(["--quiet", "--no-report"]),
    );
    swept(
        mary(home)
            .args(sweep_words(n))
            .args(["--quiet", "--no-report"]),
    );
    (
        numbers(&only(home, "nano")),
        sweep_numbers(&only(home, "sweep")),
    )
}

#[test]
fn shards_on_this_machine_are_the_run() {
    let (one, many) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (run, sweep) = alone(one.path(), 4);
    let submit = |words: &[String]| {
        let mut command = mary(many.path());
        command
            .args(["submit", "local", "-n", "3", "--at-once", "2", "--"])
            .args(words);
        command
    };
    done(&mut submit(&run_words(4)));
    swept(&mut submit(&sweep_words(4)));
    let folder = only(many.path(), "nano");
    assert_same(&numbers(&folder), &run, "run");
    assert_all_same(&sweep_numbers(&only(many.path(), "sweep")), &sweep);
    // Divided anew, everything is there already; a plain run finds it, too.
    let again = done(&mut submit(&run_words(4)));
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("3 complete"),
        "{again:?}"
    );
    let plain = done(mary(many.path()).args(run_words(4)).args(["--no-report"]));
    assert!(
        String::from_utf8_lossy(&plain.stderr).contains("already answered"),
        "{plain:?}"
    );
    // The shards' answers are in the user's cache.
    let cache = done(mary(many.path()).args(["cache", "stats"]));
    assert!(
        !String::from_utf8_lossy(&cache.stdout).contains(" 0 answers"),
        "{cache:?}"
    );
    let jobs = done(mary(many.path()).args(["jobs", "--json", &folder.display().to_string()]));
    let jobs: Value = serde_json::from_slice(&jobs.stdout).unwrap();
    assert!(
        jobs["shards"]
            .as_array()
            .unwrap()
            .iter()
            .all(|s| s["standing"] == "complete"),
        "{jobs}"
    );
}

#[test]
fn what_is_missing_is_said_and_what_does_not_belong_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let shard = |index: &str| {
        let mut command = mary(home.path());
        command
            .args(run_words(4))
            .args(["--shard", index, "--quiet"]);
        command
    };
    done(&mut shard("0/3"));
    done(shard("/3").env("HQ_TASK_ID", "2"));
    let folder = only(home.path(), "nano");
    let merged = mary(home.path())
        .arg("merge")
        .arg(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&merged.stderr).into_owned();
    assert_eq!(merged.status.code(), Some(1), "{said}");
    assert!(
        said.contains("missing: shard 1/3") && said.contains("samples are missing"),
        "{said}"
    );
    // Another run's folder among the shards.
    done(
        mary(home.path())
            .args(run_words(3))
            .args(["--quiet", "--no-report"]),
    );
    let other = std::fs::read_dir(home.path().join("runs")).unwrap();
    let other = other
        .map(|e| e.unwrap().path())
        .find(|p| *p != folder)
        .unwrap();
    let foreign = folder.join("shards/001-of-003");
    std::fs::create_dir_all(&foreign).unwrap();
    for file in ["manifest.json", "samples.jsonl"] {
        std::fs::copy(other.join(file), foreign.join(file)).unwrap();
    }
    let before = std::fs::read(folder.join("samples.jsonl")).unwrap();
    let refused = mary(home.path())
        .arg("merge")
        .arg(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("is no part of run"),
        "{said}"
    );
    assert_eq!(std::fs::read(folder.join("samples.jsonl")).unwrap(), before);
    std::fs::remove_dir_all(&foreign).unwrap();
    done(&mut shard("1/3"));
    done(mary(home.path()).arg("merge").arg(&folder));
}

/// A Slurm of its own, stopped when dropped.
struct Cluster {
    folder: tempfile::TempDir,
    script: PathBuf,
}

impl Cluster {
    fn start() -> Option<Self> {
        let here = |program: &str| {
            ["/usr/sbin", "/usr/bin"]
                .iter()
                .any(|p| Path::new(p).join(program).exists())
        };
        if !["slurmctld", "slurmd", "munged", "sbatch"]
            .into_iter()
            .all(here)
        {
            skip(Lacking::Engines, "no Slurm here (Debian: slurm-wlm, munge)");
            return None;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/slurm-local.sh");
        // Under /tmp whatever TMPDIR says: a socket's path must be short.
        let folder = tempfile::Builder::new()
            .prefix("sl")
            .tempdir_in("/tmp")
            .unwrap();
        let cluster = Self { folder, script };
        let started = cluster.tool("start", &["4", "2"]);
        if !started.status.success() {
            let why = String::from_utf8_lossy(&started.stderr).into_owned();
            skip(
                Lacking::Engines,
                &format!("Slurm does not start here: {}", why.trim()),
            );
            return None;
        }
        Some(cluster)
    }

    fn tool(&self, what: &str, words: &[&str]) -> Output {
        Command::new(&self.script)
            .arg(what)
            .arg(self.folder.path())
            .args(words)
            .output()
            .unwrap()
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("conf/slurm.conf")
    }

    /// What one of Slurm's programs printed; nothing where the controller was too busy to answer it.
    fn asked(&self, program: &str, words: &[&str]) -> Option<String> {
        let output = Command::new(program)
            .args(words)
            .env("SLURM_CONF", self.conf())
            .output()
            .unwrap();
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn slurm(&self, program: &str, words: &[&str]) -> String {
        self.asked(program, words).unwrap_or_default()
    }

    fn submit(&self, home: &Path, (n, minutes): (&str, &str), words: &[String]) -> Output {
        let mut command = mary(home);
        command
            .env("SLURM_CONF", self.conf())
            .args(["submit", "slurm", "-n", n, "--time", minutes])
            .args(["--json", "--"])
            .args(words);
        swept(&mut command)
    }

    /// Waits until nothing is in the queue but for jobs of these numbers.
    fn wait(&self, but_for: &[String]) {
        until("the queue is empty", || {
            let queue = self.asked("squeue", &["-h", "-r", "-o", "%i %r"])?;
            let mut left = 0;
            for line in queue.lines() {
                let (task, reason) = line.trim().split_once(' ').unwrap_or((line, ""));
                let job = task.split('_').next().unwrap_or(task);
                if but_for.iter().any(|id| id == job) {
                    continue;
                }
                left += 1;
                // A busy node that could not start a job in time: Slurm holds it until told otherwise.
                if reason.contains("requeued_held") {
                    self.slurm("scontrol", &["release", task]);
                }
            }
            (left == 0).then_some(())
        });
    }

    /// Submits the same command again and again until all its shards are whole; says how often. Twice is
    /// enough unless the machine is too busy for Slurm itself.
    fn complete(&self, home: &Path, how: (&str, &str), words: &[String]) -> usize {
        for number in 2..8 {
            self.wait(&[]);
            let again = self.submit(home, how, words);
            let said = String::from_utf8_lossy(&again.stderr).into_owned();
            if said.contains(&format!("{} complete", how.0)) && said.contains("0 to be submitted") {
                return number - 1;
            }
        }
        panic!("not whole after eight submissions: {words:?}");
    }

    /// Processes of a node's daemon are ended, as by a crash; returns once they are gone.
    fn crash(&self, node: &str) {
        let file = self.folder.path().join(format!("run/slurmd-{node}.pid"));
        let pid = std::fs::read_to_string(file).unwrap();
        kill("-9", pid.trim());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.tool("stop", &[]);
    }
}

fn kill(signal: &str, pid: &str) {
    let _ = Command::new("kill").args([signal, pid]).output();
}

fn until<T>(what: &str, mut seen: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = seen() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What a shard says about itself once it has written something, unless it is done.
fn at_work(shard: &Path) -> Option<Option<Value>> {
    let text = std::fs::read_to_string(shard.join("shard.json")).ok()?;
    let status: Value = serde_json::from_str(&text).ok()?;
    if !status["end"].is_null() {
        return Some(None);
    }
    let begun = ["samples.jsonl", "manifest.json"]
        .iter()
        .all(|file| std::fs::metadata(shard.join(file)).is_ok_and(|m| m.len() > 0));
    begun.then_some(Some(status))
}

/// The disturbances, each on a shard of its own while it works; how many were in time.
fn disturb(cluster: &Cluster, folder: &Path, array: &str) -> usize {
    let mut in_time = 0;
    let shard = |k: usize| folder.join(format!("shards/{k:03}-of-004"));
    let task = |k: usize| format!("{array}_{k}");
    for k in 0..4 {
        let Some(status) = until("a shard works", || at_work(&shard(k))) else {
            continue;
        };
        in_time += 1;
        match k {
            // Killed without a word.
            0 => kill("-9", &status["process"]["pid"].to_string()),
            // A time limit, or a preemption: it stops in order and is requeued by its script.
            1 => drop(cluster.slurm("scancel", &["-f", "-s", "TERM", &task(1)])),
            // Requeued by the administrator.
            2 => drop(cluster.slurm("scontrol", &["requeue", &task(2)])),
            // Its node's daemon is killed and the node is taken for dead: Slurm starts the shard
            // elsewhere while the old process goes on, and only one of the two may write.
            _ => {
                let node = cluster.slurm("squeue", &["-h", "-r", "-j", &task(3), "-o", "%N"]);
                let node = node.trim().to_owned();
                if node.is_empty() {
                    in_time -= 1;
                    continue;
                }
                cluster.crash(&node);
                let name = format!("nodename={node}");
                cluster.slurm("scontrol", &["update", &name, "state=down", "reason=test"]);
                cluster.tool("slurmd", &[&node]);
                cluster.slurm("scontrol", &["update", &name, "state=resume"]);
            }
        }
    }
    in_time
}

/// The joined summary is that of one process, to the last bit of every number. Says where it is not.
fn assert_same(found: &Value, wanted: &Value, place: &str) {
    match (found, wanted) {
        (Value::Object(a), Value::Object(b)) => {
            let (a_keys, b_keys): (Vec<_>, Vec<_>) = (a.keys().collect(), b.keys().collect());
            assert_eq!(a_keys, b_keys, "{place}");
            for (key, value) in a {
                assert_same(value, &b[key], &format!("{place}.{key}"));
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            for (index, value) in a.iter().enumerate() {
                assert_same(value, &b[index], &format!("{place}[{index}]"));
            }
        }
        _ => assert_eq!(found, wanted, "{place}"),
    }
}

/// The same for every checkpoint of a sweep.
fn assert_all_same(found: &[(String, Value)], wanted: &[(String, Value)]) {
    assert_eq!(found.len(), wanted.len());
    for ((name, found), (other, wanted)) in found.iter().zip(wanted) {
        assert_eq!(name, other);
        assert_same(found, wanted, name);
    }
}

/// A run of one shard whose time limit is two minutes. It is stopped as soon as it works, so that it
/// cannot be done before, however quick the machine is.
struct Limited {
    home: tempfile::TempDir,
    /// Slurm's numbers of the array and of its merge.
    jobs: Vec<String>,
    pid: Option<String>,
}

impl Limited {
    const HOW: (&str, &str) = ("1", "2");

    fn words() -> Vec<String> {
        let text = "run -m builtin/nano@step512 -t psychometric/grammar --set n=300 --threads 1";
        text.split_whitespace().map(String::from).collect()
    }

    fn start(cluster: &Cluster) -> Self {
        let home = tempfile::tempdir().unwrap();
        let submitted = cluster.submit(home.path(), Self::HOW, &Self::words());
        let submitted: Value = serde_json::from_slice(&submitted.stdout).unwrap();
        let mut jobs = vec![submitted["jobs"][0].as_str().unwrap().to_owned()];
        jobs.extend(submitted["merge"].as_str().map(str::to_owned));
        let shard = only(home.path(), "nano").join("shards/000-of-001");
        let status = until("the shard has begun", || {
            let text = std::fs::read_to_string(shard.join("shard.json")).ok()?;
            serde_json::from_str::<Value>(&text).ok()
        });
        let pid = status["end"]
            .is_null()
            .then(|| status["process"]["pid"].to_string());
        if let Some(pid) = &pid {
            kill("-STOP", pid);
        }
        Self { home, jobs, pid }
    }

    /// Whether SIGTERM has been sent to the stopped process, or the process is gone.
    fn told(pid: &str) -> bool {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else {
            return true;
        };
        let pending = |name: &str| {
            let line = status.lines().find_map(|l| l.strip_prefix(name));
            let bits = u64::from_str_radix(line.unwrap_or("0").trim(), 16).unwrap_or(0);
            // SIGTERM is the fifteenth.
            bits & (1 << 14) != 0
        };
        pending("SigPnd:") || pending("ShdPnd:") || status.contains("State:\tZ")
    }

    /// Slurm has told the shard that its time is over; it goes on, stops in order, and is requeued.
    fn finish(self, cluster: &Cluster) {
        let home = self.home.path();
        if let Some(pid) = &self.pid {
            until("Slurm sends the signal of the time limit", || {
                Self::told(pid).then_some(())
            });
            kill("-CONT", pid);
        }
        let submissions = cluster.complete(home, Self::HOW, &Self::words());
        let array = &self.jobs[0];
        let job = cluster.slurm("scontrol", &["show", "job", &format!("{array}_0")]);
        let word = |name: &str| {
            let found = job.split_whitespace().find_map(|w| w.strip_prefix(name));
            found.unwrap_or_default().to_owned()
        };
        let (state, restarts) = (word("JobState="), word("Restarts="));
        eprintln!(
            "time limit: {state}, {restarts} restarts, whole after {submissions} submissions, in time: {}",
            self.pid.is_some()
        );
        assert!(
            self.pid.is_none() || restarts != "0" || state == "TIMEOUT",
            "the time limit was not hit: {job}"
        );
        let one = tempfile::tempdir().unwrap();
        done(
            mary(one.path())
                .args(Self::words())
                .args(["--quiet", "--no-report"]),
        );
        let (found, wanted) = (only(home, "nano"), only(one.path(), "nano"));
        assert_same(&numbers(&found), &numbers(&wanted), "after the time limit");
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // A process that is stopped would not notice that its cluster is.
        if let Some(pid) = &self.pid {
            kill("-CONT", pid);
        }
    }
}

/// The whole scenario with so many items of each kind.
fn scenario(n: usize) {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let (one, many) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let home = many.path();
    let limited = Limited::start(&cluster);
    let (four, three) = (("4", "30"), ("3", "30"));
    let submitted = cluster.submit(home, four, &run_words(n));
    let submitted: Value = serde_json::from_slice(&submitted.stdout).unwrap();
    let array = submitted["jobs"][0].as_str().unwrap();
    let folder = only(home, "nano");
    let in_time = disturb(&cluster, &folder, array);
    // One process does the same meanwhile.
    let (run, sweep) = alone(one.path(), n);
    cluster.wait(&limited.jobs);
    cluster.submit(home, three, &sweep_words(n));
    // The second call submits what is missing.
    cluster.submit(home, four, &run_words(n));
    limited.finish(&cluster);
    // The next finds nothing to do.
    let runs = cluster.complete(home, four, &run_words(n));
    let sweeps = cluster.complete(home, three, &sweep_words(n));
    cluster.wait(&[]);
    eprintln!(
        "{in_time} of 4 disturbances met a shard at work; whole after {} and {sweeps} submissions",
        runs + 1
    );
    assert_same(&numbers(&folder), &run, "run");
    assert_all_same(&sweep_numbers(&only(home, "sweep")), &sweep);
    let samples = std::fs::read_to_string(folder.join("samples.jsonl")).unwrap();
    let rows = run["rows"].as_array().unwrap().iter();
    let planned: u64 = rows.map(|row| row["samples"].as_u64().unwrap()).sum();
    assert_eq!(
        samples.lines().count() as u64,
        planned,
        "nothing lost, nothing doubled"
    );
}

#[test]
fn slurm_runs_shards_through_kills_requeues_and_a_dead_node() {
    scenario(60);
}

/// The same with shards of a minute and more: `cargo test -p mary -- --ignored slurm_for_longer`.
#[test]
#[ignore = "minutes"]
fn slurm_for_longer() {
    scenario(2000);
}

fn engines_python() -> Option<PathBuf> {
    match std::env::var_os("MARY_ENGINES_PYTHON") {
        Some(python) => Some(python.into()),
        None => {
            let why = "MARY_ENGINES_PYTHON is not set (tools/make_peers.sh: hyperqueue, kubernetes-validate)";
            skip(Lacking::Engines, why);
            None
        }
    }
}

/// Runs a program of Python's with words behind it.
fn python(python: &Path, program: &str, words: &[&Path]) -> Output {
    // The engine writes what a task prints beside where it is started.
    let place = words.first().and_then(|word| word.parent());
    let mut command = Command::new(python);
    command.arg("-c").arg(program).args(words);
    done(command.current_dir(place.unwrap_or(Path::new("."))))
}

#[test]
fn hyperqueue_runs_the_array() {
    let Some(peer) = engines_python() else { return };
    let (one, many) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    done(
        mary(one.path())
            .args(run_words(4))
            .args(["--quiet", "--no-report"]),
    );
    let mut submit = mary(many.path());
    // Without HyperQueue's own command on the path, the scripts are left to the user.
    submit
        .env("PATH", "/usr/bin:/bin")
        .args(["submit", "hyperqueue", "-n", "4", "--"]);
    let said = done(submit.args(run_words(4)));
    assert!(String::from_utf8_lossy(&said.stderr).contains("001-hyperqueue-submit.sh"));
    let folder = only(many.path(), "nano");
    // The package has no `hq`; its library submits the same script as an array of four.
    let program = "
import sys
from hyperqueue import LocalCluster, Job
from hyperqueue.cluster import WorkerConfig
with LocalCluster() as cluster:
    for _ in range(2):
        cluster.start_worker(WorkerConfig(cores=1))
    client = cluster.client()
    job = Job()
    tasks = [job.program([sys.argv[1]]) for _ in range(4)]
    job.program([sys.argv[2], 'merge', sys.argv[3]], deps=tasks)
    client.wait_for_jobs([client.submit(job)])
";
    let script = folder.join("submit/001-hyperqueue-task.sh");
    let program_path = PathBuf::from(env!("CARGO_BIN_EXE_mary"));
    python(&peer, program, &[&script, &program_path, &folder]);
    let alone = numbers(&only(one.path(), "nano"));
    assert_same(&numbers(&folder), &alone, "run");
}

#[test]
fn the_manifest_passes_a_validator_with_the_published_schemas() {
    let Some(peer) = engines_python() else { return };
    let home = tempfile::tempdir().unwrap();
    let mut submit = mary(home.path());
    submit
        .env("PATH", "/nowhere")
        .args([
            "submit",
            "kubernetes",
            "-n",
            "6",
            "--at-once",
            "2",
            "--gpus",
            "1",
            "--memory",
            "16Gi",
        ])
        .args([
            "--time",
            "2:00:00",
            "--image",
            "registry.example/mary:1",
            "--claim",
            "mary",
            "--",
        ]);
    let said = done(submit.args(run_words(4)));
    assert!(String::from_utf8_lossy(&said.stderr).contains("kubectl apply -f"));
    let manifest = only(home.path(), "nano").join("submit/001-kubernetes.yaml");
    let validate = |path: &Path| {
        Command::new(peer.with_file_name("kubernetes-validate"))
            .args(["--strict"])
            .arg(path)
            .output()
            .unwrap()
    };
    let valid = validate(&manifest);
    let said = String::from_utf8_lossy(&valid.stdout).into_owned()
        + &String::from_utf8_lossy(&valid.stderr);
    assert!(valid.status.success(), "{said}");
    // The validator would have noticed.
    let text = std::fs::read_to_string(&manifest).unwrap();
    let wrong = home.path().join("wrong.yaml");
    for (right, broken) in [
        ("completions: 6", "completions: six"),
        ("parallelism", "paralelism"),
    ] {
        assert!(text.contains(right));
        std::fs::write(&wrong, text.replace(right, broken)).unwrap();
        assert!(!validate(&wrong).status.success(), "{broken}");
    }
}
