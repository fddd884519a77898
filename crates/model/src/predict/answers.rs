//! The content of a prediction: plain data for tables, charts, workbooks and JSON.
//!
//! Times are seconds, rates per second, sizes bits or octets as the names say. A number that can
//! have no value is an [`Answer`]: past saturation it is missing, never negative and never
//! infinite.

use serde::Serialize;

use super::formula::Formula;
use crate::answer::{Answer, Warning};

/// The closed forms' prediction for a network while all its traffic is on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// The name of the network.
    pub network: String,
    /// Warnings about the prediction, most severe first.
    pub warnings: Vec<PredictionWarning>,
    /// One for each segment, in the drawing's order.
    pub segments: Vec<SegmentPrediction>,
    /// Two for each link, forth and back, in the drawing's order.
    pub links: Vec<LinePrediction>,
    /// One for each bridge, in the drawing's order.
    pub bridges: Vec<BridgePrediction>,
    /// One for each flow, in the drawing's order.
    pub flows: Vec<FlowPrediction>,
    /// The transfer that was asked for.
    pub transfer: Option<TransferPrediction>,
    /// The closed forms that were used, each with its source.
    pub formulas: Vec<Reference>,
}

/// A warning about a prediction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PredictionWarning {
    /// The place that it concerns: `segments.ether`, `links.trunk`, `traffic.file`.
    pub place: String,
    /// The kind of the warning.
    pub warning: Warning,
    /// The observation, and its meaning.
    pub message: String,
}

/// A closed form and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// The closed form itself.
    pub formula: Formula,
    /// Its name.
    pub name: &'static str,
    /// The publication that the closed form comes from.
    pub source: &'static str,
    /// Its assumptions.
    pub assumptions: &'static str,
}

/// What a segment is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MediumKind {
    /// A shared Ethernet as IEEE 802.3 has it.
    SharedEthernet,
    /// A shared Ethernet with ideal contention.
    IdealEthernet,
    /// A switch with Ethernet lines.
    SwitchedEthernet,
    /// A token ring (IEEE 802.5).
    TokenRing,
    /// An FDDI ring.
    Fddi,
    /// A switch with lines that carry cells.
    Atm,
}

/// How a shared Ethernet's formula treats packet sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketSizes {
    /// As they are drawn.
    Drawn,
    /// All have the mean size, as in the CITI study. A mix of sizes takes longer: half a per cent
    /// in its light case, 1.3 in the heavy one.
    Mean,
}

/// One submodel: a segment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SegmentPrediction {
    /// The name of the segment.
    pub name: String,
    /// The key it was drawn under.
    pub group: String,
    /// What it is made of.
    pub medium: MediumKind,
    /// The closed form of its delay.
    pub formula: Formula,
    /// The rate of the medium; of a star, of the busiest line.
    pub rate_bits_per_second: f64,
    /// One way from end to end of a cable; once around a ring; of the busiest line of a star.
    pub propagation_seconds: f64,
    /// Stations and bridges on it.
    pub stations: u32,
    /// How a ring is used; none for other media.
    pub ring: Option<RingUse>,
    /// How the formula treats packet sizes.
    pub packet_sizes: PacketSizes,
    /// Kinds of frames that pass over it.
    pub kinds: Vec<FrameKind>,
    /// Frames per second that pass over it, each counted once.
    pub offered_packets_per_second: f64,
    /// Bits per second of these frames, from destination address to check sequence.
    pub offered_bits_per_second: f64,
    /// Their mean size in bits, from destination address to check sequence; none without traffic.
    pub mean_packet_bits: Option<f64>,
    /// Share of time in frames' own bits; of a star, on the busiest line. Above one where more is
    /// offered than there is.
    pub utilisation_data: Answer,
    /// Share of time in frames and all their overhead: contention and collisions of a shared
    /// Ethernet (lambda S1), preambles, gaps, cells, tokens.
    pub utilisation_data_and_collisions: Answer,
    /// The largest possible share of time in frames' own bits with these sizes: 1 / (1 + 6.44 a)
    /// and its like.
    pub effective_throughput: Answer,
    /// Mean time until the medium is free for the frame; of a star, on the busiest line.
    pub waiting_seconds: Answer,
    /// Mean time of all frames from being ready at the sender (or bridge) to the last bit at the
    /// receiver.
    pub delay_seconds: Answer,
    /// A star's lines that carry frames; equal lines are listed once. Empty for other media.
    pub lines: Vec<LinePrediction>,
}

/// The use of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RingUse {
    /// Stations and bridges that send.
    pub senders: u32,
    /// The share of the ring from a frame's sender to its receiver, in the mean.
    pub way: f64,
}

