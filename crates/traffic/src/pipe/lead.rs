//! The near end: measures size by size and trial by trial, with all pairs at the same time.

use std::io;

use btu_contract::pipe::{
    Accounts, End, Next, Pattern, PipePlan, Point, Progress, Schedule, Trial,
};
use btu_stats::Histogram;
use btu_units::{Bytes, Span};

use super::frame::{PipeFrame, PipeFrameKind};
use super::pairs::{self, Played};
use super::talk::{Round, Talk};
use super::{Pipe, Repeats};
use crate::clock::now;

/// A near end at work.
pub(super) struct Lead<'a, P> {
    /// One for each pair.
    talks: &'a mut [Talk<P>],
    plan: &'a PipePlan,
    /// Repeats so far at this end and at the far one.
    repeats: [Repeats; 2],
    progress: Progress,
}

/// A size, and how to measure it.
struct SizePlan {
    size: Bytes,
    warm_up: u64,
    trials: u32,
    repetitions: u64,
}

impl<'a, P: Pipe> Lead<'a, P> {
    /// Starts before the first size.
    pub(super) fn new(talks: &'a mut [Talk<P>], plan: &'a PipePlan) -> Self {
        Self { talks, plan, repeats: [Repeats::default(); 2], progress: Progress::default() }
    }

    /// Measures the sizes of the plan up to `largest`, and reports each point when it is finished.
    /// Returns the number of sizes that were left out, because they take too long or the transport
    /// does not move so much at once.
    pub(super) fn measure(
        mut self,
        largest: Bytes,
        tell: &mut dyn FnMut(&Point) -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut plan = self.plan.clone();
        let wanted = plan.sizes.list();
        let fitting: Vec<Bytes> = wanted.iter().copied().filter(|size| *size <= largest).collect();
        let mut left_out = wanted.len() - fitting.len();
        if !fitting.is_empty() {
            plan.sizes = btu_contract::pipe::Sizes::of(fitting).map_err(io::Error::other)?;
            left_out += self.follow(&Schedule::of(&plan), tell)?;
        }
        self.part()?;
        Ok(left_out as u64)
    }

    /// Does what the schedule says; returns the number of sizes that it leaves out.
    fn follow(
        &mut self,
        schedule: &Schedule,
        tell: &mut dyn FnMut(&Point) -> io::Result<()>,
    ) -> io::Result<usize> {
        loop {
            match schedule.next(&self.progress) {
                Next::Pilot { size, repetitions } => self.pilot(size, repetitions)?,
                Next::Measure { size, warm_up, trials, repetitions } => {
                    let task = SizePlan { size, warm_up, trials, repetitions };
                    match self.point(&task, schedule)? {
                        Some(point) => {
                            tell(&point)?;
                            self.progress.points.push(point);
                        }
                        None => self.progress.abandoned.push(size),
                    }
                }
                Next::Done { left_out } => return Ok(left_out),
            }
        }
    }

    /// The one-way time of a few exchanges, in seconds.
    fn pilot(&mut self, size: Bytes, repetitions: u64) -> io::Result<()> {
        let played = self.play(size, repetitions, None)?;
        let seconds = self.trial(&played).one_way_seconds(self.plan.pattern);
        self.progress.pilots.push((size, seconds));
        Ok(())
    }

    /// Measures a size; `None` if its warm-up took so long that no time is left for a trial.
    fn point(&mut self, task: &SizePlan, schedule: &Schedule) -> io::Result<Option<Point>> {
        let &SizePlan { size, warm_up, trials, repetitions } = task;
        let mut point =
            Point { each: self.plan.precision.each.then(Histogram::new), ..Point::empty(size) };
        if warm_up > 0 {
            let played = self.play(size, warm_up, None)?;
            point.accounts = point.accounts.and(accounts(&played));
            let elapsed = self.trial(&played).elapsed;
            if !schedule.has_time(&self.progress, once(elapsed, warm_up)) {
                return Ok(None);
            }
        }
        for _ in 0..trials {
            let before = self.progress.spent;
            let played = self.play(size, repetitions, point.each.as_mut())?;
            point.accounts = point.accounts.and(accounts(&played));
            point.trials.push(self.trial(&played));
            if !schedule.has_time(&self.progress, self.progress.spent - before) {
                break;
            }
        }
        self.talks.iter_mut().for_each(|talk| talk.pipe.rest());
        Ok(Some(point))
    }

    /// One round, of which only its own repeats are reported.
    fn play(
        &mut self,
        size: Bytes,
        repetitions: u64,
        each: Option<&mut Histogram>,
    ) -> io::Result<Played> {
        let round = Round { pattern: self.plan.pattern, size: size.count() as usize, repetitions };
        let begun = now();
        let played = pairs::play(self.talks, round, each)?;
        let whole = now().since(begun);
        let before = std::mem::replace(&mut self.repeats, played.repeats);
        let own = [0, 1].map(|end| played.repeats[end].since(before[end]));
        let played = Played { repeats: own, ..played };
        self.progress.spend(whole, self.trial(&played).elapsed);
        Ok(played)
    }

    /// The repetitions of a trial are those of one pair: all pairs did as many at once in that
    /// time.
    fn trial(&self, played: &Played) -> Trial {
        let pattern = self.plan.pattern;
        let (elapsed, clock) = match pattern {
            Pattern::Streaming => (played.far.elapsed, End::Far),
            Pattern::PingPong | Pattern::Bidirectional => (played.near.elapsed, End::Near),
        };
        let repetitions = (played.completed(pattern) / u64::from(self.plan.pairs)).max(1);
        let Accounts { sent, received, duplicates, .. } = accounts(played);
        let lost = sent.saturating_sub(received).saturating_sub(duplicates);
        Trial { repetitions, elapsed, clock, lost, repeated: played.repeated() }
    }

    /// Sends the farewell. A far end that has ended on receiving it may have been too fast for its
    /// own answer to arrive.
    fn part(&mut self) -> io::Result<()> {
        use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, UnexpectedEof};
        for talk in &mut *self.talks {
            talk.say(&PipeFrame::plain(PipeFrameKind::Farewell))?;
            match talk.hear_kind(PipeFrameKind::Farewell) {
                Err(error)
                    if !matches!(
                        error.kind(),
                        BrokenPipe | ConnectionRefused | ConnectionReset | UnexpectedEof
                    ) =>
                {
                    return Err(error);
                }
                _ => talk.pipe.close(),
            }
        }
        Ok(())
    }
}

/// The time of one of these exchanges.
fn once(elapsed: Span, exchanges: u64) -> Span {
    Span::from_nanoseconds(elapsed.nanoseconds() / exchanges.max(1))
}

/// A round in the accounts of its size.
fn accounts(played: &Played) -> Accounts {
    let Played { near, far, repeats: [own, others] } = played;
    let received = near.received + far.received;
    Accounts {
        sent: near.sent + far.sent + played.repeated(),
        received,
        duplicates: own.duplicates + others.duplicates,
        checked: received,
        wrong: near.wrong + far.wrong,
    }
}
