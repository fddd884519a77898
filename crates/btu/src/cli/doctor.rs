//! The arguments of `btu hosts doctor`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  btu hosts doctor          what works on this host, what does not, and how to fix it
  btu hosts doctor --json   the same as data

`btu hosts check FILE` shows what the doctors of other hosts find, all hosts of an inventory at
once.";

/// The arguments of `btu hosts doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Directory on the disk that the disk load uses [default: `scratch` next to the stored runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
}