/// Frames of one flow at one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FrameKind {
    /// The name of the flow that the frames belong to.
    pub flow: String,
    /// Whether these are replies.
    pub reply: bool,
    /// The number of these frames per second.
    pub packets_per_second: f64,
    /// Mean size from destination address to check sequence, in bits.
    pub mean_packet_bits: f64,
    /// Mean time that one occupies the medium, preamble, gap and the like included.
    pub mean_seconds: f64,
    /// Second moment of that time, in seconds squared.
    pub second_moment_seconds2: f64,
}

/// One direction of a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinePrediction {
    /// Its name: `trunk forth`, or the station's and the direction, `host-1 up`.
    pub name: String,
    /// The number of equal lines, this one included.
    pub alike: u32,
    /// The closed form of its wait.
    pub formula: Formula,
    /// The rate of the line, in bits per second.
    pub rate_bits_per_second: f64,
    /// The propagation delay of the line, in seconds.
    pub propagation_seconds: f64,
    /// Kinds of frames that pass over it.
    pub kinds: Vec<FrameKind>,
    /// Frames per second that are offered to the line.
    pub offered_packets_per_second: f64,
    /// Their mean size in bits, from destination address to check sequence; none without traffic.
    pub mean_packet_bits: Option<f64>,
    /// Share of time in frames' own bits.
    pub utilisation_data: Answer,
    /// Share of time in everything that frames occupy; stable below one.
    pub utilisation: Answer,
    /// Mean wait for the line.
    pub waiting_seconds: Answer,
    /// Mean time from the queue to the last bit at the other end.
    pub delay_seconds: Answer,
    /// Share of frames that find its queue full, and are dropped.
    pub overflow: f64,
}

/// One submodel: a bridge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BridgePrediction {
    /// The name of the bridge.
    pub name: String,
    /// The key it was drawn under.
    pub group: String,
    /// Frames per second that it forwards; one that goes to several ports counts for each.
    pub forwarded_packets_per_second: f64,
    /// From a frame's last bit until it waits for the next medium. The wait itself is the medium's
    /// or the line's.
    pub latency_seconds: f64,
}

/// The results of one flow; means over its senders and targets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowPrediction {
    /// The name of the flow.
    pub name: String,
    /// The number of stations that send the flow.
    pub senders: u32,
    /// Frames (or requests) per second of each sender. For senders that wait for replies or always
    /// have another frame it is a result, not an input.
    pub packets_per_second_each: Answer,
    /// Mean size from destination address to check sequence, in bits.
    pub mean_packet_bits: f64,
    /// Segments and links that a frame passes, in the mean.
    pub hops: f64,
    /// Mean time from being ready at the sender to the last bit at the receiver.
    pub delay_seconds: Answer,
    /// Mean time from request to reply, with the server's time; of flows that wait for replies
    /// only.
    pub response_seconds: Option<Answer>,
    /// Share of frames that arrive, where links lose some at random or find a queue full.
    pub arriving_share: f64,
    /// Bits per second that arrive, from destination address to check sequence, of all senders
    /// together.
    pub carried_bits_per_second: Answer,
}

/// A transfer of a file between two stations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferPrediction {
    /// The file's size in octets.
    pub size_bytes: f64,
    /// By a TCP connection that always has more to send.
    pub bulk: BulkTransfer,
    /// By the rule of the CITI study of 1989, where the file declares the rate at which software
    /// makes packets.
    pub paced: Option<PacedTransfer>,
}

/// A transfer by one TCP connection, next to the traffic of others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BulkTransfer {
    /// The station that sends the file.
    pub from: String,
    /// The station that gets it.
    pub to: String,
    /// The drawn flow in whose place the transfer is: it does not count as traffic of others.
    pub replaces: Option<String>,
    /// The time from the first packet of the connection to the last octet at the receiver.
    pub seconds: Answer,
    /// On a recorded link: the least and the most over the moments at which it may begin; `seconds`
    /// is their median.
    pub by_start: Option<[f64; 2]>,
    /// When what limits it longest begins: 0, or the time of a change of a link.
    pub limited_from_seconds: f64,
    /// The same if nothing else used the network.
    pub alone_seconds: Answer,
    /// The same by a congestion control that does not slow down for random loss, such as BBR; only
    /// where loss limits. A least time above the loss that BBR bears.
    pub despite_loss_seconds: Option<Answer>,
    /// The same if all others gave way as TCP does; only where they leave nothing.
    pub shared_seconds: Option<Answer>,
    /// Payload at the receiver, once the connection has its speed.
    pub goodput_bits_per_second: Answer,
    /// The same for the path, if neither window nor loss limited.
    pub path_bits_per_second: Answer,
    /// Round trip of a full segment and its acknowledgement next to the others' traffic.
    pub round_trip_seconds: f64,
    /// A full segment's part of it.
    pub one_way_seconds: f64,
    /// The window that fills the path, in octets of payload.
    pub filling_window_bytes: f64,
    /// Payload of a full segment.
    pub segment_bytes: f64,
    /// Why a real transfer may take longer.
    pub warnings: Vec<TransferWarning>,
    /// Share of the segments that are lost at random, or damaged.
    pub loss: f64,
    /// The slowest part of the path.
    pub bottleneck: Bottleneck,
    /// What limits the transfer.
    pub limit: BulkLimit,
    /// What a simulation of the same transfer gave, if there was one.
    pub simulated: Option<SimulatedTransfer>,
}

