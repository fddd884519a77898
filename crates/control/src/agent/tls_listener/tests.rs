//! Drills at a listener on loopback: real sockets, real handshakes, unknown callers of every kind.

mod clients;
mod crowd;
mod echo;
mod strangers;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsConnector;

use super::*;
use crate::protocol::{Client as Controller, ConnectError, SILENCE, serve};
use crate::trust::tests::TestAuthority;
use crate::trust::{Identity, Role, client_config, server_config, server_name};
use echo::Echo;

/// Short limits for tests.
const LIMITS: ListenerLimits =
    ListenerLimits { handshake: Duration::from_secs(1), ..ListenerLimits::STANDARD };
/// The timeout of each operation here on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The listener's part of an agent.
struct Drill {
    authority: TestAuthority,
    agent: Identity,
    handle: ListenerHandle,
    address: SocketAddr,
    lines: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Drill {
    fn begin(limits: ListenerLimits) -> Self {
        Self::with(limits, SILENCE)
    }

    fn with(limits: ListenerLimits, silence: Duration) -> Self {
        let mut authority = TestAuthority::new();
        let agent = authority.identity("alpha", Role::Agent);
        let lines = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&lines);
        let tell: Tell = Box::new(move |line| told.lock().unwrap().push(line.to_owned()));
        let config = server_config(&agent, None).unwrap();
        let mut listener =
            TlsListener::open("127.0.0.1:0".parse().unwrap(), config, limits, tell).unwrap();
        let (handle, address) = (listener.handle(), listener.address());
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Some(client) = listener.accept().await {
                connections.spawn(async move { serve(client, &Echo, Some(silence)).await });
            }
        });
        Self { authority, agent, handle, address, lines, serving }
    }

    fn controller(&mut self, name: &str) -> Arc<ClientConfig> {
        client_config(&self.authority.identity(name, Role::Controller), None).unwrap()
    }

    async fn channel(&self, config: Arc<ClientConfig>) -> Result<Controller, ConnectError> {
        channel_from([127, 0, 0, 1].into(), self.address, config).await
    }

    /// Open sockets of the listener's side, from the kernel's table (`proc_pid_net(5)`).
    fn connections(&self) -> usize {
        const LISTEN: &str = "0A";
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let port = format!(":{:04X}", self.address.port());
        let ours = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(
            |columns| {
                // Local address, state, and the inode: a connection that only the kernel still
                // knows has none.
                columns.len() > 9
                    && columns[1].ends_with(&port)
                    && columns[3] != LISTEN
                    && columns[9] != "0"
            },
        );
        ours.count()
    }

    /// Waits until all connections are gone, at the listener and in the kernel.
    async fn all_gone(&self) {
        until("all connections are gone", || {
            self.connections() == 0 && self.handle.clients().is_empty()
        })
        .await;
    }

    /// The listener still serves clients.
    async fn still_serves(&mut self) {
        let config = self.controller("work");
        let channel = self.channel(config).await.unwrap();
        assert_eq!(echo::say(&channel, "still there").await.unwrap(), "still there");
    }

    fn log(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }
}

impl Drop for Drill {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn channel_from(
    from: IpAddr,
    address: SocketAddr,
    config: Arc<ClientConfig>,
) -> Result<Controller, ConnectError> {
    let stream = connect_from(from, address).await?;
    // Without this a call's time is that of a delayed acknowledgement, 40 ms.
    stream.set_nodelay(true)?;
    let stream = TlsConnector::from(config).connect(server_name("alpha").unwrap(), stream).await?;
    Controller::connect(stream, None).await
}

/// A connection from this address.
async fn connect_from(from: IpAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from, 0))?;
    socket.connect(address).await
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < TIMEOUT, "waited for: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Reads until the other side closes, and returns the data.
async fn until_closed(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> Vec<u8> {
    let mut said = Vec::new();
    // A reset is a close, too.
    let read = tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut said)).await;
    drop(read.expect("the listener closes the connection"));
    said
}
