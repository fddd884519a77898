//! Signatures, sets of them, and HINT as the runner measures them: their ends live for a whole part
//! of the run and take turns. A turn is a cell: a size of a signature, or a step of HINT.

mod failure;
mod loads;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use btu_contract::activity::{
    Activity, HintEnd, Order, PipeEnd, PipeMeeting, Rendezvous, Token, Word,
};
use btu_contract::experiment::Slot;
use btu_contract::hint::{HintPlan, HintRecord};
use btu_contract::job::{Job, JobRecord, Part, Work};
use btu_contract::load::Load;
use btu_contract::network::{HostName, Impairments};
use btu_contract::pipe::{Conditions, End, PipePlan, Place, Point, Schedule, Turns};
use btu_contract::record::{Outcome, PlacedReport};
use btu_contract::study::{Study, TimeLimits};
use btu_units::Span;

use failure::{cause, no_address};
use loads::Loads;

use super::error::ControllerError;
use super::stage::{Stage, Standing, WorkerEvent, WorkerId, unread};
use super::study::MeasuredStudy;
use super::{Observer, secret};
use crate::environment::MachineWatch;

pub use loads::DISK_LOAD_FILE;

/// The longest activity that an agent's default policy allows.
const DAY: Span = Span::from_seconds(24 * 3600);

/// Draws what is measured so far, in lines for waiting users.
pub type Draw = Box<dyn Fn(&Job, &[JobRecord]) -> String>;

/// A run of signatures.
pub struct Signatures {
    job: Job,
    /// The host that sends first, and the other one; both ends of a local plan are on the first.
    near: HostName,
    far: HostName,
    /// An existing directory for the sockets of ends that meet on one machine.
    meetings: PathBuf,
    loads: Loads,
    draw: Draw,
    /// The index of the current part.
    part: usize,
    /// The workers of the current part, once it has begun.
    standing: Option<Standing>,
    /// Whether the signatures of the current part are complete.
    is_over: Vec<bool>,
    /// Whether their far ends have been started.
    is_begun: Vec<bool>,
    /// The near ends' notes about the transport.
    notes: Vec<String>,
}

/// A turn of one of the signatures, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureTurn {
    part: usize,
    series: usize,
    name: String,
}

impl fmt::Display for SignatureTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Signatures {
    /// The run of `job` between these hosts. `scratch` is an existing directory for files of the
    /// loads, `meetings` a private one for sockets; both outlive this.
    pub fn new(
        job: Job,
        [near, far]: [HostName; 2],
        scratch: PathBuf,
        meetings: PathBuf,
        draw: Draw,
    ) -> Self {
        let loads = Loads::new(scratch, job.seed());
        let none = vec![false; job.plans().len()];
        Self {
            near,
            far,
            meetings,
            loads,
            draw,
            part: 0,
            standing: None,
            is_over: none.clone(),
            is_begun: none,
            notes: Vec::new(),
            job,
        }
    }

    /// The stored points of a signature in this part. HINT is never resumed, so that each of its
    /// parts begins with none.
    fn known(&self, part: Part<'_>, series: usize, records: &[JobRecord]) -> Vec<Point> {
        match self.job {
            Job::Hint(_) => Vec::new(),
            Job::One(_) | Job::Set(_) => Job::points_in(part, series, records),
        }
    }

    /// The next turn: its part, and its signature. A resumed run passes over parts that are complete.
    fn next(&self, done: &[JobRecord]) -> Option<(usize, usize)> {
        let mut parts = self.job.parts().into_iter().enumerate().skip(self.part);
        parts.find_map(|(index, part)| Some((index, self.next_of(part, done)?)))
    }

    /// The signature that has the next turn of a part, if the current part is this one or has none left.
    fn next_of(&self, part: Part<'_>, done: &[JobRecord]) -> Option<usize> {
        let known: Vec<Vec<Point>> =
            (0..self.is_over.len()).map(|series| self.known(part, series, done)).collect();
        let mut turns = Turns::after(known.iter().map(Vec::len).collect());
        for (series, plan) in self.job.plans().iter().enumerate() {
            let is_complete =
                self.standing.is_none() && of_part(plan, part).after(&known[series]).is_none();
            if self.is_over[series] || is_complete {
                turns.ended(series);
            }
        }
        turns.next()
    }

