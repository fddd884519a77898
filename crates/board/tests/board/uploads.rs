//! Uploads that are broken, stop in the middle, or are given up; and what a killed server leaves.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::databases::{Stored, directory};
use crate::support::{Made, Publisher, Sent, Server, btu, curl, publish};

/// The form of an upload that goes on for ever, or is none.
#[test]
fn broken_uploads_are_refused() {
    let stored = directory();
    let server = stored.server();
    let head = |length: usize| {
        format!(
            "POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let part =
        |name: &str| format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\nx\r\n");
    let many: String = (0..5000).map(|n| part(&n.to_string())).collect();
    let twice = part("archive").repeat(3000);
    let endless_name =
        format!("--b\r\nContent-Disposition: form-data; name=\"{}", "n".repeat(1 << 20));
    let endless_text = part("manifest").trim_end().to_owned() + &"x".repeat(1 << 20);
    for (what, body, length) in [
        ("many parts", &many, many.len()),
        ("an archive again and again", &twice, twice.len()),
        ("an endless name", &endless_name, endless_name.len()),
        ("an endless text", &endless_text, endless_text.len()),
        ("no end", &part("manifest"), part("manifest").len()),
        ("more than is taken", &part("manifest"), 1 << 40),
        ("garbage", &"\0\u{1}".repeat(1000), 2000),
    ] {
        let said = said(&server, &(head(length) + body));
        let status = said.get(9..12).unwrap_or_default();
        // Where much is not read, the end of the connection may come before the answer.
        assert!(matches!(status, "413" | "422" | "400" | ""), "{what}: {said}");
    }
    // Forms without an archive take no room for one.
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(32 << 20).expect("sparse");
    let archive = format!("archive=@{}", file.path().display());
    for address in ["/api/v1/challenges", "/api/v1/runs/x/certificates"] {
        let answer = curl(&["-F", &archive, &format!("{}{address}", server.url)]);
        // Or the connection ends before the answer, which is sent before everything is read.
        assert!(matches!(answer.status, 422 | 100 | 0), "{}", answer.text());
        let is_read = answer.status == 422 && !answer.text().contains("too large");
        assert!(!is_read, "{}", answer.text());
    }
}

/// Sends octets, and returns what comes back.
fn said(server: &Server, octets: &str) -> String {
    let mut stream = connect(server);
    // The server may refuse before all is sent.
    let _ = stream.write_all(octets.as_bytes());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

fn connect(server: &Server) -> TcpStream {
    let address = server.url.strip_prefix("http://").expect("an address");
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_mins(1))).expect("set");
    stream
}

/// Two hundred uploads and forms that stop in the middle keep no other publisher out, and are ended soon.
#[test]
fn stalled_uploads_keep_nobody_out() {
    let stored = directory();
    let server = stored.server();
    let upload = "POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n\
                  Content-Length: 60000000\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"archive\"\r\n\r\nxx";
    let written = "POST /runs/x/withdrawal HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\
                   Content-Type: application/x-www-form-urlencoded\r\n\r\ntoken=";
    let mut stalled: Vec<TcpStream> = (0..200)
        .map(|n| {
            let mut stream = connect(&server);
            let head = if n % 2 == 0 { upload } else { written };
            stream.write_all(head.as_bytes()).expect("sent");
            stream
        })
        .collect();
    let began = Instant::now();
    publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    for stream in &mut stalled[..2] {
        let mut said = [0; 12];
        stream.read_exact(&mut said).expect("an answer within a minute");
        assert_eq!(&said, b"HTTP/1.1 422");
    }
}

/// A program in the place of `btu` that notes its number and sleeps.
fn sleeper(directory: &Path) -> String {
    let program = directory.join("btu");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exec {} --version\necho $$ >>{}/started\nexec sleep 600\n",
        btu().display(),
        directory.display()
    );
    fs::write(&program, script).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    program.display().to_string()
}

/// A server with a directory for temporary files, and perhaps another program.
pub(crate) fn server_with(stored: &Stored, temporary: &Path, rest: &[&str]) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
    command.arg("serve").args(stored.arguments()).args(["--listen", "127.0.0.1:0"]).args(rest);
    command.env("TMPDIR", temporary);
    Server::of(command)
}

/// Publishers who go away do not free the places of what is still computed for them; and a server that is
/// killed leaves neither programs nor directories.
#[test]
fn programs_are_few_and_end_with_the_server() {
    let (stored, temporary) = (directory(), tempfile::tempdir().expect("a directory"));
    let home = tempfile::tempdir().expect("a directory");
    let program = sleeper(home.path());
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
    let started = || fs::read_to_string(home.path().join("started")).unwrap_or_default();
    let started: Vec<String> = started().lines().map(str::to_owned).collect();
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
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
