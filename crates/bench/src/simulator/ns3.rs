//! ns-3: a small program of this project on ns-3's CSMA model, built with Debian's package.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use nix::unistd::Uid;

use super::{SimulatorResult, Size};
use crate::pinning;

const SOURCE: &str = include_str!("../../ns3/saturated_csma.cc");

/// The ns-3 program after it was built.
pub(super) struct Ns3Program {
    path: PathBuf,
}

impl Ns3Program {
    /// Builds it in `directory`; installs ns-3 if it may.
    pub(super) fn build(directory: &Path) -> Result<Self> {
        let source = directory.join("saturated_csma.cc");
        std::fs::write(&source, SOURCE).with_context(|| format!("write {}", source.display()))?;
        let path = std::path::absolute(directory.join("saturated_csma"))?;
        if !pinning::succeeds(&mut compile(&source, &path)) {
            install()?;
            pinning::run(&mut compile(&source, &path)).context("build the ns-3 program")?;
        }
        Ok(Self { path })
    }

    /// ns-3's version, as its package says.
    pub(super) fn version(&self) -> String {
        let told =
            Command::new("dpkg-query").args(["-W", "-f", "${Version}", "libns3-dev"]).output();
        let version = told
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .unwrap_or_default();
        format!("against ns-3 {version} (optimised build, {})", self.path.display())
    }

    pub(super) fn run(&self, size: Size) -> Result<SimulatorResult> {
        let arguments = [size.stations, size.frame_octets, size.ns3_milliseconds]
            .map(|number| number.to_string());
        let mut command = pinning::command(None, &self.path.display().to_string());
        let told = pinning::run(command.args(arguments))?;
        serde_json::from_str(&told).with_context(|| format!("ns-3 told `{told}`"))
    }
}

fn compile(source: &Path, program: &Path) -> Command {
    let mut command = Command::new("g++");
    command.args(["-O2", "-std=c++17"]).arg(source).arg("-o").arg(program);
    command.args(["-lns3-csma", "-lns3-network", "-lns3-core"]);
    command
}

fn install() -> Result<()> {
    if !Uid::effective().is_root() {
        bail!(
            "ns-3 or g++ is not installed; as root this program installs them: apt-get install libns3-dev g++"
        );
    }
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends", "libns3-dev", "g++"]);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    if !pinning::succeeds(&mut install) {
        pinning::run(Command::new("apt-get").arg("update"))?;
        pinning::run(&mut install)?;
    }
    Ok(())
}
