//! `[links.NAME]` and `[bridges.NAME]`.

use btu_units::{BitRate, Bytes, Length, Span};

use super::fields::{Fields, Item};
use super::line::{self, Partial};
use super::problem::Spot;
use super::stations::{Reference, of_item};
use super::trace::Files;
use super::{limits, queue};
use crate::direction::{Direction, Rate};
use crate::link::{Change, Way};
use crate::queue::QueueLimit;

/// A bridge as written.
#[derive(Debug)]
pub(super) struct BridgeGroup {
    pub(super) spot: Spot,
    pub(super) name: String,
    pub(super) count: Option<u32>,
    pub(super) segments: Vec<Reference>,
    /// Places on cables, by the segment's name.
    pub(super) positions: Vec<(Reference, Length)>,
    pub(super) latency: Span,
    pub(super) buffer: QueueLimit,
    pub(super) addresses: u32,
    pub(super) mtu: Bytes,
}

/// A link as written.
#[derive(Debug)]
pub(super) struct LinkGroup {
    pub(super) spot: Spot,
    pub(super) name: String,
    pub(super) ends: [Reference; 2],
    pub(super) forth: Direction,
    pub(super) back: Direction,
    pub(super) changes: Vec<Change>,
}

/// Reads a bridge from its table.
pub(super) fn bridge(name: &str, spot: Spot, item: &Item<'_>) -> Option<BridgeGroup> {
    let fields = item.fields()?;
    let segments = fields.get("segments").map(|item| item.each()).unwrap_or_default();
    let read = BridgeGroup {
        spot,
        name: name.to_owned(),
        count: fields.whole("count", 1..=limits::OTHERS),
        segments: segments.iter().filter_map(of_item).collect(),
        positions: positions(&fields),
        latency: fields.quantity_in("latency", limits::TIME).unwrap_or_default(),
        buffer: fields
            .get("buffer")
            .and_then(|item| queue::limit(&item))
            .unwrap_or(QueueLimit::Suited),
        addresses: fields.whole("addresses", 1..=10_000_000).unwrap_or(8_192),
        mtu: fields.quantity_in("mtu", limits::MTU).unwrap_or(Direction::ETHERNET_MTU),
    };
    fields.finish();
    Some(read)
}

fn positions(fields: &Fields<'_>) -> Vec<(Reference, Length)> {
    let Some(below) = fields.get("positions").and_then(|item| item.fields()) else {
        return Vec::new();
    };
    let read = below.members().filter_map(|(name, spot, item)| {
        let place = item.quantity_in(limits::LENGTH)?;
        Some((Reference { name: name.to_owned(), spot }, place))
    });
    read.collect()
}

/// Reads a link from its table.
pub(super) fn link(name: &str, spot: Spot, item: &Item<'_>, files: Files<'_>) -> Option<LinkGroup> {
    let fields = item.fields()?;
    let ends = ends(&fields);
    let both = Partial::read(&fields, files, true);
    let forth = both.overridden(&fields, "forth", files, true);
    let back = both.overridden(&fields, "back", files, true);
    // A wrong rate has been reported already.
    let silent = fields.get("rate").is_none() && fields.get("trace").is_none();
    if silent && !(forth.has_rate() && back.has_rate()) {
        fields.problem(
            "`rate` is missing: write for example `rate = \"10 Mb/s\"`, or `trace = \"FILE\"`",
        );
    }
    let standard = Direction::new(BitRate::from_megabits_per_second(10), Span::ZERO);
    let (forth, back) = (forth.complete(&standard), back.complete(&standard));
    let changes = changes(&fields, &forth, &back);
    fields.finish();
    Some(LinkGroup { spot, name: name.to_owned(), ends: ends?, forth, back, changes })
}

fn ends(fields: &Fields<'_>) -> Option<[Reference; 2]> {
    let item = fields.need("between", "[\"left\", \"right\"]")?;
    let items = item.each();
    if items.len() != 2 {
        item.problem(
            "a link is between two stations or bridges: `between = [\"left\", \"right\"]`",
        );
        return None;
    }
    Some([of_item(&items[0])?, of_item(&items[1])?])
}

/// `[[links.NAME.changes]]`, sorted by time.
fn changes(fields: &Fields<'_>, forth: &Direction, back: &Direction) -> Vec<Change> {
    let Some(item) = fields.get("changes") else { return Vec::new() };
    let mut read: Vec<Change> =
        item.each().iter().filter_map(|item| change(item, forth, back)).collect();
    read.sort_by_key(|change| change.at);
    read
}

fn change(item: &Item<'_>, forth: &Direction, back: &Direction) -> Option<Change> {
    let fields = item.fields()?;
    fields.need("at", "\"10 s\"");
    let ways = [("forth", Way::Forth), ("back", Way::Back), ("both", Way::Both)];
    let read = Change {
        at: fields.quantity_in("at", limits::MOMENT).unwrap_or_default(),
        way: fields.get("way").and_then(|item| item.word(&ways)).unwrap_or(Way::Both),
        rate: fields.quantity_in("rate", limits::RATE),
        delay: fields.quantity_in("delay", limits::TIME),
        loss: fields.get("loss").and_then(|item| line::loss(&item)),
    };
    let traced = |direction: &Direction| matches!(direction.rate, Rate::Trace(_));
    let follows = match read.way {
        Way::Forth => traced(forth),
        Way::Back => traced(back),
        Way::Both => traced(forth) || traced(back),
    };
    if read.rate.is_some() && follows {
        fields.problem("a direction that follows a trace has no rate to change");
    }
    let silent = ["rate", "delay", "loss"].into_iter().all(|key| fields.get(key).is_none());
    if silent {
        fields.problem("this changes nothing: write a new `rate`, `delay` or `loss`");
    }
    fields.finish();
    Some(read)
}
