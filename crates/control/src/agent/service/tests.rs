use super::super::caller::Who;
use super::super::policy::Policy;
use super::*;
use crate::protocol::{Code, WorkerCommand};

/// A call of the controller of a job.
async fn call<C: crate::protocol::Call>(
    host: &Arc<HostAgent>,
    request: C,
) -> Result<C::Reply, Status> {
    let caller = Caller { who: Who::Job, connection: None };
    let service = CallerService { host: Arc::clone(host), caller };
    let answer = service.answer(request.into(), PartSender::to_nobody()).await?;
    Ok(answer.read().unwrap())
}

#[tokio::test]
async fn only_a_worker_of_a_session_is_directed() {
    let program = std::path::Path::new("/bin/true");
    let host = HostAgent::new("alpha", program, Some(Policy::default()), false).unwrap();
    let asked = ReserveRequest {
        run: "r1".into(),
        controller: "me".into(),
        expected_ms: 60_000,
        session: Vec::new(),
    };
    let session = call(&host, asked).await.unwrap().session;
    let direct = async |session: &[u8]| {
        let (direction, session) = (WorkerCommand::Go, session.to_vec());
        let request = DirectRequest { cell: 1, step: 1, direction, session };
        call(&host, request).await.unwrap_err()
    };
    assert_eq!(direct(&[7; 16]).await.code(), Code::NotFound);
    let unprepared = direct(&session).await;
    assert_eq!(unprepared.code(), Code::FailedPrecondition);
    assert!(
        unprepared.message().contains("cell 1 is not prepared here"),
        "{}",
        unprepared.message()
    );
}
