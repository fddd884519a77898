//! `activity`: one of btu's own.

use std::ops::RangeInclusive;

use btu_network::{Document, Fields};
use btu_units::{BitRate, Bytes, Span};

use super::super::doing::{ActivityStep, DISK_FILE, Doing};
use super::setup::{Context, GroupEntry, host};
use btu_contract::activity::{Receiving, Transport, Work};
use btu_contract::program::Part;

/// The time limits of an activity.
const TIMES: RangeInclusive<Span> = Span::from_milliseconds(10)..=Span::from_seconds(3600);

/// Like `TIMES`, by default.
const TIME: Span = Span::from_seconds(2);

/// The default time of requests: 150 of them, since the 99th percentile takes 100.
const ASKING: Span = Span::from_seconds(3);

/// The limits of the volume, and its default.
const AMOUNTS: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::new(1 << 40);
const AMOUNT: Bytes = Bytes::new(1_000_000);

/// Bytes of one system call, and payload of a datagram.
const MESSAGES: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::new(16 << 20);
const DATAGRAMS: RangeInclusive<Bytes> = Bytes::new(40)..=Bytes::new(65_507);
const MESSAGE: Bytes = Bytes::new(16 << 10);
const DATAGRAM: Bytes = Bytes::new(1400);
const QUESTION: Bytes = Bytes::new(32);

/// The limits of the mean time between requests, and its default.
const INTERVALS: (Span, Span) = (Span::from_microseconds(100), Span::from_seconds(10));
const INTERVAL: Span = Span::from_milliseconds(20);

/// The allowed sizes of socket buffers.
const WINDOWS: RangeInclusive<Bytes> = Bytes::new(1024)..=Bytes::new(1 << 30);

/// Datagrams, on their schedule.
const RATES: RangeInclusive<BitRate> =
    BitRate::from_bits_per_second(1000)..=BitRate::from_bits_per_second(100_000_000_000);
const RATE: BitRate = BitRate::from_bits_per_second(1_000_000);

/// The kinds, as they are written.
const KINDS: [(&str, ActivityKind); 6] = [
    ("cpu", ActivityKind::Cpu),
    ("disk", ActivityKind::Disk),
    ("transfer", ActivityKind::Transfer),
    ("tcp-stream", ActivityKind::TcpStream),
    ("udp-stream", ActivityKind::UdpStream),
    ("requests", ActivityKind::Requests),
];

/// The transports of requests, as they are written.
const TRANSPORTS: [(&str, Transport); 3] =
    [("tcp", Transport::Tcp), ("tcp-connect", Transport::TcpConnect), ("udp", Transport::Udp)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActivityKind {
    Cpu,
    Disk,
    Transfer,
    TcpStream,
    UdpStream,
    Requests,
}

/// The activity of an entry.
pub(super) fn read(
    entry: &GroupEntry<'_, '_>,
    document: &Document<'_>,
    context: &Context<'_>,
) -> Option<ActivityStep> {
    let kind = entry.fields.get("activity").and_then(|item| item.word(&KINDS));
    let on = host(entry, "on", context);
    let kind = kind?;
    let to = match kind {
        ActivityKind::Cpu | ActivityKind::Disk => None,
        ActivityKind::Transfer
        | ActivityKind::TcpStream
        | ActivityKind::UdpStream
        | ActivityKind::Requests => Some(host(entry, "to", context)?),
    };
    if to.is_some() && to == on {
        document.problem_at(entry.spot, "`on` and `to` are two stations");
    }
    let doing = doing(kind, entry.fields)?;
    Some(ActivityStep { name: entry.name.to_owned(), on: on?, to, part: entry.part, doing })
        .filter(|step| step.part != Part::Service)
}

fn doing(kind: ActivityKind, fields: &Fields<'_>) -> Option<Doing> {
    let amount = || fields.quantity_in("amount", AMOUNTS);
    let time = || fields.quantity_in("time", TIMES);
    let message = |bounds: RangeInclusive<Bytes>, usual| {
        fields.quantity_in("message", bounds).unwrap_or(usual)
    };
    Some(match kind {
        ActivityKind::Cpu => {
            Doing::Cpu { rounds: fields.whole("rounds", 1..=1_000_000_000).unwrap_or(1000).into() }
        }
        ActivityKind::Disk => {
            let file = fields
                .quantity_in("file", Bytes::new(4096)..=Bytes::new(1 << 36))
                .unwrap_or(DISK_FILE);
            Doing::Disk { file, amount: amount().unwrap_or(file) }
        }
        ActivityKind::Transfer => Doing::Transfer { amount: amount().unwrap_or(AMOUNT) },
        ActivityKind::TcpStream => {
            let message = message(MESSAGES, MESSAGE);
            let window = fields.quantity_in("window", WINDOWS);
            let work = match (amount(), time()) {
                (Some(_), Some(_)) => {
                    fields.problem("`amount` and `time` both say how much: write one of them");
                    return None;
                }
                (Some(amount), None) => Work::Bytes(amount),
                (None, Some(time)) => Work::For(time),
                (None, None) => Work::Bytes(AMOUNT),
            };
            Doing::TcpStream { message, amount: work, window, receiving: Receiving::Plain }
        }
        ActivityKind::UdpStream => {
            let (message, rate) =
                (message(DATAGRAMS, DATAGRAM), fields.quantity_in("rate", RATES).unwrap_or(RATE));
            Doing::UdpStream { message, rate, time: time().unwrap_or(TIME) }
        }
        ActivityKind::Requests => {
            let transport = fields.get("transport").and_then(|item| item.word(&TRANSPORTS));
            let transport = transport.unwrap_or(Transport::Udp);
            let message = message(QUESTION..=Bytes::new(65_507), QUESTION);
            let every = fields.quantity_in("every", Span::ZERO..=INTERVALS.1).unwrap_or(INTERVAL);
            if every > Span::ZERO && every < INTERVALS.0 {
                fields.problem("`every` is at least 100 us, or 0 s: each after the last answer");
                return None;
            }
            let every = Some(every).filter(|every| *every > Span::ZERO);
            Doing::Requests { transport, message, time: time().unwrap_or(ASKING), every }
        }
    })
}
