//! The time of frames from one station of a network file to another without other traffic, for the
//! closed forms of studies.

use btu_model::Passage;
use btu_model::predict::alone;
use btu_network::{Arrivals, Drawing, StationId};
use btu_units::Bytes;

/// Octets of a frame in addition to TCP's payload: Ethernet's header and check sequence, the
/// headers of IPv4 and of TCP with time stamps.
pub const AROUND_SEGMENT: usize = 14 + 4 + 20 + 32;

/// TCP's payload in a full frame: Ethernet's 1500 octets without the headers of IPv4 and of TCP with time stamps.
pub const SEGMENT: usize = 1500 - 20 - 32;

/// Octets of a frame in addition to UDP's payload.
pub const AROUND_DATAGRAM: usize = 14 + 4 + 20 + 8;

/// The size of Ethernet's shortest frame in octets.
const SHORTEST_FRAME: usize = 64;

/// The passage of frames of this size; `None` if the closed forms have no answer.
pub fn passage(
    drawing: &Drawing,
    from: StationId,
    to: StationId,
    octets: usize,
) -> Option<Passage> {
    let frame = Bytes::new(octets.max(SHORTEST_FRAME) as u64);
    let rarely = Arrivals::Periodic { per_second: 1e-3 };
    let flow = |arrivals| alone(drawing, from, to, frame, arrivals).flows.into_iter().next();
    let takes = flow(rarely)?.delay_seconds.value?;
    let most = flow(Arrivals::Saturated)?.carried_bits_per_second.value?;
    let occupied = frame.bits() / most;
    // Below zero on a slow and short line: no receiver waits for the gap behind a frame.
    Some(Passage { occupied, beyond: takes - occupied })
}
