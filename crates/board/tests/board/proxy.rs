//! A board behind nginx, as the example in `packaging` has it; its address, and links below a path.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

use crate::databases::{Postgres, Stored, directory, lab_skipped};
use crate::load::{answer, connected};
use crate::logs::Logged;
use crate::support::{Made, Publisher, Sent, Server, curl, publish};

/// The addresses in links, forms and styles of a page.
fn links(page: &str) -> BTreeSet<String> {
    let of = |name: &str| {
        let start = format!(" {name}=\"");
        let parts = page.split(&start).skip(1);
        parts.filter_map(|part| part.split('"').next()).map(str::to_owned).collect::<Vec<_>>()
    };
    let all = of("href").into_iter().chain(of("action")).chain(of("src"));
    all.filter(|link| !link.starts_with(['#']) && !link.contains(':')).collect()
}

#[test]
fn every_link_is_below_the_path_of_the_address() {
    let stored = directory();
    let server = stored.server();
    let run = publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    publish(&Made::of(200.0), &Publisher::new("Bob"), &server);
    let below = stored.another("https://www.example.org/board");
    let (mut known, mut next) = (BTreeSet::new(), vec!["/board/".to_owned()]);
    while let Some(link) = next.pop() {
        let path = link.strip_prefix("/board").unwrap_or_else(|| panic!("{link}"));
        let answer = curl(&[&format!("{}{path}", below.url)]);
        // Addresses of forms are asked for without what they send.
        assert!(matches!(answer.status, 200 | 400 | 405), "{link}: {}", answer.status);
        if answer.text().starts_with("<!DOCTYPE html>") && !path.ends_with("/report") {
            next.extend(
                links(&answer.text()).into_iter().filter(|link| known.insert(link.clone())),
            );
        }
    }
    assert!(known.len() > 20, "{known:?}");
    assert!(
        links(&curl(&[&format!("{}/nowhere", below.url)]).text())
            .iter()
            .all(|link| link.starts_with("/board/"))
    );
    let form = format!("token={}&text=x", run.token);
    let to = format!("{}/runs/{}/withdrawal", below.url, run.id);
    let answer = curl(&["-i", "-d", &form, &to]).text();
    assert!(answer.contains(&format!("location: /board/runs/{}\r\n", run.id)), "{answer}");
}

#[test]
fn servers_of_a_database_have_one_address() {
    let postgres = Postgres::start();
    let on_postgres = postgres.as_ref().map(Postgres::database);
    for stored in [Some(directory()), on_postgres].into_iter().flatten() {
        one_address(&stored);
    }
}

fn one_address(stored: &Stored) {
    let refused = |url: &str| {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--url", url];
        stored.command(&serve).expect_err("refused")
    };
    let one = "https://board.example.org";
    drop(stored.another(one));
    drop(stored.another(&format!("{one}/")));
    let said = refused("https://other.example.org");
    assert!(said.contains("give them the same --url, or --change-url"), "{said}");
    assert_eq!(stored.server().said[0], format!("The board is at {one}/"));
    let other = "https://other.example.org";
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
    command.arg("serve").args(stored.arguments()).args(["--listen", "127.0.0.1:0"]);
    command.arg("--change-url").env("BTU_BOARD_URL", other);
    assert_eq!(Server::of(command).said[0], format!("The board is at {other}/"));
    assert!(refused(one).contains(other));
}

#[test]
fn the_command_line_names_the_database_before_the_environment() {
    let stored = directory();
    drop(stored.server());
    let check = |arguments: &[String]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
        command.arg("check").args(arguments).env("BTU_BOARD_DATABASE", "host=/nowhere user=x");
        let done = command.output().expect("it starts");
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    assert!(check(&stored.arguments()).0);
    assert!(check(&[]).1.contains("/nowhere"));
    if let Some(postgres) = Postgres::start() {
        // It is reached: there is no board in it yet.
        assert!(check(&postgres.database().arguments()).1.contains("there is no board"));
    }
}

