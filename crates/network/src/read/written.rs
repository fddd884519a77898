//! A file's groups, read but not yet written out.

use super::fields::{Fields, Item};
use super::links::{self, BridgeGroup, LinkGroup};
use super::names;
use super::problem::{Problems, Spot};
use super::segments::{self, SegmentGroup};
use super::stations::{self, StationGroup};
use super::trace::Files;
use super::traffic::{self, FlowGroup};

/// A file's groups as written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) segments: Vec<SegmentGroup>,
    pub(super) stations: Vec<StationGroup>,
    pub(super) bridges: Vec<BridgeGroup>,
    pub(super) links: Vec<LinkGroup>,
    pub(super) flows: Vec<FlowGroup>,
    /// Names with wrong entries.
    pub(super) broken: Vec<String>,
}

impl Written {
    /// Whether there is no station, not even a wrong one.
    pub(super) fn is_empty(&self) -> bool {
        self.stations.is_empty() && self.broken.is_empty()
    }

    /// Reads all groups of the file.
    pub(super) fn read(fields: &Fields<'_>, files: Files<'_>, problems: &Problems) -> Self {
        let mut read = Self::default();
        read.segments = read.kind(fields, "segments", problems, |name, spot, item| {
            segments::read(name, spot, item, files)
        });
        read.stations = read.kind(fields, "stations", problems, stations::read);
        read.bridges = read.kind(fields, "bridges", problems, links::bridge);
        read.links = read.kind(fields, "links", problems, |name, spot, item| {
            links::link(name, spot, item, files)
        });
        read.flows = read.kind(fields, "traffic", problems, traffic::read);
        read
    }

    /// Reads the groups of one kind; the names of those that cannot be read are kept as broken.
    fn kind<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &'static str,
        problems: &Problems,
        read: impl Fn(&str, Spot, &Item<'_>) -> Option<T>,
    ) -> Vec<T> {
        let Some(below) = fields.get(key).and_then(|item| item.fields()) else { return Vec::new() };
        let mut groups = Vec::new();
        for (name, spot, item) in below.members() {
            names::check(name, &spot, problems);
            match read(name, spot, &item) {
                Some(group) => groups.push(group),
                None => self.broken.push(name.to_owned()),
            }
        }
        groups
    }
}
