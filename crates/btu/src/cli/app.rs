//! What may be written after `btu app`.

use btu_suite::app::{Carrier, Protocol, ProtocolError, Workload};
use btu_units::Span;
use clap::Args;

use super::{StudyOptions, quantity};

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
  btu app --resume latest                         finish an interrupted run

An application on one station sends the items of a picture to a display on another, which keeps and draws them. Every way
of doing that must leave the same picture, bit for bit, or it does not count.";

/// `btu app`.
#[derive(Debug, Args)]
pub(crate) struct App {
    #[command(flatten)]
    pub(crate) study: StudyOptions,
    /// Only these pictures: vectors, rectangles, structured-rectangles, text
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = workload)]
    pub(crate) workload: Vec<Workload>,
    /// Only these protocols: stop-and-wait, window-N, pipelined, batched, redraw, bitmap
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,
    /// What carries the requests: tcp, tcp-nagle, tls, quic, udp, http2 [default: tcp]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = carrier)]
    pub(crate) transport: Vec<Carrier>,
    /// The application's station [default: the one called `application`, else the last]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) application: Option<String>,
    /// The display's station [default: the one called `display`, else the first]
    #[arg(long, value_name = "STATION|HOST")]
    pub(crate) display: Option<String>,
    /// What the application computes for each item, beside making it
    #[arg(long, value_name = "TIME", default_value = "0 ms", value_parser = quantity::<Span>)]
    pub(crate) application_time: Span,
    /// What the display computes for each item, beside drawing it
    #[arg(long, value_name = "TIME", default_value = "0 ms", value_parser = quantity::<Span>)]
    pub(crate) display_time: Span,
}

fn workload(text: &str) -> Result<Workload, String> {
    named(text, "picture", &Workload::ALL, Workload::name)
}

fn protocol(text: &str) -> Result<Protocol, String> {
    text.parse().map_err(|error: ProtocolError| error.to_string())
}

fn carrier(text: &str) -> Result<Carrier, String> {
    named(text, "transport", &Carrier::ALL, Carrier::name)
}

/// The one of `all` that is called so.
pub(super) fn named<T: Copy>(text: &str, what: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T, String> {
    all.iter().copied().find(|one| name(*one) == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        format!("there is no {what} `{text}`; there are {}", names.join(", "))
    })
}
