//! A signature for spreadsheets, and in the file of `NetPIPE`.

use std::fmt::Write;

use btu_studies::pipe::{PipeVerdict, SizeVerdict};

use crate::number::ends_of;

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

/// Bits in the megabit of `NetPIPE` up to version 3 (netpipe.c: divided by 1024 × 1024). Nothing
/// else here uses it.
const MEBIBIT: f64 = 1_048_576.0;

/// The file that `NetPIPE` leaves behind (`np.out`), for programs that draw it: one line for every size, bytes, "Mbps" of 2^20 bits, and the time of a message in seconds, as
/// versions 2 and 3 write them; time and throughput come from the least time, as there.
pub fn np_out(verdict: &PipeVerdict) -> String {
    let mut out = String::new();
    for size in &verdict.sizes {
        let (least, median) = (size.one_way.least_seconds, size.one_way.median_seconds.value);
        let rate = size.throughput_bits_per_second.value * median / least / MEBIBIT;
        let _ = writeln!(out, "{:8} {rate:11.6} {least:16.9}", size.size.count());
    }
    out
}
