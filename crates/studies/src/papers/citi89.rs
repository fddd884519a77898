//! CITI report 89-4 (1989): copying large files over one Ethernet; the network model of Figures 9
//! to 11, rebuilt.
//!
//! The only scan of the report is damaged: the table has those digits in the place of unreadable
//! ones that fit all others. Every number of its model follows from `btu_model`'s shared cable with
//! one size for all packets, the weighted mean, and a propagation delay of 5.12 us. A transfer
//! takes its packets' delays one after the other (aggregate) or its packets at 60 a second
//! (simple), whichever is longer; they are not added.

mod claims;
#[cfg(test)]
mod tests;

use btu_model::{FrameTimes, SharedCable, single_queue};
use serde::Serialize;

use super::{Claim, ReferencePoint};

/// One way over the whole cable, in seconds: the value that gives both printed delays.
const PROPAGATION: f64 = 5.12e-6;

/// Background traffic of Figure 11, in packets per second, up to the crossing.
const FIGURE_11: [f64; 7] = [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 1034.0];

/// Everything about the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Citi89History {
    /// Figures 9 and 10.
    pub cases: Vec<Case>,
    /// Figure 11: a file of 20 megabytes.
    pub transfers: Vec<Transfer>,
    /// The least background, in packets per second, at which the network, not the sender, limits a
    /// transfer.
    pub crossing_packets_per_second: u32,
    /// The report's statements, compared with its model.
    pub claims: Vec<Claim>,
}

/// One case of the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    /// The name of the case.
    pub name: &'static str,
    /// Background packets per second.
    pub background_packets_per_second: f64,
    /// As printed: delay per packet, seconds.
    pub printed_delay_seconds: f64,
    /// The shared cable's answer.
    pub delay_seconds: f64,
    /// The delay in a queue with packets of one size (M/D/1), which the report did not use.
    pub fixed_queue_seconds: f64,
    /// The delay in a queue with exponential sizes (M/M/1), which the report did not use either.
    pub exponential_queue_seconds: f64,
    /// All traffic, bits per second.
    pub traffic_bits_per_second: f64,
    /// Weighted mean of the packets' sizes, bits.
    pub mean_packet_bits: f64,
    /// Share of the network's rate in data, as printed, or as it fits the other numbers.
    pub printed_utilization: f64,
    /// The share of the network's rate in data, recomputed.
    pub utilization: f64,
    /// Share of time in packets, propagation and contention.
    pub utilization_with_collisions: f64,
    /// A file of 100 megabytes, as fast as the network takes its packets.
    pub aggregate_seconds: f64,
    /// Like `aggregate_seconds`, as fast as the sender makes them.
    pub simple_seconds: f64,
}

/// The transfer of a file of 20 megabytes while background traffic runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Transfer {
    /// Background packets per second.
    pub background_packets_per_second: f64,
    /// As fast as the network takes its packets.
    pub aggregate_seconds: f64,
    /// As fast as the sender makes them.
    pub simple_seconds: f64,
}

/// Packets per second and bits of a kind of station.
#[derive(Debug, Clone, Copy)]
struct StationTraffic {
    packets_per_second: f64,
    bits: f64,
}

/// One line of the report's model.
struct Printed {
    name: &'static str,
    sender: StationTraffic,
    receiver: StationTraffic,
    background: StationTraffic,
    rate: f64,
    delay: f64,
    utilization: f64,
}

/// Figures 9 and 10.
const MODEL: [Printed; 2] = [
    Printed {
        name: "contention-free",
        sender: StationTraffic { packets_per_second: 60.0, bits: 11_680.0 },
        receiver: StationTraffic { packets_per_second: 10.0, bits: 1104.0 },
        background: StationTraffic { packets_per_second: 0.0, bits: 8376.0 },
        rate: 1e7,
        delay: 0.001_066_715_84,
        utilization: 0.0712,
    },
    Printed {
        name: "heavy contention",
        sender: StationTraffic { packets_per_second: 60.0, bits: 11_680.0 },
        receiver: StationTraffic { packets_per_second: 10.0, bits: 1104.0 },
        background: StationTraffic { packets_per_second: 1034.0, bits: 8376.0 },
        rate: 1e7,
        delay: 0.017_112,
        utilization: 0.9373,
    },
];

