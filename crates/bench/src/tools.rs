//! The tools, each run once for one case.

mod btu;
mod iperf3;
mod nptcp;
mod nuttcp;
mod sockperf;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use btu_contract::pipe::Processors;
use nix::unistd::Uid;

pub(crate) use btu::find as find_btu;

use crate::case::{Case, Tool, ToolTurn};
use crate::lab::{FAR, Lab};
use crate::outcome::ToolOutcome;
use crate::pinning::{self, PathEnd};
use crate::signature::Repetitions;
use crate::{signature, wire};

/// The place and the duration of a tool's run.
pub(crate) struct Bench<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) btu: &'a Path,
    pub(crate) seconds: u32,
    pub(crate) seed: u64,
    /// Whether to measure although the machine is busy.
    pub(crate) impatient: bool,
    /// The processors of the near and the far end, if they are pinned.
    pub(crate) processors: Option<Processors>,
    /// The repetitions of the trials of cases that are measured size by size.
    pub(crate) repetitions: BTreeMap<Case, Repetitions>,
    /// For the cases about the wire.
    pub(crate) middle: Option<&'a wire::Middle>,
}

/// Where the two ends of a tool are.
struct Ends<'a> {
    near: PathEnd,
    far: PathEnd,
    /// A process in the far end's namespace.
    far_process: u32,
    /// The address of the far end.
    address: &'a str,
}

impl Ends<'_> {
    /// A program where the calling end is.
    fn near(&self, program: &str) -> Command {
        pinning::command_at(self.near, program)
    }

    /// A program where the serving end is.
    fn far(&self, program: &str) -> Command {
        pinning::command_at(self.far, program)
    }
}

impl Bench<'_> {
    /// Runs the tool once.
    pub(crate) fn run(&self, turn: ToolTurn) -> Result<ToolOutcome> {
        if let Some(drawing) = signature::drawing(turn.case) {
            let middle = self.middle.context("an emulated network without room for it")?;
            return wire::between(middle, drawing, |process, address| {
                self.meet(turn, &self.ends(process, address))
            });
        }
        self.meet(turn, &self.ends(self.lab.far(), FAR))
    }

    /// The repetitions that fill a trial, from a short measurement of each size of a case on the
    /// veth pair by btu.
    pub(crate) fn pilot(&self, case: Case) -> Result<Repetitions> {
        let plan = signature::pilot(self.seed, signature::range(case))?;
        match btu::signature(self, &plan, &self.ends(self.lab.far(), FAR))? {
            ToolOutcome::Signature { times } => Ok(signature::repetitions(case, &times)),
            other => bail!("a signature became {other:?}"),
        }
    }

    /// The repetitions of each trial in a turn, if every tool gets them.
    fn told(&self, turn: ToolTurn) -> Option<u64> {
        self.repetitions.get(&turn.case)?.get(&turn.range.0).copied()
    }

    fn ends<'a>(&self, far_process: u32, address: &'a str) -> Ends<'a> {
        let near = PathEnd { namespace: None, processor: self.processors.map(|held| held.near) };
        let far = PathEnd {
            namespace: Some(far_process),
            processor: self.processors.map(|held| held.far),
        };
        Ends { near, far, far_process, address }
    }

    fn meet(&self, turn: ToolTurn, ends: &Ends<'_>) -> Result<ToolOutcome> {
        let case = turn.case;
        match turn.tool {
            Tool::Btu if signature::is_one(case) => btu::signature(
                self,
                &signature::plan(self.seed, turn.range, self.told(turn))?,
                ends,
            ),
            Tool::Nptcp => nptcp::run(turn.range, self.told(turn), ends),
            Tool::Sockperf if signature::is_one(case) => sockperf::latency(ends),
            Tool::Btu => btu::run(self, case, ends, case == Case::Causes),
            Tool::Unwatched => btu::run(self, case, ends, false),
            Tool::Iperf3 => iperf3::run(self, case, ends),
            Tool::Nuttcp => nuttcp::run(self, case, ends),
            Tool::Sockperf => sockperf::run(self, case, ends),
            Tool::Wire | Tool::Bridge => {
                let middle = self
                    .middle
                    .context("a case about the link emulator without the network for it")?;
                wire::run(middle, case, turn.tool, Duration::from_secs(u64::from(self.seconds)))
            }
        }
    }
}

/// Waits until a server listens, by the kernel's list of sockets in the far namespace.
fn wait_until_listening(far: u32, protocol: &str, port: u16) -> Result<()> {
    let wanted = format!(":{port:04X}");
    let state = if protocol == "tcp" { "0A" } else { "07" };
    for _ in 0..500 {
        for table in [protocol.to_owned(), format!("{protocol}6")] {
            let sockets =
                std::fs::read_to_string(format!("/proc/{far}/net/{table}")).unwrap_or_default();
            let listens = |line: &str| {
                let mut fields = line.split_whitespace().skip(1);
                let (local, current) = (fields.next(), fields.nth(1));
                local.is_some_and(|local| local.ends_with(&wanted)) && current == Some(state)
            };
            if sockets.lines().any(listens) {
                return Ok(());
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    bail!("nothing listens on {protocol} port {port} after five seconds")
}

/// Makes sure the tools of `cases` are there, installing Debian packages when root; returns their
/// versions.
pub(crate) fn ensure_present(cases: &[Case]) -> Result<Vec<String>> {
    let mut versions = Vec::new();
    for tool in [Tool::Iperf3, Tool::Nuttcp, Tool::Sockperf, Tool::Nptcp] {
        if cases.iter().any(|case| case.tools().contains(&tool)) {
            versions.push(version(tool).map_or_else(|| install(tool), Ok)?);
        }
    }
    Ok(versions)
}

/// The Debian package of a tool.
fn package(tool: Tool) -> &'static str {
    if tool == Tool::Nptcp { "netpipe-tcp" } else { tool.name() }
}

fn version(tool: Tool) -> Option<String> {
    if tool == Tool::Nptcp {
        // The tool cannot print its version, but the package has it.
        let query = ["--show", "--showformat=NPtcp ${Version}", package(tool)];
        let output = Command::new("dpkg-query")
            .args(query)
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        return String::from_utf8(output.stdout).ok();
    }
    let argument = if tool == Tool::Nuttcp { "-V" } else { "--version" };
    let output = Command::new(tool.name()).arg(argument).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find(|line| line.contains(char::is_numeric)).map(|line| line.trim().to_owned())
}

fn install(tool: Tool) -> Result<String> {
    let name = package(tool);
    if !Uid::effective().is_root() {
        bail!("{name} is not installed; as root this program installs it: apt-get install {name}");
    }
    let mut install = Command::new("apt-get");
    install
        .args(["install", "--yes", "--no-install-recommends", name])
        .env("DEBIAN_FRONTEND", "noninteractive");
    if !pinning::succeeds(&mut install) {
        pinning::run(Command::new("apt-get").arg("update"))?;
        pinning::run(&mut install)?;
    }
    version(tool).ok_or_else(|| anyhow::anyhow!("{name} was installed and still does not run"))
}
