//! Kubernetes: an Indexed Job with a volume, and a second Job that joins the shards. No job can wait for
//! another, so the merge is tried again until every shard is whole (it exits 1 before) or its deadline
//! passes.

use std::path::Path;

use crate::cluster::job::{Job, Script, one_line, quoted};

/// Where the volume is seen inside the containers.
pub const VOLUME: &str = "/mary";
/// How often a shard may fail by itself before it is given up; the next `mary submit` tries it again.
const RETRIES: usize = 3;
/// The merge gives up after a week.
const DEADLINE: u64 = 7 * 24 * 3600;

/// The list of shards and the manifest.
pub fn scripts(job: &Job) -> Vec<Script> {
    vec![
        job.script("kubernetes.yaml", manifest(job)),
        job.list("shards-0.txt", &job.shards),
    ]
}

fn manifest(job: &Job) -> String {
    let shards = job.shards.len().max(1);
    let command = format!(
        "{}{}exec {}",
        job.preamble(),
        Job::choose(&job.file("shards-0.txt"), "JOB_COMPLETION_INDEX"),
        job.command(),
    );
    let name = name(&format!("{}-{}", job.name, job.number));
    let mut array = format!(
        include_str!("kubernetes.yaml"),
        name = name,
        shards = shards,
        RETRIES = RETRIES,
        folder = one_line(job.folder.display()),
        file = job.script("kubernetes.yaml", String::new()).name,
        at_once = job.needs.at_once.unwrap_or(shards),
    );
    if let Some(seconds) = job.needs.time.as_deref().and_then(seconds) {
        array.push_str(&format!("  activeDeadlineSeconds: {seconds}\n"));
    }
    // A pod that its node took away (drained, preempted) is no failure of the shard.
    array.push_str(
        "  podFailurePolicy:\n    rules:\n      - action: Ignore\n        onPodConditions:\n          \
         - type: DisruptionTarget\n            status: \"True\"\n",
    );
    array.push_str(&pod(job, &command, "Never", true));
    let merge = format!("{}exec {}", job.preamble(), job.merge_command());
    format!(
        include_str!("kubernetes-merge.yaml"),
        array = array,
        name = name,
        DEADLINE = DEADLINE,
        pod = pod(job, &merge, "OnFailure", false),
    )
}

fn pod(job: &Job, command: &str, restart: &str, works: bool) -> String {
    let needs = &job.needs;
    let limits = [
        ("cpu", Some(needs.cpus.max(1).to_string())),
        ("memory", needs.memory.clone()),
        (
            "nvidia.com/gpu",
            (needs.gpus > 0).then(|| needs.gpus.to_string()),
        ),
    ];
    let mut resources = String::new();
    if works {
        resources.push_str("          resources:\n            limits:\n");
        for (name, limit) in limits {
            let line = limit.map(|limit| format!("              {name}: {}\n", scalar(&limit)));
            resources.extend(line);
        }
    }
    // The caches of shards lie on the node, not on the volume that all of them see.
    format!(
        include_str!("kubernetes-pod.yaml"),
        restart = restart,
        image = scalar(needs.image.as_deref().unwrap_or("mary:latest")),
        command = scalar(&literal(command)),
        resources = resources,
        VOLUME = VOLUME,
        claim = scalar(needs.claim.as_deref().unwrap_or("mary")),
    )
}

/// A text that Kubernetes hands on as it is: it fills in `$(NAME)` and takes `$$` for one `$`.
fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