    /// The current part; `None` after the last one.
    fn part(&self) -> Option<Part<'_>> {
        self.job.parts().get(self.part).copied()
    }

    /// What HINT does, if that is the current part.
    fn laps(&self) -> Option<&HintPlan> {
        self.laps_of(self.part)
    }

    fn laps_of(&self, part: usize) -> Option<&HintPlan> {
        match self.job.parts().get(part)?.work {
            Work::Laps(hint) => Some(hint),
            Work::Messages => None,
        }
    }

    fn host(&self, plan: &PipePlan, end: End) -> &HostName {
        if end == End::Near || plan.place == Place::Here { &self.near } else { &self.far }
    }

    /// The far end's address.
    fn address_of_far(&self, stage: &Stage, plan: &PipePlan) -> IpAddr {
        let known = match plan.place {
            Place::Here => None,
            _ => stage.address(&self.far, &Impairments::new()),
        };
        known.unwrap_or(Ipv4Addr::LOCALHOST.into())
    }

    /// Makes the ends of all incomplete signatures of the part.
    async fn stand(
        &mut self,
        stage: &mut Stage,
        done: &[JobRecord],
    ) -> Result<Standing, ControllerError> {
        let mut standing = stage.stand();
        self.is_begun.fill(false);
        let Some(part) = self.part() else { return Ok(standing) };
        let left = |(series, plan): (usize, &PipePlan)| {
            of_part(plan, part).after(&self.known(part, series, done))
        };
        let plans: Vec<_> = self.job.plans().iter().enumerate().map(left).collect();
        for (series, plan) in plans.iter().enumerate() {
            match plan {
                Some(plan) => self.pair(stage, &mut standing, series, plan).await?,
                None => self.is_over[series] = true,
            }
        }
        Ok(standing)
    }

    /// Makes both ends of a signature: the far end first, so that the near one gets its address. One
    /// process of HINT has no other end.
    async fn pair(
        &self,
        stage: &Stage,
        standing: &mut Standing,
        series: usize,
        plan: &PipePlan,
    ) -> Result<(), ControllerError> {
        let token = secret::token()?;
        let meeting = if self.laps().is_some_and(|hint| hint.processes == 1) {
            PipeMeeting::ConnectAt(PathBuf::new())
        } else {
            self.far_end(stage, standing, series, plan, token).await?
        };
        let activity = end(End::Near, meeting, token, plan, self.laps());
        let near = WorkerId::End(series, End::Near);
        self.prepare(stage, standing, near, plan, activity).await.map(drop)
    }

    /// Makes the far end; returns where the near end meets it.
    async fn far_end(
        &self,
        stage: &Stage,
        standing: &mut Standing,
        series: usize,
        plan: &PipePlan,
        token: Token,
    ) -> Result<PipeMeeting, ControllerError> {
        let (far, path) = (WorkerId::End(series, End::Far), format!("pipe-{series}"));
        let path = Some(self.meetings.join(path)).filter(|_| plan.kind.is_local());
        let listens = path.clone().map_or_else(
            || PipeMeeting::Network(Rendezvous::Listen(self.address_of_far(stage, plan))),
            PipeMeeting::ListenAt,
        );
        let activity = end(End::Far, listens, token, plan, self.laps());
        let endpoint = self.prepare(stage, standing, far, plan, activity).await?;
        let connects = |endpoint| PipeMeeting::Network(Rendezvous::Connect(endpoint));
        let meeting = path.map(PipeMeeting::ConnectAt).or_else(|| endpoint.map(connects));
        meeting.ok_or_else(|| no_address(far))
    }

    async fn prepare(
        &self,
        stage: &Stage,
        standing: &mut Standing,
        who: WorkerId,
        plan: &PipePlan,
        activity: Activity,
    ) -> Result<Option<SocketAddr>, ControllerError> {
        let host = self.host(plan, if who.is_far() { End::Far } else { End::Near });
        let order = Order::new(plan.seed, self.job.longest().min(DAY), activity);
        standing.prepare(stage, (who, host), &order).await.map_err(|error| match error {
            ControllerError::Prepare { who, activity, step, message } if stage.is_reserved(host) => {
                let address = self.address_of_far(stage, plan);
                let message = format!(
                    "{message}; {host} is measured at {address}, which should be its address on the measured network"
                );
                ControllerError::Prepare { who, activity, step, message }
            }
            error => error,
        })
    }

    /// Has the ends of a signature measure, and waits for the result; `None` when they are done.
    async fn turn(
        &mut self,
        stage: &mut Stage,
        standing: &mut Standing,
        series: usize,
    ) -> Result<Option<HintRecord>, ControllerError> {
        let plan = self.job.plans()[series].clone();
        let hosts = loads::Hosts {
            near: self.host(&plan, End::Near).clone(),
            far: self.host(&plan, End::Far).clone(),
            address: self.address_of_far(stage, &plan),
        };
        self.loads.turn_to(plan.load, stage, standing, &hosts).await?;
        // Laps of HINT go on while a step is stored: nothing asks after their processes meanwhile.
        let watch = match self.laps() {
            None => Some(Watch::begin(stage, standing, series, &plan).await?),
            Some(_) => None,
        };
        self.go(stage, standing, series).await?;
        let Some(word) = self.hear(stage, standing, series, &plan).await? else { return Ok(None) };
        match (word, watch, self.laps()) {
            (Word::Point(point), Some(watch), _) => {
                let conditions = Some(watch.end(stage, standing).await?);
                // A load that has ended by itself was no load all the time.
                if let Some(event) = standing.already_said() {
                    return Err(self.cause(event, stage, standing).await);
                }
                let pass = self.part().map_or(0, |part| part.block);
                Ok(Some(HintRecord::Message(Box::new(Point { pass, conditions, ..*point }))))
            }
            (Word::Step(step), _, Some(HintPlan { processes: 1, .. })) => {
                Ok(Some(HintRecord::One(*step)))
            }
            (Word::Step(step), _, Some(_)) => Ok(Some(HintRecord::Two(*step))),
            (word, _, _) => {
                let event = (WorkerId::End(series, End::Near), Ok(Some(word)));
                Err(self.cause(event, stage, standing).await)
            }
        }
    }

    /// Gives a signature its turn. The time that its ends may take to find each other begins with
    /// their first one, not during the turns of others. All laps of HINT are one turn.
    async fn go(
        &mut self,
        stage: &Stage,
        standing: &mut Standing,
        series: usize,
    ) -> Result<(), ControllerError> {
        let is_new = !std::mem::replace(&mut self.is_begun[series], true);
        if is_new {
            standing.go(stage, WorkerId::End(series, End::Far)).await?;
        }
        if is_new || self.laps().is_none() {
            standing.go(stage, WorkerId::End(series, End::Near)).await?;
        }
        Ok(())
    }

    /// The next result of the near end; `None` when it is done.
    async fn hear(
        &mut self,
        stage: &Stage,
        standing: &mut Standing,
        series: usize,
        plan: &PipePlan,
    ) -> Result<Option<Word>, ControllerError> {
        let (near, limit) = (WorkerId::End(series, End::Near), plan.longest_size().into());
        let event = standing.next(limit).await.ok_or_else(|| ControllerError::silent(limit))?;
        match event {
            (who, Ok(Some(word @ (Word::Point(_) | Word::Step(_))))) if who == near => {
                Ok(Some(word))
            }
            (who, Ok(Some(Word::Done(report)))) if who == near => {
                if let Outcome::Piped { notes, .. } = report.outcome {
                    self.notes.extend(notes);
                }
                Ok(None)
            }
            event => Err(self.cause(event, stage, standing).await),
        }
    }

    async fn cause(
        &self,
        event: WorkerEvent,
        stage: &Stage,
        standing: &mut Standing,
    ) -> ControllerError {
        cause(event, standing, stage.is_reserved(&self.far)).await
    }

    /// Waits until the ends of the part are gone, and goes on to the next part.
    async fn end_part(
        &mut self,
        stage: &mut Stage,
        mut standing: Standing,
    ) -> Result<(), ControllerError> {
        self.loads.stop(stage, &mut standing, &self.far).await?;
        self.is_over.fill(false);
        self.part += 1;
        standing.finish().await
    }
}

