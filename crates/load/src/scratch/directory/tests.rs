use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn make_private(path: &Path) {
    fs::DirBuilder::new().mode(0o700).create(path).expect("made");
}

fn names(within: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(within)
        .expect("readable")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}

fn name_of(own: &OwnDirectory) -> String {
    own.path().file_name().expect("a name").to_string_lossy().into_owned()
}

/// Only what no process holds, what this user made on this host, and what is called as btu calls it.
#[test]
fn what_killed_runs_left_is_removed_and_nothing_else() {
    let within = tempfile::tempdir().expect("tempdir");
    let path = |name: &str| within.path().join(name);
    let held = OwnDirectory::create(within.path()).expect("made");
    let ours = |name: &str| format!("{}{name}", prefix());
    let left_by = |name: &str| {
        make_private(&path(name));
        fs::write(path(name).join(MARK), b"").expect("written");
        fs::write(path(name).join("file"), b"x").expect("written");
    };
    make_private(&path(&ours("0-empty")));
    for name in [&*ours("0-dead"), "btu-run-elsewhere-1", "letters", "elsewhere"] {
        left_by(name);
    }
    // What is called so by a user who may write here, and was made by another one.
    make_private(&path(&ours("1-renamed")));
    fs::write(path(&ours("1-renamed")).join("savings"), b"x").expect("written");
    left_by(&ours("2-open"));
    fs::set_permissions(path(&ours("2-open")), fs::Permissions::from_mode(0o755)).expect("set");
    symlink(path("elsewhere"), path(&ours("3-link"))).expect("linked");
    fs::write(path(&ours("4-file")), b"x").expect("written");
    sweep_dead(within.path()).expect("swept");
    let mut expected = [
        &*ours("1-renamed"),
        &ours("2-open"),
        &ours("3-link"),
        &ours("4-file"),
        &name_of(&held),
        "btu-run-elsewhere-1",
        "elsewhere",
        "letters",
    ];
    expected.sort_unstable();
    assert_eq!(names(within.path()), expected);
    for kept in ["elsewhere/file", &format!("{}/savings", ours("1-renamed"))] {
        assert!(path(kept).exists(), "{kept}");
    }
    let name = name_of(&held);
    drop(held);
    assert!(!path(&name).exists());
}

/// A directory that a starting process takes for one that was left behind is made again.
#[test]
fn a_directory_is_made_although_others_start() {
    let within = tempfile::tempdir().expect("tempdir");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let sweeping = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // It may find what the other end removes itself.
                let _ = sweep_dead(within.path());
            }
        });
        for _ in 0..50 {
            let made = OwnDirectory::create(within.path());
            let path = made.as_ref().map(|made| made.path().to_owned());
            assert!(path.is_ok_and(|path| path.is_dir()), "{made:?}");
        }
        stop.store(true, Ordering::Relaxed);
        sweeping.join().expect("no panic");
    });
}

/// Another user who may write the directory around it puts a directory of links in its place: with
/// every file that is opened, emptied, written, renamed and removed, and with its own removal.
#[test]
fn a_directory_that_is_swapped_leads_nowhere_else() {
    let (within, victim) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let precious = victim.path().join("precious");
    fs::write(&precious, b"precious").expect("written");
    let own = OwnDirectory::create(within.path()).expect("made");
    let gone = within.path().join("gone");
    fs::rename(own.path(), &gone).expect("renamed");
    make_private(own.path());
    for name in ["new", "there", "other"] {
        symlink(&precious, own.path().join(name)).expect("linked");
    }
    let made = own.open("new", OFlag::O_CREAT | OFlag::O_TRUNC).expect("made");
    io::Write::write_all(&mut &made, b"ours").expect("written");
    assert_eq!(own.size("new").expect("there"), 4);
    own.rename("new", "there").expect("renamed");
    own.remove("there").expect("removed");
    for name in ["../precious", "..", ".", "", "/etc/passwd"] {
        assert!(own.open(name, OFlag::O_CREAT).is_err(), "{name}");
        assert!(own.remove(name).is_err() && own.rename(name, "a").is_err(), "{name}");
    }
    own.open("left", OFlag::O_CREAT).expect("made");
    // A link in the directory itself is not followed either.
    symlink(&precious, gone.join("link")).expect("linked");
    assert!(own.open("link", OFlag::O_TRUNC).is_err());
    let in_its_place = own.path().to_owned();
    drop(own);
    assert_eq!(fs::read(&precious).expect("there"), b"precious");
    assert_eq!(names(&in_its_place), ["new", "other", "there"]);
    assert_eq!(names(&gone), Vec::<String>::new());
}

/// The same, while it is made: what is in its place is neither taken nor emptied.
#[test]
fn what_others_put_in_its_place_is_not_taken() {
    let within = tempfile::tempdir().expect("tempdir");
    make_private(&within.path().join("savings"));
    fs::write(within.path().join("savings/file"), b"x").expect("written");
    let (_, around) = enter(within.path()).expect("open");
    let taken = open_made(&around, "savings").expect_err("it is another one").to_string();
    assert!(taken.contains("another user has put something else in its place"), "{taken}");
    assert_eq!(names(&within.path().join("savings")), ["file"]);
    symlink("savings", within.path().join("link")).expect("linked");
    assert!(open_made(&around, "link").is_err());
}

/// A killed process leaves nothing.
#[test]
fn a_killed_process_leaves_nothing() {
    let within = tempfile::tempdir().expect("tempdir");
    let mut own = OwnDirectory::create(within.path()).expect("made");
    own.open("file", OFlag::O_CREAT).expect("made");
    // As the system does for a process that is killed.
    let mut sweeper = own.sweeper.take().expect("started");
    drop(sweeper.stdin.take());
    assert!(sweeper.wait().expect("waited for").success());
    assert_eq!(names(within.path()), Vec::<String>::new());
}
