//! `btu fleet`: which of many hosts, or which link between them, is slow.

use std::process::ExitCode;

use btu_contract::experiment::{MOST_BLOCKS, RunFacts, Scripts};
use btu_store::{RunId, Store};
use btu_studies::Judged;
use btu_studies::fleet::{FleetPlan, MOST_HOSTS, MOST_REPETITIONS, blocks_of};
use btu_units::{Bytes, Span};
use clap::Args;

use crate::cli::{Common, ProfileName, StudyOptions, TimeLimit, measuring_time};
use crate::exit::{Refusal, SLOWER};
use crate::results::compare::of_scripts;
use crate::results::{Measure, StoredStudy, Studied, shown};
use crate::start::progress::ProgressDisplay;
use crate::start::study::{self, Chosen};
use crate::stored::resume;

/// Of more hosts than this, pairs are not measured alone by default: their number grows with the square.
const ALL_PAIRS: usize = 16;

/// The time after which a stream is given up.
const DEADLINE_MARGIN: Span = Span::from_seconds(30);

const EXAMPLES: &str = "\
Examples:
  btu fleet --ssh alpha,beta,gamma,delta          by ssh, where nothing is installed
  btu fleet --hosts lab.toml                      the hosts of an inventory
  btu fleet --launcher slurm                      the nodes of this job: within salloc or sbatch
  btu fleet --launcher 'mpirun -np 8'             or any command that starts a process on each node
  btu fleet --network ethernet-switched-100 --at-once
                                                  the stations of a network file, on this machine
  btu fleet --launcher slurm --fail-if-slow       exit code 4 if anything is slow: a health check
  btu fleet --resume latest                       finish an interrupted run

Every host sends to every other one over TCP, one pair at a time; then all hosts send at once, in
pairs. The first line says which host or which pair is slower than chance explains.";

/// The answer if no hosts are given.
const INTRODUCTION: &str = "\
no hosts are given: name three or more (--ssh, --hosts, --launcher), or a network of this machine. `btu fleet` says which of many hosts, or which \
link between them, is slow:

  btu fleet --ssh alpha,beta,gamma,delta          by ssh, where nothing is installed
  btu fleet --launcher slurm                      the nodes of this job: within salloc or sbatch
  btu fleet --network ethernet-switched-100       eight drawn stations, on this machine

btu fleet --help has all options.";

/// Find the slow host or link among many: the rates between all pairs of hosts
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Fleet {
    /// How long each pair sends [default: 500 ms]
    #[arg(long, value_name = "TIME", value_parser = measuring_time)]
    per_pair: Option<Span>,
    /// Measure pairs only in rounds in which all hosts send at once, each in one pair [default:
    /// with more than 16 hosts]
    #[arg(long)]
    at_once: bool,
    /// Exit with code 4 when a host, a pair or a link is slow or fails, for health checks of nodes; with 1 when the run cannot tell
    #[arg(long)]
    fail_if_slow: bool,
    #[command(flatten)]
    limit: TimeLimit,
    #[command(flatten)]
    study: StudyOptions,
}

impl Measure for Fleet {
    const STUDY: &'static dyn StoredStudy = &Studied::<FleetPlan>::new(of_scripts::<FleetPlan>);

    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let real = &self.study.real;
        let is_resumed = self.study.resuming.resume.is_some();
        if !is_resumed && self.study.network.is_none() && !real.is_any() {
            return Err(Refusal::Usage(INTRODUCTION.to_owned()).into());
        }
        let (store, run) = study::run(
            &self.study,
            common,
            ProgressDisplay::Never,
            || self.plan(),
            |_| Bytes::ZERO,
        )?;
        if self.fail_if_slow { health(&store, run) } else { shown::code(&store, run) }
    }
}

/// 4 if anything is slow or fails, 1 if that cannot be told.
fn health(store: &Store, run: RunId) -> anyhow::Result<ExitCode> {
    let plan: FleetPlan = resume::plan(&store.run(&run.to_string())?)?;
    let verdict = plan.judge(&store.records(run)?, &RunFacts::default());
    let is_slow = verdict.model.as_ref().is_some_and(btu_studies::fleet::Fleet::has_slow);
    Ok(match &verdict.model {
        _ if is_slow || !verdict.broken.is_empty() => ExitCode::from(SLOWER),
        Some(model) if model.can_tell() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

impl Fleet {
    fn plan(&self) -> anyhow::Result<FleetPlan> {
        let chosen = Chosen::of(&self.study, ("", Span::ZERO))?;
        let hosts = chosen.hosts.clone();
        if hosts.len() < 3 {
            let problem = "a fleet has three hosts or more; between two, `btu speed` measures";
            return Err(Refusal::Usage(problem.to_owned()).into());
        }
        if hosts.len() > MOST_HOSTS {
            let problem = format!(
                "{} hosts are too many for one run: {MOST_HOSTS} are the most",
                hosts.len()
            );
            return Err(Refusal::Usage(problem).into());
        }
        let (least, budget) = match self.study.profile {
            ProfileName::Quick => (1, Span::from_seconds(600)),
            ProfileName::Standard => (3, Span::from_seconds(1800)),
            ProfileName::Full => (10, Span::from_seconds(7200)),
        };
        let time = self.per_pair.unwrap_or(Span::from_milliseconds(500));
        let plan = FleetPlan {
            whole_blocks: blocks_of(hosts.len()).max(least),
            each_alone: !self.at_once && hosts.len() <= ALL_PAIRS,
            frame: study::frame::<FleetPlan>(
                &self.study,
                (0, self.limit.time.unwrap_or(budget)),
                time + DEADLINE_MARGIN,
                chosen.field(hosts)?,
            )?,
            time,
        };
        Ok(self.with_blocks(plan))
    }

    /// Half of a given time is for whole blocks, the rest for suspicious pairs.
    fn with_blocks(&self, mut plan: FleetPlan) -> FleetPlan {
        if let Some(limit) = self.limit.time {
            let block = plan.forecast().seconds() * plan.cells().len() as f64;
            let fitting = (limit.seconds() / 2.0 / block) as u32;
            plan.whole_blocks = fitting.clamp(1, MOST_BLOCKS - MOST_REPETITIONS);
        }
        plan.frame.blocks = plan.whole_blocks + MOST_REPETITIONS;
        plan
    }
}
