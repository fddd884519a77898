//! What real hosts are asked before a rating on them: the rate of the network between them, and whether the peers can
//! impair packets.

use btu_contract::activity::Token;
use btu_contract::experiment::Observation;
use btu_contract::network::{Impairment, Impairments};
use btu_contract::script::Script;
use btu_units::{BitRate, Bytes, Span};

use super::accounting::balance;
use super::plan::Plan;
use super::row::{Component, Row};
use super::script::{self, Amount, Setting, at_black_boxes};

/// A bulk stream, whose rate the UDP row is to come near.
const ROW: Row = Row::idle(Component::Send, Bytes::new(65536));

/// The time for measuring the path's rate.
const RATE_PROBE: Span = Span::from_milliseconds(400);

/// An activity of the survey that takes longer is stuck.
const DEADLINE: Span = Span::from_seconds(10);

/// The UDP row offers nine tenths of what TCP gets, and no more than this, as on this machine's own
/// network.
const MOST_OFFERED_BITS_PER_SECOND: f64 = 500e6;

/// Both, to test whether either is possible.
const BOTH: Impairment = Impairment { delay: Impairment::DL.delay, loss: Impairment::DR.loss };

/// The impairments that the hosts of `plan` must be able to make; none if no component needs one.
pub fn impairments(plan: &Plan) -> Impairments {
    let is_wanted = plan.components.iter().any(|component| !component.impairment().is_none());
    at_black_boxes(plan, if is_wanted { BOTH } else { Impairment::NONE })
}

/// Finds the rate of the path. `token` opens the connection.
pub fn script(plan: &Plan, token: Token) -> Script {
    let setting = Setting {
        seed: plan.seed,
        token,
        amount: Amount::Pilot(RATE_PROBE),
        deadline: DEADLINE,
        scratch: "/".into(),
        disk_source: None,
        ftp_password: String::new(),
    };
    script::script(plan, &ROW, &setting)
}

/// The rate of datagrams that the path can carry, by what was seen of [`script()`].
///
/// # Errors
/// Why nothing came through, in a sentence.
pub fn offered(script: &Script, seen: &Observation) -> Result<BitRate, String> {
    let balance = balance(&ROW, script, seen);
    let why =
        || balance.faults.first().cloned().unwrap_or_else(|| "nothing came through".to_owned());
    let network = balance.network.as_ref().ok_or_else(why)?;
    let offered = (network.goodput_bits_per_second * 0.9).min(MOST_OFFERED_BITS_PER_SECOND);
    Ok(BitRate::from_bits_per_second((offered as u64).max(1)))
}
