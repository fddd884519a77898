//! A controller and an agent at the two ends of a stream, and ends that say what they like.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;

/// An agent of which `Release` never answers, `Follow` says so many words as it was asked for, and
/// `Reserve` says the run back.
#[derive(Default)]
struct Agent {
    open: AtomicUsize,
    most: AtomicUsize,
    said: AtomicUsize,
    changed: Notify,
    names: Mutex<Vec<&'static str>>,
}

/// Counts a call while it is open.
struct Counted<'a>(&'a Agent);

impl<'a> Counted<'a> {
    fn begin(agent: &'a Agent) -> Self {
        let open = agent.open.fetch_add(1, Ordering::SeqCst) + 1;
        agent.most.fetch_max(open, Ordering::SeqCst);
        agent.changed.notify_waiters();
        Self(agent)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }
}

impl Agent {
    async fn until_open(&self, calls: usize) {
        loop {
            let changed = self.changed.notified();
            if self.open.load(Ordering::SeqCst) == calls {
                return;
            }
            timeout(Duration::from_secs(20), changed).await.expect("so many are open");
        }
    }

    async fn reply(&self, request: Request, parts: PartSender) -> Result<Json, Status> {
        let _open = Counted::begin(self);
        self.names.lock().unwrap().push(request.name());
        let answer = match request {
            Request::Release(_) => std::future::pending().await,
            Request::Follow(request) => {
                for word in 0..request.heard {
                    parts.send(Json::of(&vec![word; 1000]).unwrap()).await;
                    self.said.fetch_add(1, Ordering::SeqCst);
                }
                Json::of(&Done {})
            }
            Request::Reserve(request) => {
                Json::of(&ReserveReply { busy: request.run, ..ReserveReply::default() })
            }
            Request::Abandon(_) => Json::of(&"x".repeat(MESSAGE_LIMIT_BYTES)),
            _ => return Err(Status::permission_denied("not here")),
        };
        Ok(answer.unwrap())
    }
}

impl Serve for Agent {
    fn answer(&self, request: Request, parts: PartSender) -> BoxFuture<'_, Result<Json, Status>> {
        self.reply(request, parts).boxed()
    }
}

type Served = JoinHandle<std::io::Result<()>>;

/// An agent, and the other end of its connection.
fn served(silence: Option<Duration>) -> (Arc<Agent>, DuplexStream, Served) {
    let (ours, theirs) = duplex(1 << 16);
    let agent = Arc::new(Agent::default());
    let served = Arc::clone(&agent);
    let serving = tokio::spawn(async move { serve(theirs, &*served, silence).await });
    (agent, ours, serving)
}

async fn connected() -> (Arc<Agent>, Client, Served) {
    let (agent, stream, serving) = served(None);
    (agent, Client::connect(stream, None).await.unwrap(), serving)
}

fn reserve(run: &str) -> ReserveRequest {
    ReserveRequest { run: run.to_owned(), ..ReserveRequest::default() }
}

fn follow(words: u64) -> FollowRequest {
    FollowRequest { heard: words, ..FollowRequest::default() }
}

#[tokio::test]
async fn calls_are_answered_side_by_side_and_refusals_are_said() {
    let (agent, client, _serving) = connected().await;
    let stuck = client.open(ReleaseRequest::default()).unwrap();
    agent.until_open(1).await;
    let runs = (0..20).map(|number| number.to_string()).collect::<Vec<_>>();
    let answers = join_all(runs.iter().map(|run| client.call(reserve(run)))).await;
    let answers = answers.into_iter().map(|answer| answer.unwrap().busy).collect::<Vec<_>>();
    assert_eq!(answers, runs);
    let refused = client.call(HelloRequest {}).await.unwrap_err();
    assert_eq!((refused.code(), refused.message()), (Code::PermissionDenied, "not here"));
    drop(stuck);
    agent.until_open(0).await;
}

