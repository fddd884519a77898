//! The frames that a flow's senders hand over, without a network, for tests that send the same
//! frames to a real one.

use btu_network::{Arrivals, Drawing, StationId};
use btu_units::{Bytes, Span, Time};

use super::run::seed_of;
use super::source::Source;

/// A frame that a sender hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// The time, from the start of the replication.
    pub at: Span,
    /// Place of its flow in the drawing.
    pub flow: u32,
    /// The station that sends the frame.
    pub from: StationId,
    /// The destination; `None` means to all.
    pub to: Option<StationId>,
    /// From destination address to check sequence.
    pub size: Bytes,
}

/// The frames that the senders of `drawing` hand over before `end`, in the order of time: frames
/// and times equal those of the simulator's replication `number` with this seed. Flows without a
/// rate of their own (saturated ones, and those that wait for replies) are left out: their frames
/// depend on the behaviour of the network.
pub fn offers(drawing: &Drawing, seed: u64, number: u32, end: Span) -> Vec<Offer> {
    let mut offers = Vec::new();
    for mut source in Source::all(drawing, seed_of(seed, number)) {
        let flow = &drawing.traffic[source.flow as usize];
        if !matches!(flow.arrivals, Arrivals::Poisson { .. } | Arrivals::Periodic { .. }) {
            continue;
        }
        let mut due = source.first(Time::ZERO + flow.start);
        while let Some(at) = due.filter(|at| at.since(Time::ZERO) < end) {
            let (parcel, next) = source.fire(flow, at);
            offers.push(Offer {
                at: at.since(Time::ZERO),
                flow: source.flow,
                from: StationId(source.station),
                to: parcel.to.station_number().map(StationId),
                size: parcel.size,
            });
            due = next;
        }
    }
    offers.sort_by_key(|offer| offer.at);
    offers
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, Settings, replicate};
    use super::*;

    const LAB: &str = "[segments.lab]\nmedium = \"switched-ethernet\"\n[stations.a]\nsegment = \"lab\"\ncount = 3\n\
                       [traffic.chance]\nfrom = \"a\"\nto = \"a\"\nsize = { uniform = [\"64 B\", \"1518 B\"] }\n\
                       packets_per_s = 500\n[traffic.clock]\nfrom = \"a-1\"\nto = \"a-2\"\npackets_per_s = 30\n\
                       arrivals = \"periodic\"\nstart = \"1 s\"\nstop = \"2 s\"\n\
                       [traffic.always]\nfrom = \"a-1\"\nto = \"a-3\"\nsaturated = true\nstart = \"2.9 s\"\n";

    #[test]
    fn the_same_frames_as_in_the_simulator() {
        let drawing = Drawing::read(LAB, "lab.toml").unwrap();
        let end = Span::from_seconds(3);
        for number in 0..3 {
            let settings =
                Settings { duration: end, warm_up: Span::ZERO, replications: 1, seed: 7 };
            let replication = replicate(&drawing, &settings, number, |_| {}).unwrap();
            let outcome = Outcome::of(&drawing, &settings, &[replication]);
            let offers = offers(&drawing, 7, number, end);
            assert!(offers.is_sorted_by_key(|offer| offer.at));
            for (place, flow) in outcome.flows.iter().enumerate().take(2) {
                let own = || offers.iter().filter(|offer| offer.flow as usize == place);
                let bits: f64 = own().map(|offer| offer.size.bits()).sum();
                assert!(
                    (flow.offered_frames_per_second.value * 3.0 - own().count() as f64).abs()
                        < 1e-6
                );
                assert!((flow.offered_bits_per_second.value * 3.0 - bits).abs() < 1e-3);
                assert!(
                    own().count() > 20
                        && own().all(|offer| offer.to.is_some_and(|to| to != offer.from))
                );
            }
            assert!(
                offers.iter().all(|offer| offer.flow < 2),
                "a saturated flow has no times of its own"
            );
        }
    }
}
