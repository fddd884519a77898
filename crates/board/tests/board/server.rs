//! Servers that are killed, restarted, slow callers, and two servers of one board.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};

use crate::databases::{Postgres, Stored, directory};
use crate::support::{Made, Publisher, Sent, Server, connect_from, curl, publish};

pub(crate) fn two_servers_are_one_board(stored: &Stored) {
    let first = stored.server();
    let second = stored.another(&first.url);
    let publishers = [Publisher::new("Ada"), Publisher::new("Bob")];
    // Four at once, two by each server.
    let sent: Vec<Sent> = (0..4)
        .map(|n| Sent::of(&Made::of(100.0 + f64::from(n)), &publishers[0], &first.url))
        .collect();
    std::thread::scope(|scope| {
        for (n, one) in sent.iter().enumerate() {
            let (server, publisher) = ([&first, &second][n % 2], &publishers[0]);
            scope.spawn(move || {
                let answer = one.send(publisher, &server.url);
                assert_eq!(answer.status, 201, "{}", answer.text());
            });
        }
    });
    publish(&Made::of(50.0), &publishers[1], &first);
    for server in [&first, &second] {
        let listed = curl(&[&format!("{}/api/v1/runs", server.url)]).json();
        assert_eq!(listed["runs"].as_array().expect("a list").len(), 5);
    }
    assert!(stored.command(&["check"]).expect("one chain").contains("5 accepted"));
    // The same run by both at once: one of them has it.
    let twice = Sent::of(&Made::of(70.0), &publishers[0], &first.url);
    let again = twice.copy();
    let answers = std::thread::scope(|scope| {
        let one = scope.spawn(|| twice.send(&publishers[0], &first.url).status);
        let other = scope.spawn(|| again.send(&publishers[0], &second.url).status);
        [one, other].map(|thread| thread.join().expect("an answer"))
    });
    assert_eq!(answers.iter().filter(|status| **status == 201).count(), 1, "{answers:?}");
}

/// A server that is killed while it takes uploads has stored whole runs only.
#[test]
fn a_killed_server_stores_nothing_half() {
    let stored = directory();
    let publisher = Publisher::new("Ada");
    let mut server = stored.server();
    let url = server.url.clone();
    let made = (0..6).map(|n| Made::of(100.0 + f64::from(n)));
    let sent: Vec<Sent> = made.map(|made| Sent::of(&made, &publisher, &url)).collect();
    for (n, one) in (0..).zip(&sent) {
        std::thread::scope(|scope| {
            // The connection may end before an answer: that is the point.
            let address = server.url.clone();
            scope.spawn(|| one.send(&publisher, &{ address }));
            std::thread::sleep(Duration::from_millis(60 * n));
            server.kill();
        });
        server = stored.another(&url);
    }
    let listed = curl(&[&format!("{}/api/v1/runs", server.url)]).json();
    for run in listed["runs"].as_array().expect("a list") {
        let id = run["id"].as_str().expect("an id");
        assert_eq!(curl(&[&format!("{}/runs/{id}/report", server.url)]).status, 200);
    }
    stored.command(&["check"]).expect("the chain holds");
    // What was lost can be sent again.
    for one in &sent {
        let status = one.send(&publisher, &server.url).status;
        assert!(matches!(status, 201 | 422), "{status}");
    }
    assert!(stored.command(&["check"]).expect("the chain holds").contains("6 accepted"));
}

#[test]
fn a_restarted_postgres_is_found_again() {
    let Some(postgres) = Postgres::start() else { return };
    let stored = postgres.database();
    let server = stored.server();
    let publisher = Publisher::new("Ada");
    publish(&Made::of(100.0), &publisher, &server);
    postgres.down();
    let front = curl(&[&server.url]);
    assert_eq!(front.status, 503);
    assert!(front.text().contains("try again"), "{}", front.text());
    let sent = Sent::of(&Made::of(200.0), &publisher, &server.url);
    assert!(sent.send(&publisher, &server.url).refused().contains("nothing was changed"));
    postgres.up();
    assert_eq!(curl(&[&server.url]).status, 200);
    assert_eq!(sent.send(&publisher, &server.url).status, 201);
    assert!(stored.command(&["check"]).expect("the chain holds").contains("2 accepted"));
}

