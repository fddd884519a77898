//! Warnings about the emulated network.

use serde::Serialize;

use btu_contract::record::WireAccount;

use super::super::cells::Cells;
use super::{Explanation, count, time};
use crate::rate::plan::Plan;

/// The wire released frames late.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WireLate {
    /// The 99th percentile of the frames' lateness.
    pub p99_ns: u64,
    /// How late the latest frame left the wire, in nanoseconds.
    pub max_ns: u64,
}

impl WireLate {
    pub(super) fn check(cells: &Cells) -> Option<Self> {
        let lateness = WireAccount::harmful_lateness(cells.valid().map(|record| &record.wire))?;
        Some(Self { p99_ns: lateness.quantile(0.99)?, max_ns: lateness.max()? })
    }
}

impl Explanation for WireLate {
    fn observed(&self) -> String {
        let (p99, max) = (time(self.p99_ns), time(self.max_ns));
        format!("one frame in a hundred left the emulator more than {p99} late, the latest {max}")
    }

    fn advice(&self, _: &Plan) -> String {
        "the link emulator needs a dedicated processor: a quieter machine, more processors, or root for real-time priority"
            .to_owned()
    }
}

/// The kernel dropped frames before the wire could take them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WireDrops {
    /// The number of frames that the kernel dropped.
    pub frames: u64,
    /// The number of cells concerned.
    pub cells: u64,
}

impl WireDrops {
    pub(super) fn check(cells: &Cells) -> Option<Self> {
        let dropped =
            || cells.valid().map(|record| record.wire.port_drops).filter(|drops| *drops > 0);
        let frames = dropped().sum();
        (frames > 0).then(|| Self { frames, cells: dropped().count() as u64 })
    }
}

impl Explanation for WireDrops {
    fn observed(&self) -> String {
        let (frames, cells) = (count(self.frames, "frame"), count(self.cells, "cell"));
        format!(
            "{frames} dropped before the link emulator could take them, in {cells}: loss that was not asked for"
        )
    }

    fn advice(&self, _: &Plan) -> String {
        "a slower emulated rate, or a machine with more processors".to_owned()
    }
}
