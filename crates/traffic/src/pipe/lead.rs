//! The near end: goes through the sizes, size by size and trial by trial.

use std::io;

use btu_stats::Histogram;
use btu_suite::pipe::{Books, End, Next, Pattern, PipePlan, Point, Precision, Schedule, Trial};
use btu_units::{Bytes, Span};

use super::frame::{Frame, Kind};
use super::talk::{Round, Seen, Talk};
use super::{Pipe, Repeats};

/// Exchanges of the first size before anything is measured, to know about how long one takes (`NetPIPE` 3: a hundred).
const PILOT: u64 = 20;

/// A near end at work.
pub(super) struct Lead<'a, P> {
    talk: &'a mut Talk<P>,
    plan: &'a PipePlan,
    /// Repeats so far at this end and at the far one.
    repeats: [Repeats; 2],
    points: Vec<Point>,
}

/// Both ends' accounts of a round.
struct Played {
    near: Seen,
    far: Seen,
    /// Of both ends, in this round.
    repeats: Repeats,
}

impl<'a, P: Pipe> Lead<'a, P> {
    /// At the beginning.
    pub(super) fn new(talk: &'a mut Talk<P>, plan: &'a PipePlan) -> Self {
        Self { talk, plan, repeats: [Repeats::default(); 2], points: Vec::new() }
    }

    /// Measures every size up to `largest` that the plan wants, and tells each point when it is finished. How many sizes
    /// were left out, because they take too long or the transport does not move so much at once.
    pub(super) fn measure(mut self, largest: Bytes, tell: &mut dyn FnMut(&Point) -> io::Result<()>) -> io::Result<u64> {
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
        Ok(self.trial(&played, PILOT).one_way_seconds(self.plan.pattern))
    }

    fn point(
        &mut self,
        size: Bytes,
        repetitions: u64,
        tell: &mut dyn FnMut(&Point) -> io::Result<()>,
    ) -> io::Result<()> {
        let Precision { trials, warm_up, each, .. } = self.plan.precision;
        let mut point = Point { size, trials: Vec::new(), books: Books::default(), each: each.then(Histogram::new) };
        if warm_up > 0 {
            let played = self.play(size, warm_up, None)?;
            point.books = point.books.and(books(&played));
        }
        for _ in 0..trials {
            let played = self.play(size, repetitions, point.each.as_mut())?;
            point.books = point.books.and(books(&played));
            point.trials.push(self.trial(&played, repetitions));
        }
        tell(&point)?;
        self.points.push(point);
        Ok(())
    }

    /// One round: announced, played, accounted for by both ends.
    fn play(&mut self, size: Bytes, repetitions: u64, each: Option<&mut Histogram>) -> io::Result<Played> {
        let round = Round { pattern: self.plan.pattern, size: size.count() as usize, repetitions };
        let (pattern, size) = (round.pattern, size.count());
        self.talk.say(&Frame { pattern, size, count: repetitions, ..Frame::plain(Kind::Round) })?;
        self.talk.hear_kind(Kind::Ready)?;
        let near = self.talk.lead(round, each)?;
        let near_repeats = self.talk.pipe.repeats();
        self.talk.say(&Frame::plain(Kind::Tell))?;
        let account = self.talk.hear_kind(Kind::Account)?;
        let far = Seen {
            elapsed: Span::from_nanoseconds(account.elapsed_ns),
            sent: account.sent,
            received: account.received,
            wrong: account.wrong,
        };
        let far_repeats = Repeats { repeated: account.repeated, duplicates: account.duplicates };
        let now = [near_repeats, far_repeats];
        let repeats =
            self.repeats.iter().zip(now).fold(Repeats::default(), |sum, (before, now)| sum.and(now.since(*before)));
        self.repeats = now;
        Ok(Played { near, far, repeats })
    }

    fn trial(&self, played: &Played, repetitions: u64) -> Trial {
        let (elapsed, clock) = match self.plan.pattern {
            Pattern::Streaming => (played.far.elapsed, End::Far),
            Pattern::PingPong | Pattern::Bidirectional => (played.near.elapsed, End::Near),
        };
        let Repeats { repeated, duplicates } = played.repeats;
        Trial { repetitions, elapsed, clock, lost: repeated.saturating_sub(duplicates), repeated }
    }

    /// Says farewell. A far end that has gone on hearing it was too quick to be heard itself.
    fn part(&mut self) -> io::Result<()> {
        use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, UnexpectedEof};
        self.talk.say(&Frame::plain(Kind::Farewell))?;
        match self.talk.hear_kind(Kind::Farewell) {
            Err(error) if !matches!(error.kind(), BrokenPipe | ConnectionRefused | ConnectionReset | UnexpectedEof) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }
}

/// A round in the books of its size.
fn books(Played { near, far, repeats }: &Played) -> Books {
    let received = near.received + far.received;
    Books {
        sent: near.sent + far.sent + repeats.repeated,
        received,
        duplicates: repeats.duplicates,
        checked: received,
        wrong: near.wrong + far.wrong,
    }
}
