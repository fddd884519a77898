//! Press (1988): tasks on a workstation while other stations load the file server; Figure 3 and the
//! two load programs.

mod prediction;

use std::collections::BTreeSet;

use btu_stats::{Interval, normal_probability, sample_variance};
use serde::Serialize;

use super::{Claim, ReferencePoint};
use btu_suite::lan::mean_pause_seconds;

pub use prediction::{PredictedTask, Prediction, Service};

/// Figure 3 is printed with one decimal.
const ROUNDING: f64 = 0.05;

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

/// Everything about the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Press88History {
    /// Figure 3, with its analysis.
    pub tasks: Vec<Task>,
    /// The figure by closed queueing networks.
    pub predictions: Vec<Prediction>,
    /// The times between transactions of NORM.BAS.
    pub pauses: Vec<Pause>,
    /// The text's statements, compared with figure and programs.
    pub claims: Vec<Claim>,
}

/// One line of Figure 3.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Task {
    /// The name of the task.
    pub name: &'static str,
    /// The times of the task, by the number of background stations.
    pub times: Vec<Time>,
}

/// One number of Figure 3.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Time {
    /// The number of stations that made load.
    pub background_stations: u64,
    /// Elapsed time over that of the same task on a stand-alone PC-XT with its own disk; below one
    /// is faster than that.
    pub normalized_time: f64,
    /// Recomputed: the effect of the load alone, the time over that without background stations.
    pub slowdown_by_load: f64,
    /// The bounds of this value, because both times are printed with one decimal.
    pub slowdown_bounds: Interval,
}

/// NORM.BAS waits a normally distributed time, but never a negative one: so its mean differs from
/// the requested one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pause {
    /// The requested mean, in seconds.
    pub mean_seconds: f64,
    /// The requested standard deviation, in seconds.
    pub deviation_seconds: f64,
    /// The resulting mean: M Phi(M/SD) + SD phi(M/SD).
    pub actual_mean_seconds: f64,
    /// Share of pauses that would be negative and become zero.
    pub share_below_zero: f64,
}

/// Recomputes all numbers of the 1988 paper: Figure 3, and the pauses of NORM.BAS.
pub fn history() -> Press88History {
    let tasks = tasks();
    let pauses = [(1.0, 0.25), (1.0, 0.5), (1.0, 1.0), (2.0, 3.0)]
        .map(|(mean, deviation)| pause(mean, deviation));
    let claims = claims(&tasks);
    Press88History { predictions: prediction::all(&tasks), tasks, pauses: pauses.to_vec(), claims }
}

/// The lines of Figure 3.
pub fn tasks() -> Vec<Task> {
    FIGURE_3.into_iter().map(|(name, printed)| Task { name, times: times(printed) }).collect()
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
    let tasks = history().tasks;
    tasks.iter().flat_map(|task| task.times.iter().map(|time| point(task.name, time))).collect()
}

fn times(printed: [f64; 5]) -> Vec<Time> {
    let alone = printed[0];
    BACKGROUND_STATIONS
        .into_iter()
        .zip(printed)
        .map(|(stations, time)| of(stations, time, alone))
        .collect()
}

fn of(background_stations: u64, normalized_time: f64, alone: f64) -> Time {
    let bounds = if background_stations == 0 {
        Interval { low: 1.0, high: 1.0 }
    } else {
        let low = (normalized_time - ROUNDING) / (alone + ROUNDING);
        Interval { low, high: (normalized_time + ROUNDING) / (alone - ROUNDING) }
    };
    let slowdown_by_load = normalized_time / alone;
    Time { background_stations, normalized_time, slowdown_by_load, slowdown_bounds: bounds }
}

fn pause(mean: f64, deviation: f64) -> Pause {
    Pause {
        mean_seconds: mean,
        deviation_seconds: deviation,
        actual_mean_seconds: mean_pause_seconds(mean, deviation),
        share_below_zero: normal_probability(-mean / deviation),
    }
}

