//! How to measure the same again, and how to see the same again.

use btu_suite::cell::{Component, Load, MESSAGE_SIZES};
use btu_suite::network::{Machine, Network, Reached};
use btu_units::Bytes;

use super::{RunReport, row};
use crate::html::{Block, Section, Table};

pub(super) fn section(report: &RunReport) -> Option<Section> {
    let again = if report.origin.plan_is_known {
        Block::Command(command(report))
    } else {
        Block::Text("The stored plan cannot be read by this version, so the command cannot be given.".to_owned())
    };
    let show = Block::Command(format!("btu show {0}\nbtu report {0}", report.run.id));
    let blocks = vec![
        Block::Text("Measure the same in the same order, with the same payload:".to_owned()),
        again,
        Block::Text(format!("Make this report again, from {}:", report.run.database)),
        show,
        Block::Table(facts(report)),
    ];
    Section::of("How to reproduce it", "", blocks)
}

/// The options that make the same plan.
pub(super) fn command(report: &RunReport) -> String {
    let plan = report.plan;
    let mut words = vec![format!("btu rate --profile {} --seed {}", plan.profile.name, plan.seed)];
    if let Network::Path(path) = &plan.network {
        words.push(format!("--network '{}' --delay '{}'", path.rate, path.delay));
        for (option, share) in [("loss", path.loss), ("duplicate", path.duplicate), ("reorder", path.reorder)] {
            words.extend((share > 0.0).then(|| format!("--{option} {share}")));
        }
    }
    if let Network::Machines(machines) = &plan.network {
        words.extend(machines.hosts.iter().map(host));
    }
    words.extend(plan.volume.map(|volume| format!("--volume '{} B'", volume.count())));
    words.extend(plan.window.map(|window| format!("--window '{} B'", window.count())));
    let all: Vec<Component> = Component::RATED.into_iter().chain(Component::FURTHER).collect();
    words.extend(listed("component", &plan.components, &all));
    words.extend(listed(
        "message",
        &plan.messages.iter().map(|size| size.count()).collect::<Vec<_>>(),
        &MESSAGE_SIZES.map(Bytes::count),
    ));
    words.extend(listed("load", &plan.loads, &Load::ALL));
    words.extend(plan.ftp_server.as_ref().map(|_| "--ftp-server SERVER".to_owned()));
    words.join(" ")
}

/// A host by its addresses; by what it is reached today, its own user knows best.
fn host(host: &Machine) -> String {
    let Machine { station, name, reached, measured } = host;
    match reached {
        Reached::Tls { address } | Reached::Pairing { address } => format!("--{station} {name}={address}@{measured}"),
        Reached::Ssh { destination } => format!("--{station} {name}={destination}@{measured}"),
    }
}

/// `--option a,b`, unless it is everything.
fn listed<T: ToString + PartialEq>(option: &str, chosen: &[T], all: &[T]) -> Option<String> {
    let whole = all.iter().all(|one| chosen.contains(one));
    let names: Vec<String> = chosen.iter().map(ToString::to_string).collect();
    (!whole).then(|| format!("--{option} {}", names.join(",")))
}

fn facts(report: &RunReport) -> Table {
    let cost = report.run.own_cost.map_or_else(|| "unknown".to_owned(), crate::number::duration);
    let facts = [
        ("run", report.run.id.clone()),
        ("name everywhere", report.origin.uuid.clone()),
        ("label", report.origin.label.clone().unwrap_or_default()),
        ("started", report.run.started.clone()),
        ("took", crate::number::duration(report.run.duration)),
        ("btu", report.origin.version.clone()),
        ("plan", report.origin.plan_hash.clone()),
        ("seed", report.run.seed.to_string()),
        ("valid cells", report.verdict.valid_cells.to_string()),
        ("void cells", report.verdict.invalid_cells.to_string()),
        ("an empty cell takes", cost),
    ];
    let mut table = Table::new("The run", &["", ""], 2);
    table.rows = facts.iter().map(|(name, value)| row(&[name, value], [])).collect();
    table
}
