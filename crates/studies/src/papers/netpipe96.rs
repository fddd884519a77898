//! `NetPIPE` (1996): message size against time for TCP and MPI over Ethernet, ATM and FDDI.
//!
//! The paper prints no tables. A few points of each curve were read off the vector graphics of its
//! figures: the first (latency), the maximum, the last, and a handful between. Its "Mbps" are of
//! 2^20 bits, which its own last Ethernet point shows; everything here is in bits per second.

use serde::Serialize;

use super::{Claim, ReferencePoint};

/// A point as it was read off: figure, curve, kind, bytes, seconds, and the rate in 2^20 bits per
/// second.
type Read = (&'static str, &'static str, &'static str, Option<f64>, Option<f64>, Option<f64>);

/// The points that were read off figures 2, 4, 5, 7, 8, 9 and 11.
#[rustfmt::skip]
static POINTS: [Read; 36] = [
    ("2", "TCP over Ethernet", "first", Some(1.0), Some(733.9e-6), None),
    ("2", "TCP over Ethernet", "further", Some(16.0), Some(746e-6), None),
    ("2", "TCP over Ethernet", "further", Some(63.0), Some(803e-6), None),
    ("2", "TCP over Ethernet", "further", Some(127.0), Some(866e-6), None),
    ("2", "TCP over Ethernet", "further", Some(511.0), Some(1207e-6), None),
    ("5", "TCP over Ethernet", "further", Some(1000.0), Some(1644e-6), None),
    ("2", "TCP over Ethernet", "further", Some(1024.0), Some(1664e-6), None),
    ("2", "TCP over Ethernet", "further", Some(4096.0), Some(4433e-6), None),
    ("2", "TCP over Ethernet", "further", Some(8192.0), Some(8139e-6), None),
    ("2", "TCP over Ethernet", "maximum", Some(11_585.0), Some(11.22e-3), Some(7.87)),
    ("2", "TCP over Ethernet", "further", Some(16_384.0), Some(16559e-6), None),
    ("2", "TCP over Ethernet", "further", Some(65_536.0), Some(77940e-6), None),
    ("2", "TCP over Ethernet", "last", Some(1_048_576.0), Some(1.2273), Some(6.52)),
    ("4", "TCP over ATM", "first", Some(1.0), Some(840.6e-6), None),
    ("5", "TCP over ATM", "further", Some(1000.0), Some(1100e-6), None),
    ("4", "TCP over ATM", "last", Some(8_388_608.0), Some(1.2732), None),
    ("4", "TCP over ATM", "maximum", None, None, Some(50.28)),
    ("4", "TCP over FDDI", "first", Some(1.0), Some(737.9e-6), None),
    ("5", "TCP over FDDI", "further", Some(1000.0), Some(1109e-6), None),
    ("4", "TCP over FDDI", "last", Some(12_582_912.0), Some(1.388), Some(69.16)),
    ("4", "TCP over FDDI", "maximum", None, None, Some(69.24)),
    ("7", "TCP streams over Ethernet", "first", Some(1.0), Some(343e-6), None),
    ("7", "TCP streams over Ethernet", "maximum", None, None, Some(7.39)),
    ("7", "TCP streams over Ethernet", "last", None, None, Some(6.68)),
    ("7", "TCP streams over ATM", "first", Some(1.0), Some(231e-6), None),
    ("7", "TCP streams over ATM", "maximum", None, None, Some(64.07)),
    ("7", "TCP streams over ATM", "last", None, None, Some(55.64)),
    ("7", "TCP streams over FDDI", "first", Some(1.0), Some(186e-6), None),
    ("7", "TCP streams over FDDI", "maximum", None, None, Some(82.13)),
    ("7", "TCP streams over FDDI", "last", None, None, Some(80.78)),
    ("8", "MPI over ATM", "first", Some(1.0), Some(1501.3e-6), None),
    ("8", "MPI over ATM", "maximum", None, None, Some(39.71)),
    ("8", "MPI over ATM", "last", None, Some(1.143), Some(39.58)),
    ("9", "unaligned TCP over ATM", "maximum", None, None, Some(51.05)),
    ("11", "TCP over FDDI (DEC)", "first", Some(1.0), Some(545.1e-6), None),
    ("11", "TCP over FDDI (DEC)", "maximum", None, None, Some(45.68)),
];

/// Bits in the figures' "megabit".
const MEBIBIT: f64 = 1_048_576.0;

/// Below this size Ethernet is faster than ATM, in bytes (figure 5: the curves cross at 2.2 kbit).
const ETHERNET_CROSSES_ATM_BYTES: f64 = 279.0;

/// Like `ETHERNET_CROSSES_ATM_BYTES`, for FDDI (figure 5: 1.3 kbit).
const ETHERNET_CROSSES_FDDI_BYTES: f64 = 163.0;

/// Everything about the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Netpipe96History {
    /// The curves of the paper's figures.
    pub curves: Vec<Curve>,
    /// The cost of a second layer on hosts and fibre of one kind (Figure 8).
    pub layer: LayerCost,
    /// The text's statements, compared with the figures.
    pub claims: Vec<Claim>,
}

