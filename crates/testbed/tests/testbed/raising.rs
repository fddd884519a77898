//! Raised networks without faults.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use btu_contract::network::{HostRole, Impairment, Impairments};
use btu_testbed::processors;
use btu_testbed::wire::WireClient;
use btu_units::Span;
use nix::ifaddrs::getifaddrs;

use crate::support::{Lab, skip, users};

/// An Ethernet frame without its check sequence: 14 bytes of header and the 1500 of RFC 894.
const LONGEST_FRAME_BYTES: usize = 1_514;

#[test]
fn a_testbed_stands_with_its_interfaces_and_leaves_nothing_behind() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        for (network, black_box) in [("veth", "eth0 eth1 lo"), ("path", "eth0 lo")] {
            let mounts =
                fs::read_to_string("/proc/self/mountinfo").unwrap().lines().filter(is_proc).count();
            let mut testbed = lab.raise(network, "run");
            assert_eq!(
                fs::metadata(&testbed.directory).unwrap().permissions().mode() & 0o777,
                0o700
            );
            assert_eq!(testbed.ask("test", "interfaces"), "eth0 lo");
            assert_eq!(testbed.ask("active", "interfaces"), black_box);
            assert_eq!(testbed.ask("passive", "interfaces"), black_box);
            assert_eq!(testbed.processes().len(), 7, "controller, outer, init, wire, three agents");
            let took = testbed.lower();
            println!("{network} as {user:?}: down after {took:?}");
            assert_eq!(testbed.word(), "down");
            assert!(!testbed.directory.exists());
            let after =
                fs::read_to_string("/proc/self/mountinfo").unwrap().lines().filter(is_proc).count();
            assert_eq!(mounts, after, "a mount reached the host");
            assert_eq!(interfaces_of_a_testbed_here(), Vec::<String>::new());
        }
    }
}

#[test]
fn bytes_pass_by_every_address() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        for (network, last_octets) in [
            ("veth", ["18.0.2", "19.0.2", "18.0.3", "19.0.3"]),
            ("path", ["18.0.2", "18.0.2", "18.0.3", "18.0.3"]),
        ] {
            let mut testbed = lab.raise(network, "run");
            for (station, octets) in
                ["active", "active", "passive", "passive"].into_iter().zip(last_octets)
            {
                let port = testbed.ask(station, "listen");
                assert_eq!(
                    testbed.ask("test", &format!("send 198.{octets}:{port} 100000")),
                    "100000"
                );
            }
            testbed.lower();
        }
    }
}

#[test]
fn the_impaired_way_has_frames_and_the_plain_way_superframes() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        let mut testbed = lab.raise("veth", "run");
        let mut wire = WireClient::connect(&testbed.directory.join("wire.sock")).unwrap();
        wire.reset().unwrap();
        let bytes = 4_000_000;
        let (_, longest) = testbed.watch_transfer("active", "198.19.0.2", bytes, "in-active");
        assert_eq!(longest, LONGEST_FRAME_BYTES, "the bridge's port must cut superframes");
        // Counted by the wire itself, which reports missed frames; the watcher may miss frames on a
        // busy machine.
        let accounts = wire.account().unwrap();
        let input =
            accounts.elements.iter().find(|element| element.name == "active/input/loss").unwrap();
        let frames = input.received + accounts.port_drops;
        println!("impaired: {frames} frames, the longest {longest} bytes");
        assert!(frames >= (bytes / LONGEST_FRAME_BYTES) as u64);
        let (frames, longest) = testbed.watch_transfer("active", "198.18.0.2", bytes, "s-test");
        println!("plain: {frames} frames, the longest {longest} bytes");
        assert!(longest > LONGEST_FRAME_BYTES, "the test station keeps its offloads");
        testbed.lower();
    }
}

