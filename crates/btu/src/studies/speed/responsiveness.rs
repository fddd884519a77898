//! `btu speed --rpm` and `--rpm-server`: round trips per minute with clients and servers of any make.

use std::process::ExitCode;

use btu_contract::foreign::{ForeignCourse, ForeignQuantity, ForeignRun, ForeignUnit, MeasuredBy};
use btu_responsiveness::{
    Certificate, IntervalReport, MeasurementProgress, Method, PORT, Parts, ResponsivenessReport,
    ResponsivenessSettings, Server, ServerError, Target, Trust, Way, WayReport,
    measure as measured,
};
use btu_units::{Span, written_rate};

use super::{Speed, serve_until_signal, usage, with_other_program};
use crate::cli::{Common, ProfileName};
use crate::commands::agent::address_or_loopback;
use crate::exit::Refusal;
use crate::start::ending_signals;

/// The lengths of an interval.
const INTERVAL: std::ops::RangeInclusive<Span> =
    Span::from_milliseconds(200)..=Span::from_seconds(60);

/// Below these round trips per minute it is poor, fair, and good, in the words of the draft's section 2.1.
const WORDS: [(f64, &str); 3] = [(300.0, "Poor"), (1000.0, "Fair"), (6000.0, "Good")];

/// Serves until a signal.
pub(super) fn serve(speed: &Speed) -> anyhow::Result<ExitCode> {
    let listen = address_or_loopback(speed.listen.as_deref(), PORT)?;
    let options = &speed.responsiveness;
    let (certificate, believe) = match (&options.certificate, &options.key) {
        (Some(chain), Some(key)) => {
            (Certificate::Files { chain: chain.clone(), key: key.clone() }, "")
        }
        _ => (Certificate::SelfSigned, " --any-certificate"),
    };
    let signals = ending_signals()?;
    let server = Server::open(&ResponsivenessSettings { listen, certificate }).map_err(
        |error| match error {
            ServerError::Certificate(_) => Refusal::Usage(error.to_string()),
            _ => Refusal::Machine(error.to_string()),
        },
    )?;
    serve_until_signal(&signals, ("responsiveness", "clients"), server.address(), |host| {
        format!("btu speed --rpm https://{host}{believe}")
    })
}

/// Measures to a server, stores and shows the result.
pub(super) fn measure(server: &str, speed: &Speed, common: &Common) -> anyhow::Result<ExitCode> {
    let target = Target::read(server).map_err(|error| usage(error.to_string()))?;
    let method = Method::of_draft(interval(speed)?.into());
    let ways: &[Way] = if speed.directions.reverse { &[Way::Down] } else { &[Way::Down, Way::Up] };
    let trust =
        if speed.responsiveness.any_certificate { Trust::Anyone } else { Trust::Authorities };
    with_other_program("responsiveness", speed, common, |steps| {
        let show = |progress| steps.say(step(progress));
        let report = measured(&target, trust, &method, ways, &show);
        let report = report.map_err(|error| Refusal::Machine(error.to_string()))?;
        Ok(run(&target, &method, &report))
    })
}

fn interval(speed: &Speed) -> anyhow::Result<Span> {
    let usual = match speed.study.profile {
        ProfileName::Quick => Span::from_seconds(1),
        ProfileName::Standard | ProfileName::Full => Span::from_seconds(5),
    };
    let interval = speed.time.unwrap_or(usual);
    if INTERVAL.contains(&interval) {
        return Ok(interval);
    }
    let (least, most) = (INTERVAL.start(), INTERVAL.end());
    Err(usage(format!(
        "--phase-time {interval}: an interval of --rpm is between {least} and {most}"
    )))
}

/// The line about the current step.
fn step(progress: MeasurementProgress) -> String {
    match progress {
        MeasurementProgress::Idle => "new connections over the idle network".to_owned(),
        MeasurementProgress::Interval(way, interval) => {
            let IntervalReport { bits_per_second, connections, rpm, .. } = interval;
            let rpm =
                rpm.map_or_else(String::new, |rpm| format!(", {rpm:.0} round trips a minute"));
            let rate = written_rate(bits_per_second);
            format!("{}: {rate} on {connections} connections{rpm}", way.name())
        }
    }
}

/// The result in the form of runs with other programs.
fn run(target: &Target, method: &Method, report: &ResponsivenessReport) -> ForeignRun {
    let mut quantities: Vec<ForeignQuantity> = Vec::new();
    quantities.extend(report.ways.iter().filter_map(round_trips));
    let unit = ForeignUnit::RoundTripsPerMinute;
    let idle = ForeignQuantity::once("responsiveness idle", unit, report.idle.rpm.foreign);
    quantities.push(idle.noted(format!("{} new connections", report.idle.count)));
    quantities.extend(report.ways.iter().map(rate));
    quantities.extend(times("idle", &report.idle.parts));
    quantities.extend(report.ways.iter().flat_map(|way| times(loaded(way.way), &way.parts)));
    ForeignRun {
        program: "a responsiveness server".to_owned(),
        measured_by: MeasuredBy::Btu,
        subject: format!("HTTP/2 over TLS to {target}"),
        answer: answer(report),
        quantities,
        courses: report.ways.iter().flat_map(courses).collect(),
        remarks: remarks(method, report),
        warnings: Vec::new(),
        faults: report.ways.iter().filter_map(fault).collect(),
    }
}

