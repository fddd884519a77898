//! Places on cables: as written, else spread evenly.

use btu_units::Length;

use super::links::BridgeGroup;
use super::names::Members;
use super::stations::StationGroup;
use super::work::DrawingBuilder;
use crate::drawing::Attachment;
use crate::segment::Medium;

/// The place of a bridge's port before it has one.
pub(super) const UNPLACED: Length = Length::from_millimetres(u64::MAX);

/// The place that the file gives to the member with this number; `None` if it gives none.
pub(super) fn written_place(group: &StationGroup, number: u32) -> Option<Length> {
    match group.position.as_ref()?.places.as_slice() {
        [one] => Some(*one),
        places => places.get(number as usize).copied(),
    }
}

/// Checks the places that a group of stations was given.
pub(super) fn check_positions(
    work: &DrawingBuilder<'_>,
    group: &StationGroup,
    segments: Option<Members>,
    each: u32,
) {
    let Some(position) = &group.position else { return };
    let note = |message: String| work.problems.note(&position.spot, message);
    let Some(segments) = segments else {
        return note("a place on a cable goes with a `segment`".to_owned());
    };
    if position.places.len() != 1 && position.places.len() != each as usize {
        note(format!(
            "write one place for all {each} members, or one for each; here are {}",
            position.places.len()
        ));
    }
    for place in &position.places {
        if let Some(message) = beyond(work, segments, *place) {
            return note(message);
        }
    }
}

/// The reason why a place on these segments is invalid.
fn beyond(work: &DrawingBuilder<'_>, segments: Members, place: Length) -> Option<String> {
    let segment = &work.drawing.segments[segments.first as usize];
    let Medium::SharedEthernet(cable) = &segment.medium else {
        return Some(format!(
            "`{}` has no places: only a shared-ethernet has a cable with places",
            segment.group
        ));
    };
    let length = cable.length;
    (place > length).then(|| {
        format!("{place} is beyond the end of `{}`, which is {length} long", segment.group)
    })
}

/// The places that a bridge was given on its segments, in their order.
pub(super) fn bridge_positions(
    work: &DrawingBuilder<'_>,
    group: &BridgeGroup,
    segments: &[Members],
) -> Vec<Option<Length>> {
    let mut places = vec![None; segments.len()];
    for (reference, place) in &group.positions {
        let found = group.segments.iter().position(|segment| segment.name == reference.name);
        let Some(found) = found else {
            let message = format!("the bridge does not stand on `{}`", reference.name);
            work.problems.note(&reference.spot, message);
            continue;
        };
        if let Some(message) = beyond(work, segments[found], *place) {
            work.problems.note(&reference.spot, message);
        }
        places[found] = Some(*place);
    }
    places
}

/// Something on a cable that has no place yet.
#[derive(Debug, Clone, Copy)]
enum Tap {
    Seat(usize),
    Port(usize, usize),
}

/// Spreads the stations and bridges without a place evenly over their cable, from one end to the
/// other: stations in their order, then bridges. On other media every place is 0.
pub(super) fn spread(work: &mut DrawingBuilder<'_>) {
    let mut taps: Vec<Vec<Tap>> = vec![Vec::new(); work.drawing.segments.len()];
    for (place, seat) in work.seats.iter().enumerate().filter(|(_, seat)| !seat.placed) {
        if let Some(Attachment::Segment(segment, _)) = seat.plug {
            taps[segment.0 as usize].push(Tap::Seat(place));
        }
    }
    for (place, bridge) in work.drawing.bridges.iter().enumerate() {
        for (port, (segment, at)) in bridge.segments.iter().enumerate() {
            if *at == UNPLACED {
                taps[segment.0 as usize].push(Tap::Port(place, port));
            }
        }
    }
    for (segment, taps) in taps.iter().enumerate() {
        let length = match &work.drawing.segments[segment].medium {
            Medium::SharedEthernet(cable) => cable.length,
            _ => Length::ZERO,
        };
        for (number, tap) in taps.iter().enumerate() {
            place(work, *tap, evenly(length, number, taps.len()));
        }
    }
}

fn place(work: &mut DrawingBuilder<'_>, tap: Tap, place: Length) {
    match tap {
        Tap::Seat(seat) => {
            if let Some(Attachment::Segment(_, at)) = &mut work.seats[seat].plug {
                *at = place;
            }
        }
        Tap::Port(bridge, port) => work.drawing.bridges[bridge].segments[port].1 = place,
    }
}

/// The place of one of `count`, the first at the beginning and the last at the end.
fn evenly(length: Length, number: usize, count: usize) -> Length {
    let gaps = count.saturating_sub(1).max(1) as u128;
    let place = u128::from(length.millimetres()) * number as u128 / gaps;
    Length::from_millimetres(u64::try_from(place).unwrap_or(u64::MAX))
}
