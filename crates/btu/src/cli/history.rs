//! The arguments of `btu history`.

use btu_studies::papers::Study;
use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  btu history          the studies there are
  btu history btu95    the tables of the 1995 paper, as printed
  btu history --json   the numbers of every study as points, for drawing them with new ones";

/// The arguments of `btu history`.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// The study: lantz85, press88, citi89, btu95, netpipe96 [default: list them]
    pub(crate) study: Option<Study>,
}
