//! Network namespaces, cables (veth pairs) between a namespace and the wire, and a wire in a
//! separate process.

use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::thread;

use btu_testbed::netlink::{Links, NewEnd};
use btu_testbed::offload::set_offloads;
use btu_testbed::wire::{self, WireClient, WirePlan};
use btu_units::Span;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns, unshare};
use tempfile::TempDir;

/// A network namespace without a name.
pub(crate) struct Room(File);

impl Room {
    /// An empty one; without IPv6 the kernel sends no packets of its own.
    pub(crate) fn new() -> Self {
        thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
            hush();
            Self(File::open("/proc/thread-self/ns/net").expect("its handle"))
        })
        .join()
        .expect("a room")
    }

    /// Runs a function inside, on a new thread.
    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.0, CloneFlags::CLONE_NEWNET).expect("entering a room");
                work()
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// No IPv6 in the calling thread's namespace.
pub(crate) fn hush() {
    for which in ["all", "default"] {
        // A kernel without IPv6 sends none anyway.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
    }
}

/// The number of a station in its address and in its Ethernet address.
#[derive(Clone, Copy)]
pub(crate) struct Place(pub(crate) u8);

impl Place {
    pub(crate) fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, 0, self.0)
    }

    fn mac(self) -> [u8; 6] {
        [2, 0, 0, 0, 0, self.0]
    }
}

/// A cable from the calling thread's namespace, where its end is called `here`, to `eth0` of a
/// namespace.
pub(crate) fn cable(here: &str, room: &Room, place: Place) {
    pair(here, room, "eth0", Some(place.mac()));
    ready(here);
    room.inside(|| {
        ready("eth0");
        let index = if_nametoindex("eth0").unwrap();
        kernel().add_address(index, place.address().into(), 15).expect("netlink");
    });
}

/// A cable from `here` in the calling thread's namespace to `there` in a namespace, for raw frames:
/// no addresses.
pub(crate) fn bare_cable(here: &str, room: &Room, there: &str) {
    pair(here, room, there, None);
    ready(here);
    room.inside(|| ready(there));
}

/// Adds a neighbour entry for an address to a namespace, so that losses do not affect address
/// resolution.
pub(crate) fn introduce(room: &Room, neighbour: Place) {
    room.inside(|| {
        let index = if_nametoindex("eth0").unwrap();
        let address = neighbour.address().into();
        kernel().add_neighbour(index, address, neighbour.mac()).expect("netlink");
    });
}

/// Up, with offloads off.
fn ready(interface: &str) {
    set_offloads(interface, false).expect("offloads can be switched off");
    let index = if_nametoindex(interface).unwrap();
    kernel().up(index).expect("netlink");
}

/// Removes an interface of the calling thread's namespace.
pub(crate) fn remove(interface: &str) {
    let index = if_nametoindex(interface).unwrap();
    kernel().remove(index).expect("netlink");
}

/// A cable between two namespaces.
fn pair(here: &str, room: &Room, there: &str, mac: Option<[u8; 6]>) {
    let own = NewEnd { namespace: None, name: here, mac: None, mtu: None };
    let far = NewEnd { namespace: Some(room.0.as_fd()), name: there, mac, mtu: None };
    kernel().add_cable(&own, &far).expect("netlink");
}

/// Speaks with the kernel about the calling thread's namespace.
fn kernel() -> Links {
    Links::here().expect("netlink")
}

/// A wire in a process of its own, in the calling thread's namespace; it ends with this.
pub(crate) struct Wire {
    process: Child,
    keep_alive: Option<ChildStdin>,
    pub(crate) client: WireClient,
    socket: PathBuf,
    _directory: TempDir,
}

impl Wire {
    pub(crate) fn start(plan: &WirePlan) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("wire");
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        let mut process =
            command.arg(crate::WIRE).arg(&socket).stdin(Stdio::piped()).spawn().unwrap();
        // Taken from the child, which would close it before waiting.
        let mut keep_alive = process.stdin.take().unwrap();
        keep_alive.write_all(serde_json::to_string(plan).unwrap().as_bytes()).unwrap();
        keep_alive.write_all(b"\n").unwrap();
        let client = WireClient::connect(&socket).expect("the link emulator listens");
        Self { process, keep_alive: Some(keep_alive), client, socket, _directory: directory }
    }

    /// Closes the keep-alive pipe and returns how the wire ended.
    pub(crate) fn let_go(mut self) -> std::process::ExitStatus {
        drop(self.keep_alive.take());
        self.process.wait().unwrap()
    }

    /// The processor time it has used (proc(5), `schedstat`).
    #[allow(dead_code)] // the tests' lab is also the lab of an example, which asks
    pub(crate) fn cpu_time(&self) -> Span {
        let text =
            std::fs::read_to_string(format!("/proc/{}/schedstat", self.process.id())).unwrap();
        Span::from_nanoseconds(text.split(' ').next().unwrap().parse().unwrap())
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Stops it and returns how it ended.
    pub(crate) fn stop(self) -> std::process::ExitStatus {
        WireClient::connect(&self.socket).unwrap().stop().unwrap();
        self.end()
    }

    /// Waits for it to end by itself.
    pub(crate) fn end(mut self) -> std::process::ExitStatus {
        self.process.wait().unwrap()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The role of this program with `WIRE` as the first argument: its plan is the first line of
/// standard input, which is then its keep-alive pipe.
pub(crate) fn be_the_wire(socket: &str) -> ExitCode {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let plan = serde_json::from_str(&line).unwrap();
    let listener = UnixListener::bind(socket).unwrap();
    let keep_alive: OwnedFd = second_stdin();
    match wire::run(&plan, listener, Some(keep_alive)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A second handle on standard input.
fn second_stdin() -> OwnedFd {
    use std::os::fd::AsFd;
    std::io::stdin().as_fd().try_clone_to_owned().unwrap()
}
