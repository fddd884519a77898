//! The design of a testbed: a network, and the features of its stations.

use std::path::PathBuf;
use std::time::Duration;

use btu_contract::congestion::CongestionControl;
use btu_contract::protocol_work::ProtocolWork;
use btu_network::{Contention, Drawing, Medium, StationId};
use btu_units::Bytes;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::error::{Cause, TestbedError};
use super::{layout, probe_timeout};

/// More stations than this are refused: each costs a namespace, two interfaces and a port of the
/// wire.
pub const MOST_STATIONS: usize = 1_000;

/// The shortest packet that every IPv4 host must take (RFC 791, section 3.2).
const SMALLEST_MTU_BYTES: u32 = 68;

/// Like `SMALLEST_MTU_BYTES`, for IPv6 (RFC 8200, section 5).
const SMALLEST_MTU_OF_IPV6_BYTES: u32 = 1280;

/// Open files of a testbed in addition to one for each station: pipes, sockets, netlink, with room
/// to spare.
const FURTHER_FILES: u64 = 64;

/// The time limit from the order until packets pass, in a testbed of few stations and fast lines.
const USUAL_TIMEOUT: Duration = Duration::from_secs(12);

/// The addition for each station: a tenth of this is usual.
const TIMEOUT_PER_STATION: Duration = Duration::from_millis(50);

/// A network, and the settings for raising it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Design {
    /// The network, without its traffic: the programs in the stations make the traffic.
    pub(super) drawing: Drawing,
    /// The directory of the capture, if there is one.
    pub(super) capture: Option<PathBuf>,
    /// The stations that have an agent.
    pub(super) agents: Vec<StationId>,
    /// The stations to which incoming packets can be impaired.
    pub(super) inputs: Vec<StationId>,
    /// The stations with agents that have their own processors.
    pub(super) processors: Vec<(StationId, Vec<u32>)>,
    /// Whose processors do the protocol work of received frames.
    #[serde(default)]
    pub(super) protocol_work: ProtocolWork,
    /// The congestion control of the stations' TCP; the host's own choice when absent.
    pub(super) congestion_control: Option<CongestionControl>,
    /// Whether stations have IPv6 addresses in addition to those of IPv4.
    #[serde(default)]
    pub(super) ipv6: bool,
}

impl Design {
    /// Whether a wire carries frames: in a bare network, only those of stations with impairable
    /// packets.
    pub(super) fn has_wire(&self) -> bool {
        !self.drawing.bare || !self.inputs.is_empty()
    }

    /// The time limit from the order until packets pass, for process 1.
    pub(super) fn timeout(&self) -> Duration {
        let stations = TIMEOUT_PER_STATION.saturating_mul(self.drawing.stations.len() as u32);
        USUAL_TIMEOUT + stations + probe_timeout::of(&self.drawing)
    }
}

/// Whether `drawing` can be raised at all on this machine; nothing is started for it.
///
/// # Errors
/// Too many stations, a medium that exists only in theory, packets too short for IPv4, or a limit
/// on open files.
pub fn check(drawing: &Drawing) -> Result<(), TestbedError> {
    let stations = drawing.stations.len();
    if stations == 0 {
        return Err(refuse(drawing, "it has no stations", "draw one"));
    }
    if stations > MOST_STATIONS {
        let reason = format!("it has {stations} stations, and {MOST_STATIONS} is the most");
        return Err(refuse(drawing, reason, "simulate it with `btu sim`, or draw fewer stations"));
    }
    if let Some(segment) = drawing.segments.iter().find(|segment| is_ideal(&segment.medium)) {
        let reason = format!(
            "segment {} has idealised contention, which no real station obeys",
            segment.name
        );
        return Err(refuse(
            drawing,
            reason,
            "simulate it with `btu sim`, or write contention = \"802.3\"",
        ));
    }
    if let Some(mtu) = layout::smallest_mtu(drawing).filter(|&mtu| mtu < SMALLEST_MTU_BYTES) {
        let reason = format!("an MTU of {mtu} bytes is too small for IPv4");
        return Err(refuse(drawing, reason, format!("raise it to {SMALLEST_MTU_BYTES} B or more")));
    }
    let (needed, (_, most)) = (files(drawing), file_limits(drawing)?);
    if needed > most {
        let reason = format!("it needs {needed} open files, and the limit is {most}");
        return Err(refuse(drawing, reason, format!("raise the hard limit: ulimit -Hn {needed}")));
    }
    Ok(())
}