/// A string of YAML: JSON's strings are.
fn scalar(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A name that Kubernetes accepts: lower case, digits and hyphens, and room for `-merge` behind it.
fn name(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let short: String = lower.chars().take(50).collect();
    let safe = short.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    safe.trim_matches('-').to_owned()
}

/// Seconds of a time limit as Slurm writes it: minutes, `minutes:seconds`, …, `days-hours…`.
pub fn seconds(text: &str) -> Option<u64> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(days.parse::<u64>().ok()?), rest),
        None => (None, text),
    };
    let parts = rest
        .split(':')
        .map(|part| part.parse::<u64>().ok())
        .collect::<Option<Vec<_>>>()?;
    let times = |number: u64, seconds: u64| number.saturating_mul(seconds);
    let in_day = match (parts.as_slice(), days) {
        ([minutes], None) => times(*minutes, 60),
        ([minutes, seconds], None) => times(*minutes, 60).saturating_add(*seconds),
        ([hours], Some(_)) => times(*hours, 3600),
        ([hours, minutes], Some(_)) => times(*hours, 3600).saturating_add(times(*minutes, 60)),
        ([hours, minutes, seconds], _) => times(*hours, 3600)
            .saturating_add(times(*minutes, 60))
            .saturating_add(*seconds),
        _ => return None,
    };
    Some(times(days.unwrap_or(0), 86_400).saturating_add(in_day))
}

/// The job as the containers see it: the image's program, and the volume for what lies below `mount` here.
pub fn inside(job: &Job, mount: &Path) -> Job {
    let there = |path: &Path| match path.strip_prefix(mount) {
        Ok(rest) => Path::new(VOLUME).join(rest),
        Err(_) => path.to_owned(),
    };
    let mut inside = job.clone();
    inside.program = "mary".into();
    inside.folder = there(&job.folder);
    inside.directory = VOLUME.into();
    for (name, value) in &mut inside.environment {
        // A cache of answers belongs to the node.
        *value = match name.as_str() {
            "MARY_CACHE_DIR" => "/node/cache".to_owned(),
            _ => there(Path::new(value.as_str())).display().to_string(),
        };
    }
    inside
}

/// The line that submits the manifest, for people.
pub fn line(job: &Job) -> String {
    let file = job.file("kubernetes.yaml");
    format!("kubectl apply -f {}", quoted(&file.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::job::tests::job;

    #[test]
    fn a_manifest_says_what_no_validator_checks() {
        let text = &scripts(&job())[0].text;
        // Wrong values of these pass the published schemas.
        for wanted in [
            "completionMode: Indexed\n",
            "completions: 3\n",
            "parallelism: 2\n",
            "restartPolicy: Never\n",
            "restartPolicy: OnFailure\n",
            "activeDeadlineSeconds: 7200\n",
            "nvidia.com/gpu: \"1\"\n",
            "claimName: \"mary\"\n",
            "name: mary-nano-2\n",
        ] {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
        assert_eq!(text.matches("apiVersion: batch/v1").count(), 2);
        assert!(text.contains("JOB_COMPLETION_INDEX + 1"));
        assert!(!text.contains('\t'));
    }

    #[test]
    fn containers_see_the_volume() {
        let mut job = job();
        job.environment = vec![
            ("MARY_RUNS".into(), "/runs".into()),
            ("MARY_CACHE_DIR".into(), "/home/me/.cache/mary".into()),
            ("HF_ENDPOINT".into(), "https://hub.example".into()),
        ];
        let inside = inside(&job, Path::new("/"));
        assert_eq!(inside.folder, Path::new("/mary/runs/nano-abc"));
        assert_eq!(inside.environment[0].1, "/mary/runs");
        assert_eq!(inside.environment[1].1, "/node/cache");
        assert_eq!(inside.environment[2].1, "https://hub.example");
        let text = &scripts(&inside)[0].text;
        assert!(text.contains("exec mary run") && text.contains("mary merge /mary/runs/nano-abc"));
    }

    #[test]
    fn time_limits_are_read_as_slurm_writes_them() {
        for (text, is) in [
            ("30", Some(1800)),
            ("30:10", Some(1810)),
            ("2:00:00", Some(7200)),
            ("1-0", Some(86_400)),
            ("1-12:30", Some(131_400)),
            ("soon", None),
        ] {
            assert_eq!(seconds(text), is, "{text}");
        }
    }
}