fn claims(tasks: &[Task]) -> Vec<Claim> {
    let at = |name: &str, stations: u64| {
        let task = tasks
            .iter()
            .find(|task| task.name == name)
            .unwrap_or_else(|| panic!("no task `{name}`"));
        let found = task.times.iter().find(|time| time.background_stations == stations);
        found.unwrap_or_else(|| panic!("{name}: no {stations} stations")).normalized_time
    };
    let [program, loaded] = [0, 1].map(|stations| at("word processing, load program", stations));
    let fast: BTreeSet<&str> = tasks
        .iter()
        .filter(|task| task.times[0].normalized_time < 1.0)
        .map(|task| task.name)
        .collect();
    let variance = sample_variance(&[1.0, 2.0, 4.0, 8.0]).unwrap_or_default();
    vec![
        Claim::new(
            "section III",
            "loading the program without load takes as long as stand-alone; 1.1 times with one station",
            format!("{program:.1} and {loaded:.1}"),
            (program, loaded) == (1.0, 1.1),
        ),
        Claim::new(
            "section III",
            "some tasks are faster on the network while there is little load",
            format!(
                "{} of {} without load: {}",
                fast.len(),
                tasks.len(),
                fast.into_iter().collect::<Vec<_>>().join("; ")
            ),
            true,
        ),
        Claim::new(
            "section II",
            "\"writes then reads\" a record, and \"reading then writing\" in the next sentence",
            "CONST.BAS puts, then gets: it writes first (lines 180, 190)",
            false,
        ),
        Claim::new(
            "section II",
            "the program displays the cumulative standard deviation",
            format!(
                "CONST.BAS prints the variance (line 170): for pauses of 1, 2, 4, 8 s {variance:.6} s2, whose root is {:.4} s",
                variance.sqrt()
            ),
            false,
        ),
        Claim::new(
            "figure 1",
            "the time since the previous transaction, from the first one on",
            "the first is the time since the program was initialized; its variance divides 0 by 0 (line 160)",
            false,
        ),
        Claim::new(
            "section II",
            "the time between transactions is normally distributed",
            "NORM.BAS draws the pause after a transaction: the time between them is transaction plus pause, cut at zero",
            false,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_3_is_complete() {
        let tasks = history().tasks;
        assert_eq!(tasks.len(), 7);
        for task in &tasks {
            let stations: Vec<u64> =
                task.times.iter().map(|time| time.background_stations).collect();
            assert_eq!(stations, [0, 1, 3, 5, 10], "{}", task.name);
        }
    }

    /// The worst slowdown: while ten stations work, loading the file manager takes 9.6 times as
    /// long as stand-alone and 8.7 times as long as unloaded.
    #[test]
    fn the_worst_slowdown() {
        let tasks = history().tasks;
        let worst = tasks
            .iter()
            .flat_map(|task| &task.times)
            .max_by(|a, b| a.slowdown_by_load.total_cmp(&b.slowdown_by_load));
        let worst = worst.unwrap();
        assert_eq!((worst.background_stations, worst.normalized_time), (10, 9.6));
        assert!((worst.slowdown_by_load - 8.727).abs() < 1e-3, "{worst:?}");
        assert!((worst.slowdown_bounds.low - 9.55 / 1.15).abs() < 1e-12);
        assert!((worst.slowdown_bounds.high - 9.65 / 1.05).abs() < 1e-12);
    }

    /// Means of max(0, normal), computed by hand, to the printed digits.
    #[test]
    fn cut_pauses_are_longer_than_asked() {
        let expected = [1.000_002, 1.004_245, 1.083_315, 2.453_359];
        let pauses = history().pauses;
        for (pause, expected) in pauses.iter().zip(expected) {
            assert!((pause.actual_mean_seconds - expected).abs() < 1e-6, "{pause:?}");
        }
        // Mean over deviation is 2: 2.275 % lie below zero.
        assert!((pauses[1].share_below_zero - 0.022_75).abs() < 1e-5);
    }

    #[test]
    fn the_programs_statistics() {
        let found = &history().claims[3].found;
        assert!(found.contains("9.583333"), "{found}");
    }

    #[test]
    fn what_does_not_hold_is_named() {
        assert_eq!(history().claims.iter().filter(|claim| !claim.holds).count(), 4);
    }
}
