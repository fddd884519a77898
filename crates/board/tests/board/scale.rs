//! Ten thousand runs: how long pages take, and how much memory lists take.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use btu_conditions::Conditions;

use crate::databases::{Postgres, Stored, directory, is_unchanged};
use crate::support::{Made, Publisher, Server, connect_from, curl, publish};

const RUNS: usize = 10_000;

/// A page is there within this time, in the median.
const LONGEST_PAGE: Duration = Duration::from_millis(100);

/// The server's memory may grow by so much when it lists everything.
const MOST_GROWTH_KIB: u64 = 20 << 10;

/// What copies of a run have as it has it.
pub(crate) const COPIED: &str = "signed_by, visibility, received, token_sha256, manifest, signature, title, profile, network, particulars,
    is_low_confidence, why_not_ranked, marks, system, processor, cpus, memory_bytes, is_virtual, kernel, price_hundredths,
    currency, seed, created, signed, spent_seconds, cells, btu_version";

/// Copies the one run of a board: nine of ten are of its plan, every second is of its publisher, and three are of
/// a machine.
pub(crate) fn fill(stored: &Stored) {
    let sql = format!(
        "INSERT INTO publishers (key, id, name, is_laboratory, is_blocked, added)
             WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
             SELECT 'key-' || i, 'id-' || i, 'Publisher ' || i, 0, 0, added FROM n, publishers;
         INSERT INTO runs (id, place, uuid, uuid_sha256, cells_sha256, publisher, machine, plan_hash, rate_bits_per_second, low_bits_per_second,
                 high_bits_per_second, cpu_rounds_per_second, {COPIED})
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS} - 1)
             SELECT 'copy' || i, place + i, 'uuid-' || i, 'uuid-' || i, 'cells-' || i, CASE WHEN i % 2 = 0 THEN publisher ELSE 'key-' || (i % 200) END,
                 machine || (i / 6), CASE WHEN i % 10 = 9 THEN 'plan-' || (i % 200) ELSE plan_hash END,
                 rate_bits_per_second * (1 + i * 0.001), low_bits_per_second * (1 + i * 0.001),
                 high_bits_per_second * (1 + i * 0.001), cpu_rounds_per_second, {COPIED} FROM n, runs;
         INSERT INTO chain (place, manifest_sha256, received, link)
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS} - 1)
             SELECT place + i, 'manifest-' || i, received, link FROM n, chain;
         UPDATE chain_end SET place = {RUNS};
         UPDATE changes SET number = number + 1;"
    );
    stored.execute(&sql);
}

/// How long a page takes, in the median.
fn time_of(server: &Server, page: &str) -> Duration {
    let address = server.url.strip_prefix("http://").expect("an address");
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let began = Instant::now();
            let mut stream = TcpStream::connect(address).expect("a connection");
            let request = format!("GET {page} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).expect("sent");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("an answer");
            assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[4]
}

/// The most memory that a process had so far.
fn peak_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()));
    let status = status.expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Pages of ten thousand runs.
pub(crate) fn ten_thousand_runs(stored: &Stored) {
    let server = stored.server();
    let ada = Publisher::new("Ada");
    let run = publish(&Made::of(100.0), &ada, &server);
    let shown = curl(&[&format!("{}/api/v1/runs/{}", server.url, run.id)]).json();
    let plan = shown["plan"].as_str().expect("a plan").to_owned();
    fill(stored);
    let key = ada.key.public().expect("a key").to_string();
    let publisher: String = btu_publication::sha256(key.as_bytes()).chars().take(16).collect();
    let conditions = Conditions::begin();
    for page in [
        "/".to_owned(),
        format!("/plans/{plan}"),
        format!("/plans/{plan}?from=1500"),
        "/search?words=old+laptop+Ada".to_owned(),
        "/search?words=is+nowhere+at+all".to_owned(),
        format!("/publishers/{publisher}"),
        format!("/runs/{}", run.id),
        "/runs/copy5000".to_owned(),
        "/api/v1/runs?before=9000".to_owned(),
        "/feed.atom".to_owned(),
    ] {
        let time = time_of(&server, &page);
        eprintln!("{page}: {time:?}");
        if time > LONGEST_PAGE {
            conditions.out_of_bounds(&format!("{page} takes {time:?}"));
        }
    }
    searches_end_in_steps(&server);
    lists_take_little_memory(&server);
}

/// A search looks through a part of the runs, and says where the next one begins.
fn searches_end_in_steps(server: &Server) {
    let (mut before, mut steps) = (String::new(), 0);
    loop {
        let url = format!("{}/api/v1/runs?words=nowhere+at+all{before}", server.url);
        let found = curl(&[&url]).json();
        assert_eq!(found["runs"].as_array().map(Vec::len), Some(0), "{found}");
        steps += 1;
        let Some(next) = found["next"].as_u64() else { break };
        before = format!("&before={next}");
    }
    assert_eq!(steps, 5, "2000 of {RUNS} at a time");
}

fn lists_take_little_memory(server: &Server) {
    let before = peak_kib(server);
    for (list, lines) in [("/runs.csv", RUNS + 1), ("/chain", RUNS)] {
        let answer = curl(&[&format!("{}{list}", server.url)]);
        assert_eq!(answer.text().lines().count(), lines, "{list}");
        assert!(list == "/chain" || answer.body.len() > 2 << 20, "{}", answer.body.len());
        let growth = peak_kib(server) - before;
        eprintln!("{list}: {} bytes, memory grew by {growth} KiB", answer.body.len());
        assert!(growth < MOST_GROWTH_KIB, "{list}: {growth} KiB");
    }
}

/// A table of which the rest cannot be read breaks off: no program takes what came for all of it.
#[test]
fn a_table_that_cannot_go_on_breaks_off() {
    let stored = directory();
    let server = stored.server();
    publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    fill(&stored);
    let mut stream = connect_from(&server, 1);
    let asked = b"GET /runs.csv HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(asked).expect("sent");
    stream.read_exact(&mut [0; 1024]).expect("a beginning");
    stored.execute("ALTER TABLE runs RENAME TO gone");
    let mut rest = Vec::new();
    // Where much has not left yet, the connection is reset.
    let _ = stream.read_to_end(&mut rest);
    assert!(!rest.ends_with(b"\r\n0\r\n\r\n"), "the last chunk of HTTP/1.1");
    assert_eq!(curl(&[&format!("{}/runs.csv", server.url)]).status, 503);
}

#[test]
fn pages_of_ten_thousand_runs_on_sqlite() {
    if is_unchanged() {
        return;
    }
    ten_thousand_runs(&directory());
}

#[test]
fn pages_of_ten_thousand_runs_on_postgres() {
    if is_unchanged() {
        return;
    }
    let Some(postgres) = Postgres::start() else { return };
    ten_thousand_runs(&postgres.database());
}
