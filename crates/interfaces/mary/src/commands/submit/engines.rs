//! Calling the engines: `sbatch`, `hq`, `kubectl`, or processes on this machine.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use mary_lab::cluster::progress::now;
use mary_lab::cluster::{Engine, Job, Submission, Submissions, hyperqueue, kubernetes, slurm};
use mary_platform::counted;

use crate::commands::{print_json, tell};
use crate::exit::{MissingError, Status, missing_error};
use crate::interrupt;

/// Tasks of a Slurm array, where the controller does not say.
const USUAL_LIMIT: usize = 1001;

fn printed(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn slurm_array_limit() -> usize {
    printed("scontrol", &["show", "config"])
        .and_then(|config| slurm::array_limit(&config))
        .unwrap_or(USUAL_LIMIT)
}

/// Shards that Slurm still has in its queue, waiting or running.
pub fn queued(submissions: &Submissions, of: usize) -> Vec<usize> {
    let ours = submissions
        .all
        .iter()
        .filter(|s| s.engine == Engine::Slurm && s.of == of);
    let jobs: Vec<&str> = ours
        .clone()
        .flat_map(|s| &s.jobs)
        .map(String::as_str)
        .collect();
    if jobs.is_empty() {
        return Vec::new();
    }
    // A job that was purged makes squeue fail for all of them: it is asked about one by one.
    let mut shards = BTreeSet::new();
    for job in jobs {
        let Some(text) = printed("squeue", &["-h", "-r", "-j", job, "-o", "%i %T %r"]) else {
            continue;
        };
        let queue = slurm::queue(&text);
        for submission in ours.clone() {
            for &shard in &submission.shards {
                let task = submission.task_of(shard);
                if task.is_some_and(|(j, t)| queue.contains_key(&(j.to_owned(), t))) {
                    shards.insert(shard);
                }
            }
        }
    }
    shards.into_iter().collect()
}

pub fn merge(job: &Job) -> anyhow::Result<Status> {
    let ended = Command::new(&job.program)
        .arg("merge")
        .arg(&job.folder)
        .envs(job.environment.iter().cloned())
        .status()
        .context("the merge could not be started")?;
    Ok(match ended.code() {
        Some(0) => Status::Done,
        _ => Status::Incomplete,
    })
}

pub struct Call<'a> {
    pub job: &'a Job,
    pub submissions: Submissions,
    pub limit: usize,
    pub engine: Engine,
    pub json: bool,
}

