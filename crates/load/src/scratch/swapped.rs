//! Directories that another user could replace while the superuser works in them.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// Refuses to the superuser of this machine a directory that another user could replace, by a link
/// to another place. What others may do within the directory itself does no harm: there, only the
/// descriptor of an own directory is used.
///
/// # Errors
/// What could be replaced, and what to do; or the system's word.
pub fn check_share(directory: &Path) -> io::Result<()> {
    if !geteuid().is_root() || !maps_superuser(&fs::read_to_string("/proc/self/uid_map")?) {
        return Ok(());
    }
    match replaceable(&directory.canonicalize()?)? {
        None => Ok(()),
        Some(part) => Err(io::Error::other(format!(
            "another user of this machine could replace {} meanwhile; run btu as the user whose directory it is, or name one \
             that only the superuser can replace",
            part.display()
        ))),
    }
}

/// Whether the superuser of a user namespace is that of the machine. `map` has lines of first number
/// within, first number outside, and count (`user_namespaces(7)`).
fn maps_superuser(map: &str) -> bool {
    map.lines().any(|line| line.split_whitespace().take(2).eq(["0", "0"]))
}

/// The first part of a path without links that another user than the superuser can replace: who may
/// write the directory that it is in, and for a sticky one owns the part.
fn replaceable(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    for pair in parts.windows(2) {
        let (around, part) = (fs::metadata(pair[0])?, fs::symlink_metadata(pair[1])?);
        if can_replace(&around, &part) {
            return Ok(Some(pair[1].to_owned()));
        }
    }
    Ok(None)
}

fn can_replace(around: &Metadata, part: &Metadata) -> bool {
    let others_write = around.mode() & 0o022 != 0;
    let keeps_owners = around.mode() & 0o1000 != 0 && part.uid() == 0;
    around.uid() != 0 || others_write && !keeps_owners
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn namespaces_are_told_from_the_machine() {
        assert!(maps_superuser("         0          0 4294967295\n"));
        assert!(!maps_superuser("         0       1000          1\n"));
        assert!(!maps_superuser("         1          0          1\n         0 1000 1\n"));
    }

    /// As the superuser only, who alone can give directories away.
    #[test]
    fn a_directory_that_others_can_replace_is_refused_to_the_superuser() {
        if !geteuid().is_root() {
            println!("SKIPPED: only the superuser can give directories away");
            return;
        }
        let within = tempfile::tempdir().expect("tempdir");
        let at = |name: &str| within.path().join(name);
        for (name, mode, owner) in
            [("ours", 0o755, 0), ("theirs", 0o755, 65534), ("open", 0o777, 0), ("tmp", 0o1777, 0)]
        {
            for path in [at(name), at(name).join("ours"), at(name).join("theirs")] {
                fs::create_dir(path).expect("made");
            }
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).expect("set");
            chown(at(name), Some(owner), None).expect("given");
            chown(at(name).join("theirs"), Some(65534), None).expect("given");
        }
        std::os::unix::fs::symlink(at("theirs/ours"), at("link")).expect("linked");
        for fine in ["ours", "ours/ours", "ours/theirs", "theirs", "open", "tmp", "tmp/ours"] {
            check_share(&at(fine)).unwrap_or_else(|error| panic!("{fine}: {error}"));
        }
        for replaceable in ["theirs/ours", "theirs/theirs", "open/ours", "tmp/theirs", "link"] {
            let refused = check_share(&at(replaceable)).expect_err(replaceable).to_string();
            assert!(refused.contains("another user of this machine could replace"), "{refused}");
        }
    }
}
