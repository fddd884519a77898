//! An emulated path: rate, delay, loss, duplicates, order; and TCP's goodput on it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use btu_conditions::judge;
use btu_contract::network::{HostRole, Impairment, Impairments};
use btu_medium::Probability;
use btu_medium::conformance::{self, FULL_FRAME, SHORTEST_FRAME};
use btu_model::{Ethernet, Transport};
use btu_network::Direction;
use btu_testbed::port::now;
use btu_testbed::wire::WireError;
use btu_units::{BitRate, Bytes, Span};

use crate::Scenario;
use crate::bench::{
    ACTIVE, PASSIVE, PathLab, RealTimeBench, TEST, check_accounts, element, in_fresh_namespace,
    path_plan, run_script,
};
use crate::lab::{Place, Room, Wire, remove};
use crate::scenarios::Machine;

const TEN: BitRate = BitRate::from_megabits_per_second(10);
const HUNDRED: BitRate = BitRate::from_megabits_per_second(100);

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("path_rate_10", || rate(TEN, FULL_FRAME)),
    ("path_rate_10_short", || rate(TEN, Bytes::new(512))),
    ("path_rate_100", || rate(HUNDRED, FULL_FRAME)),
    ("path_delay", delays),
    ("path_loss_1", || losses(0.01)),
    ("path_loss_5", || losses(0.05)),
    ("path_loss_20", || losses(0.2)),
    ("path_duplicates", || conformance::duplicates_come_in_pairs(&mut RealTimeBench, share(0.05))),
    ("path_reordering", || {
        conformance::reordered_frames_are_overtaken(&mut RealTimeBench, share(0.05));
    }),
    ("path_tcp_10", || tcp_gets_the_closed_form(TEN, Bytes::new(3_600_000))),
    ("path_tcp_100", || tcp_gets_the_closed_form(HUNDRED, Bytes::new(36_000_000))),
    ("path_black_box_input", only_what_comes_in_is_impaired),
    ("path_switch", the_switch_knows_its_stations),
    ("path_bad_orders", bad_orders_are_refused),
    ("wire_ends", a_wire_ends),
];

fn share(share: f64) -> Probability {
    Probability::new(share).unwrap()
}

fn rate(rate: BitRate, length: Bytes) {
    conformance::a_busy_line_keeps_its_rate(&mut RealTimeBench, rate, length);
}

fn delays() {
    for delay in [Span::ZERO, Span::from_milliseconds(1), Span::from_milliseconds(20)] {
        conformance::an_idle_link_delays_as_asked(&mut RealTimeBench, delay);
    }
}

fn losses(of: f64) {
    conformance::losses_are_binomial(&mut RealTimeBench, share(of));
}

/// TCP with timestamps, both ways one after the other.
fn tcp_gets_the_closed_form(rate: BitRate, volume: Bytes) {
    let expected = Ethernet::new(rate).goodput(Transport::Tcp).unwrap();
    in_fresh_namespace(|| {
        let lab = PathLab::new();
        let mut wire = Wire::start(&path_plan(&Direction::new(rate, Span::from_milliseconds(1))));
        for (from, to, place) in [(&lab.test, &lab.active, ACTIVE), (&lab.passive, &lab.test, TEST)]
        {
            check_bulk(from, to, place, volume, expected);
        }
        check_accounts(&wire.client.account().unwrap());
    });
}

/// A bulk transfer within 2 per cent of the closed form, `expected` bits per second: a volume over
/// the time from its first to its last byte at the receiver, two to three seconds. Two per cent are
/// 40 ms, for which a busy machine may stop the processes: the sender, or the receiver before its
/// first read, from which its clock runs.
pub(crate) fn check_bulk(from: &Room, to: &Room, place: Place, volume: Bytes, expected: f64) {
    let goodput = bulk(from, to, place, volume);
    println!("  {:.4} Mb/s, closed form {:.4} Mb/s", goodput / 1e6, expected / 1e6);
    let error = (goodput / expected - 1.0).abs();
    judge!(Machine, error < 0.02, "{goodput} b/s, closed form {expected} b/s");
}

/// Bits per second of a bulk transfer at its receiver.
fn bulk(from: &Room, to: &Room, place: Place, volume: Bytes) -> f64 {
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            to.inside(|| drain(&TcpListener::bind((place.address(), 5001)).unwrap(), &tell))
        });
        told.recv().unwrap();
        from.inside(|| {
            let mut stream = TcpStream::connect((place.address(), 5001)).unwrap();
            let part = vec![0; 60_000];
            for _ in 0..volume.count() / 60_000 {
                stream.write_all(&part).unwrap();
            }
        });
        receiver.join().unwrap()
    })
}

