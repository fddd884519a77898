//! The programs of copies next to others' of their kind, in turns, from memory to memory over a pair
//! of virtual interfaces.
//!
//! `cargo run --release -p btu-load --example copy_peers [ROUNDS] [MEGABYTES] [NAME]`
//!
//! A NAME takes only the comparisons whose names have it in them, such as `bare` or `ftp put`.
//!
//! Each round has ours and the other one after the other, in an order that changes; a ratio is of
//! the two of a round. Ours takes its time from before it connects until the receiver has the file;
//! iperf3 from its own account, curl from its own `time_total`, lftp and sftp from start to end.
//!
//! Client and server are in two network namespaces that are made for it, as any user may. Programs
//! that are not installed are left out, which is said.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

mod peers;
mod veth;

use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use btu_contract::activity::{Activity, FileClient, FileServer, Order, Token};
use btu_contract::copy::{Cache, Direction, FilePlace, Program, Storage};
use btu_contract::peers::Callers;
use btu_contract::record::{Outcome, Report};
use btu_load::prepare;
use btu_stats::{Level, quantile};
use btu_units::{Bytes, Span};

use peers::{OpenSsh, curl, iperf3, lftp};
use veth::{FAR, Far, MEMORY, in_memory};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const TOKEN: Token = *b"sixteen byte key";

fn order(activity: Activity) -> Order {
    Order::new(1, Span::from_seconds(120), activity)
}

fn place(size: Bytes) -> FilePlace {
    FilePlace {
        size,
        storage: Storage::Memory,
        cache: Cache::Cold,
        directory: PathBuf::from(MEMORY),
    }
}

/// Our server at work in a thread, until its one copy is over.
type Serving = JoinHandle<Result<Report>>;

/// Our server in the other namespace.
fn serve(
    far: &Far,
    direction: Direction,
    program: Program,
    size: Bytes,
) -> Result<(SocketAddr, Serving)> {
    let server = FileServer { program, on: FAR, token: TOKEN, file: place(size) };
    let activity = match direction {
        Direction::Put => Activity::FileReceive(server),
        Direction::Get => Activity::FileOffer(server),
    };
    let (tell, listens) = mpsc::channel();
    let join = far.join();
    let serving = thread::spawn(move || {
        join()?;
        let server = prepare(&order(activity), &Callers::any())?.ok_or("no server")?;
        tell.send(server.endpoint().ok_or("it does not listen")?)?;
        server.perform(&AtomicBool::new(false))
    });
    match listens.recv() {
        Ok(address) => Ok((address, serving)),
        Err(_) => Err(finished(serving).err().unwrap_or_else(|| "no server".into())),
    }
}

/// What came of a server.
fn finished(serving: Serving) -> Result<Report> {
    serving.join().map_err(|_| "the server panicked")?
}

/// Seconds of a copy by our client at our server.
fn ours(far: &Far, direction: Direction, program: Program, size: Bytes) -> Result<f64> {
    let (to, serving) = serve(far, direction, program, size)?;
    let client = FileClient { program, to, token: TOKEN, file: place(size), wait: Span::ZERO };
    let activity = match direction {
        Direction::Put => Activity::FileSend(client),
        Direction::Get => Activity::FileFetch(client),
    };
    let client = prepare(&order(activity), &Callers::any())?.ok_or("no client")?;
    let report = client.perform(&AtomicBool::new(false))?;
    finished(serving)?;
    match report.outcome {
        Outcome::FileSent(end) | Outcome::FileReceived(end) => Ok(end.marks.durable.seconds()),
        other => Err(format!("{other:?}").into()),
    }
}

/// What is asked for.
struct Asked {
    rounds: usize,
    size: Bytes,
    name: String,
}

fn compare(
    name: &str,
    asked: &Asked,
    ours: impl Fn() -> Result<f64>,
    theirs: impl Fn() -> Result<f64>,
) -> Result<()> {
    let Asked { rounds, size, .. } = *asked;
    if !name.contains(&asked.name) {
        return Ok(());
    }
    let mut pairs = Vec::new();
    for round in 0..rounds {
        let pair = if round % 2 == 0 {
            let first = ours()?;
            (first, theirs()?)
        } else {
            let first = theirs()?;
            (ours()?, first)
        };
        pairs.push(pair);
    }
    let at = |values: &[f64], share| {
        quantile(values, share, Level::P95).map_or(f64::NAN, |estimate| estimate.value)
    };
    let rates = |of: fn(&(f64, f64)) -> f64| -> f64 {
        at(&pairs.iter().map(|pair| size.bits() / of(pair) / 1e6).collect::<Vec<_>>(), 0.5)
    };
    let ratios: Vec<f64> = pairs.iter().map(|pair| pair.1 / pair.0).collect();
    println!(
        "{name:<24} {:>9.0} {:>9.0}   {:.3} ({:.3} .. {:.3})",
        rates(|pair| pair.0),
        rates(|pair| pair.1),
        at(&ratios, 0.5),
        at(&ratios, 0.25),
        at(&ratios, 0.75)
    );
    Ok(())
}

fn main() -> Result<ExitCode> {
    if let Some(code) = veth::enter()? {
        return Ok(code);
    }
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(Ok(9), |text| text.parse())?;
    let size =
        Bytes::new(arguments.next().map_or(Ok(500), |text| text.parse::<u64>())? * 1_000_000);
    let asked = Asked { rounds, size, name: arguments.next().unwrap_or_default() };
    let far = Far::raise()?;
    let (source, copy) = (in_memory("source"), in_memory("copy"));
    std::fs::write(&source, vec![7u8; size.count() as usize])?;
    println!(
        "{size}, {rounds} rounds; rates in Mb/s, medians; ratio ours/theirs: median (quartiles)"
    );
    println!("{:<24} {:>9} {:>9}   ratio", "", "ours", "theirs");
    all(&far, &asked, [&source, &copy])?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the program is installed; said where it is not.
fn is_here(program: &str) -> bool {
    let directories = std::env::var("PATH").unwrap_or_default();
    let mut directories = directories.split(':').chain(["/usr/sbin"]);
    let is_here = directories.any(|directory| Path::new(directory).join(program).exists());
    if !is_here {
        println!("{program:<24} is not installed");
    }
    is_here
}

fn all(far: &Far, asked: &Asked, [source, copy]: [&Path; 2]) -> Result<()> {
    let size = asked.size;
    if is_here("iperf3") {
        let ours = || ours(far, Direction::Put, Program::Bare, size);
        compare("bare, iperf3", asked, ours, || iperf3(far, size))?;
    }
    let files = [(Direction::Put, source), (Direction::Get, copy)];
    for (direction, file) in files {
        for program in [Program::Http, Program::Ftp] {
            if is_here("curl") {
                let name = format!("{program} {direction}, curl");
                let ours = || ours(far, direction, program, size);
                compare(&name, asked, ours, || curl(far, direction, program, size, file))?;
            }
        }
        if is_here("lftp") {
            let name = format!("ftp {direction}, lftp");
            let ours = || ours(far, direction, Program::Ftp, size);
            compare(&name, asked, ours, || lftp(far, direction, size, file))?;
        }
    }
    if is_here("sshd") && is_here("sftp") {
        let openssh = OpenSsh::start(far)?;
        std::fs::copy(source, in_memory("there"))?;
        for (direction, file) in files {
            let name = format!("sftp {direction}, sftp alone");
            let ours = || ours(far, direction, Program::Sftp, size);
            compare(&name, asked, ours, || openssh.copy(direction, file))?;
        }
    }
    Ok(())
}
