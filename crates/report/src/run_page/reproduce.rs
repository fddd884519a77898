//! How to repeat the measurement, and how to show its result again.

use btu_contract::activity::Receiving;
use btu_contract::load::Load;
use btu_contract::network::{Machine, Machines, Network, Reached};
use btu_studies::rate::{Component, MESSAGE_SIZES, Plan};
use btu_units::{Bytes, shell_word};

use super::{RunReport, row};
use crate::html::{Block, Section, Table};

pub(super) fn section(report: &RunReport) -> Option<Section> {
    let again = Block::Command(command(report.plan));
    let inventory = inventory(&report.plan.network).map(|text| {
        [
            Block::Text(format!("with {INVENTORY}, which is an inventory of the hosts:")),
            Block::Command(text),
        ]
    });
    let show = Block::Command(format!("btu show {0}\nbtu report {0}", report.stored.run.id));
    let measure =
        Block::Text("Measure the same in the same order, with the same payload:".to_owned());
    let mut blocks = vec![measure, again];
    blocks.extend(inventory.into_iter().flatten());
    blocks.extend([
        Block::Text(format!("Make this report again, from {}:", report.stored.run.database)),
        show,
        Block::Table(facts(report)),
    ]);
    Section::of("How to reproduce it", "", blocks)
}

/// The name of the inventory in a command.
const INVENTORY: &str = "hosts.toml";

/// The options that make the same plan.
fn command(plan: &Plan) -> String {
    if let Some(verifies) = &plan.verifies {
        return format!("btu rate --verify r{} --seed {}", verifies.run, plan.seed);
    }
    let mut words =
        vec![format!("btu rate --profile {} --seed {}", shell_word(&plan.profile.name), plan.seed)];
    if let Network::Path(path) = &plan.network {
        let [rate, delay] =
            [path.rate.to_string(), path.delay.to_string()].map(|text| shell_word(&text));
        words.push(format!("--network {rate} --delay {delay}"));
        for (option, share) in
            [("loss", path.loss), ("duplicate", path.duplicate), ("reorder", path.reorder)]
        {
            words.extend((share > 0.0).then(|| format!("--{option} {share}")));
        }
    }
    if let Network::Drawing(drawn) = &plan.network {
        words.push(format!("--network {}", shell_word(&drawn.name)));
        words.extend(
            drawn
                .stations
                .roles()
                .map(|(role, station)| format!("--{role} {}", shell_word(station))),
        );
    }
    if let Network::Machines(machines) = &plan.network {
        words.push(hosts(machines));
    }
    if !matches!(plan.network, Network::Machines(_)) {
        let divided =
            plan.processors.as_ref().map_or_else(|| "shared".to_owned(), ToString::to_string);
        words.push(format!("--processors {}", shell_word(&divided)));
        words.extend(
            plan.protocol_work.is_receiver().then(|| "--protocol-work receiver".to_owned()),
        );
        words.extend((!plan.kept_awake).then(|| "--idle-states".to_owned()));
        words.extend(
            plan.congestion_control
                .as_ref()
                .map(|name| format!("--congestion-control {}", shell_word(name.as_str()))),
        );
    }
    words.extend((plan.receiving == Receiving::Batched).then(|| "--receive batched".to_owned()));
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
    words.join(" ")
}

/// The agents of a launcher are started again; other hosts are in an inventory.
fn hosts(machines: &Machines) -> String {
    if machines.hosts.iter().all(|host| host.reached == Reached::Launched) {
        "--launcher COMMAND".to_owned()
    } else {
        format!("--hosts {INVENTORY}")
    }
}

/// The inventory that [`command`] names, if it does.
fn inventory(network: &Network) -> Option<String> {
    let Network::Machines(machines) = network else { return None };
    let is_launched = machines.hosts.iter().all(|host| host.reached == Reached::Launched);
    (!is_launched).then(|| machines.hosts.iter().map(entry).collect::<Vec<_>>().join("\n\n"))
}

