//! The columns for finding a point among others.

use btu_stats::median;
use btu_units::{Bytes, Span};

use super::{PipePlan, Point};

/// A point's key, and its result in short.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The transport and the pattern, separated by a space.
    pub component: String,
    /// The size of the messages.
    pub message: Bytes,
    /// The name of the load.
    pub load: &'static str,
    /// Whether it counts ([`Point::is_valid`]).
    pub valid: bool,
    /// Bits over the median time.
    pub goodput_bits_per_second: Option<f64>,
    /// The time of its trials together.
    pub duration: Span,
}

/// The facts of a point of this plan.
pub fn facts(plan: &PipePlan, point: &Point) -> Facts {
    let bits = plan.pattern.bits_at_once(point.size, plan.pairs);
    let typical = median(&point.one_way_seconds(plan.pattern)).filter(|seconds| *seconds > 0.0);
    Facts {
        component: format!("{} {}", plan.kind, plan.pattern),
        message: point.size,
        load: plan.load.name(),
        valid: point.is_valid(),
        goodput_bits_per_second: typical.map(|seconds| bits / seconds),
        duration: point.trials.iter().map(|trial| trial.elapsed).sum(),
    }
}
