//! Exports and imports runs: all of their data, or nothing.

use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::time::Duration;

use btu_contract::experiment::{self, AnyExperiment, Experiment};
use btu_contract::load::Load;
use btu_contract::network::Network;
use btu_contract::record::{Failure, Outcome, Report};
use btu_store::{
    ARCHIVE_VERSION, ArchiveError, Level, Moment, NewRun, RunId, State, Store, StoreError,
};
use btu_studies::rate::{CellRecord, Component, Plan, Profile, Row};
use btu_units::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::json;

use crate::drills::{DATABASE, other_part, skip, this_program};
use crate::sample::{CREATED, StoreCells, cell, create, open, temporary};

#[path = "../../../studies/tests/made/mod.rs"]
mod made;

/// The study of these archives' runs.
fn ratings(study: &str) -> Option<&'static dyn AnyExperiment> {
    (study == "rate").then(experiment::any::<Plan>)
}

/// A plan with two rows, and as many blocks.
fn plan(blocks: u32) -> Plan {
    let profile = Profile { most_blocks: blocks, ..Profile::quick() };
    Plan {
        components: vec![Component::SendRecv],
        messages: vec![Bytes::new(1250)],
        loads: vec![Load::Disk],
        ..Plan::whole(u64::MAX, profile, Network::Veth)
    }
}

/// A complete run of so many blocks, with an environment, an event and tags. Every third block has cells that do not
/// count.
fn real_run(store: &mut Store, label: &str, blocks: u32) -> RunId {
    let plan = plan(blocks);
    let tags = ["lab".to_owned(), "night".to_owned()];
    let lock = store
        .create_run(&NewRun {
            study: "rate",
            profile: "quick",
            network: "veth",
            label: Some(label),
            tags: &tags,
            created: CREATED,
            seed: u64::MAX,
            btu_version: "0.1.0",
            plan: &btu_contract::json::to_value(&plan).unwrap(),
            plan_hash: &plan.hash(),
            planned_cells: 240,
        })
        .unwrap();
    store.save_calibration(&lock, &made::calibration(&plan)).unwrap();
    store.save_environment(&lock, Moment::Before, &json!({"kernel": {"release": "6.18"}})).unwrap();
    store.save_event(&lock, CREATED, Level::Warning, "first line\nsecond \"line\" \\ äöü").unwrap();
    for block in 0..blocks {
        for row in plan.shuffled(block, plan.rows()) {
            store.save_cell(&lock, &real_cell(&plan, row, block)).unwrap();
        }
    }
    store.finish(&lock, State::Complete, CREATED).unwrap();
    lock.run()
}

/// A cell as large as they come, whose accounts agree; in every third block its last activity was killed.
fn real_cell(plan: &Plan, row: Row, block: u32) -> CellRecord {
    let mut real = made::cell(plan, row, block, 941_482_753.1);
    if block % 3 == 2 {
        let failure = Failure::Deadline { deadline_ns: 9_000_000_000 };
        real.reports.last_mut().unwrap().result = Err(failure);
    }
    for placed in &mut real.reports {
        if let Ok(Report { outcome: Outcome::Received(received), .. }) = &mut placed.result {
            received.progress = (1..=1000).map(|step| (step * 1_049_017, step * 10_000)).collect();
        }
    }
    let CellRecord { stations, machine, wire, .. } = cell(block, real.position, row);
    made::derived(plan, CellRecord { stations, machine, wire, ..real })
}

fn archive(store: &Store, runs: &[RunId]) -> Vec<u8> {
    store.export(runs, Vec::new()).unwrap()
}

/// An archive of two runs, and its contents.
fn two_runs() -> (Vec<u8>, Vec<String>) {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let runs = [real_run(&mut store, "first", 3), real_run(&mut store, "second", 1)];
    (archive(&store, &runs), runs.map(|run| everything(&store, run)).to_vec())
}

/// All stored data of a run, except its number.
fn everything(store: &Store, run: RunId) -> String {
    let mut row = btu_contract::json::to_value(&store.run(&run.to_string()).unwrap()).unwrap();
    for own in ["id", "imported"] {
        row.as_object_mut().unwrap().remove(own);
    }
    format!("{row} {}", serde_json::to_string(&store.cells(run).unwrap()).unwrap())
}

