//! Where the time of TCP went: what limits it, and the shares of its time.

use btu_studies::breakdown::{Breakdown, ThreadShares};
use btu_studies::speed::SpeedVerdict;

use super::{PERCENT, way};
use crate::html::{Block, Cell, Figure, Layout, Panel, Role, Section, Table};

/// The flows of TCP with where their time went, and their names.
fn flows(verdict: &SpeedVerdict) -> impl Iterator<Item = (String, Breakdown)> {
    verdict.rows.iter().flat_map(|row| {
        row.flows.iter().filter_map(move |flow| Some((way(row, flow), flow.breakdown?)))
    })
}

/// What the sender's connection did, in the order of [`of_connection`].
const CONNECTION: [&str; 7] = [
    "nothing to send",
    "receiver's window",
    "send buffer",
    "full line",
    "losses",
    "start of TCP",
    "path, not told apart",
];

fn of_connection(breakdown: &Breakdown) -> [Option<f64>; 7] {
    let all = &breakdown.connection;
    let parts = all.path_parts;
    let undivided = parts.map_or(all.path, |parts| parts.not_told_apart);
    let nothing_more = parts.map_or(0.0, |parts| parts.nothing_more_to_send);
    [
        Some(all.nothing_to_send + nothing_more),
        Some(all.receiver_window),
        Some(all.send_buffer),
        parts.map(|parts| parts.full_line),
        parts.map(|parts| parts.losses),
        parts.map(|parts| parts.growing),
        Some(undivided),
    ]
}

/// What a thread did, in the order of [`of_thread`].
const THREAD: [&str; 3] = ["runs", "waits", "blocked"];

fn of_thread(thread: &ThreadShares) -> [Option<f64>; 3] {
    // Whatever it waits for: `Limited by` names a quota.
    let ready = thread.waiting.map(|waiting| waiting + thread.throttled.unwrap_or_default());
    [Some(thread.on_processor), ready, Some(thread.blocked)]
}

/// The shares of the flows' time: of the connection, and of the threads at both ends.
pub(super) fn section(verdict: &SpeedVerdict) -> Option<Section> {
    let flows: Vec<(String, Breakdown)> = flows(verdict).collect();
    let note = "of the connection by TCP_INFO, of the threads by the scheduler; each bar, each row, and each end, sums to 100. A line is \
                full where more on its way only waits, or a paced rate stays the same; losses are the time with a small window after them; a thread waits when it could run and others have \
                the processors";
    let blocks = vec![Block::Figure(connections(&flows)), Block::Figure(threads(&flows))];
    if flows.is_empty() { None } else { Section::of("Where the time went", note, blocks) }
}

fn connections(flows: &[(String, Breakdown)]) -> Figure {
    let title = "The connection, % of its time";
    let head = [&["phase"][..], &CONNECTION].concat();
    let rows = flows.iter().map(|(name, breakdown)| row(name, of_connection(breakdown)));
    Figure {
        name: "connection".to_owned(),
        title: title.to_owned(),
        panels: vec![panel("", flows, CONNECTION, of_connection)],
        layout: Layout::SideBySide,
        table: Table { rows: rows.collect(), ..Table::new(title, &head, 1) },
    }
}

fn threads(flows: &[(String, Breakdown)]) -> Figure {
    let title = "The threads at both ends, % of their time";
    let head = ["phase", "sender runs", "waits", "blocked", "receiver runs", "waits", "blocked"];
    let rows = flows.iter().map(|(name, breakdown)| {
        row(name, [of_thread(&breakdown.sender), of_thread(&breakdown.receiver)].concat())
    });
    let sender = |one: &Breakdown| of_thread(&one.sender);
    let receiver = |one: &Breakdown| of_thread(&one.receiver);
    Figure {
        name: "threads".to_owned(),
        title: title.to_owned(),
        panels: vec![
            panel("sender", flows, THREAD, sender),
            panel("receiver", flows, THREAD, receiver),
        ],
        layout: Layout::SideBySide,
        table: Table { rows: rows.collect(), ..Table::new(title, &head, 1) },
    }
}

/// A bar for each flow.
fn panel<const N: usize>(
    title: &str,
    flows: &[(String, Breakdown)],
    names: [&str; N],
    of: impl Fn(&Breakdown) -> [Option<f64>; N],
) -> Panel {
    let parts = names.into_iter().enumerate().map(|(part, name)| {
        let heights = flows.iter().map(|(_, one)| of(one)[part].map(|share| share * PERCENT));
        (name.to_owned(), Role::Member(part), heights.collect())
    });
    let words = flows.iter().map(|(name, _)| name.clone()).collect();
    Panel::stacked(title, ("", words), "%", parts)
}

fn row(name: &str, shares: impl IntoIterator<Item = Option<f64>>) -> Vec<Cell> {
    let cells = shares.into_iter().map(|share| Cell::number(share.map(|share| share * PERCENT)));
    std::iter::once(Cell::text(name)).chain(cells).collect()
}
