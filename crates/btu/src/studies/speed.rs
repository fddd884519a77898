//! `btu speed`: from the command line to a plan.

mod arguments;
mod iperf3;
mod responsiveness;
mod stamp;

use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use btu_contract::activity::OpenLoop;
use btu_contract::experiment::Measured;
use btu_contract::foreign::ForeignRun;
use btu_contract::lead;
use btu_store::{RunId, Store};
use btu_studies::speed::{Phase, SpeedCell, SpeedPlan, interval, least_time};
use btu_testbed::note;
use btu_units::{BitRate, Bytes, Span, shell_word};
use nix::sys::signalfd::SignalFd;

use crate::cli::{Common, ProfileName};
use crate::exit::Refusal;
use crate::results::compare::of_scripts;
use crate::results::{Measure, StoredStudy, Studied, foreign, shown};
use crate::start::hosts::{self, Family};
use crate::start::progress::{ProgressDisplay, Steps};
use crate::start::study::{self, Chosen};
use crate::stored::{self, resume, wall_clock};
use crate::terminal;
use arguments::INTRODUCTION;

pub(crate) use arguments::Speed;

/// The longest phase.
const TIME: std::ops::RangeInclusive<Span> =
    Span::from_milliseconds(100)..=Span::from_seconds(3600);

/// The slowest stream of datagrams: one every ten seconds or so.
const SLOWEST: BitRate = BitRate::from_bits_per_second(1000);

/// The time in which a stream fills the queues of a network that is not known: two seconds, which is
/// more than most queues hold. A longer one is seen: requests then still become slower.
const LEAD: Span = Span::from_seconds(2);

/// The interval of looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// A block that takes longer is announced.
const LONG: Span = Span::from_seconds(45);

/// The additional time of a phase: queues drain, connections end.
const DEADLINE_MARGIN: Span = Span::from_seconds(60);

impl Measure for Speed {
    const STUDY: &'static dyn StoredStudy = &Studied::<SpeedPlan>::new(of_scripts::<SpeedPlan>);

    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        if self.responsiveness.rpm_server {
            return responsiveness::serve(&self);
        }
        if let Some(server) = &self.responsiveness.rpm {
            return responsiveness::measure(server, &self, common);
        }
        if self.reflection.stamp_reflector {
            return stamp::reflect(self.listen.as_deref());
        }
        if let Some(reflector) = &self.reflection.stamp {
            return stamp::measure(reflector, &self, common);
        }
        if let Some(server) = &self.iperf3 {
            return iperf3::measure(server, &self, common);
        }
        let watch =
            if self.json_lines { ProgressDisplay::JsonLines } else { ProgressDisplay::Terminal };
        let (store, run) = study::run(&self.study, common, watch, || plan(&self), |_| Bytes::ZERO)?;
        shown::code(&store, run)?;
        code(&store, run)
    }
}

/// The exit code: each phase has to have something that counts.
fn code(store: &Store, run: RunId) -> anyhow::Result<ExitCode> {
    let plan: SpeedPlan = resume::plan(&store.run(&run.to_string())?)?;
    let cells: Vec<Measured<SpeedCell>> = store.records(run)?;
    let counts = |phase| cells.iter().any(|cell| cell.cell.phase == phase && cell.is_valid());
    let Some(missing) = plan.phases.iter().find(|phase| !counts(**phase)) else {
        return Ok(ExitCode::SUCCESS);
    };
    let failed = cells.iter().find(|cell| cell.cell.phase == *missing);
    let why = failed.and_then(|cell| cell.faults.first()).map_or("not measured", String::as_str);
    bail!(
        "run {run} has no result for `{}`: {why}; where the path is only slow, -t '{}' gives it more time",
        SpeedCell { phase: *missing },
        plan.time * 4 + DEADLINE_MARGIN
    )
}

fn usage(problem: impl Into<String>) -> anyhow::Error {
    Refusal::Usage(problem.into()).into()
}

