//! The result of `btu copy` as a report.

mod effects;
mod packets;

use btu_contract::copy::{Cache, Direction, Program, Storage};
use btu_studies::breakdown::ConnectionShares;
use btu_studies::copy::{CopyCell, CopyPlan, CopyRow, CopyVerdict};

use crate::differs;
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Page, Panel, Point, Role, Section, Series, Table,
};
use crate::number::{NOTHING, ends, three_digits};
use crate::script_cells::script_cells;
use crate::stored_page::{StoredRun, warned};
use crate::study::{CellTable, Reported};
use crate::summary::KeyFigure;
use crate::unit;
use crate::versus::IntervalRelation;
use effects::{chains, fits, storage};
use packets::{modelled, packets};

/// Bytes in a kilobyte and in a megabyte, bits in a megabit, milliseconds in a second, parts in a
/// hundred.
const KILO: f64 = 1e3;
const MEGA: f64 = 1e6;
const MILLI: f64 = 1e3;
const PERCENT: f64 = 100.0;

impl Reported for CopyPlan {
    fn page(&self, verdict: &CopyVerdict, _: &[Self::Record], stored: &StoredRun<'_>) -> Page {
        let sections = vec![
            times(verdict),
            parts(verdict),
            shares(verdict),
            chains(verdict),
            fits(verdict),
            storage(verdict),
            background(verdict),
            packets(verdict),
            modelled(verdict),
            paper(verdict),
        ];
        let page = stored.page(headline(verdict), warned(&verdict.warnings), sections);
        Page { summary: stored.summary(figures(verdict), limit(verdict)), ..page }
    }

    fn cell_table(&self, records: &[Self::Record]) -> CellTable {
        script_cells(self, records)
    }
}

/// The programs that copied the largest file from one host to the other, with their seconds, the
/// fastest first.
fn ranked(verdict: &CopyVerdict) -> Vec<(&CopyRow, f64)> {
    // The picture distinguishes programs, not storage: all of them have the first storage.
    let place = verdict.rows.first().map(|row| (row.cell.storage, row.cell.cache));
    let is_told = |row: &&CopyRow| row.cell.program != Program::Local && is_at(row, place);
    let timed = |row| Some((row, CopyRow::median(row)?));
    let remote: Vec<(&CopyRow, f64)> =
        verdict.rows.iter().filter(is_told).filter_map(timed).collect();
    let size = remote.iter().map(|(row, _)| row.cell.size).max();
    let mut rows: Vec<(&CopyRow, f64)> =
        remote.into_iter().filter(|(row, _)| Some(row.cell.size) == size).collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    rows
}

/// A program, and what else was on the network.
fn way(row: &CopyRow) -> String {
    match row.cell.background {
        background if background.is_quiet() => row.cell.program_name(),
        background => format!("{} next to {background} of other traffic", row.cell.program_name()),
    }
}

/// The times of the largest file.
fn figures(verdict: &CopyVerdict) -> Vec<KeyFigure> {
    let figure = |(row, seconds): (&CopyRow, f64)| KeyFigure {
        name: format!("{} {}", row.cell.size, way(row)),
        value: format!("{} s", three_digits(seconds)),
        interval: row.seconds.and_then(|summary| ends(&summary.median, 1.0)).unwrap_or_default(),
        note: unit::rate(row.cell.size.bits() / seconds),
    };
    ranked(verdict).into_iter().map(figure).collect()
}

/// What takes most of the fastest copy's time, and the share of the line alone.
fn limit(verdict: &CopyVerdict) -> String {
    let ranked = ranked(verdict);
    let Some((row, seconds)) = ranked.first() else { return String::new() };
    let program = row.cell.program_name();
    let line = row.line_seconds.map(|line| line / seconds);
    let largest = row.breakdown.and_then(|breakdown| breakdown.limit());
    match (line, largest) {
        (Some(line), _) if line >= 0.5 => {
            format!("the line: it alone takes {:.0} % of the time by {program}", line * PERCENT)
        }
        (line, Some((limited_by, share))) => {
            let line = line.map_or_else(String::new, |line| {
                format!("; the line alone takes {:.0} %", line * PERCENT)
            });
            let share = share * PERCENT;
            format!("{}: {share:.0} % of the time by {program}{line}", limited_by.words())
        }
        (Some(line), None) => format!(
            "programs and disks: the line alone takes {:.0} % of the time by {program}",
            line * PERCENT
        ),
        (None, None) => String::new(),
    }
}

