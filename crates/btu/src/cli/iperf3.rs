//! The arguments of `btu iperf3`.

use btu_units::Span;
use clap::Args;
use clap::builder::UnknownArgumentValueParser;

use super::quantity;

pub(crate) const EXAMPLES: &str = "\
Examples:
  btu iperf3 --server                             clients on this machine: iperf3 -c 127.0.0.1
  btu iperf3 --server --listen 0.0.0.0            clients on every network of this host
  btu iperf3 --server --listen [::]:5202 --json   another port, IPv6 too; a line of JSON for each test
  btu iperf3 --server --one-off                   exit after one test
  btu runs; btu show last                         the tests are kept as runs, if --no-store is not given
  btu iperf3 --server --exclusive                 one test at a time, as iperf3's own server

Any client can use it, without a key: listen only on networks whose clients you trust. Ctrl-C ends
it and its tests. What it can do, and where it differs from iperf3: docs/iperf3.md";

/// The arguments of `btu iperf3`.
#[derive(Debug, Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "flags of the command line, which are independent"
)]
pub(crate) struct Iperf3 {
    /// Serve iperf3 clients until a signal arrives
    #[arg(long, short, required = true)]
    pub(crate) server: bool,
    /// Address on which to listen for TCP and UDP [default: 127.0.0.1, port 5201]
    #[arg(long, value_name = "ADDR[:PORT]")]
    pub(crate) listen: Option<String>,
    /// Options of iperf3's server, which are answered with a tip.
    #[arg(
        long = "port", short = 'p', hide = true, value_name = "PORT",
        value_parser = UnknownArgumentValueParser::suggest_arg("--listen ADDR:PORT")
    )]
    _port: Option<String>,
    #[arg(
        long = "daemon", short = 'D', hide = true, num_args = 0, default_missing_value = "",
        value_parser = UnknownArgumentValueParser::suggest("`&` after the command, or a service of systemd, runs it in the background")
    )]
    _daemon: Option<String>,
    /// Run one test at a time, and answer other clients that the server is busy
    #[arg(long)]
    pub(crate) exclusive: bool,
    /// Exit after one test
    #[arg(long, short = '1')]
    pub(crate) one_off: bool,
    /// Only print the tests, without storing them as runs
    #[arg(long)]
    pub(crate) no_store: bool,
    /// Refuse tests that would take longer
    #[arg(long, value_name = "TIME", default_value = "1 h", value_parser = quantity::<Span>)]
    pub(crate) most_time: Span,
}
