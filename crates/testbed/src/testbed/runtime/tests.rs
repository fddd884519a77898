use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::sync::mpsc::channel;

use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkfifo};

use super::*;

/// An ordinary user, whom the superuser does not trust.
const NOBODY: u32 = 65_534;

/// A parent as btu has it.
fn parent() -> tempfile::TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
}

/// A directory with this mode below `parent`, in which something lies.
fn directory(parent: &Path, name: &str, mode: u32) -> PathBuf {
    let path = parent.join(name);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("precious"), "").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path
}

/// Like `directory`, with a lock file that no process holds, as a dead owner leaves it.
fn left_behind(parent: &Path, name: &str, mode: u32) -> PathBuf {
    let path = directory(parent, name, mode);
    fs::write(path.join(OWNER), "").unwrap();
    path
}

/// A sweep and a claim of each directory end soon, and leave everything as it is.
fn assert_kept(parent: &Path, directories: &[PathBuf]) {
    let (done, end) = channel();
    let (swept, claimed) = (parent.to_owned(), directories.to_owned());
    thread::spawn(move || {
        let swept = sweep(&swept).unwrap_or_default();
        let claimed: Vec<_> =
            claimed.iter().filter(|path| RuntimeDirectory::claim(path).is_ok()).cloned().collect();
        done.send((swept, claimed)).unwrap();
    });
    let ended = end.recv_timeout(Duration::from_secs(20)).expect("the sweep waits for a stranger");
    assert_eq!(ended, (Vec::new(), Vec::new()));
    for path in directories {
        assert!(path.join("precious").exists(), "{}", path.display());
    }
}

