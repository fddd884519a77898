//! `btu speed --stamp` and `--stamp-reflector`: round trips, and the loss of each direction, with
//! reflectors and senders of any make.

mod outcome;

use std::process::ExitCode;

use btu_stamp::{
    MOST_PACKETS, PORT, Reflector, SenderProgress, SenderSettings, measure as measured,
};
use btu_units::{Span, three_digits};

use super::{Speed, resolved, serve_until_signal, usage, with_other_program};
use crate::cli::{Common, ProfileName};
use crate::commands::agent::address_or_loopback;
use crate::exit::Refusal;
use crate::start::ending_signals;

/// Times of a measurement, and from a packet to the next: a reflector of btu answers 1000 a second.
const TIME: std::ops::RangeInclusive<Span> =
    Span::from_milliseconds(100)..=Span::from_seconds(3600);
const INTERVAL: std::ops::RangeInclusive<Span> =
    Span::from_milliseconds(1)..=Span::from_seconds(60);

/// Reflects until a signal.
pub(super) fn reflect(listen: Option<&str>) -> anyhow::Result<ExitCode> {
    let listen = address_or_loopback(listen, PORT)?;
    let signals = ending_signals()?;
    let reflector = Reflector::open(listen).map_err(|error| Refusal::Machine(error.to_string()))?;
    serve_until_signal(&signals, ("stamp", "senders"), reflector.address(), |host| {
        format!("btu speed --stamp {host}")
    })
}

/// Measures to a reflector, stores and shows the result.
pub(super) fn measure(reflector: &str, speed: &Speed, common: &Common) -> anyhow::Result<ExitCode> {
    let settings = settings(reflector, speed)?;
    with_other_program("stamp", speed, common, |steps| {
        steps.say(format!("asking {}", settings.reflector));
        let report = measured(&settings, &mut |progress| steps.say(line(&progress)));
        let report = report.map_err(|error| Refusal::Machine(error.to_string()))?;
        Ok(outcome::run(reflector, &settings, &report))
    })
}

fn settings(reflector: &str, speed: &Speed) -> anyhow::Result<SenderSettings> {
    let usual = match speed.study.profile {
        ProfileName::Quick => Span::from_seconds(10),
        ProfileName::Standard => Span::from_seconds(60),
        ProfileName::Full => Span::from_seconds(300),
    };
    let (time, interval) = (speed.time.unwrap_or(usual), speed.reflection.interval);
    for (option, value, range) in [("--phase-time", time, TIME), ("--interval", interval, INTERVAL)]
    {
        let (least, most) = (range.start(), range.end());
        if !range.contains(&value) {
            return Err(usage(format!("{option} {value} is not between {least} and {most}")));
        }
    }
    if interval * u64::from(MOST_PACKETS) < time {
        let why = format!(
            "--phase-time {time} with --interval {interval} are more than {MOST_PACKETS} packets"
        );
        return Err(usage(format!("{why}: choose a shorter time or a longer interval")));
    }
    let reflector = resolved("--stamp", reflector, PORT, speed.addresses.family())?;
    // Without a seed no two processes begin in step.
    let chosen = speed.study.seed.unwrap_or_else(|| u64::from(std::process::id()));
    Ok(SenderSettings { reflector, interval, time, seed: chosen })
}

/// The line about the last second.
fn line(progress: &SenderProgress) -> String {
    let SenderProgress { sent, answered, round_trip } = progress;
    let last = round_trip.map_or_else(String::new, |time| {
        format!("  round trip {} ms", three_digits(time.milliseconds()))
    });
    format!("{sent} packets sent, {answered} answered{last}")
}
