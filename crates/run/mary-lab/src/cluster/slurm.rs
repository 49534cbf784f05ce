//! Slurm: an array script, a merge that waits for it, and what the queue says.

use std::collections::BTreeMap;

use crate::cluster::job::{Job, Script, one_line, quoted};

/// Seconds before a time limit at which a shard is told to stop.
const WARNING: u32 = 60;

/// The scripts of a job: for each array of at most `array_limit` tasks its shards and script, and the merge.
pub fn scripts(job: &Job, array_limit: usize) -> Vec<Script> {
    let mut scripts = Vec::new();
    for (part, shards) in job.shards.chunks(array_limit.max(1)).enumerate() {
        let list = job.list(&format!("shards-{part}.txt"), shards);
        scripts.push(job.script(&format!("slurm-{part}.sh"), array(job, part, shards.len())));
        scripts.push(list);
    }
    scripts.push(job.script("slurm-merge.sh", merge(job)));
    scripts
}

fn array(job: &Job, part: usize, tasks: usize) -> String {
    let needs = &job.needs;
    let mut lines = vec![
        format!("--job-name={}", directive(&job.name)),
        match needs.at_once {
            Some(most) => format!("--array=0-{}%{most}", tasks - 1),
            None => format!("--array=0-{}", tasks - 1),
        },
        output(job, "%A_%a.log"),
        "--open-mode=append".into(),
        "--requeue".into(),
        format!("--signal=B:TERM@{WARNING}"),
        format!("--cpus-per-task={}", needs.cpus.max(1)),
    ];
    if needs.gpus > 0 {
        lines.push(format!("--gres=gpu:{}", needs.gpus));
    }
    let option = |name: &str, value: &Option<String>| {
        let value = value.as_deref()?;
        Some(format!("--{name}={}", directive(value)))
    };
    lines.extend(option("mem", &needs.memory));
    lines.extend(option("time", &needs.time));
    lines.extend(option("partition", &needs.partition));
    lines.extend(needs.extra.iter().cloned());
    let list = job.file(&format!("shards-{part}.txt"));
    format!(
        include_str!("slurm.sh"),
        folder = one_line(job.folder.display()),
        script = one_line(quoted(
            &job.file(&format!("slurm-{part}.sh")).to_string_lossy()
        )),
        lines = directives(&lines),
        preamble = job.preamble(),
        choose = Job::choose(&list, "SLURM_ARRAY_TASK_ID"),
        command = job.command(),
    )
}

fn directives(lines: &[String]) -> String {
    let line = |l: &String| format!("#SBATCH {}\n", one_line(l));
    lines.iter().map(line).collect()
}

