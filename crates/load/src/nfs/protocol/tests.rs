use proptest::prelude::*;

use super::*;

fn entry(name: &[u8]) -> NameInDirectory<'_> {
    NameInDirectory { directory: Handle::root(&[7; 16]), name }
}

/// Every call once, with this name, number and data.
fn calls<'a>(name: &'a [u8], number: u64, data: &'a [u8]) -> Vec<Call<'a>> {
    let node = Handle::of(&[9; 16], number);
    let name = entry(name);
    vec![
        Call::Null,
        Call::GetAttributes { node },
        Call::SetSize { node, size: Some(number) },
        Call::Lookup { name },
        Call::Read { node, offset: number, count: number as u32 },
        Call::Write { node, offset: number, stability: Stability::Unstable, data },
        Call::Write { node, offset: number, stability: Stability::FileSync, data },
        Call::Create { name, creation: Creation::Unchecked(Some(number)) },
        Call::Create { name, creation: Creation::Unchecked(None) },
        Call::Create { name, creation: Creation::Guarded },
        Call::Create { name, creation: Creation::Exclusive(number.to_be_bytes()) },
        Call::MakeDirectory { name },
        Call::Remove { name },
        Call::RemoveDirectory { name },
        Call::Rename { from: name, to: name },
        Call::Commit { node },
        Call::Access { node, rights: number as u32 },
        Call::ReadDirectory { node, cookie: number, count: number as u32, is_plus: false },
        Call::ReadDirectory { node, cookie: number, count: number as u32, is_plus: true },
        Call::FileSystemStatus { node },
        Call::FileSystemInformation { node },
        Call::PathConfiguration { node },
    ]
}

/// A WRITE of 8 KiB takes 144 octets in addition to its data: a mark of 4, a header of 92, and 48
/// by section 3.3.7.
#[test]
fn a_write_has_the_length_of_the_standard() {
    let mut out = Vec::new();
    let node = Handle::root(&[7; 16]);
    Call::Write { node, offset: 0, stability: Stability::Unstable, data: &[0; 8192] }
        .write(&mut Writer::new(&mut out));
    assert_eq!(out.len(), 8192 + 48);
}

#[test]
fn a_handle_of_another_server_is_none_of_this_one() {
    let handle = Handle::of(&[1; 16], 5);
    assert_eq!((handle.node(&[1; 16]), handle.node(&[2; 16])), (Some(5), None));
    assert_eq!(Handle { length: 23, ..handle }.node(&[1; 16]), None);
}

#[test]
fn what_is_unknown_is_told_from_what_is_garbled() {
    assert_eq!(Call::read(11, XdrReader::new(&[])), Err(Unread::NoSuchProcedure));
    assert_eq!(Call::read(1, XdrReader::new(&[])), Err(Unread::Garbled));
    assert_eq!(
        Call::read(0, XdrReader::new(&[0; 4])),
        Err(Unread::Garbled),
        "more than a call has"
    );
}

proptest! {
    #[test]
    fn calls_are_read_as_they_are_written(name in prop::collection::vec(any::<u8>(), 0..=LONGEST_NAME), number in any::<u64>(), data in prop::collection::vec(any::<u8>(), 0..100)) {
        for call in calls(&name, number, &data) {
            let mut out = Vec::new();
            call.write(&mut Writer::new(&mut out));
            prop_assert_eq!(Call::read(call.procedure(), XdrReader::new(&out)), Ok(call));
        }
    }

    #[test]
    fn no_octets_panic(procedure in 0u32..24, octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Call::read(procedure, XdrReader::new(&octets));
    }
}