/// Measures with a program that is not btu, stores the result and shows it. `profile` is the word for such
/// runs in lists.
fn with_other_program(
    profile: &str,
    speed: &Speed,
    common: &Common,
    measure: impl FnOnce(&Steps) -> anyhow::Result<ForeignRun>,
) -> anyhow::Result<ExitCode> {
    let options = &speed.study;
    let mut store = stored::open(common)?;
    let (created, began) = (wall_clock(), Instant::now());
    let steps = Steps::new(options.quiet);
    let run = measure(&steps);
    steps.clear();
    let (took, label) = (Some(Span::from(began.elapsed())), options.naming.label.as_deref());
    let run = foreign::save(&mut store, &run?, (profile, created), took, label)?;
    shown::print_result(&store, run, shown::Shown::of(options.all), shown::Form::of(common))?;
    shown::code(&store, run)
}

/// Says where a server of `btu speed` listens and how its clients call it, and serves until a signal.
fn serve_until_signal(
    signals: &SignalFd,
    (name, clients): (&str, &str),
    place: SocketAddr,
    call: impl FnOnce(&str) -> String,
) -> anyhow::Result<ExitCode> {
    let host = if place.ip().is_unspecified() {
        format!("HOST:{}", place.port())
    } else {
        place.to_string()
    };
    terminal::print(&format!("{name}: listening on {place}\n{clients}: {}\n", call(&host)))?;
    while signals.read_signal()?.is_none() {
        thread::sleep(LOOK);
    }
    Ok(ExitCode::SUCCESS)
}

/// The first address of `HOST` or `HOST:PORT`, as this option has it.
fn resolved(option: &str, server: &str, port: u16, family: Family) -> anyhow::Result<SocketAddr> {
    let bare = server.trim_start_matches('[').trim_end_matches(']');
    let is_name = |host: &str| !host.is_empty() && !host.contains(':');
    let found = match server.rsplit_once(':') {
        // `host:port` or `[address]:port`; an address of IPv6 has more colons.
        Some((host, port)) if is_name(host) || host.ends_with(']') => {
            let port: u16 = port.parse().map_err(|_| {
                usage(format!("{option} {server}: `{port}` is not a port: write HOST or HOST:PORT"))
            })?;
            let host = host.trim_start_matches('[').trim_end_matches(']');
            (host, port).to_socket_addrs()
        }
        _ => (bare, port).to_socket_addrs(),
    };
    let found = found.map_err(|error| {
        Refusal::Machine(format!("{option} {server}: {error}; is the name right?"))
    })?;
    let mut found = found.filter(|address| family.has(address.ip()));
    let none =
        || Refusal::Machine(format!("{option} {server}: this name has no {}", family.missing()));
    Ok(found.next().ok_or_else(none)?)
}

fn plan(speed: &Speed) -> anyhow::Result<SpeedPlan> {
    let profile = speed.study.profile;
    let (blocks, time, idle) = match profile {
        ProfileName::Quick => (1, Span::from_seconds(3), Span::from_milliseconds(1500)),
        ProfileName::Standard => (5, Span::from_seconds(10), Span::from_seconds(3)),
        ProfileName::Full => (15, Span::from_seconds(30), Span::from_seconds(10)),
    };
    if let Some(rate) = speed.udp.filter(|rate| *rate < SLOWEST) {
        return Err(usage(format!("--udp {rate} is too slow: at least {SLOWEST}")));
    }
    let chosen = chosen(speed)?.over(speed.addresses.family());
    let near = chosen.host("from", speed.from.as_deref(), Some(0))?;
    let far = chosen.host("to", speed.host.as_deref().or(speed.to.as_deref()), chosen.last())?;
    if near == far {
        return Err(usage(
            "--from and --to are different stations or hosts: two of them are needed",
        ));
    }
    let ends = [&near, &far].map(|host| chosen.drawing()?.station_called(host.as_str()));
    let way = match (chosen.drawing(), ends) {
        (Some(drawing), [Some(near), Some(far)]) => Some((drawing, [near, far])),
        _ => None,
    };
    let least = way.map_or(Span::ZERO, |(drawing, ends)| least_time(drawing, ends));
    let asked = checked(speed.time, time, least);
    let time = asked.as_ref().map_or(least, |time| *time);
    let lead = chosen.drawing().map_or(LEAD, |drawing| lead::of(Some(drawing)));
    let requests = OpenLoop { interval: interval(way, time), lead };
    let longest = lead + time + DEADLINE_MARGIN;
    let phases = phases(speed);
    let cells = u64::from(blocks) * phases.len() as u64;
    let plan = SpeedPlan {
        frame: study::frame::<SpeedPlan>(
            &speed.study,
            (blocks, longest * cells),
            longest,
            chosen.field(vec![near, far])?,
        )?,
        phases,
        time,
        requests: Some(requests),
        idle: idle.max(least),
        streams: speed.streams,
        offered: speed.udp,
        dscp: speed.dscp,
        receiving: speed.reading.receive,
    };
    match plan.too_slow() {
        // Where nothing comes through, no time is enough.
        None => asked.map(|_| {
            if !speed.study.quiet {
                say_if_long(&plan, least);
            }
            plan
        }),
        Some((needed, limit)) => Err(usage(format!(
            "nothing can come through: on this network a connection and its first answer take {:.0} s by their closed \
             form, and btu waits {limit} for them; `btu sim` simulates such a network without waiting",
            needed.seconds()
        ))),
    }
}

