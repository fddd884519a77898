//! `btu lan`: from the command line to a plan.

mod arguments;

use std::path::Path;
use std::process::ExitCode;

use btu_contract::lan::{
    FileSizes, LARGEST_SCALE, OperationTrace, Pauses, StationProgram, StationWork, Task,
};
use btu_contract::network::HostName;
use btu_studies::lan::{DEADLINE, LARGEST_RECORD, LanPlan, MOST_FILES, MOST_STATIONS};
use btu_units::{Bytes, Span};

use crate::cli::{Common, ProfileName, or_usual};
use crate::exit::Refusal;
use crate::files;
use crate::results::compare::of_scripts;
use crate::results::shown;
use crate::results::{Measure, StoredStudy, Studied};
use crate::start::progress::ProgressDisplay;
use crate::start::study::{self, Chosen};
use arguments::BackgroundName;

pub(crate) use arguments::Lan;

/// The network if the user names none, and the number of its stations in addition to server and
/// bench.
const USUAL: &str = "office-1988";
const USUAL_STATIONS: u32 = 10;

/// The default numbers of working stations.
const USUAL_LEVELS: [u32; 5] = [0, 1, 3, 5, 10];

/// A record begins with the number of its transaction.
const SMALLEST_RECORD: Bytes = Bytes::new(8);

/// The longest service time of an operation.
const LONGEST_SERVICE: Span = Span::from_seconds(1);

impl Measure for Lan {
    const STUDY: &'static dyn StoredStudy = &Studied::<LanPlan>::new(of_scripts::<LanPlan>);

    fn run(mut self, common: &Common) -> anyhow::Result<ExitCode> {
        // The default network has as many stations as requested.
        let most = self.stations.iter().copied().max().unwrap_or(0);
        let study = &mut self.study;
        let is_usual = study.network.is_none() && self.at.is_none() && !study.real.is_any();
        if is_usual && (USUAL_STATIONS + 1..=MOST_STATIONS).contains(&most) {
            study.settings.insert(0, ("stations.station.count".to_owned(), most.to_string()));
        }
        let (store, run) =
            study::run(&self.study, common, ProgressDisplay::Never, || plan(&self), LanPlan::room)?;
        shown::code(&store, run)
    }
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
        return usage(format!(
            "--record {} is not between {SMALLEST_RECORD} and {LARGEST_RECORD}",
            lan.record
        ));
    }
    if !(1..=LARGEST_SCALE).contains(&lan.scale) {
        return usage(format!("--scale {} is not between 1 and {LARGEST_SCALE}", lan.scale));
    }
    if lan.open_loop && lan.background == BackgroundName::Constant {
        return usage(
            "--open-loop is for a --background that pauses: without pauses there is nothing to be late for".to_owned(),
        );
    }
    Ok(())
}

fn plan(lan: &Lan) -> anyhow::Result<LanPlan> {
    check(lan)?;
    let at = lan.at.as_deref().map(|directory| study::share(&lan.study, directory)).transpose()?;
    let work = work(lan)?;
    let usual = if at.is_some() { study::USUAL_AT_SHARE } else { USUAL };
    let chosen = Chosen::of(&lan.study, (usual, Span::ZERO))?;
    let (hosts, levels) =
        if at.is_some() { hosts_at_share(lan, &chosen)? } else { chosen_hosts(lan, &chosen)? };
    check_files(&work, &levels)?;
    let profile = lan.study.profile;
    let (blocks, lead, target, budget) = match profile {
        ProfileName::Quick => {
            (3, Span::from_milliseconds(300), Span::from_milliseconds(50), Span::from_seconds(240))
        }
        ProfileName::Standard => {
            (7, Span::from_seconds(1), Span::from_milliseconds(500), Span::from_seconds(45 * 60))
        }
        ProfileName::Full => {
            (15, Span::from_seconds(2), Span::from_seconds(2), Span::from_seconds(8 * 3600))
        }
    };
    let (blocks, budget) = lan.limit.over((blocks, budget));
    Ok(LanPlan {
        frame: study::frame::<LanPlan>(
            &lan.study,
            (blocks, budget),
            DEADLINE,
            chosen.field(hosts)?,
        )?,
        tasks: tasks(lan),
        levels,
        sizes: if lan.paper { FileSizes::Paper } else { FileSizes::Scaled(lan.scale) },
        at,
        service: lan.service_time,
        lead,
        // A trace is seen to its end.
        target: if let StationWork::Replay { trace } = &work {
            target.max(trace.period())
        } else {
            target
        },
        work,
        limit: lan.most,
    })
}

