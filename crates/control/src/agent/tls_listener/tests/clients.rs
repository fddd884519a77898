//! Clients that misbehave, and clients that are disconnected.

use tokio_rustls::client::TlsStream as Tls;

use super::places::MOST_KNOWN;
use super::*;
use crate::protocol::{CALLS, Json, MESSAGE_LIMIT_BYTES, PROTOCOL, Request};
use crate::trust::Choice;

/// The first line of a controller.
fn greeting() -> String {
    format!("btu-control {PROTOCOL} 0.1.0\n")
}

/// A frame: its length, and its content.
fn frame(length: usize, content: &[u8]) -> Vec<u8> {
    [&(length as u32).to_be_bytes(), content].concat()
}

/// A call for an echo of `text`, as a frame.
fn call(id: u64, text: &str) -> Vec<u8> {
    let request = Json::of(&Request::from(echo::words(text))).unwrap();
    let call = format!(r#"{{"Call":{{"id":{id},"request":{}}}}}"#, request.text());
    frame(call.len(), call.as_bytes())
}

impl Drill {
    /// A client that says what it likes.
    async fn raw(&mut self) -> Tls<TcpStream> {
        let connector = TlsConnector::from(self.controller("work"));
        let stream = TcpStream::connect(self.address).await.unwrap();
        connector.connect(server_name("alpha").unwrap(), stream).await.unwrap()
    }
}

#[tokio::test]
async fn oversized_and_truncated_messages_end_the_connection_and_nothing_else() {
    let mut drill = Drill::begin(LIMITS);
    let config = drill.controller("work");
    let other = drill.channel(config).await.unwrap();
    const { assert!(0x0110_0000 > MESSAGE_LIMIT_BYTES) };
    for said in [
        frame(0x0110_0000, b"abc"),
        frame(usize::MAX, b"abc"),
        frame(100, b"too short"),
        frame(2, b"\"\x01"),
        frame(0, b"behind it"),
        frame(11, br#"{"Call":17}"#),
        frame(8, br#""Alive""#),
        b"\0\0".to_vec(),
    ] {
        let mut stream = drill.raw().await;
        stream.write_all(greeting().as_bytes()).await.unwrap();
        stream.write_all(&call(7, "before")).await.unwrap();
        stream.write_all(&said).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = until_closed(&mut stream).await;
        let rest = answer.strip_prefix(greeting().as_bytes()).expect("a greeting").to_vec();
        assert!(rest.is_empty() || rest.windows(6).any(|seen| seen == b"before"), "{rest:?}");
    }
    assert_eq!(echo::say(&other, "another connection").await.unwrap(), "another connection");
    drop(other);
    drill.all_gone().await;
}

#[tokio::test]
async fn a_request_that_cannot_be_read_ends_its_call_alone() {
    let mut drill = Drill::begin(LIMITS);
    let mut stream = drill.raw().await;
    stream.write_all(greeting().as_bytes()).await.unwrap();
    let unknown = br#"{"Call":{"id":3,"request":{"Explode":{}}}}"#;
    stream.write_all(&frame(unknown.len(), unknown)).await.unwrap();
    stream.write_all(&call(4, "on the same connection")).await.unwrap();
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains("on the same connection") {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "{answer:?}");
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.contains("InvalidArgument") && answer.contains("Explode"), "{answer}");
    drop(stream);
    drill.all_gone().await;
}

#[tokio::test]
async fn nonsense_after_a_good_handshake_ends_the_connection() {
    let mut drill = Drill::begin(LIMITS);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice();
    let cut_off = [preface, &[0, 0, 40, 1, 4, 0, 0, 0, 1, 0x82]].concat();
    let giant = [preface, &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]].concat();
    let endless = [b'b'; 1000];
    for said in
        [b"GET / HTTP/1.1\r\n\r\n".as_slice(), &[0xff; 100], &cut_off, &giant, &endless, b"btu"]
    {
        let mut stream = drill.raw().await;
        stream.write_all(said).await.unwrap();
        stream.shutdown().await.unwrap();
        until_closed(&mut stream).await;
    }
    drill.all_gone().await;
    drill.still_serves().await;
}

/// It calls, and takes no answer; or it says nothing any more.
#[tokio::test]
async fn a_client_that_never_reads_is_disconnected() {
    let mut drill = Drill::with(LIMITS, Duration::from_millis(500));
    let text = "x".repeat(1_000_000);
    for (calls, number) in [(64, 1), (0, 2)] {
        let mut stream = drill.raw().await;
        let asking = async {
            stream.write_all(greeting().as_bytes()).await?;
            for id in 0..calls {
                stream.write_all(&call(id, &text)).await?;
            }
            stream.flush().await
        };
        let out = until("it is out", || {
            drill.handle.counts().welcomed == number && drill.handle.clients().is_empty()
        });
        // A write fails when it is out already.
        drop(tokio::join!(asking, out));
    }
    drill.all_gone().await;
    drill.still_serves().await;
}

#[tokio::test]
async fn a_revoked_client_has_to_go_and_the_others_stay() {
    let mut drill = Drill::begin(LIMITS);
    let (config, other) = (drill.controller("lost"), drill.controller("work"));
    let lost = drill.channel(config.clone()).await.unwrap();
    let work = drill.channel(other).await.unwrap();
    assert_eq!(echo::say(&lost, "in").await.unwrap(), "in");
    assert_eq!(echo::say(&work, "in").await.unwrap(), "in");
    let revoked = drill.authority.revoke("lost");
    drill.handle.reload(server_config(&drill.agent, Some(&revoked)).unwrap());
    let gone = drill.handle.dismiss(&revoked);
    assert_eq!(gone.iter().map(|peer| peer.name.as_str()).collect::<Vec<_>>(), ["lost"]);
    assert!(echo::say(&lost, "still in?").await.is_err());
    assert_eq!(echo::say(&work, "still in?").await.unwrap(), "still in?");
    assert_eq!(drill.handle.clients().len(), 1);
    assert_eq!(drill.handle.counts().dismissed, 1);
    let nobody = Choice { name: "nobody".to_owned(), role: None, serial: None };
    assert!(drill.authority.authority.revoke(&nobody).is_err());
}

/// An answer that was ready when the certificate was revoked is not sent any more.
#[tokio::test]
async fn a_revoked_client_is_written_nothing() {
    let mut authority = TestAuthority::new();
    let agent = authority.identity("alpha", Role::Agent);
    let config = client_config(&authority.identity("lost", Role::Controller), None).unwrap();
    let accept = server_config(&agent, None).unwrap();
    let mut listener =
        TlsListener::open("127.0.0.1:0".parse().unwrap(), accept, LIMITS, Box::new(|_| ()))
            .unwrap();
    let stream = TcpStream::connect(listener.address()).await.unwrap();
    let mut lost =
        TlsConnector::from(config).connect(server_name("alpha").unwrap(), stream).await.unwrap();
    let mut client = listener.accept().await.unwrap();
    client.write_all(b"before").await.unwrap();
    assert_eq!(listener.handle().dismiss(&authority.revoke("lost")).len(), 1);
    for _ in 0..2 {
        let error = client.write_all(b"after").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    }
    drop(client);
    assert_eq!(until_closed(&mut lost).await, b"before");
}

/// A handshake keeps the configuration that it began with. Without a reload all handshakes are such
/// ones.
#[tokio::test]
async fn who_is_revoked_during_the_handshake_is_not_let_in() {
    let mut drill = Drill::begin(LIMITS);
    let (config, other) = (drill.controller("lost"), drill.controller("work"));
    let revoked = drill.authority.revoke("lost");
    assert!(drill.handle.dismiss(&revoked).is_empty());
    if let Ok(lost) = drill.channel(config).await {
        assert!(echo::say(&lost, "in?").await.is_err());
    }
    until("it is told", || drill.log().contains("the certificate of controller lost is revoked"))
        .await;
    assert_eq!((drill.handle.counts().refused, drill.handle.counts().welcomed), (1, 0));
    let work = drill.channel(other).await.unwrap();
    assert_eq!(echo::say(&work, "in").await.unwrap(), "in");
}

#[tokio::test]
async fn a_connection_ends_with_its_certificate() {
    let mut drill = Drill::begin(LIMITS);
    let soon = client_config(&drill.authority.lapsing("brief", Role::Controller, 3), None).unwrap();
    let other = drill.controller("work");
    let (brief, work) = (drill.channel(soon).await.unwrap(), drill.channel(other).await.unwrap());
    assert_eq!(echo::say(&brief, "in").await.unwrap(), "in");
    assert_eq!(echo::say(&work, "in").await.unwrap(), "in");
    // A silent client is disconnected, too.
    until("it is out", || drill.handle.clients().len() == 1).await;
    assert!(echo::say(&brief, "still in?").await.is_err());
    assert_eq!(echo::say(&work, "still in?").await.unwrap(), "still in?");
    assert_eq!(drill.handle.counts().dismissed, 1);
    until("it is told", || drill.log().contains("the certificate of controller brief has lapsed"))
        .await;
}

#[tokio::test]
async fn clients_of_an_earlier_authority_go() {
    let mut drill = Drill::begin(LIMITS);
    let config = drill.controller("work");
    let work = drill.channel(config.clone()).await.unwrap();
    assert_eq!(echo::say(&work, "in").await.unwrap(), "in");
    let mut later = TestAuthority::new();
    let agent = later.identity("alpha", Role::Agent);
    assert!(
        !agent.is_of_the_authority_of(&drill.agent)
            && agent.is_of_the_authority_of(&later.identity("beta", Role::Agent))
    );
    let gone = drill.handle.replace(server_config(&agent, None).unwrap());
    assert_eq!(gone.iter().map(|peer| peer.name.as_str()).collect::<Vec<_>>(), ["work"]);
    assert!(echo::say(&work, "still in?").await.is_err());
    let config = client_config(&later.identity("work", Role::Controller), None).unwrap();
    let work = drill.channel(config).await.unwrap();
    assert_eq!(echo::say(&work, "in").await.unwrap(), "in");
}

#[tokio::test]
async fn there_are_only_so_many_clients() {
    let mut drill = Drill::begin(ListenerLimits { clients: 2, ..LIMITS });
    let config = drill.controller("work");
    let first = drill.channel(config.clone()).await.unwrap();
    let second = drill.channel(config.clone()).await.unwrap();
    for channel in [&first, &second] {
        assert_eq!(echo::say(channel, "in").await.unwrap(), "in");
    }
    let third = drill.channel(config.clone()).await;
    if let Ok(third) = third {
        assert!(echo::say(&third, "in?").await.is_err());
    }
    until("it is told", || {
        drill.log().contains("too many connections of clients, for controller work")
    })
    .await;
    drop(first);
    until("a place is free", || drill.handle.clients().len() == 1).await;
    let fourth = drill.channel(config).await.unwrap();
    assert_eq!(echo::say(&fourth, "in").await.unwrap(), "in");
}

#[tokio::test]
async fn one_controller_keeps_no_other_out_by_its_connections() {
    let mut drill = Drill::begin(ListenerLimits { clients_per_controller: 2, ..LIMITS });
    let greedy = drill.controller("greedy");
    let mut held = Vec::new();
    for _ in 0..2 {
        let channel = drill.channel(greedy.clone()).await.unwrap();
        assert_eq!(echo::say(&channel, "in").await.unwrap(), "in");
        held.push(channel);
    }
    // With TLS 1.3 a controller learns of it at its first call.
    if let Ok(third) = drill.channel(greedy).await {
        assert!(echo::say(&third, "in?").await.is_err());
    }
    until("it is told", || drill.log().contains("connections of clients, for controller greedy"))
        .await;
    let other = drill.controller("other");
    let other = drill.channel(other).await.unwrap();
    assert_eq!(echo::say(&other, "in").await.unwrap(), "in");
}

/// The table of docs/security.md, line by line.
#[test]
fn the_limits_are_those_of_the_documentation() {
    let limits = ListenerLimits::STANDARD;
    let seconds = |time: Duration| format!("{} s", time.as_secs());
    let pace = |RateLimit { burst, per_second }| format!("{per_second} a second, {burst} at once");
    let kept = format!(
        "of them kept for addresses from which clients have come (the newest {MOST_KNOWN} since the agent was started)"
    );
    let of_network = "connections of strangers from one network (a /24; IPv6: a /64), and of one address from which \
                      clients have come";
    let table = [
        ("handshakes at a time", limits.handshakes.to_string()),
        (
            "of them from one address (IPv6: from one /64)",
            limits.handshakes_per_address.to_string(),
        ),
        (&kept, limits.kept_for_known.to_string()),
        (of_network, pace(limits.network_pace)),
        ("connections of strangers in all", pace(limits.pace)),
        ("time for a handshake", seconds(limits.handshake)),
        ("clients at a time", limits.clients.to_string()),
        (
            "of them of one controller, by the name in its certificate",
            limits.clients_per_controller.to_string(),
        ),
        ("calls of one client at a time", CALLS.to_string()),
        ("a message", format!("{} MiB", MESSAGE_LIMIT_BYTES >> 20)),
        ("silence of a client before it is dropped", seconds(SILENCE)),
    ];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security.md");
    let document = std::fs::read_to_string(path).unwrap();
    let lines = table.iter().map(|(what, limit)| format!("| {what} | {limit} |"));
    let table = lines.collect::<Vec<_>>().join("\n");
    assert!(document.contains(&format!("| limit | value |\n|---|---|\n{table}\n\n")), "{table}");
}
