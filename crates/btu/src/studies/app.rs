//! `btu app`: from the command line to a plan.

mod arguments;
mod speed;
mod x11;

use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::process::ExitCode;

use btu_contract::app::{Broadcasts, Carrier, HEIGHT, Niceness, Protocol, WIDTH, Workload};
use btu_contract::experiment::{Field, LeftOut};
use btu_contract::network::HostName;
use btu_studies::app::{
    AppCell, AppPlan, DEADLINE, DisplayLines, Factor, Factors, FactorsError, Questions,
};
use btu_units::{BitRate, Span};

use crate::cli::{Common, ProfileName, or_usual};
use crate::exit::Refusal;
use crate::files;
use crate::results::compare::of_scripts;
use crate::results::shown;
use crate::results::{Measure, StoredStudy, Studied};
use crate::start::progress::ProgressDisplay;
use crate::start::study::{self, Chosen};

pub(crate) use arguments::App;

/// The default network: fast enough that stop-and-wait ends in time, and long enough that its delay
/// shows.
const USUAL_RATE: &str = "10 Mb/s";
const USUAL_DELAY: Span = Span::from_milliseconds(5);

/// All lines of the study's tables.
const PAPER_NETWORK: &str = "stanford-1985";

/// The longest time of an item: that of a slow program.
const LONGEST_WORK: Span = Span::from_seconds(1);

impl Measure for App {
    const STUDY: &'static dyn StoredStudy = &Studied::<AppPlan>::new(of_scripts::<AppPlan>);

    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        run(&self, common)
    }
}

/// Measures the requested plan.
fn run(app: &App, common: &Common) -> anyhow::Result<ExitCode> {
    if app.watch && !stderr().is_terminal() {
        let problem = "--watch draws on a terminal, and standard error is none: leave it out, or write the first picture \
                       with --picture FILE";
        return Err(usage(problem.to_owned()).into());
    }
    let watch = if app.watch { ProgressDisplay::Picture } else { ProgressDisplay::Never };
    let (store, run) = study::run(&app.study, common, watch, || plan(app), AppPlan::scratch)?;
    if let Some(path) = &app.picture {
        save_picture(app, path)?;
    }
    shown::code(&store, run)
}

/// The first picture, as a portable bitmap (pbm(5)): eight pixels to the octet, set ones black, as it is. What displays draw is
/// compared with it.
fn save_picture(app: &App, path: &Path) -> anyhow::Result<()> {
    let picture = or_usual(&app.workload, &Workload::ALL)[0].picture();
    let head = format!("P4\n{WIDTH} {HEIGHT}\n");
    files::save(path, &[head.as_bytes(), picture.bits()].concat())
}

/// The named carriers, or the usual.
fn carriers(app: &App) -> Vec<Carrier> {
    let usual: &[Carrier] = if app.paper { &AppPlan::PAPER_CARRIERS } else { &[Carrier::Tcp] };
    let mut carriers = or_usual(&app.transport, usual);
    if app.x11 {
        let of_x11 = Carrier::ALL.into_iter().filter(|carrier| carrier.is_x11());
        let added: Vec<Carrier> = of_x11.filter(|carrier| !carriers.contains(carrier)).collect();
        carriers.extend(added);
    }
    carriers
}

/// The additional computing of an end for each item: the requested time, else that of the study if
/// its tables are repeated.
fn work(app: &App, option: &str, asked: Option<Span>, paper: Span) -> Result<Span, Refusal> {
    let time = asked.unwrap_or(if app.paper { paper } else { Span::ZERO });
    if time > LONGEST_WORK {
        return Err(usage(format!("{option} {time} is too long: at most {LONGEST_WORK} an item")));
    }
    Ok(time)
}

/// Blocks, the least time of a cell, and the time of the run.
fn extent(app: &App, factors: Option<&Factors>) -> (u32, Span, Span) {
    let (blocks, target, budget) = match app.study.profile {
        // As the study: the mean of ten trials.
        ProfileName::Quick if app.paper => {
            (AppPlan::PAPER_BLOCKS, Span::from_milliseconds(50), Span::from_seconds(4 * 3600))
        }
        ProfileName::Quick => (3, Span::from_milliseconds(50), Span::from_seconds(170)),
        ProfileName::Standard => (7, Span::from_milliseconds(500), Span::from_seconds(45 * 60)),
        ProfileName::Full => (15, Span::from_seconds(2), Span::from_seconds(8 * 3600)),
    };
    // Of an experiment every block counts, or none of its runs does.
    let budget = if factors.is_some() { budget.max(Span::from_seconds(10 * 60)) } else { budget };
    let (blocks, budget) = app.limit.over((blocks, budget));
    (blocks, target, budget)
}