fn drain(listener: &TcpListener, ready: &mpsc::Sender<()>) -> f64 {
    ready.send(()).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut part = vec![0; 65_536];
    let mut bits = 0.0;
    // The first read starts the clock and does not count.
    assert!(stream.read(&mut part).unwrap() > 0);
    let start = now();
    let mut end = start;
    while let count @ 1.. = stream.read(&mut part).unwrap() {
        bits += Bytes::new(count as u64).bits();
        end = now();
    }
    bits / end.since(start).seconds()
}

/// DR at active drops packets that come in to active and no others.
fn only_what_comes_in_is_impaired() {
    in_fresh_namespace(|| {
        let lab = PathLab::introduced();
        let mut wire = Wire::start(&path_plan(&Direction::new(HUNDRED, Span::ZERO)));
        let script: Vec<_> =
            (0..50).map(|n| (Span::from_microseconds(200) * n, SHORTEST_FRAME)).collect();
        let deaf = Impairment { delay: Span::ZERO, loss: 1.0 };
        wire.client.set(&Impairments::from([(HostRole::Active.into(), deaf)])).unwrap();
        assert_eq!(run_script(&lab.test, &lab.active, ACTIVE, &script).len(), 0);
        assert_eq!(run_script(&lab.active, &lab.test, TEST, &script).len(), 50);
        // The switch must have learned passive's address, or it sends passive's frames to active
        // too.
        assert_eq!(run_script(&lab.passive, &lab.test, TEST, &script).len(), 50);
        assert_eq!(run_script(&lab.test, &lab.passive, PASSIVE, &script).len(), 50);
        let account = wire.client.account().unwrap();
        assert_eq!(element(&account, "active/input/loss").dropped, [("loss".to_owned(), 50)]);
        wire.client.set(&Impairments::from([(HostRole::Active.into(), Impairment::NONE)])).unwrap();
        wire.client.reset().unwrap();
        assert_eq!(run_script(&lab.test, &lab.active, ACTIVE, &script).len(), 50);
        let account = wire.client.account().unwrap();
        assert_eq!(element(&account, "path/forth/line").received, 50);
        check_accounts(&account);
    });
}

/// Without learned addresses: address resolution is flooded, then frames take the one correct path.
fn the_switch_knows_its_stations() {
    in_fresh_namespace(|| {
        let lab = PathLab::new();
        let mut wire = Wire::start(&path_plan(&Direction::new(HUNDRED, Span::ZERO)));
        let script = [(Span::ZERO, FULL_FRAME); 20];
        assert_eq!(run_script(&lab.active, &lab.passive, PASSIVE, &script).len(), 20);
        let account = wire.client.account().unwrap();
        let flooded = element(&account, "path/back/line").received;
        assert!(
            (1..5).contains(&flooded),
            "{flooded} frames between the peers reached the test station's line"
        );
        assert_eq!(element(&account, "path/forth/line").received, 0);
        assert_eq!(run_script(&lab.test, &lab.passive, PASSIVE, &script).len(), 20);
        let account = wire.client.account().unwrap();
        assert!((21..25).contains(&element(&account, "path/forth/line").received));
        assert!(element(&account, "active/input/delay").delivered < 10);
        check_accounts(&account);
    });
}

fn bad_orders_are_refused() {
    in_fresh_namespace(|| {
        let _lab = PathLab::new();
        let mut wire = Wire::start(&path_plan(&Direction::new(TEN, Span::ZERO)));
        let impossible = Impairment { delay: Span::ZERO, loss: 1.5 };
        for (role, impairment) in [(HostRole::Test, Impairment::DR), (HostRole::Active, impossible)]
        {
            let orders = [(HostRole::Passive.into(), Impairment::DL), (role.into(), impairment)];
            let refused = wire.client.set(&Impairments::from(orders));
            assert!(matches!(refused, Err(WireError::Refused(_))), "{refused:?}");
        }
        wire.client.account().unwrap();
    });
}

/// It ends in order on request or when its pipe closes; with an error when an interface is removed.
fn a_wire_ends() {
    in_fresh_namespace(|| {
        let _lab = PathLab::new();
        let start = || Wire::start(&path_plan(&Direction::new(TEN, Span::ZERO)));
        assert!(start().let_go().success());
        assert!(start().stop().success());
        let bereft = start();
        remove("p-passive");
        assert_eq!(bereft.end().code(), Some(1));
    });
}
