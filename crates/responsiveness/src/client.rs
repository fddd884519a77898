//! The client: the algorithm of the draft's section 5.4.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::Uri;
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, JoinSet};

use crate::connection::{Dial, WITHIN, get};
use crate::discovery::{Discovery, Target};
use crate::error::ResponsivenessError;
use crate::load::Load;
use crate::method::{Convergence, Method, responsiveness};
use crate::probe::{self, Answered, Shared, lock};
use crate::report::{Confidence, Idle, IntervalReport, ResponsivenessReport, Way, WayReport};
use crate::tls::{self, Trust};

/// Most octets of a server's description.
const DESCRIPTION: usize = 64 << 10;

/// New connections over the idle network, one after the other, and the pause between two.
const IDLE_PROBES: usize = 10;
const IDLE_PAUSE: Duration = Duration::from_millis(50);

/// After so long on the idle network it is enough, if there was one.
const IDLE_MOST: Duration = Duration::from_secs(5);

/// How far a measurement is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MeasurementProgress {
    /// The idle network is measured.
    Idle,
    /// An interval of a direction has ended.
    Interval(Way, IntervalReport),
}

/// Measures to a server: the idle network, then each direction.
///
/// # Errors
/// No server there, one that speaks otherwise, or a connection that ends early (as the draft asks).
pub fn measure(
    target: &Target,
    trust: Trust,
    method: &Method,
    ways: &[Way],
    watch: &dyn Fn(MeasurementProgress),
) -> Result<ResponsivenessReport, ResponsivenessError> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("responsiveness")
        .enable_all()
        .build()
        .map_err(|source| ResponsivenessError::System { operation: "start threads", source })?;
    let result = runtime.block_on(run(target, trust, method, ways, watch));
    runtime.shutdown_background();
    result
}

async fn run(
    target: &Target,
    trust: Trust,
    method: &Method,
    ways: &[Way],
    watch: &dyn Fn(MeasurementProgress),
) -> Result<ResponsivenessReport, ResponsivenessError> {
    let config = tls::client(trust)?;
    let first = Dial::new(target.resolve()?, &target.host, config.clone())?;
    let (said, version) = discover(&first, target).await?;
    let there = said.target(target);
    let name = said.small.host().unwrap_or(&there.host).trim_matches(['[', ']']).to_owned();
    let dial = Dial::new(there.resolve()?, &name, config)?;
    watch(MeasurementProgress::Idle);
    let idle = idle(&dial, &said, method).await?;
    let mut reports = Vec::new();
    for &way in ways {
        reports.push(DirectionMeasurement::new(&dial, &said, method, way).run(watch).await?);
    }
    Ok(ResponsivenessReport { server: dial.server, tls: version, idle, ways: reports })
}

async fn discover(
    dial: &Dial,
    target: &Target,
) -> Result<(Discovery, String), ResponsivenessError> {
    let nonsense = |why| ResponsivenessError::Answer { server: dial.server, why };
    let connection = dial.connect().await?;
    let uri = format!("https://{}{}", target.authority(), target.path);
    let uri =
        uri.parse().map_err(|_| nonsense("has a path that cannot be asked for".to_owned()))?;
    let answer = tokio::time::timeout(WITHIN, get(&connection.requests, &uri, DESCRIPTION)).await;
    let answer = answer.map_err(|_| nonsense("does not answer within 30 s".to_owned()))?;
    let octets = answer.map_err(|error| nonsense(error.to_string()))?;
    Ok((Discovery::parse(&octets).map_err(nonsense)?, connection.version.clone()))
}

async fn idle(dial: &Dial, said: &Discovery, method: &Method) -> Result<Idle, ResponsivenessError> {
    let (began, mut answered) = (Instant::now(), Vec::new());
    while answered.len() < IDLE_PROBES && (answered.is_empty() || began.elapsed() < IDLE_MOST) {
        let found = probe::foreign(dial, &said.small).await?;
        answered.push(Answered { at: Instant::now(), found });
        tokio::time::sleep(IDLE_PAUSE).await;
    }
    let parts = probe::parts(method, &answered);
    let rpm = responsiveness(&parts).ok_or_else(|| ResponsivenessError::Answer {
        server: dial.server,
        why: "answers no request".to_owned(),
    })?;
    Ok(Idle { parts, rpm, count: answered.len() })
}

/// The measurement of one direction.
struct DirectionMeasurement<'a> {
    dial: &'a Dial,
    said: &'a Discovery,
    method: &'a Method,
    way: Way,
    loads: Vec<Load>,
    /// Connections whose handshakes are under way.
    coming: JoinSet<Result<Load, ResponsivenessError>>,
    shared: Arc<Mutex<Shared>>,
    /// The ends of the intervals, and the octets that had arrived by then; the start first.
    ends: Vec<(Instant, u64)>,
    known: Convergence,
    intervals: Vec<IntervalReport>,
}

