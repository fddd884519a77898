//! Copies in temporary directories, past the page cache and through it.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use btu_contract::record::Report;
use btu_units::Span;

use super::*;

const MIB: u64 = 1 << 20;

fn order(directory: &Path, file: u64, work: Work) -> activity::Disk {
    activity::Disk { directory: directory.to_owned(), source: None, file: Bytes::new(file), work }
}

fn perform(copying: Copying) -> (Report, Host) {
    let report = Box::new(copying).perform(&AtomicBool::new(false)).expect("copied");
    let Outcome::Host(host) = report.outcome.clone() else { panic!("{report:?}") };
    (report, host)
}

#[test]
fn several_passes_copy_what_was_asked() {
    let directory = tempfile::tempdir().expect("tempdir");
    for asked in [1, 4096, 3 * MIB, 7 * MIB + 12_345] {
        let order = order(directory.path(), 3 * MIB, Work::Bytes(Bytes::new(asked)));
        let (_, host) = perform(Copying::prepare(5, &order).expect("room"));
        assert_eq!(host.work, asked.next_multiple_of(4096), "{asked}");
        assert!(host.method.contains("1 MiB blocks"), "{}", host.method);
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
}

#[test]
fn a_time_is_kept() {
    let directory = tempfile::tempdir().expect("tempdir");
    let time = Span::from_milliseconds(80);
    let (report, host) =
        perform(Copying::prepare(5, &order(directory.path(), MIB, Work::For(time))).expect("room"));
    assert!(report.duration() >= time && host.work >= MIB, "{report:?}");
}

#[test]
fn the_page_cache_is_the_way_where_direct_is_refused() {
    let directory = tempfile::tempdir().expect("tempdir");
    let order = order(directory.path(), 2 * MIB, Work::Bytes(Bytes::new(5 * MIB)));
    let mut copying = Copying::prepare(5, &order).expect("room");
    copying.source = Source::make(directory.path(), 2 * MIB, 5, false).expect("room");
    copying.copy = ScratchFile::create(directory.path(), false).expect("room");
    let (_, host) = perform(copying);
    assert_eq!(host.work, 5 * MIB);
    assert!(host.method.starts_with("page cache"), "{}", host.method);
}

#[test]
fn a_kept_source_serves_many_and_is_not_changed() {
    let directory = tempfile::tempdir().expect("tempdir");
    let kept = DiskSource::make(directory.path(), Bytes::new(2 * MIB), 9).expect("room");
    let before = std::fs::read(kept.path()).expect("readable");
    for _ in 0..2 {
        let mut order = order(directory.path(), 2 * MIB, Work::Bytes(Bytes::new(3 * MIB)));
        order.source = Some(kept.path());
        assert_eq!(perform(Copying::prepare(1, &order).expect("room")).1.work, 3 * MIB);
    }
    assert_eq!(before, std::fs::read(kept.path()).expect("readable"));
    assert_eq!(before.len() as u64, 2 * MIB);
}

#[test]
fn a_short_or_missing_source_is_named() {
    let directory = tempfile::tempdir().expect("tempdir");
    let short = directory.path().join("short");
    std::fs::write(&short, [0; 4096]).expect("written");
    for path in [short, directory.path().join("absent")] {
        let mut order = order(directory.path(), MIB, Work::Bytes(Bytes::new(1)));
        order.source = Some(path.clone());
        let message = Copying::prepare(1, &order).expect_err("no good source").to_string();
        assert!(message.contains(&*path.to_string_lossy()), "{message}");
    }
}

#[test]
fn a_wrong_copy_is_found() {
    let directory = tempfile::tempdir().expect("tempdir");
    let order = order(directory.path(), MIB, Work::Bytes(Bytes::new(MIB)));
    let mut copying = Copying::prepare(5, &order).expect("room");
    copying.work(&Account::open().expect("clocks"), &AtomicBool::new(false)).expect("copied");
    copying.verify(MIB).expect("a good copy");
    let mut wrong = Aligned::new(ALIGNMENT);
    copying.copy.write("spoil", wrong.slice(ALIGNMENT), MIB - ALIGNMENT as u64).expect("written");
    let error = copying.verify(MIB).expect_err("the last block is zeros now");
    assert!(
        matches!(error, LoadError::Corrupt { offset, .. } if offset == MIB - ALIGNMENT as u64),
        "{error}"
    );
}

#[test]
fn absurd_sizes_are_an_error_before_anything_is_written() {
    let directory = tempfile::tempdir().expect("tempdir");
    let order = order(directory.path(), u64::MAX, Work::Bytes(Bytes::new(1)));
    assert!(matches!(Copying::prepare(1, &order), Err(LoadError::NoSpace { .. })));
}
