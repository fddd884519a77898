//! The test of x11perf that does what a way of drawing does.

use super::{Protocol, Workload};

/// Arguments of the test of x11perf(1) that comes closest to a way of drawing; one of its units is
/// one item. A vector of the picture is 458 pixels long on average, and most rectangles are smaller
/// than 16 x 16 and stippled. Where each item waits for its answer, the item is of no account: the
/// test is a request that does nothing, and waits.
pub const fn x11perf_test(
    workload: Workload,
    protocol: Protocol,
) -> Option<&'static [&'static str]> {
    match (workload, protocol) {
        (Workload::Vectors, Protocol::Batched) => Some(&["-seg500"]),
        (Workload::Rectangles, Protocol::Batched) => Some(&["-srect10"]),
        (Workload::Vectors | Workload::Rectangles | Workload::Text, Protocol::StopAndWait) => {
            Some(&["-sync", "-noop"])
        }
        _ => None,
    }
}
