//! The wall clock: it can be set at any moment, so no time that is measured or waited for depends
//! on it.

use std::collections::BTreeSet;
use std::path::Path;

/// The files that read the wall clock, each for something that only it can say.
const READERS: [(&str, &str); 8] = [
    (
        "board/src/board.rs",
        "when publications and challenges come, and whether they were signed soon before",
    ),
    ("btu/src/stored/database.rs", "when a run began and ended, as users write it"),
    ("control/src/agent/host.rs", "what controllers compare their own with"),
    ("control/src/controller/hosts/clock.rs", "how far it is from those of hosts"),
    ("control/src/environment/watch.rs", "whether it was set while something was measured"),
    ("control/src/trust/authority.rs", "the days of certificates"),
    ("testbed/src/port/clock.rs", "the kernel's stamps of frames, which are by it"),
    ("traffic/src/moment.rs", "the kernel's stamps of packets, which are by it"),
];

/// What reads it: of the standard library, of the kernel, and of the library for dates.
const CALLS: [&str; 5] =
    ["SystemTime::now", "CLOCK_REALTIME", "Timestamp::now", "Zoned::now", "CLOCK_TAI"];

/// The sources in which a line that is no comment reads it.
fn readers(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            readers(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let reads = |line: &str| CALLS.iter().any(|call| line.contains(call));
            if code.into_iter().any(reads) {
                found.insert(path.display().to_string());
            }
        }
    }
}

#[test]
fn only_what_is_for_people_and_for_stamps_reads_the_wall_clock() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(&crates).unwrap().map(Result::unwrap) {
        let sources = entry.path().join("src");
        // The tools for comparisons with other programs are no part of the program.
        if entry.file_name() != "bench" && sources.is_dir() {
            readers(&sources, &mut found);
        }
    }
    let root = crates.display().to_string();
    let known: BTreeSet<String> =
        READERS.iter().map(|(file, _)| format!("{root}/{file}")).collect();
    assert_eq!(found, known, "say in the table what another reader is for");
}
