//! Agents on loopback for tests of callers: real listeners, certificates and reservations, and
//! calls that break on command.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::{JoinHandle, JoinSet};

use super::caller::Caller;
use super::host::HostAgent;
use super::service::CallerService;
use super::tls_listener::TlsListener;
use crate::protocol::{Json, PartSender, Request, SILENCE, Serve, Status, serve};
use crate::trust::{Identity, server_config};

/// An agent that has no policy and makes no workers; it ends when it is dropped.
pub(crate) struct Drill {
    pub(crate) address: SocketAddr,
    pub(crate) calls: Calls,
    serving: JoinHandle<()>,
}

impl Drill {
    pub(crate) fn begin(name: &str, identity: &Identity) -> Self {
        let host = HostAgent::new(name, Path::new("/bin/true"), None, false).unwrap();
        let config = server_config(identity).unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut listener = TlsListener::open(listen, config).unwrap();
        let (address, calls) = (listener.address().unwrap(), Calls::default());
        let watch = calls.clone();
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let client = listener.accept().await;
                let caller = Caller::of_job(client.get_ref().0);
                let service = CallerService { host: Arc::clone(&host), caller };
                let watched = Watched { service, calls: watch.clone() };
                connections.spawn(async move { serve(client, &watched, Some(SILENCE)).await });
            }
        });
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

struct Watched {
    service: CallerService,
    calls: Calls,
}

impl Serve for Watched {
    fn answer(&self, request: Request, parts: PartSender) -> BoxFuture<'_, Result<Json, Status>> {
        match self.calls.comes(request.name()) {
            Ok(()) => self.service.answer(request, parts),
            Err(status) => std::future::ready(Err(status)).boxed(),
        }
    }
}
