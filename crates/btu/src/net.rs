//! `btu net`: its commands, and the common part of those that raise networks.

mod accounts;
mod check;
pub(crate) mod exec;
mod run;
mod status;
mod up;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use btu_contract::protocol_work::ProtocolWork;
use btu_testbed::testbed::{NetworkRequest, Registry};

use crate::cli::{Common, Net, Raising};
use crate::exit::{self, Refusal};
use crate::files;
use crate::start::preflight;
use crate::stored::wall_clock;

/// Runs the command.
pub(crate) fn run(net: Net, common: &Common) -> ExitCode {
    let no_json = |why| common.no_json(why).map_err(anyhow::Error::from);
    let result = match net {
        Net::Check(check) => check::check(&check, common),
        Net::List => check::list(common),
        Net::Show(subject) => check::show(&subject, common),
        Net::Run(run) => {
            let allowed = no_json("the output is that of the command");
            return exit::code_of(allowed.and_then(|()| run::run(&run)));
        }
        Net::Up(up) => up::up(&up, common),
        Net::Exec(exec) => {
            let allowed = no_json("the output is that of the command");
            return exit::code_of(allowed.and_then(|()| exec::exec(&exec)));
        }
        Net::Status(status) => status::status(&status, common),
        Net::Down(down) => no_json("nothing is printed").and_then(|()| up::down(&down)),
    };
    exit::code(result)
}

/// The network to raise, checked as far as possible before a start; `usual_name` is its default
/// name.
pub(crate) fn request(
    registry: &Registry,
    raising: &Raising,
    usual_name: impl FnOnce(&str) -> String,
) -> anyhow::Result<NetworkRequest> {
    let (network, delay) = (raising.subject.network(), raising.delay);
    let drawing = files::network_with_delay(network, delay, &raising.settings)?;
    btu_testbed::testbed::check(&drawing)?;
    let name = raising.name.clone().unwrap_or_else(|| usual_name(&drawing.name));
    let runtime_directory = registry.place(&name)?;
    let capture = raising.capture.as_deref().map(absolute).transpose()?;
    let executable = std::env::current_exe().context("finding this program's own file")?;
    let seed = match raising.seed {
        Some(seed) => seed,
        // Short enough to be typed.
        None => u64::from(preflight::random()?),
    };
    Ok(NetworkRequest {
        name,
        drawing,
        runtime_directory,
        seed,
        executable,
        capture,
        source: files::typed_with_delay(network, delay, &[]),
        since: wall_clock(),
        agents: Vec::new(),
        inputs: Vec::new(),
        processors: Vec::new(),
        protocol_work: ProtocolWork::Sender,
        congestion_control: raising.congestion.checked()?,
        ipv6: false,
    })
}

/// The wire has another current directory.
fn absolute(directory: &Path) -> Result<PathBuf, Refusal> {
    let unusable = |error| {
        Refusal::Machine(format!(
            "using the directory {}: {error}; see --capture",
            directory.display()
        ))
    };
    files::new_directory("--capture", directory)?;
    files::make_last(directory).and_then(|()| directory.canonicalize()).map_err(unusable)
}
