use std::collections::{BTreeMap, BTreeSet};

use btu_units::Span;

use super::*;
use crate::environment::{IdleState, Interface, collect};

/// A workstation on which everything works, independent of the test's machine.
fn healthy() -> Facts {
    let mut environment = collect();
    environment.processor.virtual_machine = false;
    environment.processor.governors = vec!["performance".to_owned()];
    environment.processor.idle_states = Vec::new();
    environment.processor.quota = None;
    environment.kernel.clock_source = Some("tsc".to_owned());
    let settings = [("net.core.busy_poll", "0"), ("net.ipv4.tcp_congestion_control", "cubic")];
    environment.network.settings =
        settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    environment.network.interfaces = BTreeMap::new();
    Facts {
        environment,
        namespaces: Ok("root".to_owned()),
        netem: Ok(()),
        capabilities: Capabilities::NET_ADMIN,
        no_new_privileges: false,
        open_files: Some(65_536),
        locked_bytes: Some(u64::MAX),
        scratch_free_bytes: Some(100 << 30),
        latency_request: true,
        io_uring_disabled: Some(0),
        congestion_controls: vec!["reno".to_owned(), "bbr".to_owned()],
        waited: Some(Span::from_milliseconds(1)),
        ipv6: true,
        packet_filter: false,
    }
}

fn of(facts: &Facts, topic: &str) -> Finding {
    judge(facts).into_iter().find(|finding| finding.topic == topic).unwrap()
}

#[test]
fn no_service_is_advised_to_leave_its_bounds() {
    let bounded = Facts {
        namespaces: Err("no right".to_owned()),
        netem: Err("no right".to_owned()),
        no_new_privileges: true,
        ..healthy()
    };
    for topic in ["namespaces", "kernel netem"] {
        let fix = of(&bounded, topic).fix.unwrap();
        assert!(fix.starts_with("nothing") && !fix.contains("root"), "{fix}");
    }
}

#[test]
fn a_healthy_host_has_nothing_to_complain_of() {
    let complaints: Vec<_> =
        judge(&healthy()).into_iter().filter(|finding| finding.health != Health::Ok).collect();
    assert_eq!(complaints, []);
}

/// Which ones stations may use is a question before the first command, not after its refusal.
#[test]
fn the_congestion_controls_of_stations_are_named() {
    let observed = of(&healthy(), "congestion control").observed;
    assert!(observed.contains("stations may use reno, bbr"), "{observed}");
}

