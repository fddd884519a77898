//! What may be written after `btu lan`.

use btu_suite::lan::Task;
use btu_units::{Bytes, Span};
use clap::{Args, ValueEnum};

use super::{StudyOptions, quantity};

pub(super) const EXAMPLES: &str = "\
Examples:
  btu lan                                         seven tasks, 0 to 10 stations, an Ethernet of 1988
  btu lan --task wp-save-document --stations 0,2,4,8
  btu lan --network '100 Mb/s' --service-time '2 ms' --stations 0
                                                  a server of 2 ms an operation, on a line
  btu lan --network office.toml --server nas --bench pc-7
                                                  on stations of a network file
  btu lan --hosts lab.toml --server nas           between real hosts, whose agents are reached as the file says
  btu lan --background normal --pause '100 ms' --pause-deviation '25 ms'
  btu lan --resume latest                         finish an interrupted run

A station does what a word processor and a file manager do with files, on its own disk and at a server
(NFS version 3), while other stations write records there and read them back. What the clients counted
the server must have counted, too, or it does not count.";

/// `btu lan`.
#[derive(Debug, Args)]
pub(crate) struct Lan {
    #[command(flatten)]
    pub(crate) study: StudyOptions,
    /// How many background stations are at work [default: 0,1,3,5,10, as far as there are so many]
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    pub(crate) stations: Vec<u32>,
    /// Only these tasks: wp-load-program, wp-load-document, wp-save-document, fm-load-program, fm-serial-search, fm-sort, fm-index
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = task)]
    pub(crate) task: Vec<Task>,
    /// What background stations do: one transaction after the other, or with pauses between them
    #[arg(long, value_enum, default_value = "constant")]
    pub(crate) background: BackgroundName,
    /// Mean pause between transactions, with --background normal
    #[arg(long, value_name = "TIME", default_value = "100 ms", value_parser = quantity::<Span>)]
    pub(crate) pause: Span,
    /// Standard deviation of that pause; one below zero is none
    #[arg(long, value_name = "TIME", default_value = "25 ms", value_parser = quantity::<Span>)]
    pub(crate) pause_deviation: Span,
    /// Pauses follow when a transaction was due, not when it ended: a slow server does not thin its own load
    #[arg(long)]
    pub(crate) open_loop: bool,
    /// Size of a background station's record
    #[arg(long, value_name = "BYTES", default_value = "512 B", value_parser = quantity::<Bytes>)]
    pub(crate) record: Bytes,
    /// What each operation takes at least, at the server and on the own disk, one after the other
    #[arg(long, value_name = "TIME", default_value = "0 ms", value_parser = quantity::<Span>)]
    pub(crate) service_time: Span,
    /// How long 95 of 100 transactions of background stations may take
    #[arg(long, value_name = "TIME", default_value = "20 ms", value_parser = quantity::<Span>)]
    pub(crate) limit: Span,
    /// The server's station [default: the one called `server`, else the first]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) server: Option<String>,
    /// The station that is measured [default: the one called `bench`, else the last]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) bench: Option<String>,
}

/// What background stations do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackgroundName {
    /// CONST.BAS: one transaction after the other
    Constant,
    /// NORM.BAS: with normally distributed pauses between them
    Normal,
}

fn task(text: &str) -> Result<Task, String> {
    btu_suite::text::named(text, "task", &Task::ALL, Task::name)
}
