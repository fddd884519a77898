//! btu's own directories on this machine: private to their user, where other users cannot write.
//!
//! Files that other users can put into a directory can neither be trusted nor removed safely. So a
//! testbed keeps no files in /tmp itself: sockets and records are below one directory of mode 0700
//! that belongs to this user.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, geteuid};

use super::error::{Cause, TestbedError};
use super::runtime::{LONGEST_NAME_BYTES, LONGEST_RUNTIME_PATH_BYTES};

/// The longest `$XDG_RUNTIME_DIR` below which every name of a network leaves room for the path of a
/// socket.
const LONGEST_XDG_BYTES: usize =
    LONGEST_RUNTIME_PATH_BYTES - LONGEST_NAME_BYTES - "/btu/net/".len();

/// The private directory of this user for `part` of btu (`net`, `run`), made if it does not exist:
/// below `$XDG_RUNTIME_DIR/btu` if that variable names a short private directory of this user, else
/// below `/run/btu` for the superuser, else below `/tmp/btu-UID`.
///
/// # Errors
/// The directory cannot be made, belongs to another user, or other users may enter it.
pub fn private_directory(part: &str) -> Result<PathBuf, TestbedError> {
    let xdg = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let user = geteuid();
    let preferred = preferred(xdg.as_deref(), user, Path::new("/run"));
    let last = format!(
        "/tmp/btu-{}",
        outer_id(user, &fs::read_to_string("/proc/self/uid_map").unwrap_or_default())
    );
    first(&preferred, &PathBuf::from(last), part)
}

/// The number that this user has outside the user namespace: inside, every user may be the
/// superuser, and one such superuser must not use the directory of another. `map` has lines of
/// first number within, first number outside, and count (`user_namespaces(7)`).
fn outer_id(user: Uid, map: &str) -> u32 {
    let inner = user.as_raw();
    let mut ranges = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map_while(|number| number.parse::<u32>().ok());
        Some((numbers.next()?, numbers.next()?, numbers.next()?))
    });
    let outer = |(within, outside, count): (u32, u32, u32)| {
        let place = inner.checked_sub(within).filter(|place| *place < count)?;
        outside.checked_add(place)
    };
    ranges.find_map(outer).unwrap_or(inner)
}

/// The directories that no other user can take first.
fn preferred(xdg: Option<&Path>, user: Uid, system: &Path) -> Vec<PathBuf> {
    let is_usable = |path: &&Path| {
        path.is_absolute() && path.as_os_str().len() <= LONGEST_XDG_BYTES && is_private(path)
    };
    let system = user.is_root().then_some(system);
    xdg.filter(is_usable).into_iter().chain(system).map(|parent| parent.join("btu")).collect()
}

/// `part` in the first of these that can be made, or in `last`.
fn first(preferred: &[PathBuf], last: &Path, part: &str) -> Result<PathBuf, TestbedError> {
    let found = preferred.iter().find_map(|parent| make(parent, part).ok());
    found.map_or_else(|| make(last, part), Ok).map_err(|(path, error)| {
        let remedy = "set XDG_RUNTIME_DIR to a short path of a directory of yours with mode 0700";
        TestbedError::new(
            Cause::RuntimeDirectory,
            format!("use the directory {}", path.display()),
            error,
            remedy,
        )
    })
}

fn make(parent: &Path, part: &str) -> Result<PathBuf, (PathBuf, io::Error)> {
    let directory = parent.join(part);
    for path in [parent, &directory] {
        make_private(path).map_err(|error| (path.to_owned(), error))?;
    }
    Ok(directory)
}

fn make_private(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ if !is_private(path) => {
            Err(io::Error::other("it is not a directory of this user alone, with mode 0700"))
        }
        _ => Ok(()),
    }
}

