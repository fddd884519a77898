//! Two network namespaces and a pair of virtual interfaces between them, and memory for files; all
//! of it is gone with this process.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};

use super::Result;

/// Where the servers are.
pub(crate) const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2));

/// Where files with a name are: memory.
pub(crate) const MEMORY: &str = "/dev/shm";

/// Says that this process runs in namespaces of its own.
const INSIDE: &str = "BTU_COPY_PEERS_INSIDE";

/// Runs this program again in namespaces of its own, unless it is there already.
pub(crate) fn enter() -> Result<Option<ExitCode>> {
    if std::env::var_os(INSIDE).is_some() {
        return Ok(None);
    }
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--net", "--"])
        .arg(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "1")
        .status()?;
    Ok(Some(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

/// The namespace of the servers, held by a process that sleeps.
pub(crate) struct Far(Child);

impl Far {
    /// Makes it, both interfaces and the memory.
    pub(crate) fn raise() -> Result<Self> {
        run("mount", &["-t", "tmpfs", "tmpfs", MEMORY])?;
        let sleeping = ["--pdeathsig", "KILL", "--", "unshare", "--net", "sleep", "3600"];
        let far = Self(Command::new("setpriv").args(sleeping).spawn()?);
        let own = std::fs::read_link("/proc/self/ns/net")?;
        let deadline = Instant::now() + Duration::from_secs(5);
        while std::fs::read_link(far.namespace()).is_ok_and(|there| there == own) {
            if Instant::now() > deadline {
                return Err("there is no second network namespace".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let number = far.0.id().to_string();
        let ip = |words: &str| run("ip", &words.split(' ').collect::<Vec<_>>());
        ip(&format!("link add name near type veth peer name far netns {number}"))?;
        ip("address add 10.9.0.1/24 dev near")?;
        ip("link set near up")?;
        ip("link set lo up")?;
        for words in ["address add 10.9.0.2/24 dev far", "link set far up", "link set lo up"] {
            let status = far.command("ip").args(words.split(' ')).status()?;
            if !status.success() {
                return Err(format!("ip {words}: {status}").into());
            }
        }
        Ok(far)
    }

    fn namespace(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }

    /// A program that runs there.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "nsenter", "--net"]);
        command.arg(format!("--target={}", self.0.id())).arg(program);
        command
    }

    /// Takes the calling thread there, and what it starts.
    pub(crate) fn join(&self) -> impl FnOnce() -> Result<()> + Send + 'static {
        let namespace = self.namespace();
        move || Ok(setns(File::open(namespace)?, CloneFlags::CLONE_NEWNET)?)
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(program: &str, words: &[&str]) -> Result<()> {
    let status = Command::new(program).args(words).status()?;
    if status.success() { Ok(()) } else { Err(format!("{program} {words:?}: {status}").into()) }
}

/// A path in memory.
pub(crate) fn in_memory(name: &str) -> std::path::PathBuf {
    Path::new(MEMORY).join(name)
}
