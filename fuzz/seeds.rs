//! Good octets to begin with, made anew each time: a fuzzer does not guess a signature.

use std::path::Path;

use btu_control::environment::collect;
use btu_control::protocol::{HelloReply, PrepareRequest, ReserveRequest};
use btu_control::trust::{Authority, Choice, Pairing, Role};
use btu_suite::activity::{Activity, Cpu, Meeting, Order, Rounds, TcpSend, Word, Work};
use btu_units::{Bytes, Span};
use prost::Message;

/// Writes seeds of `target` into `directory`.
pub fn write(target: &str, directory: &Path) {
    for (number, seed) in of(target).iter().enumerate() {
        std::fs::write(directory.join(format!("seed-{number}")), seed).expect("the corpus can be written");
    }
}

fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "certificate" => certificates(),
        "environment" => vec![json(&collect())],
        "identity" => vec![identity().into_bytes()],
        "network_file" => btu_network::library().iter().map(|(_, text)| text.as_bytes().to_vec()).collect(),
        "order" => orders().iter().map(json).collect(),
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
