//! `btu net status`: shows the networks that are up, the processes in them, and the accounts of
//! their emulators.

use std::fmt::Write as _;

use btu_contract::record::WireAccount;
use btu_testbed::note;
use btu_testbed::testbed::{Process, Raised, Record, Registry};
use serde::Serialize;

use crate::cli::{Common, Status};
use crate::net::accounts::{self, Accounts};
use crate::terminal;

/// Prints the networks that are up.
pub(crate) fn status(status: &Status, common: &Common) -> anyhow::Result<()> {
    let registry = Registry::of_user()?;
    let networks = match &status.name {
        Some(name) => vec![registry.find(Some(name))?],
        None => registry.networks()?,
    };
    if common.json {
        return terminal::print_json(&networks.iter().map(view).collect::<Vec<_>>());
    }
    for (name, words) in registry.fallen()? {
        note!("Network {name} stopped: {words}\n(`btu net down` forgets this.)");
    }
    if networks.is_empty() {
        return terminal::print("No network is up. Start one: btu net up FILE");
    }
    terminal::print(
        &networks.iter().map(|network| text(&view(network))).collect::<Vec<_>>().join("\n"),
    )
}

/// A network with its processes and accounts.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    #[serde(flatten)]
    record: Record,
    processes: Vec<Process>,
    /// Missing when the wire does not answer.
    wire: Option<Accounts>,
    #[serde(skip)]
    account: Option<WireAccount>,
}

/// Queries a network. Parts without an answer are left out: a network that is just going down is no
/// error.
pub(crate) fn view(network: &Raised) -> View {
    let account = network.account().ok();
    View {
        record: network.record.clone(),
        processes: network.processes().unwrap_or_default(),
        wire: account.as_ref().map(Accounts::of),
        account,
    }
}

fn text(view: &View) -> String {
    let record = &view.record;
    let mut text = format!(
        "{} (from {}, up since {}, seed {})\n",
        record.name, record.source, record.since, record.seed
    );
    let width = record.stations.iter().map(|station| station.name.len()).max().unwrap_or(0);
    for station in &record.stations {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:width$}  {}", station.name, station.address);
        for process in view.processes.iter().filter(|process| process.station == station.name) {
            let _ = writeln!(text, "  {:width$}    {} {}", "", process.number, process.command);
        }
    }
    match &view.account {
        Some(account) => text += &accounts::text(account),
        None => text += "  its link emulator does not answer\n",
    }
    text
}
