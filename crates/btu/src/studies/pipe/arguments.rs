//! The arguments of `btu pipe`.

use std::path::PathBuf;

use btu_contract::load::Load;
use btu_contract::pipe::{Kind, Pattern, Pin, Sizes};
use btu_units::{Bytes, Span};
use clap::{Args, ValueEnum};

use crate::cli::{Congestion, RemoteEnd, measuring_time, octets, quantity};
use crate::files;

const EXAMPLES: &str = "\
Examples:
  btu pipe                                        TCP between two stations on a veth pair, about a
                                                  minute
  btu pipe --profile quick --sizes 1..64KiB       a first look
  btu pipe --network '10 Mb/s' --time 30s         what fits into that time
  btu pipe --local --transport unix-stream,pipe,shared-memory
  btu pipe --network '10 Mb/s'                    on an emulated Ethernet
  btu pipe --network satellite --from ship --to server on a network file's network
  btu pipe --ssh me@beta                          to a host where nothing is installed
  btu pipe --pattern streaming --json > stream.json
  btu pipe --network '10 Mb/s' --svg graphs.svg --with netpipe96
  btu pipe --layers                               the extra cost of TLS, HTTP/2 and QUIC over TCP
                                                  and UDP
  btu pipe --load cpu,disk                        what remains while the machine is busy
  btu pipe --hint --network '10 Mb/s'             HINT with two processes and that network between
                                                  them
  btu pipe --transport tcp,tls,quic --pairs 4     four connections at once
  btu pipe --resume latest                        the missing sizes of an interrupted run

Sizes are NetPIPE's sequence between two sizes, a list such as
1,64,4KiB, or 1996 for the sizes of that year's Ethernet curves.";

/// A profile: how long and how often to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionName {
    /// Six trials of 12.5 ms per size: a first look
    Quick,
    /// Seven trials of 50 ms per size
    Standard,
    /// Seven trials of 250 ms per size: numbers to publish
    Full,
}

/// Measure how long messages of every size take from one process to another: signature graphs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Pipe {
    /// Transport; several are measured one after the other: tcp, udp, tls, quic, http2, unix-stream,
    /// unix-seqpacket, pipe, shared-memory, and mpi where btu was built with it [default: tcp]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) transport: Vec<Kind>,
    #[command(flatten)]
    pub(crate) aim: Aim,
    /// Which end sends when: ping-pong, streaming, bidirectional
    #[arg(long, value_name = "NAME", default_value = "ping-pong")]
    pub(crate) pattern: Pattern,
    /// Message sizes: a range, a list, or 1996
    #[arg(long, value_name = "SIZES", default_value = "1..10MB")]
    pub(crate) sizes: Sizes,
    /// Also measure each size of a range this much smaller and larger [default: 3 B]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) perturbation: Option<Bytes>,
    /// How long and how often to measure
    #[arg(long = "profile", alias = "precision", value_enum, default_value = "standard")]
    pub(crate) precision: PrecisionName,
    /// How long to measure in all, instead of the profile's time: on a slow network fewer sizes
    /// and trials, spread over the range
    #[arg(long, value_name = "TIME", value_parser = measuring_time, conflicts_with_all = ["target_time", "hint"])]
    pub(crate) time: Option<Span>,
    /// Number of trials of each size
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: Option<u32>,
    /// Target duration of a trial
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) target_time: Option<Span>,
    /// Skip larger sizes once a message takes this long
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) limit: Option<Span>,
    /// Measure between two processes here instead of two stations, as transports within one machine
    /// do
    #[arg(long, conflicts_with_all = ["network", "from", "to", "settings"])]
    pub(crate) local: bool,
    /// The network between the stations: `veth`, the rate of an emulated Ethernet such as '10
    /// Mb/s', or a network file
    #[arg(long, value_name = "veth|RATE|FILE", default_value = "veth", value_parser = octets())]
    pub(crate) network: String,
    /// The station of a network file that sends first [default: the first one]
    #[arg(long, value_name = "STATION")]
    pub(crate) from: Option<String>,
    /// The other station [default: the last one]; with --hosts, the inventory's host
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) to: Option<String>,
    /// Replace a value of the network file, such as links.trunk.rate='2 Mb/s'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = files::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Send small messages of TCP at once, as `NetPIPE` does
    #[arg(long, value_name = "on|off", value_parser = on_off)]
    pub(crate) nodelay: Option<bool>,
    /// Send buffer of the socket, or the size of a pipe or of a ring in shared memory
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) send_buffer: Option<Bytes>,
    /// Receive buffer of the socket
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) receive_buffer: Option<Bytes>,
    #[command(flatten)]
    pub(crate) calls: Calls,
    #[command(flatten)]
    pub(crate) memory: MessageMemory,
    /// Also time every single exchange
    #[arg(long)]
    pub(crate) each: bool,
    /// Seed of payload and emulated losses [default: a new one, stored]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// A text that describes the run
    #[arg(long, value_name = "TEXT", value_parser = crate::cli::label)]
    pub(crate) label: Option<String>,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) wanted: Wanted,
    #[command(flatten)]
    pub(crate) remote: RemoteEnd,
}