/// Whether its stations can speak IPv6.
pub(super) fn check_ipv6(drawing: &Drawing) -> Result<(), TestbedError> {
    match layout::smallest_mtu(drawing).filter(|&mtu| mtu < SMALLEST_MTU_OF_IPV6_BYTES) {
        None => Ok(()),
        Some(mtu) => {
            let reason = format!("an MTU of {mtu} bytes is too small for IPv6");
            let remedy =
                format!("raise it to {SMALLEST_MTU_OF_IPV6_BYTES} B or more, or measure over IPv4");
            Err(refuse(drawing, reason, remedy))
        }
    }
}

/// The longest frame, from destination address to check sequence, that a station of the raised
/// network sends.
pub fn longest_frame(drawing: &Drawing) -> Bytes {
    const AROUND_PACKET: u64 = 14 + 4;
    const USUAL_MTU: u64 = 1500;
    Bytes::new(layout::smallest_mtu(drawing).map_or(USUAL_MTU, u64::from) + AROUND_PACKET)
}

/// Allows this process, and those that it starts, to open a file for each station.
pub(super) fn allow_files(drawing: &Drawing) -> Result<(), TestbedError> {
    let (now, most) = file_limits(drawing)?;
    let needed = files(drawing).min(most);
    if now >= needed {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, most)
        .map_err(|error| TestbedError::process("raise the limit of open files", &error.into()))
}

fn files(drawing: &Drawing) -> u64 {
    // In addition, the wire may keep a capture file for each port.
    2 * drawing.stations.len() as u64 + FURTHER_FILES
}

fn file_limits(drawing: &Drawing) -> Result<(u64, u64), TestbedError> {
    getrlimit(Resource::RLIMIT_NOFILE)
        .map_err(|error| refuse(drawing, error, "see whether `ulimit -n` says more"))
}

fn is_ideal(medium: &Medium) -> bool {
    matches!(medium, Medium::SharedEthernet(ethernet) if ethernet.contention == Contention::Ideal)
}

fn refuse(
    drawing: &Drawing,
    reason: impl std::fmt::Display,
    remedy: impl Into<String>,
) -> TestbedError {
    TestbedError::new(Cause::Network, format!("start network {}", drawing.name), reason, remedy)
}

#[cfg(test)]
mod tests {
    use btu_units::{BitRate, Bytes, Length};

    use super::super::samples;
    use super::*;

    #[test]
    fn what_can_be_raised_is_not_refused() {
        check(&samples::star(300)).unwrap();
        check(&samples::line(BitRate::from_bits_per_second(1_200), 0)).unwrap();
    }

    #[test]
    fn too_many_stations_are_sent_to_the_simulator() {
        let error = check(&samples::star(10_000)).unwrap_err();
        assert_eq!(error.cause, Cause::Network);
        assert!(
            error.to_string().contains("10000 stations") && error.remedy.contains("btu sim"),
            "{error}"
        );
    }

    #[test]
    fn what_is_on_paper_only_is_refused_by_name() {
        let mut drawing = samples::star(2);
        drawing.segments[0].medium = Medium::SharedEthernet(btu_network::SharedEthernet {
            rate: BitRate::from_megabits_per_second(10),
            length: Length::from_metres(500),
            velocity: 0.77,
            contention: Contention::Ideal,
            queue: btu_network::Discipline::default(),
        });
        assert!(
            check(&drawing).unwrap_err().reason.contains("segment lan has idealised contention")
        );
        assert!(check(&Drawing::default()).unwrap_err().reason.contains("no stations"));
    }

    #[test]
    fn packets_must_be_long_enough_for_ipv4() {
        let mut drawing = samples::line(BitRate::from_megabits_per_second(10), 0);
        drawing.links[0].forth.mtu = Bytes::new(67);
        assert!(check(&drawing).unwrap_err().reason.contains("67 bytes"));
        drawing.links[0].forth.mtu = Bytes::new(68);
        check(&drawing).unwrap();
    }

    #[test]
    fn slow_lines_and_many_stations_get_more_time() {
        let timeout = |drawing| Design { drawing, ..Design::default() }.timeout();
        let quick = timeout(samples::line(BitRate::from_megabits_per_second(10), 0));
        let slow = timeout(samples::line(BitRate::from_bits_per_second(1_200), 0));
        assert!(
            quick < Duration::from_secs(16) && slow > Duration::from_secs(20),
            "{quick:?} {slow:?}"
        );
        assert!(timeout(samples::star(300)) > quick + Duration::from_secs(10));
    }
}