#[test]
fn a_claimed_directory_is_private_and_goes_with_its_owner() {
    let parent = parent();
    let path = parent.path().join("run");
    let claimed = RuntimeDirectory::claim(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(RuntimeDirectory::claim(&path).unwrap_err().cause, Cause::RuntimeDirectory);
    drop(claimed);
    assert!(!path.exists());
}

#[test]
fn the_longest_directory_has_room_for_the_sockets_of_all_stations() {
    let directory = PathBuf::from("/".repeat(LONGEST_RUNTIME_PATH_BYTES));
    let last = btu_network::StationId(crate::testbed::MOST_STATIONS as u32 - 1);
    let socket = crate::testbed::processes::agent_socket(&directory, last);
    let name = socket.file_name().unwrap().to_str().unwrap();
    assert_eq!(name, "agent-999.sock");
    assert_eq!(directory.as_os_str().len() + 1 + name.len(), LONGEST_SOCKET_PATH_BYTES);
}

#[test]
fn the_sweep_takes_what_the_dead_left_and_nothing_else() {
    let parent = parent();
    let living = RuntimeDirectory::claim(&parent.path().join("living")).unwrap();
    let foreign = directory(parent.path(), "foreign", 0o700);
    let dead = left_behind(parent.path(), "dead", 0o700);
    fs::create_dir(dead.join("below")).unwrap();
    assert!(is_left_behind(&dead) && !is_left_behind(&foreign) && !is_left_behind(living.path()));
    assert_eq!(sweep(parent.path()).unwrap(), [dead]);
    assert!(living.path.exists() && foreign.exists());
}

#[test]
fn a_claim_sweeps_its_neighbours() {
    let parent = parent();
    let dead = left_behind(parent.path(), "dead", 0o700);
    // Killed after it was made and before it was locked.
    let unborn = parent.path().join("unborn");
    DirBuilder::new().mode(0o700).create(&unborn).unwrap();
    let claimed = RuntimeDirectory::claim(&parent.path().join("run")).unwrap();
    assert!(!dead.exists() && !unborn.exists() && claimed.path().exists());
}

/// The owners of one process do not count, so the file tells what another process would read.
#[test]
fn who_comes_later_and_who_was_there_are_both_told() {
    let parent = parent();
    let first = RuntimeDirectory::claim(&parent.path().join("first")).unwrap();
    let told = |claimed: &RuntimeDirectory| fs::read_to_string(claimed.path().join(OWNER)).unwrap();
    let met = |claimed: &RuntimeDirectory| told(claimed).lines().skip(1).count();
    let me = std::process::id();
    assert!(told(&first).starts_with(&format!("owner {me} ")), "{}", told(&first));
    assert_eq!(met(&first), 0);
    let second = RuntimeDirectory::claim(&parent.path().join("second")).unwrap();
    assert_eq!((met(&first), met(&second)), (1, 1));
    drop(first);
    let third = RuntimeDirectory::claim(&parent.path().join("third")).unwrap();
    assert_eq!((met(&second), met(&third)), (2, 1), "who has ended was there");
    assert!(second.others().is_empty(), "{:?}", second.others());
    left_behind(parent.path(), "dead", 0o700);
    let fourth = RuntimeDirectory::claim(&parent.path().join("fourth")).unwrap();
    assert_eq!(met(&fourth), 2, "the dead are not there");
}

/// The superuser owns such directories in /tmp on every desktop, and every user may write into
/// them.
#[test]
fn a_directory_that_others_may_enter_is_not_swept() {
    let parent = parent();
    let modes = [0o1777, 0o777, 0o755, 0o750, 0o710, 0o701];
    let directories: Vec<_> =
        modes.map(|mode| left_behind(parent.path(), &format!("mode-{mode:o}"), mode)).into();
    if geteuid().is_root() {
        for path in &directories {
            chown(path.join(OWNER), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    assert_kept(parent.path(), &directories);
}

#[test]
fn a_name_that_btu_never_makes_is_not_swept() {
    let parent = parent();
    let names = [".X11-unix", "a.b", "a b", "ä", &"x".repeat(41)];
    let directories = names.map(|name| left_behind(parent.path(), name, 0o700));
    assert!(sweep(parent.path()).unwrap().is_empty());
    assert!(directories.iter().all(|path| path.join("precious").exists()));
}

#[test]
fn a_lock_that_is_a_pipe_is_not_waited_for() {
    let parent = parent();
    let path = directory(parent.path(), "pipe", 0o700);
    mkfifo(&path.join(OWNER), Mode::S_IRWXU).unwrap();
    assert_kept(parent.path(), &[path]);
}

#[test]
fn a_lock_or_a_directory_that_is_a_link_is_not_followed() {
    let parent = parent();
    let elsewhere = self::parent();
    let dead = left_behind(elsewhere.path(), "dead", 0o700);
    let (lock, link) = (directory(parent.path(), "lock", 0o700), parent.path().join("link"));
    symlink(dead.join(OWNER), lock.join(OWNER)).unwrap();
    symlink(&dead, &link).unwrap();
    assert_kept(parent.path(), &[lock, link]);
}

#[test]
fn a_strangers_directory_or_lock_is_not_swept() {
    if !geteuid().is_root() {
        eprintln!("files are given to strangers by root: tested as root only");
        return;
    }
    let parent = parent();
    let directories = ["directory", "lock"].map(|name| left_behind(parent.path(), name, 0o700));
    chown(&directories[0], Some(NOBODY), Some(NOBODY)).unwrap();
    chown(directories[1].join(OWNER), Some(NOBODY), Some(NOBODY)).unwrap();
    assert_kept(parent.path(), &directories);
}

#[test]
fn where_others_may_write_nothing_is_swept() {
    for mode in [0o1777, 0o720, 0o702] {
        let parent = parent();
        let dead = left_behind(parent.path(), "dead", 0o700);
        fs::set_permissions(parent.path(), Permissions::from_mode(mode)).unwrap();
        assert!(sweep(parent.path()).is_err() && dead.exists(), "{mode:o}");
    }
}

#[test]
fn what_a_dead_owner_left_can_be_claimed_again() {
    let parent = parent();
    let dead = left_behind(parent.path(), "dead", 0o700);
    let claimed = RuntimeDirectory::claim(&dead).unwrap();
    assert!(claimed.path.exists() && !dead.join("precious").exists());
}

#[test]
fn a_directory_with_other_things_in_it_is_refused_and_kept() {
    let parent = parent();
    let mine = directory(parent.path(), "mine", 0o700);
    assert!(RuntimeDirectory::claim(&mine).unwrap_err().reason.contains("not empty"));
    assert!(mine.join("precious").exists());
}

#[test]
fn a_path_too_long_for_sockets_is_refused_before_anything_is_made() {
    let parent = parent();
    let long = parent.path().join("x".repeat(120));
    assert!(RuntimeDirectory::claim(&long).unwrap_err().reason.contains("too many"));
    assert!(!long.exists());
}

/// The process that holds a directory keeps it, even while sweepers and other processes try to take
/// it.
#[test]
fn nobody_takes_a_living_owners_directory() {
    let parent = parent();
    let work = |name: &str| {
        let mut held = 0;
        while held < 100 {
            drop(sweep(parent.path()));
            if let Ok(claimed) = RuntimeDirectory::claim(&parent.path().join(name)) {
                fs::write(claimed.path().join("mine"), "").unwrap();
                drop(sweep(parent.path()));
                assert!(claimed.path().join("mine").exists() && !is_left_behind(claimed.path()));
                held += 1;
            }
        }
    };
    thread::scope(|scope| {
        for name in ["same", "same", "other"] {
            scope.spawn(move || work(name));
        }
    });
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}
