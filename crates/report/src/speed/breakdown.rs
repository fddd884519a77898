//! Where the time of TCP went: what limits it, and the shares of its time.

use btu_studies::breakdown::{Breakdown, ThreadShares};
use btu_studies::speed::SpeedVerdict;

use super::{PERCENT, way};
use crate::html::{Block, Cell, Section, Table};

/// The flows of TCP with where their time went, and their names.
fn flows(verdict: &SpeedVerdict) -> impl Iterator<Item = (String, Breakdown)> {
    verdict.rows.iter().flat_map(|row| {
        row.flows.iter().filter_map(move |flow| Some((way(row, flow), flow.breakdown?)))
    })
}

/// What limits the flows: `the path, for 99 % of the time of TCP up; the receiver's window, for 60 % of
/// the time of TCP down`.
pub(super) fn limit(verdict: &SpeedVerdict) -> Option<String> {
    let mut all: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, breakdown) in flows(verdict) {
        let (limited_by, share) = breakdown.limit();
        let part = format!("{:.0} % of the time of {name}", share * PERCENT);
        match all.iter_mut().find(|(words, _)| *words == limited_by.words()) {
            Some((_, parts)) => parts.push(part),
            None => all.push((limited_by.words(), vec![part])),
        }
    }
    let said: Vec<String> =
        all.iter().map(|(words, parts)| format!("{words}: {}", parts.join(", "))).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The shares of the flows' time: of the connection, and of the threads at both ends.
pub(super) fn section(verdict: &SpeedVerdict) -> Option<Section> {
    let head = ["phase", "nothing to send", "receiver's window", "send buffer", "path"];
    let mut connections = Table::new("The connection, % of its time", &head, 1);
    let head = ["phase", "sender runs", "waits", "blocked", "receiver runs", "waits", "blocked"];
    let mut threads = Table::new("The threads at both ends, % of their time", &head, 1);
    for (name, Breakdown { connection, sender, receiver, .. }) in flows(verdict) {
        let parts = [
            connection.nothing_to_send,
            connection.receiver_window,
            connection.send_buffer,
            connection.path,
        ];
        connections.rows.push(row(&name, parts.map(Some)));
        let of = |thread: ThreadShares| {
            [Some(thread.on_processor), thread.waiting, Some(thread.blocked)]
        };
        threads.rows.push(row(&name, of(sender).into_iter().chain(of(receiver))));
    }
    let note = "of the connection by TCP_INFO, of the threads by the scheduler; each row, and each end, sums to 100. The path is \
                the line, its queues, its delay and what TCP makes of losses; a thread waits when it could run and others have \
                the processors";
    let is_empty = connections.rows.is_empty();
    let blocks = vec![Block::Table(connections), Block::Table(threads)];
    if is_empty { None } else { Section::of("Where the time went", note, blocks) }
}

fn row(name: &str, shares: impl IntoIterator<Item = Option<f64>>) -> Vec<Cell> {
    let cells = shares.into_iter().map(|share| Cell::number(share.map(|share| share * PERCENT)));
    std::iter::once(Cell::text(name)).chain(cells).collect()
}