#[tokio::test]
async fn parts_come_in_order_before_the_end_and_wait_for_who_does_not_take_them() {
    let (ours, theirs) = duplex(1 << 16);
    let agent = Agent::default();
    let serving = serve(theirs, &agent, None);
    let mut ours = ours;
    let asking = async {
        ours.write_all(b"btu-control 4 0.1.0\n").await.unwrap();
        let mut line = [0; 20];
        ours.read_exact(&mut line).await.unwrap();
        let call = br#"{"Call":{"id":1,"request":{"Follow":{"cell":1,"step":0,"heard":100000,"session":[]}}}}"#;
        ours.write_u32(call.len() as u32).await.unwrap();
        ours.write_all(call).await.unwrap();
        // It is not read on: what the agent says is bounded.
        let mut before = usize::MAX;
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let now = agent.said.load(Ordering::SeqCst);
            if now == before && now > 0 {
                break;
            }
            before = now;
        }
        assert!(before * 2000 < 2 << 20, "{before} parts");
    };
    tokio::select! {
        _ = serving => panic!("it ended"),
        () = asking => {}
    }

    let (_, client, _serving) = connected().await;
    let mut words = client.open(follow(300)).unwrap();
    for due in 0..300 {
        let word: Vec<u64> = words.next().await.unwrap().expect("a word").read().unwrap();
        assert_eq!(word, vec![due; 1000]);
    }
    assert_eq!(words.next().await, Ok(None));
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_and_so_are_all_with_their_connection() {
    let (agent, client, serving) = connected().await;
    let waiting = timeout(Duration::from_millis(50), client.call(ReleaseRequest::default()));
    assert!(waiting.await.is_err());
    agent.until_open(0).await;
    assert_eq!(*agent.names.lock().unwrap(), ["Release"]);
    let held = [(); 3].map(|()| client.open(ReleaseRequest::default()).unwrap());
    agent.until_open(3).await;
    // The last handles of the connection.
    drop((held, client));
    agent.until_open(0).await;
    assert!(serving.await.unwrap().is_ok());
}

#[tokio::test]
async fn one_controller_has_so_many_calls_open_and_no_more() {
    let (agent, client, _serving) = connected().await;
    let held: Vec<_> =
        (0..CALLS).map(|_| client.open(ReleaseRequest::default()).unwrap()).collect();
    agent.until_open(CALLS).await;
    let refused = client.call(reserve("one more")).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    drop(held);
    agent.until_open(0).await;
    assert_eq!(client.call(reserve("again")).await.unwrap().busy, "again");
    assert_eq!(agent.most.load(Ordering::SeqCst), CALLS);
}

