//! An agent's log lines about refused callers: each names the caller and the reason.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::time::Duration;

use btu_contract::activity::{Activity, FtpServe, Order, Receiving, Rendezvous, TcpReceive};
use btu_control::protocol::{Json, PrepareRequest, StartRequest};
use btu_units::{Bytes, Span};

use crate::agent::{Running, block_on, wait_for};
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
