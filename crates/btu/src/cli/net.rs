//! The arguments of `btu net`.

use clap::{Args, Subcommand};

use super::raise::{self, Down, Exec, Run, Status, Up};
use super::{Subject, Subjects};
use crate::files;

/// Commands for network files and for the networks that are raised from them.
#[derive(Debug, Subcommand)]
pub(crate) enum Net {
    /// Read network files and summarise them, or list all mistakes in them
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// List the networks of the library
    List,
    /// Print the file of a network, as a starting point for your own
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Subject),
    /// Start a network, run one command in one of its stations, and end the network
    #[command(after_help = raise::RUN_EXAMPLES)]
    Run(Run),
    /// Start a network that stays up
    #[command(after_help = raise::UP_EXAMPLES)]
    Up(Up),
    /// Run a command in a station of a network that is up
    #[command(after_help = raise::EXEC_EXAMPLES)]
    Exec(Exec),
    /// Show the networks that are up: stations, their processes, and the accounts of the emulator
    #[command(after_help = raise::STATUS_EXAMPLES)]
    Status(Status),
    /// Take networks down, with everything that runs in them
    #[command(after_help = raise::DOWN_EXAMPLES)]
    Down(Down),
}

pub(super) const QUESTIONS: &str = "\
Which networks are there, and how do I draw my own?
  btu net list
  btu net show home-bloated > home.toml
  btu net check home.toml                         what it draws, or every mistake in it
What does a program get in such a network?
  btu net run satellite -- ping -c 3 server       start it, run the program, end it
  btu net run home-bloated -C reno --watch       draw queue, rate and round trip meanwhile
How do programs in several stations meet?
  btu net up home-bloated
  btu net exec laptop -- ping -c 3 server
  btu net status
  btu net down";

const CHECK_EXAMPLES: &str = "\
Examples:
  btu net check lab.toml
  btu net check laboratory-1995 --json            a network of the library, as JSON
  btu net check lab.toml --set traffic.background.load='60 %'";

const SHOW_EXAMPLES: &str = "\
Examples:
  btu net show home-bloated > home.toml           a network of the library
  btu net show '50 Mb/s' > line.toml              the line that this rate stands for";

/// The arguments of `btu net check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) subjects: Subjects,
    /// Replace a value of a file, such as traffic.background.load='60 %'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = files::setting)]
    pub(crate) settings: Vec<(String, String)>,
}
