//! `[hosts.NAME]` of an inventory file.

use std::net::IpAddr;

use super::fields::{Fields, Item};
use super::problem::{Problems, ReadError, Spot};
use super::{document, names};
use crate::inventory::{Control, Host, HostRole, Inventory};

/// Hosts in an inventory: more than one controller can drive.
const MOST_HOSTS: usize = 1000;

impl Inventory {
    /// Reads an inventory file, which errors call `source_name`.
    ///
    /// # Errors
    /// When it is not an inventory: all mistakes in it.
    pub fn read(text: &str, source_name: &str) -> Result<Self, ReadError> {
        let problems = Problems::default();
        let inventory = of_text(text, &problems);
        problems.verdict(source_name, text, &[])?;
        Ok(inventory)
    }
}

fn of_text(text: &str, problems: &Problems) -> Inventory {
    let Some(table) = document::opened(text, "an inventory", &[], problems) else {
        return Inventory::default();
    };
    let fields = Fields::of(&table, document::start(), problems);
    let hosts = fields.get("hosts").and_then(|item| item.fields());
    if hosts.is_none() && problems.none() {
        fields.problem(
            "there are no hosts: write for example `[hosts.alpha]` and `ssh = \"user@host\"`",
        );
    }
    fields.finish();
    Inventory { hosts: hosts.map(|hosts| read_all(&hosts, problems)).unwrap_or_default() }
}

fn read_all(table: &Fields<'_>, problems: &Problems) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    for (name, spot, item) in table.members() {
        if hosts.len() >= MOST_HOSTS {
            problems.note(&spot, format!("an inventory has at most {MOST_HOSTS} hosts"));
            break;
        }
        names::check(name, &spot, problems);
        let taken = hosts.iter().any(|host| host.name.eq_ignore_ascii_case(name));
        if taken {
            problems.note(&spot, format!("there is a host `{name}` already"));
        }
        hosts.extend(read(name, &spot, &item, &hosts, problems));
    }
    hosts
}

fn read(
    name: &str,
    spot: &Spot,
    item: &Item<'_>,
    before: &[Host],
    problems: &Problems,
) -> Option<Host> {
    let fields = item.fields()?;
    let role = fields.get("role").and_then(|item| role(&item, before));
    let agent = fields.get("control");
    let ssh = fields.get("ssh");
    let control = match (&agent, &ssh) {
        (Some(_), Some(ssh)) => {
            ssh.problem("`control` says where a job's agent listens and `ssh` that there is none yet: write one of them");
            None
        }
        (Some(agent), None) => parsed(agent).map(Control::Agent),
        (None, Some(ssh)) => parsed(ssh).map(Control::Ssh),
        (None, None) => {
            problems.note(spot, "nothing says how to reach it: write `ssh = \"user@host\"`");
            None
        }
    };
    let measured = fields.get("measured").and_then(|item| measured(&item));
    fields.finish();
    Some(Host { name: name.to_owned(), role, control: control?, measured })
}

/// A role, which one host has.
fn role(item: &Item<'_>, before: &[Host]) -> Option<HostRole> {
    let role = item.word(&HostRole::ALL.map(|role| (role.name(), role)))?;
    if let Some(other) = before.iter().find(|host| host.role == Some(role)) {
        item.problem(format!("{} is {} already: one host has each role", other.name, role.name()));
    }
    Some(role)
}

fn parsed<T: std::str::FromStr<Err = crate::inventory::HostAddressError>>(
    item: &Item<'_>,
) -> Option<T> {
    item.text()?.parse().map_err(|error: T::Err| item.problem(error.to_string())).ok()
}

