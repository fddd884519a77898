//! A fixed time and a rate: t(n) = t0 + n/r, fitted where messages are large.

use btu_stats::{Estimate, Line};
use btu_units::Bytes;
use serde::Serialize;

use super::LEVEL;
use super::size::{SizeVerdict, inverse};
use btu_contract::pipe::PipePlan;

/// The fit of t0 + n/r to the larger half of the sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// The smallest size that counts in it.
    #[serde(rename = "from_bytes")]
    pub from: Bytes,
    /// t0: the fixed time of a message of any size, in seconds. It may differ from the latency of
    /// small messages, and has no meaning below zero.
    pub fixed_seconds: Estimate,
    /// 1/r: the time of a further byte, in seconds.
    pub per_byte_seconds: Estimate,
    /// r: the rate that large messages approach. Absent if a further byte takes no time.
    pub rate_bits_per_second: Option<Estimate>,
    /// The largest distance of a median time from t0 + n/r, as a share of the time.
    pub worst_share: f64,
    /// The size at which the fixed time and the time of bytes are equal. Absent if one of them is
    /// not positive.
    pub knee: Option<Knee>,
}

/// The fit does not explain median times that differ from t0 + n/r by more than this share.
const POOR_FIT: f64 = 0.10;

impl Fit {
    /// Whether a fixed time and a rate do not explain the large sizes: then they and the knee have
    /// no meaning.
    pub fn is_poor(&self) -> bool {
        self.worst_share > POOR_FIT
    }
}

/// The knee between the fixed time and the rate (Hockney's n-half).
///
/// The saturation point of the 1996 paper is "the knee" of the saturation graph, drawn by hand;
/// here it is where the message's time is twice t0 and the slope of ln t over ln n one half, which
/// agrees with the hand-drawn place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Knee {
    /// The size at which half the rate is reached: t0 r, in bytes.
    pub half_bytes: Estimate,
    /// The size at which nine tenths of the rate are reached: 9 t0 r, in bytes.
    pub ninety_bytes: Estimate,
    /// The time of a message at the first of the two, 2 t0, in seconds.
    pub seconds: f64,
}

/// The line through the median times of the larger half of the sizes.
pub(crate) fn line(sizes: &[SizeVerdict]) -> Option<(Bytes, Line)> {
    let large = &sizes[sizes.len() / 2..];
    let points: Vec<(f64, f64)> = large
        .iter()
        .map(|size| (size.size.count() as f64, size.one_way.median_seconds.value))
        .collect();
    Some((large.first()?.size, Line::relative(&points)?))
}

/// The fit; `None` below five sizes.
pub(super) fn of(plan: &PipePlan, sizes: &[SizeVerdict]) -> Option<Fit> {
    let (from, line) = line(sizes)?;
    let per_byte = line.slope(LEVEL);
    let bits = plan.pattern.bits_at_once(Bytes::new(1), plan.pairs);
    Some(Fit {
        from,
        fixed_seconds: line.intercept(LEVEL),
        per_byte_seconds: per_byte,
        rate_bits_per_second: (per_byte.value > 0.0).then(|| inverse(per_byte, bits)),
        worst_share: line.worst,
        knee: knee(&line),
    })
}

fn knee(line: &Line) -> Option<Knee> {
    let half = line.doubling(LEVEL).filter(|half| half.value > 0.0)?;
    Some(Knee { half_bytes: half, ninety_bytes: half.scaled(9.0), seconds: 2.0 * line.intercept })
}