impl Call<'_> {
    pub fn submit(mut self) -> anyhow::Result<Status> {
        match self.engine {
            Engine::Slurm => self.slurm(),
            Engine::Hyperqueue => {
                let script = self.job.file("hyperqueue-submit.sh");
                self.note(Vec::new(), None)?;
                let line = hyperqueue::line(self.job);
                self.by_script("hq", Command::new(&script), &line)
            }
            Engine::Kubernetes => {
                self.note(Vec::new(), None)?;
                let mut apply = Command::new("kubectl");
                apply
                    .args(["apply", "-f"])
                    .arg(self.job.file("kubernetes.yaml"));
                self.by_script("kubectl", apply, &kubernetes::line(self.job))
            }
            Engine::Local => self.local(),
        }
    }

    fn note(&mut self, jobs: Vec<String>, merge: Option<String>) -> anyhow::Result<()> {
        let submission = Submission {
            number: self.job.number,
            engine: self.engine,
            of: self.job.of,
            shards: self.job.shards.clone(),
            jobs,
            array_limit: self.limit,
            merge,
            at: now(),
            submitter: (self.engine == Engine::Local).then(mary_store::Holder::this),
        };
        if self.json {
            print_json(&submission)?;
        }
        Ok(self.submissions.note(submission)?)
    }

    fn sbatch(&self, words: &[String]) -> anyhow::Result<String> {
        let output = Command::new("sbatch")
            .arg("--parsable")
            .args(words)
            .stdin(Stdio::null())
            .output();
        let output = output.map_err(|error| {
            MissingError(format!(
                "sbatch could not be started: {error}\nhint: submit where Slurm's commands are; the scripts are in {}",
                self.job.folder.join("submit").display()
            ))
        })?;
        let text = String::from_utf8_lossy(&output.stdout);
        match slurm::job_id(&text).filter(|_| output.status.success()) {
            Some(id) => Ok(id),
            None => missing_error(format!(
                "sbatch {} failed: {}",
                words.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            )),
        }
    }

    fn slurm(&mut self) -> anyhow::Result<Status> {
        let arrays = self.job.shards.len().div_ceil(self.limit.max(1));
        let mut jobs = Vec::new();
        for part in 0..arrays {
            let script = self.job.file(&format!("slurm-{part}.sh"));
            let id = self.sbatch(&[script.display().to_string()]);
            match id {
                Ok(id) => jobs.push(id),
                Err(error) => {
                    // What was accepted is noted, so that it is not submitted twice.
                    if !jobs.is_empty() {
                        self.note(jobs, None)?;
                    }
                    return Err(error);
                }
            }
        }
        // `afterany`: a merge of what is there says what is missing; `afterok` would wait for ever.
        let after = format!("--dependency=afterany:{}", jobs.join(":"));
        let script = self.job.file("slurm-merge.sh");
        let merge = self.sbatch(&[after, script.display().to_string()]);
        let (merge, trouble) = match merge {
            Ok(id) => (Some(id), None),
            Err(error) => (None, Some(error)),
        };
        tell!(
            "submitted {} as {}{}",
            counted(self.job.shards.len(), "shard"),
            jobs.join(", "),
            merge
                .as_ref()
                .map_or_else(String::new, |id| format!("; merge {id} waits for them"))
        );
        self.note(jobs, merge)?;
        trouble.map_or(Ok(Status::Done), Err)
    }

    /// Starts another tool's command, or says how to.
    fn by_script(&self, tool: &str, mut command: Command, line: &str) -> anyhow::Result<Status> {
        if printed(tool, &["--help"]).is_none() {
            tell!(
                "`{tool}` is not here; the scripts are in {}\nsubmit them where it is: {line}",
                self.job.folder.join("submit").display()
            );
            return Ok(Status::Done);
        }
        let status = command.status().with_context(|| line.to_owned())?;
        Ok(Status::done_if(status.success()))
    }

    /// Runs the shards here, so many at once, and joins them.
    fn local(&mut self) -> anyhow::Result<Status> {
        self.note(Vec::new(), None)?;
        let stop = interrupt::flag()?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let most = self.job.needs.at_once.unwrap_or(cores).max(1);
        let mut waiting = self.job.shards.iter().copied().rev().collect::<Vec<_>>();
        let mut running: Vec<(usize, Child)> = Vec::new();
        let mut failed = Vec::new();
        while !waiting.is_empty() || !running.is_empty() {
            if stop.load(Ordering::Relaxed) {
                waiting.clear();
                tell_to_stop(&mut running);
            }
            while running.len() < most
                && let Some(shard) = waiting.pop()
            {
                running.push((shard, self.shard(shard)?));
            }
            let mut still = Vec::new();
            for (shard, mut child) in running {
                match child.try_wait()? {
                    None => still.push((shard, child)),
                    Some(status) if status.success() => {}
                    Some(status) => failed.push(format!("{shard}/{} ({status})", self.job.of)),
                }
            }
            running = still;
            std::thread::sleep(Duration::from_millis(20));
        }
        if !failed.is_empty() {
            tell!("shards that did not end well: {}", failed.join(", "));
        }
        merge(self.job)
    }

    fn shard(&self, shard: usize) -> anyhow::Result<Child> {
        let log = self.job.file(&format!("{shard}.log"));
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let log = std::fs::File::create(&log).with_context(|| log.display().to_string())?;
        Command::new(&self.job.program)
            .args(&self.job.words)
            .args([
                "--shard",
                &format!("{shard}/{}", self.job.of),
                "--quiet",
                "--no-report",
            ])
            .envs(self.job.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("shard {shard} could not be started"))
    }
}

/// Sends SIGTERM once to every child: they end in order, and can go on.
fn tell_to_stop(running: &mut [(usize, Child)]) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    for (_, child) in running {
        let _ = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status();
    }
}
