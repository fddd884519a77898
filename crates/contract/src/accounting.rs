//! Checks whether the accounts of flows balance: sent = received + lost + in flight, at every level
//! with counts.

use btu_units::{Bytes, Span};

use crate::activity::{Activity, Transport, Work};
use crate::record::{
    DatagramsReceived, DatagramsSent, Outcome, PlacedReport, Received, Report, Requested, Sent,
};
use crate::script::{Role, Script, Step};

/// Why flows with complete accounts do not count, a sentence each.
pub fn flow_faults(script: &Script, reports: &[PlacedReport]) -> Vec<String> {
    flow_accounts(script, reports).filter_map(Result::err).collect()
}

/// The accounts of both ends of each flow, reconciled.
pub fn flow_accounts<'a>(
    script: &'a Script,
    reports: &'a [PlacedReport],
) -> impl Iterator<Item = Result<FlowAccount, String>> + use<'a> {
    flows(script, reports).map(|(steps, one, other)| flow_result(steps, one, other))
}

/// The pairs of network steps, the listening one first, with their accounts.
fn flows<'a>(
    script: &'a Script,
    reports: &'a [PlacedReport],
) -> impl Iterator<Item = ([&'a Step; 2], &'a Report, &'a Report)> {
    script.steps.iter().zip(reports).filter(|(step, _)| step.role == Role::Network).filter_map(
        |(step, placed)| {
            let listening = step.peer?;
            let there = reports.get(listening)?.result.as_ref().ok()?;
            Some(([script.steps.get(listening)?, step], there, placed.result.as_ref().ok()?))
        },
    )
}

/// The payload, the time and the lost share of one flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowAccount {
    /// The payload that arrived; zero of requests.
    pub bytes: Bytes,
    /// The time by the receiver's clock.
    pub duration: Span,
    /// The rate in bits per second, by the payload over the longer of the times of both ends.
    pub goodput_bits_per_second: f64,
    /// The share of datagrams or requests that was lost.
    pub loss: f64,
}

fn flow_result(steps: [&Step; 2], one: &Report, other: &Report) -> Result<FlowAccount, String> {
    match (&one.outcome, &other.outcome) {
        (Outcome::Sent(sent), Outcome::Received(received))
        | (Outcome::Received(received), Outcome::Sent(sent)) => tcp_flow(steps, sent, received),
        (Outcome::DatagramsSent(sent), Outcome::DatagramsReceived(received))
        | (Outcome::DatagramsReceived(received), Outcome::DatagramsSent(sent)) => {
            udp_flow(sent, received)
        }
        (Outcome::Responded { answers }, Outcome::Requested(requested)) => {
            exchange(steps, other, *answers, requested)
        }
        (left, right) => Err(format!("accounts do not belong together: {left:?} and {right:?}")),
    }
}

fn tcp_flow(steps: [&Step; 2], sent: &Sent, received: &Received) -> Result<FlowAccount, String> {
    if sent.bytes != received.bytes {
        return Err(format!(
            "{} B were sent and {} B received",
            sent.bytes.count(),
            received.bytes.count()
        ));
    }
    if received.samples_wrong > 0 {
        return Err(format!(
            "{} of {} payload samples are not what was sent",
            received.samples_wrong, received.samples_checked
        ));
    }
    for step in steps {
        if let Activity::TcpSend(order) = &step.order.activity {
            check_volume(order.work, sent.bytes)?;
        }
    }
    if received.last_byte == Span::ZERO || received.bytes == Bytes::ZERO {
        return Err("nothing was received".to_owned());
    }
    let goodput = received.bytes.bits() / received.last_byte.seconds();
    Ok(FlowAccount {
        bytes: received.bytes,
        duration: received.last_byte,
        goodput_bits_per_second: goodput,
        loss: 0.0,
    })
}

fn check_volume(work: Work, sent: Bytes) -> Result<(), String> {
    match work {
        Work::Bytes(wanted) if wanted != sent => {
            Err(format!("{} B were ordered and {} B sent", wanted.count(), sent.count()))
        }
        _ => Ok(()),
    }
}

fn udp_flow(sent: &DatagramsSent, received: &DatagramsReceived) -> Result<FlowAccount, String> {
    if received.wrong > 0 {
        return Err(format!("{} datagrams had content that was not sent", received.wrong));
    }
    if received.datagrams > sent.datagrams {
        return Err(format!(
            "{} datagrams were sent and {} received",
            sent.datagrams, received.datagrams
        ));
    }
    if received.datagrams < 2 || received.span == Span::ZERO {
        return Err(format!("only {} of {} datagrams arrived", received.datagrams, sent.datagrams));
    }
    let lost = sent.datagrams - received.datagrams;
    Ok(FlowAccount {
        bytes: received.bytes,
        duration: received.span,
        goodput_bits_per_second: datagram_goodput(sent, received),
        loss: lost as f64 / sent.datagrams as f64,
    })
}

