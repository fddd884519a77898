//! Raised networks under faults: processes are killed.

use std::fs;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::support::{Lab, users};

/// Recognises the processes of a testbed by their command lines.
const OUTER: &str = "internal testbed";
const INIT: &str = "internal init";
const WIRE: &str = "internal wire";
const AGENT: &str = "internal agent --station active";

#[test]
fn when_outer_or_init_is_killed_the_testbed_is_gone_and_the_controller_knows() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        for (victim, told) in [(OUTER, "outer process"), (INIT, "first process")] {
            let mut testbed = lab.raise("veth", "run");
            testbed.signal(victim, Signal::SIGKILL);
            let event = testbed.word();
            assert!(event.contains(told) && event.contains("SIGKILL"), "{victim}: {event}");
            while testbed.processes().len() > 1 {
                thread::sleep(Duration::from_millis(1));
            }
            let took = testbed.lower();
            println!("{victim} killed as {user:?}: nobody left {took:?} later");
            assert!(!testbed.directory.exists());
        }
    }
}

#[test]
fn when_a_resident_is_killed_the_controller_knows_and_the_rest_goes() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        for (victim, told) in [(WIRE, "the link emulator"), (AGENT, "the agent on active")] {
            let mut testbed = lab.raise("path", "run");
            testbed.signal(victim, Signal::SIGKILL);
            assert_eq!(testbed.word(), format!("event {told} was killed by SIGKILL"));
            while testbed.processes().len() > 1 {
                thread::sleep(Duration::from_millis(1));
            }
            testbed.lower();
            assert!(!testbed.directory.exists());
        }
    }
}

#[test]
fn when_the_controller_is_killed_the_testbed_goes_and_the_next_start_sweeps() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        let mut testbed = lab.raise("veth", "first");
        testbed.controller.kill().unwrap();
        let took = testbed.await_nobody();
        println!("controller killed as {user:?}: nobody left after {took:?}");
        assert!(testbed.directory.exists(), "nobody is left to remove it");
        let mut next = lab.raise("veth", "second");
        assert!(!testbed.directory.exists(), "the next start sweeps");
        next.lower();
        assert_eq!(fs::read_dir(lab.directory("")).unwrap().count(), 0);
    }
}

#[test]
fn when_the_controller_is_killed_while_it_raises_nothing_stays() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        // Raising takes about 100 ms: through all its phases, and after it.
        for milliseconds in [0, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192] {
            let mut testbed = lab.begin("veth", "run");
            thread::sleep(Duration::from_millis(milliseconds));
            testbed.controller.kill().unwrap();
            testbed.await_nobody();
        }
    }
}

#[test]
fn a_stopped_testbed_is_lowered_and_goes_with_its_controller() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        for stopped in [OUTER, INIT, WIRE, AGENT] {
            let mut testbed = lab.raise("veth", "run");
            testbed.signal(stopped, Signal::SIGSTOP);
            let took = testbed.lower();
            println!("{stopped} stopped as {user:?}: lowered in {took:?}");
            let mut testbed = lab.raise("veth", "run");
            testbed.signal(stopped, Signal::SIGSTOP);
            testbed.controller.kill().unwrap();
            testbed.await_nobody();
        }
    }
}

#[test]
fn a_terminals_interrupt_reaches_nobody_in_the_testbed() {
    let Some(lab) = Lab::open(users()[0]) else { return };
    let mut testbed = lab.raise("veth", "run");
    let controller = testbed.process("coordinate");
    for (pid, line) in testbed.processes().into_iter().filter(|(pid, _)| *pid != controller) {
        assert_eq!(nix::unistd::getsid(Some(pid)).unwrap(), testbed.process(OUTER), "{line}");
    }
    testbed.lower();
}
