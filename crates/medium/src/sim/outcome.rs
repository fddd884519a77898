//! The combined result of all replications.

use btu_network::{Drawing, Medium};
use btu_stats::{Estimate, Level};
use btu_units::BitRate;
use serde::Serialize;

use super::replication::{Accounts, Replication};
use super::sample::Sample;
use super::settings::{Settings, mean_rate};
use super::warning::{self, SimulationWarning};

/// The confidence level of all intervals.
pub(super) const LEVEL: Level = Level::P95;

/// The result of a simulation. Rates are per second of virtual time, times in seconds, shares of 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The name of the network.
    pub network: String,
    /// The description of the network.
    pub about: String,
    /// The length and the number of replications.
    pub settings: Settings,
    /// The confidence level of all intervals.
    pub confidence: f64,
    /// Warnings about the figures.
    pub warnings: Vec<SimulationWarning>,
    /// Segments in the drawing's order, then each direction of each link.
    pub media: Vec<MediumOutcome>,
    /// The flows in the drawing's order.
    pub flows: Vec<FlowOutcome>,
    /// Jain's index (1984) over the rates that each sending station delivered: 1 when all got as
    /// much, 1/n when one got all. Absent with fewer than two.
    pub fairness: Option<Estimate>,
    /// The stations in the drawing's order.
    pub stations: Vec<StationOutcome>,
    /// Frames of all replications; verified.
    pub accounts: Accounts,
}

/// What a segment, or one direction of a link, carried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MediumOutcome {
    /// Its name; `link/forth` and `link/back` for links.
    pub name: String,
    /// Its medium, as in the network file; `link` for links.
    pub medium: &'static str,
    /// Its rate; of a star that of a line down, of a trace the mean.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
    /// How many lines side by side the shares are of: 1 for a shared medium.
    pub lines: u32,
    /// Share of time in which octets of frames that arrived were sent, from destination address to
    /// check sequence.
    pub data: Estimate,
    /// Like `data`, with time spoilt by collisions.
    pub data_and_collisions: Estimate,
    /// Like `data_and_collisions`, with preambles, gaps, padding, cell headers and the like.
    pub busy: Estimate,
    /// Bits of frames that were carried; of a star each once.
    pub goodput_bits_per_second: Estimate,
    /// Frames that were carried; of a star each once.
    pub frames_per_second: Estimate,
    /// Collisions, however many stations took part; absent where there cannot be any.
    pub collisions_per_second: Option<Estimate>,
}

/// The results of a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowOutcome {
    /// The name of the flow.
    pub name: String,
    /// How many stations send it.
    pub senders: u32,
    /// Frames per second that the flow's senders handed over.
    pub offered_frames_per_second: Estimate,
    /// Bits per second that the flow's senders handed over.
    pub offered_bits_per_second: Estimate,
    /// Frames per second that arrived at their destination.
    pub delivered_frames_per_second: Estimate,
    /// Bits per second of the frames that arrived at their destination.
    pub goodput_bits_per_second: Estimate,
    /// Delays of frames that arrived; of a flow with exchanges those of requests and replies alike.
    /// Absent when none did.
    pub delay: Option<DelayOutcome>,
    /// Exchanges of a flow that has them.
    pub exchanges: Option<ExchangeOutcome>,
    /// The lost frames, by cause.
    pub drops: Vec<DropOutcome>,
    /// Copies that arrived beyond the first, in all replications.
    pub duplicates: u64,
    /// As [`Outcome::fairness`], over the flow's senders.
    pub fairness: Option<Estimate>,
    /// Frames that arrived, in all replications.
    pub delivered_frames: u64,
}

/// A distribution of delays, in seconds; each figure is computed in each replication, then
/// averaged over them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelayOutcome {
    /// The mean delay, in seconds.
    pub mean: Estimate,
    /// The standard deviation of the delay, in seconds.
    pub deviation: Estimate,
    /// The median of the delay, in seconds.
    pub p50: Estimate,
    /// The 99th percentile of the delay, in seconds.
    pub p99: Estimate,
    /// The longest delay of all replications.
    pub longest: f64,
}

