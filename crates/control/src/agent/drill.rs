//! Agents on loopback for tests of callers: real listeners, certificates and reservations, and
//! calls that break on command.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::task::JoinHandle;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tower::Service;

use super::caller::Way;
use super::host::Host;
use super::offer;
use super::tls_listener::{self, ListenerLimits, TlsListener};
use crate::trust::{Identity, server_config};

/// An agent that has no policy and makes no workers; it ends when it is dropped.
pub(crate) struct Drill {
    pub(crate) address: SocketAddr,
    pub(crate) calls: Calls,
    serving: JoinHandle<()>,
}

impl Drill {
    pub(crate) fn begin(identity: &Identity) -> Self {
        let host = Host::new(&identity.card().name, Path::new("/bin/true"), None, false).unwrap();
        let config = server_config(identity, None).unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener =
            TlsListener::open(listen, config, ListenerLimits::STANDARD, Box::new(|_| ())).unwrap();
        host.behind(listener.handle());
        let (address, calls) = (listener.address(), Calls::default());
        let watch = calls.clone();
        let layer = tower::layer::layer_fn(move |inner| Watched { inner, calls: watch.clone() });
        let router = tls_listener::server().layer(layer).add_routes(offer(&host, Way::Network));
        let serving =
            tokio::spawn(async move { router.serve_with_incoming(listener).await.unwrap() });
        Self { address, calls, serving }
    }
}

impl Drop for Drill {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The calls to an agent, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<(Vec<String>, Option<&'static str>)>>);

impl Calls {
    /// All so far, in order.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.0.lock().unwrap().0.clone()
    }

    /// Aborts the next call of this name.
    pub(crate) fn break_next(&self, name: &'static str) {
        self.0.lock().unwrap().1 = Some(name);
    }

    fn comes(&self, name: &str) -> Result<(), Status> {
        let (seen, broken) = &mut *self.0.lock().unwrap();
        seen.push(name.to_owned());
        match broken.take_if(|broken| *broken == name) {
            Some(_) => Err(Status::unavailable("the way was cut")),
            None => Ok(()),
        }
    }
}

#[derive(Clone)]
struct Watched<S> {
    inner: S,
    calls: Calls,
}

impl<S> Service<Request<Body>> for Watched<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let name = request.uri().path().rsplit('/').next().unwrap_or_default();
        match self.calls.comes(name) {
            Ok(()) => Box::pin(self.inner.call(request)),
            Err(status) => Box::pin(std::future::ready(Ok(status.into_http()))),
        }
    }
}
