//! The agent as users start it, called as controllers call it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use btu_contract::activity::{
    Activity, Cpu, Disk, HintEnd, Order, PipeMeeting, Rendezvous, Rounds, Word, Work,
};
use btu_contract::bounds::{BoundedOrder, Bounds};
use btu_contract::hint::HintPlan;
use btu_contract::pipe::{End, Kind, PipePlan, Place};
use btu_control::protocol::{
    AbandonRequest, Client, Code, CollectReply, CollectRequest, FollowRequest, HelloRequest, Json,
    PROTOCOL, PrepareRequest, ReleaseRequest, RenewRequest, ReserveReply, ReserveRequest,
    StartRequest, Status,
};
use btu_units::Span;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::net::UnixStream;

use crate::common::{finish, once};
use crate::share::Share;
use crate::support::{LONG, memory, text};

/// An agent on a Unix socket in a directory of its own; killed when dropped.
pub(crate) struct Running {
    directory: tempfile::TempDir,
    child: Child,
}

impl Running {
    pub(crate) fn with(policy: Option<&str>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = btu(&["hosts", "agent", "--unix"]);
        let log = std::fs::File::create(directory.path().join("log")).unwrap();
        command.arg(directory.path().join("socket")).stdout(Stdio::null()).stderr(log);
        if let Some(policy) = policy {
            let file = directory.path().join("policy.toml");
            std::fs::write(&file, policy).unwrap();
            command.arg("--policy").arg(file);
        }
        let running = Self { child: command.spawn().unwrap(), directory };
        // The socket is there a moment before clients may call.
        wait_for("the agent listens", || running.log().contains("agent: listening on"));
        running
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    pub(crate) fn process(&self) -> PathBuf {
        Path::new("/proc").join(self.child.id().to_string())
    }

    /// The number of its running child processes.
    pub(crate) fn workers(&self) -> usize {
        self.children().len()
    }

    /// One of them, as a directory of /proc.
    pub(crate) fn worker(&self) -> PathBuf {
        Path::new("/proc").join(&self.children()[0])
    }

    fn children(&self) -> Vec<String> {
        let children = self.process().join(format!("task/{}/children", self.child.id()));
        std::fs::read_to_string(children)
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }

    pub(crate) async fn client(&self) -> Client {
        client_over(std::os::unix::net::UnixStream::connect(self.socket()).unwrap()).await
    }
}

/// A client of the agent at the other end of a connection.
pub(crate) async fn client_over(stream: std::os::unix::net::UnixStream) -> Client {
    stream.set_nonblocking(true).unwrap();
    Client::connect(UnixStream::from_std(stream).unwrap(), None).await.unwrap()
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn btu(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn output(arguments: &[&str]) -> Output {
    btu(arguments).output().unwrap()
}

pub(crate) fn wait_for(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < LONG, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn crunch(seconds: u64) -> Json {
    let rounds = Rounds::For(Span::from_seconds(seconds));
    let order = Order::new(1, Span::from_seconds(seconds + 5), Activity::Cpu(Cpu::of(rounds)));
    Json::of(&order).unwrap()
}

pub(crate) async fn reserve(
    client: &Client,
    run: &str,
    controller: &str,
    session: Vec<u8>,
) -> ReserveReply {
    let request = ReserveRequest {
        run: run.into(),
        controller: controller.into(),
        expected_ms: 40_000,
        session,
    };
    client.call(request).await.unwrap()
}

async fn set_off(client: &Client, cell: u64, session: &[u8], order: Json) {
    let session = session.to_vec();
    client.call(PrepareRequest { cell, step: 0, order, session: session.clone() }).await.unwrap();
    client.call(StartRequest { cell, session }).await.unwrap();
}

async fn collect(client: &Client, cell: u64, session: &[u8]) -> Result<CollectReply, Status> {
    let request = CollectRequest { cell, finishing: vec![0], session: session.to_vec() };
    client.call(request).await
}

#[test]
fn a_lost_controller_s_work_ends_in_time_and_what_was_finished_is_kept() {
    let Some(_share) = Share::one_once() else { return };
    let agent = Running::with(None);
    block_on(async {
        let client = agent.client().await;
        // The lease begins between the call and its answer.
        let reserved = Instant::now();
        let reply = reserve(&client, "r12", "carol", Vec::new()).await;
        let session = reply.session;
        assert_eq!((session.len(), reply.lease_ms, reply.resumed), (16, 5000, false));
        assert!(agent.log().contains("agent: reserved for run r12 of carol\n"), "{}", agent.log());

        let busy = reserve(&client, "r3", "dave", Vec::new()).await;
        assert!(busy.session.is_empty());
        assert!(busy.busy.starts_with("busy with run r12 of carol, free in "), "{}", busy.busy);

        set_off(&client, 1, &session, crunch(0)).await;
        let first = collect(&client, 1, &session).await.unwrap();
        assert!(first.accounts[0].result.text().contains("Ok"), "{first:?}");
        assert!(first.machine.is_some());
        set_off(&client, 2, &session, crunch(60)).await;
        assert_eq!(agent.workers(), 1);
        // From here on no client renews the lease.
        drop(client);
        tokio::time::sleep(Duration::from_secs(4).saturating_sub(reserved.elapsed())).await;
        wait_for("the worker is killed", || agent.workers() == 0);
        let lived = reserved.elapsed();
        assert!(lived >= Duration::from_millis(4900), "the lease was cut short: {lived:?}");

        let client = agent.client().await;
        let lapsed = client
            .call(RenewRequest { expected_left_ms: 1, session: session.clone() })
            .await
            .unwrap_err();
        assert_eq!(lapsed.code(), Code::NotFound);
        let kept = collect(&client, 1, &session).await.unwrap();
        assert_eq!(kept, first);
        let again = reserve(&client, "r12", "carol", session.clone()).await;
        assert_eq!((again.resumed, again.kept_cells.as_slice()), (true, [1, 2].as_slice()));
        let killed = collect(&client, 2, &session).await.unwrap();
        assert!(killed.accounts[0].result.text().contains("not heard"), "{killed:?}");
        client.call(ReleaseRequest { session: session.clone() }).await.unwrap();
        assert_eq!(collect(&client, 1, &session).await.unwrap_err().code(), Code::NotFound);
        assert!(!reserve(&client, "r3", "dave", Vec::new()).await.session.is_empty());
    });
}

#[test]
fn an_order_that_the_policy_forbids_makes_no_worker() {
    let _share = Share::one();
    let agent = Running::with(Some("runs_at_once = 1\n\n[limits]\nduration = \"2 s\"\n"));
    block_on(async {
        let client = agent.client().await;
        let request = PrepareRequest { cell: 1, step: 0, order: crunch(60), session: Vec::new() };
        let refused = client.call(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        assert!(refused.message().contains("`limits.duration` in line 4"), "{}", refused.message());
        assert_eq!(agent.workers(), 0);
        let log = agent.log();
        assert!(
            log.contains("agent: refused a controller: cpu for up to 65 s is longer than 2 s: "),
            "{log}"
        );
        let reply = client.call(HelloRequest {}).await.unwrap();
        assert!(
            reply.features.contains(&"policy".to_owned())
                && reply.activities.contains(&"cpu".to_owned())
        );
        assert_eq!((reply.instance.len(), reply.protocol), (16, PROTOCOL));
    });
}

/// A worker's messages, from the first one that the caller does not have to the last.
async fn follow(client: &Client, session: &[u8], heard: u64) -> Result<Vec<Word>, Status> {
    let request = FollowRequest { cell: 1, step: 0, heard, session: session.to_vec() };
    let mut told = client.open(request)?;
    let mut words = Vec::new();
    while let Some(word) = told.next().await? {
        words.push(word.read().unwrap());
    }
    Ok(words)
}

/// Alone, so that it needs no other end.
fn small_hint() -> Json {
    let plan = PipePlan::new(1, Kind::Tcp, Place::Here);
    let hint = HintPlan {
        trials: 3,
        target: Span::from_milliseconds(2),
        most_points: 3,
        ..HintPlan::standard(1)
    };
    let meeting = PipeMeeting::Network(Rendezvous::Listen([127, 0, 0, 1].into()));
    let end = HintEnd { end: End::Near, meeting, token: [7; 16], hint, pipe: plan };
    let activity = Activity::Hint(Box::new(end));
    Json::of(&Order::new(1, Span::from_seconds(30), activity)).unwrap()
}

#[test]
fn words_are_followed_while_they_are_said_and_afterwards() {
    let Some(_share) = Share::one_once() else { return };
    let agent = Running::with(None);
    block_on(async {
        let client = agent.client().await;
        let session = reserve(&client, "r1", "carol", Vec::new()).await.session;
        let early = follow(&client, &session, 0).await.unwrap_err();
        assert_eq!(early.code(), Code::FailedPrecondition, "{}", early.message());

        set_off(&client, 1, &session, small_hint()).await;
        let words = follow(&client, &session, 0).await.unwrap();
        let (last, steps) = words.split_last().expect("a worker has a last word");
        assert!(matches!(last, Word::Done(_)), "{last:?}");
        assert!(
            !steps.is_empty() && steps.iter().all(|word| matches!(word, Word::Step(_))),
            "{steps:?}"
        );
        assert_eq!(
            follow(&client, &session, 1).await.unwrap(),
            words[1..],
            "from where the caller was"
        );
        assert!(follow(&client, &session, u64::MAX).await.unwrap().is_empty());

        // Messages can be read again, before and after collection; in another session they cannot.
        collect(&client, 1, &session).await.unwrap();
        assert_eq!(follow(&client, &session, 0).await.unwrap(), words);
        let foreign = follow(&client, &[9; 16], 0).await.unwrap_err();
        assert_eq!(foreign.code(), Code::NotFound);
    });
}

#[test]
fn a_worker_that_is_killed_has_a_last_word_too() {
    let _share = Share::one();
    let agent = Running::with(None);
    block_on(async {
        let client = agent.client().await;
        set_off(&client, 1, &[], crunch(60)).await;
        let request = FollowRequest { cell: 1, step: 0, heard: 0, session: Vec::new() };
        let mut told = client.open(request).unwrap();
        client.call(AbandonRequest::default()).await.unwrap();
        let last = told.next().await.unwrap().expect("a last word");
        assert!(last.text().contains("abandoned"), "{}", last.text());
        assert_eq!(told.next().await.unwrap(), None);
    });
}

/// An allowed file is written up to the limit; the kernel enforces it for any order.
#[test]
fn a_worker_s_files_are_bounded_by_the_kernel() {
    let _share = Share::one();
    let written = |bytes: u64| {
        let directory = tempfile::tempdir().unwrap();
        let (directory, file) = (directory.path().to_owned(), btu_units::Bytes::new(1 << 20));
        let disk = Disk { directory, source: None, file, work: Work::Bytes(file) };
        let order = Order::new(1, Span::from_seconds(30), Activity::Disk(disk));
        let bounds = Bounds { file: Some(btu_units::Bytes::new(bytes)), ..Bounds::default() };
        let order = BoundedOrder { order, bounds };
        let mut child = btu(&["internal", "worker"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // A worker that is killed does not read on.
        let _ = writeln!(input, "{}", serde_json::to_string(&order).unwrap());
        let _ = writeln!(input, "go");
        let mut said = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        while !said.contains("done") && output.read_line(&mut said).unwrap() > 0 {}
        drop(input);
        child.wait().unwrap();
        said
    };
    assert!(written(1_048_576).contains("done"));
    assert!(!written(1_000_000).contains("done"));
}

#[test]
fn an_idle_agent_is_small_and_sleeps() {
    if once::tested_already() {
        return;
    }
    // Another agent that starts calls this one, to check its owner.
    let _share = Share::all();
    let agent = Running::with(None);
    let used = || {
        let stat = std::fs::read_to_string(agent.process().join("stat")).unwrap();
        let after_name = stat.rsplit_once(')').unwrap().1.split_whitespace().collect::<Vec<_>>();
        // utime and stime, columns 14 and 15 of proc(5), in ticks of 10 ms.
        after_name[11].parse::<u64>().unwrap() + after_name[12].parse::<u64>().unwrap()
    };
    let switches = || {
        let status = std::fs::read_to_string(agent.process().join("status")).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("voluntary_ctxt_switches"))
            .unwrap()
            .to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    std::thread::sleep(Duration::from_secs(1));
    let before = (used(), switches());
    std::thread::sleep(Duration::from_secs(4));
    assert!(used() - before.0 <= 1, "an idle agent uses the processor");
    assert_eq!(switches(), before.1, "an idle agent wakes up");
    let threads = std::fs::read_dir(agent.process().join("task")).unwrap().count();
    assert_eq!(threads, 1, "of an idle agent");
    let (own, all) = memory(agent.child.id().cast_signed()).expect("it runs");
    eprintln!(
        "an idle agent has {own} bytes of its own in memory, {all} with the pages of its program"
    );
    assert!(own < 10_000_000, "{own} bytes");
    // Of the program that scripts/static builds 15.3 MB were seen; of one for tests 24.1 MB, and
    // 39.6 MB while an agent kept all the code that its start had needed.
    assert!(all < 26_000_000, "{all} bytes");
}

#[test]
fn the_end_comes_in_order() {
    let _share = Share::one();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let mut agent = Running::with(None);
        block_on(async {
            let client = agent.client().await;
            set_off(&client, 1, &[], crunch(60)).await;
            assert_eq!(agent.workers(), 1);
        });
        let pid = Pid::from_raw(agent.child.id().cast_signed());
        kill(pid, signal).unwrap();
        assert!(agent.child.wait().unwrap().success());
        assert!(!agent.socket().exists());
    }
}

#[test]
fn only_a_dead_socket_is_replaced() {
    let _share = Share::one();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("letter.txt");
    std::fs::write(&file, "dear reader").unwrap();
    let child = btu(&["hosts", "agent", "--unix", file.to_str().unwrap()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let refused = finish(child);
    assert_eq!(refused.status.code(), Some(3));
    assert!(
        text(&refused.stderr).contains("letter.txt: Address already in use"),
        "{}",
        text(&refused.stderr)
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "dear reader");

    let mut killed = Running::with(None);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert!(killed.socket().exists(), "a kill leaves it");
    killed.child = btu(&["hosts", "agent", "--unix"])
        .arg(killed.socket())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("another agent listens there", || {
        std::os::unix::net::UnixStream::connect(killed.socket()).is_ok()
    });
}

#[test]
fn on_standard_input_it_ends_with_the_connection() {
    let _share = Share::one();
    let mut command = btu(&["hosts", "agent", "--stdio"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let greeting = format!("btu-control {PROTOCOL} {}\n", env!("CARGO_PKG_VERSION"));
    input.write_all(greeting.as_bytes()).unwrap();
    let mut said = vec![0; greeting.len()];
    child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
    drop(input);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    assert_eq!(text(&said), greeting);
}

#[test]
fn strangers_are_never_let_in_by_mistake() {
    let _share = Share::one();
    for arguments in [&["hosts", "agent"][..], &["hosts", "agent", "--listen", "0.0.0.0:7417"]] {
        let refused = output(arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        let said = text(&refused.stderr);
        assert!(said.contains("--stdio") || said.contains("--launched"), "{said}");
    }
    let nowhere = output(&["hosts", "agent", "--launched", "/nowhere"]);
    assert_eq!(nowhere.status.code(), Some(3));
    assert_eq!(
        text(&nowhere.stderr),
        "btu: reading /nowhere: No such file or directory (os error 2)\n"
    );
}

#[test]
fn a_wrong_policy_is_shown_in_its_line() {
    let _share = Share::one();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("policy.toml");
    std::fs::write(&file, "[limits]\nduration = \"long\"\n").unwrap();
    let refused = output(&["hosts", "agent", "--stdio", "--policy", file.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(
        said.contains("policy.toml:2:12: ") && said.contains("    2 | duration = \"long\"\n"),
        "{said}"
    );
}
