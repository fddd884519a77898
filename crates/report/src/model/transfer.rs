//! The first screen of a transfer: how long it takes, what limits it, what would help.

use btu_model::predict::{BulkLimit, BulkTransfer, PacedTransfer, TransferPrediction};
use btu_model::{Answer, Warning};
use btu_units::Bytes;

use super::figures::{answer, bit_rate, rate, time};
use crate::html::PageWarning;
use crate::number::{percent, three_digits};
use crate::stored_page::page_warning;
use crate::summary::KeyFigure;
use crate::unit;

/// Times that differ by less than this share are told as one.
const ALIKE: f64 = 5e-3;

/// Random loss above which the formula of Reno is out of its range.
const MOST_LOSS: f64 = 0.02;

/// Segments with which a connection begins (RFC 6928): that much window is always there.
const FIRST_WINDOW: f64 = 10.0;

/// The transfer and its time: by simulation where the formula is only a bound.
pub(super) fn headline(transfer: &TransferPrediction) -> String {
    let TransferPrediction { bulk, .. } = transfer;
    let what = format!("{} from {} to {}", size(transfer), bulk.from, bulk.to);
    if bulk.seconds.is_saturated() {
        return format!("{what} takes for ever: the traffic of others leaves nothing");
    }
    let takes = match best(bulk) {
        Answer { value: Some(seconds), warning: Some(Warning::Optimistic) } => {
            format!("at least {}", short(seconds))
        }
        Answer { value: Some(seconds), .. } => short(seconds),
        _ => "-".to_owned(),
    };
    match bulk.despite_loss_seconds.and_then(|answer| answer.value) {
        Some(seconds) => format!("{what} takes {takes} by Reno, {} by BBR", short(seconds)),
        None => format!("{what} takes {takes}"),
    }
}

/// The time that is right: the simulator's where the formula is only a bound.
pub(super) fn best(bulk: &BulkTransfer) -> Answer {
    match bulk.simulated {
        Some(simulated) if bulk.seconds.warning == Some(Warning::Optimistic) => {
            Answer::of(simulated.seconds)
        }
        _ => bulk.seconds,
    }
}

/// By formula and by simulation, without the others, and at a declared rate.
pub(super) fn figures(transfer: &TransferPrediction) -> Vec<KeyFigure> {
    let TransferPrediction { bulk, paced, .. } = transfer;
    let formula = KeyFigure {
        name: "TCP, by formula".to_owned(),
        value: answer(bulk.seconds, short),
        note: bulk.goodput_bits_per_second.value.map_or_else(String::new, |goodput| {
            format!("{} once it has its speed", unit::rate(goodput))
        }),
        ..KeyFigure::default()
    };
    let simulated = bulk.simulated.map(|simulated| KeyFigure {
        name: "TCP, simulated".to_owned(),
        value: short(simulated.seconds),
        interval: interval(simulated.interval),
        note: String::new(),
    });
    let alone = others_matter(bulk).then(|| KeyFigure {
        name: "without others".to_owned(),
        value: answer(bulk.alone_seconds, short),
        ..KeyFigure::default()
    });
    let paced = paced.as_ref().map(at_rate);
    [formula].into_iter().chain(simulated).chain(alone).chain(paced).collect()
}

/// The ends of an interval, without a unit in seconds; empty where both are the same in print.
fn interval(ends: [f64; 2]) -> String {
    let [low, high] = if ends[1] >= 100.0 { ends.map(short) } else { ends.map(three_digits) };
    if low == high { String::new() } else { format!("{low} .. {high}") }
}

/// The rule of the study of 1989.
fn at_rate(paced: &PacedTransfer) -> KeyFigure {
    KeyFigure {
        name: format!("at {}'s {} packets/s", paced.flow, rate(paced.packets_per_second)),
        value: answer(paced.seconds, time),
        interval: String::new(),
        note: "as CITI's study of 1989 reckons".to_owned(),
    }
}

/// Whether the others make the transfer longer.
fn others_matter(bulk: &BulkTransfer) -> bool {
    match (bulk.seconds.value, bulk.alone_seconds.value) {
        (Some(seconds), Some(alone)) => seconds > alone * (1.0 + ALIKE),
        (seconds, alone) => seconds.is_some() != alone.is_some(),
    }
}

/// What limits the transfer, and what would help.
pub(super) fn limit(bulk: &BulkTransfer) -> String {
    let place = &bulk.bottleneck;
    let line = bit_rate(place.rate_bits_per_second);
    match bulk.limit {
        BulkLimit::Loss => format!(
            "loss of {} % of the packets, which Reno takes for congestion; BBR does not",
            percent(bulk.loss)
        ),
        BulkLimit::Window => format!(
            "the window, one for each round trip of {}; {} would fill the path",
            unit::time(bulk.round_trip_seconds),
            window(bulk)
        ),
        BulkLimit::Path if others_matter(bulk) => {
            format!("{}, {line}: others use {} % of it", place.name, percent(place.others))
        }
        BulkLimit::Path => format!("{}, {line}; only a faster line would help", place.name),
    }
}

/// What stands in for what, and where the answer holds.
pub(super) fn setting(bulk: &BulkTransfer) -> Vec<String> {
    let replaces =
        bulk.replaces.as_ref().map(|flow| format!("in place of the file's traffic {flow}"));
    let holds = match bulk.limit {
        BulkLimit::Loss => {
            "Reno and, on short paths, CUBIC by the square-root law (1997); BBR by the path's rate"
                .to_owned()
        }
        BulkLimit::Window => "one connection with this window".to_owned(),
        BulkLimit::Path if bulk.filling_window_bytes <= FIRST_WINDOW * bulk.segment_bytes => {
            "holds for one connection of Reno, CUBIC or BBR".to_owned()
        }
        BulkLimit::Path => format!(
            "holds for one connection of Reno, CUBIC or BBR, with a window of {} or more",
            window(bulk)
        ),
    };
    replaces.into_iter().chain([holds]).collect()
}

/// What makes the answer less reliable.
pub(super) fn warnings(bulk: &BulkTransfer) -> Vec<PageWarning> {
    let mut warnings = Vec::new();
    if bulk.seconds.warning == Some(Warning::Optimistic) {
        let seen = "data and acknowledgements collide, which the formula leaves out";
        let advice = if bulk.simulated.is_some() { "The simulator's answer counts" } else { "" };
        warnings.push(page_warning("lower bound", seen, advice));
    }
    if bulk.limit == BulkLimit::Loss && bulk.loss > MOST_LOSS {
        let seen = format!(
            "at a loss of {} % Reno waits for timers, too, which the formula leaves out",
            percent(bulk.loss)
        );
        warnings.push(page_warning("out of range", &seen, "measure it: `btu speed`"));
    }
    warnings
}

pub(super) fn window(bulk: &BulkTransfer) -> String {
    Bytes::new(bulk.filling_window_bytes.ceil() as u64).to_string()
}

pub(super) fn size(transfer: &TransferPrediction) -> String {
    super::flows::megabytes(transfer.size_bytes)
}

/// A time with three digits, from 100 s on in minutes.
pub(super) fn short(seconds: f64) -> String {
    if seconds >= 100.0 { time(seconds) } else { unit::time(seconds) }
}
