//! Signatures: pairs of ends that measure size by size, in turns if there are several.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use btu_report::NamedSignature;
use btu_store::Level;
use btu_suite::activity::{Activity, Order, PipeEnd, PipeMeeting, Token, Word};
use btu_suite::cell::Load;
use btu_suite::pipe::{End, PipePlan, PipeVerdict, Point, Schedule, Turns, judge};
use btu_suite::record::Outcome;
use btu_units::Span;

use super::cancel::CancelToken;
use super::ground::Ground;
use super::journal::Journal;
use super::live::Screen;
use super::load::Loads;
use super::watch::Watch;
use super::worker_error::WorkerError;
use super::workers::{WorkerEvent, WorkerId, Workers};
use crate::preflight;

/// The network and the hosts that a measurement uses.
pub(super) struct Place<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) interruption: &'a CancelToken,
    pub(super) screen: &'a Screen,
}

impl Place<'_> {
    /// The events that end the wait for a message: a signal, or the end of the network.
    pub(super) fn trouble(&self) -> Option<anyhow::Error> {
        self.interruption.error().map(Into::into).or_else(|| self.ground.fallen().map(Into::into))
    }

    /// Starts both ends of the pipe with this number and their meeting; `activity` makes each end's
    /// order.
    pub(super) fn pair(
        &self,
        ends: &mut Workers,
        number: usize,
        plan: &PipePlan,
        activity: impl Fn(End, PipeMeeting, Token) -> Activity,
    ) -> anyhow::Result<()> {
        let token: Token = preflight::random_bytes()?;
        // The far end first, so that the near one gets its address.
        let waits = self.ground.listening(plan, number);
        let far = self.order(plan, activity(End::Far, waits, token));
        let endpoint = self.prepare(ends, WorkerId::End(number, End::Far), plan, &far)?;
        let comes = self.ground.connecting(plan, number, endpoint);
        let comes = comes.context("the far end did not say where it listens")?;
        let near = self.order(plan, activity(End::Near, comes, token));
        self.prepare(ends, WorkerId::End(number, End::Near), plan, &near).map(drop)
    }

    /// An order for a part of this plan, which may last as long as its whole run.
    pub(super) fn order(&self, plan: &PipePlan, activity: Activity) -> Order {
        Order::new(plan.seed, self.ground.limit(), activity)
    }

    /// Makes a worker at the place of the plan's ends; returns its address, if it listens.
    pub(super) fn prepare(
        &self,
        ends: &mut Workers,
        who: WorkerId,
        plan: &PipePlan,
        order: &Order,
    ) -> anyhow::Result<Option<SocketAddr>> {
        let end = if who.is_far() { End::Far } else { End::Near };
        let prepared = ends.prepare(who, self.ground.host(plan, end)?, order);
        match self.ground.elsewhere(plan, end) {
            Some(elsewhere) => prepared.with_context(|| elsewhere.place()),
            None => Ok(prepared?),
        }
    }
}

/// Signatures that are measured together.
pub(super) struct Series<'a> {
    place: &'a Place<'a>,
    plans: &'a [PipePlan],
    /// The known points of each.
    points: Vec<Vec<Point>>,
    /// Workers that are done, and those that have ended.
    done: Vec<WorkerId>,
    gone: Vec<WorkerId>,
    /// The near ends' notes about the transport.
    notes: Vec<String>,
    begun: Instant,
    /// The points that were known before.
    before: usize,
}

impl<'a> Series<'a> {
    /// Signatures of these plans, perhaps with known points.
    pub(super) fn new(place: &'a Place<'a>, plans: &'a [PipePlan], known: Vec<Vec<Point>>) -> Self {
        let before = known.iter().map(Vec::len).sum();
        Self {
            place,
            plans,
            points: known,
            done: Vec::new(),
            gone: Vec::new(),
            notes: Vec::new(),
            begun: Instant::now(),
            before,
        }
    }

    /// Measures all missing points; `save` stores each point before the next is measured.
    pub(super) fn measure(
        mut self,
        journal: &Journal<'_>,
        loads: &mut Loads<'_>,
        save: &mut dyn FnMut(usize, &Point) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut ends = Workers::new();
        let followed =
            self.prepare(&mut ends).and_then(|turns| self.follow(&mut ends, turns, loads, save));
        if let Err(error) = followed {
            return Err(self.place.explain(&ends, error));
        }
        loads.rest()?;
        for (plan, points) in self.plans.iter().zip(&self.points) {
            if let left_out @ 1.. = Schedule::of(plan).left_out(points) {
                let text = format!(
                    "{}: {left_out} sizes were left out: messages took longer than the limit",
                    plan.kind
                );
                journal.note(Level::Info, &text)?;
            }
        }
        self.notes.iter().try_for_each(|text| journal.note(Level::Info, text))?;
        ends.finish(&self.gone)
    }

