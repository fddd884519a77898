//! Contacts every host of an inventory at the same time, and measures how far apart they start.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use btu_contract::activity::{Activity, Order};
use btu_contract::network::HostRole;
use btu_contract::roll::{Answer, Greeted, Roll};
use btu_units::Span;
use futures_util::future::join_all;
use serde_json::Value;

use super::super::client::AgentLink;
use super::super::error::ControllerError;
use super::remote_host::{Purpose, RemoteHost};
use super::{Access, HostCall, host_set};

/// The expected time of a roll call, for other controllers.
const ROLL_MS: u64 = 30_000;

/// An activity that does nothing and takes longer is stuck.
const DEADLINE: Span = Span::from_seconds(5);

/// Greets all hosts at once.
///
/// # Errors
/// Only what is wrong on this side; hosts that do not answer are part of the result.
pub fn roll_call(calls: &[HostCall], access: &Access) -> Result<Roll, ControllerError> {
    Ok(host_set::runtime()?.block_on(call_all(calls, access)))
}

async fn call_all(calls: &[HostCall], access: &Access) -> Roll {
    let purpose = Purpose {
        run: "a roll call".to_owned(),
        controller: access.controller.clone(),
        left_ms: Arc::new(AtomicU64::new(ROLL_MS)),
    };
    let (mut hosts, remote_hosts): (Vec<Greeted>, Vec<Option<RemoteHost>>) =
        join_all(calls.iter().map(|call| greet(call, access, &purpose))).await.into_iter().unzip();
    let mut ready: Vec<(usize, RemoteHost)> = remote_hosts
        .into_iter()
        .enumerate()
        .filter_map(|(number, remote_host)| Some((number, remote_host?)))
        .collect();
    let (starts, within) = play(&ready, &mut hosts).await;
    join_all(ready.iter_mut().map(|(_, remote_host)| remote_host.release())).await;
    let first = starts.iter().map(|(_, started)| *started).min().unwrap_or_default();
    let after_first = |started: i128| u64::try_from(started - first).unwrap_or_default();
    for (number, started) in &starts {
        if let Some(answer) = hosts.get_mut(*number).and_then(|host| host.answer.as_mut()) {
            answer.started_after_ns = Some(after_first(*started));
        }
    }
    let skew = starts.iter().map(|(_, started)| after_first(*started)).max();
    Roll { hosts, start_skew_ns: skew.filter(|_| starts.len() > 1), skew_within_ns: within }
}

/// Calls one host; returns it if it could be reserved.
async fn greet(
    call: &HostCall,
    access: &Access,
    purpose: &Purpose,
) -> (Greeted, Option<RemoteHost>) {
    let greeted = |trouble, answer| Greeted {
        name: call.name.clone(),
        reached: call.reached.to_string(),
        trouble,
        answer,
    };
    let mut remote_host = match RemoteHost::call(call, access).await {
        Ok(remote_host) => remote_host,
        Err(error) => return (greeted(Some(error.to_string()), None), None),
    };
    let mut answer = Answer {
        btu_version: remote_host.hello.btu_version.clone(),
        protocol: remote_host.hello.protocol,
        activities: remote_host.hello.activities.clone(),
        features: remote_host.hello.features.clone(),
        busy: None,
        clock: None,
        started_after_ns: None,
        environment: Value::Null,
        findings: Value::Null,
    };
    match looked_at(&mut remote_host, purpose, &mut answer).await {
        Ok(()) => (greeted(None, Some(answer)), Some(remote_host)),
        Err(ControllerError::Busy { busy, .. }) => {
            answer.busy = Some(busy);
            (greeted(None, Some(answer)), None)
        }
        Err(error) => {
            remote_host.release().await;
            (greeted(Some(error.to_string()), Some(answer)), None)
        }
    }
}

/// Reserves a host and examines it, in this order: an examination would disturb a measurement
/// there.
async fn looked_at(
    remote_host: &mut RemoteHost,
    purpose: &Purpose,
    answer: &mut Answer,
) -> Result<(), ControllerError> {
    remote_host.reserve(purpose).await?;
    answer.clock = remote_host.clock();
    let described = remote_host.describe().await?;
    answer.environment = described.environment.read().unwrap_or(Value::Null);
    answer.findings = described.findings.read().unwrap_or(Value::Null);
    Ok(())
}

/// A host that takes part, by its number in the roll.
type Player<'a> = &'a (usize, RemoteHost);

/// Plays an empty cell on all of them: returns the start of each by the controller's clock, in ns,
/// and its uncertainty. Failures are recorded in `hosts`.
async fn play(ready: &[(usize, RemoteHost)], hosts: &mut [Greeted]) -> (Vec<(usize, i128)>, u64) {
    let order = &Order::new(0, DEADLINE, Activity::Null);
    let prepare = |mut link: AgentLink| async move { link.prepare(1, 0, order).await };
    let prepared = together(ready.iter().collect(), hosts, prepare).await;
    let players = prepared.into_iter().map(|(player, _)| player).collect();
    let started = together(players, hosts, |mut link| async move { link.start(1).await }).await;
    let players = started.into_iter().map(|(player, ())| player).collect();
    // The account's host is ignored: a roll call has no roles.
    let collect = |mut link: AgentLink| async move {
        link.collect(HostRole::Test.into(), 1, vec![0], DEADLINE).await
    };
    let mut starts = Vec::with_capacity(ready.len());
    let mut within = 0;
    for ((number, remote_host), account) in together(players, hosts, collect).await {
        let report = account.results.into_iter().find_map(|(_, result)| result.ok());
        if let Some((report, clock)) = report.zip(remote_host.clock()) {
            starts.push((
                *number,
                i128::from(report.started.nanoseconds()) - i128::from(clock.offset_ns),
            ));
            within = within.max(clock.round_trip_ns);
        }
    }
    (starts, within)
}

/// Runs one operation on all hosts at once. A failure is recorded in `hosts`, and that host takes
/// no further part.
async fn together<'a, T, Doing>(
    players: Vec<Player<'a>>,
    hosts: &mut [Greeted],
    act: impl Fn(AgentLink) -> Doing,
) -> Vec<(Player<'a>, T)>
where
    Doing: Future<Output = Result<T, ControllerError>>,
{
    let done = join_all(players.iter().map(|(_, remote_host)| act(remote_host.link.clone()))).await;
    let mut still = Vec::with_capacity(players.len());
    for (player, done) in players.into_iter().zip(done) {
        match done {
            Ok(done) => still.push((player, done)),
            Err(error) => {
                if let Some(host) = hosts.get_mut(player.0) {
                    host.trouble = Some(error.to_string());
                }
            }
        }
    }
    still
}
