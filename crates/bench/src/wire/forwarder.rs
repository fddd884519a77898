//! The forwarder in the middle: the wire in a process of its own, or the kernel's bridge.

use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use btu_network::Drawing;
use btu_testbed::port::Carriage;
use btu_testbed::testbed::RuntimeDirectory;
use btu_testbed::wire::{WireClient, WirePlan};

use super::middle::{Middle, PORTS};
use crate::case::Tool;
use crate::{lab, pinning};

/// A link that is faster than anything here, so that the wire works on every frame and holds none
/// back; it takes superframes.
const LINK: &str = "name = \"bench\"\n[stations.near]\n[stations.far]\n\
                    [links.between]\nbetween = [\"near\", \"far\"]\nrate = \"100 Gb/s\"\nmtu = \"65535 B\"\n";

/// How long a bridge's new ports may need until they forward.
const SETTLING: Duration = Duration::from_millis(50);

/// A running forwarder, one of the two.
pub(super) enum Forwarder {
    Wire { process: Child, client: WireClient, directory: RuntimeDirectory },
    Bridge { middle: u32 },
}

impl Forwarder {
    /// The wire with a drawn network of two stations.
    pub(super) fn draw(middle: &Middle, text: &str) -> Result<Self> {
        carry(middle.middle(), Carriage::Frames, text)
    }

    pub(super) fn start(middle: &Middle, tool: Tool, carriage: Carriage) -> Result<Self> {
        match tool {
            Tool::Wire => carry(middle.middle(), carriage, LINK),
            Tool::Bridge => bridge(middle.middle()),
            other => bail!("{} forwards nothing", other.name()),
        }
    }

    /// Removes the forwarder; a wire that dropped frames that it should carry is an error.
    pub(super) fn end(self) -> Result<()> {
        match self {
            Self::Wire { mut process, client, directory } => {
                client.stop()?;
                let status = process.wait().context("wait for the link emulator")?;
                drop(directory);
                anyhow::ensure!(status.success(), "the link emulator ended with {status}");
            }
            Self::Bridge { middle } => drop(ip(middle, "link del br0")?),
        }
        Ok(())
    }
}

fn ip(namespace: u32, words: &str) -> Result<String> {
    pinning::run(pinning::command(Some(namespace), "ip").args(words.split(' ')))
}

fn bridge(middle: u32) -> Result<Forwarder> {
    ip(middle, "link add name br0 type bridge")?;
    for port in PORTS {
        ip(middle, &format!("link set {port} master br0"))?;
    }
    ip(middle, "link set br0 up")?;
    std::thread::sleep(SETTLING);
    Ok(Forwarder::Bridge { middle })
}

/// The wire with the network that `text` draws between the two ports.
fn carry(middle: u32, carriage: Carriage, text: &str) -> Result<Forwarder> {
    let drawing = Drawing::read(text, "bench").map_err(|error| anyhow::anyhow!("{error}"))?;
    let interfaces = PORTS.map(str::to_owned).to_vec();
    let plan = WirePlan { carriage, ..WirePlan::new(1, drawing, interfaces) };
    let directory = lab::directory("wire")?;
    let (written, socket) = (directory.path().join("plan"), directory.path().join("socket"));
    let mut text = serde_json::to_string(&plan)?;
    text.push('\n');
    File::create(&written)?.write_all(text.as_bytes()).context("write the link emulator's plan")?;
    let program = std::env::current_exe().context("find the own program")?;
    let mut command = pinning::command(Some(middle), &program.to_string_lossy());
    let process =
        command.arg("carry").arg(&socket).stdin(Stdio::from(File::open(&written)?)).spawn();
    let process = process.context("start the link emulator")?;
    let client = WireClient::connect(&socket)?;
    Ok(Forwarder::Wire { process, client, directory })
}
