//! `btu hosts check`: contacts every host of an inventory at the same time and stores the result as
//! a run.

use std::time::Instant;

use btu_contract::roll::{Roll, STUDY};
use btu_control::controller::{HostCall, roll_call};
use btu_store::{RunId, Store};
use btu_units::Span;

use super::access::access;
use super::named;
use crate::cli::{CheckHosts, Common};
use crate::exit::Refusal;
use crate::results::shown;
use crate::start::progress::Steps;
use crate::stored::single::{self, Single};
use crate::stored::{self, wall_clock};

/// Contacts the hosts and prints their answers.
pub(crate) fn check(check: &CheckHosts, common: &Common) -> anyhow::Result<()> {
    let calls = calls(check)?;
    let access = access(&check.reaching, None, Span::ZERO)?;
    let mut store = stored::open(common)?;
    let steps = Steps::new(check.quiet);
    steps.say(format!("greeting {} hosts", calls.len()));
    let began = Instant::now();
    let roll = roll_call(&calls, &access);
    steps.clear();
    let roll = roll?;
    let run = save(&mut store, check, &calls, &roll, began)?;
    shown::print_result(&store, run, shown::Shown::All, shown::Form::of(common))?;
    let silent: Vec<&str> = roll
        .hosts
        .iter()
        .filter(|host| host.trouble.is_some())
        .map(|host| host.name.as_str())
        .collect();
    if silent.is_empty() {
        return Ok(());
    }
    Err(Refusal::Machine(format!("not fit to be measured with: {}", silent.join(", "))).into())
}

fn calls(check: &CheckHosts) -> anyhow::Result<Vec<HostCall>> {
    let inventory = named::inventory(&check.inventory)?;
    Ok(inventory.hosts.iter().map(named::call).collect())
}

/// Stores a roll call as a run of one cell.
fn save(
    store: &mut Store,
    check: &CheckHosts,
    calls: &[HostCall],
    roll: &Roll,
    began: Instant,
) -> anyhow::Result<RunId> {
    let file = check
        .inventory
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let plan = serde_json::json!({
        "hosts": calls.iter().map(|call| serde_json::json!({"name": call.name, "reached": call.reached})).collect::<Vec<_>>(),
    });
    single::save(
        store,
        &Single {
            study: STUDY,
            profile: "check",
            network: &format!("{} hosts of {file}", calls.len()),
            label: check.label.as_deref(),
            plan,
            plan_hash: format!("hosts-{}", calls.len()),
            is_measured_here: true,
            created: wall_clock(),
            duration: Some(Span::from(began.elapsed())),
            is_valid: roll.hosts.iter().all(|host| host.trouble.is_none()),
            record: roll,
        },
    )
}
