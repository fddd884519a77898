//! The user's notes about machines.

use btu_store::MachineNote;

use crate::sample::{open, temporary};

fn note(key: &str, name: Option<&str>, price: Option<&str>) -> MachineNote {
    MachineNote {
        key: key.to_owned(),
        name: name.map(str::to_owned),
        price: price.map(|price| price.parse().unwrap()),
    }
}

#[test]
fn the_last_word_counts() {
    let (_directory, path) = temporary();
    let store = open(&path);
    assert_eq!(store.machine_notes().unwrap(), []);
    let other = note("m2", None, None);
    for said in [
        note("m1", Some("attic"), Some("1200 EUR")),
        other.clone(),
        note("m1", Some("cellar"), None),
    ] {
        store.save_machine_note(&said).unwrap();
    }
    assert_eq!(open(&path).machine_notes().unwrap(), [note("m1", Some("cellar"), None), other]);
}

#[test]
fn two_machines_do_not_share_a_name() {
    let (_directory, path) = temporary();
    let store = open(&path);
    store.save_machine_note(&note("m1", Some("attic"), None)).unwrap();
    assert!(store.save_machine_note(&note("m2", Some("attic"), None)).is_err());
    assert_eq!(store.machine_notes().unwrap().len(), 1);
}
