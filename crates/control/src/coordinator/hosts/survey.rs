//! Finds out the features of hosts: which hosts reach each other, at which rate, and whether the
//! peers can impair packets.

use std::collections::BTreeSet;
use std::time::Duration;

use btu_suite::accounting;
use btu_suite::activity::{Activity, Order, Request, Respond, Token, Transport};
use btu_suite::cell::{Component, Row};
use btu_suite::network::{HostName, HostRole, Impairment, Impairments};
use btu_suite::plan::{INTERACTIVE_MESSAGE, Plan};
use btu_suite::script::{Amount, Role, Script, Setting, Step, at_black_boxes, script};
use btu_units::{BitRate, Bytes, Span};
use tokio::time::timeout;

use super::super::cell::balance;
use super::super::error::CoordinatorError;
use super::super::secret;
use super::super::stage::Stage;

/// Connecting over the measured network, and a few requests: longer than on any usable network.
const REACH_LIMIT: Duration = Duration::from_secs(10);
const REACH_PROBE: Span = Span::from_milliseconds(50);

/// The time for measuring the path's rate.
const RATE_PROBE: Span = Span::from_milliseconds(400);

/// An activity of the survey that takes longer is stuck.
const DEADLINE: Span = Span::from_seconds(10);

/// The UDP row offers nine tenths of what TCP gets, and no more than this, as on this machine's own
/// network.
const MOST_OFFERED_BITS_PER_SECOND: f64 = 500e6;

/// Both, to test whether either is possible.
const BOTH: Impairment = Impairment { delay: Impairment::DL.delay, loss: Impairment::DR.loss };

/// The findings of the survey of the hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// Why components with impaired packets cannot be measured, a sentence for each peer;
    /// empty when they can.
    pub unimpaired: Vec<String>,
    /// The rate for the UDP row.
    pub udp_offered: BitRate,
}

pub(super) async fn survey(stage: &mut Stage, plan: &Plan) -> Result<Survey, CoordinatorError> {
    let setting = Setting {
        seed: plan.seed,
        token: secret::token()?,
        amount: Amount::Pilot(RATE_PROBE),
        deadline: DEADLINE,
        scratch: "/".into(),
        disk_source: None,
        ftp_password: secret::password()?,
    };
    let black_boxes = HostRole::ALL.into_iter().filter(|role| role.is_black_box());
    let calls: Vec<[HostName; 2]> =
        black_boxes.map(|role| [HostRole::Test, role].map(HostName::from)).collect();
    reach(stage, &calls).await?;
    let udp_offered = offered(stage, plan, &setting).await?;
    let wanted = plan.components.iter().any(|component| !component.impairment().is_none());
    let unimpaired = if wanted {
        stage.try_impairments(&at_black_boxes(plan, BOTH), plan.seed).await?
    } else {
        Vec::new()
    };
    Ok(Survey { unimpaired, udp_offered })
}

/// Makes each caller exchange requests with its peer over the measured network. A host has to get
/// through in one of its calls at least: a single pair that fails is a result of its cell.
pub(super) async fn reach(
    stage: &mut Stage,
    calls: &[[HostName; 2]],
) -> Result<(), CoordinatorError> {
    let mut met: BTreeSet<&HostName> = BTreeSet::new();
    let mut failed: Vec<(&[HostName; 2], CoordinatorError)> = Vec::new();
    for call in calls {
        match reach_one(stage, call.each_ref(), secret::token()?).await? {
            None => met.extend(call),
            Some(message) => failed.push((call, stage.unreachable(call.each_ref(), message))),
        }
    }
    let is_cut_off = |call: &[HostName; 2]| call.iter().any(|host| !met.contains(host));
    match failed.into_iter().find(|(call, _)| is_cut_off(call)) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// Why they do not meet, if they do not.
async fn reach_one(
    stage: &mut Stage,
    call: [&HostName; 2],
    token: Token,
) -> Result<Option<String>, CoordinatorError> {
    let script = asking(call, token);
    let played = timeout(REACH_LIMIT, stage.play(&script)).await;
    match played {
        Ok(Ok(scene)) => Ok(accounting::balance(None, &script, &scene).faults.into_iter().next()),
        Ok(Err(CoordinatorError::Prepare { message, .. })) => Ok(Some(message)),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            stage.abandon().await?;
            Ok(Some(format!("nothing came through within {} s", REACH_LIMIT.as_secs())))
        }
    }
}

fn asking([asker, called]: [&HostName; 2], token: Token) -> Script {
    let message = INTERACTIVE_MESSAGE;
    let unset = std::net::Ipv4Addr::UNSPECIFIED.into();
    let respond =
        Activity::Respond(Respond { on: unset, transport: Transport::Tcp, token, message });
    let to = std::net::SocketAddr::new(unset, 0);
    let request = Activity::Request(Request {
        to,
        transport: Transport::Tcp,
        token,
        message,
        duration: REACH_PROBE,
        open_loop: None,
    });
    // The content of the requests has no effect.
    let order = |activity| Order::new(0, DEADLINE, activity);
    let steps = vec![
        Step { host: called.clone(), role: Role::Network, peer: None, order: order(respond) },
        Step { host: asker.clone(), role: Role::Network, peer: Some(0), order: order(request) },
    ];
    Script { impairments: Impairments::new(), steps }
}

/// The rate of datagrams that the path can carry.
async fn offered(
    stage: &mut Stage,
    plan: &Plan,
    setting: &Setting,
) -> Result<BitRate, CoordinatorError> {
    let row = Row::idle(Component::Send, Bytes::new(65536));
    let script = script(plan, &row, setting);
    let scene = stage.play(&script).await?;
    let balance = balance(&row, &script, &scene);
    let network = balance.network.ok_or_else(|| {
        let why =
            balance.faults.first().cloned().unwrap_or_else(|| "nothing came through".to_owned());
        stage.unreachable([HostRole::Test, HostRole::Active].map(HostName::from).each_ref(), why)
    })?;
    let offered = (network.goodput_bits_per_second * 0.9).min(MOST_OFFERED_BITS_PER_SECOND);
    Ok(BitRate::from_bits_per_second((offered as u64).max(1)))
}
