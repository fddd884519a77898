//! Uploads that are broken, stop in the middle, or are given up; and what a killed server leaves.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use btu_publication::sha256;

use btu_conditions::{Conditions, judge};

use crate::databases::{Stored, directory};
use crate::support::{
    Made, Publisher, Sent, Server, btu, connect_from, connect_with, curl, line, publish,
};

/// The head of an upload of so many bytes.
fn head(length: usize) -> String {
    format!(
        "POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// Uploads that go on for ever, or are none.
#[test]
fn broken_uploads_are_refused() {
    let stored = directory();
    let server = stored.server();
    let line = line("x", "y", "z");
    let unknown = line.replace("}\n", ",\"x\":1}\n");
    let chunked =
        "POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n";
    for (what, sent, word) in [
        ("no public key", head(line.len()) + &line, "public key"),
        ("another field", head(unknown.len()) + &unknown, "cannot be read"),
        ("a field less", head(4) + "{}\n\n", "cannot be read"),
        ("a deep line", head(9002) + &"[".repeat(9000) + "\n\n", "cannot be read"),
        ("an endless line", head(1 << 20) + &"x".repeat(1 << 20), "more than 16384 bytes"),
        ("no line", head(9) + "{\"manife\"", "within its first line"),
        ("no end", head(900) + "{\"manife\"", "takes too long"),
        ("nothing", head(0), "within its first line"),
        ("more than is taken", head(1 << 40) + &line, "more than 67108864 bytes"),
        ("no length", chunked.to_owned(), "Content-Length"),
        ("garbage", head(2000) + &"\0\u{1}".repeat(1000), "within its first line"),
    ] {
        let said = said(&server, &sent);
        let status = said.get(9..12).unwrap_or_default();
        // Where much is not read, the end of the connection may come before the answer.
        assert!(matches!(status, "422" | ""), "{what}: {said}");
        assert!(status.is_empty() || said.contains(word), "{what}: {said}");
    }
    // Forms take no room for an archive.
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(32 << 20).expect("sparse");
    let archive = format!("@{}", file.path().display());
    for address in ["/api/v1/challenges", "/api/v1/runs/x/certificates"] {
        let answer = curl(&["--data-binary", &archive, &format!("{}{address}", server.url)]);
        // Or the connection ends before the answer, which is sent before everything is read.
        assert!(matches!(answer.status, 422 | 100 | 0), "{}", answer.text());
        let is_read = answer.status == 422 && !answer.text().contains("too large");
        assert!(!is_read, "{}", answer.text());
    }
}

/// Sends octets, and returns what comes back.
fn said(server: &Server, octets: &str) -> String {
    let mut stream = connect_from(server, 1);
    // The server may refuse before all is sent.
    let _ = stream.write_all(octets.as_bytes());
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

/// The status and the text of the answer, when it comes.
fn answer(stream: &mut TcpStream) -> String {
    let mut said = [0; 4096];
    let length = stream.read(&mut said).expect("an answer within a minute");
    String::from_utf8_lossy(&said[..length]).into_owned()
}

/// The memory that a server has, or the most that it had (`VmRSS`, `VmHWM`), in MiB.
pub(crate) fn mebibytes(server: &Server, what: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix(what)).expect("a line");
    let number = line.trim_start_matches(':').trim().trim_end_matches(" kB");
    number.parse::<u64>().expect("a number") >> 10
}

/// Sixteen uploads whose first line does not end take no memory: of sixteen heads of 60 MiB the board kept 986 MiB once.
#[test]
fn endless_first_lines_take_no_memory() {
    let stored = directory();
    let server = stored.server();
    let sent = head(60 << 20) + &"x".repeat(8 << 20);
    let mut callers: Vec<TcpStream> = (0..16).map(|_| connect_from(&server, 1)).collect();
    std::thread::scope(|scope| {
        for caller in &mut callers {
            scope.spawn(|| caller.write_all(sent.as_bytes()).expect("it is read, and forgotten"));
        }
    });
    let most = mebibytes(&server, "VmHWM");
    assert!(most < 64, "{most} MiB");
}

/// An upload with a first line that holds.
fn announced(server: &Server, publisher: &Publisher, length: usize) -> String {
    let line = Sent::of(&Made::of(100.0), publisher, &server.url).line(publisher);
    head(length + line.len()) + &line
}

/// Uploads that announce all the room there is, begin fast and stall keep no publisher out, and are left soon, however much
/// came at first. Four of them kept each publisher out for as long as they came again.
#[test]
fn a_fast_start_buys_no_long_stall() {
    let stored = directory();
    let server = stored.server();
    let mallory = Publisher::new("Mallory");
    let first_part = announced(&server, &mallory, (64 << 20) - (16 << 10));
    let small = announced(&server, &mallory, 1 << 20) + &"x".repeat(1 << 20);
    let ada = Publisher::new("Ada");
    let sent = Sent::of(&Made::of(100.0), &ada, &server.url);
    let began = Instant::now();
    let stalled = |last: u8| {
        let mut stream = connect_from(&server, last);
        stream.write_all(first_part.as_bytes()).expect("sent");
        stream.write_all(&vec![0; 8 << 20]).expect("sent");
        stream
    };
    let mut stalled: Vec<TcpStream> = (2..10).map(stalled).collect();
    assert_eq!(sent.send_from("127.0.0.20", &ada, &server.url).status, 201);
    let first = &mut stalled[0];
    // A byte now and then does not help.
    first.set_read_timeout(Some(Duration::from_millis(500))).expect("set");
    let mut said = [0; 12];
    while first.read_exact(&mut said).is_err() {
        assert!(began.elapsed() < Duration::from_mins(1), "it is still heard");
        let _ = first.write_all(b"x");
    }
    assert_eq!(&said, b"HTTP/1.1 422");
    assert_eq!(said_status(&server, &small), "422", "what is no archive");
}

fn said_status(server: &Server, sent: &str) -> String {
    said(server, sent).get(9..12).unwrap_or_default().to_owned()
}

/// Whatever the first line tells is refused before room is taken for the archive: those that are refused keep no other out.
#[test]
fn what_the_first_line_tells_is_refused_first() {
    let stored = directory();
    let server = stored.server();
    let mallory = Publisher::new("Mallory");
    let fresh = || Sent::of(&Made::of(100.0), &mallory, &server.url);
    let known = fresh();
    assert_eq!(known.send(&mallory, &server.url).status, 201);
    let mut elsewhere = fresh();
    "https://elsewhere.example.org".clone_into(&mut elsewhere.manifest.board);
    let mut forged = fresh();
    forged.signature = Some(mallory.key.sign("another text\n").expect("signed"));
    let mut refused = Vec::new();
    for (sent, word) in
        [(&known, "here already"), (&elsewhere, "signed for https"), (&forged, "signature")]
    {
        let line = sent.line(&mallory);
        let mut stream = connect_from(&server, 1);
        let begin = head((60 << 20) + line.len()) + &line;
        stream.write_all(begin.as_bytes()).expect("sent");
        refused.push((stream, word));
    }
    // While these three wait to be heard, 60 MiB are free for the next one of this host.
    let free = announced(&server, &mallory, 60 << 20);
    let mut waits = connect_from(&server, 1);
    waits.write_all(free.as_bytes()).expect("sent");
    for (mut stream, word) in refused {
        let said = answer(&mut stream);
        assert!(said.starts_with("HTTP/1.1 422") && said.contains(word), "{word}: {said}");
    }
    let said = answer(&mut waits);
    assert!(said.contains("takes too long"), "it was waited for: {said}");
}

/// Two hundred uploads and forms that stop in the middle keep no other publisher out, and are ended soon.
#[test]
fn stalled_uploads_keep_nobody_out() {
    let stored = directory();
    let server = stored.server();
    let upload = head(60_000_000) + "{\"manifest\":";
    let written = "POST /runs/x/withdrawal HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\
                   Content-Type: application/x-www-form-urlencoded\r\n\r\ntoken=";
    let mut stalled: Vec<TcpStream> = (0..200)
        .map(|n| {
            let mut stream = connect_from(&server, 2 + n / 50);
            let head = if n % 2 == 0 { &upload } else { written };
            stream.write_all(head.as_bytes()).expect("sent");
            stream
        })
        .collect();
    let (conditions, began) = (Conditions::begin(), Instant::now());
    publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    let took = began.elapsed();
    judge!(conditions, took < Duration::from_secs(30), "it was published after {took:?}");
    for stream in &mut stalled[..2] {
        let mut said = [0; 12];
        stream.read_exact(&mut said).expect("an answer within a minute");
        assert_eq!(&said, b"HTTP/1.1 422");
    }
}

/// An archive packed so that `padding` stands before its second half.
fn padded(archive: &[u8], padding: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(archive).read_to_end(&mut text).expect("an archive");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let (first, second) = text.split_at(text.len() / 2);
    packed.write_all(first).expect("packed");
    packed.flush().expect("packed");
    packed.get_mut().extend_from_slice(padding);
    packed.write_all(second).expect("packed");
    packed.finish().expect("packed")
}

/// What a program of gzip leaves out, 60 MiB of it for 79 kB of text, is not kept.
#[test]
fn padded_archives_are_refused() {
    let stored = directory();
    let server = stored.server();
    let mallory = Publisher::new("Mallory");
    let sent = Sent::of(&Made::of(100.0), &mallory, &server.url);
    let with = |archive: Vec<u8>| {
        let mut other = sent.copy();
        other.manifest.archive_sha256 = sha256(&archive);
        other.archive = archive;
        other.send(&mallory, &server.url)
    };
    let empty_blocks = [0, 0, 0, 0xff, 0xff].repeat((20 << 20) / 5);
    let refused = with(padded(&sent.archive, &empty_blocks)).refused();
    assert!(refused.contains("hold the same text"), "{refused}");
    let at_its_head = [&sent.archive[..10], &empty_blocks, &sent.archive[10..]].concat();
    let refused = with(at_its_head).refused();
    assert!(refused.contains("does not begin with its run"), "{refused}");
    // Other programs pack otherwise.
    assert_eq!(with(padded(&sent.archive, &empty_blocks[..50])).status, 201);
}

/// What programs of gzip write next to a text, its file's name above all, is not kept, in a first part or in one behind it.
#[test]
fn names_and_comments_of_gzip_are_refused() {
    let stored = directory();
    let server = stored.server();
    let ada = Publisher::new("Ada");
    let sent = Sent::of(&Made::of(100.0), &ada, &server.url);
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&*sent.archive).read_to_end(&mut text).expect("an archive");
    let packed = |head: flate2::GzBuilder, text: &[u8]| {
        let mut packed = head.write(Vec::new(), flate2::Compression::default());
        packed.write_all(text).expect("packed");
        packed.finish().expect("packed")
    };
    let plain = flate2::GzBuilder::new;
    for (archive, word) in [
        (packed(plain().filename("/home/ada/secret.btu"), &text), "the name of a file"),
        (packed(plain().comment("a comment"), &text), "a comment"),
        (packed(plain().extra("extra"), &text), "other fields"),
        (
            [sent.archive.clone(), packed(plain().comment("secret"), b"")].concat(),
            "something follows",
        ),
    ] {
        let mut other = sent.copy();
        other.manifest.archive_sha256 = sha256(&archive);
        other.archive = archive;
        let refused = other.send(&ada, &server.url).refused();
        assert!(refused.contains(word), "{word}: {refused}");
    }
    assert_eq!(sent.send(&ada, &server.url).status, 201);
}

/// A program in the place of `btu` that does this; where `started` stands, it notes what it started.
pub(crate) fn program(directory: &Path, what: &str) -> String {
    let program = directory.join("btu");
    let (started, btu) = (directory.join("started"), btu());
    let what = what.replace("started", &started.display().to_string());
    let btu = btu.display();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exec {btu} --version\n{what}\nexec {btu} \"$@\"\n"
    );
    fs::write(&program, script).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    program.display().to_string()
}

