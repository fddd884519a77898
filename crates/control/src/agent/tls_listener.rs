//! The listener of a job's agent: TCP, mutual TLS, and a bound on what callers can use before they
//! have shown a certificate of the job.
//!
//! Nothing is sent to a caller before it has completed a TCP handshake and sent its TLS greeting,
//! so that no caller can use an agent to flood a third party.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::journal::AGENT;
use crate::lines::{Lines, write};

/// A client: it has shown a certificate of the job.
pub(super) type TlsClient = TlsStream<TcpStream>;

/// Handshakes at a time. If all places are taken, the oldest one is ended, so that silent callers
/// keep no controller out.
const HANDSHAKES: usize = 64;

/// The time for a handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 5 });

/// How long the agent reads from a refused caller, so that the reason reaches the caller before the
/// connection is reset, and the bytes that it reads meanwhile.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 256 << 10;

/// Connections that the kernel queues until they are accepted. Beyond it Linux drops new ones, also
/// those of controllers.
const WAITING: u32 = 1024;

/// When the system gives no connection (no descriptor is free, say), the pause until the next
/// attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A listener for TLS connections. Closes when it is dropped.
pub(super) struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    handshakes: JoinSet<Option<TlsClient>>,
    /// The handshakes that were begun last, the oldest first. Some are over.
    newest: VecDeque<AbortHandle>,
    refused: Arc<Mutex<Lines>>,
}

impl TlsListener {
    /// Begins to listen, from within a runtime.
    pub(super) fn open(listen: SocketAddr, config: Arc<ServerConfig>) -> io::Result<Self> {
        let socket = if listen.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // An agent that is started again takes its port at once.
        socket.set_reuseaddr(true)?;
        socket.bind(listen)?;
        Ok(Self {
            listener: socket.listen(WAITING)?,
            acceptor: config.into(),
            handshakes: JoinSet::new(),
            newest: VecDeque::new(),
            refused: Arc::default(),
        })
    }

    /// The IP address and port on which the listener waits for connections.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The next client. No client is lost when this is dropped.
    pub(super) async fn accept(&mut self) -> TlsClient {
        loop {
            tokio::select! {
                Some(over) = self.handshakes.join_next() => {
                    if let Ok(Some(client)) = over {
                        return client;
                    }
                }
                accepted = self.listener.accept() => match accepted {
                    Ok((stranger, from)) => self.greet(stranger, from),
                    Err(_) => sleep(RETRY_INTERVAL).await,
                },
            }
        }
    }

    fn greet(&mut self, stranger: TcpStream, from: SocketAddr) {
        let (acceptor, refused) = (self.acceptor.clone(), Arc::clone(&self.refused));
        self.newest.push_back(self.handshakes.spawn(async move {
            let said = shaken(stranger, acceptor).await;
            let why = |why| write(&refused, AGENT, &format!("turned away {}: {why}", from.ip()));
            said.map_err(why).ok()
        }));
        if self.newest.len() > HANDSHAKES
            && let Some(oldest) = self.newest.pop_front()
        {
            oldest.abort();
        }
    }
}

/// Performs the handshake of a caller.
async fn shaken(stranger: TcpStream, acceptor: TlsAcceptor) -> Result<TlsClient, String> {
    // Answers are small and must leave at once; a failure of this call only delays them.
    let _ = stranger.set_nodelay(true);
    match timeout(HANDSHAKE_LIMIT, acceptor.accept(stranger).into_fallible()).await {
        Ok(Ok(client)) => Ok(client),
        Ok(Err((error, stranger))) => {
            see_out(stranger).await;
            Err(error.to_string())
        }
        Err(late) => Err(late.to_string()),
    }
}