fn measured(item: &Item<'_>) -> Option<IpAddr> {
    let text = item.text()?;
    let address: Option<IpAddr> = text.parse().ok();
    match address {
        None => item.problem(
            "an address of the host on the measured network is wanted, such as \"198.51.100.10\"",
        ),
        Some(address) if address.is_unspecified() || address.is_multicast() => {
            item.problem(format!("{address} is not an address of one host"));
        }
        Some(_) => return address,
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = r#"
[hosts.alpha]
role = "test"
ssh = "me@alpha"
measured = "198.51.100.10"
[hosts.beta]
role = "active"
control = "192.0.2.11"
[hosts.spare]
control = "spare.example.org:99"
"#;

    fn wrong(text: &str) -> String {
        Inventory::read(text, "hosts.toml").unwrap_err().to_string()
    }

    #[test]
    fn hosts_have_roles_and_two_addresses() {
        let inventory = Inventory::read(GOOD, "hosts.toml").unwrap();
        let [alpha, beta, spare] = &inventory.hosts[..] else { panic!("{inventory:?}") };
        assert_eq!(
            (alpha.role, beta.role, spare.role),
            (Some(HostRole::Test), Some(HostRole::Active), None)
        );
        assert_eq!(alpha.control, Control::Ssh("me@alpha".parse().unwrap()));
        assert_eq!(alpha.measured, Some(IpAddr::from([198, 51, 100, 10])));
        assert_eq!(beta.control, Control::Agent("192.0.2.11:7417".parse().unwrap()));
        assert_eq!(beta.measured, None);
    }

    #[test]
    fn what_is_wrong_is_marked_where_it_stands() {
        assert_eq!(
            wrong(
                "[hosts.alpha]\nrole = \"tset\"\ncontrol = \"192.0.2.10:x\"\nmeasured = \"here\"\n"
            ),
            "hosts.toml:2:8: hosts.alpha.role: `tset` is not known here (did you mean `test`?); there are `test`, `active`, \
             `passive`\n    2 | role = \"tset\"\n      |        ^^^^^^\n\
             hosts.toml:3:11: hosts.alpha.control: `192.0.2.10:x` is not an address: write host:port, 192.0.2.10, or \
             [2001:db8::10]:7417\n    3 | control = \"192.0.2.10:x\"\n      |           ^^^^^^^^^^^^^^\n\
             hosts.toml:4:12: hosts.alpha.measured: an address of the host on the measured network is wanted, such as \
             \"198.51.100.10\"\n    4 | measured = \"here\"\n      |            ^^^^^^"
        );
    }

    #[test]
    fn each_mistake_is_told() {
        for (text, told) in [
            ("", "there are no hosts"),
            ("[hosts.a]\nrole = \"test\"\n", "nothing says how to reach it"),
            ("[hosts.a]\ncontrol = \"h\"\nssh = \"h\"\n", "write one of them"),
            ("[hosts.a]\ncontrol = \"h\"\nport = 1\n", "there is no such key here"),
            (
                "[hosts.a]\ncontrol = \"h\"\n[hosts.A]\ncontrol = \"h\"\n",
                "there is a host `A` already",
            ),
            (
                "[hosts.a]\ncontrol=\"h\"\nrole=\"test\"\n[hosts.b]\ncontrol=\"h\"\nrole=\"test\"\n",
                "a is test already",
            ),
            ("[hosts.a]\nssh = \"-oProxyCommand=x\"\n", "nothing that ssh could go to"),
            ("[hosts.a]\ncontrol = \"h\"\nmeasured = \"0.0.0.0\"\n", "not an address of one host"),
            ("[hosts.\"a b\"]\ncontrol = \"h\"\n", "is not a name"),
            ("[stations.a]\n", "there is no such key here"),
            ("[hosts", "this is not TOML"),
        ] {
            let message = wrong(text);
            assert!(message.contains(told), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_the_reader_panic(text in "(\\[hosts\\.[a-z]{1,3}\\]\n|(role|control|ssh|measured) = \"\\PC{0,9}\"\n|\\PC){0,20}") {
            let _ = Inventory::read(&text, "any");
        }
    }
}
