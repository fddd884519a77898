//! Measures the set-up cost and the speed of the host activities on this machine.
//!
//! `cargo run --release -p btu-load --example figures [DIRECTORY]`

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use std::error::Error;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use btu_contract::activity::{Activity, Cpu, Disk, FtpFetch, FtpServe, Order, Rounds, Work};
use btu_contract::peers::Callers;
use btu_contract::record::{Outcome, Report};
use btu_load::{DiskSource, prepare, scratch_check};
use btu_units::{Bytes, Span};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const FILE: Bytes = Bytes::new(64 << 20);
const VOLUME: Bytes = Bytes::new(512 << 20);
const LOOPBACK: [u8; 4] = [127, 0, 0, 1];

fn order(activity: Activity) -> Order {
    Order::new(1, Span::from_seconds(60), activity)
}

/// Sets up and performs; prints the times of both, and the time after the clock had stopped.
fn run(name: &str, unit: &str, scale: f64, activity: Activity) -> Result<()> {
    let started = Instant::now();
    let performance = prepare(&order(activity), &Callers::any())?.ok_or("not a host activity")?;
    let prepared = started.elapsed();
    let started = Instant::now();
    let report = performance.perform(&AtomicBool::new(false))?;
    let after = Span::from(started.elapsed()) - report.duration();
    print(name, unit, scale, (prepared.into(), after), &report);
    Ok(())
}

fn print(name: &str, unit: &str, scale: f64, (before, after): (Span, Span), report: &Report) {
    let Outcome::Host(host) = &report.outcome else { return };
    let rate = host.work as f64 / report.duration().seconds() / scale;
    let cpu = report.cpu;
    println!(
        "{name:24} prepare {:>8}  work {:>8}  after {:>8}  {rate:8.1} {unit}  user {} system {}  ({})",
        before.to_string(),
        report.duration().to_string(),
        after.to_string(),
        cpu.user,
        cpu.system,
        host.method
    );
}

fn disk(directory: &Path, source: Option<PathBuf>, work: Work) -> Activity {
    Activity::Disk(Disk { directory: directory.to_owned(), source, file: FILE, work })
}

fn fetches(name: &str, server: std::net::SocketAddr, directories: &[&Path]) -> Result<()> {
    for directory in directories {
        for work in [
            Work::Bytes(VOLUME),
            Work::Bytes(Bytes::new(4_000_000)),
            Work::For(Span::from_milliseconds(300)),
        ] {
            let fetch = FtpFetch {
                server,
                password: "secret".to_owned(),
                directory: (*directory).to_owned(),
                work,
            };
            run(name, "MB/s", 1e6, Activity::FtpFetch(fetch))?;
        }
    }
    Ok(())
}

/// The embedded server.
fn transfers(directories: &[&Path]) -> Result<()> {
    let address = IpAddr::from(LOOPBACK);
    let started = Instant::now();
    let serve = FtpServe { address, password: "secret".to_owned() };
    let server = prepare(&order(Activity::FtpServe(serve)), &Callers::any())?
        .ok_or("not a host activity")?;
    println!("{:24} prepare {:>8}", "ftp server", Span::from(started.elapsed()).to_string());
    let target = server.endpoint().ok_or("it does not listen")?;
    fetches("transfer", target, directories)
}

fn main() -> Result<()> {
    let directory = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    println!("{}: {:?}", directory.display(), scratch_check(&directory, FILE * 2)?);
    run("cpu", "rounds/s", 1.0, Activity::Cpu(Cpu::of(Rounds::For(Span::from_seconds(1)))))?;
    run("disk", "MB/s", 1e6, disk(&directory, None, Work::Bytes(VOLUME)))?;
    let kept = DiskSource::make(&directory, FILE, 7)?;
    for work in [Work::Bytes(VOLUME), Work::For(Span::from_milliseconds(300))] {
        run("disk, source kept ready", "MB/s", 1e6, disk(&directory, Some(kept.path()), work))?;
    }
    transfers(&[&directory, Path::new("/dev/shm")])
}