/// Ends a connection so that the last message to it arrives: closing with unread data would reset
/// it (RFC 9293 section 3.10.4, RFC 1122 section 4.2.2.13).
async fn see_out(mut stranger: TcpStream) {
    let listened = async {
        stranger.shutdown().await?;
        tokio::io::copy(&mut stranger.take(LINGER_BYTES), &mut tokio::io::sink()).await
    };
    let _ = timeout(LINGER, listened).await;
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::task::JoinHandle;
    use tokio_rustls::TlsConnector;

    use super::*;
    use crate::trust::tests::TestJob;
    use crate::trust::{client_config, server_config, server_name};

    /// The timeout of each operation here on a busy machine.
    const TIMEOUT: Duration = Duration::from_mins(1);

    /// A listener that greets each client with a word.
    struct Greeter {
        job: TestJob,
        address: SocketAddr,
        serving: JoinHandle<()>,
    }

    impl Greeter {
        fn begin() -> Self {
            let job = TestJob::new();
            let config = server_config(&job.agent("alpha")).unwrap();
            let mut listener = TlsListener::open("127.0.0.1:0".parse().unwrap(), config).unwrap();
            let address = listener.address().unwrap();
            let serving = tokio::spawn(async move {
                loop {
                    let mut client = listener.accept().await;
                    tokio::spawn(async move { client.write_all(b"hello").await });
                }
            });
            Self { job, address, serving }
        }

        async fn connected(&self) -> TcpStream {
            TcpStream::connect(self.address).await.unwrap()
        }

        /// A controller of the job is served.
        async fn serves(&self) {
            let connector = TlsConnector::from(client_config(&self.job.controller()).unwrap());
            let meeting = async {
                let stream = self.connected().await;
                let name = server_name("alpha").unwrap();
                let mut stream = connector.connect(name, stream).await.unwrap();
                let mut said = [0; 5];
                stream.read_exact(&mut said).await.unwrap();
                said
            };
            assert_eq!(&timeout(TIMEOUT, meeting).await.expect("it is served"), b"hello");
        }
    }

    impl Drop for Greeter {
        fn drop(&mut self) {
            self.serving.abort();
        }
    }

    /// Reads until the other side closes.
    async fn closed(stream: &mut TcpStream) -> Vec<u8> {
        let mut said = Vec::new();
        // A reset is a close, too.
        let read = timeout(TIMEOUT, stream.read_to_end(&mut said)).await;
        drop(read.expect("the listener closes the connection"));
        said
    }

    #[tokio::test]
    async fn garbage_and_silence_are_shown_out() {
        let greeter = Greeter::begin();
        let hello_then_nothing = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc][..], &[0; 64]].concat();
        let endless = [0x16, 3, 1, 0x40, 0].repeat(60_000);
        let cases: [&[u8]; 5] = [
            b"GET / HTTP/1.1\r\nhost: alpha\r\n\r\n",
            &[0xff; 4096],
            &hello_then_nothing,
            &endless,
            b"",
        ];
        for said in cases {
            let began = Instant::now();
            let mut stream = greeter.connected().await;
            // It fails when the listener has closed already.
            let _ = stream.write_all(said).await;
            let answer = closed(&mut stream).await;
            assert!(answer.len() <= 64.min(said.len()), "{} for {}", answer.len(), said.len());
            assert!(began.elapsed() < TIMEOUT);
        }
        greeter.serves().await;
    }

    /// Each of them has more than the places for handshakes.
    #[tokio::test]
    async fn silent_connections_keep_no_controller_out() {
        let greeter = Greeter::begin();
        let mut silent = Vec::new();
        for _ in 0..2 * HANDSHAKES {
            silent.push(greeter.connected().await);
        }
        greeter.serves().await;
        // The oldest have left, or leave in time.
        closed(&mut silent[0]).await;
    }

    #[tokio::test]
    async fn another_job_s_controller_is_no_client() {
        let greeter = Greeter::begin();
        let other = client_config(&TestJob::new().controller()).unwrap();
        let name = server_name("alpha").unwrap();
        let met = TlsConnector::from(other).connect(name, greeter.connected().await).await;
        assert!(met.is_err());
        greeter.serves().await;
    }
}