fn lines(archive: &[u8]) -> Vec<String> {
    let mut text = String::new();
    GzDecoder::new(archive).read_to_string(&mut text).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Lines as an archive, with the checksum that belongs to them.
fn sealed(lines: &[String]) -> Vec<u8> {
    use sha2::Digest;
    let body: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let hash = sha2::Sha256::digest(&body)
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    packed(&format!("{body}{}\n", json!({"end": {"sha256": hash}})))
}

fn packed(text: &str) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn what_was_exported_is_imported_whole() {
    let (file, expected) = two_runs();
    let (_directory, path) = temporary();
    let mut store = open(&path);
    create(&mut store);
    let imported = store.import(Cursor::new(&file), ratings).unwrap();
    assert_eq!(imported.iter().map(|run| run.new).collect::<Vec<_>>(), [true, true]);
    assert_eq!(
        store.runs().unwrap().iter().map(|run| run.imported).collect::<Vec<_>>(),
        [false, true, true]
    );
    let found: Vec<String> = imported.iter().map(|run| everything(&store, run.run)).collect();
    assert_eq!(found, expected);
    // A second export is equal to the last byte.
    assert_eq!(archive(&store, &[imported[0].run, imported[1].run]), file);
}

#[test]
fn a_run_that_is_here_already_is_not_doubled() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let kept = real_run(&mut store, "kept", 2);
    let gone = real_run(&mut store, "gone", 2);
    let file = archive(&store, &[kept, gone]);
    let before = everything(&store, gone);
    let lock = store.lock(gone).unwrap();
    store.delete(lock).unwrap();
    for new in [true, false] {
        let imported = store.import(Cursor::new(&file), ratings).unwrap();
        assert_eq!((imported[0].run, imported[0].new, imported[1].new), (kept, false, new));
        assert_eq!(everything(&store, imported[1].run), before);
    }
    assert_eq!(store.runs().unwrap().len(), 2);
}

