//! `btu net`: what may be written after the commands that raise networks for real.

use std::ffi::OsString;
use std::path::PathBuf;

use btu_units::Span;
use clap::Args;

use super::{Congestion, quantity};
use crate::files;

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  btu net run lab.toml -- ping -c 3 passive       in the first station of the file
  btu net run lab.toml --at active -- bash        in another
  btu net run satellite --capture frames -- ping -c 3 far
  btu net run home-bloated -C cubic --watch       a stream up and requests, with the queue, drawn while they run
  btu net run lab.toml --svg lab.svg -- ./load    what waited, and what collided, over time

The exit code is the command's; 126 and 127 say that it could not be started or is not there. To run commands in several
stations, raise the network with `btu net up` and enter it with `btu net exec`.";

pub(super) const UP_EXAMPLES: &str = "\
Examples:
  btu net up lab.toml
  btu net up home-bloated --name before
  btu net up lab.toml --set links.trunk.rate='2 Mb/s'";

pub(super) const EXEC_EXAMPLES: &str = "\
Examples:
  btu net exec active -- iperf3 -s                in the only network that is up
  btu net exec --name before laptop -- ping server
  btu net exec active                             a shell

The exit code is the command's; 126 and 127 say that it could not be started or is not there.";

pub(super) const STATUS_EXAMPLES: &str = "\
Examples:
  btu net status
  btu net status --json";

pub(super) const DOWN_EXAMPLES: &str = "\
Examples:
  btu net down                                    the only network that is up
  btu net down --name before
  btu net down --all";

/// What is raised.
#[derive(Debug, Args)]
pub(crate) struct Raising {
    /// A network file or a name of the library; - reads standard input
    #[arg(value_name = "NETWORK")]
    pub(crate) file: String,
    /// What the network is called while it is up [default: as in its file; for `run` with a number]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Value to put in the place of the file's, such as links.trunk.rate='2 Mb/s'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = files::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Seed of loss and everything else random [default: a new one, shown by `btu net status`]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Write what passes each station's port to pcapng files in this directory, for Wireshark
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) congestion: Congestion,
}

/// `btu net run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) raising: Raising,
    /// Where the command runs [default: the first station of the file]
    #[arg(long, value_name = "STATION")]
    pub(crate) at: Option<String>,
    /// Draw what waits, what collides and how busy media are over time to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// The same as PNG
    #[arg(long, value_name = "FILE")]
    pub(crate) png: Option<PathBuf>,
    /// Draw it in the terminal meanwhile; where no command is given, with the rate of a TCP stream
    /// from the first station to the last and the round trip of requests
    #[arg(long)]
    pub(crate) watch: bool,
    /// How long that stream and those requests go over the network, where no command is given
    #[arg(long, short, value_name = "TIME", default_value = "20 s", value_parser = quantity::<Span>, conflicts_with = "command")]
    pub(crate) time: Span,
    /// No accounts of the wire at the end
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present_any = ["watch", "svg", "png"], value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// `btu net up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) raising: Raising,
}

/// `btu net exec`.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// Which network [default: the only one that is up]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// In which station
    #[arg(value_name = "STATION")]
    pub(crate) station: String,
    /// The command and its arguments [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// `btu net status`.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Only this network
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `btu net down`.
#[derive(Debug, Args)]
pub(crate) struct Down {
    /// Which network [default: the only one that is up]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// All of this user's
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}
