//! The reader answers for any file; it never panics, and the places in its answers are in the file.

use btu_network::{Attachment, Drawing, End, Place, fuzz_read, library};
use proptest::prelude::*;

/// Words that have a meaning somewhere in a network file.
const WORDS: &[&str] = &[
    "name",
    "about",
    "segments",
    "stations",
    "bridges",
    "links",
    "traffic",
    "medium",
    "count",
    "rate",
    "length",
    "velocity",
    "contention",
    "queue",
    "delay",
    "latency",
    "up",
    "down",
    "forth",
    "back",
    "segment",
    "position",
    "address",
    "positions",
    "buffer",
    "addresses",
    "mtu",
    "between",
    "trace",
    "jitter",
    "loss",
    "corrupt",
    "duplicate",
    "reorder",
    "framing",
    "changes",
    "at",
    "way",
    "from",
    "to",
    "size",
    "packets_per_s",
    "load",
    "saturated",
    "think",
    "reply",
    "service",
    "arrivals",
    "start",
    "stop",
    "ttrt",
    "station_latency",
    "ring_latency",
    "early_release",
    "a",
    "b",
    "lab",
];

/// Values that are right somewhere.
const VALUES: &[&str] = &[
    "\"shared-ethernet\"",
    "\"switched-ethernet\"",
    "\"token-ring\"",
    "\"fddi\"",
    "\"atm\"",
    "\"10 Mb/s\"",
    "\"1 ms\"",
    "\"500 m\"",
    "\"1 %\"",
    "\"64 B\"",
    "\"a\"",
    "\"b\"",
    "\"lab\"",
    "\"all\"",
    "\"next\"",
    "3",
    "0",
    "-1",
    "0.5",
    "nan",
    "true",
    "[\"a\", \"b\"]",
    "[\"lab\", \"x\"]",
    "{ p = \"1 %\", r = \"2 %\" }",
    "\"lte-up.trace\"",
    "[1, 2]",
    "\"198.18.0.9\"",
    "1979-05-27",
    "\"codel\"",
    "99999999999",
    "\"\"",
    "[]",
    "{}",
];

fn line() -> impl Strategy<Value = String> {
    let word = || prop::sample::select(WORDS);
    let path = prop::collection::vec(word(), 1..4).prop_map(|words| words.join("."));
    prop_oneof![
        3 => (word(), prop::sample::select(VALUES)).prop_map(|(key, value)| format!("{key} = {value}")),
        2 => path.clone().prop_map(|path| format!("[{path}]")),
        1 => path.prop_map(|path| format!("[[{path}]]")),
    ]
}

/// A library file with some of its lines left out, doubled, or replaced, and some characters
/// changed.
fn mutated() -> impl Strategy<Value = String> {
    let change = (0usize..400, 0u8..5, line(), any::<char>());
    (0..library().len(), prop::collection::vec(change, 1..6)).prop_map(|(file, changes)| {
        let mut lines: Vec<String> = library()[file].1.lines().map(str::to_owned).collect();
        for (place, kind, new, character) in changes {
            let place = place % lines.len();
            match kind {
                0 => drop(lines.remove(place)),
                1 => lines.insert(place, new),
                2 => lines[place] = new,
                3 => lines.insert(place, lines[place].clone()),
                _ => lines[place].insert(0, character),
            }
            if lines.is_empty() {
                lines.push(String::new());
            }
        }
        lines.join("\n")
    })
}

/// The properties of every drawing: identifiers point into their lists, and both sides of every
/// attachment agree.
fn keeps_its_promises(drawing: &Drawing) {
    for (number, station) in drawing.stations.iter().enumerate() {
        match station.attachment {
            Attachment::Segment(segment, _) => drop(drawing.segment(segment).name.clone()),
            Attachment::Link(link) => {
                let at = drawing.link(link).ends.iter();
                assert_eq!(
                    at.filter(|end| matches!(end, End::Station(id) if id.0 as usize == number))
                        .count(),
                    1
                );
            }
        }
    }
    for bridge in &drawing.bridges {
        bridge
            .segments
            .iter()
            .for_each(|(segment, _)| drop(drawing.segment(*segment).name.clone()));
        bridge.links.iter().for_each(|link| drop(drawing.link(*link).name.clone()));
    }
    for flow in &drawing.traffic {
        assert!(!flow.from.is_empty() && flow.from.is_sorted());
        flow.from.iter().for_each(|station| drop(drawing.station(*station).name.clone()));
    }
}

fn check(text: &str) {
    match Drawing::read(text, "t.toml") {
        Ok(drawing) => keeps_its_promises(&drawing),
        Err(error) => {
            assert!(!error.problems().is_empty());
            let lines = text.split('\n').count();
            for problem in error.problems() {
                let Place::File { line, column, .. } = &problem.place else {
                    panic!("no place: {error}")
                };
                assert!((1..=lines).contains(line) && *column >= 1, "{error}");
            }
            assert!(!error.to_string().is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn random_lines_of_known_words(lines in prop::collection::vec(line(), 0..40)) {
        check(&lines.join("\n"));
    }

    #[test]
    fn library_files_that_were_changed(text in mutated()) {
        check(&text);
    }

    #[test]
    fn random_octets(octets in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzz_read(&octets);
    }

    #[test]
    fn random_settings(key in "[a-z.]{0,30}", value in "\\PC{0,20}", file in 0..library().len()) {
        let _ = Drawing::read_with(library()[file].1, "t.toml", &[(&key, &value)]);
    }
}

#[test]
fn deep_and_wide_files_are_answered() {
    let lines = |line: fn(u32) -> String| (0..40_000).map(line).collect::<Vec<_>>().concat();
    let files = [
        "[".repeat(200_000),
        "a=[".repeat(100_000),
        "x = {".repeat(100_000),
        "a.".repeat(300_000),
        "[segments.x]\n".repeat(50_000),
        "\"".repeat(900_000),
        lines(|n| format!("[stations.s{n}]\n")),
        lines(|n| format!("key{n} = 1\n")),
    ];
    for file in &files {
        check(file);
    }
}