/// The lines that it noted.
pub(crate) fn started(directory: &Path) -> Vec<String> {
    let started = fs::read_to_string(directory.join("started")).unwrap_or_default();
    started.lines().map(str::to_owned).collect()
}

/// A server with a directory for temporary files, and perhaps another program.
pub(crate) fn server_with(stored: &Stored, temporary: &Path, rest: &[&str]) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
    command.arg("serve").args(stored.arguments()).args(["--listen", "127.0.0.1:0"]).args(rest);
    command.env("TMPDIR", temporary);
    Server::of(command)
}

/// Twelve uploads of a host that take long to compute leave places to others, and so do twelve reports that it asks for.
#[test]
fn one_host_does_not_have_all_places() {
    let (stored, temporary) = (directory(), tempfile::tempdir().expect("a directory"));
    let (ada, mallory) = (Publisher::new("Ada"), Publisher::new("Mallory"));
    let url = stored.server().url.clone();
    let long: String = (0..40_000_u32).map(|n| sha256(&n.to_le_bytes())[..8].to_owned()).collect();
    let large = || Made { processor: Box::leak(long.clone().into_boxed_str()), ..Made::of(100.0) };
    let honest = Sent::of(&Made::of(100.0), &ada, &url);
    let hostile: Vec<Sent> = (0..12).map(|_| Sent::of(&large(), &mallory, &url)).collect();
    assert!(hostile[0].archive.len() > honest.archive.len() + (100 << 10), "it is larger");
    // One of them is published before the program gets stuck.
    let first = stored.another(&url);
    assert_eq!(hostile[0].send(&mallory, &first.url).status, 201);
    let run = curl(&[&format!("{}/api/v1/runs", first.url)]).json();
    let run = run["runs"][0]["id"].as_str().expect("a run").to_owned();
    drop(first);
    let stuck = format!(
        "[ -f archive ] && [ $(wc -c <archive) -gt {} ] && echo x >>started && exec sleep 600",
        honest.archive.len() + (50 << 10)
    );
    let program = program(temporary.path(), &stuck);
    let mut server =
        server_with(&stored, temporary.path(), &["--program", &program, "--url", &url]);
    let started = || started(temporary.path()).len();
    let uploads: Vec<_> =
        hostile[1..].iter().map(|sent| spawned(&sent.arguments(&mallory, &server.url))).collect();
    until("two are being computed", || started() == 2);
    assert_eq!(honest.send_from("127.0.0.2", &ada, &server.url).status, 201);
    let report = format!("{}/runs/{run}/report", server.url);
    let reports: Vec<_> = (0..12).map(|_| spawned(std::slice::from_ref(&report))).collect();
    until("two more are being computed", || started() == 4);
    let own = curl(&["--interface", "127.0.0.2", &format!("{}/api/v1/runs", server.url)]).json();
    let own = own["runs"][0]["id"].as_str().expect("a run").to_owned();
    let own = format!("{}/runs/{own}/report", server.url);
    assert_eq!(curl(&["--interface", "127.0.0.2", &own]).status, 200);
    assert_eq!(started(), 4);
    server.kill();
    for mut caller in uploads.into_iter().chain(reports) {
        let _ = caller.wait();
    }
}

