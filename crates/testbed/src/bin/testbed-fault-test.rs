//! For the tests of the testbed only: acts as each of its processes, with agents that follow
//! commands in lines of text, and with another such agent next to the wire.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "lines of text are the protocol of this test program"
)]

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use btu_contract::protocol_work::ProtocolWork;
use btu_network::{Drawing, StationId, library_text};
use btu_testbed::processors;
use btu_testbed::testbed::{self, NetworkRequest, RaisingNetwork};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, bind, recvfrom, setsockopt, socket,
    sockopt,
};
use socket2::SockRef;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Set to `wire`, the wire exits at once, and to the name of a station, its agent; to `deaf`, the
/// wire carries nothing.
const MISCHIEF: &str = "BTU_DRILL_MISCHIEF";

/// The time within which a datagram is answered, even on a busy machine.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["internal", "testbed"] => return testbed::outer(),
        ["internal", "init"] => return testbed::init(),
        ["internal", "agent", "--station", station, ..] if mischief() == station => {
            return ExitCode::from(7);
        }
        ["internal", "wire", ..] if mischief() == "wire" => return ExitCode::from(7),
        ["internal", "agent", "--station", _, "--socket", socket] => serve(Path::new(socket)),
        ["internal", "wire", "--socket", socket] => return wire(Path::new(socket)),
        ["coordinate", network, directory] => coordinate(network, directory.into(), None),
        ["coordinate", network, directory, work] => {
            coordinate(network, directory.into(), Some(work))
        }
        ["preflight"] => preflight(),
        _ => Err("this program is for tests".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("refused {error}");
            ExitCode::FAILURE
        }
    }
}

fn mischief() -> String {
    std::env::var(MISCHIEF).unwrap_or_default()
}

fn preflight() -> Outcome<()> {
    println!("granted {:?}", testbed::preflight(&std::env::current_exe()?, &[])?.privilege);
    Ok(())
}

/// Pins this process, and with it all that has no processor of its own, to the first processor.
/// Returns the last one, for the test station, and the place that `work` names.
fn divided(work: &str) -> Outcome<(u32, ProtocolWork)> {
    let work = match work {
        "receiver" => ProtocolWork::Receiver,
        "sender" => ProtocolWork::Sender,
        _ => return Err(format!("no such place of protocol work: {work}").into()),
    };
    let all = processors::allowed()?;
    let [rest, .., test] = all[..] else { return Err("a single processor".into()) };
    processors::hold(&[rest])?;
    Ok((test, work))
}

/// Raises a testbed, reports it and its events, and lowers it when standard input ends.
fn coordinate(network: &str, runtime_directory: PathBuf, work: Option<&str>) -> Outcome<()> {
    let executable = std::env::current_exe()?;
    let (processors, protocol_work) = match work.map(divided).transpose()? {
        Some((test, work)) => (vec![(StationId(0), vec![test])], work),
        None => (Vec::new(), ProtocolWork::Sender),
    };
    let request = NetworkRequest {
        name: network.to_owned(),
        drawing: drawing(network)?,
        runtime_directory,
        seed: 1,
        executable,
        capture: None,
        source: network.to_owned(),
        since: String::new(),
        agents: (0..3).map(StationId).collect(),
        inputs: (1..3).map(StationId).collect(),
        processors,
        protocol_work,
        congestion_control: None,
        ipv6: false,
    };
    let testbed = RaisingNetwork::begin(request)?.finish()?;
    println!("up {:?}", testbed.privilege());
    let waits_for_the_end = thread::spawn(|| io::copy(&mut io::stdin(), &mut io::sink()));
    let mut fallen = None;
    while !waits_for_the_end.is_finished() {
        if fallen.is_none() {
            fallen = testbed.fallen();
            if let Some(event) = &fallen {
                println!("event {event}");
            }
        }
        thread::sleep(Duration::from_millis(10));
    }
    testbed.lower()?;
    println!("down");
    Ok(())
}

/// A network of the library with test, active and passive; the path's line made faster and longer.
fn drawing(network: &str) -> Outcome<Drawing> {
    let text = library_text(network).ok_or("no such network")?;
    let settings: &[_] = match network {
        "path" => &[("links.path.rate", "100 Mb/s"), ("links.path.delay", "1 ms")],
        _ => &[],
    };
    Drawing::read_with(text, network, settings).map_err(|error| error.to_string().into())
}

/// Answers commands, one connection each.
fn serve(path: &Path) -> Outcome<()> {
    for connection in UnixListener::bind(path)?.incoming() {
        let connection = connection?;
        thread::spawn(move || drop(answer(&connection)));
    }
    Ok(())
}

fn answer(connection: &UnixStream) -> Outcome<()> {
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line)?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let answer = match words[..] {
        ["interfaces"] => interfaces()?,
        ["echo"] => echo()?,
        ["call", to] => call(to)?,
        ["listen"] => listen()?,
        ["send", to, bytes] => send_bytes(to, bytes.parse()?)?,
        ["connect", to] => connect(to)?,
        ["send-train", to, bytes, segment] => send_train(to, bytes.parse()?, segment.parse()?)?,
        ["capture", interface, milliseconds] => {
            capture(interface, Duration::from_millis(milliseconds.parse()?))?
        }
        _ => "what?".to_owned(),
    };
    Ok(writeln!(&*connection, "{answer}")?)
}

