//! Press (1988): tasks on a workstation while other stations load the file server; Figure 3.

#[cfg(test)]
mod tests;

use super::{PrintedTable, ReferencePoint};

/// The numbers of background stations in Figure 3.
const BACKGROUND_STATIONS: [u64; 5] = [0, 1, 3, 5, 10];

/// Figure 3: the tasks, and their normalised times by number of background stations.
const FIGURE_3: [(&str, [f64; 5]); 7] = [
    ("word processing, load program", [1.0, 1.1, 1.5, 1.8, 6.1]),
    ("word processing, load document", [0.7, 0.7, 0.9, 1.3, 2.3]),
    ("word processing, save document", [0.5, 0.6, 0.7, 0.9, 2.8]),
    ("file management, load program", [1.1, 1.3, 1.9, 2.3, 9.6]),
    ("file management, serial search", [1.0, 1.0, 1.1, 1.4, 2.7]),
    ("file management, sort", [1.0, 1.0, 1.2, 1.4, 3.7]),
    ("file management, index", [0.9, 1.0, 1.0, 1.3, 3.3]),
];

/// One line of Figure 3.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The name of the task.
    pub name: &'static str,
    /// The times of the task, by the number of background stations.
    pub times: Vec<Time>,
}

/// One number of Figure 3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// The number of stations that made load.
    pub background_stations: u64,
    /// Elapsed time over that of the same task on a stand-alone PC-XT with its own disk; below one
    /// is faster than that.
    pub normalized_time: f64,
    /// The effect of the load alone: the time over that without background stations.
    pub slowdown_by_load: f64,
}

/// The lines of Figure 3.
pub fn tasks() -> Vec<Task> {
    FIGURE_3.into_iter().map(|(name, printed)| Task { name, times: times(printed) }).collect()
}

fn times(printed: [f64; 5]) -> Vec<Time> {
    let time = |(background_stations, normalized_time)| Time {
        background_stations,
        normalized_time,
        slowdown_by_load: normalized_time / printed[0],
    };
    BACKGROUND_STATIONS.into_iter().zip(printed).map(time).collect()
}

/// Figure 3 as printed.
pub(super) fn tables() -> Vec<PrintedTable> {
    let mut table = PrintedTable {
        about: "by background stations".to_owned(),
        decimals: 1,
        ..PrintedTable::new("Figure", "3", &["0", "1", "3", "5", "10"])
    };
    for (name, times) in &FIGURE_3 {
        table.row(name, "time over stand-alone time", times);
    }
    vec![table]
}

/// Figure 3 as curves.
pub(super) fn reference_points() -> Vec<ReferencePoint> {
    let point = |label, time: &Time| ReferencePoint {
        label,
        x: Some(time.background_stations as f64),
        x_unit: "background stations",
        y: time.normalized_time,
        unit: "times stand-alone",
        source: "figure 3",
    };
    let tasks = tasks();
    tasks.iter().flat_map(|task| task.times.iter().map(|time| point(task.name, time))).collect()
}
