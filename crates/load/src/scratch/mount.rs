//! Which file system a directory is on, from /proc/self/mountinfo (`proc_pid_mountinfo(5)`).

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The type of the file system under `directory`, as the kernel calls it, and the options of that
/// file system; `unknown` where they cannot be told.
pub(crate) fn mounted(directory: &Path) -> (String, String) {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let (kind, options) = find(&table, &directory).unwrap_or(("unknown", "unknown"));
    (kind.to_owned(), options.to_owned())
}

/// The deepest mount point above `directory`; of several on the same point, the one mounted last.
fn find<'a>(table: &'a str, directory: &Path) -> Option<(&'a str, &'a str)> {
    let above = table.lines().filter_map(entry).filter(|(point, ..)| directory.starts_with(point));
    above
        .max_by_key(|(point, ..)| point.components().count())
        .map(|(_, kind, options)| (kind, options))
}

/// Mount point, type and options: the fifth field, and the first and third after the separator.
fn entry(line: &str) -> Option<(PathBuf, &str, &str)> {
    let (left, right) = line.split_once(" - ")?;
    let mut right = right.split(' ');
    Some((unescape(left.split(' ').nth(4)?), right.next()?, right.nth(1).unwrap_or_default()))
}

/// Spaces and the like are written as a backslash and three octal digits.
fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let (mut path, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let code = (bytes[at] == b'\\').then(|| text.get(at + 1..at + 4)).flatten();
        if let Some(byte) = code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            path.push(byte);
            at += 4;
        } else {
            path.push(bytes[at]);
            at += 1;
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TABLE: &str = "\
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
22 21 0:20 / /proc rw - proc proc rw
25 21 0:30 / /mnt rw - tmpfs none rw
26 25 0:31 / /mnt rw - xfs /dev/vdb rw
27 21 0:33 / /mnt/my\\040disk rw,noexec master:3 propagate_from:2 - btrfs /dev/vdc rw
28 21 0:40 / /nas rw,relatime - nfs4 nas:/home rw,vers=4.2,hard,proto=tcp
";

    #[test]
    fn the_deepest_and_latest_mount_counts() {
        for (path, kind) in [
            ("/tmp/x", "ext4"),
            ("/proc/self", "proc"),
            ("/mnt/a", "xfs"),
            ("/mnt/my disk/b", "btrfs"),
            ("/mntx", "ext4"),
        ] {
            assert_eq!(find(TABLE, Path::new(path)).map(|(kind, _)| kind), Some(kind), "{path}");
        }
        assert_eq!(find(TABLE, Path::new("/nas/x")), Some(("nfs4", "rw,vers=4.2,hard,proto=tcp")));
    }

    #[test]
    fn proc_is_proc() {
        assert_eq!(mounted(Path::new("/proc/self")).0, "proc");
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "\\PC*") {
            entry(&line);
            unescape(&line);
        }
    }
}
