//! A study without the type of its plan, for code that reads stored runs of any study.

use std::marker::PhantomData;

use btu_units::Span;

use super::{Experiment, Frame, Measured};
use crate::cell::Load;
use crate::pipe::Facts;

/// Finds a study by its name in the store: the program's table of suites.
pub type FindStudy = fn(&str) -> Option<&'static dyn AnyExperiment>;

/// The study with plans of type `E`.
pub const fn any<E: Experiment>() -> &'static dyn AnyExperiment {
    &Of::<E>(PhantomData)
}

/// A study, its plans and records as they are stored: JSON.
pub trait AnyExperiment: Sync + std::fmt::Debug {
    /// The study's name in the store.
    fn suite(&self) -> &'static str;

    /// A plan's name; `None` if another version wrote it, because its form may differ.
    ///
    /// # Errors
    /// A plan that this version cannot read.
    fn hash(&self, plan: &str) -> serde_json::Result<Option<String>>;

    /// What a plan says of its run; `None` if another version wrote it.
    ///
    /// # Errors
    /// A plan that this version cannot read.
    fn head(&self, plan: &str) -> serde_json::Result<Option<Head>>;

    /// A record's columns, with its block and its position there.
    ///
    /// # Errors
    /// A plan or a record that this version cannot read.
    fn facts(&self, plan: &str, record: &str) -> serde_json::Result<(u32, u32, Facts)>;

    /// The verdict over a plan and its records, as JSON.
    ///
    /// # Errors
    /// A plan or a record that this version cannot read.
    fn judged(&self, plan: &str, records: &[String]) -> serde_json::Result<String>;
}

/// What lists show of a run that is in its plan, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The name of the profile.
    pub profile: String,
    /// The network as lists show it.
    pub network: String,
    /// The seed.
    pub seed: u64,
}

struct Of<E>(PhantomData<fn() -> E>);

impl<E: Experiment> std::fmt::Debug for Of<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(E::SUITE)
    }
}

impl<E: Experiment> AnyExperiment for Of<E> {
    fn suite(&self) -> &'static str {
        E::SUITE
    }

    fn hash(&self, plan: &str) -> serde_json::Result<Option<String>> {
        let plan: E = serde_json::from_str(plan)?;
        Ok((plan.frame().version == E::VERSION).then(|| plan.hash()))
    }

    fn head(&self, plan: &str) -> serde_json::Result<Option<Head>> {
        let plan: E = serde_json::from_str(plan)?;
        let Frame { profile, network, seed, .. } = plan.frame();
        let head = Head { profile: profile.clone(), network: network.to_string(), seed: *seed };
        Ok((plan.frame().version == E::VERSION).then_some(head))
    }

    fn facts(&self, plan: &str, record: &str) -> serde_json::Result<(u32, u32, Facts)> {
        let (plan, record): (E, Measured<E::Cell>) =
            (serde_json::from_str(plan)?, serde_json::from_str(record)?);
        Ok((record.block, record.position, facts(&plan, &record)))
    }

    fn judged(&self, plan: &str, records: &[String]) -> serde_json::Result<String> {
        let plan: E = serde_json::from_str(plan)?;
        let cells: Vec<Measured<E::Cell>> =
            records.iter().map(|record| serde_json::from_str(record)).collect::<Result<_, _>>()?;
        serde_json::to_string(&plan.judge(&cells))
    }
}

/// The columns of a stored cell.
pub fn facts<E: Experiment>(plan: &E, record: &Measured<E::Cell>) -> Facts {
    let facts = plan.facts(&record.cell, &record.seen);
    Facts {
        component: record.cell.to_string(),
        message: facts.message,
        load: Load::Idle.name(),
        valid: record.is_valid(),
        goodput_bits_per_second: facts.goodput_bits_per_second,
        duration: facts.duration.unwrap_or(Span::ZERO),
    }
}
