//! The measured phases as a run with another program.

use std::net::SocketAddr;

use btu_contract::foreign::{ForeignCourse, ForeignQuantity, ForeignRun, ForeignUnit, MeasuredBy};
use btu_iperf3::{DirectionReport, Handshake};
use btu_report::bloat_sentence;
use btu_stats::{Estimate, Level, batches, difference, quantile, wilson_by_batches};
use btu_studies::speed::{Bloat, Phase, PhaseLoss, Wait};
use btu_units::three_digits;

use super::{MeasuredPhase, name};

/// A SYN without an answer is sent again after a second (RFC 6298, section 2.1), so a handshake that
/// took so much longer was lost on one way, or waited as long.
const SYN_TIMEOUT: f64 = 1.0;

/// The phases of a run, each with all its repetitions.
struct Phases<'a>(&'a [MeasuredPhase]);

/// The run.
pub(super) fn run(server: &str, address: SocketAddr, measured: &[MeasuredPhase]) -> ForeignRun {
    let phases = Phases(measured);
    let quantities = quantities(&phases);
    ForeignRun {
        program: "an iperf3 server".to_owned(),
        measured_by: MeasuredBy::Btu,
        subject: format!("iperf3 to {server} ({address})"),
        answer: answer(&phases, &quantities),
        quantities,
        courses: measured.iter().take(phases.each().len()).flat_map(courses).collect(),
        remarks: remarks(measured),
        warnings: Vec::new(),
        faults: measured.iter().filter_map(fault).collect(),
    }
}

impl Phases<'_> {
    /// In the order of the first repetition.
    fn each(&self) -> Vec<Phase> {
        let mut each: Vec<Phase> = Vec::new();
        for one in self.0 {
            if !each.contains(&one.phase) {
                each.push(one.phase);
            }
        }
        each
    }

    fn of(&self, phase: Phase) -> impl Iterator<Item = &MeasuredPhase> {
        self.0.iter().filter(move |one| one.phase == phase)
    }

    /// The median round trip over all repetitions, with its 95 % interval.
    fn round_trip(&self, phase: Phase) -> Option<Estimate> {
        let all: Vec<f64> = self.of(phase).flat_map(round_trips).collect();
        quantile(&all, 0.5, Level::P95)
    }

    /// The waits in queues, from which the word of the verdict follows.
    fn bloat(&self) -> Option<Bloat> {
        let idle = self.round_trip(Phase::Idle)?;
        let wait = |phase| {
            let longer = difference(&self.round_trip(phase)?, &idle);
            // Too few round trips have no interval, and so no word.
            let ends = longer.interval?;
            let uncertainty_seconds = (ends.high - ends.low) / 2.0;
            Some(Wait { phase, seconds: longer.value, uncertainty_seconds })
        };
        let of_tcp = [Phase::Up, Phase::Down, Phase::Both];
        let loss = |phase| {
            let all: Vec<f64> = self.of(phase).flat_map(round_trips).collect();
            let sent_again = |place: &usize| all[*place] >= idle.value + SYN_TIMEOUT;
            let lost: Vec<u64> =
                (0..all.len()).filter(sent_again).map(|place| place as u64).collect();
            let (events, trials) = (lost.len() as u64, all.len() as u64);
            let by_batch = batches(lost.into_iter(), trials);
            let lost = wilson_by_batches(events, trials, &by_batch, Level::P95)?;
            Some(PhaseLoss { phase, lost })
        };
        let waits: Vec<Wait> = of_tcp.into_iter().filter_map(wait).collect();
        let is_silent = |phase: &Phase| self.of(*phase).next().is_some() && wait(*phase).is_none();
        let silent =
            of_tcp.into_iter().filter(|phase| !waits.is_empty() && is_silent(phase)).collect();
        let losses = [Phase::Idle].into_iter().chain(of_tcp).filter_map(loss).collect();
        Bloat::of(waits, Vec::new(), losses, silent)
    }
}

/// The shortest handshake and the server's own answer, in seconds, of a phase in which they contradict each other.
fn handshake_with_relay(one: &MeasuredPhase) -> Option<[f64; 2]> {
    Some([one.report.handshake_with_relay()?, one.report.answer_seconds])
}

/// Those of full queues that were answered, in seconds.
fn round_trips(one: &MeasuredPhase) -> impl Iterator<Item = f64> {
    let counts = move |handshake: &&Handshake| handshake.at_seconds >= one.lead_seconds;
    one.report.handshakes.iter().filter(counts).filter_map(|one| one.round_trip_seconds)
}

