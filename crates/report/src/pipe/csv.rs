//! A signature for spreadsheets.

use std::fmt::Write;

use btu_stats::Estimate;
use btu_studies::pipe::{PipeVerdict, SizeVerdict};

pub(super) const HEAD: &str = "size_bytes,trials,repetitions,least_seconds,lower_quartile_seconds,median_seconds,median_low_seconds,\
     median_high_seconds,upper_quartile_seconds,mean_seconds,most_seconds,throughput_bits_per_second,\
     throughput_low_bits_per_second,throughput_high_bits_per_second";

/// A head and one line for every size; times are one way, intervals at 95 % and empty where there
/// is none.
pub fn pipe_csv(verdict: &PipeVerdict) -> String {
    let mut out = format!("{HEAD}\n");
    for size in &verdict.sizes {
        let _ = writeln!(out, "{}", size_line(size));
    }
    out
}

/// The columns below the head.
pub(super) fn size_line(size: &SizeVerdict) -> String {
    let times = &size.one_way;
    format!(
        "{},{},{},{:e},{:e},{},{:e},{:e},{:e},{}",
        size.size.count(),
        size.trials,
        size.repetitions,
        times.least_seconds,
        times.lower_quartile_seconds.value,
        ends_of(&times.median_seconds),
        times.upper_quartile_seconds.value,
        times.mean_seconds.value,
        times.most_seconds,
        ends_of(&size.throughput_bits_per_second),
    )
}

/// A value and the ends of its interval.
pub(crate) fn ends_of(estimate: &Estimate) -> String {
    let ends = estimate
        .interval
        .map_or_else(|| ",".to_owned(), |ends| format!("{:e},{:e}", ends.low, ends.high));
    format!("{:e},{ends}", estimate.value)
}