/// A curve of a figure, as points that were read off.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// Protocol, network, and special settings.
    pub name: &'static str,
    /// The figure that shows it.
    pub figure: &'static str,
    /// The points of the curve that were read off.
    pub points: Vec<FigurePoint>,
    /// Time of the first point: the paper's latency.
    pub latency_seconds: Option<f64>,
    /// The rate of the highest point, in bits per second.
    pub maximum_bits_per_second: f64,
    /// Recomputed: the size at which half the last point's rate is reached, latency times rate
    /// (Hockney's n 1/2): the saturation point that the paper draws by hand.
    pub half_rate_bits: Option<f64>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FigurePoint {
    /// Figure it was read off.
    pub figure: &'static str,
    /// `first`, `maximum`, `last` or `further`.
    pub kind: &'static str,
    /// Message size, where it is known.
    pub bytes: Option<f64>,
    /// Time in one direction; for streams the time for one send.
    pub seconds: Option<f64>,
    /// The rate as the figure has it.
    pub printed_bits_per_second: Option<f64>,
    /// The rate recomputed as size over time, in bits per second; absent where one of them is
    /// unknown.
    pub bits_per_second: Option<f64>,
}

impl FigurePoint {
    /// The rate as the figure has it, else recomputed.
    pub fn rate(&self) -> Option<f64> {
        self.printed_bits_per_second.or(self.bits_per_second)
    }
}

/// MPI, compared with the TCP it runs on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LayerCost {
    /// The latency that MPI adds, in seconds.
    pub latency_seconds: f64,
    /// Latency with the layer over that without.
    pub latency_ratio: f64,
    /// Maximum rate with the layer over that without.
    pub maximum_ratio: f64,
}

/// Recomputes all numbers of the 1996 paper from the points of its figures.
pub fn history() -> Netpipe96History {
    let curves = curves();
    let [tcp, mpi] = ["TCP over ATM", "MPI over ATM"].map(|name| curve(&curves, name));
    let (with, without) = (latency(mpi), latency(tcp));
    let layer = LayerCost {
        latency_seconds: with - without,
        latency_ratio: with / without,
        maximum_ratio: mpi.maximum_bits_per_second / tcp.maximum_bits_per_second,
    };
    Netpipe96History { claims: claims(&curves), layer, curves }
}

/// Times by size, then rates by size and as levels.
pub(super) fn reference_points() -> Vec<ReferencePoint> {
    curves().iter().flat_map(|curve| [times(curve), rates(curve)].concat()).collect()
}

fn times(curve: &Curve) -> Vec<ReferencePoint> {
    let point =
        |point: &FigurePoint| Some(reference(curve, Some(point.bytes?), point.seconds?, "seconds"));
    curve.points.iter().filter_map(point).collect()
}

