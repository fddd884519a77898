//! What operators look at: whether a server answers, what it counts, and what it says.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use btu_publication::SigningKey;
use serde_json::Value;
use tempfile::TempDir;

use btu_conditions::{Conditions, judge};

use crate::databases::{Postgres, Stored, directory};
use crate::support::{Made, Publisher, Server, connect_from, curl, publish};
use crate::uploads::until;

/// A server whose log is in a file.
pub(crate) struct Logged {
    pub(crate) server: Server,
    directory: TempDir,
}

impl Logged {
    pub(crate) fn start(stored: &Stored, rest: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
        command.arg("serve").args(stored.arguments()).args(["--listen", "127.0.0.1:0"]).args(rest);
        command.stderr(File::create(directory.path().join("log")).expect("a file"));
        Self { server: Server::of(command), directory }
    }

    fn text(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).expect("a log")
    }

    fn lines(&self, kind: &str) -> Vec<String> {
        let of_kind = |line: &&str| line.split(' ').nth(1) == Some(kind);
        self.text().lines().filter(of_kind).map(str::to_owned).collect()
    }

    /// Waits for a line: what was answered is noted when its last octet has been handed on.
    pub(crate) fn said(&self, words: &[&str]) -> String {
        let began = Instant::now();
        loop {
            let text = self.text();
            let found = text.lines().find(|line| words.iter().all(|word| line.contains(word)));
            if let Some(line) = found {
                return line.to_owned();
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{words:?} is not in {text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn each_request_and_each_change_has_a_line_without_secrets() {
    let stored = directory();
    let logged = Logged::start(&stored, &["--proxy", "127.0.0.1"]);
    let (server, url) = (&logged.server, &logged.server.url);
    let ada = Publisher::new("Ada");
    let run = publish(&Made::of(100.0), &ada, server);
    curl(&[
        "-H",
        "X-Forwarded-For: 203.0.113.9, 198.51.100.7",
        &format!("{url}/search?words=secret"),
    ]);
    curl(&[&format!("{url}/%1b%5b2J%0aaudit")]);
    let form = format!("token={}&text=changed", run.token);
    curl(&["-d", &form, &format!("{url}/runs/{}/withdrawal", run.id)]);
    // A token where none belongs: whole, without a letter, and with one written otherwise.
    let token = &run.token;
    let other = format!("%{:x}{}", token.as_bytes()[0], &token[1..]);
    for path in [&format!("runs/{token}"), &token[1..], &other, &format!("chain?after={token}")] {
        curl(&[&format!("{url}/{path}")]);
    }
    logged.said(&["path=/runs/[hidden] status=404"]);
    let line = logged.said(&["access", "path=/search", "caller=198.51.100.7", "method=GET"]);
    assert!(line.contains(" status=200 octets=") && line.contains(" ms="), "{line}");
    let time = line.split(' ').next().expect("a time");
    assert!(time.ends_with('Z') && time.parse::<jiff::Timestamp>().is_ok(), "{line}");
    let key = ada.key.public().expect("a key").to_string();
    logged.said(&["audit change=publish by=127.0.0.1", &run.id, &key]);
    logged.said(&["audit change=withdraw by=127.0.0.1", &run.id]);
    logged.said(&["path=/%1b%5b2J%0aaudit status=404"]);
    let text = logged.text();
    for secret in [&run.token, &run.token[1..], "secret", "\u{1b}"] {
        assert!(!text.contains(secret), "{secret:?} is in {text}");
    }
}

/// What is no request of HTTP is answered before the board sees it, and has a line all the same.
#[test]
fn requests_that_cannot_be_read_have_a_line() {
    let stored = directory();
    let logged = Logged::start(&stored, &[]);
    let (good, fields) = ("GET /rules HTTP/1.1\r\nHost: x\r\n\r\n", "a: b\r\n".repeat(200));
    for (sent, statuses) in [
        ("no request at all\r\n\r\n".to_owned(), &["400"][..]),
        (format!("{good}GET / HTTP/1.1\r\nno colon\r\n\r\n"), &["400"]),
        (format!("GET / HTTP/1.1\r\n{fields}\r\n"), &["431"]),
        // By how much has been read when it is too much.
        (format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000)), &["414", "431"]),
    ] {
        let unread = || -> Vec<String> {
            let is_unread = |line: &String| line.contains(" method=- path=- status=");
            logged.lines("access").into_iter().filter(is_unread).collect()
        };
        let before = unread().len();
        let mut stream = connect_from(&logged.server, 1);
        // The answer may come before all is sent.
        let _ = stream.write_all(sent.as_bytes());
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        until("it has a line", || unread().len() > before);
        let line = unread().pop().expect("a line");
        let status = statuses.iter().find(|status| line.contains(&format!(" status={status} ")));
        let status = status.unwrap_or_else(|| panic!("{statuses:?}: {line}"));
        let said = String::from_utf8_lossy(&said);
        assert!(said.is_empty() || said.contains(&format!("HTTP/1.1 {status}")), "{said}");
        assert!(line.contains("caller=127.0.0.1") && unread().len() == before + 1, "{line}");
    }
}

#[test]
fn what_the_operator_changes_has_a_line() {
    let stored = directory();
    let server = stored.server();
    let run = publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    let key = SigningKey::new().expect("a key").public().expect("one").to_string();
    for (arguments, said) in [
        (&["block", &key][..], format!("audit change=block by=operator key={key}")),
        (&["unblock", &key], format!("audit change=unblock by=operator key={key}")),
        (&["token", &run.id], format!("audit change=token by=operator run={}", run.id)),
        (
            &["withdraw", &run.id, "--why", "x"],
            format!("audit change=withdraw by=operator run={}", run.id),
        ),
        (&["delete", &run.id], format!("audit change=delete by=operator run={}", run.id)),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
        command.arg(arguments[0]).args(stored.arguments()).args(&arguments[1..]);
        let done = command.output().expect("it starts");
        let line = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success() && line.contains(&said), "{line}");
        let answer = String::from_utf8_lossy(&done.stdout).into_owned();
        let secret = answer.trim_end_matches(".\n").rsplit(' ').next().expect("a word");
        assert!(arguments[0] != "token" || !line.contains(secret), "{line}");
    }
}

#[test]
fn logs_are_json_or_nothing_where_that_is_asked_for() {
    let stored = directory();
    let json = Logged::start(&stored, &["--log", "json"]);
    curl(&[&format!("{}/rules", json.server.url)]);
    let line = json.said(&["/rules"]);
    let line: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&line["kind"], &line["status"]), (&"access".into(), &200.into()));
    let mut none = Logged::start(&stored, &["--log", "none"]);
    curl(&[&format!("{}/rules", none.server.url)]);
    assert!(none.server.end());
    assert_eq!(none.text(), "");
}

