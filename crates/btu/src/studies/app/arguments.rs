//! The arguments of `btu app`.

use std::path::PathBuf;

use btu_contract::app::{
    Broadcasts, BroadcastsError, Carrier, Mix, MixError, Protocol, ProtocolError, Slowing, Speed,
    Workload,
};
use btu_studies::app::Factor;
use btu_units::Span;
use clap::Args;

use crate::cli::{StudyOptions, TimeLimit, quantity};

const EXAMPLES: &str = "\
Examples:
  btu app                                         every protocol; 10 Mb/s, 5 ms of delay
  btu app --network '100 Mb/s' --delay '100 ms'   each at 200 ms of round trip
  btu app --network arpanet --application vax --display workstation
                                                  on stations of a network file
  btu app --protocol stop-and-wait,window-4,window-16 --transport tcp,tcp-nagle
  btu app --display-time '2 ms'                   with a display that takes 2 ms for each item
  btu app --hosts lab.toml --application alpha --display beta
                                                  between real hosts
  btu app --network telephone --application host --display terminal-2400,terminal-9600
                                                  on several lines, one after the other
  btu app --factors                               rank processors, protocol, transport, rate,
                                                  delay and picture
  btu app --factors protocol=stop-and-wait..window-8,delay='10 ms..200 ms',rate='1 Mb/s..50 Mb/s'
  btu app --mix calls=20,fan-out=4,request='300 B',response='4 kB',think='10 ms' --display-time '1 ms'
                                                  a client of an HTTP API: requests one by one,
                                                  some or all at once
  btu app --network ethernet-shared-10 --transport tcp,relay --relay host-3
                                                  what a relay on a third station costs
  btu app --broadcasts 0/s,1000/s                 the cost of another station's broadcasts
  btu app --within '100 ms' --at-least 5000/s     how many round trips are allowed, how much
                                                  bandwidth is needed
  btu app --x11                                   the same pictures as requests to an X server
  btu app --paper                                 the tables of the study of 1985, repeated
  btu app --resume latest                         finish an interrupted run

An application on one station sends the items of a picture to a display on another, which keeps
and draws them. Every way of doing that must leave the same picture, bit for bit, or it does not
count.";

