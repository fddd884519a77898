//! The arguments of `btu lan`.

use std::path::PathBuf;

use btu_contract::lan::{Pattern, Task};
use btu_units::{Bytes, Span};
use clap::{Args, ValueEnum};

use crate::cli::{StudyOptions, TimeLimit, quantity};

const EXAMPLES: &str = "\
Examples:
  btu lan                                         seven tasks, 0 to 10 stations
  btu lan --task wp-save-document --stations 0,2,4,8 --most '50 ms'
                                                  how many stations until 5 of 100 wait longer
  btu lan --network '100 Mb/s' --service-time '2 ms' --stations 0
                                                  a server of 2 ms an operation, on a line
  btu lan --network office.toml --server nas --bench pc-7
                                                  on stations of a network file
  btu lan --hosts lab.toml --server nas           between real hosts of an inventory
  btu lan --at /mnt/nas --stations 0,1,2,5,10,20  a share that this machine has mounted
  btu lan --at /mnt/nas --hosts lab.toml          the same share from several hosts
  btu lan --pattern mixed                         reads and writes at random; also metadata,
                                                  small-files
  btu lan --background exponential --pause '1 s'  users who pause to think
  btu lan --trace editor.trace                    every station replays what a user's programs did
  btu lan --paper                                 the study's document of 50 KB and table of 500
                                                  records
  btu lan --resume latest                         finish an interrupted run

A station does what a word processor and a file manager do with files, on its own disk and at a
server (NFS version 3), while other stations use the server. A cell counts only if the server counted
the same operations as its clients.";

/// Measure how much slower tasks at a file server are while other stations use it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Lan {
    #[command(flatten)]
    pub(crate) study: StudyOptions,
    #[command(flatten)]
    pub(crate) limit: TimeLimit,
    /// Numbers of background stations [default: 0,1,3,5,10, as far as the network has them]
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    pub(crate) stations: Vec<u32>,
    /// Only these tasks: wp-load-program, wp-load-document, wp-save-document, fm-load-program,
    /// fm-serial-search, fm-sort, fm-index, mixed, metadata, small-files [default: the first seven,
    /// or that of --pattern]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = task)]
    pub(crate) task: Vec<Task>,
    /// Use the study's file sizes: a document of 50 KB, a table of 500 records
    #[arg(long, conflicts_with = "scale")]
    pub(crate) paper: bool,
    /// Factor by which the files of the tasks are larger
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) scale: u32,
    /// When background stations begin their transactions: one after the other, or with pauses of
    /// this distribution
    #[arg(long, value_enum, default_value = "constant")]
    pub(crate) background: BackgroundName,
    /// What a transaction does: record (writes one and reads it back), mixed (reads and writes at
    /// random), metadata, small-files
    #[arg(long, value_name = "NAME", default_value = "record", value_parser = pattern)]
    pub(crate) pattern: Pattern,
    /// Let background stations replay the operations of this file at their times instead
    /// (docs/lan.md has the format)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["background", "pattern", "pause", "open_loop", "record"])]
    pub(crate) trace: Option<PathBuf>,
    /// Mean pause between transactions, with a --background that has pauses
    #[arg(long, value_name = "TIME", default_value = "100 ms", value_parser = quantity::<Span>)]
    pub(crate) pause: Span,
    /// Standard deviation of that pause, with --background normal; a negative pause counts as none
    #[arg(long, value_name = "TIME", default_value = "25 ms", value_parser = quantity::<Span>)]
    pub(crate) pause_deviation: Span,
    /// Start each pause when a transaction was due, not when it ended, so that a slow server does
    /// not reduce its own load
    #[arg(long)]
    pub(crate) open_loop: bool,
    /// Size of a background station's record
    #[arg(long, value_name = "BYTES", default_value = "512 B", value_parser = quantity::<Bytes>)]
    pub(crate) record: Bytes,
    /// A directory of a share that this machine, or every host, has mounted; it replaces btu's own
    /// server
    #[arg(long, value_name = "DIR", conflicts_with_all = ["service_time", "server"])]
    pub(crate) at: Option<PathBuf>,
    /// Least time of each operation, at the server and on the own disk; operations are served one
    /// after the other
    #[arg(long, value_name = "TIME", default_value = "0 ms", value_parser = quantity::<Span>)]
    pub(crate) service_time: Span,
    /// Time in which 95 of 100 background transactions must end; the result says how many stations
    /// that allows
    #[arg(long, value_name = "TIME", default_value = "20 ms", value_parser = quantity::<Span>)]
    pub(crate) most: Span,
    /// The server's station [default: the one called `server`, else the first]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) server: Option<String>,
    /// The station that is measured [default: the one called `bench`, else the last]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) bench: Option<String>,
}

/// When background stations begin their transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackgroundName {
    /// CONST.BAS: one transaction after the other
    Constant,
    /// NORM.BAS: normally distributed pauses between them
    Normal,
    /// Exponentially distributed pauses: independent users
    Exponential,
    /// Pauses between zero and twice the mean, all equally likely
    Uniform,
    /// The same pause each time
    Fixed,
}

fn task(text: &str) -> Result<Task, String> {
    btu_contract::text::named(text, "task", &Task::ALL, Task::name)
}

fn pattern(text: &str) -> Result<Pattern, String> {
    btu_contract::text::named(text, "pattern", &Pattern::ALL, Pattern::name)
}
