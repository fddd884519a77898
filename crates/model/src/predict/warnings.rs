//! Warnings about a prediction. Members of a group share one.

use btu_network::{Arrivals, Attachment, Bridge, Flow, Jitter, Rate, StationId, Target};

use super::answers::{PredictionWarning, SegmentPrediction};
use super::assemble::Solved;
use super::formula::Formula;
use super::server::{FrameServer, Nature, ServerLocation};
use crate::answer::Warning;

/// All warnings, most severe first.
pub(super) fn of(solved: &Solved<'_>, segments: &[SegmentPrediction]) -> Vec<PredictionWarning> {
    let mut warnings = Vec::new();
    saturated(solved, &mut warnings);
    optimistic(segments, &mut warnings);
    uneven(solved, &mut warnings);
    lines(solved, &mut warnings);
    delayed(solved, &mut warnings);
    tandem(solved, &mut warnings);
    managed(solved, &mut warnings);
    traffic(solved, &mut warnings);
    warnings.sort_by_key(|warning| match warning.warning {
        Warning::Saturated => 0,
        Warning::OutOfRange => 1,
        Warning::Optimistic => 2,
    });
    warnings
}

/// The names that a warning concerns, the first of them, and the largest of their values.
struct AffectedNames {
    place: String,
    first: String,
    count: usize,
    most: f64,
}

/// Adds one to the warning of its place.
fn note(named: &mut Vec<AffectedNames>, place: String, name: String, value: f64) {
    match named.iter_mut().find(|known| known.place == place) {
        Some(known) => (known.count, known.most) = (known.count + 1, known.most.max(value)),
        None => named.push(AffectedNames { place, first: name, count: 1, most: value }),
    }
}

impl AffectedNames {
    fn called(&self) -> String {
        match self.count {
            1 => self.first.clone(),
            2 => format!("{} and another", self.first),
            count => format!("{} and {} others", self.first, count - 1),
        }
    }
}

/// The key of the file that draws a server.
fn place(solved: &Solved<'_>, server: &FrameServer) -> String {
    let drawing = solved.network.drawing;
    match server.place {
        ServerLocation::Segment(segment)
        | ServerLocation::StationLine { segment, .. }
        | ServerLocation::BridgeLine { segment, .. } => {
            format!("segments.{}", drawing.segments[segment as usize].group)
        }
        ServerLocation::Link { link, .. } => {
            format!("links.{}", drawing.links[link as usize].group)
        }
        ServerLocation::Bridge(bridge) => {
            format!("bridges.{}", drawing.bridges[bridge as usize].group)
        }
    }
}

fn saturated(solved: &Solved<'_>, warnings: &mut Vec<PredictionWarning>) {
    let mut named = Vec::new();
    for (server, wait) in solved.network.servers.iter().zip(&solved.waits) {
        if !wait.waiting.is_saturated() {
            continue;
        }
        note(&mut named, place(solved, server), solved.network.called(server), wait.used);
    }
    warnings.extend(named.into_iter().map(|named| PredictionWarning {
        message: format!(
            "{}: {:.0} % of what can be carried is offered, so queues grow until they drop: there is no mean delay. Offer \
             less, or draw something faster",
            named.called(),
            100.0 * named.most
        ),
        place: named.place,
        warning: Warning::Saturated,
    }));
}

/// Shared Ethernets outside of the formula's range.
fn optimistic(segments: &[SegmentPrediction], warnings: &mut Vec<PredictionWarning>) {
    let mut named = Vec::new();
    let mut long = Vec::new();
    for segment in segments {
        let data = segment.utilisation_data.value.unwrap_or(0.0);
        let marked = match segment.delay_seconds.warning {
            Some(Warning::Optimistic) => &mut named,
            Some(Warning::OutOfRange) if segment.formula == Formula::CsmaCd => &mut long,
            _ => continue,
        };
        note(marked, format!("segments.{}", segment.group), segment.name.clone(), data);
    }
    warnings.extend(named.into_iter().map(|named| PredictionWarning {
        message: format!(
            "{}: with these frames real stations at a load of {:.0} % back off longer than the formula's, by more than \
             5 % of the delay: it is a lower bound. Simulate it",
            named.called(),
            100.0 * named.most
        ),
        place: named.place,
        warning: Warning::Optimistic,
    }));
    warnings.extend(long.into_iter().map(|named| PredictionWarning {
        message: format!(
            "{}: the cable is long against these frames, so the formula's delay is more than 5 % too long. Simulate it",
            named.called(),
        ),
        place: named.place,
        warning: Warning::OutOfRange,
    }));
}

