//! Serves connections, within bounds on their number and on how long a caller may take.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// As many callers are served at once; further ones wait to be accepted.
const MOST_CONNECTIONS: u32 = 512;

/// The longest time in which a caller sends the head of a request.
const LONGEST_HEAD: Duration = Duration::from_secs(10);

/// The longest time in which a caller reads nothing of an answer.
const LONGEST_UNREAD: Duration = Duration::from_secs(30);

/// The longest life of a connection.
const LONGEST_CONNECTION: Duration = Duration::from_mins(10);

/// How long requests that are being served may take after the server was asked to end.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Serves `router` until `end`.
pub async fn serve(listener: TcpListener, router: Router, end: impl Future<Output = ()>) {
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS as usize));
    let mut end = std::pin::pin!(end);
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        let Ok((stream, _)) = accepted else {
            // No descriptor is free, or the caller is gone.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        // A reader who reads nothing is one who is gone.
        let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(LONGEST_UNREAD));
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(LONGEST_HEAD);
            let served = http.serve_connection(TokioIo::new(stream), service);
            // What a caller does wrong is the caller's.
            let _ = timeout(LONGEST_CONNECTION, served).await;
            drop(permit);
        });
    }
    let _ = timeout(LONGEST_END, free.acquire_many(MOST_CONNECTIONS)).await;
}

/// The end that a signal asks for, from now on.
///
/// # Errors
/// The system does not tell of signals.
pub fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
