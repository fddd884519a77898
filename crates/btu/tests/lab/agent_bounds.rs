//! A controller has total limits: the resources of all its orders, the callers of its ports, and
//! its time.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use btu_contract::activity::{Activity, Disk, FtpServe, Order, Rendezvous, UdpSend, Work};
use btu_control::protocol::{
    Client, Code, HelloRequest, ImpairRequest, Json, PrepareDiskFileRequest, PrepareRequest,
    ReleaseRequest, StartRequest, Status,
};
use btu_units::{BitRate, Bytes, Span};

use crate::agent::{Running, block_on, btu, client_over, reserve, wait_for};
use crate::share::Share;
use crate::support::LONG;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TOKEN: [u8; 16] = *b"sixteen byte key";
const MIB: u64 = 1 << 20;

/// Prepares an activity; returns its address.
async fn prepare(client: &Client, step: u32, activity: Activity) -> Result<String, Status> {
    prepare_for(client, step, activity, Span::from_seconds(30)).await
}

async fn prepare_for(
    client: &Client,
    step: u32,
    activity: Activity,
    deadline: Span,
) -> Result<String, Status> {
    let order = Json::of(&Order::new(1, deadline, activity)).unwrap();
    let request = PrepareRequest { cell: 1, step, order, session: Vec::new() };
    client.call(request).await.map(|reply| reply.endpoint)
}

fn datagrams() -> Activity {
    Activity::UdpSend(UdpSend {
        meeting: Rendezvous::Listen(HERE),
        token: TOKEN,
        message: Bytes::new(1000),
        offered: BitRate::from_megabits_per_second(10),
        duration: Span::from_seconds(1),
        hold: None,
    })
}

/// The agent's log has the refused controller and the reason. It has at most one line of a kind per
/// second, so the test checks the first refusal of an agent.
fn is_logged(agent: &Running, why: &str) {
    let line = format!("agent: refused a controller: {why}\n");
    assert!(agent.log().contains(&line), "no `{line}` in: {}", agent.log());
}

fn forbidden(refused: Result<impl std::fmt::Debug, Status>, rule: &str) -> String {
    let refused = refused.expect_err(rule);
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
    assert!(refused.message().contains(rule), "{}", refused.message());
    refused.message().to_owned()
}

#[test]
fn ten_streams_send_no_more_than_one_may() {
    let _share = Share::one();
    let agent = Running::with(Some("[limits]\nrate = \"10 Mb/s\"\n"));
    block_on(async {
        let client = agent.client().await;
        prepare(&client, 0, datagrams()).await.unwrap();
        let said = forbidden(prepare(&client, 1, datagrams()).await, "`limits.rate` in line 2");
        assert!(said.contains("20 Mb/s in all"), "{said}");
        assert_eq!(agent.workers(), 1);
        assert!(said.starts_with("udp-send: its session would send"), "{said}");
        is_logged(&agent, &said);
        // The claim of ended work is free again.
        client.call(ReleaseRequest::default()).await.unwrap();
        prepare(&client, 1, datagrams()).await.unwrap();
    });
}

/// Not by new connections, by new sessions of the same run, and not next to it without a session.
#[test]
fn who_comes_again_and_again_gets_no_more_than_one_may() {
    let Some(_share) = Share::one_once() else { return };
    let agent = Running::with(Some("[limits]\nrate = \"10 Mb/s\"\n"));
    block_on(async {
        for round in 0..10 {
            let client = agent.client().await;
            let session = reserve(&client, "r1", "carol", Vec::new()).await.session;
            let order = Order::new(1, Span::from_seconds(30), datagrams());
            let ask = |step| {
                let order = Json::of(&order).unwrap();
                PrepareRequest { cell: 1, step, order, session: session.clone() }
            };
            client.call(ask(0)).await.unwrap();
            assert_eq!(agent.workers(), 1, "the worker of the session before lives: {round}");
            forbidden(client.call(ask(1)).await, "`limits.rate` in line 2");
            let without = prepare(&agent.client().await, 2, datagrams()).await;
            let said = forbidden(without, "`limits.rate` in line 2");
            assert!(said.contains("this host would send 20 Mb/s"), "{said}");
            assert_eq!(agent.workers(), 1);
            // Another run waits, although the connection of this one is gone.
            drop(client);
            let other = agent.client().await;
            let busy = reserve(&other, "r2", "mallory", Vec::new()).await.busy;
            assert!(busy.contains("busy with run r1 of carol"), "{busy}");
        }
    });
}

#[test]
fn processes_are_counted() {
    let _share = Share::one();
    let agent = Running::with(Some("[limits]\nworkers = 3\n"));
    block_on(async {
        let client = agent.client().await;
        for step in 0..3 {
            prepare(&client, step, Activity::Null).await.unwrap();
        }
        let said =
            forbidden(prepare(&client, 3, Activity::Null).await, "`limits.workers` in line 2");
        is_logged(&agent, &said);
        assert_eq!(agent.workers(), 3);
    });
}

