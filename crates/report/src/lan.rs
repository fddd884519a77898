//! The result of `btu lan` as a report.

use btu_contract::lan::Task;
use btu_studies::lan::{LanPlan, LanRow, LanVerdict, Level, LevelMachine, UsersFit};

use crate::differs;
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Page, PageWarning, Panel, Point, Role, Section,
    Series, Table,
};
use crate::number::{ends, three_digits};
use crate::script_cells::script_cells;
use crate::stored_page::{StoredRun, page_warning, warned};
use crate::study::{CellTable, Reported};
use crate::summary::KeyFigure;
use crate::unit::time;
use crate::versus::IntervalRelation;

/// Milliseconds in a second.
const MILLI: f64 = 1e-3;

impl Reported for LanPlan {
    fn page(&self, verdict: &LanVerdict, _: &[Self::Record], stored: &StoredRun<'_>) -> Page {
        let sections = vec![
            normalised(self, verdict),
            slowdown(self, verdict),
            study(verdict),
            expected(verdict),
            stations(self, verdict),
            spread(verdict),
        ];
        let warnings = warned(&verdict.warnings).into_iter().chain(simulator(verdict)).collect();
        let page = stored.page(headline(verdict), warnings, sections);
        Page { summary: stored.summary(figures(verdict), limit(verdict)), ..page }
    }

    fn cell_table(&self, records: &[Self::Record]) -> CellTable {
        script_cells(self, records)
    }
}

/// The tasks at the highest level, each with its slowdown there, the slowest first.
fn ranked(verdict: &LanVerdict) -> Vec<(&LanRow, f64)> {
    let highest =
        verdict.rows.iter().filter(|row| row.slowdown.is_some()).map(|row| row.cell.level).max();
    let at = verdict.rows.iter().filter(|row| Some(row.cell.level) == highest);
    let mut rows: Vec<(&LanRow, f64)> =
        at.filter_map(|row| Some((row, row.slowdown?.value))).collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    rows
}

/// The effect of the highest level on each task.
fn figures(verdict: &LanVerdict) -> Vec<KeyFigure> {
    let figure = |(row, times): (&LanRow, f64)| {
        let seconds = row.seconds.map(|seconds| time(seconds.value));
        // The closed form ignores collisions.
        let expected = match (row.simulated, row.expected) {
            (Some(times), _) => Some(("simulator", times)),
            (None, times) => times.map(|times| ("closed form", times)),
        };
        let expected = expected.map(|(by, times)| format!("{by} {} times", three_digits(times)));
        KeyFigure {
            name: row.cell.task.name().to_owned(),
            value: format!("{} times", three_digits(times)),
            interval: row
                .slowdown
                .as_ref()
                .and_then(|slowdown| ends(slowdown, 1.0))
                .unwrap_or_default(),
            note: seconds.into_iter().chain(expected).collect::<Vec<_>>().join(", "),
        }
    };
    ranked(verdict).into_iter().map(figure).collect()
}

/// Says which simulated numbers of the first screen the measurement does not confirm, and why.
fn simulator(verdict: &LanVerdict) -> Option<PageWarning> {
    let rows = ranked(verdict);
    let numbers = rows.iter().filter_map(|(row, _)| {
        Some((row.cell.task.name(), row.slowdown.as_ref()?, row.simulated?))
    });
    let is_limit = verdict.machine.iter().any(LevelMachine::is_limit);
    let reason = if is_limit {
        "this machine was the limit"
    } else {
        "its operations are one frame each way, and its server takes the same time for each"
    };
    Some(page_warning("simulator", &differs::sentence(numbers, Some(reason))?, ""))
}

/// The task with the largest slowdown at the highest level, and the closed form for it.
fn headline(verdict: &LanVerdict) -> String {
    let slowdowns: Vec<(Task, f64)> =
        ranked(verdict).into_iter().map(|(row, times)| (row.cell.task, times)).collect();
    let highest = ranked(verdict).first().map(|(row, _)| row.cell.level);
    let (Some((most, worst)), Some((least, best)), Some(Level::Stations(count))) =
        (slowdowns.first(), slowdowns.last(), highest)
    else {
        return "No task was measured with other stations at work".to_owned();
    };
    let all = format!(
        "With {count} stations at work {most} takes {} times as long",
        three_digits(*worst)
    );
    if slowdowns.len() == 1 {
        return all;
    }
    let ends = [ranked(verdict).first(), ranked(verdict).last()]
        .map(|end| end.and_then(|(row, _)| row.slowdown));
    let are_equal = matches!(ends, [Some(one), Some(other)] if IntervalRelation::of(&one, &other) == IntervalRelation::Overlap);
    let remark = if are_equal { ": cannot tell a difference between them" } else { "" };
    format!("{all}, {least} {} times{remark}", three_digits(*best))
}