fn rates(curve: &Curve) -> Vec<ReferencePoint> {
    let (sized, level): (Vec<&FigurePoint>, Vec<&FigurePoint>) =
        curve.points.iter().partition(|point| point.bytes.is_some());
    let level = level.into_iter().filter(|point| point.kind == "maximum");
    sized
        .into_iter()
        .chain(level)
        .filter_map(|point| Some(reference(curve, point.bytes, point.rate()?, "bits/s")))
        .collect()
}

fn reference(curve: &Curve, x: Option<f64>, y: f64, unit: &'static str) -> ReferencePoint {
    let source = if x.is_some() { "read off the figures" } else { "maximum, read off the figures" };
    ReferencePoint { label: curve.name, x, x_unit: "bytes", y, unit, source }
}

fn curves() -> Vec<Curve> {
    let mut curves: Vec<(&str, Vec<FigurePoint>)> = Vec::new();
    for &(figure, name, kind, bytes, seconds, rate) in &POINTS {
        let point = point(figure, kind, [bytes, seconds, rate]);
        match curves.last_mut() {
            Some((last, points)) if *last == name => points.push(point),
            _ => curves.push((name, vec![point])),
        }
    }
    curves.into_iter().map(|(name, points)| whole(name, points)).collect()
}

fn point(figure: &'static str, kind: &'static str, known: [Option<f64>; 3]) -> FigurePoint {
    let [bytes, seconds, rate] = known;
    FigurePoint {
        figure,
        kind,
        bytes,
        seconds,
        printed_bits_per_second: rate.map(|rate| rate * MEBIBIT),
        bits_per_second: bytes.zip(seconds).map(|(bytes, seconds)| bytes * 8.0 / seconds),
    }
}

fn whole(name: &'static str, points: Vec<FigurePoint>) -> Curve {
    let of = |kind: &str| points.iter().find(|point| point.kind == kind);
    let latency_seconds = of("first").and_then(|point| point.seconds);
    let maximum = of("maximum").and_then(FigurePoint::rate);
    let last = of("last").and_then(|point| point.bits_per_second);
    Curve {
        name,
        figure: points[0].figure,
        latency_seconds,
        maximum_bits_per_second: maximum.unwrap_or_else(|| panic!("{name} has no maximum")),
        half_rate_bits: latency_seconds.zip(last).map(|(latency, rate)| latency * rate),
        points,
    }
}

fn curve<'a>(curves: &'a [Curve], name: &str) -> &'a Curve {
    curves.iter().find(|curve| curve.name == name).unwrap_or_else(|| panic!("no curve `{name}`"))
}

fn latency(curve: &Curve) -> f64 {
    curve.latency_seconds.unwrap_or_else(|| panic!("{} has no latency", curve.name))
}