/// A station of a ring that sends more than this many times the mean makes the ring uneven.
const UNEVEN: f64 = 2.0;

/// Rings with a formula for equal stations, in which one station sends far more than the others.
fn uneven(solved: &Solved<'_>, warnings: &mut Vec<PredictionWarning>) {
    let mut named = Vec::new();
    for server in &solved.network.servers {
        if let (true, ServerLocation::Segment(segment)) = (server.is_ring(), server.place) {
            let (most, all) = most_of_one(solved, server, segment);
            if most * f64::from(server.stations) > UNEVEN * all * 1.000_001 {
                let segment = &solved.network.drawing.segments[segment as usize];
                note(
                    &mut named,
                    format!("segments.{}", segment.group),
                    segment.name.clone(),
                    most / all,
                );
            }
        }
    }
    warnings.extend(named.into_iter().map(|named| PredictionWarning {
        message: format!(
            "{}: one station or bridge sends {:.0} % of all; the formula takes all as sending as much, so waits differ from \
             this from station to station. Simulate it",
            named.called(),
            100.0 * named.most
        ),
        place: named.place,
        warning: Warning::OutOfRange,
    }));
}

/// Seconds per second in which the busiest sender of a ring occupies it, and all senders do. Frames
/// that no station sends come from bridges; the share of each bridge is not known, so each counts
/// with the mean.
fn most_of_one(solved: &Solved<'_>, ring: &FrameServer, segment: u32) -> (f64, f64) {
    let network = solved.network;
    let mut own = std::collections::HashMap::new();
    for visit in &ring.visits {
        let class = &network.classes[visit.class];
        let flow = &network.drawing.traffic[class.flow];
        let (stations, each) = senders(flow, class.reply);
        for station in stations {
            let attachment = network.drawing.stations[station.0 as usize].attachment;
            if matches!(attachment, Attachment::Segment(here, _) if here.0 == segment) {
                *own.entry(*station).or_insert(0.0) +=
                    each * network.rates[class.flow] * visit.mean;
            }
        }
    }
    let all: f64 = ring.visits.iter().map(|visit| network.frames(visit) * visit.mean).sum();
    let bridged = all - own.values().sum::<f64>();
    let stands = |bridge: &&Bridge| bridge.segments.iter().any(|(here, _)| here.0 == segment);
    let standing = network.drawing.bridges.iter().filter(stands).count().max(1);
    (own.into_values().fold(bridged / standing as f64, f64::max), all)
}

/// The stations that send a flow's frames or replies, and how many each of them sends if every
/// sender of the flow sends one.
fn senders(flow: &Flow, reply: bool) -> (&[StationId], f64) {
    let replying = |stations: &[StationId]| flow.from.len() as f64 / stations.len() as f64;
    match (&flow.to, reply) {
        (Target::Station(one), true) => {
            (std::slice::from_ref(one), replying(std::slice::from_ref(one)))
        }
        (Target::AnyOf(list), true) => (list, replying(list)),
        _ => (&flow.from, 1.0),
    }
}

fn lines(solved: &Solved<'_>, warnings: &mut Vec<PredictionWarning>) {
    let (mut traces, mut changes) = (Vec::new(), Vec::new());
    for link in &solved.network.drawing.links {
        if [&link.forth, &link.back].iter().any(|way| matches!(way.rate, Rate::Trace(_))) {
            note(&mut traces, format!("links.{}", link.group), link.name.clone(), 0.0);
        }
        if !link.changes.is_empty() {
            note(&mut changes, format!("links.{}", link.group), link.name.clone(), 0.0);
        }
    }
    let warning = |named: AffectedNames, warning, what: &str| PredictionWarning {
        message: format!("{}: {what}", named.called()),
        place: named.place,
        warning,
    };
    let slow = "a recorded link counts with its mean rate; its slow stretches make frames wait far longer. Simulate it";
    warnings.extend(traces.into_iter().map(|named| warning(named, Warning::Optimistic, slow)));
    let begins = "delays are those of the network as it begins, without what changes under way";
    warnings.extend(changes.into_iter().map(|named| warning(named, Warning::OutOfRange, begins)));
}