/// A topic, its health, and a change that causes it.
type Break = (&'static str, Health, fn(&mut Facts));

/// Each wrong fact gives one finding, with its topic, its impact, and mostly a fix.
#[test]
fn whatever_is_wrong_is_found_and_nothing_else() {
    let broken: [Break; 19] = [
        ("congestion control", Health::Limited, |facts| {
            facts.environment.network.settings.remove("net.ipv4.tcp_congestion_control");
        }),
        ("namespaces", Health::Missing, |facts| {
            facts.namespaces = Err("unshare: EPERM".to_owned());
        }),
        ("kernel netem", Health::Missing, |facts| facts.netem = Err("no sch_netem".to_owned())),
        ("disk", Health::Limited, |facts| facts.scratch_free_bytes = Some(1 << 30)),
        ("disk", Health::Missing, |facts| facts.scratch_free_bytes = None),
        ("open files", Health::Missing, |facts| facts.open_files = Some(256)),
        ("capabilities", Health::Limited, |facts| facts.capabilities = Capabilities::NONE),
        ("locked memory", Health::Limited, |facts| facts.locked_bytes = Some(65_536)),
        ("io_uring", Health::Limited, |facts| facts.io_uring_disabled = Some(2)),
        ("frequency", Health::Limited, |facts| {
            facts.environment.processor.governors = vec!["powersave".to_owned()];
        }),
        ("clock", Health::Limited, |facts| {
            facts.environment.kernel.clock_source = Some("hpet".to_owned());
        }),
        ("CPU quota", Health::Limited, |facts| {
            facts.environment.processor.quota = Some("50000 100000".to_owned());
        }),
        ("causes", Health::Limited, |facts| facts.waited = None),
        ("busy polling", Health::Limited, |facts| {
            facts.environment.network.settings.remove("net.core.busy_poll");
        }),
        ("IPv6", Health::Limited, |facts| facts.ipv6 = false),
        ("packet filter", Health::Limited, |facts| facts.packet_filter = true),
        ("idle states", Health::Limited, |facts| {
            facts.latency_request = false;
            let name = "C10".to_owned();
            facts.environment.processor.idle_states =
                vec![IdleState { name, exit_latency_us: Some(890), disabled: false }];
        }),
        ("hypervisor", Health::Limited, |facts| {
            facts.environment.processor.virtual_machine = true;
            let (steal_ns, idle_ns) = (10_000_000_000, 990_000_000_000);
            facts.environment.cpu_time =
                Some(btu_contract::record::MachineCpu { steal_ns, idle_ns, ..Default::default() });
        }),
        ("offloads", Health::Limited, |facts| {
            let features = BTreeSet::from(["rx-gro".to_owned()]);
            let interface = Interface { features, ..Interface::default() };
            facts.environment.network.interfaces = BTreeMap::from([("eth0".to_owned(), interface)]);
        }),
    ];
    for (topic, health, break_it) in broken {
        let mut facts = healthy();
        break_it(&mut facts);
        let complaints: Vec<_> =
            judge(&facts).into_iter().filter(|finding| finding.health != Health::Ok).collect();
        let [found] = &complaints[..] else { panic!("{topic}: {complaints:?}") };
        assert_eq!((found.topic.as_str(), found.health), (topic, health));
        assert!(!found.observed.is_empty() && !found.impact.is_empty(), "{found:?}");
    }
}

/// No advice gives all users of the host a right that only btu needs.
#[test]
fn advice_gives_rights_to_a_group_and_to_nobody_else() {
    let mut facts = healthy();
    (facts.latency_request, facts.io_uring_disabled) = (false, Some(2));
    facts.capabilities = Capabilities::NONE;
    let state = IdleState { name: "C10".to_owned(), exit_latency_us: Some(890), disabled: false };
    facts.environment.processor.idle_states = vec![state];
    for (topic, given) in [
        ("capabilities", "chmod 0750"),
        ("idle states", "chmod 0660"),
        ("io_uring", "io_uring_group="),
    ] {
        let finding = of(&facts, topic);
        let advice = finding.fix.unwrap();
        assert!(advice.contains("groupadd -f btu") && advice.contains(given), "{advice}");
        assert!(finding.impact.contains("group"), "{}", finding.impact);
        assert!(
            !advice.contains("cap_net_raw")
                && !advice.contains("0666")
                && !advice.contains("disabled=0"),
            "{advice}"
        );
    }
    // A change of the group or the mode takes a file's capabilities away.
    let advice = of(&facts, "capabilities").fix.unwrap();
    assert!(advice.ends_with("&& setcap cap_net_admin+ep $b"), "{advice}");
}

#[test]
fn deep_sleep_is_no_trouble_where_it_can_be_forbidden() {
    let mut facts = healthy();
    let name = "C10".to_owned();
    facts.environment.processor.idle_states =
        vec![IdleState { name, exit_latency_us: Some(890), disabled: false }];
    assert_eq!(
        of(&facts, "idle states").observed,
        "C10 takes up to 890 us to wake from; btu can forbid it during a run"
    );
    facts.latency_request = false;
    facts.environment.processor.idle_states[0].disabled = true;
    assert_eq!(of(&facts, "idle states").health, Health::Ok);
}

#[test]
fn only_what_nothing_works_without_is_essential() {
    let mut facts = healthy();
    facts.open_files = Some(20);
    assert!(of(&facts, "open files").essential);
    facts.namespaces = Err("no".to_owned());
    assert_eq!(judge(&facts).iter().filter(|finding| finding.essential).count(), 1);
}
