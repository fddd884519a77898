//! `btu history` on the command line.

use btu_suite::history::Study;
use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  btu history                the studies there are
  btu history btu95          the 1995 ratings, by every rule that was in use, and the slips in its tables
  btu history lantz85 --all  every table and every sentence that can be checked
  btu history --json         every study's numbers as points, to be drawn beside new ones";

/// `btu history`.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// Whose results: lantz85, press88, citi89, btu95, netpipe96 [default: list them]
    pub(crate) study: Option<Study>,
    /// Every number and sentence, not only those that do not follow from the paper's own rows
    #[arg(long)]
    pub(crate) all: bool,
}
