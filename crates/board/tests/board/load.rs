//! Ten thousand runs of 200 publishers, read by up to 256 callers at once, next to callers who keep the server waiting.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::Conditions;
use socket2::{Domain, Socket, Type};

use crate::databases::{Postgres, Stored, directory, is_unchanged};
use crate::scale::fill;
use crate::support::{Made, Publisher, Server, publish};

/// Callers at a time, one number after the other.
const CALLERS: [u16; 4] = [1, 8, 64, 256];

/// How long each number of callers asks.
const TIME: Duration = Duration::from_secs(3);

/// A judged answer is there within this time, 99 times in 100, next to 256 callers on two processors.
const LONGEST_ANSWER: Duration = Duration::from_secs(8);

/// The server takes no more memory.
const MOST_KIB: u64 = 256 << 10;

const SILENT: u16 = 500;
const SLOW: u16 = 64;
const STALLED: u16 = 16;

/// A connection from one of many addresses of this machine, since a server bounds what each address takes.
pub(crate) fn connected(server: SocketAddr, from: Ipv4Addr) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    socket.connect_timeout(&server.into(), Duration::from_secs(30))?;
    socket.set_read_timeout(Some(Duration::from_mins(1)))?;
    Ok(socket.into())
}

/// What a caller sends who keeps a server waiting: nothing, a head that does not end, or an archive that does not.
fn begun(number: u16) -> &'static [u8] {
    match number {
        0..SILENT => b"",
        _ if number < SILENT + SLOW => b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        _ => {
            b"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 60000000\r\n\r\n{\"manifest\":\"\""
        }
    }
}

/// Callers who keep the server waiting, and come again when they are left, until `end`.
fn keep_waiting(server: SocketAddr, end: &AtomicBool) {
    let open = |number: u16| {
        let [_, low] = number.to_be_bytes();
        let mut stream = connected(server, Ipv4Addr::new(127, 0, 2, low % 50 + 1)).ok()?;
        stream.write_all(begun(number)).ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(stream)
    };
    let numbers = 0..SILENT + SLOW + STALLED;
    let mut all: Vec<Option<TcpStream>> = numbers.clone().map(open).collect();
    while !end.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(500));
        for (number, place) in numbers.clone().zip(&mut all) {
            let waits = place.as_mut().is_some_and(|stream| {
                let is_slow = (SILENT..SILENT + SLOW).contains(&number);
                let sent = !is_slow || stream.write_all(b"x").is_ok();
                let read = stream.read(&mut [0; 64]);
                sent && matches!(read, Err(error) if error.kind() == ErrorKind::WouldBlock)
            });
            if !waits {
                *place = open(number);
            }
        }
    }
}

/// Asks for one page after the other over one connection, and says how long each took.
fn ask(server: SocketAddr, caller: u16, pages: &[String]) -> Vec<Duration> {
    let from = Ipv4Addr::new(127, 0, 1, (caller % 16) as u8 + 1);
    let began = Instant::now();
    let mut reader: Option<BufReader<TcpStream>> = None;
    let mut times = Vec::new();
    for page in pages.iter().cycle().skip(usize::from(caller)) {
        if began.elapsed() > TIME {
            break;
        }
        let asked = Instant::now();
        let open = reader
            .get_or_insert_with(|| BufReader::new(connected(server, from).expect("a connection")));
        let request = format!("GET {page} HTTP/1.1\r\nHost: x\r\n\r\n");
        open.get_mut().write_all(request.as_bytes()).expect("sent");
        let status = answer(open).unwrap_or_else(|error| panic!("{page}: {error}"));
        assert_eq!(status, 200, "{page}");
        times.push(asked.elapsed());
    }
    times
}

/// The status of an answer, which is read to its end.
pub(crate) fn answer(open: &mut BufReader<TcpStream>) -> std::io::Result<u16> {
    let mut line = String::new();
    open.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let mut length = 0;
    while line != "\r\n" {
        line.clear();
        if open.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let value = line.to_ascii_lowercase();
        length = value
            .strip_prefix("content-length: ")
            .map_or(length, |octets| octets.trim().parse().expect("a number"));
    }
    std::io::copy(&mut open.take(length), &mut std::io::sink())?;
    status.ok_or_else(|| ErrorKind::InvalidData.into())
}

/// The memory that a process has.
fn memory_kib(server: &Server) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn under_load(stored: &Stored) {
    let server = stored.server();
    let run = publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    fill(stored);
    let address: SocketAddr =
        server.url.strip_prefix("http://").expect("it is").parse().expect("an address");
    let pages = [
        "/",
        "/search?words=old+laptop",
        "/runs/copy5000",
        "/api/v1/runs",
        "/search?words=nowhere",
    ];
    let pages: Vec<String> =
        pages.map(str::to_owned).into_iter().chain([format!("/runs/{}", run.id)]).collect();
    let end = AtomicBool::new(false);
    let conditions = Conditions::begin();
    thread::scope(|scope| {
        scope.spawn(|| keep_waiting(address, &end));
        for callers in CALLERS {
            let asked: Vec<_> = (0..callers)
                .map(|caller| {
                    scope.spawn({
                        let pages = &pages;
                        move || ask(address, caller, pages)
                    })
                })
                .collect();
            let mut times: Vec<Duration> =
                asked.into_iter().flat_map(|one| one.join().expect("all are answered")).collect();
            times.sort_unstable();
            let place = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
            let [middle, late] = [place(0.5), place(0.99)];
            let rate = times.len() as f64 / TIME.as_secs_f64();
            let memory = memory_kib(&server);
            eprintln!(
                "{callers} callers: {rate:.0}/s, 50 % {middle:.1?}, 99 % {late:.1?}, {} MiB",
                memory >> 10
            );
            assert!(memory < MOST_KIB, "{memory} KiB");
            if late > LONGEST_ANSWER {
                conditions.out_of_bounds(&format!("{callers} callers wait {late:?}"));
            }
        }
        end.store(true, Ordering::Relaxed);
    });
}

#[test]
fn readers_are_answered_next_to_callers_who_wait_on_sqlite() {
    if !is_unchanged() {
        under_load(&directory());
    }
}

#[test]
fn readers_are_answered_next_to_callers_who_wait_on_postgres() {
    if is_unchanged() {
        return;
    }
    if let Some(postgres) = Postgres::start() {
        under_load(&postgres.database());
    }
}
