//! The arguments of `btu speed`.

use std::path::PathBuf;

use btu_contract::dscp::Dscp;
use btu_studies::speed::MOST_STREAMS;
use btu_units::{BitRate, Span};
use clap::Args;

use crate::cli::{Reading, StudyOptions, measuring_time, quantity};
use crate::start::hosts::Family;

/// The answer if no hosts are given.
pub(crate) const INTRODUCTION: &str = "\
no hosts are given: you need a second machine with ssh (a rented server, a friend's). `btu speed` takes some fifteen seconds to say \
whether queues are too long, how long a request takes from here to a host, idle and while each direction is full, and how much TCP gets each way:

  btu speed --ssh me@alpha                      to a host by ssh, where nothing is installed
  btu speed --network home-bloated --from laptop --to server -C reno
                                                between two stations of a network file, on this machine
  btu speed --iperf3 iperf.example.net          to an iperf3 server; there are public ones
  btu speed --ssh me@alpha -t '10 s' -P 4 --bidirectional --udp '20 Mb/s'
                                                longer, with four connections, both ways at once, and datagrams

btu speed --help has all options.";

const EXAMPLES: &str = "\
Examples:
  btu speed --ssh me@alpha                        to a host by ssh, where nothing is installed
  btu speed --iperf3 iperf.example.net            to an iperf3 server, without btu at the far end
  btu speed --network home-bloated --from laptop --to server -C reno
                                                  between two stations of a network file, on this
                                                  machine
  btu speed --ssh me@alpha -t '10 s' -P 4 --bidirectional --udp '20 Mb/s'
  btu speed alpha --hosts lab.toml                to a host of an inventory
  btu speed --rpm https://nq.example.net          round trips per minute under load, with any server
                                                  of that protocol
  btu speed --rpm-server --listen 0.0.0.0         run such a server
  btu speed --stamp router.example.net            round trips, and the loss of each direction, to any
                                                  STAMP or TWAMP Light reflector
  btu speed --stamp-reflector --listen 0.0.0.0    run such a reflector

The first line says whether queues are too long: how much longer requests take while TCP fills the
network than while it is idle. Rates and round trips follow. `btu show`, `btu report` and `btu runs
export` work with it as with every run.";

/// Measure the network between two hosts: rates each way, round trips idle and loaded, and whether
/// its queues are too long
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Speed {
    /// The far host, from the inventory --hosts
    #[arg(value_name = "HOST", conflicts_with_all = ["network", "ssh", "to", "resume"])]
    pub(crate) host: Option<String>,
    /// The near station, or host of an inventory [default: this machine; of a network file the
    /// first station]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) from: Option<String>,
    /// The far station or host [default: of a network file the last station]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) to: Option<String>,
    /// How long each phase is measured after its queues are full [default: 3 s; standard profile: 10 s;
    /// full: 30 s]
    #[arg(long = "phase-time", short = 't', value_name = "TIME", value_parser = measuring_time)]
    pub(crate) time: Option<Span>,
    #[command(flatten)]
    pub(crate) directions: Directions,
    /// Number of TCP connections in one direction
    #[arg(long, short = 'P', value_name = "NUMBER", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_STREAMS)))]
    pub(crate) streams: u32,
    /// Also count how many times a second the near host can connect, send a request, read the
    /// answer and close
    #[arg(long)]
    pub(crate) connects: bool,
    /// Also send datagrams of 1400 bytes at this rate each way
    #[arg(long, short = 'b', visible_alias = "rate")]
    #[arg(value_name = "RATE", value_parser = quantity::<BitRate>)]
    pub(crate) udp: Option<BitRate>,
    #[command(flatten)]
    pub(crate) addresses: Addresses,
    /// Mark packets for routers that give priority: a code point from 0 to 63, or its name, such as
    /// EF or AF41
    #[arg(long, value_name = "NAME|NUMBER")]
    pub(crate) dscp: Option<Dscp>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print the current rates as a line of JSON each second, and the result as the last line
    #[arg(long, conflicts_with_all = ["json", "in_virtual_time"])]
    pub(crate) json_lines: bool,
    /// Measure to an unmodified iperf3 server (`iperf3 -s`), without btu at the far end
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with_all = BETWEEN_HOSTS)]
    pub(crate) iperf3: Option<String>,
    #[command(flatten)]
    pub(crate) responsiveness: Responsiveness,
    #[command(flatten)]
    pub(crate) reflection: Reflection,
    /// Address on which the server of --rpm-server, or the reflector of --stamp-reflector, listens
    /// [default: 127.0.0.1, port 4043; reflector: port 862]
    #[arg(long, value_name = "ADDR[:PORT]", requires = "serving")]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) study: StudyOptions,
}

