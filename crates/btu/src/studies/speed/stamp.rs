//! `btu speed --stamp` and `--stamp-reflector`: round trips, and the loss of each direction, with
//! reflectors and senders of any make.

mod outcome;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use btu_stamp::{MOST_PACKETS, PORT, Progress, Reflector, Settings, measure as measured};
use btu_units::{Span, three_digits};

use super::{Speed, resolved, usage};
use crate::cli::{Common, ProfileName};
use crate::commands::agent::address;
use crate::exit::Refusal;
use crate::start::progress::Steps;
use crate::start::{ending_signals, preflight, wall_clock};
use crate::stored::runs;
use crate::suites::foreign;
use crate::terminal;

/// Other hosts reach the reflector only if its user says so.
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);

/// The interval of looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Times of a measurement, and from a packet to the next: a reflector of btu answers 1000 a second.
const TIME: std::ops::RangeInclusive<Span> =
    Span::from_milliseconds(100)..=Span::from_seconds(3600);
const INTERVAL: std::ops::RangeInclusive<Span> =
    Span::from_milliseconds(1)..=Span::from_seconds(60);

/// Reflects until a signal.
pub(super) fn reflect(listen: Option<&str>) -> anyhow::Result<ExitCode> {
    let listen = listen.map_or(Ok(LOOPBACK), |text| address(text, PORT))?;
    let signals = ending_signals()?;
    let reflector = Reflector::open(listen).map_err(|error| Refusal::Machine(error.to_string()))?;
    let place = reflector.address();
    terminal::print(&format!("stamp: listening on {place}\nsenders: btu speed --stamp {place}\n"))?;
    while signals.read_signal()?.is_none() {
        thread::sleep(LOOK);
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures to a reflector, stores and shows the result.
pub(super) fn measure(reflector: &str, speed: &Speed, common: &Common) -> anyhow::Result<ExitCode> {
    let options = &speed.study;
    let settings = settings(reflector, speed)?;
    let mut store = preflight::store(common)?;
    let (created, began) = (wall_clock(), Instant::now());
    let steps = Steps::new(options.quiet);
    steps.say(format!("asking {}", settings.reflector));
    let report = measured(&settings, &mut |progress| steps.say(line(&progress)));
    steps.clear();
    let report = report.map_err(|error| Refusal::Machine(error.to_string()))?;
    let run = outcome::run(reflector, &settings, &report);
    let (took, label) = (Some(Span::from(began.elapsed())), options.naming.label.as_deref());
    let run = foreign::save(&mut store, &run, ("stamp", created), took, label)?;
    runs::print_result(&store, run, runs::Shown::of(options.all), runs::Form::of(common))?;
    runs::code(&store, run)
}

fn settings(reflector: &str, speed: &Speed) -> anyhow::Result<Settings> {
    let usual = match speed.study.profile {
        ProfileName::Quick => Span::from_seconds(10),
        ProfileName::Standard => Span::from_seconds(60),
        ProfileName::Full => Span::from_seconds(300),
    };
    let (time, interval) = (speed.time.unwrap_or(usual), speed.reflection.interval);
    for (option, value, range) in [("--time", time, TIME), ("--interval", interval, INTERVAL)] {
        let (least, most) = (range.start(), range.end());
        if !range.contains(&value) {
            return Err(usage(format!("{option} {value} is not between {least} and {most}")));
        }
    }
    if interval * u64::from(MOST_PACKETS) < time {
        let why = format!(
            "--time {time} with --interval {interval} are more than {MOST_PACKETS} packets"
        );
        return Err(usage(format!("{why}: choose a shorter time or a longer interval")));
    }
    let reflector = resolved("--stamp", reflector, PORT, speed.ipv6)?;
    // Without a seed no two processes begin in step.
    let chosen = speed.study.seed.unwrap_or_else(|| u64::from(std::process::id()));
    Ok(Settings { reflector, interval, time, seed: chosen })
}

/// The line about the last second.
fn line(progress: &Progress) -> String {
    let Progress { sent, answered, round_trip } = progress;
    let last = round_trip.map_or_else(String::new, |time| {
        format!("  round trip {} ms", three_digits(time.milliseconds()))
    });
    format!("{sent} packets sent, {answered} answered{last}")
}
