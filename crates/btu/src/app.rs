//! `btu app`: from the command line to a plan.

use btu_suite::app::{AppPlan, Carrier, DEADLINE, Protocol, Workload};
use btu_suite::experiment::{Experiment, Frame};
use btu_units::{Bytes, Span};

use crate::cli::{App, Common, ProfileName, or_usual};
use crate::exit::Refusal;
use crate::progress::Watch;
use crate::study::{self, Chosen};

/// What is measured on where no network is named: fast enough that stop-and-wait ends in time, and far enough to be seen.
const USUAL_RATE: &str = "10 Mb/s";
const USUAL_DELAY: Span = Span::from_milliseconds(5);

/// An item may take as long as a slow program does.
const LONGEST_WORK: Span = Span::from_seconds(1);

/// Measures what was asked for.
pub(crate) fn run(app: &App, common: &Common) -> anyhow::Result<()> {
    study::run(&app.study, common, Watch::Never, || plan(app), |_| Bytes::ZERO).map(drop)
}

fn plan(app: &App) -> anyhow::Result<AppPlan> {
    for (option, time) in [("--application-time", app.application_time), ("--display-time", app.display_time)] {
        if time > LONGEST_WORK {
            return Err(Refusal::Usage(format!("{option} {time} is too long: at most {LONGEST_WORK} an item")).into());
        }
    }
    let chosen = Chosen::of(&app.study, (USUAL_RATE, USUAL_DELAY))?;
    let display = chosen.host("display", app.display.as_deref(), Some(0))?;
    let application = chosen.host("application", app.application.as_deref(), chosen.last())?;
    if application == display {
        let problem = "--application and --display are different stations or hosts: two of them are needed";
        return Err(Refusal::Usage(problem.to_owned()).into());
    }
    let profile = app.study.profile;
    let (blocks, target, budget) = match profile {
        ProfileName::Quick => (3, Span::from_milliseconds(50), Span::from_seconds(170)),
        ProfileName::Standard => (7, Span::from_milliseconds(500), Span::from_seconds(45 * 60)),
        ProfileName::Full => (15, Span::from_seconds(2), Span::from_seconds(8 * 3600)),
    };
    Ok(AppPlan {
        frame: Frame {
            version: AppPlan::VERSION,
            seed: study::seed(&app.study)?,
            profile: profile.name().to_owned(),
            blocks,
            budget,
            deadline: DEADLINE,
            network: chosen.field(vec![application, display])?,
        },
        workloads: or_usual(&app.workload, &Workload::ALL),
        protocols: or_usual(&app.protocol, &Protocol::USUAL),
        carriers: or_usual(&app.transport, &[Carrier::Tcp]),
        application: app.application_time,
        display: app.display_time,
        target,
    })
}