/// The verdict of `btu speed`; the first rates where too few handshakes were answered for one.
fn answer(phases: &Phases<'_>, quantities: &[ForeignQuantity]) -> String {
    let relayed: Option<Vec<[f64; 2]>> = phases.0.iter().map(handshake_with_relay).collect();
    if let Some([trip, answer]) = relayed.and_then(|each| each.first().copied()) {
        let [trip, answer] = [trip, answer].map(|seconds| three_digits(seconds * 1e3));
        return format!(
            "Cannot tell how long requests wait: a relay before the server answers handshakes (in {trip} ms; the server's \
             own answers take {answer} ms)"
        );
    }
    if let Some(bloat) = phases.bloat() {
        return bloat_sentence(&bloat);
    }
    let rates = quantities.iter().filter(|one| one.unit == ForeignUnit::BitsPerSecond).take(2);
    let rates: Vec<String> = rates
        .filter_map(|rate| {
            Some(format!("{} {}", rate.name, btu_units::written_rate(rate.typical()?)))
        })
        .collect();
    rates.join(", ")
}

/// The results of all repetitions: rates first, then round trips, then what datagrams met.
fn quantities(phases: &Phases<'_>) -> Vec<ForeignQuantity> {
    let each = phases.each();
    let rates = each.iter().flat_map(|&phase| {
        let rate = &|way: &DirectionReport| Some(way.rate_bits_per_second);
        way_values(phases, phase, ForeignUnit::BitsPerSecond, rate)
    });
    let trips = each.iter().filter_map(|&phase| {
        let medians = phases
            .of(phase)
            .filter_map(|one| btu_stats::median(&round_trips(one).collect::<Vec<f64>>()));
        let number = phases.of(phase).flat_map(round_trips).count();
        let note = format!("the median of {number} TCP handshakes, by this host's kernel");
        quantity(&round_trip_name(phase), ForeignUnit::Seconds, medians.collect(), note)
    });
    let lost = each.iter().flat_map(|&phase| {
        way_values(phases, phase, ForeignUnit::Share, &|way| {
            Some(way.datagrams.as_ref()?.lost_share())
        })
    });
    let jitter = each.iter().flat_map(|&phase| {
        way_values(phases, phase, ForeignUnit::Seconds, &|way| {
            Some(way.datagrams.as_ref()?.jitter_seconds)
        })
    });
    let resent = each.iter().flat_map(|&phase| {
        way_values(phases, phase, ForeignUnit::Count, &|way| {
            way.resent_segments.map(|number| number as f64)
        })
    });
    rates.chain(trips).chain(lost).chain(jitter).chain(resent).collect()
}

fn round_trip_name(phase: Phase) -> String {
    match phase {
        Phase::Idle => "round trip idle".to_owned(),
        Phase::Up => "round trip while uploading".to_owned(),
        Phase::Down => "round trip while downloading".to_owned(),
        other => format!("round trip with {}", name(other)),
    }
}

/// A value of each direction of a phase.
fn way_values(
    phases: &Phases<'_>,
    phase: Phase,
    unit: ForeignUnit,
    value: &dyn Fn(&DirectionReport) -> Option<f64>,
) -> Vec<ForeignQuantity> {
    if phase == Phase::Idle {
        return Vec::new();
    }
    let what = match unit {
        ForeignUnit::BitsPerSecond => "goodput",
        ForeignUnit::Share => "lost datagrams",
        ForeignUnit::Seconds => "jitter",
        _ => "segments sent again",
    };
    let one = |(direction, counter, is_up): (&str, &str, bool)| {
        let ways = phases.of(phase).filter_map(|one| {
            let report = &one.report;
            if is_up { report.to_server.as_ref() } else { report.to_client.as_ref() }
        });
        let values: Vec<f64> = ways.filter_map(value).collect();
        let name = match phase {
            Phase::Both => format!("{what} {direction}, both ways at once"),
            Phase::DatagramsUp | Phase::DatagramsDown => format!("{what} of UDP {direction}"),
            _ => format!("{what} {direction}"),
        };
        quantity(&name, unit, values, counter.to_owned())
    };
    [("up", "as the server counted", true), ("down", "as this host counted", false)]
        .into_iter()
        .filter_map(one)
        .collect()
}

