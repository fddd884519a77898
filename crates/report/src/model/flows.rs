//! The results of flows, and the time of a transfer.

use btu_model::predict::{PacedTransfer, TransferLimit};

use super::PredictionText;
use super::figures::{answer, bit_rate, digits, percent, rate, short, time, whole_or};
use super::submodels::aligned;
use super::transfer;
use crate::sheet::Sheet;
use crate::unit;

/// Bits per second in a megabit.
const MEGABIT: f64 = 1e6;

/// The table of flows.
pub(super) fn lines(page: &PredictionText) -> Vec<String> {
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

/// The lines about the transfer by TCP.
pub(super) fn transfer(page: &PredictionText) -> Vec<String> {
    let Some(asked) = &page.prediction.transfer else { return Vec::new() };
    let bulk = &asked.bulk;
    let row = |label: &str, value: String| (label.to_owned(), value);
    let mut rows = vec![
        row("Time", answer(bulk.seconds, time)),
        row("Time without others", answer(bulk.alone_seconds, time)),
    ];
    rows.extend(bulk.by_start.map(|ends| row("By when it starts", ends.map(time).join(" .. "))));
    rows.extend(bulk.despite_loss_seconds.map(|at| row("Time by BBR", answer(at, time))));
    rows.extend(bulk.simulated.map(|at| {
        let ends =
            at.range.map(time).join(if at.unfinished > 0 { " .. more than " } else { " .. " });
        row("Time, simulated", format!("{} ({ends})", answer(transfer::best(bulk), time)))
    }));
    let warnings = transfer::warnings(bulk).into_iter();
    rows.extend(warnings.map(|one| row(&format!("! {}", one.title), one.observed)));
    let place = &bulk.bottleneck;
    rows.extend([
        row("Goodput", answer(bulk.goodput_bits_per_second, unit::rate)),
        row("Round trip", time(bulk.round_trip_seconds)),
        row("Slowest part", format!("{}, {}", place.name, bit_rate(place.rate_bits_per_second))),
        row("Used by others", percent(place.others)),
        row("Window that fills the path", transfer::window(bulk)),
        row("Lost at random", percent(bulk.loss)),
        row("Limit", transfer::limit(bulk)),
    ]);
    let size = transfer::size(asked);
    let title = format!("Transfer of {size} from {} to {} by TCP", bulk.from, bulk.to);
    page.section(&title, &transfer::setting(bulk).join("; "), aligned(rows))
}

/// The lines about the transfer at a declared rate.
pub(super) fn paced(page: &PredictionText) -> Vec<String> {
    let Some(asked) = &page.prediction.transfer else { return Vec::new() };
    let Some(paced) = &asked.paced else { return Vec::new() };
    let row = |label: &str, value: String| (label.to_owned(), value);
    let mut rows = vec![
        row("Packets", whole_or(paced.packets, 9)),
        row("Simple delay (packets / rate)", time(paced.simple_seconds)),
    ];
    let place = paced.bottleneck.as_deref().unwrap_or("the path");
    rows.push(row(
        "Delay of a packet",
        format!("{} on {place}", answer(paced.packet_delay_seconds, time)),
    ));
    rows.push(row("Aggregate delay (packets x delay)", answer(paced.aggregate_seconds, time)));
    rows.push(row("Limit", limit(paced)));
    if let Some(crossing) = &paced.overtaken {
        let value = format!(
            "from {} packets/s of {} on ({})",
            rate(crossing.whole_packets_per_second),
            crossing.flow,
            digits(crossing.packets_per_second, 6)
        );
        rows.push(row("Aggregate overtakes simple", value));
    }
    let title = format!(
        "Transfer of {} at {}'s {} packets/s",
        transfer::size(asked),
        paced.flow,
        rate(paced.packets_per_second)
    );
    page.section(&title, "as the CITI study of 1989 reckons", aligned(rows))
}

pub(super) fn megabits(bits: f64) -> String {
    if bits < 1.0 { "0".to_owned() } else { digits(bits / MEGABIT, 4) }
}

fn limit(paced: &PacedTransfer) -> String {
    match paced.limit {
        TransferLimit::Software => {
            format!("the software: it takes {}", answer(paced.seconds, time))
        }
        TransferLimit::Network => format!("the network: it takes {}", answer(paced.seconds, time)),
        TransferLimit::Saturated => {
            "the network: it is saturated, and no mean time exists".to_owned()
        }
    }
}

pub(super) fn megabytes(octets: f64) -> String {
    btu_units::Bytes::new(octets as u64).to_string()
}
