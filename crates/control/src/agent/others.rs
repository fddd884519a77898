//! Answers callers of other protocol versions, which call a service of another name, with a
//! sentence.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tower::Service;

use crate::protocol::agent_server::SERVICE_NAME;
use crate::protocol::{PROTOCOL, mismatch};

/// The text before the version number in the path of a call: `/btu.agent.v1.Agent/Hello`.
const BEFORE_VERSION: &str = "/btu.agent.v";

/// Answers all calls that the agent's own service does not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Others;

impl<B> Service<Request<B>> for Others {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(refusal(request.uri().path()).into_http()))
    }
}

fn refusal(path: &str) -> Status {
    match version(path) {
        Some(theirs) => Status::failed_precondition(mismatch(
            (PROTOCOL, env!("CARGO_PKG_VERSION")),
            (theirs, ""),
        )),
        None => Status::unimplemented(format!(
            "this is an agent of btu: it offers {SERVICE_NAME} and nothing else"
        )),
    }
}

fn version(path: &str) -> Option<u32> {
    path.strip_prefix(BEFORE_VERSION)?.split(['.', '/']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tonic::Code;

    use super::super::caller::Way;
    use super::super::host::Host;
    use super::super::offer;
    use super::*;

    /// An agent's answer to a call of `path`, for any content.
    fn answer(path: &str) -> Status {
        let host = Host::new("alpha", Path::new("/nowhere"), None, false).unwrap();
        let mut routes = offer(&host, Way::Unix);
        let request =
            Request::builder().method("POST").uri(path).header("content-type", "application/grpc");
        let request = request.body(Body::empty()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let response = runtime.block_on(routes.call(request)).unwrap();
        Status::from_header_map(response.headers()).expect("a status")
    }

    #[test]
    fn a_controller_of_another_version_gets_a_sentence() {
        let old = answer("/btu.agent.v1.Agent/Hello");
        assert_eq!(old.code(), Code::FailedPrecondition);
        assert!(
            old.message().contains("the controller 1; version 1 lacks reservations"),
            "{}",
            old.message()
        );
        let new = answer("/btu.agent.v9.Other/Greet");
        assert_eq!(new.code(), Code::FailedPrecondition);
        assert!(
            new.message().ends_with("and the controller 9: use the same btu on both"),
            "{}",
            new.message()
        );
    }

    #[test]
    fn what_is_no_controller_hears_what_this_is() {
        for path in
            ["/", "/btu.agent.v/Hello", "/btu.agent.vx.Agent/Hello", "/grpc.health.v1.Health/Check"]
        {
            let refused = answer(path);
            assert_eq!(refused.code(), Code::Unimplemented, "{path}");
            assert!(refused.message().contains(SERVICE_NAME), "{path}: {}", refused.message());
        }
    }
}