#[test]
fn slow_callers_keep_nobody_out() {
    let stored = directory();
    let mut server = stored.server();
    let address = server.url.strip_prefix("http://").expect("an address").to_owned();
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("a connection");
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n").expect("sent");
            stream
        })
        .collect();
    assert_eq!(curl(&[&server.url]).status, 200);
    let mut first = &slow[0];
    first.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
    let mut said = Vec::new();
    let ended = first.read_to_end(&mut said);
    let has_ended =
        ended.as_ref().map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true);
    assert!(has_ended, "{ended:?}: a head has to come within seconds");
    drop(slow);
    assert!(server.end(), "SIGTERM ends it in good order");
}

#[test]
fn garbage_is_answered() {
    let stored = directory();
    let server = stored.server();
    let url = &server.url;
    for (arguments, status) in [
        (vec!["-X", "POST", "-d", "x=1", "/api/v1/runs"], 422),
        (vec!["-d", "{\"manifest\":\"\"}", "/api/v1/runs"], 422),
        (vec!["-F", "request=x", "/api/v1/challenges"], 422),
        (vec!["-X", "DELETE", "/api/v1/runs"], 405),
        (vec!["/runs/%00"], 404),
        (vec!["/runs/' OR 1=1 --"], 404),
        (vec!["/plans/none"], 404),
        (vec!["/nowhere"], 404),
        (vec!["/plans/x?from=-1"], 400),
        (vec!["/search?words=%25_!%27"], 200),
        (vec!["/compare?base=1"], 400),
        (vec!["/chain?after=99999999999999999999"], 400),
    ] {
        let (address, rest) = arguments.split_last().expect("an address");
        let address = format!("{url}{}", address.replace(' ', "%20"));
        let mut all = rest.to_vec();
        all.push(&address);
        let answer = curl(&all);
        assert_eq!(answer.status, status, "{all:?}: {}", answer.text());
    }
}

/// The connections that a board has to its database.
fn connections(address: &str) -> usize {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'btu-board' AND datname = current_database()";
    let psql = Command::new("psql").args(["-At", "-d", address, "-c", sql]).output().expect("psql");
    String::from_utf8_lossy(&psql.stdout).trim().parse().expect("a number")
}

/// So many readers at once, each of whom asks several times; returns the answers that were no 200.
fn refused_of(server: &Server, readers: usize, times: usize) -> Vec<u16> {
    let read = || (0..times).map(|_| curl(&[&server.url]).status).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..readers).map(|_| scope.spawn(read)).collect();
        let all = readers.into_iter().flat_map(|reader| reader.join().expect("answers"));
        all.filter(|status| *status != 200).collect()
    })
}

/// However many ask at once, others find connections left, and no reader is refused; after a restart of the database the
/// next reader is answered.
#[test]
fn a_burst_takes_few_connections_and_a_restart_ends_them_all() {
    let Some(postgres) = Postgres::start() else { return };
    let stored = postgres.database();
    let server = stored.server();
    let Stored::Postgres(address) = &stored else { return };
    assert_eq!(refused_of(&server, 64, 4), Vec::<u16>::new());
    let held = connections(address);
    assert!((2..=12).contains(&held), "{held} connections");
    postgres.down();
    postgres.up();
    for _ in 0..5 {
        assert_eq!(curl(&[&server.url]).status, 200);
    }
}

/// It ends within ten seconds with exit code 0, whatever is being asked, and on both databases.
#[test]
fn a_server_under_load_ends_in_order() {
    let postgres = Postgres::start();
    let on_postgres = postgres.as_ref().map(Postgres::database);
    for stored in [Some(directory()), on_postgres].into_iter().flatten() {
        let mut idle = stored.server();
        assert!(idle.end(), "nobody asked anything");
        let mut server = stored.server();
        publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
        let url = server.url.clone();
        std::thread::scope(|scope| {
            for _ in 0..16 {
                // Until the port is closed.
                scope.spawn(|| {
                    while Command::new("curl")
                        .args(["-sf", "-o", "/dev/null", &url])
                        .status()
                        .is_ok_and(|it| it.success())
                    {}
                });
            }
            std::thread::sleep(Duration::from_secs(1));
            let (conditions, began) = (Conditions::begin(), Instant::now());
            assert!(server.end(), "exit code 0");
            let took = began.elapsed();
            judge!(conditions, took < Duration::from_secs(10), "it ended after {took:?}");
        });
    }
}

