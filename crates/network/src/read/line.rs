//! One direction of a line, of which a file may give any part.

use btu_units::{BitRate, Bytes, Probability, Span};

use super::fields::{Fields, Item};
use super::trace::{self, Files};
use super::{limits, queue};
use crate::direction::{Direction, Framing, Jitter, Loss, Rate, Reordering, Shape};
use crate::queue::Discipline;

/// The values of a direction in a file; the others have standard values.
#[derive(Debug, Clone, Default)]
pub(super) struct Partial {
    rate: Option<Rate>,
    framing: Option<Framing>,
    queue: Option<Discipline>,
    delay: Option<Span>,
    /// Without spread there is none.
    jitter: Option<Jitter>,
    loss: Option<Loss>,
    corrupt: Option<Probability>,
    duplicate: Option<Probability>,
    reorder: Option<Reordering>,
    mtu: Option<Bytes>,
}

impl Partial {
    /// Reads a direction's keys. `framed` says whether a framing may be chosen.
    pub(super) fn read(fields: &Fields<'_>, files: Files<'_>, framed: bool) -> Self {
        Self {
            rate: rate(fields, files),
            framing: if framed {
                fields.get("framing").and_then(|item| framing(&item))
            } else {
                None
            },
            queue: fields.get("queue").and_then(|item| queue::discipline(&item)),
            delay: fields.quantity_in("delay", limits::TIME),
            jitter: fields.get("jitter").and_then(|item| jitter(&item)),
            loss: fields.get("loss").and_then(|item| loss(&item)),
            corrupt: fields.quantity("corrupt"),
            duplicate: fields.quantity("duplicate"),
            reorder: fields.get("reorder").and_then(|item| reordering(&item)),
            mtu: fields.quantity_in("mtu", limits::MTU),
        }
    }

    /// Reads the table under `key`, if there is one: the differences of one direction from `self`.
    pub(super) fn overridden(
        &self,
        fields: &Fields<'_>,
        key: &'static str,
        files: Files<'_>,
        framed: bool,
    ) -> Self {
        let Some(below) = fields.get(key).and_then(|item| item.fields()) else {
            return self.clone();
        };
        let own = Self::read(&below, files, framed);
        below.finish();
        own.over(self)
    }

    fn over(self, base: &Self) -> Self {
        Self {
            rate: self.rate.or_else(|| base.rate.clone()),
            framing: self.framing.or(base.framing),
            queue: self.queue.or(base.queue),
            delay: self.delay.or(base.delay),
            jitter: self.jitter.or(base.jitter),
            loss: self.loss.or(base.loss),
            corrupt: self.corrupt.or(base.corrupt),
            duplicate: self.duplicate.or(base.duplicate),
            reorder: self.reorder.or(base.reorder),
            mtu: self.mtu.or(base.mtu),
        }
    }

    /// Whether a rate or a trace was given.
    pub(super) fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// The whole direction, with the values of `standard` for those that are not in the file.
    pub(super) fn complete(self, standard: &Direction) -> Direction {
        Direction {
            rate: self.rate.unwrap_or_else(|| standard.rate.clone()),
            framing: self.framing.unwrap_or(standard.framing),
            queue: self.queue.unwrap_or(standard.queue),
            delay: self.delay.unwrap_or(standard.delay),
            jitter: self.jitter.or(standard.jitter).filter(|jitter| jitter.spread > Span::ZERO),
            loss: self.loss.unwrap_or(standard.loss),
            corrupt: self.corrupt.unwrap_or(standard.corrupt),
            duplicate: self.duplicate.unwrap_or(standard.duplicate),
            reorder: self.reorder.unwrap_or(standard.reorder),
            mtu: self.mtu.unwrap_or(standard.mtu),
        }
    }
}

