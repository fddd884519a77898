//! Writing out bridges and links.

use btu_units::Length;

use super::cable;
use super::limits;
use super::links::{BridgeGroup, LinkGroup};
use super::names::{ElementKind, Members};
use super::work::DrawingBuilder;
use crate::drawing::Attachment;
use crate::id::{BridgeId, LinkId, SegmentId, StationId};
use crate::link::{Bridge, End, Link};

impl DrawingBuilder<'_> {
    pub(super) fn bridges(&mut self) {
        let written = self.written;
        for (place, group) in written.bridges.iter().enumerate() {
            if !self.bridge(place, group) {
                self.names.broken(&group.name);
            }
        }
    }

    /// Writes out one group of bridges, one for each member of a counted segment that it names.
    fn bridge(&mut self, place: usize, group: &BridgeGroup) -> bool {
        let find = |reference| self.names.find(reference, &[ElementKind::Segment], self.problems);
        let segments: Option<Vec<Members>> = group.segments.iter().map(find).collect();
        let Some(segments) = segments else { return false };
        let mut counts: Vec<u32> =
            segments.iter().filter(|segment| segment.counted).map(|one| one.count).collect();
        counts.extend(group.count);
        counts.dedup();
        if counts.len() > 1 {
            let message =
                "the counts of its segments differ, so they cannot be bridged member by member";
            self.problems.note(&group.spot, message);
            return false;
        }
        let (first, count) =
            (self.drawing.bridges.len() as u32, counts.first().copied().unwrap_or(1));
        let ports = segments.len().saturating_mul(count as usize);
        if !self.room(first, count, limits::OTHERS, "bridges", &group.spot)
            || !self.spend(ports, &group.spot)
        {
            return false;
        }
        let positions = cable::bridge_positions(self, group, &segments);
        let members =
            Members { kind: ElementKind::Bridge, first, count, counted: !counts.is_empty() };
        for (number, name) in self.enter(&group.name, members, &group.spot).into_iter().enumerate()
        {
            let port = |(segment, at): (&Members, &Option<Length>)| {
                (SegmentId(segment.of_member(number as u32)), at.unwrap_or(cable::UNPLACED))
            };
            self.drawing.bridges.push(Bridge {
                name,
                group: group.name.clone(),
                segments: segments.iter().zip(&positions).map(port).collect(),
                links: Vec::new(),
                latency: group.latency,
                buffer: group.buffer,
                addresses: group.addresses,
                mtu: group.mtu,
            });
            self.bridge_groups.push(place);
        }
        true
    }

    pub(super) fn links(&mut self) {
        let written = self.written;
        for (place, group) in written.links.iter().enumerate() {
            let ends = [0, 1].map(|end| {
                self.names.find(
                    &group.ends[end],
                    &[ElementKind::Station, ElementKind::Bridge],
                    self.problems,
                )
            });
            if let [Some(left), Some(right)] = ends {
                self.link(place, group, [left, right]);
            } else {
                self.names.broken(&group.name);
            }
        }
    }

    /// Writes out one group of links: member by member, or many to one.
    fn link(&mut self, place: usize, group: &LinkGroup, ends: [Members; 2]) {
        let [left, right] = ends;
        let count = left.count.max(right.count);
        if left.count != right.count && left.count != 1 && right.count != 1 {
            let message = format!(
                "`{}` has {} members and `{}` has {}: they are linked member by member, or many to one bridge",
                group.ends[0].name, left.count, group.ends[1].name, right.count
            );
            return self.problems.note(&group.spot, message);
        }
        let first = self.drawing.links.len() as u32;
        let traces = [&group.forth.rate, &group.back.rate];
        if !self.room(first, count, limits::OTHERS, "links", &group.spot)
            || !self.spend(group.changes.len().saturating_mul(count as usize), &group.spot)
            || !self.traces(&traces, count, &group.spot)
        {
            return;
        }
        let members = Members {
            kind: ElementKind::Link,
            first,
            count,
            counted: left.counted || right.counted,
        };
        for (number, name) in self.enter(&group.name, members, &group.spot).into_iter().enumerate()
        {
            let id = LinkId(first + number as u32);
            let places = [left.of_member(number as u32), right.of_member(number as u32)];
            let ends = [
                self.plug(id, left.kind, places[0], group),
                self.plug(id, right.kind, places[1], group),
            ];
            self.drawing.links.push(Link {
                name,
                group: group.name.clone(),
                ends,
                forth: group.forth.clone(),
                back: group.back.clone(),
                changes: group.changes.clone(),
            });
            self.link_groups.push(place);
        }
    }

    /// Attaches one end of a link.
    fn plug(&mut self, link: LinkId, kind: ElementKind, place: u32, group: &LinkGroup) -> End {
        if kind == ElementKind::Bridge {
            self.drawing.bridges[place as usize].links.push(link);
            return End::Bridge(BridgeId(place));
        }
        let seat = &mut self.seats[place as usize];
        if seat.plug.is_some() {
            let message = format!(
                "the station `{}` is attached already: a station has one segment or one link; put a bridge in between",
                seat.name
            );
            self.problems.note(&group.spot, message);
        }
        seat.plug = Some(Attachment::Link(link));
        End::Station(StationId(place))
    }
}
