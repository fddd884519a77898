use std::net::Ipv4Addr;

use btu_suite::peers::Callers;
use btu_units::{Bytes, Span};

use super::*;
use crate::nfs::{Client, Server, ServerSettings};

/// What a program does with files, on whichever.
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
    assert!(message.contains("no such file"), "{message}");
    (content[..length].to_vec(), files.operations())
}

/// The same content, and as many operations, here as at a server.
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
    let client = Client::connect(server.address(), &[7; 16], 1, Span::from_seconds(5)).expect("connected");
    let mut there = RemoteFiles::new(client);
    let expected = (b"one 2wo three".to_vec(), 10);
    assert_eq!((work(&mut here), work(&mut there)), (expected.clone(), expected));
    drop(there);
    assert_eq!(server.stop()[&1].operations, 10);
}
