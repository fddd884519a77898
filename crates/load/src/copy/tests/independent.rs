//! The programs of copies against others' programs: curl, lftp, Python's HTTP and FTP servers.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;

/// Octets of the files.
const SIZE: u64 = 2_000_003;

/// The token as a password and as a credential.
fn secret() -> String {
    btu_units::hexadecimal(&TOKEN)
}

/// Whether these commands succeed here; prints loudly if they do not.
fn has(commands: &[&[&str]]) -> bool {
    let works = |command: &[&str]| {
        let run = Command::new(command[0])
            .args(&command[1..])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        run.is_ok_and(|status| status.success())
    };
    let Some(missing) = commands.iter().find(|command| !works(command)) else { return true };
    assert!(
        std::env::var("BTU_LAB").as_deref() != Ok("required"),
        "LAB REQUIRED but {missing:?} does not work"
    );
    eprintln!("LAB SKIPPED: {missing:?} does not work here");
    false
}

fn run(program: &str, arguments: &[&str]) {
    let output =
        Command::new(program).args(arguments).stdin(Stdio::null()).output().expect("it starts");
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn digest_of(path: &Path) -> String {
    use sha2::Digest;
    btu_units::hexadecimal(&sha2::Sha256::digest(fs::read(path).expect("readable")))
}

/// A file of their own.
fn theirs(directory: &Path) -> std::path::PathBuf {
    let path = directory.join("theirs");
    let octets: Vec<u8> = (0..SIZE).map(|at| (at * at % 251) as u8).collect();
    fs::write(&path, octets).expect("written");
    path
}

fn received(report: Report) -> FileEnd {
    match report.outcome {
        Outcome::FileReceived(end) => end,
        other => panic!("{other:?}"),
    }
}

fn sent(report: Report) -> FileEnd {
    match report.outcome {
        Outcome::FileSent(end) => end,
        other => panic!("{other:?}"),
    }
}

/// Our server under another client, both ways. `put` and `get` are commands of the address and of a
/// path.
fn serves(
    program: Program,
    directory: &Path,
    put: impl FnOnce(SocketAddr, &Path),
    get: impl FnOnce(SocketAddr, &Path),
) {
    let file = place(SIZE, Storage::Memory, directory);
    let (address, taking) = server(Direction::Put, program, file.clone());
    let source = theirs(directory);
    put(address, &source);
    let end = received(
        taking.join().expect("no panic").unwrap_or_else(|error| panic!("{program}: {error}")),
    );
    assert_eq!((end.digest, end.bytes), (digest_of(&source), Bytes::new(SIZE)), "{program}");
    let (address, giving) = server(Direction::Get, program, file);
    let copy = directory.join("copy");
    get(address, &copy);
    let end =
        sent(giving.join().expect("no panic").unwrap_or_else(|error| panic!("{program}: {error}")));
    assert_eq!(end.digest, digest_of(&copy), "{program}");
}

#[test]
fn curl_puts_and_gets_by_http() {
    if !has(&[&["curl", "--version"]]) {
        return;
    }
    let directory = tempfile::tempdir().expect("tempdir");
    let credential = format!("Authorization: Bearer {}", secret());
    let url = |address| format!("http://{address}/copy");
    let curl = |option, path: &Path, address| {
        let path = path.to_str().expect("UTF-8");
        let quiet = ["-sSf", "--noproxy", "*", "-H", &credential];
        run("curl", &[&quiet[..], &[option, path, &url(address)]].concat());
    };
    let put = |address, path: &Path| curl("-T", path, address);
    let get = |address, path: &Path| curl("-o", path, address);
    serves(Program::Http, directory.path(), put, get);
}

#[test]
fn curl_and_lftp_put_and_get_by_ftp() {
    if !has(&[&["curl", "--version"], &["lftp", "--version"]]) {
        return;
    }
    let directory = tempfile::tempdir().expect("tempdir");
    let user = format!("btu:{}", secret());
    let url = |address| format!("ftp://{address}/copy.bin");
    let put = |address, path: &Path| {
        run(
            "curl",
            &[
                "-sSf",
                "--noproxy",
                "*",
                "-u",
                &user,
                "-T",
                path.to_str().expect("UTF-8"),
                &url(address),
            ],
        );
    };
    let get = |address, path: &Path| {
        run(
            "curl",
            &[
                "-sSf",
                "--noproxy",
                "*",
                "-u",
                &user,
                "-o",
                path.to_str().expect("UTF-8"),
                &url(address),
            ],
        );
    };
    serves(Program::Ftp, directory.path(), put, get);
    let login = format!("btu,{}", secret());
    let settings = "set net:max-retries 1; set xfer:clobber yes; set ftp:ssl-allow no";
    let lftp = |address: SocketAddr, what: String| {
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        run("lftp", &["-u", &login, "-p", &port, "-e", &format!("{settings}; {what}; bye"), &host]);
    };
    let put = |address, path: &Path| lftp(address, format!("put {} -o copy.bin", path.display()));
    let get = |address, path: &Path| lftp(address, format!("get copy.bin -o {}", path.display()));
    serves(Program::Ftp, directory.path(), put, get);
}

/// A foreign server that prints its port on its first line, and ends with the test.
struct Theirs(Child, SocketAddr);

impl Theirs {
    fn python(script: &str, directory: &Path) -> Self {
        let mut child = Command::new("/usr/bin/python3")
            .args(["-u", "-c", script, &secret()])
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("it says its port");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: {line:?}"));
        Self(child, SocketAddr::from(([127, 0, 0, 1], port)))
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("gone");
    }
}

/// Our client at another server, both ways: what it puts is there, and what is there it gets.
fn visits(program: Program, theirs: &Theirs, directory: &Path, name: &str) {
    let file = place(SIZE, Storage::Memory, directory);
    let put = client(Direction::Put, program, theirs.1, TOKEN, file.clone());
    let put = sent(put.unwrap_or_else(|error| panic!("{program}: {error}")));
    assert_eq!(put.digest, digest_of(&directory.join(name)), "{program}");
    let got = client(Direction::Get, program, theirs.1, TOKEN, file);
    assert_eq!(
        received(got.unwrap_or_else(|error| panic!("{program}: {error}"))).digest,
        put.digest,
        "{program}"
    );
    // It has another size than it should.
    let other = client(
        Direction::Get,
        program,
        theirs.1,
        TOKEN,
        place(SIZE + 1, Storage::Memory, directory),
    );
    assert!(other.expect_err("another size").contains(&SIZE.to_string()), "{program}");
}

/// Python's HTTP server, which knows GET; PUT is written to a file here.
const HTTP: &str = "
import http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_PUT(self):
        if self.headers['Authorization'] != 'Bearer ' + sys.argv[1]:
            return self.send_error(401)
        with open('copy', 'wb') as copy:
            copy.write(self.rfile.read(int(self.headers['Content-Length'])))
        self.send_response(201)
        self.send_header('Content-Length', '0')
        self.end_headers()
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1])
server.serve_forever()
";

