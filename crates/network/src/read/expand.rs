//! Turns the written groups into a drawing: writes out their members, resolves names to places, and
//! checks the whole.

use std::collections::HashMap;

use btu_units::Length;

use super::names::{self, ElementKind, Members, Names};
use super::problem::{Problems, Spot};
use super::stations::StationGroup;
use super::work::{DrawingBuilder, Seat};
use super::written::Written;
use super::{addresses, cable, flows, limits, topology};
use crate::direction::Rate;
use crate::drawing::{Attachment, Drawing, Station};
use crate::id::SegmentId;
use crate::segment::{Medium, Segment};

/// The drawing that `written` describes. Mistakes are added to `problems`; the answer is then of no
/// use.
pub(super) fn expand(written: &Written, problems: &Problems) -> Drawing {
    let mut work = DrawingBuilder {
        written,
        drawing: Drawing::default(),
        seats: Vec::new(),
        names: Names::default(),
        problems,
        bridge_groups: Vec::new(),
        link_groups: Vec::new(),
        entries: 0,
        opportunities: 0,
    };
    for name in &written.broken {
        work.names.broken(name);
    }
    work.segments();
    work.stations();
    work.bridges();
    work.links();
    work.check_plugged();
    cable::spread(&mut work);
    work.seat();
    let lines = problems.none().then(|| topology::check(&work)).flatten();
    flows::write_out(&mut work, lines.as_ref());
    work.drawing
}

