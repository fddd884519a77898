//! The means of Tables A5 to A16, printed and recomputed.

use std::collections::BTreeMap;

use super::*;

/// The half of a table with the times of the network.
const NETWORK: &str = "COMM";

/// Indices into [`MEANS`].
const ARITHMETIC: usize = 0;
const GEOMETRIC: usize = 1;
const HARMONIC: usize = 2;

/// A printed mean next to the one that its rows give, in seconds.
#[derive(Debug)]
struct MeanCheck {
    table: &'static str,
    half: &'static str,
    /// An index into [`MEANS`].
    kind: usize,
    bytes: u64,
    printed: f64,
    recomputed: f64,
}

impl MeanCheck {
    fn follows(&self) -> bool {
        (self.printed - self.recomputed).abs() <= TOLERANCE_SECONDS
    }
}

/// Every printed mean.
fn every() -> Vec<MeanCheck> {
    let mut found = Vec::new();
    for tables in &TABLES {
        for (table, activity) in tables.iter().zip(ACTIVITIES) {
            let halves = [
                (NETWORK, &table.network, &table.network_means),
                (activity, &table.host, &table.host_means),
            ];
            for (half, times, means) in halves {
                for (size, bytes) in MESSAGE_BYTES.into_iter().enumerate() {
                    let of = three(&times[size]);
                    let recomputed = [of.arithmetic, of.geometric, of.harmonic];
                    for (kind, recomputed) in recomputed.into_iter().enumerate() {
                        let printed = means[kind][size];
                        let table = table.name;
                        found.push(MeanCheck { table, half, kind, bytes, printed, recomputed });
                    }
                }
            }
        }
    }
    found
}

/// Table A5 shifted its rows by one, most means of A11 to A13 are from another run. A6 to A9 and A16
/// have none that is wrong, nor have the other halves of A5 and A10.
#[test]
fn of_360_printed_means_130_do_not_follow_from_their_rows() {
    let every = every();
    assert_eq!(every.len(), 12 * 2 * 3 * 5);
    let mut wrong = BTreeMap::new();
    for check in every.iter().filter(|check| !check.follows()) {
        *wrong.entry((check.table, check.half)).or_insert(0) += 1;
    }
    let expected = [
        (("A10", "FTP"), 15),
        (("A11", "COMM"), 14),
        (("A11", "CPU"), 15),
        (("A12", "COMM"), 13),
        (("A12", "I/O"), 14),
        (("A13", "COMM"), 12),
        (("A13", "FTP"), 12),
        (("A14", "COMM"), 3),
        (("A14", "CPU"), 15),
        (("A15", "COMM"), 1),
        (("A15", "I/O"), 1),
        (("A5", "COMM"), 15),
    ];
    assert_eq!(wrong.into_iter().collect::<Vec<_>>(), expected);
}

/// Table A5's means are one row too low: AM is a copy of row 6, GM the arithmetic, HM the geometric
/// mean.
#[test]
fn the_means_of_table_a5_are_shifted() {
    let every = every();
    let means = |kind| {
        let own = every
            .iter()
            .filter(move |check| (check.table, check.half, check.kind) == ("A5", NETWORK, kind));
        own.collect::<Vec<_>>()
    };
    for (check, row) in means(ARITHMETIC).iter().zip(TABLES[Machine::Dec as usize][0].network) {
        assert!((check.printed - row[5]).abs() < 1e-9, "{check:?}");
    }
    for (printed, meant) in [(GEOMETRIC, ARITHMETIC), (HARMONIC, GEOMETRIC)] {
        for (printed, meant) in means(printed).iter().zip(means(meant)) {
            let miss = (printed.printed - meant.recomputed).abs();
            assert!(miss <= TOLERANCE_SECONDS, "{printed:?} {meant:?}");
        }
    }
    for (check, expected) in means(HARMONIC).iter().zip([10.48, 7.43, 7.12, 8.62, 7.30]) {
        assert!((check.recomputed - expected).abs() < 0.0051, "{check:?}");
    }
}

/// For 1024 bytes the sum of Table A14 was divided by 5 instead of 6, and the fifth root was taken.
#[test]
fn a_slip_of_table_a14() {
    let every = every();
    let slip = every
        .iter()
        .filter(|check| (check.table, check.half, check.bytes) == ("A14", NETWORK, 1024))
        .map(|check| (check.printed, (check.recomputed * 100.0).round() / 100.0));
    assert_eq!(slip.collect::<Vec<_>>(), [(17.43, 14.52), (20.32, 12.30), (16.5, 10.34)]);
}
