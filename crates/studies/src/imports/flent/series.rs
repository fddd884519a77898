//! A series of Flent, as a result and over time.

use btu_suite::foreign::{ForeignCourse, ForeignQuantity, ForeignUnit};

use super::document::{FlentDocument, Raw, RawValue, SeriesMeta};
use crate::imports::parse::{BoundedList, shown};

/// A series that has values.
pub(super) struct Series<'a> {
    /// Flent's name.
    pub(super) flent: &'a str,
    /// The name of what it is.
    pub(super) name: String,
    /// What comes first.
    pub(super) place: u8,
    pub(super) unit: ForeignUnit,
    /// How many of our unit are in one of Flent's.
    worth: f64,
    values: &'a [Option<f64>],
    raw: Vec<f64>,
    meta: Option<&'a SeriesMeta>,
}

/// `None` without values, or with a unit that is none of ours.
pub(super) fn series<'a>(
    document: &'a FlentDocument,
    flent: &'a str,
    values: &'a BoundedList<Option<f64>>,
) -> Option<Series<'a>> {
    values.0.iter().any(Option::is_some).then_some(())?;
    let (unit, worth) = unit(units(document, flent)?)?;
    let all = &document.results.0;
    let has = |name: &str| all.contains_key(name);
    // Netperf and iperf count at the end on which Flent runs: what goes up was sent, what comes down
    // has arrived. A test with one stream has no sum, one with one ping no average.
    let (name, place) = match flent {
        "TCP download sum" => ("goodput down", 0),
        "TCP download" if !has("TCP download sum") => ("goodput down", 0),
        "TCP upload sum" => ("sent up", 1),
        "TCP upload" if !has("TCP upload sum") => ("sent up", 1),
        "Ping (ms) avg" => ("round trip", 2),
        "Ping (ms) ICMP" if !has("Ping (ms) avg") => ("round trip", 2),
        other => (other, 3),
    };
    // Our values are not in milliseconds.
    let ping = name.strip_prefix("Ping (ms) ").map(|of| format!("round trip {of}"));
    let name = shown(&ping.unwrap_or_else(|| name.to_owned()));
    let raw = document.raw_values.0.get(flent).map_or_else(Vec::new, numbers);
    let meta = document.metadata.series_meta.0.get(flent);
    Some(Series { flent, name, place, unit, worth, values: &values.0, raw, meta })
}

/// The unit of a series. Old files do not say it.
fn units<'a>(document: &'a FlentDocument, flent: &str) -> Option<&'a str> {
    let said = document.metadata.series_meta.0.get(flent).and_then(|meta| meta.units.as_deref());
    let of_name = || match flent {
        name if name.starts_with("Ping (ms)") => Some("ms"),
        name if name.starts_with("TCP ") && !name.contains("::") => Some("Mbits/s"),
        _ => None,
    };
    said.or_else(of_name)
}

/// Our unit, and how many of it are in Flent's.
fn unit(flent: &str) -> Option<(ForeignUnit, f64)> {
    Some(match flent {
        "Mbits/s" => (ForeignUnit::BitsPerSecond, 1e6),
        "Kbits/s" | "Kbps" => (ForeignUnit::BitsPerSecond, 1e3),
        "ms" => (ForeignUnit::Seconds, 1e-3),
        "us" => (ForeignUnit::Seconds, 1e-6),
        "s" => (ForeignUnit::Seconds, 1.0),
        "%" => (ForeignUnit::Share, 1e-2),
        "bytes" | "packets" | "count" => (ForeignUnit::Count, 1.0),
        _ => return None,
    })
}

fn numbers(raw: &BoundedList<Raw>) -> Vec<f64> {
    let number = |one: &Raw| match one.val {
        Some(RawValue::Number(value)) => Some(value),
        Some(RawValue::Other(_)) | None => None,
    };
    raw.0.iter().filter_map(number).collect()
}

impl Series<'_> {
    /// The printed values in our unit, and where there are none, those on the grid.
    fn present(&self) -> Vec<f64> {
        let raw = self.raw.iter().copied();
        let grid = self.values.iter().flatten().copied();
        let of = |value: f64| value * self.worth;
        if self.raw.is_empty() { grid.map(of).collect() } else { raw.map(of).collect() }
    }

    /// What `flent -f summary` prints as `avg`: what the program said of its whole time, else the
    /// mean.
    pub(super) fn mean(&self) -> f64 {
        let said = self.meta.and_then(|meta| meta.mean_value).filter(|mean| *mean != 0.0);
        let mean = || {
            let present = self.present();
            present.iter().sum::<f64>() / present.len() as f64
        };
        said.map_or_else(mean, |mean| mean * self.worth)
    }

    pub(super) fn quantity(&self) -> ForeignQuantity {
        let of = (self.name != self.flent).then(|| format!(" of `{}`", self.flent));
        let is_computed = self.meta.is_some_and(|meta| meta.computed_late.is_some());
        let median = (!is_computed).then(|| {
            let median = ForeignQuantity { values: self.present(), ..self.once() }.typical();
            format!("; median {}", self.unit.write(median.unwrap_or(0.0)))
        });
        let (of, median) = (of.unwrap_or_default(), median.unwrap_or_default());
        self.once().noted(shown(&format!("average{of}{median}")))
    }

    fn once(&self) -> ForeignQuantity {
        ForeignQuantity::once(&self.name, self.unit, self.mean())
    }

    pub(super) fn course(&self, grid: &[f64]) -> ForeignCourse {
        let points = grid.iter().zip(self.values);
        let points = points.filter_map(|(at, value)| Some([*at, (*value)? * self.worth]));
        ForeignCourse { name: self.name.clone(), unit: self.unit, points: points.collect() }
    }
}
