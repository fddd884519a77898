//! `btu lan`: from the command line to a plan.

use btu_suite::experiment::{Experiment, Frame};
use btu_suite::lan::{DEADLINE, LARGEST_RECORD, LanPlan, MOST_STATIONS, StationProgram, Task};
use btu_suite::network::HostName;
use btu_units::{Bytes, Span};

use crate::cli::{BackgroundName, Common, Lan, ProfileName, or_usual};
use crate::exit::Refusal;
use crate::progress::Watch;
use crate::study::{self, Chosen};

/// What is measured on where no network is named, and how many stations it has beside server and bench.
const USUAL: &str = "office-1988";
const USUAL_STATIONS: u32 = 10;

/// How many stations are at work where nobody says it.
const USUAL_LEVELS: [u32; 5] = [0, 1, 3, 5, 10];

/// A record begins with the number of its transaction.
const SMALLEST_RECORD: Bytes = Bytes::new(8);

/// The longest service: a server waits no longer for any operation.
const LONGEST_SERVICE: Span = Span::from_seconds(1);

/// Measures what was asked for.
pub(crate) fn run(mut lan: Lan, common: &Common) -> anyhow::Result<()> {
    // The usual network is drawn with as many stations as are asked for.
    let most = lan.stations.iter().copied().max().unwrap_or(0);
    if lan.study.network.is_none() && (USUAL_STATIONS + 1..=MOST_STATIONS).contains(&most) {
        lan.study.settings.insert(0, ("stations.station.count".to_owned(), most.to_string()));
    }
    study::run(&lan.study, common, Watch::Never, || plan(&lan), LanPlan::room).map(drop)
}

fn check(lan: &Lan) -> Result<(), Refusal> {
    let usage = |problem: String| Err(Refusal::Usage(problem));
    if let Some(many) = lan.stations.iter().find(|count| **count > MOST_STATIONS) {
        return usage(format!("--stations {many} are too many: {MOST_STATIONS} at most"));
    }
    if lan.service_time > LONGEST_SERVICE {
        return usage(format!(
            "--service-time {} is too long: at most {LONGEST_SERVICE} an operation",
            lan.service_time
        ));
    }
    if !(SMALLEST_RECORD..=LARGEST_RECORD).contains(&lan.record) {
        return usage(format!("--record {} is not between {SMALLEST_RECORD} and {LARGEST_RECORD}", lan.record));
    }
    if lan.open_loop && lan.background == BackgroundName::Constant {
        return usage(
            "--open-loop is for --background normal: without pauses there is nothing to be late for".to_owned(),
        );
    }
    Ok(())
}

fn plan(lan: &Lan) -> anyhow::Result<LanPlan> {
    check(lan)?;
    let chosen = Chosen::of(&lan.study, (USUAL, Span::ZERO))?;
    let (hosts, levels) = chosen_hosts(lan, &chosen)?;
    let profile = lan.study.profile;
    let (blocks, lead, target, budget) = match profile {
        ProfileName::Quick => (3, Span::from_milliseconds(300), Span::from_milliseconds(50), Span::from_seconds(240)),
        ProfileName::Standard => (7, Span::from_seconds(1), Span::from_milliseconds(500), Span::from_seconds(45 * 60)),
        ProfileName::Full => (15, Span::from_seconds(2), Span::from_seconds(2), Span::from_seconds(8 * 3600)),
    };
    let background = match lan.background {
        BackgroundName::Constant => StationProgram::Constant,
        BackgroundName::Normal => {
            StationProgram::Normal { mean: lan.pause, deviation: lan.pause_deviation, open_loop: lan.open_loop }
        }
    };
    Ok(LanPlan {
        frame: Frame {
            version: LanPlan::VERSION,
            seed: study::seed(&lan.study)?,
            profile: profile.name().to_owned(),
            blocks,
            budget,
            deadline: DEADLINE,
            network: chosen.field(hosts)?,
        },
        tasks: or_usual(&lan.task, &Task::ALL),
        levels,
        background,
        record: lan.record,
        service: lan.service_time,
        lead,
        target,
        limit: lan.limit,
    })
}

/// The server, the station that is measured, and as many others as the highest level takes.
fn chosen_hosts(lan: &Lan, chosen: &Chosen<'_>) -> Result<(Vec<HostName>, Vec<u32>), Refusal> {
    let server = chosen.host("server", lan.server.as_deref(), Some(0))?;
    let bench = chosen.host("bench", lan.bench.as_deref(), chosen.last())?;
    if server == bench {
        let problem = "--server and --bench are different stations or hosts: two of them are needed";
        return Err(Refusal::Usage(problem.to_owned()));
    }
    let others: Vec<HostName> =
        chosen.hosts.iter().filter(|name| **name != server && **name != bench).cloned().collect();
    let levels = levels(lan, others.len());
    let most = levels.iter().copied().max().unwrap_or(0) as usize;
    if others.len() < most {
        return Err(Refusal::Usage(format!(
            "--stations {most} are more than there are beside {server} and {bench}: {}; ask for fewer, or draw more (`count` of a \
             station)",
            others.len()
        )));
    }
    Ok(([server, bench].into_iter().chain(others.into_iter().take(most)).collect(), levels))
}

/// How many stations are at work, level by level: as many as were asked for, else the paper's numbers as far as there are so
/// many.
fn levels(lan: &Lan, others: usize) -> Vec<u32> {
    let usual: Vec<u32> = USUAL_LEVELS.into_iter().filter(|count| *count as usize <= others).collect();
    or_usual(&lan.stations, &usual)
}
