//! Warnings about a result: each with its observation and its advice.
//!
//! Every reason is a type of its own with its numbers, its threshold and its text. It appears only
//! when the cells show it.

mod cells;
mod clocks;
mod confidence;
mod machine;
mod transport;
mod wire;

use serde::Serialize;

pub use cells::{InvalidCells, NotMeasured, ShortCells, StartSkew};
pub use clocks::{ClockDrift, ClockStepped, ClocksApart};
pub use confidence::{LowConfidence, Outliers, SmallOverlap, WideRow};
pub use machine::{OverCommitted, ProcessorsApart, ProcessorsSlowed, Steal};
pub use transport::{BufferDrops, LatePacing, Retransmits, WindowLimited};
pub use wire::{WireDrops, WireLate};

use btu_contract::experiment::LoadBefore;
use btu_contract::text::{count, percent};

use super::cells::Cells;
use super::context::Context;
use super::further::UdpRow;
use super::plan::Plan;
use super::rates::RateRow;

/// A warning, in numbers and in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    /// The observation, as numbers.
    #[serde(flatten)]
    pub cause: Cause,
    /// The observation, as a sentence.
    pub observed: String,
    /// The advice, with regard to the options of this run.
    #[serde(rename = "try")]
    pub advice: String,
}

/// The warnings about a result of a regular measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each variant is the type of the same name, documented there")]
pub enum Cause {
    InvalidCells(InvalidCells),
    NotMeasured(NotMeasured),
    Steal(Steal),
    ProcessorsApart(ProcessorsApart),
    ProcessorsSlowed(ProcessorsSlowed),
    LoadBefore(LoadBefore),
    OverCommitted(OverCommitted),
    WireLate(WireLate),
    WireDrops(WireDrops),
    LowConfidence(LowConfidence),
    SmallOverlap(SmallOverlap),
    ShortCells(ShortCells),
    StartSkew(StartSkew),
    Retransmits(Retransmits),
    WindowLimited(WindowLimited),
    Outliers(Outliers),
    BufferDrops(BufferDrops),
    LatePacing(LatePacing),
    ClocksApart(ClocksApart),
    ClockDrift(ClockDrift),
    ClockStepped(ClockStepped),
}

/// The texts of a reason.
trait Explanation {
    /// The observation, in one sentence without a full stop.
    fn observed(&self) -> String;

    /// The advice, without options that are in use already.
    fn advice(&self, plan: &Plan) -> String;
}

impl Cause {
    /// The title in two or three words.
    pub const fn title(&self) -> &'static str {
        match self {
            Self::InvalidCells(_) => "void cells",
            Self::NotMeasured(_) => "not finished",
            Self::Steal(_) => "stolen processor time",
            Self::ProcessorsApart(_) => "long core-to-core latency",
            Self::ProcessorsSlowed(_) => "slow arithmetic",
            Self::LoadBefore(_) => LoadBefore::CAUSE,
            Self::OverCommitted(_) => "few processors",
            Self::WireLate(_) => "late frames",
            Self::WireDrops(_) => "emulator drops",
            Self::LowConfidence(_) => "uncertain rows",
            Self::SmallOverlap(_) => "small overlap",
            Self::ShortCells(_) => "short activities",
            Self::StartSkew(_) => "uneven starts",
            Self::Retransmits(_) => "retransmissions",
            Self::WindowLimited(_) => "small window",
            Self::Outliers(_) => "outliers",
            Self::BufferDrops(_) => "full socket buffer",
            Self::LatePacing(_) => "late pacing",
            Self::ClocksApart(_) => "clocks apart",
            Self::ClockDrift(_) => "drifting clock",
            Self::ClockStepped(_) => "stepped clock",
        }
    }

    fn explanation(&self) -> &dyn Explanation {
        match self {
            Self::InvalidCells(warning) => warning,
            Self::NotMeasured(warning) => warning,
            Self::Steal(warning) => warning,
            Self::ProcessorsApart(warning) => warning,
            Self::ProcessorsSlowed(warning) => warning,
            Self::LoadBefore(warning) => warning,
            Self::OverCommitted(warning) => warning,
            Self::WireLate(warning) => warning,
            Self::WireDrops(warning) => warning,
            Self::LowConfidence(warning) => warning,
            Self::SmallOverlap(warning) => warning,
            Self::ShortCells(warning) => warning,
            Self::StartSkew(warning) => warning,
            Self::Retransmits(warning) => warning,
            Self::WindowLimited(warning) => warning,
            Self::Outliers(warning) => warning,
            Self::BufferDrops(warning) => warning,
            Self::LatePacing(warning) => warning,
            Self::ClocksApart(warning) => warning,
            Self::ClockDrift(warning) => warning,
            Self::ClockStepped(warning) => warning,
        }
    }

    fn into_warning(self, plan: &Plan) -> Warning {
        Warning {
            observed: self.explanation().observed(),
            advice: self.explanation().advice(plan),
            cause: self,
        }
    }
}

/// All warnings about this run: first those that make it void, then the machine, then single rows. What other programs
/// took comes before what the hypervisor took, since users can end them.
pub(super) fn warnings(
    cells: &Cells,
    context: &Context,
    rates: &[RateRow],
    udp: &[UdpRow],
) -> Vec<Warning> {
    let causes = [
        InvalidCells::check(cells, context).map(Cause::InvalidCells),
        NotMeasured::check(cells, context).map(Cause::NotMeasured),
        context.run.load_before.clone().map(Cause::LoadBefore),
        Steal::check(cells).map(Cause::Steal),
        ProcessorsApart::check(cells).map(Cause::ProcessorsApart),
        ProcessorsSlowed::check(cells).map(Cause::ProcessorsSlowed),
        OverCommitted::check(cells, context).map(Cause::OverCommitted),
        WireLate::check(cells).map(Cause::WireLate),
        WireDrops::check(cells).map(Cause::WireDrops),
        LowConfidence::check(context, rates).map(Cause::LowConfidence),
        SmallOverlap::check(cells, context).map(Cause::SmallOverlap),
        ShortCells::check(cells, context).map(Cause::ShortCells),
        StartSkew::check(cells).map(Cause::StartSkew),
        Retransmits::check(cells, context).map(Cause::Retransmits),
        WindowLimited::check(cells, context).map(Cause::WindowLimited),
        Outliers::check(rates).map(Cause::Outliers),
        BufferDrops::check(udp).map(Cause::BufferDrops),
        LatePacing::check(udp).map(Cause::LatePacing),
        ClocksApart::check(context).map(Cause::ClocksApart),
        ClockDrift::check(context).map(Cause::ClockDrift),
        ClockStepped::check(cells).map(Cause::ClockStepped),
    ];
    causes.into_iter().flatten().map(|cause| cause.into_warning(&context.plan)).collect()
}

/// Nanoseconds with the unit that suits them.
fn time(nanoseconds: u64) -> String {
    btu_units::Span::from_nanoseconds(nanoseconds).to_string()
}
