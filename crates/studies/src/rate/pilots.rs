//! Finds the amount of work with which each baseline lasts about the profile's time.

use btu_contract::load::Load;
use btu_contract::study::{InputError, Play, forecast};
use btu_units::{Bytes, Span};

use super::accounting::balance;
use super::plan::Plan;
use super::row::{Component, Row};
use super::script::{Amount, Setting, null_script, script};
use super::work::{Amounts, HostAmount, Pace, Volume, amount_for, volume_for, volumes_wanted};

/// Empty cells played to learn the tool's own cost; their median counts.
const NULL_CELLS: usize = 5;

/// How often each activity is tried. The fastest pilot counts: a lost segment or a moved processor
/// makes a pilot slower, and would give all cells of the activity less work.
const PILOTS: usize = 3;

/// Pilots are repeated within this part of the run's time; every activity has one in any case.
const REPEATED_IN: u64 = 10;

/// With a fixed volume, host activities last as long as this component and message size takes.
const YARDSTICK: (Component, Bytes) = (Component::Send, Bytes::new(4096));

/// Plays pilots until every activity has its amount.
pub(super) async fn amounts<P: Play>(
    player: &mut P,
    plan: &Plan,
    base: &Setting,
) -> Result<Amounts, InputError<P::Error>> {
    let began = player.elapsed();
    let end = began + Span::from_nanoseconds(plan.profile.budget.nanoseconds() / REPEATED_IN);
    let mut pilots = Pilots { player, plan, base, done: 0, first: 0, all: 0, began, end };
    let volumes = volumes_wanted(plan);
    let loads: Vec<Load> = plan.loads.iter().copied().filter(|load| *load != Load::Idle).collect();
    let tried = if plan.volume.is_none() { volumes.len() } else { 0 };
    pilots.first = 1 + tried + loads.len();
    pilots.all = 1 + PILOTS * (tried + loads.len());
    Ok(Amounts {
        null_cell_ns: pilots.null_cost().await?,
        volumes: pilots.volumes(&volumes).await?,
        host: pilots.host(&loads).await?,
    })
}

struct Pilots<'a, P> {
    player: &'a mut P,
    plan: &'a Plan,
    base: &'a Setting,
    done: usize,
    /// The pilots that are played in any case, and all.
    first: usize,
    all: usize,
    began: Span,
    /// No pilot is repeated after it.
    end: Span,
}

impl<P: Play> Pilots<'_, P> {
    async fn null_cost(&mut self) -> Result<u64, InputError<P::Error>> {
        self.step();
        let mut costs = Vec::with_capacity(NULL_CELLS);
        for _ in 0..NULL_CELLS {
            costs.push(self.player.play(&null_script(self.plan, self.base)).await?.overhead_ns);
        }
        costs.sort_unstable();
        Ok(costs[NULL_CELLS / 2])
    }

    async fn volumes(
        &mut self,
        wanted: &[(Component, Bytes)],
    ) -> Result<Vec<Volume>, InputError<P::Error>> {
        let all = wanted.iter().map(|&(component, message)| Volume {
            component,
            message,
            volume: self.plan.volume.unwrap_or_default(),
        });
        let mut all: Vec<Volume> = all.collect();
        if self.plan.volume.is_some() {
            return Ok(all);
        }
        let target = self.plan.profile.target;
        let rows: Vec<Row> = wanted.iter().map(|&(one, message)| Row::idle(one, message)).collect();
        let paces = self.fastest(&rows, target).await?;
        for (volume, pace) in all.iter_mut().zip(paces) {
            volume.volume = volume_for(volume.component, volume.message, pace, target);
        }
        Ok(all)
    }

    async fn host(&mut self, loads: &[Load]) -> Result<Vec<HostAmount>, InputError<P::Error>> {
        let target = self.host_target().await?;
        let rows: Vec<Row> = loads.iter().map(|&load| Row::Host { load }).collect();
        let paces = self.fastest(&rows, target).await?;
        let amounts = loads.iter().zip(paces);
        Ok(amounts
            .map(|(&load, pace)| HostAmount { load, amount: amount_for(pace, target) })
            .collect())
    }

    /// The target time of a host activity: the profile's time, or the time of a fixed volume.
    async fn host_target(&mut self) -> Result<Span, InputError<P::Error>> {
        let target = self.plan.profile.target;
        let Some(volume) = self.plan.volume else { return Ok(target) };
        let pace = self.pilot(Row::idle(YARDSTICK.0, YARDSTICK.1), target).await?;
        let seconds = pace.took.seconds() * volume.count() as f64 / pace.done.max(1) as f64;
        Ok(Span::from_seconds_f64(seconds).max(Span::from_milliseconds(5)))
    }

    /// The pace of each row in the fastest of its pilots, which last `time` each. They take turns,
    /// so that what disturbs the machine for a second does not disturb all pilots of a row.
    async fn fastest(
        &mut self,
        rows: &[Row],
        time: Span,
    ) -> Result<Vec<Pace>, InputError<P::Error>> {
        let mut paces = Vec::with_capacity(rows.len());
        for &row in rows {
            self.step();
            paces.push(self.pilot(row, time).await?);
        }
        for _ in 1..PILOTS {
            for (&row, fastest) in rows.iter().zip(&mut paces) {
                self.step();
                if self.player.elapsed() >= self.end {
                    continue;
                }
                match self.pilot(row, time).await {
                    Ok(pace) if pace.is_faster_than(*fastest) => *fastest = pace,
                    // The row has a pace.
                    Ok(_) | Err(InputError::Amount { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(paces)
    }

    /// What a row does in about `time`, and the real time.
    async fn pilot(&mut self, row: Row, time: Span) -> Result<Pace, InputError<P::Error>> {
        let setting = Setting { amount: Amount::Pilot(time), ..self.base.clone() };
        let script = script(self.plan, &row, &setting);
        let scene = self.player.play(&script).await?;
        let balance = balance(&row, &script, &scene);
        if let Some(fault) = balance.faults.first() {
            return Err(trouble(&row, fault));
        }
        let network = balance.network.map(|result| (result.bytes.count(), result.duration));
        let host = balance.host.map(|result| (result.work, result.duration));
        let result = if matches!(row, Row::Host { .. }) { host } else { network };
        let (done, took) = result.ok_or_else(|| trouble(&row, "it has no result"))?;
        Ok(Pace { done, took })
    }

    fn step(&mut self) {
        let now = self.player.elapsed();
        let (elapsed, time) = ((now - self.began).seconds(), (self.end - now).seconds());
        let certain = self.first.saturating_sub(self.done);
        let left = (self.done > 0)
            .then(|| forecast(elapsed / self.done as f64, time, certain, self.all - self.done).1);
        self.player.pilots(self.done, self.all, left);
        self.done += 1;
    }
}

fn trouble<E>(row: &Row, message: &str) -> InputError<E> {
    InputError::Amount { what: row.to_string(), message: message.to_owned() }
}
