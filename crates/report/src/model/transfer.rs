//! The first screen of a transfer: how long it takes, what limits it, what would help.

use btu_model::predict::{
    BulkLimit, BulkTransfer, PacedTransfer, SimulatedTransfer, TransferPrediction, TransferWarning,
};
use btu_model::{Answer, Warning};
use btu_units::Bytes;

use super::figures::{answer, bit_rate, rate, time};
use crate::differs::UNKNOWN;
use crate::html::PageWarning;
use crate::number::{percent, three_digits};
use crate::stored_page::page_warning;
use crate::summary::KeyFigure;
use crate::unit;

/// Times that differ by less than this share are told as one.
const ALIKE: f64 = 5e-3;

/// Formula and simulation of one thing differ by less than this share.
const TOLERANCE: f64 = 0.03;

/// Random loss above which the formula of Reno is out of its range.
const MOST_LOSS: f64 = 0.02;

/// Segments with which a connection begins (RFC 6928): that much window is always there.
const FIRST_WINDOW: f64 = 10.0;

/// The transfer and its time: by simulation, else by formula.
pub(super) fn headline(transfer: &TransferPrediction) -> String {
    let TransferPrediction { bulk, .. } = transfer;
    let what = format!("{} from {} to {}", size(transfer), bulk.from, bulk.to);
    if bulk.seconds.is_saturated() {
        return format!("{what} {}", starved(bulk));
    }
    let range = range(bulk);
    let takes = least(best(bulk));
    match bulk.despite_loss_seconds {
        Some(bbr) => format!("{what} takes {takes}{range} by Reno, {} by BBR", least(bbr)),
        None => format!("{what} takes {takes}{range}"),
    }
}

/// A time, or the least time.
fn least(answer: Answer) -> String {
    match answer {
        Answer { value: Some(seconds), warning: Some(Warning::Optimistic) } => {
            format!("at least {}", short(seconds))
        }
        Answer { value: Some(seconds), .. } => short(seconds),
        _ => "-".to_owned(),
    }
}

/// Senders at fixed rates leave nothing; what a transfer gets if they are connections of TCP.
fn starved(bulk: &BulkTransfer) -> String {
    let place = &bulk.bottleneck;
    if bulk.loss >= 1.0 {
        return "has no time: all packets are lost".to_owned();
    }
    let others = bit_rate(place.others * place.rate_bits_per_second);
    let never = format!("never arrives next to {others} that do not give way");
    match bulk.shared_seconds.and_then(|answer| answer.value) {
        Some(seconds) => {
            format!("{never}, and takes {} or more next to TCP, which does", short(seconds))
        }
        None => never,
    }
}

/// The simulated time, else the formula's; a least time where half of the transfers did not end.
pub(super) fn best(bulk: &BulkTransfer) -> Answer {
    let Some(SimulatedTransfer { seconds, transfers, unfinished, .. }) = bulk.simulated else {
        return bulk.seconds;
    };
    let answer = Answer::of(seconds);
    if 2 * unfinished >= transfers { answer.but(Warning::Optimistic) } else { answer }
}

/// Within what a single transfer lies, and why it varies.
fn range(bulk: &BulkTransfer) -> String {
    let simulated = bulk.simulated.map(simulated_interval);
    let why = if bulk.by_start.is_some() { "by when you start" } else { "by chance" };
    let ends = simulated.or(bulk.by_start.map(interval)).filter(|ends| !ends.is_empty());
    ends.map_or_else(String::new, |ends| format!(" ({ends}, {why})"))
}

/// By formula and by simulation, without the others, and at a declared rate.
pub(super) fn figures(transfer: &TransferPrediction) -> Vec<KeyFigure> {
    let TransferPrediction { bulk, paced, .. } = transfer;
    let speed = bulk.goodput_bits_per_second.value.filter(|_| bulk.limited_from_seconds == 0.0);
    let formula = KeyFigure {
        name: "TCP, by formula".to_owned(),
        value: answer(bulk.seconds, short),
        interval: bulk.by_start.map(interval).unwrap_or_default(),
        note: match (bulk.by_start, speed) {
            (None, Some(goodput)) => format!("{} once it has its speed", unit::rate(goodput)),
            (Some(_), _) => "the recording kept full".to_owned(),
            (None, None) => String::new(),
        },
    };
    let simulated = bulk.simulated.map(|simulated| KeyFigure {
        name: "TCP, simulated".to_owned(),
        value: short(simulated.seconds),
        interval: simulated_interval(simulated),
        note: reason(bulk).unwrap_or_default(),
    });
    let alone = others_matter(bulk).then(|| KeyFigure {
        name: "without others".to_owned(),
        value: answer(bulk.alone_seconds, short),
        ..KeyFigure::default()
    });
    let paced = paced.as_ref().map(at_rate);
    [formula].into_iter().chain(simulated).chain(alone).chain(paced).collect()
}

