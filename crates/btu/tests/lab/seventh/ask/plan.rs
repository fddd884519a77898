//! What is measured: the time of a request of each size from one station to another.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use btu_contract::activity::{Activity, Order, Request, Respond, Transport};
use btu_contract::experiment::{
    CellSetting, Facts, Frame, Measured, Named, Observation, RunFacts, Scripts,
};
use btu_contract::network::Impairments;
use btu_contract::record::{Outcome, Requested};
use btu_contract::script::{Role, Script, Step};
use btu_stats::{Estimate, Level, geometric_interval};
use btu_studies::Judged;
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// All settings of a run. The first of the two stations sends requests, the second answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AskPlan {
    #[serde(flatten)]
    pub(super) frame: Frame,
    #[serde(rename = "message_bytes")]
    pub(super) messages: Vec<Bytes>,
    #[serde(rename = "duration_ns")]
    pub(super) duration: Span,
}

/// The key of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct AskCell {
    #[serde(rename = "message_bytes")]
    pub(super) message: Bytes,
}

impl fmt::Display for AskCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {} B", self.message.count())
    }
}

/// The median round trip of each size, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct AskVerdict {
    pub(super) round_trips: Vec<(Bytes, Option<Estimate>)>,
}

impl Named for AskPlan {
    const STUDY: &'static str = "ask";
    const COMMAND: &'static str = "btu ask";
    const VERSION: u32 = 1;
}

impl Scripts for AskPlan {
    type Cell = AskCell;

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn cells(&self) -> Vec<AskCell> {
        self.messages.iter().map(|&message| AskCell { message }).collect()
    }

    fn script(&self, cell: &AskCell, setting: &CellSetting) -> Script {
        let unset = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let (transport, token, message) = (Transport::Udp, setting.token, cell.message);
        let respond = Activity::Respond(Respond { on: unset, transport, token, message });
        let to = SocketAddr::new(unset, 0);
        let (duration, open_loop) = (self.duration, None);
        let request =
            Activity::Request(Request { to, transport, token, message, duration, open_loop });
        let step = |station: usize, peer, activity| Step {
            host: self.frame.network.hosts()[station].clone(),
            role: Role::Network,
            peer,
            order: Order::new(setting.seed, setting.deadline, activity),
        };
        let steps = vec![step(1, None, respond), step(0, Some(0), request)];
        Script { impairments: Impairments::new(), steps }
    }

    fn faults(&self, _: &AskCell, seen: &Observation) -> Vec<String> {
        let Some((requested, answers)) = accounts(seen) else {
            return vec!["an end has no account".to_owned()];
        };
        // Every sent answer arrived, or it is one of those that the asking end counted as missing.
        let missed = requested.lost + requested.late + requested.wrong;
        let agree = requested.answers <= answers && answers <= requested.answers + missed;
        if agree {
            Vec::new()
        } else {
            vec![format!("{answers} answers were sent, and {} came", requested.answers)]
        }
    }

    fn facts(&self, cell: &AskCell, seen: &Observation) -> Facts {
        let duration = median(seen).map(Span::from_seconds_f64);
        Facts { message: cell.message, duration, ..Facts::default() }
    }
}

impl Judged for AskPlan {
    type Verdict = AskVerdict;

    fn judge(&self, cells: &[Measured<AskCell>], _: &RunFacts) -> AskVerdict {
        let of = |message: Bytes| -> Vec<f64> {
            let own = cells
                .iter()
                .filter(|measured| measured.cell.message == message && measured.is_valid());
            own.filter_map(|measured| median(&measured.seen)).collect()
        };
        let estimate = |&message: &Bytes| (message, geometric_interval(&of(message), Level::P95));
        AskVerdict { round_trips: self.messages.iter().map(estimate).collect() }
    }
}

/// The asking end's account, and the number of answers that the other one sent.
fn accounts(seen: &Observation) -> Option<(&Requested, u64)> {
    let outcomes =
        || seen.reports.iter().filter_map(|placed| Some(&placed.result.as_ref().ok()?.outcome));
    let requested = outcomes().find_map(|outcome| match outcome {
        Outcome::Requested(requested) => Some(requested),
        _ => None,
    });
    let answers = outcomes().find_map(|outcome| match outcome {
        Outcome::Responded { answers } => Some(*answers),
        _ => None,
    });
    requested.zip(answers)
}

/// The median round trip of a cell, in seconds.
fn median(seen: &Observation) -> Option<f64> {
    accounts(seen)?.0.round_trip.quantile(0.5).map(|nanoseconds| nanoseconds as f64 * 1e-9)
}