/// What goes on while a direction is full, as `btu speed` says it.
const fn loaded(way: Way) -> &'static str {
    match way {
        Way::Down => "while downloading",
        Way::Up => "while uploading",
    }
}

fn answer(report: &ResponsivenessReport) -> String {
    let found: Vec<(Way, f64)> =
        report.ways.iter().filter_map(|way| Some((way.way, way.rpm?.overall))).collect();
    let Some(worst) = found.iter().map(|(_, overall)| *overall).reduce(f64::min) else {
        return "No request was answered while the network was full".to_owned();
    };
    let word = WORDS.iter().find(|(below, _)| worst < *below).map_or("Excellent", |(_, word)| word);
    let each = found.iter().enumerate().map(|(place, (way, overall))| {
        let unit = if place == 0 { " round trips a minute" } else { "" };
        format!("{overall:.0}{unit} {}, ", loaded(*way))
    });
    let idle = report.idle.rpm.overall;
    format!("{word} responsiveness: {}{idle:.0} on the idle network", each.collect::<String>())
}

fn round_trips(way: &WayReport) -> Option<ForeignQuantity> {
    let rpm = way.rpm?;
    let full = rpm.loaded.map_or_else(String::new, |loaded| format!(", full {loaded:.0}"));
    let confidence = way.rpm_confidence.name();
    let note = format!("connections: new {:.0}{full}; {confidence} confidence", rpm.foreign);
    let name = format!("responsiveness {}", loaded(way.way));
    Some(ForeignQuantity::once(&name, ForeignUnit::RoundTripsPerMinute, rpm.overall).noted(note))
}

fn rate(way: &WayReport) -> ForeignQuantity {
    let counted = match way.way {
        Way::Down => "payload of HTTP",
        Way::Up => "octets of TLS that the far TCP acknowledged",
    };
    let note = format!("{counted}; {} confidence", way.rate_confidence.name());
    let name = format!("goodput {}", way.way.name());
    ForeignQuantity::once(&name, ForeignUnit::BitsPerSecond, way.bits_per_second).noted(note)
}

fn times(when: &str, parts: &Parts) -> Vec<ForeignQuantity> {
    let named = [
        ("TCP handshake", parts.tcp_seconds),
        ("TLS handshake", parts.tls_seconds),
        ("request on a new connection", parts.http_seconds),
        ("request on a full connection", parts.loaded_seconds),
    ];
    let one = |(name, seconds): (&str, Option<f64>)| {
        let one = ForeignQuantity::once(&format!("{name} {when}"), ForeignUnit::Seconds, seconds?);
        Some(one.noted("mean without the longest 5 %"))
    };
    named.into_iter().filter_map(one).collect()
}

fn courses(way: &WayReport) -> Vec<ForeignCourse> {
    let rates = way.intervals.iter().map(|one| [one.until_seconds, one.bits_per_second]);
    let round_trips = way.intervals.iter().filter_map(|one| Some([one.until_seconds, one.rpm?]));
    vec![
        ForeignCourse {
            name: format!("goodput {}", way.way.name()),
            unit: ForeignUnit::BitsPerSecond,
            points: rates.collect(),
        },
        ForeignCourse {
            name: format!("responsiveness {}", loaded(way.way)),
            unit: ForeignUnit::RoundTripsPerMinute,
            points: round_trips.collect(),
        },
    ]
}

fn remarks(method: &Method, report: &ResponsivenessReport) -> Vec<String> {
    let interval = Span::from(method.interval);
    let method = format!(
        "By draft-ietf-ippm-responsiveness-09 with intervals of {interval} (the draft has 1 s), up to {} of them in each direction.",
        method.most_intervals
    );
    let server = format!("Measured to {} with {}.", report.server, report.tls);
    let each = report.ways.iter().map(|way| {
        let probes = way.probes;
        let held = match probes.held_back {
            0 => String::new(),
            held => format!(" {held} were not launched, since too many had no answer yet."),
        };
        format!(
            "{}: {} connections at the end; {} probes launched, {} answered, {} failed, {} without an answer at the end.{held}",
            way.way.name(),
            way.connections,
            probes.launched,
            probes.answered,
            probes.failed,
            probes.under_way
        )
    });
    [method, server].into_iter().chain(each).collect()
}

fn fault(way: &WayReport) -> Option<String> {
    way.rpm.is_none().then(|| format!("no probe was answered {}", loaded(way.way)))
}