/// A value in a directive. `sbatch` hands these lines to no shell: it cuts at spaces, removes quotes and
/// takes `#` for a comment, but a backslash keeps the next character, also between quotes.
fn directive(value: &str) -> String {
    let mut text = String::new();
    for c in one_line(value).chars() {
        if c.is_whitespace() || matches!(c, '\'' | '"' | '#' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// Where a job prints to. Slurm fills in `%` codes in the file's name; those of the folder are escaped.
fn output(job: &Job, name: &str) -> String {
    let path = job.file(name);
    let folder = path.parent().unwrap_or(&path).to_string_lossy();
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    format!("--output={}/{file}", directive(&folder.replace('%', "%%")))
}

fn merge(job: &Job) -> String {
    let mut lines = vec![
        format!("--job-name={}-merge", directive(&job.name)),
        output(job, "merge-%j.log"),
        "--open-mode=append".into(),
    ];
    let partition = job.needs.partition.iter();
    lines.extend(partition.map(|p| format!("--partition={}", directive(p))));
    lines.extend(job.needs.extra.iter().cloned());
    format!(
        "#!/bin/bash\n\
         # Joins the shards of {}\n\
         # Runs when they have ended, well or not, and says what is missing.\n\
         {}{}exec {}\n",
        one_line(job.folder.display()),
        directives(&lines),
        job.preamble(),
        job.merge_command(),
    )
}

/// The largest array a controller accepts, from `scontrol show config` (one more than the largest index).
pub fn array_limit(config: &str) -> Option<usize> {
    let line = config
        .lines()
        .find(|l| l.trim_start().starts_with("MaxArraySize"))?;
    line.split('=').nth(1)?.trim().parse().ok()
}

/// The number of a job from what `sbatch --parsable` printed.
pub fn job_id(printed: &str) -> Option<String> {
    let id = printed.trim().split(';').next()?;
    (!id.is_empty() && id.chars().all(|c| c.is_ascii_digit())).then(|| id.to_owned())
}

/// What `squeue -h -r -o '%i %T %r'` says of tasks of arrays: state and reason by job and task.
pub fn queue(printed: &str) -> BTreeMap<(String, usize), (String, String)> {
    let task = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (job, task) = words.next()?.split_once('_')?;
        let state = words.next()?.to_owned();
        let reason = words.next().unwrap_or_default().trim().to_owned();
        Some(((job.to_owned(), task.parse().ok()?), (state, reason)))
    };
    printed.lines().filter_map(|l| task(l.trim())).collect()
}

/// The line that submits a script, for people.
pub fn line(job: &Job, part: usize) -> String {
    let script = job.file(&format!("slurm-{part}.sh"));
    format!("sbatch {}", quoted(&script.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::job::tests::job;

    #[test]
    fn a_script_says_everything_and_is_a_shell_script() {
        let scripts = scripts(&job(), 1001);
        let names: Vec<&str> = scripts.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(
            names,
            ["002-slurm-0.sh", "002-shards-0.txt", "002-slurm-merge.sh"]
        );
        let text = &scripts[0].text;
        for wanted in [
            "#SBATCH --array=0-2%2\n",
            "#SBATCH --gres=gpu:1\n",
            "#SBATCH --mem=16G\n",
            "#SBATCH --time=2:00:00\n",
            "#SBATCH --partition=short\n",
            "#SBATCH --account=lab\n",
            "#SBATCH --requeue\n",
            "cd '/home/me/my work' || exit 4\n",
            "--set 'it'\\''s=1' --shard \"$shard/8\"",
        ] {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
        assert_eq!(scripts[1].text, "0\n3\n7\n");
        for script in [&scripts[0], &scripts[2]] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("script.sh");
            std::fs::write(&path, &script.text).unwrap();
            let checked = std::process::Command::new("bash")
                .arg("-n")
                .arg(&path)
                .output()
                .unwrap();
            assert!(
                checked.status.success(),
                "{}",
                String::from_utf8_lossy(&checked.stderr)
            );
        }
    }

    /// As `sbatch` reads a directive (`get_argument` in its `opt.c`): words end at spaces, a backslash keeps
    /// the next character, quotes group, `#` begins a comment.
    fn read(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            match (c, quote) {
                ('\\', _) => word.extend(chars.next()),
                (c, Some(open)) if c == open => quote = None,
                ('"' | '\'', None) => quote = Some(c),
                ('#', None) => break,
                (c, None) if c.is_whitespace() => words.push(std::mem::take(&mut word)),
                (c, _) => word.push(c),
            }
        }
        words.push(word);
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn a_folder_of_any_name_reaches_sbatch_as_it_is() {
        for folder in [
            "/home/me/my runs/nano",
            "/home/o'brien/runs",
            "/data/a#b \"c\"/runs",
            "/data/100% sure/runs",
        ] {
            let mut job = job();
            job.folder = folder.into();
            job.needs.partition = Some("two words".into());
            for script in scripts(&job, 1001) {
                let lines = script.text.lines();
                for line in lines.filter_map(|l| l.strip_prefix("#SBATCH ")) {
                    let words = read(line);
                    assert_eq!(words.len(), 1, "{line}");
                    if let Some(path) = words[0].strip_prefix("--output=") {
                        let expected = format!("{}/submit/002-", folder.replace('%', "%%"));
                        assert!(path.starts_with(&expected), "{line}");
                        assert!(path.ends_with("%A_%a.log") || path.ends_with("merge-%j.log"));
                    }
                    if let Some(name) = words[0].strip_prefix("--partition=") {
                        assert_eq!(name, "two words");
                    }
                }
            }
        }
    }

    #[test]
    fn arrays_stay_within_the_limit_of_the_controller() {
        let mut job = job();
        (job.of, job.shards) = (2500, (0..2500).collect());
        job.needs.at_once = None;
        let scripts = scripts(
            &job,
            array_limit("MaxArraySize            = 1001\n").unwrap(),
        );
        let heads: Vec<&str> = scripts
            .iter()
            .filter_map(|s| s.text.lines().find(|l| l.starts_with("#SBATCH --array")))
            .collect();
        assert_eq!(
            heads,
            [
                "#SBATCH --array=0-1000",
                "#SBATCH --array=0-1000",
                "#SBATCH --array=0-497"
            ]
        );
        let listed: String = scripts
            .iter()
            .filter(|s| s.name.ends_with("txt"))
            .map(|s| s.text.as_str())
            .collect();
        assert_eq!(listed.lines().count(), 2500);
    }

    #[test]
    fn what_the_engine_prints_is_read() {
        assert_eq!(job_id("17;cluster\n").as_deref(), Some("17"));
        assert_eq!(job_id("sbatch: error"), None);
        let queue = queue("17_3 RUNNING None\n17_4 PENDING Resources\n18 PENDING Dependency\n");
        assert_eq!(queue.len(), 2);
        assert_eq!(queue[&("17".to_owned(), 4)].1, "Resources");
    }
}