fn interfaces() -> Outcome<String> {
    let mut names: Vec<String> = getifaddrs()?.map(|entry| entry.interface_name).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names.join(" "))
}

/// Listens for one TCP connection on every address, and answers it with the number of bytes it
/// brought.
fn listen() -> Outcome<String> {
    let listener = TcpListener::bind("0.0.0.0:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || -> io::Result<()> {
        let (mut peer, _) = listener.accept()?;
        let count = io::copy(&mut peer, &mut io::sink())?;
        peer.write_all(&count.to_be_bytes())
    });
    Ok(port.to_string())
}

/// Answers datagrams of one peer with the processor that did the protocol work of the last one.
fn echo() -> Outcome<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_read_timeout(Some(CALL_TIMEOUT))?;
    let port = socket.local_addr()?.port();
    thread::spawn(move || -> io::Result<()> {
        let (_, peer) = socket.recv_from(&mut [0; 16])?;
        // The kernel notes the processor for connected sockets only.
        socket.connect(peer)?;
        loop {
            socket.recv(&mut [0; 16])?;
            socket.send(SockRef::from(&socket).cpu_affinity()?.to_string().as_bytes())?;
        }
    });
    Ok(port.to_string())
}

/// Sends datagrams until one is answered. Returns the processors that did the
/// protocol work of a datagram there, and of its answer here (`SO_INCOMING_CPU`, socket(7)).
fn call(to: &str) -> Outcome<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(to)?;
    socket.set_read_timeout(Some(Duration::from_millis(20)))?;
    let (deadline, mut answer) = (Instant::now() + CALL_TIMEOUT, [0; 16]);
    while Instant::now() < deadline {
        socket.send(b"?")?;
        if let Ok(length) = socket.recv(&mut answer) {
            let there = std::str::from_utf8(&answer[..length])?;
            return Ok(format!("{there} {}", SockRef::from(&socket).cpu_affinity()?));
        }
    }
    Err("no answer".into())
}

/// Sends this number of bytes, and returns the number that the other side counted.
fn send_bytes(to: &str, bytes: usize) -> Outcome<String> {
    let mut peer = TcpStream::connect(to)?;
    peer.write_all(&vec![7; bytes])?;
    peer.shutdown(Shutdown::Write)?;
    let mut count = [0; 8];
    peer.read_exact(&mut count)?;
    Ok(u64::from_be_bytes(count).to_string())
}

/// Connects by TCP, and returns the time in microseconds.
fn connect(to: &str) -> Outcome<String> {
    let start = Instant::now();
    TcpStream::connect(to)?;
    Ok(start.elapsed().as_micros().to_string())
}

/// Sends UDP datagrams as one superframe, which the first interface without segmentation offload
/// cuts.
fn send_train(to: &str, bytes: usize, segment: u16) -> Outcome<String> {
    let sender = UdpSocket::bind("0.0.0.0:0")?;
    setsockopt(&sender, sockopt::UdpGsoSegment, &i32::from(segment))?;
    Ok(sender.send_to(&vec![7; bytes], to)?.to_string())
}

/// Counts the frames that arrive at an interface, and measures the longest.
fn capture(interface: &str, time: Duration) -> Outcome<String> {
    let port = Port::open(interface)?;
    setsockopt(&port.0, sockopt::ReceiveTimeout, &nix::sys::time::TimeVal::new(0, 20_000))?;
    let (deadline, mut buffer) = (Instant::now() + time, vec![0; 70_000]);
    let (mut frames, mut longest) = (0, 0);
    while Instant::now() < deadline {
        if let Some(length) = port.receive(&mut buffer) {
            frames += 1;
            longest = longest.max(length);
        }
    }
    Ok(format!("{frames} {longest}"))
}

/// The real wire, and next to it an agent on its interfaces.
fn wire(path: &Path) -> ExitCode {
    let second = path.with_file_name("second-wire.sock");
    if mischief() == "deaf" {
        thread::spawn(move || drop(serve(&second)));
        drop(serve(path));
        return ExitCode::FAILURE;
    }
    thread::spawn(move || drop(serve(&second)));
    testbed::wire(path)
}

/// A raw socket on one interface.
struct Port(OwnedFd);

impl Port {
    fn open(interface: &str) -> Outcome<Self> {
        let port = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::EthAll,
        )?;
        let mut addresses = getifaddrs()?.filter(|entry| entry.interface_name == interface);
        let address = addresses.find_map(|entry| entry.address?.as_link_addr().copied());
        bind(port.as_raw_fd(), &address.ok_or_else(|| format!("no interface {interface}"))?)?;
        Ok(Self(port))
    }

    /// The length of a frame from the other end of the cable; the socket also reads frames that
    /// were sent from here.
    fn receive(&self, buffer: &mut [u8]) -> Option<usize> {
        let (length, from) = recvfrom::<LinkAddr>(self.0.as_raw_fd(), buffer).ok()?;
        let outgoing = from.is_some_and(|address| address.pkttype() == nix::libc::PACKET_OUTGOING);
        (!outgoing).then_some(length)
    }
}
