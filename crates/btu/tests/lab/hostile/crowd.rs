//! The hostile callers: plain threads that connect, send the data of their kind, and wait until
//! they are disconnected.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use btu_control::trust::{Identity, client_config};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};
use socket2::{Domain, Socket, Type};

/// The number of callers, their time, the number of networks, and of kinds.
pub(super) const CROWD: u64 = 10_000;
pub(super) const LASTS: Duration = Duration::from_mins(1);
pub(super) const NETWORKS: u64 = 10;
pub(super) const KINDS: u64 = 10;

/// The largest number of simultaneous connections: more than the agent has places.
const THREADS: u64 = 256;
/// The timeout after which a connection counts as never closed.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The pause between two bytes of a handshake that is sent byte by byte.
const DRIBBLE: Duration = Duration::from_millis(100);

/// The data for callers of each kind.
struct Knowledge {
    agent: SocketAddr,
    /// A real greeting, and the recorded data of a controller.
    hello: Vec<u8>,
    said: Vec<u8>,
    without_certificate: Arc<ClientConfig>,
    of_another_authority: Arc<ClientConfig>,
    of_another_time: Arc<ClientConfig>,
}

/// Sends the crowd to the agent at the address in `BTU_TEST_PART`, and prints its accounts.
pub(super) fn push() {
    let Ok(address) = std::env::var("BTU_TEST_PART") else { return };
    let keys = std::env::var("BTU_TEST_KEYS").expect("where the keys are");
    let knowledge = Knowledge::gathered(&format!("{address}:7417"), Path::new(&keys));
    let (ticket, came, welcomed, longest) =
        (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let kinds: [AtomicU64; KINDS as usize] = Default::default();
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = ticket.fetch_add(1, Ordering::Relaxed);
                    if number >= CROWD {
                        return;
                    }
                    let due = LASTS.mul_f64(number as f64 / CROWD as f64);
                    thread::sleep(due.saturating_sub(begin.elapsed()));
                    // Every network sends every kind.
                    let (network, kind) = (number % NETWORKS, number / NETWORKS % KINDS);
                    let Some(mut stream) = knowledge.connected(network) else { continue };
                    came.fetch_add(1, Ordering::Relaxed);
                    kinds[kind as usize].fetch_add(1, Ordering::Relaxed);
                    let (since, heard) = (Instant::now(), knowledge.visit(kind, &mut stream));
                    welcomed.fetch_add(u64::from(heard), Ordering::Relaxed);
                    longest.fetch_max(since.elapsed().as_millis() as u64, Ordering::Relaxed);
                }
            });
        }
    });
    println!("crowd: came {}", came.into_inner());
    println!(
        "crowd: kinds {}",
        kinds.iter().filter(|kind| kind.load(Ordering::Relaxed) > 0).count()
    );
    println!("crowd: welcomed {}", welcomed.into_inner());
    println!("crowd: longest-ms {}", longest.into_inner());
    println!("crowd: lasted-ms {}", begin.elapsed().as_millis());
}

impl Knowledge {
    fn gathered(agent: &str, keys: &Path) -> Self {
        let agent = agent.parse().expect("an address");
        let identity = Identity::load(&keys.join("me.pem")).expect("a controller's identity");
        let good = client_config(&identity, None).expect("a configuration");
        let mut greeting =
            ClientConnection::new(Arc::clone(&good), server_name()).expect("a connection");
        let mut hello = Vec::new();
        greeting.write_tls(&mut hello).expect("a greeting");
        let anonymous = |version| {
            let builder = ClientConfig::builder_with_provider(Arc::new(
                rustls::crypto::ring::default_provider(),
            ));
            let builder = builder.with_protocol_versions(&[version]).expect("a version");
            builder.with_root_certificates(roots(keys))
        };
        let foreign = keys.join("foreign.pem");
        let chain = vec![CertificateDer::from_pem_file(&foreign).expect("a certificate")];
        let key = PrivateKeyDer::from_pem_file(&foreign).expect("a key");
        Self {
            agent,
            hello,
            said: recorded(agent, good),
            without_certificate: Arc::new(anonymous(&rustls::version::TLS13).with_no_client_auth()),
            of_another_authority: Arc::new(
                anonymous(&rustls::version::TLS13)
                    .with_client_auth_cert(chain, key)
                    .expect("a pair"),
            ),
            of_another_time: Arc::new(anonymous(&rustls::version::TLS12).with_no_client_auth()),
        }
    }

