//! `btu net`: its commands, and the common part of those that raise networks.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use btu_suite::protocol_work::ProtocolWork;
use btu_testbed::testbed::{Cause, NetworkRequest, Registry, TestbedError};

use crate::cli::{Common, Net, Raising};
use crate::exit::{self, Refusal};
use crate::{files, net_check, net_exec, net_run, net_status, net_up, preflight, rate};

/// Runs the command.
pub(crate) fn run(net: Net, common: &Common) -> ExitCode {
    let no_json = |why| common.no_json(why).map_err(anyhow::Error::from);
    let result = match net {
        Net::Check(check) => net_check::check(&check, common),
        Net::List => net_check::list(common),
        Net::Show(subject) => net_check::show(&subject, common),
        Net::Run(run) => {
            let allowed = no_json("the output is that of the command");
            return exit::code_of(allowed.and_then(|()| net_run::run(&run)));
        }
        Net::Up(up) => net_up::up(&up, common),
        Net::Exec(exec) => {
            let allowed = no_json("the output is that of the command");
            return exit::code_of(allowed.and_then(|()| net_exec::exec(&exec)));
        }
        Net::Status(status) => net_status::status(&status, common),
        Net::Down(down) => no_json("nothing is printed").and_then(|()| net_up::down(&down)),
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
    let drawing = files::network(raising.subject.network(), &raising.settings)?;
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
        source: raising.subject.network().to_owned(),
        since: rate::wall_clock(),
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
    preflight::new_directory("--capture", directory)?;
    preflight::make_last(directory).and_then(|()| directory.canonicalize()).map_err(unusable)
}

/// The exit code for an error of the testbed.
pub(crate) fn exit_code(error: &TestbedError) -> u8 {
    match error.cause {
        Cause::Name => 2,
        Cause::Network
        | Cause::Namespaces
        | Cause::Links
        | Cause::RuntimeDirectory
        | Cause::Processes => 3,
        Cause::NotStarted => 126,
        Cause::NotFound => 127,
        Cause::Process | Cause::Probe | Cause::Protocol => 1,
    }
}
