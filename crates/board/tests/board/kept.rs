//! What readers, proxies and the board keep of public runs.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use btu_publication::Visibility;

use crate::databases::{Stored, directory};
use crate::races::count;
use crate::states::form;
use crate::support::{
    Made, Publisher, Server, connect_from, connect_with, curl, publish, publish_as,
};
use crate::uploads::{mebibytes, program, server_with, started, until};

/// The head of an answer, in small letters.
fn head(server: &Server, path: &str, headers: &[&str]) -> String {
    let address = format!("{}{path}", server.url);
    let mut arguments = vec!["-D", "-", "-o", "/dev/null", &address];
    arguments.extend(headers.iter().flat_map(|header| ["-H", header]));
    curl(&arguments).text().to_lowercase()
}

/// The name by which an answer is asked for again.
fn tag(head: &str) -> &str {
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: "));
    tag.unwrap_or_else(|| panic!("{head}"))
}

/// What never changes is made once, and asked for by its name; of what is not public, or is withdrawn or deleted, nothing is
/// kept.
pub(crate) fn what_never_changes_is_made_once(stored: &Stored) {
    let home = tempfile::tempdir().expect("a directory");
    let noted = "case $1 in report|compare) echo $1 >>started;; esac";
    let program = program(home.path(), noted);
    let server = server_with(stored, home.path(), &["--program", &program]);
    let made = |what: &str| started(home.path()).iter().filter(|one| *one == what).count();
    let ada = Publisher::new("Ada");
    let [one, other] = [100.0, 200.0].map(|rate| publish(&Made::of(rate), &ada, &server));
    let report = format!("/runs/{}/report", one.id);
    let comparison = format!("/compare?base={}&other={}", one.id, other.id);
    let archive = format!("/runs/{}/archive", other.id);
    let signature = format!("/runs/{}/manifest.minisig", other.id);
    let mut known = Vec::new();
    for path in [&report, &comparison, &archive, &signature] {
        let first = head(&server, path, &[]);
        assert!(first.contains("cache-control: public, no-cache"), "{path}: {first}");
        assert_eq!(tag(&head(&server, path, &[])), tag(&first), "{path}");
        let asked = format!("If-None-Match: \"x\", {}", tag(&first));
        // A weak name is compared as a strong one, and `*` is whatever there is.
        let weak = format!("If-None-Match: W/\"x\", W/{}", tag(&first));
        for asked in [&asked, &weak, "If-None-Match: *"] {
            let head = head(&server, path, &[asked]);
            assert!(head.starts_with("http/1.1 304"), "{path} {asked}: {head}");
        }
        known.push(asked);
    }
    let page = curl(&[&format!("{}{report}", server.url)]).body;
    assert_eq!((made("report"), made("compare")), (1, 1));
    assert!(page.starts_with(b"<!"), "it is the page");
    // The oldest make room.
    stored.execute("UPDATE kept_pages SET bytes = 67108864, made = '2026' WHERE run = other");
    head(&server, &format!("/compare?base={}&other={}", other.id, one.id), &[]);
    assert_eq!(count(stored, "SELECT count(*) FROM kept_pages WHERE run = other"), 0);
    assert_eq!(count(stored, "SELECT count(*) FROM kept_pages"), 2);

    what_is_not_public_is_not_kept(&server, &ada, &one.id, &one.token);
    let withdrawal = [("token", one.token.as_str()), ("text", "mine")];
    assert_eq!(form(&server, &one.id, "/withdrawal", &withdrawal).status, 303);
    assert_eq!(count(stored, "SELECT count(*) FROM kept_pages"), 0);
    assert!(head(&server, &report, &[&known[0]]).contains("no-store"));
    head(&server, &format!("/runs/{}/report", other.id), &[]);
    assert_eq!(count(stored, "SELECT count(*) FROM kept_pages"), 1);
    assert_eq!(form(&server, &other.id, "/deletion", &[("token", &other.token)]).status, 303);
    assert_eq!(count(stored, "SELECT count(*) FROM kept_pages"), 0);
    assert!(head(&server, &archive, &[&known[2]]).starts_with("http/1.1 410"));
}