/// A hundred archives that are computed in vain in a day are enough, of an address by whatever keys, and of a key.
#[test]
fn refused_archives_are_counted() {
    let (stored, home) = (directory(), tempfile::tempdir().expect("a directory"));
    let program = program(home.path(), "echo x >>started\nexit 2");
    let server = server_with(&stored, home.path(), &["--program", &program]);
    let (ada, bob) = (Publisher::new("Ada"), Publisher::new("Bob"));
    let sent = Sent::of(&Made::of(100.0), &ada, &server.url);
    assert!((0..100).all(|_| sent.send(&ada, &server.url).status == 422));
    for (from, publisher, status) in [
        ("127.0.0.1", &ada, 429),
        ("127.0.0.1", &bob, 429),
        ("127.0.0.2", &ada, 429),
        ("127.0.0.2", &bob, 422),
    ] {
        let answer = sent.send_from(from, publisher, &server.url);
        assert_eq!(answer.status, status, "{from}: {}", answer.text());
    }
    assert_eq!(started(home.path()).len(), 101);
}

fn spawned(arguments: &[String]) -> std::process::Child {
    let mut curl = Command::new("curl");
    curl.arg("-s").args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    curl.spawn().expect("curl")
}

/// The address of an archive of 60 MiB.
fn large_archive(stored: &Stored, server: &Server) -> String {
    let run = publish(&Made::of(100.0), &Publisher::new("Ada"), server);
    stored.execute(&format!(
        "DELETE FROM archive_pieces; INSERT INTO archive_pieces (run, number, octets)
             WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 239)
             SELECT '{}', i, randomblob(262144) FROM n",
        run.id
    ));
    format!("/runs/{}/archive", run.id)
}

