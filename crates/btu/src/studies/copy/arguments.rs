//! The arguments of `btu copy`.

use std::path::PathBuf;

use btu_contract::copy::{Cache, Direction, Mode, Program, ProgramError, Storage};
use btu_studies::copy::{Background, BackgroundError};
use btu_units::Bytes;
use clap::Args;

use crate::cli::{StudyOptions, TimeLimit, quantity};

const EXAMPLES: &str = "\
Examples:
  btu copy                                        files of 1, 2 and 5 MB over CITI's Ethernet,
                                                  quiet and 60 % loaded
  btu copy --contention 0,10,60,98 --profile standard
                                                  every load of the report of 1989
  btu copy --network '100 Mb/s' --program bare,ftp --size 10MB,50MB,100MB --contention 0
  btu copy --storage memory --program bare,rcp    without disks
  btu copy --program bare,nfs,nfs-16,nfs-sync,nfs-64k --contention 0
                                                  why NFS was slow
  btu copy --program http,scp,sftp --direction put,get --network '100 Mb/s' --delay '10 ms'
                                                  today's programs, both ways, over a long line
  btu copy --at /mnt/nas --size 100MB             a share that this machine has mounted
  btu copy --mode held --contention 60            find the rate that makes 60 % of load
  btu copy --paper                                the copies of the report of 1989: up to 100 MB
                                                  and 98 % load; many hours
  btu copy --network lab.toml --sender alpha --receiver beta --background gamma:delta
                                                  on stations of a network file
  btu copy --ssh me@alpha,me@beta                 between real hosts, with nothing installed there
  btu copy --resume latest                        finish an interrupted run

A file is created at the sender and copied to the receiver, where every bit is checked; the time runs
from the start of the command until the copy is durable at the receiver. It is divided into hardware,
program and other traffic.";

/// Copy files across a loaded network with several programs, and separate the cost of hardware,
/// program and other traffic
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Copy {
    #[command(flatten)]
    pub(crate) study: StudyOptions,
    #[command(flatten)]
    pub(crate) limit: TimeLimit,
    /// Only these programs: local (a copy on the sender), mount (a copy into the share of --at),
    /// bare (one TCP connection), rcp, ftp, http, scp, sftp, rsync, vsftpd (the system's), nfs; nfs-16 has 16
    /// blocks in flight instead of one, nfs-64k blocks of 64 KiB instead of 8, nfs-sync makes each
    /// durable: nfs-16-64k-sync [default: local,bare,rcp,ftp,nfs]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = program)]
    pub(crate) program: Vec<Program>,
    /// A directory of a share that the sender has mounted: the program `mount` copies into it, or
    /// out of it
    #[arg(long, value_name = "DIR")]
    pub(crate) at: Option<PathBuf>,
    /// Sizes of the files [default: 1, 2 and 5 MB; full profile: to 100 MB]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = quantity::<Bytes>)]
    pub(crate) size: Vec<Bytes>,
    /// Loads of other traffic, per cent of the network's time [default: 0,60; standard: 0,10,60,98]
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = background)]
    pub(crate) contention: Vec<Background>,
    /// How the load of other traffic is set: offered (the sending rate is fixed), held (btu finds
    /// the sending rate that makes the load before the copy, and then keeps it), pressed (btu also
    /// adjusts it during the copy), saturated (as fast as possible; loads are 0 and 100)
    #[arg(long, value_name = "NAME", default_value = "offered", value_parser = mode)]
    pub(crate) mode: Mode,
    /// Where the files are at both ends; the first one for all cells, the others for the largest
    /// file on the quiet network [default: disk,memory]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = storage)]
    pub(crate) storage: Vec<Storage>,
    /// Which end connects and is timed: put (the sender), get (the receiver) [default: put]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = direction)]
    pub(crate) direction: Vec<Direction>,
    /// Whether the source is in the page cache: cold, warm; the first one for all cells, the other
    /// for the largest file on the quiet network [default: cold]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = cache)]
    pub(crate) cache: Vec<Cache>,
    /// Use the programs, sizes and loads of the report of 1989 by default, and show its times in
    /// the picture; 100 MB at 10 Mb/s take at least 85 s, and an hour at 98 % load
    #[arg(long)]
    pub(crate) paper: bool,
    /// The station with the file [default: the one called `sender`, else the first]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) sender: Option<String>,
    /// The station that receives it [default: the one called `receiver`, else the second]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) receiver: Option<String>,
    /// The stations that send and receive the other traffic [default: stations called `background`
    /// and `sink` in turn, else the sender and a third station]
    #[arg(long, value_name = "FROM:TO", value_delimiter = ',', value_parser = pair)]
    pub(crate) background: Vec<[String; 2]>,
}

fn program(text: &str) -> Result<Program, String> {
    text.parse().map_err(|error: ProgramError| error.to_string())
}

fn mode(text: &str) -> Result<Mode, String> {
    text.parse().map_err(|error: ProgramError| error.to_string())
}

fn direction(text: &str) -> Result<Direction, String> {
    text.parse().map_err(|error: ProgramError| error.to_string())
}

fn cache(text: &str) -> Result<Cache, String> {
    text.parse().map_err(|error: ProgramError| error.to_string())
}

fn storage(text: &str) -> Result<Storage, String> {
    text.parse().map_err(|error: ProgramError| error.to_string())
}

fn background(text: &str) -> Result<Background, String> {
    text.parse().map_err(|error: BackgroundError| error.to_string())
}

fn pair(text: &str) -> Result<[String; 2], String> {
    let ends =
        text.split_once(':').filter(|(from, to)| !from.is_empty() && !to.is_empty() && from != to);
    let (from, to) =
        ends.ok_or_else(|| format!("`{text}` names no two stations: write FROM:TO"))?;
    Ok([from, to].map(str::to_owned))
}
