//! CITI report 89-4 (1989): copying large files over one Ethernet; the network model of Figures 9
//! to 11, rebuilt.
//!
//! The only scan of the report is damaged: the table has those digits in the place of unreadable
//! ones that fit all others. Every number of its model follows from `btu_model`'s shared cable with
//! one size for all packets, the weighted mean, and a propagation delay of 5.12 us. A transfer
//! takes its packets' delays one after the other (aggregate) or its packets at 60 a second
//! (simple), whichever is longer; they are not added.

#[cfg(test)]
mod tests;

use btu_model::{FrameTimes, SharedCable};

use super::{PrintedTable, ReferencePoint};

/// One way over the whole cable, in seconds: the value that gives both printed delays.
const PROPAGATION: f64 = 5.12e-6;

/// The network's rate, in bits per second.
const RATE: f64 = 1e7;

/// Packets per second and bits of the sender, of the receiver's answers, and of the background,
/// whose rate differs.
const SENDER: (f64, f64) = (60.0, 11_680.0);
const RECEIVER: (f64, f64) = (10.0, 1104.0);
const BACKGROUND_BITS: f64 = 8376.0;

/// Background traffic of Figure 11, in packets per second, up to the crossing.
const FIGURE_11: [f64; 7] = [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 1034.0];

/// A case of the model, as printed: background packets per second, delay per packet in seconds,
/// and the share of the network's rate in data.
struct Case {
    background: f64,
    delay: f64,
    utilization: f64,
}

/// Figures 9 and 10: free of contention, and with heavy contention.
const CASES: [Case; 2] = [
    Case { background: 0.0, delay: 0.001_066_715_84, utilization: 0.0712 },
    Case { background: 1034.0, delay: 0.017_112, utilization: 0.9373 },
];

/// Figures 9 and 10 as printed.
pub(super) fn tables() -> Vec<PrintedTable> {
    let mut table =
        PrintedTable::new("Figures", "9 and 10", &["contention-free", "heavy contention"]);
    let [light, heavy] = &CASES;
    let rows: [(&str, &str, f64, f64); 8] = [
        ("sender", "packets/s", SENDER.0, SENDER.0),
        ("sender, packet", "bits", SENDER.1, SENDER.1),
        ("receiver", "packets/s", RECEIVER.0, RECEIVER.0),
        ("receiver, packet", "bits", RECEIVER.1, RECEIVER.1),
        ("background", "packets/s", light.background, heavy.background),
        ("background, packet", "bits", BACKGROUND_BITS, BACKGROUND_BITS),
        ("delay per packet", "seconds", light.delay, heavy.delay),
        ("utilization, data", "share", light.utilization, heavy.utilization),
    ];
    for (name, unit, light, heavy) in rows {
        table.row(name, unit, &[light, heavy]);
    }
    vec![table]
}

/// Figure 11's two curves for a file of 20 megabytes, and the two printed delays.
pub(super) fn reference_points() -> Vec<ReferencePoint> {
    let point = |label, background, y, source| ReferencePoint {
        label,
        x: Some(background),
        x_unit: "background packets/s",
        y,
        unit: "seconds",
        source,
    };
    let delays = CASES
        .iter()
        .map(|case| point("delay per packet", case.background, case.delay, "figures 9 and 10"));
    let source = "figure 11, recomputed by its model";
    let aggregate = FIGURE_11.iter().map(|&background| {
        let seconds = aggregate_seconds(20.0, background);
        point("20 MB, as fast as the network takes it", background, seconds, source)
    });
    let simple = FIGURE_11.iter().map(|&background| {
        point("20 MB, as fast as the sender makes it", background, simple_seconds(20.0), source)
    });
    delays.chain(aggregate).chain(simple).collect()
}

/// A transfer as fast as the network takes its packets.
fn aggregate_seconds(megabytes: f64, background: f64) -> f64 {
    packets(megabytes) * cable(background).delay().value.unwrap_or(f64::INFINITY)
}

/// A transfer as fast as the sender makes its packets.
fn simple_seconds(megabytes: f64) -> f64 {
    packets(megabytes) / SENDER.0
}

fn packets(megabytes: f64) -> f64 {
    megabytes * 8e6 / SENDER.1
}

/// The network with so many background packets per second.
fn cable(background: f64) -> SharedCable {
    let flows = [SENDER, RECEIVER, (background, BACKGROUND_BITS)];
    let packets: f64 = flows.iter().map(|(packets, _)| packets).sum();
    let bits: f64 = flows.iter().map(|(packets, bits)| packets * bits).sum();
    SharedCable {
        rate: packets,
        times: FrameTimes::fixed(bits / packets / RATE),
        propagation: PROPAGATION,
    }
}