impl Study for Signatures {
    type Plan = Job;
    type Cell = SignatureTurn;

    const IN_BLOCKS: bool = false;

    fn plan(&self) -> &Job {
        &self.job
    }

    fn seed(&self) -> u64 {
        self.job.seed()
    }

    /// Ends that measure decide themselves what their time allows.
    fn pace(&self) -> TimeLimits {
        let precision = self.job.plans()[0].precision.of_pass(0);
        TimeLimits {
            most_blocks: self.job.most_turns(),
            budget: Span::from_nanoseconds(u64::MAX),
            own_time: self.job.time(),
            guess: precision.target * u64::from(precision.trials),
            deadline: self.job.longest(),
        }
    }

    /// Every block is one turn.
    fn missing(&self, block: u32, done: &[JobRecord]) -> Vec<Slot<SignatureTurn>> {
        let slot = |(part, series): (usize, usize)| {
            let PipePlan { kind, load, .. } = self.job.plans()[series];
            let name = match self.laps_of(part) {
                Some(HintPlan { processes: 1, .. }) => "HINT, one process".to_owned(),
                Some(_) => "HINT, two processes".to_owned(),
                None if load == Load::Idle => kind.to_string(),
                None => format!("{kind} {load}"),
            };
            Slot { cell: SignatureTurn { part, series, name }, block, position: 0 }
        };
        self.next(done).map(slot).into_iter().collect()
    }

