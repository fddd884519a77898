//! A piece of wire before a black box: impairments that change under way, and nothing else.

use btu_medium::conformance::SHORTEST_FRAME;
use btu_suite::network::{Impairment, Station};
use btu_testbed::wire::{BlackBox, Shape, WirePlan};
use btu_units::Span;

use crate::Scenario;
use crate::bench::{ACTIVE, SEED, TEST, check_books, element, in_fresh_namespace, run_script};
use crate::lab::{Room, Wire, cable};

pub(crate) const SCENARIOS: &[Scenario] =
    &[("veth_delay", delay_is_added_and_taken_away), ("veth_loss", loss_spares_address_resolution)];

/// The test station on one side of the wire, active on the other.
fn rooms() -> (Room, Room, Wire) {
    let (test, active) = (Room::new(), Room::new());
    cable("in-active", &test, TEST);
    cable("out-active", &active, ACTIVE);
    let boxes =
        vec![BlackBox { station: Station::Active, inner: "in-active".to_owned(), outer: "out-active".to_owned() }];
    let plan = WirePlan::new(SEED, Shape::Veth { boxes });
    (test, active, Wire::start(&plan))
}

/// DL is added to what comes in, within 0.2 ms at the median, and not to what goes out.
fn delay_is_added_and_taken_away() {
    in_fresh_namespace(|| {
        let (test, active, mut wire) = rooms();
        let script: Vec<_> = (0..200).map(|n| (Span::from_microseconds(500) * n, SHORTEST_FRAME)).collect();
        let mut median = |impairment: Impairment, inward: bool| {
            wire.client.set(&[(Station::Active, impairment)]).unwrap();
            let (from, to, place) = if inward { (&test, &active, ACTIVE) } else { (&active, &test, TEST) };
            let arrivals = run_script(from, to, place, &script);
            assert_eq!(arrivals.len(), script.len());
            let mut delays: Vec<_> = arrivals.iter().map(|arrival| arrival.arrived.since(arrival.sent)).collect();
            delays.sort_unstable();
            delays[delays.len() / 2]
        };
        let plain = median(Impairment::NONE, true);
        let delayed = median(Impairment::DL, true);
        let outward = median(Impairment::DL, false);
        let again = median(Impairment::NONE, true);
        println!("  median one way: plain {plain}, with DL {delayed}, outward {outward}, plain again {again}");
        let added = (delayed - plain).milliseconds();
        assert!((added - 1.0).abs() < 0.2, "DL of 1 ms added {added} ms");
        assert!(outward < Span::from_microseconds(500) && again < Span::from_microseconds(500));
        check_books(&wire.client.account().unwrap());
    });
}

/// With every packet lost, stations still find each other's Ethernet address.
fn loss_spares_address_resolution() {
    in_fresh_namespace(|| {
        let (test, active, mut wire) = rooms();
        wire.client.set(&[(Station::Active, Impairment { delay: Span::ZERO, loss: 1.0 })]).unwrap();
        let script = [(Span::ZERO, SHORTEST_FRAME); 3];
        assert_eq!(run_script(&test, &active, ACTIVE, &script).len(), 0);
        let account = wire.client.account().unwrap();
        assert_eq!(element(&account, "active/input").dropped, [("loss".to_owned(), 3)], "packets were sent, and lost");
        check_books(&account);
    });
}
