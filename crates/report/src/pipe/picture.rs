//! The paper's graphs: throughput against size, throughput against time (the signature), size
//! against time (saturation), and time against size.

use btu_chart::{Axis, Mark, Panel, Picture, Point, Series};
use btu_stats::{Estimate, Interval};
use btu_studies::papers::Study;
use btu_studies::pipe::{PipeVerdict, SizeVerdict};

use crate::unit::{Unit, rate_unit, time_unit};

/// One of the paper's graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Graph {
    /// Throughput against the time of a message (1996, figures 2 and 4).
    Signature,
    /// Throughput against the size of a message (1996, figure 1).
    Throughput,
    /// The size of a message against its time (1996, figures 3 and 5).
    Saturation,
    /// The time of a message against its size.
    Time,
}

/// A signature and its distinct name.
#[derive(Debug, Clone, Copy)]
pub struct NamedSignature<'a> {
    /// Its name in the legend.
    pub name: &'a str,
    /// The verdict of the signature, with the values to draw.
    pub verdict: &'a PipeVerdict,
}

impl Graph {
    /// All of them, in the order in which they are drawn.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::Signature, Self::Saturation, Self::Time];
}

/// All four graphs of these signatures, one below the other; with the points that were read from
/// the paper's figures if `references`.
pub fn pipe_picture(
    title: &str,
    notes: Vec<String>,
    runs: &[NamedSignature],
    references: bool,
) -> Picture {
    Picture {
        title: title.to_owned(),
        notes,
        panels: Graph::ALL.map(|graph| panel(graph, runs, references)).to_vec(),
    }
}

/// Draws one graph of all signatures.
pub(super) fn panel(graph: Graph, runs: &[NamedSignature], references: bool) -> Panel {
    let mut series: Vec<SeriesSamples> = runs.iter().map(measured).collect();
    if references {
        series.extend(curves_of_1996());
    }
    let units = Units::of(&series);
    let (x, y) = axes(graph, &series, &units);
    let drawn = series.into_iter().map(|source| Series {
        points: source.samples.iter().map(|sample| point(graph, sample, &units)).collect(),
        name: source.name,
        mark: source.mark,
    });
    Panel { x, y, height: 260, across: Vec::new(), series: drawn.collect() }
}

/// One series before its axes are chosen.
struct SeriesSamples {
    name: String,
    mark: Mark,
    samples: Vec<SizeSample>,
}

/// A size with its time and its throughput.
struct SizeSample {
    bytes: f64,
    seconds: Estimate,
    bits_per_second: Estimate,
}

fn measured(run: &NamedSignature) -> SeriesSamples {
    let sample = |size: &SizeVerdict| SizeSample {
        bytes: size.size.count() as f64,
        seconds: size.one_way.median_seconds,
        bits_per_second: size.throughput_bits_per_second,
    };
    SeriesSamples {
        name: run.name.to_owned(),
        mark: Mark::Line,
        samples: run.verdict.sizes.iter().map(sample).collect(),
    }
}

/// The curves of 1996 by their points with a known size and time.
fn curves_of_1996() -> Vec<SeriesSamples> {
    let only = |value| Estimate { value, interval: None };
    let mut curves: Vec<SeriesSamples> = Vec::new();
    for point in Study::Netpipe96.reference_points() {
        let Some(bytes) = point.x.filter(|_| point.unit == "seconds") else { continue };
        let (name, seconds) = (format!("1996: {}", point.label), point.y);
        if curves.last().is_none_or(|curve| curve.name != name) {
            curves.push(SeriesSamples { name, mark: Mark::Points, samples: Vec::new() });
        }
        let bits_per_second = only(bytes * 8.0 / seconds);
        let last = curves.len() - 1;
        curves[last].samples.push(SizeSample { bytes, seconds: only(seconds), bits_per_second });
    }
    curves.retain(|curve| curve.samples.len() > 1);
    curves
}

/// The units of both axes.
struct Units {
    rate: Unit,
    time: Unit,
}

impl Units {
    fn of(series: &[SeriesSamples]) -> Self {
        let samples = || series.iter().flat_map(|source| &source.samples);
        let most = samples().map(|sample| sample.bits_per_second.value).fold(0.0, f64::max);
        let least = samples().map(|sample| sample.seconds.value).fold(f64::INFINITY, f64::min);
        // An axis over many decades has the unit that every reader knows.
        Self { rate: rate_unit(if alike(series) { most } else { 1e6 }), time: time_unit(least) }
    }
}

fn axes(graph: Graph, series: &[SeriesSamples], units: &Units) -> (Axis, Axis) {
    let time = || Axis::logarithmic(&format!("time of a message one way ({})", units.time.name));
    let size = || Axis::logarithmic("size of a message (bytes)");
    let rate = || {
        let label = format!("throughput ({})", units.rate.name);
        if alike(series) { Axis::linear(&label) } else { Axis::logarithmic(&label) }
    };
    match graph {
        Graph::Signature => (time(), rate()),
        Graph::Throughput => (size(), rate()),
        Graph::Saturation => (time(), size()),
        Graph::Time => (size(), time()),
    }
}

/// Whether the signatures have similar maxima: then the axis of throughput has equal differences,
/// as in the paper.
fn alike(series: &[SeriesSamples]) -> bool {
    let highest = |source: &SeriesSamples| {
        source.samples.iter().map(|sample| sample.bits_per_second.value).fold(0.0, f64::max)
    };
    let (low, high) =
        series.iter().map(highest).fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
            (low.min(value), high.max(value))
        });
    high <= low * 5.0
}

fn point(graph: Graph, sample: &SizeSample, units: &Units) -> Point {
    let scaled = |estimate: &Estimate, unit: Unit| estimate.scaled(1.0 / unit.worth);
    let (time, rate) =
        (scaled(&sample.seconds, units.time), scaled(&sample.bits_per_second, units.rate));
    let (x, y) = match graph {
        Graph::Signature => (time.value, rate),
        Graph::Throughput => (sample.bytes, rate),
        Graph::Saturation => (time.value, Estimate { value: sample.bytes, interval: None }),
        Graph::Time => (sample.bytes, time),
    };
    Point {
        interval: y.interval.map(|Interval { low, high }| (low, high)),
        ..Point::new(x, y.value)
    }
}
