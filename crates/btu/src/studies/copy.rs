//! `btu copy`: from the command line to a plan.

mod arguments;

use std::process::ExitCode;

use btu_contract::copy::{Cache, Direction, Mode, Program, Storage};
use btu_contract::network::HostName;
use btu_studies::copy::{Background, CopyPlan};
use btu_studies::limits::PathLimits;
use btu_units::{BitRate, Bytes, Span};

use crate::cli::{Common, ProfileName, or_usual};
use crate::exit::Refusal;
use crate::results::compare::of_scripts;
use crate::results::shown;
use crate::results::{Measure, StoredStudy, Studied};
use crate::start::progress::ProgressDisplay;
use crate::start::study::{self, Chosen};

pub(crate) use arguments::Copy;

/// The default network: the report's own.
const USUAL: &str = "citi-1989";

/// Files larger than this are for other tools.
const LARGEST: Bytes = Bytes::new(10_000_000_000);

/// A copy is killed when it takes so many times as long as the line alone, and some time more: near
/// saturation the report's took 63 times as long as raw bits.
const DEADLINE_FACTOR: f64 = 80.0;
const DEADLINE_MARGIN: Span = Span::from_seconds(60);

/// Without emulation, and for all copies.
const LONGEST: Span = Span::from_seconds(3600);

impl Measure for Copy {
    const STUDY: &'static dyn StoredStudy = &Studied::<CopyPlan>::new(of_scripts::<CopyPlan>);

    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let (store, run) =
            study::run(&self.study, common, ProgressDisplay::Never, || plan(&self), room)?;
        shown::code(&store, run)
    }
}

/// A source and its copy, where there are any on disk.
fn room(plan: &CopyPlan) -> Bytes {
    let largest = plan.sizes.iter().max().filter(|_| plan.storages.contains(&Storage::Disk));
    largest.map_or(Bytes::ZERO, |size| *size * 2)
}

fn usage(problem: impl Into<String>) -> anyhow::Error {
    Refusal::Usage(problem.into()).into()
}