fn plan(app: &App) -> anyhow::Result<AppPlan> {
    let application =
        work(app, "--application-time", app.application_time, AppPlan::PAPER_APPLICATION)?;
    let display = work(app, "--display-time", app.display_time, AppPlan::PAPER_DISPLAY)?;
    let factors = factors(app)?;
    let carriers = carriers(app);
    let slowing = speed::slowing(app)?;
    let AppNetwork { network, displays, relay, broadcaster } =
        place(app, &carriers, factors.as_ref())?;
    check_ssh(app, factors.as_ref())?;
    x11::check(app, &carriers)?;
    let (blocks, target, budget) = extent(app, factors.as_ref());
    let pictures: &[Workload] = match (app.mix, &factors) {
        (Some(_), _) => &[Workload::Mix],
        (None, Some(_)) => &[Workload::StructuredRectangles],
        (None, None) => &Workload::ALL,
    };
    let plan = AppPlan {
        frame: study::frame::<AppPlan>(&app.study, (blocks, budget), DEADLINE, network)?,
        workloads: or_usual(&app.workload, pictures),
        protocols: or_usual(
            &app.protocol,
            if app.paper { &AppPlan::PAPER_PROTOCOLS } else { &Protocol::USUAL },
        ),
        carriers,
        displays,
        speeds: speed::speeds(app),
        broadcasts: app.broadcasts.clone(),
        broadcaster,
        slowing,
        nice: Niceness { application: app.application_nice, display: app.display_nice },
        mix: app.mix,
        relay,
        factors,
        paper: app.paper,
        questions: Questions { within: app.within, at_least: app.at_least },
        application,
        display,
        target,
    };
    speed::one_in_a_thread(&plan)?;
    let plan = study::within(plan, &app.limit)?;
    match (&plan.factors, plan.frame.left_out.first()) {
        (Some(_), Some(LeftOut { cell, least })) => {
            let problem = format!(
                "--factors needs every combination, and {cell} takes {:.0} s by its closed form: give a longer --time, or other \
                 levels",
                least.seconds()
            );
            Err(usage(problem).into())
        }
        _ => Ok(plan),
    }
}

/// The factors that are tried together, if any are.
fn factors(app: &App) -> anyhow::Result<Option<Factors>> {
    let Some(named) = &app.factors else { return Ok(None) };
    let refused = |error: FactorsError| usage(format!("--factors: {error}"));
    let factors =
        if named.is_empty() { Ok(Factors::usual()) } else { Factors::try_from(named.clone()) }
            .map_err(refused)?;
    let protocol = app.protocol.first().copied().unwrap_or(Protocol::StopAndWait);
    let carrier = app.transport.first().copied().unwrap_or(Carrier::Tcp);
    factors.check(&AppCell::new(Workload::Vectors, protocol, carrier)).map_err(refused)?;
    Ok(Some(factors))
}

/// The place of the measurement.
struct AppNetwork {
    network: Field,
    /// The displays, where there are several.
    displays: Vec<HostName>,
    /// The host of the relay, if there is one.
    relay: Option<HostName>,
    /// The host that sends broadcasts, if one does.
    broadcaster: Option<HostName>,
}

fn place(app: &App, carriers: &[Carrier], factors: Option<&Factors>) -> anyhow::Result<AppNetwork> {
    let pollutes = pollutes(app, factors);
    if pollutes && is_elsewhere(app) {
        let problem = "--broadcasts is for networks that btu starts here: they would reach every host on the segment of \
                       real ones";
        return Err(usage(problem.to_owned()).into());
    }
    if let Some(lines) = lines(app, factors, pollutes)? {
        return on_lines(app, &lines, pollutes);
    }
    let bound = carriers.iter().find(|carrier| {
        matches!(carrier, Carrier::Relay | Carrier::Ssh | Carrier::Unix) || carrier.is_x11()
    });
    if let Some(carrier) = bound.filter(|_| is_elsewhere(app)) {
        let problem = format!(
            "--transport {carrier} is for networks that btu starts here: agents of real hosts refuse it"
        );
        return Err(usage(problem).into());
    }
    let usual = if app.paper { (PAPER_NETWORK, Span::ZERO) } else { (USUAL_RATE, USUAL_DELAY) };
    let chosen = Chosen::of(&app.study, usual)?;
    let named = |name: &String| chosen.host("display", Some(name), None);
    let mut displays = app.display.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    let application = chosen.host("application", app.application.as_deref(), chosen.last())?;
    if displays.is_empty() && app.paper {
        displays.extend(chosen.hosts.iter().filter(|host| **host != application).cloned());
    } else if displays.is_empty() {
        displays.push(chosen.host("display", None, Some(0))?);
    }
    if displays.contains(&application) {
        let problem =
            "--application and --display are different stations or hosts: two of them are needed";
        return Err(usage(problem.to_owned()).into());
    }
    if (1..displays.len()).any(|place| displays[..place].contains(&displays[place])) {
        return Err(usage("--display names a station twice".to_owned()).into());
    }
    let ends: Vec<HostName> =
        std::iter::once(application).chain(displays.iter().cloned()).collect();
    let relay = relay(app, factors, &chosen, &ends)?;
    let others: Vec<HostName> = ends.into_iter().chain(relay.clone()).collect();
    let broadcaster = pollutes.then(|| broadcaster(app, &chosen, &others)).transpose()?;
    if displays.len() == 1 && !app.paper {
        displays.clear();
    }
    let stations = others.into_iter().chain(broadcaster.clone()).collect();
    Ok(AppNetwork { network: chosen.field(stations)?, displays, relay, broadcaster })
}

