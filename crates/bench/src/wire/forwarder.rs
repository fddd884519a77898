//! What carries frames in the middle: the wire in a process of its own, or the kernel's bridge.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use btu_network::Drawing;
use btu_suite::network::Station;
use btu_testbed::port::Carriage;
use btu_testbed::wire::{BlackBox, Shape, WireClient, WirePlan};

use super::middle::{Middle, PORTS};
use crate::case::Tool;
use crate::leash;

/// A link that is faster than anything here, so that the wire works on every frame and holds none back.
const LINK: &str = "name = \"bench\"\n[stations.near]\n[stations.far]\n\
                    [links.between]\nbetween = [\"near\", \"far\"]\nrate = \"100 Gb/s\"\n";

/// How long a bridge's new ports may need until they forward.
const SETTLING: Duration = Duration::from_millis(50);

/// Either of the two, at work.
pub(super) enum Forwarder {
    Wire { process: Child, client: WireClient, directory: PathBuf },
    Bridge { middle: u32 },
}

impl Forwarder {
    /// The wire with a drawn network of two stations.
    pub(super) fn draw(middle: &Middle, text: &str) -> Result<Self> {
        carry(middle.middle(), Carriage::Frames, drawn(text)?)
    }

    pub(super) fn start(middle: &Middle, tool: Tool, carriage: Carriage) -> Result<Self> {
        match tool {
            Tool::Wire => wire(middle.middle(), carriage),
            Tool::Bridge => bridge(middle.middle()),
            other => bail!("{} forwards nothing", other.name()),
        }
    }

    /// Takes it away; a wire that dropped frames of its own accord is an error.
    pub(super) fn end(self) -> Result<()> {
        match self {
            Self::Wire { mut process, client, directory } => {
                client.stop()?;
                let status = process.wait().context("wait for the wire")?;
                std::fs::remove_dir_all(&directory).context("remove the wire's directory")?;
                anyhow::ensure!(status.success(), "the wire ended with {status}");
            }
            Self::Bridge { middle } => drop(ip(middle, "link del br0")?),
        }
        Ok(())
    }
}

fn ip(namespace: u32, words: &str) -> Result<String> {
    leash::run(leash::command(Some(namespace), "ip").args(words.split(' ')))
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

/// Frame by frame over a drawn link; superframes, which no drawn line takes, over an unimpaired piece of wire.
fn wire(middle: u32, carriage: Carriage) -> Result<Forwarder> {
    if carriage == Carriage::Frames {
        return carry(middle, carriage, drawn(LINK)?);
    }
    let [inner, outer] = PORTS.map(str::to_owned);
    carry(middle, carriage, Shape::Veth { boxes: vec![BlackBox { station: Station::Active, inner, outer }] })
}

fn drawn(text: &str) -> Result<Shape> {
    let drawing = Drawing::read(text, "bench").map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(Shape::Drawn { drawing, interfaces: PORTS.map(str::to_owned).to_vec() })
}

fn carry(middle: u32, carriage: Carriage, shape: Shape) -> Result<Forwarder> {
    let plan = WirePlan { carriage, ..WirePlan::new(1, shape) };
    let directory = std::env::temp_dir().join(format!("btu-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).context("make a directory for the wire")?;
    let (written, socket) = (directory.join("plan"), directory.join("socket"));
    let mut text = serde_json::to_vec(&plan)?;
    text.push(b'\n');
    File::create(&written)?.write_all(&text).context("write the wire's plan")?;
    let program = std::env::current_exe().context("find the own program")?;
    let mut command = leash::command(Some(middle), &program.to_string_lossy());
    let process = command.arg("carry").arg(&socket).stdin(Stdio::from(File::open(&written)?)).spawn();
    let process = process.context("start the wire")?;
    let client = WireClient::connect(&socket)?;
    Ok(Forwarder::Wire { process, client, directory })
}