/// The resource that an operation occupies longest, the server or the medium, and the number of
/// stations from which it alone limits.
fn limit(verdict: &LanVerdict) -> String {
    let Some(demands) = &verdict.demands else { return String::new() };
    let medium = demands.medium_seconds.iter().copied().fold(0.0, f64::max);
    let is_server = demands.server_seconds >= medium;
    let (what, seconds) =
        if is_server { ("the server", demands.server_seconds) } else { ("the medium", medium) };
    let knee = verdict
        .knee
        .map_or_else(String::new, |knee| format!("; full from {} stations on", three_digits(knee)));
    format!("{what}, {} an operation{knee}", time(seconds))
}

fn tasks(verdict: &LanVerdict) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for row in &verdict.rows {
        if !tasks.contains(&row.cell.task) {
            tasks.push(row.cell.task);
        }
    }
    tasks
}

fn row(verdict: &LanVerdict, task: Task, level: Level) -> Option<&LanRow> {
    verdict.rows.iter().find(|row| row.cell.task == task && row.cell.level == level)
}

/// A table with a line for each task and a column for each number of stations that `shows`.
fn by_level(
    plan: &LanPlan,
    verdict: &LanVerdict,
    (caption, first): (&str, &str),
    shows: impl Fn(&LanRow) -> Cell,
    levels: impl Fn(u32) -> bool,
) -> Table {
    let counts: Vec<u32> = plan.levels.iter().copied().filter(|count| levels(*count)).collect();
    let names: Vec<String> =
        counts.iter().map(|count| format!("k = {count}{}", mark(verdict, *count))).collect();
    let head: Vec<&str> =
        ["task", first].into_iter().chain(names.iter().map(String::as_str)).collect();
    let mut table = Table::new(caption, &head, 1);
    let base = if first.starts_with("own") { Level::StandAlone } else { Level::Stations(0) };
    for task in tasks(verdict) {
        let seconds = row(verdict, task, base).and_then(|row| row.seconds);
        let cells = counts
            .iter()
            .map(|&count| row(verdict, task, Level::Stations(count)).map_or(Cell::Nothing, &shows));
        let head =
            [Cell::text(task.name()), Cell::number(seconds.map(|seconds| seconds.value / MILLI))];
        table.rows.push(head.into_iter().chain(cells).collect());
    }
    table
}

/// Marks levels at which the machine was the limit.
fn mark(verdict: &LanVerdict, count: u32) -> &'static str {
    let is_limit = verdict.machine.iter().any(|level| level.count == count && level.is_limit());
    if is_limit { " *" } else { "" }
}

fn normalised(plan: &LanPlan, verdict: &LanVerdict) -> Option<Section> {
    // As in the study, without intervals: those of the slowdown are in the next table.
    let shows = |row: &LanRow| Cell::number(row.normalised.map(|ratio| ratio.value));
    let title = ("Times as long as on the own disk, k stations at work", "own disk, ms");
    let table = by_level(plan, verdict, title, shows, |_| true);
    let note = "Figure 3 of the study: time of a task at the server divided by its time on the station's own disk; geometric \
                mean of the blocks";
    Section::of("At the server and on the own disk", note, vec![Block::Table(table)])
}

fn slowdown(plan: &LanPlan, verdict: &LanVerdict) -> Option<Section> {
    let shows = |row: &LanRow| Cell::estimate(row.slowdown.as_ref(), 1.0);
    let title = ("Times as long as with no other station, k stations at work", "k = 0, ms");
    let table = by_level(plan, verdict, title, shows, |count| count > 0);
    let note = "time of a task with k stations at work divided by its time with none, block by block (95 % interval); the \
                line without points is the closed form";
    Section::of("Slowed down by load alone", note, vec![Block::Figure(figure(verdict, table))])
}

