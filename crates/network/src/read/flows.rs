//! Flows: their stations, their frames' sizes and their rates.

use btu_units::{BitRate, Bytes};

use super::fields::clip;
use super::names::ElementKind;
use super::stations::Reference;
use super::topology::ConnectedParts;
use super::traffic::{FlowGroup, LEAST_SIZE, SendingRate, single};
use super::work::DrawingBuilder;
use crate::direction::{Direction, Framing, Rate};
use crate::drawing::{Attachment, Drawing};
use crate::id::StationId;
use crate::link::End;
use crate::segment::{Medium, Star};
use crate::traffic::{Arrivals, Flow, Sizes, Target};

/// Writes out all flows. `parts` says which stations can reach each other; without it, the function
/// does not check that.
pub(super) fn write_out(work: &mut DrawingBuilder<'_>, parts: Option<&ConnectedParts>) {
    let written = work.written;
    for group in &written.flows {
        let flow = flow(work, group, parts);
        work.drawing.traffic.extend(flow);
    }
}

fn flow(
    work: &mut DrawingBuilder<'_>,
    group: &FlowGroup,
    parts: Option<&ConnectedParts>,
) -> Option<Flow> {
    let mut from = stations(work, &group.from)?;
    let to = target(work, group, &mut from)?;
    if from.is_empty() {
        work.problems
            .note(&group.spot, "there is no sender: `from` names no station other than the target");
        return None;
    }
    if let Some(parts) = parts {
        reach(work, group, &from, &to, parts);
        sizes(work, group, &from, &to);
    }
    let arrivals = arrivals(work, group, &from)?;
    Some(Flow {
        name: group.name.clone(),
        from,
        to,
        sizes: group.sizes.clone(),
        arrivals,
        start: group.start,
        stop: group.stop,
    })
}

/// The stations of these names, ascending, each once.
fn stations(work: &mut DrawingBuilder<'_>, names: &[Reference]) -> Option<Vec<StationId>> {
    let mut list = Vec::new();
    for reference in names {
        let places = if reference.name == "all" {
            0..work.drawing.stations.len() as u32
        } else {
            work.names.find(reference, &[ElementKind::Station], work.problems)?.places()
        };
        if !work.spend(places.len(), &reference.spot) {
            return None;
        }
        list.extend(places.map(StationId));
    }
    list.sort_unstable();
    list.dedup();
    Some(list)
}

/// The target of the flow. A single target is removed from the senders.
fn target(
    work: &mut DrawingBuilder<'_>,
    group: &FlowGroup,
    from: &mut Vec<StationId>,
) -> Option<Target> {
    match single(&group.to) {
        Some("all") => return broadcast(work, group),
        Some("next") if from.len() < 2 => {
            work.problems.note(&group.spot, "`to = \"next\"` needs at least two senders");
            return None;
        }
        Some("next") => return Some(Target::Next),
        _ => {}
    }
    let to = stations(work, &group.to)?;
    match to.as_slice() {
        [] => None,
        [one] => {
            from.retain(|sender| sender != one);
            Some(Target::Station(*one))
        }
        _ => Some(Target::AnyOf(to)),
    }
}

fn broadcast(work: &DrawingBuilder<'_>, group: &FlowGroup) -> Option<Target> {
    if let SendingRate::Closed { reply: Some(_), .. } = group.pace {
        work.problems
            .note(&group.spot, "a request to all stations has no single reply: leave out `reply`");
        return None;
    }
    Some(Target::Broadcast)
}

/// Reports the first two stations that cannot reach each other.
fn reach(
    work: &DrawingBuilder<'_>,
    group: &FlowGroup,
    from: &[StationId],
    to: &Target,
    parts: &ConnectedParts,
) {
    let others = match to {
        Target::Station(one) => std::slice::from_ref(one),
        Target::AnyOf(list) => list,
        Target::Next => from,
        // Longer ranges end at the last station.
        Target::Broadcast => &[],
    };
    let home = parts.of_station(work, from[0]);
    let lost = from.iter().chain(others).find(|station| parts.of_station(work, **station) != home);
    if let (Some(lost), false) = (lost, matches!(to, Target::Broadcast)) {
        let [left, right] = [from[0], *lost].map(|station| &work.drawing.station(station).name);
        let message = format!(
            "nothing connects `{}` with `{}`: draw a bridge or a link between them",
            clip(left),
            clip(right)
        );
        work.problems.note(&group.spot, message);
    }
}

/// Reports sizes that a sender's or a receiver's medium does not take.
fn sizes(work: &DrawingBuilder<'_>, group: &FlowGroup, from: &[StationId], to: &Target) {
    let receivers = match to {
        Target::Station(one) => std::slice::from_ref(one),
        Target::AnyOf(list) => list,
        Target::Next | Target::Broadcast => &[],
    };
    let reply = if let SendingRate::Closed { reply: Some(reply), .. } = group.pace {
        Some((reply, reply))
    } else {
        None
    };
    let bounds = bounds(&group.sizes).into_iter().chain(reply);
    for (least, most) in bounds {
        for station in from.iter().chain(receivers) {
            let (shortest, longest) = takes(&work.drawing, *station);
            if least < shortest || most > longest {
                let name = &work.drawing.station(*station).name;
                let message = format!(
                    "the medium of `{name}` takes frames of {shortest} to {longest}, from destination address to check \
                     sequence; here are {least} to {most}"
                );
                return work.problems.note(&group.sizes_spot, message);
            }
        }
    }
}