/// What to measure instead of a single signature.
#[derive(Debug, Args)]
pub(crate) struct Aim {
    /// Measure the cost of each layer: the transports in turns, size by size, compared with the
    /// first of them
    #[arg(long)]
    pub(crate) layers: bool,
    /// Measure the signature under these loads as well, in turns with the idle machine: cpu, disk,
    /// transfer
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = busy, conflicts_with = "layers")]
    pub(crate) load: Vec<Load>,
    /// Run HINT between two processes, connected by the transport: quality improvements per second
    #[arg(long, conflicts_with_all = ["layers", "load", "pattern", "sizes"])]
    pub(crate) hint: bool,
    /// Existing directory on the disk that a load uses [default: `scratch` next to the stored runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) resuming: crate::cli::Resuming,
}

/// A load other than `idle`.
fn busy(text: &str) -> Result<Load, String> {
    let found = Load::HOST.into_iter().find(|load| load.name() == text);
    found.ok_or_else(|| format!("there is no load `{text}`; there are cpu, disk, transfer"))
}

/// What to write from the results.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// Write the points as `NetPIPE`'s np.out, whose Mbps are 2^20 bits; for one transport
    #[arg(long, value_name = "FILE")]
    pub(crate) np_out: Option<PathBuf>,
    /// Write the times of all sizes as comma-separated values; for one run
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Draw the four graphs with all transports to this file; with HINT, the QUIPS graph
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Also draw the points of the 1996 paper
    #[arg(long, value_name = "STUDY", value_parser = ["netpipe96"])]
    pub(crate) with: Option<String>,
    /// Show every table with every size, not only the first screen
    #[arg(long)]
    pub(crate) all: bool,
}

/// How bytes are handed to the system.
#[derive(Debug, Args)]
pub(crate) struct Calls {
    /// How system calls are made: one blocking call for each piece, or `io_uring` (TCP)
    #[arg(long, value_enum, default_value = "blocking")]
    pub(crate) engine: EngineName,
    /// Send from the program's own memory (`MSG_ZEROCOPY`; TCP)
    #[arg(long)]
    pub(crate) zerocopy: bool,
    /// Let a receiver poll for this long before it sleeps (`SO_BUSY_POLL`; TCP)
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) busy_poll: Option<Span>,
    /// Number of concurrent pairs, each with its own connection and threads; throughputs are added
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) pairs: u32,
    /// Pin the ends to processors: `apart` and `together` use the first ones that may be used; 2,3
    /// names one for the end that sends first and one for the other; `free` leaves the choice to
    /// the scheduler [default: apart, if one pair is on this machine and a processor remains for
    /// the emulator]
    #[arg(long, value_name = "apart|together|free|NEAR,FAR")]
    pub(crate) pin: Option<Pin>,
    /// Let this machine's idle processors sleep, as they do in everyday use, instead of keeping
    /// them awake
    #[arg(long)]
    pub(crate) idle_states: bool,
    #[command(flatten)]
    pub(crate) congestion: Congestion,
}

/// How system calls are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// One blocking call for each piece
    Blocking,
    /// Requests and completions in rings
    IoUring,
}

/// The memory that holds messages.
#[derive(Debug, Args)]
pub(crate) struct MessageMemory {
    /// Send from memory that is not in the processor's cache
    #[arg(long)]
    pub(crate) cold: bool,
    /// Begin messages this many bytes after the beginning of a page
    #[arg(long, value_name = "SIZE", default_value = "0 B", value_parser = size)]
    pub(crate) offset: Bytes,
    /// Check every byte of every message; the times then include the check
    #[arg(long)]
    pub(crate) integrity: bool,
}

/// A size; a bare number is a number of bytes.
fn size(text: &str) -> Result<Bytes, String> {
    text.trim().parse().map(Bytes::new).or_else(|_| quantity(text))
}

fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("`{text}` is neither on nor off")),
    }
}
