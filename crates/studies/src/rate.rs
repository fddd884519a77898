//! The verdict over a run's stored cells: rating, rates, penalties, further rows, and the warnings
//! about them.
//!
//! [`judge`] is a pure function of the cells and the plan, so a verdict can be made again at any
//! time from what is stored. Its serialised form is the result that `--json` prints: every field
//! name carries its unit, `null` means "unknown from these cells".
//!
//! Means: a cell's repetitions are summarised by the geometric mean of their goodput; ratings are
//! geometric means over cells, with the arithmetic and the harmonic mean next to them. Intervals
//! are at 95 %. Cells are fixed, not a sample of possible cells: only the variation between whole
//! blocks enters an interval. Nothing but the run's own valid cells decides a value (decision 0035).

pub mod accounting;
mod added_time;
mod btu95;
mod cells;
mod context;
mod cpu;
mod expected;
mod further;
mod goodputs;
mod measuring;
mod network_check;
mod penalty;
mod pilots;
mod plan;
mod rates;
mod rating;
mod reading;
mod record;
mod row;
mod schedule;
pub mod script;
mod so_far;
mod stored;
pub mod survey;
#[cfg(test)]
mod tests;
mod title;
mod variance;
mod verified;
mod warning;
pub mod work;

use btu_stats::Level;
use serde::Serialize;

pub use added_time::AddedTime;
pub use btu95::{Btu95, Btu95Size};
pub use context::Context;
pub use cpu::CpuRow;
pub use expected::ExpectedRow;
pub use further::{InteractiveRow, Quantiles, UdpRow};
pub use measuring::{Calibration, RatingStudy};
pub use network_check::{CheckItem, NetworkCheck};
pub use penalty::{
    ComponentPenalty, ComponentSlowdown, LoadSlowdown, Penalties, Penalty, Side, Times,
    TotalPenalty,
};
pub use plan::{
    INTERACTIVE_MESSAGE, Plan, Predicted, Profile, STUDY, UDP_MESSAGE, Verifies, drain_time,
};
pub use rates::{Outlier, RateRow};
pub use rating::{LoadRating, Rating, SizeRating};
pub use reading::{Reading, Unit};
pub use record::{CellRecord, HostResult, NetworkResult};
pub use row::{Component, MESSAGE_SIZES, Row};
pub use so_far::so_far;
pub use title::{Obstacle, Title};
pub use variance::Variance;
pub use verified::{Verified, predicted};
pub use warning::{
    BufferDrops, Cause, ClockDrift, ClockStepped, ClocksApart, InvalidCells, LatePacing,
    LowConfidence, NotMeasured, Outliers, OverCommitted, ProcessorsApart, ProcessorsSlowed,
    Retransmits, ShortCells, SmallOverlap, StartSkew, Steal, Warning, WideRow, WindowLimited,
    WireDrops, WireLate,
};

use crate::Judged;
use btu_contract::experiment::RunFacts;
use cells::Cells;
use goodputs::Goodputs;

/// The level of every interval in a verdict.
const LEVEL: Level = Level::P95;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// Version of this form; a reader of an older one may miss fields, never misread them.
    pub version: u32,
    /// The level of every interval: 0.95.
    pub level: Level,
    /// The name of the profile.
    pub profile: String,
    /// A row has low confidence if the half width of its interval is a larger share of its value
    /// than this.
    pub wanted_half_width: f64,
    /// The number of valid cells.
    pub valid_cells: usize,
    /// Cells that were measured and do not count.
    pub invalid_cells: usize,
    /// The name of the rating.
    pub title: Title,
    /// Why it may not be called a BTU rating; empty if it may.
    pub obstacles: Vec<Obstacle>,
    /// Over components, message sizes and host loads. Absent when no loaded cell was measured.
    pub rating: Option<Rating>,
    /// Like `rating`, without a load.
    pub idle: Option<Rating>,
    /// The rating of each load, idle among them.
    pub per_load: Vec<LoadRating>,
    /// The rating of each message size, under the host loads and idle.
    pub per_size: Vec<SizeRating>,
    /// The rating by the paper's own rule, when the volume was fixed and every cell was measured.
    pub btu95: Option<Btu95>,
    /// The table of rates.
    pub rates: Vec<RateRow>,
    /// The penalties of activities because others run.
    pub penalties: Penalties,
    /// Where the time goes that loads add to network activities; empty in runs of older versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added_time: Vec<AddedTime>,
    /// What a load that gives way leaves, next to the prediction of an earlier run; empty unless the run is for that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<Verified>,
    /// The results of request and response, one row for each transport and load.
    pub interactive: Vec<InteractiveRow>,
    /// The results of the paced UDP stream, one row for each load.
    pub udp: Vec<UdpRow>,
    /// The CPU cost of moving bytes on the test machine.
    pub cpu: Vec<CpuRow>,
    /// The predictions of the closed form and the simulator for the network file; empty if there is
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectedRow>,
    /// Where the spread comes from, over all rated rows; absent if none was repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variance: Option<Variance>,
    /// Warnings, the most severe first.
    pub warnings: Vec<Warning>,
}

impl Verdict {
    /// The version of the form that this program writes.
    pub const VERSION: u32 = 1;
}

impl Judged for Plan {
    type Verdict = Verdict;

    fn judge(&self, records: &[CellRecord], run: &RunFacts) -> Verdict {
        judge(records, &Context { plan: self.clone(), run: run.clone() })
    }
}

/// Judges a run by its cells.
pub fn judge(records: &[CellRecord], context: &Context) -> Verdict {
    let cells = Cells::new(records);
    let added_time = added_time::added_time(&cells, context);
    let goodputs = Goodputs::of(cells.readings());
    let rates = rates::rates(&cells, &goodputs, context);
    let udp = further::udp(&cells, context);
    let warnings = warning::warnings(&cells, context, &rates, &udp);
    let rating = rating::loaded(&goodputs, context);
    let obstacles = title::obstacles(rating.as_ref(), context);
    Verdict {
        version: Verdict::VERSION,
        level: LEVEL,
        profile: context.plan.profile.name.clone(),
        wanted_half_width: context.plan.profile.wanted_half_width,
        valid_cells: cells.valid_count(),
        invalid_cells: cells.invalid_count(),
        title: Title::of(&obstacles),
        obstacles,
        rating,
        idle: rating::idle(&goodputs, context),
        per_load: rating::per_load(&goodputs, context),
        per_size: rating::per_size(&goodputs, context),
        btu95: btu95::btu95(&cells, context),
        penalties: penalty::penalties(&cells, context),
        verified: verified::verified(&added_time, context),
        added_time,
        interactive: further::interactive(&cells, context),
        cpu: cpu::cpu(&cells, context),
        expected: expected::expected(&goodputs, context),
        variance: variance::variance(&cells, &goodputs, context),
        rates,
        udp,
        warnings,
    }
}

/// Only the rating of [`judge`], with the obstacles to its name, from the speeds of a run's valid
/// cells: reading them takes a fraction of the time that whole cells take.
pub fn rating_of(readings: &[Reading], context: &Context) -> (Option<Rating>, Vec<Obstacle>) {
    let rating = rating::loaded(&Goodputs::of(readings.iter().copied()), context);
    let obstacles = title::obstacles(rating.as_ref(), context);
    (rating, obstacles)
}
