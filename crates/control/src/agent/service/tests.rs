use super::super::policy::Policy;
use super::*;
use crate::protocol::{Code, DescribeRequest, HelloReply, HelloRequest, WorkerCommand};

/// An agent with this policy.
fn agent(policy: &str) -> Arc<HostAgent> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("policy.toml");
    std::fs::write(&file, policy).unwrap();
    let policy = Policy::load(&file).unwrap();
    HostAgent::new("alpha", std::path::Path::new("/bin/true"), Some(policy), false).unwrap()
}

/// A call of the holder of a certificate with this name.
async fn call<C: crate::protocol::Call>(
    host: &Arc<HostAgent>,
    name: &str,
    request: C,
) -> Result<C::Reply, Status> {
    let service = CallerService { host: Arc::clone(host), caller: Caller::named(name, None) };
    let answer = service.answer(request.into(), PartSender::to_nobody()).await?;
    Ok(answer.read().unwrap())
}

fn asked() -> ReserveRequest {
    ReserveRequest {
        run: "r1".into(),
        controller: "me".into(),
        expected_ms: 60_000,
        session: Vec::new(),
    }
}

#[tokio::test]
async fn controllers_that_are_not_listed_hear_nothing() {
    let host = agent("controllers = [\"carol\"]\n");
    let HelloReply { name, .. } = call(&host, "carol", HelloRequest {}).await.unwrap();
    assert_eq!(name, "alpha");
    let refused = call(&host, "mallory", HelloRequest {}).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
}

#[tokio::test]
async fn a_host_that_is_another_s_is_not_looked_at() {
    let host = agent("runs_at_once = 1\n");
    call(&host, "carol", asked()).await.unwrap();
    let refused = call(&host, "dave", DescribeRequest {}).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("busy with run r1 of carol"), "{}", refused.message());
    assert!(call(&host, "carol", DescribeRequest {}).await.is_ok());
}

#[tokio::test]
async fn only_a_worker_of_the_own_session_is_directed() {
    let host = agent("runs_at_once = 1\n");
    let session = call(&host, "carol", asked()).await.unwrap().session;
    let direct = async |name: &str, session: &[u8]| {
        let (direction, session) = (WorkerCommand::Go, session.to_vec());
        let request = DirectRequest { cell: 1, step: 1, direction, session };
        call(&host, name, request).await.unwrap_err()
    };
    assert_eq!(direct("carol", &[7; 16]).await.code(), Code::NotFound);
    assert_eq!(direct("dave", &session).await.code(), Code::PermissionDenied);
    let unprepared = direct("carol", &session).await;
    assert_eq!(unprepared.code(), Code::FailedPrecondition);
    assert!(
        unprepared.message().contains("cell 1 is not prepared here"),
        "{}",
        unprepared.message()
    );
}