/// The slowdown over the number of stations, and the closed form; intervals only where they do not
/// cover each other.
fn figure(verdict: &LanVerdict, table: Table) -> Figure {
    let tasks = tasks(verdict);
    let mut series: Vec<Series> = Vec::new();
    for &task in &tasks {
        let seen = curve(verdict, task).into_iter().filter_map(|(x, row)| {
            // With no station at work it is one by definition.
            let (y, interval) = match row.slowdown {
                Some(slowdown) => (slowdown.value, slowdown.interval.filter(|_| tasks.len() == 1)),
                None if x == 0.0 && row.seconds.is_some() => (1.0, None),
                None => return None,
            };
            Some(Point { x, y, interval: interval.map(|interval| (interval.low, interval.high)) })
        });
        let (role, points) = (Role::Member(series.len()), seen.collect());
        series.push(Series { name: task.name().to_owned(), role, mark: Drawn::LinePoints, points });
    }
    series.extend(closed_form(verdict, &tasks));
    let (x, y) = (Axis::linear("background stations"), Axis::linear("times as long"));
    Figure {
        name: "slowdown".to_owned(),
        title: "Slowdown by load alone".to_owned(),
        panels: vec![Panel { title: String::new(), x, y, series }],
        layout: Layout::SideBySide,
        table,
    }
}

/// The levels of a task at the server, by the number of stations.
fn curve(verdict: &LanVerdict, task: Task) -> Vec<(f64, &LanRow)> {
    let rows = verdict.rows.iter().filter(|row| row.cell.task == task);
    let mut curve: Vec<(f64, &LanRow)> = rows
        .filter_map(|row| match row.cell.level {
            Level::Stations(count) => Some((f64::from(count), row)),
            Level::StandAlone => None,
        })
        .collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    curve
}

/// What the closed form expects of the tasks, on the average; they hardly differ.
fn closed_form(verdict: &LanVerdict, tasks: &[Task]) -> Option<Series> {
    let curves: Vec<Vec<(f64, &LanRow)>> = tasks.iter().map(|&task| curve(verdict, task)).collect();
    let points: Vec<Point> = curves
        .first()?
        .iter()
        .filter_map(|(x, _)| {
            let at = curves.iter().flatten().filter(|(other, _)| other.total_cmp(x).is_eq());
            let all: Vec<f64> = at.filter_map(|(_, row)| row.expected).collect();
            (!all.is_empty()).then(|| Point {
                x: *x,
                y: all.iter().sum::<f64>() / all.len() as f64,
                interval: None,
            })
        })
        .collect();
    let name =
        if tasks.len() == 1 { "closed form" } else { "closed form, mean of the tasks" }.to_owned();
    (points.len() > 1).then_some(Series { name, role: Role::Reference, mark: Drawn::Line, points })
}

/// Figure 3 of the study next to this run, both by load alone.
fn study(verdict: &LanVerdict) -> Option<Section> {
    let mut table = Table::new(
        "Slowdown by load alone, then and now",
        &["task", "k", "1988", "this run", "over 1988"],
        2,
    );
    let (mut then, mut now) = (Vec::new(), Vec::new());
    for task in tasks(verdict) {
        let rows = verdict.rows.iter().filter(|row| row.cell.task == task);
        let (mut before, mut here) = (vec![at(0.0, 1.0)], vec![at(0.0, 1.0)]);
        for row in rows {
            let (Level::Stations(count), Some(study), Some(slowdown)) =
                (row.cell.level, row.study_slowdown, row.slowdown)
            else {
                continue;
            };
            before.push(at(count.into(), study));
            here.push(at(count.into(), slowdown.value));
            table.rows.push(vec![
                Cell::text(task.name()),
                Cell::text(count.to_string()),
                Cell::number(Some(study)),
                Cell::estimate(Some(&slowdown), 1.0),
                Cell::number(Some(slowdown.value / study)),
            ]);
        }
        for (panel, points) in [(&mut then, before), (&mut now, here)] {
            if points.len() > 1 {
                let role = Role::Member(panel.len());
                panel.push(Series {
                    name: task.name().to_owned(),
                    role,
                    mark: Drawn::LinePoints,
                    points,
                });
            }
        }
    }
    let panel = |title: &str, series| {
        let (x, y) = (Axis::linear("background stations"), Axis::linear("times as long"));
        Panel { title: title.to_owned(), x, y, series }
    };
    let figure = Figure {
        name: "figure-3".to_owned(),
        title: "Figure 3 of 1988 and this run".to_owned(),
        panels: vec![
            panel("1988: 3Com server, thin Ethernet, PC-XT", then),
            panel("this run", now),
        ],
        layout: Layout::SideBySide,
        table,
    };
    let note = "time of a task with k stations at work divided by its time with none: 1988 from Figure 3's one decimal, which \
                leaves the last column within some 6 % of itself";
    let blocks =
        if figure.table.rows.is_empty() { Vec::new() } else { vec![Block::Figure(figure)] };
    Section::of("Next to the study", note, blocks)
}

