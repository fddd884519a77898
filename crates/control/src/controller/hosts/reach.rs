//! Finds out which hosts reach each other on the measured network.

use std::collections::BTreeSet;
use std::time::Duration;

use btu_contract::activity::{Activity, Order, Request, Respond, Token, Transport};
use btu_contract::network::{HostName, Impairments};
use btu_contract::script::{Role, Script, Step};
use btu_units::{Bytes, Span};
use tokio::time::timeout;

use super::super::error::ControllerError;
use super::super::secret;
use super::super::stage::Stage;

/// Connecting over the measured network, and a few requests: longer than on any usable network.
const REACH_LIMIT: Duration = Duration::from_secs(10);
const REACH_PROBE: Span = Span::from_milliseconds(50);

/// The size of a request, and of its answer.
const MESSAGE: Bytes = Bytes::new(100);

/// A request or an answer that takes longer is stuck.
const DEADLINE: Span = Span::from_seconds(10);

/// Makes each caller exchange requests with its peer over the measured network. A host has to get
/// through in one of its calls at least: a single pair that fails is a result of its cell.
pub(super) async fn reach(
    stage: &mut Stage,
    calls: &[[HostName; 2]],
) -> Result<(), ControllerError> {
    let mut met: BTreeSet<&HostName> = BTreeSet::new();
    let mut failed: Vec<(&[HostName; 2], ControllerError)> = Vec::new();
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
) -> Result<Option<String>, ControllerError> {
    let script = asking(call, token);
    let played = timeout(REACH_LIMIT, stage.play(&script)).await;
    match played {
        Ok(Ok(scene)) => Ok(scene.failures().into_iter().next()),
        Ok(Err(ControllerError::Prepare { message, .. })) => Ok(Some(message)),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            stage.abandon().await?;
            Ok(Some(format!("nothing came through within {} s", REACH_LIMIT.as_secs())))
        }
    }
}

fn asking([asker, called]: [&HostName; 2], token: Token) -> Script {
    let message = MESSAGE;
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
