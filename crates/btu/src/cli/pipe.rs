//! `btu pipe`: what may be written after it.

use std::path::PathBuf;

use btu_network::SshDestination;
use btu_suite::cell::Load;
use btu_suite::pipe::{Kind, Pattern, Pin, Sizes};
use btu_units::{Bytes, Span};
use clap::{Args, ValueEnum};

use super::{Congestion, Reaching, quantity};
use crate::files;

pub(crate) const EXAMPLES: &str = "\
Examples:
  btu pipe                                             TCP between two stations on a veth pair, about a minute
  btu pipe --precision quick --sizes 1..64KiB          a first look
  btu pipe --local --transport unix-stream,pipe,shared-memory
  btu pipe --network '10 Mb/s'                         on an emulated Ethernet
  btu pipe --network satellite --from ship --to server on a network file's network
  btu pipe --to beta=192.0.2.11@198.51.100.11 --identity me.pem    to a host with an agent
  btu pipe --ssh me@beta                               to a host where nothing is installed
  btu pipe --pattern streaming --json > stream.json
  btu pipe --network '10 Mb/s' --svg graphs.svg --with netpipe96
  btu pipe --layers                                    what TLS, HTTP/2 and QUIC cost, above plain TCP and UDP
  btu pipe --load cpu,disk                             what is left while the machine also works
  btu pipe --hint --network '10 Mb/s'                  HINT by two processes with that network between them
  btu pipe --transport tcp,tls,quic --pairs 4          four connections at once
  btu pipe --resume latest                             the sizes that a stopped run still lacks

Transports: tcp, udp, tls, quic, http2, unix-stream, unix-seqpacket, pipe, shared-memory, and mpi where btu was built with
it. Sizes are NetPIPE's sequence between two sizes, a list such as 1,64,4KiB, or 1996 for the sizes of that year's
Ethernet curves.";

/// How long and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionName {
    /// Three trials of 25 ms per size: a first look
    Quick,
    /// Seven trials of 50 ms per size
    Standard,
    /// Seven trials of 250 ms per size: numbers to publish
    Full,
}

/// `btu pipe`.
#[derive(Debug, Args)]
pub(crate) struct Pipe {
    /// How bytes are moved; several are measured one after the other [default: tcp]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) transport: Vec<Kind>,
    #[command(flatten)]
    pub(crate) aim: Aim,
    /// Who sends when: ping-pong, streaming, bidirectional
    #[arg(long, value_name = "NAME", default_value = "ping-pong")]
    pub(crate) pattern: Pattern,
    /// Message sizes: a range, a list, or 1996
    #[arg(long, value_name = "SIZES", default_value = "1..10MB")]
    pub(crate) sizes: Sizes,
    /// Measure each size of a range this much smaller and larger too [default: 3 B]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) perturbation: Option<Bytes>,
    /// How long and how often
    #[arg(long, visible_alias = "profile", value_enum, default_value = "standard")]
    pub(crate) precision: PrecisionName,
    /// Trials of each size
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: Option<u32>,
    /// What one trial should last
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) target_time: Option<Span>,
    /// Leave larger sizes out once a message takes this long
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) limit: Option<Span>,
    /// Two processes here instead of in two stations; what transports of one machine always do
    #[arg(long, conflicts_with_all = ["network", "from", "to", "settings"])]
    pub(crate) local: bool,
    /// Between the stations: `veth`, the rate of an emulated Ethernet such as '10 Mb/s', or a
    /// network file
    #[arg(long, value_name = "veth|RATE|FILE", default_value = "veth")]
    pub(crate) network: String,
    /// The station of a network file that sends first [default: its first]
    #[arg(long, value_name = "STATION")]
    pub(crate) from: Option<String>,
    /// The other one [default: its last]; without a network file, a host with an agent: NAME, or
    /// NAME=CONTROL@MEASURED with its addresses
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) to: Option<String>,
    /// Value to put in the place of a network file's, such as links.trunk.rate='2 Mb/s'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = files::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// TCP's small messages leave at once, as `NetPIPE` has them
    #[arg(long, value_name = "on|off", value_parser = on_off)]
    pub(crate) nodelay: Option<bool>,
    /// Send buffer of the socket; of a pipe or a ring in shared memory its size
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) send_buffer: Option<Bytes>,
    /// Receive buffer of the socket
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) receive_buffer: Option<Bytes>,
    #[command(flatten)]
    pub(crate) calls: Calls,
    #[command(flatten)]
    pub(crate) memory: Memory,
    /// Time every single exchange, too
    #[arg(long)]
    pub(crate) each: bool,
    /// Seed of payload and emulated chance [default: a new one, stored]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Your own word for the run
    #[arg(long, value_name = "TEXT", value_parser = super::label)]
    pub(crate) label: Option<String>,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) wanted: Wanted,
    #[command(flatten)]
    pub(crate) beside: Beside,
}

