//! HINT: messages of 16 bytes, two processes, one process, and the messages again.

use std::path::PathBuf;

use anyhow::bail;
use btu_suite::activity::{Activity, HintEnd, PipeMeeting, Token, Word};
use btu_suite::hint::{HintPlan, HintPoint, HintRecord, HintRun, facts};
use btu_suite::pipe::End;

use super::journal::Journal;
use super::load::Loads;
use super::series::{Place, Series, timeout};
use super::worker_error::WorkerError;
use super::workers::{WorkerEvent, WorkerId, Workers};

/// Measures a whole run.
pub(super) fn measure(
    place: &Place<'_>,
    run: &HintRun,
    journal: &Journal<'_>,
    loads: &mut Loads<'_>,
) -> anyhow::Result<()> {
    messages(place, run, journal, loads, 0)?;
    integrate(place, run, &run.two, journal, HintRecord::Two)?;
    if let Some(one) = &run.one {
        integrate(place, run, one, journal, HintRecord::One)?;
    }
    messages(place, run, journal, loads, 1)
}

/// The time of a message over that pipe.
fn messages(
    place: &Place<'_>,
    run: &HintRun,
    journal: &Journal<'_>,
    loads: &mut Loads<'_>,
    block: u32,
) -> anyhow::Result<()> {
    let plans = std::slice::from_ref(&run.pipe);
    Series::new(place, plans, vec![Vec::new()]).measure(journal, loads, &mut |_, point| {
        let record = HintRecord::Message(Box::new(point.clone()));
        journal.save(block, &facts(run, &record), &record)
    })
}

/// HINT by the number of processes in `plan`.
fn integrate(
    place: &Place<'_>,
    run: &HintRun,
    plan: &HintPlan,
    journal: &Journal<'_>,
    record: fn(HintPoint) -> HintRecord,
) -> anyhow::Result<()> {
    let mut ends = Workers::new();
    let begun = if plan.processes == 1 {
        alone(place, run, plan, &mut ends)
    } else {
        pair(place, run, plan, &mut ends)
    };
    let followed = begun.and_then(|workers| {
        follow(place, run, plan, &mut ends, workers, &mut |point| {
            let record = record(point);
            journal.save(0, &facts(run, &record), &record)
        })
    });
    match followed {
        Ok(gone) => ends.finish(&gone),
        Err(error) => Err(place.explain(&ends, error)),
    }
}

/// Starts two processes; returns their number.
fn pair(
    place: &Place<'_>,
    run: &HintRun,
    plan: &HintPlan,
    ends: &mut Workers,
) -> anyhow::Result<usize> {
    place.pair(ends, 0, &run.pipe, |end, meeting, token| order(run, plan, end, meeting, token))?;
    ends.go(WorkerId::End(0, End::Far));
    ends.go(WorkerId::End(0, End::Near));
    Ok(2)
}

/// Starts one process, which has no peer.
fn alone(
    place: &Place<'_>,
    run: &HintRun,
    plan: &HintPlan,
    ends: &mut Workers,
) -> anyhow::Result<usize> {
    let nowhere = PipeMeeting::ConnectAt(PathBuf::new());
    let activity = order(run, plan, End::Near, nowhere, Token::default());
    let near = WorkerId::End(0, End::Near);
    place.prepare(ends, near, &run.pipe, &place.order(&run.pipe, activity))?;
    ends.go(near);
    Ok(1)
}

fn order(run: &HintRun, plan: &HintPlan, end: End, meeting: PipeMeeting, token: Token) -> Activity {
    Activity::Hint(Box::new(HintEnd {
        end,
        meeting,
        token,
        hint: plan.clone(),
        pipe: run.pipe.clone(),
    }))
}

/// Stores step after step until all workers are done; returns those that have ended.
fn follow(
    place: &Place<'_>,
    run: &HintRun,
    plan: &HintPlan,
    ends: &mut Workers,
    workers: usize,
    save: &mut dyn FnMut(HintPoint) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<WorkerId>> {
    let (mut done, mut gone) = (Vec::new(), Vec::new());
    while done.len() < workers {
        match ends.next(timeout(&run.pipe), || place.trouble())? {
            (_, WorkerEvent::Word(Word::Step(point))) => {
                let (intervals, lap, quips) =
                    (point.intervals, point.least_seconds() * 1e6, point.quips());
                save(*point)?;
                let processes = if plan.processes == 1 { "one process" } else { "two processes" };
                let text = format!(
                    "HINT, {processes}: {intervals:>7} intervals  {lap:>10.1} us a lap  {quips:.3e} QUIPS"
                );
                place.screen.steps.say(text);
            }
            (who, WorkerEvent::Word(Word::Done(_))) => done.push(who),
            // A worker that is done exits.
            (who, WorkerEvent::End) if done.contains(&who) => gone.push(who),
            (who, said) => bail!(WorkerError::of(who, said)),
        }
    }
    Ok(gone)
}
