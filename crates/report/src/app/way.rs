//! The properties that distinguish rows, as columns of a table and as words.

use btu_studies::app::{AppCell, AppRow};

use crate::html::{Cell, Table};

/// The columns that distinguish this run's rows.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    display: bool,
    speeds: bool,
    broadcasts: bool,
}

impl Columns {
    /// A display, speeds and broadcasts only where some row has them.
    pub(super) fn of(rows: &[AppRow]) -> Self {
        Self {
            display: rows.iter().any(|row| row.cell.display.is_some()),
            speeds: rows.iter().any(|row| !row.cell.speeds.are_full()),
            broadcasts: rows.iter().any(|row| !row.cell.broadcasts.are_none()),
        }
    }

    /// An empty table of these and further columns.
    pub(super) fn table(self, caption: &str, further: &[&str]) -> Table {
        let own = [
            ("display", self.display),
            ("application, %", self.speeds),
            ("display, %", self.speeds),
            ("broadcasts/s", self.broadcasts),
        ];
        let own = own.into_iter().filter_map(|(name, is_there)| is_there.then_some(name));
        let head: Vec<&str> = ["picture", "protocol", "transport"].into_iter().chain(own).collect();
        let labels = head.len();
        Table::new(caption, &[&head, further].concat(), labels)
    }

    /// The content of these columns.
    pub(super) fn cells(self, cell: &AppCell) -> Vec<Cell> {
        let mut cells = vec![
            Cell::text(cell.workload.name()),
            Cell::text(cell.protocol.to_string()),
            Cell::text(cell.carrier.name()),
        ];
        if self.display {
            cells.push(
                cell.display.as_ref().map_or(Cell::Nothing, |display| Cell::text(display.as_str())),
            );
        }
        if self.speeds {
            let speeds = [cell.speeds.application, cell.speeds.display];
            cells.extend(speeds.map(|speed| Cell::text(speed.percent().to_string())));
        }
        if self.broadcasts {
            cells.push(Cell::text(cell.broadcasts.per_second().to_string()));
        }
        cells
    }
}

/// Everything but the picture.
pub(super) fn way(cell: &AppCell) -> String {
    let workload = cell.workload.to_string();
    cell.to_string().trim_start_matches(&workload).trim_start().to_owned()
}
