//! The arguments of `btu publish`.

use std::path::PathBuf;

use btu_contract::price::Price;
use btu_publication::Visibility;
use clap::Args;

use super::{Board, one_of};

pub(super) const EXAMPLES: &str = "\
Examples:
  btu publish r4 --to https://board.example.org --name 'Ada Example' --dry-run
                                            shows what would be sent, and writes the files
  btu publish r4 --to https://board.example.org --name 'Ada Example'
  btu publish latest --to https://board.example.org --name 'Ada Example' \\
      --system 'a desk machine' --price '1200 EUR' --visibility unlisted
  btu rate --challenge https://board.example.org
                                            a run with a seed from the board, to be published

Only ratings of one machine are published. btu sends the numbers, the machine's kind and its
settings, but no names of hosts, users and files, no addresses, labels or tags.
docs/publish.md has the list.";

/// The arguments of `btu publish`.
#[derive(Debug, Args)]
pub(crate) struct Publish {
    /// Which run: r12, latest, or the beginning of its uuid
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The address of the board
    #[arg(long, value_name = "BOARD")]
    pub(crate) to: Board,
    /// Your name, as the board shows it
    #[arg(long, value_name = "NAME", env = "BTU_PUBLISHER", value_parser = btu_publication::plain)]
    pub(crate) name: Option<String>,
    /// Who may see it
    #[arg(long, value_name = "WHO", default_value = "public", value_parser = one_of(Visibility::ALL, Visibility::name))]
    pub(crate) visibility: Visibility,
    /// A description of the machine [default: its name from `btu runs machine set`]
    #[arg(long, value_name = "TEXT", value_parser = btu_publication::plain)]
    pub(crate) system: Option<String>,
    /// The price of the machine [default: from `btu runs machine set`]
    #[arg(long, value_name = "PRICE")]
    pub(crate) price: Option<Price>,
    // Given as text because a comment would have to mark the path as code, which the help would
    // show.
    #[arg(
        help = "The file of your key [default: $XDG_CONFIG_HOME/btu/publisher.key or ~/.config/btu/publisher.key, made at first use]"
    )]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Existing directory for copies of the files that are sent
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Write the files, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