/// Callers who would wait in vain are told at once: the port is closed before the last answers are given.
#[test]
fn an_ending_server_closes_its_port_first() {
    let stored = directory();
    let mut server = stored.server();
    let address = server.url.strip_prefix("http://").expect("an address").to_owned();
    // One who keeps the connection, and one in the middle of a request.
    let mut kept = TcpStream::connect(&address).expect("a connection");
    kept.write_all(b"GET /rules HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
    let mut said = [0; 12];
    kept.read_exact(&mut said).expect("an answer");
    let mut slow = TcpStream::connect(&address).expect("a connection");
    slow.write_all(b"GET /rules HTTP/1.1\r\nHost: x\r\n").expect("sent");
    std::thread::sleep(Duration::from_millis(300));
    server.ask_to_end();
    let began = Instant::now();
    while TcpStream::connect(&address).is_ok() {
        assert!(began.elapsed() < Duration::from_mins(3), "the port is not closed");
        std::thread::sleep(Duration::from_millis(50));
    }
    slow.write_all(b"\r\n").expect("sent");
    let mut said = String::new();
    slow.read_to_string(&mut said).expect("an answer, and the end");
    assert!(
        said.starts_with("HTTP/1.1 200") && said.to_lowercase().contains("connection: close"),
        "{said}"
    );
    let (conditions, began) = (Conditions::begin(), Instant::now());
    assert!(server.end());
    let took = began.elapsed();
    judge!(conditions, took < Duration::from_secs(3), "it ended after {took:?}");
}

/// Nor do callers who take all places keep it from ending.
#[test]
fn a_full_server_hears_that_it_is_to_end() {
    let stored = directory();
    let mut server = with_files(&stored, "512:512", &[]);
    // More than the 128 that are left, of several addresses.
    let all: Vec<TcpStream> = (0..160).map(|n| stalled_upload(&server, 2 + n / 60)).collect();
    assert!(was_ended(&all[60]), "an address with most of them makes room");
    let (conditions, began) = (Conditions::begin(), Instant::now());
    assert!(server.end(), "exit code 0");
    let took = began.elapsed();
    judge!(conditions, took < Duration::from_secs(10), "it ended after {took:?}");
}

/// A server that may have so many files open: `SOFT:HARD`.
fn with_files(stored: &Stored, files: &str, rest: &[&str]) -> Server {
    let mut command = Command::new("prlimit");
    command.args([&format!("--nofile={files}"), "--", env!("CARGO_BIN_EXE_btu-board"), "serve"]);
    command.args(stored.arguments()).args(["--listen", "127.0.0.1:0"]).args(rest);
    Server::of(command)
}

/// An upload that stops in the middle. The server waits for the rest, or has ended the connection.
fn stalled_upload(server: &Server, last: u8) -> TcpStream {
    let mut stream = connect_from(server, last);
    let head = "POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\nExpect: 100-continue\r\n\r\n";
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.read_exact(&mut [0; "HTTP/1.1 100 Continue\r\n\r\n".len()]);
    stream
}

/// Whether the server ends a connection without an answer.
fn was_ended(mut stream: &TcpStream) -> bool {
    let mut said = Vec::new();
    let read = stream.read_to_end(&mut said);
    let is_reset = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
    said.is_empty() && read.map_or_else(is_reset, |_| true)
}

/// Eight addresses say nothing, one writes a letter now and then, one stops in the middle of uploads.
#[test]
fn silent_slow_and_stalled_callers_keep_no_reader_waiting() {
    let stored = directory();
    let server = stored.server();
    let silent: Vec<_> = (0..500).map(|n| connect_from(&server, 2 + (n / 63) as u8)).collect();
    let mut slow: Vec<_> = (0..64).map(|_| connect_from(&server, 20)).collect();
    let stalled: Vec<_> = (0..16).map(|_| stalled_upload(&server, 21)).collect();
    for letter in "GET /search HTTP/1.1".bytes() {
        for stream in &mut slow {
            // The server leaves it after a while.
            let _ = stream.write_all(&[letter]);
        }
        for page in ["/", "/rules"] {
            let began = Instant::now();
            let answer = curl(&["--max-time", "3", &format!("{}{page}", server.url)]);
            assert_eq!(answer.status, 200, "{page} after {:?}", began.elapsed());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(was_ended(&silent[0]), "who says nothing is left");
    drop(stalled);
}

#[test]
fn an_address_has_its_places_and_a_proxy_those_of_many() {
    let stored = directory();
    let server = with_files(&stored, "4096:4096", &["--proxy", "127.0.0.3"]);
    let all: Vec<_> = (0..65).map(|_| stalled_upload(&server, 2)).collect();
    assert!(was_ended(&all[64]), "it has 64 already");
    let proxied: Vec<_> = (0..100).map(|_| connect_from(&server, 3)).collect();
    for mut stream in proxied {
        stream.write_all(b"GET /rules HTTP/1.0\r\n\r\n").expect("sent");
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("an answer");
        assert!(said.starts_with("HTTP/1.0 200"), "{said}");
    }
    assert_eq!(curl(&[&server.url]).status, 200, "others have their own places");
}

#[test]
fn the_limit_of_open_files_is_raised() {
    let stored = directory();
    let server = with_files(&stored, "256:4096", &[]);
    assert_eq!(curl(&[&server.url]).status, 200, "it has begun to serve");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid()));
    let limits = limits.expect("the limits of a process");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    assert_eq!(files.split_whitespace().nth(3), Some("4096"), "{files}");
}

/// What keeps a server from starting is said with its place and its reason.
#[test]
fn what_keeps_a_server_from_starting_is_named() {
    let stored = directory();
    let server = stored.server();
    let address = server.url.strip_prefix("http://").expect("an address").to_owned();
    let refused = stored.command(&["serve", "--listen", &address]).expect_err("it is taken");
    assert!(refused.contains(&address) && refused.contains("Address already in use"), "{refused}");
    // A mistyped directory is no empty board.
    let refused = directory().command(&["check"]).expect_err("there is none");
    assert!(refused.contains("there is no board in"), "{refused}");
    for url in [
        "",
        "javascript:alert(1)",
        "https://x.example//y",
        "https://x.example/?q=1",
        "https://x.example/../y",
        "http://h:80:80",
        "http://[::1",
        "http://999.1.1.1",
    ] {
        let refused = directory().command(&["serve", "--url", url]).expect_err("it is no address");
        assert!(refused.contains("is no address such as"), "{url}: {refused}");
    }
    let Some(postgres) = Postgres::start() else { return };
    let on_postgres = postgres.database();
    let refused = on_postgres.command(&["serve", "--listen", &address]).expect_err("it is taken");
    assert!(refused.contains(&address) && refused.contains("Address already in use"), "{refused}");
    let secret = Stored::Postgres("postgres://board:secret@127.0.0.1:1/board".to_owned());
    let refused = secret.command(&["check"]).expect_err("it has a password");
    assert!(refused.contains("BTU_BOARD_DATABASE") && !refused.contains("secret"), "{refused}");
    let nowhere = Stored::Postgres("postgres://board@127.0.0.1:1/board".to_owned());
    let refused = nowhere.command(&["check"]).expect_err("nothing is there");
    assert!(refused.contains("127.0.0.1:1") && refused.contains("Connection refused"), "{refused}");
    assert!(!refused.contains("secret"), "{refused}");
}

/// Tables of another version are not touched.
#[test]
fn tables_of_another_version_are_refused() {
    let postgres = Postgres::start();
    let on_postgres = postgres.as_ref().map(Postgres::database);
    for (stored, change) in [
        (Some(directory()), "PRAGMA journal_mode = DELETE; PRAGMA user_version = 7"),
        (on_postgres, "UPDATE tables_version SET number = 7"),
    ] {
        let Some(stored) = stored else { continue };
        drop(stored.server());
        stored.command(&["check"]).expect("the same board");
        stored.execute(change);
        let file = || match &stored {
            Stored::Directory(path) => std::fs::read(path.path().join("board/board.sqlite")).ok(),
            _ => None,
        };
        let before = file();
        let refused = stored.command(&["check"]).expect_err("another version");
        assert!(refused.contains("have version 7"), "{refused}");
        assert!(before == file(), "each octet is as it was");
    }
}
