//! What may be written after `btu speed`.

use btu_suite::dscp::Dscp;
use btu_suite::speed::MOST_STREAMS;
use btu_units::{BitRate, Span};
use clap::Args;

use super::{StudyOptions, quantity};

/// What is answered where nothing says between whom.
pub(crate) const INTRODUCTION: &str = "\
between whom? `btu speed` takes ten seconds to say how long a request takes from here to a host, idle and while each \
direction is full, and how much TCP gets each way:

  btu speed --ssh me@alpha                      to a host by ssh, where nothing is installed
  btu speed alpha --identity me.pem             to a host with an agent
  btu speed --network home-bloated --from laptop --to server
                                                between two stations of a network file, raised on this machine
  btu speed --ssh me@alpha -t '10 s' -P 4 --bidirectional --udp '20 Mb/s'
                                                longer, by four connections, both ways at once, and datagrams

btu speed --help has all options.";

pub(super) const EXAMPLES: &str = "\
Examples:
  btu speed --ssh me@alpha                        to a host by ssh, where nothing is installed
  btu speed alpha --identity me.pem               to a host with an agent
  btu speed --network home-bloated --from laptop --to server
                                                  between two stations of a network file, raised on this machine
  btu speed --ssh me@alpha -t '10 s' -P 4 --bidirectional --udp '20 Mb/s'

How long a request takes on the idle network, how much TCP gets each way, how long requests take meanwhile: what they take
longer waits in queues. `btu show`, `btu report` and `btu export` take it like every run.";

/// `btu speed`.
#[derive(Debug, Args)]
pub(crate) struct Speed {
    /// The far host, where an agent listens: NAME, or NAME=CONTROL@MEASURED with its addresses;
    /// with --hosts one of the inventory's
    #[arg(value_name = "HOST", conflicts_with_all = ["network", "ssh", "to", "resume"])]
    pub(crate) host: Option<String>,
    /// The near station, or host of an inventory [default: this machine; of a network file the
    /// first station]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) from: Option<String>,
    /// The far one [default: of a network file the last station]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) to: Option<String>,
    /// How long the network is full in each phase [default: 3 s; standard profile: 10 s; full: 30
    /// s]
    #[arg(long, short, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) time: Option<Span>,
    #[command(flatten)]
    pub(crate) directions: Directions,
    /// TCP connections at a time in one direction
    #[arg(long, short = 'P', value_name = "NUMBER", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_STREAMS)))]
    pub(crate) streams: u32,
    /// Datagrams of 1400 bytes at this rate each way, too
    #[arg(long, visible_alias = "rate", value_name = "RATE", value_parser = quantity::<BitRate>)]
    pub(crate) udp: Option<BitRate>,
    /// Over IPv6: stations of a network file get addresses of it, and of a host's addresses one of
    /// IPv6 is taken
    #[arg(long, short = '6')]
    pub(crate) ipv6: bool,
    /// Mark packets for routers that treat some better: a code point from 0 to 63, or its name,
    /// such as EF or AF41
    #[arg(long, value_name = "NAME|NUMBER")]
    pub(crate) dscp: Option<Dscp>,
    /// Print what moves as a line of JSON each second, and the result as the last one
    #[arg(long, conflicts_with = "json")]
    pub(crate) json_lines: bool,
    #[command(flatten)]
    pub(crate) study: StudyOptions,
}

/// Which ways data goes; each way by itself where nothing is said.
#[derive(Debug, Args)]
pub(crate) struct Directions {
    /// Only from the far host to the near one
    #[arg(long, short = 'R')]
    pub(crate) reverse: bool,
    /// Both directions at once, too
    #[arg(long)]
    pub(crate) bidirectional: bool,
}
