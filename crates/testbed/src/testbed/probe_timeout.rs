//! The longest time that a short packet takes through a drawn network, and the timeout that
//! follows.

use std::time::Duration;

use btu_network::{Atm, Direction, Drawing, Framing, Medium, Rate, Star, Trace};
use btu_units::{BitRate, Span};

/// The number of stations of a drawn network that are probed, evenly chosen: enough to find a wire
/// that carries nothing, and few enough for a slow line.
pub(super) const MOST_TARGETS: usize = 16;

/// The octets that a probe's packet occupies on an Ethernet: 64 octets, preamble and gap.
const ETHERNET_BITS: u64 = (64 + 8 + 12) * 8;

/// The most octets of a probe's packet without an Ethernet header: 28 octets of headers and 5 of
/// payload.
const PACKET_OCTETS: u64 = 36;

/// Two cells carry it (RFC 2684: 8 octets before it, 8 behind it, 48 in a cell of 53).
const CELLS_BITS: u64 = 2 * 53 * 8;

/// A random delay is rarely longer than this number of spreads.
const SPREADS: u32 = 4;

/// The time of a token, or of a collision or two.
const CONTENTION: Duration = Duration::from_millis(20);

/// The number of planned tries: if a quarter of them pass there and back, all of them fail once in
/// 5600 times.
const TRIES: u32 = 30;

/// The probe never waits longer than this, whatever network was drawn.
const LONGEST_TIMEOUT: Duration = Duration::from_mins(5);

/// If this share of packets or more is lost on one line, a probe proves nothing.
const HOPELESS_LOSS: f64 = 0.5;

/// The time from one try to the next: longer than the time of `packets` simultaneous short packets
/// there and back on the longest path.
pub(super) fn try_every(drawing: &Drawing, packets: usize) -> Duration {
    const SHORTEST: Duration = Duration::from_millis(50);
    // A network is a tree: a path passes each bridge at most once, and so at most one medium more
    // than the number of bridges.
    let mut hops = hops(drawing, packets as u64);
    hops.sort_unstable_by(|one, other| other.cmp(one));
    let way = hops
        .into_iter()
        .take(drawing.bridges.len() + 1)
        .fold(Duration::ZERO, Duration::saturating_add);
    // There and back, plus 50 %.
    SHORTEST.max(way.saturating_mul(3)).min(LONGEST_TIMEOUT)
}

/// The timeout for the probe's packets.
pub(super) fn of(drawing: &Drawing) -> Duration {
    try_every(drawing, MOST_TARGETS).saturating_mul(TRIES).min(LONGEST_TIMEOUT)
}

/// Whether packets can be expected to pass: not if half of them or more are lost.
pub(super) fn is_hopeful(drawing: &Drawing) -> bool {
    let stars = drawing.segments.iter().filter_map(|segment| star(&segment.medium));
    let links = drawing.links.iter().flat_map(|link| [&link.forth, &link.back]);
    stars
        .flat_map(|star| [&star.up, &star.down])
        .chain(links)
        .all(|line| line.loss.share() < HOPELESS_LOSS)
}

fn star(medium: &Medium) -> Option<&Star> {
    match medium {
        Medium::SwitchedEthernet(star) => Some(star),
        Medium::Atm(atm) => Some(&atm.star),
        Medium::SharedEthernet(_) | Medium::TokenRing(_) | Medium::Fddi(_) => None,
    }
}

/// The time of each medium, in the slower direction.
fn hops(drawing: &Drawing, packets: u64) -> Vec<Duration> {
    let segments = drawing.segments.iter().map(|segment| across(&segment.medium, packets));
    let links = drawing
        .links
        .iter()
        .map(|link| along(&link.forth, packets).max(along(&link.back, packets)));
    let longest_stay =
        drawing.bridges.iter().map(|bridge| time(bridge.latency)).max().unwrap_or_default();
    segments.chain(links).map(|hop| hop.saturating_add(longest_stay)).collect()
}

fn across(medium: &Medium, packets: u64) -> Duration {
    let shared = |rate: BitRate| CONTENTION + sending(rate, packets * ETHERNET_BITS);
    match medium {
        Medium::SharedEthernet(ethernet) => shared(ethernet.rate),
        Medium::TokenRing(ring) => {
            shared(ring.rate).saturating_add(ring.ring_latency.map(time).unwrap_or_default())
        }
        Medium::Fddi(ring) => shared(ring.rate).saturating_add(time(ring.target_rotation)),
        Medium::SwitchedEthernet(star) | Medium::Atm(Atm { star }) => along(&star.up, packets)
            .saturating_add(time(star.latency))
            .saturating_add(along(&star.down, packets)),
    }
}

