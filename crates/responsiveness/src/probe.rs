//! Probes: requests for one octet, on new connections and on those that fill the network.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::SendRequest;
use http::Uri;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tokio::task::JoinSet;

use crate::connection::{Dial, WITHIN, get};
use crate::error::ResponsivenessError;
use crate::method::Method;
use crate::report::{Counts, Parts};

/// Most octets of the answer, which should be one.
const SMALL: usize = 4096;

/// Most probes without an answer: beyond it none is launched, and that is told.
const MOST_UNDER_WAY: usize = 512;

/// Pairs in a second before anything is known of the network's rate.
const AT_FIRST: f64 = 10.0;

/// An answered probe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    pub(crate) at: Instant,
    /// Three parts of a new connection, or that of a connection that fills the network.
    pub(crate) found: Parts,
}

/// Asks over a new connection.
///
/// # Errors
/// No connection, or no answer.
pub(crate) async fn foreign(dial: &Dial, small: &Uri) -> Result<Parts, ResponsivenessError> {
    let connection = dial.connect().await?;
    let http = timed(&connection.requests, small).await;
    let http = http.map_err(|source| crate::connection::failed(dial.server, "ask", source))?;
    let [tcp, tls, http] = [connection.handshakes.tcp, connection.handshakes.tls, http]
        .map(|time| Some(time.as_secs_f64()));
    Ok(Parts { tcp_seconds: tcp, tls_seconds: tls, http_seconds: http, loaded_seconds: None })
}

async fn timed(requests: &SendRequest<Bytes>, small: &Uri) -> io::Result<Duration> {
    let began = Instant::now();
    let answer = tokio::time::timeout(WITHIN, get(requests, small, SMALL)).await;
    answer.map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no answer within 30 s"))??;
    Ok(began.elapsed())
}

/// What probes share with the method.
#[derive(Default)]
pub(crate) struct Shared {
    /// The connections that fill the network.
    pub(crate) loads: Vec<SendRequest<Bytes>>,
    pub(crate) pairs_per_second: Option<f64>,
    pub(crate) answered: Vec<Answered>,
    pub(crate) counts: Counts,
}

pub(crate) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Launches pairs of probes, a foreign one and a loaded one in turns, until it is dropped.
pub(crate) async fn launch(dial: Dial, small: Uri, shared: Arc<Mutex<Shared>>, seed: u64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut under_way = JoinSet::new();
    let mut next = tokio::time::Instant::now();
    for is_foreign in [true, false].into_iter().cycle() {
        tokio::time::sleep_until(next).await;
        while under_way.try_join_next().is_some() {}
        let has_place = under_way.len() < MOST_UNDER_WAY;
        let (load, pairs_per_second) = {
            let mut shared = lock(&shared);
            let most = shared.loads.len();
            let load = if most > 0 { shared.loads.get(random.random_range(0..most)) } else { None };
            let load = load.cloned();
            if has_place {
                shared.counts.launched += 1;
            } else {
                shared.counts.held_back += 1;
            }
            (load, shared.pairs_per_second.unwrap_or(AT_FIRST))
        };
        next += Duration::from_secs_f64(0.5 / pairs_per_second);
        if has_place {
            let (dial, small, shared) = (dial.clone(), small.clone(), Arc::clone(&shared));
            let load = load.filter(|_| !is_foreign);
            under_way
                .spawn(async move { account(&shared, &ask(&dial, &small, load.as_ref()).await) });
        }
    }
}

/// Asks on a connection that fills the network, or over a new one.
async fn ask(
    dial: &Dial,
    small: &Uri,
    load: Option<&SendRequest<Bytes>>,
) -> Result<Parts, ResponsivenessError> {
    let Some(load) = load else { return foreign(dial, small).await };
    let http = timed(load, small).await;
    let http = http.map_err(|source| crate::connection::failed(dial.server, "ask", source))?;
    Ok(Parts { loaded_seconds: Some(http.as_secs_f64()), ..Parts::default() })
}

fn account(shared: &Mutex<Shared>, ended: &Result<Parts, ResponsivenessError>) {
    let at = Instant::now();
    let mut shared = lock(shared);
    match ended {
        &Ok(found) => {
            shared.counts.answered += 1;
            shared.answered.push(Answered { at, found });
        }
        Err(_) => shared.counts.failed += 1,
    }
}

/// The trimmed means of these probes.
pub(crate) fn parts(method: &Method, answered: &[Answered]) -> Parts {
    let mean = |part: fn(&Parts) -> Option<f64>| {
        let times: Vec<f64> = answered.iter().filter_map(|one| part(&one.found)).collect();
        method.trimmed_mean(&times)
    };
    Parts {
        tcp_seconds: mean(|found| found.tcp_seconds),
        tls_seconds: mean(|found| found.tls_seconds),
        http_seconds: mean(|found| found.http_seconds),
        loaded_seconds: mean(|found| found.loaded_seconds),
    }
}
