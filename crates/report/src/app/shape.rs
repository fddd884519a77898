//! Rates as the study's tables have them: a protocol on each line, and its carrier, or its picture,
//! in the columns.

use btu_studies::app::{AppCell, AppVerdict};

use crate::html::{Block, Cell, Section, Table};

/// The content of the columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Across {
    /// Lines to several displays, as in Table 8-2.
    Displays,
    /// The carriers of requests, as in Tables 3-1 and 5-1.
    Carriers,
    /// Pictures, where neither differs.
    Pictures,
}

impl Across {
    fn of(verdict: &AppVerdict) -> Self {
        let differ = |name: fn(&AppCell) -> String| distinct(verdict, name).len() > 1;
        if differ(display) {
            Self::Displays
        } else if differ(carrier) {
            Self::Carriers
        } else {
            Self::Pictures
        }
    }

    fn column(self, cell: &AppCell) -> String {
        match self {
            Self::Displays => display(cell),
            Self::Carriers => carrier(cell),
            Self::Pictures => picture(cell),
        }
    }

    /// The property that distinguishes lines, in addition to the protocol.
    fn line(self, cell: &AppCell) -> String {
        if self == Self::Pictures { String::new() } else { picture(cell) }
    }
}

fn display(cell: &AppCell) -> String {
    cell.display.as_ref().map_or_else(String::new, ToString::to_string)
}

fn carrier(cell: &AppCell) -> String {
    cell.carrier.name().to_owned()
}

fn picture(cell: &AppCell) -> String {
    cell.workload.name().to_owned()
}

/// The values of rows there, each once, in their order.
fn distinct(verdict: &AppVerdict, name: impl Fn(&AppCell) -> String) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for row in &verdict.rows {
        let one = name(&row.cell);
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// `None` if factors are tried together, speeds or broadcasts differ, or there is only one column.
pub(super) fn section(verdict: &AppVerdict) -> Option<Section> {
    let across = Across::of(verdict);
    let columns = distinct(verdict, |cell| across.column(cell));
    let is_plain = |cell: &AppCell| cell.speeds.are_full() && cell.broadcasts.are_none();
    let is_crossed =
        verdict.factors.is_none() && verdict.rows.iter().all(|row| is_plain(&row.cell));
    if !is_crossed || columns.len() < 2 {
        return None;
    }
    let head: Vec<&str> =
        ["protocol", "picture"].into_iter().chain(columns.iter().map(String::as_str)).collect();
    let mut table = Table::new("Items per second, side by side", &head, 2);
    for line in distinct(verdict, |cell| across.line(cell)) {
        for protocol in distinct(verdict, |cell| cell.protocol.to_string()) {
            let of = |column: &String| {
                let own = verdict.rows.iter().find(|row| {
                    let cell = &row.cell;
                    let names = (cell.protocol.to_string(), across.line(cell), across.column(cell));
                    names == (protocol.clone(), line.clone(), column.clone())
                });
                Cell::estimate(own.and_then(|row| row.items_per_second.as_ref()), 1.0)
            };
            let words = if across == Across::Pictures { "all" } else { line.as_str() };
            let names = [Cell::text(protocol.as_str()), Cell::text(words)];
            table.rows.push(names.into_iter().chain(columns.iter().map(of)).collect());
        }
    }
    let note = "the same rates in the shape of the study's tables; btu history lantz85 has those";
    Section::of("Side by side", note, vec![Block::Table(table)])
}