#[test]
fn a_train_of_datagrams_is_cut_before_the_wire() {
    let Some(lab) = Lab::open(users()[0]) else { return };
    for (network, address, interface) in
        [("veth", "198.19.0.2", "in-active"), ("path", "198.18.0.2", "p-test")]
    {
        let mut testbed = lab.raise(network, "run");
        // 20 datagrams of 1000 bytes, each in a frame with 42 bytes of headers (UDP 8, IPv4 20,
        // Ethernet 14).
        let seen = testbed.watch(interface, || {
            assert_eq!(testbed.ask("test", &format!("send-train {address}:9 20000 1000")), "20000");
        });
        assert!(seen.0 >= 20 && seen.1 == 1_042, "{network}: {seen:?}");
        testbed.lower();
    }
}

#[test]
fn the_wire_carries_what_comes_in_to_an_impaired_address_and_nothing_else() {
    let Some(lab) = Lab::open(users()[0]) else { return };
    let mut testbed = lab.raise("veth", "run");
    let (answers, _) = testbed.watch_transfer("passive", "198.19.0.3", 100_000, "out-passive");
    assert_eq!(answers, 0, "answers leave by the first interface");
    let (plain, _) = testbed.watch_transfer("passive", "198.18.0.3", 100_000, "in-passive");
    assert_eq!(plain, 0, "plain packets do not come by the link emulator");
    let (other, _) = testbed.watch_transfer("active", "198.19.0.2", 100_000, "in-passive");
    assert_eq!(other, 0, "each peer has its own way");
    testbed.lower();
}

#[test]
fn an_impairment_acts_on_what_comes_in_to_its_black_box_and_on_nothing_else() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        let mut testbed = lab.raise("veth", "run");
        let delay = Span::from_milliseconds(100);
        let mut wire = WireClient::connect(&testbed.directory.join("wire.sock")).unwrap();
        wire.set(&Impairments::from([(HostRole::Active.into(), Impairment { delay, loss: 0.0 })]))
            .unwrap();
        let connect = |station: &str, address: &str| {
            let port = testbed.ask(station, "listen");
            testbed.ask("test", &format!("connect {address}:{port}")).parse::<u64>().unwrap()
        };
        // A connection is open after one packet each way; only the incoming packet of the peer is
        // delayed.
        let impaired = connect("active", "198.19.0.2");
        assert!((100_000..200_000).contains(&impaired), "{impaired} us");
        for (station, address) in
            [("active", "198.18.0.2"), ("passive", "198.18.0.3"), ("passive", "198.19.0.3")]
        {
            let other = connect(station, address);
            assert!(other < 100_000, "{address}: {other} us");
        }
        testbed.lower();
    }
}

#[test]
fn on_a_path_every_frame_is_a_frame() {
    let Some(lab) = Lab::open(users()[0]) else { return };
    let mut testbed = lab.raise("path", "run");
    let (_, longest) = testbed.watch_transfer("active", "198.18.0.2", 400_000, "p-test");
    assert_eq!(longest, LONGEST_FRAME_BYTES);
    testbed.lower();
}

/// Each way is a datagram from a station of one processor to one of another, so the kernel's note
/// of the processor has only one right value.
#[test]
fn protocol_work_is_done_where_it_was_asked_for() {
    let all = processors::allowed().unwrap();
    let [rest, .., test] = all[..] else { return skip("a single processor") };
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        // On a path, the emulator is the sender of every frame.
        for (network, work, there, here) in [
            ("veth", "receiver", rest, test),
            ("path", "receiver", rest, test),
            ("veth", "sender", test, rest),
            ("path", "sender", rest, rest),
        ] {
            let mut testbed = lab.raise_divided(network, work);
            let port = testbed.ask("active", "echo");
            let called = testbed.ask("test", &format!("call 198.18.0.2:{port}"));
            assert_eq!(called, format!("{there} {here}"), "{work} on {network} as {user:?}");
            testbed.lower();
        }
    }
}

#[test]
fn preflight_says_by_which_right() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        let output = lab.drill(&["preflight"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.starts_with("granted "), "{said}");
    }
}

fn is_proc(line: &&str) -> bool {
    line.contains(" - proc ")
}

fn interfaces_of_a_testbed_here() -> Vec<String> {
    let testbeds = |name: &String| {
        name == "lan" || ["s-", "l-", "p-", "in-", "out-"].iter().any(|p| name.starts_with(p))
    };
    getifaddrs().unwrap().map(|entry| entry.interface_name).filter(testbeds).collect()
}
