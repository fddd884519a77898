use tonic::Code;

use super::super::caller::Arrival;
use super::super::policy::Policy;
use super::*;
use crate::trust::Peer;

/// An agent in the network with this policy.
fn service(policy: &str) -> Service {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("policy.toml");
    std::fs::write(&file, policy).unwrap();
    let policy = Policy::load(&file).unwrap();
    let host = Host::new("alpha", std::path::Path::new("/bin/true"), Some(policy), false).unwrap();
    Service { host, way: Way::Network }
}

/// A call of the holder of a certificate with this name.
fn call<T>(name: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let peer = Peer { name: name.to_owned(), serial: "01".to_owned(), not_after_unix_s: i64::MAX };
    request.extensions_mut().insert(Arrival { peer, connection: None });
    request
}

#[tokio::test]
async fn controllers_that_are_not_listed_hear_nothing() {
    let service = service("controllers = [\"carol\"]\n");
    let hello = || HelloRequest { protocol: PROTOCOL, btu_version: String::new() };
    assert_eq!(service.hello(call("carol", hello())).await.unwrap().into_inner().name, "alpha");
    for refused in [
        service.hello(call("mallory", hello())).await.err(),
        service.hello(Request::new(hello())).await.err(),
    ] {
        let refused = refused.expect("refused");
        assert!(
            matches!(refused.code(), Code::PermissionDenied | Code::Unauthenticated),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_host_that_is_another_s_is_not_looked_at() {
    let service = service("runs_at_once = 1\n");
    let asked = ReserveRequest {
        run: "r1".into(),
        controller: "me".into(),
        expected_ms: 60_000,
        session: Vec::new(),
    };
    service.reserve(call("carol", asked)).await.unwrap();
    let refused = service.describe(call("dave", DescribeRequest {})).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("busy with run r1 of carol"), "{}", refused.message());
    assert!(service.describe(call("carol", DescribeRequest {})).await.is_ok());
}

#[tokio::test]
async fn only_a_worker_of_the_own_session_is_directed() {
    let service = service("runs_at_once = 1\n");
    let asked = ReserveRequest {
        run: "r1".into(),
        controller: "me".into(),
        expected_ms: 60_000,
        session: Vec::new(),
    };
    let session = service.reserve(call("carol", asked)).await.unwrap().into_inner().session;
    let direct = |name: &'static str, direction: i32, session: &[u8]| {
        let request = DirectRequest { cell: 1, step: 1, direction, session: session.to_vec() };
        let service = &service;
        async move { service.direct(call(name, request)).await.unwrap_err() }
    };
    let go = Direction::Go.into();
    assert_eq!(direct("carol", go, &[7; 16]).await.code(), Code::NotFound);
    assert_eq!(direct("dave", go, &session).await.code(), Code::PermissionDenied);
    assert_eq!(direct("carol", 9, &session).await.code(), Code::InvalidArgument);
    let unprepared = direct("carol", go, &session).await;
    assert_eq!(unprepared.code(), Code::FailedPrecondition);
    assert!(
        unprepared.message().contains("cell 1 is not prepared here"),
        "{}",
        unprepared.message()
    );
}