fn plan(copy: &Copy) -> anyhow::Result<CopyPlan> {
    let at =
        copy.at.as_deref().map(|directory| study::share(&copy.study, directory)).transpose()?;
    let usual = if at.is_some() { study::USUAL_AT_SHARE } else { USUAL };
    let chosen = Chosen::of(&copy.study, (usual, Span::ZERO))?;
    let sender = chosen.host("sender", copy.sender.as_deref(), Some(0))?;
    let receiver = chosen.host("receiver", copy.receiver.as_deref(), Some(1))?;
    if sender == receiver {
        return Err(usage(
            "--sender and --receiver are different stations or hosts: two of them are needed",
        ));
    }
    let given = [copy.program.len(), copy.size.len(), copy.contention.len(), copy.background.len()];
    if given.iter().any(|count| *count > CopyPlan::MOST_LEVELS) {
        let most = CopyPlan::MOST_LEVELS;
        return Err(usage(format!(
            "more than {most} programs, sizes, loads or pairs of stations are too many for one run"
        )));
    }
    let sizes = sizes(copy)?;
    let wire = wire(&chosen, &sender, &receiver);
    let backgrounds = backgrounds(copy, wire)?;
    let is_quiet = backgrounds.iter().all(|background| background.is_quiet());
    let pairs = if is_quiet { Vec::new() } else { pairs(copy, &chosen, [&sender, &receiver])? };
    let pairs_count = pairs.len();
    let mut hosts = vec![sender, receiver];
    for host in pairs.iter().flatten() {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    let programs = programs(copy);
    if programs.contains(&Program::Mount) != at.is_some() {
        return Err(usage(
            "the program `mount` and --at DIR go together: the share that is mounted there is what it copies to",
        ));
    }
    for program in programs.iter().filter(|program| program.is_the_systems()) {
        check_system(*program, &chosen)?;
    }
    let (blocks, budget) = copy.limit.over(match copy.study.profile {
        ProfileName::Quick if copy.paper => (5, Span::from_seconds(12 * 3600)),
        ProfileName::Quick => (3, Span::from_seconds(260)),
        ProfileName::Standard => (5, Span::from_seconds(60 * 60)),
        ProfileName::Full => (7, Span::from_seconds(12 * 3600)),
    });
    let plan = CopyPlan {
        frame: study::frame::<CopyPlan>(
            &copy.study,
            (blocks, budget),
            deadline(wire, &sizes),
            chosen.field(hosts)?,
        )?,
        programs,
        sizes,
        backgrounds,
        storages: or_usual(
            &copy.storage,
            if copy.paper { &[Storage::Disk] } else { &Storage::ALL },
        ),
        directions: or_usual(&copy.direction, &[Direction::Put]),
        caches: or_usual(&copy.cache, &[Cache::Cold]),
        mode: copy.mode,
        at,
        paper: copy.paper,
        pairs,
        full: wire.map_or(BitRate::from_bits_per_second(0), |wire| wire.full),
        lead: lead(copy.mode, wire, pairs_count),
    };
    Ok(study::within(plan, &copy.limit)?)
}

/// The programs that were named, else those of the paper, of a share, or the usual ones.
fn programs(copy: &Copy) -> Vec<Program> {
    let usual = match (copy.paper, &copy.at) {
        (true, _) => &Program::OF_THE_PAPER[..],
        (false, Some(_)) => &Program::AT_A_SHARE[..],
        (false, None) => &Program::USUAL[..],
    };
    or_usual(&copy.program, usual)
}

fn sizes(copy: &Copy) -> anyhow::Result<Vec<Bytes>> {
    let megabytes = |sizes: &[u64]| -> Vec<Bytes> {
        sizes.iter().map(|size| Bytes::new(size * 1_000_000)).collect()
    };
    let usual = match copy.study.profile {
        ProfileName::Quick | ProfileName::Standard if !copy.paper => megabytes(&[1, 2, 5]),
        _ => megabytes(&[1, 2, 5, 10, 25, 50, 75, 100]),
    };
    let sizes = or_usual(&copy.size, &usual);
    match sizes.iter().find(|size| **size == Bytes::ZERO || **size > LARGEST) {
        Some(size) => Err(usage(format!("--size {size} cannot be copied: from 1 B to {LARGEST}"))),
        None => Ok(sizes),
    }
}

fn wire(chosen: &Chosen, from: &HostName, to: &HostName) -> Option<PathLimits> {
    let drawing = chosen.drawing()?;
    let station = |host: &HostName| drawing.station_called(host.as_str());
    PathLimits::between(drawing, station(from)?, station(to)?)
}

/// Without the rate of a line, a share of it has no meaning.
fn backgrounds(copy: &Copy, wire: Option<PathLimits>) -> anyhow::Result<Vec<Background>> {
    let percent = |levels: &[u16]| {
        levels.iter().filter_map(|level| Background::percent(*level)).collect::<Vec<_>>()
    };
    let usual = match copy.study.profile {
        _ if wire.is_none() => percent(&[0]),
        _ if copy.mode == Mode::Saturated => percent(&[0, 100]),
        ProfileName::Quick if copy.paper => percent(&[0, 10, 60, 98]),
        ProfileName::Quick => percent(&[0, 60]),
        ProfileName::Standard => percent(&[0, 10, 60, 98]),
        ProfileName::Full => percent(&[0, 10, 30, 60, 80, 90, 95, 98]),
    };
    let backgrounds = or_usual(&copy.contention, &usual);
    match backgrounds.iter().find(|background| !background.is_quiet()) {
        Some(background) if wire.is_none() => Err(usage(format!(
            "--contention {background}: it would be a share of an unknown rate; name an emulated network"
        ))),
        _ if copy.mode == Mode::Saturated => all_or_nothing(backgrounds),
        _ => Ok(backgrounds),
    }
}

/// Saturation has no levels in between.
fn all_or_nothing(backgrounds: Vec<Background>) -> anyhow::Result<Vec<Background>> {
    match backgrounds.iter().find(|background| !background.is_quiet() && background.share() < 1.0) {
        None => Ok(backgrounds),
        Some(background) => Err(usage(format!(
            "--mode saturated offers as much as goes, and --contention {background} is less: write 0,100, or another mode"
        ))),
    }
}

/// The time of the background alone. On a line the first offer is correct, and a second of reports
/// shows it; on a shared medium the rate is searched, and a cell without a settled rate does not
/// count.
fn lead(mode: Mode, wire: Option<PathLimits>, pairs: usize) -> Span {
    let searches = pairs > 1 && wire.is_some_and(|wire| wire.is_shared);
    match mode {
        Mode::Offered | Mode::Saturated => Span::from_seconds(1),
        Mode::Held | Mode::Pressed if searches => Span::from_seconds(4),
        Mode::Held | Mode::Pressed => Span::from_seconds(2),
    }
}

/// Programs of the system run where all stations are of this machine; on other hosts those of ssh
/// do where their policies name them.
fn check_system(program: Program, chosen: &Chosen) -> anyhow::Result<()> {
    if chosen.drawing().is_none() {
        if matches!(program, Program::Scp | Program::Sftp) {
            return Ok(());
        }
        return Err(usage(format!(
            "--program {program} is measured between stations of this machine: name a network with --network, or leave it out"
        )));
    }
    match btu_load::missing_for(program) {
        None => Ok(()),
        Some(missing) => Err(usage(format!(
            "--program {program} needs `{missing}`, which this system does not have: install it, or leave the program out"
        ))),
    }
}

/// The stations of the background: those that are named; else the stations called so; else the
/// sender itself, to a third station.
fn pairs(copy: &Copy, chosen: &Chosen, ends: [&HostName; 2]) -> anyhow::Result<Vec<[HostName; 2]>> {
    if !copy.background.is_empty() {
        let named = |[from, to]: &[String; 2]| {
            Ok::<_, Refusal>([
                chosen.host("background", Some(from), None)?,
                chosen.host("background", Some(to), None)?,
            ])
        };
        let mut pairs = Vec::new();
        for pair in &copy.background {
            let pair = named(pair)?;
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        return Ok(pairs);
    }
    let stations = &chosen.hosts;
    let called = |name: &str| -> Vec<HostName> {
        let is_called = |host: &&HostName| {
            let rest = host.as_str().strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        stations.iter().filter(is_called).cloned().collect()
    };
    let pairs: Vec<[HostName; 2]> = called("background")
        .into_iter()
        .zip(called("sink"))
        .map(Into::into)
        .take(CopyPlan::MOST_LEVELS)
        .collect();
    if !pairs.is_empty() {
        return Ok(pairs);
    }
    let third = stations.iter().find(|host| !ends.contains(host)).unwrap_or(ends[1]);
    Ok(vec![[ends[0].clone(), third.clone()]])
}

fn deadline(wire: Option<PathLimits>, sizes: &[Bytes]) -> Span {
    let line = wire.and_then(|wire| Some(wire.seconds(*sizes.iter().max()?)?.1));
    line.map_or(LONGEST, |seconds| {
        (DEADLINE_MARGIN + Span::from_seconds_f64(seconds * DEADLINE_FACTOR)).min(LONGEST)
    })
}
