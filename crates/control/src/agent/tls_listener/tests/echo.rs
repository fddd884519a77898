//! The smallest service: it sends back what it receives.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use super::Controller;
use crate::protocol::{Json, PartSender, Request, ReserveReply, ReserveRequest, Serve, Status};

#[derive(Debug, Clone)]
pub(super) struct Echo;

impl Serve for Echo {
    fn answer(&self, request: Request, _: PartSender) -> BoxFuture<'_, Result<Json, Status>> {
        let Request::Reserve(ReserveRequest { run, .. }) = request else { unreachable!() };
        ready(Ok(Json::of(&ReserveReply { busy: run, ..ReserveReply::default() }).unwrap())).boxed()
    }
}

/// A request for an echo.
pub(super) fn words(text: &str) -> ReserveRequest {
    ReserveRequest { run: text.to_owned(), ..ReserveRequest::default() }
}

/// Makes one call and returns the answer.
pub(super) async fn say(controller: &Controller, text: &str) -> Result<String, Status> {
    Ok(controller.call(words(text)).await?.busy)
}
