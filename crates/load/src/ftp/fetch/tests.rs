//! Fetches from the embedded server and from servers that misbehave, over loopback.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::thread::{self, JoinHandle};

use btu_contract::activity::FtpServe;
use btu_contract::peers::Callers;
use btu_contract::record::Report;
use btu_units::{Bytes, Span};

use super::super::Serving;
use super::*;

fn serving() -> Serving {
    let order = FtpServe {
        address: "127.0.0.1".parse().expect("an address"),
        password: "secret".to_owned(),
    };
    Serving::prepare(&order, &Callers::any()).expect("a free port on loopback")
}

fn order(server: SocketAddr, directory: &Path, work: Work) -> FtpFetch {
    FtpFetch { server, password: "secret".to_owned(), directory: directory.to_owned(), work }
}

fn perform(order: &FtpFetch) -> Result<(Report, Host), String> {
    let fetching = Fetching::prepare(order).map_err(|error| error.to_string())?;
    let report =
        Box::new(fetching).perform(&AtomicBool::new(false)).map_err(|error| error.to_string())?;
    let Outcome::Host(host) = report.outcome.clone() else { panic!("{report:?}") };
    Ok((report, host))
}

fn bytes(count: u64) -> Work {
    Work::Bytes(Bytes::new(count))
}

#[test]
fn a_volume_is_fetched_exactly() {
    let (server, directory) = (serving(), tempfile::tempdir().expect("tempdir"));
    let address = server.endpoint().expect("it listens");
    for count in [0, 1, 4096, 5_000_001] {
        let (_, host) = perform(&order(address, directory.path(), bytes(count))).expect("fetched");
        assert_eq!(host.work, count);
        assert!(
            host.method.contains("PASV") && host.method.contains("fdatasync"),
            "{}",
            host.method
        );
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
}

#[test]
fn a_time_is_kept() {
    let (server, directory) = (serving(), tempfile::tempdir().expect("tempdir"));
    let time = Span::from_milliseconds(100);
    let order = order(server.endpoint().expect("it listens"), directory.path(), Work::For(time));
    let (report, host) = perform(&order).expect("fetched");
    assert!(report.duration() >= time && host.work > 0, "{report:?}");
}

#[test]
fn what_cannot_be_fetched_is_known_before_the_clock_starts() {
    let (server, directory) = (serving(), tempfile::tempdir().expect("tempdir"));
    let address = server.endpoint().expect("it listens");
    let good = order(address, directory.path(), bytes(1));
    let prepare = |order: &FtpFetch| Fetching::prepare(order).err().expect("refused").to_string();
    let stranger = FtpFetch { password: "wrong".to_owned(), ..good.clone() };
    assert!(prepare(&stranger).contains("log in"), "{}", prepare(&stranger));
    let nowhere = FtpFetch { directory: "/nonexistent".into(), ..good.clone() };
    assert!(prepare(&nowhere).contains("/nonexistent"), "{}", prepare(&nowhere));
    drop(server);
    assert!(prepare(&good).contains("connect"), "{}", prepare(&good));
}

/// A user who may fetch must not be able to read replies of services other than FTP servers in the
/// messages.
#[test]
fn of_what_a_server_says_only_the_code_is_told() {
    let directory = tempfile::tempdir().expect("tempdir");
    for (said, wanted) in [
        ("421 internal-host.corp is closed to 10.2.3.4\r\n", "it answered 421"),
        // A code of SMTP.
        ("554 internal-host.corp refused 10.2.3.4\r\n", "no code of FTP"),
        ("SSH-2.0-internal\r\n", "is not FTP"),
        ("0 internal\r\n", "is not FTP"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let server = thread::spawn(move || {
            listener.accept().expect("a client").0.write_all(said.as_bytes())
        });
        let message =
            perform(&order(address, directory.path(), bytes(1))).expect_err("no FTP server");
        assert!(
            message.contains(wanted) && !message.contains("internal") && !message.contains("10.2"),
            "{message}"
        );
        server.join().expect("no panic").expect("it was said");
    }
}

/// A server that takes every login and sends `content` for every file, then `last` on the control
/// connection.
fn odd_server(content: &'static [u8], last: &'static str) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("bound");
    let thread = thread::spawn(move || {
        let (control, _) = listener.accept().expect("a client");
        let mut answers = control.try_clone().expect("a handle");
        let data = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let [high, low] = data.local_addr().expect("bound").port().to_be_bytes();
        answers.write_all(b"220 odd\r\n").expect("written");
        for line in BufReader::new(control).lines().map_while(Result::ok) {
            let answer = match line.split(' ').next() {
                Some("USER") => "230 in\r\n".to_owned(),
                // An address that the client must ignore: no server is there.
                Some("PASV") => format!("227 Entering Passive Mode (192,0,2,1,{high},{low})\r\n"),
                Some("RETR") => {
                    answers.write_all(b"150 here\r\n").expect("written");
                    data.accept().expect("data").0.write_all(content).expect("written");
                    last.to_owned()
                }
                Some("QUIT") => return,
                _ => "200 fine\r\n".to_owned(),
            };
            if answers.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    });
    (address, thread)
}

#[test]
fn servers_that_send_the_wrong_thing_are_found_out() {
    const ZEROS: &[u8] = &[0; 6000];
    let directory = tempfile::tempdir().expect("tempdir");
    for (content, last, wanted) in [
        (ZEROS, "226 done\r\n", "wrong bytes at 0"),
        (&ZEROS[..5999], "226 done\r\n", "should have 6000 bytes, 5999 came"),
        (&ZEROS[..0], "226 done\r\n", "should have 6000 bytes, 0 came"),
        (ZEROS, "451 disk error\r\n", "complete `6000.bin`"),
        (ZEROS, "no number\r\n", "complete `6000.bin`"),
    ] {
        let (address, server) = odd_server(content, last);
        let message = perform(&order(address, directory.path(), bytes(6000)))
            .expect_err("not what was asked for");
        assert!(message.contains(wanted) && message.contains(&address.to_string()), "{message}");
        server.join().expect("no panic");
    }
}