/// The fastest and the slowest program of the largest file on the quiet network, and what the most
/// background does.
fn headline(verdict: &CopyVerdict) -> String {
    let rows = ranked(verdict);
    let (Some((best, least)), Some((worst, most))) = (rows.first(), rows.last()) else {
        return "No file was copied".to_owned();
    };
    let size = best.cell.size;
    if rows.len() == 1 {
        // Without other copies to compare with, the line is the reference.
        let line = best.line_seconds.map_or(String::new(), |line| {
            format!(", {} times as long as the line alone would take", three_digits(least / line))
        });
        return format!("{size}: {} s by {}{line}", three_digits(*least), way(best));
    }
    let claim = format!("{} times as long", three_digits(most / least));
    let medians = [best, worst].map(|row| row.seconds.map(|summary| summary.median));
    let order = match medians {
        [Some(best), Some(worst)] => IntervalRelation::of(&best, &worst),
        _ => IntervalRelation::Unknown,
    };
    format!(
        "{size}: {} s by {}, {} s by {}: {}",
        three_digits(*least),
        way(best),
        three_digits(*most),
        way(worst),
        order.claim(claim)
    )
}

/// Whether a row's files are on that storage, with that state of the page cache.
fn is_at(row: &CopyRow, place: Option<(Storage, Cache)>) -> bool {
    Some((row.cell.storage, row.cell.cache)) == place
}

/// The properties that distinguish a row.
fn names(cell: &CopyCell) -> [Cell; 4] {
    [
        Cell::text(cell.program_name()),
        Cell::text(cell.size.to_string()),
        Cell::text(cell.storage_name()),
        Cell::text(cell.background.to_string()),
    ]
}

fn times(verdict: &CopyVerdict) -> Option<Section> {
    let head = [
        "program",
        "file",
        "storage",
        "background",
        "median, s",
        "trimmed mean, s",
        "range, %",
        "Mb/s",
        "line, s",
        "expected, s",
        "error, %",
    ];
    let mut table = Table::new("Times", &head, 4);
    for row in &verdict.rows {
        let seconds = row.seconds;
        let rate = row.median().map(|seconds| row.cell.size.bits() / seconds / MEGA);
        let cells = [
            Cell::estimate(seconds.as_ref().map(|summary| &summary.median), 1.0),
            Cell::number(seconds.and_then(|summary| summary.trimmed_mean)),
            Cell::number(seconds.map(|summary| summary.relative_range * PERCENT)),
            Cell::number(rate),
            Cell::number(row.line_seconds),
            Cell::number(row.expected_seconds),
            Cell::number(row.error.map(|error| error * PERCENT)),
        ];
        table.rows.push(names(&row.cell).into_iter().chain(cells).collect());
    }
    let note = "from the command's start until the receiver has the file durable; the line alone; what the closed form expects: \
                the line, or NFS block by block, with a background that does not give way";
    let figure = Figure {
        name: "times".to_owned(),
        title: "Time of a copy".to_owned(),
        panels: vec![panel(verdict)],
        layout: Layout::SideBySide,
        table,
    };
    let numbers = verdict.rows.iter().filter_map(|row| {
        Some((row.cell.program_name(), &row.seconds.as_ref()?.median, row.expected_seconds?))
    });
    let resent = verdict.rows.iter().any(|row| row.retransmits.is_some_and(|count| count > 0.0));
    let reason = resent.then_some("segments were sent again, which the form leaves out");
    let differing = differs::sentence(numbers, reason).map(Block::Text);
    let blocks = [Block::Figure(figure)].into_iter().chain(differing).collect();
    Section::of("How long a copy takes", note, blocks)
}