/// Fourteen addresses whose readers take nothing, which had all the memory for archives for 33 s, keep no other out; and one
/// who takes 100 kB/s stays.
#[test]
fn stalled_readers_make_room_and_a_slow_one_stays() {
    let stored = directory();
    let server = stored.server();
    let asked = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", large_archive(&stored, &server));
    let ask = |last: u8| {
        let mut stream = connect_from(&server, last);
        stream.write_all(asked.as_bytes()).expect("sent");
        stream
    };
    let mut slow = ask(30);
    let mut stalled: Vec<_> = (0..14 * 64_u16).map(|number| ask(2 + (number % 14) as u8)).collect();
    for stream in &mut stalled {
        // One that was ended meanwhile has said nothing.
        let _ = stream.read(&mut [0; 12]);
    }
    let mut others = Vec::new();
    for step in 0..160_u8 {
        slow.read_exact(&mut [0; 10_000]).expect("it takes 100 kB/s");
        if step % 8 == 0 {
            let mut other = ask(40 + step / 8);
            let mut said = [0; 12];
            other.read_exact(&mut said).expect("an answer");
            assert_eq!(&said, b"HTTP/1.1 200", "step {step}");
            others.push(other);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A reader with a small buffer who takes 50 kB/s, which the kernel sees as one window after the other that is full, was ended
/// after 31 s. It stays and gets every octet; one who takes nothing for 30 s is ended.
#[test]
fn a_slow_reader_with_a_small_buffer_stays() {
    let stored = directory();
    let server = stored.server();
    let address = large_archive(&stored, &server);
    let whole = curl(&[&format!("{}{address}", server.url)]).body;
    let [mut slow, mut stalled] = [30, 31].map(|last| {
        let mut stream = connect_with(&server, [127, 0, 0, last], Some(16 << 10));
        let asked = format!("GET {address} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(asked.as_bytes()).expect("sent");
        stream
    });
    let mut read = vec![0; 5000 * 400];
    for part in read.chunks_mut(5000) {
        slow.read_exact(part).expect("it takes 50 kB/s");
        std::thread::sleep(Duration::from_millis(100));
    }
    slow.read_to_end(&mut read).expect("the rest");
    assert!(read.ends_with(&whole), "{} of {} octets", read.len(), whole.len());
    let mut rest = Vec::new();
    let _ = stalled.read_to_end(&mut rest);
    assert!(rest.len() < whole.len(), "it took nothing for 40 s");
}

/// Forty readers who take 60 MiB slowly take the memory of some pieces: whole archives took 1.5 GB for 25 of them.
#[test]
fn slow_readers_take_little_memory() {
    let stored = directory();
    let server = stored.server();
    let address = large_archive(&stored, &server);
    let whole = curl(&[&format!("{}{address}", server.url)]);
    assert_eq!((whole.status, whole.body.len()), (200, 60 << 20));
    let before = mebibytes(&server, "VmRSS");
    let mut readers: Vec<TcpStream> = (0..40).map(|_| connect_from(&server, 1)).collect();
    for reader in &mut readers {
        let asked = format!("GET {address} HTTP/1.1\r\nHost: x\r\n\r\n");
        reader.write_all(asked.as_bytes()).expect("sent");
    }
    for reader in &mut readers {
        reader.read_exact(&mut [0; 1024]).expect("a beginning");
    }
    std::thread::sleep(Duration::from_secs(1));
    let taken = mebibytes(&server, "VmRSS").saturating_sub(before);
    eprintln!("{before} MiB, and {taken} MiB for 40 readers");
    assert!(taken < 64, "{taken} MiB");
}

/// Publishers who go away do not free the places of what is still computed for them; and a server that is
/// killed leaves neither programs nor directories.
#[test]
fn programs_are_few_and_end_with_the_server() {
    let (stored, temporary) = (directory(), tempfile::tempdir().expect("a directory"));
    let home = tempfile::tempdir().expect("a directory");
    let program = program(home.path(), "echo $$ >>started\nexec sleep 600");
    let mut server = server_with(&stored, temporary.path(), &["--program", &program]);
    let mallory = Publisher::new("Mallory");
    let sent = Sent::of(&Made::of(100.0), &mallory, &server.url);
    let arguments = sent.arguments(&mallory, &server.url);
    for _ in 0..10 {
        let mut curl = Command::new("curl");
        let mut curl = curl.args(&arguments).stderr(Stdio::null()).spawn().expect("curl");
        std::thread::sleep(Duration::from_millis(300));
        curl.kill().expect("it is ours");
        curl.wait().expect("it ends");
    }
    let started = started(home.path());
    assert!((1..=4).contains(&started.len()), "{started:?}");
    server.kill();
    until("programs end with the server", || {
        // One that ended without a parent that waits is a zombie.
        let lives = |id: &String| {
            fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
        };
        !started.iter().any(lives)
    });
    let left = || fs::read_dir(temporary.path()).expect("a directory").count();
    assert_eq!(left(), 1);
    let one = server_with(&stored, temporary.path(), &[]);
    let mut other = server_with(&stored, temporary.path(), &[]);
    assert_eq!(left(), 2, "that of the killed server is gone, and no other one's");
    assert!(other.end());
    assert_eq!(left(), 1);
    publish(&Made::of(100.0), &mallory, &one);
}

/// Waits for something, at most for a minute.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A server removes what a killed one has left, and nothing else, whatever it is called.
#[test]
fn the_scratch_directory_is_never_anothers() {
    let temporary = tempfile::tempdir().expect("a directory");
    // As an operator may call a copy, and as the server calls its own, with the mark of another program or none.
    let others =
        ["btu-board-backup", "btu-board-scratch-abcdefghijkl", "btu-board-scratch-012345678901"];
    for name in others {
        fs::create_dir(temporary.path().join(name)).expect("made");
        fs::write(temporary.path().join(name).join("data"), "dear").expect("written");
    }
    fs::write(temporary.path().join(others[2]).join("btu-board.lock"), "").expect("written");
    let stored = Stored::In(temporary.path().join("btu-board-data"));
    let server = server_with(&stored, temporary.path(), &[]);
    let ada = Publisher::new("Ada");
    publish(&Made::of(100.0), &ada, &server);
    // Another board's server starts, with the same directory for temporary files.
    let another = directory();
    let _second = server_with(&another, temporary.path(), &[]);
    for name in others {
        let data = fs::read_to_string(temporary.path().join(name).join("data"));
        assert_eq!(data.ok().as_deref(), Some("dear"), "{name}");
    }
    assert!(stored.command(&["check"]).expect("it is there").contains("1 accepted"));
}

/// No other user of the machine reads private runs, on the disk of the database or while they are computed.
#[test]
fn only_its_user_reads_the_boards_files() {
    let (stored, temporary) = (directory(), tempfile::tempdir().expect("a directory"));
    let server = server_with(&stored, temporary.path(), &[]);
    publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    let Stored::Directory(board) = &stored else { return };
    let board = board.path().join("board");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let files = |path: &Path| -> Vec<_> {
        fs::read_dir(path).expect("a directory").map(|entry| entry.expect("one").path()).collect()
    };
    let scratch = files(temporary.path());
    assert_eq!((scratch.len(), mode(&scratch[0]), mode(&board)), (1, 0o700, 0o700));
    let all = files(&board);
    assert!(all.len() >= 2, "{all:?}");
    for file in all {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}
