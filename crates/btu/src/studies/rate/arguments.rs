//! The arguments of `btu rate`.

use std::path::PathBuf;

use btu_contract::load::Load;
use btu_contract::processors::{Division, DivisionError};
use btu_contract::protocol_work::ProtocolWork;
use btu_studies::rate::{Component, MESSAGE_SIZES};
use btu_units::{Bytes, Span};
use clap::Args;

use crate::cli::Board;
use crate::cli::{
    Congestion, Naming, ProfileName, RatedHosts, Reading, Resuming, Tables, TimeLimit, octets,
    one_of, quantity, share,
};
use crate::files;

const EXAMPLES: &str = "\
Examples:
  btu rate                                        the whole rating, about two minutes
  btu rate --network '10 Mb/s' --delay '2 ms'     on an emulated path
  btu rate --network home-fq-codel --test laptop --active server --passive phone
                                                  between stations of a network file
  btu rate --volume 4MB --window 4KB              fixed volume and small windows, as in 1995
  btu rate --component SEND --message 65536 --load idle,cpu
  btu rate --ssh alpha,beta,gamma                 on three hosts, by ssh
  btu rate --hosts lab.toml                       on three hosts of an inventory
  btu rate --verify latest                        remove the waiting that it found
  btu rate --challenge https://board.example.org  with a seed from a board, to be published there
  btu rate --resume latest                        finish an interrupted run

Sizes are written with their unit: 4KB is 4000 bytes, 4KiB is 4096.";

/// Run the BTU benchmark: network activities alone and under CPU, disk and file-transfer load
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rate {
    /// How long and how often to measure
    #[arg(long, alias = "precision", value_enum, default_value = "quick")]
    pub(crate) profile: ProfileName,
    #[command(flatten)]
    pub(crate) limit: TimeLimit,
    /// The network: `veth` (as fast as this host), the rate of an emulated path, such as '10 Mb/s',
    /// or a network file [default: veth]
    #[arg(long, value_name = "veth|RATE|FILE", value_parser = octets())]
    pub(crate) network: Option<String>,
    /// Replace a value of the network file, such as links.trunk.rate='2 Mb/s'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = files::setting, requires = "network")]
    pub(crate) settings: Vec<(String, String)>,
    /// One-way delay of the emulated path
    #[arg(long, value_name = "TIME", default_value = "0 ms", value_parser = quantity::<Span>)]
    pub(crate) delay: Span,
    /// Loss of the emulated path in each direction, such as 1% or 0.01
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub(crate) loss: f64,
    /// Share of frames that the emulated path delivers twice
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub(crate) duplicate: f64,
    /// Share of frames that the emulated path holds back until later ones have overtaken them
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub(crate) reorder: f64,
    /// Fixed volume of each network activity, instead of a calibrated one; its connections share it
    #[arg(long, value_name = "SIZE", value_parser = quantity::<Bytes>)]
    pub(crate) volume: Option<Bytes>,
    /// Socket buffers of the peers
    #[arg(long, value_name = "SIZE", value_parser = quantity::<Bytes>)]
    pub(crate) window: Option<Bytes>,
    /// Processors of the machine under test and of everything else, or `shared` [default: half of
    /// the cores each]
    #[arg(long, value_name = "test=LIST,rest=LIST", value_parser = processors)]
    pub(crate) processors: Option<ProcessorsOption>,
    /// Where the kernel does the protocol work of received frames: on processors of the station that
    /// receives them, which needs divided processors, or on those of their sender
    #[arg(long, value_name = "PLACE", default_value = "sender",
          value_parser = one_of(ProtocolWork::ALL, ProtocolWork::name))]
    pub(crate) protocol_work: ProtocolWork,
    /// Let idle processors sleep, as they do in everyday use, instead of keeping them awake
    #[arg(long)]
    pub(crate) idle_states: bool,
    #[command(flatten)]
    pub(crate) congestion: Congestion,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = component,
          help = "Only these components: SEND, RECV, SEND+DL, SEND_RECV, 2xRECV+DL, 2xSEND+DR, INTERACTIVE/TCP, INTERACTIVE/UDP, UDP")]
    pub(crate) component: Vec<Component>,
    /// Only these message sizes: 100, 1024, 1250, 4096, 65536
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = message)]
    pub(crate) message: Vec<Bytes>,
    /// Only these loads: idle, cpu, disk, transfer
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = load)]
    pub(crate) load: Vec<Load>,
    /// Test the largest cause that a run found by removing it: measure the activities that wait
    /// under the CPU load again, with a load that yields, and compare with what the run predicts
    #[arg(long, value_name = "RUN", conflicts_with_all = ["resume", "network", "component", "message", "load", "profile", "volume", "window", "processors"])]
    pub(crate) verify: Option<String>,
    /// Seed of order, payload and loss [default: a new one, printed]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Get the seed from this board, to show that the run was not picked from earlier ones: `btu
    /// publish` sends the run there
    #[arg(long, value_name = "BOARD", conflicts_with_all = ["seed", "verify"])]
    pub(crate) challenge: Option<Board>,
    /// Existing directory on the disk that the disk load uses [default: `scratch` next to the
    /// stored runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// The largest amount of data in the scratch directory at any time
    #[arg(long, value_name = "SIZE", default_value = "1 GiB", value_parser = quantity::<Bytes>)]
    pub(crate) scratch_limit: Bytes,
    #[command(flatten)]
    pub(crate) resuming: Resuming,
    #[command(flatten)]
    pub(crate) naming: Naming,
    #[command(flatten)]
    pub(crate) tables: Tables,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) real: RatedHosts,
}

/// The values of `--processors`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProcessorsOption {
    /// Every process may work on all of them.
    Shared,
    /// The machine under test has its own.
    Divided(Division),
}

fn processors(text: &str) -> Result<ProcessorsOption, DivisionError> {
    if text == "shared" {
        Ok(ProcessorsOption::Shared)
    } else {
        text.parse().map(ProcessorsOption::Divided)
    }
}

fn component(text: &str) -> Result<Component, String> {
    let mut all = Component::RATED.iter().chain(&Component::FURTHER).copied();
    all.find(|component| component.name().eq_ignore_ascii_case(text)).ok_or_else(|| {
        let names = Component::RATED
            .iter()
            .chain(&Component::FURTHER)
            .map(|c| c.name())
            .collect::<Vec<_>>();
        format!("there is no component `{text}`; there are {}", names.join(", "))
    })
}

fn message(text: &str) -> Result<Bytes, String> {
    let size = text.parse().map(Bytes::new).ok().filter(|size| MESSAGE_SIZES.contains(size));
    size.ok_or_else(|| {
        format!("`{text}` is not one of the rating's message sizes: 100, 1024, 1250, 4096, 65536")
    })
}

fn load(text: &str) -> Result<Load, String> {
    let found = Load::ALL.into_iter().find(|load| load.name() == text);
    found.ok_or_else(|| format!("there is no load `{text}`; there are idle, cpu, disk, transfer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        assert!(component("SENT").unwrap_err().contains("2xRECV+DL"));
        assert!(message("4000").unwrap_err().contains("4096"));
        assert!(load("gpu").unwrap_err().contains("transfer"));
    }
}
