//! What follows from the paper's own rows, and what does not.

mod means;
mod penalties;
mod ratings;

use super::corrected::three;
use super::*;

/// Printed with two decimals; a last digit that was cut instead of rounded is no misprint.
const TOLERANCE_SECONDS: f64 = 0.0101;

/// Every table of the paper that btu contains, with every value that was printed.
#[test]
fn every_table_is_shown() {
    let tables = tables();
    let numbers: Vec<&str> = tables.iter().map(|table| table.number).collect();
    assert_eq!(numbers[..7], ["2", "2", "2", "2", "4", "5 and A17", "A1 to A4"]);
    let halves: Vec<String> =
        (5..=16).flat_map(|number| [format!("A{number}"), format!("A{number}")]).collect();
    assert_eq!(numbers[11..], halves);
    let values: usize =
        tables.iter().flat_map(|table| &table.lines).map(|line| line.cells.len()).sum();
    assert_eq!(values, 4 * 30 + 4 * 2 + 4 * 3 + 4 * 30 + 12 + 24 * 5 * 9);
    let [first, .., last] = &tables[..] else { panic!("tables") };
    assert_eq!(first.lines[4].value("COMM by I/O"), Some(8.42));
    assert_eq!(last.lines[1].value("HM"), Some(15.22));
}