/// Lines on which frames are later than their fixed delay in the mean, which has no closed form.
fn delayed(solved: &Solved<'_>, warnings: &mut Vec<PredictionWarning>) {
    let mut named = Vec::new();
    for (server, wait) in solved.network.servers.iter().zip(&solved.waits) {
        // Normal deviations are within three spreads. Frames that keep their order are held up
        // where the next one comes within a spread.
        let raises = |jitter: Jitter| {
            let spread = jitter.spread.seconds();
            3.0 * spread > server.propagation || jitter.keep_order && spread * wait.frames > 0.1
        };
        if wait.frames > 0.0 && (server.reorders || server.jitter.is_some_and(raises)) {
            note(&mut named, place(solved, server), solved.network.called(server), 0.0);
        }
    }
    warnings.extend(named.into_iter().map(|named| PredictionWarning {
        message: format!(
            "{}: its jitter or reordering makes frames later in the mean, which the formula leaves out: delays are \
             longer, perhaps many times. Simulate it",
            named.called()
        ),
        place: named.place,
        warning: Warning::Optimistic,
    }));
}

/// Share of a flow's delay from which on the waits at lines of equal rate matter.
const MATTERS: f64 = 0.02;

/// Flows whose frames all pass several lines of equal rate, and wait at them.
fn tandem(solved: &Solved<'_>, warnings: &mut Vec<PredictionWarning>) {
    for (flow, (class, _)) in solved.network.drawing.traffic.iter().zip(&solved.network.of_flow) {
        let Some(delay) = solved.delay(*class).value else { continue };
        let way = solved.network.routes[*class].way.iter().filter(|(_, visits)| *visits > 0.99);
        let waits = |number: usize| {
            let server = &solved.network.servers[number];
            let wait = solved.waits[number].waiting.value.unwrap_or(0.0);
            let counts = matches!(server.nature, Nature::Line) && wait > MATTERS * delay;
            counts.then_some(server.rate)
        };
        let mut rates: Vec<f64> = way.filter_map(|(number, _)| waits(*number as usize)).collect();
        rates.sort_unstable_by(f64::total_cmp);
        if rates.windows(2).any(|pair| pair[0] >= pair[1]) {
            warnings.push(PredictionWarning {
                place: format!("traffic.{}", flow.name),
                warning: Warning::OutOfRange,
                message: "its frames wait at lines of equal rate one after the other, each counted as if they came at \
                          random: the mean delay is too long where sizes are alike, and may be too short where they \
                          differ. Simulate it"
                    .to_owned(),
            });
        }
    }
}

/// Lines whose queue drops before it is full, where the formula's mean wait is above that at which
/// it begins to.
fn managed(solved: &Solved<'_>, warnings: &mut Vec<PredictionWarning>) {
    let mut named = Vec::new();
    for (server, wait) in solved.network.servers.iter().zip(&solved.waits) {
        let Some(begins) = server.drops_from() else { continue };
        if wait.waiting.value.is_some_and(|seconds| seconds > begins) {
            note(&mut named, place(solved, server), solved.network.called(server), 0.0);
        }
    }
    warnings.extend(named.into_iter().map(|named| PredictionWarning {
        message: format!(
            "{}: the queue drops frames before it is full, which the formula leaves out: waits are shorter. Simulate it",
            named.called()
        ),
        place: named.place,
        warning: Warning::OutOfRange,
    }));
}

fn traffic(solved: &Solved<'_>, warnings: &mut Vec<PredictionWarning>) {
    for flow in &solved.network.drawing.traffic {
        let place = || format!("traffic.{}", flow.name);
        if let Arrivals::Closed { .. } = flow.arrivals {
            warnings.push(PredictionWarning {
                place: place(),
                warning: Warning::OutOfRange,
                message:
                    "its own response time is that of senders that wait for replies; in the delays of all others and \
                          of segments its frames count as if they came at random"
                        .to_owned(),
            });
        }
        if flow.stop.is_some() || flow.start > btu_units::Span::ZERO {
            warnings.push(PredictionWarning {
                place: place(),
                warning: Warning::OutOfRange,
                message:
                    "it does not last all the time; this is the network while all traffic is on"
                        .to_owned(),
            });
        }
    }
}
