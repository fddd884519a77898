//! The arguments of `btu history`.

use btu_studies::papers::Study;
use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  btu history                the studies there are
  btu history btu95          the 1995 ratings by every rule, and the mistakes in the tables
  btu history lantz85 --all  every table and every sentence that can be checked
  btu history --json         the numbers of every study as points, for drawing them with new ones";

/// The arguments of `btu history`.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// The study: lantz85, press88, citi89, btu95, netpipe96 [default: list them]
    pub(crate) study: Option<Study>,
    /// Show every number and sentence, not only those that do not follow from the paper's own rows
    #[arg(long)]
    pub(crate) all: bool,
}