#[test]
fn health_is_of_the_process_and_readiness_of_the_database() {
    let Some(postgres) = Postgres::start() else { return };
    let stored = postgres.database();
    let logged = Logged::start(&stored, &[]);
    let url = &logged.server.url;
    let status = |page: &str| curl(&[&format!("{url}{page}")]).status;
    assert_eq!([status("/health"), status("/ready")], [200, 200]);
    postgres.down();
    let began = Instant::now();
    let refused: Vec<u16> = (0..40).map(|_| status("/ready")).collect();
    let seconds = began.elapsed().as_secs() + 1;
    assert!(refused.iter().all(|status| *status == 503), "{refused:?}");
    assert_eq!(status("/health"), 200);
    postgres.up();
    assert_eq!(status("/ready"), 200);
    // At most one a second, and together they count all.
    let errors = logged.lines("error");
    assert!(errors.len() as u64 <= 2 * seconds + 1, "{errors:?}");
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(status("/health"), 200);
    logged.said(&["path=/ready status=200"]);
    let number = |line: &String| {
        let unsaid = line
            .rsplit("not_written_before=")
            .next()
            .and_then(|number| number.parse::<usize>().ok());
        unsaid.expect("a number") + usize::from(line.contains(" error="))
    };
    assert_eq!(logged.lines("error").iter().map(number).sum::<usize>(), 40);
}