fn claims(curves: &[Curve]) -> Vec<Claim> {
    let [ethernet, atm, fddi] =
        ["TCP over Ethernet", "TCP over ATM", "TCP over FDDI"].map(|name| curve(curves, name));
    let latencies = [ethernet, atm, fddi].map(latency);
    let maxima = [ethernet, atm, fddi].map(|curve| curve.maximum_bits_per_second / 1e6);
    let kilobyte = [ethernet, atm, fddi].map(kilobyte_microseconds);
    let last = ethernet
        .points
        .iter()
        .find(|point| point.kind == "last")
        .and_then(|point| point.bits_per_second);
    let last = last.unwrap_or_default();
    vec![
        Claim::new(
            "figure 5",
            "up to approximately 8 K bits, Ethernet has the shortest transmission time",
            format!(
                "Ethernet crosses FDDI at {:.1} and ATM at {:.1} kbit; 8 kbit take {:.0} us there, {:.0} over ATM, {:.0} over \
                 FDDI: at 8 kbit it is these two that cross",
                ETHERNET_CROSSES_FDDI_BYTES * 8e-3,
                ETHERNET_CROSSES_ATM_BYTES * 8e-3,
                kilobyte[0],
                kilobyte[1],
                kilobyte[2],
            ),
            false,
        ),
        Claim::new(
            "figure 4",
            "Ethernet's latency is on the order of 0.7 ms, ATM's near 0.9 ms",
            format!("first points: {:.3} and {:.3} ms", latencies[0] * 1e3, latencies[1] * 1e3),
            false,
        ),
        Claim::new(
            "figures",
            "throughput in Mbps",
            format!(
                "their megabit has 2^20 bits: 1 MiB in 1.2273 s is {:.2} Mb/s and drawn at {:.2}",
                last / 1e6,
                last / MEBIBIT
            ),
            false,
        ),
        Claim::new(
            "figure 4",
            "FDDI yields the highest throughput, followed by ATM and Ethernet; Ethernet has the lower latency",
            format!(
                "{:.1}, {:.1} and {:.2} Mb/s; latencies {:.1}, {:.1} and {:.1} us",
                maxima[2],
                maxima[1],
                maxima[0],
                latencies[2] * 1e6,
                latencies[1] * 1e6,
                latencies[0] * 1e6
            ),
            maxima[2] > maxima[1]
                && maxima[1] > maxima[0]
                && latencies[0] < latencies[1].min(latencies[2]),
        ),
        Claim::new(
            "figure 3",
            "Ethernet's saturation point, drawn by hand at 4.5 to 5 kbit",
            format!(
                "half the last rate is reached at {:.2} kbit",
                ethernet.half_rate_bits.unwrap_or_default() / 1e3
            ),
            true,
        ),
    ]
}

fn kilobyte_microseconds(curve: &Curve) -> f64 {
    let found = curve
        .points
        .iter()
        .find(|point| point.bytes == Some(1000.0))
        .and_then(|point| point.seconds);
    found.unwrap_or_else(|| panic!("{} has no point at 8000 bits", curve.name)) * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found}, not {expected}");
    }

    #[test]
    fn every_curve_is_read() {
        let curves = history().curves;
        let names: Vec<&str> = curves.iter().map(|curve| curve.name).collect();
        assert_eq!(names.len(), 9, "{names:?}");
        assert_eq!(curves.iter().map(|curve| curve.points.len()).sum::<usize>(), 36);
    }

    /// Where a point has size, time and rate, they belong together: within the last digit, read off
    /// a figure.
    #[test]
    fn sizes_times_and_rates_belong_together() {
        let curves = history().curves;
        let points = curves.iter().flat_map(|curve| &curve.points);
        let pairs: Vec<_> = points
            .filter_map(|point| point.printed_bits_per_second.zip(point.bits_per_second))
            .collect();
        assert_eq!(pairs.len(), 3);
        for (printed, recomputed) in pairs {
            near(recomputed / printed, 1.0, 2e-3);
        }
    }

    #[test]
    fn the_second_layer() {
        let layer = history().layer;
        near(layer.latency_seconds * 1e6, 660.7, 0.05);
        near(layer.latency_ratio, 1.79, 5e-3);
        near(layer.maximum_ratio, 0.79, 5e-3);
    }

    /// 0.734 ms times 6.8 Mb/s: 5.0 kbit.
    #[test]
    fn half_the_rate() {
        near(curve(&curves(), "TCP over Ethernet").half_rate_bits.unwrap(), 5003.0, 20.0);
    }

    #[test]
    fn rates_are_of_decimal_megabits() {
        let points = reference_points();
        let maximum = points
            .iter()
            .find(|point| point.label == "TCP over FDDI" && point.x.is_none())
            .unwrap();
        assert_eq!(maximum.unit, "bits/s");
        near(maximum.y, 72.6e6, 0.05e6);
    }

    #[test]
    fn the_text_is_contradicted_by_the_figures() {
        let claims = history().claims;
        assert!(
            !claims[0].holds && claims[0].found.contains("1.3") && claims[0].found.contains("2.2"),
            "{claims:?}"
        );
        assert_eq!(claims.iter().filter(|claim| !claim.holds).count(), 3);
    }
}
