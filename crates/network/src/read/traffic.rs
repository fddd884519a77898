//! Reads the flows of a network file, `[traffic.NAME]`.

use btu_units::{BitRate, Bytes, Span};

use super::fields::{Fields, Item};
use super::limits;
use super::problem::Spot;
use super::stations::{Reference, of_item};
use crate::traffic::Sizes;

/// A flow as written.
#[derive(Debug)]
pub(super) struct FlowGroup {
    pub(super) spot: Spot,
    pub(super) name: String,
    pub(super) from: Vec<Reference>,
    pub(super) to: Vec<Reference>,
    pub(super) sizes: Sizes,
    pub(super) sizes_spot: Spot,
    pub(super) pace: SendingRate,
    pub(super) start: Span,
    pub(super) stop: Option<Span>,
}

/// How often each sender sends.
#[derive(Debug, Clone)]
pub(super) enum SendingRate {
    /// So many frames a second.
    Frames {
        per_second: f64,
        regular: bool,
    },
    /// So many bits a second, in the mean size of its frames.
    Rate {
        rate: BitRate,
        regular: bool,
    },
    /// A share of the medium's capacity; 1 is all of it.
    Load {
        share: f64,
        regular: bool,
        spot: Spot,
    },
    Saturated,
    Closed {
        think: Span,
        reply: Option<Bytes>,
        service: Span,
    },
}

/// The shortest frame that is a frame: two addresses, a type, a check sequence.
pub(super) const LEAST_SIZE: Bytes = Bytes::new(18);
/// The longest packet, with header and check sequence around it.
const GREATEST_SIZE: Bytes = Bytes::new(65_535 + 18);

/// Reads a flow from its table.
pub(super) fn read(name: &str, spot: Spot, item: &Item<'_>) -> Option<FlowGroup> {
    let fields = item.fields()?;
    let from = fields.need("from", "\"station\"").map(|item| names(&item)).unwrap_or_default();
    let to = fields.need("to", "\"station\"").map(|item| names(&item)).unwrap_or_default();
    let sizes_spot = fields.get("size").map_or_else(|| fields.spot.clone(), |item| item.spot);
    let sizes = fields.get("size").map_or(Some(FULL), |item| sizes(&item));
    let pace = pace(&fields);
    let start = fields.quantity_in("start", limits::MOMENT).unwrap_or_default();
    let stop = fields.quantity_in("stop", limits::MOMENT);
    if stop.is_some_and(|stop| stop <= start) {
        fields.problem(format!("`stop` must be after `start` ({start})"));
    }
    fields.finish();
    Some(FlowGroup {
        spot,
        name: name.to_owned(),
        from,
        to,
        sizes: sizes?,
        sizes_spot,
        pace: pace?,
        start,
        stop,
    })
}

/// A full Ethernet frame.
const FULL: Sizes = Sizes::Fixed(Bytes::new(1_518));

fn names(item: &Item<'_>) -> Vec<Reference> {
    item.each().iter().filter_map(of_item).collect()
}

/// `"1518 B"`, `{ mix = [["64 B", 0.5], ...] }`, `{ uniform = ["64 B", "1518 B"] }`, `{ exponential
/// = "500 B" }`.
fn sizes(item: &Item<'_>) -> Option<Sizes> {
    if !item.is_table() {
        return item.quantity_in(LEAST_SIZE..=GREATEST_SIZE).map(Sizes::Fixed);
    }
    let fields = item.fields()?;
    let mix = fields.get("mix");
    let uniform = fields.get("uniform");
    let exponential = fields.get("exponential");
    let read = match (&mix, &uniform, &exponential) {
        (Some(parts), None, None) => of_mix(parts),
        (None, Some(bounds), None) => of_bounds(bounds),
        (None, None, Some(mean)) => {
            mean.quantity_in(Bytes::new(1)..=GREATEST_SIZE).map(Sizes::Exponential)
        }
        _ => {
            fields.problem(
                "write one of `mix`, `uniform` and `exponential`, or one size, `size = \"1518 B\"`",
            );
            None
        }
    };
    fields.finish();
    read
}

fn of_mix(item: &Item<'_>) -> Option<Sizes> {
    let parts: Option<Vec<(Bytes, f64)>> = item.each().iter().map(part).collect();
    let parts = parts?;
    if parts.is_empty() || parts.len() > 10_000 {
        item.problem(
            "a mix has from 1 to 10000 parts: `mix = [[\"64 B\", 0.5], [\"1518 B\", 0.5]]`",
        );
        return None;
    }
    Some(Sizes::Mix(parts))
}