/// Another machine, where the far end shall be.
#[derive(Debug, Args)]
#[command(next_help_heading = "Another machine")]
pub(crate) struct Beside {
    /// Inventory in which --to finds its host
    #[arg(long, value_name = "FILE", conflicts_with_all = ["network", "local", "from", "ssh"])]
    pub(crate) hosts: Option<PathBuf>,
    /// The far end by ssh; nothing needs to be installed there
    #[arg(long, value_name = "HOST", conflicts_with_all = ["network", "local", "from", "to"])]
    pub(crate) ssh: Option<SshDestination>,
    #[command(flatten)]
    pub(crate) reaching: Reaching,
}

/// What else is measured than a signature.
#[derive(Debug, Args)]
pub(crate) struct Aim {
    /// The cost of each layer: the transports in turns, size by size, compared with the first of
    /// them
    #[arg(long)]
    pub(crate) layers: bool,
    /// The signature of a busy machine beside the idle one, in turns: cpu, disk, transfer
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = busy, conflicts_with = "layers")]
    pub(crate) load: Vec<Load>,
    /// HINT between two processes: quality improvements per second, with the transport between them
    #[arg(long, conflicts_with_all = ["layers", "load", "pattern", "sizes"])]
    pub(crate) hint: bool,
    /// Existing directory on the disk that a load exercises [default: `scratch` beside the stored
    /// runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) resuming: super::Resuming,
}

/// A load that is not idleness.
fn busy(text: &str) -> Result<Load, String> {
    let found = Load::HOST.into_iter().find(|load| load.name() == text);
    found.ok_or_else(|| format!("there is no load `{text}`; there are cpu, disk, transfer"))
}

/// What is made of the results.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// Write the points as `NetPIPE`'s np.out, whose Mbps are 2^20 bits; for one transport
    #[arg(long, value_name = "FILE")]
    pub(crate) np_out: Option<PathBuf>,
    /// Write the times of all sizes as comma-separated values; for one run
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Draw the four graphs, all transports in each, to this file; of HINT the QUIPS graph
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// The same as PNG
    #[arg(long, value_name = "FILE")]
    pub(crate) png: Option<PathBuf>,
    /// Draw the points of the 1996 paper beside them
    #[arg(long, value_name = "STUDY", value_parser = ["netpipe96"])]
    pub(crate) with: Option<String>,
    /// Every table with every size, not the first screen alone
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
    /// A receiver looks this long before it sleeps (`SO_BUSY_POLL`; TCP)
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) busy_poll: Option<Span>,
    /// So many pairs at once, each with a connection and a thread of its own; throughputs are added
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) pairs: u32,
    /// Hold the ends on processors: `apart` and `together` take the first that may be used; 2,3 are
    /// for the end that sends first and for the other one; `free` leaves them to the scheduler
    /// [default: apart, where one pair is on this machine and leaves a processor to the emulator]
    #[arg(long, value_name = "apart|together|free|NEAR,FAR")]
    pub(crate) pin: Option<Pin>,
    /// Let idle processors sleep, as they do in everyday use, instead of keeping this machine's
    /// awake
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

/// What messages lie in.
#[derive(Debug, Args)]
pub(crate) struct Memory {
    /// Send from memory that is not in the processor's cache
    #[arg(long)]
    pub(crate) cold: bool,
    /// Begin messages this far behind a page's begin
    #[arg(long, value_name = "SIZE", default_value = "0 B", value_parser = size)]
    pub(crate) offset: Bytes,
    /// Look at every byte of every message; the times then include it
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
