//! The near end: measures size by size and trial by trial, with all pairs at the same time.

use std::io;

use btu_stats::Histogram;
use btu_suite::pipe::{Accounts, End, Next, Pattern, PipePlan, Point, Precision, Schedule, Trial};
use btu_units::Bytes;

use super::frame::{Frame, Kind};
use super::pairs::{self, Played};
use super::talk::{Round, Talk};
use super::{Pipe, Repeats};

/// Exchanges of the first size before anything is measured, to know about how long one takes
/// (`NetPIPE` 3: a hundred).
const PILOT: u64 = 20;

/// A near end at work.
pub(super) struct Lead<'a, P> {
    /// One for each pair.
    talks: &'a mut [Talk<P>],
    plan: &'a PipePlan,
    /// Repeats so far at this end and at the far one.
    repeats: [Repeats; 2],
    points: Vec<Point>,
}

impl<'a, P: Pipe> Lead<'a, P> {
    /// Starts before the first size.
    pub(super) fn new(talks: &'a mut [Talk<P>], plan: &'a PipePlan) -> Self {
        Self { talks, plan, repeats: [Repeats::default(); 2], points: Vec::new() }
    }

    /// Measures every size of the plan up to `largest`, and reports each point when it is finished.
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
        if let Some(&first) = fitting.first() {
            plan.sizes = btu_suite::pipe::Sizes::of(fitting).map_err(io::Error::other)?;
            let schedule = Schedule::of(&plan);
            let pilot = self.pilot(first)?;
            loop {
                match schedule.next(&self.points, pilot) {
                    Next::Measure { size, repetitions } => self.point(size, repetitions, tell)?,
                    Next::Done { left_out: slow } => {
                        left_out += slow;
                        break;
                    }
                }
            }
        }
        self.part()?;
        Ok(left_out as u64)
    }

    /// The one-way time of a few exchanges of the first size, in seconds.
    fn pilot(&mut self, size: Bytes) -> io::Result<f64> {
        let played = self.play(size, PILOT, None)?;
        Ok(self.trial(&played).one_way_seconds(self.plan.pattern))
    }

    fn point(
        &mut self,
        size: Bytes,
        repetitions: u64,
        tell: &mut dyn FnMut(&Point) -> io::Result<()>,
    ) -> io::Result<()> {
        let Precision { trials, warm_up, each, .. } = self.plan.precision;
        let mut point = Point {
            size,
            trials: Vec::new(),
            accounts: Accounts::default(),
            each: each.then(Histogram::new),
            conditions: None,
        };
        if warm_up > 0 {
            let played = self.play(size, warm_up, None)?;
            point.accounts = point.accounts.and(accounts(&played));
        }
        for _ in 0..trials {
            let played = self.play(size, repetitions, point.each.as_mut())?;
            point.accounts = point.accounts.and(accounts(&played));
            point.trials.push(self.trial(&played));
        }
        self.talks.iter_mut().for_each(|talk| talk.pipe.rest());
        tell(&point)?;
        self.points.push(point);
        Ok(())
    }

    /// One round, of which only its own repeats are reported.
    fn play(
        &mut self,
        size: Bytes,
        repetitions: u64,
        each: Option<&mut Histogram>,
    ) -> io::Result<Played> {
        let round = Round { pattern: self.plan.pattern, size: size.count() as usize, repetitions };
        let played = pairs::play(self.talks, round, each)?;
        let before = std::mem::replace(&mut self.repeats, played.repeats);
        let own = [0, 1].map(|end| played.repeats[end].since(before[end]));
        Ok(Played { repeats: own, ..played })
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
            talk.say(&Frame::plain(Kind::Farewell))?;
            match talk.hear_kind(Kind::Farewell) {
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