#[test]
fn a_run_that_is_being_written_is_not_exported() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    assert!(matches!(
        store.export(&[lock.run()], Vec::new()),
        Err(ArchiveError::Unfinished { .. })
    ));
    // An interrupted run is exported as interrupted.
    let run = lock.run();
    drop(lock);
    assert!(lines(&archive(&store, &[run]))[1].contains(r#""state":"interrupted""#));
}

/// Imports into an empty store, which must stay empty.
fn refusal(file: &[u8]) -> ArchiveError {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let refused = store.import(Cursor::new(file), ratings).unwrap_err();
    assert!(store.runs().unwrap().is_empty());
    refused
}

#[test]
fn garbage_is_told_from_archives() {
    for file in [
        b"".as_slice(),
        b"hello",
        &[0x1f, 0x8b],
        &packed(""),
        &packed("hello\n"),
        &packed("{}\n"),
        &[0; 5000],
    ] {
        let refused = refusal(file);
        assert!(matches!(refused, ArchiveError::NotAnArchive), "{refused}");
    }
    let newer = refusal(&packed("{\"archive\":{\"version\":9,\"runs\":1,\"more\":true}}\n"));
    assert!(matches!(newer, ArchiveError::Newer { found: 9, known: ARCHIVE_VERSION }), "{newer}");
}

#[test]
fn what_contradicts_itself_is_refused_with_its_line() {
    let (file, _) = two_runs();
    let whole = lines(&file);
    let body = &whole[..whole.len() - 1];
    // Compared unpacked: the blocks of a stream depend on the writer and on the compressor.
    assert_eq!(lines(&sealed(body)), whole, "the test makes archives as the program does");
    let changed = |line: usize, from: &str, to: &str| {
        let mut lines = body.to_vec();
        assert!(lines[line].contains(from), "{}", lines[line]);
        lines[line] = lines[line].replacen(from, to, 1);
        refusal(&sealed(&lines)).to_string()
    };
    let run = 1;
    let line_of = |words: &str| body.iter().position(|line| line.contains(words)).unwrap();
    let cell = line_of(r#""SEND_RECV","message_bytes":1250,"load""#);
    let [environment, event] = [r#"{"environment""#, r#"{"event""#].map(line_of);
    let deep = "[".repeat(1000) + &"]".repeat(1000);
    for (found, word) in [
        (changed(0, r#""runs":2"#, r#""runs":3"#), "2 runs and says that it has 3"),
        (changed(run, r#""state":"complete""#, r#""state":"running""#), "not a state"),
        (changed(run, r#""label":"first""#, r#""label":"\u001b[2J""#), "terminal"),
        (changed(run, r#""tags":["lab""#, r#""tags":["two words""#), "not a tag"),
        (changed(run, r#""seed":"18446744073709551615""#, r#""seed":"-1""#), "seed"),
        (changed(run, r#""uuid":""#, r#""uuid":"x"#), "not a uuid"),
        (changed(run, r#""version":1"#, r#""version":"x""#), "plan cannot be read"),
        (
            changed(run, r#""disk_file_bytes":67108864"#, r#""disk_file_bytes":67108865"#),
            "and is called ",
        ),
        (
            changed(cell, r#""goodput_bits_per_second":9"#, r#""goodput_bits_per_second":8"#),
            "differ",
        ),
        (changed(cell, r#""valid":true"#, r#""valid":false"#), "differ"),
        (changed(cell, r#""kind":"network""#, r#""kind":"x""#), "cell cannot be read"),
        (changed(event, r#""level":"warning""#, r#""level":"x""#), "event"),
        (changed(run, "\"spent_ns\":", "\"spent_ns\":-1"), "less than no time"),
        (changed(event, "first line\\n", "first line\\r"), "terminal"),
        (changed(run, r#""label":"first""#, "\"label\":\"\u{202e}tsrif\""), "terminal"),
        (changed(run, r#""label":"first""#, r#""label":"\u2067x""#), "terminal"),
        (
            changed(run, r#""null_cell_ns":12"#, r#""null_cell_ns":1e999"#),
            "calibration cannot be read",
        ),
        (
            changed(environment, r#""release":"6.18""#, r#""release":1e999"#),
            "environment cannot be read",
        ),
        (changed(environment, r#""6.18""#, &deep), "environment cannot be read"),
        (changed(environment, "6.18", "6.18\\nroot:"), "several lines"),
        (changed(run, r#""message_bytes":["#, r#""message_bytes":[1,1,"#), "plan cannot be read"),
        (changed(run, r#""name":"quick""#, r#""name":"quick$(id)""#), "no profile"),
    ] {
        assert!(found.contains(word), "{found} has no `{word}`");
    }
    let mut twice = body.to_vec();
    twice.push(body[run].clone());
    assert!(refusal(&sealed(&twice)).to_string().contains("twice"));
    let orphan = [body[0].clone(), body[cell].clone()];
    assert!(refusal(&sealed(&orphan)).to_string().contains("no run"));
    let mut followed = file.clone();
    followed.push(b'x');
    assert!(refusal(&followed).to_string().contains("follows the archive"));
    let text = whole.join("\n") + "\n";
    assert!(
        refusal(&packed(&format!("{text}{{}}\n"))).to_string().contains("follows the checksum")
    );
    assert!(
        refusal(&packed(&text.replace(r#""label":"first""#, r#""label":"fifth""#)))
            .to_string()
            .contains("checksum")
    );
}

#[test]
fn bombs_are_refused_early() {
    let head = "{\"archive\":{\"version\":1,\"runs\":1}}\n";
    let one_line = refusal(&packed(&format!("{head}{}", " ".repeat(9 << 20))));
    assert!(matches!(one_line, ArchiveError::TooLarge { line: 2, .. }), "{one_line}");
    // Many valid lines: 80 MB out of 300 kB.
    let (file, _) = two_runs();
    let run = lines(&file)[1].clone();
    let event = json!({"event": {"at": CREATED, "level": "info", "text": " ".repeat(1 << 20)}})
        .to_string()
        + "\n";
    let many = refusal(&packed(&format!("{head}{run}\n{}", event.repeat(80))));
    assert!(matches!(many, ArchiveError::TooLarge { .. }), "{many}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn damaged_archives_import_nothing_or_all(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
                                              cut in prop::option::of(any::<prop::sample::Index>())) {
        let (file, expected) = ARCHIVE.with(Clone::clone);
        let mut damaged = file;
        for (place, byte) in places {
            let place = place.index(damaged.len());
            damaged[place] = byte;
        }
        if let Some(cut) = cut {
            damaged.truncate(cut.index(damaged.len()));
        }
        let (_directory, path) = temporary();
        let mut store = open(&path);
        match store.import(Cursor::new(&damaged), ratings) {
            Err(_) => prop_assert!(store.runs().unwrap().is_empty()),
            // The time in gzip's head, for example, has no meaning.
            Ok(imported) => {
                let found: Vec<String> = imported.iter().map(|run| everything(&store, run.run)).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn damaged_lines_with_a_right_checksum_never_panic(line in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(),
                                                       with in "[ -~\u{e9}]{0,3}") {
        let (file, _) = ARCHIVE.with(Clone::clone);
        let mut lines = lines(&file);
        lines.pop();
        let line = line.index(lines.len());
        let mut characters: Vec<char> = lines[line].chars().collect();
        let place = place.index(characters.len());
        characters.splice(place..=place, with.chars());
        lines[line] = characters.into_iter().collect();
        let (_directory, path) = temporary();
        let mut store = open(&path);
        let imported = store.import(Cursor::new(sealed(&lines)), ratings);
        let runs = store.runs().unwrap().len();
        prop_assert_eq!(runs, imported.map_or(0, |imported| imported.len()));
    }
}

thread_local! {
    static ARCHIVE: (Vec<u8>, Vec<String>) = two_runs();
}

/// Enough blocks for a kill between two cells.
const MANY: u32 = 20;

#[test]
#[ignore = "the importer's part of other tests"]
fn importer() {
    let Some(database) = std::env::var_os(DATABASE) else { return };
    let database = Path::new(&database);
    let file = std::fs::File::open(database.with_file_name("archive")).unwrap();
    open(database).import(file, ratings).unwrap();
}

#[test]
fn a_killed_import_leaves_nothing_or_all() {
    let (_directory, source) = temporary();
    let mut store = open(&source);
    let run = real_run(&mut store, "large", MANY);
    let file = archive(&store, &[run]);
    let mut outcomes = [0, 0];
    for step in 0..12 {
        let (_directory, path) = temporary();
        std::fs::write(path.with_file_name("archive"), &file).unwrap();
        let mut importer = other_part(&mut this_program(), "archive::importer", &path);
        std::thread::sleep(Duration::from_millis(step * 15));
        importer.kill().unwrap();
        importer.wait().unwrap();
        let mut store = open(&path);
        let runs = store.runs().unwrap();
        outcomes[runs.len()] += 1;
        assert!(runs.iter().all(|run| run.cells == 2 * MANY), "{runs:?}");
        // A second time works as well.
        store.import(Cursor::new(&file), ratings).unwrap();
        assert_eq!(store.runs().unwrap().len(), 1);
    }
    println!("{} killed before the commit, {} after", outcomes[0], outcomes[1]);
}

#[test]
#[ignore = "the part of another test inside its own mount namespace"]
fn import_on_a_small_disk() {
    let Some(directory) = std::env::var_os(DATABASE) else { return };
    let mount_point = Path::new(&directory);
    let file = std::fs::read(mount_point.join("archive")).unwrap();
    let options = Some("size=200k");
    nix::mount::mount(
        Some("tmpfs"),
        mount_point,
        Some("tmpfs"),
        nix::mount::MsFlags::empty(),
        options,
    )
    .unwrap();
    let mut store = open(&mount_point.join("runs.sqlite"));
    let refused = store.import(Cursor::new(&file), ratings).unwrap_err();
    assert!(matches!(refused, ArchiveError::Store(StoreError::Full { .. })), "{refused}");
    assert!(store.runs().unwrap().is_empty());
    drop(store);
    assert!(open(&mount_point.join("runs.sqlite")).runs().unwrap().is_empty());
    println!("\nsmall disk: refused");
}

#[test]
fn a_full_disk_imports_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (_source, path) = temporary();
    let mut store = open(&path);
    let run = real_run(&mut store, "large", MANY);
    std::fs::write(directory.path().join("archive"), archive(&store, &[run])).unwrap();
    let Some(mut command) = crate::drills::with_mounts() else {
        return skip("no user and mount namespaces here, so no small disk to fill");
    };
    let part = other_part(&mut command, "archive::import_on_a_small_disk", directory.path());
    let output = part.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("small disk: refused"), "{text}");
}