/// Measure what an application on one host and its display on another get from a network, with
/// every protocol
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct App {
    #[command(flatten)]
    pub(crate) study: StudyOptions,
    #[command(flatten)]
    pub(crate) limit: TimeLimit,
    /// Only these pictures: vectors, rectangles, structured-rectangles, text
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Workload::named)]
    pub(crate) workload: Vec<Workload>,
    /// Only these protocols: stop-and-wait, window-N, pipelined, construction, batched, redraw,
    /// bitmap
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,
    /// What carries the requests: tcp, tcp-nagle, tls, quic, udp, http2, relay, ssh, x11, x11perf,
    /// unix, in-process [default: tcp]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Carrier::named)]
    pub(crate) transport: Vec<Carrier>,
    /// Draw on an X server (Xvfb) at the display's station, too, and run the tests of x11perf there
    /// that come closest: `--transport ...,x11,x11perf`
    #[arg(long, conflicts_with_all = ["paper", "factors", "mix", "watch"])]
    pub(crate) x11: bool,
    /// Repeat the tables of the study of 1985: its pictures, protocols, lines (the library's
    /// stanford-1985) and shares of processor speed, in ten blocks of some 14 minutes;
    /// --workload, --protocol, --transport and --display choose parts of it
    #[arg(long, conflicts_with_all = ["network", "delay", "factors", "mix", "application", "relay"])]
    #[arg(conflicts_with_all = ["hosts", "ssh", "application_speed", "display_speed", "broadcasts"])]
    pub(crate) paper: bool,
    /// The application's station [default: the one called `application`, else the last]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) application: Option<String>,
    /// The display's station, or several [default: the one called `display`, else the first]
    #[arg(long, value_name = "STATION|HOST", value_delimiter = ',')]
    pub(crate) display: Vec<String>,
    /// Vary factors together (from five factors on, half of all combinations) and rank them by
    /// their share of the variance of the rates: display, application, protocol, transport, rate,
    /// delay, broadcasts, picture; levels can be given as in delay='1 ms..100 ms' [default: the first six]
    #[arg(long, value_name = "FACTOR[=LOW..HIGH]", value_delimiter = ',', value_parser = factor)]
    #[arg(num_args = 0..)]
    pub(crate) factors: Option<Vec<Factor>>,
    /// Shares of the application's processor speed, such as 100%,50%
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    pub(crate) application_speed: Vec<Speed>,
    /// Shares of the display's processor speed
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    pub(crate) display_speed: Vec<Speed>,
    /// How an end is made slower: dilation (it spins after each piece of its own work), quota (the
    /// kernel's deadline scheduler stops its thread for the rest of each 2 ms; for root only); btu
    /// does not set cpufreq or cpu.max, and says what to do instead
    #[arg(long, value_name = "NAME", default_value = "dilation", value_parser = slowing)]
    pub(crate) slow_by: SlowBy,
    /// Send your own requests instead of pictures: calls one after the other, each of fan-out
    /// requests, with a pause (think) in between, as in calls=20,fan-out=4,request='200
    /// B',response='2 kB',think='5 ms'
    #[arg(long, value_name = "PART=VALUE,...", value_parser = mix, conflicts_with = "workload")]
    pub(crate) mix: Option<Mix>,
    /// The station on which a relay runs, for `--transport relay` [default: the one called `relay`,
    /// else the first other station]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) relay: Option<String>,
    /// Broadcasts that a third station sends meanwhile, such as 0/s,1000/s; every host on the
    /// segment must receive and discard them
    #[arg(long, value_name = "NUMBER/s", value_delimiter = ',', value_parser = broadcasts)]
    pub(crate) broadcasts: Vec<Broadcasts>,
    /// The station that sends them [default: the one called `broadcaster`, else the first other
    /// station; on the line of --network RATE, one next to the application]
    #[arg(long, value_name = "STATION")]
    pub(crate) broadcaster: Option<String>,
    /// Draw what the display shows in the terminal, ten times a second while a cell runs
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) watch: bool,
    /// Write the first picture as a portable bitmap (PBM); every cell must produce it bit for bit
    #[arg(long, value_name = "FILE")]
    pub(crate) picture: Option<PathBuf>,
    /// Nice value of the application's process, from 0 to 19
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = clap::value_parser!(u8).range(0..=19))]
    pub(crate) application_nice: u8,
    /// Nice value of the display's process, from 0 to 19
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = clap::value_parser!(u8).range(0..=19))]
    pub(crate) display_nice: u8,
    /// Ask the closed form how many round trips a picture may have, to be complete within this time
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) within: Option<Span>,
    /// Ask the closed form how much bandwidth is needed to show this many items a second, such as
    /// 500/s
    #[arg(long, value_name = "NUMBER/s", value_parser = per_second)]
    pub(crate) at_least: Option<f64>,
    /// Time that the application computes for each item, in addition to making it [default: none;
    /// with --paper, what the study's host takes]
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) application_time: Option<Span>,
    /// Time that the display computes for each item, in addition to drawing it [default: none; with
    /// --paper, what the study's workstation takes]
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) display_time: Option<Span>,
}

/// How an end is made slower, of all ways that a user may know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlowBy {
    /// One that btu goes.
    Here(Slowing),
    /// The processors' frequency.
    Frequency,
    /// A control group's share of them.
    ControlGroup,
}

fn protocol(text: &str) -> Result<Protocol, String> {
    text.parse().map_err(|error: ProtocolError| error.to_string())
}

fn broadcasts(text: &str) -> Result<Broadcasts, String> {
    text.parse().map_err(|error: BroadcastsError| error.to_string())
}

/// Factors as they are written one after the other, or the default ones.
fn factor(text: &str) -> Result<Factor, String> {
    Factor::parse(text).map_err(|error| error.to_string())
}

fn slowing(text: &str) -> Result<SlowBy, String> {
    match text {
        "cpufreq" => Ok(SlowBy::Frequency),
        "cpu.max" => Ok(SlowBy::ControlGroup),
        _ => btu_contract::text::named(text, "way of slowing", &Slowing::ALL, Slowing::name)
            .map(SlowBy::Here),
    }
}

fn mix(text: &str) -> Result<Mix, String> {
    text.parse().map_err(|error: MixError| error.to_string())
}

/// A rate to be reached, such as 60/s.
fn per_second(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").and_then(|number| number.trim().parse::<f64>().ok());
    let rate = number.filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| {
        format!("`{text}` is not a number of items a second; write one such as 60/s")
    })
}
