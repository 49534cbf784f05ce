//! How much memory the machine can give, for loading and training to refuse before it is too late.

use std::fs;
use std::path::Path;

/// Memory available now, in bytes, within the control group's limit; `None` where the system does not say.
pub fn available_memory() -> Option<u64> {
    let system = meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let left = control_group(Path::new("/sys/fs/cgroup")).unwrap_or(u64::MAX);
    Some(system.min(left))
}

fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// What the control group's limit leaves, in either version. Files in its cache count as free: they can go.
fn control_group(root: &Path) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        let text = fs::read_to_string(root.join(name)).ok()?;
        text.trim().parse().ok()
    };
    let (limit, used, files) = match number("memory.max") {
        Some(limit) => (limit, number("memory.current")?, "memory.stat"),
        None => (
            number("memory/memory.limit_in_bytes")?,
            number("memory/memory.usage_in_bytes")?,
            "memory/memory.stat",
        ),
    };
    let files = fs::read_to_string(root.join(files)).unwrap_or_default();
    let lines = files.lines().filter_map(|line| line.split_once(' '));
    let of_files = lines.filter(|(name, _)| matches!(*name, "inactive_file" | "active_file"));
    let bytes = of_files.filter_map(|(_, bytes)| bytes.parse::<u64>().ok());
    let given_back: u64 = bytes.sum();
    Some(limit.saturating_sub(used.saturating_sub(given_back)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_how_much_is_available() {
        let text = "MemTotal:       100 kB\nMemAvailable:    64 kB\n";
        assert_eq!(meminfo(text), Some(65_536));
        assert_eq!(meminfo("MemTotal: 100 kB\n"), None);
    }

    #[test]
    fn a_control_group_leaves_its_limit_without_what_is_in_use() {
        let root = std::env::temp_dir().join(format!("mary-cgroup-{}", std::process::id()));
        fs::create_dir_all(root.join("memory")).unwrap();
        assert_eq!(control_group(&root), None);
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        write("memory/memory.limit_in_bytes", "1000\n");
        write("memory/memory.usage_in_bytes", "700\n");
        write("memory/memory.stat", "cache 5\ninactive_file 100\n");
        assert_eq!(control_group(&root), Some(400));
        write("memory.max", "2000\n");
        write("memory.current", "500\n");
        write("memory.stat", "inactive_file 150\nactive_file 50\n");
        assert_eq!(control_group(&root), Some(1700));
        // No limit in version 2 is a word.
        write("memory.max", "max\n");
        fs::remove_dir_all(root.join("memory")).unwrap();
        assert_eq!(control_group(&root), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