fn what_is_not_public_is_not_kept(server: &Server, ada: &Publisher, public: &str, token: &str) {
    for visibility in [Visibility::Private, Visibility::Unlisted] {
        let run = publish_as(&Made::of(300.0), ada, server, visibility);
        let shown = format!("Authorization: Bearer {}", run.token);
        for name in ["report", "archive", "manifest"] {
            let head = head(server, &format!("/runs/{}/{name}", run.id), &[&shown]);
            assert!(head.starts_with("http/1.1 200") && head.contains("no-store"), "{head}");
            assert!(!head.contains("etag"), "{head}");
        }
    }
    let shown = format!("Authorization: Bearer {token}");
    let head = head(server, &format!("/runs/{public}/report"), &[&shown]);
    assert!(head.starts_with("http/1.1 200") && head.contains("no-store"), "{head}");
}

/// Readers who take large reports slowly take a share of the memory, counted before it is taken, and leave others theirs.
#[test]
fn reports_that_are_read_slowly_leave_room_for_others() {
    let stored = directory();
    let server = stored.server();
    let ada = Publisher::new("Ada");
    let [large, small] = [100.0, 200.0].map(|rate| publish(&Made::of(rate), &ada, &server));
    let report = |run: &str| format!("/runs/{run}/report");
    for run in [&large, &small] {
        head(&server, &report(&run.id), &[]);
    }
    stored.execute(&format!(
        "UPDATE kept_pages SET page = zeroblob(8388608), bytes = 8388608 WHERE run = '{}'",
        large.id
    ));
    let before = mebibytes(&server, "VmRSS");
    let ask = |last: u8, run: &str| {
        let mut stream = connect_from(&server, last);
        let asked = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", report(run));
        stream.write_all(asked.as_bytes()).expect("sent");
        let mut said = [0; 12];
        stream.read_exact(&mut said).expect("an answer");
        (String::from_utf8_lossy(&said[9..]).into_owned(), stream)
    };
    let readers: Vec<_> = (0..20).map(|_| ask(1, &large.id)).collect();
    let answered = |with: &str| readers.iter().filter(|(status, _)| status == with).count();
    assert_eq!((answered("200"), answered("429")), (8, 12));
    let taken = mebibytes(&server, "VmRSS").saturating_sub(before);
    assert!(taken < 100, "{taken} MiB");
    assert_eq!(ask(2, &large.id).0, "200");
    let began = Instant::now();
    until("who takes nothing makes room", || ask(1, &large.id).0 == "200");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    drop(readers);
    until("what is read no more is forgotten", || ask(1, &small.id).0 == "200");
}

/// Readers of many addresses who ask for one report after the other, and take them slowly, have the server keep what is counted
/// for them, and little more: it had 430 MiB in place of 256.
#[test]
fn reports_take_the_memory_that_is_counted() {
    let stored = directory();
    let server = stored.server();
    let run = publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    let report = format!("/runs/{}/report", run.id);
    head(&server, &report, &[]);
    stored.execute("UPDATE kept_pages SET page = zeroblob(640000), bytes = 640000");
    let before = mebibytes(&server, "VmRSS");
    let asked = format!("GET {report} HTTP/1.1\r\nHost: x\r\n\r\n").repeat(8);
    let mut readers: Vec<_> = (0..60 * 16)
        .map(|number| {
            let from = [127, 0, 3, (number % 60) as u8 + 1];
            let mut stream = connect_with(&server, from, Some(16 << 10));
            stream.write_all(asked.as_bytes()).expect("sent");
            stream.set_nonblocking(true).expect("set");
            stream
        })
        .collect();
    let (began, mut part) = (Instant::now(), vec![0; 32 << 10]);
    while began.elapsed() < Duration::from_secs(8) {
        // Two thirds take so much that their next report begins while the end of the last one is on its way.
        for stream in readers.chunks_mut(3).flat_map(|three| three.iter_mut().take(2)) {
            let _ = stream.read(&mut part);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let (now, most) = (mebibytes(&server, "VmRSS") - before, mebibytes(&server, "VmHWM") - before);
    eprintln!("{now} MiB, and {most} MiB at most");
    assert!(most < 256 + 64, "{most} MiB");
}