fn rate(fields: &Fields<'_>, files: Files<'_>) -> Option<Rate> {
    let fixed: Option<BitRate> = fields.quantity_in("rate", limits::RATE);
    let Some(item) = fields.get("trace") else { return fixed.map(Rate::Fixed) };
    if fixed.is_some() {
        item.problem("a line has a `rate` or a `trace`, not both");
        return fixed.map(Rate::Fixed);
    }
    trace::read(&item, files).map(Rate::Trace)
}

/// `"1 ms"` or `{ spread, shape, correlation, keep_order }`.
fn jitter(item: &Item<'_>) -> Option<Jitter> {
    let shapes =
        [("uniform", Shape::Uniform), ("normal", Shape::Normal), ("pareto", Shape::Pareto)];
    let mut read = Jitter {
        spread: Span::ZERO,
        shape: Shape::Normal,
        correlation: Probability::NEVER,
        keep_order: true,
    };
    if item.is_table() {
        let fields = item.fields()?;
        fields.need("spread", "\"1 ms\"");
        read.spread = fields.quantity_in("spread", limits::TIME).unwrap_or_default();
        read.shape = fields.get("shape").and_then(|item| item.word(&shapes)).unwrap_or(read.shape);
        read.correlation = fields.quantity("correlation").unwrap_or_default();
        read.keep_order = fields.truth("keep_order").unwrap_or(true);
        fields.finish();
    } else {
        read.spread = item.quantity_in(limits::TIME)?;
    }
    Some(read)
}

/// `"1 %"`, or `{ p, r, bad, good }` for bursts.
pub(super) fn loss(item: &Item<'_>) -> Option<Loss> {
    if !item.is_table() {
        let share: Probability = item.quantity()?;
        return Some(if share == Probability::NEVER { Loss::None } else { Loss::Random(share) });
    }
    let fields = item.fields()?;
    fields.need("p", "\"1 %\"");
    fields.need("r", "\"30 %\"");
    let read = Loss::GilbertElliott {
        p: fields.quantity("p").unwrap_or_default(),
        r: fields.quantity("r").unwrap_or_default(),
        bad: fields.quantity("bad").unwrap_or(Probability::ALWAYS),
        good: fields.quantity("good").unwrap_or_default(),
    };
    fields.finish();
    Some(read)
}

/// `"1 %"`, or `{ share, depth }`.
fn reordering(item: &Item<'_>) -> Option<Reordering> {
    if !item.is_table() {
        return Some(Reordering { share: item.quantity()?, ..Reordering::NEVER });
    }
    let fields = item.fields()?;
    fields.need("share", "\"1 %\"");
    let read = Reordering {
        share: fields.quantity("share").unwrap_or_default(),
        depth: fields.whole("depth", 1..=1_000).unwrap_or(Reordering::NEVER.depth),
    };
    fields.finish();
    Some(read)
}

/// PPP in HDLC-like framing (RFC 1662): flag, address, control, protocol 2, check sequence 2, flag.
const PPP: Framing = Framing::Serial { overhead: 8, bits_per_octet: 8 };

/// `"ethernet"`, `"serial"`, `"aal5"`, `"bare"`, or `{ kind = "serial", overhead, bits_per_octet
/// }`.
fn framing(item: &Item<'_>) -> Option<Framing> {
    let kinds = [
        ("ethernet", Framing::Ethernet),
        ("serial", PPP),
        ("aal5", Framing::Aal5),
        ("bare", Framing::Bare),
    ];
    if !item.is_table() {
        return item.word(&kinds);
    }
    let fields = item.fields()?;
    let kind = fields.need("kind", "\"serial\"").and_then(|item| item.word(&kinds));
    let read = match kind {
        Some(Framing::Serial { .. }) => Some(Framing::Serial {
            overhead: fields
                .quantity_in("overhead", Bytes::ZERO..=Bytes::new(255))
                .map_or(8, |size| size.count() as u8),
            bits_per_octet: fields.whole("bits_per_octet", 8..=12).unwrap_or(8) as u8,
        }),
        other => other,
    };
    fields.finish();
    read
}
