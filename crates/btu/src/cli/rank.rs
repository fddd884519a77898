//! The arguments of `btu rank`.

use clap::{Args, ValueEnum};

use super::ProfileName;

pub(super) const EXAMPLES: &str = "\
Examples:
  btu rank                       every machine with complete runs of the whole rating
  btu rank --all                 and of parts of it, a list for each plan
  btu rank --profile full        only runs to publish
  btu rank --tag fair            only runs with this tag
  btu rank --with btu95          with the machines of 1995

Names and prices: btu runs machine set";

/// The arguments of `btu rank`.
#[derive(Debug, Args)]
pub(crate) struct Rank {
    /// Rank only runs with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Rank only runs of this profile
    #[arg(long, value_enum)]
    pub(crate) profile: Option<ProfileName>,
    /// Also rank by parts of the rating, and say which runs cannot be ranked
    #[arg(long)]
    pub(crate) all: bool,
    /// Also show older machines
    #[arg(long, value_enum, value_name = "STUDY")]
    pub(crate) with: Option<ComparedStudy>,
}

/// Studies with machines that can be shown next to new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparedStudy {
    /// The four of the BTU paper (1995), by corrected ratings
    Btu95,
}