/// The named tasks; else that of the pattern, or the study's if there is no pattern.
fn tasks(lan: &Lan) -> Vec<Task> {
    match Task::of_pattern(lan.pattern) {
        Some(task) => or_usual(&lan.task, &[task]),
        None => or_usual(&lan.task, &Task::STUDY),
    }
}

/// The work of background stations.
fn work(lan: &Lan) -> anyhow::Result<StationWork> {
    if let Some(file) = &lan.trace {
        return Ok(StationWork::Replay { trace: trace(file)? });
    }
    let mean = lan.pause;
    let paced = |pauses| StationProgram::Paced { pauses, open_loop: lan.open_loop };
    let program = match lan.background {
        BackgroundName::Constant => StationProgram::Constant,
        BackgroundName::Normal => paced(Pauses::Normal { mean, deviation: lan.pause_deviation }),
        BackgroundName::Exponential => paced(Pauses::Exponential { mean }),
        BackgroundName::Uniform => paced(Pauses::Uniform { mean }),
        BackgroundName::Fixed => paced(Pauses::Fixed { mean }),
    };
    Ok(StationWork::Transactions { pattern: lan.pattern, program, record: lan.record })
}

fn trace(file: &Path) -> Result<OperationTrace, Refusal> {
    let name = file.display();
    let usage = |problem: String| Refusal::Usage(problem);
    let text = files::text(file)?;
    OperationTrace::read(&text).map_err(|error| usage(format!("--trace {name}, {error}")))
}

/// The number of files that a server can have open.
fn check_files(work: &StationWork, levels: &[u32]) -> Result<(), Refusal> {
    let most = levels.iter().copied().max().unwrap_or(0) as usize;
    let files = work.files() * most;
    if files <= MOST_FILES {
        return Ok(());
    }
    Err(Refusal::Usage(format!(
        "{most} stations with {} files each have {files} at a time, and {MOST_FILES} is the most: ask for fewer stations",
        work.files()
    )))
}

/// The server, the measured station, and as many others as the highest level needs. Real hosts have
/// several stations each if there are fewer hosts than stations.
fn chosen_hosts(lan: &Lan, chosen: &Chosen<'_>) -> Result<(Vec<HostName>, Vec<u32>), Refusal> {
    let server = chosen.host("server", lan.server.as_deref(), Some(0))?;
    let bench = chosen.host("bench", lan.bench.as_deref(), chosen.last())?;
    if server == bench {
        let problem =
            "--server and --bench are different stations or hosts: two of them are needed";
        return Err(Refusal::Usage(problem.to_owned()));
    }
    let others: Vec<HostName> =
        chosen.hosts.iter().filter(|name| **name != server && **name != bench).cloned().collect();
    let levels = levels(lan, others.len());
    let most = levels.iter().copied().max().unwrap_or(0) as usize;
    let is_enough = others.len() >= most || (chosen.drawing().is_none() && !others.is_empty());
    if !is_enough {
        return Err(Refusal::Usage(format!(
            "--stations {most} are more than there are without {server} and {bench}: {}; ask for fewer, or draw more (`count` of a \
             station)",
            others.len()
        )));
    }
    Ok(([server, bench].into_iter().chain(others.into_iter().take(most)).collect(), levels))
}

/// On hosts with a share: the measured one, and as many others as the highest level needs; a host
/// may have several stations.
fn hosts_at_share(lan: &Lan, chosen: &Chosen<'_>) -> Result<(Vec<HostName>, Vec<u32>), Refusal> {
    let bench = chosen.host("bench", lan.bench.as_deref(), chosen.last())?;
    let others: Vec<HostName> =
        chosen.hosts.iter().filter(|name| **name != bench).cloned().collect();
    let levels = or_usual(&lan.stations, &USUAL_LEVELS);
    let most = levels.iter().copied().max().unwrap_or(0) as usize;
    if most > 0 && others.is_empty() {
        return Err(Refusal::Usage(format!(
            "there is no station or host other than {bench} for the background"
        )));
    }
    Ok((std::iter::once(bench).chain(others.into_iter().take(most)).collect(), levels))
}

/// The number of working stations, level by level: the requested ones, else the paper's numbers as
/// far as the network has stations.
fn levels(lan: &Lan, others: usize) -> Vec<u32> {
    let usual: Vec<u32> =
        USUAL_LEVELS.into_iter().filter(|count| *count as usize <= others).collect();
    or_usual(&lan.stations, &usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_trace_is_refused() {
        let refused = trace(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(refused.contains("/dev/zero: it is too large"), "{refused}");
    }
}
