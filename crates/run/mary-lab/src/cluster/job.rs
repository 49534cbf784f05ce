//! What is to be submitted, and the words of a shell that all engines share.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Who runs the shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// `sbatch`.
    Slurm,
    /// `hq submit`.
    Hyperqueue,
    /// An Indexed Job.
    Kubernetes,
    /// Processes on this machine.
    Local,
}

/// What a shard needs of the engine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Needs {
    /// CPU cores.
    pub cpus: usize,
    /// GPUs.
    pub gpus: usize,
    /// Memory as the engine writes it (`16G`, `16Gi`).
    pub memory: Option<String>,
    /// Time limit: `2:00:00` for Slurm, seconds for Kubernetes are worked out from it.
    pub time: Option<String>,
    /// Slurm's partition.
    pub partition: Option<String>,
    /// Shards at once, at most.
    pub at_once: Option<usize>,
    /// Lines for the engine as they are (`--account=x`).
    pub extra: Vec<String>,
    /// Container image.
    pub image: Option<String>,
    /// Claim of the volume that holds runs, data and models.
    pub claim: Option<String>,
}

/// Shards of one run or sweep that are submitted together.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// A short name for queues.
    pub name: String,
    /// The run or sweep folder, by its whole path.
    pub folder: PathBuf,
    /// The program, by its whole path.
    pub program: PathBuf,
    /// Its words without `--shard`: `run`, `-m`, …
    pub words: Vec<String>,
    /// Where it is started.
    pub directory: PathBuf,
    /// Variables it was started with that its places depend on.
    pub environment: Vec<(String, String)>,
    /// How many shards the work has.
    pub of: usize,
    /// Those to be submitted.
    pub shards: Vec<usize>,
    /// Which submission of this folder this is, from 1.
    pub number: usize,
    /// What a shard needs.
    pub needs: Needs,
}

/// A file for an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its name in the folder `submit/`.
    pub name: String,
    /// What it holds.
    pub text: String,
}

pub(crate) fn submit_folder(folder: &Path) -> PathBuf {
    folder.join("submit")
}

impl Job {
    /// A file of this submission.
    pub fn file(&self, name: &str) -> PathBuf {
        submit_folder(&self.folder).join(format!("{:03}-{name}", self.number))
    }

    pub(crate) fn script(&self, name: &str, text: String) -> Script {
        Script {
            name: format!("{:03}-{name}", self.number),
            text,
        }
    }

    /// The list of shards, one a line: task k of an array does the shard of line k.
    pub fn list(&self, name: &str, shards: &[usize]) -> Script {
        let lines: Vec<String> = shards.iter().map(|s| format!("{s}\n")).collect();
        self.script(name, lines.concat())
    }

    /// The beginning of a script: where it runs, and with which variables.
    pub(crate) fn preamble(&self) -> String {
        let mut text = format!(
            "cd {} || exit 4\n",
            quoted(&self.directory.to_string_lossy())
        );
        for (name, value) in &self.environment {
            text.push_str(&format!("export {name}={}\n", quoted(value)));
        }
        text
    }

    /// The command of a shard, whose number is in `$shard`.
    pub(crate) fn command(&self) -> String {
        let mut words = vec![quoted(&self.program.to_string_lossy())];
        words.extend(self.words.iter().map(|w| quoted(w)));
        format!(
            "{} --shard \"$shard/{}\" --quiet --no-report",
            words.join(" "),
            self.of
        )
    }

    pub(crate) fn merge_command(&self) -> String {
        format!(
            "{} merge {}",
            quoted(&self.program.to_string_lossy()),
            quoted(&self.folder.to_string_lossy())
        )
    }

    /// Reads `$shard` from a list of shards by an engine's number.
    pub(crate) fn choose(list: &Path, variable: &str) -> String {
        format!(
            "shard=$(sed -n \"$(({variable} + 1))p\" {})\n",
            quoted(&list.to_string_lossy())
        )
    }
}

/// A text that stands in a comment or a directive of a script: what it holds stays on its line.
pub(crate) fn one_line(text: impl std::fmt::Display) -> String {
    mary_platform::visible_line(&text.to_string()).into_owned()
}

