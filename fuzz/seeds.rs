//! Good octets to begin with, made anew each time: a fuzzer does not guess a signature.

use std::path::Path;

use btu_control::environment::collect;
use btu_control::protocol::{HelloReply, PrepareRequest, ReserveRequest};
use btu_control::trust::{Authority, Choice, Pairing, Role};
use btu_store::{NewRun, State, Store};
use btu_suite::activity::{Activity, Cpu, Meeting, Order, Rounds, TcpSend, Word, Work};
use btu_suite::record::{CpuTime, Failure, Outcome, Report};
use btu_units::{Bytes, Span, Time};
use prost::Message;

/// Writes seeds of `target` into `directory`.
pub fn write(target: &str, directory: &Path) {
    for (number, seed) in of(target).iter().enumerate() {
        std::fs::write(directory.join(format!("seed-{number}")), seed).expect("the corpus can be written");
    }
}

/// Seeds of `target`.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "account" => accounts(),
        "archive" => archives(),
        "capture" => vec![capture()],
        "certificate" => certificates(),
        "environment" => vec![json(&collect())],
        "identity" => vec![identity().into_bytes()],
        "inventory" => vec![INVENTORY.as_bytes().to_vec()],
        "network_file" => btu_network::library().iter().map(|(_, text)| text.as_bytes().to_vec()).collect(),
        "order" => orders().iter().map(json).collect(),
        "policy" => vec![POLICY.as_bytes().to_vec()],
        "pairing" => vec![Pairing::new().expect("a code").code().into_bytes(), b"alpha".to_vec()],
        "replies" => {
            vec![[vec![0], HelloReply { name: "alpha".into(), ..Default::default() }.encode_to_vec()].concat()]
        }
        "requests" => requests(),
        "revocations" => revocations(),
        "word" => vec![json(&Word::Ready { endpoint: Some(([127, 0, 0, 1], 9).into()) })],
        _ => Vec::new(),
    }
}

const INVENTORY: &str = "[hosts.alpha]\nrole = \"test\"\ncontrol = \"192.0.2.10:7417\"\nmeasured = \"198.51.100.10\"\n\
                         [hosts.beta]\nssh = \"me@beta\"\n";

const POLICY: &str = "activities = [\"tcp-send\", \"cpu\"]\ncontrollers = [\"carol\"]\npeers = [\"192.0.2.0/24\"]\nruns_at_once = 2\n\
                      [limits]\nrate = \"1 Gb/s\"\nbytes = \"100 GB\"\nduration = \"10 min\"\n\
                      [scratch]\ndirectory = \"/var/tmp\"\nbytes = \"2 GiB\"\n";

fn accounts() -> Vec<Vec<u8>> {
    let report = |outcome| Report { started: Time::ZERO, finished: Time::ZERO, cpu: CpuTime::default(), outcome };
    let outcomes = [Outcome::Null, Outcome::Responded { answers: 3 }, Outcome::Served { bytes: Bytes::new(4096) }];
    let failure = Failure::Died { status: "exit code 1".into() };
    let accounts = outcomes.map(|outcome| Ok::<_, Failure>(report(outcome)));
    accounts.iter().map(json).chain([json(&Err::<Report, _>(failure))]).collect()
}

/// One as it is written, and the lines of another: no fuzzer gets compression and checksum right.
fn archives() -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(directory.path().join("runs.sqlite")).expect("a store");
    let plan = serde_json::json!({"version": 1});
    let now = "2026-01-01T00:00:00Z";
    let new = NewRun {
        suite: "btu",
        profile: "quick",
        network: "veth",
        label: Some("a seed"),
        tags: &["one".to_owned()],
        created: now,
        seed: 7,
        btu_version: "0.1.0",
        plan: &plan,
        plan_hash: "none",
        planned_cells: 1,
    };
    let lock = store.create_run(&new).expect("a run");
    store.finish(&lock, State::Complete, now).expect("its end");
    let written = store.export(&[lock.run()], Vec::new()).expect("an archive");
    let event = serde_json::json!({"event": {"at": now, "level": "info", "text": "begun"}});
    let environment = serde_json::json!({"environment": {"moment": "before", "document": {}}});
    vec![written, format!("{environment}\n{event}\n").into_bytes()]
}

/// The head of a pcapng file, a port, and a frame that came in.
fn capture() -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let block = |kind: u32, content: Vec<u8>| {
        let length = content.len() as u32 + 12;
        [words(&[kind, length]), content, words(&[length])].concat()
    };
    let head = block(0x0a0d_0d0a, words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    // Ethernet; options: name (2), description (3), stamps in ns (9).
    let options =
        [(2_u32, b"port"), (3, b"link")].map(|(code, text)| [words(&[code | 4 << 16]), text.to_vec()].concat());
    let port = block(1, [words(&[1, 0]), options.concat(), words(&[9 | 1 << 16, 9, 0])].concat());
    let frame = vec![0xff; 16];
    let packet = block(6, [words(&[0, 0, 1000, 16, 16]), frame, words(&[2 | 4 << 16, 1, 0])].concat());
    [head, port, packet].concat()
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("it can be written")
}

fn identity() -> String {
    Pairing::new().and_then(|pairing| pairing.agent()).expect("an identity").to_pem()
}

fn certificates() -> Vec<Vec<u8>> {
    let sections = pem::parse_many(identity()).expect("PEM");
    sections.into_iter().filter(|section| section.tag() == "CERTIFICATE").map(pem::Pem::into_contents).collect()
}

fn revocations() -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut authority = Authority::create(directory.path()).expect("an authority");
    authority.issue("alpha", Role::Agent, 1, &directory.path().join("alpha.pem")).expect("an identity");
    authority.revoke(&Choice { name: "alpha".into(), role: None, serial: None }).expect("a list");
    let text = std::fs::read(authority.list_path()).expect("the list");
    let der = pem::parse(&text).expect("PEM").into_contents();
    vec![text, der]
}

fn orders() -> Vec<Order> {
    let send = TcpSend {
        meeting: Meeting::Listen([127, 0, 0, 1].into()),
        token: [7; 16],
        message: Bytes::new(4096),
        work: Work::For(Span::from_seconds(1)),
        window: None,
    };
    [Activity::Null, Activity::TcpSend(send), Activity::Cpu(Cpu { rounds: Rounds::Count(3) })]
        .map(|activity| Order { seed: 1, deadline: Span::from_seconds(9), activity })
        .to_vec()
}

fn requests() -> Vec<Vec<u8>> {
    let prepare = |order: &Order| PrepareRequest {
        cell: 1,
        step: 2,
        order_json: String::from_utf8(json(order)).expect("UTF-8"),
        session: vec![7; 16],
    };
    let reserve =
        ReserveRequest { run: "r1".into(), controller: "desk".into(), expected_ms: 1000, session: vec![7; 16] };
    let prepared = orders().iter().map(|order| [vec![1], prepare(order).encode_to_vec()].concat()).collect::<Vec<_>>();
    [prepared, vec![[vec![6], reserve.encode_to_vec()].concat()]].concat()
}