/// A backup that was cut to nothing is not a board without runs.
#[test]
fn an_empty_file_is_not_a_board() {
    let stored = directory();
    let place = Path::new(&stored.arguments()[1]).to_owned();
    std::fs::create_dir_all(&place).expect("a directory");
    std::fs::write(place.join("board.sqlite"), "").expect("an empty file");
    assert!(stored.command(&["check"]).expect_err("nothing").contains("there is no board"));
    assert_eq!(std::fs::read(place.join("board.sqlite")).expect("the file"), b"");
}

/// A running nginx; it ends with this value.
struct Nginx {
    child: Child,
    home: TempDir,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The settings around a site: everything that nginx writes is in a directory of the test.
fn whole(home: &Path, site: &str) -> std::path::PathBuf {
    let place = home.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {place}/{name};"))
        .join(" ");
    let text = format!(
        "daemon off; master_process off; pid {place}/pid; error_log stderr;\nevents {{}}\nhttp {{ access_log off; {temporary}\n{site}\n}}\n"
    );
    let path = home.join("nginx.conf");
    fs::write(&path, text).expect("written");
    path
}

fn nginx(home: &Path, site: &str) -> Option<Command> {
    let program =
        ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).is_file());
    let Some(program) = program else {
        lab_skipped("there is no nginx (Debian: nginx-light)");
        return None;
    };
    let mut command = Command::new(program);
    command.arg("-p").arg(home).arg("-c").arg(whole(home, site)).stdin(Stdio::null());
    Some(command)
}

fn example() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/nginx-board.conf");
    fs::read_to_string(file).expect("the example")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port()
}

#[test]
fn nginx_understands_the_example() {
    let home = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: String| {
        fs::write(home.path().join(name), text).expect("written");
        home.path().join(name).display().to_string()
    };
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(["board.example.org".to_owned()]).expect("a name");
    let certificate = file("certificate", params.self_signed(&key).expect("one").pem());
    // An ordinary user may not listen on 443, and nginx binds its ports to test its settings.
    let site = example()
        .replace(":443", &format!(":{}", free_port()))
        .replace("listen 443", &format!("listen {}", free_port()))
        .replace("/etc/ssl/board.example.org.pem", &certificate)
        .replace("/etc/ssl/private/board.example.org.key", &file("key", key.serialize_pem()));
    let Some(mut command) = nginx(home.path(), &site) else { return };
    let said = command.arg("-t").output().expect("nginx");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

/// Starts nginx as the example has it, but without TLS, in front of a board; returns it with its address.
fn before(port: u16, site: &str, board: &Server) -> Option<Nginx> {
    let listens = board.url.strip_prefix("http://").expect("an address");
    let is_other = |line: &&str| !line.contains("ssl_certificate") && !line.contains("[::]:443");
    let site = site.lines().filter(is_other).collect::<Vec<_>>().join("\n");
    let site = site.replace("listen 443 ssl", &format!("listen 127.0.0.1:{port}"));
    let home = tempfile::tempdir().expect("a directory");
    let site = site.replace("127.0.0.1:8095", listens);
    let mut command = nginx(home.path(), &site)?;
    command.stderr(File::create(home.path().join("said")).expect("a file"));
    let nginx = Nginx { child: command.spawn().expect("nginx"), home };
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let said = || fs::read_to_string(nginx.home.path().join("said"));
        assert!(began.elapsed() < Duration::from_secs(20), "nginx says {:?}", said());
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(nginx)
}

#[test]
fn publishing_works_through_nginx_as_the_example_has_it() {
    let of_a_site = "    location /board/ {\n        proxy_pass http://board/;\n    }\n";
    let below = example()
        .replace("    location / {\n        proxy_pass http://board;\n    }\n", of_a_site)
        .replace("http://board;", "http://board/;");
    assert_eq!(below.matches("\n    location /board/").count(), 1);
    for (path, site) in [("", example()), ("/board", below)] {
        let stored = directory();
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}{path}");
        let logged = Logged::start(&stored, &["--proxy", "127.0.0.1", "--url", &url]);
        let Some(_nginx) = before(port, &site, &logged.server) else { return };
        let ada = Publisher::new("Ada");
        let answer = Sent::of(&Made::of(100.0), &ada, &url).send(&ada, &url);
        assert_eq!(answer.status, 201, "{}", answer.text());
        let page = answer.json()["url"].as_str().expect("an address").to_owned();
        assert!(page.starts_with(&url), "{page}");
        assert_eq!(curl(&[&page]).status, 200);
        let style = curl(&[&format!("{url}/style.css")]);
        assert_eq!(style.status, 200, "{}", style.text());
        // Larger than nginx takes by itself.
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(3 << 20).expect("sparse");
        let archive = format!("archive=@{}", file.path().display());
        assert_ne!(curl(&["-F", &archive, &format!("{url}/api/v1/runs")]).status, 413);
        curl(&[
            "--interface",
            "127.0.0.7",
            "-H",
            "X-Forwarded-For: 203.0.113.9",
            &format!("{url}/rules"),
        ]);
        logged.said(&["caller=127.0.0.7", "path=/rules"]);
        // One caller is held up, and no other: as many requests as one program sends without a pause.
        let all = curl(&["--interface", "127.0.0.8", &format!("{url}/health?[1-300]")]);
        assert!(format!("{}\n{}", all.text(), all.status).contains("\n429"), "{}", all.text());
        assert_eq!(curl(&["--interface", "127.0.0.9", &format!("{url}/health")]).status, 200);
    }
}