impl Printed {
    /// Returns this network with other background traffic.
    fn cable(&self, background: f64) -> SharedCable {
        let flows = [
            self.sender,
            self.receiver,
            StationTraffic { packets_per_second: background, ..self.background },
        ];
        let packets: f64 = flows.iter().map(|flow| flow.packets_per_second).sum();
        let bits: f64 = flows.iter().map(|flow| flow.packets_per_second * flow.bits).sum();
        SharedCable {
            rate: packets,
            times: FrameTimes::fixed(bits / packets / self.rate),
            propagation: PROPAGATION,
        }
    }

    fn delay(&self, background: f64) -> f64 {
        self.cable(background).delay().value.unwrap_or(f64::INFINITY)
    }

    fn packets(&self, megabytes: f64) -> f64 {
        megabytes * 8e6 / self.sender.bits
    }

    fn aggregate(&self, megabytes: f64, background: f64) -> f64 {
        self.packets(megabytes) * self.delay(background)
    }

    fn simple(&self, megabytes: f64) -> f64 {
        self.packets(megabytes) / self.sender.packets_per_second
    }

    fn case(&self) -> Case {
        let background = self.background.packets_per_second;
        let cable = self.cable(background);
        let time = cable.times.mean();
        let queue = |waiting: btu_model::Answer| time + waiting.value.unwrap_or(f64::INFINITY);
        Case {
            name: self.name,
            background_packets_per_second: background,
            printed_delay_seconds: self.delay,
            delay_seconds: self.delay(background),
            fixed_queue_seconds: queue(single_queue::waiting_of_fixed(cable.rate, time)),
            exponential_queue_seconds: queue(single_queue::waiting_of_exponential(
                cable.rate, time,
            )),
            traffic_bits_per_second: cable.data() * self.rate,
            mean_packet_bits: time * self.rate,
            printed_utilization: self.utilization,
            utilization: cable.data(),
            utilization_with_collisions: cable.data_and_collisions(),
            aggregate_seconds: self.aggregate(100.0, background),
            simple_seconds: self.simple(100.0),
        }
    }

    fn crossing(&self) -> u32 {
        let limited =
            |background: &u32| self.aggregate(100.0, f64::from(*background)) > self.simple(100.0);
        (0..2000).find(limited).unwrap_or(2000)
    }
}

/// Recomputes all numbers of the report's model (Figures 9 to 11).
pub fn history() -> Citi89History {
    let cases: Vec<Case> = MODEL.iter().map(Printed::case).collect();
    let crossing = MODEL[1].crossing();
    let transfer = |background| Transfer {
        background_packets_per_second: background,
        aggregate_seconds: MODEL[1].aggregate(20.0, background),
        simple_seconds: MODEL[1].simple(20.0),
    };
    let claims = claims::all(&MODEL[1], &cases, crossing);
    Citi89History {
        transfers: FIGURE_11.map(transfer).to_vec(),
        crossing_packets_per_second: crossing,
        claims,
        cases,
    }
}

/// Figure 11's two curves, and the two printed delays.
pub(super) fn reference_points() -> Vec<ReferencePoint> {
    let history = history();
    let point = |label, background, y, source| ReferencePoint {
        label,
        x: Some(background),
        x_unit: "background packets/s",
        y,
        unit: "seconds",
        source,
    };
    let [aggregate, simple]: [fn(&Transfer) -> f64; 2] =
        [|one| one.aggregate_seconds, |one| one.simple_seconds];
    let curve = |label, of: fn(&Transfer) -> f64| {
        history.transfers.iter().map(move |one| {
            point(
                label,
                one.background_packets_per_second,
                of(one),
                "figure 11, recomputed by its model",
            )
        })
    };
    let delays = history.cases.iter().map(|case| {
        point(
            "delay per packet",
            case.background_packets_per_second,
            case.printed_delay_seconds,
            "figures 9 and 10",
        )
    });
    delays
        .chain(curve("20 MB, as fast as the network takes it", aggregate))
        .chain(curve("20 MB, as fast as the sender makes it", simple))
        .collect()
}
