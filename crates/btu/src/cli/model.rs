//! The arguments of `btu model`.

use std::path::PathBuf;

use btu_model::predict::{PacketSizes, Range, Transfer};
use btu_units::{Bytes, Span};
use clap::{ArgGroup, Args, ValueEnum};

use super::model_check::CheckOptions;
use super::{Subject, quantity};
use crate::files::{self, Source};

pub(super) const EXAMPLES: &str = "\
Examples:
  btu model ethernet-shared-10                    the delay, and what limits it
  btu model ethernet-shared-10 --all              each submodel, each flow
  btu model '50 Mb/s' --transfer '100 MB' --delay '20 ms'
                                                  the time of a transfer, and what limits it
  btu model satellite --transfer '1 GB' --window '64 KiB'
  btu model lab.toml --set traffic.background.load='60 %'
  btu model citi-1989-light --transfer '20 MB' --sweep traffic.background.packets_per_s=0..1100:100 --csv curve.csv
  btu model ethernet-shared-10 --most traffic.everyone.load=1..100% --mean-delay '5 ms'
  btu model ethernet-shared-10 --most traffic.everyone.load=1..100% --mean-delay '5 ms' --by sim
  btu model ethernet-shared-10 --check sim,ideal --svg check.svg
                                                  compared with the simulator, 5 to 95 % load
  btu model ethernet-shared-10 --check sim,net    compared with real packets in the emulated
                                                  network, too
  btu model campus --ui                           change values and see the results at once
  btu model campus --most stations --mean-delay '20 ms'    how many stations keep this bound

`saturated` means that more is offered than can be carried, so there is no mean delay. `>` marks a
lower bound.";

/// The arguments of `btu model`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("curves").multiple(true))]
pub(crate) struct Model {
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Replace a value of the file, such as traffic.background.load='60 %'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = files::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// One-way delay of a line that is named by its rate
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) delay: Option<Span>,
    /// Predict how long a file of this size takes over TCP
    #[arg(long, value_name = "SIZE", value_parser = quantity::<Bytes>)]
    pub(crate) transfer: Option<Bytes>,
    /// The station that sends the file [default: the sender of the file's first traffic]
    #[arg(long, value_name = "STATION", requires = "transfer")]
    pub(crate) from: Option<String>,
    /// The station that receives it [default: the receiver of that traffic]
    #[arg(long, value_name = "STATION", requires = "transfer")]
    pub(crate) to: Option<String>,
    /// The window of the connection [default: large enough not to limit]
    #[arg(long, value_name = "SIZE", requires = "transfer", value_parser = quantity::<Bytes>)]
    pub(crate) window: Option<Bytes>,
    /// The traffic in whose place the transfer is, and whose packets/s are its software's; or whose
    /// delay is bounded [default: that from the one station to the other; any]
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: Option<String>,
    /// The flow whose rate increases until the network is slower than the software of --flow
    /// [default: background, or the last other one]
    #[arg(long, value_name = "NAME", requires = "transfer")]
    pub(crate) against: Option<String>,
    /// The packet sizes in the formula of a shared Ethernet [default: drawn; mean with ideal
    /// contention, as in the CITI study]
    #[arg(long, value_enum)]
    pub(crate) sizes: Option<Sizes>,
    /// Predict for a range of values: KEY=FROM..TO or KEY=FROM..TO:STEP, with units, as in 10..100
    /// Mb/s:10
    #[arg(long, value_name = "KEY=RANGE", conflicts_with = "most", group = "curves")]
    pub(crate) sweep: Option<Range>,
    /// Write the points of --sweep or --check to this file as comma-separated values
    #[arg(long, value_name = "FILE", requires = "curves")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a workbook to this file: a sheet for each submodel, with formulas that follow their
    /// input cells
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sweep", "most"], conflicts_with = "check")]
    pub(crate) xlsx: Option<PathBuf>,
    /// Show every submodel with its inputs and results, not only the first screen
    #[arg(long, conflicts_with_all = ["sweep", "most", "check", "ui"])]
    pub(crate) all: bool,
    /// Open an interactive view in the terminal: change values, and watch tables and a curve
    #[arg(long, conflicts_with_all = ["sweep", "most", "check", "xlsx"])]
    pub(crate) ui: bool,
    /// Find the greatest value within a bound: `stations`, KEY, or KEY=FROM..TO where it has a unit
    #[arg(long, value_name = "KEY", requires = "bound")]
    pub(crate) most: Option<String>,
    /// What answers --most: the formula, which says where it stops being valid, or the simulator at
    /// each value [default: formula]
    #[arg(long, value_enum, value_name = "ANSWER", requires = "most", group = "simulated")]
    pub(crate) by: Option<By>,
    /// Bound of the mean delay of every flow, or of --flow's
    #[arg(long, value_name = "TIME", group = "bound", requires = "most", value_parser = quantity::<Span>)]
    pub(crate) mean_delay: Option<Span>,
    /// Bound of the time that --transfer takes
    #[arg(long, value_name = "TIME", group = "bound", requires_all = ["most", "transfer"], value_parser = quantity::<Span>)]
    pub(crate) transfer_time: Option<Span>,
    #[command(flatten)]
    pub(crate) check: CheckOptions,
    /// Draw the curves of --check or --sweep to this file
    #[arg(long, value_name = "FILE", requires = "curves")]
    pub(crate) svg: Option<PathBuf>,
}

impl Model {
    /// The transfer of a file of this size.
    pub(crate) fn transfer_of(&self, size: Bytes) -> Transfer {
        Transfer {
            size,
            flow: self.flow.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            window: self.window,
            against: self.against.clone(),
        }
    }

    /// The network, with the delay of its line.
    pub(crate) fn source(&self) -> anyhow::Result<Source> {
        files::line_with_delay(self.subject.network(), self.delay)
    }

    /// What a user types for the network in another command.
    pub(crate) fn typed(&self) -> String {
        files::typed_with_delay(self.subject.network(), self.delay, &self.settings)
    }
}

/// What answers a question for the greatest value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The closed form, where it is valid
    Formula,
    /// The simulator at every value that the search tries, as with `btu sim`
    Sim,
}

/// The packet sizes that a formula uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sizes {
    /// The sizes of the network file
    Drawn,
    /// The mean size for all
    Mean,
}

impl From<Sizes> for PacketSizes {
    fn from(sizes: Sizes) -> Self {
        match sizes {
            Sizes::Drawn => Self::Drawn,
            Sizes::Mean => Self::Mean,
        }
    }
}
