//! A run on hosts from its reservation to its last record: the environments of the hosts before and
//! after, with their clocks.

use std::collections::BTreeMap;
use std::time::Instant;

use btu_contract::json;
use btu_contract::network::HostName;
use btu_contract::record::HostClock;
use btu_contract::text::first_names;
use btu_store::{Level, Moment};
use serde_json::{Value, json};

use super::super::error::ControllerError;
use super::super::run_monitor::RunMonitor;
use super::super::session::{self, Journal};
use super::super::stage::Stage;
use super::super::study::MeasuredStudy;
use super::super::{Observer, Phase};
use super::remote_host::Reconnected;
use crate::environment::{Environment, differences};
use crate::protocol::DescribeReply;

/// The records of a run about its hosts.
pub(crate) struct Notes<'a>(pub(crate) Journal<'a>);

/// The environments of the hosts at one moment, and the name of each.
type Looks = BTreeMap<HostName, (String, Environment)>;

/// Hosts that a warning names.
const MOST_NAMED: usize = 3;

/// Measures a run on reserved hosts.
pub(crate) async fn measured<S: MeasuredStudy>(
    journal: Journal<'_>,
    study: &mut S,
    stage: &mut Stage,
    monitor: &mut RunMonitor<'_>,
    began: Instant,
    observer: &mut dyn Observer,
) -> Result<(), ControllerError> {
    let notes = Notes(journal);
    if !stage.is_here_alone() {
        observer.phase(Phase::Reserve);
    }
    monitor.guard(stage.reserve(&journal.lock.run().to_string())).await?;
    let before = monitor.guard(stage.describe(false)).await?;
    let before = notes.keep(stage, Moment::Before, before)?;
    let machines = machines(&before);
    if S::HOSTS_APART {
        refuse_mixture(&machines)?;
    }
    for shared in machines.iter().filter(|hosts| hosts.len() > 1) {
        notes.warn(&format!(
            "{} are on one machine: they share its processors, and what they exchange need not cross a network",
            first_names(shared, MOST_NAMED)
        ))?;
    }
    session::measure(journal, study, stage, monitor, began, observer).await?;
    match monitor.guard(stage.describe(true)).await {
        Ok(after) => notes.compare(&before, &notes.keep(stage, Moment::After, after)?),
        // The result is there already.
        Err(error) if error.is_lost() => {
            notes.warn(&format!("the hosts' state after the run is unknown: {error}"))
        }
        Err(error) => Err(error),
    }
}

impl Notes<'_> {
    /// Stores the environments of hosts with restarted agents: such a host may have other settings
    /// than before, and its clock may have restarted, so that earlier readings give no drift.
    pub(crate) async fn returned(
        &self,
        stage: &mut Stage,
        found: &[Reconnected],
    ) -> Result<(), ControllerError> {
        if !found.iter().any(|found| found.restarted) {
            return Ok(());
        }
        let mut described = stage.describe(true).await?;
        described.retain(|(_, host, _)| {
            found.iter().any(|found| found.restarted && found.host == *host)
        });
        self.keep(stage, Moment::Before, described).map(drop)
    }

    /// Stores the environments of hosts, each with its clock offsets.
    fn keep(
        &self,
        stage: &Stage,
        moment: Moment,
        described: Vec<(HostName, String, DescribeReply)>,
    ) -> Result<Looks, ControllerError> {
        let clocks = stage.clocks();
        let mut looks = Looks::new();
        for (station, host, reply) in described {
            let mut document = document(&reply, &host, clocks.get(&station))?;
            let environment = json::from_value(&document).map_err(ControllerError::Document)?;
            if let Some(fields) = document.as_object_mut() {
                fields.insert("station".to_owned(), json!(station));
            }
            self.0.store.save_environment(self.0.lock, moment, &document)?;
            looks.insert(station, (host, environment));
        }
        Ok(looks)
    }

    fn compare(&self, before: &Looks, after: &Looks) -> Result<(), ControllerError> {
        for (station, (host, before)) in before {
            let Some((_, after)) = after.get(station) else { continue };
            for difference in differences(before, after) {
                self.warn(&format!("{host}: {difference}"))?;
            }
        }
        Ok(())
    }

    fn warn(&self, text: &str) -> Result<(), ControllerError> {
        self.0.event(Level::Warning, text)
    }
}

/// The hosts of each machine: several on one are containers, pods, or processes of a job.
fn machines(looks: &Looks) -> Vec<Vec<&str>> {
    let mut of_boot: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (host, environment) in looks.values() {
        if let Some(boot) = &environment.kernel.boot {
            of_boot.entry(boot).or_default().push(host);
        }
    }
    of_boot.into_values().collect()
}

/// # Errors
/// Some hosts share a machine, and there are others: the network would seem slow next to what does not cross it.
fn refuse_mixture(machines: &[Vec<&str>]) -> Result<(), ControllerError> {
    let Some(shared) = machines.iter().find(|hosts| hosts.len() > 1 && machines.len() > 1) else {
        return Ok(());
    };
    let message = format!(
        "{} are on one machine and others are not: what they exchange does not cross the network, and the others would seem slow; \
         start one agent on each machine (srun --ntasks-per-node=1, mpirun -ppn 1), or name one host of each",
        first_names(shared, MOST_NAMED)
    );
    Err(ControllerError::Host { host: shared[0].to_owned(), message })
}

/// A host's own description, with its name and its clock offsets.
fn document(
    reply: &DescribeReply,
    host: &str,
    clock: Option<&HostClock>,
) -> Result<Value, ControllerError> {
    let mut document: Value = reply.environment.read().map_err(ControllerError::Document)?;
    if let Some(fields) = document.as_object_mut() {
        fields.insert("name".to_owned(), json!(host));
        fields.insert("clock".to_owned(), json!(clock));
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_machine_are_not_compared_with_others() {
        let refused = refuse_mixture(&[vec!["a", "b"], vec!["c"]]).unwrap_err().to_string();
        assert!(refused.starts_with("host a: a, b are on one machine"), "{refused}");
        let alike = [vec![vec!["a", "b", "c"]], vec![vec!["a"], vec!["b"], vec!["c"]], vec![]];
        assert!(alike.iter().all(|machines| refuse_mixture(machines).is_ok()));
    }
}