/// Exchanges of a closed flow: from the request's hand-over until the reply's arrival.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExchangeOutcome {
    /// How many were finished.
    pub per_second: Estimate,
    /// How long they took; absent when none was finished.
    pub took: Option<DelayOutcome>,
}

/// Frames lost for one cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DropOutcome {
    /// The cause as accounts name it.
    pub cause: &'static str,
    /// The number of frames lost for this cause, in all replications together.
    pub frames: u64,
    /// Of all frames that ended.
    pub share: Estimate,
}

/// A station's figures, means over the replications.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StationOutcome {
    /// The name of the station.
    pub name: String,
    /// Frames it handed over.
    pub sent_frames_per_second: f64,
    /// Frames of these that arrived.
    pub delivered_frames_per_second: f64,
    /// Bits of these that arrived.
    pub goodput_bits_per_second: f64,
    /// Their mean delay; absent when none arrived.
    pub delay_mean: Option<f64>,
    /// Share of frames that ended that were lost; absent when none ended.
    pub lost: Option<f64>,
    /// Frames that arrived at it and were for it.
    pub received_frames_per_second: f64,
}

impl Outcome {
    /// The combined figures of `replications` of `drawing` with `settings`. Without replications
    /// every figure is 0.
    pub fn of(drawing: &Drawing, settings: &Settings, replications: &[Replication]) -> Self {
        let sample = Sample { settings, replications };
        let media = media(drawing);
        let media: Vec<_> = (0..)
            .zip(media)
            .map(|(place, (name, medium, rate))| sample.medium(place, name, medium, rate))
            .collect();
        let flows: Vec<_> = (0..drawing.traffic.len())
            .map(|place| sample.flow(place, &drawing.traffic[place]))
            .collect();
        let senders: Vec<usize> = sending_stations(drawing);
        let accounts = replications
            .iter()
            .fold(Accounts::default(), |accounts, next| accounts.combined_with(next.accounts));
        let mut outcome = Self {
            network: drawing.name.clone(),
            about: drawing.about.clone(),
            settings: *settings,
            confidence: LEVEL.share(),
            warnings: Vec::new(),
            media,
            flows,
            fairness: sample.fairness(&senders),
            stations: (0..)
                .zip(&drawing.stations)
                .map(|(place, station)| sample.station(place, &station.name))
                .collect(),
            accounts,
        };
        outcome.warnings = warning::all(drawing, &outcome, replications);
        outcome
    }
}

/// Stations that send anything by themselves, ascending.
fn sending_stations(drawing: &Drawing) -> Vec<usize> {
    let mut sends = vec![false; drawing.stations.len()];
    for station in drawing.traffic.iter().flat_map(|flow| &flow.from) {
        sends[station.0 as usize] = true;
    }
    (0..sends.len()).filter(|&station| sends[station]).collect()
}

/// Names, kinds and rates in the order of the fabric's meters.
fn media(drawing: &Drawing) -> Vec<(String, &'static str, BitRate)> {
    let segments = drawing.segments.iter().map(|segment| {
        let (kind, rate) = match &segment.medium {
            Medium::SharedEthernet(ethernet) => ("shared-ethernet", ethernet.rate),
            Medium::SwitchedEthernet(star) => ("switched-ethernet", mean_rate(&star.down.rate)),
            Medium::TokenRing(ring) => ("token-ring", ring.rate),
            Medium::Fddi(ring) => ("fddi", ring.rate),
            Medium::Atm(atm) => ("atm", mean_rate(&atm.star.down.rate)),
        };
        (segment.name.clone(), kind, rate)
    });
    let links = drawing.links.iter().flat_map(|link| {
        [("forth", &link.forth), ("back", &link.back)].map(|(way, direction)| {
            (format!("{}/{way}", link.name), "link", mean_rate(&direction.rate))
        })
    });
    segments.chain(links).collect()
}
