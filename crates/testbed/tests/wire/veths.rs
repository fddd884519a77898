//! A piece of wire before a peer: only impairments that change during a run.

use btu_conditions::judge;
use btu_medium::conformance::SHORTEST_FRAME;
use btu_suite::network::{HostRole, Impairment, Impairments};
use btu_units::Span;

use crate::Scenario;
use crate::bench::{
    ACTIVE, SEED, TEST, check_accounts, element, in_fresh_namespace, input_plan, run_script,
};
use crate::lab::{Room, Wire, cable};
use crate::scenarios::Machine;

pub(crate) const SCENARIOS: &[Scenario] =
    &[("veth_delay", delay_is_added_and_taken_away), ("veth_loss", loss_spares_address_resolution)];

/// The test station on one side of the wire, active on the other.
fn rooms() -> (Room, Room, Wire) {
    let (test, active) = (Room::new(), Room::new());
    cable("in-active", &test, TEST);
    cable("out-active", &active, ACTIVE);
    (test, active, Wire::start(&input_plan(SEED)))
}

/// DL is added to incoming packets, within 0.2 ms at the median, and not to outgoing ones.
fn delay_is_added_and_taken_away() {
    in_fresh_namespace(|| {
        let (test, active, mut wire) = rooms();
        let script: Vec<_> =
            (0..200).map(|n| (Span::from_microseconds(500) * n, SHORTEST_FRAME)).collect();
        let mut median = |impairment: Impairment, inward: bool| {
            wire.client.set(&Impairments::from([(HostRole::Active.into(), impairment)])).unwrap();
            let (from, to, place) =
                if inward { (&test, &active, ACTIVE) } else { (&active, &test, TEST) };
            let arrivals = run_script(from, to, place, &script);
            let (seen, all) = (arrivals.len(), script.len());
            judge!(Machine, seen == all, "{seen} of {all} arrived");
            let mut delays: Vec<_> =
                arrivals.iter().map(|arrival| arrival.arrived.since(arrival.sent)).collect();
            delays.sort_unstable();
            delays[delays.len() / 2]
        };
        let plain = median(Impairment::NONE, true);
        let delayed = median(Impairment::DL, true);
        let outward = median(Impairment::DL, false);
        let again = median(Impairment::NONE, true);
        println!(
            "  median one way: plain {plain}, with DL {delayed}, outward {outward}, plain again {again}"
        );
        let added = (delayed - plain).milliseconds();
        judge!(Machine, (added - 1.0).abs() < 0.2, "DL of 1 ms added {added} ms");
        let longest = outward.max(again);
        judge!(Machine, longest < Span::from_microseconds(500), "without DL {longest}");
        check_accounts(&wire.client.account().unwrap());
    });
}

/// With every packet lost, stations still resolve each other's Ethernet address.
fn loss_spares_address_resolution() {
    in_fresh_namespace(|| {
        let (test, active, mut wire) = rooms();
        wire.client
            .set(&Impairments::from([(
                HostRole::Active.into(),
                Impairment { delay: Span::ZERO, loss: 1.0 },
            )]))
            .unwrap();
        let script = [(Span::ZERO, SHORTEST_FRAME); 3];
        assert_eq!(run_script(&test, &active, ACTIVE, &script).len(), 0);
        let account = wire.client.account().unwrap();
        assert_eq!(
            element(&account, "active/input/loss").dropped,
            [("loss".to_owned(), 3)],
            "packets were sent, and lost"
        );
        check_accounts(&account);
    });
}
