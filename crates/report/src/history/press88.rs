//! The page of the study of Press, 1988.

use btu_studies::papers::press88::{Pause, Prediction, Press88History, Service, Task};

use super::parts::{claims, opening, words};
use crate::head::TextOptions;
use crate::number::three_digits;
use crate::sheet::{Sheet, page, section};

/// Figure 3, the effect of the load alone, and the load programs; with `all` also the sentences
/// that hold.
pub fn press88_text(history: &Press88History, all: bool, options: &TextOptions) -> String {
    let about = "Seven tasks on one workstation with a file server while up to ten others made load, against the same \
                 tasks on a stand-alone IBM PC-XT with its own disk.";
    page(vec![
        opening("Press 1988: benchmarks for LAN performance evaluation", about, options),
        figure(&history.tasks, options),
        slowdowns(&history.tasks, options),
        predictions(&history.predictions, &history.tasks, options),
        pauses(&history.pauses, options),
        claims(&history.claims, all, options),
    ])
}

fn figure(tasks: &[Task], options: &TextOptions) -> Vec<String> {
    let mut sheet = Sheet::new(head(tasks, 0, "task"), 1);
    for task in tasks {
        let times = task.times.iter().map(|time| format!("{:.1}", time.normalized_time));
        sheet.row(std::iter::once(task.name.to_owned()).chain(times).collect());
    }
    section(
        "Figure 3, by background stations",
        "time over stand-alone time",
        sheet.lines(),
        options,
    )
}

fn slowdowns(tasks: &[Task], options: &TextOptions) -> Vec<String> {
    let mut columns = head(tasks, 1, "task");
    columns.push("bounds at the most".to_owned());
    let mut sheet = Sheet::new(columns, 1);
    for task in tasks {
        let ratios = task.times.iter().skip(1).map(|time| three_digits(time.slowdown_by_load));
        let bounds = task.times.last().map(|time| time.slowdown_bounds);
        let bounds = bounds.map_or_else(String::new, |bounds| {
            format!("{} .. {}", three_digits(bounds.low), three_digits(bounds.high))
        });
        sheet.row(std::iter::once(task.name.to_owned()).chain(ratios).chain([bounds]).collect());
    }
    let note = "time over that without background stations; bounds from one printed decimal";
    section("Recomputed: what the load alone does", note, sheet.lines(), options)
}

/// The slowdowns again, by each closed form, with its own numbers below it.
fn predictions(all: &[Prediction], tasks: &[Task], options: &TextOptions) -> Vec<String> {
    let sections = all.iter().flat_map(|one| {
        let mut columns = head(tasks, 1, "task");
        columns.push("f".to_owned());
        let mut sheet = Sheet::new(columns, 1);
        for task in &one.tasks {
            let slowdowns = task.slowdowns.iter().map(|(_, slowdown)| three_digits(*slowdown));
            let share = format!("{:.2}", task.share_at_server);
            sheet.row(
                std::iter::once(task.name.to_owned()).chain(slowdowns).chain([share]).collect(),
            );
        }
        let foot = format!(
            "{}: z = {:.1}, knee at {:.1} stations, misses by {:.2} (root mean square)",
            service(one.service),
            one.think_over_service,
            one.knee_stations,
            one.root_mean_square
        );
        sheet.lines().into_iter().chain([foot, String::new()])
    });
    let mut lines: Vec<String> = sections.collect();
    lines.pop();
    let note = "1 + f w(k): w is the work that a visit finds at the server, f the task's share of time there; one z (a \
                station's own time over its service) for all tasks, by least squares";
    section("Recomputed: the same by closed queueing networks", note, lines, options)
}

fn service(service: Service) -> &'static str {
    match service {
        Service::Exponential => "exponential service",
        Service::Fixed => "service of fixed length",
    }
}

/// The numbers of background stations, without the first `skipped`.
fn head(tasks: &[Task], skipped: usize, first: &str) -> Vec<String> {
    let times = tasks.first().map_or(&[][..], |task| &task.times[..]);
    let stations = times.iter().skip(skipped).map(|time| time.background_stations.to_string());
    std::iter::once(first.to_owned()).chain(stations).collect()
}

fn pauses(pauses: &[Pause], options: &TextOptions) -> Vec<String> {
    let mut sheet = Sheet::new(
        words(&["mean asked for, s", "deviation, s", "mean that comes, s", "below zero, %"]),
        0,
    );
    for pause in pauses {
        sheet.row(vec![
            pause.mean_seconds.to_string(),
            pause.deviation_seconds.to_string(),
            format!("{:.4}", pause.actual_mean_seconds),
            three_digits(pause.share_below_zero * 100.0),
        ]);
    }
    let note = "a normally distributed pause, cut at zero, after each transaction";
    section("Figure 2, NORM.BAS", note, sheet.lines(), options)
}

#[cfg(test)]
mod tests {
    use btu_studies::papers::press88::history;

    use super::*;

    #[test]
    fn the_page() {
        insta::assert_snapshot!(press88_text(
            &history(),
            true,
            &TextOptions { colour: false, width: 100 }
        ));
    }
}
