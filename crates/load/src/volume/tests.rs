use proptest::prelude::*;

use super::*;

fn volume(room: u64) -> (tempfile::TempDir, Volume) {
    let directory = tempfile::tempdir().expect("tempdir");
    let volume = Volume::new(directory.path(), Bytes::new(room), Span::ZERO).expect("a volume");
    (directory, volume)
}

#[test]
fn what_is_written_is_read_and_nothing_is_left_behind() {
    let (directory, volume) = volume(1 << 20);
    let file = volume.create(ROOT, b"letter").expect("made").node;
    volume.write_at(file, 3, b"content").expect("written");
    let mut read = [9; 20];
    assert_eq!(volume.read_at(file, 0, &mut read).expect("read"), (10, true));
    assert_eq!(&read[..10], b"\0\0\0content");
    assert_eq!(volume.read_at(file, 0, &mut read[..4]).expect("read"), (4, false));
    assert_eq!(volume.read_at(file, 99, &mut read).expect("beyond the end"), (0, true));
    volume.commit(file).expect("on the device");
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("readable").count(),
        0,
        "a file has a name"
    );
}

#[test]
fn a_saved_document_replaces_the_old_one() {
    let (_directory, volume) = volume(1000);
    let old = volume.create(ROOT, b"document").expect("made").node;
    volume.write_at(old, 0, &[1; 600]).expect("written");
    let new = volume.create(ROOT, b"document.new").expect("made").node;
    volume.write_at(new, 0, &[2; 400]).expect("written");
    assert!(matches!(volume.write_at(new, 400, &[2]), Err(Fault::NoRoom)));
    volume.rename((ROOT, b"document.new"), (ROOT, b"document")).expect("renamed");
    assert_eq!(volume.look_up(ROOT, b"document").expect("there").node, new);
    assert!(matches!(volume.look_up(ROOT, b"document.new"), Err(Fault::NoSuchName)));
    assert!(matches!(volume.stat(old), Err(Fault::Gone)));
    volume.write_at(new, 400, &[2; 600]).expect("the room of the old one is free");
}

#[test]
fn limits_hold_whatever_is_asked() {
    let (_directory, volume) = volume(1000);
    let file = volume.create(ROOT, b"file").expect("made").node;
    for (offset, length) in [(u64::MAX, 1), (1 << 40, 1), (1000, 1)] {
        assert!(
            matches!(volume.write_at(file, offset, &vec![0; length]), Err(Fault::NoRoom)),
            "{offset}"
        );
    }
    assert!(matches!(volume.resize(file, u64::MAX), Err(Fault::NoRoom)));
    assert_eq!(volume.stat(file).expect("there").size, 0);
    for name in [&b""[..], b".", b"..", b"a/b", b"a\0b", &[b'a'; 256]] {
        assert!(matches!(volume.create(ROOT, name), Err(Fault::BadName)), "{name:?}");
    }
    let made = (0..MOST_NODES + 10)
        .filter(|number| volume.make_directory(ROOT, number.to_string().as_bytes()).is_ok());
    assert_eq!(made.count(), MOST_NODES - 2);
}

#[test]
fn files_and_directories_are_told_apart() {
    let (_directory, volume) = volume(1000);
    let directory = volume.make_directory(ROOT, b"d").expect("made").node;
    let file = volume.create(directory, b"f").expect("made").node;
    assert!(matches!(volume.make_directory(ROOT, b"d"), Err(Fault::Exists)));
    assert!(matches!(volume.look_up(file, b"x"), Err(Fault::NotADirectory)));
    assert!(matches!(volume.write_at(directory, 0, b"x"), Err(Fault::IsADirectory)));
    assert!(matches!(volume.remove(ROOT, b"d"), Err(Fault::IsADirectory)));
    assert!(matches!(volume.remove_directory(ROOT, b"d"), Err(Fault::NotEmpty)));
    assert!(matches!(volume.rename((ROOT, b"d"), (ROOT, b"e")), Err(Fault::IsADirectory)));
    volume.rename((directory, b"f"), (directory, b"f")).expect("to itself");
    volume.remove(directory, b"f").expect("removed");
    assert!(matches!(volume.stat(file), Err(Fault::Gone)));
    volume.remove_directory(ROOT, b"d").expect("empty now");
    assert!(matches!(volume.create(directory, b"f"), Err(Fault::Gone)));
}

proptest! {
    /// A file behaves like an array.
    #[test]
    fn a_file_is_an_array(writes in prop::collection::vec((0usize..300, prop::collection::vec(any::<u8>(), 0..100)), 0..12), cut in 0usize..400) {
        let (_directory, volume) = volume(1 << 20);
        let file = volume.create(ROOT, b"f").expect("made").node;
        let mut expected: Vec<u8> = Vec::new();
        for (offset, octets) in &writes {
            volume.write_at(file, *offset as u64, octets).expect("written");
            let end = offset + octets.len();
            expected.resize(expected.len().max(end), 0);
            expected[*offset..end].copy_from_slice(octets);
        }
        volume.resize(file, cut as u64).expect("cut");
        expected.resize(cut, 0);
        let mut read = vec![1; 500];
        prop_assert_eq!(volume.read_at(file, 0, &mut read).expect("read"), (cut, true));
        prop_assert_eq!(&read[..cut], &expected[..]);
    }
}
