//! The arguments of `btu watch`.

use std::ffi::OsString;
use std::net::SocketAddr;

use btu_units::Span;
use clap::Args;

use super::measuring_time;

pub(super) const EXAMPLES: &str = "\
Examples:
  btu watch --every '1 h' -- speed --ssh alpha --quiet
  btu watch --every '10 min' --times 6 -- rate --component SEND --load idle,cpu
  curl http://127.0.0.1:9417/metrics              the newest run's numbers, for Prometheus

Every run is stored, as if you had typed the command: `btu runs` lists them, `btu compare` compares
them. A Grafana dashboard and alert rules for Prometheus are in docs/examples.";

/// The arguments of `btu watch`.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The time from one start to the next
    #[arg(long, value_name = "TIME", value_parser = measuring_time)]
    pub(crate) every: Span,
    /// Stop after this many runs [default: until it is interrupted]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) times: Option<u64>,
    /// Where to serve the newest run's numbers to Prometheus: an address of this machine's loopback
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9417", value_parser = loopback)]
    pub(crate) listen: SocketAddr,
    /// The measuring command with its options
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// There are no passwords at this port, so only users of this machine reach it.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "write an address and a port, as 127.0.0.1:9417".to_owned())?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err("only loopback (127.0.0.1, [::1]): everybody could read it elsewhere. Let Prometheus' own agent on this machine pass it on, or ssh".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_served() {
        for text in ["127.0.0.1:0", "[::1]:9417"] {
            assert!(loopback(text).is_ok(), "{text}");
        }
        for text in ["0.0.0.0:9417", "[::]:9417", "192.0.2.1:9417", "9417", "localhost:9417"] {
            assert!(loopback(text).is_err(), "{text}");
        }
    }
}
