//! The relay on one loopback address, the server on another, the egress proxy between.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use btu_suite::activity::FtpServe;
use suppaftp::{FtpStream, Mode};

use super::*;
use crate::content;
use crate::ftp::{Serving, serve_egress_proxy};

/// A relay on 127.0.0.2 to a server on 127.0.0.1, for as long as `user` takes; returns what the
/// relay served.
fn with_relay(user: impl FnOnce(SocketAddr)) -> Report {
    let serve = FtpServe {
        address: "127.0.0.1".parse().expect("an address"),
        password: "secret".to_owned(),
    };
    let server = Serving::prepare(&serve, &Callers::any()).expect("a free port on loopback");
    let target = server.endpoint().expect("it listens");
    with_relay_to(target, user)
}

fn with_relay_to(target: SocketAddr, user: impl FnOnce(SocketAddr)) -> Report {
    let directory = tempfile::tempdir().expect("tempdir");
    let egress_proxy = directory.path().join("egress_proxy");
    let listener = UnixListener::bind(&egress_proxy).expect("bound");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let outside = scope.spawn(|| serve_egress_proxy(listener, target, &stop));
        let relaying = relay(&egress_proxy).expect("a free port on loopback");
        let address = relaying.endpoint().expect("it listens");
        let performing = scope.spawn(|| Box::new(relaying).perform(&stop));
        // Else a failed expectation would wait for the relay for ever.
        let outcome = catch_unwind(AssertUnwindSafe(|| user(address)));
        stop.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| resume_unwind(panic));
        outside.join().expect("no panic").expect("a usable socket");
        performing.join().expect("no panic").expect("relayed")
    })
}

fn relay(egress_proxy: &Path) -> Result<Relaying, LoadError> {
    let relay = FtpRelay {
        address: "127.0.0.2".parse().expect("an address"),
        egress_proxy: egress_proxy.to_owned(),
    };
    Relaying::prepare(&relay, &Callers::any())
}

fn retrieve(ftp: &mut FtpStream, file: &str) -> Vec<u8> {
    let mut stream = ftp.retr_as_stream(file).expect(file);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("readable");
    stream.finish().expect("complete");
    bytes
}

#[test]
fn both_passive_modes_go_through_and_are_counted() {
    let report = with_relay(|address| {
        let mut ftp = FtpStream::connect(address).expect("connected");
        ftp.login("btu", "secret").expect("logged in");
        for mode in [Mode::Passive, Mode::ExtendedPassive] {
            ftp.set_mode(mode);
            for size in [0, 1000, 6_000_000] {
                let bytes = retrieve(&mut ftp, &format!("{size}.bin"));
                assert_eq!(bytes.len(), size);
                assert!(content::matches(0, &bytes));
            }
        }
        ftp.quit().expect("goodbye");
    });
    assert_eq!(report.outcome, Outcome::Served { bytes: Bytes::new(2 * 6_001_000) });
}

#[test]
fn curl_gets_the_same_bytes_through_it() {
    with_relay(|address| {
        let url = format!("ftp://btu:secret@{address}/300000.bin");
        for how in ["--ftp-pasv", "--disable-epsv"] {
            match Command::new("curl").args(["-sS", "--max-time", "20", how, &url]).output() {
                Err(error) => {
                    assert!(
                        std::env::var_os("BTU_LAB").is_none_or(|lab| lab != "required"),
                        "curl must exist here"
                    );
                    eprintln!("LAB SKIPPED: curl cannot be run: {error}");
                }
                Ok(output) => {
                    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                    assert!(output.stdout.len() == 300_000 && content::matches(0, &output.stdout));
                }
            }
        }
    });
}

#[test]
fn a_whole_fetch_runs_through_it() {
    let scratch = tempfile::tempdir().expect("tempdir");
    with_relay(|server| {
        let order = btu_suite::activity::FtpFetch {
            server,
            user: "btu".to_owned(),
            password: "secret".to_owned(),
            file: Some("2000000.bin".to_owned()),
            directory: scratch.path().to_owned(),
            work: btu_suite::activity::Work::Bytes(Bytes::new(5_000_000)),
        };
        let fetching = crate::ftp::Fetching::prepare(&order).expect("logged in through the relay");
        let report = Box::new(fetching).perform(&AtomicBool::new(false)).expect("fetched");
        assert!(
            matches!(
                report.outcome,
                Outcome::Host(btu_suite::record::Host { work: 5_000_000, .. })
            ),
            "{:?}",
            report.outcome
        );
    });
}

#[test]
fn what_cannot_be_carried_is_refused_by_the_relay() {
    with_relay(|address| {
        let control = TcpStream::connect(address).expect("connected");
        let mut answers = BufReader::new(control.try_clone().expect("a handle")).lines();
        let mut answer = || answers.next().expect("a line").expect("readable");
        assert!(answer().starts_with("220"));
        for (command, code) in
            [("PORT 127,0,0,1,9,9", "502"), ("auth TLS", "502"), ("USER btu", "331")]
        {
            writeln!(&control, "{command}\r").expect("written");
            let answer = answer();
            assert!(answer.starts_with(code), "{command}: {answer}");
        }
    });
}

#[test]
fn a_server_that_is_not_there_is_said_so() {
    let free = TcpListener::bind("127.0.0.1:0").expect("loopback").local_addr().expect("bound");
    with_relay_to(free, |address| {
        let mut line = String::new();
        BufReader::new(TcpStream::connect(address).expect("connected"))
            .read_line(&mut line)
            .expect("readable");
        assert!(line.starts_with("421") && line.contains("could not connect"), "{line}");
    });
}

#[test]
fn one_client_too_many_is_told_so() {
    with_relay(|address| {
        let greeting = || {
            let mut line = String::new();
            let mut reader = BufReader::new(TcpStream::connect(address).expect("connected"));
            reader.read_line(&mut line).expect("readable");
            (line, reader)
        };
        let open: Vec<_> = (0..MOST).map(|_| greeting()).collect();
        assert!(open.iter().all(|(line, _)| line.starts_with("220")), "{open:?}");
        let (line, _) = greeting();
        assert!(line.starts_with("421"), "{line}");
    });
}

#[test]
fn a_missing_egress_proxy_is_an_error_at_once() {
    let message =
        relay(Path::new("/nonexistent/egress_proxy")).expect_err("no egress proxy").to_string();
    assert!(message.contains("/nonexistent/egress_proxy"), "{message}");
}

#[test]
fn unused_data_ports_are_bounded() {
    with_relay(|address| {
        let control = TcpStream::connect(address).expect("connected");
        let mut answers = BufReader::new(control.try_clone().expect("a handle")).lines();
        let mut say = |command: &str| {
            writeln!(&control, "{command}\r").expect("written");
            answers.next().expect("a line").expect("readable")
        };
        say("NOOP");
        say("USER btu");
        say("PASS secret");
        let offers: Vec<String> = (0..MOST + 3).map(|_| say("EPSV")).collect();
        let refused = offers.iter().filter(|answer| answer.starts_with("425")).count();
        assert!(refused >= 2, "{offers:?}");
    });
}

#[test]
fn stop_ends_open_sessions_too() {
    let started = Instant::now();
    let mut left_open = None;
    with_relay(|address| {
        let mut stream = TcpStream::connect(address).expect("connected");
        stream.read_exact(&mut [0; 4]).expect("a greeting");
        left_open = Some(stream);
    });
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}