/// The part of a path that is full first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bottleneck {
    /// The name of the segment or link.
    pub name: String,
    /// The rate of the medium or line.
    pub rate_bits_per_second: f64,
    /// Share of its time that the traffic of others takes.
    pub others: f64,
}

/// Why a real transfer may take longer than the formula's or the simulator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferWarning {
    /// Data and acknowledgements collide on a shared Ethernet. The formula leaves it out.
    Collisions,
    /// Losses come in bursts, in which what is sent again is lost, too. The formula leaves it out.
    LossBursts,
    /// The queue at the slowest part holds less than a round trip, or drops frames before it holds
    /// one. The formula leaves it out, and the simulator that real senders send in bursts.
    ShortQueue,
    /// Frames are held back until others have overtaken them. It counts as no loss, as on Linux.
    Reordering,
    /// Other senders always have another frame. An even share is a least time.
    SaturatedOthers,
    /// The delay of a link grows meanwhile.
    GrowingDelay,
}

/// What limits a transfer by TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BulkLimit {
    /// The path's slowest part.
    Path,
    /// The connection's window.
    Window,
    /// Reno's answer to random loss.
    Loss,
}

/// The time of a transfer by simulation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SimulatedTransfer {
    /// The median of the simulated transfers, in seconds.
    pub seconds: f64,
    /// The quickest and the slowest of them.
    pub range: [f64; 2],
    /// How many were simulated.
    pub transfers: u32,
    /// Of these, the ones that had not ended when they were given up. They count with that time.
    pub unfinished: u32,
}

/// A transfer at the rate at which the software of a flow's sender makes packets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PacedTransfer {
    /// The flow that carries it.
    pub flow: String,
    /// The rate at which its software makes packets, as the file declares it.
    pub packets_per_second: f64,
    /// Packets: its bits over the mean packet's. All of a packet counts, as in the CITI study.
    pub packets: f64,
    /// *Simple delay*: packets over the rate at which the software makes them.
    pub simple_seconds: f64,
    /// The submodel with the longest per-packet delay on the path: the segment's or link's name.
    pub bottleneck: Option<String>,
    /// Mean per-packet delay there.
    pub packet_delay_seconds: Answer,
    /// *Aggregate delay*: packets times that delay, and once the delay of the rest of the path.
    pub aggregate_seconds: Answer,
    /// The larger of the two.
    pub seconds: Answer,
    /// Which of the two is the larger.
    pub limit: TransferLimit,
    /// The rate of another flow at which the aggregate delay overtakes the simple one.
    pub overtaken: Option<Crossing>,
}

/// What limits a transfer at a declared rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferLimit {
    /// The rate at which packets are made.
    Software,
    /// The networks may differ.
    Network,
    /// The network, which is saturated: the transfer has no mean time.
    Saturated,
}

/// The point at which one delay overtakes another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Crossing {
    /// The flow with the changed rate.
    pub flow: String,
    /// Its frames per second of each sender, from which on the network limits.
    pub packets_per_second: f64,
    /// The first whole number at or above it.
    pub whole_packets_per_second: f64,
}

/// The caller's options in addition to the drawing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// A file transfer to predict as well; absent when none is asked for.
    pub transfer: Option<Transfer>,
    /// How the formula of shared Ethernets treats packet sizes. `None` means as drawn, but their
    /// mean on an Ethernet with ideal contention, which is the CITI study's own network.
    pub sizes: Option<PacketSizes>,
}

/// The file transfer to predict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transfer {
    /// The size of the file that is transferred.
    pub size: btu_units::Bytes,
    /// The drawn flow in whose place the transfer is, and whose rate is its software's: the one
    /// called `file` with a rate, else a flow from the one station to the other and to no more.
    pub flow: Option<String>,
    /// The station that sends the file: the flow's first sender, else the first flow's, else the
    /// first station.
    pub from: Option<String>,
    /// The station that gets it: the flow's first target, else the first flow's, else the last
    /// station.
    pub to: Option<String>,
    /// The window of the connection, in octets of payload; without one it never limits.
    pub window: Option<btu_units::Bytes>,
    /// The flow with the rate that is changed to find the point from which the network limits: the
    /// one called `background`, else the last other one with a rate.
    pub against: Option<String>,
}
