//! Reasons not to believe a prediction. Members of a group share one.

use btu_network::{Arrivals, Rate};

use super::answers::{Doubt, SegmentPrediction};
use super::assemble::Solved;
use super::server::Place;
use crate::answer::Warning;

/// All doubts, gravest first.
pub(super) fn of(solved: &Solved<'_>, segments: &[SegmentPrediction]) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    saturated(solved, &mut doubts);
    optimistic(segments, &mut doubts);
    lines(solved, &mut doubts);
    traffic(solved, &mut doubts);
    doubts.sort_by_key(|doubt| match doubt.warning {
        Warning::Saturated => 0,
        Warning::OutOfRange => 1,
        Warning::Optimistic => 2,
    });
    doubts
}

/// The names that a doubt is about, the first of them, and the most of what is doubtful.
struct Named {
    place: String,
    first: String,
    count: usize,
    most: f64,
}

/// Adds one to the doubt of its place.
fn note(named: &mut Vec<Named>, place: String, name: String, value: f64) {
    match named.iter_mut().find(|known| known.place == place) {
        Some(known) => (known.count, known.most) = (known.count + 1, known.most.max(value)),
        None => named.push(Named { place, first: name, count: 1, most: value }),
    }
}

impl Named {
    fn called(&self) -> String {
        match self.count {
            1 => self.first.clone(),
            2 => format!("{} and another", self.first),
            count => format!("{} and {} others", self.first, count - 1),
        }
    }
}

fn saturated(solved: &Solved<'_>, doubts: &mut Vec<Doubt>) {
    let drawing = solved.network.drawing;
    let mut named = Vec::new();
    for (server, wait) in solved.network.servers.iter().zip(&solved.waits) {
        if !wait.waiting.is_saturated() {
            continue;
        }
        let place = match server.place {
            Place::Segment(segment) | Place::StationLine { segment, .. } | Place::BridgeLine { segment, .. } => {
                format!("segments.{}", drawing.segments[segment as usize].group)
            }
            Place::Link { link, .. } => format!("links.{}", drawing.links[link as usize].group),
            Place::Bridge(bridge) => format!("bridges.{}", drawing.bridges[bridge as usize].group),
        };
        note(&mut named, place, solved.called(server), wait.used);
    }
    doubts.extend(named.into_iter().map(|named| Doubt {
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

fn optimistic(segments: &[SegmentPrediction], doubts: &mut Vec<Doubt>) {
    let mut named = Vec::new();
    for segment in segments.iter().filter(|segment| segment.delay_seconds.warning == Some(Warning::Optimistic)) {
        let data = segment.utilisation_data.value.unwrap_or(0.0);
        note(&mut named, format!("segments.{}", segment.group), segment.name.clone(), data);
    }
    doubts.extend(named.into_iter().map(|named| Doubt {
        message: format!(
            "{}: at a load of {:.0} % real stations back off longer than the formula's: the delay is a lower bound. \
             Simulate it",
            named.called(),
            100.0 * named.most
        ),
        place: named.place,
        warning: Warning::Optimistic,
    }));
}

fn lines(solved: &Solved<'_>, doubts: &mut Vec<Doubt>) {
    let (mut traces, mut changes) = (Vec::new(), Vec::new());
    for link in &solved.network.drawing.links {
        if [&link.forth, &link.back].iter().any(|way| matches!(way.rate, Rate::Trace(_))) {
            note(&mut traces, format!("links.{}", link.group), link.name.clone(), 0.0);
        }
        if !link.changes.is_empty() {
            note(&mut changes, format!("links.{}", link.group), link.name.clone(), 0.0);
        }
    }
    let doubt = |named: Named, warning, what: &str| Doubt {
        message: format!("{}: {what}", named.called()),
        place: named.place,
        warning,
    };
    let slow = "a recorded link counts with its mean rate; its slow stretches make frames wait far longer. Simulate it";
    doubts.extend(traces.into_iter().map(|named| doubt(named, Warning::Optimistic, slow)));
    let begins = "what changes under way is left out: this is the network as it begins";
    doubts.extend(changes.into_iter().map(|named| doubt(named, Warning::OutOfRange, begins)));
}

fn traffic(solved: &Solved<'_>, doubts: &mut Vec<Doubt>) {
    for flow in &solved.network.drawing.traffic {
        let place = || format!("traffic.{}", flow.name);
        if let Arrivals::Closed { .. } = flow.arrivals {
            doubts.push(Doubt {
                place: place(),
                warning: Warning::OutOfRange,
                message:
                    "its own response time is that of senders that wait for replies; in the delays of all others and \
                          of segments its frames count as if they came at random"
                        .to_owned(),
            });
        }
        if flow.stop.is_some() || flow.start > btu_units::Span::ZERO {
            doubts.push(Doubt {
                place: place(),
                warning: Warning::OutOfRange,
                message: "it does not last all the time; this is the network while all traffic is on".to_owned(),
            });
        }
    }
}
