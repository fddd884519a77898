//! Tests of connections without a valid certificate: each is closed within the limit and leaves
//! nothing behind.

use btu_conditions::{Conditions, judge};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::io::AsyncRead;

use super::*;
use crate::trust::explain;

/// The error of the first call of a controller with this configuration, explained.
async fn refusal(drill: &Drill, config: Arc<ClientConfig>) -> String {
    match drill.channel(config).await {
        Err(ConnectError::Broken(error)) => {
            explain("alpha", &error).unwrap_or_else(|| panic!("not explained: {error:?}"))
        }
        other => panic!("{other:?}"),
    }
}

fn anonymous(
    drill: &Drill,
    version: &'static rustls::SupportedProtocolVersion,
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots
        .add(
            CertificateDer::from_pem_file(drill.authority.directory.path().join("authority.pem"))
                .unwrap(),
        )
        .unwrap();
    let mut config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

#[tokio::test]
async fn revoked_lapsed_foreign_and_missing_certificates_are_named_on_both_sides() {
    let mut drill = Drill::begin(LIMITS);
    let revoked = drill.controller("lost");
    let list = drill.authority.revoke("lost");
    drill.handle.reload(server_config(&drill.agent, Some(&list)).unwrap());
    let lapsed = client_config(&drill.authority.lapsed("old", Role::Controller), None).unwrap();
    let foreign =
        client_config(&TestAuthority::new().identity("work", Role::Controller), None).unwrap();
    let none = anonymous(&drill, &rustls::version::TLS13);
    let old = anonymous(&drill, &rustls::version::TLS12);
    let cases = [
        (revoked, "alpha refused this controller's certificate: it is revoked"),
        (lapsed, "alpha refused this controller's certificate: it has lapsed"),
        (foreign, "the certificate that alpha shows is of another authority"),
        (none, "alpha refused this controller's certificate: none was shown"),
        (old, "alpha speaks TLS 1.3 and nothing older"),
    ];
    let count = cases.len() as u64;
    for (config, expected) in cases {
        let said = refusal(&drill, config).await;
        assert!(said.starts_with(expected), "{said}");
    }
    until("all are counted", || drill.handle.counts().refused == count).await;
    assert_eq!(drill.handle.counts().welcomed, 0);
    drill.all_gone().await;
    until("the newest is told", || drill.log().contains("127.0.0.1")).await;
    drill.still_serves().await;
}

/// For any data instead of a handshake, and for silence, the listener closes within its limit.
#[tokio::test]
async fn garbage_plain_http2_and_silence_are_shown_out() {
    let conditions = Conditions::begin();
    let mut drill = Drill::begin(LIMITS);
    let hello_then_nothing = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc][..], &[0; 64]].concat();
    let endless = [0x16, 3, 1, 0x40, 0].repeat(60_000);
    let cases: [&[u8]; 6] = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        b"GET / HTTP/1.1\r\nhost: alpha\r\n\r\n",
        &[0xff; 4096],
        &hello_then_nothing,
        &endless,
        b"",
    ];
    for said in cases {
        let began = Instant::now();
        let mut stream = TcpStream::connect(drill.address).await.unwrap();
        // It fails when the listener has closed already.
        let _ = stream.write_all(said).await;
        let answer = until_closed(&mut stream).await;
        assert!(answer.len() <= 64.min(said.len()), "{} bytes for {}", answer.len(), said.len());
        let took = began.elapsed();
        let limit = LIMITS.handshake + LINGER + Duration::from_secs(5);
        judge!(conditions, took < limit, "{took:?}");
    }
    let counts = drill.handle.counts();
    assert_eq!(
        (counts.refused + counts.slow, counts.welcomed),
        (cases.len() as u64, 0),
        "{counts:?}"
    );
    drill.all_gone().await;
    drill.still_serves().await;
}

/// A handshake byte by byte never gets to its end.
#[tokio::test]
async fn a_slow_loris_is_shown_out() {
    let mut drill = Drill::begin(LIMITS);
    let hello = recorded(&mut drill).await;
    let (began, conditions) = (Instant::now(), Conditions::begin());
    let (mut incoming, mut outgoing) =
        TcpStream::connect(drill.address).await.unwrap().into_split();
    let dribble = tokio::spawn(async move {
        for byte in hello.iter().cycle() {
            if outgoing.write_all(&[*byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    until_closed(&mut incoming).await;
    let lasted = began.elapsed();
    assert!(lasted > LIMITS.handshake / 2, "{lasted:?}");
    judge!(conditions, lasted < LIMITS.handshake + Duration::from_secs(5), "{lasted:?}");
    until("it is counted", || drill.handle.counts().slow == 1).await;
    drop(incoming);
    dribble.abort();
    drill.all_gone().await;
    drill.still_serves().await;
}

/// A caller that replays a client's data is not admitted.
#[tokio::test]
async fn a_replayed_handshake_is_refused() {
    let mut drill = Drill::begin(LIMITS);
    let said = recorded(&mut drill).await;
    let before = drill.handle.counts();
    let mut stream = TcpStream::connect(drill.address).await.unwrap();
    stream.write_all(&said).await.unwrap();
    until_closed(&mut stream).await;
    until("it is refused", || drill.handle.counts().refused == before.refused + 1).await;
    assert_eq!(drill.handle.counts().welcomed, before.welcomed);
    drop(stream);
    drill.all_gone().await;
    drill.still_serves().await;
}

/// All that a controller sends in a handshake and a call, as an attacker between controller and
/// agent would record it.
async fn recorded(drill: &mut Drill) -> Vec<u8> {
    let config = drill.controller("work");
    let between = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = between.local_addr().unwrap();
    let agent = drill.address;
    let relay = tokio::spawn(async move {
        let (client, _) = between.accept().await.unwrap();
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_agent, mut to_agent) = TcpStream::connect(agent).await.unwrap().into_split();
        let back =
            tokio::spawn(async move { tokio::io::copy(&mut from_agent, &mut to_client).await });
        let said = copy_and_keep(&mut from_client, &mut to_agent).await;
        let _ = to_agent.shutdown().await;
        let _ = back.await.unwrap();
        said
    });
    let channel = channel_from([127, 0, 0, 1].into(), address, config).await.unwrap();
    assert_eq!(echo::say(&channel, "hello").await.unwrap(), "hello");
    drop(channel);
    let said = relay.await.unwrap();
    // A greeting of TLS, a certificate, and a call: 979 were seen.
    assert!(said.len() > 800, "{} bytes recorded", said.len());
    said
}

async fn copy_and_keep(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
) -> Vec<u8> {
    let (mut all, mut some) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = from.read(&mut some).await {
        all.extend_from_slice(&some[..count]);
        if to.write_all(&some[..count]).await.is_err() {
            break;
        }
    }
    all
}