/// Whether `path` is a directory, and not a link to one, that belongs to this user alone.
fn is_private(path: &Path) -> bool {
    let me = geteuid().as_raw();
    fs::symlink_metadata(path)
        .is_ok_and(|it| it.is_dir() && it.uid() == me && it.mode() & 0o777 == 0o700)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    const ROOT: Uid = Uid::from_raw(0);
    const USER: Uid = Uid::from_raw(1000);

    #[test]
    fn superusers_of_user_namespaces_are_told_apart() {
        assert_eq!(outer_id(ROOT, "         0       1000          1\n"), 1000);
        assert_eq!(outer_id(USER, "0 1000 1\n1 100000 65536\n"), 100_999);
        assert_eq!(outer_id(USER, "         0          0 4294967295\n"), 1000);
        assert_eq!(
            [outer_id(USER, ""), outer_id(USER, "0 1000 1\n"), outer_id(ROOT, "x y z\n4\n")],
            [1000, 1000, 0]
        );
    }

    #[test]
    fn a_directory_is_made_for_this_user_alone_and_found_again() {
        let home = tempfile::tempdir().unwrap();
        let last = home.path().join("btu-0");
        for _ in 0..2 {
            let found = first(&[], &last, "net").unwrap();
            assert_eq!(found, last.join("net"));
            assert!(is_private(&found) && is_private(&last));
        }
    }

    #[test]
    fn only_a_short_private_directory_of_this_user_counts_as_the_runtime_directory() {
        let home = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in("/tmp")
            .unwrap();
        let system = Path::new("/run");
        assert_eq!(preferred(Some(home.path()), USER, system), [home.path().join("btu")]);
        let both = [home.path().join("btu"), PathBuf::from("/run/btu")];
        assert_eq!(preferred(Some(home.path()), ROOT, system), both);
        let link = home.path().join("link");
        symlink(home.path(), &link).unwrap();
        let long = home.path().join("x".repeat(LONGEST_XDG_BYTES));
        fs::create_dir(&long).unwrap();
        fs::set_permissions(&long, Permissions::from_mode(0o700)).unwrap();
        for wrong in [Path::new("relative"), Path::new("/nowhere"), &link, &long] {
            assert!(preferred(Some(wrong), USER, system).is_empty(), "{}", wrong.display());
        }
        for open in [0o701, 0o750, 0o1777] {
            fs::set_permissions(home.path(), Permissions::from_mode(open)).unwrap();
            assert!(preferred(Some(home.path()), USER, system).is_empty(), "{open:o}");
        }
    }

    /// Another user may make `/tmp/btu-0` first; the superuser does not need it.
    #[test]
    fn who_takes_the_last_place_first_keeps_only_those_out_who_have_no_other() {
        let home = tempfile::tempdir().unwrap();
        let (system, last) = (home.path().join("run"), home.path().join("btu-0"));
        fs::create_dir(&system).unwrap();
        fs::create_dir(&last).unwrap();
        fs::set_permissions(&last, Permissions::from_mode(0o777)).unwrap();
        // Only the superuser can make a directory of another user; an ordinary user's directory
        // with open rights is refused in a similar way.
        let _ = chown(&last, Some(65_534), Some(65_534));
        assert_eq!(
            first(&preferred(None, ROOT, &system), &last, "net").unwrap(),
            system.join("btu/net")
        );
        let refused = first(&preferred(None, USER, &system), &last, "net").unwrap_err();
        assert_eq!(refused.cause, Cause::RuntimeDirectory);
        assert!(refused.to_string().contains("XDG_RUNTIME_DIR"), "{refused}");
        assert_eq!(fs::read_dir(&last).unwrap().count(), 0, "nothing is put into it");
    }

    #[test]
    fn a_link_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let last = home.path().join("btu-0");
        symlink(home.path(), &last).unwrap();
        assert_eq!(first(&[], &last, "net").unwrap_err().cause, Cause::RuntimeDirectory);
        assert!(!home.path().join("net").exists());
    }
}
