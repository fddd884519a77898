//! A piece of wire before a peer: impairments that change during a run, and superframes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use btu_conditions::judge;
use btu_contract::network::{HostRole, Impairment, Impairments};
use btu_medium::conformance::SHORTEST_FRAME;
use btu_testbed::offload::set_offloads;
use btu_testbed::port::Carriage;
use btu_testbed::wire::WirePlan;
use btu_units::Span;

use crate::Scenario;
use crate::bench::{
    ACTIVE, SEED, TEST, check_accounts, element, in_fresh_namespace, input_plan, run_script,
};
use crate::lab::{Room, Wire, cable};
use crate::scenarios::Machine;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("veth_delay", delay_is_added_and_taken_away),
    ("veth_loss", loss_spares_address_resolution),
    ("veth_superframes", superframes_and_short_frames_keep_their_order_and_content),
];

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

/// A stream that is read at once, and one that fills every queue before it is read.
fn superframes_and_short_frames_keep_their_order_and_content() {
    const OCTETS: usize = 16 << 20;
    const PORT: u16 = 9001;
    let sent: Vec<u8> = (0..OCTETS).map(|place| (place / 7 * 31 + place) as u8).collect();
    for pause in [Span::ZERO, Span::from_milliseconds(200)] {
        in_fresh_namespace(|| {
            let (test, active) = (Room::new(), Room::new());
            cable("in-active", &test, TEST);
            cable("out-active", &active, ACTIVE);
            let offload = |interface| set_offloads(interface, true).unwrap();
            offload("in-active");
            offload("out-active");
            test.inside(|| offload("eth0"));
            active.inside(|| offload("eth0"));
            let plan = WirePlan { carriage: Carriage::Superframes, ..input_plan(SEED) };
            let mut wire = Wire::start(&plan);
            let listener = active.inside(|| TcpListener::bind((ACTIVE.address(), PORT))).unwrap();
            let received = thread::scope(|scope| {
                scope.spawn(|| {
                    let mut stream =
                        test.inside(|| TcpStream::connect((ACTIVE.address(), PORT))).unwrap();
                    stream.write_all(&sent).unwrap();
                });
                let (mut stream, _) = listener.accept().unwrap();
                thread::sleep(pause.into());
                let mut received = Vec::with_capacity(OCTETS);
                stream.read_to_end(&mut received).unwrap();
                received
            });
            assert!(received == sent, "what arrived is not what was sent");
            let account = wire.client.account().unwrap();
            check_accounts(&account);
            let frames = element(&account, "input/forth/line").received;
            println!("  {OCTETS} octets in {frames} frames");
            assert!(frames < (OCTETS / 1500) as u64, "{frames} frames are not super");
        });
    }
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
