//! Three namespaces in a row: the stations at both ends, and in the middle the forwarder between
//! them.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, Result};
use btu_testbed::offload;
use nix::sched::{CloneFlags, setns};

use crate::lab::within_five_seconds;
use crate::pinning;

/// The stations' addresses; the other cases use other addresses.
pub(super) const NEAR: &str = "198.18.1.1";
pub(super) const FAR: &str = "198.18.1.2";
/// The name of the near station's interface.
pub(super) const NEAR_END: &str = "w-near";
pub(super) const FAR_END: &str = "w-far";
/// The names of the other ends of the stations' interfaces.
pub(super) const PORTS: [&str; 2] = ["p-near", "p-far"];
/// MAC address of the far station, fixed so that no station needs to ask for it.
pub(super) const FAR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
const FAR_MAC_TEXT: &str = "02:00:00:00:00:02";
const NEAR_MAC_TEXT: &str = "02:00:00:00:00:01";

/// The far namespace and the middle one; the near one is this process's own.
pub(crate) struct Middle {
    far: Holder,
    middle: Holder,
}

impl Middle {
    /// Raises both namespaces and the two veth pairs.
    pub(crate) fn raise() -> Result<Self> {
        let raised = Self { far: Holder::start()?, middle: Holder::start()? };
        let (far, middle) = (raised.far.id(), raised.middle.id());
        let own = None;
        for (namespace, words) in [
            (
                own,
                format!(
                    "link add {NEAR_END} address {NEAR_MAC_TEXT} type veth peer name {} netns {middle}",
                    PORTS[0]
                ),
            ),
            (
                Some(far),
                format!(
                    "link add {FAR_END} address {FAR_MAC_TEXT} type veth peer name {} netns {middle}",
                    PORTS[1]
                ),
            ),
            (own, format!("addr add {NEAR}/24 dev {NEAR_END}")),
            (Some(far), format!("addr add {FAR}/24 dev {FAR_END}")),
            (own, format!("link set {NEAR_END} up")),
            (Some(far), format!("link set {FAR_END} up")),
            (Some(middle), format!("link set {} up", PORTS[0])),
            (Some(middle), format!("link set {} up", PORTS[1])),
            (own, format!("neigh add {FAR} lladdr {FAR_MAC_TEXT} dev {NEAR_END}")),
            (Some(far), format!("neigh add {NEAR} lladdr {NEAR_MAC_TEXT} dev {FAR_END}")),
        ] {
            pinning::run(pinning::command(namespace, "ip").args(words.split(' ')))?;
        }
        Ok(raised)
    }

    /// A process in the far namespace.
    pub(super) fn far(&self) -> u32 {
        self.far.id()
    }

    /// A process in the middle namespace.
    pub(super) fn middle(&self) -> u32 {
        self.middle.id()
    }

    /// Switches the offloads of all four ends.
    pub(super) fn set_offloads(&self, on: bool) -> Result<()> {
        offload::set_offloads(NEAR_END, on)?;
        inside(self.far(), || offload::set_offloads(FAR_END, on))??;
        inside(self.middle(), || {
            PORTS.iter().try_for_each(|port| offload::set_offloads(port, on))
        })??;
        Ok(())
    }
}

/// Runs a function on a thread in the network namespace of a process.
pub(super) fn inside<T: Send>(process: u32, work: impl FnOnce() -> T + Send) -> Result<T> {
    let namespace =
        File::open(format!("/proc/{process}/ns/net")).context("open a network namespace")?;
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            setns(&namespace, CloneFlags::CLONE_NEWNET).context("enter a network namespace")?;
            Ok(work())
        });
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A namespace that lives as long as this value.
struct Holder(Child);

impl Holder {
    fn start() -> Result<Self> {
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare", "--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("make a namespace with unshare (util-linux)")?;
        let holder = Self(child);
        let own = std::fs::read_link("/proc/self/ns/net")?;
        let pid = holder.id();
        within_five_seconds("a namespace did not come up", || {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            let there = std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
            (name.trim() == "cat" && there != own).then_some(())
        })?;
        Ok(holder)
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It reads from a pipe: closing it ends the process, and with it the namespace.
        drop(self.0.stdin.take());
        if let Err(error) = self.0.wait() {
            eprintln!("btu-bench: wait for a namespace's process: {error}");
        }
    }
}