fn along(line: &Direction, packets: u64) -> Duration {
    let transmission = match &line.rate {
        Rate::Fixed(rate) => sending(*rate, packets * bits(line.framing)),
        // A round may take minutes: a try that is lost must not cost as much.
        Rate::Trace(trace) => {
            let octets = packets * ETHERNET_BITS / 8;
            let opportunities = octets.div_ceil(Trace::OPPORTUNITY.count());
            time(trace.longest_silence())
                .saturating_mul(u32::try_from(opportunities).unwrap_or(u32::MAX))
        }
    };
    let jitter =
        line.jitter.map(|jitter| time(jitter.spread).saturating_mul(SPREADS)).unwrap_or_default();
    transmission.saturating_add(time(line.delay)).saturating_add(jitter)
}

fn bits(framing: Framing) -> u64 {
    match framing {
        Framing::Ethernet | Framing::Bare => ETHERNET_BITS,
        Framing::Serial { overhead, bits_per_octet } => {
            (PACKET_OCTETS + u64::from(overhead)) * u64::from(bits_per_octet)
        }
        Framing::Aal5 => CELLS_BITS,
    }
}

fn sending(rate: BitRate, bits: u64) -> Duration {
    let nanoseconds = u128::from(bits) * 1_000_000_000 / u128::from(rate.bits_per_second().max(1));
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

fn time(span: Span) -> Duration {
    Duration::from_nanos(span.nanoseconds())
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn quick_networks_are_asked_often() {
        let line = samples::line(BitRate::from_megabits_per_second(10), 0);
        assert_eq!(try_every(&line, 1), Duration::from_millis(50));
        assert_eq!(try_every(&samples::star(300), 16), Duration::from_millis(50));
    }

    #[test]
    fn a_satellite_is_waited_for() {
        // 270 ms each way and negligible time for sending: 540 ms, plus 50 %.
        let line = samples::line(BitRate::from_megabits_per_second(10), 270);
        let every = try_every(&line, 1);
        assert!(
            (Duration::from_millis(810)..Duration::from_millis(811)).contains(&every),
            "{every:?}"
        );
    }

    #[test]
    fn a_slow_line_is_given_the_time_that_all_packets_take() {
        // 672 bits at 1200 b/s are 0.56 s: three of them there and three back, plus 50 %.
        let line = samples::line(BitRate::from_bits_per_second(1_200), 0);
        assert_eq!(try_every(&line, 3).as_millis(), 5_040);
        assert!(of(&line) <= LONGEST_TIMEOUT);
    }

    /// A recording of two minutes: an opportunity every 10 ms, and one silence of 400 ms.
    #[test]
    fn a_recorded_line_is_asked_as_often_as_its_silences_allow() {
        let mut drawing = samples::line(BitRate::from_megabits_per_second(10), 0);
        let opportunities_ms =
            (1..=12_000).map(|number| number * 10).filter(|at| !(5_010..5_400).contains(at));
        let trace = Trace { opportunities_ms: opportunities_ms.collect() };
        drawing.links[0].forth.rate = Rate::Trace(trace);
        // 400 ms there, little back: twice the slower direction, plus 50 %.
        assert_eq!(try_every(&drawing, 1), Duration::from_millis(1_200));
        assert_eq!(try_every(&drawing, 16), Duration::from_millis(1_200));
        assert_eq!(try_every(&drawing, 18), Duration::from_millis(2_400));
    }

    #[test]
    fn only_as_many_media_count_as_a_way_can_pass() {
        let mut drawing = samples::line(BitRate::from_megabits_per_second(10), 270);
        let one = try_every(&drawing, 1);
        drawing.links.push(drawing.links[0].clone());
        assert_eq!(try_every(&drawing, 1), one);
    }

    #[test]
    fn where_half_is_lost_nothing_is_expected() {
        let mut drawing = samples::line(BitRate::from_megabits_per_second(10), 0);
        assert!(is_hopeful(&drawing));
        drawing.links[0].back.loss =
            btu_network::Loss::Random(btu_units::Probability::new(0.5).unwrap());
        assert!(!is_hopeful(&drawing));
    }
}
