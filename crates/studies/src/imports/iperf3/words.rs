//! What is said of a test of iperf3.

use btu_units::{three_digits, written_rate};

use super::DataDirection;
use super::document::Iperf3Document;
use crate::imports::parse::shown;

/// `iperf 3.12` is the name that the program gives itself.
pub(super) fn program(document: &Iperf3Document) -> String {
    let version = document.start.version.as_deref().unwrap_or_default();
    let number = version.strip_prefix("iperf ").unwrap_or(version);
    shown(&format!("iperf3 {number}"))
}

/// `TCP to 192.0.2.1 port 5201`.
pub(super) fn subject(document: &Iperf3Document) -> String {
    let start = &document.start;
    let protocol = start.test.as_ref().map_or("test", |test| &test.protocol);
    let peer = match (&start.accepted_connection, &start.connecting_to) {
        (Some(client), _) => format!(" with the client {}", client.host),
        (None, Some(server)) => format!(" to {} port {}", server.host, server.port),
        (None, None) => String::new(),
    };
    shown(&format!("{protocol}{peer}"))
}

/// `goodput 18.7 Mb/s up, 17.0 Mb/s down`.
pub(super) fn answer(ways: &[DataDirection<'_>]) -> String {
    let mut parts = Vec::new();
    let mut before = "";
    for way in ways {
        // Only the sender's file says nothing of the receiver.
        let received = way.received.map(|sum| ("goodput ", sum));
        let lost = way.datagrams.and_then(|sum| sum.lost_percent).filter(|lost| *lost > 0.0);
        let lost = lost.map(|lost| format!("{} % lost", three_digits(lost)));
        let Some((what, sum)) = received.or(way.sent.map(|sum| ("sent ", sum))) else {
            let counted = lost.as_deref().unwrap_or("no rate");
            parts.extend(way.datagrams.map(|_| format!("{counted} {}", way.name)));
            continue;
        };
        let named = if what == before { "" } else { what };
        before = what;
        let lost = lost.map(|lost| format!(" ({lost})"));
        let rate = written_rate(sum.bits_per_second.unwrap_or(0.0));
        parts.push(format!("{named}{rate} {}{}", way.name, lost.unwrap_or_default()));
    }
    parts.join(", ")
}

pub(super) fn remarks(document: &Iperf3Document, ways: &[DataDirection<'_>]) -> Vec<String> {
    let title = document.title.as_ref().map(|title| format!("Title: {}.", shown(title)));
    let congestion = document.end.sender_tcp_congestion.as_ref();
    let congestion =
        congestion.map(|name| format!("The sender's congestion control: {}.", shown(name)));
    let one_sided = (!document.is_client())
        .then(|| "A server's file: what only the client counted is not in it.".to_owned());
    let of_test = [title, streams(document, ways), asked(document), omitted(document), congestion];
    of_test.into_iter().chain([one_sided, processors(document, ways)]).flatten().collect()
}

fn streams(document: &Iperf3Document, ways: &[DataDirection<'_>]) -> Option<String> {
    let count = document.start.test.as_ref()?.num_streams;
    let each = if ways.len() > 1 { " in each direction" } else { "" };
    (count > 1).then(|| format!("{count} streams at a time{each}."))
}

fn asked(document: &Iperf3Document) -> Option<String> {
    let rate = document.start.test.as_ref()?.target_bitrate;
    (rate > 0.0).then(|| format!("Each stream was to send {}.", written_rate(rate)))
}

fn omitted(document: &Iperf3Document) -> Option<String> {
    let seconds = document.start.test.as_ref()?.omit;
    (seconds > 0.0).then(|| format!("The first {seconds} s do not count (--omit)."))
}

fn processors(document: &Iperf3Document, ways: &[DataDirection<'_>]) -> Option<String> {
    let used = document.end.cpu_utilization_percent.as_ref()?;
    let own = three_digits(used.host_total);
    let knows_both = ways.iter().any(|way| way.sent.is_some() && way.received.is_some());
    let other =
        knows_both.then(|| format!(", {} % of one at the server", three_digits(used.remote_total)));
    let end = if document.is_client() { "client" } else { "server" };
    Some(format!("iperf3 used {own} % of a processor at the {end}{}.", other.unwrap_or_default()))
}

/// Why the results do not count.
pub(super) fn fault(document: &Iperf3Document) -> Option<String> {
    let error = document.error.as_ref()?;
    Some(format!("iperf3 did not finish: {}", shown(error)))
}

/// Why there is nothing to keep.
pub(super) fn nothing(document: &Iperf3Document) -> String {
    match &document.error {
        Some(error) => format!("it has no result, because iperf3 failed: {}", shown(error)),
        None => "it has no result of the whole test, which may have been stopped: measure again"
            .to_owned(),
    }
}
