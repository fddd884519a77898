//! `btu net up` and `btu net down`: networks that stay up.

use btu_testbed::note;
use btu_testbed::testbed::{Raised, Registry};
use btu_units::shell_word;

use crate::cli::{Common, Down, Up};
use crate::net::status;
use crate::{net, terminal};

/// The number of listed stations; `btu net status` lists all.
const MOST_LISTED: usize = 12;

/// Raises a network and leaves it.
pub(crate) fn up(up: &Up, common: &Common) -> anyhow::Result<()> {
    let registry = Registry::of_user()?;
    let request = net::request(&registry, &up.raising, str::to_owned)?;
    let network = registry.raise(request)?;
    if common.json {
        return terminal::print_json(&status::view(&network));
    }
    terminal::print(&greeting(&network))
}

fn greeting(network: &Raised) -> String {
    let record = &network.record;
    let mut lines = vec![format!("Network {} is up.", record.name)];
    let width = record.stations.iter().map(|station| station.name.len()).max().unwrap_or(0);
    for station in record.stations.iter().take(MOST_LISTED) {
        lines.push(format!("  {:width$}  {}", station.name, station.address));
    }
    if let Some(more) = record.stations.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
        lines.push(format!("  and {more} more: btu net status"));
    }
    if let Some(capture) = &record.capture {
        lines.push(format!("Its frames are written to {}.", capture.display()));
    }
    let first = record.stations.first().map_or("STATION", |station| station.name.as_str());
    let (name, first) = (shell_word(&record.name), shell_word(first));
    lines.push(format!("Enter a station:  btu net exec --name {name} {first} -- bash"));
    lines.push(format!("Take it down:     btu net down --name {name}"));
    lines.join("\n")
}

/// Takes the named networks down.
pub(crate) fn down(down: &Down) -> anyhow::Result<()> {
    let registry = Registry::of_user()?;
    let fallen = registry.fallen()?;
    for (name, _) in
        fallen.iter().filter(|(name, _)| down.name.as_ref().is_none_or(|wanted| wanted == name))
    {
        registry.forget(name);
        note!("Network {name} had stopped.");
    }
    let networks = match &down.name {
        None if down.all => registry.networks()?,
        // A network that ended by itself counts as taken down.
        Some(name) if fallen.iter().any(|(fallen, _)| fallen == name) => Vec::new(),
        name => vec![registry.find(name.as_deref())?],
    };
    let mut failed = None;
    for network in networks {
        // A failure with one network must not prevent the others.
        match network.lower() {
            Ok(()) => note!("Network {} is down.", network.record.name),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}
