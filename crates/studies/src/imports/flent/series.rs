//! A series of Flent, as a result and over time.

use btu_contract::foreign::{ForeignCourse, ForeignQuantity, ForeignUnit};

use super::document::{FlentDocument, Raw, SeriesMeta};
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
    /// All values in Flent's unit.
    printed: Vec<f64>,
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
    let printed = printed(document, flent, &values.0);
    let meta = document.metadata.series_meta.0.get(flent);
    Some(Series { flent, name, place, unit, worth, values: &values.0, printed, meta })
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

/// What Flent's programs printed, in the unit of the series.
///
/// Before version 4 of the format, Flent changed the unit only of what is on the grid
/// (`unserialise_compat` of its resultset.py).
fn printed(document: &FlentDocument, flent: &str, grid: &[Option<f64>]) -> Vec<f64> {
    let is_old = document.version < 4.0;
    let value = |raw: &Raw| {
        let value = raw.val.as_ref()?.number()?;
        match flent {
            "HTTP latency" if is_old => Some(value * 1000.0),
            // Transactions per second of netperf's UDP_RR.
            name if is_old && name.contains("UDP") && raw.dur.is_some() => {
                (value != 0.0).then(|| 1000.0 / value)
            }
            _ => Some(value),
        }
    };
    let raw = document.raw_values.0.get(flent).map_or(&[][..], |raw| &raw.0);
    let printed: Vec<f64> = raw.iter().filter_map(value).collect();
    let grid: Vec<f64> = grid.iter().flatten().copied().collect();
    let typical = |values: &[f64]| btu_stats::median(values).unwrap_or(0.0);
    // In whatever unit a runner prints, that of the grid is known.
    let ratio = typical(&printed) / typical(&grid);
    if (0.1..=10.0).contains(&ratio) { printed } else { grid }
}

impl Series<'_> {
    /// All values in our unit.
    fn present(&self) -> Vec<f64> {
        self.printed.iter().map(|value| value * self.worth).collect()
    }

    /// What `flent -f summary` prints as `avg`: what the program said of its whole time, else the
    /// mean.
    pub(super) fn mean(&self) -> f64 {
        let said = self.meta.and_then(|meta| meta.mean_value).filter(|mean| *mean != 0.0);
        said.unwrap_or_else(|| mean(self.printed.iter())) * self.worth
    }

    /// The mean over time, where that is another than [`Self::mean`]: programs did not all run, or
    /// did not print, for the whole time.
    pub(super) fn other_mean(&self) -> Option<f64> {
        let over_time = mean(self.values.iter().flatten()) * self.worth;
        ((over_time - self.mean()).abs() > OTHER * self.mean().abs()).then_some(over_time)
    }

    pub(super) fn quantity(&self) -> ForeignQuantity {
        let of = (self.name != self.flent).then(|| format!(" of `{}`", self.flent));
        let is_computed = self.meta.is_some_and(|meta| meta.computed_late.is_some());
        let median = (!is_computed).then(|| {
            let median = ForeignQuantity { values: self.present(), ..self.once() }.typical();
            format!("; median {}", self.unit.write(median.unwrap_or(0.0)))
        });
        let other =
            self.other_mean().map(|mean| format!("; mean over time {}", self.unit.write(mean)));
        let [of, median, other] = [of, median, other].map(Option::unwrap_or_default);
        self.once().noted(shown(&format!("average{of}{median}{other}")))
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

/// By which share of Flent's mean another mean is said. Where all programs run for the whole time,
/// the two differ by some 2 %.
const OTHER: f64 = 0.05;

fn mean<'a>(values: impl Iterator<Item = &'a f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}
