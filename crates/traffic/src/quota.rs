//! How long the control group of this program was kept from the processors because it had used its time.
//!
//! Control groups, version 2 (Documentation/admin-guide/cgroup-v2.rst, "CPU Interface Files") and version 1
//! (Documentation/scheduler/sched-bwc.rst).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use btu_units::Span;

/// Both versions, where systems mount them.
const MOUNTED: &str = "/sys/fs/cgroup";

/// The time so far, of all processors together; `None` without a limit. Reads a file.
pub(crate) fn throttled() -> Option<Span> {
    static ACCOUNT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let account = ACCOUNT.get_or_init(|| {
        limited(Path::new(MOUNTED), &fs::read_to_string("/proc/self/cgroup").ok()?)
    });
    told(&fs::read_to_string(account.as_deref()?).ok()?)
}

/// The account of the nearest group with a limit: the program's own, as `/proc/self/cgroup` has it, or one above it. In
/// a container the path may be that of the host; then the container's own group is the uppermost.
fn limited(mounted: &Path, groups: &str) -> Option<PathBuf> {
    let path = |line: &str| -> Option<(PathBuf, String)> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let is_ours = controllers.is_empty() || controllers.split(',').any(|one| one == "cpu");
        let hierarchy =
            if controllers.is_empty() { mounted.to_owned() } else { mounted.join("cpu") };
        is_ours.then(|| (hierarchy, path.to_owned()))
    };
    groups.lines().filter_map(path).find_map(|(hierarchy, path)| {
        let mut groups = Path::new(&path).ancestors().map(|group| hierarchy.join(group));
        groups.find(|group| has_limit(group)).map(|group| group.join("cpu.stat"))
    })
}

fn has_limit(group: &Path) -> bool {
    let text = |file: &str| fs::read_to_string(group.join(file));
    text("cpu.max").is_ok_and(|limit| !limit.starts_with("max"))
        || text("cpu.cfs_quota_us").is_ok_and(|limit| !limit.starts_with('-'))
}

/// The time in a `cpu.stat`: version 2 has microseconds, version 1 nanoseconds.
fn told(account: &str) -> Option<Span> {
    account.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let value = || value.trim().parse::<u64>().ok();
        match name {
            "throttled_usec" => value().map(Span::from_microseconds),
            "throttled_time" => value().map(Span::from_nanoseconds),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(root: &Path, path: &str, file: &str, text: &str) {
        fs::create_dir_all(root.join(path)).unwrap();
        fs::write(root.join(path).join(file), text).unwrap();
    }

    #[test]
    fn the_nearest_limit_counts_in_both_versions() {
        let root = tempfile::tempdir().unwrap();
        let found = |groups| limited(root.path(), groups);
        group(root.path(), "pod/box", "cpu.max", "max 100000\n");
        assert_eq!(found("0::/pod/box\n"), None);
        group(root.path(), "pod", "cpu.max", "50000 100000\n");
        assert_eq!(found("0::/pod/box\n"), Some(root.path().join("pod/cpu.stat")));
        group(root.path(), "cpu", "cpu.cfs_quota_us", "-1\n");
        assert_eq!(found("2:cpuacct:/\n1:cpu,x:/docker/1\n"), None);
        group(root.path(), "cpu", "cpu.cfs_quota_us", "50000\n");
        assert_eq!(found("1:cpu,x:/docker/1\n0::/none\n"), Some(root.path().join("cpu/cpu.stat")));
        for odd in ["", "no colons", "::", "0::\n", "1:cpu"] {
            assert!(found(odd).is_none_or(|path| path.ends_with("cpu.stat")), "{odd}");
        }
    }

    #[test]
    fn both_units_are_read() {
        let second = Some(Span::from_seconds(1));
        assert_eq!(told("nr_throttled 3\nthrottled_usec 1000000\n"), second);
        assert_eq!(told("nr_periods 1\nthrottled_time 1000000000\n"), second);
        assert_eq!(told("usage_usec 5\n"), None);
    }
}