#[tokio::test]
async fn what_is_longer_than_a_message_may_be_ends_its_call_alone() {
    let (_, client, _serving) = connected().await;
    let long = "x".repeat(MESSAGE_LIMIT_BYTES);
    let refused = client.call(reserve(&long)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let refused = client.call(AbandonRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    // All parts together are no more than one message.
    let mut words = client.open(follow(1_000_000)).unwrap();
    let refused = loop {
        match words.next().await {
            Ok(word) => assert!(word.is_some(), "all of them came"),
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused.code(), Code::Internal);
    let most = &long[..MESSAGE_LIMIT_BYTES - 200];
    assert_eq!(client.call(reserve(most)).await.unwrap().busy.len(), most.len());
}

#[tokio::test]
async fn a_lost_connection_says_why() {
    let (_, client, serving) = connected().await;
    let waiting = client.open(ReleaseRequest::default()).unwrap();
    serving.abort();
    let mut waiting = waiting;
    let lost = waiting.next().await.unwrap_err();
    assert_eq!((lost.code(), lost.message()), (Code::Unavailable, "the connection ended"));
    assert_eq!(client.call(reserve("again")).await.unwrap_err(), lost);
}

#[tokio::test]
async fn who_lives_is_not_given_up() {
    let limit = Duration::from_secs(3);
    let life = Life { every: Duration::from_millis(50), limit };
    let (_, stream, _serving) = served(Some(limit));
    let client = Client::connect(stream, Some(life)).await.unwrap();
    tokio::time::sleep(limit + Duration::from_millis(500)).await;
    assert_eq!(client.call(reserve("there")).await.unwrap().busy, "there");
}

#[tokio::test]
async fn who_gives_no_sign_of_life_is_given_up_on_both_sides() {
    let limit = Duration::from_millis(300);
    // A controller that says nothing any more, and one that says nothing at all.
    for greeting in ["btu-control 4 0.1.0\n", ""] {
        let (_, mut stream, serving) = served(Some(limit));
        let began = Instant::now();
        stream.write_all(greeting.as_bytes()).await.unwrap();
        let ended = serving.await.unwrap().unwrap_err();
        assert_eq!(ended.kind(), std::io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= limit);
    }
    // An agent that says nothing any more.
    let life = Life { every: Duration::from_millis(50), limit };
    let (ours, mut theirs) = duplex(1 << 16);
    theirs.write_all(b"btu-control 4 0.1.0\n").await.unwrap();
    let client = Client::connect(ours, Some(life)).await.unwrap();
    let lost = client.call(reserve("?")).await.unwrap_err();
    assert_eq!((lost.code(), lost.message()), (Code::Unavailable, "it gave no sign of life"));
}

/// A frame of many octets over a slow line is a sign of life as long as it comes.
#[tokio::test]
async fn a_long_answer_over_a_slow_line_is_waited_for() {
    let limit = Duration::from_secs(2);
    let life = Life { every: Duration::from_millis(50), limit };
    let (ours, mut theirs) = duplex(1 << 16);
    theirs.write_all(b"btu-control 4 0.1.0\n").await.unwrap();
    let client = Client::connect(ours, Some(life)).await.unwrap();
    let (mut from, mut to) = tokio::io::split(theirs);
    tokio::spawn(
        async move { while from.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {} },
    );
    tokio::spawn(async move {
        let reply = Json::of(&ReserveReply { busy: "there".to_owned(), ..ReserveReply::default() });
        let end = FromAgent::End { id: 0, end: Ok(reply.unwrap()) };
        let frame = serde_json::to_string(&end).unwrap().into_bytes();
        to.write_u32(frame.len() as u32).await.unwrap();
        let each = limit * 3 / 2 / frame.len() as u32;
        for octet in frame {
            tokio::time::sleep(each).await;
            to.write_all(&[octet]).await.unwrap();
        }
        std::future::pending::<()>().await;
    });
    let began = Instant::now();
    assert_eq!(client.call(reserve("?")).await.unwrap().busy, "there");
    assert!(began.elapsed() > limit, "it was no slow line");
}

#[tokio::test]
async fn a_controller_of_another_version_gets_the_line_of_this_one_and_nothing_else() {
    let (_, mut stream, serving) = served(None);
    stream.write_all(b"btu-control 9 4.5.6\n").await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, format!("btu-control {PROTOCOL} {}\n", env!("CARGO_PKG_VERSION")));
    assert!(serving.await.unwrap().is_ok());
}

/// As one of the versions that were gRPC does: by HTTP/2.
#[tokio::test]
async fn a_controller_of_grpc_gets_a_status_that_it_can_show() {
    let (_, stream, serving) = served(None);
    let (mut requests, connection) = h2::client::handshake(stream).await.unwrap();
    let driving = tokio::spawn(connection);
    let request = http::Request::post("http://agent.local/btu.agent.v2.Agent/Hello").body(());
    let (answer, mut body) = requests.send_request(request.unwrap(), false).unwrap();
    body.send_data(vec![0; 5].into(), true).unwrap();
    let answer = timeout(Duration::from_secs(20), answer).await.unwrap().unwrap();
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!((answer.status().as_u16(), header("grpc-status").as_str()), (200, "9"));
    assert_eq!(
        header("grpc-message"),
        format!(
            "this agent speaks protocol {PROTOCOL} (btu {}) and the controller 2: use the same btu on both",
            env!("CARGO_PKG_VERSION")
        )
    );
    drop((requests, body, answer));
    driving.abort();
    assert!(serving.await.unwrap().is_ok());
}

/// What no controller of ours sends, in whole frames: depth, numbers, fields, encodings.
fn bad_frames() -> Vec<Vec<u8>> {
    let call = |request: &str| format!(r#"{{"Call":{{"id":1,"request":{request}}}}}"#);
    let deep = "[".repeat(1 << 20);
    let closed = format!("{}{}", "[".repeat(1 << 19), "]".repeat(1 << 19));
    let digits = "9".repeat(1 << 20);
    let prepare = |order: &str| {
        call(&format!(r#"{{"Prepare":{{"cell":1,"step":0,"order":{order},"session":[]}}}}"#))
    };
    let impair = |loss: &str| {
        let rest = r#""address":"127.0.0.1","delay_ns":1,"seed":1,"session":[]"#;
        call(&format!(r#"{{"Impair":{{{rest},"loss":{loss}}}}}"#))
    };
    let follow = |heard: &str| {
        call(&format!(r#"{{"Follow":{{"cell":1,"step":0,"heard":{heard},"session":[]}}}}"#))
    };
    let texts = [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        r#""Dead""#.to_owned(),
        deep.clone(),
        call(&deep),
        call(&closed),
        call(&format!(r#"{{"Hello":{{"x":{closed}}}}}"#)),
        prepare(&closed),
        prepare(&deep),
        call("NaN"),
        impair("NaN"),
        impair("1e999"),
        impair("-1e999"),
        follow("-1"),
        follow("1.5"),
        follow(&digits),
        follow(&format!("0.{digits}e{digits}")),
        call(r#"{"Hello":{},"Release":{"session":[]}}"#),
        call(r#"{"Release":{"session":[],"session":[1]}}"#),
        call(r#"{"Reserve":{"run":"\ud800","controller":"","expected_ms":0,"session":[]}}"#),
        call(r#"{"Release":{"session":[256]}}"#),
        call(r#"{"Run":{"command":"id"}}"#),
        r#"{"Call":{"id":1,"id":2,"request":{"Hello":{}}}}"#.to_owned(),
        r#"{"Call":{"id":18446744073709551616,"request":{"Hello":{}}}}"#.to_owned(),
        r#"{"Cancel":{"id":7}}"#.to_owned(),
    ];
    let octets = [
        vec![0xff; 64],
        b"{\"Call\":{\"id\":1,\"request\":\"\xc3\x28\"}}".to_vec(),
        vec![0; 1 << 16],
    ];
    texts.map(String::into_bytes).into_iter().chain(octets).collect()
}

/// The agent neither panics nor goes on for long nor says much, and the next controller is served.
#[tokio::test]
async fn no_frame_does_more_than_end_its_connection() {
    for body in bad_frames() {
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        let length = (body.len() as u32).to_be_bytes();
        let longer = (body.len() as u32 + 1).to_be_bytes();
        // Whole; longer than what comes; longer than any may be.
        for length in [length, longer, [0xff; 4]] {
            let (_, mut stream, serving) = served(Some(Duration::from_secs(20)));
            let greeting = format!("btu-control {PROTOCOL} 0.1.0\n");
            stream.write_all(greeting.as_bytes()).await.unwrap();
            // It may have hung up by now.
            let _ = stream.write_all(&[&length[..], &body].concat()).await;
            let _ = stream.shutdown().await;
            let mut said = Vec::new();
            let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut said)).await;
            read.expect("it hangs up").unwrap();
            drop(timeout(Duration::from_secs(20), serving).await.expect("it ends").expect(&shown));
            assert!(said.len() < 4096, "{} octets for `{shown}`", said.len());
        }
        let (_, client, _serving) = connected().await;
        assert_eq!(client.call(reserve("next")).await.unwrap().busy, "next", "{shown}");
    }
}
