//! `btu speed --iperf3`: rates and round trips to a server of iperf3, which is as it is.

mod outcome;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use btu_contract::dscp::Dscp;
use btu_iperf3::{Client, ClientReport, Direction, PORT, Protocol, Second};
use btu_studies::speed::Phase;
use btu_units::{BitRate, Span, three_digits, written_rate};

use super::{LEAD, Speed, phases, resolved, usage, with_other_program};
use crate::cli::{Common, ProfileName};
use crate::exit::Refusal;
use crate::start::progress::Steps;

/// The times of a phase: iperf3's tests take whole seconds.
const TIME: std::ops::RangeInclusive<Span> = Span::from_seconds(1)..=Span::from_seconds(3600);

/// How long the idle network is measured.
const IDLE: Duration = Duration::from_secs(3);

/// How long a server is asked again: before the first test it may be busy with another one, which is
/// said; after each test iperf3 takes a moment.
const GRACE: Duration = Duration::from_secs(5);

/// A measurement of one phase.
struct MeasuredPhase {
    phase: Phase,
    /// The part of its time that fills queues: round trips of it do not count.
    lead_seconds: f64,
    report: ClientReport,
}

/// Measures to a server, stores and shows the result.
pub(super) fn measure(server: &str, speed: &Speed, common: &Common) -> anyhow::Result<ExitCode> {
    let extent = extent(speed)?;
    let address = resolved("--iperf3", server, PORT, speed.addresses.family())?;
    with_other_program("iperf3", speed, common, |steps| {
        Ok(outcome::run(server, address, &phases_of(address, extent, speed, steps)?))
    })
}

/// Every phase of every block, in their order.
fn phases_of(
    address: SocketAddr,
    (blocks, time): (u32, Duration),
    speed: &Speed,
    steps: &Steps,
) -> anyhow::Result<Vec<MeasuredPhase>> {
    let mut measured = Vec::new();
    for block in 0..blocks {
        for phase in phases(speed) {
            let place = u64::from(block) << 8 | measured.len() as u64;
            let client = Client {
                grace: if measured.is_empty() { Duration::ZERO } else { GRACE },
                handshakes: Some(speed.study.seed.unwrap_or(0) ^ place),
                ..client(address, phase, time, speed)
            };
            let show = &mut |second: &Second| steps.say(step(phase, second));
            steps.say(format!("{}: asking {address}", name(phase)));
            let report = client.run(&Arc::default(), show);
            let report = report.map_err(|error| Refusal::Machine(error.to_string()))?;
            let lead_seconds = if phase == Phase::Idle { 0.0 } else { LEAD.seconds() };
            measured.push(MeasuredPhase { phase, lead_seconds, report });
        }
    }
    Ok(measured)
}

/// How often each phase is measured, and how long after its queues are full.
fn extent(speed: &Speed) -> anyhow::Result<(u32, Duration)> {
    let (blocks, usual) = match speed.study.profile {
        ProfileName::Quick => (1, Span::from_seconds(5)),
        ProfileName::Standard => (5, Span::from_seconds(10)),
        ProfileName::Full => (15, Span::from_seconds(30)),
    };
    let time = speed.time.unwrap_or(usual);
    if !TIME.contains(&time) || !time.nanoseconds().is_multiple_of(1_000_000_000) {
        let (least, most) = (TIME.start(), TIME.end());
        let why =
            format!("--phase-time {time}: iperf3 takes whole seconds, from {least} to {most}");
        return Err(usage(why));
    }
    Ok((blocks, time.into()))
}

/// The test of a phase.
fn client(server: SocketAddr, phase: Phase, time: Duration, speed: &Speed) -> Client {
    let direction = match phase {
        Phase::Down | Phase::DatagramsDown => Direction::ToClient,
        Phase::Both => Direction::Both,
        _ => Direction::ToServer,
    };
    let is_udp = matches!(phase, Phase::DatagramsUp | Phase::DatagramsDown);
    let protocol = if is_udp { Protocol::Udp } else { Protocol::Tcp };
    let is_idle = phase == Phase::Idle;
    Client {
        streams: if is_udp || is_idle { 1 } else { speed.streams as u16 },
        time: if is_idle { IDLE } else { time + Duration::from(LEAD) },
        rate_bits_per_second: speed.udp.filter(|_| is_udp).map(BitRate::bits_per_second),
        type_of_service: speed.dscp.map_or(0, Dscp::octet),
        sends_nothing: is_idle,
        ..Client::of(server, protocol, direction)
    }
}

/// The name of a phase, of its quantities and its courses.
const fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Up => "up",
        Phase::Down => "down",
        Phase::Both => "both ways",
        Phase::DatagramsUp => "UDP up",
        Phase::DatagramsDown => "UDP down",
        Phase::Connects => "connects",
    }
}

/// The line about a second.
fn step(phase: Phase, second: &Second) -> String {
    let mut line = format!("{:10} {:3.0} s", name(phase), second.end_seconds);
    for bytes in [second.to_server_bytes, second.to_client_bytes].into_iter().flatten() {
        if phase != Phase::Idle {
            let rate = 8.0 * bytes as f64 / second.seconds.max(1e-9);
            let _ = write!(line, "  {}", written_rate(rate));
        }
    }
    if let Some(seconds) = second.round_trip_seconds {
        let _ = write!(line, "  round trip {} ms", three_digits(seconds * 1e3));
    }
    line
}
