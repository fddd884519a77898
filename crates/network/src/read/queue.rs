//! Queues: `queue = "100 frames"`, `"64 KiB"`, `"fq-codel"`, `{ discipline = "codel", target = "5
//! ms" }`.

use btu_units::{Bytes, Probability, Span};

use super::fields::{Fields, Item};
use super::limits;
use super::nearest::suggestion;
use crate::queue::{Codel, Discipline, FairCodel, QueueLimit, Red};

/// The names of the disciplines.
const DISCIPLINES: &[(&str, DisciplineKind)] = &[
    ("tail-drop", DisciplineKind::TailDrop),
    ("red", DisciplineKind::Red),
    ("codel", DisciplineKind::Codel),
    ("fq-codel", DisciplineKind::FqCodel),
];

#[derive(Debug, Clone, Copy)]
enum DisciplineKind {
    TailDrop,
    Red,
    Codel,
    FqCodel,
}

/// The discipline that is written.
pub(super) fn discipline(item: &Item<'_>) -> Option<Discipline> {
    if item.is_table() {
        let fields = item.fields()?;
        let kind = fields
            .get("discipline")
            .map_or(Some(DisciplineKind::TailDrop), |word| word.word(DISCIPLINES));
        let read = kind.map(|kind| of_kind(kind, &fields));
        fields.finish();
        return read;
    }
    let text = item.text()?;
    match DISCIPLINES.iter().find(|(word, _)| *word == text) {
        Some((_, kind)) => Some(standard(*kind)),
        None => limit(item).map(|limit| Discipline::TailDrop { limit }),
    }
}

/// How much fits: `"100 frames"`, `"64 KiB"`, or `"suited"`.
pub(super) fn limit(item: &Item<'_>) -> Option<QueueLimit> {
    let text = item.text()?.trim();
    if text == "suited" {
        return Some(QueueLimit::Suited);
    }
    if let Some(number) = text.strip_suffix("frames").or_else(|| text.strip_suffix("frame")) {
        return frames(item, number.trim());
    }
    match text.parse::<Bytes>() {
        Ok(bytes) if limits::QUEUE_BYTES.contains(&bytes) => Some(QueueLimit::Bytes(bytes)),
        Ok(_) => {
            item.problem("a queue holds at least 1518 B, a full Ethernet frame, and at most 1 TiB");
            None
        }
        Err(_) => {
            item.problem(format!(
                "`{text}` is not a queue{}: write a limit such as `100 frames`, `64 KiB` or `suited`, or one of the \
                 disciplines tail-drop, red, codel, fq-codel",
                meant(text)
            ));
            None
        }
    }
}

/// What a text in the words of tc and of the kernel may mean, or nothing.
fn meant(text: &str) -> String {
    let number = text.strip_suffix('p').filter(|number| number.parse::<u32>().is_ok());
    match (text, number) {
        // It is not drawn, and has the same effect on a queue.
        ("cake", _) => " (of those drawn, `fq-codel` comes nearest)".to_owned(),
        (_, Some(number)) => format!(" (did you mean `{number} frames`?)"),
        _ => suggestion(text, DISCIPLINES.iter().map(|(word, _)| *word)),
    }
}

fn frames(item: &Item<'_>, number: &str) -> Option<QueueLimit> {
    let frames = number.parse().ok().filter(|frames| limits::QUEUE_FRAMES.contains(frames));
    if frames.is_none() {
        item.problem("a queue holds a whole number of frames, from 1 to 10000000");
    }
    frames.map(QueueLimit::Frames)
}

/// A discipline as its authors recommend it.
fn standard(kind: DisciplineKind) -> Discipline {
    match kind {
        DisciplineKind::TailDrop => Discipline::default(),
        DisciplineKind::Red => Discipline::Red(standard_red()),
        DisciplineKind::Codel => Discipline::Codel(CODEL),
        DisciplineKind::FqCodel => Discipline::FqCodel(FQ_CODEL),
    }
}

/// Floyd and Jacobson 1993: thresholds of 5 and 15 packets (of 1500 octets here), weight 0.002,
/// probability 1/50.
fn standard_red() -> Red {
    Red {
        limit: QueueLimit::Suited,
        minimum: Bytes::new(7_500),
        maximum: Bytes::new(22_500),
        probability: Probability::new(0.02).unwrap_or_default(),
        weight: 0.002,
    }
}

/// RFC 8289, section 4.4; the limit is that of Linux.
const CODEL: Codel = Codel {
    limit: QueueLimit::Frames(1_000),
    target: Span::from_milliseconds(5),
    interval: Span::from_milliseconds(100),
};

/// RFC 8290, sections 4.1 and 5.2.
const FQ_CODEL: FairCodel = FairCodel {
    codel: Codel { limit: QueueLimit::Frames(10_240), ..CODEL },
    queues: 1_024,
    quantum: Bytes::new(1_514),
};

/// The discipline of this kind that a table's other keys describe.
fn of_kind(kind: DisciplineKind, fields: &Fields<'_>) -> Discipline {
    let limit = fields.get("limit").and_then(|item| limit(&item));
    match kind {
        DisciplineKind::TailDrop => {
            Discipline::TailDrop { limit: limit.unwrap_or(QueueLimit::Suited) }
        }
        DisciplineKind::Red => Discipline::Red(red(limit, fields)),
        DisciplineKind::Codel => Discipline::Codel(codel(CODEL, limit, fields)),
        DisciplineKind::FqCodel => Discipline::FqCodel(FairCodel {
            codel: codel(FQ_CODEL.codel, limit, fields),
            queues: fields.whole("queues", 1..=65_536).unwrap_or(FQ_CODEL.queues),
            quantum: fields
                .quantity_in("quantum", Bytes::new(64)..=Bytes::new(65_535))
                .unwrap_or(FQ_CODEL.quantum),
        }),
    }
}

fn red(limit: Option<QueueLimit>, fields: &Fields<'_>) -> Red {
    let standard = standard_red();
    let read = Red {
        limit: limit.unwrap_or(standard.limit),
        minimum: fields.quantity("minimum").unwrap_or(standard.minimum),
        maximum: fields.quantity("maximum").unwrap_or(standard.maximum),
        probability: fields.quantity("probability").unwrap_or(standard.probability),
        weight: fields
            .get("weight")
            .and_then(|item| item.number(1e-6..=1.0))
            .unwrap_or(standard.weight),
    };
    if read.minimum >= read.maximum {
        fields.problem(format!(
            "`minimum` ({}) must be less than `maximum` ({})",
            read.minimum, read.maximum
        ));
    }
    read
}

fn codel(standard: Codel, limit: Option<QueueLimit>, fields: &Fields<'_>) -> Codel {
    let least = Span::from_nanoseconds(1);
    let read = Codel {
        limit: limit.unwrap_or(standard.limit),
        target: fields
            .quantity_in("target", least..=*limits::TIME.end())
            .unwrap_or(standard.target),
        interval: fields
            .quantity_in("interval", least..=*limits::TIME.end())
            .unwrap_or(standard.interval),
    };
    if read.target > read.interval {
        fields.problem(format!(
            "`target` ({}) must not be longer than `interval` ({})",
            read.target, read.interval
        ));
    }
    read
}