/// Ends a task with the measurement.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<'a> DirectionMeasurement<'a> {
    fn new(dial: &'a Dial, said: &'a Discovery, method: &'a Method, way: Way) -> Self {
        Self {
            dial,
            said,
            method,
            way,
            loads: Vec::new(),
            coming: JoinSet::new(),
            shared: Arc::default(),
            ends: Vec::new(),
            known: Convergence::default(),
            intervals: Vec::new(),
        }
    }

    async fn run(
        mut self,
        watch: &dyn Fn(MeasurementProgress),
    ) -> Result<WayReport, ResponsivenessError> {
        for _ in 0..self.method.first_connections.min(self.method.most_connections) {
            let load = Load::begin(self.dial, self.way, self.uri()).await?;
            self.add(load);
        }
        self.ends.push((Instant::now(), self.arrived()));
        let launched = probe::launch(
            self.dial.clone(),
            self.said.small.clone(),
            Arc::clone(&self.shared),
            self.way as u64,
        );
        let probes = AbortOnDrop(tokio::spawn(launched));
        for number in 1..=self.method.most_intervals {
            let end = self.ends[self.ends.len() - 1].0 + self.method.interval;
            if number > 1 {
                self.begin_more();
            }
            tokio::time::sleep_until(end.into()).await;
            self.take_begun()?;
            self.end_interval().await?;
            if let Some(interval) = self.intervals.last() {
                watch(MeasurementProgress::Interval(self.way, *interval));
            }
            if self.known.confidence(self.method)[1] == Confidence::High {
                break;
            }
        }
        drop(probes);
        Ok(self.report())
    }

    fn uri(&self) -> &'a Uri {
        match self.way {
            Way::Down => &self.said.large,
            Way::Up => &self.said.upload,
        }
    }

    fn add(&mut self, load: Load) {
        lock(&self.shared).loads.push(load.requests());
        self.loads.push(load);
    }

    /// Begins further connections. Their handshakes may take longer than an interval, behind the queue that the others fill.
    fn begin_more(&mut self) {
        let known = self.loads.len() + self.coming.len();
        let number = self.method.most_connections.saturating_sub(known);
        for _ in 0..number.min(self.method.more_connections) {
            let (dial, way, uri) = (self.dial.clone(), self.way, self.uri().clone());
            self.coming.spawn(async move { Load::begin(&dial, way, &uri).await });
        }
    }

    /// Takes the connections that have come to be. One whose handshakes were lost in the full network is none: the others
    /// go on, and the report says how many they are.
    fn take_begun(&mut self) -> Result<(), ResponsivenessError> {
        while let Some(begun) = self.coming.try_join_next() {
            match begun {
                Ok(Ok(load)) => self.add(load),
                Ok(Err(error)) if !error.is_late() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn arrived(&self) -> u64 {
        self.loads.iter().map(Load::arrived).sum()
    }

    /// The rate over the last intervals, as many as `most`.
    fn rate(&self, most: usize) -> f64 {
        let last = self.ends.len() - 1;
        let (from, to) = (self.ends[last.saturating_sub(most)], self.ends[last]);
        let seconds = to.0.duration_since(from.0).as_secs_f64();
        if seconds > 0.0 { to.1.saturating_sub(from.1) as f64 * 8.0 / seconds } else { 0.0 }
    }

    /// The probes that were answered in the last intervals.
    fn last_answered(&self) -> Vec<Answered> {
        let from = self.ends[(self.ends.len() - 1).saturating_sub(self.method.distance)].0;
        lock(&self.shared).answered.iter().filter(|one| one.at >= from).copied().collect()
    }

    async fn end_interval(&mut self) -> Result<(), ResponsivenessError> {
        for load in &mut self.loads {
            if let Some(source) = load.failure().await {
                return Err(broken(self.dial.server, source));
            }
        }
        self.ends.push((Instant::now(), self.arrived()));
        let answered = self.last_answered();
        let rpm = responsiveness(&probe::parts(self.method, &answered));
        let rpm = rpm.map(|rpm| rpm.overall);
        let is_whole = self.ends.len() > self.method.distance;
        let average = is_whole.then(|| self.rate(self.method.distance));
        self.known.add(self.method, average, rpm);
        let rate = self.rate(1);
        lock(&self.shared).pairs_per_second = Some(self.method.pairs_per_second(rate));
        let each = rate / self.loads.len().max(1) as f64;
        self.loads.iter().for_each(|load| load.limit_waiting(each));
        self.intervals.push(IntervalReport {
            until_seconds: self.ends[self.ends.len() - 1]
                .0
                .duration_since(self.ends[0].0)
                .as_secs_f64(),
            bits_per_second: rate,
            connections: self.loads.len(),
            rpm,
        });
        Ok(())
    }

    fn report(self) -> WayReport {
        let answered = self.last_answered();
        let parts = probe::parts(self.method, &answered);
        let mut probes = lock(&self.shared).counts;
        let [rate_confidence, rpm_confidence] = self.known.confidence(self.method);
        probes.under_way = probes.launched - probes.answered - probes.failed;
        WayReport {
            way: self.way,
            bits_per_second: self.rate(self.method.distance),
            rate_confidence,
            rpm: responsiveness(&parts),
            rpm_confidence,
            parts,
            probes,
            connections: self.loads.len(),
            intervals: self.intervals,
        }
    }
}

fn broken(server: SocketAddr, source: io::Error) -> ResponsivenessError {
    ResponsivenessError::Connection {
        operation: "fill the network to",
        server,
        source,
        advice: "; the measurement ends where one of its connections does",
    }
}