#[test]
fn memory_and_open_files_of_all_workers_are_bounded_together() {
    let _share = Share::one();
    for (limits, rule) in [
        ("memory = \"300 MiB\"", "`limits.memory` in line 2"),
        ("open_files = 300", "`limits.open_files` in line 2"),
    ] {
        let agent = Running::with(Some(&format!("[limits]\n{limits}\n")));
        block_on(async {
            let client = agent.client().await;
            // The limits of each come from its activity: 128 MiB, and 128 open files.
            prepare(&client, 0, Activity::Null).await.unwrap();
            prepare(&client, 1, Activity::Null).await.unwrap();
            let said = forbidden(prepare(&client, 2, Activity::Null).await, rule);
            is_logged(&agent, &said);
            assert_eq!(agent.workers(), 2);
            let limits = std::fs::read_to_string(agent.worker().join("limits")).unwrap();
            let most = |name| {
                let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
                line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
            };
            assert_eq!((most("Max data size"), most("Max open files")), (128 * MIB, 128));
        });
    }
}

fn prepare_disk_file(directory: &Path, file_bytes: u64, session: &[u8]) -> PrepareDiskFileRequest {
    let directory = directory.display().to_string();
    PrepareDiskFileRequest { directory, file_bytes, seed: 1, session: session.to_vec() }
}

#[test]
fn room_for_files_is_taken_before_they_are_written() {
    let _share = Share::one();
    let agent = Running::with(Some("[scratch]\nbytes = \"3 MiB\"\n"));
    let scratch = tempfile::tempdir().unwrap();
    block_on(async {
        let client = agent.client().await;
        let said = forbidden(
            client.call(prepare_disk_file(scratch.path(), 4 * MIB, &[])).await,
            "`scratch.bytes` in line 2",
        );
        is_logged(&agent, &said);
        let reply = client.call(prepare_disk_file(scratch.path(), MIB, &[])).await.unwrap();
        let source = reply.source;
        let copies = || {
            let (file, directory) = (Bytes::new(MIB), scratch.path().to_owned());
            Activity::Disk(Disk {
                directory,
                source: Some((&source).into()),
                file,
                work: Work::Bytes(file),
            })
        };
        // The source, and one copy each.
        prepare(&client, 0, copies()).await.unwrap();
        prepare(&client, 1, copies()).await.unwrap();
        forbidden(prepare(&client, 2, copies()).await, "`scratch.bytes` in line 2");
        forbidden(
            client.call(prepare_disk_file(scratch.path(), MIB, &[])).await,
            "`scratch.bytes` in line 2",
        );
    });
}

#[test]
fn a_source_file_is_a_part_of_the_disk_activity() {
    let _share = Share::one();
    let agent = Running::with(Some("activities = [\"null\", \"cpu\"]\n"));
    let scratch = tempfile::tempdir().unwrap();
    block_on(async {
        let client = agent.client().await;
        forbidden(
            client.call(prepare_disk_file(scratch.path(), MIB, &[])).await,
            "`activities` in line 1",
        );
    });
}

/// Whether the agent has a file open in `directory`.
fn has_open(agent: &Running, directory: &Path) -> bool {
    let files = std::fs::read_dir(agent.process().join("fd")).unwrap().flatten();
    files
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .any(|file| file.starts_with(directory))
}