/// A database that is there and says nothing: callers are told soon, and are answered when it goes on.
#[test]
fn a_database_that_stalls_is_not_ready() {
    let Some(postgres) = Postgres::start() else { return };
    let stored = postgres.database();
    let refused = stored.command(&["check"]).expect_err("an empty database");
    assert!(refused.contains("there is no board"), "{refused}");
    let server = counting(&stored);
    let status = |page: &str| curl(&["--max-time", "40", &format!("{}{page}", server.url)]).status;
    assert_eq!(status("/ready"), 200);
    postgres.signal("STOP");
    let (conditions, began) = (Conditions::begin(), Instant::now());
    std::thread::scope(|scope| {
        // More than there are connections to the database.
        let all: Vec<_> = (0..20).map(|_| scope.spawn(|| status("/ready"))).collect();
        assert_eq!(status("/health"), 200);
        let counts = curl(&["--max-time", "15", counts(&server)]).text();
        assert!(counts.ends_with("# EOF\n") && !counts.contains("\nbtu_board_runs "), "{counts}");
        assert!(all.into_iter().all(|one| one.join().expect("an answer") == 503));
    });
    let took = began.elapsed();
    judge!(conditions, took < Duration::from_secs(15), "they were answered after {took:?}");
    assert_eq!(status("/"), 503, "a reader waits no longer than is said");
    postgres.signal("CONT");
    assert_eq!(status("/ready"), 200);
}

/// A server that says what it counts.
fn counting(stored: &Stored) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
    command.arg("serve").args(stored.arguments()).args(["--listen", "127.0.0.1:0"]);
    command.args(["--metrics-listen", "127.0.0.1:0"]);
    Server::of(command)
}

/// Where it says so.
fn counts(server: &Server) -> &str {
    server.said[1].strip_prefix("What it counts is at ").expect("an address")
}

#[test]
fn the_operators_programs_read_what_a_server_counts() {
    let postgres = Postgres::start();
    let stored = postgres.as_ref().map_or_else(directory, Postgres::database);
    let mut server = counting(&stored);
    publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    curl(&["-F", "manifest=x", &format!("{}/api/v1/runs", server.url)]);
    curl(&[&format!("{}/nowhere", server.url)]);
    assert_eq!(curl(&[&format!("{}/metrics", server.url)]).status, 404, "not for strangers");
    let said = counts(&server).to_owned();
    let read = || curl(&[&said]).text();
    let began = Instant::now();
    while !read().contains("status=\"4xx\"} 3") && began.elapsed() < Duration::from_mins(3) {}
    let text = read();
    for line in [
        "btu_board_requests_total{status=\"2xx\"} 1",
        "btu_board_requests_total{status=\"4xx\"} 3",
        "btu_board_uploads_total{result=\"taken\"} 1",
        "btu_board_uploads_total{result=\"refused\"} 1",
        "btu_board_programs 0",
        "btu_board_runs 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
    parsed_by_prometheus(&text);
    assert!(server.end(), "it ends in order");
}

/// The parser that Prometheus itself publishes reads it, if it is installed.
fn parsed_by_prometheus(text: &str) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), text).expect("written");
    let program = "import sys\ntry:\n from prometheus_client.openmetrics.parser import text_string_to_metric_families as read\n\
                   except ImportError:\n sys.exit(0)\nassert len(list(read(open(sys.argv[1]).read()))) == 7";
    let mut python = Command::new("/usr/bin/python3");
    let read = python.args(["-c", program]).arg(file.path()).status();
    assert!(read.is_ok_and(|status| status.success()), "{text}");
}