/// Lines that are drawn for this run.
fn on_lines(app: &App, lines: &DisplayLines, pollutes: bool) -> anyhow::Result<AppNetwork> {
    let mut displays = lines.displays();
    let chosen = Chosen::written(&app.study, "lines", lines.text())?;
    let application = chosen.host(DisplayLines::APPLICATION, None, Some(0))?;
    let broadcaster =
        pollutes.then(|| chosen.host(DisplayLines::BROADCASTER, None, None)).transpose()?;
    let ends = std::iter::once(application).chain(displays.iter().cloned());
    let stations = ends.chain(broadcaster.clone()).collect();
    if displays.len() == 1 {
        displays.clear();
    }
    Ok(AppNetwork { network: chosen.field(stations)?, displays, relay: None, broadcaster })
}

/// Whether broadcasts are sent in some cell.
fn pollutes(app: &App, factors: Option<&Factors>) -> bool {
    let is_factor = |factor: &Factor| matches!(factor, Factor::Broadcasts { .. });
    app.broadcasts.iter().any(|broadcasts| *broadcasts != Broadcasts::NONE)
        || factors.is_some_and(|factors| factors.list().iter().any(is_factor))
}

/// The station that sends broadcasts.
fn broadcaster(app: &App, chosen: &Chosen, others: &[HostName]) -> Result<HostName, Refusal> {
    let is_other = "--broadcaster is a station other than --application, --display and --relay";
    third(chosen, DisplayLines::BROADCASTER, app.broadcaster.as_deref(), others, is_other)
}

/// A host with a task of its own: the one that the option names, else the one called `name`, else the
/// first remaining one. `problem` is for one of `others`.
fn third(
    chosen: &Chosen,
    name: &str,
    asked: Option<&str>,
    others: &[HostName],
    problem: &str,
) -> Result<HostName, Refusal> {
    let left = chosen.hosts.iter().position(|host| !others.contains(host));
    let found = chosen.host(name, asked, left)?;
    if others.contains(&found) { Err(usage(problem.to_owned())) } else { Ok(found) }
}

/// The host of the relay, if one is needed.
fn relay(
    app: &App,
    factors: Option<&Factors>,
    chosen: &Chosen,
    ends: &[HostName],
) -> Result<Option<HostName>, Refusal> {
    if !takes(app, factors, Carrier::Relay) {
        return Ok(None);
    }
    let is_other = "--relay is a third station or host, other than --application and --display";
    third(chosen, "relay", app.relay.as_deref(), ends, is_other).map(Some)
}

/// Whether some cell is carried like that.
fn takes(app: &App, factors: Option<&Factors>, carrier: Carrier) -> bool {
    let is_level = |factor: &Factor| matches!(factor, Factor::Transport { low, high } if [*low, *high].contains(&carrier));
    app.transport.contains(&carrier)
        || factors.is_some_and(|factors| factors.list().iter().any(is_level))
}

/// Whether this machine has what `--transport ssh` takes.
fn check_ssh(app: &App, factors: Option<&Factors>) -> Result<(), Refusal> {
    match btu_load::missing_for_terminal().filter(|_| takes(app, factors, Carrier::Ssh)) {
        None => Ok(()),
        Some(missing) => Err(Refusal::Machine(format!(
            "--transport ssh needs `{missing}`, which this system does not have: install it, or leave ssh out"
        ))),
    }
}

/// The lines that the factors rate and delay ask for; the other of the two is that of the line
/// which is named, or the usual. Broadcasts over a line need a third station, and so one is drawn.
fn lines(
    app: &App,
    factors: Option<&Factors>,
    pollutes: bool,
) -> anyhow::Result<Option<DisplayLines>> {
    let asked = app.study.network.as_deref().unwrap_or(USUAL_RATE);
    let rate = asked.parse::<BitRate>();
    let usual_delay = if app.study.network.is_some() { Span::ZERO } else { USUAL_DELAY };
    let delay = app.study.delay.unwrap_or(usual_delay);
    let line = rate.clone().unwrap_or(BitRate::from_megabits_per_second(10));
    let lines = factors.and_then(|factors| factors.lines(line, delay));
    let is_named = rate.is_err()
        || [&app.application, &app.broadcaster, &app.relay].into_iter().any(Option::is_some)
        || !app.display.is_empty();
    if lines.is_some() && (is_named || is_elsewhere(app)) {
        let problem = "--factors: rate and delay are for lines that btu draws itself; leave them out with another network, \
                       stations or hosts (--factors display,application,protocol,transport)";
        return Err(usage(problem.to_owned()).into());
    }
    let one = || if pollutes && !is_named { DisplayLines::one(line, delay) } else { None };
    Ok(lines.or_else(one).map(|lines| lines.with_broadcasts(pollutes)))
}

/// Whether real hosts are named.
fn is_elsewhere(app: &App) -> bool {
    app.study.real.hosts.is_some() || !app.study.real.ssh.is_empty()
}

fn usage(problem: String) -> Refusal {
    Refusal::Usage(problem)
}
