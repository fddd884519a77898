//! Compares the raised network with the request, before any measurement on it.

use btu_contract::experiment::Observation;
use btu_contract::network::{Impairment, Network, Path};
use btu_contract::record::Outcome;
use btu_contract::script::Script;
use btu_contract::study::{InputError, Play};
use btu_model::{Ethernet, Transport};
use btu_stats::{Level, wilson};
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::accounting::{CellAccounting, balance};
use super::plan::{INTERACTIVE_MESSAGE, Plan, UDP_MESSAGE};
use super::row::{Component, Row};
use super::script::{Amount, Setting, at_black_boxes, script};

/// Added delay may be off by this much at the median, in each direction.
const DELAY_TOLERANCE: Span = Span::from_microseconds(200);

/// Goodput may be off by this share of the closed form.
const RATE_TOLERANCE: f64 = 0.02;

/// Loss must be within the interval of this share of all probes of a correct path.
const LOSS_LEVEL: f64 = 0.999;

/// How long a probe of delay, and one of rate and loss, lasts.
const DELAY_PROBE: Span = Span::from_milliseconds(200);
const RATE_PROBE: Span = Span::from_milliseconds(1500);

/// The factor by which each try extends a probe without any answer.
const PROBE_FACTORS: [u64; 3] = [1, 5, 25];

/// The requested and the observed values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkCheck {
    /// One line per property.
    pub items: Vec<CheckItem>,
}

/// One property of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckItem {
    /// Which, with its unit.
    pub what: String,
    /// The requested value, or that of the closed form.
    pub asked: f64,
    /// The value that was observed, in the unit that `what` names.
    pub seen: f64,
    /// The smallest and largest accepted value.
    pub allowed: (f64, f64),
}

impl CheckItem {
    /// Whether the property is as requested.
    pub fn holds(&self) -> bool {
        (self.allowed.0..=self.allowed.1).contains(&self.seen)
    }
}

impl NetworkCheck {
    /// The deviations, as text.
    pub fn findings(&self) -> Vec<String> {
        let wrong = self.items.iter().filter(|item| !item.holds());
        wrong
            .map(|item| {
                let (low, high) = item.allowed;
                format!(
                    "before the measurement the network was not as specified: {} was {} (specified: {}, tolerated: {} to {}). \
                     The run continues and counts, with this warning; other programs may have used the processors: stop them, \
                     and measure again",
                    item.what,
                    shown(item.seen),
                    shown(item.asked),
                    shown(low),
                    shown(high)
                )
            })
            .collect()
    }
}

/// Four digits, without zeros at the end.
fn shown(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Probes the network: round trip, the peers' added delay, and on an emulated path rate and
/// loss.
pub(super) async fn check<P: Play>(
    player: &mut P,
    plan: &Plan,
    base: &Setting,
) -> Result<NetworkCheck, InputError<P::Error>> {
    let mut prober = Prober { player, plan, base };
    let untouched = prober.round_trip(Impairment::NONE).await?;
    let mut items = Vec::new();
    // Hosts that cannot delay packets have no component that needs it.
    let delays = |component: &Component| component.impairment() == Impairment::DL;
    if !matches!(plan.network, Network::Machines(_)) || plan.components.iter().any(delays) {
        let delayed = prober.round_trip(Impairment::DL).await?;
        items.push(added_delay(untouched, delayed));
    }
    if let Network::Path(path) = &plan.network {
        items.push(path_round_trip(path, untouched));
        items.push(prober.loss(path).await?);
        if path.loss == 0.0 && path.reorder == 0.0 {
            items.push(prober.rate(path).await?);
        }
    }
    Ok(NetworkCheck { items })
}

/// DL acts on the packets to a peer, so it is seen once in a round trip.
fn added_delay(plain: Span, delayed: Span) -> CheckItem {
    let asked = Impairment::DL.delay.milliseconds();
    let tolerance = DELAY_TOLERANCE.milliseconds();
    CheckItem {
        what: "delay added by DL in ms".to_owned(),
        asked,
        seen: delayed.milliseconds() - plain.milliseconds(),
        allowed: (asked - tolerance, asked + tolerance),
    }
}

/// Propagation and transmission both ways; the stations' own time comes on top, within the
/// tolerance.
fn path_round_trip(path: &Path, seen: Span) -> CheckItem {
    let packet = INTERACTIVE_MESSAGE + Transport::Udp.headers();
    let asked = (path.delay + Ethernet::new(path.rate).transmission(packet)) * 2;
    CheckItem {
        what: "round trip in ms".to_owned(),
        asked: asked.milliseconds(),
        seen: seen.milliseconds(),
        allowed: (asked.milliseconds(), (asked + DELAY_TOLERANCE * 2).milliseconds()),
    }
}

struct Prober<'a, P> {
    player: &'a mut P,
    plan: &'a Plan,
    base: &'a Setting,
}

