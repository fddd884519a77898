//! The smallest service: it sends back what it receives.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::http::{Request as HttpRequest, Response as HttpResponse};
use tonic::server::{NamedService, UnaryService};
use tonic::transport::Channel;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::Service;

use crate::protocol::MESSAGE_LIMIT_BYTES;

/// Where it is called.
pub(super) const PATH: &str = "/drill.Echo/Say";

#[derive(Debug, Clone)]
pub(super) struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "drill.Echo";
}

impl UnaryService<String> for Echo {
    type Response = String;
    type Future = Ready<Result<Response<String>, Status>>;

    fn call(&mut self, request: Request<String>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}

impl Service<HttpRequest<Body>> for Echo {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest<Body>) -> Self::Future {
        Box::pin(async move {
            let codec = ProstCodec::<String, String>::default();
            let mut grpc =
                tonic::server::Grpc::new(codec).max_decoding_message_size(MESSAGE_LIMIT_BYTES);
            Ok(grpc.unary(Echo, request).await)
        })
    }
}

/// Makes one call and returns the answer.
pub(super) async fn say(channel: &Channel, text: &str) -> Result<String, Status> {
    let mut grpc = tonic::client::Grpc::new(channel.clone());
    grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
    let codec = ProstCodec::<String, String>::default();
    let reply =
        grpc.unary(Request::new(text.to_owned()), PathAndQuery::from_static(PATH), codec).await?;
    Ok(reply.into_inner())
}
