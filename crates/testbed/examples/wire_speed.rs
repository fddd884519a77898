//! Measures the rate and the lateness of a wire on this machine: `cargo run --release -p
//! btu-testbed --example wire_speed`.
//!
//! Between two namespaces on a veth pair each, offloads off unless stated: frames per second of one
//! flooding sender, and the goodput of one TCP connection. Everything shares this machine's
//! processors, so the figures are floors. Needs root or user namespaces; bounded to half a minute;
//! leaves nothing behind.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

#[path = "../tests/wire/lab.rs"]
#[allow(dead_code)]
mod lab;

#[path = "../tests/wire/bench.rs"]
#[allow(dead_code)]
mod bench;

#[path = "../tests/scenarios/mod.rs"]
#[allow(dead_code)]
mod scenarios;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use btu_contract::network::{HostRole, Impairment, Impairments};
use btu_network::Direction;
use btu_testbed::offload::set_offloads;
use btu_testbed::port::{Carriage, now};
use btu_testbed::wire::WirePlan;
use btu_units::{BitRate, Span};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use bench::{ACTIVE, PathLab, TEST, input_plan, path_plan};
use lab::{Room, Wire, cable, introduce};

/// The argument by which this program becomes a wire.
const WIRE: &str = "--become-the-wire";
const TIME: Span = Span::from_seconds(3);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, socket] = &arguments[..]
        && role == WIRE
    {
        return lab::be_the_wire(socket);
    }
    enter_namespaces().expect("user and network namespaces");
    for payload in [18, 1472] {
        Room::new().inside(|| flood(payload));
    }
    for (carriage, impairment) in [
        (Carriage::Frames, Impairment::NONE),
        (Carriage::Frames, Impairment::DL),
        (Carriage::Superframes, Impairment::NONE),
    ] {
        Room::new().inside(|| veth(carriage, impairment));
    }
    for megabits in [10, 100, 1000] {
        Room::new().inside(|| path(megabits));
    }
    Room::new().inside(idle);
    ExitCode::SUCCESS
}

fn enter_namespaces() -> std::io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    if user.is_root() {
        return Ok(unshare(CloneFlags::CLONE_NEWNET)?);
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Two namespaces with a wire between them.
fn rooms(carriage: Carriage) -> (Room, Room, Wire) {
    let (test, active) = (Room::new(), Room::new());
    for (name, room, place, other) in
        [("in-active", &test, TEST, ACTIVE), ("out-active", &active, ACTIVE, TEST)]
    {
        cable(name, room, place);
        introduce(room, other);
        if carriage == Carriage::Superframes {
            set_offloads(name, true).unwrap();
            room.inside(|| set_offloads("eth0", true).unwrap());
        }
    }
    let wire = Wire::start(&WirePlan { carriage, ..input_plan(1) });
    (test, active, wire)
}

fn flood(payload: usize) {
    let (test, _active, mut wire) = rooms(Carriage::Frames);
    wire.client.reset().unwrap();
    let begin = wire.cpu_time();
    let sent = test.inside(|| {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect((ACTIVE.address(), 9)).unwrap();
        let (end, payload, mut sent) = (now() + TIME, vec![0; payload], 0u64);
        while now() < end {
            // No process listens there: the flood causes ICMP refusals that come back.
            sent += u64::from(socket.send(&payload).is_ok());
        }
        sent
    });
    let cpu = wire.cpu_time() - begin;
    let account = wire.client.account().unwrap();
    let carried = account
        .elements
        .iter()
        .find(|element| element.name == "active/input/delay")
        .unwrap()
        .delivered;
    let per_second = |count: u64| count as f64 / TIME.seconds() / 1e3;
    println!(
        "flood, {} octets: offered {:.0} kframes/s, carried {:.0} kframes/s, wire's CPU {:.0} %, kernel dropped {}",
        payload + 42,
        per_second(sent),
        per_second(carried),
        100.0 * cpu.seconds() / TIME.seconds(),
        account.port_drops,
    );
}

fn veth(carriage: Carriage, impairment: Impairment) {
    let (test, active, mut wire) = rooms(carriage);
    wire.client.set(&Impairments::from([(HostRole::Active.into(), impairment)])).unwrap();
    stream(&format!("{carriage:?}, DL {}", impairment.delay), &test, &active, &mut wire);
}

fn path(megabits: u64) {
    let lab = PathLab::introduced();
    let rate = BitRate::from_megabits_per_second(megabits);
    let direction = Direction::new(rate, Span::from_milliseconds(1));
    let mut wire = Wire::start(&path_plan(&direction));
    stream(&format!("path of {rate}, 1 ms each way"), &lab.test, &lab.active, &mut wire);
}

/// One TCP connection from `test` to `active`.
fn stream(what: &str, test: &Room, active: &Room, wire: &mut Wire) {
    wire.client.reset().unwrap();
    let begin = wire.cpu_time();
    let listener = active.inside(|| TcpListener::bind((ACTIVE.address(), 5001)).unwrap());
    let (bits, time) = thread::scope(|scope| {
        scope.spawn(|| test.inside(pour));
        let (mut stream, _) = listener.accept().unwrap();
        let (start, mut part, mut bytes) = (now(), vec![0; 256 << 10], 0);
        while let count @ 1.. = stream.read(&mut part).unwrap() {
            bytes += count;
        }
        (bytes as f64 * 8.0, now().since(start).seconds())
    });
    let cpu = wire.cpu_time() - begin;
    let account = wire.client.account().unwrap();
    let lateness = |share| account.lateness.quantile(share).unwrap_or(0) as f64 / 1e3;
    println!(
        "TCP, {what}: {:.1} Mb/s, wire's CPU {:.0} %, lateness p50 {:.1} us, p99 {:.1} us",
        bits / time / 1e6,
        100.0 * cpu.seconds() / time,
        lateness(0.5),
        lateness(0.99),
    );
}

fn pour() {
    let mut stream = TcpStream::connect((ACTIVE.address(), 5001)).unwrap();
    let (end, part) = (now() + TIME, vec![0; 64 << 10]);
    while now() < end {
        stream.write_all(&part).unwrap();
    }
}

/// The CPU time of an idle wire.
fn idle() {
    let (_test, _active, wire) = rooms(Carriage::Frames);
    thread::sleep(Duration::from_millis(200));
    let begin = wire.cpu_time();
    thread::sleep(TIME.into());
    println!(
        "idle: wire's CPU {:.3} %",
        100.0 * (wire.cpu_time() - begin).seconds() / TIME.seconds()
    );
}