/// A word for a shell, whatever it holds.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn job() -> Job {
        Job {
            name: "mary-nano".into(),
            folder: "/runs/nano-abc".into(),
            program: "/opt/mary".into(),
            words: ["run", "-m", "builtin/nano", "--set", "it's=1"]
                .map(String::from)
                .to_vec(),
            directory: "/home/me/my work".into(),
            environment: vec![("MARY_RUNS".into(), "/runs".into())],
            of: 8,
            shards: vec![0, 3, 7],
            number: 2,
            needs: Needs {
                cpus: 4,
                gpus: 1,
                memory: Some("16G".into()),
                time: Some("2:00:00".into()),
                partition: Some("short".into()),
                at_once: Some(2),
                extra: vec!["--account=lab".into()],
                image: Some("registry/mary:1".into()),
                claim: Some("mary".into()),
            },
        }
    }

    /// Names with line breaks in comments, directives and options: nothing but the shard's command may
    /// run, and no line of the script is theirs.
    #[test]
    fn no_name_becomes_a_line_of_a_script() {
        let evil = "x\ntouch owned #; touch owned\n#SBATCH --wrap=owned";
        let mut job = job();
        job.folder = format!("/runs/{evil}").into();
        job.name = evil.into();
        job.needs.partition = Some(evil.into());
        job.needs.memory = Some(evil.into());
        job.needs.time = Some("1h; touch owned".into());
        job.needs.extra = vec![evil.into()];
        let mut all = crate::cluster::slurm::scripts(&job, 10);
        all.extend(crate::cluster::hyperqueue::scripts(&job));
        all.extend(crate::cluster::kubernetes::scripts(&job));
        for script in &all {
            // Inside of quotes a shell takes a line break for what it is; elsewhere there is none.
            let mut quoted = false;
            for line in script.text.lines() {
                assert!(
                    quoted || !(line.starts_with("touch") || line.starts_with("#SBATCH --wrap")),
                    "{}:\n{}",
                    script.name,
                    script.text
                );
                quoted ^= line.matches('\'').count() % 2 == 1;
            }
        }
        let submit = all
            .iter()
            .find(|s| s.name.ends_with("hyperqueue-submit.sh"));
        let submit = &submit.unwrap().text;
        assert!(
            submit.contains("--time-limit '1h; touch owned'"),
            "{submit}"
        );
    }

    /// Every engine's script is carried out in folders with a space, an apostrophe and a `$`, by the shells that
    /// carry it out, and by the rules that Kubernetes has for `$`. The programs write down what they were told.
    #[test]
    fn scripts_work_in_a_folder_of_any_name() {
        use std::os::unix::fs::PermissionsExt as _;
        for name in ["my runs", "o'brien", "a $$ b $(HOME) \"c\""] {
            let home = tempfile::tempdir().unwrap();
            let home = home.path().join(name);
            std::fs::create_dir_all(home.join("bin")).unwrap();
            let told = home.join("told.txt");
            for program in ["mary", "hq"] {
                let path = home.join("bin").join(program);
                let note = format!("printf '%s|' \"$@\" >> {}", quoted(&told.to_string_lossy()));
                let text = format!("#!/bin/sh\n{note}\necho 17\n");
                std::fs::write(&path, text).unwrap();
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(&path, mode).unwrap();
            }
            let mut job = job();
            job.folder = home.join("run");
            job.directory.clone_from(&home);
            job.program = home.join("bin/mary");
            job.environment = vec![("MARY_RUNS".into(), home.display().to_string())];
            let path = format!("{}:/usr/bin:/bin", home.join("bin").display());
            let carried_out = |shell: &str, text: &str| {
                let _ = std::fs::remove_file(&told);
                let ended = std::process::Command::new(shell)
                    .args(["-c", text])
                    .env("PATH", &path)
                    .env("SLURM_ARRAY_TASK_ID", "1")
                    .env("HQ_TASK_ID", "1")
                    .env("JOB_COMPLETION_INDEX", "1")
                    .output()
                    .unwrap();
                assert!(ended.status.success(), "{name}: {ended:?}\n{text}");
                std::fs::read_to_string(&told).unwrap()
            };
            let mut all = crate::cluster::slurm::scripts(&job, 10);
            all.extend(crate::cluster::hyperqueue::scripts(&job));
            all.extend(crate::cluster::kubernetes::scripts(&job));
            std::fs::create_dir_all(submit_folder(&job.folder)).unwrap();
            for script in &all {
                std::fs::write(submit_folder(&job.folder).join(&script.name), &script.text)
                    .unwrap();
            }
            let shard = "run|-m|builtin/nano|--set|it's=1|--shard|3/8|--quiet|--no-report|";
            let merge = format!("merge|{}|", job.folder.display());
            for script in &all {
                let yaml = script
                    .text
                    .lines()
                    .filter_map(|l| l.trim().strip_prefix("- \""));
                let commands: Vec<String> = yaml
                    .map(|l| serde_json::from_str(&format!("\"{l}")).unwrap())
                    .map(|command: String| command.replace("$$", "$"))
                    .collect();
                match (script.name.as_str(), commands.as_slice()) {
                    (file, _) if file.contains("slurm-0") || file.contains("task") => {
                        assert_eq!(carried_out("bash", &script.text), shard, "{name}");
                    }
                    (file, _) if file.contains("merge") => {
                        assert_eq!(carried_out("bash", &script.text), merge, "{name}");
                    }
                    (file, _) if file.contains("hyperqueue-submit") => {
                        let told = carried_out("bash", &script.text);
                        let log = job.file("%{TASK_ID}.log").display().to_string();
                        assert!(told.contains(&format!("|--stdout|{log}|")), "{told}");
                        assert!(told.ends_with(&merge), "{told}");
                    }
                    (file, [array, join]) if file.ends_with("yaml") => {
                        assert_eq!(carried_out("sh", array), shard, "{name}");
                        assert_eq!(carried_out("sh", join), merge, "{name}");
                    }
                    (file, _) => assert!(file.ends_with(".txt"), "{file}"),
                }
            }
        }
    }

    #[test]
    fn words_reach_a_shell_as_they_are() {
        for word in ["plain", "it's", "a b", "$HOME", "", "*", "x\"y", "a\nb"] {
            let said = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
    }
}