/// `None` without a value.
fn quantity(
    name: &str,
    unit: ForeignUnit,
    values: Vec<f64>,
    note: String,
) -> Option<ForeignQuantity> {
    let name = name.to_owned();
    (!values.is_empty()).then_some(ForeignQuantity { name, unit, values, note })
}

/// The course of a phase's first repetition.
fn courses(one: &MeasuredPhase) -> Vec<ForeignCourse> {
    let phase = name(one.phase);
    let rates = |of: fn(&btu_iperf3::Second) -> Option<u64>| -> Vec<[f64; 2]> {
        let seconds = one.report.course.iter();
        let rate = |second: &btu_iperf3::Second| {
            let rate = 8.0 * of(second)? as f64 / second.seconds.max(1e-9);
            Some([second.end_seconds, rate])
        };
        seconds.filter_map(rate).collect()
    };
    let trips = one.report.handshakes.iter();
    let trips = trips.filter_map(|trip| Some([trip.at_seconds, trip.round_trip_seconds?]));
    let mut trips: Vec<[f64; 2]> = trips.collect();
    trips.sort_by(|one, other| one[0].total_cmp(&other[0]));
    let rate = ForeignUnit::BitsPerSecond;
    let is_tcp = one.report.protocol == btu_iperf3::Protocol::Tcp;
    let up = if is_tcp { "acknowledged" } else { "sent" };
    let is_idle = one.phase == Phase::Idle;
    [
        (format!("{up}, {phase}"), rate, rates(|second| second.to_server_bytes), !is_idle),
        (format!("arrived, {phase}"), rate, rates(|second| second.to_client_bytes), !is_idle),
        (round_trip_name(one.phase), ForeignUnit::Seconds, trips, true),
    ]
    .into_iter()
    .filter(|(.., points, is_kept)| *is_kept && !points.is_empty())
    .map(|(name, unit, points, _)| ForeignCourse { name, unit, points })
    .collect()
}

/// How it was measured, and the accounts of each phase.
fn remarks(measured: &[MeasuredPhase]) -> Vec<String> {
    let how = "Round trips are measured by TCP handshakes with the server's port at random moments, five a second on average; \
               handshakes in the first seconds of a phase, while queues fill, do not count."
        .to_owned();
    let idle =
        "The idle network was measured by a test of iperf3 in which nothing was sent.".to_owned();
    [how, idle].into_iter().chain(measured.iter().flat_map(accounts)).collect()
}

fn accounts(one: &MeasuredPhase) -> Vec<String> {
    let report = &one.report;
    let unanswered = report.handshakes.iter().filter(|trip| trip.round_trip_seconds.is_none());
    let trips = format!(
        "{}: {} handshakes, of which {} had no answer before the end.",
        name(one.phase),
        report.handshakes.len(),
        unanswered.count()
    );
    let ways = [(&report.to_server, "to the server"), (&report.to_client, "to this host")];
    let ways = ways.into_iter().filter(|_| one.phase != Phase::Idle);
    let ways = ways.filter_map(|(way, direction)| {
        let accounts = way.as_ref()?.accounts();
        Some(format!("{}: {direction} {accounts}.", name(one.phase)))
    });
    let congestion = [("this host", &report.congestion), ("the server", &report.server_congestion)];
    let congestion = congestion.into_iter().filter(|_| one.phase != Phase::Idle);
    let congestion = congestion.filter_map(|(end, used)| {
        let used = btu_units::plain(used.as_ref()?);
        Some(format!("{}: congestion control of {end}: {used}.", name(one.phase)))
    });
    let processor = report.server_processor_percent.filter(|_| one.phase != Phase::Idle);
    let processor = processor.map(|percent| {
        format!("{}: {percent:.0} % of a processor at the server, as it says.", name(one.phase))
    });
    std::iter::once(trips).chain(ways).chain(congestion).chain(processor).collect()
}

/// Accounts that do not balance, or nothing that arrived.
fn fault(one: &MeasuredPhase) -> Option<String> {
    let phase = name(one.phase);
    if one.report.is_balanced() == Some(false) {
        return Some(format!(
            "{phase}: the server says that more arrived than was sent: {}",
            accounts(one).join(" ")
        ));
    }
    let ways = [&one.report.to_server, &one.report.to_client];
    let is_empty = ways.into_iter().flatten().any(|way| way.received_bytes == 0);
    (is_empty && one.phase != Phase::Idle).then(|| format!("{phase}: nothing arrived"))
}
