//! One run: both ends started, every point stored as it comes, and the end of it noted.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use btu_control::coordinator::CoordinatorError;
use btu_control::environment;
use btu_store::{Level, Moment, NewCell, NewRun, RunId, RunLock, State, Store};
use btu_suite::activity::{Activity, Order, PipeEnd, PipeMeeting, Token, Word};
use btu_suite::pipe::{End, PipePlan, Point};
use btu_suite::record::Outcome;
use btu_testbed::house::Signals;
use btu_units::Span;

use super::SUITE;
use super::ends::{Ends, Said};
use super::ground::Ground;
use super::interruption::Interruption;
use super::plan::Asked;
use crate::progress::Steps;
use crate::{preflight, rate};

/// How long setting up may take: large buffers are filled before they are used.
const PREPARE_LIMIT: Duration = Duration::from_secs(30);

/// How long two ends may take to find each other.
const MEETING_LIMIT: Span = Span::from_seconds(30);

/// How long one end may take to show that it was killed when the other has failed.
const EPITAPH_LIMIT: Duration = Duration::from_millis(500);

/// What a run needs.
pub(super) struct Series<'a> {
    pub(super) plan: &'a PipePlan,
    pub(super) ground: &'a Ground<'a>,
    pub(super) signals: &'a Signals,
    pub(super) interruption: &'a Interruption,
    pub(super) steps: &'a Steps,
}

impl Series<'_> {
    /// Makes a run, measures it, and notes how it ended.
    pub(super) fn run(
        &self,
        store: &mut Store,
        asked: &Asked,
        label: Option<&str>,
    ) -> anyhow::Result<(RunId, anyhow::Result<()>)> {
        let lock = self.begin(store, asked, label)?;
        let outcome = self.interruption.instead_of(self.measure(store, &lock));
        let state = match &outcome {
            Ok(()) => State::Complete,
            Err(error) if error.is::<CoordinatorError>() || error.is::<Killed>() => State::Interrupted,
            Err(_) => State::Failed,
        };
        let now = rate::wall_clock();
        if let Err(error) = &outcome {
            store.save_event(&lock, &now, Level::Error, &format!("{error:#}"))?;
        }
        store.save_environment(&lock, Moment::After, &serde_json::to_value(environment::collect())?)?;
        store.finish(&lock, state, &now)?;
        Ok((lock.run(), outcome))
    }

    fn begin(&self, store: &mut Store, asked: &Asked, label: Option<&str>) -> anyhow::Result<RunLock> {
        let document = serde_json::to_value(self.plan)?;
        let lock = store.create_run(&NewRun {
            suite: SUITE,
            profile: asked.profile,
            network: &format!("{}, {}", self.plan.kind.label(), self.network(asked)),
            label,
            tags: &[],
            created: &rate::wall_clock(),
            seed: self.plan.seed,
            btu_version: env!("CARGO_PKG_VERSION"),
            plan: &document,
            plan_hash: &self.plan.hash(),
            planned_cells: self.plan.sizes.list().len() as u32,
        })?;
        store.save_environment(&lock, Moment::Before, &serde_json::to_value(environment::collect())?)?;
        Ok(lock)
    }

    fn network<'a>(&self, asked: &'a Asked) -> &'a str {
        if self.plan.place == btu_suite::pipe::Place::Here { "local" } else { &asked.network }
    }

    fn measure(&self, store: &Store, lock: &RunLock) -> anyhow::Result<()> {
        let mut ends = Ends::new();
        let followed = self.prepare(&mut ends).and_then(|()| {
            ends.go();
            self.follow(&mut ends, store, lock)
        });
        match followed {
            Ok(()) => ends.finish(),
            Err(error) => Err(explain(&mut ends, error)),
        }
    }

    /// The far end first, so that the near one knows where to go.
    fn prepare(&self, ends: &mut Ends) -> anyhow::Result<()> {
        let token = token()?;
        let endpoint = self.start(ends, End::Far, self.ground.listening(self.plan), token)?;
        let meeting =
            self.ground.connecting(self.plan, endpoint).context("the far end did not say where it listens")?;
        self.start(ends, End::Near, meeting, token).map(drop)
    }

    fn start(
        &self,
        ends: &mut Ends,
        end: End,
        meeting: PipeMeeting,
        token: Token,
    ) -> anyhow::Result<Option<std::net::SocketAddr>> {
        let part = PipeEnd { end, meeting, token, plan: self.plan.clone() };
        let activity = Activity::Pipe(Box::new(part));
        let order = Order { seed: self.plan.seed, deadline: MEETING_LIMIT, activity };
        ends.start(end, self.ground.worker(self.plan, end), &order, self.signals)?;
        match ends.next(PREPARE_LIMIT, || self.interruption.error())? {
            (who, Said::Word(Word::Ready { endpoint })) if who == end => Ok(endpoint),
            (who, said) => bail!(Trouble::of(who, said)),
        }
    }

    /// Stores point after point until both ends are done.
    fn follow(&self, ends: &mut Ends, store: &Store, lock: &RunLock) -> anyhow::Result<()> {
        let planned = self.plan.sizes.list().len();
        let (mut stored, mut done, begun) = (0, Vec::new(), Instant::now());
        while done.len() < 2 {
            match ends.next(self.patience(), || self.interruption.error())? {
                (End::Near, Said::Word(Word::Point(point))) => {
                    save(store, lock, self.plan, &point, stored)?;
                    stored += 1;
                    self.steps.show(stored as usize, planned, begun, &self.words(&point));
                }
                (end, Said::Word(Word::Done(report))) => {
                    done.push(end);
                    if let Outcome::Piped { left_out: left_out @ 1.. } = report.outcome {
                        let text = format!("{left_out} sizes were left out: messages took longer than the limit");
                        store.save_event(lock, &rate::wall_clock(), Level::Info, &text)?;
                    }
                }
                // Who is done closes its output.
                (end, Said::End) if done.contains(&end) => {}
                (who, said) => bail!(Trouble::of(who, said)),
            }
        }
        Ok(())
    }

    /// How long a point may take: its trials a few times longer than planned, or each message as long as the limit.
    fn patience(&self) -> Duration {
        let precision = &self.plan.precision;
        let trial = Duration::from(precision.target * 4) + Duration::from(precision.limit * 8);
        Duration::from_mins(1) + trial.saturating_mul(precision.trials + precision.warm_up as u32)
    }

    fn words(&self, point: &Point) -> String {
        let times = point.one_way_seconds(self.plan.pattern);
        let time = times.iter().copied().fold(f64::INFINITY, f64::min);
        let rate = self.plan.pattern.bits_at_once(point.size, self.plan.pairs) / time;
        format!(
            "{} {}  {:>9}  {:>9.1} us  {:>10.2} Mb/s",
            self.plan.kind,
            self.plan.pattern,
            point.size.to_string(),
            time * 1e6,
            rate / 1e6
        )
    }
}