/// The least and the greatest size; none of an exponential distribution, which is for checks
/// against theory.
fn bounds(sizes: &Sizes) -> Option<(Bytes, Bytes)> {
    match sizes {
        Sizes::Fixed(size) => Some((*size, *size)),
        Sizes::Uniform(least, most) => Some((*least, *most)),
        Sizes::Mix(parts) => {
            let sizes = parts.iter().map(|(size, _)| *size);
            Some((sizes.clone().min()?, sizes.max()?))
        }
        Sizes::Exponential(_) => None,
    }
}

/// Header and check sequence of an Ethernet frame.
const AROUND: Bytes = Bytes::new(18);
/// The shortest Ethernet frame (IEEE 802.3, 4.4.2: minFrameSize).
const ETHERNET_LEAST: Bytes = Bytes::new(64);

/// The shortest and the longest frame on a station's medium. Longest packets of rings: RFC 1191,
/// section 7.1.
fn takes(drawing: &Drawing, station: StationId) -> (Bytes, Bytes) {
    let around = |least, mtu: Bytes| (least, mtu + AROUND);
    match drawing.station(station).attachment {
        Attachment::Segment(segment, _) => match &drawing.segment(segment).medium {
            Medium::SharedEthernet(_) => around(ETHERNET_LEAST, Direction::ETHERNET_MTU),
            Medium::SwitchedEthernet(star) => {
                around(ETHERNET_LEAST, star.up.mtu.min(star.down.mtu))
            }
            Medium::TokenRing(ring) if ring.rate <= BitRate::from_megabits_per_second(4) => {
                around(LEAST_SIZE, Bytes::new(4_464))
            }
            Medium::TokenRing(_) => around(LEAST_SIZE, Bytes::new(17_914)),
            Medium::Fddi(_) => around(LEAST_SIZE, Bytes::new(4_352)),
            Medium::Atm(atm) => around(LEAST_SIZE, atm.star.up.mtu.min(atm.star.down.mtu)),
        },
        Attachment::Link(link) => {
            let link = drawing.link(link);
            let ethernet =
                [&link.forth, &link.back].iter().any(|way| way.framing == Framing::Ethernet);
            let least = if ethernet { ETHERNET_LEAST } else { LEAST_SIZE };
            around(least, link.forth.mtu.min(link.back.mtu))
        }
    }
}

fn arrivals(work: &DrawingBuilder<'_>, group: &FlowGroup, from: &[StationId]) -> Option<Arrivals> {
    let of = |per_second, regular| {
        if regular { Arrivals::Periodic { per_second } } else { Arrivals::Poisson { per_second } }
    };
    let frame_bits = group.sizes.mean() * 8.0;
    match &group.pace {
        SendingRate::Frames { per_second, regular } => Some(of(*per_second, *regular)),
        SendingRate::Rate { rate, regular } => {
            Some(of(rate.bits_per_second() as f64 / frame_bits, *regular))
        }
        SendingRate::Load { share, regular, spot } => {
            let bits = bits_for_load(work, *share, from);
            if bits.is_none() {
                let message = "the senders' segments differ, so a load is not the same for each: write `packets_per_s` or \
                               `rate`, or a flow for each segment";
                work.problems.note(spot, message);
            }
            Some(of(bits? / frame_bits, *regular))
        }
        SendingRate::Saturated => Some(Arrivals::Saturated),
        SendingRate::Closed { think, reply, service } => {
            Some(Arrivals::Closed { think: *think, reply: *reply, service: *service })
        }
    }
}

/// Bits per second of each sender, so that all senders on a shared medium together, or each on its
/// own line, use `share` of its rate. `None` where that differs between senders.
fn bits_for_load(work: &DrawingBuilder<'_>, share: f64, from: &[StationId]) -> Option<f64> {
    let drawing = &work.drawing;
    let mut on_segment = vec![0_u32; drawing.segments.len()];
    for station in from {
        if let Attachment::Segment(segment, _) = drawing.station(*station).attachment {
            // A seat without an attachment counts as one on segment 0 until the reader reports it.
            *on_segment.get_mut(segment.0 as usize)? += 1;
        }
    }
    let each = |station: &StationId| match drawing.station(*station).attachment {
        Attachment::Segment(segment, _) => match shared_rate(&drawing.segment(segment).medium) {
            Ok(rate) => share * rate / f64::from(on_segment[segment.0 as usize]),
            Err(line) => share * line,
        },
        Attachment::Link(link) => {
            let link = drawing.link(link);
            let forth = link.ends[0] == End::Station(*station);
            share * mean_rate(if forth { &link.forth.rate } else { &link.back.rate })
        }
    };
    let first = each(from.first()?);
    from.iter().all(|station| (each(station) - first).abs() <= first * 1e-9).then_some(first)
}

/// The rate that all share, or as `Err` that of each station's own line.
fn shared_rate(medium: &Medium) -> Result<f64, f64> {
    match medium {
        Medium::SharedEthernet(cable) => Ok(cable.rate.bits_per_second() as f64),
        Medium::TokenRing(ring) => Ok(ring.rate.bits_per_second() as f64),
        Medium::Fddi(ring) => Ok(ring.rate.bits_per_second() as f64),
        Medium::SwitchedEthernet(star) | Medium::Atm(crate::segment::Atm { star }) => {
            Err(line_rate(star))
        }
    }
}

fn line_rate(star: &Star) -> f64 {
    mean_rate(&star.up.rate)
}

fn mean_rate(rate: &Rate) -> f64 {
    match rate {
        Rate::Fixed(rate) => rate.bits_per_second() as f64,
        Rate::Trace(trace) => trace.mean_rate().bits_per_second() as f64,
    }
}
