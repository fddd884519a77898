//! The answer of the emulated network: real packets through the emulator, at the same points.

use std::thread;

use anyhow::{Context, anyhow};
use btu_control::coordinator::{CoordinatorError, Interrupt};
use btu_network::{Arrivals, Drawing, Flow, Sizes, Target};
use btu_report::Measured;
use btu_suite::record::WireAccount;
use btu_testbed::testbed::{self, Signals};
use btu_traffic::probe::{AROUND_PAYLOAD, LEAST_PAYLOAD, MOST_PARCELS};
use btu_units::Span;
use nix::sys::signal::Signal;

use super::field::{Field, Stop};
use super::points::Turned;
use super::sum::sum;
use super::words::{Order, Record};
use crate::cli::CheckOptions;
use crate::exit::Refusal;

/// The shortest replication: starting takes a moment, and nine tenths of it count.
const SHORTEST: Span = Span::from_milliseconds(200);

/// One replication: the stations' record, and the wire's accounts of the same time.
pub(super) type Replication = (Record, WireAccount);

/// The settings for measuring the points.
pub(super) struct Method<'a> {
    options: &'a CheckOptions,
    /// The origin of the network.
    source: &'a str,
}

impl<'a> Method<'a> {
    /// Makes all checks that are possible before a network is raised.
    pub(super) fn new(
        options: &'a CheckOptions,
        source: &'a str,
        points: &[Turned],
    ) -> anyhow::Result<Self> {
        let method = Self { options, source };
        if method.duration() < SHORTEST {
            let problem = format!(
                "--net-time {} leaves less than {SHORTEST} for each of {} replications: give more time, or fewer \
                 --replications",
                options.net_time, options.replications
            );
            return Err(Refusal::Usage(problem).into());
        }
        for drawing in points.iter().map(|turned| &turned.drawing) {
            testbed::check(drawing)?;
            drawing.traffic.iter().try_for_each(offerable)?;
        }
        Ok(method)
    }

    /// The duration of one replication.
    fn duration(&self) -> Span {
        Span::from_nanoseconds(
            self.options.net_time.nanoseconds() / u64::from(self.options.replications),
        )
    }

    /// All flows at all points; `progress` gets the share that is done.
    ///
    /// Call it before this process has a second thread: it takes over signals meanwhile, so that
    /// any end also takes the network down.
    pub(super) fn all(
        &self,
        points: &[Turned],
        progress: impl Fn(f64) + Sync,
    ) -> anyhow::Result<Vec<Vec<Measured>>> {
        let signals = Signals::take().context("waiting for signals")?;
        let stop = Stop::default();
        let (interrupted, measured) = thread::scope(|scope| {
            let work = scope.spawn(|| self.at_points(points, &signals, &stop, &progress));
            let interrupted = signals.await_request_while(|| !work.is_finished());
            if !matches!(interrupted, Ok(None)) {
                stop.now();
            }
            (interrupted, work.join())
        });
        signals.release();
        match interrupted.context("waiting for signals")? {
            Some(Signal::SIGINT) => Err(CoordinatorError::Interrupted(Interrupt::Keyboard).into()),
            Some(_) => Err(CoordinatorError::Interrupted(Interrupt::Terminate).into()),
            None => measured.map_err(|_| anyhow!("the thread that measured panicked"))?,
        }
    }

    fn at_points(
        &self,
        points: &[Turned],
        signals: &Signals,
        stop: &Stop,
        progress: &impl Fn(f64),
    ) -> anyhow::Result<Vec<Vec<Measured>>> {
        let mut field = Field::new(signals, stop, self.source, self.options.seed)?;
        let mut measured = Vec::with_capacity(points.len());
        for (place, Turned { drawing, .. }) in points.iter().enumerate() {
            let share = |share: f64| progress((place as f64 + share) / points.len() as f64);
            let reasons = unsendable(drawing, self.duration());
            let replications = if reasons.is_empty() {
                self.replications(&mut field, drawing, &share)?
            } else {
                Vec::new()
            };
            measured.push(sum(drawing, self.duration(), &replications, &reasons));
        }
        field.lower()?;
        Ok(measured)
    }

    fn replications(
        &self,
        field: &mut Field<'_>,
        drawing: &Drawing,
        progress: &impl Fn(f64),
    ) -> anyhow::Result<Vec<Replication>> {
        let all = self.options.replications;
        let one = |number: u32| {
            progress(f64::from(number) / f64::from(all));
            let (duration, warm_up) = (self.duration(), warm_up(self.duration()));
            let order = Order {
                drawing: drawing.clone(),
                seed: self.options.seed,
                number,
                duration,
                warm_up,
            };
            let begun = std::time::Instant::now();
            field.measure(&order, || {
                let gone = (begun.elapsed().as_secs_f64() / duration.seconds()).min(1.0);
                progress((f64::from(number) + gone) / f64::from(all));
            })
        };
        (0..all).map(one).collect()
    }
}

/// A tenth, as in the simulator.
pub(super) fn warm_up(duration: Span) -> Span {
    Span::from_nanoseconds(duration.nanoseconds() / 10)
}

/// Whether packets of a flow can be offered at all.
fn offerable(flow: &Flow) -> Result<(), Refusal> {
    let problem = match (flow.arrivals, &flow.to) {
        (Arrivals::Saturated, _) => "always has one more to send",
        (Arrivals::Closed { .. }, _) => "sends when a reply has come",
        (_, Target::Broadcast) => "sends to all at once",
        _ => return Ok(()),
    };
    Err(Refusal::Usage(format!(
        "traffic {} {problem}, and --check net offers packets at a rate, from one station to another: give it one, or leave \
         it out of the file",
        flow.name
    )))
}

/// Why packets of this drawing cannot be sent as UDP; empty if they can.
fn unsendable(drawing: &Drawing, duration: Span) -> Vec<String> {
    let least = (AROUND_PAYLOAD + LEAST_PAYLOAD).count();
    let most = testbed::longest_frame(drawing).count();
    let reasons = drawing.traffic.iter().filter_map(|flow| {
        let (shortest, longest) = bounds(&flow.sizes);
        let what = format!("{} sends frames of {shortest} to {longest} B", flow.name);
        let fits = shortest >= least && longest <= most;
        (!fits)
            .then(|| format!("{what}, and packets by UDP make frames of {least} to {most} B here"))
    });
    let packets: f64 =
        drawing.traffic.iter().map(|flow| per_second(flow) * duration.seconds()).sum();
    let too_many = (packets > 0.9 * MOST_PARCELS as f64).then(|| {
        format!("a replication of {duration} has {packets:.0} packets, more than can be noted")
    });
    reasons.chain(too_many).collect()
}

fn bounds(sizes: &Sizes) -> (u64, u64) {
    match sizes {
        Sizes::Fixed(size) => (size.count(), size.count()),
        Sizes::Uniform(least, most) => (least.count(), most.count()),
        Sizes::Exponential(_) => (1, 65_535),
        Sizes::Mix(parts) => {
            let sizes = || parts.iter().map(|(size, _)| size.count());
            (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0))
        }
    }
}

/// Of all senders of a flow.
pub(super) fn per_second(flow: &Flow) -> f64 {
    match flow.arrivals {
        Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } => {
            per_second * flow.from.len() as f64
        }
        Arrivals::Saturated | Arrivals::Closed { .. } => 0.0,
    }
}