/// Servers of one database are restarted one after the other, under load, behind a proxy that keeps its connections.
#[test]
fn a_rolling_restart_fails_no_request() {
    let Some(postgres) = Postgres::start() else { return };
    let stored = postgres.database();
    let (listens, url) = (free_port(), "http://board.example.org");
    let ports = [free_port(), free_port()];
    let start = |port: u16| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
        command.arg("serve").args(stored.arguments()).args(["--url", url, "--log", "none"]);
        command.args(["--listen", &format!("127.0.0.1:{port}")]);
        Server::of(command)
    };
    let mut servers = ports.map(start);
    let first = "server 127.0.0.1:8095 max_fails=0;";
    let both = format!("{first}\n    server 127.0.0.1:{} max_fails=0;", ports[1]);
    let site = example().replace(first, &both);
    let is_limit = |line: &&str| !line.trim_start().starts_with("limit_");
    let site = site.lines().filter(is_limit).collect::<Vec<_>>().join("\n");
    let Some(_nginx) = before(listens, &site, &servers[0]) else { return };
    let (end, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for caller in 1..=8 {
            let (end, answered) = (&end, &answered);
            scope.spawn(move || {
                let address = ([127, 0, 0, 1], listens).into();
                let from = [127, 0, 1, caller].into();
                let mut open = BufReader::new(connected(address, from).expect("a connection"));
                let mut own = 0;
                while !end.load(Ordering::Relaxed) {
                    open.get_mut().write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
                    assert_eq!(answer(&mut open).expect("an answer"), 200);
                    answered.fetch_add(1, Ordering::Relaxed);
                    own += 1;
                    if own % 500 == 0 {
                        // nginx ends a connection after a thousand requests.
                        open = BufReader::new(connected(address, from).expect("a connection"));
                    }
                }
            });
        }
        for round in 0..4 {
            let server = &mut servers[round % 2];
            let before = answered.load(Ordering::Relaxed);
            assert!(server.end());
            *server = start(ports[round % 2]);
            let began = Instant::now();
            while answered.load(Ordering::Relaxed) < before + 100 {
                assert!(began.elapsed() < Duration::from_mins(1), "nobody is answered");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        end.store(true, Ordering::Relaxed);
    });
    eprintln!("{} requests", answered.load(Ordering::Relaxed));
}
