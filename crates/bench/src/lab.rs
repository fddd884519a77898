//! Two network namespaces joined by a veth pair; they exist as long as the processes in them.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use btu_testbed::testbed::{RuntimeDirectory, private_directory};
use nix::unistd::Uid;

use crate::pinning;

/// The near end, with clients and senders; 198.18.0.0/15 is reserved for benchmarks (RFC 2544).
pub(crate) const NEAR: &str = "198.18.0.1";
/// The far end, with servers and receivers.
pub(crate) const FAR: &str = "198.18.0.2";

const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";

/// The far namespace, held by a process that lives as long as this value. The near one is this
/// process's own.
pub(crate) struct Lab {
    holder: Child,
    /// While it is open with the value 0, the processors do not sleep (linux, `pm_qos_interface`).
    awake: Option<File>,
}

/// A private directory of this process for `part` of it; it is removed when it is dropped.
pub(crate) fn directory(part: &str) -> Result<RuntimeDirectory> {
    let name = format!("bench-{part}-{}", std::process::id());
    Ok(RuntimeDirectory::claim(&private_directory("run")?.join(name))?)
}

/// Replaces this process by itself, in a network namespace of its own.
pub(crate) fn enter() -> Result<ExitCode> {
    let mut command = Command::new("unshare");
    if !Uid::effective().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let program = std::env::current_exe().context("find the own program")?;
    command.arg("--net").arg(program).args(std::env::args_os().skip(1)).arg("inside");
    Err(command.exec()).context("enter a network namespace with unshare (util-linux)")
}

impl Lab {
    /// Raises the far namespace and the veth pair.
    pub(crate) fn raise(hold_awake: bool, congestion_control: Option<&str>) -> Result<Self> {
        let holder = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare", "--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("make the far namespace with unshare (util-linux)")?;
        let lab = Self { holder, awake: hold_awake.then(stay_awake).transpose()? };
        lab.wait_for_far()?;
        let far = lab.far();
        for (namespace, words) in [
            (None, format!("link add near type veth peer name far netns {far}")),
            (None, format!("addr add {NEAR}/30 dev near")),
            (None, "link set near up".to_owned()),
            (Some(far), format!("addr add {FAR}/30 dev far")),
            (Some(far), "link set far up".to_owned()),
        ] {
            pinning::run(pinning::command(namespace, "ip").args(words.split(' ')))?;
        }
        if let Some(name) = congestion_control {
            for namespace in [None, Some(far)] {
                let setting = format!("{CONGESTION_CONTROL}={name}");
                pinning::run(pinning::command(namespace, "sysctl").args(["-w", &setting]))?;
            }
        }
        lab.wait_for_path()?;
        Ok(lab)
    }

    /// A process in the far namespace.
    pub(crate) fn far(&self) -> u32 {
        self.holder.id()
    }

    /// Whether the processors are kept from sleeping.
    pub(crate) fn is_held_awake(&self) -> bool {
        self.awake.is_some()
    }

    /// `unshare` needs a moment until its process is in the new namespace and has become the
    /// holder.
    fn wait_for_far(&self) -> Result<()> {
        let near = std::fs::read_link("/proc/self/ns/net")?;
        within_five_seconds("the far namespace did not come up", || {
            let pid = self.far();
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            let there = std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
            (name.trim() == "cat" && there != near).then_some(())
        })
    }

    fn wait_for_path(&self) -> Result<()> {
        let far = self.far();
        within_five_seconds("the veth pair did not come up", || {
            let state = pinning::run(
                pinning::command(Some(far), "ip").args(["-brief", "link", "show", "far"]),
            )
            .ok()?;
            state.contains(" UP ").then_some(())
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // The holder reads from a pipe: closing it ends the holder, and with it the namespace and
        // the veth pair.
        drop(self.holder.stdin.take());
        if let Err(error) = self.holder.wait() {
            eprintln!("btu-bench: wait for the far namespace's process: {error}");
        }
    }
}

pub(crate) fn within_five_seconds<T>(
    failure: &str,
    mut attempt: impl FnMut() -> Option<T>,
) -> Result<T> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        if let Some(done) = attempt() {
            return Ok(done);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    bail!("{failure} within five seconds")
}

/// Holds `/dev/cpu_dma_latency` at 0.
fn stay_awake() -> Result<File> {
    let held = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").and_then(|mut file| {
        file.write_all(&0i32.to_ne_bytes())?;
        Ok(file)
    });
    held.context("hold /dev/cpu_dma_latency at 0: --awake needs root")
}