    /// Starts a pair for each incomplete signature.
    fn prepare(&self, ends: &mut Workers) -> anyhow::Result<Turns> {
        let mut turns = Turns::after(self.points.iter().map(Vec::len).collect());
        for (number, (plan, known)) in self.plans.iter().zip(&self.points).enumerate() {
            let Some(plan) = plan.after(known) else {
                turns.ended(number);
                continue;
            };
            self.place.pair(ends, number, &plan, |end, meeting, token| {
                Activity::Pipe(Box::new(PipeEnd {
                    end,
                    meeting,
                    token,
                    plan: plan.clone(),
                    turns: true,
                }))
            })?;
        }
        Ok(turns)
    }

    /// One turn after the other until all are complete.
    fn follow(
        &mut self,
        ends: &mut Workers,
        mut turns: Turns,
        loads: &mut Loads<'_>,
        save: &mut dyn FnMut(usize, &Point) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut is_begun = vec![false; self.plans.len()];
        while let Some(number) = turns.next() {
            loads.turn_to(self.plans[number].load, &self.plans[number])?;
            let watch = Watch::begin(self.place, ends, number, &self.plans[number])?;
            // The time that two ends may take to find each other begins now, not during the turns
            // of others.
            if !std::mem::replace(&mut is_begun[number], true) {
                ends.go(WorkerId::End(number, End::Far));
            }
            ends.go(WorkerId::End(number, End::Near));
            match self.turn(ends, number)? {
                Some(point) => {
                    loads.still_at_work()?;
                    let point = Point { conditions: Some(watch.end(self.place, ends)?), ..point };
                    save(number, &point)?;
                    turns.measured(number);
                    self.points[number].push(point);
                    self.show(number);
                }
                None => turns.ended(number),
            }
        }
        Ok(())
    }

    /// The point of this turn; `None` when the signature is complete.
    fn turn(&mut self, ends: &Workers, number: usize) -> anyhow::Result<Option<Point>> {
        let near = WorkerId::End(number, End::Near);
        loop {
            match ends.next(timeout(&self.plans[number]), || self.place.trouble())? {
                (who, WorkerEvent::Word(Word::Point(point))) if who == near => {
                    return Ok(Some(*point));
                }
                (who, WorkerEvent::Word(Word::Done(report))) => {
                    self.done.push(who);
                    if who == near {
                        if let Outcome::Piped { notes, .. } = report.outcome {
                            self.notes.extend(notes);
                        }
                        return Ok(None);
                    }
                }
                // A worker that is done exits.
                (who, WorkerEvent::End) if self.done.contains(&who) => self.gone.push(who),
                (who, said) => bail!(WorkerError::of(who, said)),
            }
        }
    }

    fn show(&self, last: usize) {
        let planned = self.plans.iter().map(|plan| plan.sizes.list().len()).sum::<usize>();
        let done = self.points.iter().map(Vec::len).sum::<usize>();
        let Some(point) = self.points[last].last() else { return };
        let text = words(&self.plans[last], point);
        let time: Option<Span> = self.plans.iter().map(|plan| plan.precision.time).sum();
        self.place.screen.show(
            (done - self.before, planned - self.before),
            (self.begun, time),
            &text,
            |draw| {
                let verdicts: Vec<PipeVerdict> = self
                    .plans
                    .iter()
                    .zip(&self.points)
                    .map(|(plan, points)| judge(plan, points))
                    .collect();
                let names = called(self.plans);
                let signatures: Vec<NamedSignature> = names
                    .iter()
                    .zip(&verdicts)
                    .map(|(name, verdict)| NamedSignature { name, verdict })
                    .collect();
                draw(&signatures)
            },
        );
    }
}

/// Names for a legend: transports where they differ, else loads.
fn called(plans: &[PipePlan]) -> Vec<String> {
    let alike = plans.iter().all(|plan| plan.kind == plans[0].kind);
    let name =
        |plan: &PipePlan| if alike { plan.load.name() } else { plan.kind.label() }.to_owned();
    plans.iter().map(name).collect()
}

/// The time limit of a point: its trials a few times longer than planned, or each message as long
/// as the limit.
pub(super) fn timeout(plan: &PipePlan) -> Duration {
    let precision = &plan.precision;
    let trial = Duration::from(precision.target * 4) + Duration::from(precision.limit * 8);
    Duration::from_mins(1) + trial.saturating_mul(precision.trials + precision.warm_up as u32)
}

/// A point in a line.
fn words(plan: &PipePlan, point: &Point) -> String {
    let times = point.one_way_seconds(plan.pattern);
    let time = times.iter().copied().fold(f64::INFINITY, f64::min);
    let rate = plan.pattern.bits_at_once(point.size, plan.pairs) / time;
    let load = if plan.load == Load::Idle { String::new() } else { format!(" {}", plan.load) };
    format!("{}{load} {} {:.1} us {:.2} Mb/s", plan.kind, point.size, time * 1e6, rate / 1e6)
}