    /// A connection from an address of this network; `None`, with a loud message, if there is none.
    fn connected(&self, network: u64) -> Option<TcpStream> {
        let from = SocketAddr::from((Ipv4Addr::new(10, 66, network as u8, 1), 0));
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&from.into()).expect("an address of this station");
        match socket.connect_timeout(&self.agent.into(), TIMEOUT) {
            Ok(()) => {
                let stream = TcpStream::from(socket);
                stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
                stream.set_nodelay(true).expect("an option");
                Some(stream)
            }
            Err(error) => {
                println!("nobody took the connection from network {network}: {error}");
                None
            }
        }
    }

    /// The behaviour of a caller of this kind until it is disconnected; returns whether the service
    /// answered.
    fn visit(&self, kind: u64, stream: &mut TcpStream) -> bool {
        let half = &self.hello[..self.hello.len() / 2];
        match kind {
            0 => shown_out(stream, b""),
            1 => shown_out(stream, &[0xff; 4096]),
            2 => shown_out(stream, b"GET / HTTP/1.1\r\nhost: alpha\r\n\r\n"),
            3 => shown_out(stream, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"),
            4 => shown_out(stream, half),
            5 => dribbled(stream, half),
            6 => return spoken(stream, &self.of_another_time),
            7 => return spoken(stream, &self.without_certificate),
            8 => return spoken(stream, &self.of_another_authority),
            _ => shown_out(stream, &self.said),
        }
        false
    }
}

fn server_name() -> ServerName<'static> {
    ServerName::try_from("alpha.agent.btu.invalid").expect("a name")
}

/// The authority of the agent, which is public.
fn roots(keys: &Path) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let authority =
        CertificateDer::from_pem_file(keys.join("keys/authority.pem")).expect("the authority");
    roots.add(authority).expect("a root");
    roots
}

/// All that a controller sends in its handshake, as an attacker between controller and agent would
/// record it.
fn recorded(agent: SocketAddr, config: Arc<ClientConfig>) -> Vec<u8> {
    let between = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = between.local_addr().expect("its address");
    let relay = thread::spawn(move || {
        let (mut from_client, _) = between.accept().expect("a client");
        let mut to_agent = TcpStream::connect(agent).expect("the agent");
        let (mut from_agent, mut to_client) =
            (to_agent.try_clone().expect("a half"), from_client.try_clone().expect("a half"));
        let back = thread::spawn(move || std::io::copy(&mut from_agent, &mut to_client).ok());
        let (mut said, mut some) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = from_client.read(&mut some) {
            said.extend_from_slice(&some[..count]);
            to_agent.write_all(&some[..count]).expect("the agent listens");
        }
        let _ = to_agent.shutdown(std::net::Shutdown::Both);
        back.join().expect("it ends");
        said
    });
    let mut stream = TcpStream::connect(address).expect("the relay");
    let mut connection = ClientConnection::new(config, server_name()).expect("a connection");
    while connection.is_handshaking() || connection.wants_write() {
        connection.complete_io(&mut stream).expect("a handshake");
    }
    drop(stream);
    let said = relay.join().expect("it ends");
    assert!(said.len() > 500, "{} bytes recorded", said.len());
    said
}

/// Sends this, and reads until the other side closes. Only a refusal may arrive.
fn shown_out(stream: &mut TcpStream, say: &[u8]) {
    // It fails when the connection is closed already.
    let _ = stream.write_all(say);
    let mut heard = Vec::new();
    // A reset is an end, too.
    let _ = stream.take(1 << 14).read_to_end(&mut heard);
    assert!(heard.len() < 1 << 14, "{} bytes were said to a stranger", heard.len());
}

/// Sends this byte by byte, repeatedly, until the other side closes.
fn dribbled(stream: &mut TcpStream, say: &[u8]) {
    stream.set_read_timeout(Some(DRIBBLE)).expect("a timeout");
    for byte in say.iter().cycle() {
        if stream.write_all(&[*byte]).is_err() {
            return;
        }
        match stream.read(&mut [0; 64]) {
            // A refusal, and then the end.
            Ok(1..) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Ok(0) | Err(_) => return,
        }
    }
}

/// Uses TLS, and calls; returns whether the service answered.
fn spoken(stream: &mut TcpStream, config: &Arc<ClientConfig>) -> bool {
    let mut connection =
        ClientConnection::new(Arc::clone(config), server_name()).expect("a connection");
    let mut tls = Stream::new(&mut connection, stream);
    let _ = tls.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    matches!(tls.read(&mut [0; 64]), Ok(1..))
}
