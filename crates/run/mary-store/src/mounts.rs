//! Which file system a path lies on, as far as it matters here: SQLite's write-ahead log needs memory
//! that is shared between its readers, and a lock that the kernel keeps may hold on one node only.
//!
//! Read from `/proc/self/mountinfo`, which names the kind of every mount, so that no list of magic
//! numbers has to be kept; elsewhere than on Linux everything counts as local.

use std::path::{Path, PathBuf};

/// Kinds that several machines see at once.
const SHARED: &str = include_str!("network_file_systems.txt");

/// The kind of network file system a path lies on (`nfs4`, `lustre`, …); `None` for a local one. The
/// path itself need not exist yet.
pub fn network_file_system(path: &Path) -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind_in(&mounts, &resolved(path))
}

/// The path with links resolved, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in whole.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = whole.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return real.join(rest);
        }
    }
    whole
}

/// The shared kind of the mount that holds `path`, by the text of `mountinfo`.
fn kind_in(mounts: &str, path: &Path) -> Option<String> {
    let mut found: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let (before, after) = line.split_once(" - ")?;
        let Some(point) = before.split(' ').nth(4).map(unescaped) else {
            continue;
        };
        let Some(kind) = after.split(' ').next() else {
            continue;
        };
        let depth = Path::new(&point).components().count();
        // Of two mounts at one place the later covers the earlier.
        if path.starts_with(&point) && found.is_none_or(|(deepest, _)| depth >= deepest) {
            found = Some((depth, kind));
        }
    }
    let (_, kind) = found?;
    SHARED
        .lines()
        .find(|shared| *shared == kind)
        .map(str::to_owned)
}

/// Blanks stand as `\040` in the table.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 27 0:21 / / rw,relatime - ext4 /dev/vda1 rw
23 22 0:22 / /home rw,relatime shared:1 - nfs4 server:/home rw,vers=4.2
24 23 0:23 / /home/me/fast rw - xfs /dev/nvme0n1 rw
25 22 0:24 / /scratch\\040space rw - lustre 10.0.0.1@o2ib:/scratch rw
26 22 0:25 / /work rw - gpfs work rw
27 22 0:26 / /gone rw - nfs server:/gone rw
28 27 0:27 / /gone rw - tmpfs tmpfs rw
";

    #[test]
    fn the_deepest_mount_decides() {
        let kind = |path: &str| kind_in(MOUNTS, Path::new(path));
        assert_eq!(kind("/home/me/.cache/mary").as_deref(), Some("nfs4"));
        assert_eq!(kind("/home/me/fast/mary"), None);
        assert_eq!(kind("/homeless"), None);
        assert_eq!(kind("/scratch space/runs").as_deref(), Some("lustre"));
        assert_eq!(kind("/work").as_deref(), Some("gpfs"));
        assert_eq!(kind("/tmp/x"), None);
        assert_eq!(kind("/gone/x"), None, "the later mount covers the earlier");
    }

    #[test]
    fn the_temporary_folder_here_has_an_answer() {
        // Whatever the answer, a path that does not exist is asked by its nearest ancestor.
        let here = std::env::temp_dir();
        assert_eq!(
            network_file_system(&here),
            network_file_system(&here.join("not/there/yet"))
        );
    }
}