const fn at(x: f64, y: f64) -> Point {
    Point { x, y, interval: None }
}

fn expected(verdict: &LanVerdict) -> Option<Section> {
    let demands = verdict.demands.as_ref()?;
    let table = expected_table(verdict);
    if table.rows.is_empty() {
        return None;
    }
    let medium: Vec<String> = demands.medium_seconds.iter().copied().map(time).collect();
    let medium = if medium.is_empty() {
        String::new()
    } else {
        format!(", the medium for {}", medium.join(" and "))
    };
    let text = format!(
        "An operation of a background station holds the server for {}{medium}; {} of each are the station's own. By that the \
         curve bends at {} stations{}.",
        time(demands.server_seconds),
        time(demands.own_seconds),
        verdict.knee.map_or_else(|| "no number of".to_owned(), three_digits),
        seen(verdict)
    );
    let note = "a closed network of the server and the medium, with what was seen at k = 0; it takes times for irregular, and knows no \
                collisions; the simulator knows them, and takes the server's times for regular; with regular times a server of a fixed time is waited for a little less";
    let numbers = verdict
        .rows
        .iter()
        .filter_map(|row| Some((row.cell.task.name(), row.slowdown.as_ref()?, row.expected?)));
    let reason = "the form knows no collisions, no retransmissions and no busy machine";
    let differing = differs::sentence(numbers, Some(reason));
    let blocks = [Block::Text(text), Block::Table(table)].into_iter();
    let blocks = blocks.chain(differing.map(Block::Text)).collect();
    Section::of("What the closed form expects", note, blocks)
}

/// The queue is shown only if the server takes a fixed time: else stations wait for other
/// resources, too.
fn expected_table(verdict: &LanVerdict) -> Table {
    let has_queue = verdict.rows.iter().any(|row| row.queue.is_some());
    let mut head = vec!["task", "k", "measured", "expected", "error, %", "simulated"];
    if has_queue {
        head.extend(["regular", "queue", "expected", "regular"]);
    }
    let mut table = Table::new("Closed form and measured", &head, 1);
    for row in &verdict.rows {
        let (Level::Stations(count @ 1..), Some(slowdown), Some(expected)) =
            (row.cell.level, row.slowdown, row.expected)
        else {
            continue;
        };
        let mut cells = vec![
            Cell::text(row.cell.task.name()),
            Cell::count(count.into()),
            Cell::number(Some(slowdown.value)),
            Cell::number(Some(expected)),
            Cell::number(Some((slowdown.value / expected - 1.0) * 100.0)),
            Cell::number(row.simulated),
        ];
        if has_queue {
            cells.extend(
                [row.regular, row.queue, row.expected_queue, row.regular_queue].map(Cell::number),
            );
        }
        table.rows.push(cells);
    }
    table
}

/// The points at which the measured curves bend.
fn seen(verdict: &LanVerdict) -> String {
    let mut knees: Vec<f64> = verdict.knees.iter().filter_map(|knee| knee.stations).collect();
    knees.sort_by(f64::total_cmp);
    match knees[..] {
        [] => String::new(),
        [only] => format!("; it was seen to bend at {}", three_digits(only)),
        [first, .., last] => {
            format!(
                "; it was seen to bend between {} and {}, by task",
                three_digits(first),
                three_digits(last)
            )
        }
    }
}

fn stations(plan: &LanPlan, verdict: &LanVerdict) -> Option<Section> {
    let head =
        ["k", "station", "on", "transactions", "mean, ms", "deviation, ms", "p50, ms", "p99, ms"];
    let mut table = Table::new("Background stations", &head, 3);
    let unit = |seconds: Option<f64>| Cell::number(seconds.map(|seconds| seconds / MILLI));
    for level in &verdict.stations {
        for station in &level.stations {
            table.rows.push(vec![
                Cell::text(level.count.to_string()),
                Cell::text(station.number.to_string()),
                Cell::text(station.station.to_string()),
                Cell::count(station.transactions),
                unit(station.mean_seconds),
                unit(station.deviation_seconds),
                unit(station.p50_seconds),
                unit(station.p99_seconds),
            ]);
        }
    }
    let what = Block::Text(format!("Each does, again and again: {}.{}", plan.work, share(verdict)));
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![what, Block::Table(table)] };
    let note = "the time of a transaction, of a trace each operation's from when it was due, over all cells of a level";
    Section::of("What the background stations got", note, blocks)
}

