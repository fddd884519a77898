//! The results of flows, and the time of a transfer.

use btu_model::predict::{Limit, TransferPrediction};

use super::Page;
use super::figures::{answer, digits, percent, rate, short, time, whole_or};
use super::submodels::aligned;
use crate::sheet::Sheet;

/// Bits per second in a megabit.
const MEGABIT: f64 = 1e6;

/// The table of flows.
pub(super) fn lines(page: &Page) -> Vec<String> {
    let flows = &page.prediction.flows;
    if flows.is_empty() {
        return vec![
            "The network file draws no traffic, so there is nothing to predict.".to_owned(),
        ];
    }
    let responses = flows.iter().any(|flow| flow.response_seconds.is_some());
    let losses = flows.iter().any(|flow| flow.arriving_share < 1.0);
    let mut head = vec!["flow", "senders", "each /s", "mean packet", "hops", "Mb/s", "delay"];
    head.extend(responses.then_some("response"));
    head.extend(losses.then_some("arrives"));
    let mut sheet = Sheet::new(head.into_iter().map(str::to_owned).collect(), 1);
    for flow in flows {
        let mut row = vec![
            flow.name.clone(),
            flow.senders.to_string(),
            short(flow.packets_per_second_each, rate),
            format!("{} b", whole_or(flow.mean_packet_bits, 6)),
            digits(flow.hops, 3),
            short(flow.carried_bits_per_second, megabits),
            short(flow.delay_seconds, time),
        ];
        if responses {
            row.push(
                flow.response_seconds.map_or_else(String::new, |response| short(response, time)),
            );
        }
        if losses {
            row.push(percent(flow.arriving_share));
        }
        sheet.row(row);
    }
    page.section(
        "Flows",
        "means over senders and targets; delay from end to end; > at least",
        sheet.lines(),
    )
}

/// The lines about the transfer.
pub(super) fn transfer(page: &Page) -> Vec<String> {
    let Some(transfer) = &page.prediction.transfer else { return Vec::new() };
    let row = |label: &str, value: String| (label.to_owned(), value);
    let mut rows = vec![row("Packets", whole_or(transfer.packets, 9))];
    rows.push(match transfer.simple_seconds {
        Some(seconds) => row("Simple delay (packets / rate)", time(seconds)),
        None => {
            row("Simple delay (packets / rate)", "none: the sender always has one more".to_owned())
        }
    });
    let place = transfer.bottleneck.as_deref().unwrap_or("the way");
    rows.push(row(
        "Delay of a packet",
        format!("{} on {place}", answer(transfer.packet_delay_seconds, time)),
    ));
    rows.push(row("Aggregate delay (packets x delay)", answer(transfer.aggregate_seconds, time)));
    rows.push(row("Limit", limit(transfer)));
    if let Some(crossing) = &transfer.overtaken {
        let value = format!(
            "from {} packets/s of {} on ({})",
            rate(crossing.whole_packets_per_second),
            crossing.flow,
            digits(crossing.packets_per_second, 6)
        );
        rows.push(row("Aggregate overtakes simple", value));
    }
    let title = format!("Transfer of {} by {}", megabytes(transfer.size_bytes), transfer.flow);
    page.section(&title, "", aligned(rows))
}

pub(super) fn megabits(bits: f64) -> String {
    if bits < 1.0 { "0".to_owned() } else { digits(bits / MEGABIT, 4) }
}

fn limit(transfer: &TransferPrediction) -> String {
    match transfer.limit {
        Limit::Software => format!("the software: it takes {}", answer(transfer.seconds, time)),
        Limit::Network => format!("the network: it takes {}", answer(transfer.seconds, time)),
        Limit::Saturated => "the network: it is saturated, and no mean time exists".to_owned(),
    }
}

pub(super) fn megabytes(octets: f64) -> String {
    btu_units::Bytes::new(octets as u64).to_string()
}