impl DrawingBuilder<'_> {
    fn segments(&mut self) {
        let written = self.written;
        for group in &written.segments {
            let (first, count) = (self.drawing.segments.len() as u32, group.count.unwrap_or(1));
            let members = Members {
                kind: ElementKind::Segment,
                first,
                count,
                counted: group.count.is_some(),
            };
            if !self.room(first, count, limits::OTHERS, "segments", &group.spot)
                || !self.traces(&traces_of(&group.medium), count, &group.spot)
            {
                self.names.broken(&group.name);
                continue;
            }
            for name in self.enter(&group.name, members, &group.spot) {
                self.drawing.segments.push(Segment {
                    name,
                    group: group.name.clone(),
                    medium: group.medium.clone(),
                });
            }
        }
    }

    fn stations(&mut self) {
        let written = self.written;
        for (place, group) in written.stations.iter().enumerate() {
            if !self.station(place, group) {
                self.names.broken(&group.name);
            }
        }
    }

    /// Writes out one group of stations, where its segment is known and there is room.
    fn station(&mut self, place: usize, group: &StationGroup) -> bool {
        let find = |reference| self.names.find(reference, &[ElementKind::Segment], self.problems);
        let segments = group.segment.as_ref().map(find);
        if let Some(None) = segments {
            return false;
        }
        let segments = segments.flatten();
        let each = group.count.unwrap_or(1);
        let count = each.saturating_mul(segments.map_or(1, |segments| segments.count));
        let fits =
            self.room(self.seats.len() as u32, count, limits::STATIONS, "stations", &group.spot);
        if fits {
            self.sit(place, group, segments, each);
        }
        fits
    }

    /// Writes out one group of stations.
    fn sit(&mut self, place: usize, group: &StationGroup, segments: Option<Members>, each: u32) {
        let counted_floors = segments.is_some_and(|segments| segments.counted);
        let floors = segments.map_or(1, |segments| segments.count);
        let members = Members {
            kind: ElementKind::Station,
            first: self.seats.len() as u32,
            count: each * floors,
            counted: group.count.is_some() || counted_floors,
        };
        cable::check_positions(self, group, segments, each);
        self.names.take(&group.name, members, &group.spot, self.problems);
        for floor in 0..floors {
            let on_floor = names::of_member(&group.name, counted_floors, floor);
            for number in 0..each {
                let name = names::of_member(&on_floor, group.count.is_some(), number);
                let at = cable::written_place(group, number);
                let plug = segments.map(|segments| {
                    Attachment::Segment(
                        SegmentId(segments.first + floor),
                        at.unwrap_or(Length::ZERO),
                    )
                });
                if members.counted {
                    let own = Members {
                        first: self.seats.len() as u32,
                        count: 1,
                        counted: false,
                        ..members
                    };
                    self.names.take(&name, own, &group.spot, self.problems);
                }
                self.seats.push(Seat { name, group: place, plug, placed: at.is_some() });
            }
        }
        if let Some(last) = self.seats.last() {
            names::check_longest(&last.name, &group.spot, self.problems);
        }
    }

    /// Reports stations that are attached to nothing and bridges that connect nothing.
    fn check_plugged(&mut self) {
        let mut told = HashMap::new();
        for seat in self.seats.iter().filter(|seat| seat.plug.is_none()) {
            told.entry(seat.group).or_insert(&seat.name);
        }
        // A link with a mistake may have been meant to attach it.
        for (group, name) in told.into_iter().filter(|_| self.problems.none()) {
            let message = format!(
                "the station `{name}` is attached to nothing: give it a `segment`, or name it in a link's `between`"
            );
            self.problems.note(&self.written.stations[group].spot, message);
        }
        for (bridge, &group) in self.drawing.bridges.iter().zip(&self.bridge_groups) {
            if bridge.segments.len() + bridge.links.len() < 2 && self.problems.none() {
                let message = format!(
                    "the bridge `{}` connects nothing: it needs two segments or links",
                    bridge.name
                );
                self.problems.note(&self.written.bridges[group].spot, message);
            }
        }
    }

    /// Turns seats into stations.
    fn seat(&mut self) {
        let addresses = addresses::hand_out(self);
        let nowhere = Attachment::Segment(SegmentId(0), Length::ZERO);
        let station = |(seat, address): (&Seat, std::net::Ipv4Addr)| Station {
            name: seat.name.clone(),
            group: self.written.stations[seat.group].name.clone(),
            attachment: seat.plug.unwrap_or(nowhere),
            address,
            one_at_a_time: self.written.stations[seat.group].one_at_a_time,
        };
        self.drawing.stations = self.seats.iter().zip(addresses).map(station).collect();
    }

    /// Takes the names of a group and of its members; answers the members' names.
    pub(super) fn enter(&mut self, group: &str, members: Members, spot: &Spot) -> Vec<String> {
        self.names.take(group, members, spot, self.problems);
        let list: Vec<String> =
            (0..members.count).map(|n| names::of_member(group, members.counted, n)).collect();
        if members.counted {
            for (name, first) in list.iter().zip(members.places()) {
                let own = Members { first, count: 1, counted: false, ..members };
                self.names.take(name, own, spot, self.problems);
            }
        }
        if let Some(last) = list.last() {
            names::check_longest(last, spot, self.problems);
        }
        list
    }

    /// Whether this number of further entries is allowed.
    pub(super) fn room(&self, there: u32, more: u32, most: u32, what: &str, spot: &Spot) -> bool {
        let fits = there.saturating_add(more) <= most;
        if !fits {
            self.problems.note(
                spot,
                format!("this makes more than {most} {what}, the most a network can have"),
            );
        }
        fits
    }

    /// Counts entries against the limit of a file.
    pub(super) fn spend(&mut self, entries: usize, spot: &Spot) -> bool {
        self.entries = self.entries.saturating_add(entries);
        let fits = self.entries <= limits::ENTRIES;
        if !fits {
            let most = limits::ENTRIES;
            self.problems.note(
                spot,
                format!("written out, the file has more than {most} entries in its lists"),
            );
        }
        fits
    }

    pub(super) fn traces(&mut self, rates: &[&Rate], count: u32, spot: &Spot) -> bool {
        let length = |rate: &&Rate| {
            if let Rate::Trace(trace) = rate { trace.opportunities_ms.len() } else { 0 }
        };
        let each: usize = rates.iter().map(length).sum();
        self.opportunities = self.opportunities.saturating_add(each.saturating_mul(count as usize));
        let fits = self.opportunities <= limits::OPPORTUNITIES;
        if !fits {
            let most = limits::OPPORTUNITIES;
            self.problems
                .note(spot, format!("written out, the traces have more than {most} opportunities"));
        }
        fits
    }
}

fn traces_of(medium: &Medium) -> Vec<&Rate> {
    match medium {
        Medium::SwitchedEthernet(star) => vec![&star.up.rate, &star.down.rate],
        Medium::Atm(atm) => vec![&atm.star.up.rate, &atm.star.down.rate],
        Medium::SharedEthernet(_) | Medium::TokenRing(_) | Medium::Fddi(_) => Vec::new(),
    }
}