/// The shared file system, if the files are on one.
fn share(verdict: &LanVerdict) -> String {
    verdict.share.as_ref().map_or_else(String::new, |share| {
        let cache = if share.is_direct {
            "reads and writes go past this client's cache"
        } else {
            "it takes no reads past this client's cache: what was written or read before may come from there"
        };
        format!(" Their files are on a share of type {} ({}); {cache}.", share.filesystem, share.options)
    })
}

fn spread(verdict: &LanVerdict) -> Option<Section> {
    let head = [
        "k",
        "transactions/s",
        "p95, ms",
        "slowest/fastest",
        "fairness",
        "p-value",
        "they differ",
        "busy, %",
        "late, ms",
    ];
    let mut table = Table::new("Stations against each other", &head, 1);
    for level in &verdict.stations {
        let spread = level.spread.as_ref();
        let differ = spread.map_or(Cell::Nothing, |one| {
            Cell::text(if one.stations_differ() { "yes" } else { "no" })
        });
        let machine = verdict.machine.iter().find(|machine| machine.count == level.count);
        table.rows.push(vec![
            Cell::text(format!("{}{}", level.count, mark(verdict, level.count))),
            Cell::number(level.per_second),
            Cell::number(level.p95_seconds.map(|seconds| seconds / MILLI)),
            Cell::number(spread.map(|spread| spread.longest_over_shortest)),
            Cell::number(spread.map(|spread| spread.fairness)),
            Cell::number(
                spread.and_then(|spread| spread.equality).map(|equality| equality.p_value),
            ),
            differ,
            Cell::number(machine.and_then(|machine| machine.busy_share).map(|share| share * 100.0)),
            Cell::number(
                machine.and_then(|machine| machine.lateness_p99_seconds).map(|late| late / MILLI),
            ),
        ]);
    }
    if table.rows.is_empty() {
        return None;
    }
    let note = "Jain's index of what stations got; Kruskal and Wallis's test of their times; they differ where that says so at 1 % and \
                the slowest takes 5 % longer than the fastest; busy: all processors, late: 99 of 100 frames left the emulator no later than that";
    let text = users(verdict).map(Block::Text);
    Section::of(
        "Whether stations are served alike",
        note,
        text.into_iter().chain([Block::Table(table)]).collect(),
    )
}

fn users(verdict: &LanVerdict) -> Option<String> {
    let users = verdict.users?;
    let limit = users.limit;
    let measured = match (users.most, users.too_many) {
        (Some(most), Some(few)) => {
            format!(
                "95 of 100 transactions end within {limit} with {most} stations, and no longer with {few}."
            )
        }
        (Some(most), None) => {
            format!("95 of 100 transactions end within {limit} with {most} stations, too.")
        }
        (None, _) => format!(
            "95 of 100 transactions take longer than {limit} with the fewest stations already."
        ),
    };
    let fitted = users.fit.as_ref().map_or_else(String::new, |fit| format!(" {}", fitted(fit)));
    Some(measured + &fitted)
}

/// The parameters of the curve through the levels.
fn fitted(fit: &UsersFit) -> String {
    let curve = format!(
        "{} at the server and {} elsewhere for each transaction, which misses the mean times by {} %",
        time(fit.server_seconds),
        time(fit.delay_seconds),
        three_digits(fit.missed * 100.0)
    );
    let Some(stations) = fit.stations else {
        return format!(
            "By a curve through all levels ({curve}) that holds up to {} stations at least.",
            fit.looked_up_to
        );
    };
    let interval = stations.interval.map_or_else(String::new, |interval| {
        format!(" ({} .. {})", three_digits(interval.low), three_digits(interval.high))
    });
    let beyond = if fit.is_beyond { ", more than were measured," } else { "" };
    format!(
        "By a curve through all levels that holds up to {}{interval} stations{beyond} ({curve}).",
        three_digits(stations.value)
    )
}