/// Time over size, a series for each program and background, and the line.
fn panel(verdict: &CopyVerdict) -> Panel {
    let mut series: Vec<Series> = Vec::new();
    let first = verdict.rows.first().map(|row| (row.cell.storage, row.cell.cache));
    for row in verdict.rows.iter().filter(|row| is_at(row, first)) {
        let Some(summary) = row.seconds else { continue };
        let name = format!("{}, {}", row.cell.program_name(), row.cell.background);
        let point = Point {
            x: row.cell.size.count() as f64 / MEGA,
            y: summary.median.value,
            interval: summary.median.interval.map(|interval| (interval.low, interval.high)),
        };
        add(&mut series, name, point);
    }
    let mut line: Vec<Point> = verdict
        .rows
        .iter()
        .filter_map(|row| {
            Some(Point {
                x: row.cell.size.count() as f64 / MEGA,
                y: row.line_seconds?,
                interval: None,
            })
        })
        .collect();
    line.sort_by(|a, b| a.x.total_cmp(&b.x));
    line.dedup_by(|a, b| a.x.total_cmp(&b.x).is_eq());
    if !line.is_empty() {
        let name = "the line alone".to_owned();
        series.push(Series { name, role: Role::Reference, mark: Drawn::Line, points: line });
    }
    for time in &verdict.paper_times {
        let (x, (low, high)) = (time.size.count() as f64 / MEGA, time.seconds);
        let interval = (low < high).then_some((low, high));
        let points = vec![Point { x, y: (low * high).sqrt(), interval }];
        series.push(Series {
            name: time.what.to_owned(),
            role: Role::Reference,
            mark: Drawn::Points,
            points,
        });
    }
    for one in &mut series {
        one.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let (x, y) = (Axis::logarithmic("file, MB"), Axis::logarithmic("s"));
    Panel { title: String::new(), x, y, series }
}

fn add(series: &mut Vec<Series>, name: String, point: Point) {
    if let Some(one) = series.iter_mut().find(|one| one.name == name) {
        one.points.push(point);
    } else {
        let role = Role::Member(series.len());
        series.push(Series { name, role, mark: Drawn::LinePoints, points: vec![point] });
    }
}

/// The marks at both ends.
fn parts(verdict: &CopyVerdict) -> Option<Section> {
    let head = [
        "program",
        "file",
        "storage",
        "background",
        "connected, ms",
        "first byte, ms",
        "last byte, ms",
        "durable, ms",
        "receiving, ms",
        "making durable, ms",
        "resent",
    ];
    let mut table = Table::new("Marks", &head, 4);
    for row in &verdict.rows {
        let (Some(sender), Some(receiver)) = (row.sender, row.receiver) else { continue };
        let command = if row.cell.direction == Direction::Put { sender } else { receiver };
        let ms = |span: btu_units::Span| Cell::number(Some(span.seconds() * MILLI));
        let connects = !row.cell.program.is_on_one_host();
        let cells = [
            Cell::number(connects.then(|| command.connected.seconds() * MILLI)),
            ms(command.first_byte),
            ms(command.last_byte),
            ms(command.durable),
            ms(receiver.last_byte.saturating_sub(receiver.first_byte)),
            ms(receiver.durable.saturating_sub(receiver.last_byte)),
            Cell::number(row.retransmits),
        ];
        table.rows.push(names(&row.cell).into_iter().chain(cells).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "medians; the first four by the connecting end's clock from the command's start, the next two by the \
                receiver's; resent segments are shown where the connection can be observed";
    Section::of("What a copy's time is made of", note, blocks)
}

/// The shares of files, processors and the connection in a copy's time.
fn shares(verdict: &CopyVerdict) -> Option<Section> {
    let head = [
        "program",
        "file",
        "storage",
        "background",
        "reading the source",
        "writing the copy",
        "sender runs",
        "receiver runs",
        "nothing to send",
        "receiver's window",
        "send buffer",
        "path",
    ];
    let mut table = Table::new("Shares of the time, %", &head, 4);
    for row in &verdict.rows {
        let Some(found) = row.breakdown else { continue };
        let of_connection =
            |part: fn(&ConnectionShares) -> f64| found.connection.as_ref().map(part);
        let shares = [
            found.source_file,
            found.destination_file,
            Some(found.sender_processor),
            Some(found.receiver_processor),
            of_connection(|connection| connection.nothing_to_send),
            of_connection(|connection| connection.receiver_window),
            of_connection(|connection| connection.send_buffer),
            of_connection(|connection| connection.path),
        ];
        let shares = shares.map(|share| Cell::number(share.map(|share| share * PERCENT)));
        table.rows.push(names(&row.cell).into_iter().chain(shares).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "of the copy with the time nearest to the median: in calls that read, write and make durable, on processors, and of the \
                sender's connection (TCP_INFO). Ends work at once, so only the connection's four sum to 100";
    Section::of("Where the time went", note, blocks)
}

fn background(verdict: &CopyVerdict) -> Option<Section> {
    let head = [
        "program",
        "file",
        "storage",
        "asked",
        "offered, %",
        "before, %",
        "during, %",
        "displaced, %",
        "lost, %",
    ];
    let mut table = Table::new("Background", &head, 4);
    for row in &verdict.rows {
        let Some(used) = row.background_use else { continue };
        let shares = [
            used.offered,
            used.arrived.alone,
            used.arrived.during,
            used.arrived.displaced(),
            used.lost,
        ];
        let shares = shares.map(|share| Cell::number(Some(share * PERCENT)));
        table.rows.push(names(&row.cell).into_iter().chain(shares).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "per cent of the time of the network's slowest part, preambles and gaps included, at the receivers of the \
                background: before the copy, during it, and what the copy displaced";
    Section::of("What the background was", note, blocks)
}

fn paper(verdict: &CopyVerdict) -> Option<Section> {
    let mut table = Table::new("Ratios", &["ratio", "CITI report 89-4", "here", "printed in"], 1);
    let range = |(low, high): (f64, f64)| {
        let (low, high) = (three_digits(low), three_digits(high));
        if low == high { low } else { format!("{low} to {high}") }
    };
    for row in &verdict.paper {
        let found = row.found.map_or(NOTHING.to_owned(), range);
        table.rows.push(
            [row.what.to_owned(), range(row.printed), found, row.source.to_owned()]
                .map(Cell::text)
                .to_vec(),
        );
    }
    let note =
        "least to most of all programs and sizes; there 100 MB on VAXes and Suns over 10 Mb/s";
    Section::of("Compared with the report of 1989", note, vec![Block::Table(table)])
}
