//! A run on hosts from its reservation to its last record: the environments of the hosts before and
//! after, with their clocks.

use std::collections::BTreeMap;
use std::time::Instant;

use btu_store::{Level, Moment};
use btu_suite::network::HostName;
use btu_suite::record::HostClock;
use btu_suite::text::first_names;
use serde_json::{Value, json};

use super::super::error::CoordinatorError;
use super::super::run_monitor::RunMonitor;
use super::super::session::{self, Journal};
use super::super::stage::Stage;
use super::super::study::Study;
use super::super::{Observer, Phase};
use super::remote_host::Reconnected;
use crate::environment::{Environment, differences};
use crate::protocol::DescribeReply;

/// The records of a run about its hosts.
pub(crate) struct Notes<'a>(pub(crate) Journal<'a>);

/// The environments of the hosts at one moment: the name of each, its environment, and the stored
/// form.
type Looks = BTreeMap<HostName, (String, Environment, Value)>;

/// The field of a stored environment with the connections that an agent has refused since its
/// start.
const TURNED_AWAY: &str = "turned_away";

/// Fewer callers than this come from a user's mistake, or from a scan of the network. This many
/// handshakes take a processor some 30 ms.
const MANY: u64 = 100;

/// Hosts that a warning names.
const MOST_NAMED: usize = 3;

/// Measures a run on reserved hosts.
pub(crate) async fn measured<S: Study>(
    journal: Journal<'_>,
    study: &mut S,
    stage: &mut Stage,
    monitor: &mut RunMonitor<'_>,
    began: Instant,
    observer: &mut dyn Observer,
) -> Result<(), CoordinatorError> {
    let notes = Notes(journal);
    if !stage.is_here_alone() {
        observer.phase(Phase::Reserve);
    }
    monitor.guard(stage.reserve(&journal.lock.run().to_string())).await?;
    let before = monitor.guard(stage.describe(false)).await?;
    let before = notes.keep(stage, Moment::Before, before)?;
    for shared in one_machine(&before) {
        notes.warn(&shared)?;
    }
    session::measure(journal, study, stage, monitor, began, observer).await?;
    match monitor.guard(stage.describe(true)).await {
        Ok(after) => notes.compare(&before, &notes.keep(stage, Moment::After, after)?),
        // The result is there already.
        Err(error) if error.is_lost() => {
            notes.warn(&format!("what the hosts were like afterwards is not known: {error}"))
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
    ) -> Result<(), CoordinatorError> {
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
    ) -> Result<Looks, CoordinatorError> {
        let clocks = stage.clocks();
        let mut looks = Looks::new();
        for (station, host, reply) in described {
            let mut document = document(&reply, &host, clocks.get(&station))?;
            let environment =
                serde_json::from_value(document.clone()).map_err(CoordinatorError::Document)?;
            if let Some(fields) = document.as_object_mut() {
                fields.insert("station".to_owned(), json!(station));
            }
            self.0.store.save_environment(self.0.lock, moment, &document)?;
            looks.insert(station, (host, environment, document));
        }
        Ok(looks)
    }

    fn compare(&self, before: &Looks, after: &Looks) -> Result<(), CoordinatorError> {
        for (station, (host, before, stored_before)) in before {
            let Some((_, after, stored_after)) = after.get(station) else { continue };
            for difference in differences(before, after) {
                self.warn(&format!("{host}: {difference}"))?;
            }
            crowd(host, stored_before, stored_after).map_or(Ok(()), |pushed| self.warn(&pushed))?;
        }
        Ok(())
    }

    fn warn(&self, text: &str) -> Result<(), CoordinatorError> {
        self.0.event(Level::Warning, text)
    }
}

/// Hosts that run on one machine, a warning for each machine: as containers, pods, or processes of a
/// job.
fn one_machine(looks: &Looks) -> Vec<String> {
    let mut of_boot: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (host, environment, _) in looks.values() {
        if let Some(boot) = &environment.kernel.boot {
            of_boot.entry(boot).or_default().push(host);
        }
    }
    let several = of_boot.into_values().filter(|hosts| hosts.len() > 1);
    let warning = |hosts: Vec<&str>| {
        let named = first_names(&hosts, MOST_NAMED);
        format!(
            "{named} are on one machine: they share its processors, and what they exchange need not cross a network"
        )
    };
    several.map(warning).collect()
}

/// A host's own description, with its name and its clock offsets.
pub(super) fn document(
    reply: &DescribeReply,
    host: &str,
    clock: Option<&HostClock>,
) -> Result<Value, CoordinatorError> {
    let mut document: Value = reply.environment.read().map_err(CoordinatorError::Document)?;
    if let Some(fields) = document.as_object_mut() {
        fields.insert("name".to_owned(), json!(host));
        fields.insert("clock".to_owned(), json!(clock));
        fields.insert(TURNED_AWAY.to_owned(), json!(reply.turned_away));
    }
    Ok(document)
}

/// The warning about a host that refused many unknown callers between two examinations.
pub(super) fn crowd(host: &str, before: &Value, after: &Value) -> Option<String> {
    let [before, after] = [before, after].map(|look| look[TURNED_AWAY].as_u64());
    let came = after?.saturating_sub(before?);
    (came >= MANY).then(|| {
        format!(
            "{host}: its agent turned away {came} connections of strangers meanwhile, which took its processor and network; its \
             log says where they came from"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_strangers_at_the_door_are_told_and_a_few_are_not() {
        let look = |came: u64| json!({TURNED_AWAY: came});
        let said = crowd("alpha", &look(7), &look(107)).unwrap();
        assert!(said.starts_with("alpha: its agent turned away 100 connections"), "{said}");
        // An agent that was started again counts again; one of an older version does not count.
        for (before, after) in [(look(7), look(106)), (look(500), look(3)), (json!({}), look(1000))]
        {
            assert_eq!(crowd("alpha", &before, &after), None);
        }
    }
}