fn part(item: &Item<'_>) -> Option<(Bytes, f64)> {
    let pair = item.each();
    if !item.is_list() || pair.len() != 2 {
        item.problem("a part of a mix is a size and its weight: `[\"64 B\", 0.5]`");
        return None;
    }
    let size = pair[0].quantity_in(LEAST_SIZE..=GREATEST_SIZE);
    let weight = pair[1].number(1e-9..=1e9);
    Some((size?, weight?))
}

fn of_bounds(item: &Item<'_>) -> Option<Sizes> {
    let pair = item.each();
    if pair.len() != 2 {
        item.problem("write the least and the greatest size: `uniform = [\"64 B\", \"1518 B\"]`");
        return None;
    }
    let least = pair[0].quantity_in(LEAST_SIZE..=GREATEST_SIZE)?;
    let most = pair[1].quantity_in(least..=GREATEST_SIZE)?;
    Some(Sizes::Uniform(least, most))
}

/// The ways to say how often; exactly one is wanted.
const PACES: [&str; 5] = ["packets_per_s", "rate", "load", "saturated", "think"];

fn pace(fields: &Fields<'_>) -> Option<SendingRate> {
    let given: Vec<&'static str> =
        PACES.into_iter().filter(|key| fields.get(key).is_some()).collect();
    let regular = regular(fields, &given);
    let reply = fields.get("reply");
    let service = fields.get("service");
    let &[one] = given.as_slice() else {
        let said = if given.is_empty() {
            "nothing says how often".to_owned()
        } else {
            format!("{} are too many", and(&given))
        };
        fields.problem(format!(
            "{said}: write exactly one of `packets_per_s = 60`, `rate = \"1 Mb/s\"`, `load = \"30 %\"`, `saturated = true`, \
             `think = \"1 s\"`"
        ));
        return None;
    };
    if one == "think" {
        return closed(fields);
    }
    if let Some(item) = reply.or(service) {
        item.problem("`reply` and `service` go with `think` only");
    }
    let item = fields.get(one)?;
    match one {
        "packets_per_s" => {
            item.number(1e-9..=1e9).map(|per_second| SendingRate::Frames { per_second, regular })
        }
        "rate" => item.quantity_in(limits::RATE).map(|rate| SendingRate::Rate { rate, regular }),
        "load" => load(&item).map(|share| SendingRate::Load { share, regular, spot: item.spot }),
        _ => saturated(&item),
    }
}

/// Whether frames come evenly instead of at random.
fn regular(fields: &Fields<'_>, given: &[&str]) -> bool {
    let Some(item) = fields.get("arrivals") else { return false };
    if !given.iter().any(|key| matches!(*key, "packets_per_s" | "rate" | "load")) {
        item.problem("`arrivals` goes with `packets_per_s`, `rate` or `load` only");
    }
    item.word(&[("poisson", false), ("periodic", true)]).unwrap_or(false)
}

fn and(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ")
}

fn saturated(item: &Item<'_>) -> Option<SendingRate> {
    if !item.truth()? {
        item.problem(
            "`saturated = false` says nothing about how often: write `packets_per_s`, `rate` or `load` instead",
        );
        return None;
    }
    Some(SendingRate::Saturated)
}

fn closed(fields: &Fields<'_>) -> Option<SendingRate> {
    let think = fields.quantity_in("think", limits::TIME);
    let reply = fields.quantity_in("reply", LEAST_SIZE..=GREATEST_SIZE);
    let service = fields.quantity_in("service", limits::TIME);
    if service.is_some() && fields.get("reply").is_none() {
        fields.problem(
            "`service` is the time before a reply; write its size too, `reply = \"1518 B\"`",
        );
    }
    Some(SendingRate::Closed { think: think?, reply, service: service.unwrap_or_default() })
}

/// A percentage that may be above 100: too much can be offered too.
fn load(item: &Item<'_>) -> Option<f64> {
    let text = item.quantity_text()?;
    let number = text.trim().strip_suffix('%').map(str::trim_end);
    let plain =
        number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
    let share = plain.and_then(|number| number.parse::<f64>().ok()).map(|percent| percent / 100.0);
    let share = share.filter(|share| (1e-9..=1e3).contains(share));
    if share.is_none() {
        let number = text.parse::<f64>().unwrap_or(0.0);
        let example = if (f64::MIN_POSITIVE..=1.0).contains(&number) {
            let percent = (1e6 * number).round() / 1e4;
            format!(
                "the unit is missing, write `{percent} %`, or `{number} %` if so little is meant"
            )
        } else if number > 0.0 {
            format!("the unit is missing, write `{} %`", text.trim())
        } else {
            "write a percentage above `0 %`, for example `30 %` or `120 %`".to_owned()
        };
        item.problem(format!("`{text}` is not a load: {example}"));
    }
    share
}

/// Whether a name is one of the words that mean stations without naming them.
pub(super) fn single(names: &[Reference]) -> Option<&str> {
    if let [one] = names { Some(&one.name) } else { None }
}
