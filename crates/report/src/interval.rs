//! The progress of an interval, as a line during the measurement.

use btu_contract::sample::{FlowInterval, Interval};

use crate::number::three_digits;
use crate::sheet::columns;
use crate::unit::{rate, time};

/// Bytes in a KiB.
const KIBI: f64 = 1024.0;

/// A line for each direction, or one if only requests went over the network; at most 80 columns, as
/// long as numbers have at most five digits. `cell` is the name of the cell. What a terminal of
/// `width` columns has no room for is left out, the sender's window first.
pub fn interval_lines(cell: &str, interval: &Interval, width: usize) -> Vec<String> {
    let head = format!("{cell:<14}{:>4.0} s", interval.to_seconds);
    let request = interval.request_seconds.map(|seconds| format!("request {}", time(seconds)));
    if interval.flows.is_empty() {
        return vec![[head, request.unwrap_or_default()].join("  ").trim_end().to_owned()];
    }
    let line = |(place, flow): (usize, &FlowInterval)| {
        // The requests are those of both directions.
        let request = request.clone().filter(|_| place == 0);
        let mut parts = moved(flow);
        let joined = |parts: &[String]| {
            let all = std::iter::once(&head).chain(parts).chain(&request);
            all.cloned().collect::<Vec<_>>().join("  ")
        };
        while parts.len() > 1 && columns(&joined(&parts)) > width {
            parts.pop();
        }
        joined(&parts)
    };
    interval.flows.iter().enumerate().map(line).collect()
}

/// The rate, and what is said of it, the most important first.
fn moved(flow: &FlowInterval) -> Vec<String> {
    let rate = format!("{:>10}", rate(flow.goodput_bits_per_second));
    let again = flow.segments_sent_again.map(|segments| format!("{segments} resent"));
    let window = flow
        .congestion_window_bytes
        .map(|bytes| format!("cwnd {} KiB", three_digits(bytes as f64 / KIBI)));
    let missed = flow.missed.map(|missed| format!("{missed} missed"));
    let parts = [Some(rate), again, missed, window];
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use btu_contract::network::HostName;

    use super::*;

    #[test]
    fn rate_resent_window_and_requests_stand_on_a_line_of_a_terminal() {
        let [from, to] = ["laptop", "server"].map(|name| HostName::try_from(name).expect("a name"));
        let flow = FlowInterval {
            from,
            to,
            goodput_bits_per_second: 938_000.0,
            segments_sent_again: Some(3),
            congestion_window_bytes: Some(262_144),
            round_trip_seconds: Some(1.83),
            missed: None,
        };
        let datagrams = FlowInterval {
            segments_sent_again: None,
            congestion_window_bytes: None,
            round_trip_seconds: None,
            missed: Some(7),
            ..flow.clone()
        };
        let mut interval = Interval {
            from_seconds: 2.0,
            to_seconds: 3.0,
            request_seconds: Some(1.87),
            requests: Some(13),
            flows: vec![
                flow.clone(),
                FlowInterval { goodput_bits_per_second: 14.6e6, ..flow.clone() },
            ],
        };
        let mut lines = interval_lines("both", &interval, 80);
        let narrow = interval_lines("both", &interval, 50);
        assert_eq!(narrow[0], "both             3 s    938 kb/s  request 1.87 s");
        interval.flows = vec![datagrams];
        lines.extend(interval_lines("datagrams-down", &interval, 80));
        interval.flows.clear();
        lines.extend(interval_lines("idle", &interval, 80));
        insta::assert_snapshot!(lines.join("\n"));
        interval.flows = vec![FlowInterval {
            goodput_bits_per_second: 22.9e9,
            segments_sent_again: Some(12_345),
            congestion_window_bytes: Some(12_300 << 10),
            ..flow
        }];
        (interval.to_seconds, interval.request_seconds) = (3600.0, Some(0.0123));
        lines.extend(interval_lines("both", &interval, 80));
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    }
}