/// The kind of addresses that the ends have.
#[derive(Debug, Args)]
pub(crate) struct Addresses {
    /// Use IPv6: stations of a network file get IPv6 addresses, and hosts are measured at an IPv6
    /// address
    #[arg(long, short = '6')]
    ipv6: bool,
    /// Use IPv4, for hosts that have addresses of both kinds
    #[arg(long, short = '4', conflicts_with = "ipv6")]
    ipv4: bool,
}

impl Addresses {
    /// The family that was asked for.
    pub(super) fn family(&self) -> Family {
        match (self.ipv4, self.ipv6) {
            (true, _) => Family::Ipv4,
            (_, true) => Family::Ipv6,
            _ => Family::Either,
        }
    }
}

/// Round trips per minute by the IETF's draft, with a server of any make.
#[derive(Debug, Args)]
pub(crate) struct Responsiveness {
    /// Measure round trips per minute (RPM) under load to any server that speaks
    /// draft-ietf-ippm-responsiveness; -t is its interval [default: 1 s; standard profile: 5 s]
    #[arg(long, value_name = "URL", conflicts_with_all = BETWEEN_HOSTS, conflicts_with_all = OF_STREAMS)]
    pub(crate) rpm: Option<String>,
    /// Accept a server certificate that no known authority signed, such as your own
    #[arg(long, requires = "rpm")]
    pub(crate) any_certificate: bool,
    /// Run such a server until a signal arrives
    #[arg(long, conflicts_with = "rpm", conflicts_with_all = BETWEEN_HOSTS)]
    #[arg(conflicts_with_all = OF_STREAMS, group = "serving")]
    pub(crate) rpm_server: bool,
    /// Its certificate chain, in PEM form [default: a new, self-signed one]
    #[arg(long, value_name = "FILE", requires_all = ["rpm_server", "key"])]
    pub(crate) certificate: Option<PathBuf>,
    /// The key of that certificate, in PEM form
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) key: Option<PathBuf>,
}

/// Round trips and losses by STAMP, with a reflector of any make.
#[derive(Debug, Args)]
pub(crate) struct Reflection {
    /// Measure round trips, and the loss in each direction, to any STAMP (RFC 8762) or TWAMP Light
    /// reflector; -t is for how long [default: 10 s; standard profile: 60 s; full: 300 s]
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with_all = BETWEEN_HOSTS)]
    #[arg(conflicts_with_all = OF_LOAD)]
    pub(crate) stamp: Option<String>,
    /// The time from one of its packets to the next
    #[arg(long, value_name = "TIME", default_value = "100 ms", value_parser = measuring_time)]
    #[arg(requires = "stamp")]
    pub(crate) interval: Span,
    /// Run such a reflector until a signal arrives
    #[arg(long, conflicts_with = "stamp", conflicts_with_all = BETWEEN_HOSTS)]
    #[arg(conflicts_with_all = OF_LOAD, conflicts_with_all = ["ipv4", "ipv6"], group = "serving")]
    pub(crate) stamp_reflector: bool,
}

/// Options of measurements between two hosts with btu.
const BETWEEN_HOSTS: [&str; 16] = [
    "host",
    "from",
    "to",
    "network",
    "delay",
    "settings",
    "congestion_control",
    "launcher",
    "over",
    "ssh",
    "hosts",
    "connects",
    "receive",
    "json_lines",
    "resume",
    "in_virtual_time",
];

/// Options of streams that the IETF's draft has no place for.
const OF_STREAMS: [&str; 7] = ["iperf3", "streams", "udp", "ipv4", "ipv6", "dscp", "bidirectional"];

/// Options that load the network, or that mark the load.
const OF_LOAD: [&str; 7] = ["iperf3", "rpm", "streams", "udp", "dscp", "bidirectional", "reverse"];

/// The directions; by default each one alone.
#[derive(Debug, Args)]
pub(crate) struct Directions {
    /// Measure only from the far host to the near one
    #[arg(long, short = 'R')]
    pub(crate) reverse: bool,
    /// Also measure both directions at once
    #[arg(long)]
    pub(crate) bidirectional: bool,
}
