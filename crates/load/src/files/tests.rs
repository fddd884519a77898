use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use btu_contract::peers::Callers;
use btu_units::{Bytes, Span};

use super::*;
use crate::nfs::{NfsClient, NfsServer, ServerSettings};

/// A program's operations on files of any kind.
fn work(files: &mut impl Files) -> (Vec<u8>, u64) {
    let file = files.open("document.new", Open::Empty).expect("made");
    files.write_at(&file, 0, b"one two three").expect("written");
    files.write_at(&file, 4, b"2").expect("written");
    files.flush(&file).expect("on the device");
    files.rename("document.new", "document").expect("renamed");
    assert_eq!(files.stat("document").expect("there"), 13);
    let file = files.open("document", Open::Existing).expect("there");
    let mut content = [0; 20];
    let length = files.read_at(&file, 0, &mut content).expect("read");
    files.remove("document").expect("removed");
    let message = files.open("document", Open::Existing).expect_err("gone").to_string();
    assert!(message.to_lowercase().contains("no such file"), "{message}");
    (content[..length].to_vec(), files.operations())
}

/// Local files and files at a server get the same content with the same number of operations.
#[test]
fn files_here_and_at_a_server_are_the_same() {
    let directory = tempfile::tempdir().expect("tempdir");
    let room = Bytes::new(1 << 20);
    let mut here = LocalFiles::new(directory.path(), room, Span::ZERO).expect("a directory");
    let settings = ServerSettings {
        address: Ipv4Addr::LOCALHOST.into(),
        token: [7; 16],
        directory: directory.path().to_owned(),
        room,
        service: Span::ZERO,
    };
    let server = NfsServer::start(&settings, &Callers::any()).expect("a server");
    let client = NfsClient::connect(server.address(), &[7; 16], 1, Span::from_seconds(5))
        .expect("connected");
    let mut there = RemoteFiles::new(client);
    let share = tempfile::tempdir().expect("tempdir");
    let mut elsewhere = ShareFiles::new(share.path()).expect("a directory");
    let expected = (b"one 2wo three".to_vec(), 10);
    assert_eq!(work(&mut elsewhere), expected);
    assert_eq!((work(&mut here), work(&mut there)), (expected.clone(), expected));
    drop(there);
    assert_eq!(server.stop()[&1].operations, 10);
}

fn entries(share: &Path) -> Vec<String> {
    let names = std::fs::read_dir(share)
        .expect("readable")
        .map(|entry| entry.expect("an entry").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// The directory on the share is removed with the files.
#[test]
fn nothing_is_left_on_a_share() {
    let share = tempfile::tempdir().expect("tempdir");
    let mut files = ShareFiles::new(share.path()).expect("a directory");
    let [name] = &entries(share.path())[..] else { panic!("one directory") };
    assert!(name.starts_with("btu-run-"), "{name}");
    let other = ShareFiles::new(share.path()).expect("another client has its own");
    let file = files.open("kept", Open::Empty).expect("made");
    files.write_at(&file, 0, b"something").expect("written");
    let missing = share.path().join("none");
    let failed = ShareFiles::new(&missing).expect_err("it is not there").to_string();
    assert!(failed.contains(&format!("in share {}", missing.display())), "{failed}");
    drop((file, files, other));
    assert_eq!(entries(share.path()), Vec::<String>::new());
}

/// A neighbour who may write the share puts directories of links in the place of ours, as fast as it
/// can, while tasks begin, work and end: no file elsewhere is opened, emptied, written or removed.
#[test]
fn a_neighbour_on_the_share_leads_no_file_elsewhere() {
    let (share, victim) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let precious = victim.path().join("precious");
    std::fs::write(&precious, b"precious").unwrap();
    let (over, won) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let neighbour = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                swap_all(share.path(), &precious, &won);
            }
        });
        let mut worked = 0;
        for _ in 0..200 {
            // Where the neighbour is faster it fails. The end of one that was moved takes a second.
            let Ok(mut files) = ShareFiles::new(share.path()) else { continue };
            worked += 1;
            let tried = files.open("file-0.new", Open::Empty).and_then(|file| {
                files.write_at(&file, 0, b"ours")?;
                files.rename("file-0.new", "file-0")?;
                files.open("file-0", Open::Existing)?;
                files.open("result", Open::Empty)?;
                files.remove("file-0")
            });
            assert!(tried.is_ok(), "a client that has the directory works in it: {tried:?}");
            if worked == 5 {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
        neighbour.join().expect("no panic");
    });
    assert!(won.load(Ordering::Relaxed) > 0, "nothing was tried");
    assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
    assert_eq!(std::fs::read_dir(victim.path()).unwrap().count(), 1);
}

/// Puts a directory of links to `target` in the place of each that is there.
fn swap_all(share: &Path, target: &Path, won: &AtomicUsize) {
    for name in entries(share).iter().filter(|name| name.starts_with("btu-run-")) {
        let (path, number) = (share.join(name), won.load(Ordering::Relaxed));
        let is_ours =
            std::fs::symlink_metadata(path.join("file-0")).is_ok_and(|it| it.is_symlink());
        if is_ours || std::fs::rename(&path, share.join(format!("gone-{number}"))).is_err() {
            continue;
        }
        // Another one of ours may be there by now.
        let _ = std::fs::create_dir(&path);
        for link in ["file-0", "file-0.new", "result", "probe", ".btu-run"] {
            let _ = std::os::unix::fs::symlink(target, path.join(link));
        }
        won.fetch_add(1, Ordering::Relaxed);
    }
}
