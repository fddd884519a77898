//! `btu fleet`: which of many hosts, or which link between them, is slow.

use std::process::ExitCode;

use btu_studies::fleet::{FleetPlan, MOST_HOSTS};
use btu_units::{Bytes, Span};
use clap::Args;

use crate::cli::{Common, ProfileName, StudyOptions, TimeLimit, measuring_time};
use crate::exit::Refusal;
use crate::start::progress::ProgressDisplay;
use crate::start::study::{self, Chosen};
use crate::stored::runs;
use crate::suites::{Measure, Studied, Suite};

/// Of more hosts than this, pairs are not measured alone by default: their number grows with the square.
const ALL_PAIRS: usize = 16;

/// All pairs once, and those that look slow twice more.
const QUICK_BLOCKS: u32 = 3;

/// The time after which a stream is given up.
const DEADLINE_MARGIN: Span = Span::from_seconds(30);

const EXAMPLES: &str = "\
Examples:
  btu fleet --ssh alpha,beta,gamma,delta          by ssh, where nothing is installed
  btu fleet --hosts lab.toml --identity me.pem    hosts with agents
  btu fleet --launcher slurm                      the nodes of this job: within salloc or sbatch
  btu fleet --launcher 'mpirun -np 8'             or what else starts a process on each node
  btu fleet --network ethernet-switched-100 --at-once
                                                  the stations of a network file, on this machine
  btu fleet --resume latest                       finish an interrupted run

Every host sends to every other one by TCP, a pair at a time, and then all hosts at once in pairs. The
first line says which host or which pair is slower than chance explains.";

/// Find the slow host or link among many: the rates from each host to each
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Fleet {
    /// How long each pair sends [default: 500 ms]
    #[arg(long, value_name = "TIME", value_parser = measuring_time)]
    per_pair: Option<Span>,
    /// Measure pairs only in rounds in which all hosts are at work at once, each in one pair
    /// [default: of more than 16 hosts]
    #[arg(long)]
    at_once: bool,
    #[command(flatten)]
    limit: TimeLimit,
    #[command(flatten)]
    study: StudyOptions,
}

impl Measure for Fleet {
    const SUITE: &'static dyn Suite = &Studied::<FleetPlan>::new();

    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let (store, run) = study::run(
            &self.study,
            common,
            ProgressDisplay::Never,
            || self.plan(),
            |_| Bytes::ZERO,
        )?;
        runs::code(&store, run)
    }
}

impl Fleet {
    fn plan(&self) -> anyhow::Result<FleetPlan> {
        let chosen = Chosen::of(&self.study, ("ethernet-switched-100", Span::ZERO))?;
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
        let (blocks, budget) = self.limit.over(match self.study.profile {
            ProfileName::Quick => (QUICK_BLOCKS, Span::from_seconds(600)),
            ProfileName::Standard => (3, Span::from_seconds(1800)),
            ProfileName::Full => (10, Span::from_seconds(7200)),
        });
        let time = self.per_pair.unwrap_or(Span::from_milliseconds(500));
        let is_quick =
            matches!(self.study.profile, ProfileName::Quick) && self.limit.time.is_none();
        Ok(FleetPlan {
            whole_blocks: is_quick.then_some(1),
            each_alone: !self.at_once && hosts.len() <= ALL_PAIRS,
            frame: study::frame::<FleetPlan>(
                &self.study,
                (blocks, budget),
                time + DEADLINE_MARGIN,
                chosen.field(hosts)?,
            )?,
            time,
        })
    }
}
