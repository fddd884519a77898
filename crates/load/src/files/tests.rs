use std::net::Ipv4Addr;

use btu_suite::peers::Callers;
use btu_units::{Bytes, Span};

use super::*;
use crate::nfs::{Client, Server, ServerSettings};
use crate::scratch::{sweep_run, sweeper};

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
    let server = Server::start(&settings, &Callers::any()).expect("a server");
    let client =
        Client::connect(server.address(), &[7; 16], 1, Span::from_seconds(5)).expect("connected");
    let mut there = RemoteFiles::new(client);
    let share = tempfile::tempdir().expect("tempdir");
    let mut elsewhere = ShareFiles::new(share.path(), 7, &[7; 16], 3).expect("a directory");
    let expected = (b"one 2wo three".to_vec(), 10);
    assert_eq!(work(&mut elsewhere), expected);
    assert_eq!((work(&mut here), work(&mut there)), (expected.clone(), expected));
    drop(there);
    assert_eq!(server.stop()[&1].operations, 10);
}

fn entries(share: &std::path::Path) -> Vec<String> {
    let names = std::fs::read_dir(share)
        .expect("readable")
        .map(|entry| entry.expect("an entry").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// The directory on the share is removed with the files, and the remains of a run that was killed
/// as a whole are removed by their name.
#[test]
fn nothing_is_left_on_a_share() {
    let share = tempfile::tempdir().expect("tempdir");
    let mut files = ShareFiles::new(share.path(), 7, &[1; 16], 3).expect("a directory");
    assert_eq!(entries(share.path()), ["btu-run-0000000000000007-01010101-3"]);
    let file = files.open("kept", Open::Empty).expect("made");
    files.write_at(&file, 0, b"something").expect("written");
    let failed =
        ShareFiles::new(share.path(), 7, &[1; 16], 3).expect_err("it is there").to_string();
    assert!(failed.contains("could not make a directory in share"), "{failed}");
    drop((file, files));
    assert_eq!(entries(share.path()), Vec::<String>::new());
    for name in
        ["btu-run-0000000000000007-02020202-1", "btu-run-0000000000000008-02020202-1", "letters"]
    {
        std::fs::create_dir(share.path().join(name)).expect("made");
        std::fs::write(share.path().join(name).join("file"), b"x").expect("written");
    }
    sweep_run(share.path(), 7).expect("swept");
    let mut left = entries(share.path());
    left.sort_unstable();
    assert_eq!(left, ["btu-run-0000000000000008-02020202-1", "letters"]);
}

/// A killed process leaves nothing either.
#[test]
fn a_killed_process_leaves_nothing_on_a_share() {
    let share = tempfile::tempdir().expect("tempdir");
    // In the place of a worker: it gets the directory to remove, and is killed.
    let directory = share.path().join("btu-run-0-0-1");
    std::fs::create_dir(&directory).expect("made");
    let mut sweeper = sweeper(&directory).expect("started");
    std::fs::write(directory.join("file"), b"x").expect("written");
    drop(sweeper.stdin.take());
    assert!(sweeper.wait().expect("waited for").success());
    assert_eq!(entries(share.path()), Vec::<String>::new());
}
