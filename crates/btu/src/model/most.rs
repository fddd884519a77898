//! Questions asked backwards: the most stations, or the most of anything, before a delay or a transfer takes too long.

use btu_model::predict::{Found, Prediction, Range, last_that_holds};
use btu_network::{Attachment, Drawing};
use btu_report::{MostFound, most_text};

use super::predicted;
use crate::cli::{Common, Model};
use crate::exit::Refusal;
use crate::files::Source;
use crate::terminal;

/// Looks for the greatest value and prints it.
pub(super) fn run(model: &Model, common: &Common, source: &Source, most: &str) -> anyhow::Result<()> {
    let search = Search { model, source, turned: turned(model, source, most)? };
    let found = search.found()?;
    if common.json {
        return terminal::print_json(&serde_json::json!({
            "key": found.key,
            "unit": found.unit,
            "figure": found.figure,
            "bound_seconds": found.bound_seconds,
            "tried": found.tried,
            "found": found.found,
            "figure_seconds": found.figure_seconds,
        }));
    }
    terminal::print(&most_text(&found))
}

/// What is turned.
struct Turned {
    range: Range,
    whole: bool,
    /// Whether the upper end is only where the search gives up.
    open: bool,
}

struct Search<'a> {
    model: &'a Model,
    source: &'a Source,
    turned: Turned,
}

impl Search<'_> {
    fn found(&self) -> anyhow::Result<MostFound> {
        let Turned { range, whole, open } = &self.turned;
        // The least value must be one that the file takes; its problems are the user's.
        self.figure(range.from)?;
        let to = if *open { self.end(range.from, range.to)? } else { range.to };
        let holds = |value| Ok::<_, anyhow::Error>(self.figure(value)?.is_some_and(|seconds| seconds <= self.bound()));
        let found = last_that_holds([range.from, to], *whole, holds)?;
        let at = match found {
            Found::UpTo(value) => value,
            Found::Never => range.from,
            Found::Always => to,
        };
        Ok(MostFound {
            key: range.key.clone(),
            unit: range.unit.clone(),
            figure: if self.model.transfer_time.is_some() { "transfer time" } else { "mean delay" }.to_owned(),
            bound_seconds: self.bound(),
            tried: [range.from, to],
            found,
            figure_seconds: self.figure(at)?,
        })
    }

    /// Doubles until the bound is passed, or the file takes no more.
    fn end(&self, from: f64, most: f64) -> anyhow::Result<f64> {
        let (mut last, mut value) = (from, from.max(1.0));
        while value <= most {
            match self.figure(value) {
                Ok(Some(seconds)) if seconds <= self.bound() => (last, value) = (value, value * 2.0),
                Ok(_) => return Ok(value),
                Err(_) => return self.largest(last, value),
            }
        }
        Ok(last)
    }

    /// The largest value that the file takes: `taken` is one, `refused` is not.
    fn largest(&self, taken: f64, refused: f64) -> anyhow::Result<f64> {
        let is_accepted = |value| Ok::<_, anyhow::Error>(self.figure(value).is_ok());
        Ok(match last_that_holds([taken, refused], self.turned.whole, is_accepted)? {
            Found::UpTo(value) => value,
            Found::Never | Found::Always => taken,
        })
    }

    fn bound(&self) -> f64 {
        self.model.mean_delay.or(self.model.transfer_time).map_or(0.0, btu_units::Span::seconds)
    }

    /// The figure that is bounded, in seconds; none where something is saturated.
    fn figure(&self, value: f64) -> anyhow::Result<Option<f64>> {
        let Range { key, .. } = &self.turned.range;
        let written = self.turned.range.written(value);
        let (_, prediction) = predicted(self.model, self.source, Some((key, &written)))?;
        if self.model.transfer_time.is_some() {
            return Ok(prediction.transfer.and_then(|transfer| transfer.seconds.value));
        }
        longest_delay(&prediction, self.model.flow.as_deref())
    }
}

/// The longest mean delay of all flows, or that of one; the response time of those that wait for replies.
fn longest_delay(prediction: &Prediction, flow: Option<&str>) -> anyhow::Result<Option<f64>> {
    let mut asked = prediction.flows.iter().filter(|known| flow.is_none_or(|name| known.name == name)).peekable();
    if asked.peek().is_none() {
        let names: Vec<&str> = prediction.flows.iter().map(|flow| flow.name.as_str()).collect();
        let problem = match flow {
            Some(name) => format!("there is no traffic called `{name}`; there is {}", names.join(", ")),
            None => "the network has no traffic, so nothing is delayed".to_owned(),
        };
        return Err(Refusal::Usage(problem).into());
    }
    let mut seconds = asked.map(|flow| flow.response_seconds.unwrap_or(flow.delay_seconds).value);
    Ok(seconds.try_fold(0.0, |longest, seconds| Some(f64::max(longest, seconds?))))
}

/// What `most` turns: stations of the largest group, a key with a range, or a key whose values are plain numbers.
fn turned(model: &Model, source: &Source, most: &str) -> anyhow::Result<Turned> {
    const GREATEST: f64 = 1e9;
    let plain = |key: String, from| Range { key, from, to: GREATEST, step: 1.0, unit: String::new() };
    if most == "stations" {
        let (drawing, _) = predicted(model, source, None)?;
        let key = format!("stations.{}.count", largest_group(&drawing)?);
        return Ok(Turned { range: plain(key, 1.0), whole: true, open: true });
    }
    let whole = |key: &str| key.rsplit('.').next() == Some("count");
    if most.contains('=') {
        let range: Range =
            most.parse().map_err(|error: btu_model::predict::RangeError| Refusal::Usage(error.to_string()))?;
        return Ok(Turned { whole: whole(&range.key), range, open: false });
    }
    let from = if whole(most) { 1.0 } else { 0.0 };
    Ok(Turned { whole: whole(most), range: plain(most.to_owned(), from), open: true })
}

/// The group with the most stations on a segment that send.
fn largest_group(drawing: &Drawing) -> anyhow::Result<String> {
    let mut groups: Vec<(&str, usize)> = Vec::new();
    let mut sends = vec![false; drawing.stations.len()];
    for sender in drawing.traffic.iter().flat_map(|flow| &flow.from) {
        sends[sender.0 as usize] = true;
    }
    for (station, sends) in drawing.stations.iter().zip(sends) {
        // A single station has no number behind its name, and others may name it.
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