fn entry(host: &Machine) -> String {
    let Machine { station, name, reached, measured } = host;
    let way = match reached {
        Reached::Tls { address } => format!("control = \"{address}\""),
        Reached::Ssh { destination } => format!("ssh = \"{destination}\""),
        Reached::Launched => "# started by a launcher: --launcher".to_owned(),
        Reached::Here => "# this machine itself".to_owned(),
    };
    format!("[hosts.{name}]\nrole = \"{station}\"\n{way}\nmeasured = \"{measured}\"")
}

/// `--option a,b`, unless it is everything.
fn listed<T: ToString + PartialEq>(option: &str, chosen: &[T], all: &[T]) -> Option<String> {
    let whole = all.iter().all(|one| chosen.contains(one));
    let names: Vec<String> = chosen.iter().map(ToString::to_string).collect();
    (!whole).then(|| format!("--{option} {}", names.join(",")))
}

fn facts(report: &RunReport) -> Table {
    let cost =
        report.stored.run.own_cost.map_or_else(|| "unknown".to_owned(), crate::number::duration);
    let facts = [
        ("run", report.stored.run.id.clone()),
        ("name everywhere", report.stored.origin.uuid.clone()),
        ("label", report.stored.origin.label.clone().unwrap_or_default()),
        ("started", report.stored.run.started.clone()),
        ("took", crate::number::duration(report.stored.run.duration)),
        ("btu", report.stored.origin.version.clone()),
        ("plan", report.stored.origin.plan_hash.clone()),
        ("seed", report.stored.run.seed.to_string()),
        ("valid cells", report.verdict.valid_cells.to_string()),
        ("void cells", report.verdict.invalid_cells.to_string()),
        ("overhead for each cell", cost),
    ];
    let mut table = Table::new("The run", &["", ""], 2);
    table.rows = facts.into_iter().map(|(name, value)| row(&[name, &value], [])).collect();
    table
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use btu_contract::network::{Drawn, HostRole, Stations};
    use btu_network::{Control, Inventory};
    use btu_studies::rate::Profile;

    use super::*;

    fn machines(reached: [Reached; 3]) -> Network {
        let hosts =
            HostRole::ALL.into_iter().zip(["alpha", "beta", "gamma"]).zip(reached).zip(10..);
        let hosts = hosts.map(|(((station, name), reached), last)| Machine {
            station: station.into(),
            name: name.to_owned(),
            reached,
            measured: IpAddr::from([198, 51, 100, last]),
        });
        Network::Machines(Machines { hosts: hosts.collect() })
    }

    fn tls(last: u8) -> Reached {
        Reached::Tls { address: format!("192.0.2.{last}:7417") }
    }

    /// A plan of a stranger's file that was not read from JSON, where such names are refused.
    #[test]
    fn a_copied_command_runs_no_other() {
        let profile = Profile { name: "quick$(id)".to_owned(), ..Profile::quick() };
        let stations = Stations { test: "a;id".to_owned(), active: "b".to_owned(), passive: None };
        let drawn = Drawn { name: "`id`".to_owned(), text: String::new(), stations };
        let said = command(&Plan::whole(7, profile, Network::Drawing(drawn)));
        let expected =
            "btu rate --profile 'quick$(id)' --seed 7 --network '`id`' --test 'a;id' --active b";
        assert!(said.starts_with(expected), "{said}");
    }

    /// `--ssh` measures at the destination of ssh, which may differ from the measured address of
    /// this run.
    #[test]
    fn hosts_by_ssh_come_with_an_inventory() {
        let ssh = |name: &str| Reached::Ssh { destination: format!("me@{name}") };
        let network = machines([ssh("alpha"), tls(11), ssh("gamma")]);
        let text = inventory(&network).unwrap();
        let read = Inventory::read(&text, INVENTORY).unwrap();
        let roles: Vec<&str> =
            read.hosts.iter().filter_map(|host| Some(host.role?.name())).collect();
        assert_eq!(roles, ["test", "active", "passive"]);
        assert_eq!(read.hosts[0].control, Control::Ssh("me@alpha".parse().unwrap()));
        assert_eq!(read.hosts[2].measured, Some(IpAddr::from([198, 51, 100, 12])));
        let said = command(&Plan::whole(7, Profile::quick(), network));
        assert_eq!(said, "btu rate --profile quick --seed 7 --hosts hosts.toml");
    }
}