/// Why the simulated transfers all differ from the formula's.
fn reason(bulk: &BulkTransfer) -> Option<String> {
    let (simulated, formula) = (bulk.simulated?, bulk.seconds.value?);
    let [least, most] = simulated.range;
    let [low, high] = bulk.by_start.unwrap_or([formula; 2]);
    if low <= most * (1.0 + TOLERANCE) && high >= least * (1.0 - TOLERANCE) {
        return None;
    }
    let warned = |warning| bulk.warnings.contains(&warning);
    let why = if warned(TransferWarning::Collisions) {
        Some("the formula leaves out collisions of data and acknowledgements")
    } else if bulk.by_start.is_some() {
        Some("the formula keeps the recording full, without losses in its queue")
    } else if bulk.loss > MOST_LOSS || warned(TransferWarning::LossBursts) {
        Some("the formula leaves out timers")
    } else if bulk.limit == BulkLimit::Loss {
        Some("the formula has losses at equal distances")
    } else if warned(TransferWarning::ShortQueue) {
        Some("the formula leaves out losses in a queue shorter than a round trip")
    } else {
        None
    };
    Some(why.map_or_else(|| UNKNOWN.to_owned(), |why| format!("differs: {why}")))
}

/// The ends of an interval, without a unit in seconds; empty where both are nearly the same.
fn interval(ends: [f64; 2]) -> String {
    if ends[1] <= ends[0] * (1.0 + ALIKE) {
        return String::new();
    }
    let [low, high] = if ends[1] >= 100.0 { ends.map(short) } else { ends.map(three_digits) };
    format!("{low} .. {high}")
}

/// The quickest and the slowest simulated transfer.
fn simulated_interval(simulated: SimulatedTransfer) -> String {
    let ends = interval(simulated.range);
    if simulated.unfinished > 0 { ends.replace(" .. ", " .. more than ") } else { ends }
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
        BulkLimit::Path if bulk.by_start.is_some() => {
            format!("{}, recorded, {line} on average", place.name)
        }
        BulkLimit::Path if bulk.limited_from_seconds > 0.0 => {
            format!("{}, {line} from {} on", place.name, short(bulk.limited_from_seconds))
        }
        BulkLimit::Path if bulk.loss > 0.0 => {
            format!("{}, {line}, and loss of {} % of the packets", place.name, percent(bulk.loss))
        }
        BulkLimit::Path if bulk.warnings.contains(&TransferWarning::ShortQueue) => {
            format!("{}, {line}, and its queue, shorter than a round trip", place.name)
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
            "holds for Reno and, on short paths, CUBIC; BBR by the path's rate".to_owned()
        }
        BulkLimit::Window => "one connection with this window".to_owned(),
        BulkLimit::Path if bulk.warnings.iter().any(|one| *one != TransferWarning::Collisions) => {
            "one connection of Reno on Linux, with the warnings below".to_owned()
        }
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
    let warning = |warning: &TransferWarning| {
        let (kind, seen) = meaning(*warning);
        let known = bulk.simulated.is_some() && matches!(warning, TransferWarning::Collisions);
        let advice =
            if known { "The simulator's answer counts" } else { "measure it: `btu speed`" };
        page_warning(kind, seen, advice)
    };
    let mut warnings: Vec<PageWarning> = bulk.warnings.iter().map(warning).collect();
    if bulk.limit == BulkLimit::Loss && bulk.loss > MOST_LOSS && bulk.simulated.is_none() {
        let seen = format!(
            "at a loss of {} % Reno waits for timers, too, which the formula leaves out",
            percent(bulk.loss)
        );
        warnings.push(page_warning("out of range", &seen, "measure it: `btu speed`"));
    }
    warnings
}

/// The title of a warning, and what it does to a transfer.
fn meaning(warning: TransferWarning) -> (&'static str, &'static str) {
    match warning {
        TransferWarning::Collisions => {
            ("lower bound", "data and acknowledgements collide, which the formula leaves out")
        }
        TransferWarning::LossBursts => {
            ("bursts of losses", "one as long as a window stops Reno until its timers run out")
        }
        TransferWarning::ShortQueue => {
            ("short queue", "a real sender's bursts overflow it: measured three times slower")
        }
        TransferWarning::Reordering => {
            ("reordering", "counts as no loss, as on Linux; other systems may be slower")
        }
        TransferWarning::SaturatedOthers => {
            ("lower bound", "in a full queue a connection gets its even share late, if at all")
        }
        TransferWarning::GrowingDelay => {
            ("growing delay", "timers run out too early: measured slower by a third")
        }
    }
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
