//! The answer of the simulator, which simulates the network at every value that the search tries.

use btu_medium::sim::{FlowOutcome, Outcome, SimulationWarning};
use btu_model::predict::last_that_holds;
use btu_report::{Answered, MostFound};
use btu_stats::Estimate;

use super::Search;
use crate::commands::model_check::simulated;
use crate::exit::Refusal;
use crate::start::progress::SimulationBar;

/// The range is searched to this share: ten simulations and its ends, about the precision of five
/// replications.
const SHARE: f64 = 1e-3;

/// Simulations of a usual search: the two ends, ten halvings, and an equal number for the ends of
/// the interval, most of which coincide.
const USUAL: f64 = 18.0;

/// The greatest value at which the simulated mean is within the bound, and those values for the
/// ends of its interval.
pub(super) fn found(search: &Search<'_>) -> anyhow::Result<MostFound> {
    if search.model.transfer_time.is_some() {
        let problem =
            "--by sim needs --mean-delay: a simulation has no transfer that could be bounded";
        return Err(Refusal::Usage(problem.to_owned()).into());
    }
    let bar = SimulationBar::new(search.model.check.quiet);
    let mut simulator = Simulator { search, bar: &bar, known: Vec::new() };
    let found = simulator.found();
    bar.clear();
    found
}

struct Simulator<'a> {
    search: &'a Search<'a>,
    bar: &'a SimulationBar,
    /// The simulations so far.
    known: Vec<Simulated>,
}

/// The network at one value.
#[derive(Clone)]
struct Simulated {
    value: f64,
    /// The longest mean delay in seconds; `None` if queues fill all the time.
    delay: Option<Estimate>,
    warnings: Vec<SimulationWarning>,
}

impl Simulator<'_> {
    fn found(&mut self) -> anyhow::Result<MostFound> {
        let bound = self.search.bound();
        let least = |delay: &Estimate| delay.interval.map_or(delay.value, |interval| interval.low);
        let most = |delay: &Estimate| delay.interval.map_or(delay.value, |interval| interval.high);
        let search = self.search;
        let tried = search.ends(|value| self.is_within(bound, value, least))?;
        let mut up_to = |end: &dyn Fn(&Estimate) -> f64| {
            last_that_holds(tried, search.turned.resolution(SHARE), |value| {
                self.is_within(bound, value, end)
            })
        };
        let (found, surely, perhaps) =
            (up_to(&|delay| delay.value)?, up_to(&most)?, up_to(&least)?);
        let Simulated { delay, warnings, .. } = self.at(Search::at(tried, found))?.clone();
        let options = &self.search.model.check;
        let interval = (options.replications > 1)
            .then(|| [surely, perhaps].map(|found| Search::at(tried, found)));
        let answered = Answered::Sim {
            confidence: btu_stats::Level::P95.share(),
            interval,
            figure_estimate: delay,
            replications: options.replications,
            seed: options.seed,
            warnings,
        };
        Ok(self.search.answer(tried, Some(found), delay.map(|delay| delay.value), answered))
    }

    /// Whether this end of the delay's interval is within `bound`.
    fn is_within(
        &mut self,
        bound: f64,
        value: f64,
        end: impl Fn(&Estimate) -> f64,
    ) -> anyhow::Result<bool> {
        Ok(self.at(value)?.delay.as_ref().is_some_and(|delay| end(delay) <= bound))
    }

    fn at(&mut self, value: f64) -> anyhow::Result<&Simulated> {
        let known = self.known.iter().position(|known| known.value.total_cmp(&value).is_eq());
        let place = known.unwrap_or(self.known.len());
        if known.is_none() {
            let simulated = self.simulate(value)?;
            self.known.push(simulated);
        }
        Ok(&self.known[place])
    }

    fn simulate(&self, value: f64) -> anyhow::Result<Simulated> {
        let done = self.known.len() as f64;
        let progress = |share: f64| self.bar.show((done + share) / USUAL.max(done + 1.0));
        let model = self.search.model;
        let outcome = simulated(&self.search.drawing(value)?, &model.check, progress)?;
        Ok(Simulated {
            value,
            delay: longest_delay(&outcome, model.flow.as_deref()),
            warnings: outcome.warnings,
        })
    }
}

/// The longest mean delay of all flows of which anything arrived, or that of one; the time of an
/// exchange where there are some. `None` if a flow is overloaded, so that its delay depends on the
/// length of the simulation.
fn longest_delay(outcome: &Outcome, flow: Option<&str>) -> Option<Estimate> {
    let is_asked = |name: &str| flow.is_none_or(|flow| flow == name);
    let overloaded = |warning: &SimulationWarning| matches!(warning, SimulationWarning::Saturated { flow, .. } if is_asked(flow));
    if outcome.warnings.iter().any(overloaded) {
        return None;
    }
    let asked = outcome.flows.iter().filter(|flow| is_asked(&flow.name));
    let nothing = Estimate { value: 0.0, interval: None };
    Some(
        asked
            .filter_map(mean)
            .fold(nothing, |longest, mean| if mean.value > longest.value { mean } else { longest }),
    )
}

fn mean(flow: &FlowOutcome) -> Option<Estimate> {
    let delays = match &flow.exchanges {
        Some(exchanges) => exchanges.took.as_ref(),
        None => flow.delay.as_ref(),
    };
    delays.map(|delays| delays.mean)
}
