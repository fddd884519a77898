//! What can be known to be impossible before anything starts.

use std::fs::File;
use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use btu_store::Store;
use btu_suite::cell::Load;
use btu_suite::network::{Network, Path as Emulated};
use btu_suite::plan::Plan;
use btu_units::{BitRate, Bytes, Span};

use crate::cli::{Common, Rate};
use crate::exit::Refusal;

/// The emulated paths this wire can carry frame by frame.
const SLOWEST: BitRate = BitRate::from_bits_per_second(64_000);
const FASTEST: BitRate = BitRate::from_megabits_per_second(1000);
const LONGEST_DELAY: Span = Span::from_seconds(10);

/// The volumes and windows that make sense.
const LARGEST_VOLUME: Bytes = Bytes::new(100_000_000_000);
const SMALLEST_WINDOW: Bytes = Bytes::new(1024);
const LARGEST_WINDOW: Bytes = Bytes::new(1 << 30);

/// The network that the options draw.
pub(crate) fn network(rate: &Rate) -> Result<Network, Refusal> {
    let impaired = rate.delay > Span::ZERO || rate.loss + rate.duplicate + rate.reorder > 0.0;
    if rate.network == "veth" {
        return if impaired {
            Err(usage(
                "--delay, --loss, --duplicate and --reorder need an emulated path, for example --network '100 Mb/s'",
            ))
        } else {
            Ok(Network::Veth)
        };
    }
    let line: BitRate = rate.network.parse().map_err(|_| {
        Refusal::Usage(format!(
            "there is no network `{}`: write veth, or the rate of an emulated path such as '10 Mb/s'",
            rate.network
        ))
    })?;
    if !(SLOWEST..=FASTEST).contains(&line) {
        return Err(Refusal::Usage(format!("a path of {line} cannot be emulated: allowed are {SLOWEST} to {FASTEST}")));
    }
    if rate.delay > LONGEST_DELAY {
        return Err(Refusal::Usage(format!("--delay {} is too long: at most {LONGEST_DELAY}", rate.delay)));
    }
    let Rate { delay, loss, duplicate, reorder, .. } = *rate;
    Ok(Network::Path(Emulated { rate: line, delay, loss, duplicate, reorder }))
}

/// Refuses sizes that cannot be meant.
pub(crate) fn sizes(rate: &Rate) -> Result<(), Refusal> {
    if let Some(volume) = rate.volume
        && !(Bytes::new(1)..=LARGEST_VOLUME).contains(&volume)
    {
        return Err(Refusal::Usage(format!("--volume {volume} makes no sense: allowed are 1 B to {LARGEST_VOLUME}")));
    }
    if let Some(window) = rate.window
        && !(SMALLEST_WINDOW..=LARGEST_WINDOW).contains(&window)
    {
        return Err(Refusal::Usage(format!(
            "--window {window} makes no sense: allowed are {SMALLEST_WINDOW} to {LARGEST_WINDOW}"
        )));
    }
    Ok(())
}

fn usage(text: &str) -> Refusal {
    Refusal::Usage(text.to_owned())
}

/// The file of runs in its directory.
const DATABASE: &str = "runs.sqlite";

/// Opens the database of runs.
pub(crate) fn store(common: &Common) -> Result<Store, Refusal> {
    let path = match &common.data {
        Some(directory) => directory.join(DATABASE),
        None => Store::default_path().map_err(|error| Refusal::Machine(error.to_string()))?,
    };
    Store::open(path).map_err(|error| Refusal::Machine(error.to_string()))
}

/// Whether the external FTP server, if one is asked for, takes connections.
pub(crate) fn ftp_server(rate: &Rate) -> Result<(), Refusal> {
    let Some(external) = &rate.ftp_server else { return Ok(()) };
    TcpStream::connect_timeout(&external.server, FTP_PATIENCE).map(drop).map_err(|error| {
        Refusal::Machine(format!("connecting to the FTP server {}: {error}; is it running?", external.server))
    })
}

/// How long an external FTP server may take to accept a connection.
const FTP_PATIENCE: Duration = Duration::from_secs(5);

/// Whether namespaces can be had, with what it takes.
pub(crate) fn namespaces(executable: &Path) -> Result<(), Refusal> {
    btu_testbed::house::preflight(executable).map(|_| ()).map_err(|error| Refusal::Machine(error.to_string()))
}

/// The scratch directory, when there is room for what the plan writes there.
pub(crate) fn scratch(rate: &Rate, plan: &Plan, database: &Path) -> Result<PathBuf, Refusal> {
    let directory = match &rate.scratch {
        Some(directory) => directory.clone(),
        None => database.parent().unwrap_or(Path::new(".")).join("scratch"),
    };
    let needed = scratch_needed(plan);
    if needed > rate.scratch_limit {
        return Err(Refusal::Machine(format!(
            "this run writes up to {needed} to its scratch directory and --scratch-limit is {}: raise it",
            rate.scratch_limit
        )));
    }
    if needed > Bytes::ZERO {
        std::fs::create_dir_all(&directory).map_err(|error| {
            Refusal::Machine(format!("making the scratch directory {}: {error}; see --scratch", directory.display()))
        })?;
        btu_load::scratch_check(&directory, needed).map_err(|error| Refusal::Machine(error.to_string()))?;
    }
    Ok(directory)
}

/// The disk activity's source and copy, and the fetched file with room for a fast machine.
fn scratch_needed(plan: &Plan) -> Bytes {
    let disk = if plan.loads.contains(&Load::Disk) { plan.disk_file * 2 } else { Bytes::ZERO };
    let transfer = if plan.loads.contains(&Load::Transfer) { btu_load::FETCH_ROOM } else { Bytes::ZERO };
    disk + transfer
}

/// A path for this run's private directory of sockets, which nobody can guess and take. What dead runs left beside it
/// is removed when the testbed is raised.
pub(crate) fn runtime_directory() -> anyhow::Result<PathBuf> {
    // Not $TMPDIR: the path of a Unix socket has to be short.
    Ok(Path::new("/tmp").join(format!("btu-{:08x}", random()?)))
}

/// A number from the kernel's random source.
pub(crate) fn random() -> anyhow::Result<u32> {
    random_bytes().map(u32::from_ne_bytes)
}

/// So many bytes from the kernel's random source.
pub(crate) fn random_bytes<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).context("reading /dev/urandom")?;
    Ok(bytes)
}
