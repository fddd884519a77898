//! The value that the search changes, and its range.

use btu_model::predict::{Range, RangeError, Resolution};
use btu_network::{Attachment, Drawing};

use crate::cli::Model;
use crate::exit::Refusal;
use crate::files::Source;

/// The value that a search changes.
pub(super) struct Turned {
    pub(super) range: Range,
    /// Whether it is a count.
    whole: bool,
    /// Whether the upper end is only the limit of the search.
    pub(super) open: bool,
}

impl Turned {
    /// The largest value that is tried by default.
    const GREATEST: f64 = 1e9;

    /// Stations of the largest group, a key with a range, or a key with plain numbers.
    pub(super) fn of(model: &Model, source: &Source, most: &str) -> anyhow::Result<Self> {
        let plain = |key: String, from| Range {
            key,
            from,
            to: Self::GREATEST,
            step: 1.0,
            unit: String::new(),
        };
        if most == "stations" {
            let drawing =
                source.read(&model.settings).map_err(|error| Refusal::Usage(error.to_string()))?;
            let key = format!("stations.{}.count", largest_group(&drawing)?);
            return Ok(Self { range: plain(key, 1.0), whole: true, open: true });
        }
        let whole = |key: &str| key.rsplit('.').next() == Some("count");
        if most.contains('=') {
            let range: Range =
                most.parse().map_err(|error: RangeError| Refusal::Usage(error.to_string()))?;
            return Ok(Self { whole: whole(&range.key), range, open: false });
        }
        let from = if whole(most) { 1.0 } else { 0.0 };
        Ok(Self { whole: whole(most), range: plain(most.to_owned(), from), open: true })
    }

    /// The precision of the search: whole stations, or this share of the range.
    pub(super) fn resolution(&self, share: f64) -> Resolution {
        if self.whole { Resolution::Whole } else { Resolution::Share(share) }
    }
}

/// The group with the most stations on a segment that send.
fn largest_group(drawing: &Drawing) -> anyhow::Result<String> {
    let mut groups: Vec<(&str, usize)> = Vec::new();
    let mut sends = vec![false; drawing.stations.len()];
    for sender in drawing.traffic.iter().flat_map(|flow| &flow.from) {
        sends[sender.0 as usize] = true;
    }
    for (station, sends) in drawing.stations.iter().zip(sends) {
        // A single station has no number in its name, and other parts of the file may name it.
        let counted = station.name != station.group;
        if !sends || !counted || !matches!(station.attachment, Attachment::Segment(..)) {
            continue;
        }
        match groups.iter_mut().find(|(group, _)| *group == station.group) {
            Some((_, count)) => *count += 1,
            None => groups.push((&station.group, 1)),
        }
    }
    let largest = groups.into_iter().max_by_key(|(_, count)| *count);
    largest.map(|(group, _)| group.to_owned()).ok_or_else(|| {
        Refusal::Usage(
            "no group of stations with a count sends anything: give a key instead, --most stations.NAME.count"
                .to_owned(),
        )
        .into()
    })
}
