//! `btu ask`: how long a request of a given size takes from one station to another.

mod plan;
mod report;

use std::process::ExitCode;

use btu_units::{Bytes, Span};
use clap::Args;

use crate::cli::{Common, ProfileName, StudyOptions, TimeLimit, or_usual, quantity};
use crate::results::compare::of_scripts;
use crate::results::{Measure, StoredStudy, Studied};
use crate::start::progress::ProgressDisplay;
use crate::start::study::{self, Chosen};
use plan::AskPlan;

const EXAMPLES: &str = "\
Examples:
  btu ask                                         100 and 1000 bytes, on a line of 10 Mb/s
  btu ask --network home-fq-codel --size 1400     between two stations of a network file
  btu ask --resume latest                         finish an interrupted run";

/// Measure how long a request takes from one station to another
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Ask {
    #[command(flatten)]
    study: StudyOptions,
    #[command(flatten)]
    limit: TimeLimit,
    /// Sizes of requests and answers [default: 100 B,1000 B]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = quantity::<Bytes>)]
    size: Vec<Bytes>,
    /// The station that asks [default: the one called `asking`, else the first]
    #[arg(long, value_name = "STATION|HOST")]
    asking: Option<String>,
    /// The station that answers [default: the one called `answering`, else the second]
    #[arg(long, value_name = "STATION|HOST")]
    answering: Option<String>,
}

impl Measure for Ask {
    const STUDY: &'static dyn StoredStudy = &Studied::<AskPlan>::new(of_scripts::<AskPlan>);

    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        study::run(&self.study, common, ProgressDisplay::Never, || self.plan(), |_| Bytes::ZERO)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Ask {
    fn plan(&self) -> anyhow::Result<AskPlan> {
        let chosen = Chosen::of(&self.study, ("10 Mb/s", Span::from_milliseconds(2)))?;
        let asking = chosen.host("asking", self.asking.as_deref(), Some(0))?;
        let answering = chosen.host("answering", self.answering.as_deref(), Some(1))?;
        let (blocks, budget) = self.limit.over(match self.study.profile {
            ProfileName::Quick => (3, Span::from_seconds(60)),
            ProfileName::Standard => (10, Span::from_seconds(600)),
            ProfileName::Full => (30, Span::from_seconds(3600)),
        });
        Ok(AskPlan {
            frame: study::frame::<AskPlan>(
                &self.study,
                (blocks, budget),
                Span::from_seconds(10),
                chosen.field(vec![asking, answering])?,
            )?,
            messages: or_usual(&self.size, &[Bytes::new(100), Bytes::new(1000)]),
            duration: Span::from_milliseconds(200),
        })
    }
}
