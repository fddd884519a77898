//! The file that `NetPIPE` leaves behind (`np.out`), for programs that draw it.

use std::fmt::Write;

use btu_studies::pipe::PipeVerdict;

/// Bits in the megabit of `NetPIPE` up to version 3 (netpipe.c: divided by 1024 × 1024). Nothing
/// else here uses it.
const MEBIBIT: f64 = 1_048_576.0;

/// One line for every size: bytes, "Mbps" of 2^20 bits, and the time of a message in seconds, as
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