    fn sure_after(&self, _block: u32, done: &[JobRecord]) -> usize {
        self.job.planned().saturating_sub(done.len() + 1)
    }

    fn so_far(&self, records: &[JobRecord]) -> String {
        (self.draw)(&self.job, records)
    }

    fn seen<'a>(&self, _record: &'a JobRecord) -> (&'a [String], &'a [PlacedReport]) {
        (&[], &[])
    }

    fn notes(&self, records: &[JobRecord]) -> Vec<String> {
        let left_out = self.job.plans().iter().enumerate().filter_map(|(series, plan)| {
            let left_out = Schedule::of(plan).left_out(&Job::points(records, series));
            (left_out > 0).then(|| {
                format!(
                    "{}: {left_out} sizes were left out: messages took longer than the limit",
                    plan.kind
                )
            })
        });
        left_out.chain(self.notes.iter().cloned()).chain(self.loads.notes()).collect()
    }
}

impl MeasuredStudy for Signatures {
    async fn measure(
        &mut self,
        stage: &mut Stage,
        slot: &Slot<SignatureTurn>,
        done: &[JobRecord],
        _observer: &mut dyn Observer,
    ) -> Result<Option<JobRecord>, ControllerError> {
        let series = slot.cell.series;
        self.part = slot.cell.part;
        let mut standing = match self.standing.take() {
            Some(standing) => standing,
            None => self.stand(stage, done).await?,
        };
        let block = self.part().map_or(0, |part| part.block);
        if let Some(seen) = self.turn(stage, &mut standing, series).await? {
            self.standing = Some(standing);
            let position = done.len() as u32;
            return Ok(Some(JobRecord { series, block, position, seen }));
        }
        self.is_over[series] = true;
        if self.is_over.iter().all(|is_over| *is_over) {
            self.end_part(stage, standing).await?;
        } else {
            self.standing = Some(standing);
        }
        Ok(None)
    }
}

/// What the ends of a signature measure in this part.
fn of_part(plan: &PipePlan, part: Part<'_>) -> PipePlan {
    PipePlan { precision: plan.precision.of_pass(part.block), ..plan.clone() }
}

/// The activity of an end: messages, or laps of HINT.
fn end(
    end: End,
    meeting: PipeMeeting,
    token: Token,
    plan: &PipePlan,
    laps: Option<&HintPlan>,
) -> Activity {
    let plan = plan.clone();
    match laps {
        Some(hint) => {
            let hint = hint.clone();
            Activity::Hint(Box::new(HintEnd { end, meeting, token, hint, pipe: plan }))
        }
        None => Activity::Pipe(Box::new(PipeEnd { end, meeting, token, plan, turns: true })),
    }
}

/// The state of the machine, of both ends and of the network before a size.
struct Watch {
    series: usize,
    /// Whether an emulator may be between the ends.
    is_away: bool,
    machine: MachineWatch,
    /// CPU time of both ends so far, if it is known.
    cpu: [Option<Span>; 2],
}

impl Watch {
    /// Reads the state, and resets the emulator.
    async fn begin(
        stage: &mut Stage,
        standing: &Standing,
        series: usize,
        plan: &PipePlan,
    ) -> Result<Self, ControllerError> {
        let is_away = plan.place != Place::Here;
        stage.reset_wire()?;
        let cpu = cpu(stage, standing, series).await;
        Ok(Self { series, is_away, machine: MachineWatch::begin().map_err(unread)?, cpu })
    }

    /// The changes since then.
    async fn end(
        self,
        stage: &mut Stage,
        standing: &Standing,
    ) -> Result<Conditions, ControllerError> {
        let machine = self.machine.end().map_err(unread)?.with(stage.placement.after_cell());
        let network = if self.is_away { stage.wire_account()?.map(Box::new) } else { None };
        let [near, far] = cpu(stage, standing, self.series).await;
        let used = |before: Option<Span>, after: Option<Span>| Some(after? - before?);
        Ok(Conditions {
            machine,
            near_cpu: used(self.cpu[0], near),
            far_cpu: used(self.cpu[1], far),
            network,
        })
    }
}

/// CPU time of both ends so far.
async fn cpu(stage: &Stage, standing: &Standing, series: usize) -> [Option<Span>; 2] {
    [
        standing.cpu(stage, WorkerId::End(series, End::Near)).await,
        standing.cpu(stage, WorkerId::End(series, End::Far)).await,
    ]
}
