//! Which traffic of a drawing can be sent as packets by UDP.

use btu_network::{Arrivals, Drawing, Flow, Sizes, Target};
use btu_testbed::testbed;
use btu_traffic::probe::{AROUND_PAYLOAD, LEAST_PAYLOAD, MOST_PARCELS};
use btu_units::Span;

use crate::exit::Refusal;

/// Whether packets of a flow can be offered at all.
pub(super) fn offerable(flow: &Flow) -> Result<(), Refusal> {
    let problem = match (flow.arrivals, &flow.to) {
        (Arrivals::Saturated, _) => "always has one more to send",
        (Arrivals::Closed { .. }, _) => "sends when a reply has come",
        (_, Target::Broadcast) => "sends to all at once",
        _ => return Ok(()),
    };
    Err(Refusal::Usage(format!(
        "traffic {} {problem}, and --check net offers packets at a rate, from one station to another: give it one, or leave \
         it out of the file",
        flow.name
    )))
}

/// Why packets of this drawing cannot be sent as UDP; empty if they can.
pub(super) fn unsendable(drawing: &Drawing, duration: Span) -> Vec<String> {
    let least = (AROUND_PAYLOAD + LEAST_PAYLOAD).count();
    let most = testbed::longest_frame(drawing).count();
    let reasons = drawing.traffic.iter().filter_map(|flow| {
        let (shortest, longest) = bounds(&flow.sizes);
        let what = format!("{} sends frames of {shortest} to {longest} B", flow.name);
        let fits = shortest >= least && longest <= most;
        (!fits)
            .then(|| format!("{what}, and packets by UDP make frames of {least} to {most} B here"))
    });
    let packets: f64 =
        drawing.traffic.iter().map(|flow| per_second(flow) * duration.seconds()).sum();
    let too_many = (packets > 0.9 * MOST_PARCELS as f64).then(|| {
        format!("a replication of {duration} has {packets:.0} packets, more than can be noted")
    });
    reasons.chain(too_many).collect()
}

fn bounds(sizes: &Sizes) -> (u64, u64) {
    match sizes {
        Sizes::Fixed(size) => (size.count(), size.count()),
        Sizes::Uniform(least, most) => (least.count(), most.count()),
        Sizes::Exponential(_) => (1, 65_535),
        Sizes::Mix(parts) => {
            let sizes = || parts.iter().map(|(size, _)| size.count());
            (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0))
        }
    }
}

/// Of all senders of a flow.
fn per_second(flow: &Flow) -> f64 {
    match flow.arrivals {
        Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } => {
            per_second * flow.from.len() as f64
        }
        Arrivals::Saturated | Arrivals::Closed { .. } => 0.0,
    }
}
