//! The programs of copies next to others' of their kind, in turns, from memory to memory over
//! loopback.
//!
//! `cargo run --release -p btu-load --example copy_peers [ROUNDS] [MEGABYTES]`
//!
//! Each round has ours and the other one after the other, in an order that changes; a ratio is of
//! the two of a round. Ours takes its time from before it connects until the receiver has the file;
//! iperf3 from its own account, curl from its own `time_total`, lftp from its start to its end.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use btu_load::prepare;
use btu_stats::{Level, quantile};
use btu_suite::activity::{Activity, FileClient, FileServer, Order, Token};
use btu_suite::copy::{Cache, Direction, FilePlace, Program, Storage};
use btu_suite::peers::Callers;
use btu_suite::record::{Outcome, Report};
use btu_units::{Bytes, Span, hexadecimal};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TOKEN: Token = *b"sixteen byte key";

/// The directory of the other programs' files: memory.
const MEMORY: &str = "/dev/shm";

fn order(activity: Activity) -> Order {
    Order::new(1, Span::from_seconds(120), activity)
}

fn place(size: Bytes) -> FilePlace {
    FilePlace {
        size,
        storage: Storage::Memory,
        cache: Cache::Cold,
        directory: PathBuf::from(MEMORY),
        run: 0,
    }
}

/// Our server, at work until its one copy is over.
fn serve(
    direction: Direction,
    program: Program,
    size: Bytes,
) -> Result<(SocketAddr, thread::JoinHandle<Result<Report>>)> {
    let server = FileServer { program, on: HERE, token: TOKEN, file: place(size) };
    let activity = match direction {
        Direction::Put => Activity::FileReceive(server),
        Direction::Get => Activity::FileOffer(server),
    };
    let server = prepare(&order(activity), &Callers::any())?.ok_or("no server")?;
    let address = server.endpoint().ok_or("it does not listen")?;
    Ok((address, thread::spawn(move || server.perform(&AtomicBool::new(false)))))
}

/// Seconds of a copy by our client at our server.
fn ours(direction: Direction, program: Program, size: Bytes) -> Result<f64> {
    let (to, serving) = serve(direction, program, size)?;
    let client = FileClient { program, to, token: TOKEN, file: place(size), wait: Span::ZERO };
    let activity = match direction {
        Direction::Put => Activity::FileSend(client),
        Direction::Get => Activity::FileFetch(client),
    };
    let client = prepare(&order(activity), &Callers::any())?.ok_or("no client")?;
    let report = client.perform(&AtomicBool::new(false))?;
    serving.join().map_err(|_| "the server panicked")??;
    match report.outcome {
        Outcome::FileSent(end) | Outcome::FileReceived(end) => Ok(end.marks.durable.seconds()),
        other => Err(format!("{other:?}").into()),
    }
}

/// The output of a command.
fn run(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Seconds of a copy by curl at our server.
fn curl(direction: Direction, program: Program, size: Bytes, file: &Path) -> Result<f64> {
    let (address, serving) = serve(direction, program, size)?;
    let mut command = Command::new("curl");
    command.args(["-sSf", "--noproxy", "*", "-w", "%{stderr}%{time_total}"]);
    match direction {
        Direction::Put => command.arg("-T").arg(file),
        Direction::Get => command.arg("-o").arg(file),
    };
    match program {
        Program::Ftp => command.args([
            "-u",
            &format!("btu:{}", hexadecimal(&TOKEN)),
            &format!("ftp://{address}/copy.bin"),
        ]),
        _ => command.args([
            "-H",
            &format!("Authorization: Bearer {}", hexadecimal(&TOKEN)),
            &format!("http://{address}/copy"),
        ]),
    };
    let output = command.stdin(Stdio::null()).output()?;
    let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    serving.join().map_err(|_| "the server panicked")??;
    told.parse().map_err(|_| format!("{command:?}: {told}").into())
}

/// Seconds of a copy by lftp at our server, from its start to its end.
fn lftp(direction: Direction, size: Bytes, file: &Path) -> Result<f64> {
    let (address, serving) = serve(direction, Program::Ftp, size)?;
    let what = match direction {
        Direction::Put => format!("put {} -o copy.bin", file.display()),
        Direction::Get => format!("get copy.bin -o {}", file.display()),
    };
    let script =
        format!("set net:max-retries 1; set xfer:clobber yes; set ftp:ssl-allow no; {what}; bye");
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let started = Instant::now();
    run(Command::new("lftp").args([
        "-u",
        &format!("btu,{}", hexadecimal(&TOKEN)),
        "-p",
        &port,
        "-e",
        &script,
        &host,
    ]))?;
    let seconds = started.elapsed().as_secs_f64();
    serving.join().map_err(|_| "the server panicked")??;
    Ok(seconds)
}

/// Seconds that iperf3 takes for as many bytes, by its receiver's rate.
fn iperf3(size: Bytes) -> Result<f64> {
    let port = TcpListener::bind((HERE, 0))?.local_addr()?.port().to_string();
    let mut server =
        Command::new("iperf3").args(["-s", "-1", "-p", &port]).stdout(Stdio::null()).spawn()?;
    thread::sleep(Duration::from_millis(300));
    let told = run(Command::new("iperf3").args([
        "-c",
        "127.0.0.1",
        "-p",
        &port,
        "-n",
        &size.count().to_string(),
        "-J",
    ]));
    server.wait()?;
    let told: serde_json::Value = serde_json::from_str(&told?)?;
    let rate =
        told["end"]["sum_received"]["bits_per_second"].as_f64().ok_or("iperf3 told no rate")?;
    Ok(size.bits() / rate)
}

fn compare(
    name: &str,
    rounds: usize,
    size: Bytes,
    ours: impl Fn() -> Result<f64>,
    theirs: impl Fn() -> Result<f64>,
) -> Result<()> {
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

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(Ok(9), |text| text.parse())?;
    let size =
        Bytes::new(arguments.next().map_or(Ok(500), |text| text.parse::<u64>())? * 1_000_000);
    let source = Path::new(MEMORY).join(format!("btu-copy-peers-{}", std::process::id()));
    std::fs::write(&source, vec![7u8; size.count() as usize])?;
    let copy = source.with_extension("copy");
    println!(
        "{size}, {rounds} rounds; rates in Mb/s, medians; ratio ours/theirs: median (quartiles)"
    );
    println!("{:<24} {:>9} {:>9}   ratio", "", "ours", "theirs");
    let compared = all(rounds, size, &source, &copy);
    std::fs::remove_file(&source)?;
    // Without a copy the file does not exist.
    let _ = std::fs::remove_file(&copy);
    compared
}

fn all(rounds: usize, size: Bytes, source: &Path, copy: &Path) -> Result<()> {
    compare(
        "bare, iperf3",
        rounds,
        size,
        || ours(Direction::Put, Program::Bare, size),
        || iperf3(size),
    )?;
    for (direction, file) in [(Direction::Put, source), (Direction::Get, copy)] {
        for program in [Program::Http, Program::Ftp] {
            let name = format!("{program} {direction}, curl");
            compare(
                &name,
                rounds,
                size,
                || ours(direction, program, size),
                || curl(direction, program, size, file),
            )?;
        }
        let name = format!("ftp {direction}, lftp");
        compare(
            &name,
            rounds,
            size,
            || ours(direction, Program::Ftp, size),
            || lftp(direction, size, file),
        )?;
    }
    Ok(())
}