impl<P: Play> Prober<'_, P> {
    /// The median round trip of UDP requests with the peers doing `impairment`.
    async fn round_trip(&mut self, impairment: Impairment) -> Result<Span, InputError<P::Error>> {
        let row = Row::idle(Component::InteractiveUdp, INTERACTIVE_MESSAGE);
        let is_drawn = matches!(self.plan.network, Network::Drawing(_));
        // A plan's activities last several round trips of its network file.
        let time = if is_drawn { DELAY_PROBE.max(self.plan.profile.target) } else { DELAY_PROBE };
        let mut tries = PROBE_FACTORS.into_iter();
        let scene = loop {
            match (self.play(row, time * tries.next().unwrap_or(1), impairment).await, tries.len())
            {
                // With much loss, or a long round trip, no answer may return in a short time.
                (Err(InputError::Network(_)), 1..) => {}
                (played, _) => break played?.0,
            }
        };
        let median =
            scene.reports.iter().find_map(|placed| match &placed.result.as_ref().ok()?.outcome {
                Outcome::Requested(requested) => requested.round_trip.quantile(0.5),
                _ => None,
            });
        median
            .map(Span::from_nanoseconds)
            .ok_or_else(|| InputError::Network("no request was answered".to_owned()))
    }

    /// Loss of a paced stream below the path's rate, against the binomial bounds of the requested
    /// loss.
    async fn loss(&mut self, path: &Path) -> Result<CheckItem, InputError<P::Error>> {
        let row = Row::idle(Component::Udp, UDP_MESSAGE);
        let (scene, balance) = self.play(row, RATE_PROBE, Impairment::NONE).await?;
        let sent =
            scene.reports.iter().find_map(|placed| match &placed.result.as_ref().ok()?.outcome {
                Outcome::DatagramsSent(sent) => Some(sent.datagrams),
                _ => None,
            });
        let seen = balance.network.map_or(1.0, |network| network.loss);
        let sent = sent.unwrap_or_default();
        // The interval of the share for a path with exactly the requested loss.
        let expected = (path.loss * sent as f64).round() as u64;
        let bounds = Level::new(LOSS_LEVEL).and_then(|level| wilson(expected, sent, level));
        let allowed = bounds
            .map_or((path.loss, path.loss), |bounds| (bounds.interval.low, bounds.interval.high));
        let low = if path.loss == 0.0 { 0.0 } else { allowed.0 };
        Ok(CheckItem { what: "loss".to_owned(), asked: path.loss, seen, allowed: (low, allowed.1) })
    }

    /// Bulk TCP against the closed form.
    async fn rate(&mut self, path: &Path) -> Result<CheckItem, InputError<P::Error>> {
        let row = Row::idle(Component::Send, Bytes::new(65536));
        let (_, balance) = self.play(row, RATE_PROBE, Impairment::NONE).await?;
        let seen = balance.network.map_or(0.0, |network| network.goodput_bits_per_second / 1e6);
        let ceiling = Ethernet::new(path.rate).goodput(Transport::Tcp);
        let asked = ceiling.map_err(|error| InputError::Network(error.to_string()))? / 1e6;
        let tolerance = asked * RATE_TOLERANCE;
        Ok(CheckItem {
            what: "TCP goodput in Mb/s".to_owned(),
            asked,
            seen,
            allowed: (asked - tolerance, asked + tolerance),
        })
    }

    async fn play(
        &mut self,
        row: Row,
        time: Span,
        impairment: Impairment,
    ) -> Result<(Observation, CellAccounting), InputError<P::Error>> {
        let setting = Setting { amount: Amount::Pilot(time), ..self.base.clone() };
        let script = Script {
            impairments: at_black_boxes(self.plan, impairment),
            ..script(self.plan, &row, &setting)
        };
        let scene = self.player.play(&script).await?;
        let balance = balance(&row, &script, &scene);
        match balance.faults.first() {
            Some(fault) => Err(InputError::Network(fault.clone())),
            None => Ok((scene, balance)),
        }
    }
}
