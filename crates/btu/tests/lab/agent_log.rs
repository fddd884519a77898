//! An agent's log lines about refused callers: each names the caller and the reason.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use btu_control::protocol::{Client, Code, DescribeRequest, Json, PrepareRequest, StartRequest};
use btu_control::trust::{Authority, Role, client_config};
use btu_suite::activity::{Activity, FtpServe, Order, Receiving, Rendezvous, TcpReceive};
use btu_units::{Bytes, Span};
use tokio_rustls::TlsConnector;

use crate::agent::{Running, block_on, reserve, wait_for};
use crate::share::Share;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// An unknown caller's connection to a worker's data port on this machine.
async fn port_of(agent: &Running, activity: Activity) -> TcpStream {
    let client = agent.client().await;
    let order = Json::of(&Order::new(1, Span::from_seconds(20), activity)).unwrap();
    let request = PrepareRequest { cell: 1, step: 0, order, session: Vec::new() };
    let endpoint = client.call(request).await.unwrap().endpoint;
    client.call(StartRequest { cell: 1, session: Vec::new() }).await.unwrap();
    let stranger = TcpStream::connect(endpoint).unwrap();
    stranger.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stranger
}

/// Waits for a line about the unknown caller; the worker writes it about when it closes the
/// connection.
fn told(agent: &Running, why: &str) {
    let line = format!("worker: refused a caller from 127.0.0.1: {why}\n");
    wait_for(&line, || agent.log().contains(&line));
}

#[test]
fn a_wrong_token_at_a_worker_s_port_is_written_down() {
    let _share = Share::one();
    let agent = Running::with(None);
    block_on(async {
        let (meeting, token) = (Rendezvous::Listen(HERE), *b"sixteen byte key");
        let receive = TcpReceive {
            meeting,
            token,
            message: Bytes::new(1000),
            window: None,
            volume: None,
            receiving: Receiving::Plain,
        };
        let mut stranger = port_of(&agent, Activity::TcpReceive(receive)).await;
        stranger.write_all(b"another such key").unwrap();
        assert_eq!(stranger.read(&mut [0; 100]).unwrap_or(0), 0, "a stranger is answered");
        told(&agent, "it said another token than the order's");
    });
}

#[test]
fn guesses_at_a_worker_s_password_are_written_down() {
    let _share = Share::one();
    let agent = Running::with(None);
    block_on(async {
        let serve = FtpServe { address: HERE, password: "secret".to_owned() };
        let mut stranger = port_of(&agent, Activity::FtpServe(serve)).await;
        stranger.write_all(&b"USER btu\r\nPASS guess\r\n".repeat(3)).unwrap();
        let mut said = String::new();
        // It ends when the server closes the connection, in any way.
        let _ = stranger.read_to_string(&mut said);
        assert!(!said.contains("\r\n230"), "logged in: {said}");
        told(&agent, "it did not log in");
    });
}

/// An agent that listens with mutual TLS on this machine; killed when dropped.
struct Listening {
    directory: tempfile::TempDir,
    authority: Authority,
    child: Child,
}

impl Listening {
    fn begin() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut authority = Authority::create(&directory.path().join("keys")).unwrap();
        let identity = directory.path().join("alpha.pem");
        authority.issue("alpha", Role::Agent, 1, &identity).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
        command.args(["agent", "--listen", "127.0.0.1:0", "--identity"]).arg(&identity);
        let log = File::create(directory.path().join("log")).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let listening = Self { directory, authority, child };
        wait_for("the agent listens", || listening.address().is_some());
        listening
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    fn address(&self) -> Option<String> {
        let log = self.log();
        let from = log.split_once("agent: listening on ")?.1;
        Some(from.split_once('\n')?.0.to_owned())
    }

    /// A connection of a controller of this name.
    async fn controller(&mut self, name: &str) -> Client {
        let file = self.directory.path().join(Path::new(name).with_extension("pem"));
        let identity = self.authority.issue(name, Role::Controller, 1, &file).unwrap();
        let (config, address) = (client_config(&identity, None).unwrap(), self.address().unwrap());
        let connection = tokio::net::TcpStream::connect(address).await.unwrap();
        let agent = "alpha.agent.btu.invalid".try_into().expect("a name");
        let stream = TlsConnector::from(config).connect(agent, connection).await.unwrap();
        Client::connect(stream, None).await.unwrap()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_look_at_a_host_that_another_has_is_written_down() {
    let _share = Share::one();
    let mut agent = Listening::begin();
    block_on(async {
        let (carol, dave) = (agent.controller("carol").await, agent.controller("dave").await);
        reserve(&carol, "r1", "carol", Vec::new()).await;
        let refused = dave.call(DescribeRequest {}).await.expect_err("carol has the host");
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused:?}");
        let line = "agent: refused dave a look: busy with run r1 of carol, free in ";
        wait_for(line, || agent.log().contains(line));
        assert!(agent.log().contains("agent: reserved for run r1 of carol\n"), "{}", agent.log());
    });
}
