//! The cells of a study with scripts, as lines and as raw values.

use btu_contract::experiment::{Facts, Measured, Scripts};
use btu_contract::json;
use btu_units::{Span, written_rate};

use crate::csv::RawRow;
use crate::study::{CellTable, flatten, raw_value, with_faults};

/// The cells of a run of this plan.
pub fn script_cells<S: Scripts>(plan: &S, records: &[Measured<S::Cell>]) -> CellTable {
    let columns = OptionalColumns::of(plan, records);
    CellTable {
        head: columns.head(),
        lines: records.iter().map(|cell| columns.line(plan, cell)).collect(),
        raw: records.iter().map(|cell| columns.raw(plan, cell)).collect(),
    }
}

/// The columns for what not every study has.
struct OptionalColumns {
    durations: bool,
    round_trips: bool,
    both_ways: bool,
}

impl OptionalColumns {
    /// Those that a cell of the run has a value for.
    fn of<S: Scripts>(plan: &S, cells: &[Measured<S::Cell>]) -> Self {
        let facts: Vec<Facts> =
            cells.iter().map(|cell| plan.facts(&cell.cell, &cell.seen)).collect();
        let round_trips = facts.iter().any(|facts| facts.round_trip.is_some());
        Self {
            durations: !round_trips || facts.iter().any(|facts| facts.duration.is_some()),
            round_trips,
            both_ways: facts.iter().any(|facts| facts.both_ways.is_some()),
        }
    }

    /// The times of a cell in their columns, with their names.
    fn times(&self, facts: &Facts) -> Vec<(&'static str, Option<Span>)> {
        let times = [
            (self.durations, "duration", facts.duration),
            (self.round_trips, "round trip", facts.round_trip),
        ];
        times
            .into_iter()
            .filter(|(is_there, ..)| *is_there)
            .map(|(_, name, time)| (name, time))
            .collect()
    }

    fn head(&self) -> String {
        let times = self.times(&Facts::default());
        let times: Vec<String> = times.iter().map(|(name, _)| format!(" {name:>12}")).collect();
        format!("in block {:<38}{} {:>15}", "cell", times.concat(), "goodput")
    }

    fn line<S: Scripts>(&self, plan: &S, cell: &Measured<S::Cell>) -> String {
        let facts = plan.facts(&cell.cell, &cell.seen);
        let times = self.times(&facts).into_iter().map(|(_, time)| {
            format!(" {:>12}", time.map_or_else(String::new, |time| time.to_string()))
        });
        let goodput = match (facts.goodput_bits_per_second, facts.both_ways) {
            (Some(goodput), _) => written_rate(goodput),
            (None, Some([up, down])) => {
                format!("{} up, {} down", written_rate(up), written_rate(down))
            }
            (None, None) => String::new(),
        };
        let (block, name) = (cell.block + 1, cell.cell.to_string());
        let times = times.collect::<Vec<_>>().concat();
        with_faults(&format!("{block:>2} {name:<44}{times} {goodput:>15}"), &cell.faults)
    }

    /// The levels of every factor as the plan stores them, then the results of a cell.
    fn raw<S: Scripts>(&self, plan: &S, cell: &Measured<S::Cell>) -> RawRow {
        let mut raw = vec![
            raw_value("valid", cell.is_valid()),
            raw_value("block", cell.block + 1),
            raw_value("position", cell.position + 1),
            raw_value("cell", &cell.cell),
        ];
        flatten("", &json::to_value(&cell.cell).unwrap_or_default(), &mut raw);
        let facts = plan.facts(&cell.cell, &cell.seen);
        let number =
            |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
        for (name, time) in self.times(&facts) {
            let name = format!("{}_seconds", name.replace(' ', "_"));
            raw.push(raw_value(&name, number(time.map(Span::seconds))));
        }
        raw.push(raw_value("goodput_bits_per_second", number(facts.goodput_bits_per_second)));
        if self.both_ways {
            let [up, down] = [0, 1].map(|way| facts.both_ways.map(|both| both[way]));
            raw.push(raw_value("goodput_up_bits_per_second", number(up)));
            raw.push(raw_value("goodput_down_bits_per_second", number(down)));
        }
        raw.push(raw_value("faults", cell.faults.join("; ")));
        raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A study of round trips has no column of durations, and others none of round trips.
    #[test]
    fn columns_are_those_that_have_values() {
        let of =
            |durations, round_trips| OptionalColumns { durations, round_trips, both_ways: false };
        let facts = Facts { round_trip: Some(Span::from_milliseconds(1870)), ..Facts::default() };
        let names = |columns: &OptionalColumns| -> Vec<&str> {
            columns.times(&facts).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(&of(false, true)), ["round trip"]);
        assert_eq!(names(&of(true, true)), ["duration", "round trip"]);
        assert_eq!(names(&of(true, false)), ["duration"]);
        let head = of(false, true).head();
        assert!(head.contains("round trip") && !head.contains("duration"), "{head}");
    }
}
