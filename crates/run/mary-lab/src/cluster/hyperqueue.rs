//! HyperQueue: a script for a task of an array, and the lines that submit it.

use crate::cluster::job::{Job, Script, one_line, quoted};

/// The list of shards, the script of a task, and the script that submits both the array and the merge.
pub fn scripts(job: &Job) -> Vec<Script> {
    vec![
        job.script("hyperqueue-task.sh", task(job)),
        job.script("hyperqueue-submit.sh", submit(job)),
        job.list("shards-0.txt", &job.shards),
    ]
}

fn task(job: &Job) -> String {
    format!(
        "#!/bin/bash\n\
         # A shard of {}\n\
         # Line k of the list is the shard of task k.\n\
         {}{}exec {}\n",
        one_line(job.folder.display()),
        job.preamble(),
        Job::choose(&job.file("shards-0.txt"), "HQ_TASK_ID"),
        job.command(),
    )
}

fn submit(job: &Job) -> String {
    let mut options = vec![
        format!("--array 0-{}", job.shards.len().saturating_sub(1)),
        format!("--name {}", quoted(&job.name)),
        format!("--cpus {}", job.needs.cpus.max(1)),
    ];
    if job.needs.gpus > 0 {
        options.push(format!("--resource gpus/nvidia={}", job.needs.gpus));
    }
    let time = job.needs.time.iter();
    options.extend(time.map(|t| format!("--time-limit {}", quoted(t))));
    options.extend(job.needs.extra.iter().map(one_line));
    let log = |name: &str| quoted(&job.file(name).to_string_lossy());
    format!(
        include_str!("hyperqueue-submit.sh"),
        folder = one_line(job.folder.display()),
        preamble = job.preamble(),
        options = options.join(" "),
        out = log("%{TASK_ID}.log"),
        err = log("%{TASK_ID}.err"),
        script = quoted(&job.file("hyperqueue-task.sh").to_string_lossy()),
        merge = job.merge_command(),
    )
}

/// The line that submits the array, for people.
pub fn line(job: &Job) -> String {
    quoted(&job.file("hyperqueue-submit.sh").to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::job::tests::job;

    #[test]
    fn a_task_finds_its_shard_by_its_number() {
        let scripts = scripts(&job());
        assert!(scripts[0].text.contains("HQ_TASK_ID + 1"));
        assert!(
            scripts[1]
                .text
                .contains("hq submit --output-mode quiet --array 0-2")
        );
        assert!(scripts[1].text.contains("--resource gpus/nvidia=1"));
        for script in &scripts[..2] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("script.sh");
            std::fs::write(&path, &script.text).unwrap();
            let checked = std::process::Command::new("bash")
                .arg("-n")
                .arg(&path)
                .output()
                .unwrap();
            assert!(checked.status.success());
        }
    }
}
