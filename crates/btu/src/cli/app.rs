//! What may be written after `btu app`.

use std::path::PathBuf;

use btu_suite::app::{Carrier, Factor, Mix, MixError, Protocol, ProtocolError, Speed, Workload};
use btu_units::Span;
use clap::Args;

use super::{StudyOptions, TimeLimit, quantity};

pub(super) const EXAMPLES: &str = "\
Examples:
  btu app                                         every protocol over a line of 10 Mb/s, 5 ms away
  btu app --network '100 Mb/s' --delay '100 ms'   what 200 ms of round trip do to each
  btu app --network arpanet --application vax --display workstation
                                                  on stations of a network file
  btu app --protocol stop-and-wait,window-4,window-16 --transport tcp,tcp-nagle
  btu app --display-time '2 ms'                   with a display that takes 2 ms for each item
  btu app --hosts lab.toml --application alpha --display beta
                                                  between real hosts
  btu app --network telephone --application host --display terminal-2400,terminal-9600
                                                  on several lines, one after the other
  btu app --factors                               which matters most: processors, protocol, transport, rate or delay?
  btu app --factors protocol=stop-and-wait..window-8,delay='10 ms..200 ms',rate='1 Mb/s..50 Mb/s'
  btu app --mix calls=20,fan-out=4,request='300 B',response='4 kB',think='10 ms' --display-time '1 ms'
                                                  a client of an interface over HTTP: one by one, some or all at once
  btu app --network campus --transport tcp,relay --relay office-1
                                                  what a relay on a third station costs
  btu app --within '100 ms' --at-least 5000/s     how few round trips, how little bandwidth would do
  btu app --resume latest                         finish an interrupted run

An application on one station sends the items of a picture to a display on another, which keeps and draws them. Every way
of doing that must leave the same picture, bit for bit, or it does not count.";

/// `btu app`.
#[derive(Debug, Args)]
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
    /// What carries the requests: tcp, tcp-nagle, tls, quic, udp, http2, relay, unix, in-process
    /// [default: tcp]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Carrier::named)]
    pub(crate) transport: Vec<Carrier>,
    /// The application's station [default: the one called `application`, else the last]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) application: Option<String>,
    /// The display's station, or several [default: the one called `display`, else the first]
    #[arg(long, value_name = "STATION|HOST", value_delimiter = ',')]
    pub(crate) display: Vec<String>,
    /// Try factors together, half of all combinations from five on, and rank them by what of the
    /// rates' variance they make: display, application, protocol, transport, rate, delay, picture;
    /// with levels as in delay='1 ms..100 ms' [default: the first six]
    #[arg(long, value_name = "FACTOR[=LOW..HIGH]", value_delimiter = ',', value_parser = factor)]
    #[arg(num_args = 0..)]
    pub(crate) factors: Option<Vec<Factor>>,
    /// Shares of the application's processor speed, such as 100%,50%: it spins for the rest of the
    /// time
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    pub(crate) application_speed: Vec<Speed>,
    /// Shares of the display's processor speed
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    pub(crate) display_speed: Vec<Speed>,
    /// Instead of pictures, requests of your own: calls one after the other, of fan-out requests
    /// each, with think between; as in calls=20,fan-out=4,request='200 B',response='2 kB',think='5
    /// ms'
    #[arg(long, value_name = "PART=VALUE,...", value_parser = mix, conflicts_with = "workload")]
    pub(crate) mix: Option<Mix>,
    /// The station on which a relay runs, for `--transport relay` [default: the one called `relay`,
    /// else the first that is left]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) relay: Option<String>,
    /// Write the first picture, which every cell has to leave bit for bit, as PNG
    #[arg(long, value_name = "FILE")]
    pub(crate) picture: Option<PathBuf>,
    /// How much the application's process gives way to others of its host, from 0 to 19
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = clap::value_parser!(u8).range(0..=19))]
    pub(crate) application_nice: u8,
    /// How much the display's process gives way to others of its host, from 0 to 19
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = clap::value_parser!(u8).range(0..=19))]
    pub(crate) display_nice: u8,
    /// Ask the closed form how many round trips a picture may have to take no longer than this
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) within: Option<Span>,
    /// Ask the closed form how much bandwidth it takes to show so many items a second, such as
    /// 500/s
    #[arg(long, value_name = "NUMBER/s", value_parser = per_second)]
    pub(crate) at_least: Option<f64>,
    /// What the application computes for each item, beside making it
    #[arg(long, value_name = "TIME", default_value = "0 ms", value_parser = quantity::<Span>)]
    pub(crate) application_time: Span,
    /// What the display computes for each item, beside drawing it
    #[arg(long, value_name = "TIME", default_value = "0 ms", value_parser = quantity::<Span>)]
    pub(crate) display_time: Span,
}

fn protocol(text: &str) -> Result<Protocol, String> {
    text.parse().map_err(|error: ProtocolError| error.to_string())
}

/// Factors as they are written one after the other, or all of the usual ones.
fn factor(text: &str) -> Result<Factor, String> {
    Factor::parse(text).map_err(|error| error.to_string())
}

fn mix(text: &str) -> Result<Mix, String> {
    text.parse().map_err(|error: MixError| error.to_string())
}

/// A rate that is to be reached, such as 60/s.
fn per_second(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").and_then(|number| number.trim().parse::<f64>().ok());
    let rate = number.filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| format!("`{text}` is no number of items a second; write one such as 60/s"))
}