/// Says how long a block of the plan takes where that is more than a user expects, and what makes it
/// shorter.
fn say_if_long(plan: &SpeedPlan, least: Span) {
    let takes = plan.takes();
    if takes < LONG {
        return;
    }
    let all = takes * u64::from(plan.frame.blocks);
    let shorter = if plan.time > least { "; a shorter -t takes less" } else { "" };
    note!("btu: this takes some {:.0} s, since the network is slow{shorter}", all.seconds());
}

/// The requested time, or this one where it is long enough for the network.
fn checked(asked: Option<Span>, otherwise: Span, least: Span) -> anyhow::Result<Span> {
    let time = asked.unwrap_or_else(|| otherwise.max(least));
    if !TIME.contains(&time) {
        let (shortest, longest) = (TIME.start(), TIME.end());
        return Err(usage(format!("--phase-time {time} is not between {shortest} and {longest}")));
    }
    if time < least {
        let enough = least.seconds().ceil();
        return Err(usage(format!(
            "--phase-time {time} is too short for this network, on which ten requests or full segments take longer: -t '{enough} s' is enough"
        )));
    }
    Ok(time)
}

/// The place of the measurement: there is no default.
fn chosen(speed: &Speed) -> anyhow::Result<Chosen<'_>> {
    let options = &speed.study;
    let real = &options.real;
    if let (Some(host), None) = (&speed.host, &real.hosts) {
        return Err(usage(format!(
            "{host}: a host of an inventory needs its --hosts FILE; any host is reached by ssh: btu speed --ssh {}",
            shell_word(host)
        )));
    }
    let named = hosts::named_hosts(real)?;
    if !named.is_empty() {
        if named.len() > 1 && speed.host.is_none() && speed.to.is_none() {
            return Err(usage("to which of these hosts? name it: btu speed HOST, or --to HOST"));
        }
        return Chosen::elsewhere(options, named, speed.from.is_none());
    }
    let Some(network) = options.network.as_deref() else {
        return Err(usage(INTRODUCTION));
    };
    Chosen::of(options, (network, Span::ZERO))
}

fn phases(speed: &Speed) -> Vec<Phase> {
    let all = [
        (Phase::Idle, true),
        (Phase::Up, !speed.directions.reverse),
        (Phase::Down, true),
        (Phase::Both, speed.directions.bidirectional),
        (Phase::Connects, speed.connects),
        (Phase::DatagramsUp, speed.udp.is_some() && !speed.directions.reverse),
        (Phase::DatagramsDown, speed.udp.is_some()),
    ];
    all.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(phase, _)| phase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_with_and_without_a_port() {
        for (text, address) in [
            ("192.0.2.1", "192.0.2.1:5201"),
            ("192.0.2.1:5202", "192.0.2.1:5202"),
            ("2001:db8::1", "[2001:db8::1]:5201"),
            ("[2001:db8::1]", "[2001:db8::1]:5201"),
            ("[2001:db8::1]:7", "[2001:db8::1]:7"),
        ] {
            let found = resolved("--iperf3", text, 5201, Family::Either).expect("an address");
            assert_eq!(found.to_string(), address);
        }
        assert!(resolved("--iperf3", "192.0.2.1", 5201, Family::Ipv6).is_err());
        assert!(resolved("--iperf3", "[::1]", 5201, Family::Ipv4).is_err());
        assert!(resolved("--iperf3", "192.0.2.1:port", 5201, Family::Either).is_err());
    }
}