/// The arrived payload over the longer of two times: between the first and the last arrival, and
/// the sending time.
///
/// The first datagram only starts the receiver's clock, so its payload is not counted over the
/// receiver's time. Where that time is the shorter one, the first datagram was delayed more than
/// the last (a receiver that had to wait for a processor, say): the stream came late, not faster
/// than it was sent. So goodput is never above the real sending rate.
fn datagram_goodput(sent: &DatagramsSent, received: &DatagramsReceived) -> f64 {
    let arrived = received.bytes.bits();
    let after_the_first = arrived * (received.datagrams - 1) as f64 / received.datagrams as f64;
    let by_receiver = after_the_first / received.span.seconds();
    // Older records have no sending time.
    if sent.span == Span::ZERO {
        by_receiver
    } else {
        by_receiver.min(arrived / sent.span.seconds())
    }
}

fn exchange(
    steps: [&Step; 2],
    asking: &Report,
    answers_sent: u64,
    requested: &Requested,
) -> Result<FlowAccount, String> {
    if requested.wrong > 0 {
        return Err(format!("{} answers were wrong", requested.wrong));
    }
    // An archive may hold any numbers.
    if requested.answers.checked_add(requested.lost) != Some(requested.requests) {
        return Err(format!(
            "{} requests, but {} answers and {} losses",
            requested.requests, requested.answers, requested.lost
        ));
    }
    let connects = |step: &&Step| matches!(&step.order.activity, Activity::Request(request) if request.transport == Transport::TcpConnect);
    if steps.iter().any(connects)
        && Some(requested.requests) != answers_sent.checked_add(requested.lost)
    {
        return Err(format!(
            "{} connections were opened, but {answers_sent} accepted and {} refused",
            requested.requests, requested.lost
        ));
    }
    if requested.answers.saturating_add(requested.late) > answers_sent {
        return Err(format!("{} answers were received and {answers_sent} sent", requested.answers));
    }
    if requested.answers == 0 {
        return Err(format!("none of {} requests was answered", requested.requests));
    }
    Ok(FlowAccount {
        bytes: Bytes::ZERO,
        duration: asking.duration(),
        goodput_bits_per_second: 0.0,
        loss: requested.lost as f64 / requested.requests as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(sent_ms: u64, received_ms: u64, arrived: u64) -> (DatagramsSent, DatagramsReceived) {
        let bytes = |datagrams: u64| Bytes::new(1000 * datagrams);
        let sent = DatagramsSent {
            datagrams: 1000,
            bytes: bytes(1000),
            refused: 0,
            offered: btu_units::BitRate::from_megabits_per_second(8),
            span: Span::from_milliseconds(sent_ms),
            lateness: btu_stats::Histogram::new(),
            held: None,
        };
        let received = DatagramsReceived {
            datagrams: arrived,
            lost_batches: Vec::new(),
            bytes: bytes(arrived),
            duplicates: 0,
            reordered: 0,
            wrong: 0,
            buffer_drops: 0,
            first: Span::ZERO,
            span: Span::from_milliseconds(received_ms),
            farewell: true,
            jitter: None,
            progress: Vec::new(),
        };
        (sent, received)
    }

    fn goodput_of(sent_ms: u64, received_ms: u64, arrived: u64) -> f64 {
        let (sent, received) = stream(sent_ms, received_ms, arrived);
        udp_flow(&sent, &received).unwrap().goodput_bits_per_second
    }

    #[test]
    fn a_stream_is_not_delivered_faster_than_it_was_sent() {
        // In step: 999 gaps between the arrivals, 1000 in the schedule.
        assert!((goodput_of(1000, 999, 1000) - 8e6).abs() < 1.0);
        // The first was 100 ms late, the last was not.
        assert!((goodput_of(1000, 899, 1000) - 8e6).abs() < 1.0);
        // The last waited 100 ms in a queue.
        assert!((goodput_of(1000, 1099, 1000) - 999.0 * 8000.0 / 1.099).abs() < 1.0);
        // The sender needed longer than its schedule.
        assert!((goodput_of(1250, 999, 1000) - 6.4e6).abs() < 1.0);
        // The last half is lost: the receiver's time does not show that.
        assert!((goodput_of(1000, 499, 500) - 4e6).abs() < 1.0);
        // A record without the sender's time.
        assert!((goodput_of(0, 500, 501) - 8e6).abs() < 1.0);
    }
}