fn save(store: &Store, lock: &RunLock, plan: &PipePlan, point: &Point, position: u32) -> anyhow::Result<()> {
    let typical = btu_stats::median(&point.one_way_seconds(plan.pattern)).filter(|seconds| *seconds > 0.0);
    let spent = point.trials.iter().map(|trial| trial.elapsed).sum();
    store.save_record(
        lock,
        &NewCell {
            block: 0,
            position,
            component: &format!("{} {}", plan.kind, plan.pattern),
            message: point.size,
            load: plan.load.name(),
            valid: point.books.wrong == 0 && point.books.lost().is_some(),
            goodput_bits_per_second: typical.map(|seconds| plan.pattern.bits_at_once(point.size, plan.pairs) / seconds),
            duration: Some(spent),
            record: serde_json::to_string(point)?,
        },
    )?;
    Ok(())
}

/// An end that failed by itself, or said what makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("the {} end{what}", if *.end == End::Near { "near" } else { "far" })]
struct Trouble {
    end: End,
    what: String,
}

impl Trouble {
    fn of(end: End, said: Said) -> Self {
        let what = match said {
            Said::Word(Word::Failed { message }) => format!(": {message}"),
            Said::Word(word) => format!(" said a word that was not due: {word:?}"),
            Said::Nonsense(why) => format!(" said something unknown: {why}"),
            Said::End => " ended".to_owned(),
        };
        Self { end, what }
    }
}

/// An end was killed, and the other one with it.
#[derive(Debug, thiserror::Error)]
#[error("the {} end was killed ({how}), so the other was ended, too", if *.end == End::Near { "near" } else { "far" })]
struct Killed {
    end: End,
    how: String,
}

/// What one end says went wrong may only be that the other was killed.
fn explain(ends: &mut Ends, error: anyhow::Error) -> anyhow::Error {
    if error.downcast_ref::<Trouble>().is_none() {
        return error;
    }
    for end in [End::Near, End::Far] {
        if let Some(how) = ends.epitaph(end, EPITAPH_LIMIT / 2).filter(|how| how.contains("signal")) {
            return Killed { end, how }.into();
        }
    }
    error
}

fn token() -> anyhow::Result<Token> {
    let mut token = Token::default();
    for part in token.chunks_exact_mut(4) {
        part.copy_from_slice(&preflight::random()?.to_ne_bytes());
    }
    Ok(token)
}