#[test]
fn a_source_file_is_given_up_with_its_session() {
    let _share = Share::one();
    let agent = Running::with(None);
    let scratch = tempfile::tempdir().unwrap();
    block_on(async {
        let client = agent.client().await;
        let session = reserve(&client, "r1", "carol", Vec::new()).await.session;
        let (other, asked) =
            (client.clone(), prepare_disk_file(scratch.path(), 512 * MIB, &session));
        let making = tokio::spawn(async move { other.call(asked).await });
        let began = Instant::now();
        while !has_open(&agent, scratch.path()) {
            assert!(began.elapsed() < LONG, "it was never under way");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let second = client
            .call(prepare_disk_file(scratch.path(), MIB, &session))
            .await
            .expect_err("one is being made");
        assert_eq!(second.code(), Code::FailedPrecondition, "{second:?}");
        client.call(ReleaseRequest { session }).await.unwrap();
        let given_up = making.await.unwrap().expect_err("it goes on without its session");
        assert!(given_up.message().contains("was stopped"), "{}", given_up.message());
    });
}

#[test]
fn what_was_prepared_ends_at_its_deadline_and_serves_its_peers_alone() {
    let Some(_share) = Share::one_once() else { return };
    let agent = Running::with(Some("peers = [\"127.0.0.5\"]\n[limits]\nduration = \"2 s\"\n"));
    block_on(async {
        let client = agent.client().await;
        let serve = Activity::FtpServe(FtpServe { address: HERE, password: "secret".to_owned() });
        let prepared = Instant::now();
        let endpoint = prepare_for(&client, 0, serve, Span::from_seconds(2)).await.unwrap();
        let mut stranger = TcpStream::connect(&endpoint).unwrap();
        stranger.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        assert_eq!(stranger.read(&mut [0; 100]).unwrap_or(0), 0, "a stranger is greeted");
        wait_for("a refusal", || agent.log().contains("refused a caller from 127.0.0.1"));
        wait_for("the worker is killed", || agent.workers() == 0);
        assert!(prepared.elapsed() >= Duration::from_secs(2), "{:?}", prepared.elapsed());
        assert!(TcpStream::connect(&endpoint).is_err(), "the port is still open");
    });
}

/// Only ssh knows the interface of its control connection: it may be any of them.
#[test]
fn an_agent_that_ssh_did_not_start_impairs_nothing() {
    let _share = Share::one();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (input, output) = (OwnedFd::from(theirs.try_clone().unwrap()), OwnedFd::from(theirs));
    let mut command = btu(&["hosts", "agent", "--stdio"]);
    command.env_remove("SSH_CONNECTION").stdin(input).stdout(output).stderr(Stdio::null());
    let mut agent = command.spawn().unwrap();
    // The command holds the agent's end open, too.
    drop(command);
    block_on(async {
        let client = client_over(ours).await;
        let features = client.call(HelloRequest {}).await.unwrap().features;
        assert!(!features.contains(&"netem".to_owned()), "{features:?}");
        let session = reserve(&client, "r1", "carol", Vec::new()).await.session;
        let said = forbidden(
            client.call(impair("127.0.0.1", session)).await,
            "a rule that no policy changes",
        );
        assert!(said.contains("no SSH_CONNECTION"), "{said}");
    });
    assert!(agent.wait().unwrap().success(), "it ends with its connection");
}

fn impair(address: &str, session: Vec<u8>) -> ImpairRequest {
    ImpairRequest { address: address.to_owned(), delay_ns: 1_000_000, loss: 0.0, seed: 1, session }
}

#[test]
fn packets_are_impaired_by_the_policy_alone() {
    let _share = Share::one();
    let impair = |address| impair(address, Vec::new());
    for (policy, rule) in [
        ("runs_at_once = 1\n", "a rule that no policy changes"),
        ("activities = [\"null\"]\n", "`activities`"),
    ] {
        let agent = Running::with(Some(policy));
        block_on(async {
            let client = agent.client().await;
            let said = forbidden(client.call(impair("127.0.0.1")).await, rule);
            is_logged(&agent, &said);
            // Removing an impairment is always allowed.
            client.call(ImpairRequest { delay_ns: 0, ..impair("127.0.0.1") }).await.unwrap();
        });
    }
}

/// A greeting of a caller over UDP, as on the wire.
fn hello(number: u64) -> Vec<u8> {
    [b"btu1\x01\0\0\0", &TOKEN[..], &number.to_be_bytes()].concat()
}

/// The octets that a socket has received by now.
fn arrived(socket: &UdpSocket) -> Vec<usize> {
    socket.set_nonblocking(true).unwrap();
    std::iter::from_fn(|| socket.recv(&mut [0; 2000]).ok()).collect()
}

#[test]
fn a_listening_sender_floods_nobody() {
    let _share = Share::one();
    let agent = Running::with(Some("peers = [\"127.0.0.1\", \"127.0.0.8\"]\n"));
    block_on(async {
        let client = agent.client().await;
        let endpoint: SocketAddr = prepare(&client, 0, datagrams()).await.unwrap().parse().unwrap();
        client.call(StartRequest { cell: 1, session: Vec::new() }).await.unwrap();
        let outside = UdpSocket::bind(("127.0.0.7", 0)).unwrap();
        let forged = UdpSocket::bind(("127.0.0.8", 0)).unwrap();
        let peer = UdpSocket::bind((HERE, 0)).unwrap();
        // A process that knows the token sends these in the name of others.
        outside.send_to(&hello(0), endpoint).unwrap();
        forged.send_to(&hello(0), endpoint).unwrap();
        peer.send_to(&hello(0), endpoint).unwrap();
        peer.set_read_timeout(Some(LONG)).unwrap();
        let mut challenge = [0; 2000];
        assert_eq!(peer.recv(&mut challenge).unwrap(), 32);
        let number = u64::from_be_bytes(challenge[24..32].try_into().unwrap());
        // It is another address's number.
        forged.send_to(&hello(number), endpoint).unwrap();
        outside.send_to(&hello(number), endpoint).unwrap();
        peer.send_to(&hello(number), endpoint).unwrap();
        // The caller that has proved its address gets the welcome and the stream.
        assert_eq!(peer.recv(&mut challenge).unwrap(), 32);
        assert_eq!(peer.recv(&mut challenge).unwrap(), 1000);
        assert_eq!(arrived(&outside), [0; 0], "not one of the peers");
        assert_eq!(arrived(&forged), [32, 32], "as much as came in its name, and no stream");
        wait_for("a refusal", || agent.log().contains("refused a caller from 127.0.0.7"));
    });
}