#[test]
fn we_put_to_and_get_from_an_http_server_of_others() {
    if !has(&[&["/usr/bin/python3", "-c", "import http.server"]]) {
        return;
    }
    let directory = tempfile::tempdir().expect("tempdir");
    let theirs = Theirs::python(HTTP, directory.path());
    visits(Program::Http, &theirs, directory.path(), "copy");
    let file = place(SIZE, Storage::Memory, directory.path());
    let error = client(Direction::Put, Program::Http, theirs.1, *b"another byte key", file)
        .expect_err("another token");
    assert!(error.contains(&theirs.1.to_string()), "{error}");
}

const FTP: &str = "
import sys
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer
users = DummyAuthorizer()
users.add_user('btu', sys.argv[1], '.', perm='elradfmw')
FTPHandler.authorizer = users
server = FTPServer(('127.0.0.1', 0), FTPHandler)
print(server.address[1])
server.serve_forever()
";

#[test]
fn we_put_to_and_get_from_an_ftp_server_of_others() {
    if !has(&[&["/usr/bin/python3", "-c", "import pyftpdlib"]]) {
        return;
    }
    let directory = tempfile::tempdir().expect("tempdir");
    let theirs = Theirs::python(FTP, directory.path());
    visits(Program::Ftp, &theirs, directory.path(), "copy.bin");
    let file = place(SIZE, Storage::Memory, directory.path());
    let error = client(Direction::Get, Program::Ftp, theirs.1, *b"another byte key", file)
        .expect_err("another password");
    assert!(error.contains("could not log in: it answered 530"), "{error}");
}

/// A server that announces a size and sends another, or does not use HTTP: one sentence that names
/// it.
#[test]
fn http_servers_that_lie_are_named() {
    let directory = tempfile::tempdir().expect("tempdir");
    let head = |length: &str| format!("HTTP/1.1 200 OK\r\n{length}\r\n").into_bytes();
    let told = |length: u64| head(&format!("Content-Length: {length}\r\n"));
    for (answer, wanted) in [
        (told(8_999), "announced 8999"),
        ([told(9_000), vec![7; 8_000]].concat(), "ended after 8000"),
        ([told(9_000), vec![7; 9_001]].concat(), "sent more"),
        (head(""), "did not send the length"),
        (head("Transfer-Encoding: chunked\r\n"), "Transfer-Encoding"),
        (b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec(), "it answered 503"),
        (b"HTTP/1.1 100 Continue\r\n\r\n".repeat(20), "again and again"),
        (b"SSH-2.0-OpenSSH\r\n".to_vec(), "is not HTTP"),
        (vec![b'x'; 40_000], "is not HTTP"),
        (Vec::new(), "hung up"),
    ] {
        let listener = TcpListener::bind((HERE, 0)).expect("bound");
        let address = listener.local_addr().expect("bound");
        let peer = thread::spawn(move || {
            let mut client = listener.accept().expect("a client").0;
            assert!(client.read(&mut [0; 4096]).expect("a request") > 0);
            // A client that has heard enough is gone before it was told everything.
            let _ = client.write_all(&answer).and_then(|()| client.shutdown(Shutdown::Write));
            while client.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {}
        });
        let file = place(9_000, Storage::Memory, directory.path());
        let error =
            client(Direction::Get, Program::Http, address, TOKEN, file).expect_err("it lied");
        assert!(
            error.contains(wanted) && error.contains(&address.to_string()),
            "{wanted}: {error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
        peer.join().expect("no panic");
    }
}
